//! `nc3z info`: facts, escapes, stable keys.

use crate::run::{Dir, assert_snapshot, keys};
use crate::sample;
use serde_json::{Value, json};

fn sum(rows: &Value, key: &str) -> u64 {
    rows.as_array().unwrap().iter().map(|row| row[key].as_u64().unwrap()).sum()
}

#[test]
fn classic_file_is_described_as_recorded() {
    let dir = Dir::with(&[("a.nc", &sample::small())]);
    assert_snapshot("info-classic.txt", &dir.nc3z(&["info", "a.nc"]).exits(0).text());
    let ran = dir.nc3z(&["info", "--json", "a.nc"]).exits(0);
    ran.json();
    assert_snapshot("info-classic.json", &ran.text());
    assert_eq!(ran.out, dir.nc3z(&["info", "--json", "--mmap", "a.nc"]).exits(0).out);
}

#[test]
fn archive_says_what_its_original_is_and_what_it_costs() {
    let dir = Dir::with(&[("a.nc", &sample::noisy(100_000))]);
    dir.nc3z(&["archive", "a.nc", "--tile-size", "32KiB"]).exits(0);
    let info = dir.nc3z(&["info", "--json", "a.nc.nc3z"]).exits(0).json();
    let archive_len = dir.read("a.nc.nc3z").len();
    assert_eq!(info["kind"], json!("archive"));
    assert_eq!(info["format"], json!("CDF-1"));
    assert_eq!(info["archive_bytes"], json!(archive_len));
    assert_eq!(info["original_bytes"], json!(sample::noisy(100_000).len()));
    assert_eq!(info["commits"], json!(1));
    assert_eq!(info["sha256"].as_str().map(str::len), Some(64));
    let [noise, zero] = &info["variables"].as_array().unwrap()[..] else { panic!("two variables") };
    assert_eq!(noise["shape"], json!([100_000]));
    assert_eq!(noise["tiles"]["total"], json!(4));
    assert!(noise["stored_bytes"].as_u64().unwrap() > 90_000);
    let used = noise["chains"].as_array().unwrap().iter().map(|c| c["tiles"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(used, 4);
    assert_eq!((&zero["stored_bytes"], &zero["tiles"]["constant"]), (&json!(0), &json!(4)));
    assert_eq!((&zero["ratio"], &zero["chains"]), (&Value::Null, &json!([])));
    let payload = info["payload_bytes"].as_u64().unwrap();
    assert_eq!(payload + info["overhead_bytes"].as_u64().unwrap(), archive_len as u64);
    let residue = &info["residue"];
    let stored = sum(&info["variables"], "stored_bytes")
        + residue["gap"]["stored_bytes"].as_u64().unwrap()
        + residue["padding"]["stored_bytes"].as_u64().unwrap();
    assert_eq!(stored, payload);
}

#[test]
fn packed_tiles_are_charged_their_share() {
    let dir = Dir::with(&[("a.nc", &sample::small())]);
    dir.nc3z(&["archive", "a.nc"]).exits(0);
    let info = dir.nc3z(&["info", "--json", "a.nc.nc3z"]).exits(0).json();
    let layout = dir.nc3z(&["info", "--layout", "--json", "a.nc.nc3z"]).exits(0).json();
    let blocks = layout["regions"].as_array().unwrap().iter().filter(|r| r["block"] == json!("container"));
    let containers: u64 = blocks.map(|b| b["stored_length"].as_u64().unwrap()).sum();
    let payload = info["payload_bytes"].as_u64().unwrap();
    assert!(payload > 0 && payload <= containers + 5, "{payload} of {containers}");
    assert!(dir.nc3z(&["info", "a.nc.nc3z"]).exits(0).text().contains("charged its share"));
}

#[test]
fn keys_of_the_json_are_stable() {
    let dir = Dir::with(&[("a.nc", &sample::noisy(20_000)), ("b.nc", &sample::small())]);
    dir.nc3z(&["archive", "a.nc", "b.nc"]).exits(0);
    let [a, b] = ["a.nc.nc3z", "b.nc.nc3z"].map(|f| dir.nc3z(&["info", "--json", f]).exits(0).json());
    // The chosen chains may change: keys of their stages are left out.
    let both =
        keys(&json!([a, b])).lines().filter(|l| !l.contains("stages[]")).collect::<Vec<_>>().join("\n");
    assert_snapshot("info-archive-keys.txt", &(both + "\n"));
}

#[test]
fn text_of_an_archive_has_its_facts() {
    let dir = Dir::with(&[("a.nc", &sample::small())]);
    dir.nc3z(&["archive", "a.nc"]).exits(0);
    let text = dir.nc3z(&["info", "a.nc.nc3z"]).exits(0).text();
    let expected = [
        "a.nc.nc3z: nc3z archive of CDF-1",
        "SHA-256",
        "preset=default",
        "commits",
        "record dimension",
        "3 dimensions",
        "4 variables",
        "time=3 x=4",
        "form               short",
        "padding bytes",
    ];
    for words in expected {
        assert!(text.contains(words), "no `{words}` in:\n{text}");
    }
}

#[test]
fn names_cannot_steer_the_terminal() {
    let dir = Dir::with(&[("a.nc", &sample::named(b"ta\x1b[31ms\n"))]);
    dir.nc3z(&["archive", "a.nc"]).exits(0);
    for args in [
        &["info", "a.nc"][..],
        &["info", "a.nc.nc3z"],
        &["info", "--layout", "a.nc"],
        &["info", "--layout", "a.nc.nc3z"],
    ] {
        let ran = dir.nc3z(args).exits(0);
        assert!(!ran.out.contains(&0x1b) && ran.text().contains("ta\\u{1b}[31ms\\u{a}"), "{args:?}");
    }
    let json = dir.nc3z(&["info", "--json", "a.nc"]).exits(0).json();
    assert_eq!(json["variables"][3]["name"], json!("ta\\u{1b}[31ms\\u{a}"));
}

#[test]
fn oddities_of_the_classic_file_are_warnings() {
    let mut bytes = sample::small();
    bytes.truncate(bytes.len() - 6);
    let dir = Dir::with(&[("a.nc", &bytes)]);
    let text = dir.nc3z(&["info", "a.nc"]).exits(0).text();
    assert!(text.contains("variable `tas`: the file holds 10 of 12 elements"), "{text}");
    let json = dir.nc3z(&["info", "--json", "a.nc"]).exits(0).json();
    assert_eq!(json["warnings"][0]["variable"], json!(3));
    assert_eq!(json["warnings"][0]["serious"], json!(true));
}

#[test]
fn torn_tail_is_told() {
    let dir = Dir::with(&[("a.nc", &sample::small())]);
    dir.nc3z(&["archive", "a.nc"]).exits(0);
    let mut bytes = dir.read("a.nc.nc3z");
    bytes.extend([1; 40]);
    dir.write("torn.nc3z", &bytes);
    let json = dir.nc3z(&["info", "--json", "torn.nc3z"]).exits(0).json();
    assert_eq!(json["torn_tail_bytes"], json!(40));
    assert!(dir.nc3z(&["info", "torn.nc3z"]).exits(0).text().contains("torn tail"));
}

#[test]
fn errors_name_the_file_once() {
    let dir = Dir::with(&[("greeting", b"hello, I am no netCDF file"), ("a.nc", &sample::small())]);
    dir.nc3z(&["archive", "a.nc"]).exits(0);
    let mut bytes = dir.read("a.nc.nc3z");
    bytes[20] ^= 1;
    dir.write("bad.nc3z", &bytes);
    for (args, code) in [
        (&["info", "greeting"][..], 1),
        (&["info", "none"], 1),
        (&["info", "bad.nc3z"], 3),
        (&["info", "--layout", "bad.nc3z"], 3),
    ] {
        let ran = dir.nc3z(args);
        // The text after the semicolon is the advice, which repeats the name.
        let what = ran.err.split("; `").next().unwrap();
        assert_eq!(what.matches(args[args.len() - 1]).count(), 1, "{}", ran.err);
        let ran = ran.exits(code);
        assert!(ran.out.is_empty() && ran.err.lines().count() == 1, "{}", ran.err);
    }
}

#[test]
fn damage_is_reported_or_harmless_but_never_a_panic() {
    let dir = Dir::with(&[("a.nc", &sample::small())]);
    dir.nc3z(&["archive", "a.nc"]).exits(0);
    let check = |bytes: &[u8], what: String| {
        dir.write("bad", bytes);
        for args in [&["info", "bad"][..], &["info", "--layout", "bad"]] {
            let ran = dir.nc3z(args);
            assert!(matches!(ran.code, Some(0 | 1 | 3)), "{what}: {ran:?}");
            assert_eq!(ran.code == Some(0), ran.err.is_empty(), "{what}: {ran:?}");
        }
    };
    for name in ["a.nc", "a.nc.nc3z"] {
        let whole = dir.read(name);
        for at in (0..whole.len()).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            check(&bytes, format!("{name}, byte {at}"));
        }
        for len in (0..whole.len()).step_by(23) {
            check(&whole[..len], format!("{name}, {len} bytes"));
        }
    }
}
