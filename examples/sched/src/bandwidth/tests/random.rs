//! Random trees, quotas, tasks and changes, in a layout and with semantics that are random too.
//!
//! `PROPTEST_CASES=10000 cargo test --release -p sched bandwidth::tests::random` runs as many.

use super::*;
use proptest::prelude::*;

/// A task: CPU, group, kernel thread, on, off and stay in microseconds, delay.
pub(super) type TaskSpec = (u32, usize, bool, Option<(u64, u64)>, u64, u64);

/// Something that happens.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// A group's limit is written: quota and burst in milliseconds, period.
    Quota(usize, Option<(u64, u64)>, u64),
    /// A CPU goes off.
    Off(u32),
    /// A CPU comes back.
    On(u32),
}

/// All that a run depends on.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) seed: u64,
    pub(super) cpus: u32,
    pub(super) groups: Vec<Spec>,
    pub(super) tasks: Vec<TaskSpec>,
    /// What happens, and after how many milliseconds.
    pub(super) changes: Vec<(u64, Change)>,
}

fn scene() -> impl Strategy<Value = Scene> {
    let period = prop::sample::select(vec![2_u64, 5, 10, 20, 50]);
    let group = (any::<prop::sample::Index>(), prop::option::weighted(0.7, (1_u64..30, period)));
    let task = (
        any::<u32>(),
        any::<prop::sample::Index>(),
        prop::bool::weighted(0.1),
        prop::option::weighted(0.6, (50_u64..15_000, 50_u64..20_000)),
        prop_oneof![3 => Just(0_u64), 1 => 1_u64..2500],
        0_u64..15_000,
    );
    let limit = prop::option::weighted(0.8, (1_u64..30, 0_u64..30));
    let change = prop_oneof![
        (any::<prop::sample::Index>(), limit, 2_u64..40).prop_map(|(g, l, p)| (0, Some(g), l, p)),
        (0_u64..4).prop_map(|cpu| (1, None, None, cpu)),
        (0_u64..4).prop_map(|cpu| (2, None, None, cpu)),
    ];
    let lists = (
        prop::collection::vec(group, 1..8),
        prop::collection::vec(task, 1..9),
        prop::collection::vec((1_u64..30, change), 0..8),
    );
    (any::<u64>(), 1_u32..=4, lists).prop_map(|(seed, cpus, (groups, tasks, changes))| {
        let groups: Vec<Spec> = groups
            .into_iter()
            .enumerate()
            .map(|(at, (parent, limit))| (parent.index(at + 1), limit))
            .collect();
        let group = |index: prop::sample::Index| index.index(groups.len() + 1);
        let tasks = tasks
            .into_iter()
            .map(|(cpu, g, kernel, on_off, stay, delay)| {
                (cpu % cpus, group(g), kernel, on_off, stay, delay)
            })
            .collect();
        let changes = changes
            .into_iter()
            .map(|(after, (kind, g, limit, number))| {
                let change = match kind {
                    0 => Change::Quota(group(g.expect("with a group")), limit, number),
                    1 => Change::Off(number as u32 % cpus),
                    _ => Change::On(number as u32 % cpus),
                };
                (after, change)
            })
            .collect();
        Scene { seed, cpus, groups, tasks, changes }
    })
}

impl Scene {
    /// Plays the scene with every check after every 5 ms and every change.
    pub(super) fn play<L: Layout>(
        &self,
        semantics: Semantics,
        plant: Option<Plant>,
    ) -> Result<Vec<machine::Stat>, String> {
        let model = model::<L>(&tree(&self.groups), self.cpus);
        let settings = Settings { seed: self.seed, plant, ..Settings::new(semantics) };
        let mut machine = Machine::new(&model, settings);
        for &(at, group, is_kernel, on_off, stay, delay) in &self.tasks {
            let (on, off) = on_off.map_or((u64::MAX, 0), |(on, off)| (on * 1000, off * 1000));
            let behaviour = Behaviour { on, off, stay: stay * 1000 };
            match is_kernel {
                true => machine.spawn_kernel_thread(cpu(at), group, behaviour, delay * 1000),
                false => machine.spawn(cpu(at), group, behaviour, delay * 1000),
            };
        }
        let last = (60, Change::On(0));
        for (after, change) in self.changes.iter().chain([&last]) {
            let mut left = after * MS;
            while left > 0 {
                machine.run(left.min(5 * MS))?;
                left -= left.min(5 * MS);
                check(machine.control())?;
            }
            match *change {
                Change::Quota(group, limit, period) => {
                    let (quota, burst) = limit.unzip();
                    let micros = |ms: u64| ms * 1000;
                    let burst = micros(burst.unwrap_or(0));
                    let quota = Quota { quota: quota.map(micros), period: micros(period), burst };
                    // Refused if it is wrong, and then nothing changes.
                    let _ = machine.set_quota(group, quota);
                }
                Change::Off(id) => machine.offline(cpu(id)),
                Change::On(id) => machine.online(cpu(id)),
            }
            check(machine.control()).map_err(|what| format!("after {change:?}: {what}"))?;
        }
        Ok((0..=self.groups.len()).map(|group| machine.stat(group)).collect())
    }

    /// In the layout of that number.
    pub(super) fn play_in(
        &self,
        layout: u64,
        semantics: Semantics,
        plant: Option<Plant>,
    ) -> Result<Vec<machine::Stat>, String> {
        match layout % 10 {
            0 => self.play::<L0<V6_14>>(semantics, plant),
            1 => self.play::<L1b<V6_14>>(semantics, plant),
            2 => self.play::<L2<V6_14>>(semantics, plant),
            3 => self.play::<L3>(semantics, plant),
            4 => self.play::<L0<V7_2>>(semantics, plant),
            5 => self.play::<L1b<V7_2>>(semantics, plant),
            6 => self.play::<L2<V7_2>>(semantics, plant),
            7 => self.play::<L0<V7_3>>(semantics, plant),
            8 => self.play::<L1b<V7_3>>(semantics, plant),
            _ => self.play::<L2<V7_3>>(semantics, plant),
        }
    }
}

/// Few without optimisation, unless `PROPTEST_CASES` asks for more.
fn cases() -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let default = ProptestConfig::default();
    ProptestConfig { cases: if asked { default.cases } else { 48 }, ..default }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_check_holds_whatever_happens(scene in scene()) {
        for semantics in BOTH {
            scene.play_in(scene.seed, semantics, None).map_err(TestCaseError::fail)?;
        }
    }

    /// No decision depends on where the state lies or on whose structures it is in.
    #[test]
    fn all_layouts_decide_alike(scene in scene(), other in 1_u64..10) {
        for semantics in BOTH {
            let one = scene.play_in(scene.seed, semantics, None);
            prop_assert_eq!(scene.play_in(scene.seed % 10 + other, semantics, None), one);
        }
    }
}
