//! Who may be inside: the protocol between readers, who count themselves, and writers, who close.
//!
//! # The word
//!
//! Every reader loads one word, and only writers change it, under the lock of the waiting room:
//!
//! | bits | meaning |
//! |---|---|
//! | 0 | `CLOSED`: a writer is inside, or waits for readers to leave |
//! | 1 | `SHARED`: readers count themselves by atomics, though the process has sections |
//! | 2 | `POISONED`: a writer panicked |
//! | the rest | how often it was changed |
//!
//! # Entering and leaving
//!
//! A reader loads the word, and adds one to `entries` in its lane *while the word is that, and open*:
//! one section compares and adds. It leaves by adding one to `exits`, in the same way, in
//! whichever lane it is then. What is compared is the whole word, not the bit alone: so what the
//! reader saw when it loaded it (edge E80) is what let it in.
//!
//! # Closing
//!
//! A writer sets `CLOSED`, has the kernel end every section that may have seen the word open, and
//! waits until as many have left as have entered. It sums `exits` first and `entries` then.
//!
//! * **No reader is missed.** An entry by a section either took place before the barrier, and then the
//!   sum has it, or not at all. An entry by an atomic is followed by a fence and a second look
//!   (`Added::Late`): either the sum has it, or that look finds the word closed, and the reader leaves
//!   again before it touched anything (E82).
//! * **The sums are equal only when nobody is inside.** Whoever's exit is in the first sum has its
//!   entry in the second, which is taken later (E81). So if they are equal, the second sum holds no
//!   entry whose exit is missing. One count a lane, up and down, or the sums in the other order would
//!   not do: a reader that comes and goes in two lanes, one scanned before and one after, makes up
//!   for another who is still inside.
//! * **No exit goes unnoticed.** It either took place while the word was open, and then the first sum
//!   that the writer takes has it (E83), or the reader saw the word closed, and wakes the writer.
//!
//! # Who goes first
//!
//! Writers go one after the other, in the order in which they asked. Readers that find the word closed
//! wait in the room. When a writer opens, it counts them in *before*: an entry is only a number in
//! a sum, so anybody can add it. So of writers that follow each other none gets in before the readers
//! that waited for the one before it, and no stream of readers holds a writer up: those that come
//! after it asked wait. (Phase-fair: Brandenburg and Anderson, "Spin-based reader-writer
//! synchronization for multiprocessor real-time systems", Real-Time Systems 46, 2010.)

use crate::percpu::Added;
use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, fence};
use crate::sys::rseq::NoFence;
use core::fmt;

#[cfg(all(test, not(corelocal_loom)))]
mod tests;

/// A writer is inside, or waits for readers to leave.
const CLOSED: usize = 1;
/// Readers count themselves by atomics, in a process whose other objects use sections.
const SHARED: usize = 2;
/// A writer panicked.
const POISONED: usize = 4;
/// One change.
const CHANGE: usize = 8;

/// What a reader compares the word with: never what a closed or shared one is.
#[inline(always)]
const fn opened(word: usize) -> usize {
    word & !(CLOSED | SHARED)
}

/// Where readers are counted: entries and exits apart, each in some lane.
pub(crate) trait Count {
    /// Counts an entry, while `word` is `expect`.
    fn enter(&self, word: &AtomicUsize, expect: usize) -> Added;
    /// Counts an exit, while `word` is `expect`. Who sees it sees what this thread did before.
    fn leave(&self, word: &AtomicUsize, expect: usize) -> Added;
    /// As `enter`, where the word says `SHARED`.
    fn enter_shared(&self, word: &AtomicUsize, expect: usize) -> Added;
    /// As `leave`, where the word says `SHARED`.
    fn leave_shared(&self, word: &AtomicUsize, expect: usize) -> Added;
    /// Counts entries, whatever the word is.
    fn enter_always(&self, readers: usize);
    /// Counts an exit, whatever the word is; as `leave` otherwise.
    fn leave_always(&self);
    /// The entries in every lane: relaxed loads.
    fn entries(&self) -> usize;
    /// The exits in every lane: relaxed loads.
    fn exits(&self) -> usize;
    /// Returns when no section is running any more that saw the word as it was before the last
    /// change.
    ///
    /// # Errors
    ///
    /// The system refuses to tell.
    fn fence(&self) -> Result<(), NoFence>;
}

/// Those who wait, and the lock under which the word changes.
#[derive(Debug, Default)]
struct Room {
    /// Writers that asked.
    tickets: u64,
    /// Writers that are done.
    served: u64,
    /// Readers that wait for the word to open.
    readers: usize,
    /// How often readers were let in.
    calls: u64,
    /// The writer that closed waits for readers to leave.
    writer_waits: bool,
}

