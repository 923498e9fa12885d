//! Small scenarios whose every number can be counted on fingers.

use model::coherence::Event::{
    FirstTouch, Hit, ReadClean, ReadModified, Silent, Upgrade, WriteMiss,
};
use model::coherence::Kind::{Load, Rmw, Store};
use model::coherence::{Counts, Directory, Event, Kind, Machine, Numbering, State};

/// Two sockets of two cores of two CPUs: core = cpu % 4, socket = core / 2.
fn machine() -> Directory {
    Directory::new(Machine::new(2, 2, 2, Numbering::Linux).unwrap())
}

/// What each access to the line at 0 meets: event, copies taken away, across.
fn met(directory: &mut Directory, accesses: &[(usize, Kind)]) -> Vec<(Event, usize, bool)> {
    let mut touch = |&(cpu, kind): &(usize, Kind)| {
        let outcome = directory.touch(cpu, 0, kind, 0);
        (outcome.event, outcome.invalidated, outcome.across)
    };
    accesses.iter().map(&mut touch).collect()
}

#[test]
fn false_sharing_plays_ping_pong() {
    let mut directory = machine();
    for _ in 0..50 {
        directory.access(0, 0, 8, Rmw, 1);
        directory.access(1, 56, 8, Rmw, 2);
    }
    let [first, second] = directory.tags()[..] else { panic!("two tags") };
    assert_eq!((first.counts.first_touches, first.counts.write_misses), (1, 49));
    assert_eq!((second.counts.first_touches, second.counts.write_misses), (0, 50));
    assert_eq!(directory.total().invalidations, 99);
    assert_eq!(directory.total().cross_socket, 0);
    let [line] = directory.lines()[..] else { panic!("one line") };
    assert_eq!(line.counts.transfers(), 99);

    // The same on two lines: nothing but the two first touches.
    let mut directory = machine();
    for _ in 0..50 {
        directory.access(0, 0, 8, Rmw, 1);
        directory.access(1, 64, 8, Rmw, 2);
    }
    assert_eq!((directory.total().misses(), directory.total().first_touches), (0, 2));
}

#[test]
fn a_read_mostly_line_costs_one_read_a_core_and_write() {
    let mut directory = machine();
    directory.access(0, 0, 4, Store, 0);
    for round in 0..10 {
        for cpu in 0..8 {
            directory.access(cpu, 0, 4, Load, 1);
        }
        // Everybody reads it again: nothing.
        for cpu in 0..8 {
            directory.access(cpu, 0, 4, Load, 2);
        }
        let misses = directory.total().misses();
        // Three other cores read in each round, and all rounds but the last have a write.
        assert_eq!(misses, 3 * (round + 1) + round);
        directory.access(0, 0, 4, Store, 0);
    }
    let [write, read, again] = directory.tags()[..] else { panic!("three tags") };
    assert_eq!(again.counts, Counts { loads: 80, ..Counts::default() });
    // The first of the three finds it modified, the others clean.
    assert_eq!((read.counts.read_modified, read.counts.read_clean), (10, 20));
    assert_eq!((write.counts.upgrades, write.counts.invalidations), (10, 30));
    assert_eq!(directory.total().transfers(), 30);
}

#[test]
fn a_write_to_a_shared_line_is_an_upgrade_and_takes_all_copies() {
    let mut directory = machine();
    let accesses = [(0, Load), (1, Load), (0, Store), (1, Load), (1, Rmw), (0, Rmw)];
    assert_eq!(
        met(&mut directory, &accesses),
        [
            (FirstTouch, 0, false),
            (ReadClean, 0, false),
            (Upgrade, 1, false),
            (ReadModified, 0, false),
            (Upgrade, 1, false),
            (WriteMiss, 1, false),
        ]
    );
    let total = directory.total();
    assert_eq!((total.misses(), total.transfers(), total.upgrades), (5, 3, 2));
    assert_eq!([0, 1].map(|core| directory.state(core, 0)), [State::Modified, State::Invalid]);
}

#[test]
fn who_alone_has_a_line_writes_it_silently() {
    let mut directory = machine();
    let accesses = [(0, Load), (0, Load), (0, Store), (0, Rmw), (0, Load)];
    let events = [FirstTouch, Hit, Silent, Hit, Hit].map(|event| (event, 0, false));
    assert_eq!(met(&mut directory, &accesses), events);
    assert_eq!(directory.state(0, 63), State::Modified);
    assert_eq!((directory.total().silent, directory.total().misses()), (1, 0));
    assert_eq!(directory.total().hits(), 4);
    // But not once another core has read it.
    let mut directory = machine();
    met(&mut directory, &[(0, Load)]);
    assert_eq!(directory.state(0, 0), State::Exclusive);
    met(&mut directory, &[(3, Load)]);
    assert_eq!([0, 3].map(|core| directory.state(core, 0)), [State::Shared, State::Shared]);
    assert_eq!(met(&mut directory, &[(0, Store)]), [(Upgrade, 1, true)]);
}

