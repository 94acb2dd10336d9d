//! Writes the seeds of the fuzz targets below `fuzz/corpus`: small classic files and their archives.
//!
//! `cargo run --example fuzz_seeds [DIRECTORY]`

// The example needs only a part of the tests' code.
#[expect(dead_code, clippy::unwrap_used, reason = "the helpers of the tests, of which seeds need a part")]
#[path = "../tests/it/classic.rs"]
mod classic;
#[expect(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "what the targets do; seeds need which chain a byte chooses"
)]
#[path = "../../fuzz/src/targets.rs"]
mod targets;

use classic::{Model, Var, content};
use nc3z_format::Hyperslab;
use nc3z_format::NcType;
use nc3z_format::archive::short::{SHORT_PREFIX_LEN, is_short};
use nc3z_format::archive::unpack;
use nc3z_format::classic::{NumRecs, Version};
use nc3z_format::codec::{
    ChainSpec, CodecScratch, Lzma, Registry, StageSpec, TileCoder, TileShape, encode_tile,
};
use nc3z_format::num::{Coder, DeltaAxes, EncodePlan};
use nc3z_format::tile::Geometry;
use nc3z_writer::edit::Edit;
use nc3z_writer::{CommitNote, TagChange, WriterOptions, archive_file};
use std::path::{Path, PathBuf};
use targets::chain_of;

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn models() -> Vec<Model> {
    let mut all = Vec::new();
    for (i, version) in (0u8..).zip([Version::Cdf1, Version::Cdf2, Version::Cdf5]) {
        let vars = vec![
            Var::fixed(NcType::Float, &[6, 4]),
            Var::fixed(NcType::Char, &[9]),
            Var::record(NcType::Short, &[3]),
            Var::record(NcType::Double, &[2]),
        ];
        all.push(Model::new(version, 0, vec![]));
        all.push(Model { fill: 4, ..Model::new(version, 5, vars.clone()) });
        all.push(Model {
            fill: i,
            numrecs: NumRecs::Streaming,
            tail: 11,
            ..Model::new(version, 3, vars.clone())
        });
        all.push(Model { fill: 3, cut: 20, ..Model::new(version, 4, vars) });
        all.push(Model::new(version, 9, vec![Var::record(NcType::Byte, &[3])]));
    }
    all
}

fn put(root: &Path, target: &str, number: usize, bytes: &[u8]) -> Result {
    let dir = root.join(target);
    std::fs::create_dir_all(&dir)?;
    Ok(std::fs::write(dir.join(format!("seed-{number:03}")), bytes)?)
}

/// Chains in all notations, for every type.
const CHAINS: &[&str] = &[
    "none",
    "2|32015,9",
    "2,4|1,9|3",
    "3|32008,0,2,3|307,9|3",
    "32001,0,0,0,0,5,1,0",
    "32001,0,0,0,0,5,2,5",
    "32004,64|32000",
    "32008,0,2|32015,3b",
    "32022,3,0",
    "32023,3",
    "32032,5|2|1,1",
    "37373,5",
    r#"[{"id":"zstd","level":1},{"id":"lzf"},{"id":"crc32c"}]"#,
    r#"[{"id":"delta","dtype":"<i2"},{"id":"adler32"},{"id":"crc32"}]"#,
    r#"[{"id":"fixedscaleoffset","offset":1,"scale":3,"dtype":"<f4","astype":"<i2"}]"#,
    r#"[{"id":"packbits"}]"#,
    r#"[{"id":"pcodec","level":8}]"#,
    r#"[{"id":"quantize","digits":3,"dtype":"<f4"},{"id":"bz2","level":9}]"#,
    r#"[{"id":"bitround","keepbits":5},{"id":"gzip","level":9}]"#,
    r#"[{"id":"lz4","acceleration":1},{"id":"zlib","level":1}]"#,
    r#"[{"id":"blosc","cname":"zstd","clevel":5,"shuffle":-1,"blocksize":0}]"#,
    r#"{"filters":[{"id":"shuffle","elementsize":0}],"compressor":{"id":"zlib","level":4}}"#,
    r#"{"filters":null,"compressor":{"id":"nc3z.num","level":"default"}}"#,
];

fn chains(root: &Path) -> Result {
    for (i, chain) in CHAINS.iter().enumerate() {
        for ty in 0..u8::try_from(NcType::ALL.len())? {
            put(root, "chain_text", i * 16 + usize::from(ty), &[&[ty], chain.as_bytes()].concat())?;
        }
    }
    Ok(())
}

