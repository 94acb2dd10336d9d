//! Packed members of a bundle, and their groups, of which the last ones stay open.

use super::packed::Packed;
use super::stamp::Stamp;
use super::{Bundle, Directory, index};
use crate::error::{Error, Result};
use crate::pack::{DIRECTORY, Group, PackedMember, README, is_group_name};
use nc3z_reader::OpenOptions;
use nc3z_reader::source::{ByteSource, SharedSource};
use std::sync::{Arc, Mutex, PoisonError};

/// The number of groups that stay open. Members that are read one after another are in the same group or in
/// the next.
const OPEN: usize = 8;
/// The number of bytes of memory that groups may take which stay open, besides the last one.
const OPEN_BYTES: u64 = 256 << 20;

/// The groups of a bundle.
#[derive(Default)]
pub(super) struct Groups {
    pub(super) packed: Packed,
    /// The last ones used, the newest last.
    open: Mutex<Vec<(usize, Arc<Group>)>>,
    /// Lost tiles are read as fill values.
    fills: bool,
}

impl Groups {
    pub(super) fn new(packed: Packed) -> Self {
        Groups { packed, open: Mutex::default(), fills: false }
    }
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

    /// Removes groups from the names of members. Without an index that counts, the groups themselves list their
    /// members. Members of groups that are missing are those that an index lists which does not count.
    pub(super) fn set_groups_apart(&mut self) -> Result<()> {
        let (groups, plain) = std::mem::take(&mut self.plain).into_iter().partition(|n| is_group_name(n));
        self.plain = plain;
        let count = self.plain.len();
        self.plain.retain(|name| name != README);
        self.packed = self.plain.len() < count;
        let groups: Vec<String> = groups;
        if matches!(self.directory, Directory::Zip(_)) {
            let listed = self.listed_groups();
            if let Some(listed) = &listed {
                for (number, line) in listed.lines.iter().enumerate() {
                    if !groups.contains(&line.group) {
                        self.groups.packed.push(line.group.clone(), listed.stamped(number));
                    }
                }
            }
            for name in groups {
                let group = self.open_group(&name)?;
                let known = listed.as_ref().and_then(|listed| {
                    let number = listed.lines.iter().position(|line| line.group == name)?;
                    Some(listed.stamped(number).map(|(_, stamp)| stamp).collect::<Vec<_>>())
                });
                let stamps = known.into_iter().flatten().chain(std::iter::repeat(Stamp::default()));
                self.groups.packed.push(name, group.names().zip(stamps));
            }
        }
        Ok(())
    }

    /// Returns whether a group is in the bundle.
    ///
    /// # Errors
    /// As [`Bundle::member`].
    pub(super) fn has_group(&self, name: &str) -> Result<bool> {
        Ok(self.find(name, &self.source)?.is_some())
    }

    /// Returns the groups that the index lists, although another program rewrote the bundle.
    fn listed_groups(&self) -> Option<Packed> {
        let index = self.find(index::NAME, &self.source).ok()??;
        let len = usize::try_from(ByteSource::len(&index)).ok()?;
        let bytes = index.read_at(0, len).ok()?;
        index::packed_of(&bytes, self.source.len())
    }

    /// Returns whether it was written as a packed bundle, in which members share equal and similar data.
    pub fn is_packed(&self) -> bool {
        self.packed
    }

    /// The names of the groups in the ZIP, which are archives.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = &str> {
        self.groups.packed.lines.iter().map(|line| line.group.as_str())
    }

    /// The names of the members of the group with this number.
    ///
    /// # Panics
    /// There is no such group.
    pub fn members_of(&self, group: usize) -> impl Iterator<Item = &str> {
        self.groups.packed.of_group(group)
    }

    /// Returns whether a member is in a group.
    pub(super) fn is_packed_member(&self, name: &str) -> bool {
        self.groups.packed.find(name).is_some()
    }

    /// Returns a packed member. None where no member has that name.
    ///
    /// # Errors
    /// Its group is damaged.
    pub fn packed_member(&self, name: &str) -> Result<Option<PackedMember>> {
        let Some((group, number)) = self.groups.packed.find(name) else { return Ok(None) };
        let open = self.group(group)?;
        match open.member(number)? {
            Some(member) if member.name() == name => Ok(Some(member)),
            _ => Err(Error::fragment(
                name,
                format!(
                    "the index of the bundle says that member {number} of group {group} is it; it is not"
                ),
            )),
        }
    }

    /// Where a member is in the bundle: its offset, its length, and whether these are those of the group that it is packed in. None
    /// where no member has that name.
    ///
    /// # Errors
    /// As [`Bundle::member`].
    pub fn location(&self, name: &str) -> Result<Option<(u64, u64, bool)>> {
        let group =
            self.groups.packed.find(name).map(|(group, _)| self.groups.packed.lines[group].group.as_str());
        let mut found = self.find(group.unwrap_or(name), &self.source)?;
        if found.is_none() && self.packed {
            // The name of an original stands for its archive too.
            found = self.find(&format!("{name}.nc3z"), &self.source)?;
        }
        Ok(found.map(|member| (member.offset(), ByteSource::len(&member), group.is_some())))
    }

    /// The group with this number.
    ///
    /// # Errors
    /// It is damaged, or does not exist.
    pub fn group(&self, number: usize) -> Result<Arc<Group>> {
        let name = self.groups.packed.lines.get(number).map(|line| line.group.clone());
        let name = name.ok_or_else(|| Error::refused(format!("the bundle has no group {number}")))?;
        let mut open = self.groups.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = open.iter().position(|(known, _)| *known == number) {
            let found = open.remove(at);
            open.push(found);
        } else {
            // Makes room first: both together could be too much.
            while open.len() >= OPEN || open.iter().map(|(_, group)| group.weight()).sum::<u64>() > OPEN_BYTES
            {
                open.remove(0);
            }
            open.push((number, Arc::new(self.open_group(&name)?)));
        }
        Ok(open.last().map(|(_, group)| Arc::clone(group)).expect("it was put there"))
    }

    fn open_group(&self, name: &str) -> Result<Group> {
        let source = self.find(name, &self.source)?.ok_or_else(|| Error::Absent {
            file: name.to_owned(),
            what: format!("the bundle has no such group of members below `{DIRECTORY}`"),
        })?;
        let source: SharedSource = Arc::new(source);
        if self.groups.fills {
            return Group::open_filled(&source, &OpenOptions::default());
        }
        Group::open(source, &OpenOptions::default())
    }
}
