//! From a classic file, wherever its bytes are, to an archive, wherever that is kept: written, proven, sealed, with parity where it is asked for.

use crate::error::{Error, ErrorKind, Result};
use crate::generation::{GenerationWriter, Medium, Memory, Unsealed, WHOLE, shorten, shorten_whole};
use crate::options::{Preset, Share, WriterOptions};
use crate::pipeline::write_tiles;
use crate::plan::{Partition, Plans};
use md5::Md5;
use nc3z_format::archive::constants::REQUIRED_LOSSY;
use nc3z_format::archive::{Head, Metadata, Salt};
use nc3z_format::digest::DigestRecord;
use nc3z_format::quantize::LossRecord;
use nc3z_reader::source::ByteSource;
use nc3z_reader::{Archive, ClassicFile, Monitor, OpenOptions, Wanted};
use sha2::digest::Output;
use sha2::{Digest, Sha256};
use std::io::{BufWriter, Write};
use std::path::Path;
use twox_hash::XxHash3_128;

/// Bytes of the output buffer.
pub(crate) const OUT_BUFFER: usize = 1 << 20;
/// Bytes that are compared or hashed at a time.
const COMPARE_LEN: usize = 1 << 20;
/// Sources of at most so many bytes are archived as each quicker preset does, too, and the smallest archive is kept: estimates err most where little
/// is to be estimated, and milliseconds are spent.
const ALL_WAYS: u64 = 256 << 10;
/// The same for [`Preset::Max`], which spends ten times what the others do.
const ALL_WAYS_MAX: u64 = 4 << 20;

/// A file as a whole has to be smaller by one part in so many than what confines damage to a tile.
const WORTH_IT: u64 = 64;

/// What is archived, and how.
pub(crate) struct Build<'a> {
    pub(crate) classic: &'a ClassicFile,
    /// What the source is called in messages.
    pub(crate) name: &'a Path,
    pub(crate) options: &'a WriterOptions,
    pub(crate) lossy: Option<&'a LossRecord>,
    pub(crate) parity: Option<Share>,
    /// Whether the archive is read back and compared with the source.
    pub(crate) prove: bool,
    /// An error where the source is not what it was when work began; false where only its bytes can tell.
    pub(crate) unchanged: &'a dyn Fn() -> Result<bool>,
    /// An error where the original's digest is not to be.
    pub(crate) accept: &'a dyn Fn(&[u8; 32]) -> Result<()>,
    pub(crate) monitor: &'a dyn Monitor,
}

/// What stands on a medium.
struct Written {
    unsealed: Unsealed,
    /// The length of the short form, where it is that.
    short: Option<u64>,
}

impl Written {
    /// Of the archive that it is or will be.
    fn len(&self) -> u64 {
        self.short.unwrap_or(self.unsealed.trailer.archive_len)
    }
}

/// What was built.
pub(crate) struct Built {
    pub(crate) sha256: [u8; 32],
    pub(crate) stored_len: u64,
    /// Bytes of that which are parity.
    pub(crate) parity_len: u64,
}

