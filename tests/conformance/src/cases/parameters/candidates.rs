//! Configurations that are worth a try.

use ncz_codec::{Dtype, Kind};
use serde_json::{Map, Value};

use crate::outcome::Ending;
use crate::profile;
use crate::trial::Trial;

use super::json::{JsonFace, Refusal, Taken};
use super::numcodecs;

/// Configurations that the face takes, the most ordinary one first, each once.
///
/// An empty list of parameters is tried only if nothing better is known: two checks test its handling, and the others
/// should not crash because of it.
///
/// # Errors
/// `Skipped` if there is none; `Failed` if an answer cannot be used.
pub(super) fn taken(trial: &mut Trial, face: &JsonFace) -> Result<Vec<Taken>, Ending> {
    let mut all: Vec<Taken> = Vec::new();
    let examples = numcodecs::known(&face.names()).filter(|_| !face.is_v3());
    for config in examples.into_iter().flat_map(|keys| keys.examples()) {
        try_config(trial, face, &config, &mut all)?;
    }
    for words in words(trial, face) {
        try_words(trial, face, &words, &mut all)?;
    }
    if all.is_empty() || matches!(face, JsonFace::Native(..)) {
        try_config(trial, face, &Map::new(), &mut all)?;
        try_words(trial, face, &[], &mut all)?;
    }
    match all.is_empty() {
        true => Err(Ending::skipped(format!("{face}: no configuration is known that it takes"))),
        false => Ok(all),
    }
}

/// The first of [`taken`] for which it writes JSON.
///
/// # Errors
/// As there; `Skipped` if it writes none.
pub(super) fn ordinary(trial: &mut Trial, face: &JsonFace) -> Result<(Taken, Map<String, Value>), Ending> {
    let found = taken(trial, face)?.into_iter().find_map(|taken| {
        let json = taken.json.clone()?;
        Some((taken, json))
    });
    found.ok_or_else(|| Ending::skipped(format!("{face}: it writes no JSON for what it takes")))
}

fn try_config(
    trial: &mut Trial,
    face: &JsonFace,
    config: &Map<String, Value>,
    all: &mut Vec<Taken>,
) -> Result<(), Ending> {
    trial.step(format!("{face}: JSON {}", Value::Object(config.clone())));
    add(all, face.take_config(config)?);
    Ok(())
}

fn try_words(trial: &mut Trial, face: &JsonFace, words: &[u32], all: &mut Vec<Taken>) -> Result<(), Ending> {
    trial.step(format!("{face}: words {words:?}"));
    add(all, face.of_words(words)?);
    Ok(())
}

fn add(all: &mut Vec<Taken>, taken: Result<Taken, Refusal>) {
    if let Ok(taken) = taken
        && !all.iter().any(|other| other.is(&taken))
    {
        all.push(taken);
    }
}

/// Words as users give them, for a filter that is known.
fn words(trial: &Trial, face: &JsonFace) -> Vec<Vec<u32>> {
    let Some(id) = face.filter_id() else { return Vec::new() };
    let given = trial.settings().params.iter().filter(|(of, _)| *of == id).map(|(_, words)| words.clone());
    let mut words: Vec<Vec<u32>> = given.collect();
    if let Some(Ok(sets)) = profile::of(id, Dtype::little(Kind::Float, 4), &[16, 16]) {
        words.extend(sets.into_iter().map(|set| set.given).filter(|given| !given.is_empty()));
    }
    words
}
