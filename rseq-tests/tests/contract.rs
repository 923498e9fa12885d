//! One body over every implementation: what each operation does, alone.
#![allow(unsafe_code, reason = "raw lanes")]

use corelocal::cpu::CpuId;
use corelocal::sys::rseq::{Copied, HERE, Int, Outcome, Words as _, on, update};
use rseq_tests::churn::{self, random};
use rseq_tests::implementation::Implementation;
use rseq_tests::lanes::{Far, Lanes, RECORD, SLOTS};
use rseq_tests::{over_each, settle};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Keeps the thread on one CPU, and says which.
fn stay() -> u32 {
    let cpu = churn::allowed().first().copied().unwrap_or(0);
    churn::pin(0, &[cpu]);
    cpu
}

fn committed<T>(outcome: Outcome<T>) -> (u32, T) {
    match outcome {
        Outcome::Committed { lane, value } => (lane, value),
        _ => panic!("not committed"),
    }
}

/// Every operation on words, in every width, against plain arithmetic; the neighbours of
/// the word keep their values.
#[test]
fn a_word_becomes_what_arithmetic_says_and_its_neighbours_stay() {
    fn words<I: Implementation, W: Int + std::fmt::Debug>(on: I, wrap: impl Fn(u64) -> W) {
        let cpu = stay();
        let lanes = Lanes::new(churn::cpus());
        let base = lanes.lane0().cast::<W>().wrapping_add(1);
        let bytes = || {
            let at = lanes.lane0().wrapping_byte_add(cpu as usize * 69_696).cast::<[u8; 32]>();
            // SAFETY:
            // - inside the mapping; only this thread writes there.
            unsafe { at.read() }
        };
        let size = size_of::<W>();
        let get = |bytes: [u8; 32]| {
            let mut word = [0u8; 8];
            word[..size].copy_from_slice(&bytes[size..2 * size]);
            W::of(u64::from_le_bytes(word))
        };
        let mut oracle = W::of(0);
        for step in 0..3000 {
            let value = wrap(random() >> (step % 60));
            let before = oracle;
            let (lane, old) = match step % 7 {
                0 => {
                    oracle = wrap(oracle.bits().wrapping_add(value.bits()));
                    let (lane, ()) = committed(settle!(on, add::<_, _>(base, value, HERE)));
                    (lane, before)
                }
                1 => {
                    oracle = wrap(oracle.bits().wrapping_add(value.bits()));
                    committed(settle!(on, update::<_, _, { update::ADD }>(base, value, HERE)))
                }
                2 => {
                    oracle = wrap(oracle.bits() & value.bits());
                    committed(settle!(on, update::<_, _, { update::AND }>(base, value, HERE)))
                }
                3 => {
                    oracle = wrap(oracle.bits() | value.bits());
                    committed(settle!(on, update::<_, _, { update::OR }>(base, value, HERE)))
                }
                4 => {
                    oracle = wrap(oracle.bits() ^ value.bits());
                    committed(settle!(on, update::<_, _, { update::XOR }>(base, value, HERE)))
                }
                5 => {
                    oracle = value;
                    committed(settle!(on, swap::<_, _>(base, value, HERE.release())))
                }
                _ => {
                    let guess = if step % 2 == 0 { oracle } else { wrap(oracle.bits() ^ 1) };
                    match settle!(on, compare_store::<_, _>(base, guess, value, HERE)) {
                        Outcome::Committed { lane, value: old } => {
                            assert_eq!(guess, before);
                            oracle = value;
                            (lane, old)
                        }
                        Outcome::Differs { lane, value: old } => {
                            assert_ne!(guess, before);
                            (lane, old)
                        }
                        other => panic!("{other:?}"),
                    }
                }
            };
            assert_eq!((lane, old), (cpu, before), "step {step}, {} bytes, {on:?}", size);
            let now = bytes();
            assert_eq!(get(now), oracle, "step {step}, {} bytes, {on:?}", size);
            let outside = now[..size].iter().chain(&now[2 * size..]);
            assert!(outside.copied().all(|byte| byte == 0), "step {step}, {on:?}: {now:?}");
        }
    }
    fn all<I: Implementation>(on: I) {
        words::<I, u8>(on, |v| v as u8);
        words::<I, i16>(on, |v| v as i16);
        words::<I, u32>(on, |v| v as u32);
        words::<I, i64>(on, |v| v as i64);
        words::<I, usize>(on, |v| v as usize);
    }
    over_each!(all);
}

