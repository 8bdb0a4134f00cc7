//! The keys of JSON: known, unknown, missing, and of wrong types.

use serde_json::{Map, Value, json};

use crate::outcome::Ending;
use crate::trial::Trial;

use super::candidates;
use super::json::{JsonFace, Taken, shown};
use super::numcodecs::{self, Keys};
use super::text::UNKNOWN;

pub(super) fn numcodecs_keys(trial: &mut Trial) -> Result<(), Ending> {
    let faces = JsonFace::all(trial)?;
    let face = faces.iter().find(|face| !face.is_v3());
    let face = face.ok_or_else(|| Ending::skipped("it has no name in numcodecs"))?;
    let keys = numcodecs::known(&face.names());
    let keys = keys.ok_or_else(|| Ending::skipped(format!("numcodecs has no codec {:?}", face.names())))?;
    for (number, example) in keys.examples().enumerate() {
        let text = shown(Value::Object(example.clone()).to_string().as_bytes());
        trial.step(format!("{face}: {text}"));
        match face.take_config(&example)? {
            Ok(taken) => written(face, keys, &example, &taken)?,
            Err(refusal) if number == 0 => {
                return Err(Ending::failed(format!(
                    "{face}: it refuses {text}, as {} writes it: {}",
                    keys.of, refusal.why
                )));
            }
            Err(refusal) => trial
                .warn(format!("{face}: it refuses {text}, which is valid in {}: {}", keys.of, refusal.why)),
        }
    }
    Ok(())
}

/// Looks at what is written for an example.
fn written(face: &JsonFace, keys: &Keys, example: &Map<String, Value>, taken: &Taken) -> Result<(), Ending> {
    let given = shown(Value::Object(example.clone()).to_string().as_bytes());
    let bad = |what: String| {
        Ending::failed(format!("{face}: given {given} it writes {}; {what}", shown(&taken.text)))
    };
    let Some(json) = &taken.json else {
        return Err(Ending::failed(format!("{face}: it takes {given} and writes no JSON for it")));
    };
    if let Some(key) = json.keys().find(|key| !keys.has(key)) {
        return Err(bad(format!("{} refuses the key {key:?}, its keys are {}", keys.of, keys.names())));
    }
    for (key, value) in example {
        match json.get(key) {
            Some(written) if same(written, value) => {}
            Some(written @ Value::String(_)) if value.is_number() => {
                return Err(bad(format!(
                    "{} refuses the text {written} at {key:?}, expected a number",
                    keys.of
                )));
            }
            Some(written) => return Err(bad(format!("{key:?} was {value} and is {written} now"))),
            None if keys.default_of(key).is_some_and(|default| same(&default, value)) => {}
            None => return Err(bad(format!("{key:?} was {value} and is lost"))),
        }
    }
    Ok(())
}

pub(super) fn unknown_keys(trial: &mut Trial) -> Result<(), Ending> {
    for face in JsonFace::all(trial)? {
        let (good, mut config) = candidates::ordinary(trial, &face)?;
        config.insert(UNKNOWN.to_owned(), json!({"a": [1, null]}));
        trial.step(format!("{face}: an unknown key"));
        match (face.take_config(&config)?, face.is_v3()) {
            (Ok(_), true) => {
                return Err(Ending::failed(format!(
                    "{face}: an unknown key is accepted; readers of Zarr v3 refuse what they do not know"
                )));
            }
            (Err(refusal), true) if refusal.names(UNKNOWN) => {}
            (Err(refusal), true) => {
                trial.warn(format!("{face}: an unknown key is refused without naming it: {}", refusal.why))
            }
            (Err(refusal), false) => {
                return Err(Ending::failed(format!(
                    "{face}: an unknown key is refused, but other programs write such keys: {}",
                    refusal.why
                )));
            }
            (Ok(taken), false) if !taken.is(&good) => {
                return Err(Ending::failed(format!(
                    "{face}: an unknown key changes the words from {:?} to {:?}",
                    good.words, taken.words
                )));
            }
            (Ok(taken), false) => {
                if matches!(face, JsonFace::Native(..)) && taken.notes.len() <= good.notes.len() {
                    trial.warn(format!("{face}: an unknown key is passed over without a note"));
                }
            }
        }
    }
    Ok(())
}

