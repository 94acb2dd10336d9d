//! `nc3z parity`, and its use by `verify` and `repair`.

use crate::run::Dir;
use crate::sample;
use serde_json::json;

fn archived() -> (Dir, Vec<u8>) {
    let dir = Dir::with(&[("a.nc", &sample::noisy(100_000))]);
    dir.nc3z(&["archive", "--parity", "5%", "a.nc"]).exits(0);
    let bytes = dir.read("a.nc.nc3z");
    (dir, bytes)
}

#[test]
fn parity_is_added_described_and_removed() {
    let (dir, with) = archived();
    dir.nc3z(&["archive", "a.nc", "-o", "b.nc3z"]).exits(0);
    let without = dir.read("b.nc3z");
    let info = dir.nc3z(&["parity", "info", "--json", "a.nc.nc3z", "b.nc3z"]).exits(0).json();
    assert_eq!((&info[0]["parity"], &info[1]["parity"]), (&json!(true), &json!(false)));
    assert_eq!(info[0]["covers"], json!(with.len()));
    assert_eq!(info[0]["stale_bytes"], json!(0));
    dir.nc3z(&["parity", "add", "--share", "5", "b.nc3z"]).exits(0);
    assert!(dir.read("b.nc3z") == with);
    dir.nc3z(&["parity", "add", "b.nc3z"]).exits(1).says("already");
    let text = dir.nc3z(&["parity", "info", "b.nc3z"]).exits(0).text();
    assert!(text.contains("can lose"), "{text}");
    dir.nc3z(&["parity", "remove", "b.nc3z"]).exits(0);
    assert!(dir.read("b.nc3z") == without);
    dir.nc3z(&["parity", "remove", "b.nc3z"]).exits(1).says("no parity");
    dir.nc3z(&["parity", "info", "a.nc"]).exits(1).says("not an nc3z archive");
}

#[test]
fn damage_within_parity_is_said_and_repaired() {
    let (dir, good) = archived();
    let mut bad = good.clone();
    bad[..5000].fill(0);
    bad[60_000] ^= 4;
    dir.write("bad.nc3z", &bad);
    let report = dir.nc3z(&["verify", "--json", "bad.nc3z"]).exits(3).json();
    assert_eq!(report[0]["parity"]["state"], json!("repairable"));
    let text = dir.nc3z(&["verify", "bad.nc3z"]).exits(3).text();
    assert!(text.contains("damaged, repairable by parity (3 of "), "{text}");
    let done = dir.nc3z(&["repair", "--json", "bad.nc3z", "-o", "good.nc3z"]).exits(0).json();
    assert_eq!((&done["by"], &done["repaired_shards"]), (&json!("parity"), &json!(3)));
    assert!(dir.read("good.nc3z") == good && dir.read("bad.nc3z") == bad);
    dir.nc3z(&["repair", "bad.nc3z", "-o", "good.nc3z"]).exits(1).says("exists");
    dir.nc3z(&["repair", "--in-place", "bad.nc3z"]).exits(0);
    assert!(dir.read("bad.nc3z") == good);
    let text = dir.nc3z(&["verify", "bad.nc3z"]).exits(0).text();
    assert!(text.contains("parity intact"), "{text}");
}

#[test]
fn damaged_parity_is_damage() {
    let (dir, good) = archived();
    let info = dir.nc3z(&["parity", "info", "--json", "a.nc.nc3z"]).exits(0).json();
    let at = usize::try_from(info[0]["region_offset"].as_u64().unwrap()).unwrap();
    let mut bad = good.clone();
    bad[at + 100] ^= 1;
    dir.write("bad.nc3z", &bad);
    let report = dir.nc3z(&["verify", "--json", "bad.nc3z"]).exits(3).json();
    assert_eq!(report[0]["findings"][0]["structure"], json!("parity"));
    assert_eq!(report[0]["parity"]["lost_packets"], json!(1));
    dir.nc3z(&["repair", "--in-place", "bad.nc3z"]).exits(0);
    assert!(dir.read("bad.nc3z") == good);
}

#[test]
fn damage_beyond_parity_is_salvaged_or_left() {
    let (dir, good) = archived();
    let mut bad = good.clone();
    let half = bad.len() / 2;
    bad[20_000..half].fill(9);
    dir.write("bad.nc3z", &bad);
    let report = dir.nc3z(&["verify", "--json", "bad.nc3z"]).exits(3).json();
    assert_eq!(report[0]["parity"]["state"], json!("beyond repair"));
    dir.nc3z(&["repair", "--in-place", "bad.nc3z"]).exits(3).says("beyond its parity");
    assert!(dir.read("bad.nc3z") == bad);
    dir.nc3z(&["repair", "bad.nc3z", "-o", "rest.nc3z"]).exits(3).says("beyond its parity");
    dir.nc3z(&["verify", "rest.nc3z"]).exits(0);
    dir.nc3z(&["repair", "--no-parity", "bad.nc3z", "-o", "rest2.nc3z"]).exits(3);
    assert!(dir.read("rest.nc3z") == dir.read("rest2.nc3z"));
}

#[test]
fn parity_is_not_added_to_damage() {
    let (dir, _) = archived();
    dir.nc3z(&["parity", "remove", "a.nc.nc3z"]).exits(0);
    let mut bad = dir.read("a.nc.nc3z");
    bad[50_000] ^= 1;
    dir.write("bad.nc3z", &bad);
    dir.nc3z(&["parity", "add", "bad.nc3z"]).exits(3).says("sound, before parity is added");
    assert!(dir.read("bad.nc3z") == bad);
    dir.nc3z(&["repair", "--in-place", "bad.nc3z"]).exits(1).says("no parity");
}
