//! Reads the JSON of an aggregation of NCA or CFA as a stream: each partition is read, used and dropped
//! before the next one, because the tree of a JSON text takes up to a hundred times its bytes.

use super::literal;
use nc3z_format::Limits;
use nc3z_format::json::Count;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};
use std::fmt;

type Object = Map<String, Value>;

/// The key of the list of partitions.
const PARTITIONS: &str = "Partitions";
/// The other keys of the array that are read.
const KEYS: [&str; 6] = ["pmdimensions", "pdimensions", "pmshape", "pshape", "directions", "base"];

/// The description of an array, without its partitions.
pub(super) struct Described<'t> {
    /// The values of the keys.
    pub(super) fields: Object,
    /// The number of partitions. None without a list of them.
    pub(super) count: Option<usize>,
    /// True where a partition has the key of CFA for its data.
    pub(super) has_subarray: bool,
    partitions: Partitions<'t>,
}

enum Partitions<'t> {
    /// As JSON text.
    Text(&'t str),
    /// As parsed values of text that is nearly JSON.
    Read(Vec<Value>),
}

impl<'t> Described<'t> {
    /// Reads JSON, or text that is nearly JSON.
    pub(super) fn parse(text: &'t str, limits: &Limits) -> Result<Self, String> {
        let count = Count::new("description of an aggregation", limits);
        let mut found = Found { fields: Object::new(), count: None, has_subarray: false };
        let mut reader = serde_json::Deserializer::from_str(text);
        let first = Array { found: &mut found, count: &count }.deserialize(&mut reader);
        let json = match first.and_then(|()| reader.end()) {
            Ok(()) => {
                let Found { fields, count, has_subarray } = found;
                return Ok(Described { fields, count, has_subarray, partitions: Partitions::Text(text) });
            }
            Err(e) => count.refusal().map_or_else(|| e.to_string(), |refused| refused.to_string()),
        };
        let value =
            literal::parse(text).map_err(|what| format!("it is not valid JSON ({json}), and {what}"))?;
        let Value::Object(mut fields) = value else {
            return Err("its array is not described by an object".to_owned());
        };
        let list = match fields.remove(PARTITIONS) {
            Some(Value::Array(list)) => Some(list),
            _ => None,
        };
        let has_subarray = list.iter().flatten().any(|p| p.get("subarray").is_some());
        let count = list.as_ref().map(Vec::len);
        let partitions = Partitions::Read(list.unwrap_or_default());
        Ok(Described { fields, count, has_subarray, partitions })
    }

    /// Calls `each` with every partition and its number.
    pub(super) fn for_each(
        &self,
        limits: &Limits,
        each: &mut dyn FnMut(usize, &Object) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut each = |n: usize, partition: &Value| {
            let object = partition.as_object().ok_or("it is not an object".to_owned());
            object.and_then(|object| each(n, object)).map_err(|what| format!("partition {n}: {what}"))
        };
        match &self.partitions {
            Partitions::Read(list) => list.iter().enumerate().try_for_each(|(n, p)| each(n, p)),
            Partitions::Text(text) => {
                let mut refused = None;
                let mut reader = serde_json::Deserializer::from_str(text);
                let walk = Walk { limits, each: &mut each, refused: &mut refused };
                let walked = walk.deserialize(&mut reader);
                walked.map_err(|e| refused.unwrap_or_else(|| e.to_string()))
            }
        }
    }
}

/// The result of the first pass.
struct Found {
    fields: Object,
    count: Option<usize>,
    has_subarray: bool,
}

/// The first pass: reads everything except the partitions, which it counts.
struct Array<'a, 'l> {
    found: &'a mut Found,
    count: &'a Count<'l>,
}

impl<'de> DeserializeSeed<'de> for Array<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Array<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object that describes an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        let Found { fields, count, has_subarray } = self.found;
        let mut others = 0_u32;
        while let Some(key) = from.next_key::<String>()? {
            if key == PARTITIONS && count.is_none() {
                (*count, *has_subarray) = from.next_value::<Counted>().map(|c| (Some(c.0), c.1))?;
            } else if key == PARTITIONS || fields.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} occurs twice in an object")));
            } else if KEYS.contains(&key.as_str()) {
                let value = from.next_value_seed(self.count.value())?;
                fields.insert(key, value);
            } else {
                from.next_value::<IgnoredAny>()?;
                others += 1;
                // The key is recorded, so that a duplicate is detected. Valid files have only few other keys.
                if others > 1000 {
                    return Err(A::Error::custom("it has more than 1000 other keys"));
                }
                fields.insert(key, Value::Null);
            }
        }
        Ok(())
    }
}

