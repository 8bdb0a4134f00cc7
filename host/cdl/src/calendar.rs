//! Days and dates in the calendars of the CF conventions (section 4.4.1, "Calendar").

/// A calendar: the lengths of months and years.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calendar {
    /// Julian up to 4 October 1582, Gregorian from 15 October on, the day after.
    Mixed,
    /// Gregorian at all times.
    Gregorian,
    /// Every fourth year is a leap year.
    Julian,
    /// 365 days in every year.
    NoLeap,
    /// 366 days in every year.
    AllLeap,
    /// Twelve months of 30 days.
    Days360,
}

/// A moment of a calendar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moment {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    /// Hours of the day, with their fractions.
    pub(super) hour: f64,
}

/// The days before each month of a year with 365 days.
const BEFORE_MONTH: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// The most days from 1970 of a date.
const FARTHEST: f64 = 1e9;

impl Calendar {
    /// Returns the calendar of a `calendar` attribute, which may be abbreviated as in ncdump; `None` for a calendar
    /// without years.
    pub(super) fn named(name: &str) -> Option<Self> {
        const NAMES: [(&str, Calendar); 11] = [
            ("gregorian", Calendar::Mixed),
            ("standard", Calendar::Mixed),
            ("proleptic_gregorian", Calendar::Gregorian),
            ("noleap", Calendar::NoLeap),
            ("no_leap", Calendar::NoLeap),
            ("365_day", Calendar::NoLeap),
            ("allleap", Calendar::AllLeap),
            ("all_leap", Calendar::AllLeap),
            ("366_day", Calendar::AllLeap),
            ("360_day", Calendar::Days360),
            ("julian", Calendar::Julian),
        ];
        let begins = |full: &&(&str, Self)| {
            full.0.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        match NAMES.iter().find(begins) {
            Some((_, calendar)) => Some(*calendar),
            None if name.eq_ignore_ascii_case("none") => None,
            None => Some(Self::Mixed),
        }
    }

    fn is_leap(self, year: i64) -> bool {
        match self {
            Self::Gregorian | Self::Mixed => year % 4 == 0 && (year % 100 != 0 || year % 400 == 0),
            Self::Julian => year % 4 == 0,
            Self::AllLeap => true,
            Self::NoLeap | Self::Days360 => false,
        }
    }

    /// Days from the start of the year 0 to that of this year.
    fn days_before(self, year: i64) -> i64 {
        let multiples = |of: i64| (year - 1).div_euclid(of) + 1;
        match self {
            Self::Gregorian | Self::Mixed => 365 * year + multiples(4) - multiples(100) + multiples(400),
            Self::Julian => 365 * year + multiples(4),
            Self::NoLeap => 365 * year,
            Self::AllLeap => 366 * year,
            Self::Days360 => 360 * year,
        }
    }

    /// Days from the start of 1970 to a date. A day that the month does not have counts into the next one; a month that
    /// does not exist is the first. In the mixed calendar, dates are Gregorian here.
    ///
    /// ```
    /// use ncz_cdl::Calendar;
    ///
    /// assert_eq!(Calendar::Gregorian.days(2000, 3, 1), 11_017);
    /// assert_eq!(Calendar::NoLeap.days(2000, 3, 1), 30 * 365 + 59);
    /// ```
    #[must_use]
    pub fn days(self, year: i64, month: i64, day: i64) -> i64 {
        let month = if (1..=12).contains(&month) { month } else { 1 };
        let before = match self {
            Self::Days360 => 30 * (month - 1),
            _ => {
                let leap_day = i64::from(self.is_leap(year) && month > 2);
                BEFORE_MONTH.get(month.unsigned_abs() as usize - 1).copied().unwrap_or(0) + leap_day
            }
        };
        self.days_before(year) - self.days_before(1970) + before + day - 1
    }

    /// Hours from the start of 1970 to a moment, in the same way.
    pub(super) fn hours(self, moment: Moment) -> f64 {
        self.days(moment.year, moment.month, moment.day) as f64 * 24. + moment.hour
    }

    /// The moment this many hours from the start of 1970; `None` if that is too far away.
    pub(super) fn moment(self, hours: f64) -> Option<Moment> {
        let mut whole = (hours / 24.).floor();
        if whole.is_nan() || whole.abs() > FARTHEST {
            return None;
        }
        let mut hour = hours - whole * 24.;
        if hour >= 24. {
            whole += 1.;
            hour -= 24.;
        }
        let days = whole as i64 + self.days_before(1970);
        // At or before the year: years after 0 have at most 366 days, years before 0 at least 360.
        let mut year = days.div_euclid(if days < 0 || self == Self::Days360 { 360 } else { 366 });
        while self.days_before(year + 1) <= days {
            // Large steps first: 366 days are more than a year in most calendars.
            year += ((days - self.days_before(year + 1)) / 366).max(1);
        }
        let of_year = days - self.days_before(year);
        let (month, day) = match self {
            Self::Days360 => (of_year / 30 + 1, of_year % 30 + 1),
            _ => {
                let leap = i64::from(self.is_leap(year));
                let start = |month: usize| {
                    BEFORE_MONTH.get(month).copied().unwrap_or(0) + if month > 1 { leap } else { 0 }
                };
                let month = (0..12).rev().find(|month| start(*month) <= of_year).unwrap_or(0);
                (month as i64 + 1, of_year - start(month) + 1)
            }
        };
        Some(Moment { year, month, day, hour })
    }

    /// Returns the moment this many months after another: the start of the first day of that month, or the moment
    /// itself for 0 months.
    pub(super) fn after_months(self, moment: Moment, months: i64) -> Option<Moment> {
        let moment = self.moment(self.hours(moment))?;
        let all = months.checked_add(moment.month - 1)?;
        let start = Moment {
            year: moment.year.checked_add(all.div_euclid(12)).filter(|year| year.abs() < 1_000_000)?,
            month: all.rem_euclid(12) + 1,
            day: 1,
            hour: 0.,
        };
        self.moment(self.hours(start))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Calendar; 5] =
        [Calendar::Gregorian, Calendar::Julian, Calendar::NoLeap, Calendar::AllLeap, Calendar::Days360];

    #[test]
    fn days_are_those_of_the_calendar() {
        let date = |calendar: Calendar, days: f64| {
            let moment = calendar.moment(days * 24.).unwrap();
            (moment.year, moment.month, moment.day)
        };
        assert_eq!(date(Calendar::Gregorian, 0.), (1970, 1, 1));
        assert_eq!(date(Calendar::Gregorian, 11016.), (2000, 2, 29));
        assert_eq!(date(Calendar::Gregorian, -719_528.), (0, 1, 1));
        assert_eq!(date(Calendar::Gregorian, -759_566.), (-110, 5, 19));
        assert_eq!(date(Calendar::NoLeap, 59.), (1970, 3, 1));
        assert_eq!(date(Calendar::AllLeap, 59.), (1970, 2, 29));
        assert_eq!(date(Calendar::Days360, 59.), (1970, 2, 30));
        assert_eq!(date(Calendar::Julian, 59. + 2. * 365.), (1972, 2, 29));
        assert_eq!(Calendar::Gregorian.moment(f64::NAN), None);
        assert_eq!(Calendar::Gregorian.moment(1e300), None);
    }

    proptest! {
        #[test]
        fn a_moment_and_its_hours_are_the_same(days in -3_000_000i64..3_000_000) {
            for calendar in ALL {
                let moment = calendar.moment(days as f64 * 24. + 7.).unwrap();
                prop_assert!((1..=12).contains(&moment.month) && (1..=31).contains(&moment.day), "{moment:?}");
                prop_assert_eq!(calendar.hours(moment), days as f64 * 24. + 7.);
            }
        }
    }
}
