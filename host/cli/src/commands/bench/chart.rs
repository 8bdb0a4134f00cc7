//! A chart of chains: ratio by speed, both on logarithmic axes, with names that are beside the points.

use std::fmt::Write;

use ncz::bench::{BenchReport, Trial};

use super::markup::markup;
use super::report::{megabytes, named};
use crate::codec_words::chain_words;
use crate::output::bytes;

/// Returns one of the speeds of a chain.
pub(super) type Speed = fn(&Trial) -> f64;

// Sizes of the drawing.
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 52.0;

/// The width of a character of a name, on average.
const CHARACTER: f64 = 6.6;
/// The height of a name.
const LINE: f64 = 14.0;

/// A rectangle of the drawing.
#[derive(Clone, Copy, Debug)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Area {
    fn around(x: f64, y: f64, radius: f64) -> Self {
        Self { left: x - radius, top: y - radius, right: x + radius, bottom: y + radius }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn is_inside(&self, other: &Self) -> bool {
        self.left >= other.left
            && self.right <= other.right
            && self.top >= other.top
            && self.bottom <= other.bottom
    }
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

/// Writes a chart. `choices` are named in it, as is the chain that the variable has now.
pub(super) fn write(
    page: &mut String,
    measured: &BenchReport,
    choices: &[&Trial],
    (heading, title): (&str, &str),
    speed: Speed,
    on_front: fn(&Trial) -> bool,
) {
    let ratio = |trial: &Trial| trial.ratio(&measured.sample);
    let x = Axis::of(measured.trials.iter().map(speed), LEFT, WIDTH - RIGHT);
    let y = Axis::of(measured.trials.iter().map(ratio), HEIGHT - BOTTOM, TOP);
    let _ = write!(
        page,
        "<h3>{heading}</h3>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{heading}\">\n"
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
    let (middle, centre) = ((LEFT + WIDTH - RIGHT) / 2.0, (TOP + HEIGHT - BOTTOM) / 2.0);
    let _ = writeln!(
        page,
        "<text class=\"axis\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{title}</text>\
         <text class=\"axis\" transform=\"translate(16 {centre:.1}) rotate(-90)\" text-anchor=\"middle\">ratio: decoded \
         bytes for each stored byte</text>",
        HEIGHT - 12.0,
    );
    let front: Vec<&Trial> = measured.trials.iter().filter(|trial| on_front(trial)).collect();
    let line: Vec<String> =
        front.iter().map(|trial| format!("{:.1},{:.1}", x.at(speed(trial)), y.at(ratio(trial)))).collect();
    let _ = writeln!(page, "<polyline class=\"front-line\" points=\"{}\"/>", line.join(" "));
    // Points on the front are drawn last, so that they are on top.
    let mut trials: Vec<&Trial> = measured.trials.iter().collect();
    trials.sort_by_key(|trial| (on_front(trial), trial.present));
    let mut taken = Vec::new();
    for trial in trials {
        let class = match (trial.present, on_front(trial)) {
            (true, _) => "dot now",
            (_, true) => "dot front",
            _ => "dot",
        };
        let radius = if on_front(trial) || trial.present { 6.0 } else { 4.0 };
        let (cx, cy) = (x.at(speed(trial)), y.at(ratio(trial)));
        taken.push(Area::around(cx, cy, radius + 1.0));
        let _ = writeln!(
            page,
            "<circle class=\"{class}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"{radius}\"><title>{}</title></circle>",
            markup(&hover(measured, trial)),
        );
    }
    let present = measured.trials.iter().find(|trial| trial.present);
    let mut labelled: Vec<&Trial> = Vec::new();
    for trial in present.into_iter().chain(choices.iter().copied()) {
        if labelled.contains(&trial) {
            continue;
        }
        labelled.push(trial);
        let name = if trial.present {
            format!("now: {}", chain_words(&trial.chain, measured.element))
        } else {
            chain_words(&trial.chain, measured.element)
        };
        let class = if trial.present { "name present" } else { "name" };
        label(page, class, &name, (x.at(speed(trial)), y.at(ratio(trial))), &mut taken);
    }
    page.push_str("</svg>\n");
}

/// Writes the name of a point where it hides neither points nor other names, as near as that is possible.
fn label(page: &mut String, class: &str, name: &str, (x, y): (f64, f64), taken: &mut Vec<Area>) {
    let area = place(name.chars().count() as f64 * CHARACTER, (x, y), taken);
    taken.push(area);
    let near = (x.clamp(area.left, area.right), if area.bottom <= y { area.bottom } else { area.top });
    // A name that is not next to its point has a line to it.
    if (near.0 - x).hypot(near.1 - y) > 24.0 {
        let _ = writeln!(
            page,
            "<line class=\"leader\" x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            near.0, near.1
        );
    }
    let _ = writeln!(
        page,
        "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        area.left,
        area.bottom - 3.0,
        markup(name)
    );
}

/// Finds the place of a name of this width.
fn place(width: f64, (x, y): (f64, f64), taken: &[Area]) -> Area {
    let drawing = Area { left: LEFT, top: TOP, right: WIDTH, bottom: HEIGHT - BOTTOM };
    let at = |left: f64, middle: f64| Area {
        left,
        top: middle - LINE / 2.0,
        right: left + width,
        bottom: middle + LINE / 2.0,
    };
    let around = |distance: f64| {
        let (right, left, above, below) = (x + distance, x - distance - width, y - distance, y + distance);
        [
            at(right, y),
            at(left, y),
            at(right, above),
            at(left, above),
            at(right, below),
            at(left, below),
            at(x - width / 2.0, above - 4.0),
            at(x - width / 2.0, below + 4.0),
        ]
    };
    let all: Vec<Area> = (1..=14).flat_map(|step| around(10.0 * f64::from(step))).collect();
    let inside = all.iter().filter(|area| area.is_inside(&drawing));
    let hidden = |area: &&Area| taken.iter().filter(|other| area.overlaps(other)).count();
    // The first of those that hide the least.
    inside.min_by_key(hidden).or(all.first()).copied().unwrap_or_else(|| at(x, y))
}

/// Returns the text that a point shows under the mouse.
fn hover(measured: &BenchReport, trial: &Trial) -> String {
    format!(
        "{}\n{:.2}x, {} of {}\nencode {}, decode {}",
        named(measured, trial, " "),
        trial.ratio(&measured.sample),
        bytes(trial.stored),
        bytes(measured.sample.bytes),
        megabytes(trial.encode),
        megabytes(trial.decode),
    )
}

/// Formats a number on an axis.
fn round(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_holds_its_values_and_has_round_marks() {
        let axis = Axis::of([12.0, 480.0].into_iter(), 0.0, 100.0);
        assert!(axis.at(12.0) > 0.0 && axis.at(480.0) < 100.0 && axis.at(12.0) < axis.at(480.0));
        assert_eq!(axis.marks(), [10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0, 150.0, 200.0, 300.0, 500.0]);
        assert!(Axis::of([1.0].into_iter(), 0.0, 1.0).at(1.0).is_finite());
    }

    #[test]
    fn names_hide_neither_points_nor_names() {
        let points: Vec<(f64, f64)> =
            (0..60).map(|n| (200.0 + f64::from(n % 10) * 12.0, 150.0 + f64::from(n / 10) * 14.0)).collect();
        let mut taken: Vec<Area> = points.iter().map(|(x, y)| Area::around(*x, *y, 5.0)).collect();
        for point in points.iter().step_by(7) {
            let area = place(90.0, *point, &taken);
            assert!(!taken.iter().any(|other| area.overlaps(other)), "{point:?} {area:?}");
            taken.push(area);
        }
    }
}
