//! Valid proofs, and invalid ones: forged, damaged, of another slice, variable or version.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(unreachable_pub, reason = "shared by tests")]

mod support;

use nc3z_cite::{Proof, Slice, SliceVariable, check};
use nc3z_format::classic::Version;
use nc3z_format::digest::{Entry, Pieces, Root, Tree, leaf_hash, values_digest, values_root};
use serde_json::Value;
use support::{Dice, file, header, open, original, ranges, slice, tree_of};

/// The number of mutations of a run: NC3Z_FORGERIES, or as many as a daily test has time for.
fn forgeries() -> u64 {
    std::env::var("NC3Z_FORGERIES").ok().and_then(|n| n.parse().ok()).unwrap_or(1000)
}

fn accepts(bytes: &[u8], proof: &Proof, root: &Root) -> bool {
    Slice::parse(bytes).and_then(|slice| check(&slice, proof, root)).is_ok()
}

#[test]
fn every_slice_of_every_variable_is_proven() {
    let dataset = open(&original(1));
    let (tree, mut dice) = (tree_of(&dataset), Dice(2));
    for n in 0..200_u32 {
        let ranges = ranges(&dataset, &mut dice);
        let variables: Vec<u32> = (0..6).filter(|v| n % 7 == 0 || (n >> v) & 1 == 1).collect();
        if variables.is_empty() {
            continue;
        }
        let (bytes, proof) = slice(&dataset, &tree, &variables, &ranges);
        let slice = Slice::parse(&bytes).unwrap();
        let proven = check(&slice, &proof, tree.root()).unwrap();
        assert_eq!(proven.variables.len(), variables.len());
        // It is the same after writing and parsing JSON.
        assert_eq!(Proof::from_json(proof.to_json().as_bytes()).unwrap(), proof);
    }
}

#[test]
fn whole_variables_bring_no_values() {
    let dataset = open(&original(1));
    let tree = tree_of(&dataset);
    let all = vec![(0, 9, 1), (0, 31, 1), (0, 270, 1)];
    let (bytes, proof) = slice(&dataset, &tree, &[0, 1, 2, 3, 4, 5], &all);
    assert!(accepts(&bytes, &proof, tree.root()));
    assert_eq!(proof.leaf_bytes(), 0);
    assert!(proof.path.is_empty() && proof.variables.iter().all(|v| v.nodes.is_empty()));
}

/// Changes some bytes, or removes some, or repeats some.
fn mutated(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let at = usize::try_from(dice.below(bytes.len() as u64)).unwrap();
    match dice.below(8) {
        0 => out.truncate(at),
        1 => {
            out.remove(at);
        }
        2 => out.insert(at, bytes[at]),
        3 => {
            let other = usize::try_from(dice.below(bytes.len() as u64)).unwrap();
            out.swap(at, other);
        }
        4 => out[at] = out[at].wrapping_add(1),
        _ => out[at] ^= 1 << dice.below(8),
    }
    out
}

#[test]
fn mutations_of_proofs_are_refused() {
    let dataset = open(&original(1));
    let (tree, mut dice) = (tree_of(&dataset), Dice(3));
    let (mut refused, mut same) = (0, 0);
    while refused < forgeries() {
        let (bytes, proof) = slice(&dataset, &tree, &[0, 2, 4], &ranges(&dataset, &mut dice));
        let text = proof.to_json();
        for _ in 0..100 {
            let other = mutated(text.as_bytes(), &mut dice);
            let Ok(forged) = Proof::from_json(&other) else {
                refused += 1;
                continue;
            };
            // Blanks between tokens have no meaning. `about` and a missing name are not proven.
            let as_said = |proof: &Proof| {
                let mut proof = proof.clone();
                proof.about.clear();
                proof.variables.iter_mut().for_each(|v| v.name = None);
                proof
            };
            let has_no_names = forged.variables.iter().all(|v| v.name.is_none());
            if forged == proof || (has_no_names && as_said(&forged) == as_said(&proof)) {
                same += 1;
            } else {
                assert!(!accepts(&bytes, &forged, tree.root()), "{}", String::from_utf8_lossy(&other));
                refused += 1;
            }
        }
    }
    assert!(same < refused, "{same} mutations of {refused} say the same");
}

#[test]
fn mutations_of_slices_are_refused() {
    let dataset = open(&original(1));
    let (tree, mut dice) = (tree_of(&dataset), Dice(4));
    let (mut refused, mut same) = (0, 0);
    while refused < forgeries() {
        let (bytes, proof) = slice(&dataset, &tree, &[0, 2, 4], &ranges(&dataset, &mut dice));
        let plain = Slice::parse(&bytes).unwrap();
        for _ in 0..100 {
            let other = mutated(&bytes, &mut dice);
            if Slice::parse(&other).is_ok_and(|slice| slice == plain) {
                // Padding, `vsize`, bytes after the end: the same slice.
                same += 1;
                continue;
            }
            assert!(!accepts(&other, &proof, tree.root()));
            refused += 1;
        }
    }
    assert!(same < refused, "{same} mutations of {refused} are the same slice");
}

