//! The names of packed members, with their groups and their positions in them. They are kept as stored, since
//! a bundle may have millions; a name is found by searching the bytes.

use super::stamp::Stamp;
use bytes::Bytes;
use memchr::{memchr_iter, memmem};
use std::ops::Range;

/// The byte after each name.
const END: u8 = 0;

/// The entry of a group in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// The group's name in the ZIP.
    pub(crate) group: String,
    pub(crate) members: usize,
    /// The length of their names in bytes.
    pub(crate) len: usize,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Packed {
    pub(crate) lines: Vec<Line>,
    /// The offset of the names of each group, and the end of the last ones.
    begins: Vec<usize>,
    pub(crate) names: Bytes,
    /// Times and permissions, in the order of the names.
    pub(crate) stamps: Vec<Stamp>,
}

impl Packed {
    /// Checks that each group has as many names as its entry says.
    pub(crate) fn new(lines: Vec<Line>, names: Bytes) -> Result<Self, String> {
        let mut begins = vec![0];
        let mut at = 0_usize;
        for line in &lines {
            let own = at.checked_add(line.len).and_then(|end| names.get(at..end));
            let own = own.ok_or_else(|| format!("the names of `{}` are not there", line.group))?;
            let found = memchr_iter(END, own).count();
            if found != line.members || own.last().is_some_and(|last| *last != END) {
                return Err(format!("`{}` has {} members and {found} names", line.group, line.members));
            }
            at += line.len;
            begins.push(at);
        }
        if at != names.len() {
            return Err(format!("{} bytes follow the names", names.len() - at));
        }
        std::str::from_utf8(&names).map_err(|e| format!("names of packed members: {e}"))?;
        let stamps = vec![Stamp::default(); lines.iter().map(|line| line.members).sum()];
        Ok(Packed { lines, begins, names, stamps })
    }

    pub(crate) fn push<'n>(&mut self, group: String, members: impl Iterator<Item = (&'n str, Stamp)>) {
        // Without a copy: this is the only owner while a bundle is written.
        let mut all = Vec::from(std::mem::take(&mut self.names));
        let (begin, before) = (all.len(), self.stamps.len());
        for (name, stamp) in members {
            all.extend_from_slice(name.as_bytes());
            all.push(END);
            self.stamps.push(stamp);
        }
        let members = self.stamps.len() - before;
        if self.begins.is_empty() {
            self.begins.push(0);
        }
        self.begins.push(all.len());
        self.lines.push(Line { group, members, len: all.len() - begin });
        self.names = all.into();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the group and the position in it.
    pub(crate) fn find(&self, name: &str) -> Option<(usize, usize)> {
        if name.as_bytes().contains(&END) {
            return None;
        }
        let wanted = [name.as_bytes(), &[END]].concat();
        let starts = |at: &usize| *at == 0 || self.names[at - 1] == END;
        let at = memmem::find_iter(&self.names, &wanted).find(starts)?;
        let group = self.begins.partition_point(|begin| *begin <= at) - 1;
        Some((group, memchr_iter(END, &self.names[self.begins[group]..at]).count()))
    }

    /// Returns time and permissions of a member.
    pub(crate) fn stamp(&self, name: &str) -> Option<Stamp> {
        let (group, number) = self.find(name)?;
        let before: usize = self.lines[..group].iter().map(|line| line.members).sum();
        self.stamps.get(before + number).copied()
    }

    /// Returns the names of a group, with times and permissions.
    pub(crate) fn stamped(&self, group: usize) -> impl Iterator<Item = (&str, Stamp)> {
        let before: usize = self.lines[..group].iter().map(|line| line.members).sum();
        self.of_group(group).zip(self.stamps[before..].iter().copied())
    }

    /// Returns the names in these bytes.
    fn split(&self, bytes: Range<usize>) -> impl Iterator<Item = &str> {
        let text = std::str::from_utf8(&self.names[bytes]).unwrap_or_default();
        text.split_terminator('\0')
    }

    /// Returns the names of a group.
    pub(crate) fn of_group(&self, group: usize) -> impl Iterator<Item = &str> {
        self.split(self.begins[group]..self.begins[group + 1])
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.split(0..self.names.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_are() {
        let mut packed = Packed::default();
        let of = |name, seconds| (name, Stamp::of_seconds(Some(seconds), None));
        packed.push("g0".into(), [of("a/b.nc", 1), of("b.nc", 2)].into_iter());
        packed.push("g1".into(), [].into_iter());
        packed.push("g2".into(), [of("c.nc", 3), of("b.nc2", 4)].into_iter());
        assert_eq!(packed.stamp("b.nc2"), Some(of("", 4).1));
        assert_eq!(packed.stamped(2).collect::<Vec<_>>(), [of("c.nc", 3), of("b.nc2", 4)]);
        let again = Packed::new(packed.lines.clone(), packed.names.clone()).unwrap();
        for p in [&packed, &again] {
            assert_eq!(p.find("a/b.nc"), Some((0, 0)));
            assert_eq!(p.find("b.nc"), Some((0, 1)));
            assert_eq!(p.find("c.nc"), Some((2, 0)));
            assert_eq!(p.find("b.nc2"), Some((2, 1)));
            assert_eq!((p.find("nc"), p.find(""), p.find("a/b.nc\0b.nc")), (None, None, None));
            assert_eq!(p.of_group(2).collect::<Vec<_>>(), ["c.nc", "b.nc2"]);
            assert_eq!(p.all().count(), 4);
        }
        let line = |members, len| Line { group: "g".into(), members, len };
        assert!(Packed::new(vec![line(2, 5)], packed.names.clone()).is_err());
        assert!(Packed::new(vec![line(1, 7)], packed.names.clone()).is_err());
        assert!(Packed::new(vec![line(9, 700)], packed.names).is_err());
        assert!(Packed::new(vec![line(1, 2)], Bytes::from_static(b"\xff\0")).is_err());
    }
}
