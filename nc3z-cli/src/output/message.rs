//! Error messages for users: what happened, where, what to do. The libraries report the defect of a field.
//! Here that becomes a sentence, with the field at its end, and the command that helps.

use super::text;
use crate::cmd::{member, url};
use nc3z::opener::{Kind, WrongKind};
use nc3z_format::damage::Damage;
use nc3z_format::{Error as FormatError, ErrorKind as Format};
use nc3z_reader::ErrorKind as Read;
use nc3z_reader::platform::path_of;
use nc3z_writer::{Advice, ErrorKind as Write};
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The file that an error concerns: a context of the error, whose text is the file's name.
#[derive(Debug)]
struct InFile(PathBuf);

impl fmt::Display for InFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", url::shown(&self.0))
    }
}

/// Names the file in errors.
pub(crate) trait InFileExt<T> {
    /// Adds the file to an error that does not concern it yet.
    fn in_file(self, path: &Path) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> InFileExt<T> for Result<T, E> {
    fn in_file(self, path: &Path) -> anyhow::Result<T> {
        self.map_err(|e| {
            let e = e.into();
            if file_of(&e).as_deref() == Some(path) { e } else { e.context(InFile(path.to_owned())) }
        })
    }
}

/// Returns the file that an error concerns, if it is known.
pub(super) fn file_of(error: &anyhow::Error) -> Option<PathBuf> {
    let named = error.downcast_ref::<InFile>().map(|file| &*file.0);
    named.or_else(|| error.chain().find_map(path_in)).map(Path::to_owned)
}

/// Returns the path in an error of one of the libraries.
fn path_in<'e>(cause: &'e (dyn StdError + 'static)) -> Option<&'e Path> {
    if let Some(e) = cause.downcast_ref::<nc3z_writer::Error>() {
        return e.path();
    }
    if let Some(e) = cause.downcast_ref::<nc3z_collections::Error>() {
        return e.path();
    }
    cause.downcast_ref::<nc3z_reader::Error>()?.path()
}

/// Returns the message of an error and its causes, without repetitions, and advice. `file` is the file that
/// it concerns, if the caller knows it.
pub(crate) fn of(error: &anyhow::Error, file: Option<&Path>) -> String {
    match parts(error, file) {
        (words, Some(advice)) => format!("{words}; {advice}"),
        (words, None) => words,
    }
}

/// Returns the message of an error and its causes, and the advice.
pub(super) fn parts(error: &anyhow::Error, file: Option<&Path>) -> (String, Option<String>) {
    (without_advice(error), advice(error, file))
}

/// Returns the message of an error and its causes, without repetitions.
pub(crate) fn without_advice(error: &anyhow::Error) -> String {
    let mut out = String::new();
    for cause in error.chain() {
        if cause
            .downcast_ref::<nc3z_collections::tree::Error>()
            .is_some_and(nc3z_collections::tree::Error::repeats_its_source)
        {
            continue;
        }
        let cause = cause_words(cause);
        if cause.starts_with(&out) {
            out = cause;
        } else if !out.contains(&cause) {
            out = format!("{out}: {cause}");
        }
    }
    out
}

/// Returns the message of a reader's error, without advice: for a file that is not an archive, which cannot
/// be repaired.
pub(crate) fn of_reader(e: &nc3z_reader::Error) -> String {
    match format_error(e) {
        Some(e) => format_words(e),
        None => e.with_causes(),
    }
}

/// Returns the message of one cause.
fn cause_words(cause: &(dyn StdError + 'static)) -> String {
    if let Some(e) = format_error(cause) {
        return format_words(e);
    }
    if let Some(e) = cause.downcast_ref::<io::Error>() {
        return system_words(e);
    }
    match io_of(cause) {
        Some((_, Some(path), e)) if e.kind() == io::ErrorKind::NotFound => {
            format!("`{}`: {}", path.display(), system_words(e))
        }
        _ => cause.to_string(),
    }
}

/// Returns the format's error inside an error of the reader or the writer.
fn format_error<'e>(cause: &'e (dyn StdError + 'static)) -> Option<&'e FormatError> {
    let by_writer = cause.downcast_ref::<nc3z_writer::Error>().and_then(|e| match e.kind() {
        Write::Read(e) | Write::Source(e) => Some(e),
        _ => None,
    });
    let by_bundle = || match cause.downcast_ref::<nc3z_collections::Error>() {
        Some(nc3z_collections::Error::Reader(e)) => Some(e),
        _ => None,
    };
    let reader = by_writer.or_else(|| cause.downcast_ref::<nc3z_reader::Error>()).or_else(by_bundle);
    match reader.map(nc3z_reader::Error::kind) {
        Some(Read::Format(e)) => Some(e),
        _ => cause.downcast_ref::<FormatError>(),
    }
}

/// Returns the operation and the file, if the system refused an operation.
fn io_of<'e>(cause: &'e (dyn StdError + 'static)) -> Option<(&'static str, Option<&'e Path>, &'e io::Error)> {
    if let Some(e) = cause.downcast_ref::<nc3z_writer::Error>() {
        match e.kind() {
            Write::Io { what, path, source } => return Some((what, Some(path), source)),
            Write::Read(e) | Write::Source(e) => return io_of(e),
            _ => return None,
        }
    }
    match cause.downcast_ref::<nc3z_reader::Error>()?.kind() {
        Read::Io { what, path, source } => Some((what, path.as_deref(), source)),
        _ => None,
    }
}

/// Returns the system's message, without its number.
pub(crate) fn system_words(e: &io::Error) -> String {
    let words = e.to_string();
    match words.rfind(" (os error ") {
        Some(at) => words[..at].to_owned(),
        None => words,
    }
}

/// Describes the defect of a file.
fn format_words(e: &FormatError) -> String {
    match (e.damage(), e.kind()) {
        // The actual kind of a file needs no position.
        (_, Format::InvalidArgument(what)) | (Damage::OtherFormat, Format::Unsupported { what, .. }) => {
            what.clone()
        }
        (Damage::NotClassic, Format::Corrupt { found, .. }) => {
            format!(
                "this is not a netCDF file: it begins with the bytes {found}, and classic files with `CDF`"
            )
        }
        (Damage::Empty, _) => "the file is empty".to_owned(),
        (Damage::HeaderCut, _) => format!("the file is cut short: it ends inside its header ({e})"),
        (Damage::Header, _) => format!("the file's header is damaged ({e})"),
        (Damage::EndOverwritten, _) => format!("the end of the archive is missing or overwritten ({e})"),
        (Damage::EndMissing, _) => format!("the end of the archive is missing ({e})"),
        (Damage::Beginning, _) => format!("the beginning of the archive is damaged ({e})"),
        _ => e.to_string(),
    }
}

/// Returns the advice in an error of one of the libraries.
fn advice_of(cause: &(dyn StdError + 'static)) -> Option<Advice> {
    if let Some(e) = cause.downcast_ref::<nc3z_writer::Error>() {
        return e.advice();
    }
    if let Some(e) = cause.downcast_ref::<nc3z_collections::tree::Error>() {
        return e.advice();
    }
    if let Some(e) = cause.downcast_ref::<nc3z_collections::Error>() {
        return e.advice();
    }
    nc3z_collections::Error::advice_in(cause.downcast_ref::<nc3z_reader::Error>()?)
}

/// Returns the options or the command that an advice means here.
fn in_options(advice: Advice) -> Option<&'static str> {
    Some(match advice {
        Advice::Replace => "replace it with --force, or choose another name with -o",
        Advice::MoveTag => "--move-tag moves it",
        Advice::DropHistory => "--drop-history drops that, -o keeps the old archive",
        Advice::CommitUnrelated => "archive it separately, or commit it with --allow-unrelated",
        Advice::ReplaceOrAllowOverlap => {
            "--replace-overlap writes the new records over the archive's, --allow-overlap appends all"
        }
        Advice::AllowOverlap => "--allow-overlap appends all",
        Advice::MoreMemory => "give more memory with --memory",
        Advice::Recurse => "--recursive goes into it",
        Advice::CreateDirectories => "--parents creates it",
        Advice::NameOutput => "name the output file with -o",
        Advice::NameDirectory => "name a directory with -o",
        Advice::OtherDirectoryOrReplace => "choose another directory, or add to this one with --force",
        Advice::CompareOrReplace => "--skip-existing=digest compares the data, --force replaces it",
        Advice::Recall => "recall them first, or use --on-tape skip or --on-tape last",
        Advice::NameColumns => "--columns names those for path, size and checksum",
        Advice::ListChapters => "`nc3z spec --list` names all",
        Advice::WriteManifest => "`nc3z hash --manifest` and `nc3z archive -r --manifest sha256` write one",
        Advice::VerifyArchive => "`nc3z verify` checks an archive",
        Advice::MakePlan => "`nc3z plan` writes one",
        Advice::MakeCatalogue => "run `nc3z catalog` again when the files are complete",
        Advice::TrustOutside => "--outside allows that for an aggregation that you trust",
        Advice::JoinByNameOrMeaning => {
            "`--identity name` joins them, `--identity meaning` makes two variables of them"
        }
        Advice::OtherDimension => {
            "give the new dimension another name, or join along this one without --new-dim"
        }
        Advice::Extract => "`nc3z bundle --extract` writes it as a file",
        Advice::Pack => "`nc3z bundle --pack` makes a bundle that takes more files",
        _ => return None,
    })
}

/// Returns advice for the user of the command line.
fn advice(error: &anyhow::Error, file: Option<&Path>) -> Option<String> {
    if let Some(words) = error.chain().find_map(advice_of).and_then(in_options) {
        return Some(words.to_owned());
    }
    if let Some((_, Some(path), e)) = error.chain().find_map(io_of)
        && let Some(words) = about_names(path, e)
    {
        return Some(words);
    }
    if let Some(wrong) = wrong_kind(error) {
        return about_kind(wrong);
    }
    if error.chain().any(is_in_fragment) && crate::exit::of_error(error) == crate::exit::Exit::Corrupt {
        return Some(
            "`nc3z repair` of that fragment repairs it if it has parity, and otherwise saves the intact parts".to_owned(),
        );
    }
    let reader = error.chain().find_map(|c| c.downcast_ref::<nc3z_reader::Error>());
    if reader.is_some_and(|e| matches!(e.kind(), Read::OlderState { .. } | Read::NewestUnknown { .. })) {
        return Some("`nc3z restore --older` does so".to_owned());
    }
    if let Some(Read::NewestLost { whole, .. }) = reader.map(nc3z_reader::Error::kind) {
        let name = file.map(Path::to_owned).or_else(|| file_of(error));
        if let Some(name) = name.as_deref().filter(|name| member::of(name).is_some()) {
            return Some(about_member(name));
        }
        let name = name.map_or_else(|| "FILE".to_owned(), |f| shell_name(&f));
        let read = whole.map(|whole| format!("read version {whole} with `{name}@{whole}`, "));
        return Some(format!(
            "{}copy the file again, or save the intact parts with `nc3z repair {name} -o NEW`",
            read.unwrap_or_default()
        ));
    }
    if let Some(Read::Incomplete { whole, .. }) = reader.map(nc3z_reader::Error::kind) {
        let part = match whole {
            Some((name, 1)) => format!("; what is there is read by a selection such as -d {name},0"),
            Some((name, n)) if *n > 1 => {
                format!("; what is there is read by a selection such as -d {name},0,{}", n - 1)
            }
            _ => String::new(),
        };
        return Some(format!("fetch or copy the classic file again{part}"));
    }
    let damaged = error.chain().find_map(format_error).filter(|e| e.is_corrupt());
    if damaged.is_some_and(|e| e.damage() == Damage::Lost) {
        let name = file.map(Path::to_owned).or_else(|| file_of(error));
        let name = name.map_or_else(|| "FILE".to_owned(), |name| shell_name(&name));
        return Some(format!(
            "only an undamaged copy of the archive, or the original, has the lost data; `nc3z verify {name}` lists them, `nc3z restore --fill-lost {name}` writes fill values in their place"
        ));
    }
    if damaged.is_some_and(|e| !e.is_of_header())
        && crate::exit::of_error(error) == crate::exit::Exit::Corrupt
    {
        let name = file.map(Path::to_owned).or_else(|| file_of(error));
        if damaged.is_some_and(|e| e.damage() == Damage::Bundle) {
            return Some(about_bundle(name.as_deref()));
        }
        return Some(match name {
            Some(name) if member::of(&name).is_some() => about_member(&name),
            Some(name) => {
                let name = shell_name(&name);
                format!(
                    "`nc3z repair {name} -o NEW` repairs it if it has parity, and otherwise saves the intact parts"
                )
            }
            None => "`nc3z repair` saves the intact parts".to_owned(),
        });
    }
    None
}

/// True if an error was met while a fragment of an aggregation was read.
fn is_in_fragment(cause: &(dyn StdError + 'static)) -> bool {
    use nc3z_collections::Error::{Inside, Reader};
    let within = |e: &nc3z_reader::Error| match e.kind() {
        Read::Other(other) => matches!(other.downcast_ref(), Some(Inside { .. })),
        _ => false,
    };
    match cause.downcast_ref() {
        Some(Inside { .. }) => true,
        Some(Reader(e)) => within(e),
        _ => cause.downcast_ref::<nc3z_reader::Error>().is_some_and(within),
    }
}

/// Returns the kind of an input that cannot be used as requested.
pub(crate) fn wrong_kind(error: &anyhow::Error) -> Option<&WrongKind> {
    error.chain().find_map(|c| c.downcast_ref::<nc3z_reader::Error>()).and_then(WrongKind::within)
}

/// Returns the commands for an input that another command cannot use.
fn about_kind(wrong: &WrongKind) -> Option<String> {
    let name = shell_name(Path::new(&wrong.name));
    Some(match (wrong.kind, wrong.needed) {
        (Kind::Tree, _) => format!("`nc3z list {name}` lists its files"),
        (_, Kind::Catalog) => format!("`nc3z catalog {name} -o NAME.catalog.nc3z` writes one"),
        (Kind::Bundle, _) => {
            let first = wrong.first.as_deref().unwrap_or("NAME");
            let member = shell_name(Path::new(&format!("{}!/{first}", wrong.name)));
            format!("list its files with `nc3z list {name}`, and name one as {member}")
        }
        (Kind::Catalog, _) => format!(
            "`nc3z list {name}` lists the files that it describes, and `nc3z find` and `nc3z stats` answer questions from it"
        ),
        (Kind::Classic, Kind::Archive) => format!("`nc3z archive {name}` makes one of it"),
        _ => return None,
    })
}

/// Returns what to do about a bundle whose members are not known for certain.
fn about_bundle(path: Option<&Path>) -> String {
    let bundle = path.map(|path| member::of(path).map_or_else(|| path.to_owned(), |(bundle, _)| bundle));
    let bundle = bundle.map_or_else(|| "BUNDLE".to_owned(), |bundle| shell_name(&bundle));
    format!(
        "copy the bundle again, or save the members that are left with `nc3z restore -r --fill-lost {bundle} -o DIR`"
    )
}

/// Returns what to do about a damaged member of a bundle, which is repaired with the bundle.
fn about_member(path: &Path) -> String {
    let Some((bundle, _)) = member::of(path) else { return String::new() };
    let bundle = shell_name(&bundle);
    format!(
        "`nc3z repair {bundle} -o NEW` repairs it if it has parity; otherwise `nc3z restore -r --fill-lost {bundle} -o DIR` saves the \
         intact parts; {ELSEWHERE}"
    )
}

/// The source of data that are lost in a bundle.
pub(crate) const ELSEWHERE: &str = "only another copy of the bundle, or the original, has the rest";

/// Returns a name that can be typed in a shell.
pub(crate) fn shell_name(path: &Path) -> String {
    let name = text::safe(&url::shown(path));
    let plain = |c: char| c.is_alphanumeric() || "/._-+=@:,%~".contains(c);
    if name.chars().all(plain) { name } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

/// Describes a file that does not exist, or is a directory.
fn about_names(path: &Path, e: &io::Error) -> Option<String> {
    if path.as_os_str() == "-" {
        return Some(
            "`-` is standard input, which this command does not read: give the name of a file".to_owned(),
        );
    }
    if e.kind() == io::ErrorKind::NotFound && url::of(path).is_some() {
        // A server's answer has no error number of the system.
        return e.raw_os_error().map(|_| {
            "this command reads no URLs: fetch the file first, for instance with `curl -O`".to_owned()
        });
    }
    if path.is_dir() {
        return Some("`nc3z list` lists a directory".to_owned());
    }
    if e.kind() != io::ErrorKind::NotFound {
        return None;
    }
    let bytes = path.as_os_str().as_encoded_bytes();
    let other = match bytes.strip_suffix(b".nc3z") {
        Some(original) => path_of(original),
        None => crate::cmd::targets::archive_name(path),
    };
    if other.is_file() {
        return Some(format!("`{}` is there", text::safe(&other.to_string_lossy())));
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty())?;
    (!parent.exists())
        .then(|| format!("directory `{}` does not exist", text::safe(&parent.to_string_lossy())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(e: FormatError) -> String {
        of(&anyhow::Error::from(nc3z_reader::Error::from(e)), None)
    }

    #[test]
    fn damage_is_said_in_a_sentence_with_the_field_behind_it() {
        let said = words(FormatError::corrupt("trailer", 9, "marker (what may be)", "a", "b"));
        let expected = "the end of the archive is missing or overwritten (corrupt trailer at byte 9: marker (what may be) is b, \
             expected a); `nc3z repair` saves the intact parts";
        assert_eq!(said, expected);
        let said = words(FormatError::truncated("header", 0, "magic", 4, 0));
        assert_eq!(said, "the file is empty");
        assert_eq!(words(FormatError::unsupported("header", 0, "this is a cat")), "this is a cat");
        assert_eq!(words(FormatError::invalid("no such thing")), "no such thing");
    }

    #[test]
    fn the_file_is_named_in_what_to_do() {
        let e = nc3z_reader::Error::from(FormatError::corrupt("block", 9, "CRC", "a", "b"));
        let e = Err::<(), _>(e).in_file(Path::new("a b.nc3z")).unwrap_err();
        assert!(
            of(&e, None).ends_with("`nc3z repair 'a b.nc3z' -o NEW` repairs it if it has parity, and otherwise saves the intact parts"),
            "{}",
            of(&e, None)
        );
        assert!(of(&e, Some(Path::new("x"))).contains("`nc3z repair x -o NEW`"));
        // A second name of the same file says nothing.
        let again = Err::<(), _>(e).in_file(Path::new("a b.nc3z")).unwrap_err();
        assert!(of(&again, None).starts_with("`a b.nc3z`: corrupt"), "{}", of(&again, None));
    }

    #[test]
    fn names_that_lead_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("a.nc.nc3z"), b"").unwrap();
        let e = io::Error::from_raw_os_error(2);
        assert!(about_names(&path("a.nc"), &e).unwrap().ends_with("a.nc.nc3z` is there"));
        assert!(about_names(&path("none/a.nc"), &e).unwrap().ends_with("none` does not exist"));
        assert_eq!(about_names(&path("b.nc"), &e), None);
        assert!(about_names(Path::new("-"), &e).unwrap().starts_with("`-` is standard input"));
        assert!(about_names(Path::new("https://host/a.nc"), &e).unwrap().contains("URLs"));
        assert_eq!(system_words(&e), "No such file or directory");
    }
}
