//! [`Fits`]: whether a CPU suits a task.

use crate::cpu::{CpuId, CpuMask};

/// Whether a CPU suits a task: a function of the CPU, or a mask. For
/// [`PriorityVec::find_fit`](super::PriorityVec::find_fit).
///
/// ```
/// use corelocal::priority::Fits;
/// use corelocal::{CpuId, CpuMask, Priority, PriorityVec};
///
/// /// Big enough for a task.
/// struct Capacity<'a> { of: &'a [u32], wanted: u32 }
/// impl Capacity<'_> {
///     fn on(&self, cpu: CpuId) -> bool {
///         self.of[cpu.index()] >= self.wanted
///     }
/// }
/// fn place(vector: &PriorityVec, fits: impl Fits) -> String {
///     let mut found = CpuMask::new();
///     vector.find_fit(Priority::rt(1), &CpuMask::first_cpus(2), fits, &mut found);
///     found.to_string()
/// }
/// let vector: PriorityVec = PriorityVec::try_new((0..2).map(CpuId::new))?;
/// let mut slots = [0, 1].map(|cpu| PriorityVec::claim(&vector, CpuId::new(cpu)).unwrap());
/// slots.iter_mut().try_for_each(|slot| slot.set(Priority::NORMAL))?;
/// let big = Capacity { of: &[512, 1024], wanted: 800 };
/// assert_eq!(place(&vector, |cpu| big.on(cpu)), "1"); // a function,
/// assert_eq!(place(&vector, &"0".parse::<CpuMask>()?), "0"); // or a mask
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Fits {
    /// Whether `cpu` does.
    ///
    /// ```
    /// use corelocal::priority::Fits;
    /// use corelocal::{CpuId, CpuMask};
    ///
    /// fn fitting(cpus: &CpuMask, mut fits: impl Fits) -> usize {
    ///     cpus.iter().filter(|cpu| fits.fits(*cpu)).count()
    /// }
    /// let big: CpuMask = "4-7".parse()?;
    /// assert_eq!(fitting(&CpuMask::first_cpus(6), &big), 2);
    /// assert_eq!(fitting(&CpuMask::first_cpus(6), |cpu: CpuId| cpu.get() % 2 == 0), 3);
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    fn fits(&mut self, cpu: CpuId) -> bool;
}

impl<F: FnMut(CpuId) -> bool> Fits for F {
    fn fits(&mut self, cpu: CpuId) -> bool {
        self(cpu)
    }
}

impl Fits for &CpuMask {
    fn fits(&mut self, cpu: CpuId) -> bool {
        self.contains(cpu)
    }
}
