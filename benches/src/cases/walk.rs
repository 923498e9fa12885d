//! `walk`: a thousand objects of 640 bytes over 64 lanes; of each, one lane's copy is visited, with
//! one word in each of its three parts. Warm, and cold: when no near cache holds anything of them.
//!
//! Independent: the addresses are known beforehand. Dependent: each copy says which object comes
//! next, in order of creation or in a shuffled order.

use crate::paired::Random;
use crate::{Case, Sample, cold};
use corelocal::{Area, CpuId, Lane, PerCpu, PerCpuPtr};
use crossbeam_utils::CachePadded;
use std::cell::OnceCell;
use std::hint::black_box;
use std::rc::Rc;

pub(super) const BASELINE: &str = "boxes";

const OBJECTS: usize = 1000;
const LANES: u32 = 64;
/// The lane that is visited.
const VISITED: CpuId = CpuId::new(31);

/// Six lines, of which the first is used.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct First {
    value: u64,
    /// The next object in order of creation, and in a shuffled order.
    next: [u64; 2],
    #[allow(dead_code, reason = "makes the size")]
    rest: [u64; 45],
}

/// Three lines.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Second {
    value: u64,
    #[allow(dead_code, reason = "makes the size")]
    rest: [u64; 23],
}

/// One line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Third {
    value: u64,
    #[allow(dead_code, reason = "makes the size")]
    rest: [u64; 7],
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Object {
    first: First,
    second: Second,
    third: Third,
}

const _: () = assert!(size_of::<Object>() == 640);

impl Object {
    fn new(next: [u64; 2]) -> Self {
        Self {
            first: First { value: 1, next, rest: [0; 45] },
            second: Second { value: 1, rest: [0; 23] },
            third: Third { value: 1, rest: [0; 7] },
        }
    }

    fn parts(&self) -> Parts<'_> {
        (&self.first, &self.second, &self.third)
    }
}

type Parts<'a> = (&'a First, &'a Second, &'a Third);

/// A thousand objects in one layout.
trait Layout: Sized + 'static {
    const NAME: &'static str;

    fn new(objects: impl Iterator<Item = Object>) -> Self;
    /// The visited lane's copy of an object, which is below [`OBJECTS`].
    fn parts(&self, object: usize) -> Parts<'_>;
}

fn area() -> Area {
    Area::builder().cpus(LANES).build().expect("a machine of 64 CPUs at most")
}

struct Ours(Vec<PerCpu<Object>>);

impl Layout for Ours {
    const NAME: &'static str = "PerCpu::get";

    fn new(objects: impl Iterator<Item = Object>) -> Self {
        let area = area();
        Self(objects.map(|object| area.try_alloc(|_| object).expect("memory")).collect())
    }

    #[inline]
    fn parts(&self, object: usize) -> Parts<'_> {
        self.0[object].get(VISITED).map(Object::parts).expect("a lane of 64")
    }
}

/// Without the look at how many lanes there are, which `get` takes into the header of the chunk.
struct Unchecked(Vec<PerCpuPtr<Object>>);

#[allow(unsafe_code, reason = "measures what the check costs")]
impl Layout for Unchecked {
    const NAME: &'static str = "PerCpuPtr::at";

    fn new(objects: impl Iterator<Item = Object>) -> Self {
        Self(Ours::new(objects).0.into_iter().map(PerCpu::into_raw).collect())
    }

    #[inline]
    fn parts(&self, object: usize) -> Parts<'_> {
        // SAFETY:
        // - the object lives as long as `self`, and lane 31 is one of its 65.
        let copy = unsafe { self.0[object].at(Lane::of_cpu(VISITED)) };
        // SAFETY:
        // - initialised in every lane, and only shared.
        unsafe { &*copy }.parts()
    }
}

#[allow(unsafe_code, reason = "as above")]
impl Drop for Unchecked {
    fn drop(&mut self) {
        for object in self.0.drain(..) {
            // SAFETY:
            // - it came from `into_raw`, and is given back once.
            drop(unsafe { PerCpu::from_raw(object) });
        }
    }
}

/// One block an object: all lanes beside each other. The usual shape in Rust.
struct Blocks(Vec<Box<[CachePadded<Object>]>>);

impl Layout for Blocks {
    const NAME: &'static str = "CachePadded blocks";

    fn new(objects: impl Iterator<Item = Object>) -> Self {
        let lanes = |object| (0..LANES).map(|_| CachePadded::new(object)).collect();
        Self(objects.map(lanes).collect())
    }

    #[inline]
    fn parts(&self, object: usize) -> Parts<'_> {
        self.0[object][VISITED.index()].parts()
    }
}

/// An array of pointers an object, a box a lane.
struct Boxes(Vec<Box<[Box<Object>]>>);

impl Layout for Boxes {
    const NAME: &'static str = BASELINE;

    fn new(objects: impl Iterator<Item = Object>) -> Self {
        Self(objects.map(|object| (0..LANES).map(|_| Box::new(object)).collect()).collect())
    }

    #[inline]
    fn parts(&self, object: usize) -> Parts<'_> {
        self.0[object][VISITED.index()].parts()
    }
}

/// The parts allocated one by one, an array of pointers for each.
struct Boxes3(Vec<Pointers>);