/// Flips a bit, or removes or inserts a byte.
fn bent(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let at = usize::try_from(dice.below(bytes.len() as u64 + 1)).unwrap();
    match dice.below(4) {
        0 if at < bytes.len() => drop(bytes.drain(at..=at)),
        1 => bytes.insert(at, 7),
        _ if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
        _ => bytes.push(0),
    }
}

#[test]
fn mutations_of_the_fields_of_proofs_are_refused() {
    let dataset = open(&original(1));
    let (tree, mut dice) = (tree_of(&dataset), Dice(9));
    let mut refused = 0;
    while refused < forgeries() {
        let (bytes, proof) = slice(&dataset, &tree, &[0, 2, 4], &ranges(&dataset, &mut dice));
        for _ in 0..100 {
            let mut forged = proof.clone();
            let n = usize::try_from(dice.below(3)).unwrap();
            let (kind, step) = (dice.below(10), 1 + dice.below(3));
            let v = &mut forged.variables[n];
            let d = usize::try_from(dice.below(v.start.len() as u64)).unwrap();
            match kind {
                0 => bent(&mut v.entry, &mut dice),
                1 => bent(&mut v.leaves, &mut dice),
                2 => bent(forged.file.as_mut().unwrap(), &mut dice),
                3 => v.start[d] = v.start[d].wrapping_add(step),
                4 => v.start[d] = v.start[d].wrapping_sub(step),
                5 => v.count[d] = v.count[d].wrapping_add(step),
                6 => v.number = v.number.wrapping_add(step),
                7 => forged.entries = forged.entries.wrapping_add(step),
                _ => {
                    let nodes = if kind == 8 { &mut forged.path } else { &mut v.nodes };
                    let mut flat = nodes.as_flattened().to_vec();
                    bent(&mut flat, &mut dice);
                    *nodes = nc3z_format::digest::hashes(&flat);
                }
            }
            if forged != proof {
                assert!(!accepts(&bytes, &forged, tree.root()), "{forged:?}");
                refused += 1;
            }
        }
    }
}

/// A proof as JSON, changed in one place.
fn with(proof: &Proof, change: impl FnOnce(&mut Proof)) -> Proof {
    let mut other = proof.clone();
    change(&mut other);
    assert_ne!(other, *proof);
    other
}

#[test]
fn another_hyperslab_variable_or_version_is_refused() {
    let (first, second) = (open(&original(1)), open(&original(5)));
    let (tree, other_tree) = (tree_of(&first), tree_of(&second));
    let part = vec![(2, 4, 1), (3, 7, 2), (10, 30, 1)];
    let (bytes, proof) = slice(&first, &tree, &[0, 2], &part);
    assert!(accepts(&bytes, &proof, tree.root()));
    // Another version of the file: with its root, with its proof, and with its proof that names the root of
    // the first one.
    let (other_bytes, other_proof) = slice(&second, &other_tree, &[0, 2], &part);
    assert!(!accepts(&bytes, &proof, other_tree.root()));
    assert!(!accepts(&bytes, &other_proof, other_tree.root()));
    assert!(!accepts(&other_bytes, &with(&other_proof, |p| p.root = tree.root().to_string()), tree.root()));
    // Another hyperslab of the same shape: of both variables, and of one.
    let moved = vec![(3, 4, 1), (3, 7, 2), (10, 30, 1)];
    let (moved_bytes, moved_proof) = slice(&first, &tree, &[0, 2], &moved);
    assert!(!accepts(&bytes, &moved_proof, tree.root()));
    assert!(!accepts(&moved_bytes, &proof, tree.root()));
    for n in 0..2 {
        assert!(!accepts(&bytes, &with(&proof, |p| p.variables[n].start[0] = 3), tree.root()));
        assert!(!accepts(&bytes, &with(&proof, |p| p.variables[n].count[0] = 3), tree.root()));
    }
    assert!(!accepts(&bytes, &with(&proof, |p| p.variables[1].stride[1] = 1), tree.root()));
    assert!(!accepts(&bytes, &with(&proof, |p| p.variables[1].stride[1] = -2), tree.root()));
    // Each variable is right, but the coordinates belong to other values: time 3 to 6 for values of time 2 to
    // 5.
    let mixed = with(&proof, |p| {
        p.variables[0] = moved_proof.variables[0].clone();
    });
    let header = header(Version::Cdf1);
    let mut own = header.clone();
    own.variables = vec![header.variables[0].clone(), header.variables[2].clone()];
    own.dimensions[1].len = 7;
    own.dimensions[2].len = 30;
    let values = |bytes: &[u8], n: usize| Slice::parse(bytes).unwrap().variables[n].values.to_vec();
    let crossed = file(own, 4, &[values(&moved_bytes, 0), values(&bytes, 1)]);
    assert!(!accepts(&crossed, &mixed, tree.root()));
    // The same values under another name, unit, type or dimension.
    let renamed = |from: &[u8], to: &[u8]| {
        let at = bytes.windows(from.len()).position(|w| w == from).unwrap();
        let mut other = bytes.clone();
        other[at..at + to.len()].copy_from_slice(to);
        other
    };
    for (from, to) in
        [(&b"tas\0"[..], &b"tos\0"[..]), (b"A test", b"B test"), (b"CF-1.11", b"CF-1.12"), (b"days", b"year")]
    {
        assert!(!accepts(&renamed(from, to), &proof, tree.root()), "{from:?}");
    }
    // Another variable's entry with the same values.
    let (_, mask) = slice(&first, &tree, &[0, 4], &part);
    assert!(!accepts(
        &bytes,
        &with(&proof, |p| p.variables[1].entry = mask.variables[1].entry.clone()),
        tree.root()
    ));
    assert!(!accepts(&bytes, &with(&proof, |p| p.variables[1].number = 2), tree.root()));
}

