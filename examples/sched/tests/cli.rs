//! The binary as people use it: bad input is one line and status 2, a small tree is measured.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn sched(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sched")).args(args).output().expect("the binary runs")
}

/// Runs with bad input and returns the line that was said.
fn refused(args: &[&str]) -> String {
    let output = sched(args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    assert!(output.stdout.is_empty(), "{args:?} printed something all the same");
    assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
    said
}

fn file(dir: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = dir.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn bad_input_is_one_line_and_status_two() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let listing = |name: &str, text: &str| file(&dir, name, text);
    let twice = listing("twice", "/a 2 max 1\n/a 2 max 1\n");
    let orphan = listing("orphan", "/a/b 2 max 1\n");
    let number = listing("number", "/a 2 max 1\n\n/b 2 12x 1\n");
    let loops = listing("loops", "/a 2 max 1\n/a/../a 2 max 1\n");
    let empty = listing("empty", "# nothing\n");
    fs::create_dir(path("plain")).unwrap();
    let ways = listing("ways", "l2 1M 16\nl1 32K\n");
    let params = listing("params", "machine 8 1 4 2\nhit 1\nhit 1\n");
    let cases: [(&[&str], &str); 32] = [
        (&["tree", "--params", &path("missing")], "missing: No such file or directory"),
        (&["tree", "--params", &ways], "ways: line 2: \"l1 32K\" is none of"),
        (&["tree", "--cpus", "-1"], "-1"),
        (&["tree", "--cpus", "1000000000"], "--cpus 1000000000: 1110 groups take"),
        (&["tree", "--width", "1", "--depth", "1", "--cpus", "100000"], "--cpus 100000"),
        (&["tree", "--cpus", "0", "--untimed"], "nothing is left"),
        (&[], "no command"),
        (&["tree", "--cgroup", &path("missing")], "missing: No such file or directory"),
        (&["save", "--cgroup", &path("missing")], "missing: No such file or directory"),
        (&["tree", "--cgroup", &path("plain")], "not a cgroup"),
        (&["tree", "--cgroup", &twice], "Not a directory"),
        (&["tree", "--from", &path("missing")], "No such file or directory"),
        (&["tree", "--from", &twice], "cycle"),
        (&["tree", "--from", &loops], "line 2"),
        (&["tree", "--from", &orphan], "orphan"),
        (&["tree", "--from", &number], "line 3: quota '12x' is not a number"),
        (&["tree", "--from", &empty], "no group"),
        (&["tree", "--width", "0"], "width is 0"),
        (&["tree", "--depth", "0"], "depth is 0"),
        (&["tree", "--width", "1000", "--depth", "3"], "1001001000 groups are more than the limit"),
        (&["tree", "--width", "9", "--depth", "18446744073709551615"], "limit of 1000000"),
        (&["tree", "--lanes", "0"], "--lanes 0"),
        (&["tree", "--lanes", "1000000000"], "MiB"),
        (&["tree", "--width", "1", "--depth", "1", "--lanes", "100000"], "--lanes 100000"),
        (&["tree", "--runs", "0"], "--runs 0"),
        (&["rt", "--cpus", "7"], "machines of [8, 64, 480]"),
        (&["rt", "--params", &params], "line 3: hit is set a second time"),
        (&["rt", "--params", &path("missing")], "No such file or directory"),
        (&["tree", "--width", "ten"], "ten"),
        (&["layout", "--kernel", "6.15"], "6.15"),
        (&["layout", "--svg", &path("missing/file")], "missing/file: No such file or directory"),
        (&["tree", "--from", &twice, "--cgroup", &twice], "cannot be used with"),
    ];
    for (args, expected) in cases {
        let said = refused(args);
        assert!(said.contains(expected), "{args:?}: {said:?} does not say {expected:?}");
    }
}

#[test]
fn advice_that_cannot_be_given_is_one_line_and_status_two() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let listing = |name: &str, text: &str| file(&dir, name, text);
    let twice = listing("twice", "/a 2 max 1\n/a 2 max 1\n");
    let empty = listing("empty", "# nothing\n");
    let report = listing("report", "Shared Cache Line Distribution Pareto\n 1% 2% 0x30\n");
    let elsewhere = listing("elsewhere", "0x10 8 load 0 find\n");
    let on = |args: &[&'static str]| [&["layout", "--advise", "--of"], args].concat();
    let accesses = |file: &'_ str| -> Vec<String> {
        let args = ["layout", "--advise", "--of", "se", "--at", "0x4000", "--accesses", file];
        args.map(str::to_owned).to_vec()
    };
    let advise = [
        (on(&["rq"]), "there are cfs_rq, se, cpupri_vec"),
        (on(&["se", "--cpus", "0"]), "0 is not in 1.."),
        (on(&["se", "--at", "0x10"]), "not provided: --accesses <FILE>"),
        (on(&["se", "--accesses", "file"]), "not provided: --at <PLACE>"),
        (on(&["se", "--since", "7.2"]), "cannot be used with"),
        (vec!["layout", "--of", "se"], "not provided: --advise"),
    ];
    for (args, expected) in advise {
        let said = refused(&args);
        assert!(said.contains(expected), "{args:?}: {said:?} does not say {expected:?}");
    }
    for (file, expected) in [
        (path("missing"), "missing: No such file or directory"),
        (report, "report: line 2: a row of shares before the line's address was given"),
        (twice, "twice: line 1: address, size, load or store or rmw"),
        (empty, "empty: neither a report of `perf c2c report --stdio`"),
        (elsewhere, "elsewhere: none of 1 accesses is to a field"),
    ] {
        let args = accesses(&file);
        let said = refused(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(said.contains(expected), "{args:?}: {said:?} does not say {expected:?}");
    }
}

fn parsed(args: &[&str]) -> Value {
    let output = sched(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {said}");
    // Exactly one object, or this fails.
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap_or_else(|| panic!("{key} is no string in {row}")).to_owned()
}

#[test]
fn json_has_every_layout_and_operation() {
    let object = parsed(&["tree", "--quick", "--json", "--width", "3", "--depth", "2"]);
    assert_eq!(object["tree"]["groups"], 12);
    assert_eq!((&object["tree"]["width"], &object["tree"]["depth"]), (&3.into(), &2.into()));
    assert!(object["machine"]["cpus"].as_u64().unwrap() >= 1);
    assert!(!text(&object, "backend").is_empty());
    let mut seen = BTreeSet::new();
    for row in object["results"].as_array().unwrap() {
        for key in ["median", "lo", "hi"] {
            assert!(row["ns"][key].as_f64().unwrap() > 0.0, "{row}");
            assert!(row["change"][key].is_f64(), "{row}");
        }
        let (lo, hi) = (row["ns"]["lo"].as_f64().unwrap(), row["ns"]["hi"].as_f64().unwrap());
        assert!((lo..=hi).contains(&row["ns"]["median"].as_f64().unwrap()), "{row}");
        let to_l2 = text(row, "layout").starts_with("L3");
        assert!(row["to_l2"]["median"].is_f64() == to_l2, "{row}");
        assert!(row["bytes"].as_u64().unwrap() > 0 && row["lanes"].as_u64().unwrap() > 0);
        let keys = ["structs", "layout", "order", "cache", "operation"].map(|key| text(row, key));
        assert!(seen.insert((keys, row["dependent"].as_bool().unwrap())), "twice: {row}");
    }
    for structs in ["6.14", "7.2"] {
        for layout in ["L0", "L1b", "L2", "L3", "L3x", "L0-null"] {
            if structs == "7.2" && layout.starts_with("L3") {
                continue;
            }
            for order in ["allocation", "shuffled"] {
                for cache in ["warm", "swept"] {
                    for (operation, dependent) in [
                        ("cpu_walk", true),
                        ("cpu_walk", false),
                        ("blocked", true),
                        ("blocked", false),
                        ("throttle", false),
                        ("unthrottle", false),
                        ("group_walk", false),
                    ] {
                        let keys = [structs, layout, order, cache, operation].map(String::from);
                        assert!(seen.remove(&(keys.clone(), dependent)), "{keys:?} is missing");
                    }
                }
            }
        }
    }
    assert!(seen.is_empty(), "unexpected: {seen:?}");
}

#[test]
fn the_table_names_layout_regime_and_null_pair() {
    let lanes = "70";
    let output = sched(&[
        "tree", "--quick", "--width", "2", "--depth", "2", "--lanes", lanes, "--runs", "1",
    ]);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for part in ["replay, 70 lanes, objects in shuffled", "L3x time, L2, last"] {
        assert!(table.contains(part), "{part:?} is not in\n{table}");
    }
    for part in ["L3 ns", "to L2 %", "Modelled caches", "lines of state a visit"] {
        assert!(table.contains(part), "{part:?} is not in\n{table}");
    }
    for part in ["70 lanes (a bigger machine's", "group_walk", "null pair", "Regime:", "backend"] {
        assert!(table.contains(part), "{part:?} is not in\n{table}");
    }
}

/// Addresses differ from process to process, and nothing that is modelled may depend on them.
#[test]
fn modelled_caches_are_the_same_in_every_process() {
    let args = ["tree", "--untimed", "--json", "--width", "4", "--depth", "2", "--cpus", "3"];
    let modelled = || {
        let mut object = parsed(&args);
        assert_eq!(object["results"], Value::Array(Vec::new()));
        object["modelled"].take()
    };
    let first = modelled();
    assert_eq!((&first["cpus"], &first["l2"]), (&3.into(), &serde_json::json!([1 << 20, 16])));
    // Ten layouts, five walks, two orders, and for one of them pages in a row as well.
    let figures = first["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 10 * 5 * 3);
    assert!(figures.iter().all(|row| row["swept"]["l1"].as_f64().unwrap() > 0.0));
    assert_eq!(modelled(), first);
}

/// Two machines with caches that even a small tree overflows.
const REPLAY: &str = "seed 1\nwarm-up 1\nperiods 1\nperiod 10000\nleast-quota 1000\nshare 80\nslice 5000\n\
    tick 1000\nbalances 2\nsampled 4\nmoves 5\nl1 512 2\nl2 2K 4\n\
    run four 4 2 2 3 2 random 16K 4\nrun two 2 1 2 2 2 sequential 16K 4\n";

#[test]
fn a_replay_is_the_same_in_every_process() {
    let dir = tempfile::tempdir().unwrap();
    let params = file(&dir, "params", REPLAY);
    let args = ["tree", "--untimed", "--replay", &params, "--width", "2", "--depth", "1"];
    let output = || {
        let output = sched(&args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let first = output();
    for part in
        ["Replays in modelled caches", "four           last", "two            L2", "unthrottle"]
    {
        assert!(first.contains(part), "{part:?} is not in\n{first}");
    }
    assert_eq!(output(), first);
    let wrong = file(&dir, "wrong", &REPLAY.replace("run two 2 1", "run two 2 3"));
    let said = refused(&["tree", "--untimed", "--replay", &wrong]);
    assert!(said.contains("wrong: line 15: 2 CPUs are no multiple of 3 nodes"), "{said}");
}

#[test]
fn groups_come_and_go_with_a_lock_and_without() {
    let output = sched(&["churn", "--quick", "--lanes", "3"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).unwrap();
    for part in ["area, mutex", "area, null", "boxes", "waits / 1000", "rejected"] {
        assert!(table.contains(part), "{part:?} is not in\n{table}");
    }
    assert!(refused(&["churn", "--runs", "0"]).contains("0 is not in 1.."));
}

/// With one run a pair is two numbers, so that what it is made of can be checked.
#[test]
fn the_order_of_fields_is_compared_in_the_same_memory() {
    let tree = ["tree", "--json", "--width", "2", "--depth", "1", "--cpus", "0"];
    let one_run = ["--quick", "--runs", "1", "--kernel", "6.14"];
    let object = parsed(&[&tree[..], &one_run].concat());
    assert_eq!(object["modelled"], Value::Null);
    let rows = object["results"].as_array().unwrap();
    let is_same_walk = |a: &Value, b: &Value| {
        ["order", "operation", "cache", "dependent"].iter().all(|key| a[key] == b[key])
    };
    let mut walks = 0;
    for rows in rows.chunk_by(is_same_walk) {
        let of = |layout: &str| rows.iter().find(|row| row["layout"] == layout).unwrap();
        let ns = |layout: &str| of(layout)["ns"]["median"].as_f64().unwrap();
        for order in ["L3", "L3x"] {
            let to_l2 = of(order)["to_l2"]["median"].as_f64().unwrap();
            assert!((ns(order) / ns("L2") - 1.0 - to_l2).abs() < 1e-9, "{rows:?}");
        }
        walks += 1;
    }
    assert_eq!(walks, 28);
}

fn cgroup(root: &Path, name: &str, files: &[(&str, &str)]) {
    let dir = root.join(name);
    fs::create_dir_all(&dir).unwrap();
    for (file, text) in files {
        fs::write(dir.join(file), text).unwrap();
    }
}

#[test]
fn a_saved_hierarchy_is_walked_elsewhere() {
    let root = tempfile::tempdir().unwrap();
    cgroup(root.path(), "", &[("cgroup.controllers", "cpu")]);
    cgroup(root.path(), "a", &[("cpu.weight", "100"), ("cpu.max", "max 100000")]);
    cgroup(root.path(), "a/b", &[("cpu.weight", "50"), ("cpu.max", "5000 10000")]);
    cgroup(root.path(), "c d", &[("cpu.weight", "1")]);
    let dir = root.path().to_str().unwrap();
    let output = sched(&["save", "--cgroup", dir]);
    let listing = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = listing.lines().filter(|line| !line.starts_with('#')).collect();
    let expected = ["/a 1024 max 100000", "/a/b 512 5000 10000", "/c\\040d 10 max 100000"];
    assert_eq!(lines, expected);

    let saved = root.path().join("saved").to_str().unwrap().to_owned();
    assert!(sched(&["save", "--cgroup", dir, "-o", &saved]).status.success());
    assert_eq!(fs::read_to_string(&saved).unwrap(), listing);
    for source in [["--from", &saved], ["--cgroup", dir]] {
        let mut args = vec!["tree", "--quick", "--json", "--kernel", "7.2"];
        args.extend(source);
        let tree = &parsed(&args)["tree"];
        let shape = ["groups", "width", "depth"].map(|key| tree[key].as_u64().unwrap());
        assert_eq!(shape, [3, 2, 2]);
    }
}

#[test]
fn the_layouts_of_the_priority_vector_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let pictures = dir.path().to_str().unwrap();
    let output = sched(&["rt", "--quick", "--cpus", "8", "--svg", pictures]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for words in ["Mix50, 8 CPUs, with the fields around it", "ByCpu<64>, find_any", "Padded / "] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let picture = fs::read_to_string(dir.path().join("mix50-packed.svg")).unwrap();
    assert!(picture.contains("count[0]"));
}

#[test]
fn a_layout_is_printed_compared_and_drawn() {
    let printed = |args: &[&str]| {
        let output = sched(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for (kernel, head) in [
        ("6.14", "cfs_tg_state of 6.14: 1024 bytes, aligned to 64; 16 lines of 64 bytes"),
        ("reorder", "cfs_tg_state of reorder: 960 bytes, aligned to 64; 15 lines of 64 bytes"),
        ("7.2", "cfs_tg_state of 7.2: 1088 bytes, aligned to 64; 17 lines of 64 bytes"),
        ("7.3", "cfs_tg_state of 7.3: 1088 bytes, aligned to 64; 17 lines of 64 bytes"),
    ] {
        let map = printed(&["layout", "--kernel", kernel]);
        assert_eq!(map.lines().next(), Some(head));
        assert!(map.lines().any(|line| line.ends_with("  throttle_count")), "{map}");
    }
    let dir = tempfile::tempdir().unwrap();
    let svg = dir.path().join("map.svg").to_str().unwrap().to_owned();
    let since = printed(&["layout", "--kernel", "reorder", "--since", "6.14", "--svg", &svg]);
    assert!(
        since.contains("touches pelt_cfs_rq: 6 lines {0, 1, 2, 3, 4, 6} -> 4 lines"),
        "{since}"
    );
    assert!(fs::read_to_string(&svg).unwrap().contains("se.runnable_weight"));
}

#[test]
fn an_order_is_advised_from_sets_and_from_accesses() {
    let printed = |args: &[&str]| {
        let output = sched(&[&["layout", "--advise"], args].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let both = printed(&["--kernel", "6.14"]);
    for part in [
        "CfsRq: 512 bytes on 8 lines -> 448 bytes on 7 lines",
        "SchedEntity: 256 bytes on 4 lines -> 256 bytes on 4 lines",
        "pub struct CfsRq {",
        "touches throttle_down_first {",
        "lines of queue and entity",
    ] {
        assert!(both.contains(part), "{part:?} is not in\n{both}");
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../advice/samples/recording.txt");
    let args = ["--of", "cpupri_vec", "--accesses", file, "--at", "0x7f38"];
    for args in [&args[..2], &args[..]] {
        let vector = printed(args);
        for part in [
            "CpupriVec: 16 bytes on 1 line -> 128 bytes on 2 lines",
            "group written(lines <= 1, exclusive) {\n            pub count: AtomicU32,",
            "apart(written)) {\n            pub mask: AtomicPtr<u64>,",
            "split          1256      20",
            "pub count: [AtomicU32; 101],",
        ] {
            assert!(vector.contains(part), "{part:?} is not in\n{vector}");
        }
    }
}
