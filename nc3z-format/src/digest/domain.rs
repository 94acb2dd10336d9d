//! What a digest is of: the bytes that are hashed for a variable and for a file (`spec/digest.md`, sections 3 and 4).

use super::Hash;
use crate::classic::{Attribute, Header, Layout, VarLayout};
use sha2::{Digest, Sha256};

/// Opens the domain of a variable; the number is the version of the rule.
const VARIABLE: &[u8] = b"nc3z variable 1\n";
/// Opens the domain of a file.
const CONTENT: &[u8] = b"nc3z content 1\n";

/// Numbers are u64 big-endian, strings are preceded by their length in bytes: no two values are the same bytes.
struct Domain(Sha256);

impl Domain {
    fn new(name: &[u8]) -> Self {
        Domain(Sha256::new().chain_update(name))
    }

    fn number(&mut self, n: u64) {
        self.0.update(n.to_be_bytes());
    }

    fn count(&mut self, n: usize) {
        self.number(n as u64);
    }

    fn string(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.update(bytes);
    }

    fn attributes(&mut self, attributes: &[Attribute]) {
        self.count(attributes.len());
        for a in attributes {
            self.string(&a.name);
            self.number(a.ty.code().into());
            self.count(a.count());
            self.0.update(&a.values);
        }
    }

    fn finish(self) -> Hash {
        self.0.finalize().into()
    }
}

/// The digest of one variable's values: type, lengths (the record count in place of every length 0), elements present, and the root
/// of the tree over them. Neither name nor attributes.
pub fn variable_digest(variable: &VarLayout, root: &Hash) -> Hash {
    let mut d = Domain::new(VARIABLE);
    d.number(variable.ty.code().into());
    d.count(variable.shape.len());
    variable.shape.iter().for_each(|&len| d.number(len));
    d.number(variable.present);
    d.0.update(root);
    d.finish()
}

/// The content digest of a file: dimensions, attributes and variables in the header's order, each variable with its digest.
///
/// # Panics
/// If there is not one digest for each variable.
pub fn content_digest(header: &Header, layout: &Layout, variables: &[Hash]) -> Hash {
    assert_eq!(variables.len(), header.variables.len(), "a digest for each variable");
    let mut d = Domain::new(CONTENT);
    d.count(header.dimensions.len());
    for dimension in &header.dimensions {
        d.string(&dimension.name);
        d.number(dimension.is_record().into());
        d.number(if dimension.is_record() { layout.numrecs } else { dimension.len });
    }
    d.attributes(&header.attributes);
    d.count(header.variables.len());
    for (variable, digest) in header.variables.iter().zip(variables) {
        d.string(&variable.name);
        d.count(variable.dimensions.len());
        variable.dimensions.iter().for_each(|id| d.number(id.0.into()));
        d.attributes(&variable.attributes);
        d.0.update(digest);
    }
    d.finish()
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
        content_digest(&h, &layout, &variables)
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
        // Fewer elements than the header claims.
        let short = digest(plain.clone(), 0, |b| b + 10);
        assert!(!seen.contains(&short));
    }
}
