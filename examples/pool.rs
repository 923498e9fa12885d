//! Buffers of a small server, kept in a per-CPU pool.
//!
//! One thread a connection, as in many a server; clients on the loopback load it, check every
//! byte of every answer, and hang up. A request takes a buffer for the question and one for the
//! answer, and gives them back; a connection's thread lives for a few requests only, so that a
//! pool by thread would begin anew all the time.
//!
//! ```text
//! cargo run --release --features pool --example pool
//! ```

use corelocal::pool::{PerCpuPool, Pooled, StaticPool};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// Clients at a time, connections of each, requests of each.
const LOAD: [usize; 3] = [8, 60, 50];
/// The longest question, in bytes.
const LONGEST: usize = 16 << 10;

static MADE: AtomicU64 = AtomicU64::new(0);
static BUFFERS: StaticPool<Vec<u8>> = StaticPool::new(|| {
    let make = || {
        MADE.fetch_add(1, Ordering::Relaxed);
        Vec::with_capacity(LONGEST)
    };
    let builder = PerCpuPool::builder(make).lane_capacity(16).shared_batches(8);
    builder
        .reset(Vec::clear)
        // One that grew beyond what is usual need not stay.
        .keep_if(|buffer| buffer.capacity() <= 4 * LONGEST)
        .build()
        .expect("the system has memory for the lanes")
});

/// What the server does: the question backwards, and the sum of its bytes.
fn answer(question: &[u8], answer: &mut Vec<u8>) {
    answer.extend(question.iter().rev());
    let sum = question.iter().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
    answer.extend(sum.to_le_bytes());
}

/// Reads a length, and as many bytes. No bytes at all are the end.
fn receive(from: &mut TcpStream, into: &mut Vec<u8>) -> io::Result<bool> {
    let mut length = [0; 4];
    if from.read(&mut length[..1])? == 0 {
        return Ok(false);
    }
    from.read_exact(&mut length[1..])?;
    into.resize(u32::from_le_bytes(length) as usize, 0);
    from.read_exact(into)?;
    Ok(true)
}

fn send(to: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&(bytes.len() as u32).to_le_bytes())?;
    to.write_all(bytes)
}

/// A connection: questions until the client hangs up. Returns how many.
fn serve(mut client: TcpStream) -> io::Result<u64> {
    client.set_nodelay(true)?;
    let mut served = 0;
    loop {
        // Out of the pool for one request; on an error they go back as well.
        let mut question: Pooled<'static, Vec<u8>> = BUFFERS.get();
        if !receive(&mut client, &mut question)? {
            return Ok(served);
        }
        let mut reply = BUFFERS.get();
        answer(&question, &mut reply);
        send(&mut client, &reply)?;
        served += 1;
    }
}

/// Accepts so many connections. Returns how many requests they were.
fn server(listener: &TcpListener, connections: usize) -> io::Result<u64> {
    thread::scope(|scope| {
        let serving: Vec<_> = (0..connections)
            .map(|_| {
                let (client, _) = listener.accept()?;
                Ok(scope.spawn(move || serve(client)))
            })
            .collect::<io::Result<_>>()?;
        serving.into_iter().map(|one| one.join().expect("no panic in a connection")).sum()
    })
}

/// A client: connection after connection. Returns the bytes it checked.
fn client(server: SocketAddr, number: usize) -> io::Result<u64> {
    let [_, connections, requests] = LOAD;
    let (mut question, mut expected, mut got) = (Vec::new(), Vec::new(), Vec::new());
    let mut random = 0x9E37_79B9_7F4A_7C15 ^ number as u64;
    let mut checked = 0;
    for _ in 0..connections {
        let mut stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        for _ in 0..requests {
            question.clear();
            random = next(random);
            for _ in 0..random as usize % LONGEST / 8 {
                random = next(random);
                question.extend(random.to_le_bytes());
            }
            send(&mut stream, &question)?;
            expected.clear();
            answer(&question, &mut expected);
            if !receive(&mut stream, &mut got)? || got != expected {
                return Err(io::Error::other("the answer belongs to another question"));
            }
            checked += got.len() as u64;
        }
    }
    Ok(checked)
}

fn next(mut random: u64) -> u64 {
    random ^= random << 13;
    random ^= random >> 7;
    random ^ random << 17
}

fn run() -> io::Result<()> {
    let [clients, connections, requests] = LOAD;
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let since = Instant::now();
    let (served, checked) = thread::scope(|scope| {
        let server = scope.spawn(|| server(&listener, clients * connections));
        let loads: Vec<_> = (0..clients).map(|n| scope.spawn(move || client(address, n))).collect();
        let checked = loads.into_iter().map(|load| load.join().expect("no panic in a client"));
        let checked: io::Result<u64> = checked.sum();
        if let Err(error) = &checked {
            // The server may wait for connections that never come.
            eprintln!("pool: a client: {error}");
            std::process::exit(1);
        }
        (server.join().expect("no panic in the server"), checked)
    });
    let (served, checked, seconds) = (served?, checked?, since.elapsed().as_secs_f64());
    if served != (clients * connections * requests) as u64 {
        return Err(io::Error::other(format!("{served} requests served")));
    }
    let made = MADE.load(Ordering::Relaxed);
    // Each request took two, and each connection one more before it saw the end.
    let uses = 2 * served + (clients * connections) as u64;
    let backend = corelocal::backend();
    println!("backend {backend}, sections: {}", BUFFERS.uses_sections());
    println!(
        "{} connections, a thread each; {served} requests in {seconds:.2} s; \
         {checked} bytes of answers, every one right",
        clients * connections
    );
    println!(
        "{uses} uses of a buffer, {made} buffers made: {:.2} uses each",
        uses as f64 / made as f64
    );
    let idle = BUFFERS.objects();
    let left = BUFFERS.shrink_to(4).map_err(io::Error::other)?;
    println!("{idle} were idle at the end; {left} dropped, {} left", BUFFERS.objects());
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pool: {error}");
            ExitCode::FAILURE
        }
    }
}
