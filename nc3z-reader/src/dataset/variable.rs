//! One variable of a dataset.

use super::conversion::Conversion;
use super::read;
use super::source::ArraySource;
use super::tiles::TileIter;
use super::typed::Typed;
use crate::dataset::convert::Element;
use crate::error::{Error, Result};
use nc3z_format::classic::{Attribute, Dimension, VarId, VarLayout, Version};
use nc3z_format::plan::Plan;
use nc3z_format::selection::Hyperslab;
use nc3z_format::tile::Tiling;
use nc3z_format::{Error as FormatError, NcType, with_type};
use std::any::TypeId;
use std::borrow::Cow;
use std::sync::Arc;

/// A variable: its header entry and its elements.
///
/// It keeps its file open, may be sent to other threads, and is cheap to clone. Elements are in row-major
/// order of the *request*: a negative stride returns them backwards.
#[derive(Clone)]
pub struct Variable {
    source: Arc<dyn ArraySource>,
    id: VarId,
}

impl Variable {
    /// The caller has looked the id up in the header.
    pub(super) fn new(source: Arc<dyn ArraySource>, id: VarId) -> Self {
        Variable { source, id }
    }

    /// As [`crate::Dataset::check_unchanged`], of the variable's file.
    ///
    /// # Errors
    /// The file was written to.
    pub fn check_unchanged(&self) -> Result<()> {
        self.source.as_classic().map_or(Ok(()), |classic| classic.source().check_unchanged())
    }

    /// Its position in the header.
    pub fn id(&self) -> VarId {
        self.id
    }

    /// Its entry in the header.
    pub fn header(&self) -> &nc3z_format::classic::Variable {
        &self.source.header().variables[self.id.index()]
    }

    /// Its layout in the classic file, including the number of elements present.
    pub fn layout(&self) -> &VarLayout {
        &self.source.layout().variables[self.id.index()]
    }

    /// The source of the variable.
    pub fn source(&self) -> &Arc<dyn ArraySource> {
        &self.source
    }

