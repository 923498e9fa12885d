//! `ring`: a record of 64 bytes with a time, as a tracer writes it.
//!
//! The floor is the same record, header included, copied into a buffer of one thread, which is
//! **wrong** as a trace: nobody else can read it while it is written. In `write` the buffer is declared
//! empty after every 800 records; in `write + read` each record is read, too, after 800 were
//! written. The time is always that of one record.
#![allow(unsafe_code, reason = "records of any length in a buffer, as in the ring")]

use super::Goal;
use crate::Case;
use crate::machine::{forget, sched_getcpu};
use crate::threads::{self, Op, on_many};
use corelocal::{PerCpu, PerCpuRing};
use crossbeam_queue::ArrayQueue;
use crossbeam_utils::CachePadded;
use ringbuf::traits::{Consumer, Producer, Split};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::LocalKey;
use thread_local::ThreadLocal;

pub(super) const BASELINE: &str = "private copy (wrong)";
const OURS: &str = "PerCpuRing";

/// Bytes of a buffer.
const CAPACITY: usize = 1 << 16;
/// Records that are written before any are read: what most buffers here hold.
const ROUND: u64 = 800;

/// The bytes of a record.
type Bytes = [u8; 64];
/// A record of the peers that take one of a fixed size: length, time, bytes.
type Fixed = (u64, u64, Bytes);

fn fixed(time: u64, bytes: &Bytes) -> Fixed {
    (64, time, *bytes)
}

/// Something to write records to, as a thread has it.
trait Trace {
    fn write(&mut self, time: u64, bytes: &Bytes);
    /// Reads all; returns something of each.
    fn read(&mut self) -> u64;
    /// Forgets all.
    fn clear(&mut self);
}

/// A buffer of one thread.
struct Private {
    words: Box<[[u64; 2]]>,
    head: usize,
    tail: usize,
}

impl Private {
    fn new() -> Self {
        // Room for one more behind the end, as ours.
        Self { words: vec![[0; 2]; CAPACITY / 16 + 256].into(), head: 0, tail: 0 }
    }

    fn place(&mut self, index: usize) -> *mut [u64; 2] {
        // SAFETY:
        // - below the capacity.
        unsafe { self.words.as_mut_ptr().add(index % CAPACITY / 16) }
    }
}

impl Private {
    #[inline(always)]
    fn write(&mut self, time: u64, bytes: &Bytes) {
        let size = 16 + bytes.len();
        if self.head + size - self.tail > CAPACITY {
            return;
        }
        let at = self.place(self.head);
        // SAFETY:
        // - a record fits from any place below the capacity.
        unsafe { at.write([bytes.len() as u64, time]) };
        // SAFETY:
        // - as above.
        let to = unsafe { at.add(1) };
        // SAFETY:
        // - as above.
        unsafe { to.cast::<Bytes>().write(*bytes) };
        self.head += size;
    }

    fn read(&mut self) -> u64 {
        let mut sum = 0;
        while self.tail < self.head {
            let at = self.place(self.tail);
            // SAFETY:
            // - a record that was written.
            let [len, time] = unsafe { at.read() };
            sum += time;
            self.tail += 16 + len as usize;
        }
        sum
    }

    fn clear(&mut self) {
        self.tail = self.head;
    }
}

impl Trace for &mut Box<Private> {
    #[inline(always)]
    fn write(&mut self, time: u64, bytes: &Bytes) {
        Private::write(self, time, bytes);
    }

    fn read(&mut self) -> u64 {
        Private::read(self)
    }

    fn clear(&mut self) {
        Private::clear(self);
    }
}

thread_local! {
    static LOCAL: RefCell<Private> = RefCell::new(Private::new());
    /// What a thread has for itself, between two pieces.
    static OWN: Cell<Option<Box<Private>>> = const { Cell::new(None) };
    static OWN_SPSC: Cell<Option<Spsc>> = const { Cell::new(None) };
    static OWN_HEAP: Cell<Option<HeapRing>> = const { Cell::new(None) };
}

/// Runs with something of the thread's own, which is made once.
fn with_own<T>(own: &'static LocalKey<Cell<Option<T>>>, make: fn() -> T, run: impl FnOnce(&mut T)) {
    let mut taken = own.take().unwrap_or_else(make);
    run(&mut taken);
    own.set(Some(taken));
}

