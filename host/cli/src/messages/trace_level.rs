//! How much of the trace is shown: `-v`, `NCTRACING` and `NCLOGGING`.

use tracing::level_filters::LevelFilter;

/// The words of netCDF's `NCLOGGING`.
const WORDS: [(&str, LevelFilter); 5] = [
    ("OFF", LevelFilter::OFF),
    ("ERR", LevelFilter::ERROR),
    ("WARN", LevelFilter::WARN),
    ("NOTE", LevelFilter::INFO),
    ("DEBUG", LevelFilter::DEBUG),
];

/// The trace that the options and the environment request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TraceSettings {
    pub(super) level: LevelFilter,
    /// Whether each line has a timestamp.
    pub(super) timed: bool,
    /// Values that were not understood.
    pub(super) warnings: Vec<String>,
}

impl TraceSettings {
    /// Takes the highest of the three levels. `quiet` overrides them; the default shows warnings.
    pub(super) fn of(verbose: u8, quiet: bool, nctracing: Option<&str>, nclogging: Option<&str>) -> Self {
        if quiet {
            return Self { level: LevelFilter::OFF, timed: false, warnings: Vec::new() };
        }
        let mut warnings = Vec::new();
        let traced = set(nctracing).and_then(|text| match text.parse::<i64>() {
            Ok(level) => of_number(level),
            Err(_) => {
                warnings.push(format!(
                    "NCTRACING={text:?} is not a number; use 0 for nothing, 1 as -v, 2 as -vv, 3 or more as -vvv"
                ));
                None
            }
        });
        let logged = set(nclogging).and_then(|text| {
            let known = WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
            if known.is_none() {
                warnings.push(format!(
                    "NCLOGGING={text:?} is not a level; use OFF, ERR, WARN, NOTE (as -v) or DEBUG (as -vv)"
                ));
            }
            known.map(|(_, level)| *level)
        });
        let levels = [of_number(verbose.into()), traced, logged];
        Self {
            level: levels.into_iter().flatten().max().unwrap_or(LevelFilter::WARN),
            timed: traced.is_some(),
            warnings,
        }
    }
}

/// Treats an empty variable as not set.
fn set(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

fn of_number(number: i64) -> Option<LevelFilter> {
    match number {
        ..=0 => None,
        1 => Some(LevelFilter::INFO),
        2 => Some(LevelFilter::DEBUG),
        3.. => Some(LevelFilter::TRACE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_level_counts_and_quiet_overrides_all() {
        let level = |verbose, tracing, logging| TraceSettings::of(verbose, false, tracing, logging).level;
        for (verbose, tracing, logging, want) in [
            (0, None, None, LevelFilter::WARN),
            (1, None, None, LevelFilter::INFO),
            (2, None, None, LevelFilter::DEBUG),
            (9, None, None, LevelFilter::TRACE),
            (0, Some("0"), None, LevelFilter::WARN),
            (0, Some("-1"), None, LevelFilter::WARN),
            (0, Some("1"), None, LevelFilter::INFO),
            (0, Some("2"), None, LevelFilter::DEBUG),
            (0, Some("9"), None, LevelFilter::TRACE),
            (0, None, Some("OFF"), LevelFilter::OFF),
            (0, None, Some("err"), LevelFilter::ERROR),
            (0, None, Some("WARN"), LevelFilter::WARN),
            (0, None, Some("NOTE"), LevelFilter::INFO),
            (0, None, Some("DEBUG"), LevelFilter::DEBUG),
            (2, None, Some("OFF"), LevelFilter::DEBUG),
            (1, Some("3"), Some("ERR"), LevelFilter::TRACE),
            (0, Some(""), Some(" "), LevelFilter::WARN),
        ] {
            assert_eq!(level(verbose, tracing, logging), want, "{verbose} {tracing:?} {logging:?}");
        }
        let quiet = TraceSettings::of(0, true, Some("9"), Some("loud"));
        assert_eq!(quiet, TraceSettings { level: LevelFilter::OFF, timed: false, warnings: Vec::new() });
    }

    #[test]
    fn only_nctracing_has_timestamps_and_unknown_values_give_warnings() {
        assert!(TraceSettings::of(0, false, Some("1"), None).timed);
        assert!(!TraceSettings::of(3, false, Some("0"), Some("DEBUG")).timed);
        let wanted = TraceSettings::of(0, false, Some("much"), Some("LOUD"));
        assert_eq!(wanted.level, LevelFilter::WARN);
        assert!(wanted.warnings[0].contains("\"much\"") && wanted.warnings[0].contains("2 as -vv"));
        assert!(
            wanted.warnings[1].contains("\"LOUD\"") && wanted.warnings[1].contains("OFF, ERR, WARN, NOTE")
        );
    }
}
