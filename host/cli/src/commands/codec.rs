//! `ncz codec`: a chain in all its forms.

use std::io::Write;

use ncz::codec::{ByteOrder, Container, Dialect, Dtype, Env, Kind};
use ncz::readers::read_by;
use ncz::registry::Registry;
use ncz::registry::chain::{FilterChain, Stage};
use ncz::registry::spec::{ChainSpec, format_spec_text, stored_codec_json};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::args::{Codec, ContainerArg};
use crate::codec_notes::written_by_number;
use crate::error::{CliError, with_causes};
use crate::exit_code::Exit;
use crate::output::{Style, shape, write_json};

/// The version of the JSON form; it changes when a key changes its meaning or is removed.
const SCHEMA: u32 = 1;

/// Runs the command.
pub(crate) fn run(
    options: &Codec,
    registry: &Registry,
    out: &mut dyn Write,
    style: Style,
) -> Result<Exit, CliError> {
    let env = env(options)?;
    let mut list = Vec::new();
    for text in &options.specs {
        let forms = ChainForms::new(text, registry, options.dtype.as_deref(), env.as_ref())?;
        if options.json {
            list.push(forms);
        } else {
            out.write_all(forms.to_text(style, env.as_ref()).as_bytes())?;
        }
    }
    if options.json {
        write_json(out, &Report { schema: SCHEMA, codecs: &list })?;
    }
    Ok(Exit::Good)
}

/// One form of a chain, or the reason why there is none, which is `null` in JSON.
type Form<T> = Result<T, String>;

/// The JSON form of the whole output.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    codecs: &'a [ChainForms],
}

/// A chain in all its forms.
#[derive(Serialize)]
struct ChainForms {
    given: String,
    codecs: Vec<CodecRow>,
    notes: Vec<String>,
    #[serde(serialize_with = "or_null")]
    text: Form<String>,
    #[serde(rename = "parameters", serialize_with = "or_null")]
    params: Form<Vec<StageParams>>,
    #[serde(serialize_with = "or_null")]
    numcodecs: Form<Vec<Value>>,
    #[serde(serialize_with = "or_null")]
    zarr_v3: Form<Vec<Value>>,
    bound: Option<BoundForms>,
}

/// A codec of the chain.
#[derive(Serialize)]
struct CodecRow {
    name: String,
    #[serde(rename = "filter_id")]
    id: Option<u32>,
    origin: String,
    lossy: Option<bool>,
    read_by: String,
}

/// A chain for one variable.
#[derive(Serialize)]
struct BoundForms {
    dtype: Option<String>,
    #[serde(serialize_with = "or_null")]
    stored: Form<Vec<StageParams>>,
    working: Vec<StageParams>,
    #[serde(serialize_with = "or_null")]
    numcodecs: Form<Vec<Value>>,
    #[serde(serialize_with = "or_null")]
    zarr_v3: Form<Vec<Value>>,
}

/// The HDF5 parameters of one codec.
#[derive(Clone, Serialize)]
struct StageParams {
    filter_id: u32,
    words: Vec<u32>,
}

impl From<(u32, Vec<u32>)> for StageParams {
    fn from((filter_id, words): (u32, Vec<u32>)) -> Self {
        Self { filter_id, words }
    }
}

fn or_null<T: Serialize, S: Serializer>(form: &Form<T>, serializer: S) -> Result<S::Ok, S::Error> {
    form.as_ref().ok().serialize(serializer)
}

impl ChainForms {
    fn new(
        text: &str,
        registry: &Registry,
        dtype: Option<&str>,
        env: Option<&Env>,
    ) -> Result<Self, CliError> {
        let wrong = |source| CliError::CodecText { text: text.to_owned(), source: Box::new(source) };
        let unusable = |source: Box<dyn std::error::Error + Send + Sync>| CliError::Codec {
            text: text.to_owned(),
            source,
        };
        let stages = ChainSpec::parse(text)
            .map_err(wrong)?
            .resolve(registry)
            .map_err(|source| unusable(source.into()))?;
        let params = params(&stages);
        let chain = env.map(|env| FilterChain::bind(&stages, env)).transpose();
        let chain = chain.map_err(|source| unusable(source.into()))?;
        let lossy: Vec<Option<bool>> = match &chain {
            Some(chain) => chain.each_lossy().map(|(_, lossy)| lossy).collect(),
            None => stages.iter().map(|stage| stage.info.lossy).collect(),
        };
        Ok(Self {
            given: text.to_owned(),
            codecs: stages
                .iter()
                .zip(&lossy)
                .map(|(stage, lossy)| CodecRow {
                    name: stage.info.name.to_string(),
                    id: stage.info.filter_id,
                    origin: stage.origin.clone(),
                    lossy: *lossy,
                    read_by: read_by(&stage.info),
                })
                .collect(),
            notes: stages
                .iter()
                .zip(&lossy)
                .flat_map(|(stage, lossy)| {
                    let changes = changes(stage, *lossy, chain.is_some());
                    stage.notes.iter().cloned().chain(written_by_number(stage)).chain(changes)
                })
                .collect(),
            text: params.as_ref().map(|params| filter_text(params)).map_err(Clone::clone),
            params,
            numcodecs: dialect_json(&stages, Dialect::Numcodecs),
            zarr_v3: dialect_json(&stages, Dialect::ZarrV3),
            bound: chain.as_ref().map(|chain| BoundForms::new(chain, dtype)),
        })
    }

