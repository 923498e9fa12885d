//! `sched`: the main program. See the library for what it is made of.

use clap::Parser;
use clap::error::ErrorKind;
use sched::advise::{Subject, advice_on, report, steps_table};
use sched::churn;
use sched::cli::{ChurnArgs, Cli, Command, LayoutArgs, RtArgs, SaveArgs, TreeArgs};
use sched::map::with_state;
use sched::measure::machine::Machine;
use sched::measure::measure;
use sched::pick::args::PickArgs;
use sched::pick::command::{self, Refused};
use sched::real::{self, Outcome, RealArgs};
use sched::replay::{Quotas, regimes};
use sched::report::{Report, json, table};
use sched::rt::{self, Design, Mix, Params, Question, Search, Table, time};
use sched::trace::trace;
use sched::tree::{cgroup, listing};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

/// The exit status of bad input.
const BAD_INPUT: u8 = 2;

/// Why the program ends early, and with which status.
enum Failure {
    Input(String),
    System(String),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => {
            // Help and version.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            let text = error.to_string();
            // clap says more than the one line that is promised; this one tells what is wrong.
            let mut lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
            let line = match error.kind() {
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                    "no command; try --help".to_owned()
                }
                // A line for each that is missing.
                ErrorKind::MissingRequiredArgument => lines.collect::<Vec<_>>().join(" "),
                _ => lines.next().unwrap_or("bad arguments").to_owned(),
            };
            eprintln!("sched: {}", line.strip_prefix("error: ").unwrap_or(&line));
            return ExitCode::from(BAD_INPUT);
        }
    };
    let done = match &cli.command {
        Command::Tree(args) => tree(args),
        Command::Churn(args) => churn(args),
        Command::Save(args) => save(args),
        Command::Rt(args) => rt(args),
        Command::Pick(args) => pick(args),
        Command::Layout(args) => layout(args),
        Command::Real(args) => real(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Input(line)) => {
            eprintln!("sched: {line}");
            ExitCode::from(BAD_INPUT)
        }
        Err(Failure::System(line)) => {
            eprintln!("sched: {line}");
            ExitCode::FAILURE
        }
    }
}

fn tree(args: &TreeArgs) -> Result<(), Failure> {
    let machine = Machine::current();
    let tree = args.tree().map_err(Failure::Input)?;
    let config = args.config(&machine, &tree).map_err(Failure::Input)?;
    let modelled = args.modelled(&machine, &tree).map_err(Failure::Input)?;
    let backend = corelocal::backend();
    let results =
        measure(&config, &machine, &tree, |what| eprintln!("{what}")).map_err(Failure::System)?;
    let traced = match &modelled {
        None => Vec::new(),
        Some(modelled) => {
            trace(modelled, &tree, |what| eprintln!("{what}")).map_err(Failure::System)?
        }
    };
    let played = args.played(&machine, &config, &tree).map_err(Failure::System)?;
    let replayed = match args.replayed(&machine).map_err(Failure::Input)? {
        None => Vec::new(),
        Some(params) => regimes(&params, Quotas::Leaves, machine.allowed.len().min(2), |what| {
            eprintln!("{what}");
        })
        .map_err(Failure::System)?,
    };
    let report = Report {
        machine: &machine,
        backend: format!("{backend}: {}", backend.reason()),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        tree: &tree,
        config: &config,
        results: &results,
        modelled: modelled.as_ref(),
        traced: &traced,
        played: &played,
        replayed: &replayed,
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let written = if args.json { json(&report, &mut out) } else { table(&report, &mut out) };
    finish(written.and_then(|()| out.flush()))
}

fn churn(args: &ChurnArgs) -> Result<(), Failure> {
    let (machine, config) = (Machine::current(), args.config());
    let rows = churn::churn(&config, &machine, |what| eprintln!("{what}"));
    let rows = rows.map_err(Failure::System)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let written = churn::print(&config, &machine, &rows, &mut out);
    finish(written.and_then(|()| out.flush()))
}

fn save(args: &SaveArgs) -> Result<(), Failure> {
    let tree = cgroup::read(&args.cgroup).map_err(|error| Failure::Input(error.to_string()))?;
    let mut text = Vec::new();
    finish(listing::write(&tree, &mut text))?;
    match &args.output {
        None => finish(io::stdout().lock().write_all(&text)),
        Some(path) => File::create(path)
            .and_then(|mut file| file.write_all(&text))
            .map_err(|error| Failure::Input(format!("{}: {error}", path.display()))),
    }
}

fn rt(args: &RtArgs) -> Result<(), Failure> {
    let params = args.params().map_err(Failure::Input)?;
    let mut tables = Vec::new();
    for machine in &params.machines {
        for mix in Mix::ALL {
            eprintln!("{}, {} CPUs", mix.name(), machine.cpus());
            tables.push(Table::model(*machine, mix, false, &params));
        }
        eprintln!("Mix50, {} CPUs, with the fields around the vector", machine.cpus());
        tables.push(Table::model(*machine, Mix::Mix50, true, &params));
        eprintln!("the layouts by level, {} CPUs, access by access", machine.cpus());
        tables.extend(Mix::ALL.map(|mix| Table::mixed(*machine, mix, &params)));
    }
    if let Some(directory) = &args.svg {
        pictures(directory, &params)?;
    }
    eprintln!("this machine's threads");
    let machine = Machine::current();
    let (rounds, pairs) = if args.quick { (2, 20_000) } else { (15, 50_000) };
    let threads = time(&machine, rounds, pairs).map_err(Failure::System)?;
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    let report = rt::Report { machine, command, tables, threads };
    let mut out = BufWriter::new(io::stdout().lock());
    let written = if args.json {
        serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)
    } else {
        rt::print(&report, &mut out)
    };
    finish(written.and_then(|()| out.flush()))
}

