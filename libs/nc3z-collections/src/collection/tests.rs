use super::{Group, Member, Scan, difference, groups, merged, names, without_records};
use crate::write::text_attribute;
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, DimId, Dimension, Header, NumRecs, VarId, Variable, Version, encode};
use std::sync::Arc;

/// The header of a file with a variable `name` along time and x.
fn header(name: &str, units: &str, x: u64) -> Header {
    let variable = |name: &str, dimensions: &[u32], attributes: Vec<Attribute>| Variable {
        name: name.into(),
        dimensions: dimensions.iter().map(|d| DimId(*d)).collect(),
        ty: NcType::Double,
        vsize: 8,
        begin: 0,
        attributes,
    };
    Header {
        version: Version::Cdf2,
        numrecs: NumRecs::Count(0),
        dimensions: vec![Dimension { name: b"time".into(), len: 0 }, Dimension { name: b"x".into(), len: x }],
        attributes: vec![],
        variables: vec![
            variable("time", &[0], vec![text_attribute("units", units)]),
            variable(name, &[0, 1], vec![text_attribute("units", "K")]),
        ],
    }
}

/// A file with these times.
fn file(scan: &Scan, path: &str, header: &Header, times: &[f64]) -> Arc<Member> {
    let bytes = encode(header).unwrap();
    let lengths = [times.len() as u64, header.dimensions[1].len];
    let values = |id: VarId| (id.index() == 0).then(|| times.iter().flat_map(|x| x.to_be_bytes()).collect());
    Arc::new(scan.described(&bytes, &lengths, values, path, path, b"token").unwrap())
}

fn paths(groups: &[Group]) -> Vec<Vec<&str>> {
    groups.iter().map(|group| group.files.iter().map(|file| file.path.as_str()).collect()).collect()
}

const DAYS: &str = "days since 2000-01-01";

#[test]
fn files_are_joined_in_the_order_of_their_times_whatever_these_count_from() {
    let scan = Scan::default();
    let (days, hours) = (header("v", DAYS, 2), header("v", "hours since 2000-01-03", 2));
    let files = vec![file(&scan, "b.nc", &hours, &[0.0, 24.0]), file(&scan, "a.nc", &days, &[0.0, 1.0])];
    let found = groups(&files, None);
    assert_eq!(paths(&found), [["a.nc", "b.nc"]]);
    assert_eq!(found[0].positions, [("time".to_owned(), vec![0, 1])]);
    assert_eq!(found[0].lengths(), [("time".to_owned(), vec![2, 2]), ("x".to_owned(), vec![2])]);
    let form = found[0].form("time").unwrap().unwrap();
    assert_eq!(form.ty, NcType::Int64);
    let times = found[0].coordinate("time", Some(form)).unwrap().unwrap();
    let days = times.as_chunks::<8>().0.iter().map(|x| i64::from_be_bytes(*x) / 86_400_000_000 - 10_957);
    assert_eq!(days.collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(found[0].form("v"), Ok(None));
}

#[test]
fn files_that_overlap_are_divided_by_spacing_then_by_name() {
    let scan = Scan::default();
    let header = header("v", DAYS, 2);
    let at = |path: &str, times: &[f64]| file(&scan, path, &header, times);
    let files = vec![
        at("day_1.nc", &[0.0, 1.0]),
        at("mon_1.nc", &[0.0, 30.0]),
        at("day_2.nc", &[2.0, 3.0]),
        at("mon_2.nc", &[60.0, 90.0]),
        at("model_1.nc", &[0.0, 1.0]),
    ];
    let found = groups(&files, None);
    assert_eq!(
        paths(&found),
        [vec!["day_1.nc", "day_2.nc"], vec!["model_1.nc"], vec!["mon_1.nc", "mon_2.nc"]]
    );
    assert!(difference(&found[0], &found[2]).contains("differ, overlap or leave a hole"));
}

#[test]
fn a_new_dimension_joins_files_in_the_order_given() {
    let scan = Scan::default();
    let header = header("v", DAYS, 2);
    let files = vec![file(&scan, "b.nc", &header, &[0.0]), file(&scan, "a.nc", &header, &[0.0])];
    let found = groups(&files, Some("run"));
    assert_eq!((paths(&found), found[0].stacked.as_deref()), (vec![vec!["b.nc", "a.nc"]], Some("run")));
    assert_eq!(found[0].lengths().last(), Some(&("run".to_owned(), vec![1, 1])));
}

#[test]
fn groups_with_equal_coordinates_become_one_dataset() {
    let scan = Scan::default();
    let all = [
        ("t/tas_1.nc", "tas", 0.0),
        ("t/tas_2.nc", "tas", 1.0),
        ("t/pr_1.nc", "pr", 0.0),
        ("t/pr_2.nc", "pr", 1.0),
        ("u/ua.nc", "ua", 5.0),
    ];
    let files: Vec<_> =
        all.iter().map(|(path, name, time)| file(&scan, path, &header(name, DAYS, 2), &[*time])).collect();
    let found = merged(groups(&files, None));
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(names(&found), ["t", "u"]);
    let flat: Vec<Vec<Group>> = found.iter().flatten().map(|group| vec![group.clone()]).collect();
    let mut known = names(&flat);
    known.sort();
    assert_eq!(known, ["t/pr", "t/tas", "u"]);
}

#[test]
fn files_without_records_are_left_out_unless_there_are_no_others() {
    let scan = Scan::default();
    let header = header("v", DAYS, 2);
    let (full, empty) = (file(&scan, "a.nc", &header, &[0.0]), file(&scan, "b.nc", &header, &[]));
    let left_out = without_records(&[full, Arc::clone(&empty)]);
    assert_eq!(left_out.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["b.nc"]);
    assert!(left_out[0].1.contains("the length of its dimension time is 0"));
    assert!(without_records(&[empty]).is_empty());
}
