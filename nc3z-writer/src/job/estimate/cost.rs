//! Encodes the pieces as the writer would, and measures their size and the time.

use super::PresetEstimate;
use super::pieces::{Samples, read};
use crate::encode::{Form, encode_tile};
use crate::error::Result;
use crate::job::archive::archive_to_vec;
use crate::options::{CONTAINER_LEN, PACK_LEN, Preset, WriterOptions};
use crate::plan::{
    ChainTable, Policy, Subject, fill_values, plan_array, read_apart, refine_array, whole_len,
};
use crate::scratch::with_scratch;
use crate::tiles::{RawTile, read_samples};
use nc3z_format::archive::constants::{BLOCK_HEADER_LEN, SUPERBLOCK_LEN, TRAILER_LEN};
use nc3z_format::archive::{ArrayId, Head, PackEffort};
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::codec::{ChainSpec, Dependencies, TileShape, encode_dictionary, encode_zstd_frame};
use nc3z_reader::ClassicFile;
use nc3z_reader::Monitor;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Instant;

/// Files of at most this length are archived in memory instead of estimated: their overhead is a large share.
pub(super) const WRITTEN_LEN: u64 = 4 << 20;
/// Approximate bytes of an index entry in a page, and of one in the compressed table of small arrays.
const PAGED_ENTRY_LEN: f64 = 24.3;
const INLINE_ENTRY_LEN: f64 = 14.0;
const INLINE_ENTRIES: u64 = 32;
/// Limit for the bytes of container members that are compressed to measure the gain.
const PACKED_LEN: usize = 1 << 20;
/// Approximate bytes of the section table, the metadata and other parts of every archive.
const SECTIONS_LEN: u64 = 5 * 24 + 80;

/// The measured cost of one array.
pub(super) struct ArrayCost {
    id: ArrayId,
    /// Bytes of the pieces.
    raw: f64,
    /// Stored bytes of each piece over its raw bytes, in the order of the array.
    ratios: Vec<f64>,
    /// Stored bytes of the pieces, including block headers.
    stored: f64,
    /// Members of containers; they are compressed together.
    shared: Vec<u8>,
    /// Bytes in addition to the tiles: a dictionary.
    fixed: f64,
    /// Seconds for choosing a plan, which is done once. The other times grow with the array: scanning it for
    /// a dictionary, reading, and so on.
    choose_seconds: f64,
    scan_seconds: f64,
    read_seconds: f64,
    encode_seconds: f64,
    decode_seconds: f64,
}

