//! What a caller may choose, and the defaults.

use crate::layout::{ChunkRequest, LayoutOptions, TileChoice};
use crate::wanted::Wanted;
use nc3z_format::codec::{Registry, WantedChain};
pub use nc3z_format::parity::Share;
use nc3z_format::quantize::Quantize;
use nc3z_format::tile::Edge;
use nc3z_reader::OpenOptions;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes that the open tiles of all record variables together may hold: a rule of the format's users, not of
/// `memory`, so that any window of the original can be rebuilt in that much memory.
pub const RECORD_TILES_LEN: u64 = 64 << 20;
/// Memory for buffers.
pub const DEFAULT_MEMORY: u64 = 256 << 20;
/// Tiles of at most this many decoded bytes share blocks.
pub const PACK_LEN: u64 = 8 << 10;
/// A container is closed once its members' stored bytes reach this.
pub const CONTAINER_LEN: usize = 64 << 10;
/// The largest tile that may be chosen: 1 GiB.
pub const MAX_TILE_LEN: u64 = 1 << 30;

/// What parity an archive gets that is made of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParityChoice {
    /// Of the share that the other had; none where it had none.
    #[default]
    Keep,
    /// None.
    Without,
    /// Of this share.
    Share(Share),
}

impl ParityChoice {
    /// The share for an archive made of one that had `before`.
    pub fn share(self, before: Option<Share>) -> Option<Share> {
        match self {
            ParityChoice::Keep => before,
            ParityChoice::Without => None,
            ParityChoice::Share(share) => Some(share),
        }
    }
}

/// How size is traded against time.
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

    /// Those that are quicker.
    pub(crate) const fn quicker(self) -> &'static [Preset] {
        match self {
            Preset::Fast => &[],
            Preset::Default => &[Preset::Fast],
            Preset::Max => &[Preset::Default, Preset::Fast],
        }
    }
}

/// Options of one archive. The same options and input give the same archive, whatever `memory` and the number of threads.
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
    /// Keys of the metadata beside writer, options and chains.
    pub(crate) extra: BTreeMap<String, Value>,
    /// Required features that the content has from where it came.
    pub(crate) required: u32,
    pub(crate) chains: Wanted<WantedChain>,
    pub(crate) registry: Registry,
    pub(crate) quantize: Wanted<Quantize>,
    /// Names of the variables that were rounded, where the job does that: their chains say it too.
    pub(crate) rounded: Option<BTreeSet<Vec<u8>>>,
    /// The preset that arrays are planned and containers are packed by, where that is not the archive's own.
    pub(crate) planned_by: Option<Preset>,
    /// True where digests of the content go on record.
    pub(crate) record_content: bool,
    /// True where MD5 of the original goes on record.
    pub(crate) record_md5: bool,
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
            chains: Wanted::default(),
            registry: Registry::default(),
            quantize: Wanted::default(),
            rounded: None,
            planned_by: None,
            record_content: true,
            record_md5: false,
        }
    }
}

impl WriterOptions {
    /// Whether digests of the original's content are recorded in the archive: of the file, and of each variable where the archive is large beside them. True
    /// unless said otherwise; archives of files of up to 128 KiB have none.
    #[must_use]
    pub fn with_content_digests(mut self, record: bool) -> Self {
        self.record_content = record;
        self
    }

    /// Whether MD5 of the original is recorded in the archive, for catalogues that ask for it; false unless said otherwise.
    #[must_use]
    pub fn with_md5(mut self, record: bool) -> Self {
        self.record_md5 = record;
        self
    }

    /// Size against time; [`Preset::Default`] unless said otherwise.
    #[must_use]
    pub fn with_preset(mut self, preset: Preset) -> Self {
        self.preset = preset;
        self
    }

    /// Bytes of a tile before compression, up to [`MAX_TILE_LEN`]. Where nothing is asked for, that is the preset's, and less for
    /// long arrays that shorter tiles cost next to nothing.
    #[must_use]
    pub fn with_tile_len(mut self, bytes: u64) -> Self {
        self.tile_len = Some(bytes.clamp(1, MAX_TILE_LEN));
        self
    }

    /// Memory for buffers, [`DEFAULT_MEMORY`] unless said otherwise.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Whether to prove the round trip before success is reported (on by default).
    #[must_use]
    pub fn with_verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// Parity that can mend this share of the archive ([`nc3z_format::parity`]); none unless asked for.
    #[must_use]
    pub fn with_parity(mut self, share: Share) -> Self {
        self.parity = Some(share);
        self
    }

