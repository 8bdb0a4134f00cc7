//! Medians, ratios and their table.

use std::collections::BTreeMap;
use std::fmt;

use crate::turn::Taken;
use crate::{CHUNK_ROWS, COLUMNS, ROWS};

/// The turns with one codec and one latency.
pub(crate) struct Table {
    codec: String,
    latency: u64,
    steps: u64,
    turns: BTreeMap<(String, String), Vec<Taken>>,
}

impl Table {
    pub(crate) fn new(codec: &str, latency: u64, steps: u64) -> Self {
        Self { codec: codec.to_owned(), latency, steps, turns: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, program: &str, direction: &str, taken: Taken) {
        self.turns.entry((direction.to_owned(), program.to_owned())).or_default().push(taken);
    }

    /// Seconds of a program, in the order of the rounds.
    fn seconds(&self, program: &str, direction: &str) -> Vec<f64> {
        let turns = self.turns.get(&(direction.to_owned(), program.to_owned()));
        turns.into_iter().flatten().map(|taken| taken.seconds).collect()
    }

    /// How many times as long as ncz a program takes, round by round.
    fn ratio(&self, program: &str, direction: &str) -> f64 {
        let ours = self.seconds("ncz", direction);
        median(self.seconds(program, direction).iter().zip(&ours).map(|(theirs, ours)| theirs / ours))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = (self.steps * ROWS * COLUMNS * 4) as f64 / 1e6;
        let chunks = self.steps * ROWS.div_ceil(CHUNK_ROWS);
        writeln!(f, "\n{}, latency {} ms, {chunks} chunks\n", self.codec, self.latency)?;
        writeln!(f, "| op | program | s | MB/s | time / ncz | peak MB | cpu s | service cpu s |")?;
        writeln!(f, "| --- | --- | --- | --- | --- | --- | --- | --- |")?;
        for ((direction, program), turns) in &self.turns {
            let of = |number: fn(&Taken) -> f64| median(turns.iter().map(number));
            let seconds = of(|taken| taken.seconds);
            writeln!(
                f,
                "| {direction} | {program} | {seconds:.3} | {:.0} | {:.2} | {:.0} | {:.2} | {:.2} |",
                megabytes / seconds,
                self.ratio(program, direction),
                of(|taken| taken.peak_megabytes),
                of(|taken| taken.own),
                of(|taken| taken.service),
            )?;
        }
        for direction in ["write", "read"] {
            let rivals = crate::PROGRAMS.iter().filter(|program| **program != "ncz");
            let best = rivals.map(|program| self.ratio(program, direction)).fold(f64::INFINITY, f64::min);
            writeln!(f, "\n{direction}: the best of the others takes {best:.2} times as long as ncz")?;
            if self.latency > 0 {
                let far = median(self.seconds("ncz", direction).into_iter());
                let folder = median(self.seconds("ncz, folder", direction).into_iter());
                let trips = (far - folder) * 1000.0 / self.latency as f64;
                let goal = chunks as f64 / 64.0 + 2.0;
                writeln!(
                    f,
                    "{direction}: {trips:.1} round trips more than in a folder; N / 64 + 2 = {goal:.1}"
                )?;
            }
        }
        Ok(())
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