/// The same through a thread-local.
struct Local;

impl Trace for Local {
    #[inline(always)]
    fn write(&mut self, time: u64, bytes: &Bytes) {
        LOCAL.with(|local| local.borrow_mut().write(time, bytes));
    }

    fn read(&mut self) -> u64 {
        LOCAL.with(|local| local.borrow_mut().read())
    }

    fn clear(&mut self) {
        LOCAL.with(|local| local.borrow_mut().clear());
    }
}

impl Trace for &PerCpuRing {
    #[inline(always)]
    fn write(&mut self, time: u64, bytes: &Bytes) {
        let _ = self.write_at(time, bytes);
    }

    fn read(&mut self) -> u64 {
        // The other thread reads our records, too.
        let Ok(mut reader) = self.reader() else { return 0 };
        reader.drain().filter_map(|record| record.time()).sum()
    }

    fn clear(&mut self) {
        if let Ok(mut reader) = self.reader() {
            reader.skip();
        }
    }
}

type Spsc = (rtrb::Producer<Fixed>, rtrb::Consumer<Fixed>);

impl Trace for &mut Spsc {
    #[inline]
    fn write(&mut self, time: u64, bytes: &Bytes) {
        let _ = self.0.push(fixed(time, bytes));
    }

    fn read(&mut self) -> u64 {
        std::iter::from_fn(|| self.1.pop().ok()).map(|record| record.1).sum()
    }

    fn clear(&mut self) {
        if let Ok(all) = self.1.read_chunk(self.1.slots()) {
            all.commit_all();
        }
    }
}

type HeapRing = (ringbuf::HeapProd<Fixed>, ringbuf::HeapCons<Fixed>);

impl Trace for &mut HeapRing {
    #[inline]
    fn write(&mut self, time: u64, bytes: &Bytes) {
        let _ = self.0.try_push(fixed(time, bytes));
    }

    fn read(&mut self) -> u64 {
        self.1.pop_iter().map(|record| record.1).sum()
    }

    fn clear(&mut self) {
        self.1.clear();
    }
}

/// A queue for each CPU: what people write by hand.
type ByCpu = Vec<CachePadded<Mutex<VecDeque<Fixed>>>>;

fn by_cpu() -> ByCpu {
    (0..PerCpu::<u8>::zeroed().cpus()).map(|_| CachePadded::default()).collect()
}

impl Trace for &ByCpu {
    #[inline]
    fn write(&mut self, time: u64, bytes: &Bytes) {
        (&*self[sched_getcpu()]).write(time, bytes);
    }

    fn read(&mut self) -> u64 {
        self.iter().map(|queue| (&**queue).read()).sum()
    }

    fn clear(&mut self) {
        self.iter().for_each(|queue| (&**queue).clear());
    }
}

/// A queue for each thread, that others could read.
type Threads = ThreadLocal<Mutex<VecDeque<Fixed>>>;

impl Trace for &Threads {
    #[inline]
    fn write(&mut self, time: u64, bytes: &Bytes) {
        self.get_or_default().write(time, bytes);
    }

    fn read(&mut self) -> u64 {
        self.iter().map(|mut queue| queue.read()).sum()
    }

    fn clear(&mut self) {
        self.iter().for_each(|mut queue| queue.clear());
    }
}

impl Trace for &ArrayQueue<Fixed> {
    #[inline]
    fn write(&mut self, time: u64, bytes: &Bytes) {
        let _ = self.push(fixed(time, bytes));
    }

    fn read(&mut self) -> u64 {
        std::iter::from_fn(|| self.pop()).map(|record| record.1).sum()
    }

    fn clear(&mut self) {
        self.read();
    }
}

/// `thingbuf` wants a `Default`.
#[derive(Clone)]
struct Thing(Fixed);

impl Default for Thing {
    fn default() -> Self {
        Self((0, 0, [0; 64]))
    }
}

impl Trace for &thingbuf::ThingBuf<Thing> {
    #[inline]
    fn write(&mut self, time: u64, bytes: &Bytes) {
        if let Ok(mut slot) = self.push_ref() {
            slot.0 = fixed(time, bytes);
        }
    }

