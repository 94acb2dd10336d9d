//! The page: HTML and SVG in a single file that loads nothing and runs no scripts.

use super::treemap::{Rect, squarify};
use super::{Collection, File, State};
use crate::tree::Other;
use crate::tree::manifest::fixity;
use nc3z_look::text::{escaped_html, ratio, size};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::SystemTime;

/// The maximal number of rows of tables.
const ROWS: usize = 25;
/// The length in bytes below which an archive is not listed for its ratio, if there are larger ones.
const SMALL: u64 = 10 << 10;
/// The maximal number of files of one directory that have their own rectangle.
const RECTANGLES: usize = 400;
/// The size of the picture.
const WIDTH: f64 = 1100.0;
const HEIGHT: f64 = 560.0;

pub(crate) const STYLE: &str = "
body { font: 15px/1.45 system-ui, sans-serif; color: #222; background: #fff; max-width: 1120px; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.5em; margin-bottom: .2em; overflow-wrap: anywhere } h2 { font-size: 1.15em; margin: 1.8em 0 .5em }
.facts { display: flex; flex-wrap: wrap; gap: .8em 2.4em; margin: 1em 0 }
.facts b { display: block; font-size: 1.5em; font-weight: 600 }
.small { color: #666; font-size: .9em }
table { border-collapse: collapse; width: 100% } th { text-align: left; font-weight: 600; border-bottom: 2px solid #ccc }
th, td { padding: .25em .6em; vertical-align: top } td { border-bottom: 1px solid #eee; overflow-wrap: anywhere }
td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
svg { width: 100%; height: auto; display: block } svg text { font: 11px system-ui, sans-serif; pointer-events: none }
.bad { color: #a11 } .scale span { display: inline-block; width: 1.6em; height: .8em; vertical-align: middle }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 0 2em }
";

/// Returns the page of a collection.
pub(super) fn html(c: &Collection) -> String {
    let mut out = String::new();
    let name = escaped_html(&c.name);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{name}: report of nc3z</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n\
         <p class=\"small\">nc3z {} on {}</p>\n",
        nc3z_format::VERSION,
        fixity::date(SystemTime::now())
    );
    facts(c, &mut out);
    picture(c, &mut out);
    variables(c, &mut out);
    files(c, &mut out);
    failures(c, &mut out);
    out.push_str("</body>\n</html>\n");
    out
}

fn facts(c: &Collection, out: &mut String) {
    let (n, stored, original) = c
        .archives()
        .fold((0, 0_u64, 0_u64), |(n, a, b), (f, original, _)| (n + 1, a + f.bytes, b + original));
    let (classic, classic_bytes) = c.classic().fold((0, 0_u64), |(n, bytes), f| (n + 1, bytes + f.bytes));
    let failed = c.failures().count();
    let mut facts = vec![
        (n.to_string(), "archives"),
        (size(original), "before"),
        (size(stored), "stored"),
        (format!("{}×", ratio(original, stored)), "smaller"),
    ];
    if classic > 0 {
        facts.push((classic.to_string(), "classic files not archived"));
        facts.push((size(classic_bytes), "in them"));
    }
    facts.push((failed.to_string(), "cannot be read"));
    let _ = writeln!(out, "<div class=\"facts\">");
    for (value, words) in facts {
        let _ = writeln!(out, "<div><b>{}</b>{}</div>", escaped_html(&value), escaped_html(words));
    }
    let _ = writeln!(out, "</div>");
    if let Some(words) = Other::words(&c.others) {
        let _ = writeln!(out, "<p class=\"small\">{}</p>", escaped_html(&words));
    }
}

/// Draws directories, and in each its files. Areas are bytes on disk, colours are ratios.
fn picture(c: &Collection, out: &mut String) {
    let mut directories: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for f in c.files.iter().filter(|f| f.bytes > 0) {
        let directory = f.name.rsplit_once('/').map_or("", |(directory, _)| directory);
        directories.entry(directory).or_default().push(f);
    }
    if directories.is_empty() {
        return;
    }
    let bytes = |files: &[&File]| files.iter().map(|f| f.bytes).sum::<u64>();
    let mut directories: Vec<(&str, Vec<&File>)> = directories.into_iter().collect();
    directories.sort_by_key(|(name, files)| (std::cmp::Reverse(bytes(files)), *name));
    out.push_str("<h2>Where the bytes are</h2>\n");
    let _ = writeln!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Files by size\">\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#f4f4f4\"/>"
    );
    let room = Rect { x: 0.0, y: 0.0, width: WIDTH, height: HEIGHT };
    let sizes: Vec<f64> = directories.iter().map(|(_, files)| float(bytes(files))).collect();
    let several = directories.len() > 1;
    for ((name, files), place) in directories.iter_mut().zip(squarify(&sizes, room)) {
        files.sort_by_key(|f| (std::cmp::Reverse(f.bytes), &f.name));
        let has_head = several && place.width > 60.0 && place.height > 40.0;
        let inner = if several { place.inside(1.5, if has_head { 14.0 } else { 0.0 }) } else { place };
        if has_head {
            let shown = if name.is_empty() { "." } else { name };
            label(out, place.x + 4.0, place.y + 12.0, place.width - 8.0, shown, "#333");
        }
        directory(out, files, inner);
    }
    out.push_str("</svg>\n<p class=\"small scale\">Area: bytes on disk. Colour: how much smaller the archive is than its file: ");
    for times in [1.0, 2.0, 4.0, 8.0, 16.0] {
        let _ = write!(out, "<span style=\"background:{}\"></span> {times}× ", colour(times));
    }
    let _ = writeln!(
        out,
        "<span style=\"background:#b8b8b8\"></span> classic file, not archived <span style=\"background:#d9433a\"></span> cannot be read</p>"
    );
}

fn directory(out: &mut String, files: &[&File], room: Rect) {
    let (own, rest) = files.split_at(files.len().min(RECTANGLES));
    let more: u64 = rest.iter().map(|f| f.bytes).sum();
    let mut sizes: Vec<f64> = own.iter().map(|f| float(f.bytes)).collect();
    sizes.extend((more > 0).then(|| float(more)));
    let places = squarify(&sizes, room);
    for (f, place) in own.iter().zip(&places) {
        let (fill, words) = match &f.state {
            State::Archive { original, .. } => (
                colour(float(*original) / float(f.bytes.max(1))),
                format!("{} of {} ({}×)", size(f.bytes), size(*original), ratio(*original, f.bytes)),
            ),
            State::Classic => ("#b8b8b8".to_owned(), format!("{}, not archived", size(f.bytes))),
            State::Failed(_) => ("#d9433a".to_owned(), format!("{}, cannot be read", size(f.bytes))),
        };
        rectangle(out, *place, &fill, &format!("{}: {words}", f.name));
        let short = f.name.rsplit('/').next().unwrap_or_default();
        if place.height > 16.0 {
            label(out, place.x + 4.0, place.y + 12.0, place.width - 8.0, short, ink(&fill));
        }
    }
    if let (Some(place), true) = (places.get(own.len()), more > 0) {
        rectangle(out, *place, "#dddddd", &format!("{} smaller files, {}", rest.len(), size(more)));
    }
}

fn rectangle(out: &mut String, place: Rect, fill: &str, words: &str) {
    let Rect { x, y, width, height } = place;
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\" stroke=\"#fff\" stroke-width=\".7\"><title>{}</title></rect>",
        escaped_html(words)
    );
}

/// Writes as much of a name as fits; nothing if too little fits.
fn label(out: &mut String, x: f64, y: f64, width: f64, words: &str, ink: &str) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some letters")]
    let room = (width / 6.4).max(0.0) as usize;
    let letters = words.chars().count();
    if room < 4 {
        return;
    }
    let shown = if letters <= room {
        words.to_owned()
    } else {
        words.chars().take(room - 1).chain(std::iter::once('…')).collect()
    };
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{ink}\">{}</text>", escaped_html(&shown));
}

