//! The statements of records about a dataset: from options, its attributes, and its version.

use crate::args::CiteArgs;
use crate::cmd::subset::history;
use crate::cmd::url;
use anyhow::Result;
use nc3z_cite::{Citation, VersionIdentity};
use nc3z_format::NcType;
use nc3z_format::digest::Root;
use nc3z_reader::Dataset;

/// Returns the citation of a dataset, or of a slice of it.
pub(super) fn citation(
    args: &CiteArgs,
    dataset: &Dataset,
    root: Root,
    slice: Option<(String, Vec<String>)>,
) -> Result<Citation> {
    let version = match dataset.archive() {
        Some(archive) => archive.versions(1)?.into_iter().next().map(|version| VersionIdentity {
            number: version.record.number,
            message: version.record.message,
            author: version.record.author,
            time: version.record.time,
        }),
        None => None,
    };
    let source = url::shown(&args.file).into_owned();
    let own = source.rsplit('/').next().unwrap_or(&source).to_owned();
    let title = args.title.clone().or_else(|| attribute(dataset, b"title")).unwrap_or(own);
    let said = attribute(dataset, b"creator_name").or_else(|| attribute(dataset, b"institution"));
    let creators = if args.creators.is_empty() { said.into_iter().collect() } else { args.creators.clone() };
    Ok(Citation {
        title,
        creators,
        publisher: args.publisher.clone(),
        year: args.year.map(|year| format!("{year:04}")),
        root,
        source,
        version,
        doi: args.doi.as_deref().map(without_resolver),
        url: args.url.clone(),
        slice,
        tool: format!("nc3z {}", env!("CARGO_PKG_VERSION")),
        command: history::command(),
    })
}

/// Returns a DOI without its resolver.
fn without_resolver(doi: &str) -> String {
    let prefixes = ["https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "doi:"];
    prefixes.iter().find_map(|prefix| doi.strip_prefix(prefix)).unwrap_or(doi).to_owned()
}

/// Returns a global attribute of text.
fn attribute(dataset: &Dataset, name: &[u8]) -> Option<String> {
    let found = dataset.attributes().iter().find(|a| a.name == name && a.ty == NcType::Char)?;
    let text = String::from_utf8_lossy(&found.values);
    let text = text.trim_end_matches('\0').trim();
    (!text.is_empty()).then(|| text.to_owned())
}
