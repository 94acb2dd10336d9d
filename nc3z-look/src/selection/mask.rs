//! Which cells of a grid are outside of a region.

/// For each cell over some dimensions of a variable, whether it is outside of a region.
#[derive(Debug, PartialEq, Eq)]
pub struct Mask {
    /// Positions of the cells' dimensions among those of the variable.
    dims: Vec<usize>,
    /// Their lengths.
    shape: Vec<u64>,
    outside: Vec<bool>,
}

impl Mask {
    pub(super) fn new(dims: Vec<usize>, shape: Vec<u64>, outside: Vec<bool>) -> Self {
        Mask { dims, shape, outside }
    }

    /// Whether an element of the variable is outside of the region.
    pub fn is_outside(&self, index: &[u64]) -> bool {
        let flat = self.dims.iter().zip(&self.shape).fold(0, |flat, (d, len)| flat * len + index[*d]);
        usize::try_from(flat).is_ok_and(|flat| self.outside.get(flat).copied().unwrap_or(true))
    }
}
