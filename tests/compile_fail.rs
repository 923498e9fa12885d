//! What must not compile does not, and what differs from it by one thing does.
//!
//! Each file of `tests/compile_fail/` is compiled twice: with `--cfg pass` it must compile, with
//! `--cfg fail` it must not. So a failing half always stands beside one that compiles, and what
//! the two share cannot be what is wrong. The halves that compile are compiled as modules of one
//! crate, which takes no longer than one of them alone; only if that fails, one by one, to say
//! which. The file's comments say how it fails:
//!
//! ```text
//! // fail: E0505 E0597     one of these errors must be reported, and no other
//! // phrase: one class     words of OUR OWN messages (never rustc's) that must be there; optional
//! // emit: obj             generate code too: a `const` check in a generic function fails there;
//! //                       with and without optimisation; optional
//! ```
//!
//! The crate is built once more, by `cargo build` into a directory of its own, instead of looking
//! for the library that this test was linked with: in `target/debug/deps` lie the libraries of all
//! earlier feature sets and flags, cargo does not say which is ours, and a wrong guess would test
//! an old crate. Cargo reports the path that it built, and does nothing when nothing has changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::thread;

/// The crate as other crates see it: the library and where its dependencies lie.
struct Library {
    rlib: PathBuf,
    dependencies: BTreeSet<PathBuf>,
}

/// A directory of our own in the target directory.
fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile_fail")
}

/// Built once a process: a second build, of sources that changed meanwhile, would take the file away.
fn library() -> &'static Library {
    static LIBRARY: LazyLock<Library> = LazyLock::new(build_library);
    &LIBRARY
}

