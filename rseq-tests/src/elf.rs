//! What a binary says about its sections, read from the file.
//!
//! A small reader of 64-bit little-endian ELF: sections, symbols, and the relocations that fill
//! descriptors in when the program starts.

use std::collections::BTreeMap;
use std::fmt;

/// A section's descriptor, as it will be in memory, relative to the load address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// Its own address.
    pub address: u64,
    /// Its version, which must be 0.
    pub version: u32,
    /// Its flags, which must be 0.
    pub flags: u32,
    /// The first instruction.
    pub start: u64,
    /// Bytes to the end of the committing store.
    pub length: u64,
    /// The abort handler.
    pub abort: u64,
}

impl Descriptor {
    /// The first address that is no more in the section.
    pub fn end(&self) -> u64 {
        self.start + self.length
    }

    /// Whether the kernel would cut a thread off at `address`.
    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.end()).contains(&address)
    }
}

/// Why a file cannot be read.
#[derive(Debug)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an ELF file that can be read: {}", self.0)
    }
}

/// One of the file's sections.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Where it will be, relative to the load address.
    pub address: u64,
    /// Its alignment.
    pub align: u64,
    /// Its bytes in the file; empty if it has none there.
    pub bytes: Vec<u8>,
    kind: u32,
    link: u32,
}

/// The file.
#[derive(Debug)]
pub struct Elf {
    /// The processor: 62 is x86-64, 183 is AArch64.
    pub machine: u16,
    /// Its sections.
    pub parts: Vec<Part>,
    relocated: BTreeMap<u64, u64>,
    functions: BTreeMap<u64, String>,
}

/// x86-64's number.
pub const X86_64: u16 = 62;
/// AArch64's number.
pub const AARCH64: u16 = 183;

fn number(bytes: &[u8], at: usize, size: usize) -> Result<u64, Malformed> {
    let field = bytes.get(at..at + size).ok_or(Malformed("it ends early"))?;
    Ok(field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

impl Elf {
    /// Reads a file's bytes.
    ///
    /// # Errors
    ///
    /// [`Malformed`] says what is wrong.
    pub fn parse(file: &[u8]) -> Result<Self, Malformed> {
        if file.get(..6) != Some(&[0x7f, b'E', b'L', b'F', 2, 1]) {
            return Err(Malformed("neither 64 bits nor little-endian"));
        }
        let machine = number(file, 18, 2)? as u16;
        let table = number(file, 40, 8)? as usize;
        let size = number(file, 58, 2)? as usize;
        let count = number(file, 60, 2)? as usize;
        let names = number(file, 62, 2)? as usize;
        let mut parts = Vec::new();
        let mut name_offsets = Vec::new();
        for index in 0..count {
            let head = table + index * size;
            let kind = number(file, head + 4, 4)? as u32;
            let (offset, length) = (number(file, head + 24, 8)?, number(file, head + 32, 8)?);
            const NO_BITS: u32 = 8;
            let bytes = if kind == NO_BITS {
                &[]
            } else {
                file.get(offset as usize..(offset + length) as usize)
                    .ok_or(Malformed("a section is outside"))?
            };
            name_offsets.push(number(file, head, 4)? as usize);
            parts.push(Part {
                name: String::new(),
                address: number(file, head + 16, 8)?,
                align: number(file, head + 48, 8)?,
                bytes: bytes.to_vec(),
                kind,
                link: number(file, head + 40, 4)? as u32,
            });
        }
        let strings = parts.get(names).ok_or(Malformed("no names"))?.bytes.clone();
        for (part, offset) in parts.iter_mut().zip(name_offsets) {
            part.name = text(&strings, offset);
        }
        let relocated = relocations(&parts)?;
        let functions = functions(&parts);
        Ok(Self { machine, parts, relocated, functions })
    }

    /// The first section of this name.
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// Eight bytes as they will be in memory.
    pub fn word(&self, part: &Part, offset: usize) -> Result<u64, Malformed> {
        match self.relocated.get(&(part.address + offset as u64)) {
            Some(value) => Ok(*value),
            None => number(&part.bytes, offset, 8),
        }
    }

    /// The four bytes before `address`.
    pub fn signature_before(&self, address: u64) -> Option<u32> {
        let at = address.checked_sub(4)?;
        let part = self.parts.iter().find(|part| {
            part.address != 0
                && at >= part.address
                && at + 4 <= part.address + part.bytes.len() as u64
        })?;
        number(&part.bytes, (at - part.address) as usize, 4).ok().map(|value| value as u32)
    }

    /// The descriptors in `__rseq_cs`.
    ///
    /// # Errors
    ///
    /// [`Malformed`]: there is no such section, or it is no list of descriptors.
    pub fn descriptors(&self) -> Result<Vec<Descriptor>, Malformed> {
        let part = self.part("__rseq_cs").ok_or(Malformed("no section __rseq_cs"))?;
        if part.bytes.len() % 32 != 0 {
            return Err(Malformed("__rseq_cs is no list of 32-byte descriptors"));
        }
        (0..part.bytes.len() / 32)
            .map(|index| {
                let at = index * 32;
                Ok(Descriptor {
                    address: part.address + at as u64,
                    version: number(&part.bytes, at, 4)? as u32,
                    flags: number(&part.bytes, at + 4, 4)? as u32,
                    start: self.word(part, at + 8)?,
                    length: self.word(part, at + 16)?,
                    abort: self.word(part, at + 24)?,
                })
            })
            .collect()
    }

    /// Where the function begins that an address lies in, or behind.
    pub fn entry_of(&self, address: u64) -> Option<u64> {
        self.functions.range(..=address).next_back().map(|(entry, _)| *entry)
    }

    /// The function that an address lies in, or behind.
    pub fn function(&self, address: u64) -> &str {
        self.functions.range(..=address).next_back().map_or("?", |(_, name)| name)
    }
}

fn functions(parts: &[Part]) -> BTreeMap<u64, String> {
    const SYMBOLS: u32 = 2;
    const FUNCTION: u8 = 2;
    let mut functions = BTreeMap::new();
    for table in parts.iter().filter(|part| part.kind == SYMBOLS) {
        let Some(strings) = parts.get(table.link as usize) else { continue };
        let entries = table.bytes.chunks_exact(24).filter(|entry| entry[4] & 15 == FUNCTION);
        functions.extend(entries.filter_map(|entry| {
            let name = text(&strings.bytes, number(entry, 0, 4).ok()? as usize);
            Some((number(entry, 8, 8).ok()?, name))
        }));
    }
    functions
}

fn text(strings: &[u8], at: usize) -> String {
    let tail = strings.get(at..).unwrap_or(&[]);
    let end = tail.iter().position(|byte| *byte == 0).unwrap_or(tail.len());
    String::from_utf8_lossy(&tail[..end]).into_owned()
}

/// What a position-independent program's start writes: load address + addend.
fn relocations(parts: &[Part]) -> Result<BTreeMap<u64, u64>, Malformed> {
    const RELA: u32 = 4;
    const RELATIVE: [u64; 2] = [8, 1027];
    let mut relocated = BTreeMap::new();
    for part in parts.iter().filter(|part| part.kind == RELA) {
        for entry in part.bytes.chunks_exact(24) {
            let info = number(entry, 8, 8)?;
            if RELATIVE.contains(&(info & 0xffff_ffff)) {
                relocated.insert(number(entry, 0, 8)?, number(entry, 16, 8)?);
            }
        }
    }
    Ok(relocated)
}
