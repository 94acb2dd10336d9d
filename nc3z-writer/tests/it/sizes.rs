//! The effect of presets and of other variables on sizes.

use crate::classic::{Model, Var};
use crate::support::archive_bytes;
use nc3z_format::NcType;
use nc3z_format::classic::Version;
use nc3z_writer::{Preset, WriterOptions};
use std::path::Path;

fn len(original: &[u8], preset: Preset) -> usize {
    archive_bytes(original, &WriterOptions::default().with_preset(preset)).len()
}

/// The size limit for a preset, given the quicker preset's size: blocks begin at multiples of 8 bytes.
fn allowed(quicker: usize) -> usize {
    quicker + quicker / 200 + 16
}

#[test]
fn no_preset_is_larger_than_a_quicker_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/classic");
    let names = ["numeric.nc", "smooth.nc", "etopo120.cdf", "numrecs_beyond_end.nc", "all_types_cdf5.nc"];
    for name in names {
        let original = std::fs::read(folder.join(name)).unwrap();
        let [fast, default, max] =
            [Preset::Fast, Preset::Default, Preset::Max].map(|preset| len(&original, preset));
        assert!(default <= allowed(fast), "{name}: default {default}, fast {fast} bytes");
        assert!(max <= allowed(default), "{name}: max {max}, default {default} bytes");
    }
}

#[test]
fn small_sources_are_archived_as_each_quicker_preset_does_too() {
    // Short text and counts, for which estimates and zstd's higher levels are least reliable.
    for seed in 0..40u32 {
        let vars = [8, 60 + 9 * u64::from(seed), 300].map(|len| Var::fixed(NcType::Short, &[len]));
        let mut bytes = Model::new(Version::Cdf1, 0, vars.to_vec()).build().bytes;
        let at = bytes.len() - 2 * (368 + 9 * seed as usize);
        let mut state = seed + 1;
        for (i, byte) in bytes[at..].iter_mut().enumerate() {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = if i % 7 < seed as usize % 7 {
                state.to_be_bytes()[0] >> 3
            } else {
                (i / 40).to_le_bytes()[0]
            };
        }
        let [fast, default, max] =
            [Preset::Fast, Preset::Default, Preset::Max].map(|preset| len(&bytes, preset));
        // `default` is three letters longer than `fast` and `max` in the metadata.
        assert!(default <= fast + 8, "{seed}: default {default}, fast {fast} bytes");
        assert!(max <= default + 8, "{seed}: max {max}, default {default} bytes");
    }
}

#[test]
fn a_field_that_turns_rough_behind_its_samples_falls_back() {
    // One variable of four tiles. It is smooth where samples are taken (the beginnings of the first, a middle and
    // the last tile). Elsewhere one short sequence of random bits repeats, which zstd finds and prediction does
    // not.
    let tile = 1usize << 18;
    let mut bytes =
        Model::new(Version::Cdf2, 0, vec![Var::fixed(NcType::Float, &[4 * tile as u64])]).build().bytes;
    let at = bytes.len() - 16 * tile;
    let mut seed = 9u32;
    let noise: Vec<u32> = (0..997)
        .map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed & 0x7EFF_FFFF
        })
        .collect();
    for (i, value) in bytes[at..].chunks_exact_mut(4).enumerate() {
        let smooth = i % tile < tile / 4 || i / tile == 3;
        let t = f32::from(u16::try_from(i % 50_000).unwrap()) / 900.0;
        let element = if smooth { t.sin().to_bits() } else { noise[i % noise.len()] };
        value.copy_from_slice(&element.to_be_bytes());
    }
    let [fast, default] = [Preset::Fast, Preset::Default].map(|preset| len(&bytes, preset));
    assert!(default <= allowed(fast), "default {default}, fast {fast} bytes");
    // Three quarters of three tiles are copies, which take almost no bytes.
    assert!(default < 2 * tile, "{default} bytes");
}

