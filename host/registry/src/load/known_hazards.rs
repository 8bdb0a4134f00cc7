//! Known hazards of certain filters: they are never called with what makes them run a shell, hang, crash, or write
//! chunks that cannot be read.

use ncz_codec::{ByteOrder, CodecError, Kind, Result};

use super::blosc2;
use super::c_faces::{FilterFacts, FilterFunction, Variable};
use super::hdf5_provider::Hdf5Provider;

const BLOSC: u32 = 32_001;
const BLOSC2: u32 = 32_026;
const FCIDECOMP: u32 = 32_018;
const SZ: u32 = 32_017;
const SZ3: u32 = 32_024;

/// The environment variables that override the parameters of these filters. With a type size from there, blosc2 writes
/// chunks that decode to other values.
const BLOSC_VARIABLES: [&str; 4] = ["BLOSC_COMPRESSOR", "BLOSC_CLEVEL", "BLOSC_SHUFFLE", "BLOSC_TYPESIZE"];
const BLOSC2_VARIABLES: [&str; 3] = ["BLOSC_BLOCKSIZE", "BLOSC_SPLITMODE", "BLOSC_DELTA"];

/// Filters with the same results from many threads as from one: number and name, as in their records.
/// blosc (one compressor for all threads) and sz (its own global variables) are not among them.
const PARALLEL: [(u32, &str); 18] = [
    (1, "deflate"),
    (2, "shuffle"),
    (3, "fletcher32"),
    (4, "szip"),
    (307, "bzip2"),
    (307, "HDF5 bzip2 filter; see http://www.hdfgroup.org/services/contributions.html"),
    (32_004, "HDF5 lz4 filter; see http://www.hdfgroup.org/services/contributions.html"),
    (32_004, HDF5PLUGIN_LZ4),
    (32_008, "bitshuffle; see https://github.com/kiyo-masui/bitshuffle"),
    (32_013, "H5Z-ZFP-1.1.0 (ZFP-1.0.0)"),
    (32_013, "H5Z-ZFP-1.1.1 (ZFP-1.0.1)"),
    (32_015, "zstd"),
    (32_015, HDF5PLUGIN_ZSTD),
    (FCIDECOMP, "HDF5 JPEG-LS filter"),
    (SZ3, "SZ3 compressor/decompressor for floating-point data."),
    (BLOSC2, "blosc2"),
    (32_028, "H5Z-SPERR"),
    (32_033, "htj2k"),
];
const HDF5PLUGIN_LZ4: &str = "HDF5 lz4 filter; see https://github.com/HDFGroup/hdf5_plugins/blob/master/docs/RegisteredFilterPlugins.md";
const HDF5PLUGIN_ZSTD: &str = "HDF5 zstd filter; see https://github.com/HDFGroup/hdf5_plugins/blob/master/docs/RegisteredFilterPlugins.md";

/// Whether a filter may run in several threads at once.
pub(super) fn is_parallel(
    facts: &FilterFacts,
    hdf5_provider: &Hdf5Provider,
    is_threadsafe: impl FnOnce() -> bool,
) -> bool {
    PARALLEL.contains(&(facts.id, &facts.name))
        && match hdf5_provider {
            Hdf5Provider::Nothing | Hdf5Provider::Shim => true,
            // It reports failures to its libhdf5.
            Hdf5Provider::Hdf5(_) | Hdf5Provider::Netcdf(_) => is_threadsafe(),
            Hdf5Provider::Unavailable(_) => false,
        }
}

/// Checks whether a filter can safely encode this with these working parameters.
pub(super) fn before_encode(
    half: &dyn FilterFunction,
    working: &[u32],
    input: &[u8],
    variable: Option<&Variable>,
) -> Result<()> {
    let id = half.facts().id;
    match id {
        BLOSC => refuse_environment(half, &[&BLOSC_VARIABLES]),
        BLOSC2 => {
            refuse_environment(half, &[&BLOSC_VARIABLES, &BLOSC2_VARIABLES])?;
            match working.get(6) {
                Some(&codec) if codec >= blosc2::PLUGINS.into() => Err(CodecError::config(
                    "cd_values[6]",
                    format!("blosc2 looks for compressor {codec} by running a shell, which is not allowed"),
                )),
                _ => Ok(()),
            }
        }
        FCIDECOMP => whole_image(working, input),
        SZ | SZ3 => for_sz(id, working, input, variable),
        _ => Ok(()),
    }
}

