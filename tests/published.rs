//! Plain data that goes from thread to thread by a section alone: what the thread sanitizer must find in
//! order, and must call a race where a commit is not annotated (`--cfg corelocal_tsan`). Without the
//! sanitizer these are small tests of what arrives.
#![cfg(all(feature = "std", target_os = "linux"))]

mod common;

use common::stress;
use corelocal::refcount::PerCpuArcOwner;
use corelocal::{PerCpuRing, PerCpuRwLock};
use std::cell::Cell;
use std::sync::Barrier;
use std::thread;

/// Four words that are always the same one.
#[derive(Debug)]
struct Plain([Cell<u64>; 4]);

impl Plain {
    fn new(word: u64) -> Self {
        Self([(); 4].map(|()| Cell::new(word)))
    }

    /// Reads all, and adds one to each.
    fn step(&self) -> u64 {
        let [first, rest @ ..] = &self.0;
        assert!(rest.iter().all(|word| word.get() == first.get()), "half of it: {self:?}");
        self.0.iter().for_each(|word| word.set(word.get() + 1));
        first.get()
    }
}

fn rounds() -> u64 {
    2000 * stress()
}

/// L4, <https://github.com/penberg/chimera/pull/45>.
#[cfg(feature = "pool")]
#[test]
fn an_object_arrives_without_what_its_last_user_did() {
    use corelocal::PerCpuPool;
    let pool = PerCpuPool::builder(|| Plain::new(0)).lane_capacity(2).shared_batches(2);
    let pool = pool.build().expect("memory for three lanes");
    let begin = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                begin.wait();
                for _ in 0..rounds() {
                    let (one, two) = (pool.get(), pool.get());
                    one.step();
                    two.step();
                }
            });
        }
    });
    // Each step was in one object; objects that found no room are gone, and their steps. The step that
    // reads an object is none of them.
    let idle: Vec<_> = std::iter::from_fn(|| pool.get_idle()).collect();
    let steps: u64 = idle.iter().map(|object| object.step() - 1).sum();
    assert!(steps <= 8 * rounds(), "{steps} of {}", 8 * rounds());
}

/// L4: a record holds an address, and what lies there is the writer's work.
#[test]
fn a_record_arrives_without_what_its_writer_did_before() {
    let ring = PerCpuRing::new(4096);
    let mut reader = ring.reader().expect("the only one");
    let begin = Barrier::new(4);
    thread::scope(|scope| {
        let writers = [(); 3].map(|()| {
            scope.spawn(|| {
                let mut written = 0;
                begin.wait();
                for word in 0..rounds() {
                    let plain = Box::into_raw(Box::new([word; 4]));
                    match ring.write(&plain.expose_provenance().to_ne_bytes()) {
                        Ok(_) => written += 1,
                        Err(_) => drop(boxed(plain.expose_provenance())),
                    }
                }
                written
            })
        });
        let mut read = 0;
        begin.wait();
        let mut take = || {
            for record in reader.drain() {
                let at = usize::from_ne_bytes(record.bytes().try_into().expect("one word"));
                let plain = boxed(at);
                assert!(plain.iter().all(|word| *word == plain[0]), "half of it: {plain:?}");
                read += 1;
            }
            reader.give_back();
        };
        while !writers.iter().all(|writer| writer.is_finished()) {
            take();
        }
        take();
        let written: u64 =
            writers.map(|writer| writer.join().expect("it only writes")).iter().sum();
        assert_eq!(read, written);
    });
}

/// What a record tells the address of.
#[allow(unsafe_code, reason = "an owner goes through bytes")]
fn boxed(at: usize) -> Box<[u64; 4]> {
    // SAFETY: the address of a `Box` that was made into a raw pointer; the record is read once.
    unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut(at)) }
}

/// L4: readers leave by a section, and a writer comes after them.
#[test]
fn a_writer_comes_before_its_readers_have_left() {
    let lock = PerCpuRwLock::new([0_u64; 4]);
    let begin = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                begin.wait();
                for _ in 0..rounds() {
                    let words = lock.read().unwrap();
                    assert!(words.iter().all(|word| *word == words[0]), "half of it: {words:?}");
                }
            });
        }
        begin.wait();
        for word in 1..=rounds() / 20 {
            lock.write().unwrap().fill(word);
        }
    });
    assert_eq!(lock.into_inner().unwrap(), [rounds() / 20; 4]);
}

/// L4: references are put by sections; whoever drops the value comes after all of them.
#[test]
fn a_value_dies_before_its_users_are_done_with_it() {
    struct Dies(Vec<u64>);
    impl Drop for Dies {
        fn drop(&mut self) {
            assert!(self.0.iter().all(|word| *word == 7));
            self.0.fill(0);
        }
    }
    for _ in 0..20 * stress() {
        let owner = PerCpuArcOwner::new(Dies(vec![7; 64]));
        let threads = [(); 3].map(|()| {
            let shared = owner.share();
            thread::spawn(move || {
                (0..100).map(|_| shared.clone()).filter(|shared| shared.0.contains(&7)).count()
            })
        });
        owner.kill().expect("nobody refuses the barrier");
        assert!(threads.into_iter().all(|thread| thread.join().expect("it only reads") == 100));
    }
}
