//! Replays of small trees in every layout: states that add up, and figures that repeat.

use super::*;
use crate::trace::Pages;

/// Two machines with caches that even a small tree overflows.
fn small() -> Params {
    let text = FIXED
        .lines()
        .filter(|line| !["run", "l", "periods", "warm"].iter().any(|key| line.starts_with(key)));
    let text: Vec<&str> = text.collect();
    let text = format!(
        "{}\nperiods 2\nwarm-up 1\nl1 512 2\nl2 2K 4\nleast-quota 1000\n\
         run four 4 2 2 3 2 random 16K 4\nrun two 2 1 3 2 2 sequential 16K 4",
        text.join("\n")
    );
    Params::parse(&text).unwrap()
}

/// Debug builds check the state after phases, so that this is about all that adds up.
#[test]
fn every_layout_leaves_the_same_state_behind() {
    for quotas in [Quotas::Leaves, Quotas::Inner, Quotas::Both] {
        for regime in regimes(&small(), quotas, 1, |_| ()).unwrap() {
            let first = &regime.met[0];
            assert_eq!(first.variant, Variant::L0);
            for met in &regime.met {
                let name = format!("{} {:?} {:?}", regime.run.name, met.variant, met.pages);
                assert_eq!(met.left, first.left, "{name}");
                for phase in Phase::ALL {
                    let units = |met: &Met| met.phases.get(&phase).map(|tally| tally.units);
                    assert_eq!(units(met), units(first), "{name} {phase:?}");
                    assert!(units(met) > Some(0), "{name} {phase:?}");
                }
            }
        }
    }
}

#[test]
fn figures_repeat_with_any_number_of_threads() {
    let met = |threads| {
        let regimes = regimes(&small(), Quotas::Leaves, threads, |_| ()).unwrap();
        regimes.into_iter().map(|regime| regime.met).collect::<Vec<_>>()
    };
    let first = met(1);
    // The heap and the area lie elsewhere the second time.
    let _hole = vec![vec![0_u8; 5000]; 100];
    assert_eq!(met(3), first);
    let pages = |pages| first[0].iter().filter(move |met| met.pages == pages).count();
    assert_eq!(pages(Pages::Scattered), Variant::ALL.len());
    assert_eq!(pages(Pages::Contiguous), Variant::ALL.len());
}
