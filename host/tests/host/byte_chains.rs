//! Chains over bytes of any length, with every codec that is built in.

#![cfg(feature = "builtin")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz::codec::{ByteOrder, Container, Dtype, Env, ErrorKind, Kind};
use ncz::registry::Registry;
use ncz::registry::chain::{ChainScratch, FilterChain, Operation};
use ncz::registry::spec::ChainSpec;
use proptest::prelude::*;

/// Chains that take bytes of any length.
const CHAINS: &[&str] = &[
    "[]",
    r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}"#,
    r#"{"id":"blosc","cname":"snappy","clevel":5,"shuffle":-1}"#,
    r#"{"id":"bz2","level":1}"#,
    r#"{"id":"zlib","level":1}"#,
    r#"{"id":"gzip","level":1}"#,
    r#"{"id":"lz4"}"#,
    r#"{"id":"imagecodecs_lz4h5","blocksize":1000}"#,
    r#"{"id":"imagecodecs_lzf","header":false}"#,
    r#"{"id":"crc32c"}"#,
    r#"{"id":"crc32c","location":"start"}"#,
    r#"{"id":"fletcher32"}"#,
    r#"{"id":"shuffle","elementsize":1}"#,
    r#"{"id":"shuffle","elementsize":0}"#,
    r#"{"id":"szip","mask":32,"pixels-per-block":8}"#,
    r#"{"id":"zstd","level":0,"checksum":true}"#,
    r#"[{"id":"shuffle","elementsize":1},{"id":"zstd"},{"id":"fletcher32"},{"id":"bz2"},{"id":"zlib"}]"#,
    r#"[{"id":"zlib","level":9},{"id":"blosc"},{"id":"zstd"}]"#,
];

const MOST: usize = 1 << 17;

fn chain(spec: &str, most: usize) -> FilterChain {
    let env = Env {
        dtype: Dtype::little(Kind::Opaque, 16),
        array_shape: vec![1000],
        chunk_shape: vec![100],
        container: Container::ZarrV2,
    };
    let stages = ChainSpec::parse(spec).unwrap().resolve(&Registry::default()).unwrap();
    FilterChain::bind_bytes(&stages, &env, most).unwrap()
}

fn encode(chain: &FilterChain, bytes: &[u8]) -> Vec<u8> {
    chain.encode_bytes(&mut ChainScratch::default(), bytes).unwrap().to_vec()
}

#[test]
fn bytes_of_any_length_come_back_with_one_scratch_and_one_buffer() {
    for spec in CHAINS {
        let chain = chain(spec, MOST);
        let mut scratch = chain.scratch();
        let mut out = vec![1, 2, 3];
        for len in [0, 1, 3, 4, 5000, MOST, 2, 0] {
            for bytes in [vec![7_u8; len], (0..len).map(|n| (n * n / 7) as u8).collect()] {
                let stored = chain.encode_bytes(&mut scratch, &bytes).unwrap().to_vec();
                assert!(stored.len() <= chain.max_stored_len(), "{spec}");
                chain.decode_bytes(&mut scratch, &stored, MOST, &mut out).unwrap();
                assert!(out == bytes, "{len} bytes by {spec}");
                chain.decode_bytes(&mut scratch, &stored, len, &mut out).unwrap();
                assert!(out == bytes, "{len} bytes by {spec}");
            }
        }
    }
}

#[test]
fn more_than_was_asked_for_is_refused_on_either_side() {
    for spec in CHAINS {
        let chain = chain(spec, 10_000);
        let mut scratch = chain.scratch();
        let mut out = vec![1; 50];
        let stored = encode(&chain, &[7; 10_000]);
        let error = chain.decode_bytes(&mut scratch, &stored, 9_999, &mut out).unwrap_err();
        assert!(matches!(error.source.kind(), ErrorKind::OutputFull { .. }), "{spec}: {error:?}");
        assert!(out.is_empty(), "{spec}");
        let error = chain.encode_bytes(&mut scratch, &[7; 10_001]).unwrap_err();
        assert_eq!(error.operation, Operation::Encode);
        // A chain for fewer bytes does not take the stream either, whatever its caller says.
        let longer = self::chain(spec, 20_000);
        let stored = encode(&longer, &[7; 20_000]);
        chain.decode_bytes(&mut scratch, &stored, usize::MAX, &mut out).unwrap_err();
    }
}

