//! Times of the CF conventions: a unit, the moment that it counts from, and a calendar.

use std::fmt;

use ncz_cdl::Calendar;
use ncz_model::{Hierarchy, Variable};

use super::group_of;
use super::number::{Dyadic, Number};

/// Nanoseconds of a day.
const DAY: i128 = 86_400_000_000_000;

/// The day after the change of the calendar that readers have by default.
const CHANGE: (i64, i64, i64) = (1582, 10, 15);

/// Units of time: `hours since 2020-01-02 12:00`.
#[derive(Clone, Debug)]
pub(super) struct TimeUnits {
    text: String,
    calendar: Calendar,
    /// Nanoseconds in a unit.
    tick: i128,
    /// The moment from which it counts, in nanoseconds from the start of 1970.
    epoch: i128,
}

/// The same moments: the text does not matter.
impl PartialEq for TimeUnits {
    fn eq(&self, other: &Self) -> bool {
        (self.calendar, self.tick, self.epoch) == (other.calendar, other.tick, other.epoch)
    }
}

impl fmt::Display for TimeUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Times as text, or that there are none.
pub(super) fn shown(units: Option<&TimeUnits>) -> String {
    units.map_or_else(|| "without units".to_owned(), |units| format!("{:?}", units.text))
}

/// Times in one unit as times in another.
#[derive(Clone, Debug)]
pub(super) struct Shift {
    pub(super) from: String,
    pub(super) to: String,
    /// `(number * tick + delta) / other` is the number in the other unit.
    tick: i128,
    delta: i128,
    other: i128,
    /// The least number on the other side, if the calendars are the same only from then on.
    least: Option<(i128, i128)>,
}

impl TimeUnits {
    /// The units of a variable's values: its own, or those of the variable whose bounds it holds. That it holds them may
    /// be said by the other dataset.
    pub(super) fn of(variable: &Variable, hierarchy: &Hierarchy, other: &Hierarchy) -> Option<Self> {
        let own = |variable: &Variable| {
            let text = |name: &str| variable.attribute(name).and_then(|attribute| attribute.value.as_text());
            Self::parse(text("units")?, text("calendar").unwrap_or("standard"))
        };
        if variable.attribute("units").is_some() {
            return own(variable);
        }
        let has_bounds = |parent: &&Variable| {
            ["bounds", "climatology"].iter().any(|name| {
                let named = parent.attribute(name).and_then(|attribute| attribute.value.as_text());
                named.is_some_and(|name| name.trim() == variable.name)
            })
        };
        let parent = |hierarchy| group_of(hierarchy, variable)?.variables.iter().find(has_bounds);
        let parent = parent(hierarchy).or_else(|| parent(other))?;
        own(hierarchy.variable(&parent.path).ok()?)
    }

    fn parse(units: &str, calendar: &str) -> Option<Self> {
        let calendar = match calendar.trim().to_ascii_lowercase().as_str() {
            "standard" | "gregorian" => Calendar::Mixed,
            "proleptic_gregorian" => Calendar::Gregorian,
            "noleap" | "365_day" => Calendar::NoLeap,
            "all_leap" | "366_day" => Calendar::AllLeap,
            "360_day" => Calendar::Days360,
            "julian" => Calendar::Julian,
            _ => return None,
        };
        let mut words = units.split_ascii_whitespace();
        let tick = match words.next()?.to_ascii_lowercase().as_str() {
            "days" | "day" | "d" => DAY,
            "hours" | "hour" | "hrs" | "hr" | "h" => DAY / 24,
            "minutes" | "minute" | "mins" | "min" => 60_000_000_000,
            "seconds" | "second" | "secs" | "sec" | "s" => 1_000_000_000,
            "milliseconds" | "millisecond" | "millisecs" | "millisec" | "msecs" | "msec" | "ms" => 1_000_000,
            "microseconds" | "microsecond" | "microsecs" | "microsec" => 1000,
            "nanoseconds" | "nanosecond" | "nanosecs" | "nanosec" => 1,
            _ => return None,
        };
        if !words.next()?.eq_ignore_ascii_case("since") {
            return None;
        }
        let moment = words.next()?;
        let (date, time) = match moment.split_once(['T', 't']) {
            Some((date, time)) => (date, Some(time)),
            None => (moment, words.next()),
        };
        let time = match (time, words.next()) {
            (time, None) => time.map(without_zone),
            (time, Some("UTC" | "utc" | "Z" | "GMT" | "+00:00" | "+0:00" | "00:00" | "0:00")) => time,
            _ => return None,
        };
        if words.next().is_some() {
            return None;
        }
        let epoch = day(date, calendar)?.checked_mul(DAY)?.checked_add(time.map_or(Some(0), of_day)?)?;
        Some(Self { text: units.to_owned(), calendar, tick, epoch })
    }

