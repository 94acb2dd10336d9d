//! Points that the text of NCA-0.1 leaves open. Each test shows how this crate reads one point, in the order
//! of the study.
//!
//! A master array `v(y, x)` of 2 x 3 elements, `10 * y + x`, unless a test says otherwise; sub-arrays are variables of the same file.

#![expect(clippy::unwrap_used, reason = "tests")]

use nc3z_collections::{
    Error, NewFile, NewVariable, Notes, OpenFragment, Options, Result, as_aggregation, attribute,
    text_attribute, wrap,
};
use nc3z_format::NcType;
use nc3z_format::classic::Attribute;
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_reader::{Dataset, OpenOptions};
use std::sync::Arc;

/// The master's elements in its own order.
const TRUTH: [f64; 6] = [0.0, 1.0, 2.0, 10.0, 11.0, 12.0];
/// One partition that holds all of it.
const WHOLE: &str = r#""index": [], "location": [[0, 2], [0, 3]]"#;
/// The sub-array `a`, with its shape.
const DATA: &str = r#""data": {"shape": [2, 3], "ncvar": "a"}"#;

fn bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_be_bytes()).collect()
}

/// An aggregation before it is written.
struct Case {
    file: NewFile,
    /// A file `other.nc` in the same directory.
    other: Option<NewFile>,
}

impl Case {
    /// Makes a case with the master `v(y, x)`.
    fn new() -> Self {
        let dimensions = vec![("y".to_owned(), 2), ("x".to_owned(), 3)];
        Case { file: NewFile { dimensions, ..NewFile::default() }, other: None }
    }

    /// Makes a case with the sub-array `a`, which is all of the master.
    fn whole() -> Self {
        Self::new().sub("a", &[2, 3], &TRUTH)
    }

    /// Adds a sub-array of doubles.
    fn sub(mut self, name: &str, shape: &[u64], values: &[f64]) -> Self {
        let variable = double(&mut self.file, name, shape, values);
        self.file.variables.push(variable);
        self
    }

    /// Gives the last variable an attribute of text.
    fn text(mut self, name: &str, text: &str) -> Self {
        self.file.variables.last_mut().unwrap().attributes.push(text_attribute(name, text));
        self
    }

    fn number(mut self, name: &str, ty: NcType, value: &[u8]) -> Self {
        self.file.variables.last_mut().unwrap().attributes.push(attribute(name, ty, value));
        self
    }

    /// Moves the sub-array `a` into a file of its own.
    fn other(mut self) -> Self {
        self.other = Some(file_of_a());
        self
    }

    /// Opens the file with this description of the master array.
    fn open(self, array: &str) -> Result<Dataset> {
        self.open_with("y x", &[text_attribute("units", "K")], array, &Options::default())
    }

    fn open_with(
        mut self,
        dimensions: &str,
        attributes: &[Attribute],
        array: &str,
        options: &Options,
    ) -> Result<Dataset> {
        self.file.variables.push(master(dimensions, attributes, array));
        let own = self.file.to_bytes()?;
        let beside = self.other.map(|file| file.to_bytes()).transpose()?;
        let mut options = options.clone();
        options.opener = Some(Arc::new(Beside(beside)));
        let source: SharedSource = Arc::new(MemorySource::new(own));
        wrap(Dataset::from_source(source, &OpenOptions::default())?, "agg.nc", None, &options)
    }

    /// Returns the master's elements.
    fn values(self, array: &str) -> Vec<f64> {
        read(&self.open(array).unwrap()).unwrap()
    }

    /// Returns the error of opening or reading.
    fn error(self, array: &str) -> String {
        self.open(array).and_then(|d| read(&d)).unwrap_err().to_string()
    }
}

fn double(file: &mut NewFile, name: &str, shape: &[u64], values: &[f64]) -> NewVariable {
    let each = shape.iter().enumerate();
    let dimensions = each.map(|(n, len)| file.dimension(&format!("{name}_{n}"), *len)).collect();
    let values = bytes(values);
    NewVariable { name: name.into(), ty: NcType::Double, dimensions, attributes: vec![], values }
}

