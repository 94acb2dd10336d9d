//! Parity of archives that are made from others, and removal of stale or damaged parity.

use crate::in_place::with_later_generation;
use crate::made::{SLOTS, archive, checked, repaired, source};
use nc3z_reader::verify::quick;
use nc3z_reader::{Archive, OpenOptions};
use nc3z_writer::{
    BlockRepairOptions, ParityChoice, ReplacePolicy, Share, WriterOptions, parity, recompress_file,
    repair_blocks,
};

fn share(text: &str) -> Share {
    Share::parse(text).unwrap()
}

fn sound(bytes: &[u8]) -> bool {
    quick(&source(bytes), &OpenOptions::default(), &()).unwrap().is_sound()
}

fn has_parity(bytes: &[u8]) -> bool {
    nc3z_reader::parity::check(&source(bytes), &()).unwrap().is_some()
}

#[test]
fn stale_parity_is_removed_by_a_generation_without_it() {
    let made = archive(400_000, Some("5%"));
    let longer = with_later_generation(&made.bytes);
    std::fs::write(&made.path, &longer).unwrap();
    let done = parity::remove(&made.path, &()).unwrap();
    let now = std::fs::read(&made.path).unwrap();
    assert_eq!((done.before, done.after), (longer.len() as u64, now.len() as u64));
    assert!(done.left > 20_000, "{done:?}");
    // The old content is unchanged, with its history; the parity no longer belongs to the archive.
    let behind = SLOTS + 48;
    assert!(now[behind..].starts_with(&longer[behind..]) && sound(&now) && !has_parity(&now));
    let opened = Archive::open(&made.path).unwrap();
    assert_eq!((opened.trailer().generation, opened.trailer().optional & 1), (4, 0));
    let report = quick(&source(&now), &OpenOptions::default(), &()).unwrap();
    assert!(report.parity.is_none() && report.generations == 4);
    assert!(parity::remove(&made.path, &()).unwrap_err().to_string().contains("no parity"));
    // Nothing is removed from a file that was cut short. The commit slots show that something is lost.
    for len in longer.len()..now.len() {
        let cut = source(&now[..len]);
        assert!(Archive::from_source(cut.clone(), &OpenOptions::default()).is_err());
        let opened = Archive::from_source(cut, &OpenOptions::default().with_older(true)).unwrap();
        assert_eq!(opened.trailer().generation, 3);
    }
    // New parity covers the whole archive.
    parity::add(&made.path, share("5%"), 1 << 28, &()).unwrap();
    let again = std::fs::read(&made.path).unwrap();
    let mut bad = again.clone();
    bad[..4096].fill(0);
    assert!(checked(&again).is_intact() && repaired(&bad).unwrap() == again);
}

#[test]
fn damaged_parity_is_removed_and_other_damage_keeps_it() {
    let (plain, made) = (archive(400_000, None), archive(400_000, Some("5%")));
    let layout = checked(&made.bytes).layout;
    let at = |n: u64| usize::try_from(n).unwrap();
    let (begin, end) = (at(layout.params.begin), at(layout.params.end));
    // A piece of the region, all of it, all and the trailer, and an interrupted addition.
    let mut bad = vec![made.bytes.clone(), made.bytes.clone(), made.bytes.clone()];
    bad[0][begin + 100..begin + 9_000].fill(7);
    bad[1][begin..end].fill(0);
    bad[2][begin + 20_000..begin + 30_000].fill(7);
    let len = bad[2].len();
    bad[2][len - 128..].fill(0);
    bad.push(made.bytes[..end - 10].to_vec());
    for (case, bytes) in bad.iter().enumerate() {
        std::fs::write(&made.path, bytes).unwrap();
        let done = parity::remove(&made.path, &()).unwrap_or_else(|e| panic!("case {case}: {e}"));
        assert_eq!((done.before, done.after), (bytes.len() as u64, plain.bytes.len() as u64), "case {case}");
        assert!(std::fs::read(&made.path).unwrap() == plain.bytes, "case {case}");
    }
    // Parity that could repair damage is kept: of a tile, or of the trailer before the parity.
    for place in [5_000, plain.bytes.len() - 60] {
        let mut bad = made.bytes.clone();
        bad[place] ^= 1;
        std::fs::write(&made.path, &bad).unwrap();
        let e = parity::remove(&made.path, &()).unwrap_err();
        assert!(e.is_corrupt() && e.to_string().contains("nc3z repair"), "{e}");
        assert!(std::fs::read(&made.path).unwrap() == bad);
    }
}

