//! What this machine gives, and what the crate makes of it: `machine [--millis N]`.
//!
//! Aborts provoked and counted, the CPU and node of a thread on each CPU, memory on each CPU's
//! node, barriers, and exact sums. It is meant for virtual machines with more CPUs and nodes than
//! a developer has (`.ci/vm`), and holds while CPUs go off and on: what cannot be told of a CPU
//! that is off is left out, and counted.
//!
//! `--cpus N --nodes M --memoryless K --caches L --hotplug` say what machine this is meant to be, and
//! `Topology` has to find just that.
#![allow(unsafe_code, reason = "reads a word of the thread area")]

use corelocal::sys::rseq::{self, HAS_SECTIONS};
use corelocal::{Area, CpuId, PerCpu, PerCpuCell, Topology, backend};
use rseq_tests::churn;
use rseq_tests::expected::Expected;
use rseq_tests::pages::{node_of_page, place};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let (millis, expected) = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    // Before the first object: on AArch64 that decides the backend.
    let verified = aborts();
    let backend = backend();
    println!("backend: {backend} ({}); {:?}", backend.reason(), rseq::fields());
    let checks: [(&str, Result<String, String>); 7] = [
        ("verify", verified),
        ("topology", topology(expected)),
        ("CPUs and nodes", ids()),
        ("placement by node", placement()),
        ("placement by first touch", first_touch()),
        ("barriers", barriers()),
        ("sums", sums(Duration::from_millis(millis))),
    ];
    let mut good = true;
    for (name, result) in checks {
        match result {
            Ok(found) => println!("{name}: {found}"),
            Err(wrong) => {
                println!("{name}: FAILED: {wrong}");
                good = false;
            }
        }
    }
    println!(
        "{} aborts: {}",
        churn::counts().0,
        if good { "all as it should be" } else { "FAILED" }
    );
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options() -> Result<(u64, Option<Expected>), String> {
    let (mut millis, mut expected) = (2000, Expected::default());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().and_then(|word| word.parse::<u32>().ok());
            value.ok_or(format!("{word} wants a number"))
        };
        match word.as_str() {
            "--millis" => millis = number()?.into(),
            "--cpus" => expected.cpus = number()?,
            "--nodes" => expected.nodes = number()?,
            "--memoryless" => expected.memoryless = number()?,
            "--caches" => expected.caches = number()?,
            "--hotplug" => expected.hotplug = true,
            _ => return Err(format!("{word}: not an option; see the head of machine.rs")),
        }
    }
    Ok((millis, (expected.cpus != 0).then_some(expected)))
}

fn aborts() -> Result<String, String> {
    if !HAS_SECTIONS || rseq::thread_area().is_none() {
        return Ok("skipped: no sections in this process".into());
    }
    // An emulated machine whose host is busy may not come to run two threads within two seconds.
    let again = |result: &_| matches!(result, Err(rseq::Unverified::NoAbort { .. }));
    let mut verified = rseq::verify();
    for _ in 0..20 {
        if again(&verified) {
            verified = rseq::verify();
        }
    }
    let verified = verified.map_err(|error| error.to_string())?;
    (0..verified.aborts).for_each(|_| churn::count_abort());
    Ok(format!("{} aborts seen, {} commits, none lost", verified.aborts, verified.commits))
}

/// Calls `body` on each CPU of the machine that lets itself be pinned to. Says how many did, and
/// how many were off, or went off meanwhile.
fn on_each_cpu(
    mut body: impl FnMut(CpuId, u32) -> Result<(), String>,
) -> Result<(usize, usize), String> {
    let (all, mut done, mut off) = (churn::allowed(), 0, 0);
    for id in Topology::current().possible().iter() {
        let cpu = id.get();
        let before = churn::pin(0, &[cpu]).then(place).flatten().filter(|place| place.0 == cpu);
        let result = before.map(|(_, node)| body(id, node));
        // A thread that was moved off its CPU may run anywhere: what it saw counts for nothing.
        if before.is_none() || place() != before {
            off += 1;
        } else {
            done += 1;
            result.transpose().map_err(|wrong| format!("on CPU {cpu}: {wrong}"))?;
        }
    }
    churn::pin(0, &all);
    Ok((done, off))
}

fn topology(expected: Option<Expected>) -> Result<String, String> {
    let topology = Topology::current();
    println!(
        "CPUs: {} lanes, possible {}, online {}, nodes {:?}, {} last-level caches, lines {:?}",
        topology.cpus(),
        topology.possible(),
        topology.online(),
        topology.nodes(),
        topology.llc_domains().len(),
        topology.cache_line()
    );
    for issue in topology.issues() {
        println!("topology: {issue:?}");
    }
    let Some(expected) = expected else { return Ok("nothing to compare it with".into()) };
    if topology.cpus() != expected.cpus {
        return Err(format!("{} lanes, not {}", topology.cpus(), expected.cpus));
    }
    expected.compare(topology)
}

fn ids() -> Result<String, String> {
    let topology = Topology::current();
    let (done, off) = on_each_cpu(|cpu, node| {
        let is = |what: &str, found: Option<u32>, right: u32| match found {
            Some(found) if found != right => Err(format!("{what} is {found}, not {right}")),
            _ => Ok(()),
        };
        is("CpuId::current()", Some(CpuId::current().map_or(u32::MAX, CpuId::get)), cpu.get())?;
        // Nothing is known of the node of a CPU that was off when the process asked.
        is("node_of", topology.node_of(cpu), node)?;
        is("the thread area's node", node_in_area(), node)
    })?;
    if done == 0 {
        return Err("no CPU lets itself be pinned to".into());
    }
    Ok(format!("right on {done} CPUs, {off} off"))
}