fn file_of_a() -> NewFile {
    let mut file = NewFile::default();
    let variable = double(&mut file, "a", &[2, 3], &TRUTH);
    file.variables.push(variable);
    file
}

fn master(dimensions: &str, attributes: &[Attribute], array: &str) -> NewVariable {
    let mut attributes = attributes.to_vec();
    attributes.push(text_attribute("nca_dimensions", dimensions));
    attributes.push(text_attribute("nca_array", array));
    let values = NcType::Double.default_fill().to_vec();
    NewVariable { name: "v".into(), ty: NcType::Double, dimensions: vec![], attributes, values }
}

fn read(dataset: &Dataset) -> Result<Vec<f64>> {
    let v = dataset.variable("v")?;
    Ok(v.read(&v.all())?)
}

/// The other file in the directory of the aggregation.
struct Beside(Option<Vec<u8>>);

impl OpenFragment for Beside {
    fn open_fragment(&self, uri: &str) -> Result<Option<SharedSource>> {
        assert_eq!(uri, "other.nc");
        Ok(self.0.clone().map(|bytes| -> SharedSource { Arc::new(MemorySource::new(bytes)) }))
    }
}

/// Describes a master array of one partition with these keys.
fn one(keys: &str) -> String {
    format!(r#"{{"pdimensions": [], "pshape": [], "Partitions": [{{{keys}}}]}}"#)
}

#[test]
fn ambiguity_01_location_is_in_the_masters_order_and_half_open() {
    let case = || Case::new().sub("a", &[1, 3], &TRUTH[..3]).sub("b", &[1, 3], &TRUTH[3..]);
    let array = |second: &str| {
        format!(
            r#"{{"pdimensions": ["y"], "pshape": [2], "Partitions": [
            {{"index": [0], "location": [[0, 1], [0, 3]], "data": {{"shape": [1, 3], "ncvar": "a"}}}},
            {{"index": [1], "location": {second}, "data": {{"shape": [1, 3], "ncvar": "b"}}}}]}}"#
        )
    };
    assert_eq!(case().values(&array("[[1, 2], [0, 3]]")), TRUTH);
    // The other order of dimensions; ends that are included; an overlap; a gap; an index outside.
    let wrong =
        ["[[0, 3], [1, 2]]", "[[1, 1], [0, 2]]", "[[0, 2], [0, 3]]", "[[1, 2], [0, 2]]", "[[1, 3], [0, 3]]"];
    for wrong in wrong {
        let e = case().error(&array(wrong));
        assert!(e.contains("location") || e.contains("overlap") || e.contains("of its row"), "{wrong}: {e}");
    }
}

#[test]
fn ambiguity_02_index_and_pshape_are_in_the_order_of_pdimensions() {
    // Partitioned along x and y, named in that order: 3 x 2 partitions of one element, stored column by column.
    let places = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)];
    let partitions: Vec<String> = places
        .into_iter()
        .enumerate()
        .map(|(n, (x, y))| {
            format!(
                r#"{{"index": [{x}, {y}], "location": [[{y}, {}], [{x}, {}]], "part": "[({n}, {}, 1)]",
                "dimensions": ["x"], "data": {{"shape": [6], "ncvar": "a"}}}}"#,
                y + 1,
                x + 1,
                n + 1
            )
        })
        .collect();
    let partitions = partitions.join(", ");
    let case = || Case::new().sub("a", &[6], &[0.0, 10.0, 1.0, 11.0, 2.0, 12.0]);
    let array = |pshape: &str| {
        format!(r#"{{"pdimensions": ["x", "y"], "pshape": {pshape}, "Partitions": [{partitions}]}}"#)
    };
    assert_eq!(case().values(&array("[3, 2]")), TRUTH);
    assert!(case().error(&array("[2, 3]")).contains("index"));
    // A dimension that is not partitioned: see the test before.
}

