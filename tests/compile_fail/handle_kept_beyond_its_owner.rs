//! A handle lives as long as the object, also after projection.
// fail: E0505
#![forbid(unsafe_code)]

use corelocal::{PerCpu, field};

pub struct User {
    pub name: String,
}

pub fn length(users: PerCpu<User>) -> usize {
    let names = users.at(field!(User, name));
    #[cfg(fail)]
    drop(users);
    names.this().len()
}
