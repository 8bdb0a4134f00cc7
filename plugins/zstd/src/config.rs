use ncz_codec::{Bound, Codec, CodecConfig, CodecInfo, ConfigReader, Dialect, Env, Repr, Result, params};

use crate::codec::ZstdCoder;

/// The library's default level, also the HDF5 filter's when no word is given.
const DEFAULT_LEVEL: i32 = 3;
/// The levels of the format's reference library.
const LEVELS: std::ops::RangeInclusive<i64> = -131_072..=22;

/// Configuration of the zstd codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, CodecConfig)]
pub struct Zstd {
    /// The compression level, -131072 to 22; 0 is the library's default. Others are clamped to this range.
    #[codec(read = read_level, default(params = DEFAULT_LEVEL))]
    pub level: i32,
    /// Whether frames get a checksum of their content. Parameter words cannot express it.
    // Zarr v3 requires the key; older readers of v2 do not know it.
    #[codec(default = false, omit_default(numcodecs))]
    #[codec(no_word = "parameter words cannot express a checksum; leave the key out")]
    pub checksum: bool,
}

impl Default for Zstd {
    fn default() -> Self {
        Self { level: DEFAULT_LEVEL, checksum: false }
    }
}

impl Codec for Zstd {
    const INFO: CodecInfo = CodecInfo::new("zstd", "general-purpose compression, fast to decode")
        .filter_id(32015)
        .numcodecs(&["zstd"])
        .zarr_v3(&["zstd"])
        .lossless();

    type Coder = ZstdCoder;

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let level = self.level.clamp(*LEVELS.start() as i32, *LEVELS.end() as i32);
        let coder = ZstdCoder::new(level, self.checksum);
        Bound::bytes(Self { level, ..*self }, vec![level as u32], coder, input)
    }

    fn coder(working: &[u32]) -> Result<ZstdCoder> {
        // Decoding needs no word, so it must not fail on any words of a file.
        Ok(ZstdCoder::new(params::word_or(working, 0, DEFAULT_LEVEL as u32) as i32, false))
    }
}

/// Reads the level. netcdf-c writes a negative one as the unsigned word of HDF5, and numcodecs takes any level.
fn read_level(reader: &mut ConfigReader<'_>, notes: &mut Vec<String>) -> Result<i32> {
    let level = match reader.dialect() {
        Dialect::ZarrV3 => reader.integer("level", 0, LEVELS)?,
        Dialect::Numcodecs => reader.integer("level", 0, i64::from(i32::MIN)..=i64::from(u32::MAX))?,
    };
    let signed = level as u32 as i32;
    if i64::from(signed) != level {
        notes.push(format!("level {level} interpreted as signed {signed}"));
    }
    if !LEVELS.contains(&i64::from(signed)) {
        notes.push(format!("level {signed} is not within -131072 to 22; the nearest of these is used"));
    }
    Ok(signed)
}
