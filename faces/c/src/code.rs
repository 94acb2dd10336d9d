//! Error codes, and the message of each thread's last failure.

#![expect(unsafe_code, reason = "symbols that C programs call")]

use crate::pointers::put_text;
use nc3z_c_common::{Fault, is_not_found, is_wrong_kind, words};
use nc3z_reader::ErrorKind;
use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `NC3Z_ABI_VERSION` of the header.
const ABI_VERSION: u32 = 1;

macro_rules! codes {
    ($($name:ident $number:literal $text:literal;)+) => {
        /// A code of the header.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Code {
            $($name = $number,)+
        }

        fn name(code: i32) -> &'static CStr {
            match code {
                0 => c"NC3Z_OK",
                $($number => $text,)+
                _ => c"unknown code",
            }
        }
    };
}
codes! {
    Invalid -1 c"NC3Z_EINVALID";
    Handle -2 c"NC3Z_EHANDLE";
    NotFound -3 c"NC3Z_ENOTFOUND";
    Buffer -4 c"NC3Z_EBUFFER";
    Coordinates -5 c"NC3Z_ECOORDS";
    Edge -6 c"NC3Z_EEDGE";
    Stride -7 c"NC3Z_ESTRIDE";
    Text -8 c"NC3Z_ECHAR";
    Type -9 c"NC3Z_ETYPE";
    Range -10 c"NC3Z_ERANGE";
    Io -11 c"NC3Z_EIO";
    Corrupt -12 c"NC3Z_ECORRUPT";
    Unsupported -13 c"NC3Z_EUNSUPPORTED";
    Limit -14 c"NC3Z_ELIMIT";
    Incomplete -15 c"NC3Z_EINCOMPLETE";
    Exists -16 c"NC3Z_EEXISTS";
    Panic -17 c"NC3Z_EPANIC";
}

/// A failure: its code and its message.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) words: String,
}

pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;

impl Failure {
    pub(crate) fn new(code: Code, words: impl Into<String>) -> Self {
        Failure { code, words: words.into() }
    }

    pub(crate) fn invalid(words: impl Into<String>) -> Self {
        Failure::new(Code::Invalid, words)
    }

    /// A number or name that does not exist.
    pub(crate) fn not_found(words: impl Into<String>) -> Self {
        Failure::new(Code::NotFound, words)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let code = match fault {
            Fault::Coordinates => Code::Coordinates,
            Fault::Edge => Code::Edge,
            Fault::Stride => Code::Stride,
            Fault::Text => Code::Text,
            Fault::Type => Code::Type,
            Fault::Buffer { .. } => Code::Buffer,
            Fault::TooLarge => Code::Limit,
            Fault::Reader(e) => return e.into(),
        };
        Failure::new(code, fault.to_string())
    }
}

impl From<nc3z_reader::Error> for Failure {
    fn from(e: nc3z_reader::Error) -> Self {
        let code = match e.kind() {
            _ if is_not_found(&e) => Code::NotFound,
            ErrorKind::Io { .. } | ErrorKind::Replaced { .. } => Code::Io,
            ErrorKind::Incomplete { .. } => Code::Incomplete,
            ErrorKind::Range { .. } => Code::Range,
            ErrorKind::Format(e) if matches!(e.kind(), nc3z_format::ErrorKind::Limit { .. }) => Code::Limit,
            _ if e.is_unsupported() || is_wrong_kind(&e) => Code::Unsupported,
            _ if e.is_corrupt() => Code::Corrupt,
            _ => Code::Invalid,
        };
        Failure::new(code, words(&e))
    }
}

impl From<nc3z_writer::Error> for Failure {
    fn from(e: nc3z_writer::Error) -> Self {
        let words = words_of(&e);
        match e.kind() {
            nc3z_writer::ErrorKind::Exists(_) => Failure::new(Code::Exists, words),
            nc3z_writer::ErrorKind::Read(e) | nc3z_writer::ErrorKind::Source(e) => {
                Failure { words, code: code_of_read(e) }
            }
            _ if e.is_corrupt() => Failure::new(Code::Corrupt, words),
            _ => Failure::new(Code::Io, words),
        }
    }
}

fn code_of_read(e: &nc3z_reader::Error) -> Code {
    match () {
        () if is_not_found(e) => Code::NotFound,
        () if e.is_corrupt() => Code::Corrupt,
        () if e.is_unsupported() => Code::Unsupported,
        () => Code::Io,
    }
}

/// An error and its causes.
fn words_of(e: &dyn std::error::Error) -> String {
    let mut words = e.to_string();
    let mut cause = e.source();
    while let Some(e) = cause {
        let next = e.to_string();
        if !words.contains(&next) {
            words = format!("{words}: {next}");
        }
        cause = e.source();
    }
    words
}

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Stores the message of a failure for the calling thread.
pub(crate) fn note(words: String) {
    // A thread that is ending stores nothing.
    let _ = LAST.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = words;
        }
    });
}

/// Runs a function of the library. Returns its code, and stores the message. A panic, which would be a
/// defect, becomes a code.
pub(crate) fn call(work: impl FnOnce() -> Result) -> i32 {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => 0,
        Ok(Err(Failure { code, words })) => {
            note(words);
            code as i32
        }
        Err(_) => {
            note("a defect of the library: please report it".to_owned());
            Code::Panic as i32
        }
    }
}

/// `nc3z_abi_version` of the header.
#[unsafe(no_mangle)]
pub extern "C" fn nc3z_abi_version() -> u32 {
    ABI_VERSION
}

/// `nc3z_version` of the header.
#[unsafe(no_mangle)]
pub extern "C" fn nc3z_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// `nc3z_code_name` of the header.
#[unsafe(no_mangle)]
pub extern "C" fn nc3z_code_name(code: i32) -> *const c_char {
    name(code).as_ptr()
}

/// `nc3z_last_error` of the header.
///
/// # Safety
/// `text` is null or has room for `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_last_error(text: *mut c_char, capacity: usize) -> usize {
    let words = LAST.try_with(|last| last.try_borrow().map(|last| last.clone()).unwrap_or_default());
    let words = words.unwrap_or_default();
    // SAFETY: the caller's promise.
    unsafe { put_text(text, capacity, std::ptr::null_mut(), words.as_bytes()) };
    words.len()
}
