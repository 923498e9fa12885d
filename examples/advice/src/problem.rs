//! What is asked: fields, operations, and what must stay as it is.

use crate::Prices;
use core::fmt;
use corelocal::cacheline::Layout;

/// More fields than a search can look at in a reasonable time.
pub(crate) const MAX_FIELDS: usize = 256;

/// Who runs an operation, of the CPUs that use the struct.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// One CPU, the struct's own: always the same.
    Owner,
    /// The CPUs that are not the owner, each as often as the other.
    Others,
    /// All of them, each as often as the other.
    All,
}

/// A field of the struct.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: usize,
    /// Its alignment in bytes, a power of two.
    pub align: usize,
    /// Its type, as it is to be written; without it, text has a stand-in of the same size.
    pub ty: Option<String>,
    /// Whether something beside its alignment puts it at the start of a line now.
    pub on_line: bool,
}

/// A field that an operation touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touched {
    /// Its place in [`Problem::fields`].
    pub field: usize,
    /// Whether it is written; it may also be read then.
    pub written: bool,
}

/// An operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// How often it runs, in any unit.
    pub weight: f64,
    /// Who runs it.
    pub by: By,
    /// What it touches, in this order. Where that is not known, what is only read comes first: the
    /// dearer way, if something else on the line is written.
    pub touches: Vec<Touched>,
}

/// A struct, what is done to it, and what must stay as it is. The fields are in their order of now.
#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    /// The struct's name.
    pub name: String,
    /// Bytes of a line.
    pub line: usize,
    /// The alignment that the struct has now, in bytes.
    pub align: usize,
    /// The fields.
    pub fields: Vec<Field>,
    /// The operations.
    pub operations: Vec<Operation>,
    /// How many CPUs use the struct.
    pub cpus: u32,
    /// The field that must stay at offset 0.
    pub first: Option<usize>,
    /// Fields that must stay together, each time in this order. The sets have no common field.
    pub together: Vec<Vec<usize>>,
    /// What things cost.
    pub prices: Prices,
}

/// CPUs that use a struct unless something else is said.
const CPUS: u32 = 8;

impl Problem {
    /// The struct of a map with the operations of its `touches`, each with weight 1 and run by `by`.
    /// Fields that the map does not have are left out of an operation.
    pub fn from_layout(map: &Layout<'_>, by: By) -> Self {
        let mut order: Vec<_> = map.fields().iter().collect();
        order.sort_by_key(|field| field.offset);
        let mut problem = Self {
            name: map.name().to_owned(),
            line: map.line(),
            align: map.align(),
            fields: Vec::new(),
            operations: Vec::new(),
            cpus: CPUS,
            first: None,
            together: Vec::new(),
            prices: Prices::default(),
        };
        let mut end = 0usize;
        for field in order {
            let (name, size, align) = (field.name.to_owned(), field.size, field.align);
            let is_forced = field.offset > end.next_multiple_of(align.max(1));
            let on_line = is_forced && field.offset % map.line() == 0;
            problem.fields.push(Field { name, size, align, ty: None, on_line });
            end = field.end();
        }
        for access in map.accesses() {
            // A set: what is only read first.
            let mut touches: Vec<_> =
                access.touches.iter().map(|touch| (touch.field, touch.written)).collect();
            touches.sort_by_key(|touch| touch.1);
            problem.touches(access.name, 1.0, by, &touches);
        }
        problem
    }

    /// Adds an operation that touches fields in this order, each once: written if it ever is. Names that
    /// are no field are left out; so is an operation without fields.
    pub fn touches(&mut self, name: &str, weight: f64, by: By, touches: &[(&str, bool)]) {
        let mut seen: Vec<Touched> = Vec::new();
        for &(field, written) in touches {
            let Some(field) = self.index_of(field) else { continue };
            match seen.iter_mut().find(|touch| touch.field == field) {
                Some(touch) => touch.written |= written,
                None => seen.push(Touched { field, written }),
            }
        }
        let touches = seen;
        if !touches.is_empty() {
            self.operations.push(Operation { name: name.to_owned(), weight, by, touches });
        }
    }

    /// Where the field of this name stands in [`fields`](Self::fields).
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// The sum of the operations' weights.
    pub(crate) fn weight(&self) -> f64 {
        self.operations.iter().map(|operation| operation.weight).sum()
    }

    /// The fields in units that must not be torn apart, in the order of their first fields.
    pub(crate) fn units(&self) -> Vec<Vec<usize>> {
        let mut units = Vec::new();
        for at in 0..self.fields.len() {
            match self.together.iter().find(|set| set.contains(&at)) {
                None => units.push(vec![at]),
                Some(set) if set.iter().min() == Some(&at) => units.push(set.clone()),
                Some(_) => {}
            }
        }
        units
    }

