//! HDF5's notation: a filter's registered number and its parameters, 32-bit words.

use super::constants::words;
use crate::codec::registry::Registry;
use crate::codec::spec::{ChainSpec, StageSpec};
use crate::error::{Error, Result};
use serde_json::Value;
use std::fmt;

/// A filter as HDF5 notes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hdf5Filter {
    /// The registered number of the filter.
    pub id: u32,
    /// The parameters of the filter.
    pub cd_values: Vec<u32>,
}

/// The id of a filter that has a number in HDF5 and no name here: a plug-in's.
pub const HDF5_ID: &str = "hdf5";

/// Numbers of filters that are built in.
mod number {
    pub(super) const DEFLATE: u32 = 1;
    pub(super) const SHUFFLE: u32 = 2;
    pub(super) const FLETCHER32: u32 = 3;
    pub(super) const BZIP2: u32 = 307;
    pub(super) const LZF: u32 = 32_000;
    pub(super) const BLOSC: u32 = 32_001;
    pub(super) const LZ4: u32 = 32_004;
    pub(super) const BITSHUFFLE: u32 = 32_008;
    pub(super) const ZSTD: u32 = 32_015;
    pub(super) const BITGROOM: u32 = 32_022;
    pub(super) const GRANULARBR: u32 = 32_023;
    pub(super) const BITROUND: u32 = 32_032;
    /// The Community Codec Repository's number of the same, which NCO writes.
    pub(super) const BITROUND_CCR: u32 = 37_373;
}

/// The names of Blosc's codecs, in the order of their numbers.
const BLOSC_CODECS: [&str; 6] = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];

/// Returns the registered name of a filter. `None` if the list of registered filters does not have the number.
pub fn hdf5_filter_name(id: u32) -> Option<&'static str> {
    Some(match id {
        number::DEFLATE => "deflate",
        number::SHUFFLE => "shuffle",
        number::FLETCHER32 => "fletcher32",
        4 => "szip",
        5 => "nbit",
        6 => "scaleoffset",
        305 => "LZO",
        number::BZIP2 => "bzip2",
        number::LZF => "LZF",
        number::BLOSC => "Blosc",
        32_002 => "MAFISC",
        32_003 => "Snappy",
        number::LZ4 => "LZ4",
        number::BITSHUFFLE => "bitshuffle",
        32_013 => "ZFP",
        32_014 => "fpzip",
        number::ZSTD => "Zstandard",
        32_017 => "SZ",
        32_018 => "FCIDECOMP",
        32_019 => "JPEG",
        number::BITGROOM => "BitGroom",
        number::GRANULARBR => "Granular BitRound",
        32_024 => "SZ3",
        32_026 => "Blosc2",
        32_028 => "SPERR",
        number::BITROUND | number::BITROUND_CCR => "BitRound",
        32_033 => "HTJ2K",
        _ => return None,
    })
}

/// Returns where to get a filter that is not built in.
fn source_of(id: u32) -> &'static str {
    match id {
        4..=6 => "it is part of HDF5 itself and has no plug-in",
        32_013 | 32_017 | 32_018 | 32_024 | 32_026 | 32_028 | 32_033 => {
            "the Python package hdf5plugin has a plug-in for it, and the HDF Group's hdf5_plugins may"
        }
        256..=511 | 32_768.. => "its number is from a private range: ask the author of the data",
        _ => "the HDF Group's list of registered filters (RegisteredFilterPlugins) names its maintainer",
    }
}

/// A number with its name, for messages.
fn named(id: u32) -> String {
    hdf5_filter_name(id).map_or_else(|| id.to_string(), |name| format!("{id} ({name})"))
}

/// Why a stored `hdf5` object is not bound by a registry without plug-ins.
pub(in crate::codec) fn missing_plugin(stage: &StageSpec) -> Option<String> {
    let id = stage
        .get("filter")
        .filter(|_| stage.id() == HDF5_ID)?
        .as_u64()
        .and_then(|n| u32::try_from(n).ok())?;
    Some(format!(
        "HDF5 filter {} is not built in and needs a plug-in that is not loaded; {}",
        named(id),
        source_of(id)
    ))
}

impl Hdf5Filter {
    /// A filter with its parameters.
    pub fn new(id: u32, cd_values: impl Into<Vec<u32>>) -> Self {
        Hdf5Filter { id, cd_values: cd_values.into() }
    }

    /// Reads a chain in the notation of nccopy, ncgen and CDO: `2|32015,9`, filters in the order of writing,
    /// each with its parameters. `none` and the empty text are an empty chain.
    ///
    /// # Errors
    /// A part that is neither a number nor a constant of netCDF-C's grammar.
    pub fn parse_chain(text: &str) -> Result<Vec<Self>> {
        let text = text.trim();
        if text.is_empty() || text.eq_ignore_ascii_case("none") {
            return Ok(Vec::new());
        }
        text.split('|').map(str::parse).collect()
    }