/// The number of partitions, and whether one of them has the key `subarray`.
struct Counted(usize, bool);

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Counted;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of partitions")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Counted, A::Error> {
                let (mut count, mut has_subarray) = (0, false);
                while let Some(keys) = from.next_element::<HasSubarray>()? {
                    (count, has_subarray) = (count + 1, has_subarray | keys.0);
                }
                Ok(Counted(count, has_subarray))
            }
        }
        from.deserialize_seq(List)
    }
}

/// True where an object has the key `subarray`.
struct HasSubarray(bool);

impl<'de> Deserialize<'de> for HasSubarray {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = HasSubarray;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a partition, which is an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<HasSubarray, A::Error> {
                let mut found = false;
                while let Some(key) = from.next_key::<std::borrow::Cow<'de, str>>()? {
                    found |= key == "subarray";
                    from.next_value::<IgnoredAny>()?;
                }
                Ok(HasSubarray(found))
            }
        }
        from.deserialize_map(Keys)
    }
}

/// The second pass: the partitions, one after another.
struct Walk<'a> {
    limits: &'a Limits,
    each: &'a mut dyn FnMut(usize, &Value) -> Result<(), String>,
    refused: &'a mut Option<String>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array with a list of partitions")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        while let Some(key) = from.next_key::<std::borrow::Cow<'de, str>>()? {
            if key == PARTITIONS {
                let (limits, each) = (self.limits, &mut *self.each);
                from.next_value_seed(Walk { limits, each, refused: &mut *self.refused })?;
            } else {
                from.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        for n in 0.. {
            let count = Count::new("partition of an aggregation", self.limits);
            let read = from.next_element_seed(count.value());
            let Some(partition) =
                read.inspect_err(|_| *self.refused = count.refusal().map(|e| e.to_string()))?
            else {
                break;
            };
            if let Err(what) = (self.each)(n, &partition) {
                *self.refused = Some(what);
                return Err(A::Error::custom("refused"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partitions(text: &str) -> Result<Vec<Object>, String> {
        let limits = Limits::default().within(0);
        let found = Described::parse(text, &limits)?;
        let mut all = Vec::new();
        found.for_each(&limits, &mut |n, partition| {
            assert_eq!(n, all.len());
            all.push(partition.clone());
            Ok(())
        })?;
        assert_eq!(found.count.unwrap_or(0), all.len());
        Ok(all)
    }

    #[test]
    fn json_and_what_is_nearly_json_give_the_same() {
        let json = r#"{"base": "x", "Partitions": [{"subarray": {"a": 1}}, {"index": [1]}], "pmshape": [2], "note": {}}"#;
        let found = Described::parse(json, &Limits::default()).unwrap();
        assert!(found.has_subarray && found.count == Some(2) && found.fields["pmshape"][0] == 2);
        let nearly = json.replace('"', "'");
        assert_eq!(partitions(json), partitions(&nearly));
        assert_eq!(partitions(json).unwrap().len(), 2);
        assert!(Described::parse("{}", &Limits::default()).unwrap().count.is_none());
    }

    #[test]
    fn keys_that_stand_twice_are_refused() {
        for text in [
            r#"{"Partitions": [], "Partitions": []}"#,
            r#"{"base": "a", "base": "b"}"#,
            r#"{"note": "a", "note": "b"}"#,
            r#"{"Partitions": [{"data": {"file": "a", "file": "b"}}]}"#,
            r#"{"Partitions": [{"data": 1, "data": 2}]}"#,
        ] {
            for text in [text.to_owned(), text.replace('"', "'")] {
                let e = partitions(&text).unwrap_err();
                assert!(e.contains("twice"), "{text}: {e}");
            }
        }
    }

    #[test]
    fn what_is_too_much_is_refused_while_it_is_read() {
        let bomb = format!("[{}1]", r#"{"a": 0},"#.repeat(200_000));
        for text in [
            format!(r#"{{"pmshape": {bomb}}}"#),
            format!(r#"{{"Partitions": [{{"data": {bomb}}}]}}"#),
            format!("{{'Partitions': {}}}", bomb.replace('"', "'")),
        ] {
            let e = partitions(&text).unwrap_err();
            assert!(e.contains("keys"), "{e}");
        }
        // Values of unknown keys are skipped.
        assert_eq!(partitions(&format!(r#"{{"note": {bomb}, "Partitions": []}}"#)), Ok(Vec::new()));
    }
}
