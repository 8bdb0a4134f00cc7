//! The HTML page: charts, choices and a table, in one file without scripts.

use std::fmt::Write;

use ncz::bench::Trial;

use super::names::short;
use super::report::{Report, front_words, megabytes, named};
use crate::output::bytes;
use crate::secrets;

const CSS: &str = include_str!("page.css");

/// Returns one of the speeds of a chain.
type Speed = fn(&Trial) -> f64;

// Sizes of the drawing.
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 44.0;

/// Returns the page.
pub(super) fn render(report: &Report<'_>) -> String {
    let measured = report.measured;
    let title = markup(&format!("{} of {}", measured.path, secrets::hide(report.dataset)));
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>ncz bench: {title}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n\
         <h1>Codecs for {title}</h1>\n<p class=\"faint\">{}</p>\n\
         <p class=\"faint\"><span class=\"key front\"></span>no other chain has both a better ratio and a better speed\
         <span class=\"key now\"></span>the current codecs<span class=\"key\"></span>others</p>\n",
        markup(&report.sample()),
    );
    chart(&mut page, report, "Ratio and speed of decoding", |trial| trial.decode, |trial| trial.decode_front);
    chart(&mut page, report, "Ratio and speed of encoding", |trial| trial.encode, |trial| trial.encode_front);
    page.push_str("<h2>Apply one</h2>\n");
    for choice in report.choices() {
        let _ = writeln!(page, "<p>{}: {}</p>", choice.what, markup(&named(choice.trial, " ")));
        if let Some(command) = choice.command {
            let _ = writeln!(page, "<pre>{}</pre>", markup(&command));
        }
    }
    if let Some(none) = report.no_choice() {
        let _ = writeln!(page, "<p>{}</p>", markup(&none));
    }
    table(&mut page, report);
    notes(&mut page, "Faulty: do not use them", measured.faulty.iter().map(|one| (&one.chain, &one.reason)));
    notes(&mut page, "Not tried", measured.skipped.iter().map(|one| (&one.chain, &one.reason)));
    page.push_str("</body>\n</html>\n");
    page
}

/// Numbers on a logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// Makes an axis from below the lowest value to above the highest.
    fn of(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
        let (low, high) = if low <= high { (low, high) } else { (1.0, 1.0) };
        Self { low: low / 1.25, high: high * 1.25, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let part = (value.max(self.low).ln() - self.low.ln()) / (self.high.ln() - self.low.ln());
        self.from + part * (self.to - self.from)
    }

    /// Returns round numbers on the axis: a few in each power of ten, or only the powers if the axis is long.
    fn marks(&self) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let steps: &[f64] =
            if self.high / self.low > 300.0 { &[1.0] } else { &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0] };
        decades
            .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)))
            .filter(|mark| (self.low..=self.high).contains(mark))
            .collect()
    }
}

fn chart(page: &mut String, report: &Report<'_>, heading: &str, speed: Speed, on_front: fn(&Trial) -> bool) {
    let measured = report.measured;
    let ratio = |trial: &Trial| trial.ratio(&measured.sample);
    let x = Axis::of(measured.trials.iter().map(speed), LEFT, WIDTH - RIGHT);
    let y = Axis::of(measured.trials.iter().map(ratio), HEIGHT - BOTTOM, TOP);
    let _ = write!(
        page,
        "<h2>{heading}</h2>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{heading}\">\n"
    );
    for mark in x.marks() {
        let at = x.at(mark);
        let _ = writeln!(
            page,
            "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{:.1}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 16.0,
            round(mark / 1e6),
        );
    }
    for mark in y.marks() {
        let at = y.at(mark);
        let _ = writeln!(
            page,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}x</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            round(mark),
        );
    }
    let _ = writeln!(
        page,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">MB/s</text>",
        WIDTH - RIGHT,
        HEIGHT - 8.0
    );
    let front: Vec<&Trial> = measured.trials.iter().filter(|trial| on_front(trial)).collect();
    let line: Vec<String> =
        front.iter().map(|trial| format!("{:.1},{:.1}", x.at(speed(trial)), y.at(ratio(trial)))).collect();
    let _ = writeln!(page, "<polyline class=\"front-line\" points=\"{}\"/>", line.join(" "));
    // Points on the front are drawn last, so that they are on top.
    let mut trials: Vec<&Trial> = measured.trials.iter().collect();
    trials.sort_by_key(|trial| (on_front(trial), trial.present));
    for trial in trials {
        let class = match (trial.present, on_front(trial)) {
            (true, _) => "dot now",
            (_, true) => "dot front",
            _ => "dot",
        };
        let _ = writeln!(
            page,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{}\"><title>{}</title></circle>",
            x.at(speed(trial)),
            y.at(ratio(trial)),
            if on_front(trial) || trial.present { 6 } else { 4 },
            markup(&hover(report, trial)),
        );
    }
    names(page, report, &x, &y, speed);
    page.push_str("</svg>\n");
}

