//! Inputs as named on the command line, opened by [`nc3z::opener`] with the options of a command.

use super::{Input, stdin, url};
use crate::args::{FragmentArgs, OpenArgs, RemoteArgs};
use crate::output::message;
use crate::output::table::count;
use anyhow::{Context, Result, anyhow, bail};
use nc3z::Name;
use nc3z::opener::{Elsewhere, Kind, LastBundle, Opener, WrongKind};
use nc3z_collections::catalog::Catalog;
use nc3z_collections::{Missing, Notes, Options};
use nc3z_format::names;
use nc3z_reader::source::{self, SharedSource};
use nc3z_reader::{Archive, Dataset};
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::Path;
use std::sync::OnceLock;

/// The maximal number of notes that are printed.
const MOST_NOTES: usize = 20;

/// The bundle that was opened last.
static LAST: LastBundle = LastBundle::none();

/// Takes a name apart.
pub(crate) fn of(path: &Path) -> Result<Name> {
    Ok(Name::from_path(path)?)
}

/// Returns the opener for the arguments of a command. `name` is that of the input, for messages.
pub(crate) fn opener(name: &Path, args: &OpenArgs) -> Opener {
    let options = args.options();
    let options = if args.as_it_is { options } else { crate::registry::with_read_repair(options, name) };
    let fragments = (!args.fragments.as_stored).then(|| fragments(&args.fragments, args));
    let opener = Opener::new(options).with_access(args.access).with_last(&LAST).with_fragments(fragments);
    with_remote(opener, &args.remote)
}

#[cfg(feature = "remote")]
fn with_remote(opener: Opener, args: &RemoteArgs) -> Opener {
    let settings = args.settings.iter();
    opener.with_remote(settings.fold(nc3z::opener::RemoteOptions::default(), |options, (name, value)| {
        options.with_setting(name, value)
    }))
}

#[cfg(not(feature = "remote"))]
fn with_remote(opener: Opener, _: &RemoteArgs) -> Opener {
    opener
}

pub(crate) fn fragments(fragments: &FragmentArgs, args: &OpenArgs) -> Options {
    let mut options = Options::default();
    options.open = crate::registry::with_read_repair(args.options(), Path::new("a fragment"));
    options.missing = if fragments.fill_missing { Missing::Fill } else { Missing::Refuse };
    options.outside = fragments.outside;
    options.notes = notes().clone();
    options
}

/// Presents an aggregation that was opened as stored by this name.
pub(crate) fn present(dataset: Dataset, path: &Path, args: &OpenArgs) -> Result<Dataset> {
    Ok(opener(path, args).present(dataset, &of(path)?)?)
}

/// Notes that were collected while fragments were read.
fn notes() -> &'static Notes {
    static NOTES: OnceLock<Notes> = OnceLock::new();
    NOTES.get_or_init(Notes::default)
}

/// Prints the notes at the end of a run.
pub(crate) fn tell_notes() {
    let notes = notes().take();
    for what in notes.iter().take(MOST_NOTES) {
        note!("nc3z: note: {}", crate::output::text::safe(what));
    }
    if let Some(more) = notes.len().checked_sub(MOST_NOTES).filter(|n| *n > 0) {
        note!("nc3z: note: and {more} more like these");
    }
}

/// Opens inputs with the arguments of a command.
pub(crate) trait Opens {
    /// Returns the bytes of the file.
    fn source(&self, args: &OpenArgs) -> Result<SharedSource>;
    /// Returns the system's metadata of the file, or of a member's bundle. None for a URL and for standard
    /// input.
    fn metadata(&self) -> Result<Option<Metadata>>;
    /// Opens an archive.
    fn open_archive(&self, args: &OpenArgs) -> Result<Archive>;
    /// Opens the variables of an archive or a classic file as stored.
    fn open_stored(&self, args: &OpenArgs) -> Result<Dataset>;
    /// Opens the variables of an archive, a classic file or an aggregation.
    fn open_dataset(&self, args: &OpenArgs) -> Result<Dataset>;
}

impl Opens for Name {
    fn source(&self, args: &OpenArgs) -> Result<SharedSource> {
        if self.is_standard_input() {
            return stdin::source();
        }
        Ok(opener(&self.without_version(), args).source(self)?)
    }

    fn metadata(&self) -> Result<Option<Metadata>> {
        if self.url().is_some() || self.is_standard_input() {
            return Ok(None);
        }
        let file = self.file();
        Ok(Some(std::fs::metadata(file).with_context(|| format!("open `{}`", file.display()))?))
    }

    fn open_archive(&self, args: &OpenArgs) -> Result<Archive> {
        one_state(self, args)?;
        if self.is_standard_input() {
            stdin::source()?;
        }
        Ok(opener(&self.without_version(), args).archive(self)?)
    }

