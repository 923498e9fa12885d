//! The promises of a search, against what each CPU was at meanwhile.

use corelocal::{CpuId, CpuMask, Priority};
use std::collections::BTreeMap;

/// The levels that each CPU was at during a search, or was being moved from or to, in order.
pub(crate) type Paths = BTreeMap<CpuId, Vec<Priority>>;

/// What somebody asked for, and whether the layout never misses who falls.
pub(crate) struct Question<'a> {
    pub(crate) priority: Priority,
    pub(crate) allowed: &'a CpuMask,
    pub(crate) sees_fallers: bool,
}

impl Question<'_> {
    /// Which promise an answer of `find` breaks.
    pub(crate) fn fault_of_all(
        &self,
        paths: &Paths,
        level: Option<Priority>,
        found: &CpuMask,
    ) -> Option<String> {
        if level.is_none() != found.is_empty() {
            return Some("G4: CPUs without a level, or a level without CPUs".into());
        }
        let broken = found.iter().find_map(|cpu| self.fault_of_member(paths, cpu, level?));
        broken.or_else(|| self.fault_of_missing(paths, level)).or_else(|| {
            let left_out = self.eligible(paths).find(|(cpu, path)| {
                path.iter().all(|at| Some(*at) == level) && !found.contains(*cpu)
            });
            left_out
                .map(|(cpu, path)| format!("G2: CPU {cpu} stays at {path:?}, is not among them"))
        })
    }

    /// Which promise an answer of `find_any` breaks.
    pub(crate) fn fault_of_one(
        &self,
        paths: &Paths,
        one: Option<(CpuId, Priority)>,
    ) -> Option<String> {
        let level = one.map(|(_, level)| level);
        let broken = one.and_then(|(cpu, level)| self.fault_of_member(paths, cpu, level));
        broken.or_else(|| self.fault_of_missing(paths, level))
    }

    fn fault_of_member(&self, paths: &Paths, cpu: CpuId, level: Priority) -> Option<String> {
        if level >= self.priority || level == Priority::INVALID {
            return Some(format!("G4: {level:?} is not below {:?}", self.priority));
        }
        match paths.get(&cpu) {
            Some(path) if self.allowed.contains(cpu) && path.contains(&level) => None,
            path => {
                Some(format!("G1: CPU {cpu} was at {path:?}, not at {level:?}, or is forbidden"))
            }
        }
    }

    /// CPUs that had to be seen are below the level, or there is no level.
    fn fault_of_missing(&self, paths: &Paths, level: Option<Priority>) -> Option<String> {
        let missed = self.eligible(paths).find(|(_, path)| {
            let rises = path.windows(2).all(|pair| pair[0] <= pair[1]);
            let highest = path.iter().max();
            (rises || self.sees_fallers) && level.is_none_or(|level| Some(&level) > highest)
        });
        missed.map(|(cpu, path)| format!("G2, G3: CPU {cpu} was at {path:?}, answer {level:?}"))
    }

    /// CPUs that the task could have gone to all the time.
    fn eligible<'a>(
        &'a self,
        paths: &'a Paths,
    ) -> impl Iterator<Item = (CpuId, &'a Vec<Priority>)> {
        paths.iter().map(|(cpu, path)| (*cpu, path)).filter(|(cpu, path)| {
            let below = |at: &Priority| *at != Priority::INVALID && *at < self.priority;
            self.allowed.contains(*cpu) && path.iter().all(below)
        })
    }
}

/// The checker itself, on answers that are wrong.
#[test]
fn broken_promises_are_seen() {
    let level = |level| Priority::from_level(level).unwrap();
    let path = |levels: &[u8]| levels.iter().map(|at| level(*at)).collect::<Vec<_>>();
    let (stays, rises, falls) = (path(&[3]), path(&[1, 5]), path(&[8, 2]));
    let paths: Paths = (0..).map(CpuId::new).zip([stays, rises, falls, path(&[0])]).collect();
    let allowed: CpuMask = "0-2".parse().unwrap();
    let asked = |sees_fallers| Question { priority: level(9), allowed: &allowed, sees_fallers };
    let fault = |at: Option<u8>, cpus: &str, sees_fallers: bool| {
        let found = cpus.parse().unwrap();
        let fault = asked(sees_fallers).fault_of_all(&paths, at.map(level), &found);
        fault.map(|text| text[..2].to_owned()).unwrap_or_default()
    };
    for (at, cpus) in [(1, "1"), (3, "0"), (2, "2")] {
        assert_eq!(fault(Some(at), cpus, false), "");
    }
    for (at, cpus, promise) in [
        (Some(3), "", "G4"),
        (None, "0", "G4"),
        (None, "", "G2"),
        (Some(3), "0,3", "G1"),
        (Some(0), "3", "G1"),
        (Some(2), "1", "G1"),
        (Some(5), "1", "G2"),
        (Some(8), "2", "G2"),
    ] {
        assert_eq!(fault(at, cpus, false), promise, "{at:?} {cpus}");
    }
    let one = |cpu: u32, at| asked(false).fault_of_one(&paths, Some((CpuId::new(cpu), level(at))));
    assert_eq!(one(0, 3), None);
    assert!(one(0, 4).is_some() && one(1, 5).is_some() && one(7, 0).is_some());
    // Who falls may be missed, but not by the layout that promises it.
    let only: Paths = [(CpuId::new(2), path(&[8, 2]))].into();
    assert_eq!(asked(false).fault_of_all(&only, None, &CpuMask::new()), None);
    assert!(asked(true).fault_of_all(&only, None, &CpuMask::new()).is_some());
}
