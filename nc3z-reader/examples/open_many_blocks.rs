//! Measures the time to open an archive of 10^7 tiles.
//!
//! `cargo run --release --example open_many_blocks [TILES]` writes superblock, head copy, index pages, sections and trailer
//! of such an archive to a temporary file, without the blocks, which opening never reads; opens it; looks up one tile.

use nc3z_format::archive::{
    ArrayId, Digest, Head, IndexEntry, MINOR_VERSION, Metadata, PackEffort, PageTreeBuilder, Row,
    SUPERBLOCK_LEN, Salt, SectionEncoding, SectionEntry, SectionKind, SectionTable, Superblock, TRAILER_LEN,
    TileLayoutSpec, Trailer, VariableTable, align8,
};
use nc3z_format::classic::{DimId, Dimension, Header, NumRecs, Variable, Version, encode};
use nc3z_format::codec::ChainSpec;
use nc3z_format::{NcType, TileLayout};
use nc3z_reader::source;
use nc3z_reader::{Archive, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Elements of a tile.
const TILE: u64 = 1000;

fn header(tiles: u64) -> Result<(Vec<u8>, u64)> {
    let len = tiles * TILE;
    let variable = Variable {
        name: b"v".to_vec(),
        dimensions: vec![DimId(0)],
        attributes: vec![],
        ty: NcType::Float,
        vsize: len * 4,
        begin: 0,
    };
    let mut header = Header {
        version: Version::Cdf5,
        numrecs: NumRecs::Count(0),
        dimensions: vec![Dimension { name: b"d".to_vec(), len }],
        attributes: vec![],
        variables: vec![variable],
    };
    let begin = encode(&header)?.len() as u64;
    header.variables[0].begin = begin;
    Ok((encode(&header)?, begin + len * 4))
}

/// Writes the archive; gives its length.
fn write(path: &Path, tiles: u64) -> Result<u64> {
    let (header, original_len) = header(tiles)?;
    let salt = Salt::of_file(&header, original_len, &[0; 32]);
    let head = Head {
        header,
        chains: vec![ChainSpec::default()],
        layouts: vec![TileLayoutSpec::Linear(TILE)],
        padding_tile_lens: vec![],
        gap_tile_len: 1 << 20,
    };
    let (stored, decoded_len) = head.store(PackEffort::Full)?;
    let superblock = Superblock {
        minor: MINOR_VERSION,
        salt,
        original_len,
        head_stored_len: u32::try_from(stored.len())?,
        head_decoded_len: decoded_len,
        head_crc: crc32fast::hash(&stored),
        slots: nc3z_format::archive::CommitSlots::default(),
    };
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    let mut at = 0;
    let mut put = |at: &mut u64, bytes: &[u8]| -> Result {
        let padding = usize::try_from(align8(*at) - *at)?;
        out.write_all(&[0; 8][..padding])?;
        out.write_all(bytes)?;
        *at = align8(*at) + bytes.len() as u64;
        Ok(())
    };
    put(&mut at, &superblock.encode())?;
    put(&mut at, &stored)?;
    let pages = align8(at);
    let mut builder = PageTreeBuilder::new(ArrayId::variable(0), salt, pages);
    for tile in 0..tiles {
        let entry = IndexEntry::Stored { offset: 4096 + tile * 8, len: 1, chain: 0, check: 1 };
        builder.push(&entry, &mut |page: &[u8]| put(&mut at, page))?;
    }
    let root = builder.finish(&mut |page: &[u8]| put(&mut at, page))?;
    let pages_len = at - pages;
    let table =
        VariableTable::new(vec![Row { array: ArrayId::variable(0), tile_count: tiles, root }], vec![])
            .encode();
    let metadata = Metadata { writer: "open_many_blocks".to_owned(), ..Metadata::default() }.encode();
    let encoding =
        if stored.len() == decoded_len as usize { SectionEncoding::Raw } else { SectionEncoding::Zstd };
    let entry = |kind, encoding, crc, offset, len| SectionEntry { kind, encoding, crc, offset, len };
    let mut sections = vec![
        entry(SectionKind::IndexPages, SectionEncoding::SelfChecked, 0, pages, pages_len),
        entry(SectionKind::Head, encoding, superblock.head_crc, SUPERBLOCK_LEN as u64, stored.len() as u64),
    ];
    for (kind, bytes) in [(SectionKind::VariableTable, &table), (SectionKind::Metadata, &metadata)] {
        sections.push(entry(
            kind,
            SectionEncoding::Raw,
            crc32fast::hash(bytes),
            align8(at),
            bytes.len() as u64,
        ));
        put(&mut at, bytes)?;
    }
    let sections = SectionTable::new(sections).encode();
    let sections_offset = align8(at);
    put(&mut at, &sections)?;
    let offset = align8(at);
    let trailer = Trailer {
        generation: 1,
        salt,
        required: 0,
        optional: 0,
        sections_offset,
        sections_len: u32::try_from(sections.len())?,
        sections_crc: salt.crc(sections_offset, &sections),
        blocks_begin: pages,
        blocks_end: pages,
        previous: 0,
        archive_len: offset + TRAILER_LEN as u64,
        original_len,
        digest: Digest::None,
    };
    put(&mut at, &trailer.encode(&salt, offset))?;
    out.flush()?;
    Ok(at)
}

fn main() -> Result {
    let tiles = std::env::args().nth(1).map_or(Ok(10_000_000), |n| n.parse())?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("many.nc3z");
    let len = write(&path, tiles)?;
    println!("{tiles} tiles, {len} bytes of index, layout {:?}", TileLayout::linear(TILE));
    for (name, mapped) in [("map", true), ("file", false)] {
        for round in 1..=3 {
            let start = Instant::now();
            let archive = Archive::from_source(source::open(&path, mapped)?, &OpenOptions::default())?;
            let opened = start.elapsed();
            let start = Instant::now();
            let entry = archive.entry(ArrayId::variable(0), tiles * 2 / 3)?;
            println!("{name} {round}: open {opened:?}, one entry {:?} ({entry:?})", start.elapsed());
        }
    }
    Ok(())
}
