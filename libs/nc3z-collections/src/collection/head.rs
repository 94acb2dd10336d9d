//! A variable as its file's header describes it.

use nc3z_format::NcType;
use nc3z_format::classic::{Header, VarId, Variable};
use nc3z_format::decode_value::{Decoding, text, unit_of};
use nc3z_format::units::{Calendar, TimeUnit};
use std::collections::HashSet;

/// Attributes that decide whether variables of one name have the same meaning. Units of times may differ, calendars may not.
const MEANING: [&str; 4] = ["units", "standard_name", "cell_methods", "positive"];
/// Attributes that decide how stored values are read.
pub(super) const STORAGE: [&str; 7] =
    ["scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned", "dtype", "_Encoding"];

/// A variable of a file.
#[derive(Debug, Clone)]
pub struct Head {
    id: VarId,
    variable: Variable,
    /// Its name, which ends at a NUL as in the C library.
    name: String,
    /// The names of its dimensions.
    dimensions: Vec<String>,
    decoding: Decoding,
    /// The unit and the calendar of a time since a date. Bounds have those of the variable that names them.
    since: Option<(String, Option<String>)>,
    meaning: Vec<u8>,
    storage: Vec<u8>,
}

/// Maps names to those that the C library returns, which end at a NUL. Names are unchanged where two would become equal.
pub fn c_names(names: Vec<String>) -> Vec<String> {
    let cut: Vec<&str> = names.iter().map(|name| name.split('\0').next().unwrap_or_default()).collect();
    let distinct = cut.iter().collect::<HashSet<_>>().len();
    if distinct == cut.len() { cut.into_iter().map(str::to_owned).collect() } else { names }
}

/// Appends texts so that no two lists of texts give the same bytes.
fn append(key: &mut Vec<u8>, part: &[u8]) {
    key.extend_from_slice(&(part.len() as u64).to_le_bytes());
    key.extend_from_slice(part);
}

impl Head {
    /// Returns the variables of a file, and the names of all dimensions. Of two variables with the same name, the first.
    pub fn all(header: &Header) -> (Vec<Head>, Vec<String>) {
        let lossy = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let dimensions = c_names(header.dimensions.iter().map(|d| lossy(&d.name)).collect());
        let mut known = HashSet::new();
        let variables: Vec<(VarId, &Variable)> =
            header.variables().filter(|(_, v)| known.insert(lossy(&v.name))).collect();
        let names = c_names(variables.iter().map(|(_, v)| lossy(&v.name)).collect());
        let head = |((id, v), name): (&(VarId, &Variable), String)| {
            let own = v.dimensions.iter().filter_map(|d| dimensions.get(d.index()).cloned());
            Head::new(header, *id, v, name, own.collect())
        };
        (variables.iter().zip(names).map(head).collect(), dimensions)
    }

    /// Returns a variable of a header, for its values.
    pub fn from_variable(header: &Header, id: VarId, variable: &Variable) -> Self {
        Head::new(header, id, variable, variable.name_lossy().into_owned(), Vec::new())
    }

    fn new(header: &Header, id: VarId, variable: &Variable, name: String, dimensions: Vec<String>) -> Self {
        let mut head = Head {
            id,
            decoding: Decoding::declared(header, variable),
            variable: variable.clone(),
            name,
            dimensions,
            since: unit_of(header, variable),
            meaning: Vec::new(),
            storage: Vec::new(),
        };
        head.meaning = head.meaning_key();
        head.storage = head.storage_key();
        head
    }

    fn meaning_key(&self) -> Vec<u8> {
        let mut key = Vec::new();
        append(&mut key, self.name.as_bytes());
        // The last dimension of text, of its characters, may have another name and length in each file.
        let dimensions = &self.dimensions
            [..self.dimensions.len() - usize::from(self.is_text() && !self.dimensions.is_empty())];
        key.push(u8::from(self.is_text()));
        dimensions.iter().for_each(|d| append(&mut key, d.as_bytes()));
        if let Some((_, calendar)) = &self.since {
            append(&mut key, b"\0calendar");
            let known = Calendar::new(calendar.as_deref());
            let name =
                known.map_or_else(|| calendar.clone().unwrap_or_default(), |known| format!("{known:?}"));
            append(&mut key, name.as_bytes());
            return key;
        }
        for name in MEANING {
            if let Some(value) = self.words(name) {
                append(&mut key, format!("\0{name}").as_bytes());
                append(&mut key, value.as_bytes());
            }
        }
        key
    }

