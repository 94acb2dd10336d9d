//! Writes a plain ZIP: files as they are, without compression.

use super::Bundled;
use super::input::{Input, Recent};
use super::write::Names;
use crate::error::{Error, Result};
use nc3z_reader::Monitor;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Bytes that are copied at a time.
const STEP: usize = 1 << 20;
/// Longer members have the long form of lengths.
const LONG: u64 = u32::MAX as u64;

/// Writes a ZIP of files, in their order, to an empty file. The monitor hears of the bytes. Returns the number of bytes.
///
/// # Errors
/// Names that are absolute, lead outside or occur twice; files that change meanwhile; errors of the system.
pub fn write_zip(files: &[Bundled], out: &File, path: &Path, monitor: &dyn Monitor) -> Result<u64> {
    let mut names = Names::default();
    files.iter().try_for_each(|file| names.add(file, None, false))?;
    let failed = |e: zip::result::ZipError| Error::io(path, e.into());
    let output = out.try_clone().map_err(|e| Error::io(path, e))?;
    let mut zip = ZipWriter::new(BufWriter::with_capacity(STEP, output));
    let mut recent = Recent::default();
    let mut buffer = vec![0; STEP];
    for file in files {
        let input = Input::open(&file.path)?;
        let (len, stamp) = (input.source.len(), input.stamp());
        let [time, date] = stamp.dos();
        let mut options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(len >= LONG)
            .unix_permissions(stamp.mode().unwrap_or(0o644));
        // The date has been cut to what a ZIP can have.
        if let Ok(date) = DateTime::try_from_msdos(date, time) {
            options = options.last_modified_time(date);
        }
        zip.start_file(&*file.name, options).map_err(failed)?;
        let mut crc = crc32fast::Hasher::new();
        let mut at = 0;
        while at < len {
            let n = usize::try_from(len - at).map_or(STEP, |left| left.min(STEP));
            input.source.read_into(at, &mut buffer[..n]).map_err(|e| input.reason(e.into()))?;
            crc.update(&buffer[..n]);
            zip.write_all(&buffer[..n]).map_err(|e| Error::io(path, e))?;
            at += n as u64;
            monitor.advance(n as u64);
            if monitor.is_cancelled() {
                return Err(nc3z_reader::Error::interrupted().into());
            }
        }
        recent.check(input, crc.finalize())?;
    }
    recent.check_again()?;
    let mut output = zip.finish().map_err(failed)?;
    output.flush().map_err(|e| Error::io(path, e))?;
    Ok(output.get_ref().metadata().map_err(|e| Error::io(path, e))?.len())
}