    fn open_stored(&self, args: &OpenArgs) -> Result<Dataset> {
        one_state(self, args)?;
        let source = self.source(args)?;
        let is_archive = Archive::is_one(&*source)?;
        let opened = opener(&self.without_version(), args).stored_from(source, self);
        // Exit code 3 is only for corrupt archives.
        let as_it_is = |e: &nc3z_reader::Error| is_archive || WrongKind::within(e).is_some();
        let dataset = opened
            .map_err(|e| if as_it_is(&e) { e.into() } else { anyhow!("{}", message::of_reader(&e)) })?;
        if !is_archive && args.older {
            bail!("it is not an archive; only archives have versions, and --older is for them");
        }
        Ok(dataset)
    }

    fn open_dataset(&self, args: &OpenArgs) -> Result<Dataset> {
        let stored = self.open_stored(args)?;
        Ok(opener(&self.without_version(), args).present(stored, self)?)
    }
}

/// Refuses a name with a version if the arguments name another state.
fn one_state(name: &Name, args: &OpenArgs) -> Result<()> {
    if name.requested().is_some() && args.older {
        refuse!("a version is named already; --older reads another one");
    }
    Ok(())
}

/// Refuses an input that a command cannot change: it needs an archive on this machine, with all its versions.
pub(crate) fn need_archive_file(path: &Path) -> Result<()> {
    refuse_others(path)?;
    if path.is_file() {
        return Ok(());
    }
    // The error of a directory, or of a file that does not exist.
    of(path)?.source(&OpenArgs::default()).map(drop)
}

/// Refuses inputs of a command for archives and trees of archives on this machine that are neither.
pub(crate) fn refuse_others(path: &Path) -> Result<()> {
    let name = of(path)?;
    let shown = crate::cmd::shown(path);
    let file = message::shell_name(name.file());
    match name.elsewhere() {
        None => {}
        Some(Elsewhere::Url) => url::refuse(path)?,
        Some(Elsewhere::StandardInput) => {
            bail!("`-` is standard input, which this command does not read: give the name of a file")
        }
        Some(Elsewhere::Member) => bail!(
            "`{shown}` is a member of a bundle, and this command needs an archive on disk: `nc3z bundle --extract {file} -o DIR` writes the members as archives"
        ),
        Some(Elsewhere::Version) => bail!(
            "`{shown}` is a version, and this command is for the archive with all its versions: name {file}"
        ),
    }
    if !path.is_file() {
        return Ok(());
    }
    let source = source::open(path, false)?;
    let kind = Kind::from_source(&source)?;
    if !matches!(kind, Kind::Bundle | Kind::Catalog | Kind::Classic) {
        return Ok(());
    }
    let wrong = opener(path, &OpenArgs::default()).wrong_kind(kind, Kind::Archive, source, &name);
    Err(nc3z_reader::Error::other(wrong).into())
}

/// Refuses a bundle as a whole, which a command would take for the archive of its table.
pub(crate) fn refuse_bundle(path: &Path, args: &OpenArgs) -> Result<()> {
    if stdin::is(path) || !super::unbundle::is_bundle(path) {
        return Ok(());
    }
    let name = of(path)?;
    let wrong = opener(path, args).wrong_kind(Kind::Bundle, Kind::Archive, name.source(args)?, &name);
    Err(nc3z_reader::Error::other(wrong).into())
}

/// Refuses a variable that the table of a catalogue does not have: it would be one of the files. `as_stored` is the option of the
/// command, which opens the table. None if the command has no such option.
pub(crate) fn refuse_of_catalog(dataset: &Dataset, variable: &[u8], as_stored: Option<bool>) -> Result<()> {
    let is_known = variable.is_empty() || dataset.header().variable(variable).is_some();
    if is_known || as_stored == Some(true) || !Catalog::is_one(dataset) {
        return Ok(());
    }
    let files = count(Catalog::from_dataset(dataset.clone())?.len() as u64, "file");
    let table = as_stored.map_or("", |_| "; --as-stored opens its table");
    bail!(
        "it is a catalogue of {files}, and has none of their variables: `nc3z stats`, `nc3z list` and `nc3z find` answer from it{table}"
    )
}

/// As [`refuse_of_catalog`], for variables in lists with commas.
pub(crate) fn refuse_lists_of_catalog<'l>(
    dataset: &Dataset,
    lists: impl IntoIterator<Item = &'l OsString>,
    as_stored: Option<bool>,
) -> Result<()> {
    let mut all = lists.into_iter().flat_map(|list| names::split(list.as_encoded_bytes(), b','));
    all.try_for_each(|name| refuse_of_catalog(dataset, &names::unescape_bytes(name), as_stored))
}

/// Returns the kind of file that was opened as stored.
pub(crate) fn input(dataset: &Dataset) -> Input<'_> {
    match (dataset.archive(), dataset.classic()) {
        (Some(archive), _) => Input::Archive(archive),
        (None, Some(classic)) => Input::Classic(classic),
        (None, None) => unreachable!("it was opened as stored, without fragments"),
    }
}
