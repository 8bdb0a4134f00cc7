//! An NCZarr codec and a native codec as one: JSON in, parameters and JSON out.

use std::fmt;

use ncz_codec::{AnyConfig, CodecError, CodecType, Dialect, ErrorKind, wire};
use ncz_registry::load::{NativeCodec, NczarrCodec};
use serde_json::{Map, Value};

use crate::outcome::Ending;
use crate::trial::Trial;

/// Something that reads and writes JSON.
#[derive(Debug, Clone)]
pub(super) enum JsonFace {
    /// The functions of an NCZarr codec; the codec's id is part of its JSON.
    Half(NczarrCodec),
    /// A native codec in one dialect; its JSON is without the codec's name.
    Native(NativeCodec, Dialect),
}

/// The result for accepted JSON or words.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    /// The parameter words, if there are any for this.
    pub(super) words: Option<Vec<u32>>,
    /// The JSON written for it, without the codec's id; `None` if there is none.
    pub(super) json: Option<Map<String, Value>>,
    /// The text as it was written.
    pub(super) text: Vec<u8>,
    /// The remarks of a native codec.
    pub(super) notes: Vec<String>,
}

/// Why something was not taken.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    /// The error.
    pub(super) why: String,
    /// The key that it names.
    pub(super) key: Option<String>,
}

impl JsonFace {
    /// Those of the trial's target: an NCZarr codec, or a native codec in each dialect in which it has a name.
    ///
    /// # Errors
    /// `Skipped` if there is none.
    pub(super) fn all(trial: &Trial) -> Result<Vec<Self>, Ending> {
        if let Ok(half) = trial.codec() {
            return Ok(vec![Self::Half(half.clone())]);
        }
        let codec = trial.native()?;
        let faces: Vec<Self> = [Dialect::Numcodecs, Dialect::ZarrV3]
            .into_iter()
            .filter(|&dialect| !codec.info().names(dialect).is_empty())
            .map(|dialect| Self::Native(codec.clone(), dialect))
            .collect();
        match faces.is_empty() {
            true => Err(Ending::skipped("it has no name in JSON")),
            false => Ok(faces),
        }
    }

    /// The names that it has in JSON.
    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Self::Half(half) => vec![half.codec_id().to_owned()],
            Self::Native(codec, dialect) => codec.info().names(*dialect).iter().map(str::to_owned).collect(),
        }
    }

    /// Whether its keys are those of Zarr v3.
    pub(super) fn is_v3(&self) -> bool {
        matches!(self, Self::Native(_, Dialect::ZarrV3))
    }

    /// The number of its filter.
    pub(super) fn filter_id(&self) -> Option<u32> {
        match self {
            Self::Half(half) => Some(half.filter_id()),
            Self::Native(codec, _) => codec.info().filter_id,
        }
    }

    /// The text of a configuration, as this face gets it.
    pub(super) fn text_of(&self, config: &Map<String, Value>) -> Vec<u8> {
        let mut whole = Map::new();
        if let Self::Half(half) = self {
            whole.insert("id".to_owned(), half.codec_id().into());
        }
        whole.extend(config.iter().map(|(key, value)| (key.clone(), value.clone())));
        Value::Object(whole).to_string().into_bytes()
    }

    /// Passes a configuration.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(super) fn take_config(&self, config: &Map<String, Value>) -> Result<Result<Taken, Refusal>, Ending> {
        self.take(&self.text_of(config))
    }

    /// Passes a text.
    ///
    /// # Errors
    /// `Failed` if the answer is not one that a host can use: a panic, words that are not there, JSON that is none.
    pub(super) fn take(&self, text: &[u8]) -> Result<Result<Taken, Refusal>, Ending> {
        match self {
            Self::Half(half) => {
                let answer = half.probe_words(text).map_err(no_memory)?;
                if answer.code != 0 {
                    return Ok(Err(Refusal::number("NCZ_codec_to_hdf5", answer.code)));
                }
                if answer.words.len() < answer.count {
                    return Err(Ending::failed(format!(
                        "for {} it reports {} words, and returns a block of {} bytes",
                        shown(text),
                        answer.count,
                        answer.holds
                    )));
                }
                let written = self.of_words(&answer.words)?;
                let (json, text) = written.map_or((None, Vec::new()), |taken| (taken.json, taken.text));
                Ok(Ok(Taken { words: Some(answer.words), json, text, notes: Vec::new() }))
            }
            Self::Native(codec, dialect) => {
                let mut notes = Vec::new();
                match codec.probe_text(*dialect, text, &mut notes) {
                    Ok(config) => Taken::of_config(&*config, *dialect, notes).map(Ok),
                    Err(error) => Refusal::of(&error).map(Err),
                }
            }
        }
    }

    /// Passes parameter words.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(super) fn of_words(&self, words: &[u32]) -> Result<Result<Taken, Refusal>, Ending> {
        match self {
            Self::Half(half) => {
                let answer = half.probe_json(words).map_err(no_memory)?;
                if answer.code != 0 {
                    return Ok(Err(Refusal::number("NCZ_hdf5_to_codec", answer.code)));
                }
                let Some(text) = answer.text.filter(|_| answer.ends) else {
                    return Err(Ending::failed(format!(
                        "for the words {words:?} it reports success and gives no text with an end"
                    )));
                };
                let bad = |what: &str| {
                    Ending::failed(format!("for the words {words:?} it writes {}, {what}", shown(&text)))
                };
                let mut json = wire::parse_object(&text).map_err(|_| bad("which is not a JSON object"))?;
                match json.shift_remove("id") {
                    Some(Value::String(id)) if id == half.codec_id() => {}
                    _ => return Err(bad("which is not of its own id")),
                }
                Ok(Ok(Taken { words: Some(words.to_vec()), json: Some(json), text, notes: Vec::new() }))
            }
            Self::Native(codec, dialect) => match codec.parse_params(words) {
                Ok(config) => Taken::of_config(&*config, *dialect, Vec::new()).map(Ok),
                Err(error) => Refusal::of(&error).map(Err),
            },
        }
    }
}

