//! Whatever type, shape and configuration a codec is given, it binds or refuses: none panics. Bound codecs then encode
//! and decode, whatever the bytes are.

#![cfg(feature = "builtin")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::sync::{Arc, OnceLock};

use ncz::codec::{
    AnyCoder, AnyConfig, BoundStage, ByteOrder, Container, Dialect, Dtype, Env, Kind, Repr, Size,
};
use ncz::registry::chain::FilterChain;
use ncz::registry::spec::ChainSpec;
use ncz::registry::{Entry, Registry};
// The one codec of this repository that is not built in.
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// No chunk is encoded that is longer, and no stream taken that may become longer.
const LONGEST: usize = 1 << 16;

const WORDS: [u32; 18] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 32, 64, 255, 256, 0x7fff_ffff, 0x8000_0000, u32::MAX];

/// A codec, and the names by which its JSON is read.
type NamedCodec = (Arc<Entry>, Vec<(Dialect, String)>);

fn codecs() -> &'static [NamedCodec] {
    static CODECS: OnceLock<Vec<NamedCodec>> = OnceLock::new();
    CODECS.get_or_init(|| {
        let registry = registry();
        let codecs = registry.report().codecs.iter().filter_map(|codec| {
            let names = codec.numcodecs.iter().map(|name| (Dialect::Numcodecs, name.clone()));
            let names: Vec<_> =
                names.chain(codec.zarr_v3.iter().map(|name| (Dialect::ZarrV3, name.clone()))).collect();
            let entry = match (codec.id, names.first()) {
                (Some(id), _) => registry.by_id(id).ok()?,
                (None, Some((dialect, name))) => registry.by_name(*dialect, name).ok()?,
                (None, None) => return None,
            };
            Some((entry, names))
        });
        codecs.collect()
    })
}

fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| Registry::builder().no_plugins(true).build())
}

fn dtypes() -> impl Strategy<Value = Dtype> {
    const KINDS: [Kind; 6] = [Kind::Bool, Kind::Int, Kind::UInt, Kind::Float, Kind::Complex, Kind::Opaque];
    const SIZES: [usize; 15] = [0, 1, 2, 3, 4, 5, 8, 12, 16, 255, 256, 300, 65536, 1 << 31, usize::MAX];
    const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];
    (select(&KINDS[..]), select(&SIZES[..]), select(&ORDERS[..])).prop_map(|(kind, size, order)| Dtype {
        kind,
        size,
        order,
    })
}

fn shapes() -> impl Strategy<Value = Vec<u64>> {
    const LENGTHS: [u64; 14] = [0, 1, 1, 2, 3, 4, 5, 8, 13, 32, 100, 1 << 20, 1 << 33, u64::MAX];
    prop_oneof![
        4 => prop::collection::vec(select(&LENGTHS[1..11]), 0..4),
        1 => prop::collection::vec(select(&LENGTHS[..]), 0..9),
    ]
}

/// The input of a codec, and its environment.
fn inputs() -> impl Strategy<Value = (Repr, Env)> {
    const CONTAINERS: [Container; 4] =
        [Container::Hdf5, Container::ZarrV2, Container::NczarrV2, Container::ZarrV3];
    const SIZES: [usize; 8] = [0, 1, 7, 64, 1000, LONGEST, 1 << 31, usize::MAX];
    let bytes = (0..3, select(&SIZES[..])).prop_map(|(sort, len)| Repr::Bytes {
        size: match sort {
            0 => Size::Exact(len),
            1 => Size::AtMost(len),
            _ => Size::Unknown,
        },
    });
    let fill = prop::option::of(prop::collection::vec(any::<u8>(), 0..17));
    let array =
        (dtypes(), shapes(), fill).prop_map(|(dtype, shape, fill)| Repr::Array { dtype, shape, fill });
    let env = (dtypes(), shapes(), shapes(), select(&CONTAINERS[..])).prop_map(
        |(dtype, array, chunk, container)| Env { dtype, array_shape: array, chunk_shape: chunk, container },
    );
    // Mostly a chunk of the variable itself, as it enters the first codec.
    (env, prop_oneof![3 => Just(None), 1 => array.prop_map(Some), 1 => bytes.prop_map(Some)])
        .prop_map(|(env, other)| (other.unwrap_or_else(|| env.chunk()), env))
}

fn words() -> impl Strategy<Value = Vec<u32>> {
    let word = prop_oneof![6 => select(&WORDS[..]), 1 => any::<u32>()];
    prop::collection::vec(word, 0..12)
}

/// Replacements for values of a configuration, by position.
fn changes() -> impl Strategy<Value = Vec<(usize, Value)>> {
    let values = [
        json!(0),
        json!(1),
        json!(8),
        json!(255),
        json!(-1),
        json!(u32::MAX),
        json!(u64::MAX),
        json!(0.5),
        json!(1e300),
        json!(true),
        json!(null),
        json!(""),
        json!("|V0"),
        json!("<i2"),
        json!(">f8"),
        json!("|u1"),
        json!("int8"),
        json!("float64"),
        json!([]),
        json!({}),
    ];
    prop::collection::vec((any::<usize>(), select(values.to_vec())), 0..4)
}

