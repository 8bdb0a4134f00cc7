//! Finds the parameters of a codec.

mod numbers;

use std::sync::Arc;

use ncz_codec::{AnyConfig, BoundStage, CodecType, Container, Dialect, Dtype, ErrorKind, Kind, Number};
use ncz_registry::load::probe::Host;
use ncz_registry::load::{Hdf5Filter, JsonTranslator, NativeCodec};
use serde_json::{Map, Value};

use super::{Coding, Face};
use crate::check::Target;
use crate::outcome::Ending;
use crate::profile::{self, Fidelity, ParameterSet};
use crate::sample::{Content, Sample};
use crate::trial::Trial;

/// Chunks of more zeros are not tried.
const ZEROS_MAX: usize = 1 << 20;
/// More parameter sets of a codec are not tried.
const SETS_MAX: usize = 16;

impl Trial {
    /// The codec that is looked at, ready for chunks like `sample`: with its ordinary parameters first, then others
    /// that are worth a try.
    ///
    /// # Errors
    /// `Skipped` if it takes no such chunks, or its parameters are not known here.
    pub fn codings(&self, sample: &Sample) -> Result<Vec<Coding>, Ending> {
        self.some_codings(sample, SETS_MAX)
    }

    /// The first of [`Trial::codings`].
    ///
    /// # Errors
    /// As there.
    pub fn coding(&self, sample: &Sample) -> Result<Coding, Ending> {
        let first = self.some_codings(sample, 1)?.into_iter().next();
        first.ok_or_else(|| Ending::skipped("there are no parameters for it"))
    }

    /// A chunk of about `len` bytes that the codec takes, and the codec with its ordinary parameters: of `<f4` in two
    /// dimensions, or else of a type that it accepts. If it refuses the values of all of them, it is the first.
    ///
    /// # Errors
    /// `Skipped` if it takes none, or its parameters are not known here.
    pub fn usual(&self, len: usize, content: Content) -> Result<(Sample, Coding), Ending> {
        const COLUMNS: u64 = 64;
        let dtypes = [
            Dtype::little(Kind::Float, 4),
            Dtype::little(Kind::UInt, 1),
            Dtype::little(Kind::UInt, 2),
            Dtype::little(Kind::Int, 4),
            Dtype::little(Kind::Bool, 1),
        ];
        let (mut first, mut refused) = (None, None);
        // Of a codec that refuses such values others will do.
        let others = [Content::Smooth, Content::Zeros].into_iter().filter(|&other| other != content);
        for content in std::iter::once(content).chain(others) {
            for dtype in dtypes {
                let elements = (len / dtype.size).max(1) as u64;
                let shapes = [
                    vec![elements / COLUMNS, COLUMNS],
                    vec![elements],
                    vec![elements / COLUMNS / 4, COLUMNS, 4],
                ];
                for shape in shapes.into_iter().filter(|shape| shape.iter().all(|&len| len > 0)) {
                    // A codec is bound only to type and shape.
                    let bare = Sample { dtype, shape, content, bytes: Vec::new() };
                    match self.coding(&bare) {
                        Ok(coding) => {
                            let sample = Sample::new(dtype, &bare.shape, content, 1);
                            let is_of_values = matches!(coding.face, Face::Native(_))
                                && coding.encode(&sample.bytes).is_err_and(|error| error.is_of_values());
                            if !is_of_values {
                                return Ok((sample, coding));
                            }
                            refused.get_or_insert((sample, coding));
                        }
                        Err(ending) => _ = first.get_or_insert(ending),
                    }
                }
            }
            if refused.is_none() {
                break;
            }
        }
        let none = || Err(first.unwrap_or_else(|| Ending::skipped("there are no parameters for it")));
        refused.map_or_else(none, Ok)
    }

    fn some_codings(&self, sample: &Sample, most: usize) -> Result<Vec<Coding>, Ending> {
        let codings = match self.target() {
            Target::Hdf5(_) => self.filter_codings(sample, most)?,
            Target::Native(_) => self.native_codings(sample, most)?,
            other => return Err(Ending::skipped(format!("{other} encodes nothing"))),
        };
        Ok(codings.into_iter().take(most).collect())
    }

    fn filter_codings(&self, sample: &Sample, most: usize) -> Result<Vec<Coding>, Ending> {
        let half = self.hdf5()?;
        if !half.encodes() || !half.decodes() {
            return Err(Ending::skipped("the filter declares that it does not do both directions"));
        }
        let sets = self.parameter_sets(half, sample, most)?;
        let coding = |set: ParameterSet| Coding {
            name: format!("cd_values {:?}", set.working),
            face: Face::Filter(half.clone(), set.working),
            fidelity: self.fidelity(Some(half.id()), set.fidelity),
            concurrent: false,
            host: Host::Malloc,
        };
        Ok(sets.into_iter().map(coding).collect())
    }

