//! One body over every implementation: records pushed into rings, alone, against a deque.
#![allow(unsafe_code, reason = "raw lanes")]

use corelocal::sys::rseq::{HEADER, HERE, Outcome, Pushed, UNIT};
use rseq_tests::churn::{self, random};
use rseq_tests::implementation::Implementation;
use rseq_tests::lanes::{Lanes, UNITS};
use rseq_tests::{over_each, settle};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// Every length, at every place of the ring, with more and less room.
#[test]
fn a_record_is_torn_or_pushed_where_there_is_no_room() {
    fn body<I: Implementation>(on: I) {
        let cpu = churn::allowed().first().copied().unwrap_or(0);
        churn::pin(0, &[cpu]);
        let lanes = Lanes::new(churn::cpus());
        let rings = lanes.rings();
        let (ring, place) = (&rings[cpu as usize], lanes.lane(cpu));
        let mut oracle: VecDeque<(usize, Vec<u8>)> = VecDeque::new();
        let (mut index, mut given_back, mut pushed) = (0_usize, 0, 0);
        for step in 0..4000_u64 {
            if random() >> 33 & 3 == 0 {
                // Reads some of them.
                for _ in 0..random() >> 33 & 7 {
                    let Some((at, bytes)) = oracle.pop_front() else { break };
                    let from = ring.place(at).cast_const();
                    // SAFETY:
                    // - a record lies there, and only this thread writes.
                    let header = unsafe { from.cast::<[u64; 2]>().read() };
                    let is_it = [1 << 32 | bytes.len() as u64, bytes.len() as u64 ^ 0x5555];
                    assert_eq!(header, is_it, "step {step} over {on:?}");
                    let from = from.wrapping_add(HEADER);
                    // SAFETY:
                    // - as above.
                    let there = unsafe { std::slice::from_raw_parts(from, bytes.len()) };
                    assert_eq!(there, bytes, "step {step} over {on:?}");
                    given_back = at + Pushed::new(from, bytes.len() as u32, [0; 2]).step;
                }
                ring.limit.store(ring.limit_behind(given_back), Ordering::Release);
            }
            let len = (random() >> 33) as usize % 101;
            let bytes: Vec<u8> = (0..len).map(|_| (random() >> 40) as u8).collect();
            let header = [1 << 32, len as u64 ^ 0x5555];
            let record = Pushed::new(bytes.as_ptr(), len as u32, header);
            let units = (HEADER + len).div_ceil(UNIT);
            let used = (index - given_back) >> 32;
            let outcome =
                settle!(on, ring_push::<_>(lanes.ring(), rings.as_ptr(), record, HERE.release()));
            if used + units <= UNITS {
                assert_eq!(outcome, Outcome::Committed { lane: cpu, value: index }, "step {step}");
                oracle.push_back((index, bytes));
                index += (units << 32) + 1;
                pushed += 1;
            } else {
                assert_eq!(outcome, Outcome::Differs { lane: cpu, value: index }, "step {step}");
            }
            assert_eq!(place.ring.word.load(Ordering::Relaxed), index);
        }
        assert!((1000..4000).contains(&pushed), "{pushed} of 4000 had room");
    }
    over_each!(body);
}
