//! Elements that are inside the box of a selection and outside of the requested region.

/// A mask over some dimensions of a variable: true for cells outside of a region.
#[derive(Debug, PartialEq, Eq)]
pub struct Mask {
    /// The numbers of the variable's dimensions that are dimensions of the cells.
    dims: Vec<usize>,
    /// The lengths of these dimensions.
    shape: Vec<u64>,
    outside: Vec<bool>,
}

impl Mask {
    /// Makes a mask over the dimensions `dims` of a variable, which have the lengths `shape`. `outside` is row-major over them.
    pub fn new(dims: Vec<usize>, shape: Vec<u64>, outside: Vec<bool>) -> Self {
        Mask { dims, shape, outside }
    }

    /// Returns whether an element of the variable is outside of the region.
    pub fn is_outside(&self, index: &[u64]) -> bool {
        let flat = self.dims.iter().zip(&self.shape).fold(0, |flat, (d, len)| flat * len + index[*d]);
        usize::try_from(flat).is_ok_and(|flat| self.outside.get(flat).copied().unwrap_or(true))
    }
}
