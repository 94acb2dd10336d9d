//! Checks and measures every element of the quantized variables, once.

use super::source::QuantizedSource;
use crate::error::{ErrorKind, Result};
use nc3z_format::classic::VarId;
use nc3z_format::quantize::Loss;
use nc3z_reader::Monitor;
use rayon::prelude::*;

/// Bytes that are measured at a time.
const PIECE_LEN: u64 = 4 << 20;

/// A part of the work.
enum Piece {
    /// A byte range of a variable's flattened array, whole elements.
    Variable(VarId, u64, usize),
    Records(u64, u64),
}

/// Returns the loss of each quantized variable.
pub(super) fn measure(source: &QuantizedSource, monitor: &dyn Monitor) -> Result<Vec<Loss>> {
    let none = || vec![Loss::default(); source.quantized()];
    let one = |mut sum: Vec<Loss>, piece: Piece| -> Result<Vec<Loss>> {
        if monitor.is_cancelled() {
            return Err(ErrorKind::Interrupted.into());
        }
        match piece {
            Piece::Variable(id, first, len) => {
                if let Some(q) = source.position(id) {
                    sum[q] = sum[q].merge(source.measure_variable(id, first, len)?);
                }
            }
            Piece::Records(first, count) => {
                let losses = source.measure_records(first, count)?;
                sum.iter_mut().zip(losses).for_each(|(s, l)| *s = s.merge(l));
            }
        }
        Ok(sum)
    };
    pieces(source)
        .into_par_iter()
        .try_fold(none, one)
        .try_reduce(none, |a, b| Ok(a.into_iter().zip(b).map(|(a, b)| a.merge(b)).collect()))
}

/// Splits the work: one pass over the records for interleaved variables if records are short, and separate
/// pieces for the other variables.
fn pieces(source: &QuantizedSource) -> Vec<Piece> {
    let layout = source.layout();
    let mut pieces = Vec::new();
    let by_record = source.reads_whole_records();
    for (id, v) in (0..).map(VarId).zip(&layout.variables) {
        if source.position(id).is_none() || (v.is_record && by_record) {
            continue;
        }
        let total = v.present * v.element_size();
        let starts = (0..total.div_ceil(PIECE_LEN)).map(|i| i * PIECE_LEN);
        pieces.extend(starts.map(|first| {
            let len = usize::try_from(PIECE_LEN.min(total - first)).expect("at most PIECE_LEN");
            Piece::Variable(id, first, len)
        }));
    }
    let interleaved = (0..).map(VarId).zip(&layout.variables);
    let any = interleaved.into_iter().any(|(id, v)| v.is_record && source.position(id).is_some());
    if let (true, true, Some(records)) = (by_record, any, &layout.records) {
        let window = source.window();
        let starts = (0..records.count.div_ceil(window)).map(|i| i * window);
        pieces.extend(starts.map(|first| Piece::Records(first, window.min(records.count - first))));
    }
    pieces
}
