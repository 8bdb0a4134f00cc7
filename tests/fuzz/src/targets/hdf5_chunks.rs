use std::collections::BTreeMap;

use fastrand::Rng;
use ncz::codec::{ByteOrder, Container, Dtype, Env, Kind};
use ncz::registry::Registry;
use ncz::registry::chain::{ChainError, FilterChain};
use ncz::registry::spec::{ChainSpec, StageSpec};
use ncz_test_support::{ChunkCase, chunks};

use super::{Target, explained};
use crate::{Case, mutate};

/// Chunks that HDF5 stored, by every pipeline of filters that are built in: a damaged one is an error or a whole
/// chunk, which does not depend on what the buffers held before.
pub(super) struct Chunks(BTreeMap<String, (ChunkCase, FilterChain)>);

impl Chunks {
    pub(super) fn new() -> Self {
        let registry = Registry::builder().no_plugins(true).build();
        let chained = |case: ChunkCase| {
            let chain = bind(&registry, &case)?.unwrap();
            Some((case.name.clone(), (case, chain)))
        };
        Self(chunks().unwrap().into_iter().filter_map(chained).collect())
    }
}

/// The chain of a chunk; `None` if a filter of it is not built in, or does not take its words.
pub(super) fn bind(registry: &Registry, case: &ChunkCase) -> Option<Result<FilterChain, ChainError>> {
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
    Some(FilterChain::bind(&spec.resolve(registry).ok()?, &env))
}

impl Target for Chunks {
    fn seeds(&self) -> Vec<Case> {
        self.0.values().map(|(case, _)| Case::new(case.name.clone(), case.encoded.clone())).collect()
    }

    fn mutate(&self, case: &mut Case, other: &Case, rng: &mut Rng) {
        mutate::bytes::mutate(&mut case.bytes, &other.bytes, rng);
    }

    fn run(&mut self, case: &Case) -> String {
        let (sound, chain) = &self.0[&case.context];
        let decode = |before: u8| {
            let mut chunk = vec![before; chain.chunk_len()];
            chain.decode(sound.filter_mask, &mut chain.scratch(), &case.bytes, &mut chunk).map(|()| chunk)
        };
        match (decode(0), decode(0xAA)) {
            (Ok(first), Ok(second)) => {
                assert!(first == second, "what the buffer held before shines through");
                if case.bytes == sound.encoded {
                    assert!(first == sound.raw, "the sound chunk reads otherwise");
                }
                format!("{chain} decodes")
            }
            (Err(first), Err(second)) => {
                assert_eq!(explained(&first), explained(&second));
                explained(&first)
            }
            (first, second) => panic!("once {:?}, once {:?}", first.map(drop), second.map(drop)),
        }
    }
}
