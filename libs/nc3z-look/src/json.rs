//! Streams one JSON document, with a line for each field and each row. Memory does not grow with its length.

use serde_json::Value;
use std::io::{self, Write};

/// Writes one JSON object. Objects and arrays inside it are opened, filled and closed. Small values are
/// written as a whole.
pub struct JsonWriter<W> {
    out: W,
    /// The closing character of each open object or array, and whether it already has content.
    open: Vec<(u8, bool)>,
}

impl<W: Write> JsonWriter<W> {
    /// Opens the document.
    ///
    /// # Errors
    /// The output fails, here and in all other calls.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"{")?;
        Ok(JsonWriter { out, open: vec![(b'}', false)] })
    }

    /// Writes a field of the open object.
    pub fn field(&mut self, key: &str, value: &Value) -> io::Result<()> {
        self.key(key)?;
        self.out.write_all(value.to_string().as_bytes())
    }

    /// Writes a row of the open array.
    pub fn item(&mut self, value: &Value) -> io::Result<()> {
        self.next()?;
        self.out.write_all(value.to_string().as_bytes())
    }

    /// Opens an object as a field, until [`JsonWriter::close`].
    pub fn object(&mut self, key: &str) -> io::Result<()> {
        self.key(key)?;
        self.out.write_all(b"{")?;
        self.open.push((b'}', false));
        Ok(())
    }

    /// Opens an array as a field, until [`JsonWriter::close`].
    pub fn array(&mut self, key: &str) -> io::Result<()> {
        self.key(key)?;
        self.out.write_all(b"[")?;
        self.open.push((b']', false));
        Ok(())
    }

    /// Closes the object or array that was opened last.
    pub fn close(&mut self) -> io::Result<()> {
        let Some((closing, filled)) = self.open.pop() else { return Ok(()) };
        if filled {
            self.line()?;
        }
        self.out.write_all(&[closing])
    }

    /// Closes everything and flushes.
    pub fn finish(mut self) -> io::Result<()> {
        while !self.open.is_empty() {
            self.close()?;
        }
        self.out.write_all(b"\n")?;
        self.out.flush()
    }

    fn key(&mut self, key: &str) -> io::Result<()> {
        self.next()?;
        write!(self.out, "{}: ", Value::from(key))
    }

    /// Writes a comma if needed, a line break and indentation.
    fn next(&mut self) -> io::Result<()> {
        if let Some((_, filled)) = self.open.last_mut() {
            let comma = std::mem::replace(filled, true);
            if comma {
                self.out.write_all(b",")?;
            }
        }
        self.line()
    }

    fn line(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n")?;
        (0..self.open.len()).try_for_each(|_| self.out.write_all(b"  "))
    }
}

/// Returns the original length by the stored one. Null if nothing is stored.
#[expect(clippy::cast_precision_loss, reason = "the exact numbers are next to it")]
pub fn ratio(original: u64, stored: u64) -> Value {
    if stored == 0 { Value::Null } else { (original as f64 / stored as f64).into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn streamed_document_is_the_value_it_spells() {
        let mut bytes = Vec::new();
        let mut w = JsonWriter::new(&mut bytes).unwrap();
        w.field("a\"b", &json!(u64::MAX)).unwrap();
        w.array("rows").unwrap();
        w.item(&json!({"x": 1})).unwrap();
        w.item(&json!([2])).unwrap();
        w.close().unwrap();
        w.array("none").unwrap();
        w.close().unwrap();
        w.object("inner").unwrap();
        w.field("c", &json!(null)).unwrap();
        w.finish().unwrap();
        let found: Value = serde_json::from_slice(&bytes).unwrap();
        let expected = json!({"a\"b": u64::MAX, "rows": [{"x": 1}, [2]], "none": [], "inner": {"c": null}});
        assert_eq!(found, expected);
        assert!(bytes.ends_with(b"}\n"));
    }
}
