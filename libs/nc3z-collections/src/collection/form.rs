//! The type and the unit in which a variable of several files is read.

use super::head::{Head, STORAGE};
use crate::build::promote_all;
use crate::master::conform::{Conform, Since, Units};
use crate::write::text_attribute;
use nc3z_format::NcType;
use nc3z_format::classic::Attribute;
use nc3z_format::decode_value::Shown;

/// The form of a variable that files store in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Form {
    /// The type of its values. Missing values are NaN; of times the least integer.
    pub ty: NcType,
    /// The date from which times count microseconds, in the files' calendar.
    pub time: Option<Since>,
}

impl Form {
    /// Returns the form of a variable that these files have. `None` if all store it in the same way, so that nothing is converted:
    /// also of text, whose length may differ.
    ///
    /// # Errors
    /// Times whose units cannot be compared; texts in different encodings.
    pub fn joined(heads: &[&Head]) -> Result<Option<Self>, String> {
        let [first, others @ ..] = heads else { return Ok(None) };
        if others.iter().all(|head| head.storage() == first.storage()) {
            return Ok(None);
        }
        if first.is_text() {
            let encoding = |head: &Head| head.words("_Encoding");
            return match others.iter().find(|head| encoding(head) != encoding(first)) {
                None => Ok(None),
                Some(_) => Err("the texts of the files are in different encodings".into()),
            };
        }
        if others.iter().any(|head| head.since() != first.since()) {
            let units = heads.iter().map(|head| head.time_unit()).collect::<Result<Vec<_>, _>>()?;
            let is_late = units.iter().all(|unit| unit.is_after_switch(0.0));
            let time = Some(if is_late { Since::Unix } else { Since::YearOne });
            return Ok(Some(Form { ty: NcType::Int64, time }));
        }
        Ok(Some(Form {
            ty: promote_all(heads.iter().map(|head| shown(head))).unwrap_or(first.variable().ty),
            time: None,
        }))
    }

    /// Returns the form in which the values of one file are compared with those of files that store them in another way.
    ///
    /// # Errors
    /// Times whose units have no fixed length.
    pub fn comparable(head: &Head) -> Result<Self, String> {
        if head.since().is_some() {
            head.time_unit()?;
            return Ok(Form { ty: NcType::Int64, time: Some(Since::Unix) });
        }
        let ty = match shown(head) {
            ty @ (NcType::Int64 | NcType::UInt64) => ty,
            _ => NcType::Double,
        };
        Ok(Form { ty, time: None })
    }

    /// Returns the attributes of the joined variable: those of its first file that apply to values in this form.
    pub fn attributes(self, first: &Head) -> Vec<Attribute> {
        let mut attributes = first.variable().attributes.clone();
        let replaced: &[&str] = if self.time.is_some() { &["units", "calendar"] } else { &[] };
        attributes.retain(|a| !STORAGE.iter().chain(replaced).any(|name| name.as_bytes() == a.name));
        if let Some(since) = self.time {
            let calendar = first.since().and_then(|(_, calendar)| calendar).unwrap_or("standard");
            attributes.push(text_attribute("units", since.units()));
            attributes.push(text_attribute("calendar", calendar));
        }
        attributes
    }

    /// Converts stored values of a file, which are big-endian.
    ///
    /// # Errors
    /// The reason why a value has no place in this form.
    pub fn conform(self, head: &Head, stored: Vec<u8>) -> Result<Vec<u8>, String> {
        let units = self.time.map_or_else(Units::default, Units::Moments);
        let fill = match self.ty {
            NcType::Float => f32::NAN.to_be_bytes().to_vec(),
            NcType::Double => f64::NAN.to_be_bytes().to_vec(),
            // Values of the other types are never missing.
            _ => i64::MIN.to_be_bytes()[..self.ty.size()].to_vec(),
        };
        let conform = Conform::from_decoding(head.decoding().clone(), self.ty, fill, units);
        conform.apply(stored).map_err(|(_, what)| what)
    }
}

