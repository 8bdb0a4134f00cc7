use std::collections::BTreeSet;

use fastrand::Rng;
use ncz::codec::{Container, Dialect, Dtype, Env, Kind};
use ncz::model::json::{Json, json, to_values};
use ncz::model::json::{parse, to_text_lenient};
use ncz::registry::Registry;
use ncz::registry::chain::{FilterChain, Stage};
use ncz::registry::spec::{ChainSpec, stored_codec_json};

use super::{Target, explained};
use crate::fixtures::{datasets, documents};
use crate::{Case, mutate};

/// Codecs as metadata spell them, by name and by filter number. What a codec reads it writes so that it reads the same; a
/// chain that binds gives every chunk back, and none binds to elements of 0 bytes.
pub(super) struct Codecs {
    registry: Registry,
}

const NUMCODECS: &str = "numcodecs";
const ZARR_V3: &str = "zarr v3";

impl Codecs {
    pub(super) fn new() -> Self {
        Self { registry: Registry::builder().no_plugins(true).build() }
    }

    fn resolve(&self, dialect: Dialect, list: &[Json]) -> Result<Vec<Stage>, String> {
        let spec = ChainSpec::from_json(dialect, &to_values(list)).map_err(|error| explained(&error))?;
        spec.resolve(&self.registry).map_err(|error| explained(&error))
    }
}

/// Each codec as it is written, and each again from there.
fn written(dialect: Dialect, stages: &[Stage]) -> Result<Vec<Json>, String> {
    let json = |stage: &Stage| stored_codec_json(&stage.info, &*stage.config, dialect);
    stages
        .iter()
        .map(json)
        .collect::<Result<Vec<_>, _>>()
        .map(|codecs| codecs.into_iter().map(Json::from).collect())
        .map_err(|error| explained(&error))
}

fn envs(container: Container) -> impl Iterator<Item = Env> {
    let array = |dtype, array_shape: &[u64], chunk_shape: &[u64]| Env {
        dtype,
        array_shape: array_shape.to_vec(),
        chunk_shape: chunk_shape.to_vec(),
        container,
    };
    [
        array(Dtype::little(Kind::Float, 4), &[100, 90], &[10, 9]),
        array(Dtype::big(Kind::Int, 2), &[7], &[33]),
        array(Dtype::little(Kind::UInt, 1), &[3, 5, 1000], &[1, 1, 1000]),
        array(Dtype::little(Kind::Opaque, 13), &[40], &[40]),
        array(Dtype::little(Kind::Complex, 16), &[], &[]),
        array(Dtype::little(Kind::Opaque, 0), &[1, 1, 1], &[1, 1, 1]),
    ]
    .into_iter()
}

impl Target for Codecs {
    fn seeds(&self) -> Vec<Case> {
        let mut lists = BTreeSet::new();
        for text in datasets("").values().flat_map(|objects| documents(objects).into_values()) {
            let Ok(document) = parse(&text) else { continue };
            let value = document.value;
            match value.get("codecs") {
                Some(codecs) => {
                    let known = |codec: &&Json| {
                        !["bytes", "transpose"].map(|name| codec["name"] == name).contains(&true)
                    };
                    let list: Json = codecs.as_array().into_iter().flatten().filter(known).cloned().collect();
                    lists.insert((ZARR_V3, to_text_lenient(&list)));
                }
                None if value.get("compressor").is_some() => {
                    let filters = value["filters"].as_array().cloned().unwrap_or_default();
                    let list =
                        filters.into_iter().chain([value["compressor"].clone()]).filter(Json::is_object);
                    lists.insert((NUMCODECS, to_text_lenient(&list.collect())));
                }
                None => {}
            }
        }
        for id in self.registry.report().codecs.iter().filter_map(|codec| codec.id) {
            for words in [json!([]), json!([0, 2]), json!([4, 16, 1, 2]), json!([u32::MAX])] {
                let (dialect, list) = match id % 2 {
                    0 => (NUMCODECS, json!([{"id": "ncz.hdf5_filter", "filter": id, "cd_values": words}])),
                    _ => {
                        let configuration = json!({"filter": id, "cd_values": words});
                        (ZARR_V3, json!([{"name": "ncz.hdf5_filter", "configuration": configuration}]))
                    }
                };
                lists.insert((dialect, to_text_lenient(&list)));
            }
        }
        lists.into_iter().map(|(dialect, text)| Case::new(dialect, text)).collect()
    }

    fn mutate(&self, case: &mut Case, other: &Case, rng: &mut Rng) {
        mutate::json::mutate(&mut case.bytes, &other.bytes, rng);
    }

    fn most_memory(&self) -> usize {
        // Of bzip2, the hungriest, 32 contexts for each variable.
        2 << 30
    }

    fn run(&mut self, case: &Case) -> String {
        let v3 = case.context == ZARR_V3;
        let dialect = if v3 { Dialect::ZarrV3 } else { Dialect::Numcodecs };
        let container = if v3 { Container::ZarrV3 } else { Container::ZarrV2 };
        let parsed = match parse(&case.bytes) {
            Ok(parsed) => parsed.value,
            Err(error) => return explained(&error),
        };
        let list = match parsed {
            Json::Array(list) => list,
            one => vec![one],
        };
        let stages = match self.resolve(dialect, &list) {
            Ok(stages) => stages,
            Err(summary) => return summary,
        };
        let mut summary = stages.iter().flat_map(|stage| stage.notes.clone()).collect::<Vec<_>>().join("; ");
        match written(dialect, &stages) {
            Ok(first) => {
                let again =
                    self.resolve(dialect, &first).unwrap_or_else(|error| panic!("{first:?}: {error}"));
                assert_eq!(written(dialect, &again).as_ref(), Ok(&first));
            }
            Err(unwritable) => summary.push_str(&unwritable),
        }
        for env in envs(container) {
            summary.push('|');
            match FilterChain::bind(&stages, &env) {
                Ok(chain) => {
                    assert!(env.dtype.size > 0, "{chain} binds to elements of 0 bytes");
                    summary.push_str(&round_trip(&chain, &stages));
                }
                Err(error) => summary.push_str(&explained(&error)),
            }
        }
        summary
    }
}

fn round_trip(chain: &FilterChain, stages: &[Stage]) -> String {
    let chunk: Vec<u8> = (0..chain.chunk_len()).map(|at| (at / 3 % 251) as u8).collect();
    let mut scratch = chain.scratch();
    let stored = match chain.encode(&mut scratch, &chunk) {
        Ok(stored) => stored.to_vec(),
        Err(error) => return explained(&error),
    };
    assert!(stored.len() <= chain.max_stored_len(), "{} bytes of {chain}", stored.len());
    let mut back = vec![0xAA; chunk.len()];
    chain.decode(0, &mut scratch, &stored, &mut back).unwrap_or_else(|error| panic!("{}", explained(&error)));
    if stages.iter().any(|stage| stage.info.lossy == Some(true)) {
        return "fewer digits".to_owned();
    }
    assert!(back == chunk, "{chain} gives other bytes back");
    "same".to_owned()
}
