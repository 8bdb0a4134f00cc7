use ncz_codec::{
    Bound, ByteOrder, Codec, CodecConfig, CodecError, CodecInfo, ConfigReader, Container, Dialect, Dtype,
    Env, Repr, Result, params, repr,
};
use serde_json::{Map, Value, json};

use crate::codec::{SzipCoder, config_error};
use crate::sz::{SzParams, option};

/// The most blocks that HDF5 and netcdf-c put into a scanline.
const MAX_BLOCKS: u64 = 128;
/// The most pixels of a scanline that they take over from a dimension.
const MAX_SCANLINE: u64 = 4096;

/// Configuration of the szip codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Szip {
    /// The options, a sum of [`option`] bits: mainly `EC` (4) or `NN` (32).
    pub mask: u32,
    /// Pixels per block: an even number from 2 to 32.
    pub pixels_per_block: u32,
}

impl Default for Szip {
    /// The values that netcdf-c's documentation recommends.
    fn default() -> Self {
        Self { mask: option::NN, pixels_per_block: 32 }
    }
}

impl CodecConfig for Szip {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        Self::INFO.require_name(dialect)?;
        let mut reader = ConfigReader::new(dialect, config);
        let mut number = |key| {
            // numcodecs has no such codec whose defaults could apply, and netcdf-c requires both.
            if config.get(key).is_none_or(Value::is_null) {
                return Err(CodecError::config(key, "it is missing, and szip has no default for it"));
            }
            Ok(reader.integer(key, 0, 0..=i64::from(u32::MAX))? as u32)
        };
        let szip = Self { mask: number("mask")?, pixels_per_block: number("pixels-per-block")? };
        reader.finish(notes)?;
        szip.check(["mask", "pixels-per-block"])?;
        Ok(szip)
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        Self::INFO.require_name(dialect)?;
        Ok(Map::from_iter([
            ("mask".into(), json!(self.mask)),
            ("pixels-per-block".into(), json!(self.pixels_per_block)),
        ]))
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        let &([mask, pixels_per_block] | [mask, pixels_per_block, _, _]) = words else {
            params::check_count("szip", words, 2, 2)?;
            return Err(CodecError::config("cd_values", "szip takes 2 parameters, or 4 as HDF5 stores them"));
        };
        let szip = Self { mask, pixels_per_block };
        szip.check(["cd_values[0]", "cd_values[1]"])?;
        Ok(szip)
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(vec![self.mask, self.pixels_per_block])
    }
}

impl Codec for Szip {
    const INFO: CodecInfo =
        CodecInfo::new("szip", "the entropy coder of CCSDS 121.0-B, for numbers that change slowly")
            .filter_id(4)
            .numcodecs(&["szip"])
            .working_params()
            .lossless();

    type Coder = SzipCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let dtype = match input {
            Repr::Array { dtype, .. } => *dtype,
            Repr::Bytes { .. } => env.dtype,
        };
        let bits = match dtype.size {
            1 | 2 | 4 | 8 => dtype.size as u32 * 8,
            other => {
                return Err(CodecError::unsupported(format!(
                    "szip takes elements of 1, 2, 4 or 8 bytes, not {other}"
                )));
            }
        };
        let working =
            [self.working_mask(dtype, env.container), self.pixels_per_block, bits, self.scanline(env)?];
        let coder = SzipCoder::new(&working)?;
        Bound::bytes(*self, working.to_vec(), coder, input)
    }

    fn coder(working: &[u32]) -> Result<SzipCoder> {
        SzipCoder::new(working)
    }
}

impl Szip {
    /// Refuses numbers that no bound configuration can hold; `keys` name them.
    fn check(&self, keys: [&'static str; 2]) -> Result<()> {
        SzParams::new(self.mask, self.pixels_per_block, 8, 1)
            .map(drop)
            .map_err(|error| config_error(error, keys))
    }

    fn working_mask(&self, dtype: Dtype, container: Container) -> u32 {
        let order = match dtype.order {
            ByteOrder::Little => option::LSB,
            ByteOrder::Big => option::MSB,
        };
        let mask = self.mask & !(option::LSB | option::MSB) | order;
        match container {
            // HDF5 has these bits from its H5Pset_szip, before this is called.
            Container::Hdf5 => mask,
            _ => mask & !option::CHIP | option::ALLOW_K13 | option::RAW,
        }
    }

    /// Pixels per scanline, as HDF5 and netcdf-c choose them: HDF5 by the chunk, netcdf-c in Zarr v2 by the array. A codec
    /// of Zarr v3 knows only the chunk.
    fn scanline(&self, env: &Env) -> Result<u32> {
        let shape = match env.container {
            Container::Hdf5 | Container::ZarrV3 => &env.chunk_shape,
            _ => &env.array_shape,
        };
        let &last = shape
            .last()
            .ok_or_else(|| CodecError::unsupported("szip needs an array with at least one dimension"))?;
        let block = u64::from(self.pixels_per_block);
        let pixels = if last < block {
            let elements = repr::byte_len(&env.chunk_shape, 1)? as u64;
            if elements < block {
                return Err(CodecError::unsupported(format!(
                    "a chunk of {elements} elements is smaller than a block of {block} pixels; take fewer pixels per block"
                )));
            }
            elements.min(block * MAX_BLOCKS)
        } else if last <= MAX_SCANLINE {
            last.min(block * MAX_BLOCKS)
        } else {
            block * MAX_BLOCKS
        };
        Ok(pixels as u32)
    }
}
