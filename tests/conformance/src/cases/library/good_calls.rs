//! Good calls of everything that a library offers: what every host does with it.

use ncz_codec::{CodecType, Dialect, Dtype, Kind};
use ncz_registry::load::{JsonTranslator, NczarrCodec};
use serde_json::Map;

use crate::check::Target;
use crate::outcome::Ending;
use crate::profile;
use crate::sample::Content;
use crate::trial::{Progress, Trial};

/// The length of the chunk that is encoded.
const LEN: usize = 12 << 10;

/// A part that does not report its steps: the check itself does.
struct Silent;

impl Progress for Silent {
    fn step(&mut self, _: &str) {}
}

/// Encodes and decodes a chunk with each filter and native codec, and turns ordinary parameters of each NCZarr codec
/// into JSON and back. Answers are not looked at: other checks do. Returns how many calls could be made.
///
/// # Errors
/// The library cannot be opened.
pub(super) fn make(trial: &mut Trial) -> Result<usize, Ending> {
    let targets = trial.subject()?.targets();
    let check = &super::CHECKS[0];
    let mut calls = 0;
    for target in targets {
        trial.step(format!("good calls of {target}"));
        let (path, settings) = (trial.path().to_owned(), trial.settings().clone());
        let part = Trial::new(check, target.clone(), &path, settings, Box::new(Silent));
        calls += match target {
            Target::Library => 0,
            Target::Codec(_) => {
                let half = part.codec()?;
                let words = ordinary_words(&part, half);
                let text = words.as_ref().and_then(|words| half.to_json(words).ok());
                let back = text.as_ref().and_then(|config| half.to_params(config).ok());
                usize::from(text.is_some()) + usize::from(back.is_some())
            }
            Target::Hdf5(_) | Target::Native(_) => round_trips(&part),
        };
    }
    Ok(calls)
}

/// Returns parameters that an NCZarr codec certainly accepts, if they are known. Only unknown codecs are
/// queried for the parameters of an empty configuration: published ones crash on it.
fn ordinary_words(part: &Trial, half: &NczarrCodec) -> Option<Vec<u32>> {
    let id = half.filter_id();
    if let Some((_, words)) = part.settings().params.iter().find(|(of, _)| *of == id) {
        return Some(words.clone());
    }
    if let Some(codec) = part.subject().ok()?.native_of(id) {
        let config = codec
            .parse_params(&[])
            .or_else(|_| codec.parse_json(Dialect::Numcodecs, &Map::new(), &mut Vec::new()));
        return config.ok()?.to_params().ok();
    }
    match profile::of(id, Dtype::little(Kind::Float, 4), &[64, 48]) {
        Some(known) => known.ok()?.into_iter().next().map(|set| set.given),
        None => half.to_params(&Map::new()).ok(),
    }
}

/// Encodes and decodes one chunk.
fn round_trips(part: &Trial) -> usize {
    let Ok((sample, coding)) = part.usual(LEN, Content::Smooth) else { return 0 };
    let Ok(stream) = coding.encode(&sample.bytes) else { return 0 };
    1 + usize::from(coding.decode(&stream, sample.bytes.len()).is_ok())
}
