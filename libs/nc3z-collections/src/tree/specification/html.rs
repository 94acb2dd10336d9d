//! The specification as one page of HTML. Converts the Markdown that its chapters use: headings, paragraphs, lists,
//! tables, code, quotations, links, emphasis.

use super::File;
use std::fmt::Write as _;

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}\
table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #999;padding:.2em .5em;vertical-align:top;text-align:left}\
pre{background:#f4f4f4;padding:.7em;overflow-x:auto;font-size:13px}code{font-size:.9em}h1{border-top:2px solid;padding-top:.5em}\
@page{size:A4;margin:18mm;@bottom-center{content:counter(page)}}@media print{body{font-size:9pt;max-width:none}pre{font-size:7pt;white-space:pre-wrap}h1{break-before:page}}";

/// Converts chapters to one page. The first one's first heading is the title.
pub(super) fn page(chapters: &[&File]) -> String {
    let mut out = String::new();
    for file in chapters {
        let text = String::from_utf8_lossy(&file.bytes);
        let chapter = file.name.trim_end_matches(".md").to_lowercase();
        let mut page = Page { chapter: &chapter, out: &mut out };
        page.blocks(&text.lines().collect::<Vec<_>>());
    }
    let title = chapters.first().map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
    let title = title.as_deref().and_then(|text| text.lines().next()).unwrap_or_default();
    let title = escaped(title.trim_start_matches("# "));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{STYLE}</style>\n{out}</html>\n"
    )
}

struct Page<'a> {
    /// The chapter's file without its extension: the beginning of its anchors.
    chapter: &'a str,
    out: &'a mut String,
}

impl Page<'_> {
    fn blocks(&mut self, lines: &[&str]) {
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let rest = &lines[at..];
            let run_of = |holds: fn(&str) -> bool| rest.iter().take_while(|line| holds(line)).count();
            at += match line {
                _ if line.trim().is_empty() => 1,
                _ if line.starts_with("```") => {
                    let len = rest[1..].iter().take_while(|line| !line.starts_with("```")).count();
                    self.code(&rest[1..=len]);
                    len + 2
                }
                _ if line.starts_with("    ") => {
                    let len = run_of(|line| line.starts_with("    "));
                    self.code(&rest[..len].iter().map(|line| &line[4..]).collect::<Vec<_>>());
                    len
                }
                _ if line.starts_with('#') => {
                    self.heading(line);
                    1
                }
                _ if line.starts_with('|') => {
                    let len = run_of(|line| line.starts_with('|'));
                    self.table(&rest[..len]);
                    len
                }
                _ if line.starts_with("> ") => {
                    let len = run_of(|line| line.starts_with("> "));
                    self.out.push_str("<blockquote>\n");
                    self.blocks(&rest[..len].iter().map(|line| &line[2..]).collect::<Vec<_>>());
                    self.out.push_str("</blockquote>\n");
                    len
                }
                _ if marker(line).is_some() => {
                    let goes_on = |line: &str| marker(line).is_some() || line.starts_with(' ');
                    let len = rest.iter().take_while(|line| goes_on(line)).count();
                    self.list(&rest[..len]);
                    len
                }
                _ => {
                    let starts = |line: &&&str| {
                        line.trim().is_empty()
                            || line.starts_with(['|', '#'])
                            || line.starts_with("```")
                            || marker(line).is_some()
                    };
                    let len = 1 + rest[1..].iter().take_while(|line| !starts(line)).count();
                    let text = self.inline(&rest[..len].join(" "));
                    let _ = writeln!(self.out, "<p>{text}</p>");
                    len
                }
            };
        }
    }

    fn code(&mut self, lines: &[&str]) {
        let _ = writeln!(self.out, "<pre><code>{}</code></pre>", escaped(&lines.join("\n")));
    }

    fn heading(&mut self, line: &str) {
        let level = line.len() - line.trim_start_matches('#').len();
        let title = line[level..].trim();
        let id =
            if level == 1 { self.chapter.to_owned() } else { format!("{}-{}", self.chapter, anchor(title)) };
        let title = self.inline(title);
        let _ = writeln!(self.out, "<h{level} id=\"{id}\">{title}</h{level}>");
    }

    fn table(&mut self, lines: &[&str]) {
        self.out.push_str("<table>\n");
        for (n, line) in lines.iter().enumerate().filter(|(n, _)| *n != 1) {
            let tag = if n == 0 { "th" } else { "td" };
            self.out.push_str("<tr>");
            for cell in cells(line) {
                let text = self.inline(&cell);
                let _ = write!(self.out, "<{tag}>{text}</{tag}>");
            }
            self.out.push_str("</tr>\n");
        }
        self.out.push_str("</table>\n");
    }

    /// Items with what is indented below each of them.
    fn list(&mut self, lines: &[&str]) {
        let tag = if lines[0].starts_with('*') { "ul" } else { "ol" };
        let _ = writeln!(self.out, "<{tag}>");
        let mut at = 0;
        while at < lines.len() {
            let len = 1 + lines[at + 1..].iter().take_while(|line| marker(line).is_none()).count();
            let skip = marker(lines[at]).unwrap_or_default();
            let text_len = 1 + lines[at + 1..at + len]
                .iter()
                .take_while(|line| marker(line.trim_start()).is_none())
                .count();
            let mut text = vec![&lines[at][skip..]];
            text.extend(lines[at + 1..at + text_len].iter().map(|line| line.trim()));
            let text = self.inline(&text.join(" "));
            let _ = write!(self.out, "<li>{text}");
            let below: Vec<&str> =
                lines[at + text_len..at + len].iter().map(|line| line.trim_start()).collect();
            if !below.is_empty() {
                self.out.push('\n');
                self.list(&below);
            }
            self.out.push_str("</li>\n");
            at += len;
        }
        let _ = writeln!(self.out, "</{tag}>");
    }

    fn inline(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let (made, len) =
                self.span(rest, c).unwrap_or_else(|| (escaped(&rest[..c.len_utf8()]), c.len_utf8()));
            out.push_str(&made);
            rest = &rest[len..];
        }
        out
    }

    /// The element that `rest` begins with, if it begins with one, and its length.
    fn span(&self, rest: &str, first: char) -> Option<(String, usize)> {
        let between = |mark: &str| {
            let inside = rest.strip_prefix(mark)?;
            let end = inside.find(mark).filter(|end| *end > 0)?;
            Some((&inside[..end], end + 2 * mark.len()))
        };
        match first {
            '`' => between("`").map(|(code, len)| (format!("<code>{}</code>", escaped(code)), len)),
            '*' => between("**")
                .map(|(text, len)| (format!("<strong>{}</strong>", self.inline(text)), len))
                .or_else(|| {
                    let (text, len) = between("*").filter(|(text, _)| !text.starts_with([' ', '*']))?;
                    Some((format!("<em>{}</em>", self.inline(text)), len))
                }),
            '[' => {
                let (text, after) = rest[1..].split_once("](")?;
                let (target, _) = after.split_once(')').filter(|_| !text.contains('['))?;
                let len = 1 + text.len() + 2 + target.len() + 1;
                Some((
                    format!("<a href=\"{}\">{}</a>", escaped(&self.target(target)), self.inline(text)),
                    len,
                ))
            }
            '\\' => rest[1..]
                .chars()
                .next()
                .filter(char::is_ascii_punctuation)
                .map(|c| (escaped(&c.to_string()), 2)),
            _ => None,
        }
    }

    /// Links to chapters lead to their places on this page.
    fn target(&self, link: &str) -> String {
        let (file, place) = link.split_once('#').unwrap_or((link, ""));
        let chapter = match file.strip_suffix(".md") {
            Some(name) if !name.contains('/') => name.to_lowercase(),
            None if file.is_empty() => self.chapter.to_owned(),
            _ => return link.to_owned(),
        };
        if place.is_empty() { format!("#{chapter}") } else { format!("#{chapter}-{place}") }
    }
}

