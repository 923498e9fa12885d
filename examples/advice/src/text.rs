//! What is printed: the report, and the text of the struct.

use crate::group::{Part, Role, parts};
use crate::problem::is_identifier;
use crate::{Advice, Cost, Field, Problem};
use core::fmt::{self, Write};

impl Advice {
    /// The advised struct as text for `cacheline_struct!`, with promises that keep what was advised.
    ///
    /// Each group has the lines that it fills. Those of fields that are written and that several
    /// CPUs use are `exclusive`, those of fields that are only read are `apart` from them. Fields
    /// whose type is not known have a stand-in of the same size and alignment.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write_text(&mut text, &self.problem.name, None).expect("a string takes any text");
        text
    }

    /// The same for `elements` structs, as one struct of arrays: a field's copies lie in a row.
    pub fn split_text(&self, elements: usize) -> String {
        let mut text = String::new();
        let name = format!("{}s", self.problem.name);
        self.write_text(&mut text, &name, Some(elements)).expect("a string takes any text");
        text
    }

    fn write_text(&self, out: &mut String, name: &str, copies: Option<usize>) -> fmt::Result {
        let line = self.problem.line;
        let parts = parts(&self.problem, &self.plan, &self.placed);
        writeln!(out, "cacheline_struct! {{")?;
        let is_aligned = copies.is_some()
            || parts.iter().any(|part| part.aligned)
            || self.problem.fields.iter().any(|field| field.align >= line);
        if !parts.is_empty() && !is_aligned {
            writeln!(out, "    #[repr(align({line}))]")?;
        }
        writeln!(out, "    pub struct {name} {{")?;
        for part in &parts {
            self.write_part(out, part, &parts, copies)?;
        }
        if parts.is_empty() {
            for &field in &self.plan.order {
                writeln!(out, "        {}", self.field(field, copies))?;
            }
        }
        writeln!(out, "    }}")?;
        if copies.is_none() {
            self.write_touches(out)?;
        }
        writeln!(out, "}}")
    }

    fn write_part(
        &self,
        out: &mut String,
        part: &Part,
        parts: &[Part],
        copies: Option<usize>,
    ) -> fmt::Result {
        let mut promises = Vec::new();
        if copies.is_none() {
            promises.push(format!("lines <= {}", part.lines));
        }
        if part.aligned || copies.is_some() {
            promises.push("aligned".to_owned());
        }
        let written = || parts.iter().filter(|other| other.role == Role::Written);
        match part.role {
            Role::Written => promises.push("exclusive".to_owned()),
            Role::ReadMostly if written().next().is_some() => {
                let names: Vec<&str> = written().map(|other| other.name.as_str()).collect();
                promises.push(format!("apart({})", names.join(", ")));
            }
            _ => {}
        }
        writeln!(out, "        /// {}", part.role.meaning())?;
        writeln!(out, "        group {}({}) {{", part.name, promises.join(", "))?;
        for &field in &part.fields {
            writeln!(out, "            {}", self.field(field, copies))?;
        }
        writeln!(out, "        }}")
    }

    fn field(&self, at: usize, copies: Option<usize>) -> String {
        let field = &self.problem.fields[at];
        let ty = field.ty.clone().unwrap_or_else(|| stand_in(field));
        match copies {
            Some(copies) => format!("pub {}: [{ty}; {copies}],", field.name),
            None => format!("pub {}: {ty},", field.name),
        }
    }

    fn write_touches(&self, out: &mut String) -> fmt::Result {
        let names = identifiers(&self.problem);
        for ((operation, name), cost) in
            self.problem.operations.iter().zip(names).zip(&self.after().operations)
        {
            let fields: Vec<String> = operation
                .touches
                .iter()
                .map(|touch| {
                    let name = &self.problem.fields[touch.field].name;
                    format!("{}{name}", if touch.written { "mut " } else { "" })
                })
                .collect();
            write!(out, "    touches {name} {{")?;
            let mut column = usize::MAX;
            for (at, field) in fields.iter().enumerate() {
                let comma = if at + 1 < fields.len() { "," } else { "" };
                if column.saturating_add(field.len()) > 80 {
                    write!(out, "\n       ")?;
                    column = 7;
                }
                write!(out, " {field}{comma}")?;
                column += field.len() + 2;
            }
            writeln!(out, "\n    }} in <= {} lines;", cost.lines)?;
        }
        Ok(())
    }
}

/// A type of a field's size and alignment.
fn stand_in(field: &Field) -> String {
    let element = match field.align {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        8 => "u64",
        16 => "u128",
        align => return format!("[u8; {}] /* a type aligned to {align} */", field.size),
    };
    match field.size / field.align {
        1 => element.to_owned(),
        count => format!("[{element}; {count}]"),
    }
}

/// The operations' names as identifiers of which no two are the same.
fn identifiers(problem: &Problem) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for operation in &problem.operations {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut name: String = operation.name.chars().map(letter).collect();
        if !is_identifier(&name) || name == "_" {
            name.insert_str(0, "op_");
        }
        while names.contains(&name) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.keeps() {
            writeln!(f, "{}: no better order was found; keep it", self.problem.name)?;
        } else {
            self.with_given(|given| {
                self.with_layout(|advised| write!(f, "{}", advised.diff(given)))
            })?;
        }
        self.write_operations(f)?;
        if !self.keeps() {
            write!(f, "\n{}", self.text())?;
        }
        Ok(())
    }
}

impl Advice {
    fn write_operations(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.problem.operations.iter().map(|o| o.name.chars().count());
        let wide = names.max().unwrap_or(0).max("average".len());
        let (before, after) = (self.before(), self.after());
        writeln!(
            f,
            "{:wide$}  {:>9}  {:>14}  {:>16}",
            "operation", "weight", "lines", "transfers"
        )?;
        let costs = before.operations.iter().zip(&after.operations);
        for (operation, (old, new)) in self.problem.operations.iter().zip(costs) {
            write!(f, "{:wide$}  {:>9}", operation.name, operation.weight)?;
            write!(f, "  {:>6} -> {:>4}", old.lines, new.lines)?;
            writeln!(f, "  {:>8.2} -> {:>4.2}", old.transfers, new.transfers)?;
        }
        write!(f, "{:wide$}  {:>9}", "average", "")?;
        write!(f, "  {:>6.2} -> {:>4.2}", before.lines, after.lines)?;
        writeln!(f, "  {:>8.2} -> {:>4.2}", before.transfers, after.transfers)?;
        let (prices, cpus) = (&self.problem.prices, self.problem.cpus);
        writeln!(
            f,
            "\nMisses of an average operation: {:.2} -> {:.2} with none of it cached, {:.2} -> {:.2} \
             with all of it cached and {cpus} CPU{} at it.",
            before.lines,
            after.lines,
            before.transfers,
            after.transfers,
            if cpus == 1 { "" } else { "s" },
        )?;
        let cost = |cost: &Cost| cost.cost;
        writeln!(
            f,
            "Cost {:.2} -> {:.2}: {} a line, {} a transfer, {} a line of size.",
            cost(before),
            cost(after),
            prices.line,
            prices.transfer,
            prices.memory,
        )
    }
}