/// A file of `copies` short variables with the same smooth numbers.
fn copies(copies: usize) -> Vec<u8> {
    const N: usize = 1000;
    let vars = vec![Var::fixed(NcType::Float, &[N as u64]); copies];
    let mut bytes = Model::new(Version::Cdf1, 0, vars).build().bytes;
    let at = bytes.len() - copies * N * 4;
    for copy in bytes[at..].chunks_exact_mut(N * 4) {
        for (value, i) in copy.chunks_exact_mut(4).zip(0u16..) {
            let t = f32::from(i) / 150.0;
            value.copy_from_slice(&(280.0 + t.sin() * 9.0 + (t * 7.1).cos()).to_be_bytes());
        }
    }
    bytes
}

#[test]
fn what_recurs_in_short_variables_is_stored_once() {
    let [one, six] = [1, 6].map(|n| len(&copies(n), Preset::Default));
    // Five more variables in header and index, but not their values.
    assert!(six < one + 400, "{one} bytes with one, {six} with six of the same");
}

#[test]
fn what_lies_in_the_gap_may_be_what_arrays_had_before() {
    // Values without structure, and a copy of them after the variables, as programs leave it when they move
    // variables.
    let n = 2000;
    let mut bytes = Model::new(Version::Cdf1, 0, vec![Var::fixed(NcType::Float, &[n])]).build().bytes;
    let at = bytes.len() - 4 * usize::try_from(n).unwrap();
    let mut seed = 3u32;
    for byte in &mut bytes[at..] {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (seed >> 24) as u8;
    }
    let once = len(&bytes, Preset::Max);
    let twice = len(&[&bytes[..], &bytes[at..]].concat(), Preset::Max);
    assert!(twice < once + 400, "{once} bytes without a gap, {twice} with one that holds the same");
}

/// A pseudo-random number below `below` for a position.
fn hash(at: usize, below: u64) -> f64 {
    let mixed = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    f64::from(u32::try_from((mixed ^ mixed >> 27) % below).unwrap())
}

/// A variable of 600 rows of 500 values, in the order of the file.
fn rows(ty: NcType, value: &dyn Fn(usize) -> f64) -> Vec<u8> {
    const N: usize = 600 * 500;
    let mut bytes = Model::new(Version::Cdf1, 0, vec![Var::fixed(ty, &[600, 500])]).build().bytes;
    let at = bytes.len() - N * ty.size();
    for (i, element) in bytes[at..].chunks_exact_mut(ty.size()).enumerate() {
        #[expect(clippy::cast_possible_truncation, reason = "made values of the type")]
        match ty {
            NcType::Byte => element.copy_from_slice(&(value(i) as i8).to_be_bytes()),
            NcType::Short => element.copy_from_slice(&(value(i) as i16).to_be_bytes()),
            NcType::Float => element.copy_from_slice(&(value(i) as f32).to_be_bytes()),
            _ => element.copy_from_slice(&value(i).to_be_bytes()),
        }
    }
    bytes
}

