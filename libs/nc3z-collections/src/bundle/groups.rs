//! Packed members of a bundle, and their groups, of which the last ones stay open.

use super::{Bundle, HeadKind};
use crate::error::{Error, Result};
use crate::pack::{DIRECTORY, Group, PackedMember};
use nc3z_reader::OpenOptions;
use nc3z_reader::source::SharedSource;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The number of groups that stay open. Members that are read one after another are in the same group or in
/// the next.
const OPEN: usize = 8;
/// The number of bytes of memory that groups may take which stay open, besides the last one.
const OPEN_BYTES: u64 = 256 << 20;

/// The groups of a bundle.
#[derive(Default)]
pub(super) struct Groups {
    listed: OnceLock<Vec<GroupPlace>>,
    /// The last ones used, by their offsets, the newest last.
    open: Mutex<Vec<(u64, Arc<Group>)>>,
    /// Lost tiles are read as fill values.
    fills: bool,
}

/// A group, and the members that the table has of it.
#[derive(Debug, Clone)]
pub(super) struct GroupPlace {
    pub(super) offset: u64,
    pub(super) stored: u64,
    members: Vec<usize>,
}

/// The name of the group with a number, by which it is checked and reported.
fn group_name(number: usize) -> String {
    format!("{DIRECTORY}{number:06}{}", super::SUFFIX)
}

impl Bundle {
    /// Opens damaged groups, too: members have fill values in the place of lost tiles ([`PackedMember::lost`]).
    #[must_use]
    pub fn filling_lost(mut self) -> Self {
        self.groups.fills = true;
        self
    }

    /// Returns whether lost tiles of groups are read as fill values.
    pub fn fills_lost(&self) -> bool {
        self.groups.fills
    }

    /// The groups in the order of their first members.
    fn group_places(&self) -> Result<&[GroupPlace]> {
        if let Some(listed) = self.groups.listed.get() {
            return Ok(listed);
        }
        let mut groups: Vec<GroupPlace> = Vec::new();
        if let Some(container) = self.container() {
            let mut known: HashMap<(u64, u64), usize> = HashMap::new();
            container.each(&mut |number, head| {
                if head.kind != HeadKind::Packed {
                    return Ok(());
                }
                let at = *known.entry((head.offset, head.stored)).or_insert_with(|| {
                    groups.push(GroupPlace { offset: head.offset, stored: head.stored, members: Vec::new() });
                    groups.len() - 1
                });
                groups[at].members.push(number);
                Ok(())
            })?;
        }
        Ok(self.groups.listed.get_or_init(|| groups))
    }

    /// The place of the group with a name. None for other names.
    pub(super) fn group_place(&self, name: &str) -> Result<Option<&GroupPlace>> {
        let number = name.strip_prefix(DIRECTORY).and_then(|rest| rest.strip_suffix(super::SUFFIX));
        let Some(number) = number.and_then(|digits| digits.parse::<usize>().ok()) else { return Ok(None) };
        Ok(self.group_places()?.get(number).filter(|_| group_name(number) == name))
    }

    /// Returns whether it has packed members, which share equal and similar data.
    ///
    /// # Errors
    /// The table is damaged.
    pub fn is_packed(&self) -> Result<bool> {
        Ok(!self.group_places()?.is_empty())
    }

    /// Names of the groups, by which they are checked as archives.
    ///
    /// # Errors
    /// The table is damaged.
    pub fn groups(&self) -> Result<Vec<String>> {
        Ok((0..self.group_places()?.len()).map(group_name).collect())
    }

    /// The names of the members of the group with this number.
    ///
    /// # Errors
    /// There is no such group; damage.
    pub fn members_of(&self, group: usize) -> Result<Vec<&str>> {
        let place = self.group_places()?.get(group);
        let place = place.ok_or_else(|| Error::refused(format!("the bundle has no group {group}")))?;
        let names = self.names()?;
        Ok(place.members.iter().map(|number| names[*number].as_str()).collect())
    }

    /// The names of the members that are not packed.
    ///
    /// # Errors
    /// The table is damaged.
    pub fn plain_names(&self) -> Result<Vec<&str>> {
        let names = self.names()?;
        let mut is_packed = vec![false; names.len()];
        let packed = self.group_places()?.iter().flat_map(|group| &group.members);
        packed.for_each(|number| is_packed[*number] = true);
        Ok(names.iter().zip(is_packed).filter(|(_, packed)| !packed).map(|(name, _)| name.as_str()).collect())
    }

    /// Returns a packed member. None where no packed member has that name.
    ///
    /// # Errors
    /// Its group or the table is damaged.
    pub fn packed_member(&self, name: &str) -> Result<Option<PackedMember>> {
        Ok(self.packed_row(name)?.map(|(_, member)| member))
    }

    /// Returns a packed member and its number in the table.
    pub(super) fn packed_row(&self, name: &str) -> Result<Option<(usize, PackedMember)>> {
        let Some(container) = self.container() else { return Ok(None) };
        let Some(number) = container.find(name)? else { return Ok(None) };
        let head = container.head(number)?;
        if head.kind != HeadKind::Packed {
            return Ok(None);
        }
        let open = self.opened_group(head.offset, head.stored)?;
        Ok(Some((number, open.member(container.packed(number, &head)?)?)))
    }

    /// The group with this number.
    ///
    /// # Errors
    /// It is damaged, or does not exist.
    pub fn group(&self, number: usize) -> Result<Arc<Group>> {
        let place = self.group_places()?.get(number);
        let place = place.ok_or_else(|| Error::refused(format!("the bundle has no group {number}")))?;
        self.opened_group(place.offset, place.stored)
    }

    fn opened_group(&self, offset: u64, stored: u64) -> Result<Arc<Group>> {
        let mut open = self.groups.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = open.iter().position(|(known, _)| *known == offset) {
            let found = open.remove(at);
            open.push(found);
        } else {
            // Makes room first: both together could be too much.
            while open.len() >= OPEN || open.iter().map(|(_, group)| group.weight()).sum::<u64>() > OPEN_BYTES
            {
                open.remove(0);
            }
            open.push((offset, Arc::new(self.open_group(offset, stored)?)));
        }
        Ok(open.last().map(|(_, group)| Arc::clone(group)).expect("it was put there"))
    }

    fn open_group(&self, offset: u64, stored: u64) -> Result<Group> {
        let source = super::Member::new(self.source.clone(), offset, stored);
        let source: SharedSource =
            Arc::new(source.map_err(|what| Error::fragment("a group of files", what))?);
        if self.groups.fills {
            return Group::open_filled(&source, &OpenOptions::default());
        }
        Group::open(source, &OpenOptions::default())
    }
}
