//! Whole files: archives, restores and verifies them, on this process's threads.

#![expect(unsafe_code, reason = "symbols that C programs call")]

use crate::code::{Code, Failure, Result, call, note};
use crate::open::{find, nc3z_file, path};
use crate::pointers::{Sized0, fill, structure};
use nc3z_c_common::{enter_pool, verify};
use nc3z_writer::{AtomicFile, Preset, WriterOptions, archive_file};
use std::ffi::c_char;

/// `nc3z_archive_options` of the header.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct nc3z_archive_options {
    /// `sizeof(nc3z_archive_options)`.
    pub size: usize,
    /// 0 default, 1 fast, 2 max.
    pub preset: i32,
    /// True if an existing output is replaced.
    pub force: i32,
    /// True if the proof of the round trip is left out.
    pub no_verify: i32,
    /// 0.
    pub reserved: i32,
}

impl Sized0 for nc3z_archive_options {
    const EMPTY: Self =
        nc3z_archive_options { size: size_of::<Self>(), preset: 0, force: 0, no_verify: 0, reserved: 0 };
}

/// `nc3z_report` of the header.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct nc3z_report {
    /// `sizeof(nc3z_report)`.
    pub size: usize,
    /// True if no damage was found.
    pub is_sound: i32,
    /// True if all parts were checked.
    pub is_complete: i32,
    /// True if the rebuilt original has the recorded digest.
    pub matches: i32,
    /// 0.
    pub reserved: i32,
    /// The number of findings.
    pub findings: u64,
    /// The number of tiles that were checked.
    pub tiles: u64,
}

impl Sized0 for nc3z_report {
    const EMPTY: Self = nc3z_report {
        size: size_of::<Self>(),
        is_sound: 0,
        is_complete: 0,
        matches: 0,
        reserved: 0,
        findings: 0,
        tiles: 0,
    };
}

/// Runs work on this process's threads.
fn in_pool<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let (mut work, mut done) = (Some(work), None);
    enter_pool(&mut || done = work.take().map(|work| work()));
    done.unwrap_or_else(|| Err(Failure::new(Code::Panic, "the thread pool did not run the work")))
}

/// `nc3z_archive` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_archive(
    input: *const c_char,
    output: *const c_char,
    options: *const nc3z_archive_options,
) -> i32 {
    call(|| {
        // SAFETY: the caller's promise.
        let (input, output, options) =
            unsafe { (path("input", input)?, path("output", output)?, structure("options", options)?) };
        let preset = match options.preset {
            0 => Preset::Default,
            1 => Preset::Fast,
            2 => Preset::Max,
            other => return Err(Failure::invalid(format!("unknown preset {other}; expected 0, 1 or 2"))),
        };
        let options = WriterOptions::default()
            .with_preset(preset)
            .with_force(options.force != 0)
            .with_verify(options.no_verify == 0);
        in_pool(|| Ok(archive_file(input, output, &options, &()).map(|_| ())?))
    })
}

/// `nc3z_restore` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_restore(file: *const nc3z_file, output: *const c_char, force: i32) -> i32 {
    call(|| {
        let file = find(file)?;
        // SAFETY: the caller's promise.
        let output = unsafe { path("output", output)? };
        let archive = file.archive();
        let archive = archive.ok_or_else(|| Failure::invalid("a classic file needs no restore"))?;
        if file.is_at(output) {
            let output = output.display();
            return Err(Failure::invalid(format!("archive and output are the same file `{output}`")));
        }
        in_pool(|| {
            let target = AtomicFile::create_with_mode(output, force != 0, 0o666)?;
            archive.restore_to_file(target.file(), output, &())?;
            Ok(target.commit(None)?)
        })
    })
}

/// `nc3z_verify` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_verify(name: *const c_char, deep: i32, report: *mut nc3z_report) -> i32 {
    call(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { path("path", name)? };
        let found = in_pool(|| Ok(verify(name, deep != 0)?))?;
        if let Some(first) = found.findings.first() {
            note(first.message.clone());
        }
        let matches = found.restored.as_ref().is_some_and(|restored| restored.matches_record);
        let found = nc3z_report {
            is_sound: i32::from(found.is_sound()),
            is_complete: i32::from(found.is_complete()),
            matches: i32::from(matches),
            findings: found.findings.len() as u64 + found.more,
            tiles: found.tiles,
            ..nc3z_report::EMPTY
        };
        // SAFETY: the caller's promise.
        unsafe { fill("report", report, &found) }
    })
}
