//! Who is asked whether a mutant is noticed, and in which order.

use std::path::Path;
use std::process::Command;

/// A build of the workspace that test binaries come from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Build {
    /// Models, explored.
    Loom,
    /// The checker of histories, which runs without loom.
    History,
    /// The crate's own tests, on real threads.
    Tests,
}

/// A test binary. Models under loom come first: they are the proof.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Killer {
    pub(crate) build: Build,
    /// The test's file, without its end; `lib` is the crate's unit tests.
    pub(crate) test: String,
    /// Which of its tests: those whose names begin with this.
    pub(crate) only: Option<String>,
}

impl Killer {
    /// As it is printed.
    pub(crate) fn name(&self) -> String {
        match self.build {
            Build::Loom => format!("loom {}", self.test),
            Build::History => self.test.clone(),
            Build::Tests => format!("test {}", self.test),
        }
    }

    /// Whether cargo, which names a binary by its source, means this one.
    pub(crate) fn is_built_from(&self, source: &str) -> bool {
        let file = source.trim_start_matches("tests/").trim_end_matches(".rs");
        match &*self.test {
            "lib" => source == "unittests src/lib.rs",
            test => file.trim_end_matches("/main") == test,
        }
    }

    /// The folder it runs in, from the root.
    pub(crate) fn folder(&self) -> &'static str {
        if self.build == Build::Tests { "." } else { "loom-tests" }
    }
}

/// The command that builds the binaries of `tests` in `tree`.
pub(crate) fn command(build: Build, tests: &[&str], tree: &Path, target: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(tree).args(["test", "--no-run"]);
    // A mutant runs once: what it costs is the build.
    command.args(["--config", "profile.release.incremental=true"]);
    for package in ["corelocal", "loom-tests"] {
        for option in ["opt-level=1", "debug=false"] {
            command.args(["--config", &format!("profile.release.package.{package}.{option}")]);
        }
    }
    let (folder, flags) = match build {
        Build::Loom => {
            command.args(["-p", "loom-tests", "--release", "--features", "loom"]);
            ("loom", "--cfg corelocal_loom --cap-lints allow")
        }
        Build::History => {
            command.args(["-p", "loom-tests", "--release"]);
            ("plain", "--cap-lints allow")
        }
        Build::Tests => {
            command.args(["-p", "corelocal", "--features", "testing,pool,epoch"]);
            command.env("CARGO_PROFILE_TEST_DEBUG", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
            ("plain", "--cap-lints allow")
        }
    };
    for test in tests {
        match *test {
            "lib" => command.arg("--lib"),
            test => command.args(["--test", test]),
        };
    }
    command.env("CARGO_TARGET_DIR", target.join(folder)).env("RUSTFLAGS", flags);
    command
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
    let of = |build, test: &str| Killer { build, test: test.to_owned(), only: None };
    let models = models.iter().filter(|name| has("loom-tests/tests", name));
    let models = models.map(|name| of(Build::Loom, name));
    let history = (room == "priority").then(|| of(Build::History, "history"));
    let units = Killer { only: Some(format!("{room}::")), ..of(Build::Tests, "lib") };
    let tests = tests.iter().filter(|name| has("tests", name)).map(|name| of(Build::Tests, name));
    models.chain(history).chain([units]).chain(tests).collect()
}
