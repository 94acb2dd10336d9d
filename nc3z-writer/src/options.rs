//! Options that a caller may set, and their defaults.

use crate::layout::{ChunkRequest, LayoutOptions, TileChoice};
use crate::per_variable::PerVariable;
use nc3z_format::codec::{ChainRequest, Registry};
pub use nc3z_format::parity::Share;
use nc3z_format::quantize::Quantize;
use nc3z_format::tile::Edge;
use nc3z_reader::OpenOptions;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Limit for the bytes of the open tiles of all record variables together. It does not depend on `memory`:
/// readers can rely on it to rebuild any window of the original in that much memory.
pub const RECORD_TILES_LEN: u64 = 64 << 20;
/// Memory for buffers.
pub const DEFAULT_MEMORY: u64 = 256 << 20;
/// Tiles of at most this many decoded bytes share blocks.
pub const PACK_LEN: u64 = 8 << 10;
/// A container is closed once its members' stored bytes reach this.
pub const CONTAINER_LEN: usize = 64 << 10;
/// The largest allowed tile: 1 GiB.
pub const MAX_TILE_LEN: u64 = 1 << 30;

/// The parity of an archive that is made from another archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParityChoice {
    /// With the same share as the other archive, or without parity if the other archive has none.
    #[default]
    Keep,
    /// Without parity.
    Without,
    /// With this share.
    Share(Share),
}

impl ParityChoice {
    /// Returns the share for an archive made from one that had `before`.
    pub fn share(self, before: Option<Share>) -> Option<Share> {
        match self {
            ParityChoice::Keep => before,
            ParityChoice::Without => None,
            ParityChoice::Share(share) => Some(share),
        }
    }
}

/// The trade-off between size and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preset {
    /// Quickest to write and read.
    Fast,
    /// Small, still quick to read.
    #[default]
    Default,
    /// The smallest; writing takes long.
    Max,
}

impl Preset {
    /// The name on the command line and in the metadata.
    pub const fn name(self) -> &'static str {
        match self {
            Preset::Fast => "fast",
            Preset::Default => "default",
            Preset::Max => "max",
        }
    }

    /// The presets that are quicker than this one.
    pub(crate) const fn quicker(self) -> &'static [Preset] {
        match self {
            Preset::Fast => &[],
            Preset::Default => &[Preset::Fast],
            Preset::Max => &[Preset::Default, Preset::Fast],
        }
    }
}

/// Options of one archive. The same options and input give the same archive, regardless of `memory` and the
/// number of threads.
#[derive(Debug, Clone)]
pub struct WriterOptions {
    pub(crate) preset: Preset,
    pub(crate) tile_len: Option<u64>,
    pub(crate) memory: u64,
    pub(crate) verify: bool,
    pub(crate) parity: Option<Share>,
    pub(crate) force: bool,
    pub(crate) dry_run: bool,
    pub(crate) renew_parity: bool,
    pub(crate) layouts: LayoutOptions,
    /// Metadata keys in addition to writer, options and chains.
    pub(crate) extra: BTreeMap<String, Value>,
    /// Required features that come with the content.
    pub(crate) required: u32,
    pub(crate) chains: PerVariable<ChainRequest>,
    pub(crate) registry: Registry,
    pub(crate) quantize: PerVariable<Quantize>,
    /// Names of the variables that this job rounds; their chains record it too.
    pub(crate) rounded: Option<BTreeSet<Vec<u8>>>,
    /// The preset for planning arrays and packing containers, if it is not the archive's own.
    pub(crate) planned_by: Option<Preset>,
    /// True if digests of the content are recorded.
    pub(crate) record_content: bool,
    /// True if the original's MD5 is recorded.
    pub(crate) record_md5: bool,
    /// Stands for the SHA-256 of the source in the salt, if that is not computed.
    pub(crate) seed: Option<[u8; 32]>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            preset: Preset::Default,
            tile_len: None,
            memory: DEFAULT_MEMORY,
            verify: true,
            parity: None,
            force: false,
            dry_run: false,
            renew_parity: true,
            layouts: LayoutOptions::default(),
            extra: BTreeMap::new(),
            required: 0,
            chains: PerVariable::default(),
            registry: Registry::default(),
            quantize: PerVariable::default(),
            rounded: None,
            planned_by: None,
            record_content: true,
            record_md5: false,
            seed: None,
        }
    }
}

impl WriterOptions {
    /// Leaves out all digests of the classic file, so that its bytes are read only to archive them (off by default). The archive has no
    /// recorded SHA-256 and is not compared with the source. `seed` takes the place of the SHA-256: it must differ for different files.
    #[must_use]
    pub fn without_digest(mut self, seed: [u8; 32]) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Records digests of the original's content in the archive (on by default): of the file, and of each
    /// variable if the archive is large compared with the digests. Archives of files of up to 128 KiB have
    /// none.
    #[must_use]
    pub fn with_content_digests(mut self, record: bool) -> Self {
        self.record_content = record;
        self
    }

    /// Records the original's MD5 in the archive, for catalogues that need it (off by default).
    #[must_use]
    pub fn with_md5(mut self, record: bool) -> Self {
        self.record_md5 = record;
        self
    }

    /// Sets the trade-off between size and time; [`Preset::Default`] by default.
    #[must_use]
    pub fn with_preset(mut self, preset: Preset) -> Self {
        self.preset = preset;
        self
    }