    /// The sources of a filter's working parameters, the most reliable first.
    fn parameter_sets(
        &self,
        half: &Hdf5Filter,
        sample: &Sample,
        most: usize,
    ) -> Result<Vec<ParameterSet>, Ending> {
        let id = half.id();
        let exact = |given: Vec<u32>, working| ParameterSet { working, given, fidelity: Fidelity::Exact };
        let known = profile::of(id, sample.dtype, &sample.shape);
        if let Some((_, words)) = self.settings().params.iter().find(|(of, _)| *of == id) {
            let known = known.and_then(Result::ok).unwrap_or_default().into_iter();
            let same = known.into_iter().find(|set| set.working == *words);
            return Ok(vec![same.unwrap_or_else(|| exact(words.clone(), words.clone()))]);
        }
        let subject = self.subject()?;
        if let Some(codec) = subject.native_of(id) {
            let stages = stages(codec, sample, Container::Hdf5, most)?;
            let set = |stage: BoundStage| ParameterSet {
                given: stage.stored.to_params().unwrap_or_default(),
                fidelity: known_fidelity(&stage),
                working: stage.working,
            };
            return Ok(stages.into_iter().map(|(_, stage)| set(stage)).collect());
        }
        if let Some(known) = known {
            return known.map_err(|why| not_for(sample, why.0));
        }
        if half.has_set_local() {
            return Err(Ending::skipped(format!(
                "its working parameters come from set_local, which needs libhdf5; give them with --params {id}=.."
            )));
        }
        let default = subject.codec_of(id).filter(|codec| !codec.has_modify_parameters());
        let words = default.and_then(|codec| codec.to_params(&Map::new()).ok()).unwrap_or_default();
        Ok(vec![exact(words.clone(), words)])
    }

    fn native_codings(&self, sample: &Sample, most: usize) -> Result<Vec<Coding>, Ending> {
        let codec = self.native()?;
        let coding = |(name, stage): (String, BoundStage)| Coding {
            name,
            fidelity: self.fidelity(codec.info().filter_id, known_fidelity(&stage)),
            face: Face::Native(stage.coder),
            concurrent: true,
            host: Host::Malloc,
        };
        let stages = stages(codec, sample, Container::NczarrV2, most)?;
        Ok(stages.into_iter().map(coding).collect())
    }

    fn fidelity(&self, id: Option<u32>, known: Fidelity) -> Fidelity {
        match id.is_some_and(|id| self.settings().lossy.contains(&id)) {
            true => Fidelity::Lossy,
            false => known,
        }
    }
}

/// The result of binding a native codec.
fn known_fidelity(stage: &BoundStage) -> Fidelity {
    if stage.lossy == Some(true) { Fidelity::Lossy } else { Fidelity::Exact }
}

/// Up to `most` configurations of a native codec, bound to chunks like `sample`, each with its name.
fn stages(
    codec: &NativeCodec,
    sample: &Sample,
    container: Container,
    most: usize,
) -> Result<Vec<(String, BoundStage)>, Ending> {
    let (repr, env) = (sample.repr(), sample.env(container));
    let mut stages: Vec<(String, BoundStage)> = Vec::new();
    let mut refusal = None;
    for config in Configs::new(codec, sample) {
        match config.bind(&repr, &env) {
            // One that cannot encode such chunks at all is there for reading.
            Ok(stage) if !stages.is_empty() && only_decodes(&stage, sample) => {}
            Ok(stage) => {
                let name = name_of(&*config, &stage);
                // Two forms of the same configuration count once.
                if stages.iter().all(|(known, other)| *known != name || other.working != stage.working) {
                    stages.push((name, stage));
                }
            }
            Err(error) => _ = refusal.get_or_insert(error),
        }
        if stages.len() >= most {
            break;
        }
    }
    match (stages.is_empty(), refusal) {
        (true, Some(error)) => Err(not_for(sample, error.to_string())),
        (true, None) => {
            Err(Ending::skipped("it has no default configuration, and 0 to 9 are not parameters of it"))
        }
        (false, _) => Ok(stages),
    }
}