#[test]
fn a_pointer_can_be_swapped_and_compared() {
    fn body<I: Implementation>(on: I) {
        let cpu = stay();
        let lanes = Lanes::new(churn::cpus());
        let word = lanes.word().cast::<*mut u32>();
        let mut values = [7u32, 8];
        let [a, b] = values.each_mut().map(std::ptr::from_mut);
        let null = std::ptr::null_mut();
        assert_eq!(committed(settle!(on, swap::<_, _>(word, a, HERE))), (cpu, null));
        let differs = settle!(on, compare_store::<_, _>(word, b, null, HERE));
        assert_eq!(differs, Outcome::Differs { lane: cpu, value: a });
        assert_eq!(committed(settle!(on, compare_store::<_, _>(word, a, b, HERE))), (cpu, a));
    }
    over_each!(body);
}

/// The guarded and the expected-CPU form of each operation: turned away, nothing changes.
#[test]
fn a_closed_guard_or_another_cpu_leaves_everything_as_it_was() {
    fn body<I: Implementation>(imp: I) {
        let cpu = stay();
        let lanes = Lanes::new(churn::cpus());
        let guard = AtomicUsize::new(5);
        let node = [0usize; 4];
        let mut words = [9usize; 4];
        let (from, to) = (node.as_ptr(), words.as_mut_ptr());
        let node = node.as_ptr().cast_mut().cast::<u8>();
        let bytes =
            Copied { from: from.cast(), len: 8, to: Lanes::record(0), expect: 0, commit: 1 };
        let (word, list, stack, log) = (lanes.word(), lanes.list(0), lanes.stack(), lanes.log());
        macro_rules! turned_away {
            ($form:expr, $outcome:ident) => {
                assert!(matches!(settle!(imp, add::<_, _>(word, 1, $form)), Outcome::$outcome));
                assert!(matches!(
                    settle!(imp, update::<_, _, { update::OR }>(word, 1, $form)),
                    Outcome::$outcome
                ));
                assert!(matches!(settle!(imp, swap::<_, _>(word, 1, $form)), Outcome::$outcome));
                assert!(matches!(
                    settle!(imp, compare_store::<_, _>(word, 0, 1, $form)),
                    Outcome::$outcome
                ));
                assert!(matches!(
                    settle!(imp, list_push::<_>(list, node, 8, $form)),
                    Outcome::$outcome
                ));
                assert!(matches!(
                    settle!(imp, list_push_within::<_>(list, node, 8, 3, $form)),
                    Outcome::$outcome
                ));
                assert!(matches!(settle!(imp, list_pop::<_>(list, 8, $form)), Outcome::$outcome));
                assert!(matches!(settle!(imp, list_take::<_>(list, $form)), Outcome::$outcome));
                assert!(matches!(
                    settle!(imp, stack_push::<_>(stack, 1, $form)),
                    Outcome::$outcome
                ));
                assert!(matches!(settle!(imp, stack_pop::<_>(stack, $form)), Outcome::$outcome));
                assert!(matches!(
                    settle!(imp, stack_push_batch::<_>(stack, from, 2, $form)),
                    Outcome::$outcome
                ));
                assert!(matches!(
                    settle!(imp, stack_pop_batch::<_>(stack, to, 2, $form)),
                    Outcome::$outcome
                ));
                assert!(matches!(settle!(imp, copy::<_>(log, bytes, $form)), Outcome::$outcome));
            };
        }
        let elsewhere = CpuId::new(cpu + 1);
        let nowhere = CpuId::new(u32::MAX);
        turned_away!(HERE.guarded(&raw const guard, 6), Closed);
        turned_away!(on(CpuId::new(cpu)).guarded(&raw const guard, 4).release(), Closed);
        turned_away!(on(elsewhere), Moved);
        turned_away!(on(nowhere), Moved);
        turned_away!(on(elsewhere).guarded(&raw const guard, 5).release(), Moved);
        for copy in lanes.iter() {
            assert_eq!(copy.word.load(Ordering::Relaxed), 0);
            assert_eq!(copy.lists[0].word.load(Ordering::Relaxed), 0);
            assert_eq!(copy.stack.word.load(Ordering::Relaxed), 0);
            assert_eq!(copy.log.word.load(Ordering::Relaxed), 0);
        }
        assert_eq!(words, [9; 4]);
        let form = on(CpuId::new(cpu)).guarded(&raw const guard, 5);
        assert_eq!(committed(settle!(imp, add::<_, _>(word, 1, form))), (cpu, ()));
        assert_eq!(
            committed(settle!(imp, list_push::<_>(list, node, 8, form.release()))),
            (cpu, 0)
        );
        assert_eq!(committed(settle!(imp, copy::<_>(log, bytes, form.release()))), (cpu, 0));
        assert_eq!(committed(settle!(imp, stack_push::<_>(stack, 1, form.release()))), (cpu, 0));
        assert_eq!(lanes.lane(cpu).word.load(Ordering::Relaxed), 1);
    }
    over_each!(body);
}

