//! The command line, and what is wrong with it.

mod tree;

pub use tree::TreeArgs;

use crate::advise::Subject;
use crate::churn;
use crate::controls::args::ControlsArgs;
use crate::pick::args::PickArgs;
use crate::real::RealArgs;
use crate::recorded::args::RecordedArgs;
use crate::rt::{FIXED, Params};
use crate::structs::operations::{KERNELS, Maps};
use advice::{Place, Samples};
use clap::{Args, Parser, Subcommand};
use model::coherence::Machine as Model;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A model of the kernel's group scheduler state: what each memory layout of it costs.
#[derive(Debug, Parser)]
#[command(name = "sched", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Build a tree of task groups in each layout and time the kernel's walks over it.
    Tree(TreeArgs),
    /// Time groups that come and go, from one thread and from two, with a lock and without.
    Churn(ChurnArgs),
    /// Write a live hierarchy of cgroups as a listing that `tree --from` reads.
    Save(SaveArgs),
    /// Compare the layouts of the priority vector: coherence misses in a model, time on this machine.
    Rt(RtArgs),
    /// Compare the hierarchical with the flat pick: time here, latency and frames in virtual time.
    Pick(PickArgs),
    /// Compare a recorded schedule with what the model does with the same demands.
    Trace(RecordedArgs),
    /// Time workloads without deep groups in L0 and L2: nothing must become slower.
    Controls(ControlsArgs),
    /// Print the map of a group's state on one CPU: each byte, and the lines of each operation.
    Layout(LayoutArgs),
    /// Run busy loops in groups with quotas under this machine's kernel, and in the model.
    Real(RealArgs),
}

/// Arguments of `sched churn`.
#[derive(Debug, Args)]
pub struct ChurnArgs {
    /// CPUs of the memory layout; this machine's number if that is more.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub lanes: u32,
    /// Independent repetitions.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Where every shuffle starts.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Two short runs: a check that it works, not a measurement.
    #[arg(long)]
    pub quick: bool,
}

impl ChurnArgs {
    /// What to measure.
    pub fn config(&self) -> churn::Config {
        let (kept, groups) = if self.quick { (10, 100) } else { (100, 1000) };
        let samples = if self.quick { 1 } else { 15 };
        let runs = if self.quick { self.runs.min(2) } else { self.runs };
        churn::Config { lanes: self.lanes, kept, groups, samples, runs, seed: self.seed }
    }
}