    /// Sets the bytes of a tile before compression, up to [`MAX_TILE_LEN`]. The default is the preset's
    /// value. Long arrays get shorter tiles if that hardly costs bytes.
    #[must_use]
    pub fn with_tile_len(mut self, bytes: u64) -> Self {
        self.tile_len = Some(bytes.clamp(1, MAX_TILE_LEN));
        self
    }

    /// Sets the memory for buffers; [`DEFAULT_MEMORY`] by default.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Compares the archive with the source before success is reported (on by default).
    #[must_use]
    pub fn with_verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// Adds parity that can repair this share of the archive ([`nc3z_format::parity`]); none by default.
    #[must_use]
    pub fn with_parity(mut self, share: Share) -> Self {
        self.parity = Some(share);
        self
    }

    /// Allows an existing target to be replaced, and a file that has none of the archive's variables to be
    /// committed to the archive (off by default).
    #[must_use]
    pub fn with_force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Renews parity with the same share after a change of the archive (on by default). Otherwise parity
    /// keeps the range that it covered before.
    #[must_use]
    pub fn with_parity_renewed(mut self, renewed: bool) -> Self {
        self.renew_parity = renewed;
        self
    }

    /// Only reports the effects of a change (off by default). All work is done in a temporary file, and the
    /// archive stays unchanged.
    #[must_use]
    pub fn with_dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Sets the tile layout of variables that have no other request; [`TileChoice::Linear`] by default.
    #[must_use]
    pub fn with_layout(mut self, choice: TileChoice) -> Self {
        self.layouts.general = Some(choice);
        self
    }

    /// Sets the tile layout of one variable. Takes precedence over chunk lengths that name no variable.
    #[must_use]
    pub fn with_variable_layout(mut self, variable: impl Into<String>, choice: TileChoice) -> Self {
        self.layouts.by_variable.push((variable.into(), choice));
        self
    }

    /// Adds chunk lengths for one variable, or for all variables that have the named dimensions. If several
    /// requests apply to a variable, the last one is used, but requests that name the variable take
    /// precedence.
    #[must_use]
    pub fn with_chunks(mut self, request: ChunkRequest) -> Self {
        self.layouts.chunks.push(request);
        self
    }

    /// Accepts files in which no variable has the dimensions of the requested chunks, or the named variable; their tiles are as without
    /// the request. For options that are for many files.
    #[must_use]
    pub fn with_optional_chunks(mut self, optional: bool) -> Self {
        self.layouts.optional_chunks = optional;
        self
    }

    /// Sets the content of chunks at the upper edges of an array; [`Edge::Clipped`] by default. Padded chunks
    /// are filled with the variable's `_FillValue` if that has the variable's type, otherwise with the type's
    /// default fill value.
    #[must_use]
    pub fn with_edge(mut self, edge: Edge) -> Self {
        self.layouts.edge = edge;
        self
    }

    /// Sets metadata keys in addition to writer, options and chains.
    pub(crate) fn with_extra(mut self, extra: BTreeMap<String, Value>) -> Self {
        self.extra = extra;
        self
    }

    /// Sets required features that come with the content.
    pub(crate) fn with_required(mut self, features: u32) -> Self {
        self.required = features;
        self
    }

    /// Sets chains for variables, instead of chosen ones. A chain may begin with a filter that rounds. It
    /// rounds as [`WriterOptions::with_quantize`] does: the result is checked, measured and declared.
    #[must_use]
    pub fn with_chains(mut self, chains: PerVariable<ChainRequest>) -> Self {
        self.chains = chains;
        self
    }

    /// Returns the options for opening archives during a write: with the same registry.
    pub(crate) fn open_options(&self) -> OpenOptions {
        OpenOptions::default().with_registry(self.registry.clone())
    }

    /// Sets the filters and codecs that chains may name, instead of this build's. Readers of the archive need
    /// the same ones.
    #[must_use]
    pub fn with_registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Sets the variables to round. The archive then has other values than the source, and declares it.
    #[must_use]
    pub fn with_quantize(mut self, quantize: PerVariable<Quantize>) -> Self {
        self.quantize = quantize;
        self
    }

    /// Returns the options that the metadata section records: all that affect the archive.
    pub(crate) fn recorded(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::from([("preset".to_owned(), self.preset.name().to_owned())]);
        all.extend(self.layouts.describe());
        let quantize = self.quantize.iter().map(|(name, how)| (format!("quantize {name}"), how.to_string()));
        all.extend(quantize);
        all.extend(self.chains.iter().map(|(name, chain)| (format!("chain {name}"), chain.to_string())));
        all
    }

    /// True if no tiles and no chains are requested. Requested ones must be in the archive.
    pub(crate) fn leaves_layout_open(&self) -> bool {
        // The rule for chunks that fit no variable is not a request for chunks.
        let open =
            LayoutOptions { optional_chunks: self.layouts.optional_chunks, ..LayoutOptions::default() };
        self.tile_len.is_none()
            && self.layouts == open
            && self.chains.is_empty()
            && self.quantize.is_empty()
            && self.rounded.as_ref().is_none_or(BTreeSet::is_empty)
    }

    /// Returns the preset for planning arrays and packing containers.
    pub(crate) fn planning_preset(&self) -> Preset {
        self.planned_by.unwrap_or(self.preset)
    }

    /// Returns the policy for planning arrays.
    pub(crate) fn policy(&self) -> &'static crate::plan::Policy {
        crate::plan::Policy::for_preset(self.planning_preset())
    }

    /// Returns the bytes of a tile, unless its layout sets them.
    pub(crate) fn wanted_tile_len(&self) -> u64 {
        self.tile_len.unwrap_or_else(|| crate::plan::Policy::for_preset(self.preset).tile_len)
    }
}