    /// This filter in the form that chains store. Keys that follow from a variable's type may be missing.
    /// Unknown filter numbers become `hdf5` objects if `registry` has that id.
    ///
    /// # Errors
    /// Parameters that the filter does not have; an unknown filter number.
    pub fn to_stage(&self, registry: &Registry) -> Result<StageSpec> {
        let cd = &self.cd_values[..];
        let wrong = |expected: &str| {
            Error::invalid(format!(
                "HDF5 filter {} with parameters {cd:?}: it takes {expected}",
                named(self.id)
            ))
        };
        let bare = |id| StageSpec::new::<&str>(id, []);
        let one = |id, key: &'static str, default: Option<u32>, expected: &str| match (cd, default) {
            ([value], _) => Ok(bare(id).with(key, *value)),
            ([], Some(value)) => Ok(bare(id).with(key, value)),
            _ => Err(wrong(expected)),
        };
        // Rounding filters store the element size and the missing value after their own parameter.
        let first = |id, key: &'static str, expected: &str| match cd {
            [value, ..] if cd.len() <= 5 => Ok(bare(id).with(key, *value)),
            _ => Err(wrong(expected)),
        };
        match self.id {
            number::DEFLATE => one("zlib", "level", None, "a level from 0 to 9"),
            number::SHUFFLE => match cd {
                [] => Ok(bare("shuffle")),
                [size] => Ok(bare("shuffle").with("elementsize", *size)),
                _ => Err(wrong("nothing, or the size of an element")),
            },
            number::FLETCHER32 if cd.is_empty() => Ok(bare("fletcher32")),
            number::FLETCHER32 => Err(wrong("nothing")),
            number::BZIP2 => one("bz2", "level", Some(9), "a block size from 1 to 9"),
            number::LZF => Ok(bare("lzf")),
            number::LZ4 => one("lz4h5", "blocksize", Some(0), "nothing, or the bytes of a block"),
            number::ZSTD => match cd {
                [] => Ok(StageSpec::zstd(3)),
                // Negative levels are stored as unsigned words.
                [level] => Ok(StageSpec::zstd(level.cast_signed())),
                _ => Err(wrong("nothing, or a level")),
            },
            number::BLOSC => self.blosc().ok_or_else(|| {
                wrong("at most 7: two versions, size of an element, bytes of a chunk, level, shuffle 0 to 2, codec 0 to 5")
            }),
            number::BITSHUFFLE => self.bitshuffle().ok_or_else(|| {
                wrong("elements of a block, then 0, 2 (LZ4) or 3 (zstd), then zstd's level; as stored, with two versions and the size of an element in front")
            }),
            number::BITGROOM => first("bitgroom", "nsd", "a number of significant digits"),
            number::GRANULARBR => first("granularbr", "nsd", "a number of significant digits"),
            number::BITROUND | number::BITROUND_CCR => first("bitround", "keepbits", "a number of significant bits"),
            _ if registry.get(HDF5_ID).is_some() => Ok(self.as_plugin()),
            id => Err(Error::invalid(format!("HDF5 filter {} is not built in; {}", named(id), source_of(id)))),
        }
    }

    /// The filter by its number: a plug-in's.
    pub fn as_plugin(&self) -> StageSpec {
        StageSpec::new(HDF5_ID, [("filter", self.id.into()), ("cd_values", self.cd_values.clone().into())])
    }

    fn blosc(&self) -> Option<StageSpec> {
        let at = |i: usize, default: u32| self.cd_values.get(i).copied().unwrap_or(default);
        let codec = BLOSC_CODECS.get(usize::try_from(at(6, 0)).ok()?)?;
        let spec = StageSpec::new(
            "blosc",
            [
                ("cname", Value::from(*codec)),
                ("clevel", at(4, 5).into()),
                ("shuffle", at(5, 1).into()),
                ("blocksize", 0.into()),
            ],
        );
        if self.cd_values.len() > 7 {
            return None;
        }
        // Zero until HDF5 fills it in.
        Some(match at(2, 0) {
            0 => spec,
            size => spec.with("typesize", size),
        })
    }

    fn bitshuffle(&self) -> Option<StageSpec> {
        // Four and more: as stored, with the versions and the element size that HDF5 adds at the start.
        let (size, own) = match &self.cd_values[..] {
            [_, _, size, own @ ..] if !own.is_empty() => (Some(*size), own),
            // As stored by versions 0.4 and later, if the user gave no parameters. Before 0.4 this could be
            // zstd at a level.
            [0, minor, size] if *minor > 3 => (Some(*size), &[][..]),
            own => (None, own),
        };
        let mut spec = StageSpec::new::<&str>("bitshuffle", []);
        spec = spec.with("blocksize", own.first().copied().unwrap_or(0));
        if let Some(size) = size {
            spec = spec.with("elementsize", size);
        }
        Some(match own {
            [] | [_] | [_, 0] => spec,
            [_, 2] => spec.with("cname", "lz4"),
            [_, 3] => spec.with("cname", "zstd").with("clevel", 3),
            [_, 3, level] => spec.with("cname", "zstd").with("clevel", level.cast_signed()),
            _ => return None,
        })
    }

    /// The stored filter or codec in HDF5's notation.
    ///
    /// # Errors
    /// HDF5 has no such filter; a key that its filter has no parameter for.
    pub fn from_stage(stage: &StageSpec) -> Result<Self> {
        let no = |why: &str| Error::invalid(format!("{stage} cannot be written in HDF5's notation: {why}"));
        let known = |key: &str| stage.get(key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let word = |key: &str| known(key).ok_or_else(|| no(&format!("\"{key}\" is not a 32-bit number")));
        let level = |key: &str| {
            let level = stage.get(key).and_then(Value::as_i64).and_then(|n| i32::try_from(n).ok());
            level.map(i32::cast_unsigned).ok_or_else(|| no(&format!("\"{key}\" is not a level")))
        };
        Ok(match stage.id() {
            "zlib" => Self::new(number::DEFLATE, [word("level")?]),
            "shuffle" => Self::new(number::SHUFFLE, [word("elementsize")?]),
            "fletcher32" => Self::new(number::FLETCHER32, []),
            "bz2" => Self::new(number::BZIP2, [word("level")?]),
            // HDF5 fills in versions and the chunk's size itself.
            "lzf" => Self::new(number::LZF, []),
            "lz4h5" => Self::new(number::LZ4, [word("blocksize")?]),
            "zstd" => Self::new(number::ZSTD, [level("level")?]),
            "blosc" => {
                if word("blocksize")? != 0 {
                    return Err(no("HDF5's Blosc filter chooses \"blocksize\" itself; write 0"));
                }
                let name = stage.get("cname").and_then(Value::as_str).unwrap_or_default();
                let codec = BLOSC_CODECS.iter().position(|known| *known == name);
                let codec =
                    codec.and_then(|n| u32::try_from(n).ok()).ok_or_else(|| no("\"cname\" is unknown"))?;
                let size = word("typesize")?;
                Self::new(number::BLOSC, [2, 2, size, 0, word("clevel")?, word("shuffle")?, codec])
            }
            "bitshuffle" => {
                let mut cd_values = vec![0, 5, word("elementsize")?, word("blocksize")?];
                match stage.get("cname").and_then(Value::as_str) {
                    None => cd_values.push(0),
                    Some("lz4") => cd_values.push(2),
                    Some("zstd") => cd_values.extend([3, level("clevel")?]),
                    Some(_) => return Err(no("\"cname\" is unknown")),
                }
                Self::new(number::BITSHUFFLE, cd_values)
            }
            "bitround" => Self::new(number::BITROUND, [word("keepbits")?]),
            "bitgroom" => Self::new(number::BITGROOM, [word("nsd")?]),
            "granularbr" => Self::new(number::GRANULARBR, [word("nsd")?]),
            HDF5_ID => {
                let values = stage.get("cd_values").and_then(Value::as_array);
                let words = values.and_then(|all| {
                    all.iter()
                        .map(|v| v.as_u64().and_then(|n| u32::try_from(n).ok()))
                        .collect::<Option<Vec<_>>>()
                });
                Self::new(word("filter")?, words.ok_or_else(|| no("\"cd_values\" are not 32-bit numbers"))?)
            }
            "lz4" => {
                return Err(no(
                    "this is NumCodecs' framing of LZ4; HDF5's filter 32004 has another, \"lz4h5\"",
                ));
            }
            "gzip" => return Err(no("HDF5's deflate makes zlib streams; write \"zlib\"")),
            "delta" | "fixedscaleoffset" | "packbits" | "quantize" | "crc32" | "crc32c" | "adler32"
            | "lzma" | "pcodec" => {
                return Err(no("no HDF5 filter is registered for this NumCodecs codec"));
            }
            _ => return Err(no("it is nc3z's own, or of no registered filter")),
        })
    }
}

