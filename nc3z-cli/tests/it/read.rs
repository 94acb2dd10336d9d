//! `nc3z read` and `nc3z read --explain`: their output and their errors.

use crate::run::Dir;
use crate::sample;
use serde_json::json;

/// The small sample, `x(x) = 1..4`, `flag(time) = 0..2`, `tas(time, x) = 270 + time + x / 4`, and its archive.
fn both() -> Dir {
    let dir = Dir::with(&[("a.nc", &sample::small())]);
    dir.nc3z(&["archive", "a.nc", "--tile-size", "16"]).exits(0);
    dir
}

#[test]
fn formats_of_archives_and_classic_files() {
    let dir = both();
    for file in ["a.nc", "a.nc.nc3z"] {
        let read = |args: &[&str]| dir.nc3z(&[&["read", file], args].concat()).exits(0);
        assert_eq!(
            read(&["tas"]).text(),
            "270.0 270.25 270.5 270.75\n271.0 271.25 271.5 271.75\n272.0 272.25 272.5 272.75\n"
        );
        assert_eq!(read(&["tas", "-d", "time,-1", "-d", "x,2.0,3.0"]).text(), "272.25 272.5\n");
        assert_eq!(read(&["tas", "-d", "x,3,0", "-d", "time,,,-2"]).text(), "272.75 272.0\n270.75 270.0\n");
        assert_eq!(
            read(&["tas", "--start", "2,3", "--count", "2,2", "--stride", "-2,-1"]).text(),
            "272.75 272.5\n270.75 270.5\n"
        );
        assert_eq!(read(&["tas", "--stride", "2,-3"]).text(), "270.75 270.0\n272.75 272.0\n");
        assert_eq!(
            read(&["tas", "-d", "time,1", "-d", "x,,1", "--format", "csv"]).text(),
            "time,x,tas\n1,1,271.0\n1,2,271.25\n"
        );
        let found = read(&["tas", "-d", "time,0,1", "-d", "x,0", "--format", "json"]).json();
        assert_eq!(
            found,
            json!({"variable": "tas", "type": "float", "dimensions": ["time", "x"], "shape": [2, 1],
                   "data": [[270.0], [271.0]]})
        );
        assert_eq!(read(&["flag", "--format", "raw"]).out, [0, 0, 0, 1, 0, 2]);
        let npy = read(&["flag", "--format", "npy"]).out;
        assert!(npy.starts_with(b"\x93NUMPY\x01\0") && npy.ends_with(b"\n\0\0\x01\0\x02\0"), "{npy:?}");
        assert_eq!(read(&["tas", "--count", "0,4"]).text(), "");
        assert_eq!(read(&["tas", "--count", "2,0", "--format", "json"]).json()["data"], json!([[], []]));
    }
}

#[test]
fn output_files_appear_whole_and_are_not_overwritten() {
    let dir = both();
    dir.nc3z(&["read", "a.nc.nc3z", "flag", "--format", "raw", "-o", "new/flag", "--parents"]).exits(0);
    assert_eq!(dir.read("new/flag"), [0, 0, 0, 1, 0, 2]);
    dir.nc3z(&["read", "a.nc", "tas", "-o", "new/flag"]).exits(1).says("exists");
    dir.nc3z(&["read", "a.nc", "x", "-o", "new/flag", "--force"]).exits(0);
    assert_eq!(dir.read("new/flag"), b"1 2 3 4\n");
    dir.nc3z(&["read", "a.nc", "x", "-o", "a.nc", "--force"]).exits(1).says("same file");
    let before = dir.files();
    dir.nc3z(&["read", "a.nc", "x", "-d", "x,4", "-o", "none"]).exits(1);
    assert_eq!(dir.files(), before);
}

