//! The bytes that are hashed for a variable and for a file (`spec/digest.md`, sections 3 and 4).

use super::entry::Entry;
use super::tree::{Tree, leaf_hash};
use super::{Hash, Root};
use crate::classic::{Attribute, Header, Layout, VarLayout};
use crate::types::NcType;
use sha2::{Digest, Sha256};

/// The first bytes of the domain of a variable; the number is the version of the rule.
const VARIABLE: &[u8] = b"nc3z variable 1\n";
/// The first bytes of the domain of a file.
const ROOT: &[u8] = b"nc3z root 1\n";
/// The first bytes of the domain of a collection.
const COLLECTION: &[u8] = b"nc3z collection 1\n";

/// Numbers are u64 big-endian, strings are preceded by their length in bytes: no two values are the same bytes.
#[derive(Default)]
pub(super) struct Domain(pub(super) Vec<u8>);

impl Domain {
    pub(super) fn new(name: &[u8]) -> Self {
        Domain(name.to_vec())
    }

    pub(super) fn number(&mut self, n: u64) {
        self.0.extend(n.to_be_bytes());
    }

    pub(super) fn count(&mut self, n: usize) {
        self.number(n as u64);
    }

    pub(super) fn string(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend(bytes);
    }

    pub(super) fn attributes(&mut self, attributes: &[Attribute]) {
        self.count(attributes.len());
        for a in attributes {
            self.string(&a.name);
            self.number(a.ty.code().into());
            self.count(a.count());
            self.0.extend(&a.values);
        }
    }

    fn finish(self) -> Hash {
        Sha256::digest(self.0).into()
    }
}

/// Returns the digest of one variable's values. It covers the type, the lengths (with the record count for each length 0), the number of
/// present elements, and the root of the tree over them, but neither name nor attributes.
pub fn variable_digest(variable: &VarLayout, root: &Hash) -> Hash {
    values_digest(variable.ty, &variable.shape, variable.present, root)
}

/// The digest of values with this type, shape and number of elements present.
pub fn values_digest(ty: NcType, shape: &[u64], present: u64, root: &Hash) -> Hash {
    let mut d = Domain::new(VARIABLE);
    d.number(ty.code().into());
    d.count(shape.len());
    shape.iter().for_each(|&len| d.number(len));
    d.number(present);
    d.0.extend(root);
    d.finish()
}

/// The root of a file: over its dimensions and attributes, and over its variables in the header's order, each with its digest.
///
/// # Panics
/// If there is not one digest for each variable.
pub fn content_root(header: &Header, layout: &Layout, variables: &[Hash]) -> Root {
    assert_eq!(variables.len(), header.variables.len(), "a digest for each variable");
    let mut tree = Tree::default();
    tree.push(leaf_hash(&Entry::of_file(header, layout)));
    for (n, digest) in variables.iter().enumerate() {
        tree.push(leaf_hash(&Entry::of_variable(header, layout, n, digest).encode()));
    }
    root_of_entries(tree.leaves(), &tree.root())
}

/// The root of a file with `count` entries, whose tree root is `entries`.
pub fn root_of_entries(count: u64, entries: &Hash) -> Root {
    let mut d = Domain::new(ROOT);
    d.number(count);
    d.0.extend(entries);
    Root(d.finish())
}

