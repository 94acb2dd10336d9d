//! The test files for decoders (`testdata/conformance`): mutations of archives that must be refused are refused.

use nc3z_format::bytes::hex;
use nc3z_reader::source::MemorySource;
use nc3z_reader::{Archive, Error, OpenOptions};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Mutations of each file; `NC3Z_MUTATIONS` is another number.
const MUTATIONS: u64 = 40;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/conformance")
}

/// By the limits that every reader has.
fn restore(bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let archive = Archive::from_source(Arc::new(MemorySource::new(bytes)), &OpenOptions::default())?;
    archive.restore_to_stream(&mut out, &())?;
    Ok(out)
}

/// Pseudo-random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % n.max(1) as u64).unwrap()
    }
}

/// One to three changes: a bit, a byte, a cut, a piece that is repeated.
fn mutated(data: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = data.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(out.len());
        match random.below(8) {
            0 if out.len() > 1 => out.truncate(at.max(1)),
            1 => {
                let piece = out[at..(at + 64).min(out.len())].to_vec();
                let to = random.below(out.len());
                drop(out.splice(to..to, piece));
            }
            2 | 3 => out[at] = u8::try_from(random.below(256)).unwrap(),
            _ => out[at] ^= 1 << random.below(8),
        }
    }
    out
}

#[test]
fn mutations_of_archives_that_must_be_refused_are_refused() {
    let known = std::fs::read_to_string(corpus().join("corpus.json")).unwrap();
    let count = std::env::var("NC3Z_MUTATIONS").ok().map_or(MUTATIONS, |n| n.parse().unwrap());
    let files = std::fs::read_dir(corpus().join("must-refuse")).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 40);
    for path in files {
        let data = std::fs::read(&path).unwrap();
        let mut random = Random(data.len() as u64);
        for n in 0..count {
            // The file itself first.
            let bad = if n == 0 { data.clone() } else { mutated(&data, &mut random) };
            if let Ok(original) = restore(bad) {
                // A mutation may undo the damage.
                assert!(n > 0, "{} was restored", path.display());
                let digest = hex(&Sha256::digest(&original));
                assert!(known.contains(&digest), "{}, mutation {n}", path.display());
            }
        }
    }
}

#[test]
fn archives_that_must_be_read_are_restored() {
    let known = std::fs::read_to_string(corpus().join("corpus.json")).unwrap();
    for file in std::fs::read_dir(corpus().join("must-read")).unwrap() {
        let path = file.unwrap().path();
        let original =
            restore(std::fs::read(&path).unwrap()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(known.contains(&hex(&Sha256::digest(&original))), "{}", path.display());
    }
}

#[test]
fn an_archive_whose_trailer_names_lost_tiles_is_restored_only_with_fill_values() {
    let path = corpus().join("must-refuse/231-required-bit-1-with-nothing-lost.nc3z");
    let bytes = std::fs::read(path).unwrap();
    let open = |fill| {
        let options = OpenOptions::default().with_fill_lost(fill);
        Archive::from_source(Arc::new(MemorySource::new(bytes.clone())), &options).unwrap()
    };
    let archive = open(false);
    let refusals = [
        archive.restore_to_stream(&mut Vec::new(), &()).unwrap_err(),
        archive.restore_stream().next_window(&mut Vec::new()).unwrap_err(),
        archive.restore_into(&(), &mut |_, _: &[u8]| Ok::<(), Error>(())).unwrap_err(),
    ];
    for error in refusals {
        assert!(error.is_corrupt() && error.to_string().contains("lost to damage"), "{error}");
    }
    // A check, and ranges without lost tiles, can still be read.
    archive.check_original(&()).unwrap();
    let mut last = [0];
    archive.read_original(archive.original_len() - 1, &mut last).unwrap();
    assert_eq!(last, [7]);
    let mut filled = Vec::new();
    open(true).restore_to_stream(&mut filled, &()).unwrap();
    assert_eq!(filled.last(), Some(&7));
}
