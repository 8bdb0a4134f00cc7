//! JSON as text: what is written, what is broken, long or deep.

use std::time::Duration;

use ncz_codec::wire;
use serde_json::{Map, Value};

use crate::outcome::Ending;
use crate::trial::Trial;

use super::candidates;
use super::json::{JsonFace, Refusal, Taken, shown};

/// The processor time limit for reading a megabyte of JSON.
const LIMIT: Duration = Duration::from_secs(10);
const LONG: usize = 1 << 20;
const DEEP: usize = 10_000;
/// A key that no codec has.
pub(super) const UNKNOWN: &str = "ncz_conform_unknown";

pub(super) fn json_identity(trial: &mut Trial) -> Result<(), Ending> {
    let mut seen = 0;
    for face in JsonFace::all(trial)? {
        for first in candidates::taken(trial, &face)? {
            // What Zarr v3 cannot express, say.
            let Some(json) = &first.json else { continue };
            trial.step(format!("{face}: its own {}", shown(&first.text)));
            let again = match face.take_config(json)? {
                Ok(again) => again,
                Err(refusal) => {
                    return Err(Ending::failed(format!(
                        "{face}: it writes {} and does not take it: {}",
                        shown(&first.text),
                        refusal.why
                    )));
                }
            };
            if again.text != first.text {
                return Err(Ending::failed(format!(
                    "{face}: it writes {}, and {} when given that",
                    shown(&first.text),
                    shown(&again.text)
                )));
            }
            seen += 1;
        }
    }
    trial.figure("configurations", seen);
    match seen {
        0 => Err(Ending::skipped("it writes no JSON for any configuration that is known here")),
        _ => Ok(()),
    }
}

pub(super) fn json_id(trial: &mut Trial) -> Result<(), Ending> {
    let face = JsonFace::Half(trial.codec()?.clone());
    let mut seen = 0;
    // An object of the right id is what `Taken` means.
    for taken in candidates::taken(trial, &face)?.iter().filter(|taken| taken.json.is_some()) {
        let whole = wire::parse_object(&taken.text).unwrap_or_default();
        if whole.keys().next().is_some_and(|key| key != "id") {
            trial.warn(format!("the id is not the first member of {}", shown(&taken.text)));
            break;
        }
        seen += 1;
    }
    trial.figure("texts", seen);
    Ok(())
}

pub(super) fn broken_json(trial: &mut Trial) -> Result<(), Ending> {
    for face in JsonFace::all(trial)? {
        let (good, json) = candidates::ordinary(trial, &face)?;
        let text = face.text_of(&json);
        let mut loose = Vec::new();
        let cuts = (0..text.len()).map(|cut| ("cut JSON", text[..cut].to_vec()));
        let others = ["null", "true", "4", "\"id\"", "[]", "[{}]", " ", "{]", "{\"id\"}", "{,}", "id"]
            .map(str::as_bytes);
        let others = others.map(|other| ("text that is not a JSON object", other.to_vec()));
        let zeros = [[&text[..], b"\0"].concat(), [b"\0", &text[..]].concat()];
        let zeros = zeros.map(|text| ("JSON with a zero byte", text));
        let is_native = matches!(face, JsonFace::Native(..));
        for (what, text) in cuts.chain(others).chain(zeros.into_iter().filter(|_| is_native)) {
            if !refused(trial, &face, &text, what)? && !loose.contains(&what) {
                loose.push(what);
            }
        }
        let member = |value: &[u8]| with_member(&text, value);
        let sloppy: [(&str, Vec<u8>); 8] = [
            ("text after the JSON", [&text[..], b" x"].concat()),
            ("two JSON objects", [&text[..], &text[..]].concat()),
            ("text in single quotes", member(b"'x'")),
            ("bytes that are not UTF-8", member(b"\"\xff\xfe\"")),
            ("half a surrogate pair", member(b"\"\\ud800\"")),
            ("a control character in a string", member(b"\"\x01\"")),
            ("a number with leading zeros", member(b"007")),
            ("a comma too many", [&text[..text.len() - 1], b",}"].concat()),
        ];
        for (what, text) in &sloppy {
            if same_or_refused(trial, &face, text, what, &good)?.is_none() {
                loose.push(what);
            }
        }
        // A codec without parameters need not read its JSON.
        if !loose.is_empty() && (is_native || !json.is_empty()) {
            trial.warn(format!("{face}: it takes for JSON: {}", loose.join(", ")));
        }
    }
    Ok(())
}

pub(super) fn long_json(trial: &mut Trial) -> Result<(), Ending> {
    for face in JsonFace::all(trial)? {
        let (good, json) = candidates::ordinary(trial, &face)?;
        let text = face.text_of(&json);
        let blanks = [vec![b' '; LONG], text.clone(), vec![b'\n'; LONG]].concat();
        same_or_refused(trial, &face, &blanks, "a megabyte of blanks", &good)?;
        let keys = (0..LONG / 32).map(|number| (format!("{UNKNOWN}{number}"), Value::from("value")));
        let mut many = json.clone();
        many.extend(keys);
        let values = [
            ("a string of a megabyte", Value::from("x".repeat(LONG))),
            ("an array of a megabyte", Value::from(vec![1_000_000_000_000_000_u64; LONG / 17])),
        ];
        same_or_refused(trial, &face, &face.text_of(&many), "a megabyte of keys and values", &good)?;
        for (what, value) in values {
            let mut longer = json.clone();
            longer.insert(UNKNOWN.to_owned(), value.clone());
            same_or_refused(trial, &face, &face.text_of(&longer), what, &good)?;
            // As the value of a key it has a wrong type or is absurd; only survival of the codec is checked.
            for key in json.keys() {
                let mut absurd = json.clone();
                absurd.insert(key.clone(), value.clone());
                let text = face.text_of(&absurd);
                let _ = trial.limited(LIMIT, format!("{face}: {what} at {key}"), || face.take(&text))?;
            }
        }
        let digits = with_member(&text, "9".repeat(LONG).as_bytes());
        same_or_refused(trial, &face, &digits, "a number of a million digits", &good)?;
    }
    Ok(())
}