/// A guard for sections alone: an atomic takes place whatever it holds, and does not look at it again.
#[test]
fn a_guard_for_sections_stops_an_atomic() {
    fn body<I: Implementation>(imp: I) {
        let lanes = Lanes::new(churn::cpus());
        let guard = AtomicUsize::new(5);
        let word = lanes.word();
        let wrong = HERE.guarded_in_sections(&raw const guard, 6);
        // SAFETY:
        // - the lanes of the test cover the spill lane.
        let spilled = unsafe { imp.spill().add::<Far, u64, _>(word, 1, wrong.release()) };
        assert!(matches!(spilled, Outcome::Committed { .. }), "{spilled:?}");
        let added = match settle!(imp, add::<_, _>(word, 1, wrong)) {
            Outcome::Closed => 1,
            // By atomics.
            Outcome::Committed { .. } => 2,
            other => panic!("{other:?}"),
        };
        let right = HERE.guarded_in_sections(&raw const guard, 5);
        assert!(matches!(settle!(imp, add::<_, _>(word, 1, right)), Outcome::Committed { .. }));
        let sum: u64 = lanes.iter().map(|copy| copy.word.load(Ordering::Relaxed)).sum();
        assert_eq!(sum, added + 1);
    }
    over_each!(body);
}

/// Lists and stacks against a `Vec`, through full and empty.
#[test]
fn lists_and_stacks_do_what_a_vec_does() {
    #[repr(C)]
    struct Node {
        value: usize,
        next: usize,
        depth: usize,
    }
    const WITHIN: u32 = 6;
    fn body<I: Implementation>(on: I) {
        let cpu = stay();
        let lanes = Lanes::new(churn::cpus());
        let (list, stack) = (lanes.list(0), lanes.stack());
        let within = lanes.list(1);
        let mut counted: Vec<*mut u8> = Vec::new();
        let mut nodes: Vec<Node> =
            (0..20).map(|value| Node { value, next: 77, depth: 99 }).collect();
        let addresses: Vec<*mut u8> =
            nodes.iter_mut().map(|node| (&raw mut *node).cast::<u8>()).collect();
        let mut free: Vec<*mut u8> = addresses.clone();
        let (mut listed, mut stacked) = (Vec::new(), Vec::new());
        for step in 0..20_000usize {
            match random() % 16 {
                13 | 14 => {
                    let Some(node) = free.pop() else { continue };
                    let head = counted.last().map_or(0, |node: &*mut u8| node.addr());
                    match settle!(on, list_push_within::<_>(within, node, 8, WITHIN, HERE)) {
                        Outcome::Committed { value, .. } => {
                            assert_eq!(value, head, "step {step}");
                            counted.push(node);
                            assert!(counted.len() <= WITHIN as usize, "step {step}");
                        }
                        Outcome::Differs { .. } => {
                            assert_eq!(counted.len(), WITHIN as usize, "step {step}");
                            free.push(node);
                        }
                        other => panic!("step {step}: {other:?}"),
                    }
                }
                15 => match (settle!(on, list_pop::<_>(within, 8, HERE)), counted.pop()) {
                    (Outcome::Committed { value, .. }, Some(node)) => {
                        assert_eq!(value, node.addr(), "step {step}");
                        free.push(node);
                    }
                    (Outcome::Differs { .. }, None) => {}
                    other => panic!("step {step}: {other:?}"),
                },
                0..=3 => {
                    let Some(node) = free.pop() else { continue };
                    let head = listed.last().map_or(0, |node: &*mut u8| node.addr());
                    assert_eq!(
                        committed(settle!(on, list_push::<_>(list, node, 8, HERE))),
                        (cpu, head)
                    );
                    listed.push(node);
                }
                4..=6 => match (settle!(on, list_pop::<_>(list, 8, HERE)), listed.pop()) {
                    (Outcome::Committed { value, .. }, Some(node)) => {
                        assert_eq!(value, node.addr(), "step {step}");
                        free.push(node);
                    }
                    (Outcome::Differs { .. }, None) => {}
                    other => panic!("step {step}: {other:?}"),
                },
                7 => {
                    let head = listed.last().map(|node| node.addr());
                    match (settle!(on, list_take::<_>(list, HERE)), head) {
                        (Outcome::Committed { value, .. }, Some(head)) => assert_eq!(value, head),
                        (Outcome::Differs { .. }, None) => {}
                        other => panic!("step {step}: {other:?}"),
                    }
                    free.append(&mut listed);
                }
                8 => match settle!(on, stack_push::<_>(stack, step, HERE)) {
                    Outcome::Committed { value, .. } => {
                        assert_eq!(value, stacked.len());
                        stacked.push(step);
                    }
                    Outcome::Differs { .. } => assert_eq!(stacked.len(), SLOTS),
                    other => panic!("step {step}: {other:?}"),
                },
                9 => match (settle!(on, stack_pop::<_>(stack, HERE)), stacked.pop()) {
                    (Outcome::Committed { value, .. }, Some(top)) => assert_eq!(value, top),
                    (Outcome::Differs { .. }, None) => {}
                    other => panic!("step {step}: {other:?}"),
                },
                10 | 11 => {
                    let values: Vec<usize> = (0..random() as usize % 9).map(|k| step + k).collect();
                    let room = values.len().min(SLOTS - stacked.len());
                    let from = values.as_ptr();
                    match settle!(on, stack_push_batch::<_>(stack, from, values.len(), HERE)) {
                        Outcome::Committed { value, .. } => assert_eq!(value, room),
                        Outcome::Differs { .. } => assert_eq!(room, 0),
                        other => panic!("step {step}: {other:?}"),
                    }
                    stacked.extend(&values[..room]);
                }
                _ => {
                    let mut values = [0usize; 9];
                    let want = random() as usize % 9;
                    let take = want.min(stacked.len());
                    let to = values.as_mut_ptr();
                    match settle!(on, stack_pop_batch::<_>(stack, to, want, HERE)) {
                        Outcome::Committed { value, .. } => assert_eq!(value, take),
                        Outcome::Differs { .. } => assert_eq!(take, 0),
                        other => panic!("step {step}: {other:?}"),
                    }
                    assert_eq!(values[..take], stacked[stacked.len() - take..], "step {step}");
                    assert!(values[take..].iter().all(|value| *value == 0));
                    stacked.truncate(stacked.len() - take);
                }
            }
        }
        assert!(
            nodes.iter().enumerate().all(|(k, node)| node.value == k),
            "nodes were overwritten"
        );
    }
    over_each!(body);
}

#[test]
fn a_copy_of_any_length_is_whole_and_touches_nothing_else() {
    fn body<I: Implementation>(on: I) {
        let cpu = stay();
        let lanes = Lanes::new(churn::cpus());
        let source: Vec<u8> = (1..=64).collect();
        let mut index = 0;
        let mut oracle = vec![0u8; 32 * RECORD];
        for len in (0..64).chain([64]) {
            let at = len * 3 % 400;
            let to = Lanes::record(0) + at;
            let bytes = Copied { from: source.as_ptr(), len, to, expect: index, commit: index + 5 };
            assert_eq!(committed(settle!(on, copy::<_>(lanes.log(), bytes, HERE))), (cpu, index));
            let stale = settle!(on, copy::<_>(lanes.log(), bytes, HERE));
            assert_eq!(stale, Outcome::Differs { lane: cpu, value: index + 5 });
            index += 5;
            oracle[at..at + len].copy_from_slice(&source[..len]);
            let there: Vec<u8> =
                lanes.lane(cpu).records.iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
            assert_eq!(there, oracle, "{len} bytes over {on:?}");
        }
    }
    over_each!(body);
}
