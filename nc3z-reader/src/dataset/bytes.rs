//! Whole variables of an archive and byte ranges of them, as big-endian bytes.

use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::tile::read_run;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::ArrayId;
use nc3z_format::array_table::byte_run;
use nc3z_format::classic::VarId;

impl Archive {
    /// Reads a variable as the big-endian bytes of the classic file, row-major.
    ///
    /// # Errors
    /// The original file lacks elements that its header claims; damage.
    pub fn read_variable_bytes(&self, var: VarId) -> Result<Vec<u8>> {
        let v = self.variable_layout(var)?;
        let size = v.ty.size() as u64;
        let claimed = v.elements.unwrap_or(u64::MAX);
        if v.present < claimed {
            let name = self.inner.store.describe(self.arrays().variable(var).id);
            let missing = claimed.saturating_sub(v.present).saturating_mul(size);
            return Err(FormatError::truncated(name, None, "elements", missing, v.present * size).into());
        }
        let total = v.present * size;
        let len = usize::try_from(total)
            .map_err(|_| FormatError::limit("variable", None, "length", usize::MAX as u64, total))?;
        let mut out = Vec::new();
        out.try_reserve_exact(len)
            .map_err(|_| FormatError::limit("variable", None, "length in memory", 0, total))?;
        out.resize(len, 0);
        self.read_variable_range(var, 0, &mut out)?;
        Ok(out)
    }

    /// Bytes `[first, first + out.len())` of a variable's flattened, big-endian array.
    ///
    /// # Errors
    /// A range beyond what is present; damage.
    pub fn read_variable_range(&self, var: VarId, first: u64, out: &mut [u8]) -> Result<()> {
        let v = self.variable_layout(var)?;
        let total = v.present * v.ty.size() as u64;
        if first.checked_add(out.len() as u64).is_none_or(|end| end > total) {
            let left = total.saturating_sub(first);
            let name = self.inner.store.describe(self.arrays().variable(var).id);
            return Err(FormatError::truncated(name, None, "elements", out.len() as u64 - left, left).into());
        }
        if !v.owned {
            // Its bytes belong to others: read them through the original file.
            return self.read_aliased(var, first, out);
        }
        read_run(&self.inner.store, &self.nearby, self.arrays().variable(var), first, out)
    }

    fn read_aliased(&self, var: VarId, mut first: u64, mut out: &mut [u8]) -> Result<()> {
        while !out.is_empty() {
            let (offset, run) =
                byte_run(self.layout(), ArrayId::variable(var.0), first).ok_or_else(|| {
                    let words = format!("byte {first} of variable {} is not in the file", var.0);
                    Error::from(FormatError::invalid(words))
                })?;
            let n = usize::try_from(run).map_or(out.len(), |n| n.min(out.len()));
            let (here, rest) = out.split_at_mut(n);
            self.read_original(offset, here)?;
            first += n as u64;
            out = rest;
        }
        Ok(())
    }
}
