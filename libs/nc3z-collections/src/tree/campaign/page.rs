//! The page of a campaign: HTML and SVG in a single file that loads nothing and runs no scripts.

use super::status::{Amount, State, Status};
use crate::tree::code::Code;
use crate::tree::manifest::fixity;
use crate::tree::report::STYLE;
use nc3z_look::text::{escaped_html, ratio, size};
use std::fmt::Write as _;
use std::time::SystemTime;

/// The size of the chart.
const WIDTH: f64 = 1100.0;
const HEIGHT: f64 = 260.0;
/// The largest number of bars of the chart: hours, or several hours together.
const BARS: usize = 120;
/// The largest number of directories.
const ROWS: usize = 40;
/// The colours of the states.
const COLORS: [(State, &str); 7] = [
    (State::Done, "#3b7a57"),
    (State::Open, "#c8ccd0"),
    (State::Stopped, "#9aa5b1"),
    (State::Offline, "#7d6b9e"),
    (State::Failed, "#d98c21"),
    (State::Refused, "#a11"),
    (State::Other, "#555"),
];

impl Status {
    /// Returns the page.
    pub fn to_html(&self) -> String {
        let mut out = String::new();
        let name = escaped_html(&self.name);
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>{name}: a campaign of nc3z</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n\
             <p class=\"small\">nc3z {} on {}; plan {}</p>\n",
            nc3z_format::VERSION,
            fixity::date(SystemTime::now()),
            escaped_html(&self.digest)
        );
        self.facts(&mut out);
        self.bar(&mut out);
        self.chart(&mut out);
        self.failed(&mut out);
        self.logs(&mut out);
        self.places(&mut out);
        out.push_str("</body>\n</html>\n");
        out
    }

    fn facts(&self, out: &mut String) {
        let (all, left) = (self.all(), self.left());
        let done = self.amount(State::Done);
        let mut facts = vec![
            (format!("{} of {}", done.files, all.files), "files done"),
            (format!("{} of {}", size(done.bytes), size(all.bytes)), "done"),
            (left.files.to_string(), "files remain"),
            (format!("{} of {}", self.finished_units, self.units), "units finished"),
        ];
        let archived: u64 = self.hours.values().map(|hour| hour.bytes).sum();
        if self.stored > 0 {
            facts.push((format!("{}×", ratio(archived, self.stored)), "smaller"));
        }
        if let Some(rate) = self.rate() {
            facts.push((format!("{}/h", size(rate)), "in the last hours"));
            facts.push((format!("{} h", left.bytes.div_ceil(rate)), "to the end at this rate"));
        }
        let _ = writeln!(out, "<div class=\"facts\">");
        for (value, words) in facts {
            let _ = writeln!(out, "<div><b>{}</b>{words}</div>", escaped_html(&value));
        }
        let _ = writeln!(out, "</div>");
    }

    /// The states by their bytes, and a table of them.
    fn bar(&self, out: &mut String) {
        let all = self.all();
        let _ = writeln!(
            out,
            "<h2>States</h2>\n<svg viewBox=\"0 0 {WIDTH} 26\" role=\"img\" aria-label=\"States by bytes\">"
        );
        let mut x = 0.0;
        for (state, color) in COLORS {
            let width = share(self.amount(state).bytes, all.bytes) * WIDTH;
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"0\" width=\"{width:.1}\" height=\"26\" fill=\"{color}\"/>"
            );
            x += width;
        }
        let _ = writeln!(
            out,
            "</svg>\n<table><tr><th>State</th><th class=\"n\">Files</th><th class=\"n\">Bytes</th></tr>"
        );
        for (state, color) in COLORS.into_iter().filter(|(state, _)| self.amount(*state).files > 0) {
            let Amount { files, bytes } = self.amount(state);
            let _ = writeln!(
                out,
                "<tr><td class=\"scale\"><span style=\"background:{color}\"></span> {}</td><td class=\"n\">{files}</td><td class=\"n\">{}</td></tr>",
                state.name(),
                size(bytes)
            );
        }
        let _ = writeln!(out, "</table>");
    }

    /// The archived bytes by time.
    fn chart(&self, out: &mut String) {
        if self.hours.is_empty() {
            return;
        }
        let hours: Vec<(&String, u64)> = self.hours.iter().map(|(name, hour)| (name, hour.bytes)).collect();
        let bars: Vec<(&String, u64)> = hours
            .chunks(hours.len().div_ceil(BARS))
            .map(|part| (part[0].0, part.iter().map(|(_, bytes)| bytes).sum()))
            .collect();
        let most = bars.iter().map(|(_, bytes)| *bytes).max().unwrap_or(1);
        #[expect(clippy::cast_precision_loss, reason = "at most BARS")]
        let width = WIDTH / bars.len() as f64;
        let each = hours.len().div_ceil(BARS);
        let unit = if each == 1 { "hour".to_owned() } else { format!("{each} hours with archives") };
        let _ = writeln!(
            out,
            "<h2>Archived per {unit}, UTC</h2>\n<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"Archived bytes by time\">",
            HEIGHT + 20.0
        );
        let mut x = 0.0;
        for (name, bytes) in &bars {
            let height = share(*bytes, most) * (HEIGHT - 16.0);
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"#3b7a57\"><title>{}: {}</title></rect>",
                HEIGHT - height,
                (width - 1.0).max(0.5),
                escaped_html(name),
                size(*bytes)
            );
            x += width;
        }
        let (first, last) = (bars[0].0, bars[bars.len() - 1].0);
        let _ = writeln!(
            out,
            "<text x=\"0\" y=\"11\">{} at most</text><text x=\"0\" y=\"{}\">{}:00</text><text x=\"{WIDTH}\" y=\"{}\" text-anchor=\"end\">{}:00</text>\n</svg>",
            size(most),
            HEIGHT + 15.0,
            escaped_html(first),
            HEIGHT + 15.0,
            escaped_html(last)
        );
    }

    fn failed(&self, out: &mut String) {
        if self.failures.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "<h2>Failures</h2>\n<table><tr><th>Code</th><th>Again?</th><th class=\"n\">Files</th><th>For instance</th></tr>"
        );
        for (code, failures) in &self.failures {
            let again = if Code::named(code).retry { "a new run may help" } else { "not as it is" };
            let first = failures.first.iter().map(|(path, why)| {
                format!(
                    "{}: {}",
                    escaped_html(&crate::tree::shown(path)),
                    escaped_html(&nc3z_look::text::safe(why))
                )
            });
            let _ = writeln!(
                out,
                "<tr><td>{code}</td><td>{again}</td><td class=\"n\">{}</td><td>{}</td></tr>",
                failures.files,
                first.collect::<Vec<_>>().join("<br>")
            );
        }
        let _ = writeln!(out, "</table>");
    }

    fn logs(&self, out: &mut String) {
        if self.gaps.is_empty() {
            return;
        }
        let _ = writeln!(out, "<h2 class=\"bad\">Logs that do not account for all files</h2>\n<table>");
        for (log, why) in self.gaps.iter().take(ROWS) {
            let _ = writeln!(
                out,
                "<tr><td>{}</td><td>{}</td></tr>",
                escaped_html(&crate::tree::shown(log)),
                escaped_html(why)
            );
        }
        let _ = writeln!(out, "</table>");
    }

    /// The directories with the most that remains.
    fn places(&self, out: &mut String) {
        let mut rows: Vec<_> = self.directories.iter().filter(|(_, (_, left))| left.files > 0).collect();
        rows.sort_by_key(|(_, (_, left))| std::cmp::Reverse(left.bytes));
        if rows.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "<h2>What remains, by directory</h2>\n<table><tr><th>Directory</th><th class=\"n\">Files</th><th class=\"n\">Bytes</th><th class=\"n\">Done</th></tr>"
        );
        for (name, (all, left)) in rows.iter().take(ROWS) {
            let _ = writeln!(
                out,
                "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{:.1} %</td></tr>",
                escaped_html(&crate::tree::shown(name)),
                left.files,
                size(left.bytes),
                100.0 * share(all.files - left.files, all.files)
            );
        }
        let _ = writeln!(out, "</table>");
        if rows.len() > ROWS {
            let _ = writeln!(out, "<p class=\"small\">and {} more</p>", rows.len() - ROWS);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a length in a picture")]
fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}
