use ncz_codec::{Bound, Codec, CodecConfig, Coder, Container, Dtype, ErrorKind, Kind, Repr, Result};
use serde_json::Map;

use super::*;

/// Adds a constant to each byte and puts it before the data `copies` times, so that sizes change.
#[derive(Debug, Clone)]
struct Add {
    add: u8,
    head: usize,
    lie: usize,
    boasts: bool,
}

impl CodecConfig for Add {
    fn from_json(_: Dialect, _: &Map<String, Value>, _: &mut Vec<String>) -> Result<Self> {
        Err(CodecError::unsupported(""))
    }

    fn to_json(&self, _: Dialect) -> Result<Map<String, Value>> {
        Ok(Map::from_iter([("add".to_owned(), Value::from(self.add))]))
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        Ok(add(words[0] as u8, words[1] as usize))
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(vec![u32::from(self.add), self.head as u32])
    }
}

impl Codec for Add {
    const INFO: CodecInfo = CodecInfo::new("add", "a test").filter_id(32768).numcodecs(&["add"]);

    type Coder = Self;

    fn bind(&self, input: &Repr, _: &Env) -> Result<Bound<Self>> {
        let size = match input.size()? {
            Size::Exact(len) => Size::AtMost(len + self.head),
            other => Size::AtMost(other.bound().unwrap() + self.head),
        };
        Ok(Bound {
            stored: self.clone(),
            working: CodecConfig::to_params(self)?,
            output: Repr::Bytes { size },
            coder: self.clone(),
        })
    }

    fn coder(working: &[u32]) -> Result<Self> {
        Self::from_params(working)
    }
}

impl Coder for Add {
    type Scratch = ();
    fn scratch(&self) {}
    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        len.checked_add(self.head)
    }
    fn encode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        output[..self.head].fill(self.add);
        for (to, from) in output[self.head..].iter_mut().zip(input) {
            *to = from.wrapping_add(self.add);
        }
        let boast = if self.boasts { 1 } else { 0 };
        Ok(input.len() + self.head + boast)
    }
    fn decode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let Some((head, data)) = input.split_at_checked(self.head) else {
            return Err(CodecError::truncated("head"));
        };
        if head.iter().any(|&byte| byte != self.add) {
            return Err(CodecError::new(ErrorKind::Checksum, ""));
        }
        if data.len() > output.len() {
            return Err(CodecError::output_full(Some(data.len())));
        }
        for (to, from) in output.iter_mut().zip(data) {
            *to = from.wrapping_sub(self.add);
        }
        Ok(data.len() + self.lie)
    }
}

fn env(len: u64) -> Env {
    Env {
        dtype: Dtype::little(Kind::UInt, 1),
        array_shape: vec![len],
        chunk_shape: vec![len],
        container: Container::Hdf5,
    }
}

fn chain(codecs: &[Add]) -> FilterChain {
    let stages: Vec<_> = codecs
        .iter()
        .map(|codec| Stage {
            info: Add::INFO,
            config: Arc::new(codec.clone()),
            origin: "test".into(),
            notes: vec![],
        })
        .collect();
    FilterChain::bind(&stages, &env(10)).unwrap()
}

fn add(add: u8, head: usize) -> Add {
    Add { add, head, lie: 0, boasts: false }
}

#[test]
fn stages_run_in_order_and_back_and_the_mask_skips() {
    let chunk: Vec<u8> = (0..10).collect();
    for heads in [vec![], vec![2], vec![1, 2], vec![0, 1, 2, 3]] {
        let codecs: Vec<_> = heads.iter().map(|&head| add(head as u8 + 1, head)).collect();
        for mask in 0..1u32 << heads.len() {
            let stored = {
                let kept: Vec<_> = codecs
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| mask & (1 << i) == 0)
                    .map(|(_, c)| c.clone())
                    .collect();
                let kept = chain(&kept);
                let mut scratch = kept.scratch();
                kept.encode(&mut scratch, &chunk).unwrap().to_vec()
            };
            let whole = chain(&codecs);
            let mut out = [99; 10];
            whole.decode(mask, &mut whole.scratch(), &stored, &mut out).unwrap();
            assert_eq!(out, chunk[..], "{heads:?} mask {mask:b}");
        }
    }
}

