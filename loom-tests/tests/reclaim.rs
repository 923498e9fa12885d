//! Models of `corelocal::reclaim`: what is put into a slot, what is taken out of it, and when it is
//! freed (edges E90 to E93).
//!
//! Under loom a stand-in has the place of `crossbeam-epoch` (`src/reclaim/epoch_model.rs`); without,
//! the same models run on the real one, which frees later than the stand-in, if at all.
#![allow(unsafe_code, reason = "a second list, which no lifetime guards")]

use corelocal::reclaim::{Guard, pin, wait_for_readers};
use corelocal::{Area, AtomicPerCpu, PerCpu, PerCpuPtr, PerCpuRef};
use loom_tests::{Arc, AtomicUsize, Canary, EXPLORES, finish, large_model, model, part, together};
use std::sync::atomic::Ordering;

/// One lane's copy, which notices who uses it while it is made or dropped.
#[derive(Debug, Default)]
struct Copy {
    made: Canary,
    number: usize,
}

impl Drop for Copy {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.made.touch();
        }
    }
}

fn look(object: PerCpuRef<'_, Copy>) -> usize {
    object.spill().made.look();
    object.spill().number
}

/// A slot, and objects for it.
struct Shared {
    area: Area,
    slot: AtomicPerCpu<Copy>,
}

impl Shared {
    fn empty() -> Arc<Self> {
        let area = Area::builder().odd_lines(false).build().expect("as many lanes as CPUs");
        // The stand-in wants the first pin of a run from the thread that starts the others.
        drop(pin());
        Arc::new(Self { area, slot: AtomicPerCpu::null() })
    }

    fn full() -> Arc<Self> {
        let shared = Self::empty();
        assert!(shared.slot.swap(Some(shared.object(1)), &pin()).is_none());
        shared
    }

    fn object(&self, number: usize) -> PerCpu<Copy> {
        let copy = |_| Copy { made: Canary::default(), number };
        let object = self.area.try_alloc(copy).expect("memory for a model");
        object.iter().for_each(|(_, copy)| copy.made.touch());
        object
    }

    /// Uses what is in the slot twice, as a reader. Says which it was.
    fn read(&self) -> Option<usize> {
        let guard = pin();
        let object = self.slot.load(&guard)?;
        assert_eq!(look(object), look(object), "the object changed under its reader");
        Some(look(object))
    }

    fn end(shared: Arc<Self>) {
        drop(shared);
        finish();
    }
}

/// E90: who loads an object sees how it was made.
#[test]
fn a_reader_sees_an_object_that_is_not_made() {
    model("a_reader_sees_an_object_that_is_not_made", 3, || {
        let shared = Shared::empty();
        together([
            part(&shared, |shared| {
                let guard = pin();
                drop(shared.slot.swap(Some(shared.object(1)), &guard));
            }),
            part(&shared, |shared| assert!(matches!(shared.read(), None | Some(1)))),
        ]);
        assert_eq!(shared.read(), Some(1));
        Shared::end(shared);
    });
}

/// E90: who takes an object out may read it at once.
#[test]
fn an_object_that_is_taken_out_is_not_made() {
    model("an_object_that_is_taken_out_is_not_made", 3, || {
        let shared = Shared::empty();
        together([
            part(&shared, |shared| {
                let guard = pin();
                drop(shared.slot.swap(Some(shared.object(1)), &guard));
            }),
            part(&shared, |shared| {
                let guard = pin();
                if let Some(old) = shared.slot.swap(None, &guard) {
                    assert_eq!(look(old.as_ref()), 1);
                }
            }),
        ]);
        Shared::end(shared);
    });
}

/// Objects numbered 1 and 2, made beforehand: an allocation has steps of its own to explore.
type Own = [Option<PerCpu<Copy>>; 2];

/// Puts an object that is one higher in the place of what is there.
fn raise(shared: &Shared, mut own: Own) {
    let guard = pin();
    let mut seen = shared.slot.load(&guard);
    loop {
        let number = seen.map_or(0, look);
        let next = own[number].take().expect("two threads, one step each");
        next.spill().made.touch();
        match shared.slot.compare_exchange(seen, Some(next), &guard) {
            Ok(old) => {
                assert_eq!(old.map_or(0, |old| look(old.as_ref())), number);
                return;
            }
            Err(lost) => {
                seen = lost.current;
                own[number] = lost.new;
            }
        }
    }
}

/// E90: an exchange publishes, and who loses one may read what it lost to.
#[test]
fn a_loser_reads_an_object_that_is_not_made() {
    model("a_loser_reads_an_object_that_is_not_made", 3, || {
        let shared = Shared::empty();
        together([0, 1].map(|_| {
            let own: Own = [1, 2].map(|number| Some(shared.object(number)));
            part(&shared, move |shared| raise(shared, own))
        }));
        assert_eq!(shared.read(), Some(2), "a change was lost");
        Shared::end(shared);
    });
}

