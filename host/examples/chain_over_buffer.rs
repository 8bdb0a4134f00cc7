//! Runs a chain of codecs over a buffer, without any dataset: what a program does that has chunks of its own.
//!
//!     cargo run -p ncz --example chain_over_buffer

use std::error::Error;

use ncz::codec::{Container, Dtype, Env, Kind};
use ncz::registry::Registry;
use ncz::registry::chain::FilterChain;
use ncz::registry::spec::ChainSpec;

fn main() -> Result<(), Box<dyn Error>> {
    let (len, stored) = round_trip()?;
    println!("{len} bytes, {stored} encoded");
    Ok(())
}

/// Encodes and decodes a chunk of numbers, and returns its length before and after encoding.
pub(crate) fn round_trip() -> Result<(usize, usize), Box<dyn Error>> {
    // The chunk: 1000 floats of a smooth curve.
    let values: Vec<f32> = (0..1000).map(|number| (number as f32 / 100.0).sin()).collect();
    let chunk: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();

    // The codecs that are built in, and the plugins on HDF5_PLUGIN_PATH.
    let registry = Registry::builder().build();
    let chain = ChainSpec::parse(r#"[{"id": "shuffle", "elementsize": 4}, {"id": "zstd", "level": 3}]"#)?;

    // Binding fixes what enters the first codec, and finds the size limits of all stages.
    let env = Env {
        dtype: Dtype::little(Kind::Float, 4),
        array_shape: vec![1_000_000],
        chunk_shape: vec![1000],
        container: Container::ZarrV2,
    };
    let chain = FilterChain::bind(&chain.resolve(&registry)?, &env)?;

    // A scratch holds buffers and contexts: one for each thread, used again for each chunk.
    let mut scratch = chain.scratch();
    let encoded = chain.encode(&mut scratch, &chunk)?.to_vec();
    let mut decoded = vec![0; chain.chunk_len()];
    chain.decode(0, &mut scratch, &encoded, &mut decoded)?;
    if decoded != chunk {
        return Err("the chain is not lossless".into());
    }
    Ok((chunk.len(), encoded.len()))
}
