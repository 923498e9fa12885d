//! Models of `corelocal::rwlock`: readers beside writers, who waits for whom, and what a scan of the
//! lanes may conclude (edges E80 to E83). By atomics it is the lock itself, as in a process without
//! sections; in sections its gate, on a machine of one CPU and the spill lane.

use corelocal::{Area, PerCpuRwLock};
use loom_tests::{
    Arc, Canary, finish, large_model, model, on_changing_cpus, on_cpus, part, thread, together,
};

const SPILL: Option<u32> = Some(u32::MAX);

/// A lock in lanes of a model's own; they keep the area that they lie in.
struct Shared {
    lock: PerCpuRwLock<Canary>,
}

impl Shared {
    #[allow(clippy::new_ret_no_self, reason = "every thread of a model has a handle")]
    fn new() -> Arc<Self> {
        let area = Area::builder().odd_lines(false).build().expect("as many lanes as CPUs");
        let lock = PerCpuRwLock::in_area(&area, Canary::default()).expect("memory for a model");
        Arc::new(Self { lock })
    }

    fn read(&self) {
        self.lock.read().unwrap().look();
    }

    fn write(&self) {
        self.lock.write().unwrap().touch();
    }

    fn end(shared: Arc<Self>) {
        assert!(shared.lock.try_write().is_ok(), "somebody is inside still");
        drop(shared);
        finish();
    }
}

/// E81, E82: the sum has the reader, or the reader sees the word closed; and who sees its exit sees
/// what it did.
#[test]
fn a_reader_and_a_writer_are_inside_together() {
    on_cpus([Some(0), Some(1), Some(0)], || {
        model("a_reader_and_a_writer_are_inside_together", 3, || {
            let shared = Shared::new();
            together([part(&shared, Shared::read), part(&shared, Shared::write)]);
            Shared::end(shared);
        });
    });
}

#[test]
fn a_reader_that_does_not_wait_is_inside_with_a_writer() {
    on_cpus([Some(0), SPILL, Some(0)], || {
        model("a_reader_that_does_not_wait_is_inside_with_a_writer", 3, || {
            let shared = Shared::new();
            together([
                part(&shared, |shared| {
                    if let Ok(seen) = shared.lock.try_read() {
                        seen.look();
                    }
                }),
                part(&shared, Shared::write),
            ]);
            Shared::end(shared);
        });
    });
}

/// A word that changed meanwhile is not a closed one.
#[test]
fn a_reader_that_does_not_wait_is_refused_by_an_open_lock() {
    on_cpus([Some(0), SPILL, Some(0)], || {
        model("a_reader_that_does_not_wait_is_refused_by_an_open_lock", 3, || {
            let shared = Shared::new();
            together([
                part(&shared, |shared| assert!(shared.lock.try_read().is_ok(), "it was open")),
                part(&shared, |shared| shared.lock.clear_poison()),
            ]);
            Shared::end(shared);
        });
    });
}

/// The three bad interleavings of a scan with one count a lane, and those of one that sums the entries
/// first: a reader that comes too late is counted in the first lane, and leaves again in the last
/// one. It must not make up for the one who is inside.
#[test]
fn a_late_reader_makes_up_for_one_who_is_inside() {
    // The caller is on CPU 1 and stays inside. The other one comes on CPU 0 and leaves elsewhere.
    let cpu = |thread, question| match (thread, question) {
        (0, _) => Some(1),
        (_, 0) => Some(0),
        (_, _) => SPILL,
    };
    on_changing_cpus(cpu, || {
        large_model("a_late_reader_makes_up_for_one_who_is_inside", [2, 3], || {
            let shared = Shared::new();
            let inside = shared.lock.read().unwrap();
            let (late, writer) = (shared.clone(), shared.clone());
            let late = thread::spawn(move || drop(late.lock.try_read()));
            let writer = thread::spawn(move || writer.write());
            inside.look();
            drop(inside);
            late.join().unwrap();
            writer.join().unwrap();
            Shared::end(shared);
        });
    });
}

/// E83: nobody sleeps for ever, whoever leaves last. (Loom fails a model in which all threads wait.)
#[test]
fn a_writer_is_not_woken_by_the_last_reader() {
    on_cpus([Some(0), Some(1), Some(0), SPILL], || {
        large_model("a_writer_is_not_woken_by_the_last_reader", [2, 3], || {
            let shared = Shared::new();
            together([
                part(&shared, Shared::read),
                part(&shared, Shared::write),
                part(&shared, Shared::read),
            ]);
            Shared::end(shared);
        });
    });
}

