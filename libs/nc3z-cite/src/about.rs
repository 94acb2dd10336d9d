//! The statements of records about a dataset: from its caller, its attributes, and its version.

use crate::{Citation, VersionIdentity};
use nc3z_format::NcType;
use nc3z_format::digest::Root;
use nc3z_reader::{Dataset, Result};

/// The statements of a caller about a dataset. Missing ones are taken from its attributes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statements {
    /// Title of the dataset.
    pub title: Option<String>,
    /// The creators of the dataset.
    pub creators: Vec<String>,
    /// The publisher of the dataset.
    pub publisher: Option<String>,
    /// The year of its publication.
    pub year: Option<u16>,
    /// DOI of the dataset, with or without a resolver.
    pub doi: Option<String>,
    /// The URL where the dataset or its root is published.
    pub url: Option<String>,
    /// The file or URL that was read.
    pub source: String,
    /// The program and its version.
    pub tool: String,
    /// The command of the citation.
    pub command: String,
}

impl Statements {
    /// Returns the citation of a dataset, or of a slice of it: its file, and its variables with their hyperslabs.
    ///
    /// # Errors
    /// The versions of the archive cannot be read.
    pub fn cite(
        self,
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
        let own = self.source.rsplit('/').next().unwrap_or(&self.source).to_owned();
        let title = self.title.or_else(|| attribute(dataset, b"title")).unwrap_or(own);
        let said = attribute(dataset, b"creator_name").or_else(|| attribute(dataset, b"institution"));
        let creators = if self.creators.is_empty() { said.into_iter().collect() } else { self.creators };
        Ok(Citation {
            title,
            creators,
            publisher: self.publisher,
            year: self.year.map(|year| format!("{year:04}")),
            root,
            source: self.source,
            version,
            doi: self.doi.as_deref().map(without_resolver),
            url: self.url,
            slice,
            tool: self.tool,
            command: self.command,
        })
    }
}

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
