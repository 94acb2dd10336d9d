//! All thresholds by which arrays are planned: one value for each preset.

use crate::options::Preset;
use nc3z_format::codec::StageSpec;
use nc3z_format::num::Effort;

/// How hard a preset looks, and what it may spend.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    /// What the numeric codec's chooser may spend on an array.
    pub(crate) effort: Effort,
    /// Plans that the chooser is asked for, at each effort.
    pub(crate) numeric_plans: usize,
    /// Efforts below it, whose plans are tried on the samples besides.
    pub(crate) quicker: &'static [Effort],
    /// zstd level of chains of bytes, of containers and of lists of constants.
    pub(crate) zstd_level: i32,
    /// Whether text is tried by columns.
    pub(crate) text_columns: bool,
    /// Bytes of a tile, before compression.
    pub(crate) tile_len: u64,
    /// When tiles of long arrays become shorter; `None`: never.
    pub(crate) finer: Option<FinerPolicy>,
    /// What of an array is looked at.
    pub(crate) samples: SamplePolicy,
    /// How many plans each tile of an array is tried with, besides the one that samples liked best.
    pub(crate) alternatives: AlternativePolicy,
    /// Short arrays that share containers of zstd; `None`: all as planes of bytes.
    pub(crate) short: Option<ShortPolicy>,
    /// Arrays that share containers of LZMA by what each adds to them; `None`: none.
    pub(crate) shared: Option<SharedPolicy>,
    /// Whether containers of LZMA are tried with other contexts too.
    pub(crate) lzma_rivals: bool,
    /// Whether arrays are coded against others that are nearly the same.
    pub(crate) references: bool,
    /// A tile that takes more than so many hundredths of what samples promised is tried with the plan's fallbacks; `None`: samples
    /// promise nothing, and each tile is encoded once.
    pub(crate) promised_percent: Option<u64>,
    /// Whether zstd is tried on such a tile only where a quick look says that it may win.
    pub(crate) probed: bool,
}

/// Short arrays that share containers of zstd. Lengths are bytes before compression.
#[derive(Debug, Clone)]
pub(crate) struct ShortPolicy {
    /// In sources with more bytes of arrays than this all of them stay planes of bytes.
    pub(crate) source_len: u64,
    /// So they do in sources of more arrays: each costs some work, however short.
    pub(crate) arrays: usize,
    /// Arrays up to this length are encoded whole by each promising plan.
    pub(crate) trial_len: usize,
    /// zstd level at which one array is estimated.
    pub(crate) estimate_level: i32,
    /// zstd level at which all of them are.
    pub(crate) container_level: i32,
}

/// What of an array is looked at. Lengths are bytes before compression.
#[derive(Debug, Clone)]
pub(crate) struct SamplePolicy {
    /// Samples of an array.
    pub(crate) count: u64,
    /// Arrays of at most so many bytes are looked at whole, unless in pieces.
    pub(crate) whole_len: usize,
    /// Of arrays of fewer bytes than this only short pieces are looked at: choosing costs the more in proportion the shorter
    /// an array is.
    pub(crate) pieces_below: u64,
    /// Elements of a piece.
    pub(crate) piece: u64,
    /// Bytes of one, where planes are not longer.
    pub(crate) len: u64,
    /// Bytes of one at most, whatever its planes.
    pub(crate) most: u64,
    /// Planes that a sample has at least, up to `most` bytes: prediction in time and scale-offset by plane need two to be seen.
    pub(crate) planes: u64,
    /// Arrays up to this length are encoded whole by each promising plan, in sources up to `small_source`.
    pub(crate) trial_len: usize,
    /// Bytes of all arrays of a small source.
    pub(crate) small_source: u64,
    /// Arrays up to this length are encoded whole in larger sources.
    pub(crate) trial_len_large: usize,
    /// Arrays up to this length are read whole where a dictionary of their values may pay.
    pub(crate) scan_len: u64,
}

/// Shorter tiles of long arrays.
#[derive(Debug, Clone)]
pub(crate) struct FinerPolicy {
    /// Arrays of fewer tiles keep them: a trial encodes some of them twice.
    pub(crate) tiles: u64,
    /// So many tiles, evenly spread, are tried whole and in shorter ones.
    pub(crate) samples: u64,
    /// How many times shorter tiles are, where rows and planes allow it.
    pub(crate) times: u64,
    /// What they may take, in thousandths of what long ones do.
    pub(crate) most_permille: u32,
}

/// Plans that each tile is tried with.
#[derive(Debug, Clone)]
pub(crate) struct AlternativePolicy {
    /// Their number, besides the best.
    pub(crate) count: usize,
    /// A plan that takes more than this many hundredths of the best plan's bytes on the samples is dropped.
    pub(crate) percent: u64,
    /// So many bytes more are forgiven: short samples tell little.
    pub(crate) slack: u64,
}

