//! The floor table, and the arrows between rooms.

use crate::text::{Source, ident, item_length, words};

/// What a room may do with `unsafe`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unsafe {
    No,
    /// Unsafe functions, and unsafe blocks only in macros that others expand.
    FnOnly,
    Yes,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    pub(crate) name: String,
    /// `F0.1` is (0, 1); `F2` is (2, 0).
    pub(crate) floor: (u32, u32),
    pub(crate) may: Unsafe,
}

/// The first table of `page` whose heading begins with `floor` and `room`.
pub(crate) fn read_table(page: &str) -> Result<Vec<Room>, String> {
    let mut rooms: Vec<Room> = Vec::new();
    let mut rows = page.lines().map(cells).skip_while(|row| !row.starts_with(&["floor", "room"]));
    rows.next().ok_or("no table with the columns floor and room")?;
    for row in rows.skip(1).take_while(|row| !row.is_empty()) {
        let [floor, room, may, ..] = row[..] else {
            return Err(format!("a row with too few cells: {row:?}"));
        };
        let name = room.trim_matches('`').to_string();
        if rooms.iter().any(|other| other.name == name) {
            return Err(format!("{name} stands twice"));
        }
        let may = match may {
            "no" => Unsafe::No,
            "fn" => Unsafe::FnOnly,
            "yes" => Unsafe::Yes,
            _ => return Err(format!("{name}: unsafe is yes, no or fn, not {may:?}")),
        };
        rooms.push(Room { name, floor: read_floor(floor)?, may });
    }
    Ok(rooms)
}

/// The cells of a table row; none where the line is no row.
pub(crate) fn cells(line: &str) -> Vec<&str> {
    let Some(inner) = line.trim().strip_prefix('|') else { return Vec::new() };
    inner.trim_end_matches('|').split('|').map(str::trim).collect()
}

fn read_floor(text: &str) -> Result<(u32, u32), String> {
    let number = text.strip_prefix('F').ok_or_else(|| format!("no floor: {text:?}"))?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    match (major.parse(), minor.parse()) {
        (Ok(major), Ok(minor)) => Ok((major, minor)),
        _ => Err(format!("no floor: {text:?}")),
    }
}

/// The front door and the pages stand beside the house, not on a floor.
pub(crate) fn is_outside(source: &Source) -> bool {
    matches!(source.room(), "lib" | "docs")
}

/// Rooms without a row and rows without a room.
pub(crate) fn check_table(rooms: &[Room], sources: &[Source]) -> Vec<String> {
    let mut faults = Vec::new();
    for source in sources.iter().filter(|source| !is_outside(source)) {
        if !rooms.iter().any(|room| room.name == source.room()) {
            faults.push(format!("{}: the floor table has no room {}", source.path, source.room()));
        }
    }
    for room in rooms {
        if !sources.iter().any(|source| source.room() == room.name) {
            faults.push(format!("the floor table has a room {} that does not exist", room.name));
        }
    }
    faults
}

/// Arrows that go up or sideways, and paths that hide which room they go to.
pub(crate) fn check_arrows(rooms: &[Room], sources: &[Source]) -> Vec<String> {
    let at_root = items_at_root(sources);
    let mut faults = Vec::new();
    for source in sources.iter().filter(|source| !is_outside(source)) {
        let Some(own) = rooms.iter().find(|room| room.name == source.room()) else { continue };
        for (at, name) in paths_from_root(source) {
            let target = at_root.iter().find(|(item, _)| *item == name);
            let target = target.map_or(&name, |(_, room)| room);
            if target == &own.name || EXTERNAL.contains(&target.as_str()) {
                continue;
            }
            match rooms.iter().find(|room| room.name == *target) {
                Some(room) if room.floor < own.floor => {}
                Some(room) => faults.push(format!(
                    "{}: {} (F{}.{}) names {} (F{}.{}); arrows go down",
                    source.place(at),
                    own.name,
                    own.floor.0,
                    own.floor.1,
                    room.name,
                    room.floor.0,
                    room.floor.1,
                )),
                None => faults.push(format!(
                    "{}: crate::{name} is no room of the floor table; name the room",
                    source.place(at)
                )),
            }
        }
    }
    faults
}

/// Crates that the root re-exports for the code that our macros write.
const EXTERNAL: [&str; 1] = ["bytemuck"];

/// What lies at the crate's root, with its room: macros, whichever room defines them, and what
/// `src/lib.rs` re-exports (the code that our macros write names that).
fn items_at_root(sources: &[Source]) -> Vec<(String, String)> {
    let mut items = Vec::new();
    for source in sources {
        for at in words(&source.code, "macro_rules") {
            let name = source.code[at + "macro_rules".len()..].trim_start_matches(['!', ' ']);
            items.push((ident(name).to_string(), source.room().to_string()));
        }
        for at in words(&source.code, "use").into_iter().filter(|_| source.path == "src/lib.rs") {
            let (room, names) = source.code[at + 4..].split_once("::").unwrap_or(("", ""));
            let names = &names[..names.find(';').unwrap_or(0)];
            let names = names.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            items.extend(names.map(|name| (name.to_string(), room.to_string())));
        }
    }
    items
}

/// The first segment of each path that starts at the crate's root, by `crate::` (also `$crate::`)
/// or by as many `super::` as it takes.
fn paths_from_root(source: &Source) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    for at in words(&source.code, "crate") {
        if let Some(rest) = source.code[at + 5..].strip_prefix("::") {
            paths.extend(first_segments(rest).into_iter().map(|name| (at, name)));
        }
    }
    for at in words(&source.code, "super") {
        if source.code[..at].ends_with("super::") {
            continue;
        }
        let mut rest = &source.code[at..];
        let mut supers = 0;
        while let Some(next) = rest.strip_prefix("super::") {
            rest = next;
            supers += 1;
        }
        if supers == depth(source, at) {
            paths.extend(first_segments(rest).into_iter().map(|name| (at, name)));
        }
    }
    paths
}

