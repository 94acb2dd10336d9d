//! Small archives, made by the writer.

use crate::classic::{Model, Var};
use nc3z_format::NcType;
use nc3z_format::archive::short::{expand, is_short};
use nc3z_format::classic::Version;
use nc3z_reader::source::MemorySource;
use nc3z_reader::{Archive, Error, OpenOptions};
use nc3z_writer::{WriterOptions, archive_file};
use std::sync::Arc;

/// Whether all cases are wanted (`NC3Z_EXHAUSTIVE`, scripts/nightly.sh), or a sample of them.
pub(crate) fn exhaustive() -> bool {
    std::env::var_os("NC3Z_EXHAUSTIVE").is_some()
}

/// The archive of a file, in the long form.
pub(crate) fn archive_bytes(original: &[u8], options: &WriterOptions) -> Vec<u8> {
    let bytes = stored_bytes(original, options);
    if is_short(&bytes) { expand(&bytes).unwrap().bytes } else { bytes }
}

/// The archive of a file as the writer stores it.
pub(crate) fn stored_bytes(original: &[u8], options: &WriterOptions) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("a.nc"), dir.path().join("a.nc3z"));
    std::fs::write(&input, original).unwrap();
    archive_file(&input, &output, options, &()).unwrap();
    std::fs::read(output).unwrap()
}

/// Opens bytes under small limits.
pub(crate) fn open(bytes: Vec<u8>) -> Result<Archive, Error> {
    let options = OpenOptions::default().with_limits(crate::targets::small_limits());
    Archive::from_source(Arc::new(MemorySource::new(bytes)), &options)
}

pub(crate) fn restore(bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    open(bytes)?.restore_to_stream(&mut out, &())?;
    Ok(out)
}

/// A file whose archive has all kinds of entries (inline and in pages: blocks, members, constants), and that archive.
pub(crate) fn small() -> (Vec<u8>, Vec<u8>) {
    let vars = vec![
        // Noise in tiles too large for containers: blocks of their own, stored raw.
        Var::fixed(NcType::Char, &[8_600]),
        Var::record(NcType::Short, &[3]),
        Var::record(NcType::Byte, &[2]),
    ];
    let mut original = Model { fill: 3, tail: 9, ..Model::new(Version::Cdf2, 40, vars) }.build().bytes;
    let records = original.len() - 300;
    original[records..records + 200].fill(7);
    let archive = archive_bytes(&original, &WriterOptions::default().with_tile_len(8_500));
    (original, archive)
}

/// An archive with index pages: tiles have only a few bytes.
pub(crate) fn paged() -> (Vec<u8>, Vec<u8>) {
    let vars = vec![
        Var::fixed(NcType::Short, &[200]),
        Var::record(NcType::Byte, &[2]),
        Var::record(NcType::Int, &[]),
    ];
    let mut original = Model { fill: 2, ..Model::new(Version::Cdf1, 6, vars) }.build().bytes;
    let middle = original.len() / 2;
    original[middle..middle + 64].fill(7);
    let archive = archive_bytes(&original, &WriterOptions::default().with_tile_len(4));
    (original, archive)
}