fn files(root: &Path) -> Result {
    let dir = tempfile::tempdir()?;
    let (input, output) = (dir.path().join("a.nc"), dir.path().join("a.nc3z"));
    for (i, model) in models().iter().enumerate() {
        let bytes = model.build().bytes;
        put(root, "classic_header", i, &[&[0, 0], &bytes[..]].concat())?;
        put(root, "roundtrip", i, &[&[8], &bytes[..]].concat())?;
        put(root, "roundtrip", i + 100, &[&[255], &bytes[..]].concat())?;
        put(root, "capi", i + 10_000, &[&[7; 16], &bytes[..]].concat())?;
        std::fs::write(&input, &bytes)?;
        for (k, tile_len) in [2, 16, 1 << 20].into_iter().enumerate() {
            let options = WriterOptions::default().with_tile_len(tile_len).with_force(true);
            archive_file(&input, &output, &options, &())?;
            let archive = std::fs::read(&output)?;
            put(root, "archive_open", i + 100 * k, &archive)?;
            put(root, "capi", i + 100 * k, &[&[1; 16], &archive[..]].concat())?;
            if let Some(seed) = is_short(&archive).then(|| short_form_seed(&archive)).flatten() {
                put(root, "short_form", i + 100 * k, &seed)?;
            }
            put(root, "verify_repair", i + 100 * k, &[&[0; 4], &archive[..]].concat())?;
            if let Some(versions) = edited(&output, &options)? {
                put(root, "versions", i + 100 * k, &versions)?;
                put(root, "archive_open", i + 100 * k + 1000, &versions)?;
            }
        }
    }
    Ok(())
}

/// Returns the input of `short_form` for an archive.
fn short_form_seed(archive: &[u8]) -> Option<Vec<u8>> {
    let len = u32::from_le_bytes(archive.get(12..)?.first_chunk().copied()?) as usize;
    let (stored, payloads) = archive.get(SHORT_PREFIX_LEN..)?.split_at_checked(len)?;
    let content = unpack(stored, 1 << 20).ok()?;
    let len = u16::try_from(content.len()).ok().filter(|len| *len < 1 << 15)?;
    // The highest bit marks the content as a whole file.
    let len = len | u16::from(archive[9] == 2) << 15;
    Some([&len.to_le_bytes()[..], &archive[36..SHORT_PREFIX_LEN], &content, payloads].concat())
}

/// Returns the archive with some more versions; `None` if the file cannot be edited.
fn edited(path: &Path, options: &WriterOptions) -> Result<Option<Vec<u8>>> {
    let Ok(mut edit) = Edit::open(path, options) else { return Ok(None) };
    for n in 0..3 {
        edit.set_attribute(None, "edit", NcType::Byte, &[n])?;
        if n == 1
            && let Some(variable) = edit.header().variables.first().cloned()
        {
            let name = String::from_utf8(variable.name.clone())?;
            let all = Hyperslab::all(&edit.shape_of(&name)?);
            edit.set(&name, &all, &vec![n; variable.ty.size()])?;
        }
        edit.commit(&CommitNote::default(), &())?;
    }
    drop(edit);
    nc3z_writer::tag_version(
        path,
        "seed",
        &TagChange::Set { version: None, force: false },
        &WriterOptions::default(),
    )?;
    Ok(Some(std::fs::read(path)?))
}

fn blocks(root: &Path) -> Result {
    let bound = |stages| Registry::default().bind(ChainSpec(stages));
    let mut scratch = CodecScratch::default();
    let mut number = 0;
    for (ty_code, ty) in (0u8..).zip(NcType::ALL) {
        let shape = TileShape { ty, geometry: Geometry { row: Some(8), plane: Some(32), volume: Some(96) } };
        let shuffle = StageSpec::shuffle(ty.size());
        let zstd = bound(vec![shuffle, StageSpec::zstd(1)]);
        let zlib = bound(vec![StageSpec::zlib(1)]);
        let lzma = bound(vec![Lzma::for_elements(ty.size(), 1 << 16).into()]);
        for (fill, coder) in (0u8..).zip([Coder::Store, Coder::Zstd, Coder::Planes, Coder::Ctx, Coder::Mix]) {
            let plan = EncodePlan { coder, axes: DeltaAxes::ROWS, ..EncodePlan::default() };
            let masked = EncodePlan { mask: Some(0), ..plan.clone() };
            let alone = EncodePlan { axes: DeltaAxes::ROWS_PLANES.alone(), ..masked.clone() };
            let coders = [
                TileCoder::Num(&plan),
                TileCoder::Num(&masked),
                TileCoder::Num(&alone),
                TileCoder::Bytes(&zstd),
                TileCoder::Bytes(&zlib),
                TileCoder::Bytes(&lzma),
            ];
            for (which, coder) in [0u8, 1, 0, 5, 4, 12].into_iter().zip(coders) {
                let elements = 400u16;
                let mut bytes = vec![which, ty_code];
                bytes.extend(elements.to_le_bytes());
                bytes.extend([8, 4]);
                encode_tile(coder, &content(fill + 1, 400 * ty.size()), &shape, &mut scratch, &mut bytes)?;
                put(root, "block_decode", number, &bytes)?;
                number += 1;
            }
        }
        // The other chains, which code bytes. A chain that refuses the data gives no seed.
        for which in 8..32u8 {
            let chain = bound(chain_of(which, ty, 8));
            let content = content(which, 400 * ty.size());
            let mut bytes = vec![which, ty_code, 144, 1, 8, 4];
            let mut stored = Vec::new();
            if !chain.is_numeric() && chain.encode_bytes(&content, &mut scratch, &mut stored).is_ok() {
                bytes.extend(stored);
                put(root, "block_decode", number, &bytes)?;
                number += 1;
            }
        }
    }
    Ok(())
}

fn main() -> Result {
    let root = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("fuzz/corpus"), PathBuf::from);
    files(&root)?;
    chains(&root)?;
    blocks(&root)
}
