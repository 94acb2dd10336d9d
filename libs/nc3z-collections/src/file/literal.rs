//! Text that is nearly JSON: single quotes, `True`, tuples, a comma in place of a colon, a missing quote.
//! NCA's own examples have these.

use serde_json::{Map, Value};

/// The maximal nesting of values.
const MAX_DEPTH: u32 = 64;
/// The maximal number of values. People write such texts, programs write JSON. A value takes up to a hundred
/// times the memory of its text.
const MAX_VALUES: u32 = 1 << 20;
/// The maximal number of keys in all objects.
const MAX_KEYS: u32 = 1 << 17;

/// Reads text that is nearly JSON.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut parser = Parser { text, at: 0, depth: 0, values: 0, keys: 0 };
    let value = parser.value()?;
    parser.blanks();
    if parser.at < text.len() {
        return Err("text follows its end".to_owned());
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    values: u32,
    keys: u32,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn skip(&mut self, byte: u8) -> bool {
        self.blanks();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Result<Value, String> {
        self.blanks();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("values are nested too deep".into());
        }
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(format!("it has more than {MAX_VALUES} values"));
        }
        let value = match self.peek() {
            None => Err("it ends too early".to_owned()),
            Some(b'{') => self.object(),
            Some(b'[') => self.list(b']'),
            Some(b'(') => self.list(b')'),
            Some(_) => Ok(self.word()),
        };
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Value, String> {
        self.at += 1;
        let mut out = Map::new();
        while !self.skip(b'}') {
            let before = self.at;
            let key = match self.word() {
                Value::String(key) => key,
                other => other.to_string(),
            };
            // The examples have commas in place of colons.
            if !self.skip(b':') && !self.skip(b',') {
                return Err(format!("expected a colon after `{key}`"));
            }
            self.keys += 1;
            if self.keys > MAX_KEYS {
                return Err(format!("it has more than {MAX_KEYS} keys"));
            }
            let value = self.value()?;
            if out.contains_key(&key) {
                return Err(format!("the key `{key}` occurs twice in an object"));
            }
            out.insert(key, value);
            self.skip(b',');
            if self.at == before {
                return Err("a bracket is not closed".into());
            }
        }
        Ok(Value::Object(out))
    }

    fn list(&mut self, close: u8) -> Result<Value, String> {
        self.at += 1;
        let mut out = Vec::new();
        while !self.skip(close) {
            let before = self.at;
            out.push(self.value()?);
            self.skip(b',');
            if self.at == before {
                return Err("a bracket is not closed".into());
            }
        }
        Ok(Value::Array(out))
    }

    /// Reads a string in either kind of quotes, of which one or both may be missing; a number; a constant.
    fn word(&mut self) -> Value {
        self.blanks();
        let quote = self.peek().filter(|b| matches!(b, b'"' | b'\''));
        let rest = &self.text[self.at..];
        if let Some(quote) = quote {
            let mut out = String::new();
            let mut chars = rest.char_indices().skip(1);
            while let Some((n, c)) = chars.next() {
                if c == char::from(quote) {
                    self.at += n + 1;
                    return Value::String(out);
                }
                match c {
                    '\\' => out.extend(chars.next().map(|(_, c)| c)),
                    c => out.push(c),
                }
            }
            self.at = self.text.len();
            return Value::String(out);
        }
        let end = rest.find([',', ':', ']', ')', '}', '[', '(', '{']).unwrap_or(rest.len());
        self.at += end;
        let word = rest[..end].trim().trim_matches(['"', '\'']);
        match word {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" => Value::Null,
            word => serde_json::from_str::<serde_json::Number>(word)
                .map_or_else(|_| Value::String(word.to_owned()), Value::Number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_examples_of_the_convention_are_read() {
        let is = |text: &str, value: Value| assert_eq!(parse(text), Ok(value), "{text}");
        is(r#"{"a": [1, {"b": true}]}"#, json!({"a": [1, {"b": true}]}));
        is("{'time', true, 'lat': false, 'lon', true}", json!({"time": true, "lat": false, "lon": true}));
        is("['lon', 'time', lat']", json!(["lon", "time", "lat"]));
        is("{directions': {'x': True}, 'p': None}", json!({"directions": {"x": true}, "p": null}));
        is("[(0, 1), [2.5], 'it\\'s']", json!([[0, 1], [2.5], "it's"]));
        is("{}", json!({}));
        let many = format!("[{}]", "{'a': 1},".repeat(200_000));
        for wrong in
            ["", "{", "[", "{'a'", "[1] 2", &"[".repeat(1000), "{'a': }x", "{{{", "{'a': 1, 'a': 2}", &many]
        {
            assert!(parse(wrong).is_err(), "{}", wrong.get(..100).unwrap_or(wrong));
        }
    }
}
