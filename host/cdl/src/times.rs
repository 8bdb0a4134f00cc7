//! Numbers that count time from a moment, such as `hours since 1990-01-01`, as dates.
//!
//! Units and calendars are those of the CF conventions (section 4.4) that ncdump supports: it ignores an offset from
//! UTC after the moment. Sums are made in the same order as in ncdump, to get the same fractions of seconds.

use ncz_model::{Hierarchy, Value, Variable, split_path};
use std::io::Write;

use super::calendar::{Calendar, Moment};

/// The separator of the date and the time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeForm {
    /// A blank: `1990-01-01 12:30` (`ncdump -t`).
    Blank,
    /// A letter, as in ISO 8601: `1990-01-01T12:30` (`ncdump -i`).
    Iso,
}

/// The time unit of a number, and its origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    calendar: Calendar,
    unit: Unit,
    origin: Moment,
    form: TimeForm,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    /// The number of units in an hour.
    PerHour(f64),
    /// The hours in a unit.
    Hours(f64),
    /// The months in a unit.
    Months(f64),
}

/// The first day of the Gregorian calendar.
const GREGORIAN_START: Moment = Moment { year: 1582, month: 10, day: 15, hour: 0. };
/// The same day in the Julian calendar.
const JULIAN_END: Moment = Moment { year: 1582, month: 10, day: 5, hour: 0. };
/// The origin of sums in the mixed calendar.
const SUMS_FROM: Moment = Moment { year: 1979, month: 1, day: 1, hour: 0. };

impl Times {
    /// Returns the time units of a variable's values: from its `units`, or from those of the variable whose `bounds` it
    /// holds.
    pub(super) fn of_values(hierarchy: &Hierarchy, variable: &Variable, form: TimeForm) -> Option<Self> {
        let (group, _) = split_path(&variable.path);
        let group = if group.is_empty() { "/" } else { group };
        let mut parent = None;
        for found in hierarchy.groups() {
            let names = |of: &&Variable| text_of(of, "bounds").is_some_and(|name| name == variable.name);
            parent = found.variables.iter().rfind(names).or(parent);
            if found.path == group {
                break;
            }
        }
        Self::of_units(parent.unwrap_or(variable), form)
    }

    /// Returns the time units of numbers in the units of a variable.
    pub(super) fn of_units(variable: &Variable, form: TimeForm) -> Option<Self> {
        let units = text_of(variable, "units")?;
        let calendar = match text_of(variable, "calendar").filter(|name| !name.is_empty()) {
            Some(name) => Calendar::named(name)?,
            None => Calendar::Mixed,
        };
        Self::parse(units, calendar, form)
    }

    fn parse(units: &str, calendar: Calendar, form: TimeForm) -> Option<Self> {
        let units = units.trim_start();
        let (word, rest) = units.split_once(|letter: char| letter.is_ascii_whitespace())?;
        let rest = rest.trim_start().strip_prefix("since")?.trim_start();
        let mut words = rest.split_ascii_whitespace();
        let first = words.next()?;
        let (date, time) = match first.split_once('T') {
            Some((date, time)) => (date, Some(time)),
            None => (first, words.next()),
        };
        Some(Self { calendar, unit: Unit::named(word)?, origin: origin(date, time)?, form })
    }

    /// Appends the date of a number in quotes; returns `false` if the number is not a date.
    pub(super) fn write(&self, value: f64, out: &mut Vec<u8>) -> bool {
        let Some(moment) = self.moment(value) else { return false };
        out.push(b'"');
        self.write_moment(moment, out);
        out.push(b'"');
        true
    }

    fn moment(&self, value: f64) -> Option<Moment> {
        let hours = match self.unit {
            Unit::PerHour(count) => value / count,
            Unit::Hours(hours) => hours * value,
            Unit::Months(months) => {
                if value == 0. {
                    return Some(self.origin);
                }
                let whole = (months * value + if value < 0. { -1e-10 } else { 1e-10 }).trunc();
                if whole.is_nan() || whole.abs() >= 1e8 {
                    return None;
                }
                let calendar = match self.calendar {
                    Calendar::Mixed => Calendar::Gregorian,
                    other => other,
                };
                return calendar.after_months(self.origin, whole as i64);
            }
        };
        match self.calendar {
            Calendar::Mixed => self.mixed(hours),
            calendar => calendar.moment(calendar.hours(self.origin) + hours),
        }
    }

    /// The moment this many hours from the origin, in the calendar that changed in 1582.
    fn mixed(&self, hours: f64) -> Option<Moment> {
        let sum = |calendar: Calendar, from: Moment, hours: f64| {
            let start = calendar.hours(SUMS_FROM);
            let relative = calendar.hours(from) - start;
            calendar.moment(start + (relative + hours))
        };
        let between = |calendar: Calendar, from: Moment, to: Moment| {
            let start = calendar.hours(SUMS_FROM);
            (calendar.hours(to) - start) - (calendar.hours(from) - start)
        };
        let day = |moment: Moment| (moment.year, moment.month, moment.day);
        if day(self.origin) < day(GREGORIAN_START) {
            let to_change = between(Calendar::Julian, self.origin, JULIAN_END);
            match hours <= to_change {
                true => sum(Calendar::Julian, self.origin, hours),
                false => sum(Calendar::Gregorian, GREGORIAN_START, hours - to_change),
            }
        } else {
            let to_change = between(Calendar::Gregorian, self.origin, GREGORIAN_START);
            match hours > to_change {
                true => sum(Calendar::Gregorian, self.origin, hours),
                false => sum(Calendar::Julian, JULIAN_END, hours - to_change),
            }
        }
    }

