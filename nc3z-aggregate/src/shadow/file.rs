//! The file of a shadow.
//!
//! ```text
//! 0   8  "nc3xshd1"
//! 8   8  bytes when decompressed, little-endian
//! 16  4  CRC-32 of what follows, little-endian
//! 20     a zstd frame: JSON, {"version": 1, "members": [...]}
//! ```

use super::exact::Pair;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read;

const MAGIC: &[u8; 8] = b"nc3xshd1";
const VERSION: u32 = 1;
/// Bytes of a shadow at most when decompressed.
const MAX_LEN: u64 = 8 << 30;
/// The maximal ratio of a shadow's decompressed length to its stored length: names and numbers repeat, but not without end.
const MOST_RATIO: u64 = 2000;
/// Level of compression: a shadow is written once, and kept where space is dear.
const LEVEL: i32 = 12;

/// The description of many files, without their values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Shadow {
    version: u32,
    /// The files, in the order in which they were given.
    pub members: Vec<Member>,
}

/// A file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// As it was given; of a member of a bundle, `BUNDLE!/NAME`.
    pub name: String,
    /// Bytes of the classic file.
    pub len: u64,
    /// Bytes of its archive, or of the file itself.
    pub stored: u64,
    /// SHA-256 of the classic file, where it is on record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Names and lengths of dimensions.
    pub dimensions: Vec<(String, u64)>,
    /// Text attributes of the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Its variables.
    pub variables: Vec<Variable>,
}

/// A variable.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: String,
    /// Names of its dimensions.
    pub dimensions: Vec<String>,
    /// Text attributes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// The statistics of its tiles; empty for text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiles: Vec<Tile>,
}

/// Values of a tile. Those that are infinite are counted by themselves: they have no sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Tile {
    /// Valid values that are finite.
    pub count: u64,
    /// Infinite values.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub infinite: u64,
    /// The least finite value; 0 where there is none.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Their sum.
    pub sum: Pair,
    /// The sum of their squares; infinite beyond the largest double.
    #[serde(with = "squares")]
    pub squares: Pair,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// JSON has no infinity: `null` stands for it.
mod squares {
    use super::Pair;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(pair: &Pair, to: S) -> Result<S::Ok, S::Error> {
        pair.0.is_finite().then_some((pair.0, pair.1)).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Pair, D::Error> {
        let found = Option::<(f64, f64)>::deserialize(from)?;
        Ok(found.map_or(Pair(f64::INFINITY, 0.0), |(first, rest)| Pair(first, rest)))
    }
}

impl Shadow {
    /// A shadow of these files.
    pub fn new(members: Vec<Member>) -> Self {
        Shadow { version: VERSION, members }
    }

    /// Returns true if bytes begin as those of a shadow.
    pub fn is_shadow(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// An error of zstd or of the JSON writer.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let failed = |e: &dyn std::fmt::Display| Error::refused(format!("the shadow cannot be written: {e}"));
        let plain = serde_json::to_vec(self).map_err(|e| failed(&e))?;
        let packed = zstd::bulk::compress(&plain, LEVEL).map_err(|e| failed(&e))?;
        let mut out = MAGIC.to_vec();
        out.extend((plain.len() as u64).to_le_bytes());
        out.extend(crc32fast::hash(&packed).to_le_bytes());
        out.extend(packed);
        Ok(out)
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// It is no shadow; damage.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = |what: String| Error::refused(format!("the shadow cannot be read: {what}"));
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| wrong("it does not begin as one".into()))?;
        let (len, rest) = rest.split_first_chunk::<8>().ok_or_else(|| wrong("it ends early".into()))?;
        let (crc, packed) = rest.split_first_chunk::<4>().ok_or_else(|| wrong("it ends early".into()))?;
        let (len, crc) = (u64::from_le_bytes(*len), u32::from_le_bytes(*crc));
        let found = crc32fast::hash(packed);
        if found != crc {
            return Err(wrong(format!(
                "its CRC-32 is {found:08x}, and {crc:08x} is on record: it is damaged"
            )));
        }
        let most = MAX_LEN.min((packed.len() as u64).saturating_mul(MOST_RATIO)).max(1 << 20);
        if len > most {
            return Err(wrong(format!(
                "it says that it has {len} bytes, and one of this length has at most {most}"
            )));
        }
        let frame = zstd::stream::read::Decoder::new(packed).map_err(|e| wrong(e.to_string()))?;
        let mut plain = Vec::new();
        frame.take(len + 1).read_to_end(&mut plain).map_err(|e| wrong(e.to_string()))?;
        if plain.len() as u64 != len {
            return Err(wrong(format!("it has another length than {len} bytes")));
        }
        let shadow: Shadow = serde_json::from_slice(&plain).map_err(|e| wrong(e.to_string()))?;
        match shadow.version {
            VERSION => Ok(shadow),
            other => Err(wrong(format!("its version is {other}; this build knows {VERSION}"))),
        }
    }
}