pub(super) fn missing_keys(trial: &mut Trial) -> Result<(), Ending> {
    let mut seen = 0;
    for face in JsonFace::all(trial)? {
        let (_, whole) = candidates::ordinary(trial, &face)?;
        let keys = numcodecs::known(&face.names()).filter(|_| !face.is_v3());
        for key in whole.keys() {
            let mut config = whole.clone();
            config.shift_remove(key);
            trial.step(format!("{face}: without {key}"));
            seen += 1;
            match face.take_config(&config)? {
                Ok(taken) => without(trial, &face, keys, key, &taken),
                Err(refusal) => {
                    if matches!(face, JsonFace::Native(..)) && !refusal.names(key) {
                        trial.warn(format!(
                            "{face}: without {key:?} it refuses, and does not name the key: {}",
                            refusal.why
                        ));
                    }
                }
            }
        }
        trial.step(format!("{face}: without any key"));
        let _ = face.take_config(&Map::new())?;
    }
    trial.figure("keys", seen);
    Ok(())
}

/// Checks the default of a missing key.
fn without(trial: &mut Trial, face: &JsonFace, keys: Option<&Keys>, key: &str, taken: &Taken) {
    let Some(keys) = keys else { return };
    let now = taken.json.as_ref().and_then(|json| json.get(key));
    if keys.needs(key) {
        trial.warn(format!("{face}: {} has no default for {key:?}; it is taken as {now:?}", keys.of));
    } else if let (Some(now), Some(default)) = (now, keys.default_of(key))
        && !same(now, &default)
    {
        trial.warn(format!("{face}: without {key:?} it takes {now}, where {} takes {default}", keys.of));
    }
}

pub(super) fn wrong_types(trial: &mut Trial) -> Result<(), Ending> {
    let mut seen = 0;
    for face in JsonFace::all(trial)? {
        let (_, whole) = candidates::ordinary(trial, &face)?;
        for (key, good) in &whole {
            for (value, is_wrong) in values(good) {
                let mut config = whole.clone();
                config.insert(key.clone(), value.clone());
                let text = shown(value.to_string().as_bytes());
                trial.step(format!("{face}: {key} is {text}"));
                seen += 1;
                let Ok(taken) = face.take_config(&config)? else { continue };
                if is_wrong {
                    return Err(Ending::failed(format!(
                        "{face}: {text} at {key:?} is taken, as {}",
                        shown(&taken.text)
                    )));
                }
                // A number beyond all words that becomes another one is a configuration that was not requested.
                let now = taken.json.as_ref().and_then(|json| json.get(key));
                if let (Value::Number(given), Some(Value::Number(now))) = (&value, now)
                    && given.as_f64().is_some_and(|given| given.abs() > 1e9)
                    && given != now
                    && !(now.is_f64() && now.as_f64() == given.as_f64())
                    && taken.notes.is_empty()
                {
                    return Err(Ending::failed(format!("{face}: {given} at {key:?} is taken as {now}")));
                }
            }
        }
        if let JsonFace::Half(_) = face {
            for text in ["{}", "{\"id\": 4}", "{\"id\": null}", "{\"id\": [\"x\"]}"] {
                trial.step(format!("{face}: {text}"));
                seen += 1;
                // A caller that looks up the codec by its id has read it; a codec that accepts any is not wrong.
                let _ = face.take(text.as_bytes())?;
            }
        }
    }
    trial.figure("values", seen);
    match seen {
        0 => Err(Ending::skipped("it has no keys")),
        _ => Ok(()),
    }
}

/// Replacements for a good value, and whether accepting them is wrong.
fn values(good: &Value) -> Vec<(Value, bool)> {
    let number = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    let mut values = vec![
        (Value::Null, false),
        (number("1.5"), false),
        (number("-1"), false),
        (number("1e400"), false),
        (number("1000000000000000000"), false),
        (number("-1000000000000000000"), false),
        (number("99999999999999999999999999"), false),
        (json!(""), good.is_number()),
    ];
    if !good.is_null() {
        values.extend([
            (json!({}), !good.is_object()),
            (json!({"a": 1}), !good.is_object()),
            (json!([]), !good.is_array()),
            (json!([1]), !good.is_array()),
            (json!("ncz conform"), true),
            (json!("x".repeat(5000)), true),
        ]);
    }
    match good {
        // Python's booleans are numbers.
        Value::Number(_) => values.extend([(json!(true), false), (json!("1x"), true), (json!("4"), false)]),
        Value::String(_) => values.extend([(json!(7), true), (json!(true), true)]),
        Value::Bool(_) => values.extend([(json!(7), true), (json!("true"), true)]),
        _ => {}
    }
    values
}

/// Whether both are the same value: 1 and 1.0 are.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}
