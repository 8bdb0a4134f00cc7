//! Memory that is not given back.

use std::time::{Duration, Instant};

use ncz_codec::{CodecType, Container, Dialect};
use ncz_registry::load::probe;
use serde_json::{Map, Value};

use crate::check::Target;
use crate::coding::Face;
use crate::outcome::Ending;
use crate::sample::{Content, Sample};
use crate::trial::Trial;

use super::super::threads::texts;

/// Rounds whose growth counts. Caches stop growing before.
const ROUNDS: usize = 6;
const WARM_UP: usize = 3;
/// The fewest calls in a round, and the longest that a round takes at will at levels up to 5, and at higher ones.
const CALLS_MIN: usize = 8;
const ROUND: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(15)];

pub(super) fn leak(trial: &mut Trial) -> Result<(), Ending> {
    if probe::heap_in_use().is_none() {
        return Err(Ending::skipped("this C library does not report how much memory is in use"));
    }
    match trial.target() {
        Target::Codec(_) => conversions(trial),
        Target::Native(_) => {
            configurations(trial)?;
            chunks(trial)
        }
        _ => chunks(trial),
    }
}

fn chunks(trial: &mut Trial) -> Result<(), Ending> {
    let (sample, coding) = trial.usual(4096, Content::Smooth)?;
    let (large, _) = trial.usual(66_000, Content::Runs)?;
    trial.step(format_args!("encoding {}", sample.name()));
    let stream = coding
        .encode(&sample.bytes)
        .map_err(|error| Ending::failed(format!("{} is refused: {error}", sample.name())))?;
    let large_coding = trial.coding(&large)?;
    repeat(trial, "encoding and decoding", || {
        for (coding, sample) in [(&coding, &sample), (&large_coding, &large)] {
            if let Ok(stream) = coding.encode(&sample.bytes) {
                let _ = coding.decode(&stream, sample.bytes.len());
            }
        }
    })?;
    let mut damaged = stream.clone();
    let head = damaged.len().min(24);
    damaged[..head].fill(0xff);
    let garbage = Sample::new(sample.dtype, &[64], Content::Noise, 5).bytes;
    repeat(trial, "decoding random bytes and a stream whose head is overwritten", || {
        let _ = coding.decode(&garbage, sample.bytes.len());
        let _ = coding.decode(&damaged, sample.bytes.len());
    })?;
    if let Face::Native(_) = coding.face {
        let half = stream.len() / 2;
        repeat(trial, "decoding half a stream", || {
            let _ = coding.decode(&stream[..half], sample.bytes.len());
        })?;
    }
    Ok(())
}

/// Configurations, coders and scratches of a native codec, and texts that it refuses.
fn configurations(trial: &mut Trial) -> Result<(), Ending> {
    let (sample, _) = trial.usual(4096, Content::Smooth)?;
    let codec = trial.native()?.clone();
    let (repr, env) = (sample.repr(), sample.env(Container::NczarrV2));
    let bad: Map<String, Value> =
        [("no such key".to_owned(), Value::from("x".repeat(500)))].into_iter().collect();
    repeat(trial, "making configurations, coders and scratches", || {
        let by_json = codec.parse_json(Dialect::Numcodecs, &Map::new(), &mut Vec::new());
        for config in [by_json, codec.parse_params(&[]), codec.parse_params(&[5])].into_iter().flatten() {
            let _ = (config.to_json(Dialect::Numcodecs), config.to_json(Dialect::ZarrV3), config.to_params());
            if let Ok(stage) = config.bind(&repr, &env) {
                drop(stage.coder.scratch());
                let _ = codec.coder(&stage.working);
            }
        }
    })?;
    repeat(trial, "refusing configurations", || {
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            let _ = codec.parse_json(dialect, &bad, &mut Vec::new());
            let _ = codec.probe_text(dialect, b"{\"level\": [1, 2, {\"a\": \"b\"", &mut Vec::new());
        }
        let _ = codec.parse_params(&[u32::MAX; 40]);
        let _ = codec.coder(&[u32::MAX; 40]);
    })
}

/// Conversions of an NCZarr codec.
fn conversions(trial: &mut Trial) -> Result<(), Ending> {
    let half = trial.codec()?.clone();
    let good = texts(half.codec_id());
    repeat(trial, "converting JSON", || {
        for text in &good {
            if let Ok(answer) = half.probe_words(text.as_bytes()) {
                let _ = half.probe_json(&answer.words);
            }
        }
    })?;
    let bad: Vec<&str> = good.iter().map(|text| &text[..text.len() / 2]).collect();
    repeat(trial, "converting JSON that is cut", || {
        for text in &bad {
            let _ = half.probe_words(text.as_bytes());
        }
    })
}

/// Makes the calls in rounds. A heap that grows in each of the last rounds, by the size of a smallest block for every
/// few calls, is not that of a cache.
fn repeat(trial: &mut Trial, what: &str, mut calls: impl FnMut()) -> Result<(), Ending> {
    trial.step(format_args!("{what}, again and again"));
    let began = Instant::now();
    for _ in 0..CALLS_MIN {
        calls();
    }
    let each = began.elapsed() / CALLS_MIN as u32;
    let count = (ROUND[usize::from(trial.level() > 5)].as_nanos() / each.as_nanos().max(1))
        .clamp(CALLS_MIN as u128, trial.times(200) as u128 + 20) as usize;
    let mut sizes = Vec::with_capacity(ROUNDS + 1);
    for round in 0..WARM_UP + ROUNDS {
        for _ in 0..count {
            calls();
        }
        if round + 1 >= WARM_UP {
            sizes.push(probe::heap_in_use().unwrap_or_default());
        }
    }
    let grown = sizes.last().zip(sizes.first()).map_or(0, |(last, first)| last.saturating_sub(*first));
    let each = grown / (ROUNDS * count);
    if sizes.windows(2).all(|pair| pair[1] > pair[0]) && grown >= ROUNDS * count {
        return Err(Ending::failed(format!(
            "{what}: the heap grew in each of {ROUNDS} rounds of {count} calls, {grown} bytes in all, about {each} a call"
        )));
    }
    Ok(())
}