    fn storage_key(&self) -> Vec<u8> {
        let mut key = self.variable.ty.to_string().into_bytes();
        for name in STORAGE {
            if let Some(a) = self.variable.attribute(name.as_bytes()) {
                append(&mut key, name.as_bytes());
                append(&mut key, a.ty.to_string().as_bytes());
                append(&mut key, &a.values);
            }
        }
        if let Some((units, calendar)) = &self.since {
            append(&mut key, b"\0since");
            append(&mut key, units.as_bytes());
            append(&mut key, calendar.as_deref().unwrap_or_default().as_bytes());
        }
        key
    }

    /// The attribute of this name as words with single blanks. Numbers are shown.
    pub fn words(&self, name: &str) -> Option<String> {
        let a = self.variable.attribute(name.as_bytes())?;
        if a.ty != NcType::Char {
            return Some(format!("{} {:?}", a.ty, a.values));
        }
        let words = text(&self.variable, name.as_bytes()).unwrap_or_default();
        Some(words.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Its name, which ends at a NUL as in the C library.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its number in the header.
    pub(super) fn id(&self) -> VarId {
        self.id
    }

    /// The header of the variable.
    pub fn variable(&self) -> &Variable {
        &self.variable
    }

    /// The names of its dimensions.
    pub fn dimensions(&self) -> &[String] {
        &self.dimensions
    }

    /// A value that is equal for variables that can be joined.
    pub fn meaning(&self) -> &[u8] {
        &self.meaning
    }

    /// A value that is equal for variables whose stored values have the same type and meaning.
    pub fn storage(&self) -> &[u8] {
        &self.storage
    }

    /// Unit and calendar of a time since a date.
    pub fn since(&self) -> Option<(&str, Option<&str>)> {
        self.since.as_ref().map(|(units, calendar)| (units.as_str(), calendar.as_deref()))
    }

    /// Returns true for a coordinate variable, whose one dimension has its name.
    pub(super) fn is_coordinate(&self) -> bool {
        self.dimensions.len() == 1 && self.dimensions[0] == self.name
    }

    /// The attributes whose values distinguish variables of one name.
    pub(super) fn said(&self) -> Vec<(&'static str, Option<String>)> {
        let calendar =
            self.since.as_ref().map(|(_, calendar)| calendar.clone().unwrap_or_else(|| "standard".into()));
        let others = MEANING.iter().map(|name| (*name, self.words(name)));
        std::iter::once(("calendar", calendar)).chain(others).collect()
    }

    /// Returns true for characters.
    pub fn is_text(&self) -> bool {
        self.variable.ty == NcType::Char
    }

    pub(super) fn decoding(&self) -> &Decoding {
        &self.decoding
    }

    /// Returns true if values are unpacked, masked or read with another sign.
    pub fn is_coded(&self) -> bool {
        !self.is_text()
            && (self.decoding.has_missing() || self.decoding.is_packed() || self.decoding.has_other_sign())
    }

    /// The unit of its times.
    ///
    /// # Errors
    /// A unit or a calendar that is not known, and a unit without a fixed length: dates by months are those of UDUNITS for some
    /// programs, and those of the calendar for others.
    pub(super) fn time_unit(&self) -> Result<&TimeUnit, String> {
        let (units, calendar) = self.since().unwrap_or_default();
        let unit = self.decoding.time().ok_or_else(|| {
            format!("the unit `{units}` in the calendar `{}` is not known", calendar.unwrap_or("standard"))
        })?;
        let first = units.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let varies = ["month", "months", "year", "years"].contains(&first.as_str());
        if varies && unit.calendar() != Calendar::Day360 {
            return Err(format!("`{units}` has no fixed length"));
        }
        Ok(unit)
    }
}
