//! Reading against a root: the same values as without, or an error that names the tile; never other values.

use crate::support::archive_bytes;
use nc3z_format::Hyperslab;
use nc3z_format::digest::Root;
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_reader::{Dataset, DigestRequest, ErrorKind, OpenOptions, Result};
use nc3z_writer::{ChunkRequest, WriterOptions};
use std::sync::Arc;

const ROOTED: DigestRequest = DigestRequest { content: true, sha256: false, tree: true };

fn memory(bytes: &[u8]) -> SharedSource {
    Arc::new(MemorySource::new(bytes.to_vec()))
}

fn plain(bytes: &[u8]) -> Dataset {
    Dataset::from_source(memory(bytes), &OpenOptions::default()).unwrap()
}

/// The root of a file and its tree file.
fn rooted(bytes: &[u8]) -> (Root, Vec<u8>) {
    let digests = plain(bytes).digests(ROOTED, &()).unwrap();
    (digests.root().unwrap(), digests.tree.unwrap())
}

/// Opens a file whose values are checked against a root, with a tree file or without.
fn against(bytes: &[u8], root: Root, tree: Option<&[u8]>) -> Result<Dataset> {
    plain(bytes).verified(&root, tree.map(memory), &())
}

/// A classic file of two variables: `big`, 4 x 300 x 500 ints, and `small`. A plane is a branch of ten nodes.
fn sample(salt: u8) -> Vec<u8> {
    sample_of([4, 300, 500], salt)
}

/// The file of [`sample`], in which `big` has the dimensions `lens`.
fn sample_of(lens: [u32; 3], salt: u8) -> Vec<u8> {
    let mut out = b"CDF\x01\0\0\0\0".to_vec();
    let number = |out: &mut Vec<u8>, n: u32| out.extend(n.to_be_bytes());
    let name = |out: &mut Vec<u8>, text: &[u8]| {
        number(out, u32::try_from(text.len()).unwrap());
        out.extend(text);
        out.resize(out.len().next_multiple_of(4), 0);
    };
    number(&mut out, 10);
    number(&mut out, 3);
    for (own, len) in ["t", "y", "x"].into_iter().zip(lens) {
        name(&mut out, own.as_bytes());
        number(&mut out, len);
    }
    out.extend([0; 8]);
    number(&mut out, 11);
    number(&mut out, 2);
    let elements = lens.iter().product::<u32>();
    let len = elements * 4;
    // The two entries that follow take 44 and 40 bytes.
    let begin = u32::try_from(out.len()).unwrap() + 84;
    for (own, dims, vsize, at) in
        [(&b"big"[..], &[0, 1, 2][..], len, begin), (b"small", &[2], lens[2] * 4, begin + len)]
    {
        name(&mut out, own);
        number(&mut out, u32::try_from(dims.len()).unwrap());
        dims.iter().for_each(|d| number(&mut out, *d));
        out.extend([0; 8]);
        number(&mut out, 4);
        number(&mut out, vsize);
        number(&mut out, at);
    }
    assert_eq!(out.len(), usize::try_from(begin).unwrap());
    for n in 0..elements + lens[2] {
        // One row of `big` differs by the salt.
        let row = n / 500 == 777;
        out.extend((n * 7 / 3 + if row { u32::from(salt) } else { 0 }).to_be_bytes());
    }
    out
}

/// The file itself and archives of it with several layouts.
fn kinds(original: &[u8]) -> Vec<Vec<u8>> {
    let options = WriterOptions::default();
    vec![
        original.to_vec(),
        archive_bytes(original, &options),
        archive_bytes(original, &options.clone().with_tile_len(10_000)),
        archive_bytes(original, &options.clone().with_tile_len(1 << 20)),
        archive_bytes(original, &options.with_chunks(ChunkRequest::new([("t", 1), ("y", 64), ("x", 100)]))),
    ]
}