pub(super) fn deep_json(trial: &mut Trial) -> Result<(), Ending> {
    for face in JsonFace::all(trial)? {
        let (good, json) = candidates::ordinary(trial, &face)?;
        let text = face.text_of(&json);
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let inner = if open == "[" { "" } else { "1" };
            let deep = format!("{}{inner}{}", open.repeat(DEEP), close.repeat(DEEP));
            let nested = with_member(&text, deep.as_bytes());
            let what = format!("{DEEP} levels of {open}");
            same_or_refused(trial, &face, &nested, &what, &good)?;
            let _ = refused(trial, &face, deep.as_bytes(), "JSON that is deep and of no codec")?;
            let _ = refused(trial, &face, open.repeat(DEEP).as_bytes(), "deep JSON without an end")?;
        }
    }
    Ok(())
}

/// Calls everything three times, including calls that fail: freeing memory that is not ours ends the process here.
pub(super) fn ownership(trial: &mut Trial) -> Result<(), Ending> {
    let half = trial.codec()?.clone();
    let face = JsonFace::Half(half.clone());
    let all = candidates::taken(trial, &face)?;
    let memory = |error: std::io::Error| Ending::skipped(format!("the call cannot be made: {error}"));
    for taken in &all {
        let text = face.text_of(taken.json.as_ref().unwrap_or(&Map::new()));
        for _ in 0..3 {
            trial.step(format!("NCZ_codec_to_hdf5 of {}", shown(&text)));
            let answer = half.probe_words(&text).map_err(memory)?;
            if answer.code == 0 && answer.words.len() < answer.count {
                return Err(Ending::failed(format!(
                    "for {} it reports {} words, and returns a block of {} bytes",
                    shown(&text),
                    answer.count,
                    answer.holds
                )));
            }
            let words = taken.words.as_deref().unwrap_or_default();
            trial.step(format!("NCZ_hdf5_to_codec of {words:?}"));
            let answer = half.probe_json(words).map_err(memory)?;
            if answer.code == 0 && !(answer.ends && answer.text.is_some()) {
                return Err(Ending::failed(format!(
                    "for the words {words:?} it reports success and gives no text with an end"
                )));
            }
        }
    }
    // A call that fails leaves nothing, or a block that is ours.
    for text in ["", "{", "[]", "{\"id\": 4}", "{\"id\": \"ncz_conform_unknown\"}"] {
        for _ in 0..3 {
            trial.step(format!("NCZ_codec_to_hdf5 of {text}"));
            half.probe_words(text.as_bytes()).map_err(memory)?;
        }
    }
    trial.step("NCZ_hdf5_to_codec of 200 words");
    half.probe_json(&[u32::MAX; 200]).map_err(memory)?;
    trial.figure("configurations", all.len());
    Ok(())
}

/// The text of an object with an unknown member more, whose value is given as text.
fn with_member(text: &[u8], value: &[u8]) -> Vec<u8> {
    let open = &text[..text.len() - 1];
    let comma: &[u8] = if open.ends_with(b"{") { b"" } else { b"," };
    [open, comma, b"\"", UNKNOWN.as_bytes(), b"\":", value, b"}"].concat()
}

/// Tests whether a text is refused. A native codec must refuse it; an NCZarr codec gets text that its host has parsed
/// and written again, so accepting more than JSON is harmless there.
fn refused(trial: &mut Trial, face: &JsonFace, text: &[u8], what: &str) -> Result<bool, Ending> {
    let result = trial.limited(LIMIT, format!("{face}: {what}: {}", shown(text)), || face.take(text))?;
    match result {
        Ok(taken) if matches!(face, JsonFace::Native(..)) => Err(Ending::failed(format!(
            "{face}: {what} is accepted as a configuration with the words {:?}: {}",
            taken.words.unwrap_or_default(),
            shown(text)
        ))),
        other => Ok(other.is_err()),
    }
}

/// Sees to it that a text means what the good one means, or is refused.
fn same_or_refused(
    trial: &mut Trial,
    face: &JsonFace,
    text: &[u8],
    what: &str,
    good: &Taken,
) -> Result<Option<Refusal>, Ending> {
    let result = trial.limited(LIMIT, format!("{face}: {what}"), || face.take(text))?;
    match result {
        Err(refusal) => Ok(Some(refusal)),
        Ok(taken) if taken.is(good) => Ok(None),
        Ok(taken) => Err(Ending::failed(format!(
            "{face}: with {what} added the same JSON means {:?}, not {:?}",
            taken.words, good.words
        ))),
    }
}
