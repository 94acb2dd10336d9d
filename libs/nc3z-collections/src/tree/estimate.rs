//! Estimates for many files: which are sampled, the sum of all, and JSON.

use nc3z_format::classic::Header;
use nc3z_look::json::ratio;
use nc3z_look::text;
use nc3z_writer::{Estimate, Preset};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The files of a tree.
#[derive(Debug, Clone, Copy)]
pub struct TreeLen {
    /// The number of files.
    pub files: usize,
    /// The length of all in bytes.
    pub bytes: u64,
}

impl TreeLen {
    /// Returns the length of files.
    pub fn from_files(files: &[PathBuf]) -> Self {
        TreeLen { files: files.len(), bytes: files.iter().map(|path| len(path)).sum() }
    }
}

/// Returns the length of a file in bytes, or 0 if it is unknown; the error is then reported when the file is
/// opened.
fn len(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |meta| meta.len())
}

/// Returns at most `most` files, evenly spread over their lengths, in the given order. 0 means all.
pub fn spread(files: Vec<PathBuf>, most: usize) -> Vec<PathBuf> {
    if most == 0 || files.len() <= most {
        return files;
    }
    let mut by_len: Vec<(u64, usize)> = files.iter().enumerate().map(|(i, path)| (len(path), i)).collect();
    by_len.sort_unstable();
    let mut picked: Vec<usize> =
        (0..most).map(|i| by_len[(2 * i + 1) * files.len() / (2 * most)].1).collect();
    picked.sort_unstable();
    picked.into_iter().map(|i| files[i].clone()).collect()
}

/// Returns an estimate as JSON.
pub fn to_json(name: &str, header: &Header, found: &Estimate) -> Value {
    let presets: Vec<Value> = found
        .presets
        .iter()
        .map(|p| {
            json!({
                "preset": p.preset.name(), "stored_bytes": p.stored_len, "ratio": ratio(found.file_len, p.stored_len),
                "uncertainty": p.uncertainty, "archive_seconds": p.archive_seconds, "restore_seconds": p.restore_seconds,
            })
        })
        .collect();
    let peers: Vec<Value> = found
        .peers
        .iter()
        .map(|p| json!({"name": p.name, "stored_bytes": p.stored_len, "ratio": ratio(found.file_len, p.stored_len)}))
        .collect();
    let variables: Vec<Value> = found
        .variables
        .iter()
        .map(|v| {
            let stored: serde_json::Map<String, Value> =
                found.presets.iter().zip(&v.stored_len).map(|(p, n)| (p.preset.name().to_owned(), (*n).into())).collect();
            let peers: serde_json::Map<String, Value> =
                found.peers.iter().zip(&v.peer_len).map(|(p, n)| (p.name.to_owned(), (*n).into())).collect();
            json!({
                "id": v.id.0, "name": text::name(&header.variables[v.id.index()].name), "original_bytes": v.original_len,
                "sampled_bytes": v.sampled_len, "stored_bytes": stored, "peers": peers,
            })
        })
        .collect();
    json!({
        "file": name, "original_bytes": found.file_len, "sampled_bytes": found.sampled_len, "whole": found.whole,
        "threads": found.threads, "presets": presets, "peers": peers, "variables": variables,
    })
}

/// All files together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EstimateSums {
    /// The number of files.
    pub files: usize,
    /// The length of the files in bytes.
    pub original: u64,
    /// The length of the archives by each preset in bytes.
    pub presets: Vec<u64>,
    /// The seconds for archiving by each preset.
    pub seconds: Vec<f64>,
    /// The names of other programs, and the length of their files in bytes.
    pub peers: Vec<(&'static str, u64)>,
}

impl EstimateSums {
    /// Adds a file.
    pub fn add(&mut self, found: &Estimate) {
        self.files += 1;
        self.original += found.file_len;
        self.presets.resize(found.presets.len(), 0);
        self.seconds.resize(found.presets.len(), 0.0);
        for (i, p) in found.presets.iter().enumerate() {
            self.presets[i] += p.stored_len;
            self.seconds[i] += p.archive_seconds;
        }
        if self.peers.is_empty() {
            self.peers = found.peers.iter().map(|p| (p.name, 0)).collect();
        }
        self.peers.iter_mut().zip(&found.peers).for_each(|(sum, p)| sum.1 += p.stored_len);
    }

    /// Extrapolates to all files of a tree, assuming that the other files are similar.
    #[must_use]
    pub fn scaled(&self, all: TreeLen) -> EstimateSums {
        let scale = |n: u64| {
            let scaled = u128::from(n) * u128::from(all.bytes) / u128::from(self.original.max(1));
            u64::try_from(scaled).unwrap_or(u64::MAX)
        };
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let longer = all.bytes as f64 / self.original.max(1) as f64;
        EstimateSums {
            files: all.files,
            original: scale(self.original),
            presets: self.presets.iter().map(|n| scale(*n)).collect(),
            seconds: self.seconds.iter().map(|s| s * longer).collect(),
            peers: self.peers.iter().map(|(name, n)| (*name, scale(*n))).collect(),
        }
    }

    /// Returns the sums as JSON.
    pub fn to_json(&self, presets: &[Preset]) -> Value {
        let of = |(preset, (stored, seconds)): (&Preset, (&u64, &f64))| {
            json!({
                "preset": preset.name(), "stored_bytes": stored, "ratio": ratio(self.original, *stored),
                "archive_seconds": seconds,
            })
        };
        let found: Vec<Value> = presets.iter().zip(self.presets.iter().zip(&self.seconds)).map(of).collect();
        let peers: Vec<Value> =
            self.peers.iter().map(|(name, stored)| json!({"name": name, "stored_bytes": stored})).collect();
        json!({"files": self.files, "original_bytes": self.original, "presets": found, "peers": peers})
    }
}
