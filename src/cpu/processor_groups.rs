use super::CpuId;
use alloc::vec::Vec;
use core::fmt;

/// Windows' processor groups, and the one number for each of their CPUs.
///
/// Windows names a CPU by its processor group and its number *in* that group. Neither a number alone,
/// which repeats in each group, nor `64 * group + number` is an index: groups have different sizes, and
/// two groups of 40 are common. The CPUs' ids here are the sum of the sizes before: the first CPU of a
/// group comes right behind the last one of the group before it.
///
/// This crate itself asks Windows for no CPU: its [`Backend`](../sys/enum.Backend.html) there is `Thread`. This
/// is for those who do, and then have a mask, a [`PriorityVec`](crate::PriorityVec) or an array of their own.
///
/// Give the **largest** size of each group (`GetMaximumProcessorCount`), not how many are active: then
/// a CPU that is added later has its place, and moves nobody else's.
///
/// ```
/// use corelocal::cpu::{CpuId, ProcessorGroups};
///
/// let groups = ProcessorGroups::new([40, 40]).unwrap();
/// assert_eq!(groups.cpu(1, 0), Some(CpuId::new(40)), "not 0, and not 64");
/// assert_eq!(groups.place(CpuId::new(79)), Some((1, 39)));
/// assert_eq!(groups.cpus(), 80, "as many places as an array needs");
/// assert_eq!(groups.cpu(0, 40), None, "no CPU of group 0 is one of group 1");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ProcessorGroups {
    /// The id of each group's first CPU, and behind the last group the number of CPUs.
    starts: Vec<u32>,
}

/// Why sizes are not those of processor groups.
///
/// ```
/// use corelocal::cpu::{ProcessorGroups, ProcessorGroupsError};
///
/// // Sizes that were read from somewhere: a machine's CPUs, not those of its groups.
/// let error = ProcessorGroups::new([80]).unwrap_err();
/// assert_eq!(error, ProcessorGroupsError::TooLarge { group: 0, size: 80 });
/// let groups = ProcessorGroups::new([40, 40])?; // ask GetMaximumProcessorCount for each group
/// assert_eq!(groups.cpus(), 80);
/// # Ok::<(), ProcessorGroupsError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ProcessorGroupsError {
    /// A group has more CPUs than an affinity mask has bits.
    TooLarge {
        /// The group.
        group: u16,
        /// Its size.
        size: u32,
    },
    /// More groups than a group's number counts.
    TooMany,
}

impl ProcessorGroups {
    /// The most CPUs of a group.
    ///
    /// ```
    /// use corelocal::cpu::ProcessorGroups;
    ///
    /// // Made-up groups for a test, as full as they can be.
    /// let full = ProcessorGroups::new([ProcessorGroups::MOST; 3])?;
    /// assert_eq!(full.cpus(), 192);
    /// # Ok::<(), corelocal::cpu::ProcessorGroupsError>(())
    /// ```
    pub const MOST: u32 = 64;

    /// Groups of these sizes, in their order. A group can be empty; there can be none.
    ///
    /// # Errors
    ///
    /// [`ProcessorGroupsError`].
    ///
    /// ```
    /// use corelocal::cpu::ProcessorGroups;
    ///
    /// // As a program on Windows makes them, once, at its start.
    /// let maximum_processor_count = |group: u16| if group == 0 { 64 } else { 16 };
    /// let groups = ProcessorGroups::new((0..2).map(maximum_processor_count))?;
    /// assert_eq!((groups.groups(), groups.cpus()), (2, 80));
    /// # Ok::<(), corelocal::cpu::ProcessorGroupsError>(())
    /// ```
    pub fn new(sizes: impl IntoIterator<Item = u32>) -> Result<Self, ProcessorGroupsError> {
        let (mut starts, mut cpus) = (Vec::new(), 0);
        for size in sizes {
            let group = u16::try_from(starts.len()).map_err(|_| ProcessorGroupsError::TooMany)?;
            if size > Self::MOST {
                return Err(ProcessorGroupsError::TooLarge { group, size });
            }
            starts.push(cpus);
            // At most 2^16 groups of 64.
            cpus += size;
        }
        starts.push(cpus);
        Ok(Self { starts })
    }

    /// The CPU with this number in its group; `None` if there is no such group, or it has no such
    /// number. O(1).
    ///
    /// ```
    /// use corelocal::cpu::ProcessorGroups;
    ///
    /// let groups = ProcessorGroups::new([36, 36])?;
    /// let mut by_cpu = vec![0_u64; groups.cpus() as usize];
    /// let (group, number) = (1, 2); // of GetCurrentProcessorNumberEx
    /// if let Some(cpu) = groups.cpu(group, number) {
    ///     by_cpu[cpu.index()] += 1;
    /// }
    /// assert_eq!(by_cpu[38], 1);
    /// # Ok::<(), corelocal::cpu::ProcessorGroupsError>(())
    /// ```
    pub fn cpu(&self, group: u16, number: u8) -> Option<CpuId> {
        let [start, end] = *self.starts.get(usize::from(group)..)?.first_chunk()?;
        let id = start + u32::from(number);
        (id < end).then(|| CpuId::new(id))
    }

