//! The reason why a request has no answer: a status and one line for the client.

use hyper::StatusCode;
use nc3z_look::part::PartError;
use nc3z_mount::view::fragment_of;
use nc3z_reader::ErrorKind;
use std::io;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

pub(crate) type Answer<T> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Failure { status, message: message.into() }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn absent() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is no such file")
    }

    /// The answer would be longer than the server allows.
    pub(crate) fn too_long(len: u64, limit: u64) -> Self {
        let message = format!(
            "the reply would have {len} bytes, and this server sends at most {limit}; ask for a part"
        );
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }
}

impl From<nc3z_reader::Error> for Failure {
    fn from(e: nc3z_reader::Error) -> Self {
        let status = match e.kind() {
            // The file does not have the bytes that its header promises: the server is not the cause.
            ErrorKind::Incomplete { .. } => StatusCode::BAD_REQUEST,
            ErrorKind::Format(e) if e.is_unsupported() => StatusCode::NOT_IMPLEMENTED,
            ErrorKind::Format(e) if e.is_limit() => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::Format(e) if !e.is_corrupt() => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        // The error names the place on this machine. The client gets the name that the aggregation has.
        let message = match fragment_of(&e) {
            Some(fragment) => format!(
                "the server cannot read the fragment {fragment} of the aggregation; `nc3z list` of the aggregation says why"
            ),
            None => e.with_causes(),
        };
        Failure::new(status, one_line(&message))
    }
}

impl From<PartError> for Failure {
    fn from(e: PartError) -> Self {
        match e {
            PartError::TooLong { len, limit } => Self::too_long(len, limit),
            PartError::Read(e) => e.into(),
            e => Self::bad(e.to_string()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidInput => {
                Self::absent()
            }
            io::ErrorKind::InvalidFilename => Self::absent(),
            io::ErrorKind::PermissionDenied => {
                Self::new(StatusCode::FORBIDDEN, "the server may not read the file")
            }
            io::ErrorKind::StaleNetworkFileHandle => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "the file is being replaced; ask again")
            }
            _ => match e.downcast::<nc3z_reader::Error>() {
                Ok(e) => e.into(),
                Err(e) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, one_line(&e.to_string())),
            },
        }
    }
}

/// A message without line breaks and other control characters, which may come from a file.
fn one_line(message: &str) -> String {
    message.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
