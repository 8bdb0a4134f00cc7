//! Configurations that are worth a try.

use ncz_codec::{Dtype, Kind};
use serde_json::{Map, Value};

use crate::outcome::Ending;
use crate::profile;
use crate::trial::Trial;

use super::json::{JsonFace, Taken};
use super::numcodecs;

/// Configurations that the face takes, the most ordinary one first, each once.
///
/// # Errors
/// `Skipped` if there is none; `Failed` if an answer cannot be used.
pub(super) fn taken(trial: &mut Trial, face: &JsonFace) -> Result<Vec<Taken>, Ending> {
    let mut all: Vec<Taken> = Vec::new();
    let mut add = |taken: Taken| {
        if !all.iter().any(|other| other.is(&taken)) {
            all.push(taken);
        }
    };
    for config in configs(face) {
        trial.step(format!("{face}: JSON {}", Value::Object(config.clone())));
        face.take_config(&config)?.into_iter().for_each(&mut add);
    }
    for words in words(trial, face) {
        trial.step(format!("{face}: words {words:?}"));
        face.of_words(&words)?.into_iter().for_each(&mut add);
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

fn configs(face: &JsonFace) -> Vec<Map<String, Value>> {
    let mut configs = Vec::new();
    if !face.is_v3() {
        configs.extend(numcodecs::known(&face.names()).into_iter().flat_map(|keys| keys.examples()));
    }
    configs.push(Map::new());
    configs
}

/// Words as users give them, for a filter that is known.
fn words(trial: &Trial, face: &JsonFace) -> Vec<Vec<u32>> {
    let mut words = vec![Vec::new()];
    let Some(id) = face.filter_id() else { return words };
    let given = trial.settings().params.iter().filter(|(of, _)| *of == id).map(|(_, words)| words.clone());
    words.extend(given);
    let known = profile::of(id, Dtype::little(Kind::Float, 4), &[16, 16]);
    if let Some(Ok(sets)) = known {
        words.extend(sets.into_iter().map(|set| set.given));
    }
    words
}
