//! `nc3z verify`: sound, corrupt, and compared with an original.

use crate::run::Dir;
use crate::sample;
use serde_json::json;

#[test]
fn sound_archive_is_said_to_be_so() {
    let dir = Dir::with(&[("a.nc", &sample::small())]);
    dir.nc3z(&["archive", "a.nc"]).exits(0);
    let ran = dir.nc3z(&["verify", "a.nc.nc3z", "--against", "a.nc"]).exits(0);
    assert!(ran.text().starts_with("a.nc.nc3z: sound, "), "{}", ran.text());
    let json = dir.nc3z(&["verify", "--json", "a.nc.nc3z"]).exits(0).json();
    assert_eq!(json[0]["sound"], json!(true));
    assert_eq!(json[0]["findings"], json!([]));
}

#[test]
fn damage_exits_with_3_and_names_the_variable() {
    let dir = Dir::with(&[("a.nc", &sample::noisy(100_000))]);
    dir.nc3z(&["archive", "a.nc"]).exits(0);
    let mut bytes = dir.read("a.nc.nc3z");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    dir.write("bad.nc3z", &bytes);
    let json = dir.nc3z(&["verify", "--json", "bad.nc3z", "a.nc.nc3z"]).exits(3).json();
    assert_eq!((&json[0]["sound"], &json[1]["sound"]), (&json!(false), &json!(true)));
    assert_eq!(json[0]["findings"][0]["variable"], json!("noise"));
}

#[test]
fn other_original_is_a_failure() {
    let mut other = sample::small();
    let dir = Dir::with(&[("a.nc", &other)]);
    dir.nc3z(&["archive", "a.nc"]).exits(0);
    *other.last_mut().unwrap() ^= 1;
    dir.write("b.nc", &other);
    let at = format!("differs at byte {}", other.len() - 1);
    dir.nc3z(&["verify", "a.nc.nc3z", "--against", "b.nc"]).exits(1).says(&at);
}
