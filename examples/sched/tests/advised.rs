//! What `sched layout --kernel 6.14 --advise` prints, pasted into a program: the compiler proves the
//! promises and lays the fields where the advice said.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "the layout is what matters")]

use corelocal::cacheline::{CACHE_LINE, Layout};
use corelocal::cacheline_struct;
use sched::advise::{Subject, advice_on};
use sched::link::{LeafLinks, Link};
use sched::structs::operations::KERNELS;
use sched::structs::{ListHead, LoadWeight, RbNode, RbRoot, Removed, SchedAvg};
use sched::word::{I32, I64, U8, U32, U64};
use std::process::Command;

include!("advised/cfs_rq.rs");
include!("advised/se.rs");

/// The struct in a text with other things before and behind it.
fn pasted(text: &str) -> String {
    let from = text.find("cacheline_struct! {").expect("a struct");
    let to = text[from..].find("\n}\n").expect("its end");
    text[from..from + to + 3].to_owned()
}

/// Run with `PASTE=1` to write the files anew.
#[test]
fn what_is_advised_compiles_and_lies_where_it_should() {
    if CACHE_LINE != 64 {
        // The text is for lines of 64 bytes.
        return;
    }
    let compiled: [(&str, Subject, Layout<'_>); 2] =
        [("cfs_rq", Subject::CfsRq, CfsRq::LAYOUT), ("se", Subject::Se, SchedEntity::LAYOUT)];
    for (name, subject, compiled) in compiled {
        let args = ["layout", "--kernel", "6.14", "--advise", "--of", name];
        let output = Command::new(env!("CARGO_BIN_EXE_sched")).args(args).output().unwrap();
        let text = pasted(&String::from_utf8(output.stdout).unwrap());
        let file = format!("{}/tests/advised/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("PASTE").is_some() {
            std::fs::write(&file, &text).unwrap();
            continue;
        }
        assert_eq!(
            text,
            std::fs::read_to_string(&file).unwrap(),
            "{file} is not what was compiled"
        );

        let advice = advice_on(subject, &KERNELS[0], None, None).unwrap();
        let compiled = compiled.with_line(64);
        advice.with_layout(|map| {
            assert_eq!((compiled.size(), compiled.align()), (map.size(), map.align()), "{name}");
            assert_eq!(compiled.fields().len(), map.fields().len());
            for (own, advised) in compiled.fields().iter().zip(map.fields()) {
                let place = |field: &corelocal::cacheline::LayoutField<'_>| {
                    (field.name.to_owned(), field.offset, field.size, field.align)
                };
                assert_eq!(place(own), place(advised), "{name}");
            }
        });
        for (access, cost) in compiled.accesses().iter().zip(&advice.after().operations) {
            assert_eq!(compiled.lines_of_access(access).count(), cost.lines, "{}", access.name);
        }
    }
}
