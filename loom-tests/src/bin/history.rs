//! A million searches of each layout under an adversary, and what was broken.
//!
//! usage: history [SEARCHES] [SEED]

/// The models' build has loom's atomics, which work inside a model alone.
#[cfg(all(corelocal_loom, feature = "loom"))]
fn main() {
    eprintln!("history is for the build without --cfg corelocal_loom");
    std::process::exit(2);
}

#[cfg(not(all(corelocal_loom, feature = "loom")))]
fn main() {
    use corelocal::{ByCpu, Packed, Padded, Split};
    use loom_tests::history::{ByHand, InVector, Order, run};

    let mut arguments = std::env::args().skip(1).map(|argument| {
        argument.parse::<u64>().unwrap_or_else(|_| {
            eprintln!("usage: history [SEARCHES] [SEED]");
            std::process::exit(2);
        })
    });
    let finds = arguments.next().unwrap_or(1_000_000);
    let seed = arguments.next().unwrap_or(1);
    println!("{finds} searches each, seeds from {seed} on");
    println!("| | searches | sets | steps | G1 | G2 | G3 | G4 | A1 |");
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut broken_promises = 0;
    // A seed a row: the layouts by level take the same steps in the same interleaving.
    for (name, report, is_right) in [
        ("Packed", run(InVector::<Packed>::new(), finds, seed), true),
        ("Padded", run(InVector::<Padded>::new(), finds, seed + 1), true),
        ("Split", run(InVector::<Split>::new(), finds, seed + 2), true),
        ("ByCpu<8>", run(InVector::<ByCpu<8>>::new(), finds, seed + 3), true),
        ("ByCpu<64>", run(InVector::<ByCpu>::new(), finds, seed + 4), true),
        ("levels by hand", run(ByHand::new(Order::EnterThenLeave), finds, seed + 5), true),
        ("old level left first", run(ByHand::new(Order::LeaveThenEnter), finds, seed + 6), false),
    ] {
        let broken = report.broken;
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} |",
            report.finds,
            report.sets,
            report.steps,
            broken.g1,
            broken.g2,
            broken.g3,
            broken.g4,
            broken.a1
        );
        broken_promises += if is_right { broken.promises() } else { 0 };
    }
    std::process::exit(i32::from(broken_promises != 0));
}
