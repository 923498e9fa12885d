//! A server that counts and times its requests on each CPU's own copy, scraped while it is hot.
//!
//! Workers serve requests; an exporter answers `GET /metrics` on the loopback with what
//! `prometheus-client` makes of the counters and histograms; a client scrapes it all the while. No
//! total ever goes back, none misses what was over before the scrape began, and the last scrape has
//! exactly what was served.
//!
//! `cargo run --release --example scrape [-- REQUESTS]`

use corelocal::histogram::{Fixed, LogLinear, WithSum};
use corelocal::{StaticCounter, StaticGauge, StaticHistogram};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use tiny_http::{Header, Response, Server};

const WORKERS: u64 = 4;
/// A worker begins a piece of its requests when the scrape of the same number begins, so that no
/// scrape finds the server idle, and no machine is too fast for the client.
const PIECES: u64 = 12;

static REQUESTS: StaticCounter = StaticCounter::new();
static ERRORS: StaticCounter = StaticCounter::new();
static BYTES: StaticCounter = StaticCounter::new();
static IN_FLIGHT: StaticGauge = StaticGauge::new();

/// Microseconds. Bounds of one's own, as dashboards want them; with the sum, as Prometheus does.
static LATENCY: StaticHistogram<10, WithSum<Fixed<10>>> =
    StaticHistogram::new(WithSum(Fixed::new(&[
        50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 100_000,
    ])));

const SIZES: usize = LogLinear::<3>::buckets_for(1 << 24);
/// Bytes. Of any size, for quantiles within 12.5 %.
static SIZE: StaticHistogram<SIZES> = StaticHistogram::new(LogLinear);

/// What serving a request took and gave. Made up, and the same in every run, so that the totals can
/// be known: a server would look at its clock.
struct Outcome {
    micros: u64,
    bytes: u64,
    failed: bool,
}

fn outcome(request: u64) -> Outcome {
    let random = (request + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let random = (random ^ random >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 16;
    Outcome {
        micros: (20 + (random & 0xFFFF)) >> (random >> 16 & 7),
        bytes: random >> 24 & 0xFF_FFFF,
        failed: random % 97 == 0,
    }
}

fn serve(request: u64) {
    IN_FLIGHT.inc();
    let Outcome { micros, bytes, failed } = outcome(request);
    REQUESTS.inc();
    BYTES.add(bytes);
    if failed {
        ERRORS.inc();
    }
    LATENCY.record(micros);
    SIZE.record(bytes);
    IN_FLIGHT.dec();
}

/// The exporter's half: reads the lanes when it is asked, and keeps nothing.
#[derive(Debug)]
struct Exporter;

impl Collector for Exporter {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        const NO_EXEMPLAR: Option<&Exemplar<[(&str, &str); 0], u64>> = None;
        for (name, help, counter) in [
            ("requests", "Requests served", &REQUESTS),
            ("errors", "Requests that failed", &ERRORS),
            ("bytes", "Bytes sent", &BYTES),
        ] {
            encoder
                .encode_descriptor(name, help, None, MetricType::Counter)?
                .encode_counter(&counter.sum(), NO_EXEMPLAR)?;
        }
        encoder
            .encode_descriptor("in_flight", "Requests being served", None, MetricType::Gauge)?
            .encode_gauge(&IN_FLIGHT.sum())?;

        let latency = LATENCY.snapshot();
        let in_seconds = |end| if end == u64::MAX { f64::INFINITY } else { end as f64 / 1e6 };
        let buckets: Vec<_> = latency.iter().map(|(end, count)| (in_seconds(end), count)).collect();
        let sum = latency.sum().unwrap_or(0) as f64 / 1e6;
        encoder
            .encode_descriptor(
                "latency",
                "Of a request",
                Some(&Unit::Seconds),
                MetricType::Histogram,
            )?
            .encode_histogram::<[(&str, &str); 0]>(sum, latency.count(), &buckets, None)?;

        let size = SIZE.snapshot();
        let mut quantiles = encoder.encode_descriptor(
            "size_at_most",
            "What so many of the responses do not exceed",
            Some(&Unit::Bytes),
            MetricType::Gauge,
        )?;
        for (label, q) in [("0.5", 0.5), ("0.99", 0.99), ("1", 1.0)] {
            if let Ok(range) = size.quantile(q) {
                quantiles.encode_family(&[("quantile", label)])?.encode_gauge(range.end())?;
            }
        }
        Ok(())
    }
}

/// Answers until the server is unblocked.
fn export(server: &Server) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Exporter));
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let kind = Header::from_bytes("Content-Type", kind).expect("a header");
    for request in server.incoming_requests() {
        if request.url() != "/metrics" {
            request.respond(Response::empty(404))?;
            continue;
        }
        let mut page = String::new();
        text::encode(&mut page, &registry)?;
        request.respond(Response::from_string(page).with_header(kind.clone()))?;
    }
    Ok(())
}

/// The client's half: every series of a page, and its value.
type Series = BTreeMap<String, f64>;

fn scrape(url: &str) -> Result<Series, Box<dyn Error>> {
    let response = minreq::get(url).with_timeout(60).send()?;
    let page = response.as_str()?;
    if response.status_code != 200 || !page.ends_with("# EOF\n") {
        return Err(format!("status {}, and this page:\n{page}", response.status_code).into());
    }
    let mut series = Series::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').ok_or("a line without a value")?;
        if series.insert(name.to_string(), value.parse()?).is_some() {
            return Err(format!("{name} is there twice").into());
        }
    }
    Ok(series)
}

