//! All thresholds for planning arrays: one value for each preset.

use crate::options::Preset;
use nc3z_format::archive::PackEffort;
use nc3z_format::codec::StageSpec;
use nc3z_format::num::Effort;

/// The effort of a preset, and its thresholds.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    /// The effort of the numeric codec's chooser for each array.
    pub(crate) effort: Effort,
    /// Number of plans requested from the chooser at each effort.
    pub(crate) numeric_plans: usize,
    /// Lower efforts whose plans are also tried on the samples.
    pub(crate) quicker: &'static [Effort],
    /// zstd level of chains of bytes, of containers and of lists of constants.
    pub(crate) zstd_level: i32,
    /// zstd level of text where `zstd_level` saves little on the samples.
    pub(crate) least_level: i32,
    /// zstd level of text that is a small part of the source, or repeats so often that the level is quick; `None`: never
    /// higher than `zstd_level`.
    pub(crate) text_level: Option<i32>,
    /// Enables the trial of text by columns.
    pub(crate) text_columns: bool,
    /// The head copy and each section are packed at quick levels if they are, unpacked, at most 1/`section_share` of the source;
    /// `None`: always at the highest level.
    pub(crate) section_share: Option<u64>,
    /// Bytes of a tile, before compression.
    pub(crate) tile_len: u64,
    /// Rules for shorter tiles of long arrays; `None`: tiles keep their length.
    pub(crate) finer: Option<FinerPolicy>,
    /// The size of the samples.
    pub(crate) samples: SamplePolicy,
    /// The number of plans tried on each tile of an array, besides the best plan on the samples.
    pub(crate) alternatives: AlternativePolicy,
    /// Short arrays that share containers of zstd; `None`: all are stored as byte planes.
    pub(crate) short: Option<ShortPolicy>,
    /// Arrays that share containers of LZMA, by the bytes that each adds; `None`: none.
    pub(crate) shared: Option<SharedPolicy>,
    /// Enables trials of other LZMA contexts for containers.
    pub(crate) lzma_rivals: bool,
    /// Enables coding of arrays relative to nearly equal ones.
    pub(crate) references: bool,
    /// A tile that takes more than this many hundredths of its estimate from the samples is tried with the
    /// plan's fallbacks; `None`: no estimates, and each tile is encoded once.
    pub(crate) estimate_percent: Option<u64>,
    /// Tries zstd on such a tile only if a quick level shows that it may win.
    pub(crate) probed: bool,
}

/// Short arrays that share containers of zstd. Lengths are bytes before compression.
#[derive(Debug, Clone)]
pub(crate) struct ShortPolicy {
    /// In sources with more bytes of arrays than this, all short arrays stay byte planes.
    pub(crate) source_len: u64,
    /// The limit for the number of arrays: each array costs some work, however short it is.
    pub(crate) arrays: usize,
    /// Arrays up to this length are encoded whole by each candidate plan.
    pub(crate) trial_len: usize,
    /// The number of arrays of one kind for which a plan is searched. All other arrays of that kind get the most frequent of
    /// these plans.
    pub(crate) searched: usize,
    /// zstd level for the estimates of one array, and of all arrays together.
    pub(crate) estimate_level: i32,
}

/// The part of an array that is sampled. Lengths are bytes before compression.
#[derive(Debug, Clone)]
pub(crate) struct SamplePolicy {
    /// The number of samples of an array.
    pub(crate) count: u64,
    /// Arrays of at most this many bytes are sampled whole.
    pub(crate) whole_len: usize,
    /// Bytes of a sample, if planes are not longer.
    pub(crate) len: u64,
    /// Upper limit for the bytes of a sample, whatever the length of its planes.
    pub(crate) most: u64,
    /// Least number of planes in a sample, up to `most` bytes: prediction in time and scale-offset by plane
    /// show only with two or more.
    pub(crate) planes: u64,
    /// Arrays up to this length are encoded whole by each candidate plan, in sources up to `small_source`.
    pub(crate) trial_len: usize,
    /// Bytes of all arrays of a small source.
    pub(crate) small_source: u64,
    /// Arrays up to this length are encoded whole in larger sources.
    pub(crate) trial_len_large: usize,
    /// Arrays up to this length are read whole if a dictionary of their values may save bytes.
    pub(crate) scan_len: u64,
}

/// Shorter tiles of long arrays.
#[derive(Debug, Clone)]
pub(crate) struct FinerPolicy {
    /// Arrays with fewer tiles keep their tiles: a trial encodes some of them twice.
    pub(crate) tiles: u64,
    /// The number of tiles, evenly spread, that are tried both whole and cut into shorter ones.
    pub(crate) samples: u64,
    /// The factor by which tiles become shorter, if rows and planes allow it.
    pub(crate) times: u64,
    /// The largest size of the shorter tiles, in thousandths of the long tiles' size.
    pub(crate) most_permille: u32,
}

/// Plans that are tried on each tile.
#[derive(Debug, Clone)]
pub(crate) struct AlternativePolicy {
    /// The number of plans besides the best one.
    pub(crate) count: usize,
    /// A plan that takes more than this many hundredths of the best plan's bytes on the samples is dropped.
    pub(crate) percent: u64,
    /// Bytes that a plan may exceed this limit by: short samples are imprecise.
    pub(crate) slack: u64,
}

/// zstd's level for a quick look at repeats over a distance.
pub(crate) const QUICK_LEVEL: i32 = 3;
/// The quick level's result may be this many hundredths of another codec's result: zstd's higher levels gain
/// no more than that.
pub(crate) const LEVELS_GAIN: u64 = 135;

