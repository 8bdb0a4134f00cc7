//! A codec that promises to lose nothing, as it is configured and for what enters it, gives back every bit; one that
//! does not promise it does lose something.

#![cfg(feature = "builtin")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::collections::BTreeSet;

use ncz::codec::{ByteOrder, Container, Dtype, Env, Kind};
use ncz::registry::Registry;
use ncz::registry::chain::FilterChain;
use ncz::registry::spec::ChainSpec;

const LEN: usize = 64;
const TYPES: [&str; 11] = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"];

fn dtype(text: &str, order: ByteOrder) -> Dtype {
    let kind = match &text[..1] {
        "i" => Kind::Int,
        "u" => Kind::UInt,
        _ => Kind::Float,
    };
    Dtype { kind, size: text[1..].parse().unwrap(), order }
}

/// Configurations in which `T` stands for the type of the elements and `S` for each type.
fn specs(entering: &str) -> Vec<(Container, String)> {
    const V2: [&str; 8] = [
        r#"{"id":"delta","dtype":"T","astype":"S"}"#,
        r#"{"id":"astype","encode_dtype":"S","decode_dtype":"T"}"#,
        r#"{"id":"fixedscaleoffset","offset":0,"scale":1,"dtype":"T","astype":"S"}"#,
        r#"{"id":"quantize","digits":3,"dtype":"T"}"#,
        r#"{"id":"bitround","keepbits":9}"#,
        r#"{"id":"bitround","keepbits":23}"#,
        r#"{"id":"zfpy"}"#,
        r#"{"id":"zfpy","mode":3,"precision":20}"#,
    ];
    const HDF5: [&str; 6] = ["6,2,0", "6,2,3", "6,0,2", "32013,5", "32013,2,0,20", "5"];
    const V3: [&str; 7] = [
        r#"{"name":"cast_value","configuration":{"data_type":"V"}}"#,
        r#"{"name":"cast_value","configuration":{"data_type":"V","scalar_map":{"encode":[[1,2]]}}}"#,
        r#"{"name":"scale_offset","configuration":{"offset":3}}"#,
        r#"{"name":"zfp","configuration":{"mode":"reversible"}}"#,
        r#"{"name":"zfp","configuration":{"mode":"fixed_precision","precision":20}}"#,
        r#"{"name":"bitround","configuration":{"keepbits":10}}"#,
        r#"{"name":"numcodecs.delta","configuration":{"dtype":"T"}}"#,
    ];
    let name = |text: &str| {
        let kind = match &text[..1] {
            "i" => "int",
            "u" => "uint",
            _ => "float",
        };
        format!("{kind}{}", 8 * text[1..].parse::<usize>().unwrap())
    };
    let mut specs = BTreeSet::new();
    for stored in TYPES {
        let filled = |text: &str| {
            let text = text
                .replace("\"T\"", &format!("\"<{entering}\""))
                .replace("\"S\"", &format!("\"<{stored}\""));
            text.replace("\"V\"", &format!("\"{}\"", name(stored)))
        };
        specs.extend(V2.map(|text| (Container::ZarrV2 as u8, filled(text))));
        specs.extend(V3.map(|text| (Container::ZarrV3 as u8, filled(text))));
    }
    specs.extend(HDF5.map(|text| (Container::Hdf5 as u8, text.to_owned())));
    let container = |number| {
        [Container::Hdf5, Container::ZarrV2, Container::ZarrV3]
            .into_iter()
            .find(|container| *container as u8 == number)
            .unwrap()
    };
    specs.into_iter().map(|(number, text)| (container(number), text)).collect()
}

/// Chunks of all kinds of bits: any, extremes, small numbers, sums of which are large.
fn chunks(dtype: Dtype) -> Vec<Vec<u8>> {
    let mut bits = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = || {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bits ^ bits >> 29
    };
    let element = |value: u64| {
        let bytes = value.to_le_bytes()[..dtype.size].to_vec();
        if dtype.order == ByteOrder::Big { bytes.into_iter().rev().collect() } else { bytes }
    };
    let number = |value: f64| match (dtype.kind, dtype.size) {
        (Kind::Float, 4) => u64::from((value as f32).to_bits()),
        (Kind::Float, 8) => value.to_bits(),
        (Kind::Float, _) => value as u64 * 0x40,
        _ => value as i64 as u64,
    };
    let top = 1_u64 << (8 * dtype.size - 1);
    let of = |value: &mut dyn FnMut(u64) -> u64| (0..LEN as u64).flat_map(|at| element(value(at))).collect();
    vec![
        of(&mut |_| random()),
        of(&mut |at| [0, top, top - 1, u64::MAX, 1][at as usize % 5]),
        of(&mut |at| number(at as f64)),
        of(&mut |at| number((at * at) as f64 / 3.0)),
        // Not all of them are numbers of two bytes with a fraction.
        of(&mut |at| number((2049 + at) as f64)),
        of(&mut |at| number(if at == 0 { 100.0 } else { 1.0 })),
        of(&mut |_| 0),
    ]
}

#[test]
fn what_promises_to_lose_nothing_gives_back_every_bit_and_what_does_not_loses_some() {
    let registry = Registry::default();
    let (mut exact, mut losing, mut only_said) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for (entering, order) in
        TYPES.into_iter().flat_map(|text| [(text, ByteOrder::Little), (text, ByteOrder::Big)])
    {
        let dtype = dtype(entering, order);
        for (container, spec) in specs(entering) {
            let env = Env { dtype, array_shape: vec![8, 8], chunk_shape: vec![8, 8], container };
            let Ok(stages) = ChainSpec::parse(&spec).unwrap().resolve(&registry) else { continue };
            let Ok(chain) = FilterChain::bind(&stages, &env) else { continue };
            let says_lossy = chain.lossy().next().is_some();
            let mut loses = false;
            let mut scratch = chain.scratch();
            for chunk in chunks(dtype) {
                let Ok(stored) = chain.encode(&mut scratch, &chunk).map(<[u8]>::to_vec) else { continue };
                let mut back = vec![0; chunk.len()];
                let is_same = chain.decode(0, &mut scratch, &stored, &mut back).is_ok() && back == chunk;
                assert!(
                    is_same || says_lossy,
                    "{spec} of {dtype:?} changes what it promised to keep: {chunk:?}"
                );
                loses |= !is_same;
            }
            match (says_lossy, loses) {
                (false, _) => drop(exact.insert((entering, spec))),
                (true, true) => drop(losing.insert((entering, spec))),
                (true, false) => only_said.push(format!("{spec} of {entering} ({container:?})")),
            }
        }
    }
    assert!(exact.len() > 100 && losing.len() > 100, "{} {}", exact.len(), losing.len());
    // Of integers it is known; of floating-point numbers, and what is computed with them, it is not known for all data.
    let known = ["fixedscaleoffset", "fixed_precision", "scalar_map"];
    only_said.retain(|said| !known.iter().any(|name| said.contains(name)) && !said.contains(" of f"));
    assert!(only_said.is_empty(), "{} are called lossy and lost nothing: {only_said:#?}", only_said.len());
}
