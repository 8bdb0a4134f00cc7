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
pub(super) fn shown(units: &Result<Option<TimeUnits>, String>) -> String {
    match units {
        Ok(Some(units)) => format!("{:?}", units.text),
        Ok(None) => "without units".to_owned(),
        Err(_) => "in units that are not clear".to_owned(),
    }
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
    /// be said by the other dataset. The error is why it is not known which times they are.
    pub(super) fn of(
        variable: &Variable,
        hierarchy: &Hierarchy,
        other: &Hierarchy,
    ) -> Result<Option<Self>, String> {
        let own = |variable: &Variable| {
            let text = |name: &str| variable.attribute(name).and_then(|attribute| attribute.value.as_text());
            text("units").map_or(Ok(None), |units| Self::parse(units, text("calendar").unwrap_or("standard")))
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
        let parent = parent(hierarchy).or_else(|| parent(other));
        parent.and_then(|parent| hierarchy.variable(&parent.path).ok()).map_or(Ok(None), own)
    }

    fn parse(units: &str, calendar: &str) -> Result<Option<Self>, String> {
        let Some((calendar, tick, moment)) = Self::parts(units, calendar) else { return Ok(None) };
        let unclear = |why| {
            format!(
                "{why} in {units:?}; write these times again, counted from a moment such as 2000-01-01 06:00:00"
            )
        };
        let epoch = epoch(moment, calendar).map_err(unclear)?;
        Ok(Some(Self { text: units.to_owned(), calendar, tick, epoch }))
    }

    /// The calendar, the nanoseconds of a unit, and the moment as text.
    fn parts<'u>(units: &'u str, calendar: &str) -> Option<(Calendar, i128, &'u str)> {
        let calendar = match calendar.trim().to_ascii_lowercase().as_str() {
            "standard" | "gregorian" => Calendar::Mixed,
            "proleptic_gregorian" => Calendar::Gregorian,
            "noleap" | "365_day" => Calendar::NoLeap,
            "all_leap" | "366_day" => Calendar::AllLeap,
            "360_day" => Calendar::Days360,
            "julian" => Calendar::Julian,
            _ => return None,
        };
        let (unit, rest) = units.trim_ascii().split_once(|letter: char| letter.is_ascii_whitespace())?;
        let tick = match unit.to_ascii_lowercase().as_str() {
            "days" | "day" | "d" => DAY,
            "hours" | "hour" | "hrs" | "hr" | "h" => DAY / 24,
            "minutes" | "minute" | "mins" | "min" => 60_000_000_000,
            "seconds" | "second" | "secs" | "sec" | "s" => 1_000_000_000,
            "milliseconds" | "millisecond" | "millisecs" | "millisec" | "msecs" | "msec" | "ms" => 1_000_000,
            "microseconds" | "microsecond" | "microsecs" | "microsec" => 1000,
            "nanoseconds" | "nanosecond" | "nanosecs" | "nanosec" => 1,
            _ => return None,
        };
        let (since, moment) = rest.trim_ascii().split_once(|letter: char| letter.is_ascii_whitespace())?;
        since.eq_ignore_ascii_case("since").then(|| (calendar, tick, moment.trim_ascii()))
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

/// Nanoseconds from the start of 1970 to `2020-01-02`, `2020-01-02 12:30:15.5` or `2020-01-02T12:30+01:00`. What readers
/// do not read alike is refused: cftime, which netCDF4 uses, and pandas, which xarray also uses, read an hour without
/// minutes, or an offset with one digit, otherwise.
fn epoch(moment: &str, calendar: Calendar) -> Result<i128, &'static str> {
    let end = moment.find(|letter: char| !letter.is_ascii_digit() && letter != '-').unwrap_or(moment.len());
    let (date, rest) = moment.split_at(end);
    let days = day(date, calendar)?;
    let of_day = match rest.strip_prefix([' ', 'T', 't']) {
        Some(rest) => {
            let end = rest.find(|letter: char| !letter.is_ascii_digit() && !":.".contains(letter));
            let (clock, zone) = rest.split_at(end.unwrap_or(rest.len()));
            let clock = if clock.is_empty() { 0 } else { of_day(clock)? };
            clock - offset(zone.strip_prefix(' ').unwrap_or(zone))?
        }
        None if rest.starts_with(['+', '-']) => return Err(AMBIGUOUS),
        None => -offset(rest)?,
    };
    days.checked_mul(DAY).and_then(|days| days.checked_add(of_day)).ok_or(NO_MOMENT)
}

const NO_MOMENT: &str = "there is no such moment";
const AMBIGUOUS: &str = "readers do not read the same moment";

/// Days from the start of 1970 to `2020-01-02`.
fn day(date: &str, calendar: Calendar) -> Result<i128, &'static str> {
    let parts: Vec<&str> = date.split('-').collect();
    let &[year, month, day] = parts.as_slice() else { return Err(AMBIGUOUS) };
    let (Some(year), Some(month), Some(day)) = (whole(year), whole(month), whole(day)) else {
        return Err(AMBIGUOUS);
    };
    let date = (year, month, day);
    let of_date = match calendar {
        Calendar::Mixed if date < (1582, 10, 15) => Calendar::Julian,
        Calendar::Mixed => Calendar::Gregorian,
        calendar => calendar,
    };
    let has_year = (0..1_000_000).contains(&year) && (year > 0 || of_date != Calendar::Julian);
    if !has_year || !(1..=12).contains(&month) {
        return Err(NO_MOMENT);
    }
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    let of_month = of_date.days(next.0, next.1, 1) - of_date.days(year, month, 1);
    if day < 1 || day > of_month || calendar == Calendar::Mixed && (1582, 10, 5) <= date && date < CHANGE {
        return Err(NO_MOMENT);
    }
    let days = of_date.days(year, month, day);
    Ok(i128::from(match calendar {
        Calendar::Mixed if date < CHANGE => {
            days - Calendar::Julian.days(1582, 10, 5) + Calendar::Gregorian.days(CHANGE.0, CHANGE.1, CHANGE.2)
        }
        _ => days,
    }))
}

