//! Byte sources that fail at every single read, change while they are read, or end early: an error with the system's words, or the
//! original; never other values.

use crate::support::{paged, small};
use bytes::Bytes;
use nc3z_reader::source::{ByteSource, Reach, SharedSource};
use nc3z_reader::verify::quick;
use nc3z_reader::{Archive, Error, OpenOptions, Result};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The fault from a given read on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// That read alone fails with EIO.
    Once,
    /// It and all after it.
    On,
    /// The file is another from there on: a bit of each of its 64 bytes.
    Changed,
    /// It has lost its second half.
    Cut,
}

struct Failing {
    bytes: Bytes,
    changed: Bytes,
    from: u64,
    fault: Fault,
    reads: AtomicU64,
}

impl Failing {
    fn new(bytes: &[u8], from: u64, fault: Fault) -> Arc<Self> {
        let mut changed = bytes.to_vec();
        changed.iter_mut().step_by(64).for_each(|b| *b ^= 16);
        let (bytes, changed) = (Bytes::copy_from_slice(bytes), changed.into());
        Arc::new(Failing { bytes, changed, from, fault, reads: AtomicU64::new(0) })
    }
}

impl ByteSource for Failing {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Little is read ahead, so that faults strike everywhere.
    fn reach(&self) -> Reach {
        Reach::LOCAL.with_ends(160, 128)
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let number = self.reads.fetch_add(1, Ordering::Relaxed) + 1;
        let struck = number == self.from || (number > self.from && self.fault != Fault::Once);
        let refuse = |e: io::Error| Err(Error::io("read", None, e));
        let whole = match self.fault {
            Fault::Once | Fault::On if struck => return refuse(io::Error::from_raw_os_error(5)),
            Fault::Changed if struck => &self.changed[..],
            Fault::Cut if struck => &self.bytes[..self.bytes.len() / 2],
            _ => &self.bytes[..],
        };
        let begin = usize::try_from(offset).unwrap();
        match whole.get(begin..begin + buf.len()) {
            Some(bytes) => {
                buf.copy_from_slice(bytes);
                Ok(())
            }
            None => refuse(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn restored(source: Arc<Failing>) -> Result<Vec<u8>> {
    let shared: SharedSource = source;
    let archive = Archive::from_source(shared, &OpenOptions::default())?;
    let mut out = Vec::new();
    archive.restore_to_stream(&mut out, &())?;
    Ok(out)
}

#[test]
fn a_fault_at_any_read_is_an_error_and_never_other_values() {
    for (original, bytes) in [small(), paged()] {
        let sound = Failing::new(&bytes, u64::MAX, Fault::Once);
        assert!(restored(Arc::clone(&sound)).unwrap() == original);
        let reads = sound.reads.load(Ordering::Relaxed);
        assert!(reads > 4, "{reads}");
        let mut read_again = 0;
        for from in 1..=reads {
            for fault in [Fault::Once, Fault::On, Fault::Changed, Fault::Cut] {
                match restored(Failing::new(&bytes, from, fault)) {
                    Ok(out) => {
                        // The earlier reads may have been enough.
                        assert!(out == original, "{fault:?} at read {from}: other values");
                        assert!(fault != Fault::On, "{fault:?} at read {from}");
                        read_again += u64::from(fault == Fault::Once);
                    }
                    Err(e) if matches!(fault, Fault::Once | Fault::On) => {
                        let words = e.with_causes();
                        assert!(words.contains("os error 5"), "{fault:?} at read {from}: {words}");
                    }
                    Err(e) => assert!(!e.to_string().is_empty()),
                }
            }
        }
        // If the ends cannot be read together, each is read again separately. So is a page of the index that
        // was needed only for the order of work.
        assert!(read_again <= 3, "{read_again} of {reads} faults went unnoticed");
    }
}

#[test]
fn checks_end_and_do_not_call_what_they_could_not_read_sound() {
    for (_, bytes) in [small(), paged()] {
        let sound = Failing::new(&bytes, u64::MAX, Fault::Once);
        let shared: SharedSource = sound.clone();
        assert!(quick(&shared, &OpenOptions::default(), &()).unwrap().is_sound());
        let reads = sound.reads.load(Ordering::Relaxed);
        for from in 1..reads {
            // From the next read on nothing can be read, half is missing, or another file is in its place.
            for fault in [Fault::On, Fault::Cut, Fault::Changed] {
                let shared: SharedSource = Failing::new(&bytes, from, fault);
                let report = quick(&shared, &OpenOptions::default(), &());
                let said = report.as_ref().map_or(true, |r| !r.is_sound());
                // The last reads are of what was read before: the index, the head.
                assert!(
                    said || from + 8 > reads || fault != Fault::On,
                    "{fault:?} at read {from} of {reads}: {report:?}"
                );
            }
        }
    }
}
