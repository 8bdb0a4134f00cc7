//! The results for many damaged streams.

use std::time::Duration;

use serde_json::Value;

use crate::outcome::Ending;
use crate::trial::Trial;

use super::material::{Data, Decoded};

/// A stream may take this many times what the good one takes,
const TIMES_MAX: u32 = 20;
/// and this in addition.
const MORE: Duration = Duration::from_secs(1);
/// The most memory that decoding streams of chunks of 16 KiB may take.
const MEMORY_MAX: u64 = 512 << 20;
/// Memory is looked at after streams that take longer: filling much of it takes its time.
const WORTH_A_LOOK: Duration = Duration::from_millis(10);
/// Multiples of the good stream's time count from here on; below, the clock and the caches are what is measured.
const SHORTEST: Duration = Duration::from_micros(20);

/// The results for many damaged streams.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The number that were decoded.
    pub(super) streams: usize,
    /// The number that were not, because the damage changed nothing.
    pub(super) unchanged: usize,
    /// Those with other data of the right length.
    pub(super) wrong: Seen,
    /// Those with the right data.
    pub(super) same: Seen,
    /// Those with too few data.
    pub(super) short: Seen,
    /// Whether good streams are as long as their chunks, so that a cut one is a good one of fewer data.
    pub(super) keeps_lengths: bool,
    refused: Seen,
    long: Seen,
    /// The longest time, as a multiple of the good stream's.
    slowest: f64,
    /// Memory in use before the first stream.
    memory: u64,
}

/// The count of an observation.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The count.
    pub(super) count: usize,
    /// The first stream with which it was.
    pub(super) first: Option<String>,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self { memory: memory_most().unwrap_or(0), ..Self::default() }
    }

    /// Counts a stream in.
    ///
    /// # Errors
    /// `Failed` if it took too long or too much memory.
    pub(super) fn add(&mut self, name: &str, decoded: &Decoded, clean: Duration) -> Result<(), Ending> {
        self.streams += 1;
        let seen = match decoded.result {
            Data::Refused => &mut self.refused,
            Data::Same => &mut self.same,
            Data::Wrong => &mut self.wrong,
            Data::Short => &mut self.short,
            Data::Long => &mut self.long,
        };
        seen.count += 1;
        seen.first.get_or_insert_with(|| name.to_owned());
        self.slowest = self.slowest.max(decoded.cost.as_secs_f64() / clean.max(SHORTEST).as_secs_f64());
        if decoded.cost > limit(clean) {
            return Err(Ending::failed(format!(
                "{name} took {:.1} s of processor time, the good stream {:.6} s",
                decoded.cost.as_secs_f64(),
                clean.as_secs_f64()
            )));
        }
        if decoded.cost > WORTH_A_LOOK
            && let Some(most) = memory_most()
            && most.saturating_sub(self.memory) > MEMORY_MAX
        {
            return Err(Ending::failed(format!(
                "{name} took {} MiB of memory; its chunk has 16 KiB",
                (most - self.memory) >> 20
            )));
        }
        Ok(())
    }

    /// Notes the figures.
    pub(super) fn tell(&self, trial: &mut Trial) {
        let counts = [
            ("streams", self.streams),
            ("refused", self.refused.count),
            ("wrong", self.wrong.count),
            ("same", self.same.count),
            ("short", self.short.count),
            ("long", self.long.count),
        ];
        for (name, count) in counts {
            trial.figure(name, count);
        }
        trial.figure("slowest x clean", Value::from((self.slowest * 10.0).round() / 10.0));
        if let Some(most) = memory_most() {
            trial.figure("memory MiB", most.saturating_sub(self.memory) >> 20);
        }
    }
}

/// Returns the limit of processor time for a damaged stream, if the good one takes `clean`.
pub(super) fn limit(clean: Duration) -> Duration {
    clean * TIMES_MAX + MORE
}

/// The most memory in bytes that this process ever had in use; `None` if the system does not report it.
fn memory_most() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}
