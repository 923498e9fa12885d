//! The command line, and what is wrong with it.

use crate::advise::Subject;
use crate::controls::args::ControlsArgs;
use crate::measure::machine::Machine;
use crate::measure::{Config, Kernels};
use crate::pick::args::PickArgs;
use crate::recorded::args::RecordedArgs;
use crate::rt::{FIXED, Params};
use crate::structs::operations::{KERNELS, Maps};
use crate::trace;
use crate::tree::{Tree, TreeError, cgroup, listing};
use advice::{Place, Samples};
use clap::{Args, Parser, Subcommand};
use corelocal::Area;
use model::Params as Caches;
use model::coherence::Machine as Model;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
}

/// Arguments of `sched tree`.
#[derive(Debug, Args)]
pub struct TreeArgs {
    /// Children of every group.
    #[arg(long, default_value_t = 10, conflicts_with_all = ["cgroup", "from"])]
    pub width: u64,
    /// Levels below the root.
    #[arg(long, default_value_t = 3, conflicts_with_all = ["cgroup", "from"])]
    pub depth: u64,
    /// Take the groups below this cgroup (v1 cpu controller, or v2).
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    pub cgroup: Option<PathBuf>,
    /// Take the groups from a listing that `sched save` wrote.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// CPUs of the memory layout; more than this machine has show a bigger machine's layout.
    /// Without it: this machine's number, and 64.
    #[arg(long, value_name = "N")]
    pub lanes: Option<u64>,
    /// Whose structures.
    #[arg(long, default_value = "both")]
    pub kernel: Kernels,
    /// Independent repetitions; each builds everything anew.
    #[arg(long, default_value_t = 10)]
    pub runs: u32,
    /// Where every shuffle starts.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// CPUs of the machine whose caches are modelled, 0 for no such model; those of the parameters
    /// by default.
    #[arg(long, value_name = "N")]
    pub cpus: Option<usize>,
    /// The machine whose caches are modelled; that of the repository by default.
    #[arg(long, value_name = "FILE")]
    pub params: Option<PathBuf>,
    /// Only the model of the caches, nothing timed.
    #[arg(long)]
    pub untimed: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Two short runs at one lane count: a check that it works, not a measurement.
    #[arg(long)]
    pub quick: bool,
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
                let said = |what: String| format!("{}: {what}", file.display());
                let text = fs::read_to_string(file).map_err(|error| said(error.to_string()))?;
                Params::parse(&text).map_err(said)
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

/// Lanes of the second table of a default run.
const BIG_MACHINE: u32 = 64;
/// The longest listing that is read: a million groups with long paths.
const LONGEST_LISTING: u64 = 1 << 30;

impl TreeArgs {
    /// The tree that was asked for.
    ///
    /// # Errors
    ///
    /// One line that says what is wrong with the input.
    pub fn tree(&self) -> Result<Tree, String> {
        let tree = if let Some(dir) = &self.cgroup {
            cgroup::read(dir).map_err(|error| error.to_string())?
        } else if let Some(file) = &self.from {
            let text = read(file, LONGEST_LISTING)?;
            listing::parse(&text).map_err(|error| format!("{}: {error}", file.display()))?
        } else {
            Tree::regular(self.width, self.depth).map_err(|error| match error {
                TreeError::Zero(what) => format!("--{error}", error = TreeError::Zero(what)),
                TreeError::TooMany(_) => {
                    format!("--width {} --depth {}: {error}", self.width, self.depth)
                }
                error => error.to_string(),
            })?
        };
        if tree.groups.is_empty() {
            let source = self.cgroup.as_ref().or(self.from.as_ref());
            let source = source.map_or_else(String::new, |path| format!("{}: ", path.display()));
            return Err(format!("{source}there is no group below the root, so nothing to walk"));
        }
        Ok(tree)
    }

