//! Which variables of a file are whole. A file that was cut short lacks values that its header claims.

use super::answers::parsed;
use super::member::{Head, HeadKind};
use super::read::{Block, Catalog, Occurrence};
use crate::error::Result;
use nc3z_format::classic::{Header, Layout, VarLayout};
use std::collections::HashMap;

/// Which variables of the files of a block are whole.
pub(super) struct Presence {
    /// The number of bytes of each header.
    header_lens: Vec<u64>,
    /// By the number of the header and the length of the classic file: for each variable whether it is whole. None if the length
    /// contradicts the header.
    known: HashMap<(usize, u64), Option<Vec<bool>>>,
}

impl Presence {
    pub(super) fn new(block: &Block<'_>) -> Result<Self> {
        let header_lens = block.headers()?.iter().map(|bytes| bytes.len() as u64).collect();
        Ok(Presence { header_lens, known: HashMap::new() })
    }

    /// Returns whether a file has all elements of a variable. `headers` are those of the block.
    pub(super) fn is_whole(&mut self, headers: &[Header], file: &(Head, usize), variable: usize) -> bool {
        // An aggregation has no length of its own.
        file.0.kind == HeadKind::Other
            || self.of(headers, file).is_some_and(|all| all.get(variable).is_some_and(|whole| *whole))
    }

    /// Returns whether a file lacks elements of one of its variables.
    fn is_cut(&mut self, headers: &[Header], file: &(Head, usize)) -> bool {
        let has_no_length = matches!(file.0.kind, HeadKind::Other | HeadKind::File);
        !has_no_length && self.of(headers, file).is_none_or(|all| all.contains(&false))
    }

    fn of(&mut self, headers: &[Header], (head, number): &(Head, usize)) -> Option<&[bool]> {
        let lens = &self.header_lens;
        let look = || -> Option<Vec<bool>> {
            let (header, header_len) = headers.get(*number).zip(lens.get(*number))?;
            let layout = Layout::new(header, *header_len, head.len).ok()?;
            let is_whole = |v: &VarLayout| v.elements == Some(v.present);
            Some(layout.variables.iter().map(is_whole).collect())
        };
        self.known.entry((*number, head.len)).or_insert_with(look).as_deref()
    }
}

impl Block<'_> {
    /// For each of these occurrences of a variable, whether its file has all elements.
    ///
    /// # Errors
    /// Damage.
    pub fn are_whole(&self, found: &[Occurrence]) -> Result<Vec<bool>> {
        let (headers, heads, mut presence) = (parsed(self)?, self.heads()?, Presence::new(self)?);
        let is_whole = |found: &Occurrence| presence.is_whole(&headers, &heads[found.member], found.variable);
        Ok(found.iter().map(is_whole).collect())
    }
}

impl Catalog {
    /// The names of its files that lack values that their headers claim: they were cut short before they were described.
    ///
    /// # Errors
    /// Damage.
    pub fn cut_files(&self) -> Result<Vec<String>> {
        let mut cut = Vec::new();
        for block in self.blocks() {
            let (headers, heads, mut presence) = (parsed(&block)?, block.heads()?, Presence::new(&block)?);
            let named = block.names()?.into_iter().zip(&heads);
            cut.extend(named.filter(|(_, head)| presence.is_cut(&headers, head)).map(|(name, _)| name));
        }
        Ok(cut)
    }
}
