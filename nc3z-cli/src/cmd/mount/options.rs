//! Options of nc3z and of `mount`, combined to one set of settings.

use crate::args::{MountArgs, parse_size};
use anyhow::{Result, anyhow, bail};
use nc3z_reader::cache::TileCache;
use std::path::PathBuf;

/// Options that belong to `mount` itself but are passed on, or that have no effect on a read-only mount
/// without devices. `mount` also adds `rw`.
const PASSED_OVER: [&str; 23] = [
    "ro",
    "rw",
    "dev",
    "suid",
    "defaults",
    "auto",
    "noauto",
    "nofail",
    "user",
    "nouser",
    "users",
    "owner",
    "group",
    "_netdev",
    "nosuid",
    "nodev",
    "exec",
    "noexec",
    "atime",
    "noatime",
    "relatime",
    "nodiratime",
    "async",
];

/// The settings of a mount.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) allow_other: bool,
    pub(super) cache: Option<u64>,
    pub(super) log: Option<PathBuf>,
}

impl Settings {
    pub(super) fn new(args: &MountArgs) -> Result<Self> {
        let mut settings =
            Settings { allow_other: args.allow_other, cache: args.cache, log: args.log.clone() };
        args.options.iter().filter(|option| !option.is_empty()).try_for_each(|o| settings.take(o))?;
        Ok(settings)
    }

    /// Sets the size of the process's cache of tiles, if it was given.
    pub(super) fn set_cache(&self) {
        if let Some(cache) = self.cache {
            TileCache::process().set_budget(cache);
        }
    }

    fn take(&mut self, option: &str) -> Result<()> {
        let (name, value) = option.split_once('=').map_or((option, None), |(name, v)| (name, Some(v)));
        match (name, value) {
            ("allow_other", None) => self.allow_other = true,
            ("cache", Some(size)) => {
                self.cache = Some(parse_size(size).map_err(|e| anyhow!("-o cache: {e}"))?);
            }
            ("log", Some(file)) => self.log = Some(file.into()),
            (name, None) if PASSED_OVER.contains(&name) => {}
            // Options for systemd, and comments.
            (name, _) if name.starts_with("x-") || name == "comment" => {}
            _ => bail!("unknown option -o {option}; expected allow_other, cache=SIZE, log=FILE or ro"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(options: &[&str]) -> Result<Settings> {
        let mut settings = Settings { allow_other: false, cache: None, log: None };
        options.iter().try_for_each(|option| settings.take(option))?;
        Ok(settings)
    }

    #[test]
    fn options_of_fstab_are_understood() {
        let found = taken(&["ro", "noauto", "x-systemd.automount", "allow_other", "cache=64MiB", "log=/a"]);
        let expected = Settings { allow_other: true, cache: Some(64 << 20), log: Some("/a".into()) };
        assert_eq!(found.unwrap(), expected);
        for bad in ["cache", "cache=x", "uid=1000", "allow_others"] {
            assert!(taken(&[bad]).is_err(), "{bad}");
        }
    }
}