    /// A CPU's group, and its number there; `None` if there is no such CPU. O(log groups).
    ///
    /// ```
    /// use corelocal::cpu::ProcessorGroups;
    /// use corelocal::CpuId;
    ///
    /// // The affinity masks of a set of CPUs, one for each group.
    /// let groups = ProcessorGroups::new([4, 4])?;
    /// let mut masks = vec![0_u64; groups.groups()];
    /// for (group, number) in [3, 4, 6, 99].iter().filter_map(|id| groups.place(CpuId::new(*id))) {
    ///     masks[usize::from(group)] |= 1 << number;
    /// }
    /// assert_eq!(masks, [0b1000, 0b0101]); // there is no CPU 99
    /// # Ok::<(), corelocal::cpu::ProcessorGroupsError>(())
    /// ```
    pub fn place(&self, cpu: CpuId) -> Option<(u16, u8)> {
        // Behind the group: an empty one begins where the next one does.
        let behind = self.starts.partition_point(|start| *start <= cpu.get());
        let group = behind.checked_sub(1).filter(|_| behind < self.starts.len())?;
        Some((group as u16, (cpu.get() - self.starts[group]) as u8))
    }

    /// How many groups there are.
    ///
    /// ```
    /// use corelocal::cpu::ProcessorGroups;
    ///
    /// let groups = ProcessorGroups::new([64, 0, 8])?;
    /// let threads = vec![(); groups.groups()]; // one that serves each group; an empty one counts too
    /// assert_eq!(threads.len(), 3);
    /// # Ok::<(), corelocal::cpu::ProcessorGroupsError>(())
    /// ```
    pub fn groups(&self) -> usize {
        self.starts.len() - 1
    }

    /// CPUs of all groups: the highest id + 1.
    ///
    /// ```
    /// use corelocal::CpuMask;
    /// use corelocal::cpu::ProcessorGroups;
    ///
    /// let groups = ProcessorGroups::new([40, 40])?;
    /// let everywhere = CpuMask::first_cpus(groups.cpus());
    /// assert_eq!(everywhere.to_string(), "0-79");
    /// # Ok::<(), corelocal::cpu::ProcessorGroupsError>(())
    /// ```
    pub fn cpus(&self) -> u32 {
        self.starts.last().copied().unwrap_or(0)
    }
}

impl fmt::Display for ProcessorGroupsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { group, size } => {
                let most = ProcessorGroups::MOST;
                write!(f, "processor group {group} has {size} CPUs: at most {most}")
            }
            Self::TooMany => write!(f, "more processor groups than {}", u32::from(u16::MAX) + 1),
        }
    }
}

impl core::error::Error for ProcessorGroupsError {}

#[cfg(all(test, not(corelocal_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A10, <https://github.com/dotnet/runtime/pull/581>,
    /// <https://github.com/microsoft/ebpf-for-windows/issues/1424>,
    /// <https://github.com/microsoft/usersim/pull/168>,
    /// <https://github.com/dotnet/runtime/pull/134127>.
    #[test]
    fn cpus_of_the_second_group_share_the_places_of_the_first_or_are_beyond_all() {
        let uneven = ProcessorGroups::new([40, 40]).unwrap();
        assert_eq!(uneven.cpu(1, 0), Some(CpuId::new(40)));
        assert_eq!(uneven.cpu(1, 39), Some(CpuId::new(79)));
        assert_eq!((uneven.groups(), uneven.cpus()), (2, 80));
        let nobody = [(0, 40), (0, 63), (1, 40), (2, 0), (u16::MAX, u8::MAX)];
        assert!(nobody.iter().all(|&(group, number)| uneven.cpu(group, number).is_none()));
        assert_eq!(uneven.place(CpuId::new(80)), None);
        assert_eq!(uneven.place(CpuId::new(u32::MAX)), None);
    }

    #[test]
    fn sizes_that_no_groups_have_are_taken() {
        let said =
            |sizes: &[u32]| ProcessorGroups::new(sizes.iter().copied()).map_err(|e| e.to_string());
        let error = "processor group 1 has 65 CPUs: at most 64".to_owned();
        assert_eq!(said(&[64, 65]), Err(error));
        assert!(said(&[64; 1 << 16]).is_ok_and(|all| all.cpus() == 1 << 22));
        assert_eq!(said(&[1; (1 << 16) + 1]), Err("more processor groups than 65536".to_owned()));
        let none = said(&[]).unwrap();
        assert_eq!((none.groups(), none.cpus(), none.place(CpuId::new(0))), (0, 0, None));
    }

    proptest! {
        /// Against a table that is counted through.
        #[test]
        fn a_cpu_has_two_ids_or_an_id_two_cpus(sizes in proptest::collection::vec(0..=64_u32, 0..9)) {
            let groups = ProcessorGroups::new(sizes.iter().copied()).unwrap();
            let all = sizes.iter().zip(0_u16..).flat_map(|(&size, group)| {
                (0..size as u8).map(move |number| (group, number))
            });
            let table: BTreeMap<(u16, u8), u32> = all.zip(0..).collect();
            prop_assert_eq!(groups.cpus() as usize, table.len());
            for group in 0..=sizes.len() as u16 {
                for number in 0..=64 {
                    let id = table.get(&(group, number)).map(|id| CpuId::new(*id));
                    prop_assert_eq!(groups.cpu(group, number), id);
                    if let Some(id) = id {
                        prop_assert_eq!(groups.place(id), Some((group, number)));
                    }
                }
            }
            prop_assert_eq!(groups.place(CpuId::new(groups.cpus())), None);
        }
    }
}