/// What readers go in and out by, and writers close.
pub(crate) struct Gate<C> {
    word: AtomicUsize,
    /// Where readers are counted.
    pub(super) count: C,
    room: Mutex<Room>,
    /// Readers wait here for a writer to open.
    open: Condvar,
    /// The writer that closed waits here for readers to leave.
    left: Condvar,
    /// Writers wait here for their turn.
    turn: Condvar,
}

impl<C: Count> Gate<C> {
    /// An open gate. `shared`: readers count themselves by atomics, where others use sections.
    pub(crate) fn new(count: C, shared: bool) -> Self {
        let word = AtomicUsize::new(if shared { SHARED } else { 0 });
        let [open, left, turn] = [(); 3].map(|()| Condvar::new());
        Self { word, count, room: Mutex::new(Room::default()), open, left, turn }
    }

    /// Lets a reader in, when no writer is inside. Says whether one panicked.
    #[inline(always)]
    pub(crate) fn enter(&self) -> bool {
        // Acquire [E80]: pairs with the Release in `change`: what earlier writers did. The entry
        // compares with the word that was loaded here.
        let word = self.word.load(Ordering::Acquire);
        match self.count.enter(&self.word, opened(word)) {
            Added::Done => word & POISONED != 0,
            other => self.enter_slow(other),
        }
    }

    /// As [`enter`](Self::enter), but does not wait: `None` if a writer has closed.
    #[inline(always)]
    pub(crate) fn try_enter(&self) -> Option<bool> {
        // Acquire [E80]: as in `enter`.
        let word = self.word.load(Ordering::Acquire);
        match self.count.enter(&self.word, opened(word)) {
            Added::Done => Some(word & POISONED != 0),
            other => self.try_enter_slow(other),
        }
    }