/// Whether a filter may be given this to decode.
pub(super) fn before_decode(id: u32, input: &[u8], variable: Option<&Variable>) -> Result<()> {
    match id {
        BLOSC2 => blosc2::check(input),
        // They write more than the chunk has.
        SZ | SZ3 => variable.map_or(Ok(()), known_to_sz),
        _ => Ok(()),
    }
}

fn refuse_environment(half: &dyn FilterFunction, variables: &[&[&str]]) -> Result<()> {
    if half.is_isolated() {
        // Workers do not get these variables.
        return Ok(());
    }
    match variables.iter().copied().flatten().find(|name| std::env::var_os(name).is_some()) {
        None => Ok(()),
        Some(name) => Err(CodecError::unsupported(format!(
            "the environment variable {name} makes blosc ignore its parameters; unset it"
        ))),
    }
}

/// FCIDECOMP keeps planes, lines and columns of a chunk, and nothing of further dimensions.
fn whole_image(working: &[u32], input: &[u8]) -> Result<()> {
    let [size, lengths @ ..] = &working[..working.len().min(4)] else { return Ok(()) };
    let kept = lengths.iter().fold(u64::from(*size), |bytes, &len| bytes.saturating_mul(len.into()));
    if lengths.len() == 3 && kept != input.len() as u64 {
        return Err(CodecError::unsupported(format!(
            "FCIDECOMP keeps {kept} of the {} bytes of a chunk with this many dimensions; use chunks of at most three",
            input.len()
        )));
    }
    Ok(())
}

/// sz and sz3 take numbers of any other type for doubles in the machine's own order, and sz3 never ends on a NaN.
fn for_sz(id: u32, working: &[u32], input: &[u8], variable: Option<&Variable>) -> Result<()> {
    let Some(variable) = variable else { return Ok(()) };
    known_to_sz(variable)?;
    let refuse = |text: &str| Err(CodecError::unsupported(text));
    let dtype = variable.dtype;
    let native = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
    if dtype.size > 1 && dtype.order != native {
        return refuse("SZ takes numbers in another byte order than the machine's for noise");
    }
    let dimensions = variable.chunk_shape.iter().filter(|&&len| len != 1).count();
    if dimensions > 4 {
        return refuse("SZ ends the program over chunks of more than four dimensions");
    }
    // Observed with a checking malloc, for chunks of one dimension.
    if id == SZ3 && matches!(dtype.kind, Kind::Int | Kind::UInt | Kind::Bool) && dtype.size < 4 {
        return refuse("SZ3 writes beyond its buffer when it encodes integers of 1 or 2 bytes");
    }
    // Rank, type and lengths come first.
    if id == SZ && working.len() <= 2 + dimensions {
        return refuse("SZ ends the program if it gets no error bound");
    }
    let is_nan = |bytes: &[u8]| match *bytes {
        [a, b, c, d] => f32::from_ne_bytes([a, b, c, d]).is_nan(),
        [a, b, c, d, e, f, g, h] => f64::from_ne_bytes([a, b, c, d, e, f, g, h]).is_nan(),
        _ => false,
    };
    if id == SZ3 && dtype.kind == Kind::Float && input.chunks_exact(dtype.size).any(is_nan) {
        return refuse("SZ3 never ends on a chunk with a NaN in it");
    }
    Ok(())
}

fn known_to_sz(variable: &Variable) -> Result<()> {
    let dtype = variable.dtype;
    match dtype.kind {
        Kind::Float if ![4, 8].contains(&dtype.size) => {
            Err(CodecError::unsupported("SZ supports only floating-point numbers of 4 and 8 bytes"))
        }
        _ => Ok(()),
    }
}