impl Build<'_> {
    /// Writes the archive to an empty medium, trailer included.
    pub(crate) fn run(&self, partition: &Partition, medium: &Medium<'_>) -> Result<Built> {
        // The salt depends on all of the content: it is read once before anything is written, while the arrays are planned.
        let (sums, prepared) = rayon::join(
            || Sums::of(self.classic, self.options, self.monitor),
            || Prepared::new(self.classic, partition.clone(), self.options, self.monitor),
        );
        let sums = sums.map_err(|e| self.or_changed(e))?;
        let sha256 = sums.sha256;
        (self.accept)(&sha256)?;
        let prepared = prepared.map_err(|e| self.or_changed(e))?;
        let salt = Salt::of_file(&prepared.head.header, self.classic.source().len(), &sha256);
        let mut written = self.write(prepared, salt, &sums, medium, self.monitor)?;
        let most = if self.options.preset == Preset::Max { ALL_WAYS_MAX } else { ALL_WAYS };
        let mut quickest = written.len();
        if self.classic.source().len() <= most {
            for &quicker in self.options.preset.quicker() {
                (written, quickest) = self.or_as(quicker, written, partition, (salt, &sums), medium)?;
            }
        }
        let Written { unsealed, short } = self.or_whole(written, quickest, &sha256, medium)?;
        let options = OpenOptions::default().with_registry(self.options.registry.clone());
        if self.prove {
            let archive = match short {
                Some(_) => Archive::from_source(medium.source()?, &options),
                None => Archive::from_unsealed(medium.source()?, unsealed.trailer.clone(), &options),
            };
            self.prove(&archive?, &sums).map_err(|e| self.or_changed(e))?;
        }
        self.check_unchanged(&sha256)?;
        if let Some(stored_len) = short {
            return Ok(Built { sha256, stored_len, parity_len: 0 });
        }
        let (memory, without_parity) = (self.options.memory, unsealed.trailer.archive_len);
        let stored_len = seal(medium, unsealed, Some(sha256), self.parity, memory, self.monitor)?;
        Ok(Built { sha256, stored_len, parity_len: stored_len - without_parity })
    }

    /// Writes everything but the trailer; or the short form, trailer and all, where there may be one.
    fn write(
        &self,
        prepared: Prepared<'_>,
        salt: Salt,
        sums: &Sums,
        medium: &Medium<'_>,
        monitor: &dyn Monitor,
    ) -> Result<Written> {
        let out = BufWriter::with_capacity(OUT_BUFFER, medium.writer_at(0)?);
        let unsealed = prepared
            .write(out, medium.name(), salt, self.lossy, sums, monitor)
            .map_err(|e| self.or_changed(e))?;
        let short = if self.parity.is_none() { shorten(medium, &unsealed, sums.sha256)? } else { None };
        Ok(Written { unsealed, short })
    }

    /// What is on the medium, or, where that is shorter and then in its place, what a quicker preset makes of the source; and the length of the latter.
    fn or_as(
        &self,
        preset: Preset,
        written: Written,
        partition: &Partition,
        (salt, sums): (Salt, &Sums),
        medium: &Medium<'_>,
    ) -> Result<(Written, u64)> {
        let options = WriterOptions { planned_by: Some(preset), ..self.options.clone() };
        let prepared = Prepared::new(self.classic, partition.clone(), &options, self.monitor)
            .map_err(|e| self.or_changed(e))?;
        let memory = Memory::default();
        let other = self.write(prepared, salt, sums, &Medium::Memory(&memory), &())?;
        let len = other.len();
        if len >= written.len() {
            return Ok((written, len));
        }
        let bytes = memory.into_vec();
        medium.write_at(0, &bytes)?;
        medium.set_len(bytes.len() as u64)?;
        Ok((other, len))
    }

    /// What is on the medium, or, where that is shorter and then in its place, the file packed as a whole. Whether it is worth that is told by what the quickest preset
    /// made, in `quickest` bytes: it is then worth it for all presets or for none, and none makes more than a quicker one.
    fn or_whole(
        &self,
        mut written: Written,
        quickest: u64,
        sha256: &[u8; 32],
        medium: &Medium<'_>,
    ) -> Result<Written> {
        let source = self.classic.source();
        if source.len() > WHOLE
            || !nc3z_format::num::switch::is_on("short-whole")
            || self.parity.is_some()
            || self.lossy.is_some()
            || !self.options.leaves_layout_open()
        {
            return Ok(written);
        }
        let mut file = vec![0; usize::try_from(source.len()).expect("at most 128 KiB")];
        source.read_into(0, &mut file)?;
        let most = written.len().min(quickest - quickest / WORTH_IT) - 1;
        let whole = shorten_whole(medium, (&written.unsealed, written.short), *sha256, &file, most)?;
        written.short = whole.or(written.short);
        Ok(written)
    }

    /// An error where the source is not what it was when its bytes were hashed.
    fn check_unchanged(&self, sha256: &[u8; 32]) -> Result<()> {
        if (self.unchanged)()? || hash(&**self.classic.source(), self.monitor)? == *sha256 {
            return Ok(());
        }
        let what = "its bytes are others than before".to_owned();
        Err(ErrorKind::SourceChanged { path: self.name.to_owned(), what }.into())
    }

    /// Where the source changed meanwhile, that is the news, not the difference it made.
    fn or_changed(&self, e: Error) -> Error {
        (self.unchanged)().err().unwrap_or(e)
    }

    /// Rebuilds the original from what was written; its digest must be that of the source: XXH3 of 128 bits, where the source was read for that too, else SHA-256.
    fn prove(&self, archive: &Archive, expected: &Sums) -> Result<()> {
        let (mut quick, mut sha) = (XxHash3_128::new(), Sha256::new());
        archive.restore_into(self.monitor, &mut |_, bytes: &[u8]| -> Result<()> {
            if expected.quick.is_some() {
                quick.write(bytes);
            } else {
                sha.update(bytes);
            }
            Ok(())
        })?;
        let is_same = match expected.quick {
            Some(expected) => quick.finish_128() == expected,
            None => sha.finalize().as_slice() == expected.sha256,
        };
        if is_same {
            return Ok(());
        }
        let (path, offset) = (self.name.to_owned(), self.first_difference(archive)?);
        Err(ErrorKind::Proof { path, offset }.into())
    }

    /// Where an archive differs from the source; the source's length, if it is no more what it was when it was hashed.
    fn first_difference(&self, archive: &Archive) -> Result<u64> {
        let source = self.classic.source();
        let mut buffer = vec![0; COMPARE_LEN];
        let mut found = None;
        archive.restore_into(self.monitor, &mut |at: u64, bytes: &[u8]| -> Result<()> {
            for (at, part) in (at..).step_by(COMPARE_LEN).zip(bytes.chunks(COMPARE_LEN)) {
                let original = &mut buffer[..part.len()];
                source.read_into(at, original)?;
                if found.is_none() && original != part {
                    let same = original.iter().zip(part).take_while(|(a, b)| a == b).count();
                    found = Some(at + same as u64);
                }
            }
            Ok(())
        })?;
        Ok(found.unwrap_or(source.len()))
    }
}