/// Short arrays that share containers. Lengths are bytes before compression.
#[derive(Debug, Clone)]
pub(crate) struct SharedPolicy {
    /// Shared containers are not tried in sources with more bytes of arrays than this.
    pub(crate) source_len: u64,
    /// The limit for the number of arrays: each array costs some work, however short it is.
    pub(crate) arrays: usize,
    /// A longer array goes into no shared container.
    pub(crate) array_len: u64,
    /// Limit for the bytes that are packed to compare arrays, in their order.
    pub(crate) trial_len: u64,
    /// A container is closed once it has this many bytes: reading one element decodes the whole container.
    pub(crate) container_len: usize,
    /// Element sizes with fewer bytes than this are packed together with the element size that has most bytes.
    pub(crate) least_pool: u64,
    /// LZMA packs about 2 MB a second. Arrays are compared only if it is expected to save at least
    /// 1/`one_saved_of` of the bytes. `None`: always.
    pub(crate) one_saved_of: Option<u64>,
    /// zstd's level for bytes that are compared with LZMA.
    pub(crate) level: i32,
    /// LZMA's preset for the comparison: presets up to 3 search for matches several times as fast as presets
    /// from 4 on, and find 1 % less.
    pub(crate) preset: u32,
}

const SAMPLES: SamplePolicy = SamplePolicy {
    count: 3,
    len: 256 << 10,
    most: 2 << 20,
    planes: 2,
    whole_len: 512 << 10,
    trial_len: 512 << 10,
    small_source: 4 << 20,
    trial_len_large: 32 << 10,
    scan_len: 64 << 20,
};

const SHARED: SharedPolicy = SharedPolicy {
    source_len: 4 << 20,
    arrays: 2048,
    array_len: 1 << 20,
    trial_len: 4 << 20,
    container_len: 2 << 20,
    least_pool: 4 << 10,
    one_saved_of: None,
    level: 19,
    preset: 6,
};

const FINER: FinerPolicy = FinerPolicy { tiles: 16, samples: 3, times: 4, most_permille: 1005 };

const NO_ALTERNATIVES: AlternativePolicy = AlternativePolicy { count: 0, percent: 100, slack: 0 };

const SHORT: ShortPolicy =
    ShortPolicy { source_len: 32 << 20, arrays: 2048, trial_len: 8 << 10, searched: 48, estimate_level: 3 };

const FAST: Policy = Policy {
    effort: Effort::Fast,
    numeric_plans: 1,
    quicker: &[],
    zstd_level: 1,
    least_level: 1,
    text_level: None,
    text_columns: false,
    section_share: Some(6),
    tile_len: 1 << 20,
    finer: Some(FinerPolicy { most_permille: 1010, ..FINER }),
    samples: SAMPLES,
    alternatives: NO_ALTERNATIVES,
    short: None,
    shared: None,
    lzma_rivals: false,
    references: true,
    estimate_percent: None,
    probed: true,
};

const DEFAULT: Policy = Policy {
    effort: Effort::Default,
    zstd_level: 9,
    text_level: Some(19),
    text_columns: true,
    section_share: Some(64),
    finer: Some(FINER),
    samples: SamplePolicy { trial_len: 0, trial_len_large: 0, ..SAMPLES },
    short: Some(SHORT),
    estimate_percent: Some(115),
    shared: Some(SharedPolicy {
        trial_len: 1 << 20,
        container_len: 512 << 10,
        one_saved_of: Some(50),
        level: 9,
        preset: 3,
        ..SHARED
    }),
    ..FAST
};

const MAX: Policy = Policy {
    effort: Effort::Max,
    numeric_plans: 6,
    quicker: &[Effort::Default, Effort::Fast],
    zstd_level: 19,
    least_level: 19,
    text_columns: true,
    section_share: None,
    tile_len: 4 << 20,
    finer: Some(FinerPolicy { tiles: 4, samples: 2, times: 16, most_permille: 995 }),
    samples: SAMPLES,
    alternatives: AlternativePolicy { count: 2, percent: 110, slack: 64 },
    estimate_percent: Some(115),
    short: Some(ShortPolicy { source_len: 4 << 20, searched: usize::MAX, estimate_level: 19, ..SHORT }),
    shared: Some(SHARED),
    lzma_rivals: true,
    probed: false,
    ..FAST
};

impl Policy {
    pub(crate) const fn for_preset(preset: Preset) -> &'static Policy {
        match preset {
            Preset::Fast => &FAST,
            Preset::Default => &DEFAULT,
            Preset::Max => &MAX,
        }
    }

    /// The codec that ends chains of bytes.
    pub(crate) fn codec(&self) -> StageSpec {
        StageSpec::zstd(self.zstd_level)
    }

    /// Returns the effort to pack a head copy or a section of `len` bytes, if the source has `source_len` bytes.
    pub(crate) fn pack_effort(&self, len: usize, source_len: u64) -> PackEffort {
        let is_small =
            |share: u64| u64::try_from(len).is_ok_and(|len| len.saturating_mul(share) <= source_len);
        if self.section_share.is_some_and(is_small) { PackEffort::Quick } else { PackEffort::Full }
    }

    /// Bytes at which shared containers of unencoded arrays are closed.
    pub(crate) const fn shared_len(&self) -> usize {
        match &self.shared {
            Some(shared) => shared.container_len,
            None => SHARED.container_len,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_looks_no_less_hard_than_the_one_before() {
        let [fast, default, max] = [Preset::Fast, Preset::Default, Preset::Max].map(Policy::for_preset);
        for (less, more) in [(fast, default), (default, max)] {
            assert!(less.zstd_level <= more.zstd_level && less.tile_len <= more.tile_len);
            assert!(less.alternatives.count <= more.alternatives.count);
            assert!(less.samples.trial_len_large <= less.samples.trial_len);
        }
        assert!(max.shared.as_ref().is_some_and(|s| s.array_len <= s.container_len as u64));
    }
}