/// Arguments of `sched save`.
#[derive(Debug, Args)]
pub struct SaveArgs {
    /// The cgroup whose groups are listed (v1 cpu controller, or v2).
    #[arg(long, value_name = "DIR")]
    pub cgroup: PathBuf,
    /// Where to write; standard output by default.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `sched rt`.
#[derive(Debug, Args)]
pub struct RtArgs {
    /// Machines, latencies and workloads; the file of the repository by default.
    #[arg(long, value_name = "FILE")]
    pub params: Option<PathBuf>,
    /// Only machines with this many CPUs.
    #[arg(long, value_name = "N")]
    pub cpus: Option<usize>,
    /// Write pictures of the hottest lines of each layout into this directory.
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// A tenth of the operations, one seed, and few samples: a check that it works.
    #[arg(long)]
    pub quick: bool,
}

impl RtArgs {
    /// What is to be modelled.
    ///
    /// # Errors
    ///
    /// One line that says what is wrong with the input.
    pub fn params(&self) -> Result<Params, String> {
        let mut params = match &self.params {
            None => Params::parse(FIXED),
            Some(file) => {
                let params = Params::parse(&read_params(file)?);
                params.map_err(|what| format!("{}: {what}", file.display()))
            }
        }?;
        if let Some(cpus) = self.cpus {
            let known: Vec<usize> = params.machines.iter().map(Model::cpus).collect();
            params.machines.retain(|machine| machine.cpus() == cpus);
            if params.machines.is_empty() {
                return Err(format!("--cpus {cpus}: the parameters have machines of {known:?}"));
            }
        }
        if self.quick {
            params.seeds.truncate(1);
            for operations in
                [&mut params.warm_up, &mut params.operations, &mut params.timed_operations]
            {
                *operations = operations.div_ceil(10);
            }
        }
        Ok(params)
    }
}

/// Arguments of `sched layout`.
#[derive(Debug, Args)]
pub struct LayoutArgs {
    /// Whose structures: 6.14, reorder (the RFC of 2025 on 6.14), 7.2 or 7.3.
    #[arg(long, value_name = "KERNEL", default_value = "7.3", value_parser = kernel_maps)]
    pub kernel: &'static Maps,
    /// Print what changed since this kernel instead of the map.
    #[arg(long, value_name = "KERNEL", value_parser = kernel_maps)]
    pub since: Option<&'static Maps>,
    /// Also draw the map into this file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print an order of fields that touches fewer lines, as text for `cacheline_struct!`.
    #[arg(long, conflicts_with_all = ["since", "svg"])]
    pub advise: bool,
    /// What to advise on: cfs_rq, se, or cpupri_vec, which is the same in each kernel. Without it:
    /// the first two.
    #[arg(long, value_name = "STRUCT", requires = "advise", value_parser = subject)]
    pub of: Option<Subject>,
    /// Take the accesses from this file: the text of `perf c2c report --stdio` or of `perf mem report
    /// --stdio`, or a recording with address, size, load or store or rmw, CPU and operation a line.
    #[arg(long, value_name = "FILE", requires_all = ["of", "at"])]
    pub accesses: Option<PathBuf>,
    /// Where the first struct lies there: an address such as 0x7f00, or a symbol.
    #[arg(long, value_name = "PLACE", requires = "accesses", value_parser = place)]
    pub at: Option<Place>,
    /// CPUs that use the structure, if the accesses don't tell. 1 for a group's state, 480 for
    /// cpupri_vec; 2 shows what handing out quota from another CPU costs a group's.
    #[arg(long, value_name = "N", requires = "advise", value_parser = clap::value_parser!(u32).range(1..))]
    pub cpus: Option<u32>,
}

fn subject(name: &str) -> Result<Subject, String> {
    let found = Subject::NAMES.iter().find(|known| known.0 == name);
    let names = || format!("there are {}", Subject::NAMES.map(|known| known.0).join(", "));
    found.map(|known| known.1).ok_or_else(names)
}

fn place(text: &str) -> Result<Place, String> {
    Place::parse(text).ok_or_else(|| "an address or a symbol is expected".to_owned())
}

/// The longest report of accesses that is read.
const LONGEST_REPORT: u64 = 1 << 26;

impl LayoutArgs {
    /// The samples that were given.
    ///
    /// # Errors
    ///
    /// One line that says what is wrong with the file.
    pub fn samples(&self) -> Result<Option<(Samples, &Place)>, String> {
        let (Some(file), Some(at)) = (&self.accesses, &self.at) else { return Ok(None) };
        let text = read(file, LONGEST_REPORT)?;
        let samples = Samples::read(&text);
        Ok(Some((samples.map_err(|error| format!("{}: {error}", file.display()))?, at)))
    }
}

/// The longest file of parameters.
const LONGEST_PARAMS: u64 = 1 << 16;

/// A file of parameters.
pub(crate) fn read_params(file: &Path) -> Result<String, String> {
    let text = read(file, LONGEST_PARAMS)?;
    String::from_utf8(text).map_err(|error| format!("{}: {error}", file.display()))
}

/// A file of bounded length.
pub(crate) fn read(file: &Path, longest: u64) -> Result<Vec<u8>, String> {
    let said = |what: String| format!("{}: {what}", file.display());
    let size = fs::metadata(file).map_err(|error| said(error.to_string()))?.len();
    if size > longest {
        return Err(said(format!("{size} bytes are more than {longest}")));
    }
    let mut text = Vec::new();
    // A file can grow, and a pipe has no length.
    let opened = File::open(file).map(|file| file.take(longest + 1));
    let read = opened.and_then(|mut file| file.read_to_end(&mut text));
    read.map_err(|error| said(error.to_string()))?;
    match text.len() as u64 > longest {
        true => Err(said(format!("more than {longest} bytes"))),
        false => Ok(text),
    }
}

/// The maps of a kernel by its name.
fn kernel_maps(name: &str) -> Result<&'static Maps, String> {
    let found = KERNELS.iter().find(|maps| maps.name == name);
    found
        .ok_or_else(|| format!("there are {}", KERNELS.each_ref().map(|maps| maps.name).join(", ")))
}
