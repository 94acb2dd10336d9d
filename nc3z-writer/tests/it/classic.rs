//! Small classic files in memory, built by hand.

use nc3z_format::NcType;
use nc3z_format::classic::{DimId, Dimension, Header, NumRecs, Variable, Version, encode};

/// One variable of a [`Model`].
#[derive(Debug, Clone)]
pub(crate) struct Var {
    /// Type of the elements.
    pub(crate) ty: NcType,
    /// True where the record dimension comes first.
    pub(crate) record: bool,
    /// Lengths of the fixed dimensions.
    pub(crate) shape: Vec<u64>,
    /// Bytes left out before it or, if negative, shared with the variable before.
    pub(crate) gap: i64,
}

impl Var {
    pub(crate) fn fixed(ty: NcType, shape: &[u64]) -> Self {
        Var { ty, record: false, shape: shape.to_vec(), gap: 0 }
    }

    pub(crate) fn record(ty: NcType, shape: &[u64]) -> Self {
        Var { record: true, ..Var::fixed(ty, shape) }
    }

    fn slot(&self) -> u64 {
        self.shape.iter().product::<u64>() * self.ty.size() as u64
    }
}

/// The description of a file, which defines its bytes.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) version: Version,
    /// Records in the file.
    pub(crate) records: u64,
    /// The header's number of records.
    pub(crate) numrecs: NumRecs,
    pub(crate) vars: Vec<Var>,
    /// Bytes after everything else.
    pub(crate) tail: u64,
    /// Bytes cut off the end, never into the header.
    pub(crate) cut: u64,
    pub(crate) fill: u8,
}

/// A file and the positions of its variables, computed without the library.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) bytes: Vec<u8>,
    slots: Vec<(u64, u64, bool)>,
    records: u64,
    stride: u64,
}

impl Model {
    pub(crate) fn new(version: Version, records: u64, vars: Vec<Var>) -> Self {
        Model { version, records, numrecs: NumRecs::Count(records), vars, tail: 0, cut: 0, fill: 2 }
    }

    fn padded(&self, var: &Var) -> u64 {
        let lone = self.vars.iter().filter(|v| v.record).count() == 1;
        if lone && var.record { var.slot() } else { var.slot().next_multiple_of(4) }
    }

    fn header(&self, begins: &[u64]) -> Header {
        let mut dimensions = vec![Dimension { name: b"time".to_vec(), len: 0 }];
        let mut variables = Vec::new();
        for (i, (var, &begin)) in self.vars.iter().zip(begins).enumerate() {
            let mut ids: Vec<DimId> = if var.record { vec![DimId(0)] } else { vec![] };
            for &len in &var.shape {
                ids.push(DimId(u32::try_from(dimensions.len()).unwrap()));
                dimensions.push(Dimension { name: format!("d{}", dimensions.len()).into_bytes(), len });
            }
            let name = format!("v{i}").into_bytes();
            let vsize = var.slot().next_multiple_of(4);
            variables.push(Variable { name, dimensions: ids, attributes: vec![], ty: var.ty, vsize, begin });
        }
        Header { version: self.version, numrecs: self.numrecs, dimensions, attributes: vec![], variables }
    }

    pub(crate) fn build(&self) -> Sample {
        let header_len = encode(&self.header(&vec![0; self.vars.len()])).unwrap().len() as u64;
        let mut begins = vec![0; self.vars.len()];
        let mut at = header_len;
        for record in [false, true] {
            for (var, begin) in self.vars.iter().zip(&mut begins).filter(|(v, _)| v.record == record) {
                *begin = at.saturating_add_signed(var.gap);
                at = *begin + self.padded(var);
            }
        }
        let stride: u64 = self.vars.iter().filter(|v| v.record).map(|v| self.padded(v)).sum();
        let begin = self.vars.iter().zip(&begins).filter(|(v, _)| v.record).map(|(_, &b)| b).min();
        let end = begin.map_or(at, |b| at.max(b + stride * self.records)) + self.tail;
        let len = end.saturating_sub(self.cut).max(header_len);
        let header = encode(&self.header(&begins)).unwrap();
        let mut bytes = content(self.fill, usize::try_from(len).unwrap());
        bytes[..header.len()].copy_from_slice(&header);
        let records = match (self.numrecs, begin) {
            (NumRecs::Count(n), _) => n,
            (NumRecs::Streaming, Some(b)) if stride > 0 => len.saturating_sub(b) / stride,
            (NumRecs::Streaming, _) => 0,
        };
        let slots = self.vars.iter().zip(&begins).map(|(v, &b)| (b, v.slot(), v.record)).collect();
        Sample { bytes, slots, records, stride }
    }
}

impl Sample {
    /// Returns a variable's elements, taken from the file by a plain loop; `None` if the file does not contain them
    /// all.
    pub(crate) fn variable(&self, var: usize) -> Option<Vec<u8>> {
        let (begin, len, record) = self.slots[var];
        let times = if record { self.records } else { 1 };
        let mut out = Vec::new();
        for r in 0..times {
            let at = usize::try_from(begin + r * self.stride).unwrap();
            out.extend(self.bytes.get(at..at + usize::try_from(len).unwrap())?);
        }
        Some(out)
    }
}

/// Bytes of a kind: zeros, one value, ascending numbers, noise, or a mixture of these.
pub(crate) fn content(fill: u8, len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64 ^ u64::from(fill);
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    let rising = |i: usize| (u32::try_from(i / 4).unwrap() * 3).to_be_bytes()[i % 4];
    (0..len)
        .map(|i| match fill % 5 {
            0 => 0,
            1 => [0x7C, 0xF0, 0, 0][i % 4],
            2 => rising(i),
            3 => noise(),
            _ => [0, rising(i), noise()][i / 97 % 3],
        })
        .collect()
}
