//! Files: parity added and removed, and repairs in place and to a new file.

use crate::made::{SLOTS, archive, checked, repaired, source};
use nc3z_format::archive::Trailer;
use nc3z_reader::{Archive, OpenOptions};
use nc3z_writer::{Share, parity};

fn share(text: &str) -> Share {
    Share::parse(text).unwrap()
}

#[test]
fn adding_later_and_at_once_give_the_same_bytes_and_removing_undoes_it() {
    for len in [0, 1_000, 50_000, 3_000_000] {
        let (plain, made) = (archive(len, None), archive(len, Some("3%")));
        // Adding parity converts the archive to the long form; removing parity keeps that form.
        let short = nc3z_format::archive::short::is_short(&plain.bytes);
        let (before, after) = parity::add(&plain.path, share("3%"), 1 << 28, &()).unwrap();
        let added = std::fs::read(&plain.path).unwrap();
        assert_eq!(after, added.len() as u64);
        if !short {
            assert_eq!(before, plain.bytes.len() as u64);
            assert!(added == made.bytes, "{len}");
        }
        let again = parity::add(&plain.path, share("5%"), 1 << 28, &()).unwrap_err();
        assert!(again.to_string().contains("already"), "{again}");
        let done = parity::remove(&plain.path, &()).unwrap();
        assert_eq!((done.before, done.after, done.left), (after, before, 0));
        let left = std::fs::read(&plain.path).unwrap();
        let behind = SLOTS + 48;
        assert!(
            if short { added[behind..].starts_with(&left[behind..]) } else { left == plain.bytes },
            "{len}"
        );
        assert!(parity::remove(&plain.path, &()).unwrap_err().to_string().contains("no parity"));
    }
}

#[test]
fn torn_addition_leaves_the_archive_and_can_be_done_again() {
    let (plain, made) = (archive(200_000, None), archive(200_000, Some("5%")));
    for cut in [plain.bytes.len() + 1, plain.bytes.len() + 5000, made.bytes.len() - 1, made.bytes.len() - 300]
    {
        // The slots name the parity only after it is complete.
        let mut torn = made.bytes[..cut].to_vec();
        torn[SLOTS..SLOTS + 48].copy_from_slice(&plain.bytes[SLOTS..SLOTS + 48]);
        std::fs::write(&plain.path, &torn).unwrap();
        let opened = nc3z_reader::Archive::open(&plain.path).unwrap();
        assert_eq!(opened.trailer_offset() + 128, plain.bytes.len() as u64);
        assert!(opened.torn_tail() > 0);
        parity::add(&plain.path, share("5%"), 1 << 28, &()).unwrap();
        assert!(std::fs::read(&plain.path).unwrap() == made.bytes, "cut at {cut}");
    }
}

/// Returns the archive followed by a generation that changes nothing.
pub(crate) fn with_later_generation(bytes: &[u8]) -> Vec<u8> {
    let archive = Archive::from_source(source(bytes), &OpenOptions::default()).unwrap();
    let (at, salt) = (bytes.len() as u64, archive.superblock().salt);
    let table = archive.sections().encode();
    let old = archive.trailer();
    let trailer = Trailer {
        generation: old.generation + 1,
        sections_offset: at,
        sections_len: u32::try_from(table.len()).unwrap(),
        sections_crc: salt.crc(at, &table),
        blocks_begin: at,
        blocks_end: at,
        previous: archive.trailer_offset(),
        archive_len: at + table.len() as u64 + 128,
        ..old.clone()
    };
    let mut out = [bytes, &table].concat();
    let end = out.len() as u64;
    out.extend(trailer.encode(&salt, end));
    let slots =
        nc3z_reader::slots_at(&*source(&out), out.len() as u64, archive.superblock()).unwrap().encode(&salt);
    out[SLOTS..SLOTS + slots.len()].copy_from_slice(&slots);
    out
}

#[test]
fn parity_behind_a_later_generation_is_stale_and_still_good() {
    let made = archive(400_000, Some("5%"));
    let longer = with_later_generation(&made.bytes);
    let report = checked(&longer);
    assert_eq!(report.uncovered, (longer.len() - made.bytes.len()) as u64);
    assert!(report.is_intact() && report.to_string().contains("stale"), "{report}");
    let mut bad = longer.clone();
    bad[1000] ^= 1;
    assert!(repaired(&bad).unwrap() == longer);
    // Parity can be added again; the newer one is then used, even if the beginning is lost.
    std::fs::write(&made.path, &longer).unwrap();
    parity::add(&made.path, share("5%"), 1 << 28, &()).unwrap();
    let both = std::fs::read(&made.path).unwrap();
    let report = checked(&both);
    assert_eq!((report.uncovered, report.layout.params.generation), (0, 4));
    let mut bad = both.clone();
    bad[..5000].fill(0);
    assert!(repaired(&bad).unwrap() == both);
    parity::remove(&made.path, &()).unwrap();
    assert!(std::fs::read(&made.path).unwrap() == longer);
}

#[test]
fn files_are_repaired_in_place_and_to_a_new_one() {
    let made = archive(700_000, Some("5%"));
    let mut bad = made.bytes.clone();
    bad[..9000].fill(0);
    bad[300_000..310_000].fill(7);
    bad.truncate(made.bytes.len() - 2000);
    std::fs::write(&made.path, &bad).unwrap();
    let output = made.directory.path().join("good.nc3z");
    let (report, done) =
        parity::repair_file(&made.path, &output, false, &(), &mut |_| Ok(true)).unwrap().unwrap();
    assert_eq!(done.shards, report.lost_shards.len() as u64);
    assert!(std::fs::read(&output).unwrap() == made.bytes);
    assert!(std::fs::read(&made.path).unwrap() == bad, "the input is never written");
    assert!(
        parity::repair_file(&made.path, &output, false, &(), &mut |_| Ok(true)).is_err(),
        "outputs are not replaced"
    );
    parity::repair_in_place(&made.path, &()).unwrap().unwrap();
    assert!(std::fs::read(&made.path).unwrap() == made.bytes);
    let (_, done) = parity::repair_in_place(&made.path, &()).unwrap().unwrap();
    assert_eq!(done.bytes, 0);
}

#[test]
fn too_much_damage_changes_nothing() {
    let made = archive(700_000, Some("1%"));
    let mut bad = made.bytes.clone();
    bad[100_000..300_000].fill(0);
    std::fs::write(&made.path, &bad).unwrap();
    let output = made.directory.path().join("good.nc3z");
    assert!(parity::repair_file(&made.path, &output, false, &(), &mut |_| Ok(true)).is_err());
    assert!(parity::repair_in_place(&made.path, &()).is_err());
    assert!(!output.exists() && std::fs::read(&made.path).unwrap() == bad);
    assert_eq!(std::fs::read_dir(made.directory.path()).unwrap().count(), 2);
}

#[test]
fn archive_without_parity_is_none() {
    let made = archive(7_000, None);
    assert!(parity::repair_in_place(&made.path, &()).unwrap().is_none());
    assert!(
        parity::repair_file(&made.path, &made.directory.path().join("b"), false, &(), &mut |_| Ok(true))
            .unwrap()
            .is_none()
    );
}
