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

/// The lines of a group's own queue and entity that a step uses.
mod lines {
    use super::super::cpu::{Player, Stage};
    use super::super::queue::On;
    use super::*;
    use crate::layout::{Held, L2, Layout, Order};
    use crate::model::{Model, Tg};
    use crate::structs::operations::{KERNELS, OPERATIONS};
    use crate::structs::recorded::{Recording, record};
    use crate::structs::{CfsRqFields, Kernel};
    use crate::structs::{
        exchanged, exchanged::Exchanged, reorder::Reorder, v6_14::V6_14, v7_2::V7_2,
    };
    use crate::tree::Tree;
    use corelocal::cacheline::Layout as Map;
    use corelocal::{Area, CACHE_LINE, CpuId};
    use crossbeam_epoch as epoch;
    use std::collections::BTreeSet;

    type Lines = BTreeSet<usize>;

    /// What the sets of fields come to.
    fn counted(cfs_rq: &Map<'_>, se: &Map<'_>, name: &str) -> Lines {
        let operation = OPERATIONS.iter().find(|operation| operation.name == name).unwrap();
        let entity = cfs_rq.size() / 64;
        let queue = cfs_rq.lines_of_access(&operation.cfs_rq);
        let of_entity = se.lines_of_access(&operation.se);
        queue.iter().chain(of_entity.iter().map(|line| entity + line)).collect()
    }

    /// The lines of `tg`'s state that `step` uses.
    fn used<K: Kernel>(tg: &Tg<L2<K>>, step: impl FnOnce()) -> Lines {
        let start = std::ptr::from_ref(L2::tg_cfs_rq(tg, CpuId::new(0)).plain()).addr();
        let ((), log) = record(step);
        let touches = log.touches.iter().map(|&(at, bytes)| (at.wrapping_sub(start), bytes));
        let own = touches.filter(|(at, _)| *at < size_of::<K::State>());
        own.flat_map(|(at, bytes)| at / 64..=(at + bytes - 1) / 64).collect()
    }

    fn compare<K: Kernel>(cfs_rq: &Map<'_>, se: &Map<'_>) {
        let area = Area::builder().cpus(Area::global().lanes() as u32 - 1).build().unwrap();
        // A group with a child, which has the tasks.
        let tree = Tree::regular(1, 2).unwrap();
        let model = Model::<L2<K>>::build(&tree, 1, Order::Allocation, &area).unwrap();
        let mut rules = Rules::fixed();
        rules.sampled = 1;
        let scenario = Scenario::new(&tree, rules, vec![0], 1, Quotas::Both);
        let (guard, cpu) = (&epoch::pin(), CpuId::new(0));
        let stage = Stage::new(&model, &scenario);
        let mut player = Player::new(&stage, guard, &scenario, 0);
        let tg = |index| model.groups().get(index, guard).unwrap();
        let (middle, leaf) = (tg(1), tg(2));
        let is = |name: &str, found: &Lines| {
            assert_eq!(found, &counted(cfs_rq, se, name), "{name} of {}", K::NAME);
        };
        // A slice is asked for when nothing is left; that is another group's step.
        for group in [middle, leaf] {
            L2::tg_cfs_rq(group, cpu).plain().runtime_remaining().set(1 << 40);
        }
        let mut step = |phase, at| {
            used(middle, || assert!(player.step(&stage, phase, at).is_some(), "{phase:?}"))
        };
        // Both levels are entered: the leaf's entity in the middle's queue, and the middle's own.
        is("enqueue", &step(Phase::Wake, 0));
        is("tick", &step(Phase::Tick, 0));
        // Some segments of load tracking, so that there is load to decay.
        (1..5).for_each(|at| drop(step(Phase::Tick, at)));
        is("h_load", &step(Phase::HLoad, 0));
        let on = On { model: &model, guard, rq: model.rq(cpu), cpu };
        let queue = L2::tg_cfs_rq(leaf, cpu);
        is("blocked_parent", &used(middle, || on.decay_one(queue.plain(), queue)));
        let queue = L2::tg_cfs_rq(middle, cpu);
        is(
            "blocked_own",
            &used(middle, || {
                // The list is walked from queue to queue.
                queue.plain().leaf_cfs_rq_list();
                on.decay_one(queue.plain(), queue);
            }),
        );
        // Used up, throttled, given runtime.
        queue.plain().runtime_remaining().set(-1);
        let pool = stage.pools.of(1).unwrap();
        let _ = used(middle, || on.throttle(pool, middle, queue));
        is("distribute", &used(middle, || pool.refill(&model, middle, |_| ())));
    }

    #[test]
    fn every_step_uses_the_lines_that_were_counted_for_the_kernels() {
        if CACHE_LINE != 64 {
            return;
        }
        let of = |name: &str| KERNELS.iter().find(|maps| maps.name == name).unwrap();
        compare::<Recording<V6_14>>(&of("6.14").cfs_rq, &of("6.14").se);
        compare::<Recording<Reorder>>(&of("reorder").cfs_rq, &of("reorder").se);
        compare::<Recording<V7_2>>(&of("7.2").cfs_rq, &of("7.2").se);
        let (queue, entity) = (exchanged::CfsRq::LAYOUT, exchanged::SchedEntity::LAYOUT);
        compare::<Recording<Exchanged>>(&queue.with_line(64), &entity.with_line(64));
    }

