//! Requests of the page as JSON, and replies as bytes.

use crate::file::{File, Form, Outcome};
use bytes::Bytes;
use nc3z_format::Hyperslab;
use nc3z_format::classic::VarId;
use nc3z_look::part::Projection;
use serde_json::Value;

/// The meaning of a reply's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// The reply has the result.
    Done = 0,
    /// JSON: a list of ranges, each with its first byte and the byte after its last. Provide them, and send
    /// the request again.
    Fetch = 1,
    /// An error message.
    Failed = 2,
    /// Empty: there are no more pieces of the part.
    End = 3,
}

/// A reply.
pub struct Reply {
    /// The meaning of the bytes.
    pub status: Status,
    /// The bytes of the reply.
    pub bytes: Vec<u8>,
}

impl Reply {
    fn new(status: Status, bytes: impl Into<Vec<u8>>) -> Self {
        Reply { status, bytes: bytes.into() }
    }
}

/// One open file, or none yet.
#[derive(Default)]
pub struct Session {
    file: Option<File>,
}

impl Session {
    /// Executes a request:
    ///
    /// * `{"do": "open", "len": 123}`: drops the previous file, and begins with one of this length. The
    ///   result is a description as JSON.
    /// * `{"do": "describe"}`: describes the open file.
    /// * `{"do": "make", "form": "values", "parts": [{"variable": 0, "start": [0], "count": [2], "stride":
    ///   [1]}]}`: starts to make a part. Forms are `values` (little-endian doubles), `bytes`, `csv` and
    ///   `netcdf`. The result is empty.
    /// * `{"do": "next"}`: the next piece of the part.
    pub fn answer(&mut self, request: &[u8]) -> Reply {
        match self.answered(request) {
            Ok(reply) => reply,
            Err(message) => Reply::new(Status::Failed, message),
        }
    }

    /// Takes bytes of the file.
    pub fn provide(&mut self, offset: u64, bytes: Vec<u8>) {
        if let Some(file) = &self.file {
            file.provide(offset, &Bytes::from(bytes));
        }
    }

    fn answered(&mut self, request: &[u8]) -> Result<Reply, String> {
        let request: Value =
            serde_json::from_slice(request).map_err(|e| format!("the request is not valid JSON: {e}"))?;
        let what = request["do"].as_str().unwrap_or_default();
        if what == "open" {
            let len = request["len"].as_u64().ok_or("the file's length is not a number")?;
            self.file = Some(File::new(len));
        }
        let file = self.file.as_mut().ok_or("no file is open")?;
        Ok(match what {
            "open" | "describe" => {
                reply(file.describe(), |found| Reply::new(Status::Done, found.to_string()))
            }
            "make" => {
                let form = form_of(&request["form"])?;
                let parts = request["parts"].as_array().ok_or("the parts are not a list")?;
                let parts = parts.iter().map(part_of).collect::<Result<Vec<_>, _>>()?;
                reply(file.make(form, &parts), |()| Reply::new(Status::Done, Vec::new()))
            }
            "next" => reply(file.next_piece(), |piece| match piece {
                Some(bytes) => Reply::new(Status::Done, bytes),
                None => Reply::new(Status::End, Vec::new()),
            }),
            _ => return Err("unknown request".to_owned()),
        })
    }
}

fn reply<T>(outcome: Outcome<T>, done: impl FnOnce(T) -> Reply) -> Reply {
    match outcome {
        Outcome::Done(found) => done(found),
        Outcome::Failed(message) => Reply::new(Status::Failed, message),
        Outcome::Fetch(ranges) => {
            let ranges: Vec<[u64; 2]> = ranges.iter().map(|range| [range.start, range.end]).collect();
            Reply::new(
                Status::Fetch,
                Value::from(ranges.iter().map(|r| Value::from(r.to_vec())).collect::<Vec<_>>()).to_string(),
            )
        }
    }
}

fn form_of(name: &Value) -> Result<Form, String> {
    match name.as_str() {
        Some("values") => Ok(Form::Values),
        Some("bytes") => Ok(Form::Bytes),
        Some("csv") => Ok(Form::Csv),
        Some("netcdf") => Ok(Form::Netcdf),
        _ => Err("unknown form; expected values, bytes, csv or netcdf".to_owned()),
    }
}

fn part_of(part: &Value) -> Result<Projection, String> {
    fn list<T>(value: &Value, of: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
        value.as_array()?.iter().map(of).collect()
    }
    let found = || {
        let variable = VarId(u32::try_from(part["variable"].as_u64()?).ok()?);
        let (start, count) = (list(&part["start"], Value::as_u64)?, list(&part["count"], Value::as_u64)?);
        let slab = Hyperslab::new(start, count, list(&part["stride"], Value::as_i64)?).ok()?;
        Some(Projection { variable, slab })
    };
    found().ok_or_else(|| "a part is a variable's number, start, count and stride".to_owned())
}
