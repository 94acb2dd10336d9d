//! Unusual properties of a file that do not prevent reading it.

use std::fmt;

use super::header::{DimId, Header, VarId};

/// An unusual property of a file. All bytes are preserved exactly, whatever the warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The file ends before the variable's last element.
    Short {
        /// The number of the variable.
        variable: VarId,
        /// Whole elements in the file.
        present: u64,
        /// Elements the header claims, where that fits 64 bits.
        claimed: Option<u64>,
    },
    /// The variable has elements, and begins at or beyond the end of the file.
    BeginsPastEnd {
        /// The number of the variable.
        variable: VarId,
        /// The offset in its header entry.
        begin: u64,
    },
    /// The file ends inside the padding after the last value. Harmless.
    NoFinalPadding {
        /// Bytes missing.
        missing: u64,
    },
    /// A fixed variable's bytes belong to the header or to an earlier variable as well.
    Overlap {
        /// The number of the variable.
        variable: VarId,
    },
    /// The record variables do not tile a record, or records meet the header or a fixed variable.
    IrregularRecords,
    /// Bytes follow the last byte of any variable and its padding.
    TrailingBytes {
        /// Their first offset.
        offset: u64,
        /// Their number.
        len: u64,
    },
    /// The record count is streaming, and the file ends inside a record, which is not counted.
    PartialRecord {
        /// Bytes after the last whole record.
        len: u64,
    },
    /// The `vsize` field differs from the canonical one.
    Vsize {
        /// The number of the variable.
        variable: VarId,
        /// The value of the field.
        found: u64,
        /// The value that the specification requires.
        canonical: u64,
    },
    /// More than one dimension of length 0 leads a variable; all count records.
    SeveralRecordDimensions,
    /// A dimension of length 0 is not a variable's first; it counts as the number of records.
    InnerRecordDimension {
        /// The number of the variable.
        variable: VarId,
    },
    /// A dimension longer than the version's signed length field allows.
    LongDimension {
        /// The number of the dimension.
        dimension: DimId,
        /// The length of the dimension.
        len: u64,
    },
}

impl Warning {
    /// True if values are missing or doubtful, false if the file is merely unusual.
    pub const fn is_serious(&self) -> bool {
        !matches!(
            self,
            Warning::NoFinalPadding { .. } | Warning::TrailingBytes { .. } | Warning::Vsize { .. }
        )
    }
}

impl Warning {
    /// The variable that it is about.
    pub const fn variable(&self) -> Option<VarId> {
        match *self {
            Warning::Short { variable, .. }
            | Warning::BeginsPastEnd { variable, .. }
            | Warning::Overlap { variable }
            | Warning::Vsize { variable, .. }
            | Warning::InnerRecordDimension { variable } => Some(variable),
            _ => None,
        }
    }

    /// The warning with the names of variables and dimensions: ``variable `tas`: the file holds 10 of 12 elements``.
    pub fn words(&self, header: &Header) -> String {
        let words = self.to_string();
        let (number, name) = match *self {
            Warning::LongDimension { dimension, .. } => {
                let name = header.dimensions.get(dimension.index()).map(|d| d.name_lossy());
                (format!("dimension {}:", dimension.0), name.map(|n| format!("dimension `{n}`:")))
            }
            _ => match self.variable() {
                Some(id) => {
                    let name = header.variables.get(id.index()).map(|v| v.name_lossy());
                    (format!("variable {}:", id.0), name.map(|n| format!("variable `{n}`:")))
                }
                None => return words,
            },
        };
        match (words.strip_prefix(&number), name) {
            (Some(rest), Some(name)) => name + rest,
            _ => words,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Warning::Short { variable: VarId(v), present, claimed: Some(n) } => {
                write!(f, "variable {v}: the file holds {present} of {n} elements")
            }
            Warning::Short { variable: VarId(v), present, claimed: None } => {
                write!(f, "variable {v}: the file holds {present} of more than 2^64 elements")
            }
            Warning::BeginsPastEnd { variable: VarId(v), begin } => {
                write!(f, "variable {v}: begins at byte {begin}, beyond the end of the file")
            }
            Warning::NoFinalPadding { missing } => {
                write!(f, "the last {missing} padding bytes are missing")
            }
            Warning::Overlap { variable: VarId(v) } => {
                write!(f, "variable {v}: overlaps the header or an earlier variable")
            }
            Warning::IrregularRecords => {
                write!(f, "the slots of the record variables do not form regular records")
            }
            Warning::TrailingBytes { offset, len } => {
                write!(f, "{len} bytes from byte {offset} on belong to no variable")
            }
            Warning::PartialRecord { len } => {
                write!(f, "the last record is cut short: {len} bytes of it are not counted")
            }
            Warning::Vsize { variable: VarId(v), found, canonical } => {
                write!(f, "variable {v}: vsize is {found}, the specification asks for {canonical}")
            }
            Warning::SeveralRecordDimensions => {
                write!(f, "more than one dimension of length 0 is used as record dimension")
            }
            Warning::InnerRecordDimension { variable: VarId(v) } => {
                write!(f, "variable {v}: a dimension of length 0 is not its first")
            }
            Warning::LongDimension { dimension: DimId(d), len } => {
                write!(f, "dimension {d}: length {len} does not fit a signed field")
            }
        }
    }
}
