//! [`Priority`]: what a CPU runs at, and what a task asks with.

use core::fmt;

/// The most levels a vector can have: level 127 of seven bits stands for "at no level".
pub(super) const MOST_LEVELS: usize = 127;

/// A level of urgency, larger for more urgent; or [`INVALID`](Self::INVALID), which is none.
///
/// The default vector has 101 levels, those of the kernel's real-time scheduler:
///
/// | level | who |
/// |---|---|
/// | [`INVALID`](Self::INVALID) (none) | a CPU that takes no tasks: never found |
/// | [`NORMAL`](Self::NORMAL) (0) | no real-time task runs there |
/// | [`rt(1)`](Self::rt) to `rt(99)` (1 to 99) | a real-time task of that priority |
/// | [`HIGHER`](Self::HIGHER) (100) | something that no real-time task may push away |
///
/// `rt(n)` is what `sched_setscheduler` and `chrt` call the priority `n` of `SCHED_FIFO` and `SCHED_RR`.
/// Vectors with other numbers of levels use [`from_level`](Self::from_level).
///
/// Displayed as the level's number, `INVALID` as that word. There is no default: a CPU begins
/// as `INVALID`, a task hardly does.
///
/// ```
/// use corelocal::Priority;
///
/// assert!(Priority::rt(50) < Priority::rt(51) && Priority::rt(99) < Priority::HIGHER);
/// assert!(Priority::INVALID < Priority::NORMAL);
/// assert_eq!(Priority::rt(7).level(), Some(7));
/// assert_eq!(format!("{} {}", Priority::rt(7), Priority::INVALID), "7 INVALID");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(i8);

impl Priority {
    /// No level. A CPU at it is never found; a task with it finds nothing.
    ///
    /// ```
    /// # use corelocal::{CpuId, CpuMask, Priority, PriorityVec};
    /// let vector: PriorityVec = PriorityVec::try_new([CpuId::new(0)])?;
    /// let mut slot = PriorityVec::claim(&vector, CpuId::new(0))?;
    /// slot.set(Priority::NORMAL)?;
    /// slot.set(Priority::INVALID)?; // goes off line: takes no more tasks
    /// assert_eq!(vector.find(Priority::HIGHER, &CpuMask::first_cpus(1), &mut CpuMask::new()), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const INVALID: Self = Self(-1);
    /// Level 0: the CPU runs nothing that counts. A task with it finds nothing, since nothing is
    /// lower.
    ///
    /// ```
    /// # use corelocal::{CpuId, CpuMask, Priority, PriorityVec};
    /// let vector: PriorityVec = PriorityVec::try_new([CpuId::new(0)])?;
    /// let mut slot = PriorityVec::claim(&vector, CpuId::new(0))?;
    /// slot.set(Priority::NORMAL)?; // any real-time task may have this CPU
    /// let lowest = vector.find(Priority::rt(1), &CpuMask::first_cpus(1), &mut CpuMask::new());
    /// assert_eq!(lowest, Some(Priority::NORMAL));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const NORMAL: Self = Self(0);
    /// Level 100: above every real-time priority (the kernel: a deadline task).
    ///
    /// ```
    /// # use corelocal::{CpuId, CpuMask, Priority, PriorityVec};
    /// let vector: PriorityVec = PriorityVec::try_new([CpuId::new(0)])?;
    /// let mut slot = PriorityVec::claim(&vector, CpuId::new(0))?;
    /// slot.set(Priority::HIGHER)?; // not even the most urgent real-time task gets this CPU
    /// let all = CpuMask::first_cpus(1);
    /// assert_eq!(vector.find(Priority::rt(99), &all, &mut CpuMask::new()), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const HIGHER: Self = Self(100);

    /// The real-time priority `priority`, 1 (least urgent) to 99.
    ///
    /// # Panics
    ///
    /// If `priority` is not in 1 to 99; in a constant, the build fails. For numbers from outside
    /// there is [`try_rt`](Self::try_rt).
    ///
    /// ```
    /// use corelocal::Priority;
    /// const AUDIO: Priority = Priority::rt(80);
    /// assert_eq!(AUDIO.level(), Some(80));
    /// ```
    pub const fn rt(priority: u8) -> Self {
        match Self::try_rt(priority) {
            Ok(priority) => priority,
            Err(_) => panic!("real-time priorities are 1 to 99"),
        }
    }

    /// The real-time priority `priority`, 1 (least urgent) to 99.
    ///
    /// # Errors
    ///
    /// [`PriorityError::NotRealTime`] for any other number.
    ///
    /// ```
    /// use corelocal::Priority;
    /// assert_eq!(Priority::try_rt(99), Ok(Priority::rt(99)));
    /// assert!(Priority::try_rt(0).is_err());
    /// assert!(Priority::try_rt(100).is_err());
    /// ```
    pub const fn try_rt(priority: u8) -> Result<Self, PriorityError> {
        match priority {
            1..=99 => Ok(Self(priority as i8)),
            _ => Err(PriorityError::NotRealTime(priority)),
        }
    }

