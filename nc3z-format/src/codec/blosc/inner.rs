//! The codecs inside a Blosc frame.

use super::blosclz;
use super::wrong;
use crate::codec::stage::{Contexts, Stage};
use crate::codec::zlib::Deflate;
#[cfg(feature = "encode")]
use crate::error::Error;
use crate::error::Result;

/// The inner codecs. LZ4HC's output is read by LZ4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inner {
    BloscLz,
    Lz4,
    Lz4Hc,
    Snappy,
    Zlib,
    Zstd,
}

impl Inner {
    pub(super) const NAMES: [&'static str; 6] = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];
    const ALL: [Inner; 6] =
        [Inner::BloscLz, Inner::Lz4, Inner::Lz4Hc, Inner::Snappy, Inner::Zlib, Inner::Zstd];

    /// The codec with this name. The name is used where HDF5's parameters have its number.
    pub(super) fn named(name: &str) -> Option<Self> {
        let at = Self::NAMES.iter().position(|known| *known == name)?;
        Some(Self::ALL[at])
    }

    /// By the number in a frame's flags.
    pub(super) const fn of_format(format: u8) -> Option<Self> {
        Some(match format {
            0 => Inner::BloscLz,
            1 => Inner::Lz4,
            2 => Inner::Snappy,
            3 => Inner::Zlib,
            4 => Inner::Zstd,
            _ => return None,
        })
    }

    pub(super) fn decode(self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<()> {
        match self {
            Inner::BloscLz => blosclz::decompress(input, out)
                .ok_or_else(|| wrong("split", "BloscLZ of its length", "another")),
            Inner::Lz4 | Inner::Lz4Hc => crate::codec::lz4::block_into(input, out),
            Inner::Snappy => {
                let refused = |e: snap::Error| wrong("split", "Snappy of its length", e);
                match snap::raw::Decoder::new().decompress(input, out).map_err(refused)? {
                    len if len == out.len() => Ok(()),
                    len => Err(wrong("decoded length of a split", out.len(), len)),
                }
            }
            Inner::Zlib => Deflate { level: 6, gzip: false }.decode_into(input, contexts, out),
            #[cfg(any(feature = "zstd", feature = "ruzstd"))]
            Inner::Zstd => crate::codec::zstd::Zstd(3).decode_into(input, contexts, out),
            #[cfg(not(any(feature = "zstd", feature = "ruzstd")))]
            Inner::Zstd => {
                Err(crate::error::Error::unsupported("Blosc frame", None, "zstd, which this build has not"))
            }
        }
    }
}

#[cfg(feature = "encode")]
impl Inner {
    /// The number in a frame's flags.
    pub(super) const fn format(self) -> u8 {
        match self {
            Inner::BloscLz => 0,
            Inner::Lz4 | Inner::Lz4Hc => 1,
            Inner::Snappy => 2,
            Inner::Zlib => 3,
            Inner::Zstd => 4,
        }
    }

    /// Returns true if its blocks are split, which helps fast codecs.
    pub(super) const fn splits(self) -> bool {
        matches!(self, Inner::BloscLz | Inner::Lz4 | Inner::Snappy)
    }

    /// The default number of bytes of a block.
    pub(super) const fn block_len(self, level: usize) -> usize {
        let least = if self.splits() { 32 << 10 } else { 128 << 10 };
        least << (level / 3)
    }

    pub(super) fn encode(
        self,
        level: usize,
        input: &[u8],
        contexts: &mut Contexts,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self {
            Inner::BloscLz => {
                blosclz::compress(input, out);
                Ok(())
            }
            Inner::Lz4 | Inner::Lz4Hc => crate::codec::lz4::append_block(input, out),
            Inner::Snappy => {
                let at = out.len();
                out.resize(at + snap::raw::max_compress_len(input.len()), 0);
                let len = snap::raw::Encoder::new()
                    .compress(input, &mut out[at..])
                    .map_err(|e| Error::invalid(format!("blosc: {e}")))?;
                out.truncate(at + len);
                Ok(())
            }
            Inner::Zlib => {
                let level = u32::try_from(level).expect("at most 9");
                Deflate { level, gzip: false }.encode(input, contexts, out)
            }
            // As c-blosc maps its levels to zstd's.
            #[cfg(feature = "zstd")]
            Inner::Zstd => {
                let level = i32::try_from(level).expect("at most 9");
                crate::codec::zstd::Zstd(if level == 9 { 22 } else { 2 * level - 1 })
                    .encode(input, contexts, out)
            }
            #[cfg(not(feature = "zstd"))]
            Inner::Zstd => Err(Error::invalid("blosc: this build does not encode zstd")),
        }
    }
}
