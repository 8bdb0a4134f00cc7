//! The chains to recommend.

use super::{BenchReport, Trial};

/// What a chain must save to be worth its name: one byte of a hundred.
const WORTH: f64 = 1.01;

impl BenchReport {
    /// The chain with the fewest stored bytes; of equal ones that with the fastest decoding. `None` if none was sound.
    #[must_use]
    pub fn best_ratio(&self) -> Option<&Trial> {
        self.trials.iter().min_by(|a, b| a.stored.cmp(&b.stored).then(b.decode.total_cmp(&a.decode)))
    }

    /// The chain that decodes fastest, of those that save something; if none does, of all.
    #[must_use]
    pub fn fastest_decode(&self) -> Option<&Trial> {
        self.worthy().into_iter().max_by(|a, b| a.decode.total_cmp(&b.decode))
    }

    /// The chain that is nearest to the best ratio, the fastest encoding and the fastest decoding at the same time,
    /// each on a logarithmic scale from the worst to the best; of those that save something, if any does.
    #[must_use]
    pub fn balanced(&self) -> Option<&Trial> {
        let trials = self.worthy();
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

    fn worthy(&self) -> Vec<&Trial> {
        let saves = |trial: &&Trial| trial.ratio(&self.sample) >= WORTH;
        let saving: Vec<&Trial> = self.trials.iter().filter(saves).collect();
        if saving.is_empty() { self.trials.iter().collect() } else { saving }
    }
}
