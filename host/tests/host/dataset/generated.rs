//! Codecs without configuration that spoil each byte as a test wants, and say of it what a test wants.

use std::marker::PhantomData;

use ncz::codec::{Bound, Codec, CodecConfig, CodecError, CodecInfo, Coder, Dialect, Env, Repr, Result};
use serde_json::{Map, Value};

/// The name, the info and the behaviour of a synthetic codec.
pub(crate) trait Spoils: Clone + std::fmt::Debug + Send + Sync + 'static {
    const NAMES: &'static [&'static str];
    const LOSSY: Option<bool>;

    fn spoilt(byte: u8) -> u8;
}

/// Stores what `S` makes of each byte, and decodes to just that.
#[derive(Clone, Debug)]
pub(crate) struct MadeUp<S>(PhantomData<S>);

impl<S: Spoils> CodecConfig for MadeUp<S> {
    fn from_json(_: Dialect, _: &Map<String, Value>, _: &mut Vec<String>) -> Result<Self> {
        Ok(Self(PhantomData))
    }

    fn to_json(&self, _: Dialect) -> Result<Map<String, Value>> {
        Ok(Map::new())
    }

    fn from_params(_: &[u32]) -> Result<Self> {
        Ok(Self(PhantomData))
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(Vec::new())
    }
}

impl<S: Spoils> Codec for MadeUp<S> {
    const INFO: CodecInfo = {
        let info = CodecInfo::new(S::NAMES[0], "spoils each byte").numcodecs(S::NAMES);
        match S::LOSSY {
            None => info,
            Some(false) => info.lossless(),
            Some(true) => info.lossy(),
        }
    };

    type Coder = Self;

    fn bind(&self, input: &Repr, _: &Env) -> Result<Bound<Self>> {
        // The input is passed on, so that a codec of numbers can follow.
        let output = input.clone();
        Ok(Bound { stored: Self(PhantomData), working: Vec::new(), output, coder: Self(PhantomData) })
    }

    fn coder(_: &[u32]) -> Result<Self> {
        Ok(Self(PhantomData))
    }
}

impl<S: Spoils> Coder for MadeUp<S> {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        Some(len)
    }

    fn encode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let output = output.get_mut(..input.len()).ok_or_else(|| CodecError::output_full(None))?;
        input.iter().zip(output).for_each(|(from, to)| *to = S::spoilt(*from));
        Ok(input.len())
    }

    fn decode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let output = output.get_mut(..input.len()).ok_or_else(|| CodecError::output_full(None))?;
        output.copy_from_slice(input);
        Ok(input.len())
    }
}