    /// Appends the date, and the parts of the time of day that are not zero.
    fn write_moment(&self, moment: Moment, out: &mut Vec<u8>) {
        // Half a microsecond, in each unit.
        const SECOND: f64 = 0.5e-6;
        const MINUTE: f64 = SECOND / 60.;
        const HOUR: f64 = MINUTE / 60.;
        let hour = (moment.hour + HOUR).trunc();
        let minutes = 60. * (moment.hour - hour);
        let minute = (minutes + MINUTE).trunc();
        let seconds = 60. * (minutes - minute);
        let second = (seconds + SECOND).trunc();
        let has_fraction = seconds - second >= SECOND;
        let separator = match self.form {
            TimeForm::Blank => ' ',
            TimeForm::Iso => 'T',
        };
        let Moment { year, month, day, .. } = moment;
        let [hour, minute, second] = [hour, minute, second].map(|number| number as i64);
        let sign = if year < 0 { "-" } else { "" };
        // Writing to memory does not fail.
        let _ = write!(out, "{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs());
        if (hour, minute, second) == (0, 0, 0) && !has_fraction {
            return;
        }
        let _ = write!(out, "{separator}{hour:02}");
        if (minute, second) == (0, 0) && !has_fraction {
            return;
        }
        let _ = write!(out, ":{minute:02}");
        if has_fraction {
            let _ = write!(out, ":{seconds:.6}");
        } else if second != 0 {
            let _ = write!(out, ":{second:02}");
        }
    }
}

impl Unit {
    fn named(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        Some(match word.as_str() {
            "s" => Self::PerHour(3600.),
            word if word.starts_with("sec") => Self::PerHour(3600.),
            "mn" => Self::PerHour(60.),
            word if word.starts_with("min") => Self::PerHour(60.),
            "hr" => Self::Hours(1.),
            word if word.starts_with("hour") => Self::Hours(1.),
            "dy" => Self::Hours(24.),
            word if word.starts_with("day") => Self::Hours(24.),
            "wk" => Self::Hours(168.),
            word if word.starts_with("week") => Self::Hours(168.),
            "mo" => Self::Months(1.),
            word if word.starts_with("month") => Self::Months(1.),
            word if word.starts_with("season") => Self::Months(3.),
            "yr" => Self::Months(12.),
            word if word.starts_with("year") => Self::Months(12.),
            _ => return None,
        })
    }
}

/// Parses a date and a time of day. Missing or invalid parts become the first month, day or hour.
fn origin(date: &str, time: Option<&str>) -> Option<Moment> {
    let (year, rest) = number(date)?;
    let mut moment = Moment { year, month: 1, day: 1, hour: 0. };
    let Some((month, rest)) = rest.strip_prefix('-').and_then(number) else { return Some(moment) };
    moment.month = month;
    let Some((day, _)) = rest.strip_prefix('-').and_then(number) else { return Some(moment) };
    moment.day = day;
    let Some((hour, rest)) = time.and_then(number) else { return Some(moment) };
    if !(0..=23).contains(&hour) {
        return Some(moment);
    }
    moment.hour = hour as f64;
    let Some((minute, rest)) = rest.strip_prefix(':').and_then(number) else { return Some(moment) };
    if !(0..=59).contains(&minute) {
        return Some(moment);
    }
    moment.hour += minute as f64 / 60.;
    let Some(rest) = rest.strip_prefix(':') else { return Some(moment) };
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
    if let Some(seconds) = rest.get(..end).and_then(|text| text.parse::<f64>().ok())
        && (0. ..=60.).contains(&seconds)
    {
        moment.hour += seconds / 3600.;
    }
    Some(moment)
}

/// Parses a whole number at the start of a text; returns it and the rest.
fn number(text: &str) -> Option<(i64, &str)> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = unsigned.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(unsigned.len());
    let end = text.len() - unsigned.len() + digits;
    let (number, rest) = text.split_at_checked(end)?;
    let number = number.parse().ok().filter(|number: &i64| number.abs() < 1_000_000)?;
    Some((number, rest))
}

/// The text of an attribute: the whole text of a `char`, or the first of several strings.
fn text_of<'a>(variable: &'a Variable, name: &str) -> Option<&'a str> {
    let bytes = match &variable.attribute(name)?.value {
        Value::Char(bytes) => bytes,
        Value::String(strings) => strings.first()?,
        _ => return None,
    };
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    std::str::from_utf8(bytes.get(..end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(units: &str, calendar: &str, value: f64) -> Option<String> {
        let times = Times::parse(units, Calendar::named(calendar)?, TimeForm::Blank)?;
        let mut text = Vec::new();
        times.write(value, &mut text).then(|| String::from_utf8(text).unwrap())
    }

    #[test]
    fn only_units_of_time_are_dates() {
        for units in
            ["m", "days", "days since", "days from 1990-1-1", "fortnights since 1990-1-1", "days since then"]
        {
            assert_eq!(date(units, "", 1.), None, "{units}");
        }
        assert_eq!(date("days since 1990-1-1", "none", 1.), None);
        assert_eq!(date("days since 1990-1-1", "", 1e200), None);
        assert_eq!(date("days since 1990-1-1", "", f64::NAN), None);
    }
}
