//! What lies at an address: the fields of a vector and of the structure around it.

use super::domain::InDomain;
use corelocal::priority::Layout;
use model::coherence::{Field, LINE};

/// Fields in a row at one place.
#[derive(Debug)]
pub(super) struct Region {
    /// What it is called.
    pub(super) name: String,
    /// The address of its first byte.
    pub(super) base: u64,
    /// Its fields, by distance from there.
    pub(super) fields: Vec<Field>,
}

/// The names of a scene's memory.
#[derive(Debug)]
pub(super) struct Names {
    /// The structure, then everything that it points to.
    pub(super) regions: Vec<Region>,
    /// The vector's fields: address and bytes.
    vector: Vec<(u64, u64, String)>,
}

impl Names {
    /// The names of `vector` and of its domain.
    pub(super) fn of<L: Layout>(vector: &InDomain<L>) -> Self {
        let domain = vector.domain();
        let base = std::ptr::from_ref(domain).addr();
        let inside = base..base + size_of_val(domain);
        let around = domain.neighbours().into_iter();
        let around = around.map(|(name, address, bytes)| (name.to_owned(), address, bytes));
        let own = vector.fields().into_iter().map(|field| (field.name, field.address, field.bytes));
        let vector = own.clone().map(|(name, at, bytes)| (at as u64, bytes as u64, name)).collect();

        let mut structure = Vec::new();
        let mut regions = Vec::new();
        for (name, address, bytes) in around.chain(own) {
            if inside.contains(&address) {
                structure.push(Field::new(name, (address - base) as u64, bytes as u64));
            } else {
                let fields = vec![Field::new(name.clone(), 0, bytes as u64)];
                regions.push(Region { name, base: address as u64, fields });
            }
        }
        let name = "root domain".to_owned();
        regions.insert(0, Region { name, base: base as u64, fields: structure });
        Self { regions, vector }
    }

    /// The vector's fields in the line at `line`; `None` if there is none.
    pub(super) fn of_line(&self, line: u64) -> Option<String> {
        let here = |(at, bytes, _): &&(u64, u64, String)| *at < line + LINE && at + bytes > line;
        let mut names = self.vector.iter().filter(here).map(|(.., name)| name);
        let first = names.next()?;
        Some(names.next_back().map_or_else(|| first.clone(), |last| format!("{first} to {last}")))
    }
}
