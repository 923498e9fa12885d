//! What the kernel says about places: where a thread runs, and where a page lies.

use std::ptr;

/// The CPU and the memory node that this thread was on just now, by the system call, which no
/// library answers from memory.
pub fn place() -> Option<(u32, u32)> {
    let (mut cpu, mut node) = (0u32, 0u32);
    let none = ptr::null_mut::<u8>();
    // SAFETY:
    // - writes two numbers, which live for the call; the third pointer is unused.
    let status = unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut node, none) };
    (status == 0).then_some((cpu, node))
}

/// The node of the page that holds `address`; asked in two ways that must agree.
///
/// # Errors
///
/// What the kernel answered, if that is no node.
pub fn node_of_page<T>(address: *const T) -> Result<u32, String> {
    let (moved, policy) = (by_move_pages(address.cast())?, by_policy(address.cast())?);
    if moved == policy {
        Ok(moved)
    } else {
        Err(format!("move_pages says node {moved}, get_mempolicy says {policy}"))
    }
}

/// `move_pages` that moves nothing: it says where the page is.
fn by_move_pages(address: *const u8) -> Result<u32, String> {
    let pages = [address];
    let mut status = [-1i32];
    let nowhere = ptr::null::<i32>();
    let (this, count, flags) = (0, pages.len(), 0);
    // SAFETY:
    // - reads one address and writes one number, both of which live for the call; no page is
    //   asked to go anywhere.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            this,
            count,
            pages.as_ptr(),
            nowhere,
            status.as_mut_ptr(),
            flags,
        )
    };
    if result != 0 {
        return Err(format!("move_pages: {}", std::io::Error::last_os_error()));
    }
    u32::try_from(status[0]).map_err(|_| format!("move_pages: no page there ({})", status[0]))
}

fn by_policy(address: *const u8) -> Result<u32, String> {
    // linux/mempolicy.h: the node, of what lies at the address.
    const NODE_OF_ADDRESS: u64 = 1 | 2;
    let mut node = -1i32;
    let (no_mask, no_bits) = (ptr::null_mut::<u64>(), 0usize);
    // SAFETY:
    // - writes one number, which lives for the call, and no mask; the address is only looked up.
    let result = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut node,
            no_mask,
            no_bits,
            address,
            NODE_OF_ADDRESS,
        )
    };
    if result != 0 {
        return Err(format!("get_mempolicy: {}", std::io::Error::last_os_error()));
    }
    u32::try_from(node).map_err(|_| format!("get_mempolicy: node {node}"))
}
