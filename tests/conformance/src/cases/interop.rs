//! Streams that other programs wrote.

mod streams;

use ncz_codec::{CodecType, Container, Dialect};
use serde_json::Value;

use crate::check::{Check, Scope, Target};
use crate::coding::{Coding, Face};
use crate::outcome::Ending;
use crate::profile::Fidelity;
use crate::sample::{Content, Sample};
use crate::trial::Trial;
use ncz_registry::load::probe::Host;
use streams::Parameters;
pub(super) use streams::Stream;

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "interop.reads",
        level: 2,
        scope: Scope::Coding,
        about: "reads the streams that HDF5 and numcodecs wrote with the filter of its id, or the codec of its name",
        run: reads,
    },
    Check {
        id: "interop.writes",
        level: 3,
        scope: Scope::Coding,
        about: "encodes the data that HDF5 and numcodecs encoded; figures show whether to the same bytes",
        run: writes,
    },
];

/// The stored streams of just that filter.
///
/// # Errors
/// This program's own data are broken.
pub(super) fn cases_of(id: u32) -> Result<Vec<Stream>, Ending> {
    streams::of_filter(id).map_err(broken)
}

fn broken(error: streams::BrokenFixture) -> Ending {
    Ending::skipped(format!("the stored streams are broken: {error}"))
}

/// The stored streams for the target.
fn streams_for(trial: &Trial) -> Result<Vec<Stream>, Ending> {
    let mut all = Vec::new();
    let mut names = Vec::new();
    let id = match trial.target() {
        Target::Hdf5(id) => Some(*id),
        Target::Native(_) => {
            let info = trial.native()?.info();
            all.extend(streams::of_numcodecs(&info.numcodecs).map_err(broken)?);
            all.extend(streams::of_zarr_v3(&info.zarr_v3).map_err(broken)?);
            names.extend(info.numcodecs.iter().chain(info.zarr_v3.iter()).map(str::to_owned));
            info.filter_id
        }
        _ => None,
    };
    if let Some(id) = id {
        all.splice(0..0, cases_of(id)?);
    }
    if all.is_empty() {
        let what = id.map_or_else(|| names.join(", "), |id| format!("filter {id}"));
        return Err(Ending::skipped(format!("there are no stored streams of {what}")));
    }
    Ok(all)
}

impl Stream {
    /// The filter with the parameters of the stream.
    ///
    /// # Errors
    /// The target is not a filter, or the stream is none of a filter.
    pub(super) fn filter_coding(&self, trial: &Trial) -> Result<Coding, Ending> {
        let Parameters::Words(words) = &self.parameters else {
            return Err(Ending::skipped("the stream says nothing of cd_values"));
        };
        Ok(self.coding(
            format!("cd_values {words:?}"),
            Face::Filter(trial.hdf5()?.clone(), words.clone()),
            false,
        ))
    }

    /// The native codec with the parameters of the stream.
    fn native_coding(&self, trial: &Trial) -> Result<Coding, Ending> {
        let codec = trial.native()?;
        let refused = |error: ncz_codec::CodecError| {
            Ending::failed(format!("refuses the parameters of {} ({}): {error}", self.name, self.writer))
        };
        let (name, coder) = match &self.parameters {
            Parameters::Words(words) => {
                (format!("working words {words:?}"), codec.coder(words).map_err(refused)?)
            }
            Parameters::Json(dialect, config) => {
                // The fixtures of numcodecs are for Zarr v2.
                let container = match dialect {
                    Dialect::ZarrV3 => Container::ZarrV3,
                    Dialect::Numcodecs => Container::ZarrV2,
                };
                let parsed = codec.parse_json(*dialect, config, &mut Vec::new()).map_err(refused)?;
                let sample = Sample {
                    dtype: self.dtype,
                    shape: self.shape.clone(),
                    content: Content::Smooth,
                    bytes: self.raw.clone(),
                };
                let bound = parsed.bind(&sample.repr(), &sample.env(container)).map_err(refused)?;
                (Value::Object(config.clone()).to_string(), bound.coder)
            }
        };
        Ok(self.coding(name, Face::Native(coder), true))
    }

