//! `nc3z info --layout`: every byte has a row, and damage too.

use crate::run::{Dir, assert_snapshot, keys};
use crate::sample;
use serde_json::{Value, json};
use std::process::Stdio;

/// Makes a directory with `a.nc3z`, in tiles of 20000 bytes: enough for several index pages.
fn archived() -> Dir {
    let dir = Dir::with(&[("a.nc", &sample::noisy(800_000))]);
    dir.nc3z(&["archive", "a.nc", "--tile-size", "20000", "-o", "a.nc3z"]).exits(0);
    dir
}

fn number(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap()
}

/// Checks that the regions are consecutive, and returns them.
fn regions(layout: &Value) -> Vec<Value> {
    let regions = layout["regions"].as_array().unwrap().clone();
    let mut at = 0;
    for region in &regions {
        assert_eq!(number(region, "offset"), at, "{region}");
        assert!(number(region, "align") < 8);
        at += number(region, "length") + number(region, "align");
    }
    // For a short form, the layout is that of the corresponding long form.
    assert_eq!(at, number(layout, "long_bytes"));
    regions
}

fn of_kind<'a>(regions: &'a [Value], kind: &str) -> Vec<&'a Value> {
    regions.iter().filter(|r| r["kind"] == json!(kind)).collect()
}

#[test]
fn classic_file_is_laid_out_as_recorded() {
    let dir = Dir::with(&[("a.nc", &sample::small())]);
    assert_snapshot("layout-classic.txt", &dir.nc3z(&["info", "--layout", "a.nc"]).exits(0).text());
    let ran = dir.nc3z(&["info", "--layout", "--json", "a.nc"]).exits(0);
    assert_snapshot("layout-classic.json", &ran.text());
    let layout = ran.json();
    let segments = layout["original"]["segments"].as_array().unwrap();
    let covered: u64 = segments.iter().map(|s| number(s, "length")).sum();
    assert_eq!(covered, sample::small().len() as u64);
}

#[test]
fn every_byte_of_an_archive_has_a_row() {
    let dir = archived();
    let layout = dir.nc3z(&["info", "--layout", "--json", "a.nc3z"]).exits(0).json();
    let regions = regions(&layout);
    let kinds = ["superblock", "head copy", "section table", "trailer"];
    assert!(kinds.iter().all(|kind| of_kind(&regions, kind).len() == 1));
    assert!(of_kind(&regions, "unknown").is_empty() && of_kind(&regions, "torn tail").is_empty());
    let blocks = of_kind(&regions, "block");
    let tiles: Vec<_> = blocks.iter().filter(|b| b["block"] == json!("tile")).collect();
    assert_eq!(tiles.len(), 40);
    assert!(
        tiles.iter().all(
            |b| b["variable"] == json!("noise") && number(b, "length") == number(b, "stored_length") + 44
        )
    );
    // Two arrays of 40 tiles, each with one leaf.
    let pages = of_kind(&regions, "index page");
    let facts: Vec<_> =
        pages.iter().map(|p| (&p["variable"], number(p, "level"), number(p, "count"))).collect();
    assert_eq!(facts, [(&json!("noise"), 0, 40), (&json!("zero"), 0, 40)]);
    let text = dir.nc3z(&["info", "--layout", "a.nc3z"]).exits(0).text();
    for words in
        ["superblock", "tile 39 of noise", "index page of zero", "section: metadata", "in all", "original, "]
    {
        assert!(text.contains(words), "no `{words}` in:\n{text}");
    }
    assert_eq!(dir.nc3z(&["info", "--layout", "--mmap", "a.nc3z"]).exits(0).text(), text);
}

#[test]
fn members_of_a_container_are_listed() {
    let dir = Dir::with(&[("a.nc", &sample::small())]);
    dir.nc3z(&["archive", "a.nc", "-o", "a.nc3z"]).exits(0);
    let regions = regions(&dir.nc3z(&["info", "--layout", "--json", "a.nc3z"]).exits(0).json());
    let members: Vec<&Value> =
        regions.iter().flat_map(|r| r["members"].as_array().into_iter().flatten()).collect();
    let tas = members.iter().find(|m| m["variable"] == json!("tas") && m["array"] == json!("variable"));
    assert_eq!(tas.map(|m| number(m, "tile")), Some(0));
    assert!(members.iter().all(|m| number(m, "start") > 4));
    let text = dir.nc3z(&["info", "--layout", "a.nc3z"]).exits(0).text();
    assert!(text.contains("  tile 0 of tas, "), "{text}");
}

