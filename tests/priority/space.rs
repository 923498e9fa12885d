//! What a vector takes, in cache lines.

use corelocal::priority::{Footprint, Layout};
use corelocal::{ByCpu, CACHE_LINE, CacheLine, CpuId, Packed, Padded, PriorityVec, Split};

/// Two threads a core, the second ones behind all first ones: how Linux numbers large x86-64 machines.
fn linux_order(cpus: u32) -> Vec<CpuId> {
    (0..cpus / 2).flat_map(|core| [core, core + cpus / 2]).map(CpuId::new).collect()
}

fn footprint<L: Layout>(cpus: u32) -> Footprint {
    // At the start of a line, so that the figure does not depend on where the test's stack is.
    let vector = CacheLine::<_>::new(PriorityVec::<L>::try_new(linux_order(cpus)).unwrap());
    let size = size_of::<PriorityVec<L>>();
    let footprint = vector.footprint();
    println!("{cpus:5} CPUs  {:<8} {size:6} bytes  {footprint:?} = {}", L::NAME, footprint.lines());
    footprint
}

fn parts(footprint: Footprint) -> [usize; 3] {
    [footprint.structure, footprint.masks, footprint.current]
}

/// The figures of the discussion of the kernel's structure: 26 lines, 203 with padding, 21 without it.
#[test]
#[cfg(target_pointer_width = "64")]
fn structures_are_as_large_as_the_kernels() {
    if CACHE_LINE != 64 {
        return println!("skipped: the figures are those of lines of 64 bytes");
    }
    // Pointers to 101 masks of a line each, and 16 CPUs a line of `current`.
    assert_eq!(parts(footprint::<Packed>(480)), [26, 101, 30]);
    assert_eq!(parts(footprint::<Padded>(480)), [203, 101, 30]);
    assert_eq!(parts(footprint::<Split>(480)), [21, 101, 30]);
    assert_eq!(parts(footprint::<ByCpu>(480)), [0, 8, 0]);
    assert_eq!(parts(footprint::<ByCpu<32>>(480)), [0, 15, 0]);
    assert_eq!(parts(footprint::<ByCpu<16>>(480)), [0, 30, 0]);
    assert_eq!(parts(footprint::<ByCpu<8>>(480)), [0, 60, 0]);
    assert_eq!(size_of::<PriorityVec<Packed>>(), 1624);
    assert_eq!(size_of::<PriorityVec<Padded>>(), 12_992);
    // 1328 bytes of structure, in whole lines.
    assert_eq!(size_of::<PriorityVec<Split>>(), 1344);
}

/// All of it: what a search reads and a change writes, and what says where CPUs are.
#[test]
fn a_byte_a_cpu_takes_a_fraction_of_the_others_lines() {
    if CACHE_LINE != 64 {
        return println!("skipped: the figures are those of lines of 64 bytes");
    }
    for cpus in [8, 64, 480] {
        let all = [
            footprint::<Packed>(cpus),
            footprint::<Padded>(cpus),
            footprint::<Split>(cpus),
            footprint::<ByCpu>(cpus),
        ];
        assert!(all[..3].iter().all(|other| other.lines() > 5 * all[3].lines()), "{all:?}");
    }
    assert_eq!(footprint::<ByCpu>(4096).masks, 64);
    // Everything: lanes, pointers, what maps ids to lanes, members, and two lines for the claims.
    let vector = PriorityVec::<ByCpu>::try_new(linux_order(480)).unwrap();
    assert!(vector.footprint().lines() <= 21, "{:?}", vector.footprint());
    assert!(footprint::<ByCpu>(480).lines() <= 21);
}

/// A vector can be a field of another structure, whose layout is the caller's.
#[test]
fn a_vector_lies_where_the_caller_puts_it() {
    #[repr(C, align(64))]
    struct RootDomain {
        before: [u8; 0x38],
        cpupri: PriorityVec<Packed>,
    }
    let domain =
        RootDomain { before: [0; 0x38], cpupri: PriorityVec::try_new(linux_order(480)).unwrap() };
    assert_eq!(std::mem::offset_of!(RootDomain, cpupri), domain.before.len());
    let first = domain.cpupri.fields().into_iter().find(|field| field.name == "count[0]").unwrap();
    assert_eq!(first.address, std::ptr::from_ref(&domain.cpupri).addr());
    assert_eq!(first.address % 64, 0x38, "the last word of its neighbours' line");
    if cfg!(target_pointer_width = "64") && CACHE_LINE == 64 {
        assert_eq!(domain.cpupri.footprint().structure, 27, "so it reaches into one line more");
    }
}
