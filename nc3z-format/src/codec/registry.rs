//! The available filters and codecs: those of this build, and those that a caller adds.

use super::stage::StageKind;
use std::fmt;
use std::sync::{Arc, OnceLock};

fn shared(kind: impl StageKind + 'static) -> Arc<dyn StageKind> {
    Arc::new(kind)
}

/// The filters and codecs of this build, one line each: the condition under which they are built, the id, the kind.
macro_rules! built_in {
    ($($when:meta, $id:literal, $kind:expr;)*) => {
        fn built_in() -> Registry {
            Registry(Arc::new([$(#[cfg($when)] shared($kind)),*]))
        }

        /// The condition for which a stage of this crate was not built, if it was not.
        pub(super) fn left_out(id: &str) -> Option<&'static str> {
            $(if !cfg!($when) && id == $id {
                return Some(stringify!($when));
            })*
            None
        }
    };
}

built_in! {
    all(), "shuffle", super::shuffle::ShuffleKind;
    feature = "bitshuffle", "bitshuffle", super::bitshuffle::BitshuffleKind;
    any(feature = "zstd", feature = "ruzstd"), "zstd", super::zstd::ZstdKind;
    feature = "zlib", "zlib", super::zlib::DeflateKind { gzip: false };
    feature = "zlib", "gzip", super::zlib::DeflateKind { gzip: true };
    feature = "lz4", "lz4", super::lz4::Lz4Kind;
    any(feature = "lzma", feature = "lzma-rs"), "lzma", super::lzma::LzmaKind;
    feature = "bz2", "bz2", super::bz2::Bz2Kind;
    feature = "blosc", "blosc", super::blosc::BloscKind;
    feature = "lz4", "lz4h5", super::lz4h5::Lz4H5Kind;
    all(), "lzf", super::lzf::LzfKind;
    feature = "pcodec", "pcodec", super::pcodec::PcodecKind;
    all(), "delta", super::delta::DeltaKind;
    all(), "fixedscaleoffset", super::fixed_scale_offset::FixedScaleOffsetKind;
    all(), "packbits", super::packbits::PackbitsKind;
    all(), "fletcher32", super::checksum::ChecksumKind(super::checksum::Sum::Fletcher32);
    all(), "crc32", super::checksum::ChecksumKind(super::checksum::Sum::Crc32);
    all(), "crc32c", super::checksum::ChecksumKind(super::checksum::Sum::Crc32c);
    all(), "adler32", super::checksum::ChecksumKind(super::checksum::Sum::Adler32);
    all(), "bitround", super::lossy::LossyKind(super::lossy::Lossy::BitRound);
    all(), "bitgroom", super::lossy::LossyKind(super::lossy::Lossy::BitGroom);
    all(), "granularbr", super::lossy::LossyKind(super::lossy::Lossy::GranularBitRound);
    all(), "quantize", super::lossy::LossyKind(super::lossy::Lossy::Quantize);
}

/// The filters and codecs that chains may name. A registry is cheap to clone. It is not changed: [`Registry::with`] returns another one.
///
/// The default registry has the filters and codecs of this build; [`Registry::with`] adds those of other crates. The numeric codec
/// `nc3z.num` is part of the format and always available.
///
/// ```
/// use nc3z_format::codec::{ChainSpec, Contexts, Registry, CodecScratch, Stage, StageKind, StageSpec};
/// use nc3z_format::{Error, Result};
///
/// /// A filter that complements every byte.
/// struct Complement;
///
/// impl StageKind for Complement {
///     fn id(&self) -> &str {
///         "org.example.complement"
///     }
///     fn example(&self) -> &str {
///         r#"{"id":"org.example.complement"}"#
///     }
///     fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
///         let [] = spec.integers([]).ok_or("it has no keys")?;
///         Ok(Box::new(Complement))
///     }
/// }
///
/// impl Stage for Complement {
///     fn decode_into(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<()> {
///         if input.len() != out.len() {
///             return Err(Error::corrupt("complement", None, "length", out.len(), input.len()));
///         }
///         out.iter_mut().zip(input).for_each(|(to, from)| *to = !from);
///         Ok(())
///     }
///     fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
///         out.extend(input.iter().map(|byte| !byte));
///         Ok(())
///     }
///     fn encoded_len(&self, decoded_len: usize) -> Option<usize> {
///         Some(decoded_len)
///     }
/// }
///
/// let registry = Registry::default().with(Complement);
/// let chain = registry.bind(ChainSpec(vec![StageSpec::new::<&str>("org.example.complement", [])]));
/// let (mut scratch, mut payload, mut back) = (CodecScratch::default(), Vec::new(), [0; 3]);
/// chain.encode_bytes(b"abc", &mut scratch, &mut payload)?;
/// chain.decode_bytes(&payload, &mut scratch, &mut back)?;
/// assert_eq!((&payload[..], &back), (&[!b'a', !b'b', !b'c'][..], b"abc"));
///
/// // Without it the chain is bound all the same; only its use is an error, which names the stage.
/// let unknown = Registry::default().bind(chain.spec().clone());
/// let error = unknown.decode_bytes(&payload, &mut scratch, &mut back).unwrap_err();
/// assert!(error.is_unsupported() && error.to_string().contains("org.example.complement"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Registry(Arc<[Arc<dyn StageKind>]>);

impl Default for Registry {
    fn default() -> Self {
        static BUILT_IN: OnceLock<Registry> = OnceLock::new();
        BUILT_IN.get_or_init(built_in).clone()
    }
}

impl Registry {
    /// A registry with only the numeric codec.
    pub fn empty() -> Self {
        Registry(Arc::new([]))
    }

    /// A registry with one more filter or codec, which replaces one of the same id.
    #[must_use]
    pub fn with(&self, kind: impl StageKind + 'static) -> Self {
        let kind = shared(kind);
        let others = self.0.iter().filter(|known| known.id() != kind.id()).cloned();
        Registry(others.chain([kind.clone()]).collect())
    }

    /// The kind of an id.
    pub fn get(&self, id: &str) -> Option<&dyn StageKind> {
        self.0.iter().find(|kind| kind.id() == id).map(|kind| &**kind)
    }

    /// The ids, in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|kind| kind.id())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}
