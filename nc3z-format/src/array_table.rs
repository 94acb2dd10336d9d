//! All arrays of an archive that have tiles: variables, paddings, the gap. One lookup for writer and reader.

use crate::archive::{ArrayId, Role, TileLayoutSpec};
use crate::classic::{Header, Layout, VarId};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::tile::{Edge, TileExtent, TileLayout, Tiling};
use crate::types::NcType;

/// One array that is cut into tiles.
#[derive(Debug, Clone)]
pub struct ArrayInfo {
    /// Its id in block headers and in the index.
    pub id: ArrayId,
    /// Type of its elements; bytes for padding and gap.
    pub ty: NcType,
    /// Its shape, the number of present elements, and its tiles. If the shape in the header is larger than an array can be,
    /// this is the shape of a flat array of the present elements.
    pub tiling: Tiling,
}

impl ArrayInfo {
    /// Bytes of all present elements.
    pub fn total_bytes(&self) -> u64 {
        self.tiling.present() * self.ty.size() as u64
    }

    /// Decoded bytes of a tile.
    ///
    /// # Errors
    /// No such tile.
    pub fn tile_len(&self, tile: u64) -> Result<usize> {
        let bytes = self.tiling.tile_elements(tile)? * self.ty.size() as u64;
        usize::try_from(bytes).map_err(|_| Error::limit("tile", None, "length", usize::MAX as u64, bytes))
    }

    /// First byte (in the flattened array) and length of a linear tile.
    ///
    /// # Errors
    /// No such tile, or the tiles are chunks.
    pub fn tile_bytes(&self, tile: u64) -> Result<(u64, usize)> {
        match self.tiling.extent(tile)? {
            TileExtent::Linear { first, .. } => Ok((first * self.ty.size() as u64, self.tile_len(tile)?)),
            TileExtent::Chunk { .. } => Err(Error::invalid("a chunk is not one byte range of the array")),
        }
    }

    /// Returns the tiling of the array's bytes. It has one more dimension, the bytes of an element, so that code that copies
    /// parts of tiles needs no special case for runs that begin inside an element.
    ///
    /// # Errors
    /// The array has more bytes than an array may have elements.
    pub fn byte_tiling(&self) -> Result<Tiling> {
        let size = self.ty.size() as u64;
        let shape: Vec<u64> = self.tiling.shape().iter().copied().chain([size]).collect();
        let layout = match self.tiling.layout() {
            TileLayout::Linear { len } => TileLayout::linear(len.saturating_mul(size)),
            TileLayout::Chunked { shape: chunk, edge } => {
                // A layout may state clipped chunks that are longer than the array; a clipped chunk never extends past it.
                let within = |(c, n): (&u64, &u64)| match edge {
                    Edge::Clipped => (*c).min((*n).max(1)),
                    Edge::Padded => *c,
                };
                let chunk = chunk.iter().zip(self.tiling.shape()).map(within).chain([size]);
                TileLayout::chunked(chunk.collect::<Vec<_>>(), *edge)
            }
        };
        layout.bind(&shape, self.total_bytes())
    }

    /// Bytes of a full linear tile; `None` for chunks.
    pub fn linear_tile_len(&self) -> Option<u64> {
        match self.tiling.layout() {
            TileLayout::Linear { len } => Some(len.saturating_mul(self.ty.size() as u64)),
            TileLayout::Chunked { .. } => None,
        }
    }
}

/// The arrays of one archive.
#[derive(Debug, Clone)]
pub struct Arrays {
    /// Number of each variable's array, with the variable; ascending. Empty where they are the same.
    numbers: Vec<(u32, VarId)>,
    variables: Vec<ArrayInfo>,
    paddings: Vec<ArrayInfo>,
    gap: ArrayInfo,
}