    fn to_text(&self, style: Style, env: Option<&Env>) -> String {
        let mut text = format!("{}\n", style.bold(&self.given));
        let mut line = |label: &str, value: &str| {
            text.push_str(&format!("  {}{value}\n", style.dim(&format!("{label:<12}"))));
        };
        for CodecRow { name, id, origin, .. } in &self.codecs {
            let id = id.map_or_else(|| "no HDF5 id".to_owned(), |id| format!("HDF5 filter {id}"));
            line("codec", &format!("{name}, {id}, {origin}"));
        }
        for CodecRow { name, read_by, .. } in &self.codecs {
            let of = if self.codecs.len() > 1 { format!("{name}: ") } else { String::new() };
            line("read by", &format!("{of}{read_by}"));
        }
        line("text", text_or_dash(&self.text));
        line("parameters", &self.params.as_ref().map_or_else(|why| dash(why), |params| words(params)));
        line("numcodecs", &json_text(&self.numcodecs));
        line("Zarr v3", &json_text(&self.zarr_v3));
        for note in &self.notes {
            line("note", note);
        }
        if let (Some(bound), Some(env)) = (&self.bound, env) {
            let dtype = bound.dtype.as_deref().unwrap_or_default();
            let (array, chunk) = (shape(&env.array_shape), shape(&env.chunk_shape));
            line("", &format!("for {dtype}, {array} in chunks of {chunk}:"));
            line("stored", &bound.stored.as_ref().map_or_else(|why| dash(why), |stored| words(stored)));
            line("working", &words(&bound.working));
            line("numcodecs", &json_text(&bound.numcodecs));
            line("Zarr v3", &json_text(&bound.zarr_v3));
        }
        text
    }
}

impl BoundForms {
    fn new(chain: &FilterChain, dtype: Option<&str>) -> Self {
        let json = |dialect| chain.stored_json(dialect).map_err(|error| with_causes(&error));
        Self {
            dtype: dtype.map(str::to_owned),
            stored: chain
                .stored_params()
                .map(|params| params.into_iter().map(StageParams::from).collect())
                .map_err(|error| with_causes(&error)),
            working: chain.working().into_iter().map(|(id, words)| (id, words.to_vec()).into()).collect(),
            numcodecs: json(Dialect::Numcodecs),
            zarr_v3: json(Dialect::ZarrV3),
        }
    }
}

/// Returns the variable that the options describe, if there is one.
fn env(options: &Codec) -> Result<Option<Env>, CliError> {
    let (Some(dtype), Some(lengths)) = (&options.dtype, &options.shape) else { return Ok(None) };
    let array_shape = parse_lengths("--shape", lengths)?;
    let chunk_shape = match &options.chunks {
        Some(lengths) => parse_lengths("--chunks", lengths)?,
        None => array_shape.clone(),
    };
    if array_shape.len() != chunk_shape.len() {
        return Err(CliError::Usage(format!(
            "expected {} lengths in --chunks, as many as in --shape, got {}",
            array_shape.len(),
            chunk_shape.len()
        )));
    }
    let container = match options.container {
        ContainerArg::Nczarr => Container::NczarrV2,
        ContainerArg::Zarr => Container::ZarrV2,
        ContainerArg::Hdf5 => Container::Hdf5,
    };
    Ok(Some(Env { dtype: parse_dtype(dtype)?, array_shape, chunk_shape, container }))
}

fn parse_lengths(option: &str, text: &str) -> Result<Vec<u64>, CliError> {
    let length = |item: &str| item.trim().parse::<u64>().ok().filter(|length| *length > 0);
    text.split(',').map(length).collect::<Option<_>>().ok_or_else(|| {
        CliError::Usage(format!("{option} {text:?} is not a list of positive integers, such as 721,1440"))
    })
}

