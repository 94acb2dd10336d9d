//! Estimates gzip and netCDF-4 on the same bytes, with this build's deflate.

use super::cost::{float, whole};
use super::pieces::{Piece, Samples, read};
use crate::error::Result;
use crate::scratch::with_scratch;
use nc3z_format::NcType;
use nc3z_format::archive::ArrayId;
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::codec::{Chain, ChainSpec, Registry, StageSpec};
use nc3z_reader::{ClassicFile, Monitor};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Bytes of the windows for gzip; gzip itself looks back 32 KiB.
const WINDOW_LEN: u64 = 1 << 20;

/// Stored bytes divided by raw bytes of one array: gzip, netCDF-4 with deflate 1, netCDF-4 with deflate 5.
pub(super) struct Compared([f64; 3]);

fn bound(stages: impl IntoIterator<Item = StageSpec>) -> Chain {
    Registry::default().bind(ChainSpec(stages.into_iter().collect()))
}

pub(super) fn compared(classic: &ClassicFile, info: &ArrayInfo, samples: &Samples) -> Result<Compared> {
    let size = info.ty.size();
    let deflated = |level| {
        let shuffle = (size > 1).then_some(StageSpec::shuffle(size));
        bound(shuffle.into_iter().chain([StageSpec::zlib(level)]))
    };
    // Level 1 of the zlib that netCDF-4 uses stores about as many bytes as level 2 of this zlib.
    let chains = [bound([StageSpec::gzip(6)]), deflated(2), deflated(5)];
    let (mut raw, mut stored) = (0.0, [0.0; 3]);
    // A few pieces suffice: deflate is slow, and its ratio differs little between pieces.
    let pieces: Vec<&Piece> = samples.of(info.id).iter().collect();
    let step = pieces.len().div_ceil(8).max(1);
    for piece in pieces.iter().step_by(step) {
        let bytes = read(classic, info, piece)?;
        raw += float(bytes.len() as u64);
        for (chain, sum) in chains.iter().zip(&mut stored) {
            let mut out = Vec::new();
            with_scratch(|scratch| chain.encode_bytes(&bytes, scratch, &mut out))?;
            *sum += float(out.len() as u64);
        }
    }
    Ok(Compared(stored.map(|s| if raw > 0.0 { s / raw } else { 1.0 })))
}

/// Estimates an array in other tools' files, from its own pieces or from those of similar arrays.
pub(super) fn array_len(
    samples: &Samples,
    compared: &BTreeMap<ArrayId, Compared>,
    info: &ArrayInfo,
) -> [f64; 3] {
    let told: Vec<&Compared> =
        samples.witnesses(info.id).iter().filter_map(|witness| compared.get(witness)).collect();
    let mut out = [0.0; 3];
    for (k, out) in out.iter_mut().enumerate() {
        let mean = told.iter().map(|c| c.0[k]).sum::<f64>() / float(told.len().max(1) as u64);
        // Small variables and coordinates are rarely compressed in netCDF-4, but can be.
        *out = mean * float(info.total_bytes());
    }
    debug_assert!(info.ty == NcType::Char || info.ty.size() <= 8);
    out
}

/// Estimates `gzip -6` of the whole file from windows spread over it.
pub(super) fn gzip_len(classic: &ClassicFile, sample_len: u64, monitor: &dyn Monitor) -> Result<u64> {
    let len = classic.source().len();
    let windows = len.div_ceil(WINDOW_LEN);
    let count = (sample_len / 4 / WINDOW_LEN).clamp(4, 64).min(windows);
    let chain = bound([StageSpec::gzip(6)]);
    let one = |i: u64| -> Result<(f64, f64)> {
        super::go_on(monitor)?;
        let first = (2 * i + 1) * windows / (2 * count).max(1) * WINDOW_LEN;
        let n = usize::try_from(WINDOW_LEN.min(len - first)).expect("a window");
        let bytes = classic.source().read_at(first, n)?;
        let mut out = Vec::new();
        with_scratch(|scratch| chain.encode_bytes(&bytes, scratch, &mut out))?;
        Ok((float(n as u64), float(out.len() as u64)))
    };
    let found = (0..count).into_par_iter().map(one).collect::<Result<Vec<_>>>()?;
    let (raw, stored) = found.iter().fold((0.0, 0.0), |(r, s), (a, b)| (r + a, s + b));
    Ok(if raw > 0.0 { whole(float(len) * stored / raw) } else { 20 })
}
