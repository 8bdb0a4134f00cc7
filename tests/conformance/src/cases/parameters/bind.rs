//! Checks what a native codec binds to, and whether the faces of a codec agree.

use std::sync::Arc;

use ncz_codec::{
    AnyCoder, AnyConfig, BoundStage, CodecType, Container, Dialect, Dtype, Env, Kind, Repr, Size,
};
use ncz_registry::load::NativeCodec;
use ncz_registry::load::probe::FilterCall;

use crate::coding::taken;
use crate::outcome::Ending;
use crate::sample::{Content, Sample, dtype_name, dtypes};
use crate::trial::Trial;

use super::candidates;
use super::json::{JsonFace, shown, sound};

const CONTAINERS: [Container; 4] =
    [Container::Hdf5, Container::ZarrV2, Container::NczarrV2, Container::ZarrV3];
const SHAPES: [&[u64]; 4] = [&[8, 9], &[], &[1], &[4, 3, 2, 5]];

pub(super) fn bind(trial: &mut Trial) -> Result<(), Ending> {
    let codec = trial.native()?.clone();
    let config = ordinary(&codec)?;
    let (mut bound, mut refused) = (0, 0);
    for dtype in dtypes() {
        for shape in SHAPES {
            let sample = Sample::new(dtype, shape, Content::Noise, 1);
            for container in CONTAINERS {
                let env = sample.env(container);
                for input in inputs(&sample) {
                    let name = format!("{} {shape:?} in {container:?}, {input:?}", dtype_name(dtype));
                    trial.step(&name);
                    match sound(config.bind(&input, &env))? {
                        Err(_) => refused += 1,
                        Ok(stage) => {
                            bound += 1;
                            look(&codec, &stage, &sample, &input, &env, &name)?;
                        }
                    }
                }
            }
        }
    }
    trial.figure("bound", bound);
    trial.figure("refused", refused);
    match bound {
        0 => Err(Ending::failed("it binds to no chunk of any type")),
        _ => Ok(()),
    }
}

/// A chunk as an array, and as bytes of which more or less is known.
fn inputs(sample: &Sample) -> [Repr; 4] {
    let len = sample.bytes.len();
    let bytes = |size| Repr::Bytes { size };
    [sample.repr(), bytes(Size::Exact(len)), bytes(Size::AtMost(len)), bytes(Size::Unknown)]
}

fn look(
    codec: &NativeCodec,
    stage: &BoundStage,
    sample: &Sample,
    input: &Repr,
    env: &Env,
    name: &str,
) -> Result<(), Ending> {
    // Every reader binds the configuration in the metadata again.
    let again = sound(stage.stored.bind(input, env))?
        .map_err(|error| Ending::failed(format!("{name}: it binds, but not with what it stores: {error}")))?;
    if again.working != stage.working {
        return Err(Ending::failed(format!(
            "{name}: its words are {:?}, and {:?} once stored",
            stage.working, again.working
        )));
    }
    for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
        let (first, second) = (sound(stage.stored.to_json(dialect))?, sound(again.stored.to_json(dialect))?);
        if first.as_ref().ok() != second.as_ref().ok() {
            return Err(Ending::failed(format!(
                "{name}: it stores {first:?}, and {second:?} when that is bound"
            )));
        }
    }
    let (first, second) = (sound(stage.stored.to_params())?, sound(again.stored.to_params())?);
    if first.as_ref().ok() != second.as_ref().ok() {
        return Err(Ending::failed(format!(
            "{name}: it stores {first:?}, and {second:?} when that is bound"
        )));
    }
    let Ok(stream) = encode(&*stage.coder, &sample.bytes)? else { return Ok(()) };
    let promised = match sound(stage.output.size())? {
        Ok(size) => size,
        Err(error) => return Err(Ending::failed(format!("{name}: its output has no size: {error}"))),
    };
    let holds = match promised {
        Size::Exact(len) => stream.len() == len,
        Size::AtMost(most) => stream.len() <= most,
        Size::Unknown => true,
    };
    if !holds {
        return Err(Ending::failed(format!(
            "{name}: it promises an output of {promised:?} and gives {} bytes",
            stream.len()
        )));
    }
    // The words must be enough: an HDF5 file has nothing else.
    if env.container == Container::Hdf5
        && let Ok(coder) = sound(codec.coder(&stage.working))?
    {
        let mut chunk = vec![0; sample.bytes.len()];
        let decoded = sound(coder.decode(&mut coder.scratch(), &stream, &mut chunk))?;
        if decoded.as_ref() != Ok(&chunk.len()) {
            return Err(Ending::failed(format!(
                "{name}: a coder of the words {:?} does not decode its stream: {decoded:?}",
                stage.working
            )));
        }
    }
    Ok(())
}

pub(super) fn faces_agree(trial: &mut Trial) -> Result<(), Ending> {
    let subject = trial.subject()?;
    let natives = subject.native().to_vec();
    let mut pairs = 0;
    for native in &natives {
        let Some(id) = native.info().filter_id else { continue };
        let subject = trial.subject()?;
        let (half, filter) =
            (subject.codec_of(id).cloned(), subject.hdf5().filter(|half| half.id() == id).cloned());
        if let Some(half) = half {
            pairs += 1;
            let faces = [JsonFace::Half(half), JsonFace::Native(native.clone(), Dialect::Numcodecs)];
            agree_on_json(trial, &faces)?;
        }
        if let Some(filter) = filter {
            pairs += 1;
            for dtype in
                [Dtype::little(Kind::Float, 4), Dtype::big(Kind::Int, 2), Dtype::little(Kind::UInt, 1)]
            {
                let sample = Sample::new(dtype, &[16, 20], Content::Smooth, 1);
                agree_on_streams(trial, native, &filter, &sample)?;
            }
        }
    }
    trial.figure("pairs of faces", pairs);
    match pairs {
        0 => Err(Ending::skipped("it has no two faces of one codec")),
        _ => Ok(()),
    }
}