#[test]
fn two_cpus_of_one_core_share_without_a_miss() {
    let mut directory = machine();
    for _ in 0..50 {
        directory.access(1, 0, 8, Rmw, 0);
        directory.access(5, 0, 8, Rmw, 0);
    }
    assert_eq!((directory.total().misses(), directory.total().first_touches), (0, 1));
    // In topology order the same two CPUs are of two cores.
    let mut directory = Directory::new(Machine::new(2, 2, 2, Numbering::Topology).unwrap());
    directory.access(1, 0, 8, Rmw, 0);
    directory.access(5, 0, 8, Rmw, 0);
    assert_eq!(directory.total().misses(), 1);
}

#[test]
fn a_read_takes_the_nearest_copy_and_a_write_waits_for_the_farthest() {
    let mut directory = machine();
    assert_eq!(
        met(
            &mut directory,
            &[
                (0, Store), // socket 0
                (2, Load),  // socket 1, nobody near
                (3, Load),  // socket 1, core 2 has it
                (1, Load),  // socket 0, core 0 has it
                (1, Store), // takes it from 0, 2 and 3
                (0, Store), // only core 1, near
                (3, Rmw),   // only core 0, far
                (3, Load),
            ]
        ),
        [
            (FirstTouch, 0, false),
            (ReadModified, 0, true),
            (ReadClean, 0, false),
            (ReadClean, 0, false),
            (Upgrade, 3, true),
            (WriteMiss, 1, false),
            (WriteMiss, 1, true),
            (Hit, 0, false),
        ]
    );
    let total = directory.total();
    assert_eq!((total.cross_socket, total.invalidations), (3, 5));
}

#[test]
fn an_access_touches_each_of_its_lines_once() {
    let mut directory = machine();
    directory.access(0, 60, 4, Load, 0);
    assert_eq!(directory.lines().len(), 1);
    directory.access(0, 60, 5, Load, 0);
    assert_eq!(directory.lines().len(), 2);
    directory.access(0, 0x1001, 0, Store, 0);
    assert_eq!(directory.lines().len(), 2);
    directory.access(0, 0x1001, 192, Store, 0);
    let addresses: Vec<u64> = directory.lines().iter().map(|line| line.address).collect();
    assert_eq!(addresses, [0, 64, 0x1000, 0x1040, 0x1080, 0x10c0]);
    directory.access(0, u64::MAX, 1, Store, 0);
    assert_eq!(directory.lines().last().unwrap().address, u64::MAX - 63);
}

#[test]
fn lines_are_counted_once_an_operation() {
    let mut directory = machine();
    for _ in 0..3 {
        directory.begin(0, 7);
        // Another CPU's operation in between changes nothing.
        directory.access(0, 0, 4, Load, 7);
        directory.begin(1, 8);
        directory.access(1, 0, 4, Load, 8);
        for address in [4, 8, 64, 60, 128] {
            directory.access(0, address, 4, Load, 7);
        }
        directory.access(0, 0, 4, Rmw, 7);
        directory.access(0, 4, 4, Store, 7);
    }
    let [ours, theirs] = directory.tags()[..] else { panic!("two tags") };
    assert_eq!((ours.tag, ours.operations, ours.lines_read, ours.lines_written), (7, 3, 9, 3));
    assert_eq!((theirs.tag, theirs.operations, theirs.lines_read), (8, 3, 3));
    assert!((ours.per_operation(ours.lines_read) - 3.0).abs() < 1e-12);
}

#[test]
fn warming_up_is_forgotten_but_not_the_caches() {
    let mut directory = machine();
    met(&mut directory, &[(0, Store), (1, Load), (2, Load)]);
    directory.reset_counts();
    assert_eq!(directory.total(), Counts::default());
    assert_eq!((directory.lines().len(), directory.tags().len()), (1, 1));
    assert_eq!(
        met(&mut directory, &[(1, Load), (2, Store)]),
        [(Hit, 0, false), (Upgrade, 2, true)]
    );
    assert_eq!(directory.total().first_touches, 0);
}

#[test]
fn the_hottest_line_has_the_most_transfers_not_the_most_accesses() {
    let mut directory = machine();
    assert_eq!(directory.hottest(), None);
    for round in 0..10 {
        directory.access(0, 0, 8, Rmw, 0);
        directory.access(round % 2, 640, 8, Rmw, 0);
        directory.access(round % 2, 320, 8, Rmw, 0);
        directory.access(0, 0, 8, Rmw, 0);
    }
    let hottest = directory.hottest().unwrap();
    assert_eq!((hottest.address, hottest.counts.transfers()), (320, 9));
}

#[test]
#[should_panic(expected = "CPU 8 of 8")]
fn a_cpu_that_is_not_there_is_named() {
    machine().access(8, 0, 8, Load, 0);
}

#[test]
#[should_panic(expected = "8 bytes at 0xfffffffffffffffa reach beyond")]
fn bytes_beyond_the_last_address_are_named() {
    machine().access(0, u64::MAX - 5, 8, Load, 0);
}
