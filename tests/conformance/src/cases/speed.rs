//! How fast it is: reported, never judged.

use std::time::{Duration, Instant};

use crate::check::{Check, Scope};
use crate::coding::Refused;
use crate::outcome::Ending;
use crate::sample::Content;
use crate::trial::Trial;

/// The chunk.
const LEN: usize = 4 << 20;
/// How long is measured, once at least.
const RUN: Duration = Duration::from_millis(300);

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "speed.encode",
        level: 1,
        scope: Scope::Coding,
        about: "how fast a smooth field of 4 MiB is encoded, and how much smaller it gets",
        run: encode,
    },
    Check {
        id: "speed.decode",
        level: 1,
        scope: Scope::Coding,
        about: "how fast a smooth field of 4 MiB is decoded",
        run: decode,
    },
];

fn encode(trial: &mut Trial) -> Result<(), Ending> {
    let (sample, coding) = trial.usual(LEN, Content::Smooth)?;
    trial.step(format_args!("encoding {}", sample.name()));
    let (rate, stream) = measure(sample.bytes.len(), || coding.encode(&sample.bytes))?;
    trial.figure("encode MB/s", rate);
    trial.figure("ratio", rounded(sample.bytes.len() as f64 / stream as f64, 100.0));
    Ok(())
}

fn decode(trial: &mut Trial) -> Result<(), Ending> {
    let (sample, coding) = trial.usual(LEN, Content::Smooth)?;
    trial.step(format_args!("encoding {}", sample.name()));
    let stream = coding.encode(&sample.bytes).map_err(|error| not_taken(&error))?;
    trial.step(format_args!("decoding {}", sample.name()));
    let (rate, _) = measure(sample.bytes.len(), || coding.decode(&stream, sample.bytes.len()))?;
    trial.figure("decode MB/s", rate);
    Ok(())
}

/// The best of several calls, in millions of bytes of the chunk a second, and the length of the result.
fn measure(len: usize, call: impl Fn() -> Result<Vec<u8>, Refused>) -> Result<(f64, usize), Ending> {
    let began = Instant::now();
    let (mut best, mut result) = (f64::MAX, 0);
    while result == 0 || began.elapsed() < RUN {
        let call_began = Instant::now();
        result = call().map_err(|error| not_taken(&error))?.len().max(1);
        best = best.min(call_began.elapsed().as_secs_f64());
    }
    Ok((rounded(len as f64 / 1e6 / best.max(1e-9), 10.0), result))
}

fn not_taken(error: &Refused) -> Ending {
    Ending::skipped(format!("the chunk is refused: {error}"))
}

/// A number with few digits, as reports show it.
fn rounded(value: f64, steps: f64) -> f64 {
    (value * steps).round() / steps
}
