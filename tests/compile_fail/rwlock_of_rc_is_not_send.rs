//! A lock of `Rc` must not leave its thread: its clones stay there.
// fail: E0277
#![forbid(unsafe_code)]

#[cfg(pass)]
type Value = std::sync::Arc<u32>;
#[cfg(fail)]
type Value = std::rc::Rc<u32>;

fn send<T: Send>(_: T) {}

pub fn test(lock: corelocal::PerCpuRwLock<Value>) {
    send(lock);
}