    /// What to measure on `machine`.
    ///
    /// # Errors
    ///
    /// One line that says what is wrong with the arguments.
    pub fn config(&self, machine: &Machine, tree: &Tree) -> Result<Config, String> {
        let own = machine.cpus;
        let lanes = match self.lanes {
            _ if self.untimed => Vec::new(),
            Some(lanes) if lanes < u64::from(own) => {
                return Err(format!(
                    "--lanes {lanes}: this machine has {own} CPUs, each needs a lane; give {own} \
                     or more"
                ));
            }
            Some(lanes) => vec![lanes],
            None if self.quick || own >= BIG_MACHINE => vec![u64::from(own)],
            None => vec![u64::from(own), u64::from(BIG_MACHINE)],
        };
        if self.runs == 0 {
            return Err("--runs 0: there is nothing to take a median of".to_owned());
        }
        let most = lanes.iter().copied().max().unwrap_or(0);
        fits(&format!("{} groups on {most} lanes", tree.groups.len()), 4, most, machine, tree)?;
        let narrow = |lanes: u64| {
            let said = |why: &dyn core::fmt::Display| format!("--lanes {lanes}: {why}");
            let narrow = u32::try_from(lanes).map_err(|error| said(&error))?;
            // Maps nothing: the area only says whether it can have so many lanes.
            Area::builder().cpus(narrow).build().map_err(|error| said(&error))?;
            Ok(narrow)
        };
        Ok(Config {
            kernels: self.kernel,
            lanes: lanes.into_iter().map(narrow).collect::<Result<_, String>>()?,
            runs: if self.quick { self.runs.min(2) } else { self.runs },
            samples: if self.quick { 1 } else { 7 },
            patience: Duration::from_secs(if self.quick { 1 } else { 15 }),
            seed: self.seed,
        })
    }

    /// The machine whose caches are to be modelled, if one is.
    ///
    /// # Errors
    ///
    /// One line that says what is wrong with the arguments or the file.
    pub fn modelled(
        &self,
        machine: &Machine,
        tree: &Tree,
    ) -> Result<Option<trace::Config>, String> {
        let mut params = match &self.params {
            Some(path) => read_caches(path)?,
            None => Caches::parse(trace::MACHINE).map_err(|error| error.to_string())?,
        };
        match self.cpus {
            Some(0) if self.untimed => return Err("--cpus 0 --untimed: nothing is left".to_owned()),
            Some(0) => return Ok(None),
            Some(cpus) => params.cores = cpus,
            None if self.quick => params.cores = machine.cpus as usize,
            None => {}
        }
        let what = format!("--cpus {}: {} groups", params.cores, tree.groups.len());
        // Two layouts at once, each with where its pieces are placed, and the walks' lists.
        fits(&what, 4, params.cores as u64, machine, tree)?;
        let cpus = u32::try_from(params.cores).map_err(|error| format!("{what}: {error}"))?;
        let area = Area::builder().cpus(cpus.max(machine.cpus)).build();
        area.map_err(|error| format!("{what}: {error}"))?;
        Ok(Some(trace::Config {
            machine: params,
            kernels: self.kernel,
            least_lanes: machine.cpus,
            seed: self.seed,
        }))
    }
}

/// A machine from a file's text, with the file's name before what is wrong with it.
fn read_caches(path: &Path) -> Result<Caches, String> {
    let said = |what: &dyn core::fmt::Display| format!("{}: {what}", path.display());
    let text = fs::read_to_string(path).map_err(|error| said(&error))?;
    Caches::parse(&text).map_err(|error| said(&error))
}

/// Whether so many layouts fit the memory that is there, before any of it is taken.
fn fits(
    what: &str,
    layouts: u128,
    lanes: u64,
    machine: &Machine,
    tree: &Tree,
) -> Result<(), String> {
    // Each rounded up to 20 lines a group and lane, which covers the heap's headers, and the spill
    // lane.
    const BYTES: u128 = 20 * 64;
    let wanted = layouts * (u128::from(lanes) + 1) * tree.groups.len() as u128 * BYTES;
    match machine.available {
        Some(available) if wanted > u128::from(available) => Err(format!(
            "{what} take {} MiB, {} MiB are there; give fewer groups or lanes",
            wanted >> 20,
            available >> 20
        )),
        _ => Ok(()),
    }
}
