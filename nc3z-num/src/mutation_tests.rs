//! Forged payloads: valid ones with changes in critical places. The result is an error or exactly the requested
//! elements, the same each time whatever the scratch was used for before, and in bounded memory.

use crate::*;
use proptest::prelude::*;
use std::sync::Arc;

/// One change of a payload.
#[derive(Debug, Clone)]
enum Change {
    Flip {
        at: prop::sample::Index,
        bit: u8,
    },
    Set {
        at: prop::sample::Index,
        byte: u8,
    },
    Insert {
        at: prop::sample::Index,
        bytes: Vec<u8>,
    },
    Delete {
        at: prop::sample::Index,
        count: usize,
    },
    /// A part of the other payload replaces the same number of bytes here.
    Splice {
        at: prop::sample::Index,
        from: prop::sample::Index,
        count: usize,
    },
    /// Changes a varint of the part lengths at the beginning.
    Length {
        which: usize,
        by: i8,
    },
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    // Bytes at the limits of fields are as frequent as all others together.
    let byte = prop_oneof![any::<u8>(), prop::sample::select(vec![0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0x28, 0xB5])];
    prop_oneof![
        (at(), 0u8..8).prop_map(|(at, bit)| Change::Flip { at, bit }),
        (at(), byte.clone()).prop_map(|(at, byte)| Change::Set { at, byte }),
        (at(), prop::collection::vec(byte, 1..9)).prop_map(|(at, bytes)| Change::Insert { at, bytes }),
        (at(), 1usize..9).prop_map(|(at, count)| Change::Delete { at, count }),
        (at(), at(), 1usize..40).prop_map(|(at, from, count)| Change::Splice { at, from, count }),
        (0usize..4, -3i8..4).prop_map(|(which, by)| Change::Length { which, by }),
    ]
}

fn apply(change: &Change, payload: &mut Vec<u8>, other: &[u8]) {
    if payload.is_empty() {
        return;
    }
    let n = payload.len();
    match change {
        Change::Flip { at, bit } => payload[at.index(n)] ^= 1 << bit,
        Change::Set { at, byte } => payload[at.index(n)] = *byte,
        Change::Insert { at, bytes } => {
            let at = at.index(n + 1);
            payload.splice(at..at, bytes.iter().copied());
        }
        Change::Delete { at, count } => {
            let at = at.index(n);
            payload.drain(at..n.min(at + count));
        }
        Change::Splice { at, from, count } => {
            let (at, from) = (at.index(n), from.index(other.len()));
            let part = &other[from..other.len().min(from + count)];
            payload.splice(at..n.min(at + count), part.iter().copied());
        }
        Change::Length { which, by } => {
            // The lengths follow the three fixed bytes. In payloads as small as these, each usually has one byte.
            if let Some(byte) = payload.get_mut(3 + which) {
                *byte = byte.wrapping_add_signed(*by);
            }
        }
    }
}

/// A payload that uses the parts named by `kind`, and its elements.
fn valid(kind: usize, dictionary: &Arc<Dictionary>) -> (Vec<u8>, Vec<u32>) {
    if kind == KINDS {
        return marked();
    }
    let coder = [Coder::Store, Coder::Zstd, Coder::Planes, Coder::Ctx, Coder::Mix][kind % 5];
    let transform = match kind / 5 % 5 {
        0 => TransformPlan::Ordered,
        1 => TransformPlan::ScaleOffset(ScaleOffset { off: 0.5, step: 0.25 }),
        2 => TransformPlan::ScaleOffset(ScaleOffset { off: 0.0, step: -100.0 }),
        3 => TransformPlan::ScaleOffsetPerPlane,
        _ => TransformPlan::Dictionary(Arc::clone(dictionary)),
    };
    let axes = [
        DeltaAxes::NONE,
        DeltaAxes::NEIGHBOURS.repeated(1, 0),
        DeltaAxes::ROWS_PLANES.repeated(0, 2),
        DeltaAxes::ROWS_PLANES.alone(),
        DeltaAxes::ROWS_PLANES.by_value(),
    ];
    let axes = axes[kind / 25 % 5];
    let mask = (kind / 125 % 2 == 1).then_some(u64::from(f32::to_bits(-9999.0)));
    let n = [1, 7, 300, 1500][kind / 250 % 4];
    let plan = EncodePlan { mask, transform, axes, coder, level: 3, ..EncodePlan::default() };
    let mut out = Vec::new();
    encode(&values(n), ElementType::F32, &geometry(), &plan, &mut Scratch::new(), &mut out).unwrap();
    (out, values(n))
}

/// A payload with exceptions as marks: five of twenty elements are not multiples of the step.
fn marked() -> (Vec<u8>, Vec<u32>) {
    let beside = |i: u16| f32::from(i).to_bits() + u32::from([1, 3, 4, 9, 12].contains(&i));
    let elements: Vec<u32> = (0..20).map(beside).collect();
    let transform = TransformPlan::ScaleOffset(ScaleOffset { off: 0.0, step: 1.0 });
    let plan = EncodePlan { transform, coder: Coder::Store, ..EncodePlan::default() };
    let (mut scratch, mut out) = (Scratch::new(), Vec::new());
    // The payload is longer than the elements.
    let geom = geometry();
    let task = crate::encode::Task {
        elements: &elements,
        ty: ElementType::F32,
        geom: &geom,
        planes: None,
        against: None,
        with_mask: true,
    };
    let staged = crate::encode::stage(&task, &plan, &mut scratch).unwrap();
    crate::encode::finish::<u32>(staged, elements.len(), &geom, &plan, &mut scratch, &mut out).unwrap();
    assert_eq!(out[1] >> 4 & 3, 2, "exceptions are marked");
    (out, elements)
}