/// zstd's level for a quick look at what recurs at a distance.
pub(crate) const QUICK_LEVEL: i32 = 3;
/// What it leaves may be so many hundredths of what another codec leaves: zstd's higher levels gain no more than the rest.
pub(crate) const LEVELS_GAIN: u64 = 135;

/// Short arrays that share containers. Lengths are bytes before compression.
#[derive(Debug, Clone)]
pub(crate) struct SharedPolicy {
    /// Sources with more bytes of arrays than this are not looked at.
    pub(crate) source_len: u64,
    /// Nor are sources of more arrays: each costs some work, however short.
    pub(crate) arrays: usize,
    /// An array that is longer than this goes into no shared container.
    pub(crate) array_len: u64,
    /// Arrays are compared in order until so many bytes of them were packed for comparison.
    pub(crate) trial_len: u64,
    /// A container is closed once it holds so many bytes: who reads one element decodes all of it.
    pub(crate) container_len: usize,
    /// Kinds of elements with less than this are packed with the kind that has most.
    pub(crate) least_pool: u64,
    /// LZMA packs some 2 MB a second: arrays are compared where it is expected to save one byte of so many at least. `None`: always.
    pub(crate) one_saved_of: Option<u64>,
    /// zstd's level for what is compared with LZMA.
    pub(crate) level: i32,
    /// LZMA's preset for that: up to 3 it looks for matches several times as quickly as from 4 on, and finds 1 % less.
    pub(crate) preset: u32,
}

const SAMPLES: SamplePolicy = SamplePolicy {
    count: 3,
    len: 256 << 10,
    most: 2 << 20,
    planes: 2,
    whole_len: 512 << 10,
    pieces_below: 0,
    piece: 0,
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

const SHORT: ShortPolicy = ShortPolicy {
    source_len: 32 << 20,
    arrays: 2048,
    trial_len: 8 << 10,
    estimate_level: 3,
    container_level: 9,
};

const FAST: Policy = Policy {
    effort: Effort::Fast,
    numeric_plans: 1,
    quicker: &[],
    zstd_level: 1,
    text_columns: false,
    tile_len: 1 << 20,
    finer: Some(FinerPolicy { most_permille: 1010, ..FINER }),
    samples: SamplePolicy { pieces_below: 128 << 10, piece: 1024, ..SAMPLES },
    alternatives: NO_ALTERNATIVES,
    short: None,
    shared: None,
    lzma_rivals: false,
    references: true,
    promised_percent: None,
    probed: true,
};

const DEFAULT: Policy = Policy {
    effort: Effort::Default,
    zstd_level: 9,
    text_columns: true,
    finer: Some(FINER),
    samples: SamplePolicy { trial_len: 0, trial_len_large: 0, ..SAMPLES },
    short: Some(SHORT),
    promised_percent: Some(115),
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
    numeric_plans: 4,
    quicker: &[Effort::Default, Effort::Fast],
    zstd_level: 19,
    text_columns: true,
    tile_len: 4 << 20,
    finer: Some(FinerPolicy { tiles: 4, samples: 2, times: 16, most_permille: 995 }),
    samples: SAMPLES,
    alternatives: AlternativePolicy { count: 2, percent: 110, slack: 64 },
    promised_percent: Some(115),
    short: Some(ShortPolicy { source_len: 4 << 20, estimate_level: 19, container_level: 19, ..SHORT }),
    shared: Some(SHARED),
    lzma_rivals: true,
    probed: false,
    ..FAST
};

impl Policy {
    /// The policy of a preset.
    #[cfg(not(feature = "ablation"))]
    pub(crate) const fn of(preset: Preset) -> &'static Policy {
        Self::preset(preset)
    }

    /// The policy of a preset, without the rule that is switched off.
    #[cfg(feature = "ablation")]
    pub(crate) fn of(preset: Preset) -> &'static Policy {
        super::ablation::altered(Self::preset(preset))
    }

    const fn preset(preset: Preset) -> &'static Policy {
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

    /// Bytes at which shared containers of arrays as they are are closed.
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
        let [fast, default, max] = [Preset::Fast, Preset::Default, Preset::Max].map(Policy::of);
        for (less, more) in [(fast, default), (default, max)] {
            assert!(less.zstd_level <= more.zstd_level && less.tile_len <= more.tile_len);
            assert!(less.alternatives.count <= more.alternatives.count);
            assert!(less.samples.trial_len_large <= less.samples.trial_len);
        }
        assert!(max.shared.as_ref().is_some_and(|s| s.array_len <= s.container_len as u64));
    }
}
