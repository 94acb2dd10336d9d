//! Archives quantized values. The rounded classic file is not written to disk: [`source::QuantizedSource`]
//! provides its bytes, and it is archived like any other file.
//!
//! ```text
//! original ─▶ choose variables ─▶ rewritten header ─▶ virtual classic file ─▶ the writer, unchanged
//!                   └─▶ proof and measurement of every element ─▶ metadata
//! ```

mod measure;
mod rewrite;
mod select;
mod source;

use crate::error::{ErrorKind, Result};
use crate::options::WriterOptions;
use measure::measure;
use nc3z_format::bytes::hex;
use nc3z_format::quantize::{LossRecord, VariableLoss};
use nc3z_reader::source::SharedSource;
use nc3z_reader::{ClassicFile, Monitor};
use rewrite::rewritten;
use select::selected;
use source::QuantizedSource;
use std::sync::Arc;

/// A quantized file with a description of its losses.
pub(crate) struct Quantized {
    pub(crate) classic: ClassicFile,
    /// The record of the losses in the metadata.
    pub(crate) record: LossRecord,
    /// Variables that `*` left out, each with the reason.
    pub(crate) skipped: Vec<String>,
}

/// Rounds the requested variables. Checks the error bound of every element, measures the errors, and returns
/// the quantized file.
///
/// # Errors
/// A name or type cannot be quantized, the file is cut short, or reading fails.
pub(crate) fn quantize(
    original: ClassicFile,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<Quantized> {
    let choice = selected(&original, options)?;
    let header = rewritten(&original, &choice.variables)?;
    let original = Arc::new(original);
    let source = QuantizedSource::new(Arc::clone(&original), &header, &choice.variables)?;
    let (sha256, losses) = rayon::join(
        || crate::source_digests::hash(&**original.source(), monitor),
        || measure(&source, monitor),
    );
    let (sha256, losses) = (sha256?, losses?);
    let variables = choice.variables.iter().zip(losses).map(|(chosen, loss)| VariableLoss {
        name: original.header().variables[chosen.variable.index()].name_lossy().into_owned(),
        quantize: chosen.quantizer.mode().to_string(),
        elements: original.layout().variables[chosen.variable.index()].present,
        changed: loss.changed,
        max_abs_error: loss.max_abs_error,
        max_rel_error: loss.max_rel_error,
    });
    let record = LossRecord {
        source_len: original.source().len(),
        source_sha256: hex(&sha256),
        variables: variables.collect(),
    };
    let shared: SharedSource = Arc::new(source);
    let classic =
        ClassicFile::from_source(shared, &nc3z_format::Limits::default()).map_err(ErrorKind::Source)?;
    Ok(Quantized { classic, record, skipped: choice.skipped })
}