/// A heat map of each layout under Mix50 on the largest machine.
fn pictures(directory: &Path, params: &Params) -> Result<(), Failure> {
    let Some(machine) = params.machines.last() else { return Ok(()) };
    let question = Question {
        machine: *machine,
        mix: Mix::Mix50,
        search: Search::All,
        params,
        around: true,
        interleaved: false,
    };
    for design in Design::ALL.into_iter().filter(|design| design.is_for(Mix::Mix50)) {
        let name = design.name().to_lowercase().replace(['<', '>'], "");
        let file = directory.join(format!("mix50-{name}.svg"));
        fs::write(&file, design.heat_map(question))
            .map_err(|error| Failure::Input(format!("{}: {error}", file.display())))?;
    }
    Ok(())
}

fn pick(args: &PickArgs) -> Result<(), Failure> {
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    let report = command::run(args, command, |what| eprintln!("{what}"));
    let report = report.map_err(|refused| match refused {
        Refused::Input(line) => Failure::Input(line),
        Refused::System(line) => Failure::System(line),
    })?;
    let mut out = BufWriter::new(io::stdout().lock());
    let written = if args.json {
        serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)
    } else {
        sched::pick::report::print(&report, &mut out)
    };
    finish(written.and_then(|()| out.flush()))
}

fn layout(args: &LayoutArgs) -> Result<(), Failure> {
    if args.advise {
        let text = advised(args).map_err(Failure::Input)?;
        return finish(io::stdout().lock().write_all(text.as_bytes()));
    }
    with_state(args.kernel, |map| {
        if let Some(path) = &args.svg {
            std::fs::write(path, map.to_svg())
                .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
        }
        let text = match args.since {
            Some(before) => with_state(before, |before| map.diff(before).to_string()),
            None => map.to_string(),
        };
        finish(io::stdout().lock().write_all(text.as_bytes()))
    })
}

fn advised(args: &LayoutArgs) -> Result<String, String> {
    let samples = args.samples()?;
    let samples = samples.as_ref().map(|(samples, at)| (samples, *at));
    let on = |subject| advice_on(subject, args.kernel, samples, args.cpus);
    let Some(subject) = args.of else {
        let (queue, entity) = (on(Subject::CfsRq)?, on(Subject::Se)?);
        let steps = steps_table(args.kernel, &queue, &entity);
        return Ok(format!("{queue}\n{entity}\n{steps}"));
    };
    on(subject).map(|advice| report(subject, &advice)).map_err(|error| match &args.accesses {
        Some(file) => format!("{}: {error}", file.display()),
        None => error,
    })
}

fn real(args: &RealArgs) -> Result<(), Failure> {
    if let Some(cpu) = args.spin {
        return real::spin::run(cpu).map_err(Failure::System);
    }
    let outcome = real::compare(args, |what| eprintln!("{what}")).map_err(Failure::System)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let written = match &outcome {
        Outcome::Skipped(missing) => writeln!(out, "skipped: {missing}"),
        Outcome::Compared(report) if args.json => {
            serde_json::to_writer_pretty(&mut out, report).map_err(io::Error::from)
        }
        Outcome::Compared(report) => real::report::print(report, &mut out),
    };
    finish(written.and_then(|()| out.flush()))
}

/// A reader that stops reading (`sched tree | head`) is no failure.
fn finish(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::System(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}
