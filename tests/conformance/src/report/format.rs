//! Numbers and times for people.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::results::TargetFacts;

/// The time in UTC to the second, `2026-01-31T23:59:59Z`.
pub(super) fn utc(time: SystemTime) -> String {
    let seconds = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_secs() as i64,
        Err(before) => -(before.duration().as_secs_f64().ceil() as i64),
    };
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// Year, month and day this many days after 1970-01-01, in the Gregorian calendar.
fn date(days: i64) -> (i64, i64, i64) {
    // Years that begin in March have their leap day at the end, and 400 of them are a whole number of days.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day_of_year - (153 * from_march + 2) / 5 + 1)
}

/// A size, `512 bytes` or `41.3 KiB`.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut number = bytes as f64 / 1024.0;
    let mut unit = 0;
    while number >= 1023.95 && unit + 1 < UNITS.len() {
        number /= 1024.0;
        unit += 1;
    }
    format!("{number:.1} {}", UNITS[unit])
}

/// How long something took, `0.02 s`.
pub(super) fn seconds(took: Duration) -> String {
    format!("{:.2} s", took.as_secs_f64())
}

/// A figure without quotation marks round text.
pub(super) fn figure(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(figure).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// A number of something, `1 library`, `2 libraries`.
pub(super) fn number(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A part of a library and what it says of itself, `hdf5:32015 (name Zstandard)`.
pub(super) fn target(facts: &TargetFacts) -> String {
    if facts.facts.is_empty() {
        return facts.target.to_string();
    }
    let said: Vec<_> = facts.facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
    format!("{} ({})", facts.target, said.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        // date -u -d @N +%FT%TZ
        let at = |seconds| utc(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_798_761_599), "2026-12-31T23:59:59Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
        assert_eq!(utc(UNIX_EPOCH - Duration::from_secs(1)), "1969-12-31T23:59:59Z");
    }

    #[test]
    fn sizes_have_the_unit_that_fits() {
        assert_eq!(size(1023), "1023 bytes");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(1_048_575), "1.0 MiB");
        assert_eq!(size(5 << 40), "5.0 TiB");
    }

    #[test]
    fn figures_are_words_and_numbers() {
        assert_eq!(figure(&serde_json::json!(["libc.so.6", 2.5])), "libc.so.6, 2.5");
    }
}