/// The length of an item's mark: `* ` or `1. `.
fn marker(line: &str) -> Option<usize> {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if line.starts_with("* ") {
        Some(2)
    } else if digits > 0 && line[digits..].starts_with(". ") {
        Some(digits + 2)
    } else {
        None
    }
}

/// The cells of a row. A `\|` does not end a cell.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|');
    let line = line.strip_suffix('|').unwrap_or(line);
    let marked = line.replace("\\|", "\0");
    marked.split('|').map(|cell| cell.trim().replace('\0', "|")).collect()
}

fn anchor(title: &str) -> String {
    let kept = title.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(markdown: &str) -> String {
        let file = File { name: "archive.md".into(), bytes: markdown.as_bytes().to_vec() };
        let page = page(&[&file]);
        page.split_once("</style>\n").unwrap().1.trim_end().trim_end_matches("</html>").to_owned()
    }

    #[test]
    fn blocks_of_the_chapters_are_converted() {
        assert_eq!(html("# A b"), "<h1 id=\"archive\">A b</h1>\n");
        assert_eq!(html("## 1. The chain"), "<h2 id=\"archive-1-the-chain\">1. The chain</h2>\n");
        assert_eq!(html("a\nb *c* **d**"), "<p>a b <em>c</em> <strong>d</strong></p>\n");
        assert_eq!(html("```\n<a>\n\nb\n```\nc"), "<pre><code>&lt;a&gt;\n\nb</code></pre>\n<p>c</p>\n");
        assert_eq!(html("    x · y"), "<pre><code>x · y</code></pre>\n");
        let row =
            "<table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td><code>1|2</code></td><td></td></tr>\n</table>\n";
        assert_eq!(html("| a | b |\n|---|---|\n| `1\\|2` | |"), row);
        let list = "<ul>\n<li>a b\n<ul>\n<li>c</li>\n</ul>\n</li>\n<li>d</li>\n</ul>\n";
        assert_eq!(html("* a\n  b\n    * c\n* d"), list);
        assert_eq!(html("1. a\n2. b"), "<ol>\n<li>a</li>\n<li>b</li>\n</ol>\n");
        assert_eq!(html("> a"), "<blockquote>\n<p>a</p>\n</blockquote>\n");
    }

    #[test]
    fn links_lead_to_places_on_the_page() {
        let link = |target: &str| html(&format!("[a]({target})"));
        assert_eq!(link("num.md#2-payload"), "<p><a href=\"#num-2-payload\">a</a></p>\n");
        assert_eq!(link("README.md"), "<p><a href=\"#readme\">a</a></p>\n");
        assert_eq!(link("reference/a.md"), "<p><a href=\"reference/a.md\">a</a></p>\n");
        assert_eq!(html("2 * 3 * 4 [0, 1)"), "<p>2 * 3 * 4 [0, 1)</p>\n");
    }
}