/// Parameters that one face accepts have the same meaning in the other.
fn agree_on_json(trial: &mut Trial, faces: &[JsonFace; 2]) -> Result<(), Ending> {
    let [half, native] = faces;
    for (one, other) in [(half, native), (native, half)] {
        for taken in candidates::taken(trial, one)? {
            let Some(words) = &taken.words else { continue };
            trial.step(format!("{one} and {other}: words {words:?}"));
            let theirs = match other.of_words(words)? {
                Ok(theirs) => theirs,
                Err(refusal) => {
                    return Err(Ending::failed(format!(
                        "{one} gives the words {words:?}, which {other} refuses: {}",
                        refusal.why
                    )));
                }
            };
            let ours = match one.of_words(words)? {
                Ok(ours) => ours,
                Err(refusal) => {
                    return Err(Ending::failed(format!(
                        "{one} gives the words {words:?} and refuses them: {}",
                        refusal.why
                    )));
                }
            };
            if ours.json != theirs.json {
                return Err(Ending::failed(format!(
                    "for the words {words:?} {one} writes {}, {other} {}",
                    shown(&ours.text),
                    shown(&theirs.text)
                )));
            }
            let Some(json) = &ours.json else { continue };
            let (ours, theirs) = (one.take_config(json)?.ok(), other.take_config(json)?.ok());
            let words = |taken: Option<super::json::Taken>| taken.and_then(|taken| taken.words);
            let (ours, theirs) = (words(ours), words(theirs));
            if ours != theirs {
                return Err(Ending::failed(format!(
                    "{json:?} is {ours:?} to {one} and {theirs:?} to {other}"
                )));
            }
        }
    }
    Ok(())
}

/// The filter decodes what the native codec encodes, with the words of its binding, and the other way round.
fn agree_on_streams(
    trial: &mut Trial,
    native: &NativeCodec,
    filter: &ncz_registry::load::Hdf5Filter,
    sample: &Sample,
) -> Result<(), Ending> {
    let config = ordinary(native)?;
    let name = sample.name();
    trial.step(format!("streams of {name}"));
    let Ok(stage) = sound(config.bind(&sample.repr(), &sample.env(Container::Hdf5)))? else { return Ok(()) };
    let bad = |what: String| Err(Ending::failed(format!("{name}, words {:?}: {what}", stage.working)));
    let memory = |error: std::io::Error| Ending::skipped(format!("the call cannot be made: {error}"));
    let Ok(stream) = encode(&*stage.coder, &sample.bytes)? else { return Ok(()) };
    let answer = filter.probe(&FilterCall::decode(&stage.working, &stream)).map_err(memory)?;
    let mut ours = vec![0; sample.bytes.len()];
    let coder = &stage.coder;
    let clean = sound(coder.decode(&mut coder.scratch(), &stream, &mut ours))?;
    if clean != Ok(ours.len()) {
        return bad(format!("the native codec does not decode its own stream: {clean:?}"));
    }
    match taken(&answer) {
        Ok(chunk) if chunk == ours => {}
        Ok(_) => return bad("the filter decodes the native codec's stream to other data".to_owned()),
        Err(error) => {
            return bad(format!("the filter does not decode the native codec's stream: {error}"));
        }
    }
    let answer = filter.probe(&FilterCall::encode(&stage.working, &sample.bytes)).map_err(memory)?;
    let theirs = match taken(&answer) {
        Ok(stream) => stream,
        Err(error) => return bad(format!("the native codec encodes what the filter does not: {error}")),
    };
    let mut chunk = vec![0; sample.bytes.len()];
    let decoded = sound(coder.decode(&mut coder.scratch(), theirs, &mut chunk))?;
    if decoded != Ok(chunk.len()) {
        return bad(format!("the native codec does not decode the filter's stream: {decoded:?}"));
    }
    if chunk != ours {
        return bad("the native codec decodes the filter's stream to other data".to_owned());
    }
    Ok(())
}

/// The configuration of a native codec's defaults.
fn ordinary(codec: &NativeCodec) -> Result<Arc<dyn AnyConfig>, Ending> {
    let face = JsonFace::Native(codec.clone(), Dialect::Numcodecs);
    let example = super::numcodecs::known(&face.names()).and_then(|keys| keys.examples().next());
    sound(codec.parse_params(&[]))?
        .or_else(|_| codec.parse_json(Dialect::Numcodecs, &example.unwrap_or_default(), &mut Vec::new()))
        .map_err(|error| Ending::skipped(format!("it has no default configuration: {error}")))
}

/// Encodes; none if the coder refuses, which is for other checks.
fn encode(coder: &dyn AnyCoder, chunk: &[u8]) -> Result<Result<Vec<u8>, ncz_codec::CodecError>, Ending> {
    let Some(most) = coder.max_encoded_len(chunk.len()) else {
        return Ok(Err(ncz_codec::CodecError::unsupported("too long")));
    };
    let mut stream = vec![0; most];
    let encoded = sound(coder.encode(&mut coder.scratch(), chunk, &mut stream))?;
    Ok(encoded.map(|len| {
        stream.truncate(len);
        stream
    }))
}