#[test]
fn swapped_and_shifted_nodes_are_refused() {
    let dataset = open(&original(1));
    let tree = tree_of(&dataset);
    let (bytes, proof) = slice(&dataset, &tree, &[2], &[(4, 1, 1), (10, 5, 1), (0, 270, 1)]);
    assert!(accepts(&bytes, &proof, tree.root()));
    let nodes = &proof.variables[0].nodes;
    assert!(nodes.len() > 2 && proof.path.len() > 1);
    for n in 1..nodes.len() {
        assert!(!accepts(&bytes, &with(&proof, |p| p.variables[0].nodes.swap(n - 1, n)), tree.root()));
    }
    for (n, node) in nodes.iter().enumerate() {
        assert!(!accepts(
            &bytes,
            &with(&proof, |p| {
                p.variables[0].nodes.remove(n);
            }),
            tree.root()
        ));
        assert!(!accepts(&bytes, &with(&proof, |p| p.variables[0].nodes.insert(n, *node)), tree.root()));
    }
    for n in 1..proof.path.len() {
        assert!(!accepts(&bytes, &with(&proof, |p| p.path.swap(n - 1, n)), tree.root()));
    }
    assert!(!accepts(&bytes, &with(&proof, |p| p.variables[0].leaves.extend([0; 4096])), tree.root()));
    assert!(!accepts(&bytes, &with(&proof, |p| p.variables[0].leaves.truncate(10)), tree.root()));
}

#[test]
fn nodes_do_not_pass_for_leaves_nor_leaves_for_nodes() {
    let dataset = open(&original(1));
    let tree = tree_of(&dataset);
    let (bytes, proof) = slice(&dataset, &tree, &[2], &[(0, 9, 1), (0, 31, 1), (0, 270, 1)]);
    let count = proof.entries;
    // The tree over the entries, one level higher: its leaves are pairs of nodes.
    let digest = |n: usize| {
        let v = &dataset.layout().variables[n];
        let root = tree.values_root(nc3z_format::classic::VarId(u32::try_from(n).unwrap()));
        values_digest(v.ty, &v.shape, v.present, root)
    };
    let entry = |n: usize| Entry::of_variable(dataset.header(), dataset.layout(), n, &digest(n)).encode();
    let mut leaves = vec![leaf_hash(&Entry::of_file(dataset.header(), dataset.layout()))];
    leaves.extend((0..6).map(|n| leaf_hash(&entry(n))));
    let mut all = Tree::default();
    leaves.iter().for_each(|leaf| all.push(*leaf));
    for pair in leaves.chunks_exact(2) {
        let inner = [&[1][..], &pair[0], &pair[1]].concat();
        for forged in [&inner[..], &inner[1..]] {
            let other = with(&proof, |p| {
                p.file = Some(forged.to_vec());
                p.entries = count / 2;
            });
            assert!(!accepts(&bytes, &other, tree.root()));
        }
    }
    // Another number of entries, with the same nodes and with other numbers of nodes.
    for entries in [0, 1, count - 1, count + 1, count * 2, u64::MAX] {
        assert!(!accepts(&bytes, &with(&proof, |p| p.entries = entries), tree.root()));
        let filled = with(&proof, |p| {
            p.entries = entries;
            p.path = leaves.clone();
        });
        assert!(!accepts(&bytes, &filled, tree.root()));
    }
    // An array of another shape whose only leaf is the two halves of a root: 64 bytes in place of two leaves.
    let mut forged = Entry::decode(&proof.variables[0].entry).unwrap();
    forged.dimensions.truncate(1);
    (forged.dimensions[0].len, forged.present) = (16, 16);
    let halves: Vec<u8> =
        tree.values_root(nc3z_format::classic::VarId(2)).iter().chain(&[0; 32]).copied().collect();
    let other = with(&proof, |p| {
        let v = &mut p.variables[0];
        v.entry = forged.encode();
        (v.start, v.count, v.stride) = (vec![0], vec![16], vec![1]);
    });
    let mut own = header(Version::Cdf1);
    own.variables = vec![own.variables[2].clone()];
    own.dimensions.truncate(1);
    own.variables[0].dimensions.truncate(1);
    assert!(!accepts(&file(own, 16, &[halves]), &other, tree.root()));
}

