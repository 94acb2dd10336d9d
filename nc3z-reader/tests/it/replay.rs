//! Inputs that once crashed a fuzz target, through the same code.

use crate::targets::{
    archive_open, block_decode, chain_text, classic_header, parity, roundtrip, short_form, verify_repair,
    versions,
};
use std::path::Path;

#[test]
fn inputs_that_crashed_once_do_not_crash_again() {
    type Target = fn(&[u8]);
    let targets: [(&str, Target); 9] = [
        ("classic_header", classic_header),
        ("archive_open", archive_open),
        ("block_decode", block_decode),
        ("roundtrip", roundtrip),
        ("verify_repair", verify_repair),
        ("parity", parity),
        ("versions", versions),
        ("short_form", short_form),
        ("chain_text", chain_text),
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/artifacts");
    for (name, target) in targets {
        let Ok(dir) = std::fs::read_dir(root.join(name)) else { continue };
        for file in dir {
            let path = file.unwrap().path();
            if path.file_name().is_some_and(|n| n == ".gitkeep") {
                continue;
            }
            println!("{}", path.display());
            target(&std::fs::read(path).unwrap());
        }
    }
}