impl std::str::FromStr for Hdf5Filter {
    type Err = Error;

    /// Reads `32015,9`.
    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(',').map(str::trim);
        let first = parts.next().unwrap_or_default();
        let id = first.parse().ok().filter(|id| *id > 0).ok_or_else(|| {
            Error::invalid(format!(
                "`{first}` is not a filter number; a chain is like 2|32015,9: shuffle, then zstd at level 9"
            ))
        })?;
        let cd_values = parts.map(words).collect::<Result<Vec<_>>>()?.concat();
        Ok(Hdf5Filter { id, cd_values })
    }
}

impl fmt::Display for Hdf5Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)?;
        self.cd_values.iter().try_for_each(|value| write!(f, ",{value}"))
    }
}

impl ChainSpec {
    /// The chain in HDF5's notation.
    ///
    /// # Errors
    /// As [`Hdf5Filter::from_stage`].
    pub fn to_hdf5(&self) -> Result<Vec<Hdf5Filter>> {
        self.0.iter().map(Hdf5Filter::from_stage).collect()
    }
}

#[cfg(test)]
#[cfg(feature = "codecs")]
mod tests {
    use super::*;
    use crate::NcType;
    use crate::codec::ChainRequest;

    fn bound(text: &str, ty: NcType) -> Result<ChainSpec> {
        ChainRequest::parse(text)?.bind(ty, &Registry::default())
    }