/// How many modules lie between the code at `at` and the crate's root.
fn depth(source: &Source, at: usize) -> usize {
    let inner = source.path.trim_start_matches("src/").trim_end_matches(".rs");
    let of_file = inner.trim_end_matches("/mod").split('/').count();
    let inline = words(&source.code, "mod")
        .into_iter()
        .filter(|&start| start < at)
        .filter(|&start| {
            let item = &source.code[start..];
            let len = item_length(item);
            item[..len].ends_with('}') && start + len > at
        })
        .count();
    of_file + inline
}

/// `a` of `a::b`; `a` and `c` of `{a::b, c::{d, e}}`.
fn first_segments(rest: &str) -> Vec<String> {
    if !rest.starts_with('{') {
        let name = ident(rest);
        return if name.is_empty() { Vec::new() } else { vec![name.to_string()] };
    }
    let mut names = Vec::new();
    let (mut depth, mut at_start) = (0, false);
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'{' => {
                depth += 1;
                at_start = depth == 1;
            }
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            b',' if depth == 1 => at_start = true,
            _ if at_start && !byte.is_ascii_whitespace() => {
                names.push(ident(&rest[at..]).to_string());
                at_start = false;
            }
            _ => {}
        }
    }
    names
}

const PLANTED_TABLE: &str = "
words

| floor | room | unsafe | what |
|---|---|---|---|
| F0.0 | `sync` | no | atomics |
| F0.1 | `bitmap` | no | bits |
| F1 | `cacheline` | no | lines |
| F1 | `sys` | yes | calls |
| F2 | `percpu` | yes | the area |

| F3 | `not` | this | table |
";

fn planted(path: &str, text: &str) -> Vec<String> {
    let rooms = read_table(PLANTED_TABLE).unwrap();
    let field = Source::new("src/percpu/field.rs", "macro_rules! field { () => {} }");
    let door = Source::new("src/lib.rs", "pub use sys::{Backend, topology::Topology};");
    check_arrows(&rooms, &[Source::new(path, text), field, door])
}

#[test]
fn the_table_is_read_as_it_stands() {
    let rooms = read_table(PLANTED_TABLE).unwrap();
    assert_eq!(rooms.len(), 5);
    assert_eq!((rooms[1].floor, rooms[1].may), ((0, 1), Unsafe::No));
    assert!(read_table("no table").is_err());
    assert!(read_table(&PLANTED_TABLE.replace("| yes |", "| maybe |")).is_err());
    assert!(read_table(&PLANTED_TABLE.replace("`sys`", "`sync`")).is_err());
}

#[test]
fn planted_arrows_up_and_sideways_are_seen() {
    for (path, text) in [
        ("src/bitmap.rs", "use crate::percpu::Area;"),
        ("src/cacheline/mod.rs", "use crate::sys::memory;"),
        ("src/sys/mod.rs", "fn f() { crate::cacheline::line(); }"),
        ("src/sync.rs", "use crate::{sync::A, bitmap::{B, C}};"),
        ("src/bitmap.rs", "use super::sys::memory;"),
        ("src/sys/rseq/abi.rs", "use super::super::super::percpu::Area;"),
        ("src/bitmap.rs", "mod inner { use super::super::sys; }"),
        ("src/bitmap.rs", "macro_rules! m { () => { $crate::sys::call() } }"),
        ("src/bitmap.rs", "fn f() { crate::field!(); }"),
        ("src/percpu/mod.rs", "use crate::CpuId;"),
        ("src/bitmap.rs", "macro_rules! m { () => { $crate::Backend::now() } }"),
    ] {
        assert_eq!(planted(path, text).len(), 1, "{path}: {text}");
    }
}

#[test]
fn arrows_down_and_within_a_room_are_no_fault() {
    for (path, text) in [
        ("src/percpu/alloc.rs", "use crate::{bitmap::B, sys::{memory, topology}, sync::A};"),
        ("src/percpu/alloc.rs", "use super::chunk::Chunk; use crate::percpu::area::Area;"),
        ("src/bitmap.rs", "mod inner { use super::Word; } // crate::percpu::Area"),
        ("src/bitmap.rs", "/// [`Area`](crate::percpu::Area)\nfn f() {}"),
        ("src/bitmap.rs", "#[cfg(test)] mod tests { use crate::percpu::Area; }"),
        ("src/percpu/mod.rs", "use crate::{Backend, Topology};"),
        ("src/percpu/mod.rs", "fn f() { crate::field!(); $crate::bytemuck::zeroed(); }"),
    ] {
        assert_eq!(planted(path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn a_room_without_a_row_and_a_row_without_a_room_are_seen() {
    let rooms = read_table(PLANTED_TABLE).unwrap();
    let all =
        ["src/sync.rs", "src/bitmap.rs", "src/cacheline/mod.rs", "src/sys/mod.rs", "src/lib.rs"];
    let mut sources: Vec<Source> = all.iter().map(|path| Source::new(path, "")).collect();
    assert_eq!(check_table(&rooms, &sources).len(), 1, "percpu is missing");
    sources.push(Source::new("src/percpu/area.rs", ""));
    assert_eq!(check_table(&rooms, &sources), [""; 0]);
    sources.push(Source::new("src/pool.rs", ""));
    assert_eq!(check_table(&rooms, &sources).len(), 1, "pool has no row");
}
