//! Decides which other archives of a short source are tried: those of the quicker presets, the short form, and the
//! file packed as a whole. The smallest is kept.

use crate::options::{Preset, WriterOptions};

/// Sources of at most this many bytes are also archived as each quicker preset does. Estimates are least reliable
/// for short sources, and the additional time is milliseconds.
const ALL_WAYS: u64 = 256 << 10;
/// The limit for [`Preset::Max`], which takes ten times as long as the other presets.
const ALL_WAYS_MAX: u64 = 4 << 20;
/// A file is packed as a whole only if that saves at least 1/`WORTH_IT` of the archive. Separate tiles limit
/// the effect of damage to one tile.
const WORTH_IT: u64 = 64;
/// Longer files are not packed as a whole: reading any value decodes all values.
pub(crate) const WHOLE: u64 = 128 << 10;
/// The largest archive in the short form, in bytes.
const SHORT: usize = 32 << 10;
/// Longer archives in the long form are not tried: the overhead of the long form without its blocks is only
/// some hundred bytes.
const LOOKED_AT: u64 = 64 << 10;

/// Returns the other presets that are tried for a source of `len` bytes.
pub(crate) fn quicker_presets(preset: Preset, len: u64) -> &'static [Preset] {
    let most = if preset == Preset::Max { ALL_WAYS_MAX } else { ALL_WAYS };
    if len <= most { preset.quicker() } else { &[] }
}

/// Returns the limit for the short form of an archive of `long` bytes; `None` if it is not tried.
pub(crate) fn short_limit(long: u64) -> Option<usize> {
    (long <= LOOKED_AT).then(|| usize::try_from(long).map_or(SHORT, |long| (long - 1).min(SHORT)))
}

/// Returns the largest length at which an archive that packs a source of `len` bytes as a whole replaces an archive of
/// `archive` bytes; `None` if packing as a whole is not tried. The limit depends on `quickest`, the length of the quickest
/// preset's archive. So all presets make the same choice, and no preset gives a larger archive than a quicker one.
pub(crate) fn longest_whole(
    len: u64,
    (archive, quickest): (u64, u64),
    options: &WriterOptions,
) -> Option<usize> {
    if len > WHOLE || !options.leaves_layout_open() {
        return None;
    }
    let most = archive.min(quickest - quickest / WORTH_IT) - 1;
    Some(usize::try_from(most).map_or(SHORT, |most| most.min(SHORT)))
}