    /// Whether an existing target may be replaced, and a file without any variable of the archive be committed to it (off by default).
    #[must_use]
    pub fn with_force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Whether what changes an archive with parity makes parity of the same share anew (on by default). Otherwise parity covers what it covered.
    #[must_use]
    pub fn with_parity_renewed(mut self, renewed: bool) -> Self {
        self.renew_parity = renewed;
        self
    }

    /// Whether what changes an archive only finds out what it would do (off by default): all is done in a temporary file, and the archive stays as it is.
    #[must_use]
    pub fn with_dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// How variables are cut into tiles where nothing else is said of them; [`TileChoice::Linear`] unless chosen.
    #[must_use]
    pub fn with_layout(mut self, choice: TileChoice) -> Self {
        self.layouts.general = Some(choice);
        self
    }

    /// How one variable is cut into tiles. Goes before chunk lengths that name no variable.
    #[must_use]
    pub fn with_variable_layout(mut self, variable: impl Into<String>, choice: TileChoice) -> Self {
        self.layouts.by_variable.push((variable.into(), choice));
        self
    }

    /// Chunk lengths for one variable, or for all that have the dimensions named. Of several requests that apply to a
    /// variable the last counts, but one that names the variable goes before those that do not.
    #[must_use]
    pub fn with_chunks(mut self, request: ChunkRequest) -> Self {
        self.layouts.chunks.push(request);
        self
    }

    /// What chunks at the upper edges of an array hold; [`Edge::Clipped`] unless chosen. Padded ones are filled with the
    /// variable's `_FillValue` where it has one of its type, else with its type's default fill value.
    #[must_use]
    pub fn with_edge(mut self, edge: Edge) -> Self {
        self.layouts.edge = edge;
        self
    }

    /// Keys of the metadata beside writer, options and chains.
    pub(crate) fn with_extra(mut self, extra: BTreeMap<String, Value>) -> Self {
        self.extra = extra;
        self
    }

    /// Required features that the content has from where it came.
    pub(crate) fn with_required(mut self, features: u32) -> Self {
        self.required = features;
        self
    }

    /// Chains for variables, instead of chosen ones. A filter that rounds at the beginning of one rounds as [`WriterOptions::with_quantize`]
    /// does: proven, measured and declared.
    #[must_use]
    pub fn with_chains(mut self, chains: Wanted<WantedChain>) -> Self {
        self.chains = chains;
        self
    }

    /// How archives are opened that are read to be written: with the same registry.
    pub(crate) fn open_options(&self) -> OpenOptions {
        OpenOptions::default().with_registry(self.registry.clone())
    }

    /// The filters and codecs that chains may name, instead of this build's. Whoever opens the archive needs the same.
    #[must_use]
    pub fn with_registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Variables to round: the archive then holds other values than the source, and says so.
    #[must_use]
    pub fn with_quantize(mut self, quantize: Wanted<Quantize>) -> Self {
        self.quantize = quantize;
        self
    }

    /// What the metadata section says of them: all that shaped the archive.
    pub(crate) fn recorded(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::from([("preset".to_owned(), self.preset.name().to_owned())]);
        all.extend(self.layouts.describe());
        let quantize = self.quantize.iter().map(|(name, how)| (format!("quantize {name}"), how.to_string()));
        all.extend(quantize);
        all.extend(self.chains.iter().map(|(name, chain)| (format!("chain {name}"), chain.to_string())));
        all
    }

    /// Whether nothing is asked for of tiles and chains: whoever asks for some shall find them in the archive.
    pub(crate) fn leaves_layout_open(&self) -> bool {
        self.tile_len.is_none()
            && self.layouts == LayoutOptions::default()
            && self.chains.is_empty()
            && self.quantize.is_empty()
            && self.rounded.as_ref().is_none_or(BTreeSet::is_empty)
    }

    /// The preset that arrays are planned and containers are packed by.
    pub(crate) fn planning_preset(&self) -> Preset {
        self.planned_by.unwrap_or(self.preset)
    }

    /// What arrays are planned by.
    pub(crate) fn policy(&self) -> &'static crate::plan::Policy {
        crate::plan::Policy::of(self.planning_preset())
    }

    /// Bytes of a tile, where its layout leaves that open.
    pub(crate) fn wanted_tile_len(&self) -> u64 {
        self.tile_len.unwrap_or_else(|| crate::plan::Policy::of(self.preset).tile_len)
    }
}
