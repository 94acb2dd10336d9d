//! A page about a collection: sizes, ratios, the largest variables, unreadable files.

mod page;
pub(crate) use page::STYLE;
mod treemap;

use crate::tree::Other;
use nc3z_look::cost::Costs;
use nc3z_look::text;
use nc3z_reader::Archive;
use std::collections::BTreeMap;

/// The facts about one file.
#[derive(Debug)]
pub struct File {
    /// Its name relative to the directory.
    pub name: String,
    /// The length of the file.
    pub bytes: u64,
    /// The kind of the file.
    pub state: State,
}

/// The kind of a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum State {
    /// An archive.
    Archive {
        /// The length of the original.
        original: u64,
        /// The size of each variable.
        variables: Vec<VariableSize>,
    },
    /// A classic file: not archived.
    Classic,
    /// It cannot be read, for this reason.
    Failed(String),
}

/// The size of a variable.
#[derive(Debug)]
pub struct VariableSize {
    /// Its name, safe to show.
    pub name: String,
    /// Bytes in the original.
    pub original: u64,
    /// Bytes in the archive.
    pub stored: u64,
}

/// The content of the page.
#[derive(Debug)]
pub struct Collection {
    /// The name of the directory, safe to show.
    pub name: String,
    /// Archives, classic files, and files that cannot be read.
    pub files: Vec<File>,
    /// Other files.
    pub others: Vec<Other>,
}

impl State {
    /// Returns the facts about an archive. Only its header and index are read.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn new(archive: &Archive) -> nc3z_reader::Result<Self> {
        let costs = Costs::new(archive, archive.source())?;
        let variables =
            archive.header().variables().zip(&costs.variables).map(|((id, v), cost)| VariableSize {
                name: text::name(&v.name),
                original: archive
                    .layout()
                    .variable(id)
                    .map_or(0, |l| l.present.saturating_mul(v.ty.size() as u64)),
                stored: cost.bytes,
            });
        Ok(State::Archive { original: archive.original_len(), variables: variables.collect() })
    }
}

impl Collection {
    /// Returns the page: HTML and SVG that load nothing and run no scripts.
    pub fn html(&self) -> String {
        page::html(self)
    }

    fn archives(&self) -> impl Iterator<Item = (&File, u64, &[VariableSize])> {
        self.files.iter().filter_map(|f| match &f.state {
            State::Archive { original, variables } => Some((f, *original, &variables[..])),
            _ => None,
        })
    }

    fn failures(&self) -> impl Iterator<Item = (&File, &str)> {
        self.files.iter().filter_map(|f| match &f.state {
            State::Failed(why) => Some((f, &why[..])),
            _ => None,
        })
    }

    fn classic(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|f| matches!(f.state, State::Classic))
    }

    /// Returns variables by name: number of files, original bytes, stored bytes; the largest first.
    fn variables(&self) -> Vec<(&str, u64, u64, u64)> {
        let mut by_name: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
        for cost in self.archives().flat_map(|(_, _, variables)| variables) {
            let sum = by_name.entry(&cost.name).or_default();
            *sum = (sum.0 + 1, sum.1.saturating_add(cost.original), sum.2.saturating_add(cost.stored));
        }
        let mut all: Vec<_> = by_name.into_iter().map(|(name, (n, a, b))| (name, n, a, b)).collect();
        all.sort_by_key(|&(name, _, _, stored)| (std::cmp::Reverse(stored), name));
        all
    }
}