/// The type of one file's values, with NaN for missing ones.
fn shown(head: &Head) -> NcType {
    match head.decoding().shown_with_nan() {
        Shown::Single => NcType::Float,
        Shown::Double => NcType::Double,
        Shown::AsStored(ty) => ty,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_format::classic::{Header, NumRecs, Variable, Version};

    fn head(ty: NcType, attributes: Vec<Attribute>) -> Head {
        let variable = Variable { name: b"v".into(), dimensions: vec![], ty, vsize: 0, begin: 0, attributes };
        let header = Header {
            version: Version::Cdf5,
            numrecs: NumRecs::Count(0),
            dimensions: vec![],
            attributes: vec![],
            variables: vec![variable],
        };
        Head::all(&header).0.remove(0)
    }

    fn number(name: &str, ty: NcType, values: &[u8]) -> Attribute {
        Attribute { name: name.into(), ty, values: values.into() }
    }

    fn since(units: &str, calendar: &str) -> Vec<Attribute> {
        vec![text_attribute("units", units), text_attribute("calendar", calendar)]
    }

    fn joined(heads: &[Head]) -> Result<Option<Form>, String> {
        Form::joined(&heads.iter().collect::<Vec<_>>())
    }

    #[test]
    fn values_that_are_stored_alike_stay_as_they_are() {
        let fill = || vec![number("_FillValue", NcType::Short, &[0, 1])];
        assert_eq!(joined(&[head(NcType::Short, fill()), head(NcType::Short, fill())]), Ok(None));
        assert_eq!(joined(&[head(NcType::Char, vec![]), head(NcType::Char, vec![])]), Ok(None));
    }

    #[test]
    fn missing_values_are_nan_and_only_those_that_attributes_name() {
        let a = head(NcType::Short, vec![number("_FillValue", NcType::Short, &[0, 1])]);
        let b = head(NcType::Short, vec![]);
        let form = joined(&[a.clone(), b.clone()]).unwrap().unwrap();
        assert_eq!(form, Form { ty: NcType::Float, time: None });
        let floats = |head: &Head, stored: [i16; 3]| {
            let bytes = stored.iter().flat_map(|x| x.to_be_bytes()).collect();
            let found = form.conform(head, bytes).unwrap();
            found.as_chunks::<4>().0.iter().map(|x| f32::from_be_bytes(*x)).collect::<Vec<_>>()
        };
        let found = floats(&a, [1, 2, -32767]);
        assert!(found[0].is_nan() && found[1..] == [2.0, -32767.0], "{found:?}");
        assert_eq!(floats(&b, [1, 2, -32767]), [1.0, 2.0, -32767.0]);
    }

    #[test]
    fn times_are_joined_to_the_microsecond() {
        let days = head(NcType::Int, since("days since 2000-01-01", "noleap"));
        let hours = head(NcType::Double, since("hours since 1999-01-01", "365_day"));
        let form = joined(&[days.clone(), hours.clone()]).unwrap().unwrap();
        assert_eq!(form, Form { ty: NcType::Int64, time: Some(Since::Unix) });
        let a = form.conform(&days, 1_i32.to_be_bytes().into()).unwrap();
        let b = form.conform(&hours, (366.0_f64 * 24.0).to_be_bytes().into()).unwrap();
        assert_eq!(a, b);
        assert_eq!(a, (86_400_000_000 * (30 * 365 + 1_i64)).to_be_bytes());
        assert_eq!(form.conform(&hours, f64::NAN.to_be_bytes().into()).unwrap(), i64::MIN.to_be_bytes());
        assert!(form.conform(&hours, 1e300_f64.to_be_bytes().into()).unwrap_err().contains("1e300"));
        // The calendar that changes from Julian to Gregorian dates.
        let [early, late] = ["days since 1500-01-01", "days since 2000-01-01"]
            .map(|units| head(NcType::Double, since(units, "standard")));
        assert_eq!(joined(&[late, early]).unwrap().unwrap().time, Some(Since::YearOne));
        let months = head(NcType::Double, since("months since 2000-01-01", "noleap"));
        assert!(joined(&[days, months]).unwrap_err().contains("no fixed length"));
    }

    #[test]
    fn what_the_joined_type_does_not_have_is_an_error() {
        let (a, b) = (head(NcType::Double, vec![]), head(NcType::Int64, vec![]));
        let form = joined(&[a, b.clone()]).unwrap().unwrap();
        assert_eq!(form.ty, NcType::Double);
        let found = form.conform(&b, (2_i64.pow(53) + 1).to_be_bytes().into());
        assert_eq!(found.unwrap_err(), "9007199254740993 is not a value of type double");
    }
}