    /// How numbers in these units become numbers in others. The error is why not.
    pub(super) fn shift_to(&self, other: &Self) -> Result<Shift, String> {
        let change = i128::from(Calendar::Gregorian.days(CHANGE.0, CHANGE.1, CHANGE.2)) * DAY;
        let is_standard = |units: &Self| matches!(units.calendar, Calendar::Mixed | Calendar::Gregorian);
        let since_change = self.epoch >= change && other.epoch >= change;
        let are_mixed = self.calendar != other.calendar;
        if are_mixed && !(is_standard(self) && is_standard(other) && since_change) {
            return Err(
                "the calendars differ, so that the same date is another day; write the times of one of them \
                        again in the calendar of the other"
                    .to_owned(),
            );
        }
        let delta = self.epoch - other.epoch;
        let common = gcd(gcd(self.tick, other.tick), delta);
        Ok(Shift {
            from: self.text.clone(),
            to: other.text.clone(),
            tick: self.tick / common,
            delta: delta / common,
            other: other.tick / common,
            least: are_mixed.then(|| (change - other.epoch, other.tick)),
        })
    }
}

impl Shift {
    /// The number in the other units; `None` if it is not exact.
    pub(super) fn apply(&self, number: Number) -> Option<Number> {
        let Dyadic { numerator, shift } = Dyadic::of(number)?;
        let one = 1_i128.checked_shl(shift).filter(|one| *one > 0)?;
        let sum = numerator.checked_mul(self.tick)?.checked_add(self.delta.checked_mul(one)?)?;
        // Of the divisor, powers of two may stay.
        let twos = self.other.trailing_zeros();
        let odd = self.other >> twos;
        if sum % odd != 0 {
            return None;
        }
        let converted = Dyadic { numerator: sum / odd, shift: shift.checked_add(twos)? }.reduced();
        if let Some((least, tick)) = self.least {
            let scale = 1_i128.checked_shl(converted.shift).filter(|scale| *scale > 0)?;
            if converted.numerator.checked_mul(tick)? < least.checked_mul(scale)? {
                return None;
            }
        }
        converted.number()
    }
}

/// A time of day without UTC after it, as in `12:00:00Z` and `12:00:00+00:00`.
fn without_zone(time: &str) -> &str {
    let zone = ["Z", "z", "+00:00", "+0000"].iter().find_map(|zone| time.strip_suffix(zone));
    zone.unwrap_or(time)
}

/// Days from the start of 1970 to `2020-01-02`; the month and the day may be left out.
fn day(date: &str, calendar: Calendar) -> Option<i128> {
    let mut parts = date.split('-').map(whole);
    let (year, month, day) =
        (parts.next()??, parts.next().unwrap_or(Some(1))?, parts.next().unwrap_or(Some(1))?);
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day) && year < 1_000_000;
    if parts.next().is_some() || !is_date {
        return None;
    }
    let date = (year, month, day);
    let days = match calendar {
        Calendar::Mixed if date < (1582, 10, 5) => {
            let of = |calendar: Calendar, (year, month, day)| calendar.days(year, month, day);
            of(Calendar::Julian, date) - of(Calendar::Julian, (1582, 10, 5)) + of(Calendar::Gregorian, CHANGE)
        }
        Calendar::Mixed if date < CHANGE => return None,
        calendar => calendar.days(year, month, day),
    };
    Some(days.into())
}

/// Nanoseconds of `12:30:15.5`; the seconds and the minutes may be left out.
fn of_day(time: &str) -> Option<i128> {
    let mut parts = time.split(':');
    let (hour, minute) = (whole(parts.next()?)?, parts.next().map_or(Some(0), whole)?);
    let seconds = parts.next().unwrap_or("0");
    let (second, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let second = whole(second)?;
    if parts.next().is_some() || hour > 24 || minute > 59 || second > 60 || fraction.len() > 9 {
        return None;
    }
    let nanoseconds = whole(&format!("{fraction:0<9}"))?;
    Some(i128::from((hour * 60 + minute) * 60 + second) * 1_000_000_000 + i128::from(nanoseconds))
}

/// A number of digits only.
fn whole(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

fn gcd(one: i128, other: i128) -> i128 {
    let (mut one, mut other) = (one.abs(), other.abs());
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one.max(1)
}