#[test]
fn every_other_length_is_an_error_that_names_the_stage() {
    let chain = chain(&[add(1, 0), add(2, 3)]);
    let mut scratch = chain.scratch();
    let stored = chain.encode(&mut scratch, &[7; 10]).unwrap().to_vec();
    let mut out = [0; 10];
    for len in 0..stored.len() {
        chain.decode(0, &mut scratch, &stored[..len], &mut out).unwrap_err();
    }
    let longer = [&stored[..], &[0]].concat();
    chain.decode(0, &mut scratch, &longer, &mut out).unwrap_err();
    let error = chain.decode(0, &mut scratch, &stored[..2], &mut out).unwrap_err();
    assert_eq!(error.to_string(), "decoding by codec add (stage 2 of 2, test)");
    assert_eq!(error.source.to_string(), "the stream is truncated: head");
}

#[test]
fn a_codec_that_claims_more_than_it_was_given_is_caught() {
    let liar = Add { lie: 1 << 40, ..add(1, 0) };
    let mut out = [0; 10];
    for codecs in [vec![liar.clone()], vec![add(1, 0), liar]] {
        let chain = chain(&codecs);
        let mut scratch = chain.scratch();
        let stored = chain.encode(&mut scratch, &[7; 10]).unwrap().to_vec();
        chain.decode(0, &mut scratch, &stored, &mut out).unwrap_err();
    }
    // The buffer has more room from the time of the larger stage before.
    let boaster = chain(&[add(1, 9), add(2, 0), Add { boasts: true, ..add(3, 0) }]);
    boaster.encode(&mut boaster.scratch(), &[7; 10]).unwrap_err();
    let small = chain(&[Add { boasts: true, ..add(3, 0) }]);
    let mut used = chain(&[add(1, 9)]).scratch();
    chain(&[add(1, 9)]).encode(&mut used, &[7; 10]).unwrap();
    std::mem::swap(&mut used.front, &mut used.back);
    small.encode(&mut used, &[7; 10]).unwrap_err();
}

#[test]
fn a_chunk_of_another_length_is_refused_and_a_bare_scratch_is_completed() {
    let chain = chain(&[add(1, 0), add(2, 3)]);
    for len in [0, 9, 11] {
        chain.encode(&mut chain.scratch(), &vec![7; len]).unwrap_err();
        chain.decode(0, &mut chain.scratch(), &[2; 13], &mut vec![0; len]).unwrap_err();
    }
    let mut bare = ChainScratch::default();
    let stored = chain.encode(&mut bare, &[7; 10]).unwrap().to_vec();
    assert_eq!(stored, [&[2; 3][..], &[10; 10]].concat());
    let mut out = [0; 10];
    chain.decode(0, &mut ChainScratch::default(), &stored, &mut out).unwrap();
    assert_eq!(out, [7; 10]);
}

#[test]
fn an_absurd_bound_of_a_stage_is_refused_before_memory_is_taken() {
    let stage = |head| Stage {
        info: Add::INFO,
        config: Arc::new(add(1, head)),
        origin: "test".into(),
        notes: vec![],
    };
    let error = FilterChain::bind(&[stage(4), stage(8 << 30)], &env(100)).unwrap_err();
    assert_eq!((error.stage, error.operation), (1, Operation::Bind));
    assert!(error.source.to_string().contains("exceeds the limit"), "{}", error.source);
    assert!(FilterChain::bind(&[stage(4), stage(1 << 30)], &env(100)).is_ok());
}

#[test]
fn a_chain_of_too_many_codecs_is_refused() {
    chain(&vec![add(1, 0); MAX_STAGES]);
    let stage = Stage { info: Add::INFO, config: Arc::new(add(1, 0)), origin: "test".into(), notes: vec![] };
    let error = FilterChain::bind(&vec![stage; MAX_STAGES + 1], &env(10)).unwrap_err();
    assert_eq!((error.stage, error.operation), (MAX_STAGES, Operation::Bind));
    assert!(error.source.to_string().contains("33 codecs"), "{}", error.source);
}

#[test]
fn elements_without_bytes_reach_no_codec() {
    // It would take the bound of the size for granted.
    let stage = Stage { info: Add::INFO, config: Arc::new(add(1, 0)), origin: "test".into(), notes: vec![] };
    for stages in [vec![stage], vec![]] {
        let env = Env { dtype: Dtype::little(Kind::Opaque, 0), ..env(10) };
        let error = FilterChain::bind(&stages, &env).unwrap_err();
        assert!(error.source.to_string().contains("elements of 0 bytes"), "{}", error.source);
    }
}

#[test]
fn an_absurd_chunk_is_refused_before_memory_is_taken() {
    for shape in [vec![1 << 33], vec![1 << 40, 1 << 40]] {
        let env = Env { chunk_shape: shape, ..env(10) };
        FilterChain::bind(&[], &env).unwrap_err();
    }
}