#[test]
fn ambiguity_03_part_indexes_the_sub_array_as_stored_before_it_is_turned() {
    // Stored as (x, y) with x reversed, and with one extra row of y at the beginning.
    let stored = [-1.0, 2.0, 12.0, -1.0, 1.0, 11.0, -1.0, 0.0, 10.0];
    let keys = format!(
        r#"{WHOLE}, "dimensions": ["x", "y"], "directions": {{"x": false, "y": true}}, "part": "[(0, 3, 1), (1, 3, 1)]",
        "data": {{"shape": [3, 3], "ncvar": "a"}}"#
    );
    assert_eq!(Case::new().sub("a", &[3, 3], &stored).values(&one(&keys)), TRUTH);
    // The part is applied first: it takes the first two stored elements. Then they are reversed.
    let keys = r#""index": [], "location": [[0, 1], [0, 2]], "directions": {"x": false}, "part": "[(0, 1, 1), (0, 2, 1)]",
        "data": {"shape": [1, 3], "ncvar": "a"}"#;
    let mut case = Case::new().sub("a", &[1, 3], &[7.0, 6.0, 5.0]);
    (case.file.dimensions[0].1, case.file.dimensions[1].1) = (1, 2);
    assert_eq!(case.values(&one(keys)), [6.0, 7.0]);
}

