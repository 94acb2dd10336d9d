//! Builds an archive from a classic file. Source and target may be files or memory. The archive is written,
//! compared with the source, and sealed, with parity if requested.

use crate::error::{Error, ErrorKind, Result};
use crate::executor::write_tiles;
use crate::generation::{GenerationWriter, Medium, Memory, Unsealed, shorten, shorten_whole};
use crate::options::{Preset, Share, WriterOptions};
use crate::plan::{Partition, Plans, longest_whole, quicker_presets};
use crate::source_digests::{SourceDigests, hash};
use nc3z_format::archive::constants::REQUIRED_LOSSY;
use nc3z_format::archive::{Head, Metadata, Salt};
use nc3z_format::quantize::LossRecord;
use nc3z_reader::{Archive, ClassicFile, Monitor, OpenOptions};
use std::io::Write;
use std::path::Path;

/// The source of an archive and the options for building it.
pub(crate) struct Build<'a> {
    pub(crate) classic: &'a ClassicFile,
    /// The name of the source in messages.
    pub(crate) name: &'a Path,
    pub(crate) options: &'a WriterOptions,
    pub(crate) lossy: Option<&'a LossRecord>,
    pub(crate) parity: Option<Share>,
    /// If true, the archive is read back and compared with the source.
    pub(crate) prove: bool,
    /// Returns an error if the source changed since work began; false if only its bytes can show that.
    pub(crate) unchanged: &'a dyn Fn() -> Result<bool>,
    /// Returns an error if the original's digest is not the expected one.
    pub(crate) accept: &'a dyn Fn(&[u8; 32]) -> Result<()>,
    pub(crate) monitor: &'a dyn Monitor,
}

/// The archive on a medium.
struct Written {
    unsealed: Unsealed,
    /// The length of the short form, if the archive has that form.
    short: Option<u64>,
}

impl Written {
    /// The length of the archive with its trailer.
    fn len(&self) -> u64 {
        self.short.unwrap_or(self.unsealed.trailer.archive_len)
    }
}

/// The result of building an archive.
pub(crate) struct Built {
    pub(crate) sha256: [u8; 32],
    pub(crate) stored_len: u64,
    /// The bytes of `stored_len` that are parity.
    pub(crate) parity_len: u64,
}