/// Writes the trailer, then parity where it is asked for; gives the archive's length.
pub(crate) fn seal(
    medium: &Medium<'_>,
    unsealed: Unsealed,
    digest: Option<[u8; 32]>,
    parity: Option<Share>,
    memory: u64,
    monitor: &dyn Monitor,
) -> Result<u64> {
    let len = unsealed.end(medium, digest)?;
    let Some(share) = parity else { return Ok(len) };
    let archive = Archive::from_source(medium.source()?, &OpenOptions::default())?;
    crate::parity::append(&archive, medium, share, memory, monitor)
}

/// A classic file whose arrays are planned.
struct Prepared<'a> {
    classic: &'a ClassicFile,
    options: &'a WriterOptions,
    plans: Plans,
    head: Head,
}

impl<'a> Prepared<'a> {
    fn new(
        classic: &'a ClassicFile,
        mut partition: Partition,
        options: &'a WriterOptions,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let plans = Plans::new(classic, &mut partition, options, monitor)?;
        let Partition { variables, paddings, gap, .. } = partition;
        let head = Head {
            header: classic.header_bytes().to_vec(),
            chains: plans.table.specs(),
            layouts: variables,
            padding_tile_lens: paddings,
            gap_tile_len: gap,
        };
        Ok(Prepared { classic, options, plans, head })
    }

    /// Writes everything but the trailer.
    fn write<W: Write>(
        self,
        out: W,
        path: &Path,
        salt: Salt,
        lossy: Option<&LossRecord>,
        sums: &Sums,
        monitor: &dyn Monitor,
    ) -> Result<Unsealed> {
        let Prepared { classic, options, plans, head } = self;
        let len = classic.source().len();
        let mut writer = GenerationWriter::fresh(out, path, &head, len, salt, options.planning_preset())?;
        writer.require(options.required);
        if lossy.is_some() {
            writer.require(REQUIRED_LOSSY);
        }
        write_tiles(classic, &plans, options, &mut writer, monitor)?;
        let mut metadata = Metadata {
            writer: concat!("nc3z ", env!("CARGO_PKG_VERSION")).to_owned(),
            options: options.recorded(),
            extra: options.extra.clone().into_iter().chain(lossy.map(LossRecord::entry)).collect(),
            ..Metadata::default()
        };
        sums.record.clone().within(writer.len()).put(&sums.sha256, &mut metadata.extra);
        writer.finish(&metadata)
    }
}

/// Digests of a source: the one that every archive has, and those that go on record in its metadata.
pub(crate) struct Sums {
    pub(crate) sha256: [u8; 32],
    pub(crate) record: DigestRecord,
    /// XXH3 of the same bytes, by which the proof compares: a fifteenth of the time of another SHA-256. Faults are found, not attacks.
    quick: Option<u128>,
}

/// A monitor whose progress is not that of the job.
struct Silent<'a>(&'a dyn Monitor);

impl Monitor for Silent<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

impl Sums {
    /// Reads the source once, and once more for an MD5.
    pub(crate) fn of(classic: &ClassicFile, options: &WriterOptions, monitor: &dyn Monitor) -> Result<Self> {
        let source = &**classic.source();
        let mut record = DigestRecord::default();
        if options.record_md5 {
            record.md5 = Some(hash_by::<Md5>(source, monitor)?.into());
        }
        // Variables that overlap others would be read once more, each apart from the rest.
        let is_read_once = classic.layout().variables.iter().all(|v| v.owned || v.present == 0);
        if !options.record_content || source.len() <= WHOLE || !is_read_once {
            return Ok(Sums { sha256: hash(source, monitor)?, record, quick: None });
        }
        let wanted = Wanted { content: true, sha256: true, tree: false };
        let mut quick = XxHash3_128::new();
        let digests = classic.digests_with(wanted, &mut |bytes| quick.write(bytes), &Silent(monitor))?;
        record.content = digests.content;
        record.variables = digests.variables;
        let sha256 = digests.sha256.expect("it was wanted");
        Ok(Sums { sha256, record, quick: Some(quick.finish_128()) })
    }
}

/// SHA-256 of all bytes of a source.
pub(crate) fn hash(source: &dyn ByteSource, monitor: &dyn Monitor) -> Result<[u8; 32]> {
    Ok(hash_by::<Sha256>(source, monitor)?.into())
}

fn hash_by<D: Digest>(source: &dyn ByteSource, monitor: &dyn Monitor) -> Result<Output<D>> {
    let mut sha = D::new();
    let mut buffer = vec![0; COMPARE_LEN];
    let mut at = 0;
    while at < source.len() {
        if monitor.is_cancelled() {
            return Err(ErrorKind::Interrupted.into());
        }
        let n = usize::try_from(source.len() - at).map_or(COMPARE_LEN, |n| n.min(COMPARE_LEN));
        source.read_into(at, &mut buffer[..n])?;
        sha.update(&buffer[..n]);
        at += n as u64;
    }
    Ok(sha.finalize())
}