/// Writes the names of the choices next to their points.
fn names(page: &mut String, report: &Report<'_>, x: &Axis, y: &Axis, speed: Speed) {
    let mut named: Vec<&Trial> = Vec::new();
    for choice in report.choices() {
        if named.contains(&choice.trial) {
            continue;
        }
        named.push(choice.trial);
        let (cx, cy) = (x.at(speed(choice.trial)), y.at(choice.trial.ratio(&report.measured.sample)));
        let (anchor, dx) = if cx > WIDTH * 0.7 { ("end", -10.0) } else { ("start", 10.0) };
        let _ = writeln!(
            page,
            "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            cx + dx,
            cy - 10.0,
            markup(&short(&choice.trial.chain)),
        );
    }
}

/// Returns the text that a point shows under the mouse.
fn hover(report: &Report<'_>, trial: &Trial) -> String {
    format!(
        "{}\n{:.2}x, {} of {}\nencode {}, decode {}",
        named(trial, " "),
        trial.ratio(&report.measured.sample),
        bytes(trial.stored),
        bytes(report.measured.sample.bytes),
        megabytes(trial.encode),
        megabytes(trial.decode),
    )
}

fn table(page: &mut String, report: &Report<'_>) {
    page.push_str(
        "<h2>All chains</h2>\n<div class=\"wide\"><table>\n<tr><th>chain</th><th class=\"n\">ratio</th>\
         <th class=\"n\">stored</th><th class=\"n\">encode</th><th class=\"n\">decode</th><th>front</th>\
         <th>value of --codec</th></tr>\n",
    );
    for trial in &report.measured.trials {
        let class = if front_words(trial).is_empty() { "" } else { " class=\"front\"" };
        let _ = writeln!(
            page,
            "<tr{class}><td>{}</td><td class=\"n\">{:.2}x</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td>{}</td><td><code>{}</code></td></tr>",
            markup(&named(trial, " ")),
            trial.ratio(&report.measured.sample),
            bytes(trial.stored),
            megabytes(trial.encode),
            megabytes(trial.decode),
            front_words(trial),
            markup(&trial.chain),
        );
    }
    page.push_str("</table></div>\n");
}

fn notes<'a>(page: &mut String, heading: &str, list: impl Iterator<Item = (&'a String, &'a String)>) {
    let mut list = list.peekable();
    if list.peek().is_none() {
        return;
    }
    let _ = writeln!(page, "<h2>{heading}</h2>");
    for (chain, reason) in list {
        let _ = writeln!(page, "<p><code>{}</code>: {}</p>", markup(chain), markup(reason));
    }
}

/// Formats a number on an axis.
fn round(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Escapes text for HTML.
fn markup(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_text_is_escaped() {
        assert_eq!(markup("<b a='1'>&\""), "&lt;b a=&#39;1&#39;&gt;&amp;&quot;");
    }

    #[test]
    fn an_axis_holds_its_values_and_has_round_marks() {
        let axis = Axis::of([12.0, 480.0].into_iter(), 0.0, 100.0);
        assert!(axis.at(12.0) > 0.0 && axis.at(480.0) < 100.0 && axis.at(12.0) < axis.at(480.0));
        assert_eq!(axis.marks(), [10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0, 150.0, 200.0, 300.0, 500.0]);
        assert!(Axis::of([1.0].into_iter(), 0.0, 1.0).at(1.0).is_finite());
    }
}
