//! An array as the planner's input.

use super::{Made, Policy};
use crate::encode::made_before;
use crate::error::{ErrorKind, Result};
use crate::options::WriterOptions;
use nc3z_format::archive::Role;
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::codec::{ChainSpec, Registry};
use nc3z_reader::ClassicFile;
use std::borrow::Cow;

/// The facts known of an array, including its samples.
pub(crate) struct Subject<'a> {
    pub(crate) info: &'a ArrayInfo,
    /// The registry that binds chains.
    pub(crate) registry: &'a Registry,
    /// Beginnings of some tiles, big-endian.
    pub(crate) samples: Vec<Cow<'a, [u8]>>,
    /// Big-endian values of `_FillValue` and `missing_value`.
    pub(crate) fills: Vec<Vec<u8>>,
    /// See [`nc3z_format::num::Extent::whole_len`].
    pub(crate) whole_len: usize,
    /// See [`nc3z_format::num::Extent::dictionary`].
    pub(crate) dictionary: bool,
    /// True if there is room for tiles that are encoded while plans are compared.
    pub(crate) keep: bool,
    /// Calls the sink with the whole array, piece after piece, until the sink says false.
    pub(crate) scan: &'a dyn Fn(&mut dyn FnMut(&[u8]) -> bool) -> Result<()>,
}

/// Wraps samples that were read separately.
pub(crate) fn read_apart<'a>(samples: Vec<Vec<u8>>) -> Vec<Cow<'a, [u8]>> {
    samples.into_iter().map(Cow::Owned).collect()
}

impl Subject<'_> {
    /// Bytes of all samples.
    pub(crate) fn sampled_len(&self) -> u64 {
        self.samples.iter().map(|s| s.len() as u64).sum()
    }
}

impl Subject<'_> {
    /// The array's only tile, if the choice of the plan has already encoded it by the plan's first chain.
    pub(super) fn made(&self, payload: Option<Vec<u8>>) -> Made {
        let made = match (payload, &self.samples[..]) {
            (Some(payload), [bytes]) if self.keep && self.info.tiling.tile_count() == 1 => {
                made_before(self.info, bytes, payload)
            }
            _ => None,
        };
        Made(made.into_iter().collect())
    }
}

/// The size in bytes of the largest array that is encoded whole by each candidate plan.
pub(crate) fn whole_len(arrays: &Arrays, policy: &Policy) -> usize {
    let total = arrays.iter().fold(0, |sum: u64, a| sum.saturating_add(a.total_bytes()));
    let samples = &policy.samples;
    if total <= samples.small_source { samples.trial_len } else { samples.trial_len_large }
}

/// The values of the variable's attributes that mark missing elements, big-endian.
pub(crate) fn fill_values(classic: &ClassicFile, info: &ArrayInfo) -> Vec<Vec<u8>> {
    let Role::Variable(v) = info.id.role() else { return Vec::new() };
    let variable = &classic.header().variables[v as usize];
    variable.own_fill_value().into_iter().chain(variable.missing_values()).map(<[u8]>::to_vec).collect()
}

/// The chain requested for a variable, bound to its type.
pub(super) fn requested_chain(
    classic: &ClassicFile,
    info: &ArrayInfo,
    options: &WriterOptions,
) -> Result<Option<ChainSpec>> {
    let Role::Variable(v) = info.id.role() else { return Ok(None) };
    let variable = &classic.header().variables[v as usize];
    let Some(wanted) = options.chains.of(&variable.name) else { return Ok(None) };
    let refused = |why: String| ErrorKind::Option {
        option: "chain",
        why: format!("variable `{}` of type {}: {why}", variable.name_lossy(), info.ty),
        advice: None,
    };
    let wanted = match &options.rounded {
        _ if !wanted.rounds(&options.registry) => Cow::Borrowed(wanted),
        Some(rounded) if rounded.contains(&variable.name) => Cow::Borrowed(wanted),
        Some(_) => Cow::Owned(wanted.without_rounding(&options.registry)),
        None => {
            let why = format!("{wanted} rounds values; only making an archive of a file does that");
            return Err(refused(why).into());
        }
    };
    let chain = wanted.bind(info.ty, &options.registry).map_err(|e| refused(e.to_string()))?;
    Ok(Some(chain))
}