    #[test]
    fn chains_go_there_and_back() {
        for (text, ty, stored) in [
            ("2|32015,9", NcType::Float, "2,4|32015,9"),
            ("2,4|1,5", NcType::Int, "2,4|1,5"),
            ("3|2|307,9", NcType::Short, "3|2,2|307,9"),
            ("32001,0,0,0,0,5,1,1", NcType::Double, "32001,2,2,8,0,5,1,1"),
            ("32001", NcType::Float, "32001,2,2,4,0,5,1,0"),
            ("32004", NcType::Float, "32004,0"),
            ("32000", NcType::Float, "32000"),
            ("32008", NcType::Float, "32008,0,5,4,0,0"),
            ("32008,0,4,4", NcType::Float, "32008,0,5,4,0,0"),
            ("32008,0,3,4", NcType::Float, "32008,0,5,4,0,3,4"),
            ("32008,0,2", NcType::Float, "32008,0,5,4,0,2"),
            ("32008,0,3,9", NcType::Short, "32008,0,5,2,0,3,9"),
            ("32008,0,4,4,1024,2", NcType::Int, "32008,0,5,4,1024,2"),
            ("32015,-5", NcType::Float, "32015,4294967291"),
            ("37373,9|2|32015,3", NcType::Float, "32032,9|2,4|32015,3"),
            ("32022,3,4,0,0,0", NcType::Float, "32022,3"),
            ("32023,3|1,1", NcType::Double, "32023,3|1,1"),
            ("1,9|3", NcType::Double, "1,9|3"),
            (" none ", NcType::Double, ""),
        ] {
            let chain = bound(text, ty).unwrap();
            let filters = chain.to_hdf5().unwrap();
            let told = filters.iter().map(ToString::to_string).collect::<Vec<_>>().join("|");
            assert_eq!(told, stored, "{text}");
            assert_eq!(bound(&told, ty).unwrap(), chain, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_said_is_named() {
        for (chain, word) in [
            (r#"[{"id":"lz4"}]"#, "lz4h5"),
            (r#"[{"id":"gzip","level":3}]"#, "zlib"),
            (r#"[{"id":"delta"}]"#, "delta"),
            (r#"[{"id":"pcodec"}]"#, "pcodec"),
            (r#"[{"id":"blosc","blocksize":4096}]"#, "blocksize"),
            (r#"[{"id":"nc3z.num"}]"#, "nc3z's own"),
            (r#"[{"id":"crc32"}]"#, "crc32"),
        ] {
            let e = bound(chain, NcType::Float).unwrap().to_hdf5().unwrap_err().to_string();
            assert!(e.contains(word) && e.contains("HDF5"), "{e}");
        }
    }

    #[test]
    fn wrong_numbers_and_parameters_are_named() {
        for (text, words) in [
            ("shuffle", "not a filter number"),
            ("0", "not a filter number"),
            ("1", "a level"),
            ("1,10", "out of range"),
            ("2,4,4", "size of an element"),
            ("2,8", "the elements have 4 bytes"),
            ("4,141,32", "szip"),
            ("32013,1,0,0,0,0,0", "hdf5plugin"),
            ("40000", "private range"),
            ("307,0", "out of range"),
            ("32008,0,7", "zstd's level"),
            ("32001,0,0,0,0,5,1,9", "codec 0 to 5"),
            ("3,1", "it takes nothing"),
            ("32032,24", "1 to 23 bits"),
            ("2|x", "not a filter number"),
        ] {
            let e = bound(text, NcType::Float).unwrap_err().to_string();
            assert!(e.contains(words), "{text}: {e}");
        }
    }
}
