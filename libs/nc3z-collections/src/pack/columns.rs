//! Columns: the arrays with the same name of all members of a group, one after another, equal ones only once,
//! as one classic file.

use super::arrays;
use super::listing::{Listing, Place};
use super::{LIST, MARK};
use crate::error::{Error, Result};
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::classic::{Attribute, DimId, Dimension, Header, NumRecs, VarId, Variable, Version, arrange};
use nc3z_reader::ClassicFile;
use std::collections::HashMap;

/// Arrays longer than this are compared with others of the same name. For a shorter one, a copy takes less
/// than a reference.
const EQUAL_LEN: usize = 64;
/// Columns shorter than this are joined with others of their type: a variable takes about 70 bytes of an
/// archive.
const SHORT_LEN: usize = 1024;
/// Arrays with the same name and different inner lengths have a column for each shape that has this many
/// bytes. Rows of the same length can be predicted from each other.
const SHAPE_LEN: usize = 8192;

/// Arrays of one name and type.
struct Name {
    text: Vec<u8>,
    ty: NcType,
    pieces: Vec<Piece>,
    known: HashMap<Vec<u8>, usize>,
}

/// The bytes of one array, or of several equal ones.
struct Piece {
    /// Lengths of all dimensions but the first, without leading ones of length 1.
    inner: Vec<u64>,
    bytes: Vec<u8>,
    place: Place,
}

/// Collects the arrays of a group.
#[derive(Default)]
pub(super) struct Columns {
    names: Vec<Name>,
    numbers: HashMap<(Vec<u8>, NcType), usize>,
    /// The names in the order of the columns: as in the headers; new names follow their predecessors there.
    order: Vec<usize>,
    /// For each member, the name and piece of each array.
    members: Vec<Vec<(usize, usize)>>,
}

impl Columns {
    /// Takes the arrays of a member.
    pub(super) fn add(&mut self, file: &ClassicFile) -> Result<()> {
        let mut member = Vec::new();
        let mut last = None;
        for own in arrays::of(file.layout()) {
            let (name, inner) = described(file, own.id);
            let number = self.number(name, own.ty, last);
            last = Some(number);
            let mut bytes = vec![0; usize::try_from(own.len).unwrap_or(usize::MAX)];
            file.read_array_bytes(own.id, 0, &mut bytes)?;
            member.push((number, self.names[number].piece(inner, bytes)));
        }
        self.members.push(member);
        Ok(())
    }

    /// Returns the number of a name. A new one is inserted after `last`.
    fn number(&mut self, name: Vec<u8>, ty: NcType, last: Option<usize>) -> usize {
        if let Some(&number) = self.numbers.get(&(name.clone(), ty)) {
            return number;
        }
        let number = self.names.len();
        self.names.push(Name { text: name.clone(), ty, pieces: Vec::new(), known: HashMap::new() });
        self.numbers.insert((name, ty), number);
        let behind = last.and_then(|last| self.order.iter().position(|&n| n == last));
        self.order.insert(behind.map_or(self.order.len(), |at| at + 1), number);
        number
    }

    /// Assigns each array to a column, and lists the places of each member's arrays.
    pub(super) fn arranged(mut self) -> Arranged {
        let columns = self.columns();
        for (column, (_, _, pieces)) in (LIST.len()..).zip(&columns) {
            let column = u32::try_from(column).unwrap_or(u32::MAX);
            let mut first = 0;
            for &(name, piece) in pieces {
                let size = self.names[name].ty.size();
                let piece = &mut self.names[name].pieces[piece];
                // A column of more elements is refused when the list is encoded.
                piece.place = Place { column, first: u32::try_from(first).unwrap_or(u32::MAX) };
                first += piece.bytes.len() / size;
            }
        }
        let mut list = Listing::default();
        for member in &self.members {
            list.push(member.iter().map(|&(name, piece)| self.names[name].pieces[piece].place));
        }
        let mut out = Arranged { list, columns: Vec::with_capacity(columns.len()) };
        for (name, inner, pieces) in columns {
            let Some(&(first, _)) = pieces.first() else { continue };
            let bytes: Vec<&[u8]> = pieces.iter().map(|&(n, p)| &self.names[n].pieces[p].bytes[..]).collect();
            let bytes = bytes.concat();
            out.columns.push(Column { name, ty: self.names[first].ty, inner, bytes });
        }
        out
    }

