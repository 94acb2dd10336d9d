//! Archives made and opened without a file system.

use crate::classic::{Model, Var};
use crate::support::archive_bytes;
use nc3z_format::NcType;
use nc3z_format::classic::Version;
use nc3z_reader::source::{ByteSource, MemorySource};
use nc3z_reader::{Archive, OpenOptions};
use nc3z_writer::{ErrorKind, Share, WriterOptions, archive_to, archive_to_vec};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn original() -> Vec<u8> {
    Model::new(
        Version::Cdf2,
        3,
        vec![Var::fixed(NcType::Float, &[50, 90]), Var::record(NcType::Short, &[300])],
    )
    .build()
    .bytes
}

#[test]
fn an_archive_in_memory_is_the_archive_of_the_file() {
    let original = original();
    for options in [
        WriterOptions::default(),
        WriterOptions::default().with_parity(Share::parse("5%").unwrap()),
        WriterOptions::default().with_verify(false),
    ] {
        let source = Arc::new(MemorySource::new(original.clone()));
        let (bytes, done) = archive_to_vec(source.clone(), &options, &()).unwrap();
        assert_eq!(bytes.len() as u64, done.stored_len);
        let mut written = Vec::new();
        assert_eq!(archive_to(source, &mut written, &options, &()).unwrap(), done);
        assert!(written == bytes);
        let archive =
            Archive::from_source(Arc::new(MemorySource::new(bytes.clone())), &OpenOptions::default());
        let mut restored = Vec::new();
        assert!(archive.unwrap().restore_to_stream(&mut restored, &()).unwrap().matches_record);
        assert!(restored == original);
        if done.proven {
            assert!(bytes == archive_bytes(&original, &options), "another archive than that of a file");
        }
    }
}

/// Bytes that change while they are read: after a number of reads, one of the last bytes changes.
#[derive(Debug)]
struct Changing {
    bytes: Vec<u8>,
    reads: AtomicU64,
    until: u64,
}

impl ByteSource for Changing {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> nc3z_reader::Result<()> {
        let at = usize::try_from(offset).unwrap();
        buf.copy_from_slice(&self.bytes[at..at + buf.len()]);
        let changed = self.bytes.len() - 1;
        if self.reads.fetch_add(1, Ordering::Relaxed) >= self.until && (at..at + buf.len()).contains(&changed)
        {
            buf[changed - at] ^= 0x40;
        }
        Ok(())
    }
}

#[test]
fn the_proof_in_memory_finds_a_source_that_changed() {
    let bytes = original();
    let reads = |until| {
        let source = Arc::new(Changing { bytes: bytes.clone(), reads: AtomicU64::new(0), until });
        (archive_to_vec(source.clone(), &WriterOptions::default(), &()), source.reads.load(Ordering::Relaxed))
    };
    let (done, all) = reads(u64::MAX);
    done.unwrap();
    let found = (0..all).filter(|&until| match reads(until).0 {
        // The change came before the first read that matters, or after the last.
        Ok(_) => false,
        Err(e) => {
            assert!(matches!(e.kind(), ErrorKind::Proof { .. }), "{e}");
            true
        }
    });
    assert!(found.count() > 0);
}