#[test]
fn ambiguity_04_dimensions_are_those_of_the_data_array_in_stored_order() {
    let keys =
        |dims: &str| format!(r#"{WHOLE}, "dimensions": {dims}, "data": {{"shape": [3, 2], "ncvar": "a"}}"#);
    let case = || Case::new().sub("a", &[3, 2], &[0.0, 10.0, 1.0, 11.0, 2.0, 12.0]);
    assert_eq!(case().values(&one(&keys(r#"["x", "y"]"#))), TRUTH);
    for (wrong, why) in [(r#"["y", "x"]"#, "length"), (r#"["x"]"#, "dimensions"), (r#"["x", "x"]"#, "twice")]
    {
        assert!(case().error(&one(&keys(wrong))).contains(why), "{wrong}");
    }
}

#[test]
fn ambiguity_05_a_direction_counts_where_it_differs_from_the_masters() {
    let turned = [10.0, 11.0, 12.0, 0.0, 1.0, 2.0];
    let array = |master: &str, own: &str| {
        format!(r#"{{"directions": {master}, "Partitions": [{{{WHOLE}, {own} {DATA}}}]}}"#)
    };
    let values =
        |stored: &[f64], master, own| Case::new().sub("a", &[2, 3], stored).values(&array(master, own));
    let down = r#"{"y": false, "x": true}"#;
    // Both have descending coordinates, whether or not that is stated: nothing is reversed.
    assert_eq!(values(&TRUTH, down, ""), TRUTH);
    assert_eq!(values(&TRUTH, down, r#""directions": {"y": false},"#), TRUTH);
    assert_eq!(values(&turned, down, r#""directions": {"y": true},"#), TRUTH);
    assert_eq!(
        values(&turned, r#"{"y": true, "x": true}"#, r#""directions": {"y": false, "x": true},"#),
        TRUTH
    );
    // An extra dimension of one element: its direction may be stated, or left out.
    for own in [r#""directions": {"z": false},"#, ""] {
        let array =
            array(down, &format!(r#""dimensions": ["z", "y", "x"], {own}"#)).replace("[2, 3]", "[1, 2, 3]");
        assert_eq!(Case::new().sub("a", &[1, 2, 3], &TRUTH).values(&array), TRUTH);
    }
}

#[test]
fn ambiguity_06_a_missing_dimension_of_one_element_is_seen_by_the_rank() {
    let mut case = Case::new().sub("a", &[3], &TRUTH[..3]);
    case.file.dimensions[0].1 = 1;
    let keys = r#""index": [], "location": [[0, 1], [0, 3]], "data": {"shape": [3], "ncvar": "a"}"#;
    assert_eq!(case.values(&one(keys)), TRUTH[..3]);
    // If there are more dimensions than the master's, they must be named. A dimension that is missing or
    // extra must have one element.
    let keys = format!(r#"{WHOLE}, "data": {{"shape": [1, 2, 3], "ncvar": "a"}}"#);
    assert!(Case::new().sub("a", &[1, 2, 3], &TRUTH).error(&one(&keys)).contains("does not name them"));
    let keys = format!(r#"{WHOLE}, "dimensions": ["x"], "data": {{"shape": [3], "ncvar": "a"}}"#);
    assert!(Case::new().sub("a", &[3], &TRUTH[..3]).error(&one(&keys)).contains("length 1 along `y`"));
    let keys =
        format!(r#"{WHOLE}, "dimensions": ["z", "y", "x"], "data": {{"shape": [2, 2, 3], "ncvar": "a"}}"#);
    let twice = [TRUTH, TRUTH].concat();
    assert!(Case::new().sub("a", &[2, 2, 3], &twice).error(&one(&keys)).contains("not 1"));
}

/// Returns the elements that a part selects from `0 1 2 3 4 5 6 7`, or the error.
fn taken(part: &str, count: u64) -> std::result::Result<Vec<f64>, String> {
    let mut case = Case::new().sub("a", &[8], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    case.file.dimensions[1].1 = count;
    let keys = format!(
        r#""index": [], "location": [[0, {count}]], "part": {part}, "data": {{"shape": [8], "ncvar": "a"}}"#
    );
    let opened = case.open_with("x", &[], &one(&keys), &Options::default());
    opened.and_then(|d| read(&d)).map_err(|e| e.to_string())
}

#[test]
fn ambiguity_07_lists_of_one_element_negative_steps_and_what_is_refused() {
    assert_eq!(taken(r#""[[3]]""#, 1), Ok(vec![3.0]));
    assert_eq!(taken(r#""[(4, 1, -2)]""#, 2), Ok(vec![4.0, 2.0]));
    // The index before the first, not counted from the end as in Python.
    assert_eq!(taken(r#""[(2, -1, -1)]""#, 3), Ok(vec![2.0, 1.0, 0.0]));
    for wrong in ["[[]]", "[[-1]]", "[(-3, 8, 1)]", "[(0, -1, 1)]", "[(3, 3, 1)]", "[(0, 2, 0)]"] {
        assert!(taken(&format!("\"{wrong}\""), 1).is_err(), "{wrong}");
    }
}

#[test]
fn ambiguity_08_a_list_in_square_brackets_may_be_of_any_length() {
    assert_eq!(taken(r#""[[1, 3, 4, 7]]""#, 4), Ok(vec![1.0, 3.0, 4.0, 7.0]));
    assert_eq!(taken(r#""[[7, 0, 0, 5, 2]]""#, 5), Ok(vec![7.0, 0.0, 0.0, 5.0, 2.0]));
}

#[test]
fn ambiguity_09_a_stop_past_the_end_is_an_error_and_not_cut() {
    assert_eq!(taken(r#""[(6, 8, 1)]""#, 2), Ok(vec![6.0, 7.0]));
    // By Python's rule this would also select 6 and 7.
    assert!(taken(r#""[(6, 12, 1)]""#, 2).is_err());
    assert!(taken(r#""[(6, 9, 1)]""#, 3).unwrap_err().contains("is outside"));
    assert!(taken(r#""[[8]]""#, 1).unwrap_err().contains("is outside"));
}

#[test]
fn ambiguity_10_a_scalar_master_has_a_boolean_direction_and_empty_lists() {
    for location in [r#""index": [], "location": [],"#, ""] {
        let array = format!(
            r#"{{"directions": true, "pdimensions": [], "pshape": [], "Partitions": [
            {{{location} "directions": false, "data": {{"shape": [], "ncvar": "a"}}}}]}}"#
        );
        let case = Case::new().sub("a", &[], &[42.0]);
        assert_eq!(read(&case.open_with("", &[], &array, &Options::default()).unwrap()).unwrap(), [42.0]);
    }
}

#[test]
fn ambiguity_11_without_pdimensions_and_pshape_there_is_one_partition() {
    assert_eq!(Case::whole().values(&format!(r#"{{"Partitions": [{{{DATA}}}]}}"#)), TRUTH);
    let two = Case::whole().error(&format!(r#"{{"Partitions": [{{{DATA}}}, {{{DATA}}}]}}"#));
    assert!(two.contains("2 partitions"), "{two}");
    assert!(Case::whole().error(r#"{"Partitions": []}"#).contains("0 partitions"));
}

#[test]
fn ambiguity_12_units_of_a_partition_are_the_partitions_else_the_masters() {
    let stored: Vec<f64> = TRUTH.iter().map(|x| x - 273.15).collect();
    let near = |found: &[f64]| found.iter().zip(TRUTH).all(|(a, b)| (a - b).abs() < 1e-9);
    let case = || Case::new().sub("a", &[2, 3], &stored);
    let celsius = one(&format!(r#"{WHOLE}, "units": "degC", {DATA}"#));
    assert!(near(&case().values(&celsius)));
    // The variable in the file may give the same units in another spelling, but not other units.
    assert!(near(&case().text("units", "degree_Celsius").values(&celsius)));
    let e = case().text("units", "degF").error(&celsius);
    assert!(e.contains("`degF`") && e.contains("`degC`"), "{e}");
    // If the partition gives no units, the master's apply, as the text says. Other units of the variable are
    // noted.
    let notes = Notes::default();
    let mut options = Options::default();
    options.notes = notes.clone();
    let kelvin = [text_attribute("units", "K")];
    let none = one(&format!("{WHOLE}, {DATA}"));
    let open = |case: Case| read(&case.open_with("y x", &kelvin, &none, &options).unwrap()).unwrap();
    assert_eq!(open(case()), stored);
    assert_eq!(open(case().text("units", "kelvin")), stored);
    assert_eq!(notes.take(), Vec::<String>::new());
    assert_eq!(open(case().text("units", "degC")), stored);
    let told = notes.take();
    assert!(told.len() == 1 && told[0].contains("`degC`") && told[0].contains("`K`"), "{told:?}");
}

#[test]
fn ambiguity_13_netcdf_is_unpacked_by_the_attributes_of_its_own_variable() {
    // The packing in `data` is for other formats.
    let data = DATA.replace("\"ncvar\"", "\"scale_factor\": 1000, \"add_offset\": 5, \"ncvar\"");
    let packed: Vec<f64> = TRUTH.iter().map(|x| (x - 1.0) / 0.5).collect();
    let case = Case::new()
        .sub("a", &[2, 3], &packed)
        .number("scale_factor", NcType::Double, &0.5_f64.to_be_bytes())
        .number("add_offset", NcType::Double, &1.0_f64.to_be_bytes());
    assert_eq!(case.values(&one(&format!("{WHOLE}, {data}"))), TRUTH);
}

#[test]
fn ambiguity_14_a_relative_file_lies_beside_the_aggregation() {
    let array = one(&format!("{WHOLE}, {}", DATA.replace("\"ncvar\"", "\"file\": \"other.nc\", \"ncvar\"")));
    assert_eq!(Case::new().other().values(&array), TRUTH);
    // On disk, a name is relative to the directory of the aggregation, not to the current directory.
    let place = tempfile::tempdir().unwrap();
    let mut file = Case::new().file;
    file.variables.push(master("y x", &[], &array));
    std::fs::write(place.path().join("agg.nc"), file.to_bytes().unwrap()).unwrap();
    std::fs::write(place.path().join("other.nc"), file_of_a().to_bytes().unwrap()).unwrap();
    let opened = nc3z_collections::open(&place.path().join("agg.nc"), &Options::default()).unwrap();
    assert_eq!(read(&opened).unwrap(), TRUTH);
}

#[test]
fn ambiguity_15_a_shape_is_required_and_must_be_the_files() {
    let keys = |shape: &str| format!("{WHOLE}, {}", DATA.replace("\"shape\": [2, 3],", shape));
    assert!(Case::whole().error(&one(&keys(""))).contains("no `shape`"));
    let e = Case::whole().error(&one(&keys("\"shape\": [2, 4],")));
    assert!(e.contains("[2, 3]") && e.contains("[2, 4]"), "{e}");
}

#[test]
fn ambiguity_16_a_dtype_is_for_information() {
    for dtype in ["double", "float", "NC_SHORT", "float64", "<f8", "nonsense"] {
        let data = DATA.replace("\"ncvar\"", &format!("\"dtype\": \"{dtype}\", \"ncvar\""));
        assert_eq!(Case::whole().values(&one(&format!("{WHOLE}, {data}"))), TRUTH, "{dtype}");
    }
}

#[test]
fn ambiguity_17_what_is_nearly_json_is_read() {
    for array in [
        // Single quotes, constants of Python, tuples; commas for colons, and one too many.
        "{'directions': {'y': True, 'x': True}, 'pdimensions': [], 'pshape': (), 'Partitions': \
         [{'index': [], 'location': [(0, 2), (0, 3)], 'data': {'shape': (2, 3), 'ncvar': 'a', 'file': None}}]}",
        "{'directions': {'y', true, 'x', true}, 'Partitions': [{'data': {'shape': [2, 3], 'ncvar': 'a'}, }]}",
        "{\"Partitions\": [{\"data\": {\"shape\": [2, 3], \"ncvar\": a}}]}",
    ] {
        assert_eq!(Case::whole().values(array), TRUTH, "{array}");
    }
    for wrong in ["", "{", "[1, 2]", "{\"Partitions\": 5}", "{'Partitions': [{'data': 'a'}]} and more"] {
        assert!(Case::whole().open(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn ambiguity_18_private_variables_are_hidden_and_read_by_name() {
    let names = |flag: u8| -> Vec<String> {
        let case = Case::whole().number("nca_private", NcType::Byte, &[flag]);
        let dataset = case.open(&one(&format!("{WHOLE}, {DATA}"))).unwrap();
        assert_eq!(read(&dataset).unwrap(), TRUTH);
        // The file itself still has the variable of this name.
        let own = as_aggregation(&dataset).unwrap().fragments().own();
        assert_eq!(own.variable("a").unwrap().shape(), [2, 3]);
        dataset.variables().map(|v| v.name().into_owned()).collect()
    };
    assert_eq!(names(1), ["v"]);
    assert_eq!(names(2), ["v"]);
    assert_eq!(names(0), ["a", "v"]);
}

#[test]
fn ambiguity_19_a_part_is_text_of_half_open_ranges_or_a_list_of_lists() {
    assert_eq!(taken(r#""[(2, 6, 2)]""#, 2), Ok(vec![2.0, 4.0]));
    assert_eq!(taken(r#""[(2, 4)]""#, 2), Ok(vec![2.0, 3.0]));
    assert_eq!(taken("[[2, 4]]", 2), Ok(vec![2.0, 4.0]));
    assert!(taken("5", 1).is_err() && taken(r#""(2, 6, 2)""#, 2).is_err());
}

#[test]
fn ambiguity_20_other_formats_than_netcdf_are_refused_by_name() {
    let keys =
        |key: &str| one(&format!("{WHOLE}, {}", DATA.replace("\"ncvar\"", &format!("{key}, \"ncvar\""))));
    let refused =
        [("\"format\": \"PP\"", "PP"), ("\"file_offset\": 1024", "file_offset"), ("\"lbpack\": 1", "lbpack")];
    for (key, why) in refused {
        let e = Case::whole().error(&keys(key));
        assert!(e.contains(why), "{e}");
    }
    for known in ["netCDF", "nc", "NETCDF"] {
        assert_eq!(Case::whole().values(&keys(&format!("\"format\": \"{known}\""))), TRUTH);
    }
}

#[test]
fn ambiguity_21_a_calendar_that_is_not_given_is_the_masters() {
    let keys =
        |calendar: &str| one(&format!(r#"{WHOLE}, "units": "days since 2001-03-01", {calendar} {DATA}"#));
    let master = [text_attribute("units", "days since 2000-01-01"), text_attribute("calendar", "360_day")];
    let values = |calendar| {
        let opened = Case::whole().open_with("y x", &master, &keys(calendar), &Options::default());
        opened.and_then(|d| read(&d)).map_err(|e: Error| e.to_string())
    };
    // A year and two months of 30 days.
    let expected: Vec<f64> = TRUTH.iter().map(|x| x + 420.0).collect();
    assert_eq!(values(""), Ok(expected.clone()));
    assert_eq!(values(r#""calendar": "360_day","#), Ok(expected));
    assert!(values(r#""calendar": "noleap","#).is_err());
}