    /// The exchange takes one line away where quota is handed out, and adds one nowhere.
    #[test]
    fn the_exchange_costs_no_operation_a_line() {
        let rfc = KERNELS.iter().find(|maps| maps.name == "reorder").unwrap();
        let queue = exchanged::CfsRq::LAYOUT.with_line(64);
        for operation in OPERATIONS {
            let before = rfc.cfs_rq.lines_of_access(&operation.cfs_rq).count();
            let after = queue.lines_of_access(&operation.cfs_rq).count();
            let fewer = usize::from(operation.name == "distribute");
            assert_eq!(after + fewer, before, "{}", operation.name);
        }
        let offline = |map: &Map<'_>| {
            map.lines_of(&["tg", "runtime_enabled", "runtime_remaining", "throttled"])
                .unwrap()
                .count()
        };
        assert_eq!([offline(&rfc.cfs_rq), offline(&queue)], [3, 2]);
    }
}

/// What the check of every phase would find: each is planted once.
mod plants {
    use super::super::check::check;
    use super::super::cpu::{Player, Stage};
    use super::*;
    use crate::layout::{Held, L2, Layout, Order};
    use crate::model::Model;
    use crate::structs::{CfsRqFields, VirtualTime, v6_14::CfsRq, v6_14::V6_14};
    use crate::tree::Tree;
    use corelocal::{Area, CpuId};
    use crossbeam_epoch as epoch;

    #[test]
    fn each_planted_fault_is_found() {
        let area = Area::builder().cpus(Area::global().lanes() as u32 - 1).build().unwrap();
        let tree = Tree::regular(3, 2).unwrap();
        let model = Model::<L2<V6_14>>::build(&tree, 1, Order::Allocation, &area).unwrap();
        let scenario = Scenario::new(&tree, Rules::fixed(), vec![0], 1, Quotas::Leaves);
        let stage = Stage::new(&model, &scenario);
        let guard = &epoch::pin();
        let mut players = vec![Player::new(&stage, guard, &scenario, 0)];
        for phase in [Phase::Wake, Phase::Tick, Phase::Throttle, Phase::Balance] {
            for at in 0.. {
                if players[0].step(&stage, phase, at).is_none() {
                    break;
                }
            }
        }
        check(&stage, &players, true).unwrap();
        // Whose tasks are awake is known.
        assert!(check(&stage, &players, false).is_err());
        let tg = model.groups().get(2, guard).unwrap();
        let of = L2::tg_cfs_rq(tg, CpuId::new(0)).plain();
        type Plant<'a> = (&'a str, &'a dyn Fn(&CfsRq), &'a dyn Fn(&CfsRq));
        let plants: [Plant<'_>; 7] = [
            ("throttle count", &|q| q.throttle_count().add(1), &|q| q.throttle_count().add(-1)),
            ("weight", &|q| q.load().weight.add(1), &|q| q.load().weight.add(u64::MAX)),
            ("weights of virtual time", &|q| q.weights().add(1), &|q| q.weights().add(u64::MAX)),
            ("entities", &|q| q.nr_queued().add(1), &|q| q.nr_queued().add(u32::MAX)),
            ("tasks", &|q| q.h_nr_queued().add(1), &|q| q.h_nr_queued().add(u32::MAX)),
            ("runnable", &|q| q.h_nr_runnable().add(1), &|q| q.h_nr_runnable().add(u32::MAX)),
            ("load that queues reported", &|q| q.tg_load_avg_contrib().add(1), &|q| {
                q.tg_load_avg_contrib().add(u64::MAX)
            }),
        ];
        for (says, plant, repair) in plants {
            plant(of);
            let error = check(&stage, &players, true).unwrap_err();
            assert!(error.contains(says) && error.contains("group 2"), "{error}");
            repair(of);
            check(&stage, &players, true).unwrap();
        }
        let pool = &tg.bandwidth.runtime;
        for (runtime, says) in [(pool.get() + 1, "the pool: "), (pool.get() - 1, "the pool: ")] {
            let right = pool.get();
            pool.set(runtime);
            assert!(check(&stage, &players, true).unwrap_err().contains(says));
            pool.set(right);
        }
        stage.pools.of(2).unwrap().lock().granted += 1 << 40;
        pool.set(pool.get() - (1 << 40));
        assert!(check(&stage, &players, true).unwrap_err().contains("overdrawn"));
    }
}

/// The whole text of two small machines. Run with `PASTE=1` to write the file anew.
#[test]
fn the_table_is_the_one_in_the_folder() {
    if corelocal::CACHE_LINE != 64 {
        return;
    }
    let regimes = regimes(&small(), Quotas::Both, 1, |_| ()).unwrap();
    let mut text = Vec::new();
    crate::report::replayed(&regimes, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/replay.txt");
    if std::env::var_os("PASTE").is_some() {
        std::fs::write(file, &text).unwrap();
        return;
    }
    let there = std::fs::read_to_string(file).expect("the table is there");
    assert!(text == there, "{file} differs from\n{text}");
}

#[test]
fn nothing_is_placed_twice() {
    use super::params::FreeList;
    use super::place::{Habits, Memory};
    use crate::layout::{L0, L1, L2, Order};
    use crate::model::Model;
    use crate::structs::v6_14::V6_14;
    fn of<L: crate::layout::Layout>() {
        let area = corelocal::Area::builder().cpus(corelocal::Area::global().lanes() as u32 + 3);
        let tree = crate::tree::Tree::regular(3, 3).unwrap();
        let model = Model::<L>::build(&tree, 4, Order::Allocation, &area.build().unwrap()).unwrap();
        for free_list in [FreeList::Sequential, FreeList::Random] {
            for pages in [Pages::Scattered, Pages::Contiguous] {
                let habits = Habits { nodes: 2, free_list, pages, seed: 3 };
                assert!(!Memory::new(&model, habits).overlaps(), "{} {habits:?}", L::NAME);
            }
        }
    }
    of::<L0<V6_14>>();
    of::<L1<V6_14>>();
    of::<L2<V6_14>>();
}
