//! Encodes and decodes chunks, and compares the result.

use std::collections::BTreeSet;

use ncz_codec::{ByteOrder, Kind};

use crate::coding::{Coding, Face, Refused};
use crate::outcome::Ending;
use crate::profile::Fidelity;
use crate::sample::{Content, Sample, dtype_name};
use crate::trial::Trial;

/// Chunks that are encoded and decoded, one after the other.
#[derive(Debug)]
pub(super) struct Trips {
    /// The number of restored chunks.
    pub(super) taken: usize,
    /// The types of restored chunks.
    pub(super) dtypes: BTreeSet<String>,
    judge: Judge,
    refused: Vec<Refusal>,
    not_for: Option<Ending>,
    is_filter_alone: bool,
    /// Chunks whose values were refused, although others of the same type and shape are restored.
    values: usize,
}

/// How to judge chunks that a filter refuses. HDF5 stores a chunk unfiltered if the filter is optional; if a
/// filter has an NCZarr codec, or is not an HDF5 filter, the data cannot be written, and each refusal counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judge {
    /// They are what the check tests.
    Each,
    /// Another check tests them, but some chunk of each type must be accepted.
    EachType,
    /// Another check tests them.
    None,
}

/// A chunk that was refused.
#[derive(Debug)]
struct Refusal {
    dtype: String,
    what: String,
    error: String,
    /// A failure as HDF5 detects it.
    is_plain: bool,
}

impl Trips {
    /// No chunks so far.
    ///
    /// # Errors
    /// The library cannot be opened.
    pub(super) fn new(trial: &Trial, judge: Judge) -> Result<Self, Ending> {
        trial.subject()?;
        let (refused, dtypes) = (Vec::new(), BTreeSet::new());
        Ok(Self { taken: 0, dtypes, judge, refused, not_for: None, is_filter_alone: false, values: 0 })
    }

    /// The codec for chunks like `sample`; nothing if it is not for them.
    ///
    /// # Errors
    /// The library cannot be opened.
    pub(super) fn codings(&mut self, trial: &Trial, sample: &Sample) -> Result<Option<Vec<Coding>>, Ending> {
        self.or_note(trial.codings(sample))
    }

    /// Encodes and decodes the chunk with the ordinary parameters. Whether the codec is for such chunks.
    ///
    /// # Errors
    /// It is not restored.
    pub(super) fn run_first(&mut self, trial: &mut Trial, sample: &Sample) -> Result<bool, Ending> {
        let Some(coding) = self.or_note(trial.coding(sample))? else { return Ok(false) };
        self.run(trial, sample, &coding)?;
        Ok(true)
    }

    /// Encodes and decodes the chunk.
    ///
    /// # Errors
    /// It is not restored.
    pub(super) fn run(&mut self, trial: &mut Trial, sample: &Sample, coding: &Coding) -> Result<(), Ending> {
        let what = || format!("{} with {}", sample.name(), coding.name);
        trial.step(format_args!("encoding {}", what()));
        let stream = match coding.encode(&sample.bytes) {
            Ok(stream) => stream,
            Err(error) if error.is_of_values() && takes_others(trial, sample, coding)? => {
                self.values += 1;
                return Ok(());
            }
            Err(error) => {
                self.is_filter_alone =
                    matches!(coding.face, Face::Filter(..)) && !super::has_nczarr_codec(trial, coding)?;
                let is_plain = matches!(error, Refused::Filter { returned: 0, .. });
                let (dtype, error) = (dtype_name(sample.dtype), error.to_string());
                self.refused.push(Refusal { dtype, what: what(), error, is_plain });
                return Ok(());
            }
        };
        trial.step(format_args!("decoding the stream of {} bytes of {}", stream.len(), what()));
        let chunk = coding.decode(&stream, sample.bytes.len()).map_err(|error| {
            Ending::failed(format!("the codec's own stream of {} is refused: {error}", what()))
        })?;
        if let Some(how) = difference(sample, &chunk, coding.fidelity) {
            return Err(Ending::failed(format!("{} is decoded differently: {how}", what())));
        }
        self.taken += 1;
        self.dtypes.insert(dtype_name(sample.dtype));
        Ok(())
    }