impl Arrays {
    /// Binds the tile layouts of a head copy to the arrays that the classic header and file length define.
    /// Aliased variables are arrays without tiles.
    ///
    /// # Errors
    /// Layouts that do not fit: wrong number, wrong rank, a tile longer than `limits` allow.
    pub fn new(
        header: &Header,
        layout: &Layout,
        variables: &[TileLayoutSpec],
        paddings: &[u64],
        gap: u64,
        limits: &Limits,
    ) -> Result<Self> {
        let numbers: Vec<u32> = (0u32..).zip(&header.variables).map(|(number, _)| number).collect();
        Self::with_numbers(header, layout, &numbers, variables, paddings, gap, limits)
    }

    /// As [`Arrays::new`], for a later head, which gives the number of each variable's array.
    ///
    /// # Errors
    /// As [`Arrays::new`].
    pub fn with_numbers(
        header: &Header,
        layout: &Layout,
        numbers: &[u32],
        variables: &[TileLayoutSpec],
        paddings: &[u64],
        gap: u64,
        limits: &Limits,
    ) -> Result<Self> {
        check_count("numbers of arrays", header.variables.len(), numbers.len())?;
        check_count("tile layouts", header.variables.len(), variables.len())?;
        let padded = padded_variables(layout);
        check_count("padding tile lengths", padded.len(), paddings.len())?;
        let variables = numbers.iter().zip(&layout.variables).zip(variables).map(|((&number, v), spec)| {
            let present = if v.owned { v.present } else { 0 };
            bind(ArrayId::variable(number), v.ty, spec, &v.shape, present, limits)
        });
        let variables = variables.collect::<Result<Vec<_>>>()?;
        let bytes = |id, len: u64, present: u64| {
            bind(id, NcType::UByte, &TileLayoutSpec::Linear(len), &[present], present, limits)
        };
        let paddings = padded
            .iter()
            .zip(paddings)
            .map(|(&(var, present), &len)| bytes(ArrayId::padding(numbers[var.index()]), len, present))
            .collect::<Result<Vec<_>>>()?;
        let gap = bytes(ArrayId::GAP, gap, layout.gaps.len())?;
        let mut by_number = Vec::new();
        if numbers.iter().zip(0..).any(|(&number, variable)| number != variable) {
            by_number = numbers.iter().copied().zip((0..).map(VarId)).collect();
            by_number.sort_unstable();
        }
        Ok(Arrays { numbers: by_number, variables, paddings, gap })
    }

    /// The variable that has the array with this number.
    fn variable_with(&self, number: u32) -> Option<VarId> {
        if self.numbers.is_empty() {
            return Some(VarId(number)).filter(|v| v.index() < self.variables.len());
        }
        let at = self.numbers.binary_search_by_key(&number, |&(n, _)| n).ok()?;
        Some(self.numbers[at].1)
    }

    /// The variable that an array, a padding or definitions belong to.
    pub fn variable_of(&self, id: ArrayId) -> Option<VarId> {
        match id.role() {
            Role::Variable(number) | Role::Padding(number) | Role::Definitions(number) => {
                self.variable_with(number)
            }
            _ => None,
        }
    }

    /// The number of a variable's array, which its padding and its definitions share.
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn number_of(&self, var: VarId) -> u32 {
        self.variable(var).id.0
    }

    /// The file offset of a byte of an array's flattened form, and how many bytes follow it there without a break.
    pub fn byte_run(&self, layout: &Layout, array: ArrayId, byte: u64) -> Option<(u64, u64)> {
        let in_header = match array.role() {
            Role::Variable(number) => ArrayId::variable(self.variable_with(number)?.0),
            Role::Padding(number) => ArrayId::padding(self.variable_with(number)?.0),
            _ => array,
        };
        byte_run(layout, in_header, byte)
    }

    /// A variable's array.
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn variable(&self, var: VarId) -> &ArrayInfo {
        &self.variables[var.index()]
    }

    /// The array of a record variable's padding, if it has any.
    pub fn padding(&self, var: VarId) -> Option<&ArrayInfo> {
        let id = ArrayId::padding(self.variables.get(var.index())?.id.0);
        // The paddings are in the order of the header, which is the order of their ids except in later heads.
        match self.paddings.binary_search_by_key(&id, |a| a.id) {
            Ok(i) if self.numbers.is_empty() => Some(&self.paddings[i]),
            _ => self.paddings.iter().find(|a| a.id == id),
        }
    }

