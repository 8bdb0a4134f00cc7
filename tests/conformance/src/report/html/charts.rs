//! Bars: how many checks ended how, and how fast codecs are.

use std::fmt::Write;

use super::super::escape::markup;
use super::{name, tally};
use crate::outcome::Verdict;
use crate::results::{CheckResult, Counts, LibraryResult, Run};

/// The length of a bar in units of its drawing, which is stretched to the page.
const LONG: f64 = 1000.0;

pub(super) fn shares(page: &mut String, run: &Run) {
    page.push_str(
        "<section aria-labelledby=\"shares\">\n<h2 id=\"shares\">Shares of verdicts</h2>\n<div class=\"chart\">\n",
    );
    for (index, library) in run.libraries.iter().enumerate() {
        let counts = library.counts();
        let text = tally(counts);
        let _ = writeln!(
            page,
            "<div class=\"bar\"><span>{}</span>{}<span>{text}</span></div>",
            name(run, index),
            stacked(counts, &text)
        );
    }
    page.push_str("</div>\n</section>\n");
}

fn stacked(counts: Counts, text: &str) -> String {
    let mut bar = open(text);
    let mut from = 0.0;
    for verdict in Verdict::ALL {
        let long = LONG * counts.number(verdict) as f64 / counts.all().max(1) as f64;
        if long > 0.0 {
            let _ = write!(
                bar,
                "<rect class=\"{verdict}\" x=\"{from:.1}\" y=\"0\" width=\"{long:.1}\" height=\"10\"/>"
            );
        }
        from += long;
    }
    bar + "</svg>"
}

/// One measured speed.
struct Speed {
    library: usize,
    target: String,
    /// `encode` or `decode`.
    direction: &'static str,
    /// The label of the figure without its unit and direction.
    of: String,
    rate: f64,
}

pub(super) fn speeds(page: &mut String, run: &Run) {
    let speeds: Vec<Speed> =
        run.libraries.iter().enumerate().flat_map(|(index, library)| of_library(index, library)).collect();
    if speeds.is_empty() {
        return;
    }
    let scale = Scale::of(speeds.iter().map(|speed| speed.rate));
    let _ = write!(
        page,
        "<section aria-labelledby=\"speed\">\n<h2 id=\"speed\">Speed</h2>\n\
         <p>Megabytes of plain data in a second on one thread; measured, not judged. The scale is logarithmic.</p>\n\
         <div class=\"chart\">\n<div class=\"bar\"><span></span><span class=\"scale\">",
    );
    for mark in scale.marks() {
        let _ = write!(page, "<span>{mark}</span>");
    }
    page.push_str("</span><span>MB/s</span></div>\n");
    let mut last = None;
    for speed in &speeds {
        if last != Some(speed.library) {
            let _ = writeln!(page, "<h3>{}</h3>", name(run, speed.library));
            last = Some(speed.library);
        }
        let label = format!("{} {} {}", speed.target, speed.direction, speed.of);
        let rate = rate(speed.rate);
        let _ = writeln!(
            page,
            "<div class=\"bar\"><span>{}</span>{}<rect class=\"{}\" x=\"0\" y=\"0\" width=\"{:.1}\" \
             height=\"10\"/></svg><span>{rate}</span></div>",
            markup(label.trim_end()),
            open(&rate),
            speed.direction,
            LONG * scale.part(speed.rate),
        );
    }
    page.push_str("</div>\n</section>\n");
}

/// A logarithmic scale of whole powers of ten.
struct Scale {
    low: i32,
    high: i32,
}

impl Scale {
    /// The scale of these numbers, each above 0: bars of all of them have a length.
    fn of(numbers: impl Iterator<Item = f64>) -> Self {
        let (low, high) = numbers
            .map(f64::log10)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| (low.min(log), high.max(log)));
        let low = (low - 0.05).floor() as i32;
        Self { low, high: (high.ceil() as i32).max(low.saturating_add(1)) }
    }

    /// The length of a bar, 1 for the longest.
    fn part(&self, number: f64) -> f64 {
        (number.log10() - f64::from(self.low)) / f64::from(self.high - self.low)
    }

    fn marks(&self) -> impl Iterator<Item = String> {
        (self.low..=self.high).map(|power| match power {
            0.. => 10f64.powi(power).to_string(),
            below => format!("{:.*}", below.unsigned_abs() as usize, 10f64.powi(below)),
        })
    }
}

/// The figures in MB/s of the group `speed`: of a part first one direction, then the other.
fn of_library(index: usize, library: &LibraryResult) -> Vec<Speed> {
    let mut speeds: Vec<Speed> =
        library.results.iter().flat_map(|result| of_result(index, result).collect::<Vec<_>>()).collect();
    let order: Vec<String> = library.targets.iter().map(|facts| facts.target.to_string()).collect();
    speeds.sort_by_key(|speed| {
        (
            order.iter().position(|target| *target == speed.target),
            speed.of.clone(),
            speed.direction == "decode",
        )
    });
    speeds
}

fn of_result(library: usize, result: &CheckResult) -> impl Iterator<Item = Speed> {
    let direction = match result.check.id {
        "speed.encode" => Some("encode"),
        "speed.decode" => Some("decode"),
        _ => None,
    };
    direction.into_iter().flat_map(move |direction| {
        result.outcome.figures.iter().filter_map(move |(name, value)| {
            let name = name.strip_suffix("MB/s")?.trim();
            let rate = value.as_f64().filter(|rate| rate.is_finite() && *rate > 0.0)?;
            let of = name.strip_prefix(direction).unwrap_or(name).trim().to_owned();
            Some(Speed { library, target: result.target.to_string(), direction, of, rate })
        })
    })
}

fn rate(rate: f64) -> String {
    if rate < 10.0 { format!("{rate:.1} MB/s") } else { format!("{rate:.0} MB/s") }
}

fn open(label: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {LONG} 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label}\">"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_powers_of_ten_long() {
        let scale = Scale::of([1.0, 30.0, 812.0].into_iter());
        assert_eq!(scale.marks().collect::<Vec<_>>(), ["0.1", "1", "10", "100", "1000"]);
        assert!((scale.part(10.0) - 0.5).abs() < 1e-9 && scale.part(1.0) > 0.0 && scale.part(812.0) < 1.0);
        assert_eq!(Scale::of([100.0].into_iter()).part(100.0), 1.0);
    }
}