    /// Says what is wrong, if anything is.
    pub(crate) fn check(&self) -> Result<(), ProblemError> {
        let fields = self.fields.len();
        if fields == 0 || fields > MAX_FIELDS {
            return Err(ProblemError::Fields(fields));
        }
        if !self.line.is_power_of_two() || self.line < 2 {
            return Err(ProblemError::Line(self.line));
        }
        let mut bytes = 0usize;
        for (at, field) in self.fields.iter().enumerate() {
            let name = || field.name.clone();
            if !field.align.is_power_of_two() || field.size % field.align != 0 {
                return Err(ProblemError::Align(name(), field.size, field.align));
            }
            if !is_identifier(&field.name) {
                return Err(ProblemError::Name(name()));
            }
            if self.fields[..at].iter().any(|other| other.name == field.name) {
                return Err(ProblemError::Twice(name()));
            }
            bytes = bytes.saturating_add(field.size).saturating_add(field.align);
        }
        if bytes > MAX_BYTES {
            return Err(ProblemError::Large);
        }
        self.check_operations()?;
        self.check_together()
    }

    fn check_operations(&self) -> Result<(), ProblemError> {
        if self.operations.is_empty() {
            return Err(ProblemError::NoOperation);
        }
        for operation in &self.operations {
            if !operation.weight.is_finite() || operation.weight <= 0.0 {
                return Err(ProblemError::Weight(operation.name.clone(), operation.weight));
            }
            if operation.touches.iter().any(|touch| touch.field >= self.fields.len()) {
                return Err(ProblemError::NoField(operation.name.clone()));
            }
        }
        Ok(())
    }

    fn check_together(&self) -> Result<(), ProblemError> {
        let sets = || self.together.iter().flatten().copied().chain(self.first);
        if sets().any(|at| at >= self.fields.len()) {
            return Err(ProblemError::NoField("together".to_owned()));
        }
        let mut seen = vec![false; self.fields.len()];
        for &at in self.together.iter().flatten() {
            if core::mem::replace(&mut seen[at], true) {
                return Err(ProblemError::Twice(self.fields[at].name.clone()));
            }
        }
        let is_inside =
            |first| self.together.iter().any(|set| set.iter().skip(1).any(|&f| f == first));
        match self.first.filter(|&first| is_inside(first)) {
            Some(first) => Err(ProblemError::First(self.fields[first].name.clone())),
            None => Ok(()),
        }
    }
}

/// A struct of more bytes than this is no struct whose order matters.
const MAX_BYTES: usize = 1 << 24;

/// Whether a name can be a field's.
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    starts && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What is wrong with a [`Problem`].
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ProblemError {
    /// So many fields are none, or too many.
    Fields(usize),
    /// The size of a line is no power of two.
    Line(usize),
    /// A field's name, size and alignment, which is no power of two that divides the size.
    Align(String, usize, usize),
    /// A name that is no identifier.
    Name(String),
    /// A field that is there twice, or in two sets that must stay together.
    Twice(String),
    /// The struct has more bytes than the advice is for.
    Large,
    /// No operation touches a field.
    NoOperation,
    /// An operation's name and weight, which is not more than 0.
    Weight(String, f64),
    /// An operation names a field that is not there.
    NoField(String),
    /// The field that must stay at offset 0 must also stay behind another.
    First(String),
}

impl fmt::Display for ProblemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fields(found) => write!(f, "{found} fields; there must be 1 to {MAX_FIELDS}"),
            Self::Line(bytes) => write!(f, "a line of {bytes} bytes: not a power of two"),
            Self::Align(name, size, align) => write!(
                f,
                "field {name}: alignment {align} is not a power of two that divides its size {size}"
            ),
            Self::Name(name) => write!(f, "{name:?} is not a field's name"),
            Self::Twice(name) => write!(f, "field {name} is there twice"),
            Self::Large => write!(f, "the struct has more than {MAX_BYTES} bytes"),
            Self::NoOperation => {
                f.write_str("no operation touches a field, so any order is as good")
            }
            Self::Weight(name, weight) => {
                write!(f, "operation {name}: weight {weight} is not a number above 0")
            }
            Self::NoField(name) => write!(f, "{name} names a field that is not there"),
            Self::First(name) => write!(f, "field {name} cannot be first and behind another"),
        }
    }
}

impl core::error::Error for ProblemError {}
