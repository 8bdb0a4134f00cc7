use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, ConfigReader, Dialect, Env, Repr, Result, params,
};
use serde_json::{Map, Value, json};

use crate::codec::LzmaCoder;
use crate::filter::{Filter, PRESET_EXTREME};

/// The word for "as the library has it".
const DEFAULT: u32 = u32::MAX;
/// The most filters of a stream.
const FILTERS: usize = 4;

/// Configuration of the lzma codec.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Lzma {
    /// The form of the stream.
    pub format: Format,
    /// The checksum of an xz stream; `None` for CRC-64.
    pub check: Option<Check>,
    /// The preset: 0 to 9, plus 2147483648 for the extreme variant; `None` for 6.
    pub preset: Option<u32>,
    /// The filters of a raw stream, in the order of encoding.
    pub filters: Option<Vec<Filter>>,
}

/// The form of a stream. The numbers are Python's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// The form of files `.xz`.
    #[default]
    Xz = 1,
    /// The older form of files `.lzma`.
    Alone = 2,
    /// A raw stream of the filters without a header: the filters must be known.
    Raw = 3,
}

/// A checksum. The numbers are Python's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    /// No check.
    None = 0,
    /// CRC-32.
    Crc32 = 1,
    /// CRC-64.
    Crc64 = 4,
    /// SHA-256.
    Sha256 = 10,
}

impl CodecConfig for Lzma {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let format = Format::numbered(reader.integer("format", 1, 1..=3)? as u32, "format")?;
        let check = match reader.integer("check", -1, -1..=15)? {
            -1 => None,
            number => Some(Check::numbered(number as u32, "check")?),
        };
        let preset = match reader.raw("preset") {
            Some(_) => Some(reader.integer("preset", 0, 0..=i64::from(u32::MAX))? as u32),
            None => None,
        };
        let filters = match reader.raw("filters") {
            None => None,
            Some(Value::Array(filters)) => {
                Some(filters.iter().map(Filter::from_json).collect::<Result<_>>()?)
            }
            Some(other) => {
                return Err(CodecError::config("filters", format!("expected a list, got {other}")));
            }
        };
        reader.finish(notes)?;
        Self { format, check, preset, filters }.checked()
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        let mut map = Map::new();
        map.insert("format".into(), json!(self.format as u32));
        map.insert("check".into(), json!(self.check.map_or(-1, |check| check as i32)));
        map.insert("preset".into(), json!(self.preset));
        let filters = self.filters.as_ref();
        map.insert(
            "filters".into(),
            filters.map_or(Value::Null, |list| list.iter().map(|filter| filter.to_json()).collect()),
        );
        if dialect == Dialect::ZarrV3 {
            map.retain(|_, value| !value.is_null());
        }
        Ok(map)
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        let format = Format::numbered(params::word_or(words, 0, Format::Xz as u32), "cd_values[0]")?;
        let check = match params::word_or(words, 1, DEFAULT) {
            DEFAULT => None,
            number => Some(Check::numbered(number, "cd_values[1]")?),
        };
        let preset = Some(params::word_or(words, 2, DEFAULT)).filter(|&preset| preset != DEFAULT);
        let mut rest = words.get(3..).unwrap_or_default();
        let mut filters = Vec::new();
        while !rest.is_empty() {
            if filters.len() == FILTERS {
                return Err(CodecError::config(
                    "cd_values",
                    format!("there are more than {FILTERS} filters"),
                ));
            }
            filters.push(Filter::take(&mut rest)?);
        }
        Self { format, check, preset, filters: (!filters.is_empty()).then_some(filters) }.checked()
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        let check = self.check.map_or(DEFAULT, |check| check as u32);
        let mut words = vec![self.format as u32, check, self.preset.unwrap_or(DEFAULT)];
        words.extend(self.filters.iter().flatten().flat_map(Filter::words));
        Ok(words)
    }
}

impl Codec for Lzma {
    const INFO: CodecInfo = CodecInfo::new("lzma", "strong and slow compression, that of xz")
        .numcodecs(&["lzma"])
        .zarr_v3(&["numcodecs.lzma"])
        .lossless();

    type Coder = LzmaCoder;

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let stored = self.clone().checked()?;
        let coder = LzmaCoder::new(stored.clone());
        Bound::bytes(stored.clone(), stored.to_params()?, coder, input)
    }

    fn coder(working: &[u32]) -> Result<LzmaCoder> {
        Self::from_params(working).map(LzmaCoder::new)
    }
}

impl Lzma {
    /// Refuses what no stream was ever made with, because Python refuses it.
    fn checked(self) -> Result<Self> {
        if let Some(preset) = self.preset
            && preset & !PRESET_EXTREME > 9
        {
            return Err(CodecError::config(
                "preset",
                format!("{preset} is not within 0 to 9, also without 2147483648 for PRESET_EXTREME"),
            ));
        }
        if self.format != Format::Xz && self.check.is_some_and(|check| check != Check::None) {
            return Err(CodecError::config("check", "only xz streams (\"format\": 1) have a checksum"));
        }
        let count = self.filters.as_ref().map(Vec::len);
        if count.is_some() && self.preset.is_some() {
            return Err(CodecError::config("preset", "it is in the filters, if there are any"));
        }
        match (self.format, count) {
            (Format::Raw, None) => {
                Err(CodecError::config("filters", "a raw stream needs them to be decoded"))
            }
            (_, Some(count)) if !(1..=FILTERS).contains(&count) => Err(CodecError::config(
                "filters",
                format!("a stream has 1 to {FILTERS} filters, not {count}"),
            )),
            _ => Ok(self),
        }
    }

    /// Why streams are read but not written with this configuration, if so.
    pub(crate) fn unwritable(&self) -> Option<CodecError> {
        match (self.format, &self.filters) {
            (Format::Xz | Format::Alone, Some(_)) => Some(CodecError::config(
                "filters",
                "numcodecs does not decode such streams unless \"format\" is 3, raw; leave the filters out, or take 3",
            )),
            _ => None,
        }
    }
}

impl Format {
    fn numbered(number: u32, key: &str) -> Result<Self> {
        match number {
            1 => Ok(Self::Xz),
            2 => Ok(Self::Alone),
            3 => Ok(Self::Raw),
            other => Err(CodecError::config(key, format!("format {other} is not within 1 to 3"))),
        }
    }
}

impl Check {
    fn numbered(number: u32, key: &str) -> Result<Self> {
        match number {
            0 => Ok(Self::None),
            1 => Ok(Self::Crc32),
            4 => Ok(Self::Crc64),
            10 => Ok(Self::Sha256),
            other => Err(CodecError::config(
                key,
                format!("check {other} is none of 0 (none), 1 (CRC-32), 4 (CRC-64), 10 (SHA-256)"),
            )),
        }
    }
}
