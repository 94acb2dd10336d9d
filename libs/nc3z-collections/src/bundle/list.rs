//! The list of an index, read as a stream: a tree of its JSON would take up to a hundred times its bytes.

use super::MAX_MEMBERS;
use super::heads::Head;
use super::index::{Entries, Entry};
use super::packed::{Line, Packed};
use super::stamp::Stamp;
use bytes::Bytes;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::HashMap;
use std::fmt;

const VERSION: u64 = 2;

/// Name, offset, length, CRC-32, and the offsets and lengths of the parts of the head.
type Item = (String, u64, u64, u32, Vec<(u64, u64)>);

/// Reads the list of a bundle of `bundle_len` bytes. `heads` are the parts of the heads, one after another.
pub(super) fn read(text: &[u8], heads: Bytes, bundle_len: u64) -> Result<Entries, String> {
    let mut found = Found {
        names: Vec::new(),
        entries: HashMap::new(),
        lines: Vec::new(),
        modified: None,
        modes: None,
        heads,
        bundle_len,
    };
    let mut reader = serde_json::Deserializer::from_slice(text);
    List(&mut found).deserialize(&mut reader).and_then(|()| reader.end()).map_err(|e| e.to_string())?;
    // The names of packed members follow the heads. Bundles without packed members have none.
    let names = if found.lines.is_empty() { Bytes::new() } else { found.heads };
    if let Some(line) = found.lines.iter().find(|line| !found.entries.contains_key(&line.group)) {
        return Err(format!("the group `{}` is not a member", line.group));
    }
    let mut packed = Packed::new(found.lines, names)?;
    let mut stamps =
        stamps(found.modified, found.modes, found.names.len() + packed.stamps.len())?.into_iter();
    for (name, stamp) in found.names.iter().zip(stamps.by_ref()) {
        if let Some(entry) = found.entries.get_mut(name) {
            entry.stamp = stamp;
        }
    }
    packed.stamps = stamps.collect();
    Ok(Entries { names: found.names, members: found.entries, packed })
}

/// Returns the times and permissions of `count` members. Older bundles have none.
fn stamps(
    modified: Option<Vec<Option<i64>>>,
    modes: Option<Vec<(u64, Option<u32>)>>,
    count: usize,
) -> Result<Vec<Stamp>, String> {
    let wrong = |what: &str, found: u64| format!("it has {found} {what} for {count} members");
    let (Some(modified), Some(modes)) = (modified, modes) else { return Ok(vec![Stamp::default(); count]) };
    let all = modes.iter().fold(0_u64, |sum, (n, _)| sum.saturating_add(*n));
    if modified.len() != count {
        return Err(wrong("times", modified.len() as u64));
    }
    if all != count as u64 {
        return Err(wrong("permissions", all));
    }
    let modes = modes.into_iter().flat_map(|(n, mode)| (0..n).map(move |_| mode));
    let mut last = 0_i64;
    let stamp = |(step, mode): (Option<i64>, Option<u32>)| {
        let nanos = step.map(|step| {
            last = last.wrapping_add(step);
            last
        });
        Stamp::new(nanos, mode)
    };
    Ok(modified.into_iter().zip(modes).map(stamp).collect())
}

/// The entries read so far.
struct Found {
    names: Vec<String>,
    entries: HashMap<String, Entry>,
    lines: Vec<Line>,
    modified: Option<Vec<Option<i64>>>,
    modes: Option<Vec<(u64, Option<u32>)>>,
    heads: Bytes,
    bundle_len: u64,
}

impl Found {
    fn add(&mut self, (name, offset, length, crc32, parts): Item) -> Result<(), String> {
        if self.names.len() >= MAX_MEMBERS {
            return Err(format!("it has more than {MAX_MEMBERS} members"));
        }
        let head = self.head(offset, length, &parts);
        let head = head.ok_or_else(|| format!("`{name}` or its head exceeds the bundle"))?;
        if self
            .entries
            .insert(name.clone(), Entry { offset, length, crc32, head, stamp: Stamp::default() })
            .is_some()
        {
            return Err(format!("two members are called `{name}`"));
        }
        self.names.push(name);
        Ok(())
    }

    /// Returns the head of a member with these parts. None where a part is outside the member, or the member
    /// outside the bundle.
    fn head(&mut self, offset: u64, length: u64, places: &[(u64, u64)]) -> Option<Head> {
        offset.checked_add(length).filter(|end| *end <= self.bundle_len)?;
        let mut parts = Vec::with_capacity(places.len());
        let mut last = 0;
        for &(at, len) in places {
            let size = usize::try_from(len).ok().filter(|size| *size <= self.heads.len())?;
            (at >= last && at.checked_add(len)? <= length).then_some(())?;
            last = at + len;
            parts.push((at, self.heads.split_to(size)));
        }
        Some(Head::new(parts))
    }
}

struct List<'f>(&'f mut Found);

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the version and the members")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        let (mut version, mut members, mut packed) = (None, false, false);
        while let Some(key) = from.next_key::<std::borrow::Cow<'de, str>>()? {
            match &*key {
                "version" if version.is_none() => version = Some(from.next_value::<u64>()?),
                "members" if !members => {
                    from.next_value_seed(Members(&mut *self.0))?;
                    members = true;
                }
                "packed" if !packed => {
                    packed = true;
                    let lines: Vec<(String, usize, usize)> = from.next_value()?;
                    let line = |(group, members, len)| Line { group, members, len };
                    self.0.lines = lines.into_iter().map(line).collect();
                }
                "modified" if self.0.modified.is_none() => self.0.modified = Some(from.next_value()?),
                "modes" if self.0.modes.is_none() => self.0.modes = Some(from.next_value()?),
                "version" | "members" | "packed" | "modified" | "modes" => {
                    return Err(A::Error::custom(format!("`{key}` occurs twice")));
                }
                _ => drop(from.next_value::<IgnoredAny>()?),
            }
        }
        match version {
            Some(VERSION) if members => Ok(()),
            Some(VERSION) => Err(A::Error::custom("it has no list of members")),
            Some(other) => Err(A::Error::custom(format!("its version is {other}"))),
            None => Err(A::Error::custom("it has no version")),
        }
    }
}

struct Members<'f>(&'f mut Found);

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of members")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        while let Some(item) = from.next_element::<Item>()? {
            self.0.add(item).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}
