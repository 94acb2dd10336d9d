//! Sets names for versions: a tag is stored in the metadata of a generation that changes nothing else.

use crate::error::{ErrorKind, Result};
use crate::generation::{GenerationWriter, InPlace};
use crate::options::WriterOptions;
use crate::parity::Renewal;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::Role;
use nc3z_format::archive::version::{TAGS_MOST, is_tag_name, put_tags};
use nc3z_reader::{Archive, OpenOptions, VersionName};
use std::collections::BTreeMap;
use std::path::Path;

/// A change of a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagChange {
    /// The tag names this version, by default the newest.
    Set {
        /// The version that the tag names.
        version: Option<VersionName>,
        /// Allows a tag of another version to be moved.
        force: bool,
    },
    /// The tag is deleted.
    Delete,
}

/// Changes a tag of the archive at `path`. Of the options, only those of parity apply. Returns the version that
/// the tag names or, if it is deleted, named.
///
/// # Errors
/// The name is not valid for a tag. There is no such version or tag. The tag names another version and may
/// not be moved. Another process changes the archive. The system refuses an operation. Then the archive is
/// unchanged.
pub fn tag_version(path: &Path, name: &str, change: &TagChange, options: &WriterOptions) -> Result<u64> {
    let refuse = |why: String| Err(ErrorKind::Option { option: "tag", why, advice: None }.into());
    if !is_tag_name(name) {
        return refuse(format!(
            "invalid tag `{name}`; expected letters, digits, `.`, `_` and `-`, at most 64, no digit first, not `latest`"
        ));
    }
    let mut place = InPlace::open(path, &OpenOptions::default())?;
    let archive = place.archive();
    let mut tags = archive.tags()?;
    let before = tags.get(name).copied();
    let number = match change {
        TagChange::Delete => {
            let Some(number) = tags.remove(name) else {
                return refuse(format!("no tag `{name}`"));
            };
            number
        }
        TagChange::Set { version, force } => {
            let number = if version.is_some() {
                let options = OpenOptions::default().with_version(version.clone());
                Archive::from_source(place.source()?, &options)?.version()?.number
            } else {
                archive.version()?.number
            };
            if before == Some(number) {
                return Ok(number);
            }
            if let Some(other) = before.filter(|_| !force) {
                return Err(ErrorKind::TagInUse { tag: name.to_owned(), version: other }.into());
            }
            if tags.len() >= TAGS_MOST && before.is_none() {
                return Err(FormatError::limit(
                    "metadata",
                    None,
                    "tags",
                    TAGS_MOST as u64,
                    tags.len() as u64 + 1,
                )
                .into());
            }
            tags.insert(name.to_owned(), number);
            number
        }
    };
    if let Some(longer) = place.longer()? {
        place = longer;
    }
    let renewal = Renewal::begin(&mut place, options, &())?;
    let done = put(&place, &tags);
    Ok(renewal.end(&mut place, options, &(), done.map(|()| number))?.0)
}

/// Appends a generation with these tags.
fn put(place: &InPlace, tags: &BTreeMap<String, u64>) -> Result<()> {
    let archive = place.archive();
    let mut metadata = archive.metadata().clone();
    // A generation without a version record would have its generation number as version.
    archive.version()?.put(&mut metadata);
    put_tags(tags, &mut metadata);
    place.append(|medium| {
        let out = medium.buffered_at(place.end())?;
        let mut writer = GenerationWriter::after(out, place.path(), archive, place.source()?)?;
        for row in archive.variable_table().rows().iter().filter(|row| row.array.role() != Role::Heads) {
            writer.declare(row.array, row.tile_count);
        }
        writer.keep_head(archive.original_len());
        writer.finish(&metadata)
    })?;
    Ok(())
}