#[test]
fn memory_is_taken_for_what_a_stream_holds() {
    const HUGE: usize = 4 << 30;
    for spec in CHAINS {
        let chain = chain(spec, HUGE);
        let stored = encode(&chain, b"a few bytes");
        let mut out = Vec::new();
        chain.decode_bytes(&mut chain.scratch(), &stored, HUGE, &mut out).unwrap();
        assert_eq!(out, b"a few bytes", "{spec}");
        assert!(out.capacity() <= 4096, "{} bytes taken by {spec}", out.capacity());
    }
    // A header with a too large length is checked before memory is allocated.
    let blosc = chain(r#"{"id":"blosc"}"#, MOST);
    let mut stored = encode(&blosc, &[7; 5000]);
    stored[4..8].copy_from_slice(&0x7000_0000_u32.to_le_bytes());
    let mut out = Vec::new();
    blosc.decode_bytes(&mut blosc.scratch(), &stored, MOST, &mut out).unwrap_err();
    assert_eq!(out.capacity(), 0);
}

#[test]
fn chains_of_bytes_and_of_chunks_are_not_taken_for_each_other() {
    let bytes = chain("zstd,3", 100);
    bytes.encode(&mut bytes.scratch(), &[0; 100]).unwrap_err();
    bytes.decode(0, &mut bytes.scratch(), &encode(&bytes, &[0; 100]), &mut [0; 100]).unwrap_err();
    let env = Env {
        dtype: Dtype::little(Kind::UInt, 1),
        array_shape: vec![100],
        chunk_shape: vec![100],
        container: Container::ZarrV2,
    };
    let chunks = FilterChain::bind(&[], &env).unwrap();
    chunks.encode_bytes(&mut chunks.scratch(), &[0; 100]).unwrap_err();
    chunks.decode_bytes(&mut chunks.scratch(), &[0; 100], 100, &mut Vec::new()).unwrap_err();
    FilterChain::bind_bytes(&[], &env, (4 << 30) + 1).unwrap_err();
}

proptest! {
    #[test]
    fn any_bytes_come_back_and_any_damage_is_survived(
        bytes in proptest::collection::vec(any::<u8>(), 0..3000),
        index in 0..CHAINS.len(),
        cut in any::<proptest::sample::Index>(),
        bit in 0..8_u32,
    ) {
        let chain = chain(CHAINS[index], 3000);
        let mut stored = encode(&chain, &bytes);
        let mut out = Vec::new();
        chain.decode_bytes(&mut chain.scratch(), &stored, 3000, &mut out).unwrap();
        prop_assert_eq!(&out, &bytes);
        if !stored.is_empty() {
            let at = cut.index(stored.len());
            stored[at] ^= 1 << bit;
            let _ = chain.decode_bytes(&mut chain.scratch(), &stored, 3000, &mut out);
            prop_assert!(out.len() <= 3000);
            let _ = chain.decode_bytes(&mut chain.scratch(), &stored[..at], 3000, &mut out);
        }
    }
}

#[test]
fn filters_of_big_endian_numbers_are_refused_in_version_3_where_readers_do_not_know_the_order() {
    let registry = Registry::default();
    let refused = |filter: &str, order, container| {
        let dtype = Dtype { kind: Kind::Int, size: 4, order };
        let env = Env { dtype, array_shape: vec![64], chunk_shape: vec![64], container };
        let stages = ChainSpec::parse(filter).unwrap().resolve(&registry).unwrap();
        FilterChain::bind(&stages, &env).err().map(|error| error.source.to_string())
    };
    for filter in ["6,2,0", "5", "4,141,16", "1,3|6,2,0"] {
        let error = refused(filter, ByteOrder::Big, Container::ZarrV3).unwrap();
        assert!(error.contains("store them little-endian"), "{filter}: {error}");
        assert_eq!(refused(filter, ByteOrder::Little, Container::ZarrV3), None, "{filter}");
        for container in [Container::Hdf5, Container::ZarrV2, Container::NczarrV2] {
            assert_eq!(refused(filter, ByteOrder::Big, container), None, "{filter}");
        }
    }
    for filter in ["2|1,6", "32008,0,2", "32001,0,0,0,0,5,1,1", "32026,0,0,0,0,5,1,1", "32015,3"] {
        assert_eq!(refused(filter, ByteOrder::Big, Container::ZarrV3), None, "{filter}");
    }
}