    /// The array of the gap: bytes of no other array.
    pub fn gap(&self) -> &ArrayInfo {
        &self.gap
    }

    /// An array by id.
    pub fn get(&self, id: ArrayId) -> Option<&ArrayInfo> {
        match id.role() {
            Role::Variable(number) => self.variable_with(number).map(|v| &self.variables[v.index()]),
            Role::Padding(number) => self.padding(self.variable_with(number)?),
            Role::Gap => Some(&self.gap),
            _ => None,
        }
    }

    /// All arrays, in the header's order: ascending by id, but for later heads.
    pub fn iter(&self) -> impl Iterator<Item = &ArrayInfo> {
        self.variables.iter().chain(&self.paddings).chain(std::iter::once(&self.gap))
    }
}

/// Record variables that have a padding pseudo-variable, in id order, each with its padding bytes inside the file.
pub fn padded_variables(layout: &Layout) -> Vec<(VarId, u64)> {
    if layout.records.is_none() {
        return Vec::new();
    }
    let padded =
        (0..).map(VarId).zip(&layout.variables).filter(|(_, v)| v.is_record && v.padded_len > v.slot_len);
    padded.map(|(id, v)| (id, v.padding_present)).collect()
}

/// The file offset of a byte of an array's flattened form, and how many bytes follow it there without a break. The array has the
/// variable's place in the header for a number.
pub fn byte_run(layout: &Layout, array: ArrayId, byte: u64) -> Option<(u64, u64)> {
    match array.role() {
        Role::Variable(v) => {
            let v = layout.variable(VarId(v))?;
            let (element, within) = (byte / v.element_size(), byte % v.element_size());
            let run = v.element_run(element)?;
            Some((run.offset + within, run.count * v.element_size() - within))
        }
        Role::Padding(v) => layout.variable(VarId(v))?.padding_run(byte).map(|run| (run.offset, run.count)),
        Role::Gap => layout.gaps.file_offset(byte),
        _ => None,
    }
}

fn check_count(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::corrupt("head copy", None, what, expected, found)) }
}

fn bind(
    id: ArrayId,
    ty: NcType,
    spec: &TileLayoutSpec,
    shape: &[u64],
    present: u64,
    limits: &Limits,
) -> Result<ArrayInfo> {
    let layout = match spec {
        TileLayoutSpec::Linear(len) => TileLayout::linear(*len),
        TileLayoutSpec::Chunked { shape, padded } => {
            TileLayout::chunked(shape.clone(), if *padded { Edge::Padded } else { Edge::Clipped })
        }
    };
    let place = || format!("head copy, tile layout of {id}");
    let tiling = match layout.bind(shape, present) {
        Ok(tiling) => tiling,
        // The header may claim a shape larger than an array can be. Only the present elements are real.
        Err(_) if matches!(layout, TileLayout::Linear { .. }) => layout
            .bind(&[present], present)
            .map_err(|e| Error::corrupt(place(), None, "tile layout", "one that fits the array", e))?,
        Err(e) => return Err(Error::corrupt(place(), None, "tile layout", "one that fits the array", e)),
    };
    if matches!(tiling.layout(), TileLayout::Chunked { .. }) && present < tiling.elements() && present > 0 {
        return Err(Error::corrupt(place(), None, "elements present", tiling.elements(), present));
    }
    let info = ArrayInfo { id, ty, tiling };
    if info.tiling.tile_count() > 0 {
        let len = info.tile_len(0)? as u64;
        if len > limits.tile_len {
            return Err(Error::limit(place(), None, "tile length in bytes", limits.tile_len, len));
        }
        // Padding costs a forger nothing: a chunk of a GiB for each of a thousand scalars.
        let most = limits.padded_chunk_len(present.saturating_mul(ty.size() as u64));
        if matches!(spec, TileLayoutSpec::Chunked { padded: true, .. }) && len > most {
            return Err(Error::limit(place(), None, "length of a padded chunk in bytes", most, len));
        }
    }
    Ok(info)
}
