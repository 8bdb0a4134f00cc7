//! Damaged streams of each own codec, decoded as ncz decodes them: by a chain of the registry.
//!
//! `NCZ_MUTATIONS=100000` sets how many there are for each codec.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::sync::Arc;
use std::time::Duration;

use ncz_codec::{AnyConfig, CodecType, Container, Dialect, Dtype, Env, Kind};
use ncz_conform::clock::cpu_time;
use ncz_conform::mutation::{Mutator, Sort};
use ncz_conform::sample::{Content, Sample};
use ncz_registry::chain::{ChainScratch, FilterChain, Stage};
use ncz_registry::load;
use serde_json::{Value, json};

/// What a stream may take beyond 20 times the good one's.
const MORE: Duration = Duration::from_secs(1);

/// What came of the streams of one codec.
#[derive(Debug, Default)]
struct Counts {
    streams: usize,
    refused: usize,
    same: usize,
    wrong: usize,
    cuts_taken: usize,
    slowest: Duration,
}

/// Elements that a codec takes, and a configuration that it needs: the plainest.
fn configured(codec: &load::NativeCodec) -> (Dtype, Arc<dyn AnyConfig>) {
    let (float, int) = (Dtype::little(Kind::Float, 4), Dtype::little(Kind::Int, 4));
    let json = |config: Value| {
        let config = config.as_object().unwrap();
        codec.parse_json(Dialect::Numcodecs, config, &mut Vec::new()).unwrap()
    };
    match &*codec.info().name {
        "astype" => (int, json(json!({"encode_dtype": "<f8", "decode_dtype": "<i4"}))),
        "bitround" => (float, json(json!({"keepbits": 9}))),
        "bitroundh5" => (float, codec.parse_params(&[9]).unwrap()),
        // As doubles, which hold these exactly.
        "cast_value" => (float, codec.parse_params(&[0x38_663c, 0, 0, 0, 0]).unwrap()),
        "delta" => (int, json(json!({"dtype": "<i4"}))),
        "fixedscaleoffset" => (int, json(json!({"offset": 0, "scale": 1, "dtype": "<i4"}))),
        "packbits" => (Dtype::little(Kind::Bool, 1), json(json!({}))),
        "quantize" => (float, json(json!({"digits": 3, "dtype": "<f4"}))),
        "scaleoffset" => (int, codec.parse_params(&[2, 0]).unwrap()),
        "szip" => (float, json(json!({"mask": 32, "pixels-per-block": 16}))),
        "zfp" => (float, codec.parse_params(&[5]).unwrap()),
        "zfpy" => (float, json(json!({"mode": 4, "tolerance": -1}))),
        _ => (float, codec.parse_params(&[]).unwrap_or_else(|_| json(json!({})))),
    }
}

/// A chain of one codec, its streams, and what they decode to.
struct Streams {
    chain: FilterChain,
    scratch: ChainScratch,
    all: Vec<(Vec<u8>, Vec<u8>)>,
}

#[test]
fn damaged_streams_of_own_codecs_are_refused_or_give_a_whole_chunk_in_time() {
    let streams = std::env::var("NCZ_MUTATIONS").map_or(1000, |count| count.parse().unwrap());
    let plugins = ncz_test_support::build_plugins().unwrap();
    let mut libraries: Vec<_> =
        std::fs::read_dir(plugins).unwrap().map(|entry| entry.unwrap().path()).collect();
    libraries.retain(|path| {
        path.extension().is_some_and(|extension| extension == std::env::consts::DLL_EXTENSION)
    });
    libraries.sort();
    let mut codecs = 0;
    println!("codec       checksum streams refused same wrong cuts-taken slowest-ms");
    for library in libraries {
        for codec in load::open(&library).unwrap().native().unwrap() {
            let info = codec.info().clone();
            let counts = damaged(&codec, streams);
            println!(
                "{:<11} {:<8} {} {} {} {} {} {:.2}",
                info.name,
                info.has_checksum,
                counts.streams,
                counts.refused,
                counts.same,
                counts.wrong,
                counts.cuts_taken,
                counts.slowest.as_secs_f64() * 1e3
            );
            assert_eq!(counts.cuts_taken, 0, "{}: {counts:?}", info.name);
            assert_eq!(counts.streams, counts.refused + counts.same + counts.wrong);
            codecs += 1;
        }
    }
    // 31 libraries; `ncz_h5zfp` and `ncz_packbits` have two codecs.
    assert_eq!(codecs, 33);
}