    fn read(&mut self) -> u64 {
        std::iter::from_fn(|| self.pop_ref().map(|slot| slot.0.1)).sum()
    }

    fn clear(&mut self) {
        self.read();
    }
}

impl Trace for &Mutex<VecDeque<Fixed>> {
    #[inline]
    fn write(&mut self, time: u64, bytes: &Bytes) {
        let mut queue = self.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() < CAPACITY / 80 {
            queue.push_back(fixed(time, bytes));
        }
    }

    fn read(&mut self) -> u64 {
        let mut queue = self.lock().unwrap_or_else(PoisonError::into_inner);
        queue.drain(..).map(|record| record.1).sum()
    }

    fn clear(&mut self) {
        self.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// `ops` records, in whole rounds.
#[inline(always)]
fn run<T: Trace>(mut trace: T, reads: bool, ops: u64) {
    let bytes = black_box([7; 64]);
    for round in 0..ops / ROUND {
        for time in 0..ROUND {
            forget();
            trace.write(round + time, &bytes);
        }
        if reads {
            black_box(trace.read());
        } else {
            trace.clear();
        }
    }
}

fn scene(reads: bool, threads: usize) -> String {
    let what = if reads { "write + read" } else { "write" };
    format!("{what}, {}", threads::label(threads))
}

/// A case of an operation that is made when it is first measured.
fn of(reads: bool, threads: usize, peer: &'static str, make: impl Fn() -> Op + 'static) -> Case {
    let whole = |ops: u64| ops.next_multiple_of(ROUND);
    Case::new(scene(reads, threads), peer, move || {
        let op = make();
        Box::new(move |ops| on_many(threads, &op, whole(ops)))
    })
}

/// A case of something that threads share.
macro_rules! shared {
    ($reads:expr, $threads:expr, $peer:expr, $new:expr) => {
        of($reads, $threads, $peer, move || {
            let shared = $new;
            Arc::new(move |ops| run(&shared, $reads, ops))
        })
    };
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let ring = || PerCpuRing::new(CAPACITY);
    for threads in threads::counts() {
        for reads in [false, true] {
            cases.extend([
                of(reads, threads, BASELINE, move || {
                    Arc::new(move |ops| {
                        with_own(&OWN, || Box::new(Private::new()), |own| run(own, reads, ops))
                    })
                }),
                of(reads, threads, "thread_local private copy (wrong)", move || {
                    Arc::new(move |ops| run(Local, reads, ops))
                }),
                shared!(reads, threads, OURS, ring()),
                shared!(reads, threads, "PerCpuRing again", ring()),
                shared!(reads, threads, "Mutex<VecDeque>", Mutex::new(VecDeque::<Fixed>::new())),
                shared!(reads, threads, "Mutex<VecDeque>[sched_getcpu]", by_cpu()),
                shared!(reads, threads, "ThreadLocal<Mutex<VecDeque>>", Threads::new()),
            ]);
        }
        cases.extend([
            of(true, threads, "rtrb (one of its own a thread)", || {
                let new = || rtrb::RingBuffer::new(CAPACITY / 80);
                Arc::new(move |ops| with_own(&OWN_SPSC, new, |own| run(own, true, ops)))
            }),
            of(true, threads, "ringbuf (one of its own a thread)", || {
                let new = || ringbuf::HeapRb::new(CAPACITY / 80).split();
                Arc::new(move |ops| with_own(&OWN_HEAP, new, |own| run(own, true, ops)))
            }),
            shared!(true, threads, "ArrayQueue", ArrayQueue::<Fixed>::new(CAPACITY / 80)),
            shared!(true, threads, "thingbuf", thingbuf::ThingBuf::<Thing>::new(CAPACITY / 80)),
        ]);
    }
    cases
}

/// What the ring was built to reach.
pub(super) fn goals() -> Vec<Goal> {
    let threads = if threads::two_cpus() { 2 } else { 1 };
    let goal = |threads| {
        let scene = scene(false, threads);
        Goal { own: (scene.clone(), OURS), than: (scene, BASELINE), most: 3.0 }
    };
    (1..=threads).map(goal).collect()
}
