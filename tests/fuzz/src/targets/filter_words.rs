use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use ncz::codec::{AnyCoder, CodecError};
use ncz::registry::Registry;
use ncz_test_support::{ChunkCase, chunks, edges};

use super::hdf5_chunks::bind;
use super::{Target, explained};
use crate::{Case, mutate};

/// The parameter words of a filter, as a file states them, and a chunk: whatever either is, there is an error or a
/// chunk which does not depend on what the buffers held before.
///
/// The bytes are the count of the words, the words with the least significant byte first, and the chunk.
pub(super) struct Words {
    registry: Registry,
    cases: BTreeMap<String, ChunkCase>,
}

impl Words {
    pub(super) fn new() -> Self {
        let registry = Registry::builder().no_plugins(true).build();
        let of_edges = ["lz4", "lzf", "bitshuffle", "scaleoffset", "nbit"].map(|codec| edges(codec).unwrap());
        let of_edges = of_edges.into_iter().flatten().map(|case| case.chunk);
        let cases = chunks().unwrap().into_iter().chain(of_edges).filter(|case| {
            let [filter] = &case.filters[..] else { return false };
            case.filter_mask == 0 && registry.by_id(filter.id).is_ok()
        });
        let cases = cases.map(|case| (case.name.clone(), case)).collect();
        Self { registry, cases }
    }

    /// As a filter function of HDF5 is called, with only the words.
    fn by_words(&self, sound: &ChunkCase, words: &[u32], stream: &[u8]) -> Result<&'static str, CodecError> {
        let coder = self.registry.by_id(sound.filters[0].id).unwrap().codec().coder(words)?;
        let _ = coder.decoded_len(stream);
        let decoded = [0, 0xAA].map(|before| decode(&coder, stream, sound.raw.len(), before));
        assert_eq!(decoded[0], decoded[1], "what the buffer held before shines through");
        // The caller takes this much memory, if there is so much.
        if let Some(most) = coder.max_encoded_len(sound.raw.len()).filter(|&most| most < 16 << 20) {
            let mut encoded = vec![0; most];
            let length = coder.encode(&mut coder.scratch(), &sound.raw, &mut encoded)?;
            let _ = decode(&coder, &encoded[..length], sound.raw.len(), 0);
        }
        decoded[0].clone().map(|_| "decodes")
    }
}

fn decode(coder: &Arc<dyn AnyCoder>, stream: &[u8], room: usize, before: u8) -> Result<Vec<u8>, CodecError> {
    let mut output = vec![before; room];
    let length = coder.decode(&mut coder.scratch(), stream, &mut output)?;
    output.truncate(length);
    Ok(output)
}

impl Target for Words {
    fn seeds(&self) -> Vec<Case> {
        let bytes = |case: &ChunkCase| {
            let words = &case.filters[0].params;
            let words =
                std::iter::once(words.len() as u8).chain(words.iter().flat_map(|word| word.to_le_bytes()));
            words.chain(case.encoded.iter().copied()).collect::<Vec<u8>>()
        };
        self.cases.values().map(|case| Case::new(case.name.clone(), bytes(case))).collect()
    }

    fn mutate(&self, case: &mut Case, other: &Case, rng: &mut Rng) {
        // The words are few compared with a chunk.
        let words = 1 + 4 * usize::from(case.bytes.first().copied().unwrap_or(0));
        if rng.bool() || words > case.bytes.len() {
            return mutate::bytes::mutate(&mut case.bytes, &other.bytes, rng);
        }
        let stream = case.bytes.split_off(words);
        mutate::bytes::mutate(&mut case.bytes, &other.bytes[..other.bytes.len().min(words)], rng);
        let count = case.bytes.len().saturating_sub(1) / 4;
        if let (true, Some(first)) = (rng.bool(), case.bytes.first_mut()) {
            *first = count as u8;
        }
        case.bytes.extend(stream);
    }

    fn run(&mut self, case: &Case) -> String {
        let sound = &self.cases[&case.context];
        let (&count, rest) = case.bytes.split_first().unwrap_or((&0, &[]));
        let (words, stream) = rest.split_at(rest.len().min(4 * usize::from(count)));
        let words: Vec<u32> = words.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let outcome = match self.by_words(sound, &words, stream) {
            Ok(outcome) => outcome.to_owned(),
            Err(error) => explained(&error),
        };
        // As a chain of a dataset, which the type and the shape of a chunk are known to.
        let mut changed = sound.clone();
        changed.filters[0].params = words;
        let by_chain = match bind(&self.registry, &changed) {
            None => "no filter".to_owned(),
            Some(Err(error)) => explained(&error),
            Some(Ok(chain)) => {
                let mut chunk = vec![0; chain.chunk_len()];
                match chain.decode(0, &mut chain.scratch(), stream, &mut chunk) {
                    Ok(()) => "decodes".to_owned(),
                    Err(error) => explained(&error),
                }
            }
        };
        changed.dtype = "|V0".to_owned();
        let of_nothing = bind(&self.registry, &changed);
        assert!(of_nothing.is_none_or(|bound| bound.is_err()), "a chain binds to elements of 0 bytes");
        format!("{} {outcome}; {by_chain}", sound.filters[0].id)
    }
}