fn geometry() -> Geometry {
    Geometry::new(&[5, 12, 20])
}

/// Quarters with a mask and a few other values, so that the payload has every part.
fn values(n: usize) -> Vec<u32> {
    let value = |i: u16| match i {
        i if i % 11 < 3 => -9999.0,
        i if i % 97 == 5 => f32::from(i) * 0.313,
        i => 0.5 + f32::from(i % 20 * 3 + i / 20) * 0.25,
    };
    (0..n).map(|i| f32::to_bits(value(u16::try_from(i).unwrap()))).collect()
}

fn dictionary() -> Arc<Dictionary> {
    Arc::new(Dictionary::new(values(1400), ElementType::F32).unwrap())
}

/// Decodes twice, with a scratch that decoded other tiles and with a new one.
fn decoded(payload: &[u8], n: usize, dictionary: &Dictionary, used: &mut Scratch) -> Result<Vec<u32>> {
    let run = |scratch: &mut Scratch, filler: u32| {
        let mut out = vec![filler; n];
        decode(payload, ElementType::F32, &geometry(), Some(dictionary), scratch, &mut out).map(|()| out)
    };
    let (a, b) = (run(used, 0x5555_5555), run(&mut Scratch::new(), 0xAAAA_AAAA));
    assert_eq!(a, b, "decoding is a function of the payload, and writes every element");
    a
}

const KINDS: usize = 1000;

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..Default::default() })]

    #[test]
    fn changed_payloads_are_errors_or_whole_tiles(
        kind in 0..=KINDS, other in 0..=KINDS, changes in prop::collection::vec(change(), 1..4), count in -2isize..3,
    ) {
        let dictionary = dictionary();
        let (mut payload, elements) = valid(kind, &dictionary);
        let n = elements.len();
        let (other, _) = valid(other, &dictionary);
        for change in &changes {
            apply(change, &mut payload, &other);
        }
        let mut used = Scratch::new();
        // Also with another number of elements, because the index may be wrong as well.
        let _ = decoded(&payload, n.saturating_add_signed(count), &dictionary, &mut used);
        let _ = decoded(&payload, n, &dictionary, &mut used);
        // The changed payload leaves nothing in the scratch that affects a valid one.
        let (sound, _) = valid(kind, &dictionary);
        prop_assert_eq!(decoded(&sound, n, &dictionary, &mut used).unwrap(), elements);
    }
}

/// Most single flips in the parts that control decoding must be detected; the others give another tile.
#[test]
fn flips_reach_every_stage() {
    let dictionary = dictionary();
    let (mut errors, mut others, mut stages) = (0u32, 0u32, std::collections::BTreeSet::new());
    for kind in 0..=KINDS {
        let (payload, elements) = valid(kind, &dictionary);
        let (n, mut used) = (elements.len(), Scratch::new());
        let sound = decoded(&payload, n, &dictionary, &mut used).unwrap();
        assert_eq!(sound, elements);
        for at in 0..payload.len().min(60) {
            for bit in [0, 3, 7] {
                let mut damaged = payload.clone();
                damaged[at] ^= 1 << bit;
                match decoded(&damaged, n, &dictionary, &mut used) {
                    Ok(values) => {
                        assert_eq!(values.len(), n);
                        others += 1;
                    }
                    Err(Error::Corrupt { what, .. }) => {
                        stages.insert(what);
                        errors += 1;
                    }
                    Err(Error::Unsupported(_)) => errors += 1,
                    Err(e) => panic!("{e}"),
                }
            }
        }
    }
    assert!(errors > 1000 && others > 1000, "{errors} errors, {others} other tiles");
    for stage in [
        "stage bytes",
        "delta axes",
        "length",
        "first residual",
        "mask stride",
        "mask run",
        "scale-offset segment",
        "exception count",
        "exception width",
        "exception position",
        "rank",
        "zstd frame",
        "ctx header",
        "ctx map",
        "table sum",
        "ctx final state",
        "mix stream 1",
        "mix stream 2",
        "mix strides",
        "stored residuals",
    ] {
        assert!(stages.contains(stage), "no flip ended in {stage:?}; seen: {stages:?}");
    }
}

/// Sizes claimed by a payload are compared with the tile before memory is allocated.
#[test]
fn claims_of_size_cost_nothing() {
    let frame = zstd::bulk::compress(&vec![0u8; 64 << 20], 3).unwrap();
    for (bytes, n) in [
        // Residuals by zstd and by planes: a frame of 64 MiB for a tile of ten elements.
        ([&[1, 0, 0x10][..], &frame].concat(), 10),
        ([&[1, 0, 0x20][..], &frame].concat(), 10),
        // Exceptions and a mask with strings of the same length.
        ([&[1, 0x1C, 0, 5, 1][..], &frame].concat(), 10),
        ([&[1, 1, 0, 5, 0, 0, 0, 0, 0, 1][..], &frame].concat(), 10),
        // Exceptions as marks: marks of the whole tile for ten elements, and planes of the same size.
        ([&[1, 0x2C, 0, 5, 1, 3, 1, 1, 1][..], &frame].concat(), 10),
        ([&[1, 0x2C, 0, 6, 1, 3, 0, 1, 0, 1][..], &frame].concat(), 10),
        // A length of 2^63.
        (vec![1, 1, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 0], 10),
    ] {
        let error = decoded(&bytes, n, &dictionary(), &mut Scratch::new()).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }
    let elements = decode::<u32>(
        &[1, 0, 0],
        ElementType::F64,
        &Geometry::default(),
        None,
        &mut Scratch::new(),
        &mut [0; 3],
    );
    assert!(matches!(elements, Err(Error::InvalidArgument(_))));
}