/// Returns a colour from yellow (not smaller) over green to dark blue (16 times smaller).
fn colour(times: f64) -> String {
    let place = (times.max(1.0).log2() / 4.0).clamp(0.0, 1.0);
    let stops = [
        [0xfd_u8, 0xe7, 0x25],
        [0x7a, 0xd1, 0x51],
        [0x22, 0xa8, 0x84],
        [0x2a, 0x78, 0x8e],
        [0x41, 0x44, 0x87],
    ];
    let at = place * 4.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 3")]
    let index = (at.floor() as usize).min(3);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between two bytes")]
    let mixed: [u8; 3] = std::array::from_fn(|i| {
        let (a, b) = (f64::from(stops[index][i]), f64::from(stops[index + 1][i]));
        (a + (b - a) * (at - at.floor().min(3.0))).round() as u8
    });
    format!("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2])
}

/// Returns a colour for text on this background.
fn ink(fill: &str) -> &'static str {
    let part = |at: usize| u32::from_str_radix(fill.get(at..at + 2).unwrap_or("ff"), 16).unwrap_or(255);
    if part(1) * 3 + part(3) * 6 + part(5) > 1300 { "#111" } else { "#fff" }
}

#[expect(clippy::cast_precision_loss, reason = "areas of a picture")]
fn float(n: u64) -> f64 {
    n as f64
}

