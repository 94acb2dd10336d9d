//! Estimates an archive from samples: sizes and times for each preset, compared with gzip and netCDF-4.
//!
//! ```text
//! arrays ─▶ which pieces ─▶ choose as the writer does ─▶ encode and decode them ─▶ sums, scaled to the whole
//! ```
//! Sizes follow from the bytes alone. Times are measured and differ from run to run.

mod cost;
mod peers;
mod pieces;

use crate::error::{ErrorKind, Result};
use crate::options::{Preset, WriterOptions};
use crate::tiles::record_samples;
use cost::{Costs, Overhead};
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::classic::VarId;
use nc3z_reader::{ClassicFile, Monitor};
use peers::{Compared, gzip_len};
use pieces::Samples;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Bytes sampled for `fast` and `default`, by default; `max` samples half of that.
pub const DEFAULT_SAMPLE_LEN: u64 = 32 << 20;

/// The estimate for one file.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// Bytes of the file.
    pub file_len: u64,
    /// Bytes of the file that were sampled for the first preset.
    pub sampled_len: u64,
    /// True if the whole file was sampled. Sizes are then exact except for the overhead.
    pub whole: bool,
    /// Number of threads that the times apply to.
    pub threads: usize,
    /// One for each requested preset, in the order of the request.
    pub presets: Vec<PresetEstimate>,
    /// Estimates for other tools.
    pub peers: Vec<PeerEstimate>,
    /// One for each variable that has bytes, in id order.
    pub variables: Vec<VariableEstimate>,
}

/// The estimate for one preset.
#[derive(Debug, Clone)]
pub struct PresetEstimate {
    /// The preset of the estimate.
    pub preset: Preset,
    /// Bytes of the archive.
    pub stored_len: u64,
    /// Two standard errors of `stored_len`, relative: the possible error because of the choice of samples.
    pub uncertainty: f64,
    /// Seconds for archiving, including the check.
    pub archive_seconds: f64,
    /// Seconds for restoring.
    pub restore_seconds: f64,
}

/// The estimate for another tool.
#[derive(Debug, Clone)]
pub struct PeerEstimate {
    /// The tool and its setting.
    pub name: &'static str,
    /// Bytes that it stores.
    pub stored_len: u64,
}

/// The estimate for one variable.
#[derive(Debug, Clone)]
pub struct VariableEstimate {
    /// The number of the variable.
    pub id: VarId,
    /// Bytes of the variable in the file.
    pub original_len: u64,
    /// Sampled bytes; 0 if other variables of the same type and size represent this one.
    pub sampled_len: u64,
    /// Bytes in the archive, for each preset.
    pub stored_len: Vec<u64>,
    /// Bytes that other tools store, in the order of [`Estimate::peers`]; for gzip, of the variable alone.
    pub peer_len: Vec<u64>,
}

/// Estimates the archives of `presets` from about `sample_len` bytes of a file.
///
/// # Errors
/// Reading fails, or the monitor cancelled.
pub fn estimate(
    classic: &ClassicFile,
    presets: &[Preset],
    sample_len: u64,
    monitor: &dyn Monitor,
) -> Result<Estimate> {
    let mut out = Estimate {
        file_len: classic.source().len(),
        sampled_len: 0,
        whole: true,
        threads: rayon::current_num_threads(),
        presets: Vec::new(),
        peers: Vec::new(),
        variables: Vec::new(),
    };
    for (number, &preset) in presets.iter().enumerate() {
        let budget = if preset == Preset::Max { sample_len / 2 } else { sample_len };
        let options = WriterOptions::default().with_preset(preset);
        let samples = Samples::new(classic, &options, budget)?;
        let costs = measured(classic, &samples, &options, monitor)?;
        let overhead = Overhead::new(classic, &samples)?;
        out.presets.push(cost::preset_estimate(preset, &samples, &costs, &overhead, out.threads));
        if number == 0 {
            out.sampled_len = samples.sampled_len();
            out.whole = samples.is_whole();
            compare(classic, &samples, &mut out, sample_len, monitor)?;
        }
        for variable in &mut out.variables {
            let id = ArrayId::variable(variable.id.0);
            variable.stored_len.push(cost::array_len(&samples, &costs, id));
        }
    }
    if out.file_len <= cost::WRITTEN_LEN {
        // The file is so short that it is archived in memory.
        for estimate in &mut out.presets {
            let options = WriterOptions::default().with_preset(estimate.preset);
            estimate.stored_len = cost::written_len(classic, &options, monitor)?;
            estimate.uncertainty = 0.0;
        }
    }
    Ok(out)
}

/// Encodes all pieces, arrays in parallel.
fn measured(
    classic: &ClassicFile,
    samples: &Samples,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<Costs> {
    let records = record_samples(classic, samples.all())?;
    let one = |info: &&ArrayInfo| {
        go_on(monitor)?;
        cost::array_cost(classic, info, samples, &records, options, monitor)
    };
    let found = samples.sampled().collect::<Vec<_>>().par_iter().map(one).collect::<Result<_>>()?;
    Ok(Costs::new(found, options.preset))
}

/// Returns an error if the caller requested the interruption.
fn go_on(monitor: &dyn Monitor) -> Result<()> {
    if monitor.is_cancelled() { Err(ErrorKind::Interrupted.into()) } else { Ok(()) }
}

/// Estimates other tools from the same pieces.
fn compare(
    classic: &ClassicFile,
    samples: &Samples,
    out: &mut Estimate,
    sample_len: u64,
    monitor: &dyn Monitor,
) -> Result<()> {
    let one = |info: &&ArrayInfo| -> Result<(ArrayId, Compared)> {
        go_on(monitor)?;
        Ok((info.id, peers::compared(classic, info, samples)?))
    };
    let compared: BTreeMap<ArrayId, Compared> =
        samples.sampled().collect::<Vec<_>>().par_iter().map(one).collect::<Result<_>>()?;
    let mut totals = [0.0; 3];
    for info in samples.arrays() {
        let len = peers::array_len(samples, &compared, info);
        totals.iter_mut().zip(len).for_each(|(t, l)| *t += l);
        if let Role::Variable(v) = info.id.role() {
            out.variables.push(VariableEstimate {
                id: VarId(v),
                original_len: info.total_bytes(),
                sampled_len: samples.of(info.id).iter().map(|p| p.len as u64).sum(),
                stored_len: Vec::new(),
                peer_len: len.iter().map(|l| cost::whole(*l)).collect(),
            });
        }
    }
    let header = classic.header_bytes().len() as u64;
    let nc4 = |bytes: f64| cost::whole(bytes) + header;
    out.peers = vec![
        PeerEstimate { name: "gzip -6", stored_len: gzip_len(classic, sample_len, monitor)? },
        PeerEstimate { name: "netCDF-4, shuffle, deflate 1", stored_len: nc4(totals[1]) },
        PeerEstimate { name: "netCDF-4, shuffle, deflate 5", stored_len: nc4(totals[2]) },
    ];
    Ok(())
}
