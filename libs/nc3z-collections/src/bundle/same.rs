//! Compares a bundle with the files that it would be made of, so that an interrupted run continues after its last whole bundle.

use super::{Bundle, Bundled, HeadKind, SUFFIX};
use crate::error::{Error, Result};
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::{Archive, OpenOptions};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

impl Bundle {
    /// Returns the first difference between this bundle, whose file was last written at `written`, and one of these files: by the names
    /// and lengths of members, and by the times of the files. Their data are not read. `is_extra` names members that need no file.
    /// None if the two are equal.
    ///
    /// # Errors
    /// The table or an archive in the bundle cannot be read.
    pub fn differs(
        &self,
        files: &[Bundled],
        written: Option<SystemTime>,
        is_extra: &dyn Fn(&str) -> bool,
    ) -> Result<Option<String>> {
        let mut packed = HashMap::new();
        let names = self.names()?;
        if let Some(container) = self.container() {
            container.each(&mut |number, head| {
                if head.kind == HeadKind::Packed {
                    packed.insert(names[number].as_str(), head.len);
                }
                Ok(())
            })?;
        }
        let members = names.iter().filter(|name| !is_extra(name)).count();
        for file in files {
            let meta = file.path.metadata().map_err(|e| Error::io(&file.path, e))?;
            let is_newer = meta.modified().ok().zip(written).is_some_and(|(file, bundle)| file > bundle);
            if is_newer {
                return Ok(Some(format!("`{}` is newer", file.path.display())));
            }
            let original = file.name.strip_suffix(SUFFIX).unwrap_or(&file.name);
            let len = match packed.get(file.name.as_str()).or_else(|| packed.get(original)) {
                Some(len) if packed.contains_key(file.name.as_str()) => Some((*len, meta.len())),
                Some(len) => Some((*len, original_len(&opened(&file.path)?)?)),
                None => self.stored_len(&file.name, &file.path, meta.len())?,
            };
            match len {
                Some((inside, outside)) if inside == outside => {}
                Some((inside, outside)) => {
                    return Ok(Some(format!("`{}` has {inside} bytes in it, and now {outside}", file.name)));
                }
                None => return Ok(Some(format!("it has no member `{}`", file.name))),
            }
        }
        if members != files.len() {
            return Ok(Some(format!("it has {members} members, and there are {} files", files.len())));
        }
        Ok(None)
    }

    /// The lengths of a member that is not packed and of its file: of both as they are, or of both originals if the member is the
    /// archive of the file. None where no such member is there.
    fn stored_len(&self, name: &str, path: &Path, len: u64) -> Result<Option<(u64, u64)>> {
        let Some(member) = self.find(name, &self.source)? else { return Ok(None) };
        let is_own = self.is_own_name(name)?;
        let member: SharedSource = Arc::new(member);
        // A classic file and an archive of one name are different members.
        if is_own {
            return Ok(Some((member.len(), len)));
        }
        Ok(Some((original_len(&member)?, original_len(&opened(path)?)?)))
    }
}

fn opened(path: &Path) -> Result<SharedSource> {
    Ok(Arc::new(FileSource::open(path)?))
}

/// The length of the original of an archive; that of the file itself if it is none.
fn original_len(source: &SharedSource) -> Result<u64> {
    if !super::is_archive(&**source)? {
        return Ok(source.len());
    }
    Ok(Archive::from_source(Arc::clone(source), &OpenOptions::default())?.original_len())
}