/// Parses a type: `f4`, `>i2`, or the name that netCDF has for it.
fn parse_dtype(text: &str) -> Result<Dtype, CliError> {
    const NAMES: [(&str, &str); 11] = [
        ("byte", "i1"),
        ("ubyte", "u1"),
        ("char", "S1"),
        ("short", "i2"),
        ("ushort", "u2"),
        ("int", "i4"),
        ("uint", "u4"),
        ("int64", "i8"),
        ("uint64", "u8"),
        ("float", "f4"),
        ("double", "f8"),
    ];
    let known = NAMES.iter().find(|(name, _)| *name == text).map_or(text, |(_, code)| code);
    let (order, code) = match known.strip_prefix('>') {
        Some(code) => (ByteOrder::Big, code),
        None => (ByteOrder::Little, known.trim_start_matches(['<', '|', '='])),
    };
    let kind = match code.chars().next() {
        Some('i') => Some((Kind::Int, [1, 2, 4, 8].as_slice())),
        Some('u') => Some((Kind::UInt, [1, 2, 4, 8].as_slice())),
        Some('f') => Some((Kind::Float, [2, 4, 8].as_slice())),
        Some('c') => Some((Kind::Complex, [8, 16].as_slice())),
        Some('b') => Some((Kind::Bool, [1].as_slice())),
        Some('S') => Some((Kind::Opaque, [].as_slice())),
        _ => None,
    };
    let size = code.get(1..).and_then(|size| size.parse::<usize>().ok());
    match (kind, size) {
        (Some((kind, sizes)), Some(size)) if sizes.contains(&size) || (sizes.is_empty() && size > 0) => {
            Ok(Dtype { kind, size, order })
        }
        _ => Err(CliError::Usage(format!(
            "unknown --dtype {text:?}; write i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 (with > before it for big-endian), or float, int ..."
        ))),
    }
}

/// Returns the parameters of the stages before they are bound.
fn params(stages: &[Stage]) -> Form<Vec<StageParams>> {
    stages
        .iter()
        .map(|stage| {
            let id = stage.info.filter_id.ok_or_else(|| format!("{} has no HDF5 id", stage.info.name))?;
            Ok((id, stage.config.to_params().map_err(|error| with_causes(&error))?).into())
        })
        .collect()
}

/// Returns the JSON of the stages before they are bound.
fn dialect_json(stages: &[Stage], dialect: Dialect) -> Form<Vec<Value>> {
    stages
        .iter()
        .map(|stage| {
            stored_codec_json(&stage.info, &*stage.config, dialect).map_err(|error| with_causes(&error))
        })
        .collect()
}

/// Returns the note for a lossy codec. Whether a codec is lossy can depend on its input.
fn changes(stage: &Stage, lossy: Option<bool>, is_bound: bool) -> Option<String> {
    let is = if is_bound { "is" } else { "can be" };
    (lossy == Some(true)).then(|| format!("{} {is} lossy: decoded values can differ", stage.info.name))
}

fn filter_text(params: &[StageParams]) -> String {
    let borrowed: Vec<(u32, &[u32])> =
        params.iter().map(|stage| (stage.filter_id, stage.words.as_slice())).collect();
    format_spec_text(&borrowed)
}

/// Formats parameters: `2: 4; 1: 6`.
fn words(params: &[StageParams]) -> String {
    let stage = |StageParams { filter_id, words }: &StageParams| {
        let id = if *filter_id == 0 { "(no id)".to_owned() } else { filter_id.to_string() };
        let words: Vec<String> = words.iter().map(u32::to_string).collect();
        format!("{id}: {}", if words.is_empty() { "none".to_owned() } else { words.join(" ") })
    };
    params.iter().map(stage).collect::<Vec<_>>().join("; ")
}

/// Formats one codec as an object and several as a list, as options take them.
fn json_text(codecs: &Form<Vec<Value>>) -> String {
    match codecs {
        Ok(list) => match list.as_slice() {
            [one] => one.to_string(),
            list => Value::from(list.to_vec()).to_string(),
        },
        Err(why) => dash(why),
    }
}

fn text_or_dash(text: &Form<String>) -> &str {
    text.as_deref().unwrap_or("-")
}

fn dash(why: &str) -> String {
    format!("- ({why})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_parsed_in_both_notations() {
        assert_eq!(parse_dtype("f4").unwrap(), Dtype::little(Kind::Float, 4));
        assert_eq!(parse_dtype(">i2").unwrap(), Dtype::big(Kind::Int, 2));
        assert_eq!(parse_dtype("double").unwrap(), Dtype::little(Kind::Float, 8));
        assert_eq!(parse_dtype("S7").unwrap(), Dtype::little(Kind::Opaque, 7));
        for text in ["", "f", "f3", "x4", "S0", "i4x", "é4"] {
            assert!(parse_dtype(text).is_err(), "{text:?} was accepted");
        }
    }
}