fn build_library() -> Library {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--lib", "--offline", "--features=pool,epoch", "--message-format=json"])
        .arg("--manifest-path")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", scratch())
        // The cases are compiled without them, and the two have to match.
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let messages = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let (mut rlib, mut dependencies) = (None, BTreeSet::new());
    for message in messages.lines().filter(|m| m.contains(r#""reason":"compiler-artifact""#)) {
        for file in filenames(message) {
            dependencies.insert(file.parent().expect("a file lies somewhere").to_owned());
            let is_ours = message.contains(r#""name":"corelocal""#);
            if is_ours && file.extension().is_some_and(|e| e == "rlib") {
                rlib = Some(file);
            }
        }
    }
    Library { rlib: rlib.expect("cargo names the library"), dependencies }
}

/// The strings of the array `"filenames":[...]` in one of cargo's messages.
fn filenames(message: &str) -> Vec<PathBuf> {
    let Some((_, rest)) = message.split_once(r#""filenames":["#) else { return Vec::new() };
    let list = rest.split(']').next().unwrap_or("");
    list.split(',').map(|f| PathBuf::from(f.trim_matches('"').replace(r"\\", r"\"))).collect()
}

/// What a file's comments say.
struct Case {
    path: PathBuf,
    codes: BTreeSet<String>,
    phrases: Vec<String>,
    emit: &'static str,
}

impl Case {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("the case can be read");
        let told = |key: &str| -> Vec<String> {
            let prefix = format!("// {key}: ");
            text.lines().filter_map(|l| l.strip_prefix(&prefix)).map(str::to_owned).collect()
        };
        Self {
            path: path.to_owned(),
            codes: told("fail").iter().flat_map(|l| l.split_whitespace()).map(Into::into).collect(),
            phrases: told("phrase"),
            emit: if told("emit").is_empty() { "metadata" } else { "obj" },
        }
    }

    fn compile(&self, library: &Library, cfg: &str) -> Output {
        compile(library, &self.path, cfg, self.emit, &[])
    }

    /// Compiles both halves.
    fn check(&self, library: &Library) -> Result<(), String> {
        self.check_pass(library).and_then(|()| self.check_fail(library))
    }

    fn check_pass(&self, library: &Library) -> Result<(), String> {
        if self.codes.is_empty() {
            return Err("does not say how it fails: `// fail: E0000`".into());
        }
        let pass = self.compile(library, "pass");
        match pass.status.success() {
            true => Ok(()),
            false => Err(format!("`pass` does not compile:\n{}", text(&pass))),
        }
    }

    /// Code is generated in two ways; what fails without optimisation could be left out with it.
    fn check_fail(&self, library: &Library) -> Result<(), String> {
        self.check_report(&self.compile(library, "fail"))?;
        match self.emit {
            "obj" => self.check_report(&compile(library, &self.path, "fail", "obj", &["-O"])),
            _ => Ok(()),
        }
    }

    fn check_report(&self, fail: &Output) -> Result<(), String> {
        if fail.status.success() {
            return Err("`fail` compiles".into());
        }
        let report = text(fail);
        let seen = error_codes(&report);
        if seen.is_empty() || !seen.is_subset(&self.codes) {
            return Err(format!("`fail` fails with {seen:?}, not {:?}:\n{report}", self.codes));
        }
        match self.phrases.iter().find(|phrase| !report.contains(*phrase)) {
            Some(phrase) => Err(format!("`fail` does not say {phrase:?}:\n{report}")),
            None => Ok(()),
        }
    }
}

fn compile(library: &Library, path: &Path, cfg: &str, emit: &str, flags: &[&str]) -> Output {
    let stem = path.file_stem().expect("a file has a name").to_string_lossy();
    let out = scratch().join("cases").join(format!("{stem}-{cfg}"));
    fs::create_dir_all(&out).expect("the target directory can be written");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition=2024", "--crate-type=lib", "--crate-name=case", "--color=never"]);
    rustc.args(["-Awarnings", "--cfg", cfg]);
    rustc.arg(format!("--emit={emit}")).arg("--out-dir").arg(out);
    rustc.arg("--extern").arg(format!("corelocal={}", library.rlib.display()));
    for directory in &library.dependencies {
        rustc.arg("-L").arg(format!("dependency={}", directory.display()));
    }
    rustc.args(flags).arg(path).output().expect("rustc runs")
}

/// Compiles all halves that must compile as modules of one crate.
fn compile_passes(library: &Library, cases: &[Case]) -> Output {
    let modules: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(i, case)| format!("#[path = {:?}]\npub mod case{i};\n", case.path))
        .collect();
    let root = scratch().join("passes.rs");
    fs::create_dir_all(scratch()).expect("the target directory can be written");
    fs::write(&root, modules.concat()).expect("the target directory can be written");
    compile(library, &root, "pass", "obj", &[])
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The codes of all errors in a report, and `none` if there is an error without a code.
fn error_codes(report: &str) -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    for line in report.lines() {
        if let Some(rest) = line.strip_prefix("error[") {
            codes.extend(rest.split(']').next().map(str::to_owned));
        } else if line.starts_with("error:") && !line.starts_with("error: aborting") {
            codes.insert("none".to_owned());
        }
    }
    codes
}

fn cases() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail");
    let entries = fs::read_dir(directory).expect("the cases are there");
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "rs"));
    paths.sort();
    paths.iter().map(|path| Case::read(path)).collect()
}

#[test]
fn failing_halves_fail_as_told_and_their_twins_compile() {
    let (library, cases) = (library(), cases());
    assert!(!cases.is_empty());
    let passes = compile_passes(library, &cases);
    let all_pass = passes.status.success() && cases.iter().all(|case| !case.codes.is_empty());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let wrong: Vec<String> = thread::scope(|scope| {
        let check = |case: &Case| {
            let answer = match all_pass {
                true => case.check_fail(library),
                false => case.check(library),
            };
            answer.err().map(|why| format!("{}: {why}", case.path.display()))
        };
        let workers: Vec<_> = cases
            .chunks(cases.len().div_ceil(threads))
            .map(|share| scope.spawn(move || share.iter().filter_map(check).collect::<Vec<_>>()))
            .collect();
        workers.into_iter().flat_map(|w| w.join().expect("a worker ends")).collect()
    });
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(all_pass, "together the halves do not compile:\n{}", text(&passes));
}

/// The harness itself, on cases that are wrong.
#[test]
fn a_case_that_proves_nothing_is_reported() {
    let library = library();
    let wrong = [
        ("says_nothing", "", "does not say how"),
        ("both_compile", "// fail: E0308\n", "`fail` compiles"),
        ("both_fail", "// fail: E0308\nconst A: u8 = \"\";", "`pass` does not compile"),
        ("other_code", "// fail: E0308\n#[cfg(fail)] const A: u8 = b;", "`fail` fails with"),
        ("one_more", "// fail: E0308\n#[cfg(fail)] const A: u8 = (b, \"\");", "`fail` fails with"),
        (
            "other_words",
            "// fail: E0080\n// phrase: our words\n#[cfg(fail)] const A: u8 = panic!(\"others\");",
            "`fail` does not say",
        ),
    ];
    for (name, source, complaint) in wrong {
        let path = scratch().join(format!("{name}.rs"));
        fs::create_dir_all(scratch()).expect("the target directory can be written");
        fs::write(&path, source).expect("the target directory can be written");
        let answer = Case::read(&path).check(library).expect_err(name);
        assert!(answer.contains(complaint), "{name}: {answer}");
    }
}