#[test]
fn branches_of_other_shapes_are_refused() {
    let dataset = open(&original(1));
    let tree = tree_of(&dataset);
    let all = [(0, 9, 1), (0, 31, 1), (0, 270, 1)];
    let (bytes, proof) = slice(&dataset, &tree, &[2], &all);
    let values = Slice::parse(&bytes).unwrap().variables[0].values.to_vec();
    let entry = Entry::decode(&proof.variables[0].entry).unwrap();
    let plain = |shape: &[u64]| Slice {
        attributes: None,
        variables: vec![SliceVariable {
            name: None,
            ty: entry.ty,
            shape: shape.to_vec(),
            dimensions: None,
            attributes: None,
            values: values.clone().into(),
        }],
    };
    let root_of =
        |shape: &[u64]| values_root(&values, Pieces::leaves(entry.ty, shape, entry.present).branch());
    assert_eq!(root_of(&[9, 31, 270]), *tree.values_root(nc3z_format::classic::VarId(2)));
    assert_ne!(root_of(&[9, 31, 270]), root_of(&[31, 9, 270]));
    // The same values with branches of other lengths, and with the same branches in another array: with the
    // digest of the root, and with their own.
    for shape in [[9, 270, 31], [31, 9, 270], [1, 9, 8370], [279, 1, 270], [1, 1, 75_330], [3, 93, 270]] {
        for digest in [entry.digest, values_digest(entry.ty, &shape, entry.present, &root_of(&shape))] {
            let mut other = entry.clone();
            other.dimensions.iter_mut().zip(shape).for_each(|(own, len)| own.len = len);
            other.digest = digest;
            let forged = with(&proof, |p| {
                (p.file, p.path) = (None, vec![[0; 32]; 3]);
                p.variables[0].entry = other.encode();
                p.variables[0].count = shape.to_vec();
            });
            let refused = check(&plain(&shape), &forged, tree.root()).unwrap_err().to_string();
            let own = digest != entry.digest;
            let expected = if own { "have the root" } else { "the values are not those of" };
            assert!(refused.contains(expected), "{shape:?}: {refused}");
        }
    }
    // A record is a branch: its proof has no values. Nodes do not pass for its leaves.
    let (bytes, proof) = slice(&dataset, &tree, &[2], &[(4, 1, 1), (0, 31, 1), (0, 270, 1)]);
    assert!(accepts(&bytes, &proof, tree.root()));
    assert!(proof.variables[0].leaves.is_empty());
    for node in proof.variables[0].nodes.clone() {
        for leaves in [node.to_vec(), [&[1][..], &node, &node].concat()] {
            assert!(!accepts(&bytes, &with(&proof, |p| p.variables[0].leaves = leaves), tree.root()));
        }
    }
}

#[test]
fn proofs_with_other_keys_or_formats_are_refused() {
    let dataset = open(&original(1));
    let tree = tree_of(&dataset);
    let (_, proof) = slice(&dataset, &tree, &[0], &[(0, 3, 1), (0, 1, 1), (0, 1, 1)]);
    let value: Value = serde_json::from_str(&proof.to_json()).unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut other = value.clone();
        change(&mut other);
        Proof::from_json(other.to_string().as_bytes())
    };
    assert!(changed(&|_| ()).is_ok());
    assert!(changed(&|v| v["format"] = "nc3z proof 2".into()).is_err());
    assert!(changed(&|v| v["more"] = 1.into()).is_err());
    assert!(changed(&|v| v["variables"][0]["more"] = 1.into()).is_err());
    assert!(changed(&|v| v["entries"] = (-1).into()).is_err());
    assert!(changed(&|v| v["path"] = "AAAA".into()).is_err());
    assert!(changed(&|v| v["path"] = "?".into()).is_err());
    let twice = proof.to_json().replacen("\"entries\"", "\"entries\": 1, \"entries\"", 1);
    assert!(Proof::from_json(twice.as_bytes()).is_err());
}
