//! Arguments of `sched tree`, and what is wrong with them.

use super::{read, read_params};
use crate::measure::machine::Machine;
use crate::measure::{Config, Kernels, Memory};
use crate::replay::{self, Here, Question};
use crate::trace;
use crate::tree::{Tree, TreeError, cgroup, listing};
use clap::Args;
use corelocal::Area;
use model::Params as Caches;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// Replay the runs of this file in the modelled caches instead of walking there; those of the
    /// repository with `--cpus 480`, their largest machine.
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Per-CPU memory on huge pages, where something is timed.
    #[arg(long)]
    pub huge_pages: bool,
    /// Per-CPU objects of an even number of lines, where something is timed: what that costs.
    #[arg(long)]
    pub even_lines: bool,
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
            memory: Memory { huge_pages: self.huge_pages, odd_lines: !self.even_lines },
        })
    }

    /// Replays the tree on this machine, on as many lanes as the walks.
    ///
    /// # Errors
    ///
    /// What the system refused, as text.
    pub fn played(
        &self,
        machine: &Machine,
        config: &Config,
        tree: &Tree,
    ) -> Result<Vec<Here>, String> {
        let caches = match self.cpus {
            Some(0) => None,
            _ => Some(Caches::parse(trace::MACHINE).map_err(|error| error.to_string())?),
        };
        let mut tables = Vec::new();
        for &lanes in &config.lanes {
            for shuffled in [false, true] {
                let question = Question {
                    tree,
                    lanes,
                    allowed: &machine.allowed,
                    shuffled,
                    runs: config.runs,
                    periods: if self.quick { 1 } else { 3 },
                    seed: self.seed,
                    memory: config.memory,
                    caches,
                };
                tables.push(Here::replay(&question, |what| eprintln!("{what}"))?);
            }
        }
        Ok(tables)
    }

    /// The runs that are to be replayed in modelled caches, instead of the walks.
    ///
    /// # Errors
    ///
    /// One line that says what is wrong with the file, or with this machine for it.
    pub fn replayed(&self, machine: &Machine) -> Result<Option<replay::Params>, String> {
        let params = match &self.replay {
            Some(path) => {
                let params = replay::Params::parse(&read_params(path)?);
                params.map_err(|what| format!("{}: {what}", path.display()))?
            }
            None => {
                let params = replay::Params::parse(replay::FIXED)?;
                let largest = params.runs.iter().map(|run| run.cpus as usize).max();
                if self.cpus != largest {
                    return Ok(None);
                }
                params
            }
        };
        for run in &params.runs {
            let tree = Tree::regular(run.width, run.depth);
            let tree = tree.map_err(|error| format!("run {}: {error}", run.name))?;
            // Two at once, each with where its pieces are placed.
            let what =
                format!("run {}: {} groups on {} CPUs", run.name, tree.groups.len(), run.cpus);
            fits(&what, 3, u64::from(run.cpus), machine, &tree)?;
        }
        Ok(Some(params))
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
            _ if self.replayed(machine)?.is_some() => return Ok(None),
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
    Caches::parse(&read_params(path)?).map_err(|error| format!("{}: {error}", path.display()))
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