/// Nanoseconds of `12:30:15.5`; the seconds may be left out.
fn of_day(time: &str) -> Result<i128, &'static str> {
    let mut parts = time.split(':');
    let two = |text: &str| whole(text).filter(|_| text.len() <= 2).ok_or(AMBIGUOUS);
    let hour = two(parts.next().unwrap_or_default())?;
    let minute = two(parts.next().ok_or(AMBIGUOUS)?)?;
    let seconds = parts.next().unwrap_or("0");
    let (second, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let second = two(second)?;
    // cftime has microseconds.
    let fraction = fraction.trim_end_matches('0');
    if parts.next().is_some() || fraction.len() > 6 {
        return Err(AMBIGUOUS);
    }
    if hour > 23 || minute > 59 || second > 59 {
        return Err(NO_MOMENT);
    }
    let nanoseconds = whole(&format!("{fraction:0<9}")).ok_or(AMBIGUOUS)?;
    Ok(i128::from((hour * 60 + minute) * 60 + second) * 1_000_000_000 + i128::from(nanoseconds))
}

/// Nanoseconds by which the time of a zone is ahead of UTC: `Z`, `UTC`, `+01:00`, `-0530`, `+01`.
fn offset(zone: &str) -> Result<i128, &'static str> {
    if ["", "Z", "z", "UTC", "utc", "GMT", "+0:00", "-0:00"].contains(&zone) {
        return Ok(0);
    }
    let (sign, digits) = match zone.split_at_checked(1) {
        Some(("+", digits)) => (1, digits),
        Some(("-", digits)) => (-1, digits),
        _ => return Err(AMBIGUOUS),
    };
    let (hours, minutes) = digits.split_at_checked(2).ok_or(AMBIGUOUS)?;
    let minutes = match minutes.strip_prefix(':').unwrap_or(minutes) {
        "" if minutes.is_empty() => "00",
        minutes => minutes,
    };
    match (whole(hours), whole(minutes)) {
        (Some(hours @ 0..24), Some(minute @ 0..60)) if minutes.len() == 2 => {
            Ok(sign * i128::from(hours * 60 + minute) * 60_000_000_000)
        }
        _ => Err(AMBIGUOUS),
    }
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
