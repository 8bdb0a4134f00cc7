//! Every change of a stored chunk's length is an error, and so is every change of its bytes if a codec has a
//! checksum.

use std::collections::{BTreeMap, BTreeSet};

use ncz::codec::{ByteOrder, Container, Dtype, Env, Kind};
use ncz::registry::Registry;
use ncz::registry::chain::{ChainScratch, FilterChain};
use ncz::registry::spec::{ChainSpec, StageSpec};
use ncz_test_support::{ChunkCase, chunks};

use super::helpers::explained;

const OURS: [u32; 7] = [1, 2, 3, 4, 307, 32_001, 32_015];
/// Of these, those with a checksum: Adler-32 in zlib, Fletcher-32, CRC-32 in bzip2.
const CHECKED: [u32; 3] = [1, 3, 307];

/// The chunks that HDF5 stored with only our filters, and their chains.
fn cases() -> Vec<(ChunkCase, FilterChain)> {
    let registry = Registry::builder().no_plugins(true).build();
    let ours = |case: &ChunkCase| case.filters.iter().all(|filter| OURS.contains(&filter.id));
    chunks()
        .unwrap()
        .into_iter()
        .filter(ours)
        .map(|case| {
            let chain = bind(&registry, &case);
            (case, chain)
        })
        .collect()
}

fn bind(registry: &Registry, case: &ChunkCase) -> FilterChain {
    let (letter, size) = case.dtype.trim_start_matches(['<', '>', '|']).split_at(1);
    let kind = match letter {
        "i" => Kind::Int,
        "u" => Kind::UInt,
        "f" => Kind::Float,
        _ => Kind::Opaque,
    };
    let order = if case.dtype.starts_with('>') { ByteOrder::Big } else { ByteOrder::Little };
    let env = Env {
        dtype: Dtype { kind, size: size.parse().unwrap(), order },
        array_shape: case.shape.clone(),
        chunk_shape: case.shape.clone(),
        container: Container::Hdf5,
    };
    let stage = |filter: &ncz_test_support::Filter| StageSpec::Filter {
        id: filter.id,
        params: filter.params.clone(),
    };
    let spec = ChainSpec::new(case.filters.iter().map(stage).collect());
    FilterChain::bind(&spec.resolve(registry).unwrap(), &env)
        .unwrap_or_else(|error| panic!("{}: {}", case.name, explained(&error)))
}

/// The filters of a chunk that ran.
fn ran(case: &ChunkCase) -> Vec<u32> {
    let ran = |&(index, _): &(usize, u32)| case.filter_mask & (1 << index) == 0;
    case.filters.iter().map(|filter| filter.id).enumerate().filter(ran).map(|(_, id)| id).collect()
}

/// All numbers below `len` or, if those are many, both ends and many between.
fn some_of(len: usize) -> BTreeSet<usize> {
    let step = len.div_ceil(300).max(1);
    (0..len).filter(|at| at % step == 0 || *at < 40 || at + 40 >= len).collect()
}

#[test]
fn every_truncation_and_every_appended_byte_is_an_error() {
    let (mut faults, mut tried) = (Vec::new(), 0);
    for (case, chain) in cases() {
        let mut scratch = chain.scratch();
        let mut out = vec![0; chain.chunk_len()];
        let mut refused = |stored: &[u8], what: String| {
            tried += 1;
            if chain.decode(case.filter_mask, &mut scratch, stored, &mut out).is_ok() {
                faults.push(format!("{} ({chain}, mask {:b}): {what}", case.name, case.filter_mask));
            }
        };
        for len in some_of(case.encoded.len()) {
            refused(&case.encoded[..len], format!("cut to {len} of {}", case.encoded.len()));
        }
        for tail in [&[0u8] as &[u8], &[0xFF], &[0; 4], &[0; 64], &case.encoded] {
            refused(&[&case.encoded[..], tail].concat(), format!("{} bytes appended", tail.len()));
        }
    }
    assert!(tried > 10_000, "{tried} tried");
    assert!(faults.is_empty(), "{} accepted of {tried}:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn changed_bytes_pass_only_where_no_codec_has_a_checksum() {
    // By the filters that ran, how many changed streams gave other bytes without an error.
    let mut passed: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    for (case, chain) in cases() {
        let mut scratch = ChainScratch::default();
        let mut out = vec![0; chain.chunk_len()];
        for at in some_of(case.encoded.len()) {
            for bit in [0, 3, 7] {
                let mut stored = case.encoded.clone();
                stored[at] ^= 1 << bit;
                let result = chain.decode(case.filter_mask, &mut scratch, &stored, &mut out);
                if result.is_ok() && out != case.raw {
                    *passed.entry(ran(&case)).or_default() += 1;
                }
            }
        }
    }
    let unchecked = passed.keys().all(|filters| !filters.iter().any(|id| CHECKED.contains(id)));
    assert!(unchecked, "{passed:?}");
    // The formats that cannot detect it: none at all, shuffle, szip, blosc, zstd as its HDF5 filter writes it.
    let seen: BTreeSet<u32> = passed.into_keys().flatten().collect();
    assert!(seen.is_subset(&BTreeSet::from([2, 4, 32_001, 32_015])), "{seen:?}");
}
