//! Tiles of long arrays become shorter if that hardly costs bytes, and otherwise keep their length.

use crate::classic::{Model, Sample, Var};
use crate::support::check;
use nc3z_format::NcType;
use nc3z_format::archive::TileLayoutSpec;
use nc3z_format::classic::Version;
use nc3z_reader::Archive;
use nc3z_writer::WriterOptions;

const PLANE: u64 = 64 << 10;
const PLANES: u64 = 64;

/// A file with one variable of 16 MiB, 64 planes; `element` computes an element from its plane and its place there.
fn sample(variable: Var, element: impl Fn(u32, u32) -> u32) -> Sample {
    let mut sample = Model::new(Version::Cdf2, PLANES, vec![variable]).build();
    let at = sample.bytes.len() - usize::try_from(4 * PLANE * PLANES).unwrap();
    let plane = u32::try_from(PLANE).unwrap();
    for (i, bytes) in (0..).zip(sample.bytes[at..].chunks_exact_mut(4)) {
        bytes.copy_from_slice(&element(i / plane, i % plane).to_be_bytes());
    }
    sample
}

fn fixed() -> Var {
    Var::fixed(NcType::Int, &[PLANES, 256, 256])
}

/// Random bits of a number: the finalizer of MurmurHash3.
fn noise(seed: u32) -> u32 {
    let a = (seed ^ seed >> 16).wrapping_mul(0x85EB_CA6B);
    let b = (a ^ a >> 13).wrapping_mul(0xC2B2_AE35);
    b ^ b >> 16
}

/// Slopes with some noise, different in each plane.
fn apart(plane: u32, place: u32) -> u32 {
    let slope = place % 256 * (noise(plane) >> 20) + place / 256 * (noise(!plane) >> 20);
    (noise(plane << 16 | place) & 0xFF) + slope
}

/// Returns the elements of a tile, after checking that every way of reading gives the original.
fn tile_len(sample: &Sample, options: &WriterOptions) -> u64 {
    let archive: Archive = check(sample, options, &[(9_000_000, 9_600_000)]);
    match &archive.head().layouts[..] {
        &[TileLayoutSpec::Linear(len)] => len,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tiles_of_planes_that_are_apart_become_planes() {
    let options = WriterOptions::default();
    assert_eq!(tile_len(&sample(fixed(), apart), &options), PLANE);
    let by_record = Var::record(NcType::Int, &[256, 256]);
    assert_eq!(tile_len(&sample(by_record, apart), &options), PLANE);
}

#[test]
fn planes_that_predict_each_other_stay_together() {
    let drifting = |plane: u32, place: u32| (noise(place) & 0xFFFF) + plane;
    assert_eq!(tile_len(&sample(fixed(), drifting), &WriterOptions::default()), 4 * PLANE);
}

#[test]
fn a_length_that_was_asked_for_stays() {
    let options = WriterOptions::default().with_tile_len(1 << 20);
    assert_eq!(tile_len(&sample(fixed(), apart), &options), 4 * PLANE);
}