impl Build<'_> {
    /// Writes the archive, including its trailer, to an empty medium.
    pub(crate) fn run(&self, partition: &Partition, medium: &Medium<'_>) -> Result<Built> {
        // The salt depends on the whole content, so the source is read once before anything is written, while
        // the arrays are planned.
        let (sums, prepared) = rayon::join(
            || match self.options.seed {
                Some(seed) => Ok(SourceDigests::of_sha256(seed)),
                None => SourceDigests::new(self.classic, self.options, self.monitor),
            },
            || Prepared::new(self.classic, partition.clone(), self.options, self.monitor),
        );
        let sums = sums.map_err(|e| self.or_changed(e))?;
        let sha256 = sums.sha256;
        (self.accept)(&sha256)?;
        let prepared = prepared.map_err(|e| self.or_changed(e))?;
        let salt = Salt::of_file(&prepared.head.header, self.classic.source().len(), &sha256);
        let mut written = self.write(prepared, salt, &sums, medium, self.monitor)?;
        let mut quickest = written.len();
        let digest = self.options.seed.is_none().then_some(sha256);
        if digest.is_some() {
            for &quicker in quicker_presets(self.options.preset, self.classic.source().len()) {
                (written, quickest) = self.or_as(quicker, written, partition, (salt, &sums), medium)?;
            }
            written = self.or_whole(written, quickest, &sha256, medium)?;
        }
        let Written { unsealed, short } = written;
        let options =
            OpenOptions::default().with_registry(self.options.registry.clone()).with_header_of(self.classic);
        if self.prove && digest.is_some() {
            let archive = match short {
                Some(_) => Archive::from_source(medium.source()?, &options),
                None => Archive::from_unsealed(medium.source()?, unsealed.trailer.clone(), &options),
            };
            self.prove(&archive?, &sums).map_err(|e| self.or_changed(e))?;
        }
        if digest.is_some() {
            self.check_unchanged(&sha256)?;
        }
        if let Some(stored_len) = short {
            return Ok(Built { sha256, stored_len, parity_len: 0 });
        }
        let (memory, without_parity) = (self.options.memory, unsealed.trailer.archive_len);
        let stored_len = seal(medium, unsealed, digest, self.parity, memory, self.monitor)?;
        Ok(Built { sha256, stored_len, parity_len: stored_len - without_parity })
    }

    /// Writes everything but the trailer. If the short form is possible, writes it with its trailer.
    fn write(
        &self,
        prepared: Prepared<'_>,
        salt: Salt,
        sums: &SourceDigests,
        medium: &Medium<'_>,
        monitor: &dyn Monitor,
    ) -> Result<Written> {
        let out = medium.buffered_at(0)?;
        let unsealed = prepared
            .write(out, medium.name(), salt, self.lossy, sums, monitor)
            .map_err(|e| self.or_changed(e))?;
        // The short form has the SHA-256.
        let is_short = self.parity.is_none() && self.options.seed.is_none();
        let short = if is_short { shorten(medium, &unsealed, sums.sha256)? } else { None };
        Ok(Written { unsealed, short })
    }

    /// Plans the source as a quicker preset does. If that archive is shorter, it replaces the one on the
    /// medium. Returns the archive on the medium and the length of the new one.
    fn or_as(
        &self,
        preset: Preset,
        written: Written,
        partition: &Partition,
        (salt, sums): (Salt, &SourceDigests),
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

    /// Packs the file as a whole, if that is shorter, and replaces the archive on the medium.
    fn or_whole(
        &self,
        mut written: Written,
        quickest: u64,
        sha256: &[u8; 32],
        medium: &Medium<'_>,
    ) -> Result<Written> {
        let source = self.classic.source();
        let most = longest_whole(source.len(), (written.len(), quickest), self.options);
        let Some(most) = most.filter(|_| self.parity.is_none() && self.lossy.is_none()) else {
            return Ok(written);
        };
        let mut file = vec![0; usize::try_from(source.len()).expect("a short source")];
        source.read_into(0, &mut file)?;
        let whole = shorten_whole(medium, (&written.unsealed, written.short), *sha256, &file, most)?;
        written.short = whole.or(written.short);
        Ok(written)
    }

    /// Returns an error if the source changed since its bytes were hashed.
    fn check_unchanged(&self, sha256: &[u8; 32]) -> Result<()> {
        if (self.unchanged)()? || hash(&**self.classic.source(), self.monitor)? == *sha256 {
            return Ok(());
        }
        let what = "its bytes are others than before".to_owned();
        Err(ErrorKind::SourceChanged { path: self.name.to_owned(), what }.into())
    }

    /// If the source changed, returns that error instead of the error that the change caused.
    fn or_changed(&self, e: Error) -> Error {
        (self.unchanged)().err().unwrap_or(e)
    }

    /// Restores the original from the archive and compares it with the source.
    fn prove(&self, archive: &Archive, expected: &SourceDigests) -> Result<()> {
        if expected.are_of(archive, self.monitor)? {
            return Ok(());
        }
        let (path, offset) = (self.name.to_owned(), self.first_difference(archive)?);
        Err(ErrorKind::Proof { path, offset }.into())
    }

    /// Returns the offset of the first byte that differs between archive and source. If none differs, the
    /// source changed after it was hashed; returns its length.
    fn first_difference(&self, archive: &Archive) -> Result<u64> {
        let source = self.classic.source();
        let mut read = |at: u64, out: &mut [u8]| source.read_into(at, out);
        let found = archive.first_difference(&mut read, self.monitor)?;
        Ok(found.unwrap_or(source.len()))
    }
}

/// Writes the trailer, then parity if requested. Returns the archive's length.
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
        sums: &SourceDigests,
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
            writer: nc3z_format::SOFTWARE.to_owned(),
            options: options.recorded(),
            extra: options.extra.clone().into_iter().chain(lossy.map(LossRecord::entry)).collect(),
            ..Metadata::default()
        };
        sums.record.clone().within(writer.len()).put(&sums.sha256, &mut metadata.extra);
        writer.finish(&metadata)
    }
}