/// What the kernel writes into the thread area, where it does.
fn node_in_area() -> Option<u32> {
    const NODE: usize = 20;
    let area = rseq::thread_area().filter(|_| rseq::fields().node_id)?;
    // SAFETY:
    // - the area is this thread's, and the kernel fills the word, in no other thread's time.
    Some(unsafe { area.wrapping_add(NODE).cast::<u32>().read_volatile() })
}

/// An object's lanes, made one after the other by one thread, lie on their CPUs' nodes; without
/// the advice they do not, or this is no test.
fn placement() -> Result<String, String> {
    let topology = Topology::current();
    let homes = |cpu| topology.memory_node_of(CpuId::new(cpu));
    if (0..topology.cpus()).filter_map(homes).collect::<BTreeSet<_>>().len() < 2 {
        return Ok("skipped: one node that has memory".into());
    }
    let lies = |by_node: bool| -> Result<(usize, usize, BTreeSet<u32>), String> {
        let area = Area::builder().placement_by_node(by_node).build();
        let area = area.map_err(|error| error.to_string())?;
        let object = area.try_alloc(|_| 1u64).map_err(|error| error.to_string())?;
        let (mut right, mut wrong, mut nodes) = (0, 0, BTreeSet::new());
        for (cpu, copy) in (0..topology.cpus()).map(CpuId::new).map(|cpu| (cpu, object.get(cpu))) {
            let (Some(copy), Some(node)) = (copy, topology.memory_node_of(cpu)) else { continue };
            let lies = node_of_page(copy)?;
            nodes.insert(lies);
            *if lies == node { &mut right } else { &mut wrong } += 1;
        }
        Ok((right, wrong, nodes))
    };
    let (right, wrong, nodes) = lies(true)?;
    if wrong != 0 {
        return Err(format!("{wrong} pages on another node than their CPU, {right} on its node"));
    }
    let (unadvised, misplaced, _) = lies(false)?;
    if misplaced == 0 {
        return Err(format!("also without advice {unadvised} pages are right: no test"));
    }
    Ok(format!("{right} pages on their CPUs' nodes {nodes:?}; without advice {unadvised}"))
}

/// Pages of a zeroed object come with the first update, on the node of the CPU that makes it, or from
/// anywhere if that has no memory.
fn first_touch() -> Result<String, String> {
    let topology = Topology::current();
    let homes = |cpu| topology.memory_node_of(CpuId::new(cpu));
    let with_memory: BTreeSet<u32> = (0..topology.cpus()).filter_map(homes).collect();
    let object = PerCpu::<PerCpuCell<u64>>::zeroed();
    let (mut nodes, mut elsewhere) = (BTreeSet::new(), 0);
    let (done, off) = on_each_cpu(|cpu, node| {
        object.add(1);
        let copy = object.get(cpu).ok_or("no lane")?;
        if copy.load() == 0 {
            return Err("the update went to another lane".into());
        }
        let lies = node_of_page(copy)?;
        nodes.insert(lies);
        if lies == node {
            Ok(())
        } else if with_memory.contains(&node) {
            Err(format!("its page lies on node {lies}"))
        } else {
            elsewhere += 1;
            Ok(())
        }
    })?;
    Ok(format!(
        "{done} pages on nodes {nodes:?}, {elsewhere} for CPUs without memory, {off} CPUs off"
    ))
}

fn barriers() -> Result<String, String> {
    if !rseq::can_fence() {
        return Ok("skipped: the system has none".into());
    }
    let cpus = Topology::current().cpus();
    for cpu in (0..cpus).map(CpuId::new) {
        rseq::fence_cpu(cpu).map_err(|error| format!("{cpu:?}: {error}"))?;
    }
    rseq::fence_all().map_err(|error| error.to_string())?;
    Ok(format!("one for each of {cpus} CPUs, on or off, and one for all"))
}

/// Threads that add through the public interface, interrupted and pushed from CPU to CPU.
fn sums(patience: Duration) -> Result<String, String> {
    const THREADS: u32 = 12;
    let object = PerCpu::<PerCpuCell<u64>>::zeroed();
    let (done, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let before = rseq::detours();
    let step = || {
        object.add(1);
        done.fetch_add(1, Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS.min(2 * churn::cpus()) {
            scope.spawn(|| {
                churn::interrupted(2000, &step, || {
                    while !over.load(Ordering::Relaxed) {
                        (0..100).for_each(|_| step());
                        churn::move_on(0);
                    }
                });
            });
        }
        let since = Instant::now();
        while since.elapsed() < patience {
            std::thread::sleep(Duration::from_millis(5));
            let _ = rseq::fence_all();
        }
        over.store(true, Ordering::Relaxed);
    });
    let (sum, done, after) = (object.sum(), done.into_inner(), rseq::detours());
    let lanes = object.iter_cpus().filter(|(_, copy)| copy.load() != 0).count();
    if sum != done {
        return Err(format!("{sum} arrived of {done} updates"));
    }
    Ok(format!(
        "exact after {done} updates on {lanes} CPUs, {} aborts, {} spills",
        after.aborts - before.aborts,
        after.spills - before.spills
    ))
}
