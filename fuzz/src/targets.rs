//! The fuzz targets as functions of their bytes. A module of its own so that `cargo test` of the reader replays crash
//! inputs through the same code, without a fuzzer.

mod chain_text;
mod reseal;
mod short_form;

pub use chain_text::chain_text;
use reseal::put;
pub use reseal::reseal;
pub use short_form::short_form;

use nc3z_format::archive::Salt;
use nc3z_format::classic::{Layout, encode, parse};
use nc3z_format::codec::{
    ChainRequest, ChainSpec, CodecScratch, Dependencies, Lzma, Registry, StageSpec, TileCoder, TileShape,
    decode_dictionary, encode_tile,
};
use nc3z_format::num::{Coder, DeltaAxes, EncodePlan, TransformPlan};
use nc3z_format::tile::Geometry;
use nc3z_format::{Limits, NcType};
use nc3z_reader::source::MemorySource;
use nc3z_reader::{Archive, OpenOptions};
use nc3z_writer::WriterOptions;
use std::sync::Arc;

/// Originals longer than this are opened, not restored: a forged length would take too much time.
const RESTORE_MAX: u64 = 4 << 20;

/// Limits under which nothing may take more than a few MiB.
pub fn small_limits() -> Limits {
    let mut limits = Limits::default();
    limits.header_len = 1 << 20;
    limits.name_len = 1 << 12;
    limits.rank = 64;
    limits.tile_len = 1 << 20;
    limits.metadata_len = 1 << 16;
    limits.table_len = 1 << 20;
    limits.chains = 64;
    limits.chain_len = 8;
    limits.sections = 16;
    limits.generations = 16;
    limits
}

/// Any bytes as a classic header: an error, or a header that survives encoding, and a layout.
pub fn classic_header(data: &[u8]) {
    let limits = small_limits();
    let Some((tail, bytes)) = data.split_first_chunk::<2>() else { return };
    // The file may be longer than the header, by little or by much.
    let tail = u16::from_le_bytes(*tail);
    let more = if tail & 0x8000 == 0 { u64::from(tail) } else { u64::from(tail & 0x7FFF) << 40 };
    let file_len = bytes.len() as u64 + more;
    let Ok(parsed) = parse(bytes, file_len, &limits) else { return };
    assert!(parsed.header_len <= bytes.len() as u64, "a header ends within its bytes");
    let again = encode(&parsed.header).expect("what was parsed can be written");
    let reparsed = parse(&again, again.len() as u64 + more, &limits).expect("what was written can be parsed");
    assert_eq!(reparsed.header, parsed.header, "encode and parse are inverse");
    let _ = Layout::new(&parsed.header, parsed.header_len, file_len);
}

/// Any bytes as an archive, first unchanged and then with corrected checksums.
pub fn archive_open(data: &[u8]) {
    open_and_restore(data.to_vec());
    let mut sealed = data.to_vec();
    if reseal(&mut sealed) {
        open_and_restore(sealed);
    }
}

/// Opens and restores; gives the original if both succeed.
pub fn open_and_restore(bytes: Vec<u8>) -> Option<Vec<u8>> {
    let options = OpenOptions::default().with_limits(small_limits());
    let archive = Archive::from_source(Arc::new(MemorySource::new(bytes)), &options).ok()?;
    if archive.original_len() > RESTORE_MAX {
        return None;
    }
    let mut out = Vec::new();
    let restored = archive.restore_to_stream(&mut out, &()).ok();
    for (id, _) in archive.header().variables() {
        // Shapes with a zero and more dimensions than bytes are skipped; present elements take at most the original's bytes.
        let _ = archive.read_variable_bytes(id);
    }
    let half = out.len() / 2;
    let mut part = vec![0; half];
    let _ = archive.read_original(out.len() as u64 - half as u64, &mut part);
    let restored = restored?;
    assert_eq!(restored.len, archive.original_len(), "a restored file has the length that was declared");
    assert_eq!(restored.len, out.len() as u64, "what was written was counted");
    assert_eq!(part, out[out.len() - half..], "byte view and restore agree");
    Some(out)
}