    /// Name, inner lengths and pieces of each column.
    fn columns(&self) -> Vec<(Vec<u8>, Vec<u64>, Vec<(usize, usize)>)> {
        // Columns of the same inner lengths are neighbours: a reference reaches sixteen arrays back.
        let mut shapes: Vec<(Option<Vec<u64>>, Vec<(Vec<u8>, Vec<(usize, usize)>)>)> = Vec::new();
        let mut short: Vec<(NcType, Vec<(usize, usize)>)> = Vec::new();
        for &number in &self.order {
            let name = &self.names[number];
            let pieces = (0..name.pieces.len()).map(|piece| (number, piece));
            if name.pieces.iter().map(|p| p.bytes.len()).sum::<usize>() < SHORT_LEN {
                match short.iter_mut().find(|(ty, _)| *ty == name.ty) {
                    Some((_, all)) => all.extend(pieces),
                    None => short.push((name.ty, pieces.collect())),
                }
                continue;
            }
            for (inner, pieces) in name.by_shape(number) {
                let column = (name.text.clone(), pieces);
                match shapes.iter_mut().find(|(known, _)| *known == inner) {
                    Some((_, columns)) => columns.push(column),
                    None => shapes.push((inner, vec![column])),
                }
            }
        }
        let mut out = Vec::new();
        for (inner, columns) in shapes {
            let inner = inner.unwrap_or_default();
            out.extend(columns.into_iter().map(|(name, pieces)| (name, inner.clone(), pieces)));
        }
        for (ty, pieces) in short {
            out.push((format!("nc3z_short_{}", ty.name()).into_bytes(), Vec::new(), pieces));
        }
        out
    }
}

impl Name {
    /// Returns the number of a piece with these bytes.
    fn piece(&mut self, inner: Vec<u64>, bytes: Vec<u8>) -> usize {
        let number = self.pieces.len();
        if bytes.len() > EQUAL_LEN {
            if let Some(&known) = self.known.get(&bytes) {
                return known;
            }
            self.known.insert(bytes.clone(), number);
        }
        self.pieces.push(Piece { inner, bytes, place: Place { column: 0, first: 0 } });
        number
    }

    /// Groups pieces by their inner lengths. Those with few bytes become one column without inner lengths.
    fn by_shape(&self, number: usize) -> Vec<(Option<Vec<u64>>, Vec<(usize, usize)>)> {
        let mut shapes: Vec<(&[u64], usize, Vec<(usize, usize)>)> = Vec::new();
        for (n, piece) in self.pieces.iter().enumerate() {
            match shapes.iter_mut().find(|(inner, _, _)| *inner == piece.inner) {
                Some((_, len, pieces)) => {
                    *len += piece.bytes.len();
                    pieces.push((number, n));
                }
                None => shapes.push((&piece.inner, piece.bytes.len(), vec![(number, n)])),
            }
        }
        if let [(inner, _, _)] = shapes[..] {
            let inner = inner.to_vec();
            return vec![(Some(inner), shapes.pop().map(|(_, _, pieces)| pieces).unwrap_or_default())];
        }
        let (long, little): (Vec<_>, Vec<_>) = shapes.into_iter().partition(|(_, len, _)| *len >= SHAPE_LEN);
        let mut out: Vec<_> =
            long.into_iter().map(|(inner, _, pieces)| (Some(inner.to_vec()), pieces)).collect();
        let little: Vec<(usize, usize)> = little.into_iter().flat_map(|(_, _, pieces)| pieces).collect();
        if !little.is_empty() {
            out.push((None, little));
        }
        out
    }
}

