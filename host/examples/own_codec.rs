//! Registers a codec of the program itself, and runs it in a chain by its name in metadata.
//!
//!     cargo run -p ncz --example own_codec

use std::error::Error;

use ncz::codec::{Codec, CodecConfig, CodecError, CodecInfo, Coder, Container, Dtype, Env, Erased, Kind};
use ncz::registry::Registry;
use ncz::registry::chain::FilterChain;
use ncz::registry::spec::ChainSpec;

/// The codec: it inverts every bit. It has no parameters.
#[derive(Debug, Clone, CodecConfig)]
pub(crate) struct Invert {}

impl Codec for Invert {
    const INFO: CodecInfo = CodecInfo::new("invert", "inverts every bit")
        .numcodecs(&["example.invert"])
        .zarr_v3(&["example.invert"])
        .lossless();

    type Coder = Self;

    fn coder(_: &[u32]) -> Result<Self, CodecError> {
        Ok(Self {})
    }
}

impl Coder for Invert {
    type Scratch = ();

    const HAS_FIXED_LEN: bool = true;

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        Some(len)
    }

    fn encode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize, CodecError> {
        let output = output.get_mut(..input.len()).ok_or(CodecError::output_full(Some(input.len())))?;
        output.iter_mut().zip(input).for_each(|(to, from)| *to = !from);
        Ok(input.len())
    }

    fn decode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize, CodecError> {
        self.encode(&mut (), input, output)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:?}", round_trip(&[0xff, 0xff, 7])?);
    Ok(())
}

/// Encodes and decodes bytes, and returns them as encoded.
pub(crate) fn round_trip(chunk: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    // It takes precedence over plugins and built-in codecs of the same name.
    let registry = Registry::builder().codec(Erased::<Invert>::new()).build();
    let chain = ChainSpec::parse(r#"{"id": "example.invert"}"#)?;
    let shape = vec![chunk.len() as u64];
    let dtype = Dtype::little(Kind::UInt, 1);
    let env = Env { dtype, array_shape: shape.clone(), chunk_shape: shape, container: Container::ZarrV2 };
    let chain = FilterChain::bind(&chain.resolve(&registry)?, &env)?;
    let mut scratch = chain.scratch();
    let encoded = chain.encode(&mut scratch, chunk)?.to_vec();
    let mut decoded = vec![0; chain.chunk_len()];
    chain.decode(0, &mut scratch, &encoded, &mut decoded)?;
    if decoded != chunk {
        return Err("the codec is not lossless".into());
    }
    Ok(encoded)
}
