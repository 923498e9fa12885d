//! A recording: a line an access, of what a model or a tracer saw.
//!
//! ```text
//! # address  size  kind  cpu  operation
//! 0x1000 8 load 3 find
//! 0x1008 4 rmw 0 raise
//! ```

use super::{Kind, ReadError, Samples, check_length, error, hex, lines, shown};

pub(super) fn read(text: &[u8]) -> Result<Samples, ReadError> {
    let mut samples = Samples::new();
    for (number, line) in lines(text) {
        check_length(number, &line)?;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let [address, size, kind, cpu, tag] = words[..] else {
            let what = "address, size, load or store or rmw, CPU and operation are expected";
            return Err(error(number, format!("{what}, not {}", shown(line))));
        };
        let wrong = |what: &str, found: &str| {
            error(number, format!("{what} is expected, not {}", shown(found)))
        };
        let address = hex(address).ok_or_else(|| wrong("an address such as 0x1000", address))?;
        let size = size.parse().map_err(|_| wrong("a size in bytes", size))?;
        let cpu = cpu.parse().map_err(|_| wrong("a CPU's number", cpu))?;
        let kind = match kind {
            "load" => Kind::Load,
            "store" => Kind::Store,
            "rmw" => Kind::Rmw,
            _ => return Err(wrong("load, store or rmw", kind)),
        };
        if !samples.record(address, size, kind, cpu, tag) {
            return Err(error(number, "too many different accesses"));
        }
    }
    if samples.is_empty() {
        return Err(error(
            0,
            "neither a report of `perf c2c report --stdio` or `perf mem report --stdio` nor a recording",
        ));
    }
    Ok(samples)
}
