//! Small archives are stored in the short form, and are converted when a generation is appended.

use crate::classic::{Model, Var};
use nc3z_format::NcType;
use nc3z_format::archive::short::is_short;
use nc3z_format::classic::Version;
use nc3z_reader::verify::deep;
use nc3z_reader::{Archive, OpenOptions};
use nc3z_writer::{BlockRepairOptions, CommitNote, WriterOptions, archive_file, commit_file, repair_blocks};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn file(seed: u8) -> Vec<u8> {
    let vars = vec![Var::fixed(NcType::Int, &[40]), Var::record(NcType::Short, &[3])];
    let mut bytes = Model { fill: 3, tail: 5, ..Model::new(Version::Cdf1, 9, vars) }.build().bytes;
    let last = bytes.len() - 1;
    bytes[last] ^= seed;
    bytes
}

fn archived(dir: &TempDir, bytes: &[u8], options: &WriterOptions) -> PathBuf {
    let (input, output) = (dir.path().join("a.nc"), dir.path().join("a.nc3z"));
    std::fs::write(&input, bytes).unwrap();
    let done = archive_file(&input, &output, options, &()).unwrap();
    assert_eq!(done.stored_len, std::fs::metadata(&output).unwrap().len());
    output
}

fn restored(path: &Path, generation: Option<u64>) -> Vec<u8> {
    let source = nc3z_reader::source::open(path, false).unwrap();
    let mut options = OpenOptions::default();
    if let Some(generation) = generation {
        options = options.with_generation(generation);
    }
    let mut out = Vec::new();
    Archive::from_source(source, &options).unwrap().restore_to_stream(&mut out, &()).unwrap();
    out
}

fn is_sound(path: &Path) {
    let source = nc3z_reader::source::open(path, false).unwrap();
    let report = deep(&source, &OpenOptions::default(), &()).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
}

#[test]
fn small_archives_are_short_and_the_same_every_time() {
    let dir = TempDir::new().unwrap();
    let path = archived(&dir, &file(0), &WriterOptions::default());
    let bytes = std::fs::read(&path).unwrap();
    assert!(is_short(&bytes) && bytes.len() < 500, "{}", bytes.len());
    is_sound(&path);
    assert_eq!(restored(&path, None), file(0));
    let again = TempDir::new().unwrap();
    let options = WriterOptions::default().with_memory(1 << 20);
    assert_eq!(std::fs::read(archived(&again, &file(0), &options)).unwrap(), bytes);
}

#[test]
fn a_file_as_a_whole_is_one_as_long_as_nobody_asks_for_tiles() {
    let dir = TempDir::new().unwrap();
    let form = |options: &WriterOptions| {
        let path = archived(&dir, &file(0), &options.clone().with_force(true));
        is_sound(&path);
        assert_eq!(restored(&path, None), file(0));
        std::fs::read(&path).unwrap()[9]
    };
    let options = WriterOptions::default();
    assert_eq!(form(&options), 2);
    assert_eq!(form(&options.clone().with_preset(nc3z_writer::Preset::Fast)), 2);
    assert_eq!(form(&options.clone().with_tile_len(1 << 20)), 1);
    assert_eq!(form(&options.with_layout(nc3z_writer::TileChoice::Map)), 1);
}

#[test]
fn what_is_larger_or_has_parity_is_long() {
    let dir = TempDir::new().unwrap();
    let share = nc3z_writer::Share::parse("5%").unwrap();
    let path = archived(&dir, &file(0), &WriterOptions::default().with_parity(share));
    assert!(!is_short(&std::fs::read(&path).unwrap()));
    let dir = TempDir::new().unwrap();
    let noise = vec![Var::fixed(NcType::Char, &[34_000])];
    let large = Model { fill: 3, ..Model::new(Version::Cdf1, 0, noise) }.build().bytes;
    let path = archived(&dir, &large, &WriterOptions::default());
    assert!(!is_short(&std::fs::read(&path).unwrap()));
}

#[test]
fn a_generation_on_top_makes_it_long_and_both_states_stay() {
    let dir = TempDir::new().unwrap();
    let path = archived(&dir, &file(0), &WriterOptions::default());
    let edited = dir.path().join("edited.nc");
    std::fs::write(&edited, file(9)).unwrap();
    let link = dir.path().join("link.nc3z");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    commit_file(&link, &edited, &CommitNote::default(), &WriterOptions::default(), &()).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(!is_short(&std::fs::read(&path).unwrap()));
    is_sound(&path);
    assert_eq!((restored(&path, Some(1)), restored(&path, Some(2))), (file(0), file(9)));
}

#[test]
fn parity_makes_it_long_and_taking_none_away_changes_nothing() {
    let dir = TempDir::new().unwrap();
    let path = archived(&dir, &file(0), &WriterOptions::default());
    let before = std::fs::read(&path).unwrap();
    assert!(nc3z_writer::parity::remove(&path, &()).unwrap_err().to_string().contains("no parity"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    nc3z_writer::parity::add(&path, nc3z_writer::Share::parse("10%").unwrap(), 1 << 28, &()).unwrap();
    is_sound(&path);
    assert_eq!(restored(&path, None), file(0));
}

#[test]
fn a_repaired_short_archive_is_short_and_one_that_lost_tiles_is_long() {
    let dir = TempDir::new().unwrap();
    let path = archived(&dir, &file(0), &WriterOptions::default());
    let repaired = dir.path().join("repaired.nc3z");
    let done = repair_blocks(&path, &repaired, &BlockRepairOptions::default(), &()).unwrap();
    assert!(done.is_complete());
    let bytes = std::fs::read(&repaired).unwrap();
    assert!(is_short(&bytes));
    assert_eq!(done.stored_len, bytes.len() as u64);
    is_sound(&repaired);
    assert_eq!(restored(&repaired, None), file(0));

    let dir = TempDir::new().unwrap();
    let mut noise = vec![Var::fixed(NcType::Char, &[9_000])];
    // A second copy of this head would take too many bytes.
    noise.extend((0..30).map(|n| Var::fixed(NcType::Int, &[2 + n])));
    let large = Model { fill: 3, ..Model::new(Version::Cdf1, 0, noise) }.build().bytes;
    // If tiles are requested, the file is not packed as a whole.
    let path = archived(&dir, &large, &WriterOptions::default().with_tile_len(1 << 20));
    let mut bytes = std::fs::read(&path).unwrap();
    assert!(is_short(&bytes));
    let at = bytes.len() - 9;
    bytes[at] ^= 8;
    std::fs::write(&path, bytes).unwrap();
    let repaired = dir.path().join("repaired.nc3z");
    let done = repair_blocks(&path, &repaired, &BlockRepairOptions::default(), &()).unwrap();
    assert_eq!(done.lost_tiles, 1);
    assert!(!is_short(&std::fs::read(&repaired).unwrap()));
    is_sound(&repaired);
}