fn variables(c: &Collection, out: &mut String) {
    let all = c.variables();
    if all.is_empty() {
        return;
    }
    let stored: u64 = c.archives().map(|(f, _, _)| f.bytes).sum();
    out.push_str("<h2>Variables that cost most</h2>\n<table><thead><tr><th>variable<th class=\"n\">files<th class=\"n\">before<th class=\"n\">stored<th class=\"n\">ratio<th class=\"n\">of all</tr></thead>\n");
    for (name, files, before, bytes) in all.iter().take(ROWS) {
        let _ = writeln!(
            out,
            "<tr><td>{}<td class=\"n\">{files}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{:.1}%</tr>",
            escaped_html(name),
            size(*before),
            size(*bytes),
            ratio(*before, *bytes),
            100.0 * float(*bytes) / float(stored.max(1))
        );
    }
    out.push_str("</table>\n");
    if all.len() > ROWS {
        let _ = writeln!(out, "<p class=\"small\">and {} more</p>", all.len() - ROWS);
    }
}

fn files(c: &Collection, out: &mut String) {
    let mut archives: Vec<(&File, u64)> = c.archives().map(|(f, original, _)| (f, original)).collect();
    if archives.is_empty() {
        return;
    }
    out.push_str("<div class=\"columns\"><div>");
    archives.sort_by_key(|(f, _)| (std::cmp::Reverse(f.bytes), &f.name));
    table(out, "The largest archives", &archives);
    out.push_str("</div><div>");
    // Much of a small archive is structure that cannot be compressed further.
    let large: Vec<_> = archives.iter().copied().filter(|(f, _)| f.bytes >= SMALL).collect();
    if !large.is_empty() {
        archives = large;
    }
    let gain = |(f, original): &(&File, u64)| float(*original) / float(f.bytes.max(1));
    archives.sort_by(|a, b| gain(a).total_cmp(&gain(b)).then_with(|| a.0.name.cmp(&b.0.name)));
    table(out, "Those that shrank least", &archives);
    out.push_str("</div></div>\n");
}

fn table(out: &mut String, title: &str, files: &[(&File, u64)]) {
    let _ = writeln!(
        out,
        "<h2>{title}</h2>\n<table><thead><tr><th>archive<th class=\"n\">before<th class=\"n\">stored<th class=\"n\">ratio</tr></thead>"
    );
    for (f, original) in files.iter().take(ROWS) {
        let _ = writeln!(
            out,
            "<tr><td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}</tr>",
            escaped_html(&f.name),
            size(*original),
            size(f.bytes),
            ratio(*original, f.bytes)
        );
    }
    out.push_str("</table>\n");
}

fn failures(c: &Collection, out: &mut String) {
    let mut all = c.failures().peekable();
    if all.peek().is_none() {
        return;
    }
    out.push_str(
        "<h2 class=\"bad\">What cannot be read</h2>\n<table><thead><tr><th>file<th>why</tr></thead>\n",
    );
    for (f, why) in all {
        let _ = writeln!(out, "<tr><td>{}<td>{}</tr>", escaped_html(&f.name), escaped_html(why));
    }
    out.push_str("</table>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_the_page() {
        let file = |name: &str, state| File { name: name.to_owned(), bytes: 1 << 20, state };
        let evil = "<script>alert(1)</script>\"' & co.nc";
        let variables =
            vec![super::super::VariableSize { name: evil.to_owned(), original: 9 << 20, stored: 1 << 20 }];
        let c = Collection {
            name: evil.to_owned(),
            files: vec![
                file(evil, State::Archive { original: 9 << 20, variables }),
                file("d/x.nc", State::Classic),
                file("d/y.nc3z", State::Failed(evil.to_owned())),
            ],
            others: Vec::new(),
        };
        let page = html(&c);
        assert!(!page.contains("<script") && page.matches("&lt;script&gt;").count() >= 5, "{page}");
        assert!(!page.contains("http://") && !page.contains("https://"));
        assert!(page.contains("9.00×") && page.contains("What cannot be read"));
    }

    #[test]
    fn colours_run_from_one_end_to_the_other() {
        assert_eq!((&*colour(0.5), &*colour(1.0), &*colour(1e9)), ("#fde725", "#fde725", "#414487"));
        assert_eq!((ink("#fde725"), ink("#414487")), ("#111", "#fff"));
    }
}