struct Pointers {
    firsts: Box<[Box<First>]>,
    seconds: Box<[Box<Second>]>,
    thirds: Box<[Box<Third>]>,
}

impl Layout for Boxes3 {
    const NAME: &'static str = "boxes, 3 an object";

    fn new(objects: impl Iterator<Item = Object>) -> Self {
        let boxes = |object: Object| {
            let (mut firsts, mut seconds, mut thirds) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..LANES {
                firsts.push(Box::new(object.first));
                seconds.push(Box::new(object.second));
                thirds.push(Box::new(object.third));
            }
            Pointers { firsts: firsts.into(), seconds: seconds.into(), thirds: thirds.into() }
        };
        Self(objects.map(boxes).collect())
    }

    #[inline]
    fn parts(&self, object: usize) -> Parts<'_> {
        let object = &self.0[object];
        let lane = VISITED.index();
        (&object.firsts[lane], &object.seconds[lane], &object.thirds[lane])
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Walk {
    Independent,
    /// Along [`First::next`], of this index.
    Dependent(usize),
}

impl Walk {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Independent, "independent, in order"),
        (Self::Dependent(0), "dependent, in order"),
        (Self::Dependent(1), "dependent, shuffled"),
    ];

    /// Visits every object once; the sum of what was seen.
    #[inline(never)]
    fn over<L: Layout>(self, layout: &L) -> u64 {
        let (mut sum, mut at) = (0, 0);
        for step in 0..OBJECTS {
            let (first, second, third) = layout.parts(at);
            sum += first.value + second.value + third.value;
            at = match self {
                Self::Independent => step + 1,
                Self::Dependent(order) => first.next[order] as usize,
            };
        }
        sum
    }
}

/// Objects whose `next` lead through all of them and back to the first.
fn objects() -> impl Iterator<Item = Object> {
    let mut order: Vec<usize> = (0..OBJECTS).collect();
    Random::new(2).shuffle(&mut order);
    let mut shuffled = vec![0; OBJECTS];
    for (at, &object) in order.iter().enumerate() {
        shuffled[object] = order[(at + 1) % OBJECTS] as u64;
    }
    (0..OBJECTS).map(move |object| Object::new([((object + 1) % OBJECTS) as u64, shuffled[object]]))
}

/// The walks, warm and cold, over one layout, which is made once for all of them.
fn walks<L: Layout>(peer: &'static str) -> impl Iterator<Item = Case> {
    let made = Rc::new(OnceCell::<L>::new());
    scenes().map(move |(walk, is_cold, scene)| {
        let made = Rc::clone(&made);
        Case::new(scene, peer, move || {
            let made = Rc::clone(&made);
            if is_cold {
                return cold::swept(OBJECTS, move || {
                    black_box(walk.over(made.get_or_init(|| L::new(objects()))));
                });
            }
            Box::new(move |ops| {
                let layout = made.get_or_init(|| L::new(objects()));
                let rounds = ops.div_ceil(OBJECTS as u64);
                // Warm: what the other cases pushed out comes back now.
                black_box(walk.over(layout));
                Sample::of(rounds * OBJECTS as u64, || {
                    for _ in 0..rounds {
                        black_box(walk.over(black_box(layout)));
                    }
                })
            })
        })
    })
}

/// Each walk, whether cold, and what it is called.
fn scenes() -> impl Iterator<Item = (Walk, bool, String)> {
    let scenes = |(walk, scene): (_, &str)| {
        [(walk, false, scene.to_owned()), (walk, true, format!("{scene}, {}", cold::NAME))]
    };
    Walk::ALL.into_iter().flat_map(scenes)
}

pub(super) fn cases() -> Vec<Case> {
    if Area::builder().cpus(LANES).build().is_err() {
        eprintln!("walk: this machine has more CPUs than the {LANES} lanes of the scene; left out");
        return Vec::new();
    }
    let mut cases: Vec<Case> = walks::<Ours>(Ours::NAME)
        .chain(walks::<Ours>("PerCpu::get again"))
        .chain(walks::<Unchecked>(Unchecked::NAME))
        .chain(walks::<Blocks>(Blocks::NAME))
        .chain(walks::<Boxes>(Boxes::NAME))
        .chain(walks::<Boxes3>(Boxes3::NAME))
        .collect();
    cases.sort_by_key(|case| scenes().position(|(.., scene)| scene == case.scene()));
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visits_all<L: Layout>() {
        let layout = L::new(objects());
        for (walk, scene) in Walk::ALL {
            assert_eq!(walk.over(&layout), 3 * OBJECTS as u64);
            let Walk::Dependent(order) = walk else { continue };
            let mut seen = vec![false; OBJECTS];
            let mut at = 0;
            while !seen[at] {
                seen[at] = true;
                at = layout.parts(at).0.next[order] as usize;
            }
            assert!(seen.iter().all(|seen| *seen), "{}: {scene} leaves some out", L::NAME);
        }
    }

    #[test]
    fn every_walk_visits_every_object_of_every_layout() {
        visits_all::<Ours>();
        visits_all::<Unchecked>();
        visits_all::<Blocks>();
        visits_all::<Boxes>();
        visits_all::<Boxes3>();
    }
}
