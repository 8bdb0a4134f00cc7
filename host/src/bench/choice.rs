//! The chains to recommend.

use std::str::FromStr;

use super::{BenchReport, Trial};

/// What a chain is chosen by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rank {
    /// The fewest stored bytes.
    Size,
    /// The fastest decoding.
    Speed,
    /// Both, and the speed of encoding.
    #[default]
    Balanced,
}

impl Rank {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Speed => "speed",
            Self::Balanced => "balanced",
        }
    }
}

impl FromStr for Rank {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Size, Self::Speed, Self::Balanced]
            .into_iter()
            .find(|rank| rank.name() == text)
            .ok_or_else(|| format!("expected size, speed or balanced, got {text:?}"))
    }
}

/// The ratio that a chain must reach to be recommended: below it the time to decode costs more than the bytes.
pub const WORTH: f64 = 1.05;

impl BenchReport {
    /// The chains that the [reader](Self::reader) of the dataset reads and that make the sample [`WORTH`] times
    /// smaller. If there are none, no codec helps, and nothing is recommended.
    #[must_use]
    pub fn recommendable(&self) -> Vec<&Trial> {
        let is_worth = |trial: &&Trial| trial.unread.is_none() && trial.ratio(&self.sample) >= WORTH;
        self.trials.iter().filter(is_worth).collect()
    }

    /// The [recommendable](Self::recommendable) chain that is best by this measure.
    #[must_use]
    pub fn choice(&self, rank: Rank) -> Option<&Trial> {
        match rank {
            Rank::Size => self.best_ratio(),
            Rank::Speed => self.fastest_decode(),
            Rank::Balanced => self.balanced(),
        }
    }

    /// The [recommendable](Self::recommendable) chain with the fewest stored bytes; of equal ones that with the fastest
    /// decoding.
    #[must_use]
    pub fn best_ratio(&self) -> Option<&Trial> {
        let trials = self.recommendable();
        trials.into_iter().min_by(|a, b| a.stored.cmp(&b.stored).then(b.decode.total_cmp(&a.decode)))
    }

    /// The [recommendable](Self::recommendable) chain that decodes fastest.
    #[must_use]
    pub fn fastest_decode(&self) -> Option<&Trial> {
        self.recommendable().into_iter().max_by(|a, b| a.decode.total_cmp(&b.decode))
    }

    /// The [recommendable](Self::recommendable) chain that is nearest to the best ratio, the fastest encoding and the
    /// fastest decoding at the same time, each on a logarithmic scale from the worst to the best. If the chain that the
    /// variable has now is recommendable, it is one that stores no more bytes.
    #[must_use]
    pub fn balanced(&self) -> Option<&Trial> {
        let mut trials = self.recommendable();
        if let Some(now) = trials.iter().find(|trial| trial.present).map(|trial| trial.stored) {
            trials.retain(|trial| trial.stored <= now);
        }
        let scale = |value: fn(&Self, &Trial) -> f64| {
            let logs = trials.iter().map(|trial| value(self, trial).ln());
            let (low, high) = logs
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| (low.min(log), high.max(log)));
            move |trial: &Trial| match high - low {
                range if range > 0.0 => (high - value(self, trial).ln()) / range,
                _ => 0.0,
            }
        };
        let ratio = scale(|report, trial| trial.ratio(&report.sample));
        let encode = scale(|_, trial| trial.encode);
        let decode = scale(|_, trial| trial.decode);
        let distance = |trial: &Trial| {
            [ratio(trial), encode(trial), decode(trial)].iter().map(|short| short * short).sum::<f64>()
        };
        trials.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}