/// The source is longer than those that are archived as each quicker preset does. Samples of noise rank plans to within some
/// thousandths, as `allowed` says.
#[test]
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn default_is_not_larger_than_fast_for_made_kinds() {
    let kinds: [(&str, &dyn Fn(usize, usize) -> f64); 10] = [
        ("steps", &|seed, i| hash(i / [10, 100, 1000, 7000][seed % 4], 1 << 20) / 9e3),
        ("few values", &|seed, i| hash(i + seed, [3, 9, 90, 900][seed % 4]) / 4.0),
        ("blocks", &|seed, i| {
            let side = [8, 20, 50, 100][seed % 4];
            hash(i / 500 / side * 500 + i % 500 / side, 7)
        }),
        ("noise", &|seed, i| hash(i + seed, 1 << 30) - 5e8),
        ("smooth", &|seed, i| {
            ((i / 500) as f64 / (9.0 + seed as f64)).sin() * ((i % 500) as f64 / 31.0).cos() * 90.0
        }),
        ("smooth with noise", &|seed, i| ((i % 500) as f64 / 40.0).sin() * 60.0 + hash(i, 2 << seed) / 64.0),
        ("hundredths", &|seed, i| {
            (((i / 500) as f64 / 50.0).sin() * 6e3 + hash(i, 3 << seed)).round() / 100.0
        }),
        ("repeats at a distance", &|seed, i| hash(i % [997, 5000, 20_011, 70_000][seed % 4], 1 << 30) - 5e8),
        ("few are not zero", &|seed, i| {
            if hash(i, 5 << (2 * seed)) < 1.0 { hash(i + 7, 1 << 16) } else { 0.0 }
        }),
        ("runs", &|seed, i| hash(i / (1 + i / 4000 % [7, 30, 90, 300][seed % 4]), 3)),
    ];
    let mut larger = Vec::new();
    for (name, value) in kinds {
        for (seed, ty) in [NcType::Byte, NcType::Short, NcType::Float, NcType::Double].into_iter().enumerate()
        {
            for seed in [seed, seed + 1] {
                let bytes = rows(ty, &|i| value(seed, i));
                let [fast, default] = [Preset::Fast, Preset::Default].map(|preset| {
                    let options = WriterOptions::default().with_preset(preset).with_tile_len(128 << 10);
                    archive_bytes(&bytes, &options).len()
                });
                if default > allowed(fast) {
                    larger.push(format!("{name}, {ty:?}, {seed}: default {default}, fast {fast} bytes"));
                }
            }
        }
    }
    assert!(larger.is_empty(), "{larger:#?}");
}

/// A float variable of `levels` levels of 128 by 128 with these values.
fn levels(levels: usize, value: impl Fn(usize, usize) -> f32) -> Vec<u8> {
    let shape = [levels as u64, 128, 128];
    let mut bytes = Model::new(Version::Cdf1, 0, vec![Var::fixed(NcType::Float, &shape)]).build().bytes;
    let at = bytes.len() - levels * 128 * 128 * 4;
    for (i, element) in bytes[at..].chunks_exact_mut(4).enumerate() {
        element.copy_from_slice(&value(i / (128 * 128), i % (128 * 128)).to_be_bytes());
    }
    bytes
}

#[test]
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as models pack them")]
fn each_level_has_its_own_scale_though_the_first_are_nearly_empty() {
    // An ocean model's field. Each level was packed into 60,000 steps between its minimum and maximum. The upper
    // levels (one tile is 16 levels) are almost empty.
    let bytes = levels(24, |level, i| {
        let valid = if level < 4 { i % 40 == 7 } else { i % 128 < 90 };
        let (row, column) = (i / 128, i % 128);
        let smooth = ((row as f64 / 20.0).sin() + (column as f64 / 30.0).cos() + 2.0) * 14_000.0;
        let k = smooth.round() + hash(i + level * 128 * 128, 16);
        let least = f64::from(-0.1_f32 - 0.013 * level as f32);
        let step = f64::from((0.21_f32 + 0.017 * level as f32) / 60_000.0);
        if valid { (least + k * step) as f32 } else { 1e20 }
    });
    for preset in [Preset::Fast, Preset::Default] {
        let stored = len(&bytes, preset);
        // About six bits of a value are noise, so hardly more than one byte of four remains.
        assert!(stored < bytes.len() / 4, "{stored} of {} bytes at {}", bytes.len(), preset.name());
    }
}

#[test]
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as a mean is stored")]
fn means_over_months_of_different_length_are_fractions_level_by_level() {
    // Means of 28 to 31 numbers that are multiples of 1/800.
    let bytes = levels(12, |month, i| {
        let days = [31.0, 28.0, 31.0, 30.0][month % 4];
        let sum = ((i as f64 / 700.0).sin() * 300_000.0).round() + hash(i * 12 + month, 1 << 13);
        (sum / (days * 800.0)) as f32
    });
    let stored = len(&bytes, Preset::Default);
    // 13 bits of noise are 0.41 of 32 bits; stored as floats, the values take half.
    assert!(stored < bytes.len() * 45 / 100, "{stored} of {} bytes", bytes.len());
}