fn damaged(codec: &load::NativeCodec, count: usize) -> Counts {
    let name = codec.info().name.clone();
    let mut streams = Streams::new(codec);
    let mut counts = Counts::default();
    let mut chunk = vec![0; streams.chain.chunk_len()];
    let clean = streams.clean_time(&mut chunk);
    let kinds = streams.all.len();
    for index in 0..count {
        let (sort, number) = (Sort::ALL[index % Sort::ALL.len()], index / Sort::ALL.len());
        let (kind, number) = (number % kinds, number / kinds);
        let other = streams.all[(kind + 1) % kinds].0.clone();
        let (stream, data) = &streams.all[kind];
        let mutator =
            Mutator { sort, seed: 4, count: count / Sort::ALL.len() / kinds, stream, other: &other };
        let mutation = mutator.make(number);
        if mutation.bytes == *stream {
            continue;
        }
        let start = cpu_time();
        let result = streams.chain.decode(0, &mut streams.scratch, &mutation.bytes, &mut chunk);
        let took = cpu_time().saturating_sub(start);
        assert!(took < clean * 20 + MORE, "{name}, {sort} {index}, {}: {took:?}, {clean:?}", mutation.what);
        counts.slowest = counts.slowest.max(took);
        counts.streams += 1;
        match result {
            Err(_) => counts.refused += 1,
            Ok(()) if chunk == *data => counts.same += 1,
            Ok(()) => counts.wrong += 1,
        }
        // zfpy fills the last word up, and nothing is lost where only that filling is.
        let is_whole = codec.info().name == "zfpy" && chunk == *data;
        if result.is_ok() && sort == Sort::Truncated && !is_whole {
            counts.cuts_taken += 1;
            eprintln!("{name}, {sort} {index}, {}: taken", mutation.what);
        }
        if codec.info().has_checksum && sort == Sort::Flipped {
            let wrong = result.is_ok() && chunk != *data;
            assert!(!wrong, "{name}, {sort} {index}, {}: damage that a checksum must see", mutation.what);
        }
    }
    counts
}

impl Streams {
    /// Chunks of 16 KiB: numbers that change slowly, runs, and noise.
    fn new(codec: &load::NativeCodec) -> Self {
        let (dtype, config) = configured(codec);
        let shape = vec![64, 64];
        let env = Env {
            dtype,
            array_shape: shape.clone(),
            chunk_shape: shape.clone(),
            container: Container::NczarrV2,
        };
        let stage =
            Stage { info: codec.info().clone(), config, origin: "a plugin".to_owned(), notes: Vec::new() };
        let chain = FilterChain::bind(&[stage], &env).unwrap();
        let mut scratch = chain.scratch();
        let all = [Content::Smooth, Content::Runs, Content::Noise]
            .map(|content| {
                let data = Sample::new(dtype, &shape, content, 1).bytes;
                let stream = chain.encode(&mut scratch, &data).unwrap().to_vec();
                let mut back = vec![0; data.len()];
                chain.decode(0, &mut scratch, &stream, &mut back).unwrap();
                assert!(codec.info().lossy == Some(true) || back == data, "{}", codec.info().name);
                (stream, back)
            })
            .into();
        Self { chain, scratch, all }
    }

    /// What the slowest good stream takes.
    fn clean_time(&mut self, chunk: &mut [u8]) -> Duration {
        let mut slowest = Duration::ZERO;
        for (stream, data) in &self.all {
            let start = cpu_time();
            self.chain.decode(0, &mut self.scratch, stream, chunk).unwrap();
            slowest = slowest.max(cpu_time().saturating_sub(start));
            assert!(chunk == *data);
        }
        slowest
    }
}
