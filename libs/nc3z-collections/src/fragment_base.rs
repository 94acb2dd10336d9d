//! The place of a file, in which the fragments of an aggregation are searched.

use crate::beside::{OpenUrl, Urls};
use crate::bundle::{Bundle, Members, split_member};
use crate::error::{Error, Result};
use crate::file::{is_aggregation, wrap};
use crate::fragments::{OpenFragment, Options};
use nc3z_reader::Dataset;
use nc3z_reader::source::{self, SharedSource};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The place of a file.
#[derive(Clone)]
pub enum FragmentBase {
    /// Memory, without other files.
    Memory,
    /// The file with this path; others are in its directory.
    Disk(PathBuf),
    /// A bundle, and the file's name in it.
    Bundle(Arc<Bundle>, String),
    /// The object at this URL.
    Server(String),
}

impl FragmentBase {
    /// Opens a file on disk, or a member of a bundle (`set.zip!/a.nc`), by name. `mmap` is true for reading through a memory map.
    ///
    /// # Errors
    /// There is no such file or member, or it cannot be read.
    pub fn open(path: &Path, mmap: bool) -> Result<(SharedSource, Self)> {
        let Some((bundle, member)) = split_member(path) else {
            return Ok((source::open(path, mmap)?, FragmentBase::Disk(path.to_owned())));
        };
        FragmentBase::open_member(source::open(&bundle, mmap)?, &bundle.to_string_lossy(), &member)
    }

    /// Opens a member of the bundle with these bytes. `shown` is the bundle's name for messages.
    ///
    /// # Errors
    /// It is not a bundle, or has no such member.
    pub fn open_member(bundle: SharedSource, shown: &str, member: &str) -> Result<(SharedSource, Self)> {
        FragmentBase::member_of(&Arc::new(Bundle::open(bundle)?), shown, member)
    }

    /// Opens a member of an open bundle. `shown` is the bundle's name for messages.
    ///
    /// # Errors
    /// The member does not exist, or it cannot be read.
    pub fn member_of(bundle: &Arc<Bundle>, shown: &str, member: &str) -> Result<(SharedSource, Self)> {
        let source = bundle.require(member, shown)?;
        Ok((source, FragmentBase::Bundle(Arc::clone(bundle), member.to_owned())))
    }

    /// Returns the bytes of a bundle's member as they are in the bundle, without copies in its index. None for other files.
    ///
    /// # Errors
    /// The member cannot be read.
    pub fn as_stored(&self) -> Result<Option<SharedSource>> {
        let FragmentBase::Bundle(bundle, member) = self else { return Ok(None) };
        bundle.member_as_stored(member)
    }

    /// Returns the offset of the file in its bundle, or 0.
    ///
    /// # Errors
    /// It is packed, or the bundle has changed.
    pub fn offset(&self) -> Result<u64> {
        let FragmentBase::Bundle(bundle, member) = self else { return Ok(0) };
        let offset = bundle.offset(member)?;
        offset.ok_or_else(|| Error::refused(format!("the bundle has lost `{member}`")))
    }

    /// Presents an aggregation with the data of its fragments, and any other file unchanged. Messages call the file `name`; `open`
    /// opens fragments that are named by a URL.
    ///
    /// # Errors
    /// The aggregation contradicts its convention.
    pub fn present(
        &self,
        dataset: Dataset,
        name: &str,
        open: OpenUrl,
        mut options: Options,
    ) -> Result<Dataset> {
        if !is_aggregation(&dataset) {
            return Ok(dataset);
        }
        let urls = |address: Option<&str>| -> Arc<dyn OpenFragment> {
            Arc::new(Urls::beside(address, options.outside, open))
        };
        let (opener, base): (Arc<dyn OpenFragment>, _) = match self {
            FragmentBase::Memory => (urls(None), None),
            FragmentBase::Disk(path) => (urls(None), path.parent()),
            FragmentBase::Bundle(bundle, member) => {
                (Arc::new(Members::beside(Arc::clone(bundle), member)), None)
            }
            FragmentBase::Server(url) => (urls(Some(url)), None),
        };
        options.opener = Some(opener);
        wrap(dataset, name, base, &options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::{Bundled, write_bundle};

    #[test]
    fn members_are_opened_by_name_and_a_missing_one_lists_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let classic = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/classic");
        let file = |name: &str| Bundled { path: classic.join(name), name: name.to_owned() };
        let zip = dir.path().join("set.zip");
        let mut out = std::fs::File::create_new(&zip).unwrap();
        write_bundle(&[file("winds.nc"), file("smooth.nc")], &mut out, &|_| true).unwrap();
        let bytes = std::fs::read(classic.join("winds.nc")).unwrap();
        let member = |name: &str| PathBuf::from(format!("{}!/{name}", zip.display()));
        let (source, place) = FragmentBase::open(&member("winds.nc"), false).unwrap();
        assert_eq!(source.len(), bytes.len() as u64);
        assert!(place.offset().unwrap() > 0 && place.as_stored().unwrap().is_some());
        let (source, place) = FragmentBase::open(&classic.join("winds.nc"), false).unwrap();
        assert_eq!((source.len(), place.offset().unwrap()), (bytes.len() as u64, 0));
        let missing = FragmentBase::open(&member("none.nc"), false).err().unwrap();
        assert!(
            missing.to_string().ends_with("no member `none.nc`; there are winds.nc, smooth.nc"),
            "{missing}"
        );
    }
}
