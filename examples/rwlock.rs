//! A router: every worker looks each request up in a table that an operator replaces now and then.
//!
//! `cargo run --release --example rwlock`. Each table has a version, and all of its backends carry it: a
//! worker that saw half of a change would answer with two. It checks itself.

use corelocal::rwlock::ReadGuard;
use corelocal::{PerCpuCounter, PerCpuRwLock, backend};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::PoisonError;
use std::thread;

const REQUESTS: usize = 200_000;
const WORKERS: usize = 4;
const CHANGES: u32 = 50;

/// Where a path goes.
#[derive(Clone, Debug)]
struct Backend {
    address: String,
    version: u32,
}

/// The longest prefix wins: of those that a path begins with, the last one in order.
#[derive(Debug, Default)]
struct Table {
    version: u32,
    by_prefix: BTreeMap<String, Backend>,
}

impl Table {
    fn new(version: u32) -> Self {
        let route = |(number, prefix): (usize, &&str)| {
            let address = format!("10.0.{version}.{number}:80");
            ((*prefix).to_owned(), Backend { address, version })
        };
        let by_prefix = ["/", "/api", "/api/v2", "/static"].iter().enumerate().map(route).collect();
        Self { version, by_prefix }
    }

    fn route(&self, path: &str) -> Option<&Backend> {
        let up_to = (Bound::Unbounded, Bound::Included(path));
        self.by_prefix
            .range::<str, _>(up_to)
            .rev()
            .find(|(prefix, _)| path.starts_with(prefix.as_str()))
            .map(|(_, backend)| backend)
    }
}

struct Router {
    table: PerCpuRwLock<Table>,
    answered: PerCpuCounter,
}

impl Router {
    /// The backend of a path, for as long as the guard is held: nobody copies it.
    fn route(&self, path: &str) -> Option<ReadGuard<'_, Backend>> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.route(path)?;
        Some(ReadGuard::map(table, |table| table.route(path).expect("found above")))
    }

    fn work(&self, requests: usize) -> u32 {
        let mut newest = 0;
        for request in 0..requests {
            let path = ["/index", "/api/users", "/api/v2/users", "/static/logo"][request % 4];
            let backend = self.route(path).expect("there is a route for everything");
            assert!(backend.address.starts_with(&format!("10.0.{}.", backend.version)));
            assert!(backend.version >= newest, "an older table than before");
            newest = backend.version;
            self.answered.inc();
        }
        newest
    }
}

fn main() {
    let router = Router { table: PerCpuRwLock::new(Table::new(0)), answered: PerCpuCounter::new() };
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| router.work(REQUESTS / WORKERS));
        }
        for version in 1..=CHANGES {
            // Made outside: a writer holds everybody up.
            let next = Table::new(version);
            let old = {
                let mut table = router.table.write().unwrap_or_else(PoisonError::into_inner);
                std::mem::replace(&mut *table, next)
            };
            assert_eq!(old.version, version - 1);
            drop(old);
        }
    });
    let answered = router.answered.sum();
    let table = router.table.read().unwrap_or_else(PoisonError::into_inner);
    println!(
        "{answered} requests by {WORKERS} workers while {CHANGES} tables came and went; the last is \
         version {}; {}",
        table.version,
        backend()
    );
    assert_eq!((answered, table.version), (REQUESTS as u64, CHANGES));
}
