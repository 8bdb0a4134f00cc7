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
        self.balanced_on(&self.scale())
    }

    /// The choice on the scale of another report, of which all chains were tried.
    pub(super) fn choice_on(&self, rank: Rank, scale: &Scale) -> Option<&Trial> {
        match rank {
            Rank::Balanced => self.balanced_on(scale),
            _ => self.choice(rank),
        }
    }

    /// The scale of the chains that compete to be the balanced one.
    pub(super) fn scale(&self) -> Scale {
        Scale(self.bounds_of(&self.balanceable()).map(|(low, high)| high - low))
    }

    fn balanced_on(&self, Scale(ranges): &Scale) -> Option<&Trial> {
        let trials = self.balanceable();
        let bounds = self.bounds_of(&trials);
        let distance = |trial: &Trial| {
            let logs = self.logs(trial).into_iter().zip(&bounds).zip(ranges);
            let short =
                logs.filter(|(_, range)| **range > 0.0).map(|((log, (_, high)), range)| (high - log) / range);
            short.map(|short| short * short).sum::<f64>()
        };
        trials.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// The recommendable chains that store no more bytes than the one that the variable has now, if that is one of them.
    fn balanceable(&self) -> Vec<&Trial> {
        let mut trials = self.recommendable();
        if let Some(now) = trials.iter().find(|trial| trial.present).map(|trial| trial.stored) {
            trials.retain(|trial| trial.stored <= now);
        }
        trials
    }

    /// Ratio, speed of encoding and speed of decoding, as logarithms.
    fn logs(&self, trial: &Trial) -> [f64; 3] {
        [trial.ratio(&self.sample), trial.encode, trial.decode].map(f64::ln)
    }

    /// The lowest and the highest of each of these logarithms.
    fn bounds_of(&self, trials: &[&Trial]) -> [(f64, f64); 3] {
        let mut bounds = [(f64::INFINITY, f64::NEG_INFINITY); 3];
        for trial in trials {
            for ((low, high), log) in bounds.iter_mut().zip(self.logs(trial)) {
                (*low, *high) = (low.min(log), high.max(log));
            }
        }
        bounds
    }
}

/// How far apart the worst and the best chain are in ratio, speed of encoding and speed of decoding, as logarithms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale([f64; 3]);