/// The root of a collection: over its members' names and roots, in the order given.
pub fn collection_root<'a>(members: impl IntoIterator<Item = (&'a [u8], Root)>) -> Root {
    let mut tree = Tree::default();
    for (name, root) in members {
        let mut d = Domain::default();
        d.string(name);
        d.0.extend(root.0);
        tree.push(leaf_hash(&d.0));
    }
    let mut d = Domain::new(COLLECTION);
    d.number(tree.leaves());
    d.0.extend(tree.root());
    Root(d.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classic::{DimId, Dimension, NumRecs, Variable, Version, encode};
    use crate::types::NcType;

    fn header(version: Version) -> Header {
        let attribute = Attribute { name: b"units".to_vec(), ty: NcType::Char, values: b"K".to_vec() };
        Header {
            version,
            numrecs: NumRecs::Count(2),
            dimensions: vec![
                Dimension { name: b"time".to_vec(), len: 0 },
                Dimension { name: b"x".to_vec(), len: 3 },
            ],
            attributes: Vec::new(),
            variables: vec![Variable {
                name: b"tas".to_vec(),
                dimensions: vec![DimId(0), DimId(1)],
                attributes: vec![attribute],
                ty: NcType::Short,
                vsize: 8,
                begin: 0,
            }],
        }
    }

    fn digest(mut h: Header, gap: u64, file_len: impl Fn(u64) -> u64) -> Hash {
        let header_len = encode(&h).unwrap().len() as u64;
        h.variables.iter_mut().for_each(|v| v.begin = header_len + gap);
        let layout = Layout::new(&h, header_len, file_len(header_len + gap)).unwrap();
        let variables: Vec<Hash> = layout.variables.iter().map(|v| variable_digest(v, &[7; 32])).collect();
        content_root(&h, &layout, &variables).0
    }

    #[test]
    fn kind_of_file_place_of_values_and_way_of_counting_do_not_matter() {
        let plain = digest(header(Version::Cdf1), 0, |begin| begin + 12);
        assert_eq!(digest(header(Version::Cdf2), 0, |b| b + 12), plain);
        assert_eq!(digest(header(Version::Cdf5), 0, |b| b + 12), plain);
        assert_eq!(digest(header(Version::Cdf1), 64, |b| b + 15), plain);
        let streaming = Header { numrecs: NumRecs::Streaming, ..header(Version::Cdf1) };
        assert_eq!(digest(streaming, 0, |b| b + 12), plain);
        let mut vsize = header(Version::Cdf1);
        vsize.variables[0].vsize = 99;
        assert_eq!(digest(vsize, 0, |b| b + 12), plain);
    }

    #[test]
    fn everything_that_a_file_says_matters() {
        let plain = header(Version::Cdf1);
        let mut seen = vec![digest(plain.clone(), 0, |b| b + 12)];
        let mut other = |change: &dyn Fn(&mut Header)| {
            let mut h = plain.clone();
            change(&mut h);
            let d = digest(h, 0, |b| b + 12);
            assert!(!seen.contains(&d));
            seen.push(d);
        };
        other(&|h| h.dimensions[0].name = b"tame".to_vec());
        other(&|h| h.dimensions[0].len = 2);
        other(&|h| h.dimensions.push(Dimension { name: b"y".to_vec(), len: 1 }));
        other(&|h| h.attributes = h.variables[0].attributes.clone());
        other(&|h| h.variables[0].name = b"tos".to_vec());
        other(&|h| h.variables[0].ty = NcType::Char);
        other(&|h| h.variables[0].dimensions = vec![DimId(0), DimId(1), DimId(1)]);
        other(&|h| h.variables[0].attributes.clear());
        other(&|h| h.variables[0].attributes[0].name = b"unit".to_vec());
        other(&|h| h.variables[0].attributes[0].values = b"C".to_vec());
        other(&|h| h.variables[0].attributes[0].ty = NcType::Byte);
        other(&|h| h.numrecs = NumRecs::Count(1));
        // Order, of attributes and of variables.
        let second = Attribute { name: b"scale".to_vec(), ty: NcType::Byte, values: vec![1] };
        other(&|h| h.variables[0].attributes.push(second.clone()));
        other(&|h| h.variables[0].attributes.insert(0, second.clone()));
        let again = Variable { name: b"tos".to_vec(), ..plain.variables[0].clone() };
        other(&|h| h.variables.push(again.clone()));
        other(&|h| h.variables.insert(0, again.clone()));
        // Fewer elements than the header claims.
        let short = digest(plain.clone(), 0, |b| b + 10);
        assert!(!seen.contains(&short));
    }

    #[test]
    fn members_of_a_collection_have_names_and_an_order() {
        let (a, b) = (Root([1; 32]), Root([2; 32]));
        let of = |members: &[(&[u8], Root)]| collection_root(members.iter().copied());
        let plain = of(&[(b"a", a), (b"b", b)]);
        for other in [of(&[(b"b", b), (b"a", a)]), of(&[(b"a", b), (b"b", a)]), of(&[(b"a", a)]), of(&[])] {
            assert_ne!(other, plain);
        }
        assert_ne!(of(&[(b"a", a)]), a);
    }
}