    /// Reports the result of all chunks together.
    ///
    /// # Errors
    /// Chunks were refused that must not be; or the codec was for none.
    pub(super) fn end(self, trial: &mut Trial) -> Result<(), Ending> {
        if self.values > 0 {
            trial.figure("chunks whose values are refused", self.values);
        }
        if self.refused.is_empty() {
            return match self.not_for {
                Some(ending) if self.taken == 0 => Err(ending),
                _ => Ok(()),
            };
        }
        let text = |first: &Refusal| {
            let (count, all) = (self.refused.len(), self.refused.len() + self.taken);
            format!("{count} of {all} chunks are refused: {}: {}", first.what, first.error)
        };
        let Some(first) = self.refused.first() else { return Ok(()) };
        if !self.is_filter_alone {
            return Err(Ending::failed(format!("{}. netcdf-c and Zarr cannot write them", text(first))));
        }
        let never = self.refused.iter().find(|refusal| !self.dtypes.contains(&refusal.dtype));
        trial.figure("refused", self.refused.len());
        match (self.judge, never) {
            (Judge::EachType, _) if self.taken == 0 => return Err(Ending::failed(text(first))),
            (Judge::Each, _) => {
                let then = match first.is_plain {
                    true => {
                        "HDF5 stores such chunks as they are if the filter is optional, else the write fails"
                    }
                    false => "HDF5 does not take that for a failure",
                };
                trial.warn(format!("{}. {then}", text(first)));
            }
            (Judge::EachType, Some(never)) => {
                trial.warn(format!(
                    "every chunk of {} is refused: {}: {}",
                    never.dtype, never.what, never.error
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes why the codec is not for a chunk; other endings go on.
    fn or_note<T>(&mut self, found: Result<T, Ending>) -> Result<Option<T>, Ending> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(ending @ Ending::Skipped(_)) => {
                self.not_for.get_or_insert(ending);
                Ok(None)
            }
            Err(ending) => Err(ending),
        }
    }
}

/// Whether a codec that refuses the values of a chunk accepts some others of the same type and shape, and restores
/// them.
fn takes_others(trial: &mut Trial, sample: &Sample, coding: &Coding) -> Result<bool, Ending> {
    for content in [Content::Zeros, Content::Smooth, Content::Runs] {
        let other = Sample::new(sample.dtype, &sample.shape, content, 1);
        trial.step(format_args!("encoding {} with {}", other.name(), coding.name));
        let Ok(stream) = coding.encode(&other.bytes) else { continue };
        trial.step(format_args!("decoding the stream of {} bytes of {}", stream.len(), other.name()));
        let how = match coding.decode(&stream, other.bytes.len()) {
            Ok(chunk) => difference(&other, &chunk, coding.fidelity),
            Err(error) => Some(format!("its stream is refused: {error}")),
        };
        return match how {
            Some(how) => Err(Ending::failed(format!("{} is decoded differently: {how}", other.name()))),
            None => Ok(true),
        };
    }
    Ok(false)
}

/// How a chunk differs from what was encoded.
pub(super) fn difference(sample: &Sample, chunk: &[u8], fidelity: Fidelity) -> Option<String> {
    let want = &sample.bytes;
    if chunk.len() != want.len() {
        return Some(format!("{} bytes of {}", chunk.len(), want.len()));
    }
    match fidelity {
        Fidelity::Exact => first_difference(want, chunk),
        Fidelity::Lossy => far_off(sample, chunk),
    }
}

/// The first byte in which two byte strings of one length differ.
pub(super) fn first_difference(want: &[u8], got: &[u8]) -> Option<String> {
    if want == got {
        return None;
    }
    let at = want.iter().zip(got).position(|(want, got)| want != got)?;
    let count = want.iter().zip(got).filter(|(want, got)| want != got).count();
    Some(format!(
        "byte {at} is {:#04x}, not {:#04x}; {count} of {} bytes differ",
        got[at],
        want[at],
        want.len()
    ))
}

/// The first value that is far from the one encoded, for smooth fields of numbers in this machine's order: no
/// tolerance that anybody sets is a twentieth of the whole range.
fn far_off(sample: &Sample, chunk: &[u8]) -> Option<String> {
    let size = sample.dtype.size;
    let is_number = matches!(sample.dtype.kind, Kind::Int | Kind::UInt | Kind::Float) && size != 2;
    let is_native = size == 1 || (sample.dtype.order == ByteOrder::Little) == cfg!(target_endian = "little");
    if sample.content != Content::Smooth || !is_number || !is_native {
        return None;
    }
    let numbers = |bytes: &[u8]| -> Vec<f64> {
        bytes.chunks_exact(size).map(|element| number(sample.dtype.kind, element)).collect()
    };
    let (want, got) = (numbers(&sample.bytes), numbers(chunk));
    let (least, most) =
        want.iter().fold((f64::MAX, f64::MIN), |(least, most), &value| (least.min(value), most.max(value)));
    let tolerance = (most - least) / 20.0 + least.abs().max(most.abs()) / 100.0;
    let at = want.iter().zip(&got).position(|(want, got)| (want - got).abs() > tolerance || got.is_nan())?;
    Some(format!("value {at} is {}, far from {}", got[at], want[at]))
}

/// A number in this machine's byte order.
fn number(kind: Kind, element: &[u8]) -> f64 {
    fn array<const N: usize>(element: &[u8]) -> [u8; N] {
        std::array::from_fn(|place| element.get(place).copied().unwrap_or_default())
    }
    match (kind, element.len()) {
        (Kind::Float, 4) => f32::from_ne_bytes(array(element)).into(),
        (Kind::Float, _) => f64::from_ne_bytes(array(element)),
        (Kind::Int, 1) => i8::from_ne_bytes(array(element)).into(),
        (Kind::Int, 4) => i32::from_ne_bytes(array(element)).into(),
        (Kind::Int, _) => i64::from_ne_bytes(array(element)) as f64,
        (_, 1) => u8::from_ne_bytes(array(element)).into(),
        (_, 4) => u32::from_ne_bytes(array(element)).into(),
        _ => u64::from_ne_bytes(array(element)) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncz_codec::Dtype;

    #[test]
    fn values_may_be_near_and_not_far() {
        let sample = Sample::new(Dtype::little(Kind::Float, 4), &[100], Content::Smooth, 1);
        let with = |change: f32| -> Vec<u8> {
            let values = sample.bytes.chunks_exact(4);
            values
                .flat_map(|b| (f32::from_le_bytes([b[0], b[1], b[2], b[3]]) + change).to_le_bytes())
                .collect()
        };
        assert_eq!(difference(&sample, &with(0.01), Fidelity::Lossy), None);
        assert!(difference(&sample, &with(0.01), Fidelity::Exact).is_some());
        let far = difference(&sample, &with(200.0), Fidelity::Lossy);
        assert!(far.clone().is_some_and(|far| far.starts_with("value 0 is 12")), "{far:?}");
        assert!(difference(&sample, &sample.bytes[4..], Fidelity::Lossy).is_some());
    }
}
