//! Who is asked whether a mutant is noticed, and in which order.

use std::path::Path;
use std::process::Command;

/// A test binary. Models under loom come first: they are the proof.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Killer {
    /// Models, explored.
    Loom(String),
    /// The checker of histories, which runs without loom.
    History,
    /// The crate's own tests, on real threads.
    Test(String),
}

impl Killer {
    /// As it is printed.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Loom(test) => format!("loom {test}"),
            Self::History => "history".to_owned(),
            Self::Test(test) => format!("test {test}"),
        }
    }

    /// The command that builds it in `tree`, and runs it.
    pub(crate) fn command(&self, tree: &Path, build: &Path) -> Command {
        let mut command = Command::new("cargo");
        command.current_dir(tree).env_remove("CORELOCAL_LOOM_FULL").env("RUST_BACKTRACE", "0");
        // A mutant is built once and run once: what it costs is the build.
        let quick = ["corelocal", "loom-tests"].into_iter().flat_map(|name| {
            let option = move |what| format!("profile.release.package.{name}.{what}");
            [
                "--config".to_owned(),
                option("opt-level=1"),
                "--config".to_owned(),
                option("debug=false"),
            ]
        });
        command.args(["test", "-q", "--config", "profile.release.incremental=true"]);
        let (folder, flags) = match self {
            Self::Loom(test) => {
                let package = ["-p", "loom-tests", "--release", "--features", "loom", "--test"];
                command.args(quick).args(package).arg(test);
                ("loom", "--cfg corelocal_loom")
            }
            Self::History => {
                let package = ["-p", "loom-tests", "--release", "--test", "history"];
                command.args(quick).args(package);
                ("plain", "")
            }
            Self::Test(test) => {
                let package = ["-p", "corelocal", "--features", "testing,pool,epoch", "--test"];
                command.args(package).arg(test).env("CARGO_PROFILE_TEST_DEBUG", "0");
                ("plain", "")
            }
        };
        command.env("CARGO_TARGET_DIR", build.join(folder)).env("RUSTFLAGS", flags);
        command
    }
}

/// Those that can notice a change of `file`, of those that exist below `root`.
pub(crate) fn of_file(root: &Path, file: &str) -> Vec<Killer> {
    let room = file.trim_start_matches("src/").split(['/', '.']).next().unwrap_or_default();
    let (models, tests): (&[&str], &[&str]) = match room {
        "bitmap" => (&["bitmap", "allocator", "priority"], &["bitmap", "churn"]),
        "once" => (&["once", "allocator"], &["topology"]),
        "percpu" => {
            (&["allocator", "counter", "rseq", "rwlock"], &["churn", "capacity", "space", "cells"])
        }
        "priority" => (&["priority"], &["priority"]),
        "counter" => (&["counter"], &["batched", "counters"]),
        "pool" => (&["pool"], &["pool"]),
        "sys" => {
            (&["rseq", "pool", "counter", "ring", "refcount"], &["cells", "testing", "backend"])
        }
        "sync" => (&["rseq", "allocator", "priority", "pool"], &["batched"]),
        // A new room's tests are found by its name.
        other => (&[other], &[other]),
    };
    let has = |folder: &str, name: &str| {
        let path = root.join(folder).join(name);
        path.with_extension("rs").is_file() || path.join("main.rs").is_file()
    };
    let models = models.iter().filter(|name| has("loom-tests/tests", name));
    let tests = tests.iter().filter(|name| has("tests", name));
    let history = (room == "priority").then_some(Killer::History);
    let models = models.map(|name| Killer::Loom((*name).to_owned()));
    models.chain(history).chain(tests.map(|name| Killer::Test((*name).to_owned()))).collect()
}