/// Tests whether a codec also refuses to encode a chunk of zeros.
fn only_decodes(stage: &BoundStage, sample: &Sample) -> bool {
    let elements = sample.shape.iter().try_fold(1_u64, |product, &len| product.checked_mul(len));
    let len = elements.and_then(|elements| usize::try_from(elements).ok()?.checked_mul(sample.dtype.size));
    let Some(len) = len.filter(|&len| len <= ZEROS_MAX) else { return false };
    let Some(most) = stage.coder.max_encoded_len(len).filter(|&most| most <= 4 * ZEROS_MAX) else {
        return false;
    };
    let encoded = stage.coder.encode(&mut stage.coder.scratch(), &vec![0; len], &mut vec![0; most]);
    encoded.is_err_and(|error| *error.kind() == ErrorKind::Unsupported)
}

/// Returns configurations of a native codec to try, the ordinary one first, made on demand.
struct Configs<'a> {
    codec: &'a NativeCodec,
    tries: std::vec::IntoIter<Try>,
    default: Option<Map<String, Value>>,
    is_varied: bool,
}

/// A source of a configuration.
enum Try {
    Json(Dialect, Map<String, Value>),
    Words(Vec<u32>),
}

impl<'a> Configs<'a> {
    fn new(codec: &'a NativeCodec, sample: &Sample) -> Self {
        if let Some(configs) = numbers::configs(&codec.info().numcodecs, sample.dtype) {
            let tries: Vec<Try> =
                configs.into_iter().map(|json| Try::Json(Dialect::Numcodecs, json)).collect();
            return Self { codec, tries: tries.into_iter(), default: None, is_varied: true };
        }
        if codec.info().names(Dialect::ZarrV3).contains("cast_value") {
            // It has no default: the type that holds the most numbers, with nothing mapped.
            let tries = vec![Try::Words(vec![Number::DOUBLE.word(), 0, 0, 0, 0])];
            return Self { codec, tries: tries.into_iter(), default: None, is_varied: true };
        }
        let mut tries = vec![Try::Json(Dialect::Numcodecs, Map::new())];
        tries.push(Try::Json(Dialect::ZarrV3, Map::new()));
        tries.push(Try::Words(Vec::new()));
        let id = codec.info().filter_id;
        let known = id.and_then(|id| profile::of(id, sample.dtype, &sample.shape)?.ok());
        // Any other word may keep next to nothing of numbers that are rounded.
        let is_enough = known.is_some() && codec.info().lossy == Some(true);
        tries.extend(known.into_iter().flatten().map(|set| Try::Words(set.given)));
        if !is_enough {
            tries.extend((0..=9).map(|word| Try::Words(vec![word])));
        }
        Self { codec, tries: tries.into_iter(), default: None, is_varied: false }
    }

    /// The default configuration with one of its numbers or flags changed.
    fn vary(&self) -> Vec<Try> {
        let mut tries = Vec::new();
        for (key, value) in self.default.iter().flatten() {
            let others: Vec<Value> = match value {
                Value::Bool(flag) => vec![Value::Bool(!flag)],
                Value::Number(_) => [0, 1, 2, 4, 9].map(Value::from).to_vec(),
                _ => Vec::new(),
            };
            for other in others.into_iter().filter(|other| other != value) {
                let mut varied = self.default.clone().unwrap_or_default();
                varied.insert(key.clone(), other);
                tries.push(Try::Json(Dialect::Numcodecs, varied));
            }
        }
        tries
    }
}

impl Iterator for Configs<'_> {
    type Item = Arc<dyn AnyConfig>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(next) = self.tries.next() else {
                if self.is_varied {
                    return None;
                }
                self.is_varied = true;
                self.tries = self.vary().into_iter();
                continue;
            };
            let config = match next {
                Try::Json(dialect, json) => self.codec.parse_json(dialect, &json, &mut Vec::new()),
                Try::Words(words) => self.codec.parse_params(&words),
            };
            // What it refuses is not a configuration of it.
            let Ok(config) = config else { continue };
            if self.default.is_none() {
                self.default = config.to_json(Dialect::Numcodecs).ok();
            }
            return Some(config);
        }
    }
}

/// A configuration in words, such as `{"level":3}`.
fn name_of(config: &dyn AnyConfig, stage: &BoundStage) -> String {
    let json = config.to_json(Dialect::Numcodecs).or_else(|_| config.to_json(Dialect::ZarrV3));
    match json {
        Ok(json) => Value::Object(json).to_string(),
        Err(_) => format!("parameters {:?}", stage.working),
    }
}

fn not_for(sample: &Sample, why: String) -> Ending {
    Ending::skipped(format!("not for {}: {why}", sample.name()))
}
