//! Strides: the constant distance between two lanes, fixed by the type an object was allocated as.
//!
//! `address = handle + lane * stride`, with no table. Three classes:
//!
//! | class  | for                                | lane             | stride                        |
//! |--------|------------------------------------|------------------|-------------------------------|
//! | small  | up to 8 KiB, aligned to one line   | 64 KiB           | 64 KiB + a page + a line      |
//! | second | up to 64 KiB, aligned to 4096      | 512 KiB          | 512 KiB + a page              |
//! | own    | everything else                    | the object       | size + a page, up to `align`  |
//!
//! The dead page between two lanes keeps them off one page (placement, lazy commit) and stops the
//! prefetcher from dragging lines between CPUs; the odd number of lines in the small stride spreads
//! the copies of one object over the sets of the first-level cache.

use crate::cacheline::CACHE_LINE;

/// What models explore instead of `bytes`: smaller objects in shorter lanes, of which two fill one.
const fn unless_loom(bytes: usize, model: usize) -> usize {
    if cfg!(corelocal_loom) { model } else { bytes }
}

// What the model's memory watches as one thing is a granule.
#[cfg(corelocal_loom)]
const _: () = assert!(SMALL_LANE / super::chunk::GRANULES == crate::sys::memory::PART);

/// The dead bytes between two lanes. Pages of this size at most are kept apart.
pub(super) const DEAD_PAGE: usize = 4096;

/// The largest alignment of the small class: one cache line, at least 64 bytes.
pub(super) const SMALL_ALIGN: usize = if CACHE_LINE > 64 { CACHE_LINE } else { 64 };
/// The largest object of the small class, in bytes.
pub(super) const SMALL_SIZE: usize = unless_loom(8 << 10, 2 << 10);
/// The usable bytes of a lane of the small class.
pub(super) const SMALL_LANE: usize = unless_loom(64 << 10, 4 << 10);
const SMALL_STRIDE: usize = SMALL_LANE + DEAD_PAGE + SMALL_ALIGN;

/// The largest alignment of the second class, in bytes.
pub(super) const SECOND_ALIGN: usize = 4096;
/// The largest object of the second class, in bytes.
pub(super) const SECOND_SIZE: usize = unless_loom(64 << 10, 8 << 10);
/// The usable bytes of a lane of the second class.
pub(super) const SECOND_LANE: usize = unless_loom(512 << 10, 16 << 10);
const SECOND_STRIDE: usize = SECOND_LANE + DEAD_PAGE;

/// Where the copies of a type lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// In chunks of 64 KiB lanes.
    Small,
    /// In chunks of 512 KiB lanes that begin on a page.
    Second,
    /// In a mapping of its own.
    Own,
    /// No address space is large enough for two copies: allocation is an error.
    TooLarge,
}

/// Class, stride and the alignment of lane 0, as constants of a type's size and alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) class: Class,
    /// Bytes from one lane's copy to the next lane's.
    pub(super) stride: usize,
    /// Lane 0 begins at a multiple of this, and every byte of lane 0 that an object can use lies
    /// below the next multiple: clearing the low bits of any address in lane 0's copy gives the
    /// beginning of lane 0, where the region's header is found.
    pub(super) base_align: usize,
}

impl Shape {
    pub(super) const fn of<O>() -> Self {
        Self::new(size_of::<O>(), align_of::<O>())
    }

    /// A zero-sized type takes a byte, so that its handle leads to a header like every other.
    pub(super) const fn new(size: usize, align: usize) -> Self {
        let size = if size == 0 { 1 } else { size };
        if size <= SMALL_SIZE && align <= SMALL_ALIGN {
            return Self { class: Class::Small, stride: SMALL_STRIDE, base_align: SMALL_LANE };
        }
        if size <= SECOND_SIZE && align <= SECOND_ALIGN {
            return Self { class: Class::Second, stride: SECOND_STRIDE, base_align: SECOND_LANE };
        }
        let step = if align > DEAD_PAGE { align } else { DEAD_PAGE };
        // Two copies and the slack that aligning lane 0 takes must fit: a quarter of the address
        // space each is the most that can ever work.
        if size > isize::MAX as usize / 4 || align > isize::MAX as usize / 4 {
            return Self { class: Class::TooLarge, stride: 0, base_align: 1 };
        }
        let stride = (size + DEAD_PAGE).next_multiple_of(step);
        let base = if size > align { size } else { align };
        let base_align = base.next_power_of_two();
        let base_align = if base_align < DEAD_PAGE { DEAD_PAGE } else { base_align };
        Self { class: Class::Own, stride, base_align }
    }
}

/// The stride of objects allocated as `O`, in bytes.
pub(super) const fn stride<O>() -> usize {
    Shape::of::<O>().stride
}

/// The stride of objects allocated as `O`, for operations in a lane.
pub(super) struct StrideOf<O>(core::marker::PhantomData<O>);

impl<O> crate::sys::rseq::Stride for StrideOf<O> {
    const BYTES: usize = stride::<O>();
}

/// Whether handles of objects allocated as `A` and as `B` lead to copies in the same way.
pub(super) const fn one_shape<A, B>() -> bool {
    let (a, b) = (Shape::of::<A>(), Shape::of::<B>());
    a.stride == b.stride && a.base_align == b.base_align
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_keep_every_alignment_of_their_class() {
        for align in (0..=22).map(|k| 1_usize << k) {
            for size in [0, 1, 8, 64, 1088, 8192, 8193, 65_536, 65_537, 3 << 20] {
                let size = usize::next_multiple_of(size, align);
                let shape = Shape::new(size, align);
                assert_ne!(shape.class, Class::TooLarge);
                assert_eq!(shape.stride % align, 0, "{size} aligned to {align}");
                assert_eq!(shape.base_align % align, 0, "{size} aligned to {align}");
                assert!(shape.stride >= size + DEAD_PAGE, "{size} aligned to {align}");
                assert!(shape.base_align.is_power_of_two() && shape.base_align >= size);
            }
        }
    }

    #[test]
    fn two_lanes_never_share_a_page() {
        for (lane, stride) in [(SMALL_LANE, SMALL_STRIDE), (SECOND_LANE, SECOND_STRIDE)] {
            for i in 0..5000_usize {
                let last = i * stride + lane - 1;
                let next = (i + 1) * stride;
                assert_ne!(last / DEAD_PAGE, next / DEAD_PAGE, "lane {i} of stride {stride}");
            }
        }
    }

    #[test]
    fn the_small_stride_is_an_odd_number_of_lines() {
        assert_eq!((SMALL_STRIDE / SMALL_ALIGN) % 2, 1);
    }

    #[test]
    fn a_size_that_no_address_space_holds_is_named_not_wrapped() {
        let huge = isize::MAX as usize;
        assert_eq!(Shape::new(huge, 1).class, Class::TooLarge);
        assert_eq!(Shape::new(huge / 2 + 1, 128).class, Class::TooLarge);
    }
}
