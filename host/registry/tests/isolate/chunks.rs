//! Third-party plugins in worker processes: the same chunks, parameters and JSON as in this process.

use std::collections::BTreeMap;

use ncz_codec::{Container, Dialect, Dtype, Env, Kind};
use ncz_registry::Entry;
use ncz_registry::chain::{FilterChain, Stage};
use ncz_test_support::{ChunkCase, Skip, chunks, python};
use serde_json::json;

use super::*;

/// The folders of hdf5plugin and netCDF4, and that of Debian's packages, if they are there.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Ok(python) = python() {
        folders.extend(["hdf5plugin", "netCDF4"].map(|package| python.plugin_dir(package).unwrap()));
    }
    let debian = PathBuf::from(format!("/usr/lib/{}-linux-gnu/hdf5/serial/plugins", std::env::consts::ARCH));
    if debian.join("libh5zzfp.so").is_file() {
        folders.push(debian);
    } else {
        let why = format!("they are not in {}", debian.display());
        let _ = Skip::new("Debian's HDF5 plugins", why, "run tests/support/setup.sh");
    }
    folders
}

fn stages(registry: &Registry, case: &ChunkCase) -> Option<Vec<Stage>> {
    let stage = |filter: &ncz_test_support::Filter| {
        let entry = registry.by_id(filter.id).ok()?;
        let config = entry.codec().parse_params(&filter.params).unwrap();
        let origin = entry.origin().to_string();
        Some(Stage { info: entry.info().clone(), config, origin, notes: Vec::new() })
    };
    case.filters.iter().map(stage).collect()
}

/// A dtype in numpy's notation.
fn dtype(text: &str) -> Dtype {
    let size = text[2..].parse().unwrap();
    let kind = match &text[1..2] {
        "f" => Kind::Float,
        "i" => Kind::Int,
        _ => Kind::UInt,
    };
    if text.starts_with('>') { Dtype::big(kind, size) } else { Dtype::little(kind, size) }
}

#[test]
fn stored_chunks_decode_in_workers_of_every_library() {
    let mut decoded = BTreeMap::<String, usize>::new();
    for folder in folders() {
        let registry = registry(&folder, isolation());
        for case in chunks().unwrap() {
            let Some(stages) = stages(&registry, &case) else { continue };
            let env = Env {
                dtype: dtype(&case.dtype),
                array_shape: case.shape.clone(),
                chunk_shape: case.shape.clone(),
                container: Container::Hdf5,
            };
            let chain = FilterChain::bind(&stages, &env).unwrap();
            let mut chunk = vec![0; chain.chunk_len()];
            let result = chain.decode(case.filter_mask, &mut chain.scratch(), &case.encoded, &mut chunk);
            result.unwrap_or_else(|error| panic!("{}: {error}: {:?}", case.name, error.source));
            assert!(chunk == case.raw, "{} decodes to other bytes", case.name);
            for stage in &stages {
                assert!(stage.origin.contains("in a worker process"), "{}", stage.origin);
                *decoded.entry(stage.origin.clone()).or_default() += 1;
            }
        }
    }
    println!("{decoded:#?}");
    // fcidecomp, htj2k, sperr, sz and sz3 have no stored chunks.
    assert!(folders().len() < 3 || decoded.len() == 18, "{}", decoded.len());
}

#[test]
fn working_parameters_and_json_made_in_workers_are_those_made_in_this_process() {
    let dtypes = [
        Dtype::little(Kind::Float, 4),
        Dtype::big(Kind::Float, 8),
        Dtype::little(Kind::Int, 2),
        Dtype::little(Kind::UInt, 1),
    ];
    let given: [&[u32]; 4] = [&[], &[5], &[0, 0, 0, 0, 5, 1, 1], &[1, 0, 0, 1_076_101_120, 0, 0]];
    // Some crash if parameters or keys are missing. This process must survive.
    let crashed = |error: &CodecError| error.detail().contains("it was ended by");
    let (mut made, mut crashes) = (0, 0);
    for folder in folders() {
        let (away, here) = (registry(&folder, isolation()), registry(&folder, Isolation::default()));
        for codec in &here.report().codecs {
            let entries = [&away, &here].map(|registry| registry.by_id(codec.id.unwrap()).ok());
            let [Some(away), Some(here)] = entries else { continue };
            for (dtype, given) in dtypes.iter().flat_map(|dtype| given.map(|given| (*dtype, given))) {
                for container in [Container::Hdf5, Container::NczarrV2] {
                    let (array_shape, chunk_shape) = (vec![640, 480], vec![64, 48]);
                    let env = Env { dtype, array_shape, chunk_shape, container };
                    let working = |entry: &Entry| {
                        let bound = entry.codec().parse_params(given)?.bind(&env.chunk(), &env);
                        let mut words = bound?.working;
                        if codec.id == Some(32_013)
                            && let Some(last) = words.get_mut(5)
                        {
                            // zfp writes its header into words that it has not cleared, and ends within the last.
                            *last &= 0xffff;
                        }
                        Ok::<_, CodecError>(words)
                    };
                    let away = working(&away);
                    if away.as_ref().is_err_and(crashed) {
                        crashes += 1;
                        continue;
                    }
                    let here = working(&here);
                    made += usize::from(here.as_ref().is_ok_and(|words| words != given));
                    assert_eq!(away, here, "{} {dtype:?} {given:?} {container:?}", codec.name);
                }
            }
            for config in
                [json!({"level": 3}), json!({"clevel": 5, "cname": "lz4", "shuffle": 1, "blocksize": 0})]
            {
                let json = |entry: &Entry| {
                    let config = config.as_object().unwrap();
                    let config = entry.codec().parse_json(Dialect::Numcodecs, config, &mut Vec::new())?;
                    Ok::<_, CodecError>((config.to_params()?, config.to_json(Dialect::Numcodecs)?))
                };
                let away = json(&away);
                if away.as_ref().is_err_and(crashed) {
                    crashes += 1;
                    continue;
                }
                let here = json(&here);
                assert_eq!(away, here, "{}", codec.name);
            }
        }
    }
    println!("{made} made, {crashes} crashed");
    assert!(folders().len() < 3 || made > 50, "{made}");
}