#[test]
fn keys_of_the_json_are_stable() {
    let dir = archived();
    dir.write("b.nc", &sample::small());
    dir.nc3z(&["archive", "b.nc", "-o", "b.nc3z"]).exits(0);
    let mut layout = dir.nc3z(&["info", "--layout", "--json", "a.nc3z"]).exits(0).json();
    let small = dir.nc3z(&["info", "--layout", "--json", "b.nc3z"]).exits(0).json();
    layout["original"] = small["original"].clone();
    layout["regions"].as_array_mut().unwrap().extend(small["regions"].as_array().unwrap().clone());
    let keys = keys(&layout).lines().filter(|l| !l.starts_with(".chains[]")).collect::<Vec<_>>().join("\n");
    assert_snapshot("layout-archive-keys.txt", &(keys + "\n"));
}

#[test]
fn damaged_block_is_unknown_and_the_walk_goes_on() {
    let dir = archived();
    let sound = regions(&dir.nc3z(&["info", "--layout", "--json", "a.nc3z"]).exits(0).json());
    let third = of_kind(&sound, "block")[2].clone();
    let mut bytes = dir.read("a.nc3z");
    bytes[usize::try_from(number(&third, "offset")).unwrap() + 9] ^= 1;
    dir.write("bad.nc3z", &bytes);
    let found = regions(&dir.nc3z(&["info", "--layout", "--json", "bad.nc3z"]).exits(0).json());
    let [unknown] = of_kind(&found, "unknown")[..] else { panic!("one block was damaged") };
    assert_eq!(unknown["offset"], third["offset"]);
    assert_eq!(found.len(), sound.len());
}

#[test]
fn bytes_behind_the_trailer_are_a_torn_tail() {
    let dir = archived();
    let mut bytes = dir.read("a.nc3z");
    let len = bytes.len() as u64;
    bytes.extend([0xB1; 100]);
    dir.write("torn.nc3z", &bytes);
    let found = regions(&dir.nc3z(&["info", "--layout", "--json", "torn.nc3z"]).exits(0).json());
    let [tail] = of_kind(&found, "torn tail")[..] else { panic!("one tail") };
    assert_eq!((number(tail, "offset"), number(tail, "length")), (len, 100));
}

#[test]
fn closed_pipe_is_no_error() {
    let dir = Dir::with(&[("many.nc", &sample::many(20_000))]);
    for options in [&[][..], &["--layout"]] {
        for json in [false, true] {
            let json = if json { &["--json", "many.nc"][..] } else { &["many.nc"] };
            let args = [&["info"][..], options, json].concat();
            let mut child = dir.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            drop(child.stdout.take());
            let ended = child.wait_with_output().unwrap();
            assert_eq!((ended.status.code(), &*ended.stderr), (Some(0), &b""[..]), "{args:?}");
        }
    }
}

/// Returns the classic files of the project's test data, if they exist.
fn test_data() -> Vec<std::path::PathBuf> {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/classic");
    let mut files: Vec<_> = std::fs::read_dir(dir).into_iter().flatten().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn test_data_is_archived_described_and_laid_out() {
    for path in test_data() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let dir = Dir::with(&[(name, &bytes)]);
        if name.starts_with("bad_") {
            dir.nc3z(&["archive", name, "-o", "a.nc3z"]).exits(1).says(&format!("{name}: th"));
            assert_eq!(dir.files(), [name]);
            continue;
        }
        dir.nc3z(&["archive", name, "-o", "a.nc3z"]).exits(0);
        let layout = dir.nc3z(&["info", "--layout", "--json", "a.nc3z"]).exits(0).json();
        assert!(of_kind(&regions(&layout), "unknown").is_empty(), "{name}");
        let mut at = 0;
        for segment in layout["original"]["segments"].as_array().unwrap() {
            assert_eq!(number(segment, "offset"), at, "{name}");
            at += number(segment, "length");
        }
        assert_eq!(at, bytes.len() as u64, "{name}");
        let classic = dir.nc3z(&["info", "--layout", "--json", name]).exits(0).json();
        assert_eq!(classic["original"], layout["original"], "{name}");
        let info = dir.nc3z(&["info", "--json", "a.nc3z"]).exits(0).json();
        let expected = info["payload_bytes"].as_u64().unwrap() + info["overhead_bytes"].as_u64().unwrap();
        // A short form has no blocks: sizes are those of the corresponding long form.
        if info["form"] == json!("long") {
            assert_eq!(expected, number(&info, "archive_bytes"), "{name}");
        }
        let of_classic = dir.nc3z(&["info", "--json", name]).exits(0).json();
        for key in ["dimensions", "warnings", "numrecs", "numrecs_field", "global_attributes", "format"] {
            assert_eq!(of_classic[key], info[key], "{name}: {key}");
        }
        dir.nc3z(&["info", "a.nc3z"]).exits(0);
        dir.nc3z(&["info", "--layout", "a.nc3z"]).exits(0);
        assert_eq!(dir.nc3z(&["restore", "a.nc3z", "-o", "-"]).exits(0).out, bytes, "{name}");
    }
}