/// Readers that waited for a writer are counted by it: the next one waits for them.
#[test]
fn a_writer_forgets_those_who_waited_for_the_last_one() {
    on_cpus([Some(0), Some(1), Some(0)], || {
        large_model("a_writer_forgets_those_who_waited_for_the_last_one", [2, 3], || {
            let shared = Shared::new();
            together([
                part(&shared, Shared::read),
                part(&shared, |shared| {
                    shared.write();
                    shared.write();
                }),
            ]);
            Shared::end(shared);
        });
    });
}

#[test]
fn two_writers_are_inside_together() {
    on_cpus([Some(0), Some(1), Some(0)], || {
        model("two_writers_are_inside_together", 3, || {
            let shared = Shared::new();
            together([part(&shared, Shared::write), part(&shared, Shared::write)]);
            Shared::end(shared);
        });
    });
}

#[test]
fn a_writer_that_does_not_wait_leaves_the_gate_closed() {
    on_cpus([Some(0), Some(1), Some(0)], || {
        model("a_writer_that_does_not_wait_leaves_the_gate_closed", 3, || {
            let shared = Shared::new();
            together([
                part(&shared, Shared::read),
                part(&shared, |shared| {
                    if let Ok(seen) = shared.lock.try_write() {
                        seen.touch();
                    }
                }),
            ]);
            Shared::end(shared);
        });
    });
}

/// The gate, with sections.
#[cfg(corelocal_loom)]
mod sections {
    use super::*;
    use corelocal::model::MachineGate;

    struct Gated {
        gate: MachineGate,
        value: Canary,
    }

    impl Gated {
        #[allow(clippy::new_ret_no_self, reason = "every thread of a model has a handle")]
        fn new() -> Arc<Self> {
            Arc::new(Self { gate: MachineGate::new(1), value: Canary::default() })
        }

        fn read(&self) {
            self.gate.read(|| self.value.look());
        }

        fn write(&self) {
            self.gate.write(|| self.value.touch());
        }

        fn end(&self) {
            assert!(self.gate.try_write(|| self.value.touch()), "somebody is inside still");
        }
    }

    /// E24, E82: an entry that the sums miss does not commit.
    #[test]
    fn a_section_and_a_writer_are_inside_together() {
        on_cpus([Some(0)], || {
            model("a_section_and_a_writer_are_inside_together", 2, || {
                let gated = Gated::new();
                together([part(&gated, Gated::read), part(&gated, Gated::write)]);
                gated.end();
            });
        });
    }

    #[test]
    fn a_section_that_does_not_wait_is_inside_with_a_writer() {
        on_cpus([Some(0)], || {
            model("a_section_that_does_not_wait_is_inside_with_a_writer", 2, || {
                let gated = Gated::new();
                together([
                    part(&gated, |gated| _ = gated.gate.try_read(|| gated.value.look())),
                    part(&gated, Gated::write),
                ]);
                gated.end();
            });
        });
    }

    /// E80: the word that a reader saw open is the one that it is let in by.
    #[test]
    fn a_reader_misses_what_the_last_writer_did() {
        on_cpus([Some(0)], || {
            large_model("a_reader_misses_what_the_last_writer_did", [2, 3], || {
                let gated = Gated::new();
                together([
                    part(&gated, Gated::read),
                    part(&gated, |gated| {
                        gated.gate.try_write(|| gated.value.touch());
                    }),
                ]);
                gated.end();
            });
        });
    }

    #[test]
    fn a_spilling_reader_and_a_writer_are_inside_together() {
        on_cpus([Some(0), SPILL, Some(0)], || {
            model("a_spilling_reader_and_a_writer_are_inside_together", 2, || {
                let gated = Gated::new();
                together([part(&gated, Gated::read), part(&gated, Gated::write)]);
                gated.end();
            });
        });
    }

    #[test]
    fn readers_on_one_cpu_and_a_spilling_one_keep_a_writer_out_for_ever() {
        on_cpus([Some(0), Some(0), SPILL], || {
            large_model("readers_on_one_cpu_and_a_spilling_one", [1, 2], || {
                let gated = Gated::new();
                together([
                    part(&gated, Gated::read),
                    part(&gated, Gated::read),
                    part(&gated, Gated::write),
                ]);
                gated.end();
            });
        });
    }
}
