//! Names in a directory, as HTML and as JSON.

use crate::page;
use crate::reply::Reply;
use crate::request::Request;
use hyper::StatusCode;
use hyper::header::ACCEPT;
use nc3z_look::text::escaped_html;
use nc3z_mount::NodeKind;
use nc3z_mount::view::{Entry, StoredSize};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::Path;

/// Characters of names that are not encoded in a URL.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The names in a directory.
pub(crate) fn reply(names: &[OsString], entries: &[Entry], request: &Request) -> Reply {
    let wants_json = request.header(ACCEPT).is_some_and(|kinds| kinds.contains("application/json"));
    if wants_json || request.query() == "json" {
        let item = |entry: &Entry| {
            let kind = if entry.kind == NodeKind::Directory { "directory" } else { "file" };
            json!({"name": shown(&entry.name), "href": href(entry), "kind": kind})
        };
        let items: Vec<_> = entries.iter().map(item).collect();
        let text = json!({"entries": items}).to_string();
        return Reply::whole(StatusCode::OK, "application/json", text.into()).of("listing");
    }
    if names.is_empty() {
        return page::index(&links(names, entries));
    }
    let title = names.iter().fold(String::new(), |title, name| title + "/" + &shown(name));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{0}/</title>\n<h1>{0}/</h1>\n",
        escaped_html(&title)
    );
    page.push_str(&links(names, entries));
    Reply::whole(StatusCode::OK, "text/html; charset=utf-8", page.into()).of("listing")
}

/// Returns the sizes in a directory as JSON.
pub(crate) fn sizes(sizes: &[StoredSize]) -> Reply {
    let item = |entry: &StoredSize| {
        let kind = if entry.kind == NodeKind::Directory { "directory" } else { "file" };
        json!({"name": shown(&entry.name), "kind": kind, "bytes": entry.bytes, "files": entry.files})
    };
    let text = json!({"entries": sizes.iter().map(item).collect::<Vec<_>>()}).to_string();
    Reply::whole(StatusCode::OK, "application/json", text.into())
}

pub(crate) fn links(names: &[OsString], entries: &[Entry]) -> String {
    let mut list = String::from("<ul>\n");
    if !names.is_empty() {
        list.push_str("<li><a href=\"../\">../</a></li>\n");
    }
    for entry in entries {
        let slash = if entry.kind == NodeKind::Directory { "/" } else { "" };
        let name = escaped_html(&shown(&entry.name));
        let _ = writeln!(list, "<li><a href=\"{}\">{name}{slash}</a></li>", href(entry));
    }
    list.push_str("</ul>\n");
    list
}

fn href(entry: &Entry) -> String {
    let slash = if entry.kind == NodeKind::Directory { "/" } else { "" };
    format!("{}{slash}", percent_encode(entry.name.as_encoded_bytes(), NAME))
}

/// A name without control characters.
fn shown(name: &OsStr) -> String {
    let name = Path::new(name).display().to_string();
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_place_in_the_page() {
        let entry = |name: &str| Entry { name: name.into(), kind: NodeKind::File, ino: 7 };
        let page = links(&[], &[entry("<b>\" onclick='a'.nc"), entry("javascript:alert(1)"), entry("ä b")]);
        assert!(
            !page.contains("<b>") && !page.contains("javascript:") || page.contains("href=\"javascript%3A")
        );
        assert!(page.contains("href=\"%C3%A4%20b\">ä b<"), "{page}");
    }
}