/// E90: an exchange takes an object out that somebody else has put there.
#[test]
fn an_exchange_takes_out_an_object_that_is_not_made() {
    model("an_exchange_takes_out_an_object_that_is_not_made", 3, || {
        let shared = Shared::empty();
        let raw = PerCpu::into_raw(shared.object(1));
        // SAFETY:
        // - given back once; nobody uses the handle after the object is gone.
        let object = std::sync::Mutex::new(Some(unsafe { PerCpu::from_raw(raw) }));
        together([
            part(&shared, move |shared| {
                let object = object.lock().expect("nobody panicked").take();
                object.iter().for_each(|object| object.spill().made.touch());
                drop(shared.slot.swap(object, &pin()));
            }),
            part(&shared, move |shared| {
                let guard = pin();
                // A place that was heard of elsewhere, and not loaded: the exchange alone can
                // make its content known.
                // SAFETY:
                // - the object lives, in the slot or outside, until this thread takes it out.
                let there = unsafe { raw.as_ref() };
                if let Ok(Some(old)) = shared.slot.compare_exchange(Some(there), None, &guard) {
                    assert_eq!(look(old.as_ref()), 1);
                }
            }),
        ]);
        Shared::end(shared);
    });
}

/// E92, E93: an object outlives its readers, however it is retired.
fn reader_beside(name: &str, retire: impl Fn(&Shared, &Guard) + Copy_) {
    model(name, 3, move || {
        let shared = Shared::full();
        together([
            part(&shared, |shared| assert!(matches!(shared.read(), None | Some(1)))),
            part(&shared, move |shared| retire(shared, &pin())),
        ]);
        assert_eq!(shared.read(), None);
        Shared::end(shared);
    });
}

/// What a model's closure must be.
trait Copy_: std::marker::Copy + Send + Sync + 'static {}
impl<F: std::marker::Copy + Send + Sync + 'static> Copy_ for F {}

#[test]
fn an_object_is_freed_under_its_reader() {
    reader_beside("an_object_is_freed_under_its_reader", |shared, guard| {
        assert!(shared.slot.retire(guard));
    });
}

#[test]
fn an_object_that_is_let_go_is_freed_under_its_reader() {
    let name = "an_object_that_is_let_go_is_freed_under_its_reader";
    reader_beside(name, |shared, guard| drop(shared.slot.swap(None, guard)));
}

#[test]
fn a_callback_has_an_object_that_is_still_read() {
    reader_beside("a_callback_has_an_object_that_is_still_read", |shared, guard| {
        let old = shared.slot.swap(None, guard).expect("it is full");
        old.retire_with(guard, |object| object.iter().for_each(|(_, copy)| copy.made.touch()));
    });
}

/// E91: who waits for the readers sees what they did.
#[test]
fn a_waiter_has_an_object_that_is_still_read() {
    model("a_waiter_has_an_object_that_is_still_read", 3, || {
        let shared = Shared::full();
        together([
            part(&shared, |shared| assert!(matches!(shared.read(), None | Some(1)))),
            part(&shared, |shared| {
                let guard = pin();
                let old = shared.slot.swap(None, &guard).expect("it is full");
                let old = old.wait().expect_err("this thread is pinned").into_inner();
                assert!(wait_for_readers().is_err());
                drop(guard);
                let object = old.wait().expect("this thread is not pinned any more");
                object.iter().for_each(|(_, copy)| copy.made.touch());
            }),
        ]);
        Shared::end(shared);
    });
}

/// An object that lies in a slot and, by number, in a second list.
struct Listed {
    shared: Arc<Shared>,
    object: PerCpuPtr<Copy>,
    /// Whether the object is there.
    list: AtomicUsize,
    freed: AtomicUsize,
}

impl Listed {
    #[allow(clippy::new_ret_no_self, reason = "every thread of a model has a handle")]
    fn new() -> Arc<Self> {
        let shared = Shared::empty();
        let object = PerCpu::into_raw(shared.object(1));
        // SAFETY:
        // - given back once; who uses the handle later is what the model is about.
        let owned = unsafe { PerCpu::from_raw(object) };
        assert!(shared.slot.swap(Some(owned), &pin()).is_none());
        let (list, freed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { shared, object, list, freed })
    }

    /// Comes by the slot, and puts what is there into the list.
    fn walk(&self) {
        let guard = pin();
        if let Some(object) = self.shared.slot.load(&guard) {
            look(object);
            // Relaxed: as the leaf list under its lock, of which only the content matters here.
            self.list.store(1, Ordering::Relaxed);
            look(object);
        }
    }

    /// Comes by the list.
    fn find(&self) {
        let guard = pin();
        // Relaxed: as in `walk`.
        if self.list.load(Ordering::Relaxed) == 1 {
            // SAFETY:
            // - what is in the list is not freed while a guard is pinned under which it was found.
            look(unsafe { self.object.as_ref() });
            drop(guard);
        }
    }
}

/// Two stages: who walked before the object left its slot may list it again, and who finds it
/// there may use it.
#[test]
fn a_dying_object_is_listed_again() {
    large_model("a_dying_object_is_listed_again", [2, 4], || {
        let listed = Listed::new();
        let list = listed.clone();
        together([
            part(&listed, Listed::walk),
            part(&listed, Listed::find),
            part(&listed, move |listed| {
                let guard = pin();
                let old = listed.shared.slot.swap(None, &guard).expect("it is full");
                old.retire_in_stages(&guard, move |object| {
                    look(object);
                    list.list.store(0, Ordering::Relaxed);
                    list.freed.store(1, Ordering::Relaxed);
                });
            }),
        ]);
        if EXPLORES {
            assert_eq!(listed.freed.load(Ordering::Relaxed), 1, "nobody unregistered it");
            assert_eq!(listed.list.load(Ordering::Relaxed), 0, "a dead object is listed");
        }
        drop(listed);
        finish();
    });
}