#[test]
fn what_lies_outside_is_refused_by_name() {
    let dir = both();
    for file in ["a.nc", "a.nc.nc3z"] {
        let refused: [(&[&str], i32, &str); 13] = [
            (&["nope"], 1, "no variable \"nope\"; there are x, b, flag, tas"),
            (&["tas", "-d", "time,3"], 1, "dimension `time` has length 3, asked for index 3"),
            (&["tas", "-d", "x,-5"], 1, "dimension `x` has length 4, asked for index -5"),
            (&["tas", "-d", "y,0"], 1, "variable `tas` has no dimension `y`; it has time, x"),
            (&["tas", "-d", "x,0", "-d", "x,1"], 1, "dimension `x` is given twice"),
            (&["tas", "-d", "x,9.0"], 1, "dimension `x` goes from 1.0 to 4.0, asked for 9.0"),
            (&["tas", "-d", "x,2.1,2.9"], 1, "no value is in 2.1 to 2.9; values go from 1.0 to 4.0"),
            (&["tas", "-d", "time,0.0"], 1, "dimension `time` has no coordinate variable"),
            (
                &["tas", "--start", "0"],
                1,
                "--start has 1 numbers, variable `tas` has 2 dimensions (time=3 x=4)",
            ),
            (
                &["tas", "--count", "3,5"],
                1,
                "dimension 1 (`x`) has length 4, asked for start 0, count 5, stride 1",
            ),
            (&["tas", "--start", "0,9"], 1, "has length 4, asked for start 9"),
            (&["tas", "-d", "x"], 2, "no range is given"),
            (&["tas", "-d", "x,1", "--start", "0,0"], 2, "cannot be used with"),
        ];
        for (args, code, words) in refused {
            for command in [&["read", file][..], &["read", "--explain", file]] {
                let ran = dir.nc3z(&[command, args].concat()).exits(code).says(words);
                assert!(ran.out.is_empty());
            }
        }
    }
}

#[test]
fn plan_tells_tiles_and_bytes() {
    let dir = both();
    let text =
        dir.nc3z(&["read", "--explain", "a.nc.nc3z", "tas", "-d", "x,1,2", "-d", "time,1,2"]).exits(0).text();
    for words in [
        "variable   float tas(time=3, x=4)",
        "selection  [1 x2, 1 x2]",
        "wanted     4 elements, 16 B",
        "tiles      2 of 3 (linear 4), 0 whole",
        "copies     2 runs",
        "cache      0 of 2 tiles there",
        "tile 1: 1 run",
        "  src 1.. -> dst 0.., 2 elements",
    ] {
        assert!(text.contains(words), "no `{words}` in:\n{text}");
    }
    let found = dir.nc3z(&["read", "--explain", "--json", "a.nc.nc3z", "tas", "-d", "x,3,0"]).exits(0).json();
    assert_eq!(found["tiles"], json!({"total": 3, "touched": 3, "whole": 0, "constant": 0, "references": 0}));
    assert_eq!((&found["bytes_wanted"], &found["runs"]), (&json!(24), &json!(6)));
    assert_eq!(found["hyperslabs"].as_array().map(Vec::len), Some(2));
    let classic = dir.nc3z(&["read", "--explain", "--json", "a.nc", "tas", "-d", "time,0"]).exits(0).json();
    assert_eq!((&classic["bytes_to_fetch"], &classic["bytes_to_decode"]), (&json!(16), &json!(0)));
    assert_eq!(classic["archived"], json!(false));
}

#[test]
fn damage_elsewhere_does_not_matter() {
    let dir = Dir::with(&[("a.nc", &sample::noisy(40_000))]);
    dir.nc3z(&["archive", "a.nc", "--tile-size", "10000"]).exits(0);
    let mut bytes = dir.read("a.nc.nc3z");
    let noise = sample::noise(40_000);
    let at = bytes.windows(16).position(|w| w == &noise[25_000..25_016]).expect("noise is stored as it is");
    bytes[at] ^= 1;
    dir.write("bad.nc3z", &bytes);
    let whole = dir
        .nc3z(&["read", "bad.nc3z", "noise", "--start", "0", "--count", "20000", "--format", "raw"])
        .exits(0);
    assert_eq!(whole.out, noise[..20_000]);
    dir.nc3z(&["read", "bad.nc3z", "noise", "--start", "25000", "--count", "1"]).exits(3).says("noise");
    dir.nc3z(&["read", "--explain", "bad.nc3z", "noise"]).exits(0);
}

#[test]
fn names_cannot_steer_the_terminal() {
    let dir = Dir::with(&[("a.nc", &sample::named(b"ta\x1b[31ms"))]);
    for args in [&["read", "a.nc", "nope"][..], &["read", "--explain", "a.nc", "nope"]] {
        let ran = dir.nc3z(args).exits(1);
        assert!(!ran.err.contains('\x1b'), "{}", ran.err);
    }
    let ran = dir.nc3z(&["read", "--explain", "a.nc", "ta\x1b[31ms"]).exits(0);
    assert!(!ran.out.contains(&0x1b));
}
