//! JSON of a file, read as a stream and counted while it is read.
//!
//! A JSON text of a megabyte can become a tree of a hundred megabytes. Depth, values and keys are counted
//! during reading, so that nothing is built beyond the limits.

use crate::error::{Error, Result};
use crate::limits::Limits;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::fmt::Write as _;

/// Reads one JSON text.
///
/// # Errors
/// The bytes are not JSON, or other bytes follow; an object has a key twice; the text exceeds `limits`.
pub(crate) fn parse(section: &'static str, bytes: &[u8], limits: &Limits) -> Result<Value> {
    let count = Count::new(section, limits);
    let mut text = serde_json::Deserializer::from_slice(bytes);
    let value = count.value().deserialize(&mut text).and_then(|value| text.end().map(|()| value));
    value.map_err(|e| count.refusal().unwrap_or_else(|| Error::corrupt(section, None, "content", "JSON", e)))
}

/// A value as messages show it: of a long one the beginning.
pub(crate) fn brief(value: &Value) -> String {
    const MOST: usize = 200;
    let mut text = Brief(String::new());
    // `Brief` returns an error when the text is long enough.
    let _ = write!(text, "{value}");
    if text.0.len() > MOST {
        let end = (0..=MOST).rev().find(|&at| text.0.is_char_boundary(at)).unwrap_or(0);
        text.0.truncate(end);
        text.0.push('…');
    }
    text.0
}

/// Takes text until it has enough.
struct Brief(String);

impl fmt::Write for Brief {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = 1000_usize.saturating_sub(self.0.len());
        self.0.extend(part.chars().take(room));
        if room == 0 { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Counts the values and keys of a JSON text that is read as a stream.
pub struct Count<'l> {
    section: &'static str,
    limits: &'l Limits,
    depth: Cell<u64>,
    values: Cell<u64>,
    keys: Cell<u64>,
    /// The reason why reading stopped, unless the JSON itself is invalid.
    refused: RefCell<Option<Error>>,
}

impl<'l> Count<'l> {
    /// Begins to count. `section` names the text in messages.
    pub fn new(section: &'static str, limits: &'l Limits) -> Self {
        let (depth, values, keys) = (Cell::new(0), Cell::new(0), Cell::new(0));
        Count { section, limits, depth, values, keys, refused: RefCell::new(None) }
    }

    /// Reads the next value of the text, with all that is in it.
    pub fn value(&self) -> Tree<'_, 'l> {
        Tree(self)
    }

    /// The reason why reading stopped, if it was a limit and not the JSON itself.
    pub fn refusal(&self) -> Option<Error> {
        self.refused.borrow_mut().take()
    }

    fn add<E: serde::de::Error>(
        &self,
        counter: &Cell<u64>,
        what: &'static str,
        limit: u64,
    ) -> std::result::Result<(), E> {
        let found = counter.get() + 1;
        counter.set(found);
        if found <= limit {
            return Ok(());
        }
        Err(self.refuse(Error::limit(self.section, None, what, limit, found)))
    }

    fn refuse<E: serde::de::Error>(&self, error: Error) -> E {
        *self.refused.borrow_mut() = Some(error);
        E::custom("refused")
    }

    /// Runs `work` one level further in.
    fn inside<T, E: serde::de::Error>(
        &self,
        work: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.add(&self.depth, "depth of the JSON", self.limits.json_depth)?;
        let done = work();
        self.depth.set(self.depth.get() - 1);
        done
    }
}

/// One value with the values inside it.
#[derive(Clone, Copy)]
pub struct Tree<'c, 'l>(&'c Count<'l>);

impl<'de> DeserializeSeed<'de> for Tree<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> std::result::Result<Value, D::Error> {
        let count = self.0;
        count.add(&count.values, "number of JSON values", count.limits.json_values)?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> std::result::Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> std::result::Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> std::result::Result<Value, A::Error> {
        self.0.inside(|| {
            let mut values = Vec::new();
            while let Some(value) = from.next_element_seed(self)? {
                values.push(value);
            }
            Ok(Value::Array(values))
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> std::result::Result<Value, A::Error> {
        let count = self.0;
        count.inside(|| {
            let mut object = Map::new();
            while let Some(key) = from.next_key::<String>()? {
                count.add(&count.keys, "number of JSON keys", count.limits.json_keys)?;
                let value = from.next_value_seed(self)?;
                if object.contains_key(&key) {
                    return Err(A::Error::custom(format!("the key {key:?} occurs twice in an object")));
                }
                object.insert(key, value);
            }
            Ok(Value::Object(object))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value> {
        parse("metadata", text.as_bytes(), &Limits::default())
    }

    #[test]
    fn it_reads_what_any_reader_reads() {
        for text in [
            "null",
            "true",
            "-3",
            "18446744073709551615",
            "0.1",
            "1e300",
            "\"a\\u00e9\\n\"",
            "[]",
            "[1,[2,{\"a\":{}}]]",
            " { \"k\" : [ null , false ] } ",
        ] {
            assert_eq!(read(text).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
        for text in ["", "[", "[1,]", "{\"a\"}", "[] []", "nul", "\"\\ud800\"", "1e999", "\u{1}"] {
            assert!(read(text).unwrap_err().is_corrupt(), "{text}");
        }
        let twice = read(r#"{"a":{"id":1,"id":2}}"#).unwrap_err();
        assert!(twice.is_corrupt() && twice.to_string().contains("twice"), "{twice}");
    }

    #[test]
    fn messages_stay_short() {
        assert_eq!(brief(&serde_json::json!({"a": [1, "é"]})), r#"{"a":[1,"é"]}"#);
        for long in [Value::from("é".repeat(1 << 20)), vec![0; 1 << 20].into()] {
            assert!(brief(&long).len() < 210);
        }
    }

    #[test]
    fn what_is_too_much_is_refused_while_it_is_read() {
        let limits = Limits { json_depth: 3, json_values: 10, json_keys: 4, ..Limits::default() };
        let read = |text: &str| parse("metadata", text.as_bytes(), &limits);
        for (fits, too_much, what) in [
            ("[[[]]]", "[[[[", "depth"),
            ("[{\"a\":[]}]", "[{\"a\":[{", "depth"),
            ("[1,2,3,4,5,6,7,8,9]", "[1,2,3,4,5,6,7,8,9,1", "values"),
            (r#"{"a":1,"b":{"a":1,"b":1}}"#, r#"{"a":1,"b":{"a":1,"b":1},"c":"#, "keys"),
            ("[[[]],[[]],[[]]]", "[[[]],[[[", "depth"),
        ] {
            read(fits).unwrap();
            // The text is truncated there: it is refused before its end is read.
            let e = read(too_much).unwrap_err();
            assert!(e.is_limit() && e.to_string().contains(what), "{e}");
        }
        let many = format!("[{}]", "{},".repeat(2_000_000));
        assert!(
            super::parse("metadata", many.as_bytes(), &Limits::default().within(0)).unwrap_err().is_limit()
        );
    }
}