fn slabs() -> Vec<Hyperslab> {
    let slab =
        |start: [u64; 3], count: [u64; 3], stride: [i64; 3]| Hyperslab::new(start, count, stride).unwrap();
    vec![
        slab([0, 0, 0], [4, 300, 500], [1, 1, 1]),
        slab([1, 10, 20], [2, 100, 33], [1, 1, 1]),
        slab([3, 299, 499], [4, 100, 250], [-1, -2, -2]),
        slab([0, 77, 8], [4, 1, 1], [1, 1, 1]),
        slab([2, 177, 0], [1, 1, 500], [1, 1, 1]),
        slab([0, 0, 0], [0, 300, 500], [1, 1, 1]),
        // Runs of the flattened array, which end within nodes.
        slab([2, 100, 0], [1, 150, 500], [1, 1, 1]),
        slab([1, 0, 0], [2, 300, 500], [1, 1, 1]),
        slab([0, 5, 10], [1, 1, 7], [1, 1, 1]),
        slab([2, 177, 3], [1, 1, 1], [1, -1, -1]),
    ]
}

#[test]
fn verified_reads_give_what_plain_reads_give() {
    let original = sample(0);
    let (root, tree) = rooted(&original);
    for bytes in kinds(&original) {
        assert_eq!(rooted(&bytes), (root, tree.clone()));
        let (plain, verified) = (plain(&bytes), against(&bytes, root, Some(&tree)).unwrap());
        // Without a tree file it is computed.
        let computed = against(&bytes, root, None).unwrap();
        for slab in slabs() {
            let expected = plain.variable("big").unwrap().read_bytes(&slab).unwrap();
            for dataset in [&verified, &computed] {
                let big = dataset.variable("big").unwrap();
                assert_eq!(big.read_bytes(&slab).unwrap(), expected);
                let numbers: Vec<f64> = big.read(&slab).unwrap();
                assert_eq!(numbers, plain.variable("big").unwrap().read::<f64>(&slab).unwrap());
            }
        }
        let tiles = |dataset: &Dataset| {
            let big = dataset.variable("big").unwrap();
            big.tiles().unwrap().collect::<Result<Vec<_>, _>>().unwrap()
        };
        assert_eq!(tiles(&verified), tiles(&plain));
        let error = verified.read_bytes(0, &mut [0; 4]).unwrap_err();
        assert!(error.to_string().contains("not the file's bytes"), "{error}");
    }
}

#[test]
fn branches_of_any_length_are_checked() {
    // No branches; branches with one node, shorter and longer than a leaf's multiple; with two nodes; of a row.
    for lens in [[70, 20, 99], [12, 100, 110], [9, 64, 128], [7, 150, 120], [5, 3, 9000]] {
        let original = sample_of(lens, 0);
        let (root, tree) = rooted(&original);
        let shape = lens.map(u64::from);
        for bytes in
            [original.clone(), archive_bytes(&original, &WriterOptions::default().with_tile_len(50_000))]
        {
            let (plain, verified) = (plain(&bytes), against(&bytes, root, Some(&tree)).unwrap());
            let (plain, big) = (plain.variable("big").unwrap(), verified.variable("big").unwrap());
            for n in 0..40_u64 {
                let mut slab = Hyperslab::all(&shape);
                for (d, len) in shape.into_iter().enumerate().take(usize::try_from(n % 4).unwrap()) {
                    slab.start[d] = n * 7919 % len;
                    slab.count[d] = 1 + n * 31 % (len - slab.start[d]);
                }
                assert_eq!(
                    big.read_bytes(&slab).unwrap(),
                    plain.read_bytes(&slab).unwrap(),
                    "{lens:?} {slab}"
                );
            }
        }
        // Any changed value is found, and no plane that does not have it is refused.
        let mut other = original.clone();
        let at = original.len() - usize::try_from(lens[2] * 4 + 5).unwrap();
        other[at] ^= 1;
        let dataset = against(&other, root, Some(&tree)).unwrap();
        let big = dataset.variable("big").unwrap();
        let planes = |first: u64, count: u64| {
            let slab = Hyperslab::new([first, 0, 0], [count, shape[1], shape[2]], [1, 1, 1]).unwrap();
            big.read_bytes(&slab)
        };
        assert!(matches!(planes(shape[0] - 1, 1).unwrap_err().kind(), ErrorKind::Unverified { .. }));
        if lens != [70, 20, 99] {
            assert!(planes(0, shape[0] - 1).is_ok(), "{lens:?}");
        }
    }
}

