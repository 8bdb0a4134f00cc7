use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, ConfigReader, Container, Dialect, Env, Repr, Result,
    params,
};
use serde_json::{Map, Value, json};

use crate::codec::ShuffleCoder;

/// Configuration of the shuffle codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Shuffle {
    /// The size of an element in bytes; `None` for that of the elements which enter the stage.
    pub elementsize: Option<u32>,
}

impl CodecConfig for Shuffle {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let missing = match dialect {
            Dialect::Numcodecs => 4,
            // zarr-python fills in the size of the elements.
            Dialect::ZarrV3 => 0,
        };
        let given = reader.raw("elementsize").is_some();
        let size = reader.integer("elementsize", missing, 0..=i64::from(u32::MAX))? as u32;
        reader.finish(notes)?;
        match dialect {
            Dialect::Numcodecs if size == 0 => {
                notes.push(
                    "elementsize 0 means the size of the elements to netcdf-c only; that size is used".into(),
                );
            }
            Dialect::ZarrV3 if given && size == 0 => {
                return Err(CodecError::config(
                    "elementsize",
                    "zarr-python shuffles nothing by 0; leave the key out for the size of the elements",
                ));
            }
            _ => {}
        }
        Ok(Self { elementsize: (size > 0).then_some(size) })
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        let size = match dialect {
            Dialect::Numcodecs => Some(self.elementsize.unwrap_or(0)),
            Dialect::ZarrV3 => self.elementsize,
        };
        Ok(size.into_iter().map(|size| ("elementsize".into(), json!(size))).collect())
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("shuffle", words, 0, 1)?;
        Ok(Self { elementsize: words.first().copied().filter(|&size| size > 0) })
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(self.elementsize.into_iter().collect())
    }
}

impl Codec for Shuffle {
    const INFO: CodecInfo =
        CodecInfo::new("shuffle", "puts the bytes of the elements into planes, which compress better")
            .filter_id(2)
            .numcodecs(&["shuffle"])
            .zarr_v3(&["numcodecs.shuffle"])
            .working_params()
            .lossless();

    type Coder = ShuffleCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let entering = input.element_size(env)?;
        let entering = u32::try_from(entering).map_err(|_| {
            CodecError::unsupported(format!("elements of {entering} bytes are too large for shuffle"))
        })?;
        let size = match (self.elementsize, env.container) {
            (None, _) => entering,
            // HDF5's own filter always sets the size of the type.
            (Some(_), Container::Hdf5) => entering,
            // netcdf-c shuffles by the size of the type, numcodecs by what is stored, and either may have written this.
            (Some(stored), Container::NczarrV2) if stored != entering => {
                return Err(CodecError::config(
                    "elementsize",
                    format!(
                        "it is {stored}, but the elements have {entering} bytes: numcodecs decodes with {stored}, \
                         netcdf-c with {entering}; choose the writer by opening the dataset as plain Zarr ({stored}) \
                         or with elementsize 0 ({entering})"
                    ),
                ));
            }
            (Some(stored), _) => stored,
        };
        // No Zarr reader accepts a length that is not a multiple of the size.
        let whole_only = env.container != Container::Hdf5;
        Ok(Bound {
            stored: Self { elementsize: Some(size) },
            working: vec![size],
            output: Repr::Bytes { size: input.size()? },
            coder: ShuffleCoder::new(size as usize, whole_only),
        })
    }

    fn coder(working: &[u32]) -> Result<ShuffleCoder> {
        match working.first() {
            Some(&size) if size > 0 => Ok(ShuffleCoder::new(size as usize, false)),
            Some(_) => Err(CodecError::config("cd_values[0]", "an element has at least one byte")),
            None => Err(CodecError::config("cd_values", "shuffle needs the size of an element")),
        }
    }
}