/// Name and inner lengths of an array.
pub(super) fn described(file: &ClassicFile, id: ArrayId) -> (Vec<u8>, Vec<u64>) {
    match id.role() {
        Role::Variable(v) => {
            let var = VarId(v);
            let shape = file.layout().variable(var).map_or(&[][..], |v| &v.shape);
            let skip = shape.iter().take_while(|n| **n == 1).count().min(shape.len().saturating_sub(1));
            let inner = shape.get(skip + 1..).unwrap_or_default().to_vec();
            let name = file.header().variables.get(var.index());
            (name.map(|v| v.name.clone()).unwrap_or_default(), inner)
        }
        Role::Gap => (b"nc3z_gap".to_vec(), Vec::new()),
        _ => (b"nc3z_padding".to_vec(), Vec::new()),
    }
}

struct Column {
    name: Vec<u8>,
    ty: NcType,
    inner: Vec<u64>,
    bytes: Vec<u8>,
}

/// Columns, and the places of the members' arrays in them.
pub(super) struct Arranged {
    /// For each member, in the order in which they were added.
    pub(super) list: Listing,
    columns: Vec<Column>,
}

impl Arranged {
    /// The classic file of a group, whose members have arrays.
    pub(super) fn file(self) -> Result<Vec<u8>> {
        let list = self.list.encode();
        let list =
            list.ok_or_else(|| Error::refused("a column of a group would have 2^31 elements or more"))?;
        let own = |(name, values): (&str, Vec<i32>)| Column {
            name: name.as_bytes().to_vec(),
            ty: NcType::Int,
            inner: Vec::new(),
            bytes: values.iter().flat_map(|value| value.to_be_bytes()).collect(),
        };
        let values = [list.counts, list.columns, list.steps];
        let mut columns: Vec<Column> = LIST.into_iter().zip(values).map(own).collect();
        columns.extend(self.columns);
        let is_old = columns.iter().all(|c| c.ty as u8 <= NcType::Double as u8);
        let version = if is_old { Version::Cdf2 } else { Version::Cdf5 };
        let mut header = Header {
            version,
            numrecs: NumRecs::Count(0),
            dimensions: Vec::new(),
            attributes: vec![Attribute { name: MARK.0.into(), ty: NcType::Char, values: MARK.1.into() }],
            variables: Vec::new(),
        };
        let mut lens = HashMap::new();
        let mut names: HashMap<Vec<u8>, u32> = HashMap::new();
        for column in &columns {
            let elements = (column.bytes.len() / column.ty.size()) as u64;
            // In a truncated file the last row is incomplete.
            let row = column.inner.iter().try_fold(1_u64, |all, n| all.checked_mul(*n));
            let row = row.filter(|row| *row > 0 && elements.is_multiple_of(*row));
            let shape: Vec<u64> = match row {
                Some(row) => std::iter::once(elements / row).chain(column.inner.iter().copied()).collect(),
                None => vec![elements],
            };
            let mut dimension = |len: u64| {
                *lens.entry(len).or_insert_with(|| {
                    header.dimensions.push(Dimension { name: format!("n{len}").into_bytes(), len });
                    DimId(u32::try_from(header.dimensions.len() - 1).unwrap_or(u32::MAX))
                })
            };
            let dimensions = shape.iter().filter(|_| elements > 0).map(|len| dimension(*len)).collect();
            header.variables.push(Variable {
                name: unique(&column.name, &mut names),
                dimensions,
                attributes: Vec::new(),
                ty: column.ty,
                vsize: 0,
                begin: 0,
            });
        }
        let arranged = arrange(header, 0)?;
        let mut file = vec![0; usize::try_from(arranged.layout.file_len).unwrap_or(usize::MAX)];
        file[..arranged.header_bytes.len()].copy_from_slice(&arranged.header_bytes);
        for (variable, column) in arranged.header.variables.iter().zip(&columns) {
            let at = usize::try_from(variable.begin).unwrap_or(usize::MAX);
            file[at..at + column.bytes.len()].copy_from_slice(&column.bytes);
        }
        Ok(file)
    }
}

/// Returns the name, with a number appended if it is taken.
fn unique(name: &[u8], taken: &mut HashMap<Vec<u8>, u32>) -> Vec<u8> {
    let mut found = name.to_vec();
    while taken.contains_key(&found) {
        let next = taken.entry(name.to_vec()).or_insert(1);
        *next += 1;
        found = [name, format!(".{next}").as_bytes()].concat();
    }
    taken.insert(found.clone(), 1);
    found
}