#[test]
fn a_wrong_tile_is_named_and_no_other_is_refused() {
    let (root, tree) = rooted(&sample(0));
    // As sound as archives can be, but of other values.
    for bytes in kinds(&sample(1)) {
        let dataset = against(&bytes, root, Some(&tree)).unwrap();
        let big = dataset.variable("big").unwrap();
        for slab in slabs() {
            // Row 777 is index 177 of time 2; nodes are 64 KiB, 32 rows and a part.
            let meets = slab.count[0] > 0 && [0, 2, 4, 6, 7, 9].iter().any(|n| slabs()[*n] == slab);
            let mut out = vec![1; usize::try_from(slab.count.iter().product::<u64>()).unwrap() * 4];
            match big.read_bytes_into(&slab, &mut out) {
                Ok(()) => assert!(!meets, "{slab}"),
                Err(e) => {
                    let ErrorKind::Unverified { variable, elements, tiles, .. } = e.kind() else {
                        panic!("{e}")
                    };
                    assert!(variable.contains("big") && elements.contains(&(777 * 500)), "{e}");
                    assert!(!tiles.is_empty() && e.is_corrupt(), "{e}");
                    let wanted =
                        big.plan(&Hyperslab::new([2, 177, 0], [1, 1, 500], [1, 1, 1]).unwrap()).unwrap();
                    assert!(wanted.tiles().any(|tile| tiles.contains(&tile.tile)), "{e}");
                    assert!(out.iter().all(|byte| *byte == 0), "values that were not checked are left");
                }
            }
        }
        let small = dataset.variable("small").unwrap();
        assert_eq!(small.read::<i32>(&small.all()).unwrap().len(), 500);
        // The first plane has none of the row.
        let first = Hyperslab::new([0, 0, 0], [1, 300, 500], [1, 1, 1]).unwrap();
        assert_eq!(big.read::<i32>(&first).unwrap().len(), 150_000);
        // Opened by its own root it is what it is.
        let (own, _) = rooted(&bytes);
        assert_ne!(own, root);
        let error = against(&bytes, root, None).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::OtherRoot { .. }), "{error}");
    }
}

#[test]
fn damaged_and_forged_tree_files_give_errors_and_no_other_values() {
    let original = sample(0);
    let (root, tree) = rooted(&original);
    let all = slabs().remove(0);
    let expected = plain(&original).variable("big").unwrap().read_bytes(&all).unwrap();
    let mut damaged = 0;
    for at in (0..tree.len()).step_by(5) {
        let mut other = tree.clone();
        other[at] ^= 0x20;
        let Ok(dataset) = against(&original, root, Some(&other)) else {
            damaged += 1;
            continue;
        };
        match dataset.variable("big").unwrap().read_bytes(&all) {
            Ok(bytes) => assert_eq!(bytes, expected),
            Err(_) => damaged += 1,
        }
    }
    assert_eq!(damaged, tree.len().div_ceil(5));
    for other in [&tree[..tree.len() - 1], &tree[..3], &[], &[&tree[..], &[0]].concat()] {
        assert!(against(&original, root, Some(other)).is_err());
    }
    // The tree of the other file, for whoever does not look at the root.
    let (_, other) = rooted(&sample(1));
    assert!(against(&original, root, Some(&other)).is_err());
}