/// What a page must have when the requests below `requests` are all that was served, counted one
/// by one.
fn expected(requests: u64) -> Series {
    let bounds = LATENCY.buckets().0.bounds();
    let mut below = vec![0_u64; bounds.len()];
    let (mut errors, mut bytes, mut micros) = (0_u64, 0, 0);
    for outcome in (0..requests).map(outcome) {
        errors += u64::from(outcome.failed);
        bytes += outcome.bytes;
        micros += outcome.micros;
        for (count, bound) in below.iter_mut().zip(bounds) {
            *count += u64::from(outcome.micros <= *bound);
        }
    }
    let mut series: Series = [
        ("requests_total", requests as f64),
        ("errors_total", errors as f64),
        ("bytes_total", bytes as f64),
        ("in_flight", 0.0),
        ("latency_seconds_sum", micros as f64 / 1e6),
        ("latency_seconds_count", requests as f64),
        ("latency_seconds_bucket{le=\"+Inf\"}", requests as f64),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .into();
    for (count, bound) in below.iter().zip(bounds) {
        let seconds = *bound as f64 / 1e6;
        series.insert(format!("latency_seconds_bucket{{le=\"{seconds}\"}}"), *count as f64);
    }
    series
}

/// Whether a series only grows.
fn is_total(name: &str) -> bool {
    ["_total", "_sum", "_count", "_bucket"]
        .iter()
        .any(|end| name.split('{').next().is_some_and(|name| name.ends_with(end)))
}

/// Scrapes once for each piece of the load; returns the smallest and the largest number of requests
/// that a scrape saw.
fn scrape_all(
    url: &str,
    begun: &AtomicU64,
    over: &AtomicU64,
) -> Result<(u64, u64), Box<dyn Error>> {
    let (mut last, mut seen) = (Series::new(), Vec::new());
    for _ in 0..PIECES {
        // Acquire: what was counted as over was served before.
        let before = over.load(Ordering::Acquire);
        // Relaxed: it only says when to begin.
        begun.fetch_add(1, Ordering::Relaxed);
        let now = scrape(url)?;
        for (name, value) in last.iter().filter(|(name, _)| is_total(name)) {
            if now.get(name).is_none_or(|now| now < value) {
                return Err(format!("{name} was {value} and is {:?}", now.get(name)).into());
            }
        }
        for name in ["requests_total", "latency_seconds_count"] {
            if now[name] < before as f64 {
                return Err(format!("{name} is {}, with {before} over before", now[name]).into());
            }
        }
        seen.push(now["requests_total"] as u64);
        last = now;
    }
    Ok((seen[0], *seen.last().expect("a scrape")))
}

/// A worker's share of the requests, piece by piece.
fn work(worker: u64, requests: u64, begun: &AtomicU64, over: &AtomicU64) {
    for piece in 0..PIECES {
        // Relaxed: as where it is raised.
        while begun.load(Ordering::Relaxed) <= piece {
            thread::yield_now();
        }
        let number = worker * PIECES + piece;
        let first = |number| requests * number / (WORKERS * PIECES);
        (first(number)..first(number + 1)).for_each(serve);
        // Release: before whoever counts on it.
        over.fetch_add(first(number + 1) - first(number), Ordering::Release);
    }
}

/// Serves the requests below `requests`, and looks. Once a process, since the counters are statics.
pub(crate) fn run(requests: u64) -> Result<String, Box<dyn Error>> {
    let server = Server::http("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = server.server_addr().to_ip().ok_or("no address")?;
    let url = format!("http://{address}/metrics");
    let (begun, over) = (&AtomicU64::new(0), &AtomicU64::new(0));
    let (scrapes, finally) = thread::scope(|scope| -> Result<_, Box<dyn Error>> {
        let exporter = scope.spawn(|| export(&server));
        let start = |worker| scope.spawn(move || work(worker, requests, begun, over));
        let workers: Vec<_> = (0..WORKERS).map(start).collect();
        let scrapes = scrape_all(&url, begun, over);
        // Whatever went wrong: nobody waits for ever.
        begun.store(PIECES, Ordering::Relaxed);
        let workers: Result<Vec<()>, _> = workers.into_iter().map(|worker| worker.join()).collect();
        let finally = scrape(&url);
        server.unblock();
        workers.map_err(|_| "a worker panicked")?;
        exporter.join().map_err(|_| "the exporter panicked")?.map_err(|error| error.to_string())?;
        Ok((scrapes?, finally?))
    })?;

    let expected = expected(requests);
    for (name, value) in &expected {
        if finally.get(name) != Some(value) {
            return Err(format!("{name}: {value} served, {:?} told", finally.get(name)).into());
        }
    }
    let (first, last) = scrapes;
    Ok(format!(
        "{requests} requests by {WORKERS} threads, {} with an error, {} bytes\n\
         {PIECES} scrapes meanwhile: from {first} to {last} requests, and none went back\n\
         the last scrape is exact in {} series; half of the responses have at most {} bytes\n",
        finally["errors_total"],
        finally["bytes_total"],
        expected.len(),
        finally["size_at_most_bytes{quantile=\"0.5\"}"],
    ))
}

fn main() -> Result<(), Box<dyn Error>> {
    let requests = std::env::args().nth(1).map_or(Ok(1_000_000), |number| number.parse())?;
    print!("{}", run(requests)?);
    Ok(())
}