    fn coding(&self, name: String, face: Face, concurrent: bool) -> Coding {
        let fidelity = if self.lossy { Fidelity::Lossy } else { Fidelity::Exact };
        Coding { face, name, fidelity, concurrent, host: Host::Malloc }
    }

    fn coding_of(&self, trial: &Trial) -> Result<Coding, Ending> {
        match trial.target() {
            Target::Hdf5(_) => self.filter_coding(trial),
            _ => self.native_coding(trial),
        }
    }

    /// Its name with its writer, for messages.
    fn title(&self) -> String {
        format!("the stream {} of {}", self.name, self.writer)
    }
}

fn reads(trial: &mut Trial) -> Result<(), Ending> {
    let streams = streams_for(trial)?;
    trial.figure("streams", streams.len());
    let mut wrong = Vec::new();
    let mut other_digits = Vec::new();
    for stream in &streams {
        trial.step(format!("decoding {}", stream.title()));
        let coding = stream.coding_of(trial)?;
        match coding.decode(&stream.encoded, stream.raw.len()) {
            Err(refused) => wrong.push(format!("{}, {}: {refused}", stream.title(), coding.name)),
            Ok(decoded) if decoded == stream.raw => {}
            Ok(decoded) if decoded.len() != stream.raw.len() => wrong.push(format!(
                "{}, {}: {} bytes come out, not {}",
                stream.title(),
                coding.name,
                decoded.len(),
                stream.raw.len()
            )),
            Ok(_) if stream.lossy => other_digits.push(stream.name.clone()),
            Ok(decoded) => {
                let at = decoded.iter().zip(&stream.raw).take_while(|(ours, theirs)| ours == theirs).count();
                wrong.push(format!("{}, {}: other data from byte {at} on", stream.title(), coding.name));
            }
        }
    }
    if let Some(first) = wrong.first() {
        return Err(Ending::failed(format!(
            "{} of {} stored streams are read wrongly: {first}",
            wrong.len(),
            streams.len()
        )));
    }
    if !other_digits.is_empty() {
        trial.warn(format!(
            "decodes with other digits than the library that wrote them: {}",
            other_digits.join(", ")
        ));
    }
    Ok(())
}

fn writes(trial: &mut Trial) -> Result<(), Ending> {
    // Data that have already lost digits may lose others.
    let streams: Vec<Stream> = streams_for(trial)?.into_iter().filter(|stream| !stream.lossy).collect();
    let (mut same, mut other, mut sizes) = (0, Vec::new(), (0, 0));
    let mut refused = Vec::new();
    for stream in &streams {
        trial.step(format!("encoding what {} holds", stream.title()));
        let coding = stream.coding_of(trial)?;
        match coding.encode(&stream.raw) {
            Ok(encoded) if encoded == stream.encoded => same += 1,
            Ok(encoded) => {
                sizes = (sizes.0 + encoded.len(), sizes.1 + stream.encoded.len());
                other.push((stream, coding, encoded));
            }
            Err(error) => refused.push(format!("{}, {}: {error}", stream.name, coding.name)),
        }
    }
    trial.figure("streams", streams.len());
    trial.figure("same stream", if same == streams.len() { "yes" } else { "no" });
    trial.figure("same streams", same);
    if sizes.1 > 0 {
        trial.figure("length of the others", format!("{:.2} of the stored", sizes.0 as f64 / sizes.1 as f64));
    }
    if let Some(first) = refused.first() {
        trial.warn(format!(
            "does not encode {} of {} chunks that were encoded with these parameters: {first}",
            refused.len(),
            streams.len()
        ));
    }
    for (stream, coding, encoded) in other {
        trial.step(format!("decoding what it wrote of {}", stream.title()));
        let decoded = coding.decode(&encoded, stream.raw.len());
        if !decoded.as_ref().is_ok_and(|decoded| *decoded == stream.raw) {
            trial.warn(format!("what it writes of {} it does not read itself", stream.title()));
        }
    }
    Ok(())
}
