//! One task that draws 60 frames a second beside eight spinners, on one CPU.

use crate::pick::entity::NICE_0;
use crate::pick::policy::CgroupMode;
use crate::pick::sim::{Event, Options, Reacts, Sim, Timed};
use crate::pick::{Groups, Picker, ROOT, World};
use crate::rng::Rng;
use serde::Serialize;

/// Spinners beside it.
pub const SPINNERS: u32 = 8;
/// The slice that it asks for in the second run, nanoseconds.
pub const SHORT_SLICE: u64 = 100_000;
/// Nanoseconds between the times at which a frame may begin: 60 a second.
const FRAME: u64 = 16_666_667;
/// A frame is drawn in so many pieces,
const PIECES: u32 = 4;
/// each so many microseconds of work and up to so many more,
const WORK: (u64, u64) = (1_200, 600);
/// and so many nanoseconds of waiting for the device after each.
const DEVICE: u64 = 300_000;

/// The frames of one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Frames {
    /// The pick.
    pub picker: &'static str,
    /// Whether the task asked for [`SHORT_SLICE`].
    pub short: bool,
    /// How many were drawn.
    pub frames: usize,
    /// The shortest, mean and longest time from one frame's end to the next one's, milliseconds.
    pub ms: [f64; 3],
}

struct Game {
    pieces: u32,
    ends: Vec<u64>,
    rng: Rng,
}

impl Game {
    fn piece(&mut self, task: u32) -> Event {
        let work = 1_000 * (WORK.0 + self.rng.below(WORK.1 as usize) as u64);
        Event::Wake { task, cpu: None, work: Some(work) }
    }
}

impl Reacts for Game {
    fn finished(&mut self, now: u64, task: u32, later: &mut Vec<Timed>) {
        self.pieces += 1;
        let at = if self.pieces % PIECES == 0 {
            self.ends.push(now);
            // A late frame shifts the next one to the next beat.
            (now / FRAME + 1) * FRAME
        } else {
            now + DEVICE
        };
        let piece = self.piece(task);
        later.push((at, piece));
    }
}

/// The task is in a group two levels down, the spinners are in another one, as in sessions of two
/// users with equal weights.
fn world(slice: Option<u64>) -> World {
    let mut groups = Groups::new(CgroupMode::Concur, 1);
    let [play, build] = [(); 2].map(|()| {
        let user = groups.add(ROOT, NICE_0);
        groups.add(user, NICE_0)
    });
    let mut world = World::new(groups);
    world.add_task(play, NICE_0, slice);
    for _ in 0..SPINNERS {
        world.add_task(build, NICE_0, None);
    }
    world
}

/// Simulates so many nanoseconds.
pub fn frames<P: Picker>(short: bool, seed: u64, time: u64) -> Frames {
    let world = world(short.then_some(SHORT_SLICE));
    let mut game = Game { pieces: 0, ends: Vec::new(), rng: Rng::new(seed) };
    let mut sim = Sim::<P>::new(world, 1, Options::default());
    sim.feed((1..=SPINNERS).map(|task| (0, Event::Wake { task, cpu: None, work: None })));
    sim.feed([(FRAME, game.piece(0))]);
    sim.run(time, &mut game);
    let times: Vec<u64> = game.ends.windows(2).map(|ends| ends[1] - ends[0]).collect();
    let ms = |ns: u64| ns as f64 / 1e6;
    let sum: u64 = times.iter().sum();
    let least = times.iter().min().copied().unwrap_or(0);
    let most = times.iter().max().copied().unwrap_or(0);
    let mean = ms(sum) / times.len().max(1) as f64;
    Frames { picker: P::NAME, short, frames: game.ends.len(), ms: [ms(least), mean, ms(most)] }
}