/// The configuration with some of its values changed; keys that codecs have are added to an empty one.
fn changed(mut json: Map<String, Value>, changes: Vec<(usize, Value)>) -> Map<String, Value> {
    const KEYS: [&str; 12] = [
        "level",
        "clevel",
        "elementsize",
        "itemsize",
        "blocksize",
        "typesize",
        "dtype",
        "astype",
        "mode",
        "rate",
        "keepbits",
        "data_type",
    ];
    for (at, value) in changes {
        match json.len() {
            0 => drop(json.insert(KEYS[at % KEYS.len()].to_owned(), value)),
            len => *json.values_mut().nth(at % len).unwrap() = value,
        }
    }
    json
}

/// Binds a configuration, and encodes and decodes with what comes of it.
fn try_out(config: &dyn AnyConfig, (input, env): &(Repr, Env), bytes: &[u8]) {
    let Ok(BoundStage { stored, working, output, coder, .. }) = config.bind(input, env) else { return };
    let _ = (stored.to_json(Dialect::Numcodecs), stored.to_json(Dialect::ZarrV3), stored.to_params());
    let _ = output.size();
    let len = input.size().expect("what has no size does not bind").bound().unwrap_or(1000);
    let _ = coder.max_encoded_len(len);
    run(&*coder, len, bytes);
    drop(working);
}

fn run(coder: &dyn AnyCoder, len: usize, bytes: &[u8]) {
    let mut scratch = coder.scratch();
    let _ = coder.decoded_len(bytes);
    let mut chunk = vec![0; len.min(LONGEST)];
    let _ = coder.decode(&mut scratch, bytes, &mut chunk);
    let data: Vec<u8> = bytes.iter().copied().cycle().take(chunk.len()).collect();
    for data in [&data[..], &data[..data.len() / 2], &[]] {
        let Some(most) = coder.max_encoded_len(data.len()).filter(|&most| most <= 64 * LONGEST) else {
            continue;
        };
        let mut stream = vec![0; most];
        let Ok(len) = coder.encode(&mut scratch, data, &mut stream) else { continue };
        assert!(len <= most, "{len} bytes of {most}");
        coder.decode(&mut scratch, &stream[..len], &mut chunk).expect("the codec's own stream");
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..200)
}

/// Cases of a run; `NCZ_CASES` sets others.
fn config() -> ProptestConfig {
    let cases = std::env::var("NCZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4000);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn all_codecs_of_this_repository_are_tried() {
    let ids: Vec<u32> = codecs().iter().filter_map(|(entry, _)| entry.info().filter_id).collect();
    assert!([1, 2, 32008, 32026, 32013].iter().all(|id| ids.contains(id)), "{ids:?}");
    assert!(codecs().len() >= 31, "{}", codecs().len());
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn codecs_with_any_words_bind_or_refuse(
        codec in select(codecs()), words in words(), input in inputs(), bytes in bytes(),
    ) {
        let (entry, _) = codec;
        if let Ok(config) = entry.codec().parse_params(&words) {
            try_out(&*config, &input, &bytes);
        }
        // As a filter function is called.
        if let Ok(coder) = entry.codec().coder(&words) {
            run(&*coder, bytes.len(), &bytes);
        }
    }

    #[test]
    fn codecs_with_any_json_bind_or_refuse(
        codec in select(codecs()), name in any::<usize>(), changes in changes(), input in inputs(), bytes in bytes(),
    ) {
        let (entry, names) = codec;
        if names.is_empty() {
            return Ok(());
        }
        let dialect = names[name % names.len()].0;
        let mut notes = Vec::new();
        let default = entry.codec().parse_json(dialect, &Map::new(), &mut notes);
        let default = default.and_then(|default| default.to_json(dialect)).unwrap_or_default();
        if let Ok(config) = entry.codec().parse_json(dialect, &changed(default, changes), &mut notes) {
            try_out(&*config, &input, &bytes);
        }
    }

    #[test]
    fn chains_of_codecs_by_number_bind_or_refuse(
        filters in prop::collection::vec((select(codecs()), words()), 0..4), input in inputs(), bytes in bytes(),
    ) {
        let ids = filters.iter().filter_map(|((entry, _), words)| Some((entry.info().filter_id?, words.clone())));
        let by_number = |(filter, words): (u32, Vec<u32>)| json!({"id": "ncz.hdf5_filter", "filter": filter, "cd_values": words});
        let list: Vec<Value> = ids.map(by_number).collect();
        let spec = ChainSpec::from_json(Dialect::Numcodecs, &list).unwrap();
        let Ok(stages) = spec.resolve(registry()) else { return Ok(()) };
        let Ok(chain) = FilterChain::bind(&stages, &input.1) else { return Ok(()) };
        prop_assert!(input.1.dtype.size > 0);
        let len = chain.chunk_len();
        if len <= LONGEST {
            let mut chunk: Vec<u8> = bytes.iter().copied().cycle().take(len).collect();
            let mut scratch = chain.scratch();
            let stored = chain.encode(&mut scratch, &chunk).map(<[u8]>::to_vec);
            let _ = chain.decode(0, &mut scratch, &bytes, &mut chunk);
            if let Ok(stored) = stored {
                chain.decode(0, &mut scratch, &stored, &mut chunk).expect("the chain's own stream");
            }
        }
    }
}
