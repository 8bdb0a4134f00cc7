//! The codecs nearest to those of a variable that given readers read.

use ncz_codec::{CodecInfo, Dialect};
use ncz_model::{Format, Session, Variable};
use ncz_registry::spec::{ChainSpec, StageSpec, stored_codec_json};
use serde_json::Value;

use super::{Reader, ReaderSetup, info, of_codecs};

/// Codecs that make data smaller, by their names.
const COMPRESSORS: &[&str] = &[
    "bitshuffle",
    "blosc",
    "blosc2",
    "bzip2",
    "deflate",
    "gzip",
    "lz4",
    "lz4h5",
    "lzf",
    "lzma",
    "nbit",
    "pcodec",
    "scaleoffset",
    "szip",
    "zfp",
    "zfpy",
    "zstd",
];

/// Chains that many readers read, the best first. With shuffle, elements of several bytes get smaller.
const USUAL: &[&str] = &[
    "shuffle|zstd,3",
    "zstd,3",
    r#"{"id":"blosc","cname":"zstd","clevel":5,"shuffle":1,"blocksize":0}"#,
    "shuffle|zlib,5",
    "zlib,5",
    r#"{"id":"gzip","level":5}"#,
];

/// Returns the codecs nearest to those of a variable of a dataset in `format` that all readers read, as text that
/// [`ChainSpec::parse`] reads: its own without those that one of them lacks, and a compressor if there is none left.
/// `none` is no codec; `None`: the readers have no form of this variable.
#[must_use]
pub fn nearest(
    session: &Session,
    variable: &Variable,
    format: Format,
    setups: &[ReaderSetup],
) -> Option<String> {
    let registry = &session.registry;
    let own = variable.chain_spec(format).ok()?;
    let of_stage = |stage: &StageSpec| ChainSpec::new(vec![stage.clone()]);
    let reads = |spec: &ChainSpec| {
        setups.iter().all(|setup| {
            let is_short = setup.reader() != Reader::Tensorstore || format.is_v3() || spec.stages().len() < 2;
            is_short && of_codecs(spec, registry, format, setup).next().is_none()
        })
    };
    let is_compressor = |codec: &CodecInfo| COMPRESSORS.contains(&&*codec.name);
    // A codec can have several names, which not every reader knows.
    let as_written = |stage: &StageSpec| {
        let known = of_stage(stage).resolve(registry).ok()?.into_iter().next()?;
        let json = stored_codec_json(&known.info, &*known.config, format.dialect()).ok()?;
        StageSpec::from_json(format.dialect(), &json).ok()
    };
    let kept = own.stages().iter().filter_map(|stage| match reads(&of_stage(stage)) {
        true => Some(stage.clone()),
        false => as_written(stage).filter(|stage| !format.is_netcdf() && reads(&of_stage(stage))),
    });
    let kept: Vec<StageSpec> = kept.collect();
    let compresses =
        |stages: &[StageSpec]| stages.iter().any(|stage| is_compressor(&info(stage, registry, format)));
    let is_compressed = compresses(own.stages());
    let with = |more: &str| {
        let more = ChainSpec::parse(more).ok()?;
        let stages = kept.iter().filter(|stage| !more.stages().contains(stage)).chain(more.stages());
        Some(ChainSpec::new(stages.cloned().collect()))
    };
    let alone = (!is_compressed || compresses(&kept)).then(|| ChainSpec::new(kept.clone()));
    // A second shuffle makes data no smaller.
    let is_shuffled = kept.iter().any(|stage| &*info(stage, registry, format).name == "shuffle");
    let usual = USUAL.iter().filter(|text| is_compressed && !(is_shuffled && text.starts_with("shuffle")));
    let extended = usual.clone().filter_map(|text| with(text));
    let others = USUAL.iter().filter_map(|text| ChainSpec::parse(text).ok());
    let candidates = alone.into_iter().chain(extended).chain(others).chain([ChainSpec::default()]);
    candidates.into_iter().find_map(|spec| {
        let chain = session.define(&mut variable.clone(), format, &spec).ok()?;
        // As it is stored, shuffle may have another form.
        let stored = chain.stored_json(format.dialect()).ok();
        let stored = stored.and_then(|stored| ChainSpec::from_json(format.dialect(), &stored).ok());
        let is_read = reads(&spec) && (format.is_netcdf() || stored.is_none_or(|stored| reads(&stored)));
        if !is_read || format.is_netcdf() && chain.working().iter().any(|(id, _)| *id == 0) {
            return None;
        }
        text(&spec, session)
    })
}

/// The text of a chain.
fn text(spec: &ChainSpec, session: &Session) -> Option<String> {
    let is_plain = |stage: &StageSpec| !matches!(stage, StageSpec::Json { .. });
    match spec.stages() {
        [] => Some("none".to_owned()),
        stages if stages.iter().all(is_plain) => {
            Some(stages.iter().map(ToString::to_string).collect::<Vec<_>>().join("|"))
        }
        _ => {
            let stages = spec.resolve(&session.registry).ok()?;
            let json = |dialect| {
                let json =
                    stages.iter().map(|stage| stored_codec_json(&stage.info, &*stage.config, dialect).ok());
                json.collect::<Option<Vec<Value>>>()
            };
            let mut list = json(Dialect::Numcodecs).or_else(|| json(Dialect::ZarrV3))?;
            match list.len() {
                1 => list.pop().map(|one| one.to_string()),
                _ => Some(Value::Array(list).to_string()),
            }
        }
    }
}