pub(super) fn array_cost(
    classic: &ClassicFile,
    info: &ArrayInfo,
    samples: &Samples,
    records: &BTreeMap<ArrayId, Vec<Vec<u8>>>,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<ArrayCost> {
    let pieces = samples.of(info.id);
    let begin = Instant::now();
    let raw = pieces.iter().map(|p| read(classic, info, p)).collect::<Result<Vec<_>>>()?;
    let read_seconds = begin.elapsed().as_secs_f64();
    let policy = Policy::for_preset(options.preset);
    let mut table = ChainTable::new(&options.registry);
    table.number(&options.registry.bind(ChainSpec(vec![policy.codec()])));
    let begin = Instant::now();
    let scanned = Cell::new(0.0);
    let scan = |sink: &mut dyn FnMut(&[u8]) -> bool| {
        let begin = Instant::now();
        raw.iter().all(|bytes| sink(bytes));
        scanned.set(begin.elapsed().as_secs_f64());
        Ok(())
    };
    let subject = Subject {
        info,
        registry: &options.registry,
        samples: match records.get(&info.id) {
            Some(samples) => samples.iter().map(|s| Cow::Borrowed(&s[..])).collect(),
            None if info.total_bytes() <= PACK_LEN => Vec::new(),
            None => read_apart(read_samples(classic, samples.all(), info, &policy.samples)?),
        },
        fills: fill_values(classic, info),
        whole_len: whole_len(samples.all(), policy),
        keep: false,
        dictionary: true,
        scan: &scan,
    };
    let mut plan = with_scratch(|scratch| plan_array(&subject, policy, scratch))?;
    table.assign(&mut plan);
    // Pieces shorter than tiles already measure the cost of shorter tiles.
    let whole = pieces.iter().any(|piece| Some(piece.len as u64) == info.linear_tile_len());
    let finer = if whole { refine_array(classic, info, &plan, options, monitor)? } else { None };
    let info = finer.as_ref().unwrap_or(info);
    let tile_len = info.linear_tile_len().and_then(|len| usize::try_from(len).ok()).unwrap_or(usize::MAX);
    let mut cost = ArrayCost {
        id: info.id,
        raw: 0.0,
        ratios: Vec::new(),
        stored: 0.0,
        shared: Vec::new(),
        fixed: 0.0,
        choose_seconds: begin.elapsed().as_secs_f64() - scanned.get(),
        scan_seconds: scanned.get(),
        read_seconds,
        encode_seconds: 0.0,
        decode_seconds: 0.0,
    };
    let dictionary = plan.dictionary().cloned();
    if let Some(dictionary) = &dictionary {
        cost.fixed = float(encode_dictionary(dictionary, info.ty)?.len() as u64 + BLOCK_HEADER_LEN as u64);
    }
    for bytes in raw.iter().flat_map(|bytes| bytes.chunks(tile_len)) {
        let len = float(bytes.len() as u64);
        let tile = RawTile { array: info.id, tile: 0, bytes: bytes.to_vec() };
        let begin = Instant::now();
        let encoded = with_scratch(|scratch| encode_tile(&tile, info, &plan, None, scratch))?;
        cost.encode_seconds += begin.elapsed().as_secs_f64();
        let stored = match encoded.form {
            Form::Constant { .. } => 0.0,
            Form::Member { bytes, .. } => {
                cost.shared.extend(&bytes);
                0.0
            }
            Form::Block { chain, payload } => {
                let mut back = vec![0; bytes.len()];
                let shape = TileShape { ty: info.ty, geometry: info.tiling.geometry(0)? };
                let begin = Instant::now();
                let given = Dependencies::default().with_dictionary(dictionary.as_deref());
                with_scratch(|scratch| {
                    table.get(chain).decode_tile(&payload, &shape, &given, scratch, &mut back)
                })?;
                cost.decode_seconds += begin.elapsed().as_secs_f64();
                float((payload.len() as u64 + BLOCK_HEADER_LEN as u64).next_multiple_of(8))
            }
        };
        cost.raw += len;
        cost.stored += stored;
        cost.ratios.push(stored / len);
    }
    Ok(cost)
}

/// Bytes outside the tiles.
pub(super) struct Overhead {
    head: u64,
    index: f64,
}

impl Overhead {
    pub(super) fn new(classic: &ClassicFile, samples: &Samples) -> Result<Self> {
        let partition = &samples.partition;
        let head = Head {
            header: classic.header_bytes().to_vec(),
            chains: vec![ChainSpec::default()],
            layouts: partition.variables.clone(),
            padding_tile_lens: partition.paddings.clone(),
            gap_tile_len: partition.gap,
        };
        let index = samples.arrays().map(|a| match a.tiling.tile_count() {
            n if n <= INLINE_ENTRIES => float(n) * INLINE_ENTRY_LEN + 6.0,
            n => (float(n) * PAGED_ENTRY_LEN / 4096.0).ceil() * 4096.0,
        });
        Ok(Overhead { head: head.store(PackEffort::Full)?.0.len() as u64, index: index.sum() })
    }

    fn len(&self, blocks: f64) -> f64 {
        let heads = if blocks > 65536.0 { 2 } else { 1 };
        float(SUPERBLOCK_LEN as u64 + TRAILER_LEN as u64 + SECTIONS_LEN + heads * self.head) + self.index
    }
}

/// The costs of all sampled arrays.
pub(super) struct Costs {
    by_array: BTreeMap<ArrayId, ArrayCost>,
    /// The bytes of the containers divided by the bytes of their members, since containers compress their members again.
    shared: f64,
}

impl Costs {
    pub(super) fn new(found: Vec<ArrayCost>, preset: Preset) -> Self {
        let members = found.iter().flat_map(|c| c.shared.iter().copied());
        let shared = shared_ratio(&members.take(PACKED_LEN).collect::<Vec<_>>(), preset);
        Costs { by_array: found.into_iter().map(|cost| (cost.id, cost)).collect(), shared }
    }

    /// The costs of the sampled arrays that represent this one.
    fn told(&self, samples: &Samples, id: ArrayId) -> Vec<&ArrayCost> {
        samples.witnesses(id).iter().filter_map(|witness| self.by_array.get(witness)).collect()
    }
}

fn shared_ratio(members: &[u8], preset: Preset) -> f64 {
    if members.is_empty() {
        return 1.0;
    }
    let level = Policy::for_preset(preset).zstd_level;
    let stored: usize = members
        .chunks(CONTAINER_LEN)
        .map(|c| encode_zstd_frame(c, level).map_or(c.len(), |frame| frame.len()))
        .sum();
    float(stored as u64) / float(members.len() as u64)
}

/// Returns an array's bytes in the archive, and their standard error.
fn extrapolated(samples: &Samples, costs: &Costs, id: ArrayId) -> (f64, f64) {
    let Some(info) = samples.all().get(id) else { return (0.0, 0.0) };
    let total = float(info.total_bytes());
    let witnesses = costs.told(samples, id);
    let told = || witnesses.iter();
    let raw: f64 = told().map(|c| c.raw).sum();
    if raw == 0.0 {
        return (0.0, 0.0);
    }
    let stored: f64 = told().map(|c| c.stored + float(c.shared.len() as u64) * costs.shared).sum();
    let fixed: f64 = told().map(|c| c.fixed).sum::<f64>() / float(witnesses.len() as u64);
    // Neighbouring pieces are similar. So the differences of neighbours measure the error that remains with
    // evenly spread samples.
    let (mut n, mut squares, mut pairs) = (0.0, 0.0, 0.0);
    for cost in told() {
        n += float(cost.ratios.len() as u64);
        pairs += float(cost.ratios.len().saturating_sub(1) as u64);
        squares += cost.ratios.windows(2).map(|w| (w[0] - w[1]).powi(2)).sum::<f64>();
    }
    let variance = if pairs > 0.0 { squares / (2.0 * pairs) } else { 0.0 };
    let seen = if witnesses.iter().all(|w| w.id == id) { (raw / total).min(1.0) } else { 0.0 };
    (total * stored / raw + fixed, total * (variance / n * (1.0 - seen)).sqrt())
}

/// Returns an array's bytes in the archive.
pub(super) fn array_len(samples: &Samples, costs: &Costs, id: ArrayId) -> u64 {
    whole(extrapolated(samples, costs, id).0)
}

pub(super) fn preset_estimate(
    preset: Preset,
    samples: &Samples,
    costs: &Costs,
    overhead: &Overhead,
    threads: usize,
) -> PresetEstimate {
    let (mut stored, mut variance, mut bytes) = (0.0, 0.0, 0.0);
    let (mut encode, mut decode, mut once, mut read) = (0.0, 0.0, 0.0, 0.0);
    for info in samples.arrays() {
        let (len, error) = extrapolated(samples, costs, info.id);
        stored += len;
        variance += error * error;
        let witnesses = costs.told(samples, info.id);
        let told = || witnesses.iter();
        let raw: f64 = told().map(|c| c.raw).sum();
        let total = float(info.total_bytes());
        if raw > 0.0 {
            let scaled =
                |seconds: fn(&ArrayCost) -> f64| told().map(|c| seconds(c)).sum::<f64>() * total / raw;
            encode += scaled(|c| c.encode_seconds);
            decode += scaled(|c| c.decode_seconds);
            read += scaled(|c| c.read_seconds);
            once += scaled(|c| c.scan_seconds);
            once += told().map(|c| c.choose_seconds).sum::<f64>() / float(witnesses.len() as u64);
        }
        bytes += total;
    }
    let stored = stored + overhead.len(stored);
    let threads = float(threads.max(1) as u64);
    // A restore decodes in parallel while one thread hashes and writes. Writing is about as quick as reading.
    // The check of a new archive is a restore that reads the source again.
    let restore = (decode / threads).max(bytes * hash_seconds() + read);
    PresetEstimate {
        preset,
        stored_len: whole(stored),
        uncertainty: if stored > 0.0 { 2.0 * variance.sqrt() / stored } else { 0.0 },
        archive_seconds: once + read + encode / threads + restore,
        restore_seconds: restore,
    }
}

/// Measures the seconds per byte of SHA-256 on this machine.
fn hash_seconds() -> f64 {
    let buffer = vec![7_u8; 4 << 20];
    let begin = Instant::now();
    let digest = Sha256::digest(&buffer);
    // The digest is used, so that the compiler does not remove its computation.
    let least = if digest[0] == digest[1] { 1e-12 } else { 0.0 };
    begin.elapsed().as_secs_f64() / float(buffer.len() as u64) + least
}

/// Returns the length of the archive, written in memory.
pub(super) fn written_len(
    classic: &ClassicFile,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<u64> {
    let options = options.clone().with_verify(false);
    Ok(archive_to_vec(classic.source().clone(), &options, monitor)?.1.stored_len)
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(super) fn float(n: u64) -> f64 {
    n as f64
}

/// Rounds a number of bytes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate; negative is none")]
pub(super) fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}