    /// The name; bytes that are not UTF-8 are replaced.
    pub fn name(&self) -> Cow<'_, str> {
        self.header().name_lossy()
    }

    /// Returns the external type.
    pub fn ty(&self) -> NcType {
        self.header().ty
    }

    /// Lengths, slowest dimension first; the number of records in place of the record dimension.
    pub fn shape(&self) -> &[u64] {
        &self.layout().shape
    }

    /// Dimensions, slowest first.
    pub fn dimensions(&self) -> impl ExactSizeIterator<Item = &Dimension> {
        let all = &self.source.header().dimensions;
        // The parser has checked that each exists.
        self.header().dimensions.iter().map(|d| &all[d.index()])
    }

    /// Attributes in stored order.
    pub fn attributes(&self) -> &[Attribute] {
        &self.header().attributes
    }

    /// The first attribute of that name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.header().attribute(name.as_bytes())
    }

    /// Its tiling: an archive's tiles, or the pieces in which a classic file is read.
    ///
    /// # Errors
    /// None for a variable of an open file.
    pub fn tiling(&self) -> Result<Cow<'_, Tiling>> {
        self.source.tiling(self.id)
    }

    /// The hyperslab of all elements.
    pub fn all(&self) -> Hyperslab {
        Hyperslab::all(self.shape())
    }

    /// The plan to read a hyperslab: the tiles it touches, and the copies out of each. Nothing is read yet.
    ///
    /// # Errors
    /// A hyperslab that exceeds the variable; elements that the file does not contain.
    pub fn plan(&self, slab: &Hyperslab) -> Result<Plan> {
        read::plan(&*self.source, self.id, &*self.tiling()?, slab)
    }

    /// Reads a hyperslab as the big-endian bytes of the classic file.
    ///
    /// ```
    /// # let file = nc3z_reader::Dataset::open("../testdata/classic/record_padding.nc", &Default::default())?;
    /// use nc3z_format::Hyperslab;
    /// let a = file.variable("a")?; // short a(time=40, x=5); row 1 is 21, 22, -32768, 24, 25
    /// let mut out = [0; 6];
    /// a.read_bytes_into(&Hyperslab::new([1, 4], [1, 3], [1, -2])?, &mut out)?;
    /// assert_eq!(out, [0, 25, 0x80, 0, 0, 21]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A hyperslab that exceeds the variable; a buffer whose length differs from the hyperslab's; elements
    /// that the file does not contain; damage.
    pub fn read_bytes_into(&self, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        read::read_bytes(&*self.source, self.id, slab, out)
    }

    /// As [`Variable::read_bytes_into`], into a new buffer.
    ///
    /// # Errors
    /// As [`Variable::read_bytes_into`]; more bytes than memory holds.
    pub fn read_bytes(&self, slab: &Hyperslab) -> Result<Vec<u8>> {
        let mut out = self.room(slab, self.ty().size(), 0)?;
        self.read_bytes_into(slab, &mut out)?;
        Ok(out)
    }

    /// Reads a hyperslab's elements as numbers of `T`, converted where the variable is of another type: see
    /// [`crate::dataset::convert`].
    ///
    /// ```
    /// # let file = nc3z_reader::Dataset::open("../testdata/classic/record_padding.nc", &Default::default())?;
    /// use nc3z_format::Hyperslab;
    /// let a = file.variable("a")?; // short a(time=40, x=5); row 1 is 21, 22, -32768, 24, 25
    /// let row = Hyperslab::new([1, 0], [1, 5], [1, 1])?;
    /// let mut out = [0.0_f64; 5];
    /// a.read_into(&row, &mut out)?;
    /// assert_eq!(out, [21.0, 22.0, -32768.0, 24.0, 25.0]);
    /// let error = a.read_into(&row, &mut [0_u8; 5]).unwrap_err();
    /// assert_eq!(error.to_string(), "variable \"a\", element [1, 2]: -32768 does not fit u8");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::read_bytes_into`]; a value that does not fit `T`, with its index; `char` as anything but `u8`.
    pub fn read_into<T: Element>(&self, slab: &Hyperslab, out: &mut [T]) -> Result<()> {
        let is_u8 = TypeId::of::<T>() == TypeId::of::<u8>();
        let ty = match self.ty() {
            NcType::Char if !is_u8 => return Err(self.is_text(std::any::type_name::<T>())),
            // Before CDF-5 there was no unsigned type: the reader decides whether a byte has a sign.
            NcType::Byte if is_u8 && !self.has_unsigned() => NcType::UByte,
            ty => ty,
        };
        let from = with_type!(ty, S => Conversion::new::<S>());
        read::read(&*self.source, self.id, slab, &mut Typed { out, from })
    }

    /// As [`Variable::read_into`], into a new vector.
    ///
    /// ```
    /// # let file = nc3z_reader::Dataset::open("../testdata/classic/record_padding.nc", &Default::default())?;
    /// use nc3z_format::Hyperslab;
    /// let a = file.variable("a")?; // short a(time=40, x=5)
    /// let column = Hyperslab::new([0, 3], [3, 1], [1, 1])?;
    /// assert_eq!(a.read::<i32>(&column)?, [3, 24, 45]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::read_into`]; more elements than memory holds.
    pub fn read<T: Element>(&self, slab: &Hyperslab) -> Result<Vec<T>> {
        let mut out = self.room(slab, 1, T::default())?;
        self.read_into(slab, &mut out)?;
        Ok(out)
    }

    /// Reads a hyperslab into an array of the `ndarray` crate, with a dimension for each of the variable's.
    ///
    /// # Errors
    /// As [`Variable::read`].
    #[cfg(feature = "ndarray")]
    pub fn read_array<T: Element>(&self, slab: &Hyperslab) -> Result<ndarray::ArrayD<T>> {
        let values = self.read(slab)?;
        // Each count is at most the number of values read, unless some other count is 0.
        let shape: Vec<usize> =
            slab.count.iter().map(|n| usize::try_from(*n).unwrap_or(usize::MAX)).collect();
        ndarray::ArrayD::from_shape_vec(shape, values)
            .map_err(|e| FormatError::invalid(format!("selection {slab} as an array: {e}")).into())
    }

    /// The tiles in stored order, each decoded when the iterator reaches it. For a classic file, the pieces
    /// in which it is read.
    ///
    /// # Errors
    /// None for a variable of an open file.
    pub fn tiles(&self) -> Result<TileIter<'_>> {
        TileIter::new(self)
    }

    fn has_unsigned(&self) -> bool {
        self.source.header().version == Version::Cdf5
    }

    fn is_text(&self, wanted: &str) -> Error {
        let name = self.name();
        FormatError::invalid(format!(
            "variable \"{name}\" is text (char), which is read as u8 and not as {wanted}"
        ))
        .into()
    }

    /// A vector for `unit` values of `T` for each element of the hyperslab, which is checked first.
    pub(super) fn room<T: Clone>(&self, slab: &Hyperslab, unit: usize, value: T) -> Result<Vec<T>> {
        let elements = read::check(&*self.source, self.id, slab)?;
        filled(elements, unit, value, || format!("selection {slab}"))
    }
}

/// Returns a vector of `unit` values for each of some elements. An error of memory names `what` they are.
pub(super) fn filled<T: Clone>(
    elements: u64,
    unit: usize,
    value: T,
    what: impl Fn() -> String,
) -> Result<Vec<T>> {
    let mut out = Vec::new();
    let len = usize::try_from(elements).ok().and_then(|n| n.checked_mul(unit));
    let len = len.filter(|&n| out.try_reserve_exact(n).is_ok()).ok_or_else(|| {
        let bytes = elements.saturating_mul((unit * size_of::<T>()) as u64);
        FormatError::limit(what(), None, "bytes in memory", isize::MAX as u64, bytes)
    })?;
    out.resize(len, value);
    Ok(out)
}

impl std::fmt::Debug for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Variable")
            .field("id", &self.id)
            .field("header", self.header())
            .finish_non_exhaustive()
    }
}
