//! Fields of a map.

use super::same;

/// One field of a [`Layout`](super::Layout).
///
/// ```
/// use corelocal::cacheline::{Layout, LayoutField};
///
/// let fields = [LayoutField::new("id", 0, 4, 4), LayoutField::new("load", 8, 16, 8)];
/// let map = Layout::new("Rq", 24, 8, &fields, &[], &[]);
/// let LayoutField { offset, size, .. } = map.field("load").unwrap();
/// assert_eq!((offset, size), (8, 16));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LayoutField<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it begins, in bytes from the struct's first.
    pub offset: usize,
    /// Its size in bytes.
    pub size: usize,
    /// Its alignment in bytes.
    pub align: usize,
    /// The group it belongs to.
    pub group: Option<&'a str>,
}

impl<'a> LayoutField<'a> {
    /// A field that belongs to no group.
    ///
    /// ```
    /// use corelocal::cacheline::LayoutField;
    ///
    /// #[repr(C)]
    /// struct Rq { id: u32, load: [u64; 2] }
    /// // What `layout_map!` does, where the names are not known when the program is written.
    /// let load = LayoutField::new(
    ///     "load", std::mem::offset_of!(Rq, load), size_of::<[u64; 2]>(), align_of::<[u64; 2]>());
    /// assert_eq!(load.offset % load.align, 0);
    /// # let _ = |rq: Rq| (rq.id, rq.load);
    /// ```
    pub const fn new(name: &'a str, offset: usize, size: usize, align: usize) -> Self {
        Self { name, offset, size, align, group: None }
    }

    /// The same field as a member of `group`.
    ///
    /// ```
    /// use corelocal::cacheline::{Layout, LayoutField};
    ///
    /// let fields = [
    ///     LayoutField::new("load", 0, 8, 8).in_group("hot"),
    ///     LayoutField::new("name", 8, 32, 1),
    ///     LayoutField::new("clock", 40, 8, 8).in_group("hot"),
    /// ];
    /// let map = Layout::new("Rq", 48, 64, &fields, &[], &[]).with_line(64);
    /// assert!(map.lines_of_group("hot").contains(0));
    /// assert_eq!(map.fields().iter().filter(|field| field.group == Some("hot")).count(), 2);
    /// ```
    #[must_use]
    pub const fn in_group(mut self, group: &'a str) -> Self {
        self.group = Some(group);
        self
    }

    /// Where it ends: the byte after its last.
    ///
    /// ```
    /// use corelocal::cacheline::LayoutField;
    ///
    /// let (load, clock) = (LayoutField::new("load", 8, 16, 8), LayoutField::new("clock", 32, 8, 8));
    /// assert_eq!(clock.offset - load.end(), 8); // a hole
    /// ```
    pub const fn end(&self) -> usize {
        self.offset.saturating_add(self.size)
    }

    pub(super) const fn is_in(&self, group: &str) -> bool {
        match self.group {
            Some(own) => same(own, group),
            None => false,
        }
    }
}