/// The chain that two bytes choose for elements of a type.
pub fn chain_of(which: u8, ty: NcType, row: u8) -> Vec<StageSpec> {
    let size = ty.size();
    let num = StageSpec::num(None);
    let shuffle = StageSpec::shuffle(size);
    let odd = StageSpec::shuffle(3);
    let (zstd, zlib) = (StageSpec::zstd(1), StageSpec::zlib(1));
    let (lz4, gzip) = (StageSpec::lz4(1), StageSpec::gzip(1));
    let bits = StageSpec::bitshuffle(size, usize::from(row & 3) * 8);
    let named = |text: &str| {
        let registry = Registry::default();
        ChainRequest::parse(text)
            .and_then(|wanted| wanted.bind(ty, &registry))
            .map_or_else(|_| vec![], |chain| chain.0)
    };
    match which % 32 {
        0 | 1 => vec![num],
        2 => vec![],
        3 => vec![zstd],
        4 => vec![zlib],
        5 => vec![shuffle, zstd],
        6 => vec![odd, shuffle, zlib],
        8 => vec![lz4],
        9 => vec![bits, lz4],
        10 => vec![gzip],
        11 => vec![bits, odd],
        12 => vec![Lzma::for_elements(size, 1 << 16).into()],
        13 => named("307,1"),
        14 => named("32001,0,0,0,0,5,1,0"),
        15 => named("32001,0,0,0,0,5,2,1"),
        16 => named("32001,0,0,0,0,5,1,3"),
        17 => named("32001,0,0,0,0,5,0,4"),
        18 => named("32001,0,0,0,0,1,1,5"),
        19 => named("32004,64"),
        20 => named("32008,8,2"),
        21 => named("32008,0,3,1"),
        22 => named("32000"),
        23 => named(r#"[{"id":"pcodec"}]"#),
        24 => named(r#"[{"id":"zstd","level":1},{"id":"lzf"},{"id":"crc32c"}]"#),
        25 => named("3|32008,0,2|307,1|3"),
        26 => named(r#"[{"id":"delta"},{"id":"adler32"}]"#),
        27 => named(r#"[{"id":"packbits"}]"#),
        28 => named(r#"[{"id":"fixedscaleoffset","offset":1,"scale":3}]"#),
        29 => named(r#"[{"id":"lz4"},{"id":"zlib","level":1},{"id":"gzip","level":1}]"#),
        _ => vec![shuffle, odd],
    }
}

/// A few bytes choose chain, type, shape and length; the rest is the payload. Then the same bytes are encoded,
/// and must be decoded exactly.
pub fn block_decode(data: &[u8]) {
    let Some((&[which, ty, len_low, len_high, row, plane], payload)) = data.split_first_chunk::<6>() else {
        return;
    };
    let ty = NcType::ALL[usize::from(ty) % NcType::ALL.len()];
    let size = ty.size();
    let elements = usize::from(u16::from_le_bytes([len_low, len_high]) & 0x3FFF);
    let row_byte = row;
    let (row, plane) = (u64::from(row), u64::from(row) * u64::from(plane));
    let optional = |n: u64| (n > 1).then_some(n);
    let shape = TileShape {
        ty,
        geometry: Geometry { row: optional(row), plane: optional(plane), volume: optional(plane * 3) },
    };
    let spec = chain_of(which, ty, row_byte);
    // Some chains need whole elements, or values that they can restore.
    let is_picky =
        spec.iter().any(|stage| ["pcodec", "delta", "packbits", "fixedscaleoffset"].contains(&stage.id()));
    let chain = Registry::default().bind(ChainSpec(spec));
    let mut scratch = CodecScratch::default();
    let dictionary = decode_dictionary(payload, ty).ok();
    let given = Dependencies::default().with_dictionary(dictionary.as_ref());
    let mut out = vec![0xA5; elements * size];
    let first = chain.decode_tile(payload, &shape, &given, &mut scratch, &mut out);
    // A decoder has no state: the same payload gives the same bytes again, whatever the scratch was used for.
    let mut again = vec![0x5A; elements * size];
    let second = chain.decode_tile(payload, &shape, &given, &mut scratch, &mut again);
    assert_eq!(first.is_ok(), second.is_ok(), "decoding is a function of the payload");
    if first.is_ok() {
        assert_eq!(out, again, "every byte of the tile is written");
    }
    let whole = &payload[..payload.len() / size * size];
    let mut stored = Vec::new();
    if is_picky {
        if chain.encode_bytes(whole, &mut scratch, &mut stored).is_ok() {
            let mut back = vec![0; whole.len()];
            chain.decode_bytes(&stored, &mut scratch, &mut back).expect("what was encoded can be decoded");
            assert_eq!(back, whole, "byte chains are exact");
        }
    } else if !chain.is_numeric() {
        chain.encode_bytes(payload, &mut scratch, &mut stored).expect("byte chains take any bytes");
        let mut back = vec![0; payload.len()];
        chain.decode_bytes(&stored, &mut scratch, &mut back).expect("what was encoded can be decoded");
        assert_eq!(back, payload, "byte chains are exact");
    } else if !whole.is_empty() {
        let plan = plan_of(which, whole, size);
        encode_tile(TileCoder::Num(&plan), whole, &shape, &mut scratch, &mut stored)
            .expect("whole elements can be encoded");
        let mut back = vec![0; whole.len()];
        chain
            .decode_tile(&stored, &shape, &Dependencies::default(), &mut scratch, &mut back)
            .expect("what was encoded can be decoded");
        assert_eq!(back, whole, "the numeric codec is exact");
    }
}

/// A plan of the numeric codec: all coders, some delta axes and transforms, with the first element masked or nothing.
fn plan_of(which: u8, whole: &[u8], size: usize) -> EncodePlan {
    let coders = [Coder::Store, Coder::Zstd, Coder::Planes, Coder::Mix, Coder::Ctx];
    let axes = [DeltaAxes::NONE, DeltaAxes::NEIGHBOURS, DeltaAxes::ROWS, DeltaAxes::ROWS_PLANES];
    let first = whole[..size].iter().fold(0, |n, &b| n << 8 | u64::from(b));
    EncodePlan {
        mask: (which & 1 == 1).then_some(first),
        transform: if which & 0x80 == 0 {
            TransformPlan::Ordered
        } else {
            TransformPlan::ScaleOffsetPerPlane
        },
        axes: axes[usize::from(which >> 3 & 3)].repeated(which >> 1 & 3, which >> 2 & 1),
        coder: coders[usize::from(which >> 4) % coders.len()],
        level: 1,
        ..EncodePlan::default()
    }
}

/// Any bytes as a classic file: if it is valid, its archive must restore it.
pub fn roundtrip(data: &[u8]) {
    let Some((&tile_len, file)) = data.split_first() else { return };
    if parse(file, file.len() as u64, &small_limits()).is_err() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (input, output) = (dir.path().join("a.nc"), dir.path().join("a.nc3z"));
    std::fs::write(&input, file).expect("room for a temporary file");
    // Most inputs choose small tiles, so that there are index pages; the others choose the default.
    let mut options = WriterOptions::default();
    if tile_len < 200 {
        options = options.with_tile_len(u64::from(tile_len) + 1);
    }
    match nc3z_writer::archive_file(&input, &output, &options, &()) {
        Ok(done) => assert_eq!(done.original_len, file.len() as u64, "all of the file was taken"),
        Err(e) => {
            let proof = matches!(e.kind(), nc3z_writer::ErrorKind::Proof { .. });
            assert!(!proof, "the writer's own proof failed: {e}");
            return;
        }
    }
    let archive = Archive::open(&output).expect("an archive that was written opens");
    let mut back = Vec::new();
    archive.restore_to_stream(&mut back, &()).expect("an archive that was written restores");
    assert!(back == file, "restored bytes are the original's");
}

/// Any bytes as a damaged archive, cut as the first four bytes say, first unchanged and then with corrected checksums: checked, salvaged, repaired.
/// The repaired archive is sound, and a second repair gives the same report.
pub fn verify_repair(data: &[u8]) {
    let Some((cuts, bytes)) = data.split_first_chunk::<4>() else { return };
    let front = usize::from(u16::from_le_bytes([cuts[0], cuts[1]])) % (bytes.len() + 1);
    let back = usize::from(u16::from_le_bytes([cuts[2], cuts[3]])) % (bytes.len() - front + 1);
    // Most damage leaves the ends alone.
    let (front, back) = (if front % 4 == 0 { 0 } else { front }, if back % 2 == 0 { 0 } else { back });
    repair_and_check(&bytes[front..bytes.len() - back]);
    let mut sealed = bytes.to_vec();
    if reseal(&mut sealed) {
        repair_and_check(&sealed[front..bytes.len() - back]);
    }
}

fn repair_and_check(bytes: &[u8]) {
    use nc3z_reader::recover::RecoverOptions;
    use nc3z_reader::source::SharedSource;
    use nc3z_reader::verify::{deep, quick};
    let source: SharedSource = Arc::new(MemorySource::new(bytes.to_vec()));
    let options = OpenOptions::default().with_limits(small_limits());
    let sound = quick(&source, &options, &()).is_ok_and(|report| report.is_sound());
    let filling = options.clone().with_fill_lost(true);
    for uncommitted in [false, true] {
        let salvage = RecoverOptions { open: filling.clone(), uncommitted };
        let Ok((archive, _)) = Archive::recover(&source, &salvage, &()) else {
            assert!(!sound, "what is sound can be salvaged");
            return;
        };
        if archive.original_len() > RESTORE_MAX {
            return;
        }
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (bad, good) = (dir.path().join("bad.nc3z"), dir.path().join("good.nc3z"));
    std::fs::write(&bad, bytes).expect("a file in it");
    let repair = nc3z_writer::BlockRepairOptions { limits: small_limits(), ..Default::default() };
    let repaired = match nc3z_writer::repair_blocks(&bad, &good, &repair, &()) {
        Ok(repaired) => repaired,
        Err(e) => {
            let proof = matches!(e.kind(), nc3z_writer::ErrorKind::Proof { .. });
            assert!(!proof, "the repair's own proof failed: {e}");
            assert!(!good.exists(), "a repair that failed leaves nothing");
            return;
        }
    };
    let written: SharedSource = Arc::new(MemorySource::new(std::fs::read(&good).expect("it was written")));
    let report = deep(&written, &OpenOptions::default(), &()).expect("what a repair writes opens");
    assert!(report.is_sound(), "what a repair writes is sound: {:?}", report.findings);
    let lost: u64 = report.lost.iter().map(|p| p.tiles.end - p.tiles.start).sum();
    assert_eq!(lost, repaired.lost_tiles, "the index says what was lost");
    let archive = Archive::from_source(written, &filling).expect("what a repair writes opens");
    let back =
        archive.restore_to_stream(&mut std::io::sink(), &()).expect("fill values stand for what is lost");
    assert_eq!((back.len, back.sha256), (repaired.original_len, repaired.sha256));
}

/// The input damages an archive with parity. Damage that can be repaired is repaired to the same bytes. Damage that checksums detect is
/// tried once more with corrected checksums of the packets.
pub fn parity(data: &[u8]) {
    const GOOD: &[u8] = include_bytes!("../../testdata/archives/v1_0_0/record_padding.default.parity.nc3z");
    let mut bad = GOOD.to_vec();
    // Three bytes for each change: a place, and the new byte. The highest bit of the first input byte selects runs.
    let Some((mode, rest)) = data.split_first() else { return };
    for change in rest.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % bad.len();
        let run = if mode & 0x80 == 0 { 1 } else { usize::from(change[2]) * 4 + 1 };
        bad.iter_mut().skip(at).take(run).for_each(|b| *b ^= change[2]);
    }
    if mode & 0x40 != 0 {
        bad.truncate(bad.len() - usize::from(mode & 0x3F) * 64);
    }
    match mend_bytes(&bad) {
        Some((report, Ok(out))) => assert_eq!(out[..GOOD.len()], *GOOD, "{report}"),
        Some((report, Err(e))) => assert!(!report.is_repairable(), "{report}: {e}"),
        None => {}
    }
    for at in (0..bad.len()).step_by(64) {
        let Some(len) = nc3z_format::parity::Packet::len_of(&bad[at..]).filter(|&n| n >= 64) else {
            continue;
        };
        let Some(packet) = bad.get(at..at + len) else { continue };
        let salt = Salt(packet[8..].first_chunk().copied().expect("at least 64 bytes"));
        let crc = salt.crc(at as u64, &packet[8..]);
        put(&mut bad, at + 4, &crc.to_le_bytes());
    }
    // Any result is allowed except a panic, and except bytes that differ from the packets' digest.
    let _ = mend_bytes(&bad);
}

/// Checks, and if possible repairs and proves.
fn mend_bytes(bytes: &[u8]) -> Option<(nc3z_reader::parity::ParityReport, nc3z_reader::Result<Vec<u8>>)> {
    use nc3z_reader::parity::{check, prove, repair};
    let source: nc3z_reader::source::SharedSource = Arc::new(MemorySource::new(bytes.to_vec()));
    let report = check(&source, &()).ok()??;
    let mut out = bytes.to_vec();
    let done = repair(&*source, &report, &(), &mut |at, good| {
        let at = usize::try_from(at).expect("inside the archive");
        out.resize(out.len().max(at + good.len()), 0);
        put(&mut out, at, good);
        Ok(())
    });
    let proven = done.and_then(|_| prove(&MemorySource::new(out.clone()), &report, &()));
    Some((report, proven.map(|()| out)))
}

/// Any bytes as an archive of several versions, first unchanged and then with corrected checksums of the last one: each version is opened and restored, and one more
/// is made by an edit.
pub fn versions(data: &[u8]) {
    open_versions(data);
    let mut sealed = data.to_vec();
    if reseal(&mut sealed) {
        open_versions(&sealed);
    }
}

fn restored(archive: &Archive) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    (archive.original_len() <= RESTORE_MAX).then_some(())?;
    archive.restore_to_stream(&mut out, &()).ok().map(|_| out)
}

fn open_versions(bytes: &[u8]) {
    use nc3z_reader::VersionName;
    let options = OpenOptions::default().with_limits(small_limits());
    let source: nc3z_reader::source::SharedSource = Arc::new(MemorySource::new(bytes.to_vec()));
    let Ok(newest) = Archive::from_source(source.clone(), &options) else { return };
    if newest.original_len() > RESTORE_MAX {
        return;
    }
    let _ = newest.tags();
    let known: Vec<u64> =
        newest.versions(16).map(|all| all.iter().map(|v| v.record.number).collect()).unwrap_or_default();
    assert!(known.is_sorted_by(|a, b| a > b), "versions come newest first: {known:?}");
    for &number in &known {
        let options = options.clone().with_version(VersionName::Number(number));
        if let Ok(archive) = Archive::from_source(source.clone(), &options) {
            assert_eq!(
                archive.version().map(|v| v.number).ok(),
                Some(number),
                "the version that was asked for"
            );
            let _ = restored(&archive);
        }
    }
    let before = restored(&newest);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("a.nc3z");
    std::fs::write(&path, bytes).expect("a file in it");
    let Ok(mut edit) = nc3z_writer::edit::Edit::open(&path, &WriterOptions::default()) else { return };
    let digest = bytes.len().is_multiple_of(2);
    edit = edit.with_digest(digest);
    let _ = edit.set_attribute(None, "fuzz", NcType::Short, &[1, 2]);
    if let Some(variable) = newest.header().variables.first()
        && let Ok(name) = String::from_utf8(variable.name.clone())
        && let Ok(shape) = edit.shape_of(&name)
        && !shape.contains(&0)
    {
        let slab = nc3z_format::Hyperslab {
            start: vec![0; shape.len()],
            count: vec![1; shape.len()],
            stride: vec![1; shape.len()],
        };
        let _ = edit.set(&name, &slab, &vec![7; variable.ty.size()]);
    }
    let Ok(done) = edit.commit(&nc3z_writer::CommitNote::default(), &()) else {
        drop(edit);
        // A failed commit has not changed the committed versions.
        let again = Archive::open(&path).expect("it opened before");
        if before.is_some() {
            assert!(restored(&again) == before, "a commit that failed leaves what was");
        }
        return;
    };
    drop(edit);
    let after = Archive::open(&path).expect("what was committed opens");
    assert_eq!(after.version().expect("it has been written").number, done.version);
    if digest && !done.is_unchanged() {
        assert!(restored(&after).is_some(), "what was proven restores");
    }
    if let (Some(before), Some(&number)) = (before, known.first()) {
        let options = OpenOptions::default().with_version(VersionName::Number(number));
        let source: nc3z_reader::source::SharedSource =
            Arc::new(MemorySource::new(std::fs::read(&path).expect("it is there")));
        let old = Archive::from_source(source, &options).expect("the version before is still there");
        assert!(restored(&old) == Some(before), "the version before is what it was");
    }
}
