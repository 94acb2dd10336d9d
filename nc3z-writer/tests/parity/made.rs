//! Archives with parity, and random numbers.

use nc3z_reader::parity::{ParityReport, check, copy, prove, repair};
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_reader::{Archive, OpenOptions, slots_at};
use nc3z_writer::{Share, WriterOptions, archive_file};
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// The offset of the commit slots, which parity does not cover.
pub(crate) const SLOTS: usize = 112;

/// A generator of random numbers; equal seeds give equal numbers.
pub(crate) struct Lots(pub(crate) u64);

impl Lots {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 16
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from((u128::from(self.next()) * (n as u128)) >> 48).unwrap()
    }
}

/// A classic file with one variable of `len` bytes of noise, which no codec makes smaller.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut file = b"CDF\x01".to_vec();
    let n = u32::try_from(len).unwrap();
    for word in [0, 10, 1, 1] {
        file.extend(u32::to_be_bytes(word));
    }
    file.extend(b"x\0\0\0");
    for word in [n, 0, 0, 11, 1, 1] {
        file.extend(u32::to_be_bytes(word));
    }
    file.extend(b"v\0\0\0");
    for word in [1, 0, 0, 0, 1, n.next_multiple_of(4), 80] {
        file.extend(u32::to_be_bytes(word));
    }
    let mut lots = Lots(len as u64 + 1);
    while file.len() < 80 + len.next_multiple_of(4) {
        file.extend(&lots.next().to_le_bytes()[..4]);
    }
    file.truncate(80 + len);
    file.resize(80 + len.next_multiple_of(4), 0);
    file
}

pub(crate) struct Made {
    pub(crate) directory: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn archive(len: usize, share: Option<&str>) -> Made {
    archive_with(len, share, WriterOptions::default())
}

pub(crate) fn archive_with(len: usize, share: Option<&str>, mut options: WriterOptions) -> Made {
    let directory = TempDir::new().unwrap();
    let (input, path) = (directory.path().join("a.nc"), directory.path().join("a.nc3z"));
    std::fs::write(&input, noise(len)).unwrap();
    if let Some(share) = share {
        options = options.with_parity(Share::parse(share).unwrap());
    }
    archive_file(&input, &path, &options, &()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    Made { directory, path, bytes }
}

pub(crate) fn source(bytes: &[u8]) -> SharedSource {
    Arc::new(MemorySource::new(bytes.to_vec()))
}

pub(crate) fn checked(bytes: &[u8]) -> ParityReport {
    check(&source(bytes), &()).unwrap().expect("there is parity")
}

/// Repairs bytes in memory and checks the result.
pub(crate) fn repaired(bytes: &[u8]) -> nc3z_reader::Result<Vec<u8>> {
    let report = check(&source(bytes), &())?.expect("there is parity");
    let view = report.view(&source(bytes));
    let mut out = Vec::new();
    copy(&*view, &mut |piece| {
        out.extend_from_slice(piece);
        Ok(())
    })?;
    repair(&*view, &report, &(), &mut |at, good| {
        let at = usize::try_from(at).unwrap();
        out.resize(out.len().max(at + good.len()), 0);
        out[at..at + good.len()].copy_from_slice(good);
        Ok(())
    })?;
    let whole = source(&out);
    prove(&*whole, &report, &())?;
    // Parity treats the commit slots as zeros.
    if let Ok(archive) = Archive::from_source(whole.clone(), &OpenOptions::default().with_older(true)) {
        let (end, superblock) = (whole.len() - archive.torn_tail(), archive.superblock());
        let slots = slots_at(&*whole, end, superblock)?.encode(&superblock.salt);
        out[SLOTS..SLOTS + slots.len()].copy_from_slice(&slots);
    }
    Ok(out)
}