#[test]
fn recompressed_archives_have_parity_of_the_share_they_had() {
    for (len, text) in [(3_000_000, "3%"), (3_000_000, "0.5%"), (60_000, "5%"), (2_000, "5%")] {
        let made = archive(len, Some(text));
        let recompress = |choice: ParityChoice| {
            std::fs::write(&made.path, &made.bytes).unwrap();
            let terms = ReplacePolicy { parity: choice, ..ReplacePolicy::default() };
            let options = WriterOptions::default().with_tile_len(100_000);
            let done = recompress_file(&made.path, None, &options, terms, &()).unwrap();
            let bytes = std::fs::read(&made.path).unwrap();
            assert!(sound(&bytes) && done.written && done.dropped.is_empty(), "{done:?}");
            assert_eq!(done.stored_len, bytes.len() as u64);
            assert_eq!(done.parity_before, Some(share(text)), "{len}");
            (done, bytes)
        };
        let (done, bytes) = recompress(ParityChoice::Keep);
        assert_eq!(done.parity, Some(share(text)));
        assert!(checked(&bytes).is_intact());
        let mut bad = bytes.clone();
        bad[..64].fill(0);
        assert!(repaired(&bad).unwrap() == bytes, "{len}");
        let (done, without) = recompress(ParityChoice::Without);
        assert!(done.parity.is_none() && !has_parity(&without) && without.len() < bytes.len());
        // The result equals that of adding parity afterwards.
        parity::add(&made.path, share(text), 1 << 28, &()).unwrap();
        assert!(std::fs::read(&made.path).unwrap() == bytes);
        let (done, more) = recompress(ParityChoice::Share(share("20%")));
        assert_eq!(done.parity, Some(share("20%")));
        assert!(has_parity(&more) && more.len() >= bytes.len());
    }
    // Without parity before, there is none afterwards, unless it is requested.
    let made = archive(50_000, None);
    let done = recompress_file(&made.path, None, &<_>::default(), ReplacePolicy::default(), &()).unwrap();
    assert_eq!((done.parity_before, done.parity), (None, None));
}

#[test]
fn parity_whose_packets_are_all_lost_is_still_carried_over_and_stale_parity_too() {
    let made = archive(2_000_000, Some("7%"));
    let layout = checked(&made.bytes).layout;
    let mut bad = made.bytes.clone();
    let at = |n: u64| usize::try_from(n).unwrap();
    bad[at(layout.params.begin)..at(layout.params.end)].fill(0);
    std::fs::write(&made.path, &bad).unwrap();
    let done = recompress_file(&made.path, None, &<_>::default(), ReplacePolicy::default(), &()).unwrap();
    assert_eq!((done.parity_before, done.parity), (Some(share("7%")), Some(share("7%"))));
    assert!(checked(&std::fs::read(&made.path).unwrap()).is_intact());
    // Parity before another generation is stale, and removing it drops history.
    std::fs::write(&made.path, with_later_generation(&made.bytes)).unwrap();
    assert!(recompress_file(&made.path, None, &<_>::default(), ReplacePolicy::default(), &()).is_err());
    let terms = ReplacePolicy { drop_history: true, ..ReplacePolicy::default() };
    let done = recompress_file(&made.path, None, &<_>::default(), terms, &()).unwrap();
    assert_eq!((done.parity_before, done.parity), (Some(share("7%")), Some(share("7%"))));
    let report = checked(&std::fs::read(&made.path).unwrap());
    assert!(report.is_intact() && report.uncovered == 0);
}

#[test]
fn repaired_archives_have_parity_of_the_share_they_had() {
    let made = archive(5_000_000, Some("2%"));
    let layout = checked(&made.bytes).layout;
    let output = made.directory.path().join("good.nc3z");
    let region = usize::try_from(layout.params.begin).unwrap();
    // More damage than parity can repair: with the trailer, and without it, when only its packets show the parity.
    let mut bad = made.bytes.clone();
    bad[100_000..1_400_000].fill(0);
    let mut cut = bad.clone();
    cut.truncate(made.bytes.len() - 300);
    let mut gone = bad.clone();
    gone.truncate(region);
    for (bad, kept) in [(&bad, true), (&cut, true), (&gone, false)] {
        for choice in [ParityChoice::Keep, ParityChoice::Without, ParityChoice::Share(share("9%"))] {
            std::fs::write(&made.path, bad).unwrap();
            let options = BlockRepairOptions { force: true, parity: choice, ..BlockRepairOptions::default() };
            let done = repair_blocks(&made.path, &output, &options, &()).unwrap();
            let bytes = std::fs::read(&output).unwrap();
            assert!(done.lost_tiles > 0 && sound(&bytes));
            assert_eq!(done.stored_len, bytes.len() as u64);
            let before = kept.then(|| share("2%"));
            assert_eq!((done.parity_before, done.parity), (before, choice.share(before)));
            assert_eq!(has_parity(&bytes), done.parity.is_some());
            if done.parity.is_some() {
                let mut worse = bytes.clone();
                worse[..4096].fill(0);
                assert!(repaired(&worse).unwrap() == bytes);
            }
        }
    }
}