impl Taken {
    fn of_config(config: &dyn AnyConfig, dialect: Dialect, notes: Vec<String>) -> Result<Self, Ending> {
        let json = sound(config.to_json(dialect))?.ok();
        let words = sound(config.to_params())?.ok();
        let text = json.as_ref().map(|map| Value::Object(map.clone()).to_string().into_bytes());
        Ok(Self { words, json, text: text.unwrap_or_default(), notes })
    }

    /// Whether both are the same configuration.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.words == other.words && self.json == other.json
    }
}

impl Refusal {
    /// Tests whether the error names the key.
    pub(super) fn names(&self, key: &str) -> bool {
        self.key.as_deref() == Some(key) || self.why.contains(key)
    }

    fn number(function: &str, code: i32) -> Self {
        Self { why: format!("{function} returned {code}"), key: None }
    }

    fn of(error: &CodecError) -> Result<Self, Ending> {
        let error = sound(Err::<(), _>(error.clone()))?;
        let Err(error) = error else { return Ok(Self { why: String::new(), key: None }) };
        let key = match error.kind() {
            ErrorKind::Config { key } => Some(key.clone()),
            _ => None,
        };
        Ok(Self { why: error.to_string(), key })
    }
}

impl fmt::Display for JsonFace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Half(_) => f.write_str("NCZarr codec"),
            Self::Native(_, dialect) => write!(f, "{dialect}"),
        }
    }
}

/// A result of a native codec; a panic breaks a rule.
///
/// # Errors
/// `Failed` for a panic.
pub(super) fn sound<T>(result: Result<T, CodecError>) -> Result<Result<T, CodecError>, Ending> {
    match result {
        Err(error) if *error.kind() == ErrorKind::Panicked => Err(Ending::failed(format!("{error}"))),
        other => Ok(other),
    }
}

/// Shortens a text for a message.
pub(super) fn shown(text: &[u8]) -> String {
    const MOST: usize = 120;
    let all = String::from_utf8_lossy(text);
    match all.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}.. ({} bytes)", &all[..end], text.len()),
        None => all.escape_debug().to_string().replace("\\\"", "\""),
    }
}

fn no_memory(error: std::io::Error) -> Ending {
    Ending::skipped(format!("the call cannot be made: {error}"))
}