    /// A reader that was let in goes.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        // Relaxed: compared once more by the count; it says only whether somebody waits.
        let word = self.word.load(Ordering::Relaxed);
        match self.count.leave(&self.word, opened(word)) {
            Added::Done => {}
            other => self.leave_slow(other),
        }
    }

    #[cold]
    #[inline(never)]
    fn enter_slow(&self, first: Added) -> bool {
        if self.enter_again(first) {
            return self.is_poisoned();
        }
        // Relaxed: a look, before sleeping costs more than most writers take.
        glance(|| self.word.load(Ordering::Relaxed) & CLOSED == 0);
        let mut room = self.room();
        if self.enter_here(&room) {
            return self.is_poisoned();
        }
        room.readers += 1;
        let call = room.calls;
        while room.calls == call {
            room = wait(&self.open, room);
        }
        // Whoever opened has counted this reader in.
        self.is_poisoned()
    }

    #[cold]
    #[inline(never)]
    fn try_enter_slow(&self, first: Added) -> Option<bool> {
        if self.enter_again(first) {
            return Some(self.is_poisoned());
        }
        // Relaxed: a look, so that nobody queues for the lock only to hear it. It is what let this
        // reader in that orders.
        if self.word.load(Ordering::Relaxed) & CLOSED != 0 {
            return None;
        }
        let is_in = self.enter_here(&self.room());
        is_in.then(|| self.is_poisoned())
    }

    /// Takes a late entry back, or enters where that is done by atomics. Says whether it did.
    fn enter_again(&self, first: Added) -> bool {
        let mut became = first;
        // Relaxed: this bit never changes.
        let word = self.word.load(Ordering::Relaxed);
        if became == Added::Closed && word & SHARED != 0 {
            // Acquire [E80]: as in `enter`.
            let word = self.word.load(Ordering::Acquire);
            became = self.count.enter_shared(&self.word, word & !CLOSED);
        }
        if became == Added::Late {
            self.count.leave_always();
            self.wake_writer();
        }
        became == Added::Done
    }

    /// Enters if the word is open. It stays so while the room is locked, and who closes later
    /// sees the entry through that lock.
    fn enter_here(&self, _room: &MutexGuard<'_, Room>) -> bool {
        // Relaxed: changed under this lock alone.
        let is_open = self.word.load(Ordering::Relaxed) & CLOSED == 0;
        if is_open {
            self.count.enter_always(1);
        }
        is_open
    }

    #[cold]
    #[inline(never)]
    fn leave_slow(&self, first: Added) {
        let mut became = first;
        // Relaxed: as in `leave`.
        let word = self.word.load(Ordering::Relaxed);
        if became == Added::Closed && word & SHARED != 0 {
            became = self.count.leave_shared(&self.word, word & !CLOSED);
        }
        if became == Added::Closed {
            self.count.leave_always();
        }
        if became != Added::Done {
            self.wake_writer();
        }
    }

    /// A reader that left tells the writer, who either looks later, or waits already: both are under
    /// the room's lock.
    fn wake_writer(&self) {
        let waits = self.room().writer_waits;
        if waits {
            self.left.notify_one();
        }
    }

    /// Lets a writer in, when nobody else is inside. Says whether an earlier one panicked.
    ///
    /// # Errors
    ///
    /// [`NoFence`]; the gate is open again.
    pub(crate) fn close(&self) -> Result<bool, NoFence> {
        let mut room = self.room();
        let ticket = room.tickets;
        room.tickets += 1;
        while room.served != ticket {
            room = wait(&self.turn, room);
        }
        self.shut(room)?;
        if !glance(|| self.is_empty()) {
            let mut room = self.room();
            while !self.is_empty() {
                room.writer_waits = true;
                room = wait(&self.left, room);
            }
            room.writer_waits = false;
        }
        Ok(self.is_poisoned())
    }

    /// As [`close`](Self::close), but does not wait for anybody: `None` if somebody is inside, or
    /// waits to be.
    ///
    /// # Errors
    ///
    /// As [`close`](Self::close).
    pub(crate) fn try_close(&self) -> Result<Option<bool>, NoFence> {
        let mut room = self.room();
        // A look first: while readers are inside nobody is held up for nothing.
        if room.tickets != room.served || !self.is_empty() {
            return Ok(None);
        }
        room.tickets += 1;
        self.shut(room)?;
        if self.is_empty() {
            return Ok(Some(self.is_poisoned()));
        }
        self.open(false);
        Ok(None)
    }

    /// Closes, and makes sure that everybody sees it. It is this writer's turn.
    fn shut(&self, room: MutexGuard<'_, Room>) -> Result<(), NoFence> {
        // Relaxed, both: changed under this lock alone; the barriers below are what makes it seen.
        let word = self.word.load(Ordering::Relaxed);
        self.word.store(word | CLOSED, Ordering::Relaxed);
        drop(room);
        // [E82, E83]: pairs with the fence between an atomic on a guarded word and the second look
        // at the guard: either the sums have it, or that look finds the word closed.
        fence(Ordering::SeqCst);
        // For sections the kernel's barrier does the same [E82, E83].
        self.count.fence().inspect_err(|NoFence| self.open(false))
    }

    /// Whether as many have left as have entered. Of those who entered while the word was closed
    /// none stays, so that is so for good.
    fn is_empty(&self) -> bool {
        let exits = self.count.exits();
        // Acquire [E81]: pairs with the Release in `leave`: what readers did inside, and that they
        // entered, before the entries are summed.
        fence(Ordering::Acquire);
        exits == self.count.entries()
    }

    /// A writer goes. Those who waited for it are let in before the next one.
    pub(crate) fn open(&self, poison: bool) {
        let mut room = self.room();
        room.served += 1;
        let (readers, writers) = (room.readers, room.tickets - room.served);
        if readers > 0 {
            self.count.enter_always(readers);
            room.readers = 0;
            room.calls = room.calls.wrapping_add(1);
        }
        self.change(&room, |word| (word & !CLOSED) | if poison { POISONED } else { 0 });
        drop(room);
        if readers > 0 {
            self.open.notify_all();
        }
        if writers > 0 {
            self.turn.notify_all();
        }
    }

    /// Changes what the word says.
    fn change(&self, _room: &MutexGuard<'_, Room>, change: impl FnOnce(usize) -> usize) {
        // Relaxed: changed under this lock alone.
        let word = change(self.word.load(Ordering::Relaxed));
        // Release [E80]: pairs with the Acquire in `enter`.
        self.word.store(word.wrapping_add(CHANGE), Ordering::Release);
    }

    /// Whether a writer panicked.
    pub(crate) fn is_poisoned(&self) -> bool {
        // Relaxed: advice; who was let in saw what the writer did in another way.
        self.word.load(Ordering::Relaxed) & POISONED != 0
    }

    /// Forgets that a writer panicked.
    pub(crate) fn clear_poison(&self) {
        self.change(&self.room(), |word| word & !POISONED);
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        // Nothing in here panics while it is locked.
        self.room.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Asks a few times, for about as long as going to sleep and being woken takes. Says whether the answer
/// was yes.
fn glance(mut is_so: impl FnMut() -> bool) -> bool {
    const TURNS: u32 = if cfg!(corelocal_loom) { 1 } else { 64 };
    (0..TURNS).any(|turn| {
        if turn > 0 {
            core::hint::spin_loop();
        }
        is_so()
    })
}

fn wait<'a>(on: &Condvar, room: MutexGuard<'a, Room>) -> MutexGuard<'a, Room> {
    on.wait(room).unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl<C> fmt::Debug for Gate<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: a look.
        let word = self.word.load(Ordering::Relaxed);
        f.debug_struct("Gate")
            .field("closed", &(word & CLOSED != 0))
            .field("poisoned", &(word & POISONED != 0))
            .finish_non_exhaustive()
    }
}