    /// Level `level`, 0 (least urgent) to 126, for vectors with any number of levels.
    ///
    /// # Errors
    ///
    /// [`PriorityError::NoSuchLevel`] for any other number.
    ///
    /// ```
    /// use corelocal::Priority;
    /// assert_eq!(Priority::from_level(0), Ok(Priority::NORMAL));
    /// assert_eq!(Priority::from_level(100), Ok(Priority::HIGHER));
    /// assert!(Priority::from_level(127).is_err());
    /// ```
    pub const fn from_level(level: u8) -> Result<Self, PriorityError> {
        if (level as usize) < MOST_LEVELS {
            Ok(Self(level as i8))
        } else {
            Err(PriorityError::NoSuchLevel { level, levels: MOST_LEVELS })
        }
    }

    /// The priority of a task as the Linux kernel numbers them inside, smaller for more urgent: what
    /// tracepoints and `sched_debug` print as `prio`.
    ///
    /// | `prio` | is |
    /// |---|---|
    /// | -1 | [`INVALID`](Self::INVALID) |
    /// | 0 to 98 | `rt(99)` to `rt(1)` |
    /// | 99, a queue without a real-time task | [`NORMAL`](Self::NORMAL) |
    /// | 100, a deadline task | [`HIGHER`](Self::HIGHER) |
    ///
    /// # Errors
    ///
    /// [`PriorityError::NotAKernelPriority`] for any other number.
    ///
    /// ```
    /// use corelocal::Priority;
    /// assert_eq!(Priority::from_kernel_prio(0), Ok(Priority::rt(99)));
    /// assert_eq!(Priority::from_kernel_prio(98), Ok(Priority::rt(1)));
    /// assert_eq!(Priority::from_kernel_prio(99), Ok(Priority::NORMAL));
    /// assert!(Priority::from_kernel_prio(120).is_err()); // nice 0
    /// ```
    pub const fn from_kernel_prio(prio: i32) -> Result<Self, PriorityError> {
        match prio {
            -1 => Ok(Self::INVALID),
            0..=98 => Ok(Self(99 - prio as i8)),
            99 => Ok(Self::NORMAL),
            100 => Ok(Self::HIGHER),
            _ => Err(PriorityError::NotAKernelPriority(prio)),
        }
    }

    /// Which level it is; `None` for [`INVALID`](Self::INVALID). The inverse of
    /// [`from_level`](Self::from_level).
    ///
    /// ```
    /// # use corelocal::Priority;
    /// let mut waiting = [0; 101]; // tasks by level
    /// for task in [Priority::rt(5), Priority::rt(5), Priority::NORMAL] {
    ///     waiting[usize::from(task.level().expect("tasks have a level"))] += 1;
    /// }
    /// assert_eq!((waiting[0], waiting[5], Priority::INVALID.level()), (1, 2, None));
    /// ```
    #[inline]
    pub const fn level(self) -> Option<u8> {
        if self.0 < 0 { None } else { Some(self.0 as u8) }
    }

    /// Level `level`, which a vector holds.
    #[inline]
    pub(super) const fn at(level: usize) -> Self {
        debug_assert!(level < MOST_LEVELS);
        Self(level as i8)
    }

    /// Below how many levels a task with it searches.
    #[inline]
    pub(super) const fn below(self) -> usize {
        if self.0 < 0 { 0 } else { self.0 as usize }
    }

    /// Seven bits: the level, or 127 for none.
    #[inline]
    pub(super) const fn byte(self) -> u8 {
        self.0 as u8 & NOWHERE
    }

    /// What `byte` said.
    #[inline]
    pub(super) const fn from_byte(byte: u8) -> Self {
        if byte == NOWHERE { Self::INVALID } else { Self(byte as i8) }
    }
}

/// The byte of a CPU that is at no level.
pub(super) const NOWHERE: u8 = 127;

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level() {
            None => f.pad("INVALID"),
            Some(level) => level.fmt(f),
        }
    }
}

impl fmt::Debug for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level() {
            None => f.write_str("Priority(INVALID)"),
            Some(level) => write!(f, "Priority({level})"),
        }
    }
}

/// A number that is no priority, or none of this vector's.
///
/// ```
/// use corelocal::{CpuId, Packed, Priority, PriorityVec};
///
/// assert_eq!(
///     Priority::try_rt(0).unwrap_err().to_string(),
///     "0 is no real-time priority; they are 1 (least urgent) to 99",
/// );
/// let three = PriorityVec::<Packed, 3>::try_new([CpuId::new(0)])?; // levels 0 to 2
/// let error = PriorityVec::claim(&three, CpuId::new(0))?.set(Priority::rt(3)).unwrap_err();
/// assert_eq!(error.to_string(), "there is no level 3; levels are 0 to 2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PriorityError {
    /// Real-time priorities are 1 to 99.
    NotRealTime(u8),
    /// The kernel's numbers are -1 to 100.
    NotAKernelPriority(i32),
    /// The vector has fewer levels.
    NoSuchLevel {
        /// The level asked for.
        level: u8,
        /// How many levels there are, the first one being 0.
        levels: usize,
    },
}

impl fmt::Display for PriorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRealTime(priority) => {
                write!(f, "{priority} is no real-time priority; they are 1 (least urgent) to 99")
            }
            Self::NotAKernelPriority(prio) => write!(
                f,
                "{prio} is no priority of the real-time scheduler; -1 is none, 0 (most urgent) to \
                 98 are real-time, 99 is normal, 100 is above"
            ),
            Self::NoSuchLevel { level, levels } => {
                write!(f, "there is no level {level}; levels are 0 to {}", levels.saturating_sub(1))
            }
        }
    }
}

impl core::error::Error for PriorityError {}
