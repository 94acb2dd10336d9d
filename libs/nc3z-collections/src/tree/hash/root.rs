//! Roots: of the content of a file, and of the members of a collection.

use crate::bundle::Bundle;
use crate::tree::error::{Context as _, Error, ErrorKind, Result};
use crate::tree::manifest::bag;
use crate::tree::refusal::Refusal;
use crate::{Aggregation, FileRef};
use nc3z_format::bytes::hex;
use nc3z_format::digest::{Hash, Root, collection_root};
use nc3z_look::text;
use nc3z_reader::{Dataset, DigestRequest, Digests, Monitor, OpenOptions};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A part of what a root covers: a variable with its digest, or a member with its root.
pub type RootPart = (String, Hash);

/// A root, and its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rooted {
    /// The root of the file.
    pub root: Root,
    /// The variables with their digests, or the members with their roots. Names are safe to show.
    pub parts: Vec<RootPart>,
    /// True if the parts are members.
    pub is_collection: bool,
    /// False if the root is stored, and nothing was decoded.
    pub is_computed: bool,
    /// The bytes of the tree file, if they were requested.
    pub tree: Option<Vec<u8>>,
}

impl Rooted {
    /// Returns the root of the file `name` as JSON.
    pub fn to_json(&self, name: &str) -> Value {
        let parts = self.parts.iter().map(|(name, hash)| json!({"name": name, "digest": hex(hash)}));
        json!({
            "file": name, "root": self.root.to_string(), "computed": self.is_computed,
            (if self.is_collection { "members" } else { "variables" }): parts.collect::<Vec<_>>(),
        })
    }
}

/// The way to make roots.
#[derive(Clone, Copy)]
pub struct Rooting<'a> {
    /// True if the bytes of the tree file are wanted. A collection has none.
    pub tree: bool,
    /// True if the digests of variables are wanted.
    pub variables: bool,
    /// True if a stored root is computed again.
    pub recompute: bool,
    /// The options for opening members of bundles.
    pub open: &'a OpenOptions,
    /// Gets the length of each file that is read, in bytes.
    pub begin: &'a (dyn Fn(u64) + Sync),
    /// Watches the work.
    pub monitor: &'a dyn Monitor,
}

impl Rooting<'_> {
    /// Returns the root of an archive or a classic file.
    ///
    /// # Errors
    /// Damage; a cancelled monitor.
    pub fn of_dataset(&self, dataset: &Dataset) -> Result<Rooted> {
        let (digests, is_computed) = self.digests(dataset)?;
        let root = root_of(&digests);
        let names = dataset.header().variables.iter().map(|v| text::name(&v.name));
        let parts = names.zip(digests.variables).collect();
        Ok(Rooted { root, parts, is_collection: false, is_computed, tree: digests.tree })
    }

    /// Returns the root of the members of a bundle.
    ///
    /// # Errors
    /// A member cannot be read; two members have the same original name; a tree file is wanted; a cancelled monitor.
    pub fn of_bundle(&self, bundle: &Bundle) -> Result<Rooted> {
        let mut members = BTreeMap::new();
        for member in bundle.names()?.iter().filter(|member| !bag::is_specification(member)) {
            let place = || format!("member `{member}`");
            let source = bundle.member(member)?.ok_or_else(|| Refusal::NoMember(member.clone()))?;
            let dataset = Dataset::from_source(source, self.open).with_context(place)?;
            let digests = self.digests(&dataset).map_err(|e| within(e, place()))?.0;
            put(&mut members, member, root_of(&digests))?;
        }
        self.of_members(members)
    }

    /// Returns the root of the fragments of an aggregation, and of its own file `own`.
    ///
    /// # Errors
    /// A fragment cannot be read; two have the same original name; a tree file is wanted; a cancelled monitor.
    pub fn of_aggregation(&self, own: &Dataset, aggregation: &Aggregation) -> Result<Rooted> {
        let fragments: BTreeMap<String, Option<String>> = aggregation.uris()?.into_iter().collect();
        let mut members = BTreeMap::new();
        // The file itself describes how the fragments are joined.
        put(&mut members, "", root_of(&self.digests(own)?.0))?;
        for (uri, fingerprint) in fragments {
            let file = FileRef::Uri(uri.clone());
            let dataset = aggregation.fragments().open(&file, fingerprint.as_deref())?;
            let dataset = dataset.ok_or_else(|| Refusal::NoFragment(uri.clone()))?;
            let digests = self.digests(&dataset).map_err(|e| within(e, format!("fragment `{uri}`")))?.0;
            put(&mut members, &uri, root_of(&digests))?;
        }
        self.of_members(members)
    }

    /// Returns the digests of a file, stored or computed, and whether they were computed though an archive could have them.
    fn digests(&self, dataset: &Dataset) -> Result<(Digests, bool)> {
        if self.monitor.is_cancelled() {
            return Err(nc3z_reader::Error::interrupted().into());
        }
        let wanted = DigestRequest { content: true, sha256: false, tree: self.tree };
        let archive = dataset.archive();
        let recorded = archive.filter(|_| !self.recompute);
        let recorded = recorded.and_then(|archive| archive.digests_on_record(wanted, self.variables));
        if let Some(digests) = recorded {
            return Ok((digests, false));
        }
        (self.begin)(dataset.original_len());
        // A classic file never has stored digests.
        Ok((dataset.digests(wanted, self.monitor)?, archive.is_some()))
    }

    fn of_members(&self, members: BTreeMap<String, Root>) -> Result<Rooted> {
        if self.tree {
            return Err(Refusal::TreeOfCollection.into());
        }
        let root = collection_root(members.iter().map(|(name, root)| (name.as_bytes(), *root)));
        let parts = members.into_iter().map(|(name, root)| (text::safe(&name), root.0)).collect();
        Ok(Rooted { root, parts, is_collection: true, is_computed: true, tree: None })
    }
}

fn root_of(digests: &Digests) -> Root {
    digests.root().expect("the content was wanted")
}

/// Names the member in an error of reading it.
fn within(e: Error, what: String) -> Error {
    match e.into_kind() {
        ErrorKind::Read(source) => ErrorKind::Archive { what, is_output: false, source }.into(),
        kind => kind.into(),
    }
}

/// Adds a member under the name of its original.
fn put(members: &mut BTreeMap<String, Root>, name: &str, root: Root) -> Result<()> {
    let name = name.strip_suffix(".nc3z").unwrap_or(name);
    if members.insert(name.to_owned(), root).is_some() {
        return Err(Refusal::TwoMembers(name.to_owned()).into());
    }
    Ok(())
}
