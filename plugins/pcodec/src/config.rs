use ncz_codec::{
    Bound, ByteOrder, Codec, CodecConfig, CodecError, CodecInfo, ConfigReader, Dialect, Dtype, Env, Kind,
    Repr, Result, params,
};
use serde_json::{Map, Value, json};

use crate::codec::PcodecCoder;
use crate::numbers::Numbers;

/// The only paging method that numcodecs has.
const PAGING: &str = "equal_pages_up_to";
const LEVEL: u32 = 8;
const LEVEL_MAX: u32 = 12;
const ORDER_MAX: u32 = 7;
const PAGE: u32 = 1 << 18;
/// The most numbers that Pco puts into a page.
const PAGE_MAX: u32 = 1 << 24;
/// The word for "no order".
const NONE: u32 = u32::MAX;
/// The number of words that a user gives.
const WORDS: usize = 5;

/// Configuration of the pcodec codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pcodec {
    /// The compression level, 0 to 12.
    pub level: u32,
    /// How numbers are taken apart.
    pub mode: Mode,
    /// Which differences are tried.
    pub delta: Delta,
    /// The order of the differences, 0 to 7. With [`Delta::Auto`] it means [`Delta::Consecutive`],
    /// as in metadata of older versions of numcodecs.
    pub order: Option<u32>,
    /// The most numbers of a page, at least 1.
    pub page: u32,
}

/// How numbers are taken apart. The numbers are those of the parameter words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// As the data suggest: as multiples of something, for example.
    #[default]
    Auto = 0,
    /// Not at all.
    Classic = 1,
}

/// The differences to try. The numbers are those of the parameter words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Delta {
    /// Those that the data suggest.
    #[default]
    Auto = 0,
    /// None.
    None = 1,
    /// From the number before, and differences of these.
    Consecutive = 2,
    /// The difference to a similar earlier number.
    Lookback = 3,
}

impl Default for Pcodec {
    fn default() -> Self {
        Self { level: LEVEL, mode: Mode::Auto, delta: Delta::Auto, order: None, page: PAGE }
    }
}

impl CodecConfig for Pcodec {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let level = reader.integer("level", LEVEL.into(), 0..=LEVEL_MAX.into())? as u32;
        let mode = named("mode_spec", reader.text("mode_spec", "auto")?, &Mode::NAMES)?;
        let delta = named("delta_spec", reader.text("delta_spec", "auto")?, &Delta::NAMES)?;
        let paging = reader.text("paging_spec", PAGING)?;
        if paging != PAGING {
            return Err(CodecError::config("paging_spec", format!("{paging:?} is not {PAGING:?}")));
        }
        let order = match reader.raw("delta_encoding_order") {
            Some(_) => Some(reader.integer("delta_encoding_order", 0, 0..=ORDER_MAX.into())? as u32),
            None => None,
        };
        let page = reader.integer(PAGING, PAGE.into(), 1..=u32::MAX.into())? as u32;
        reader.finish(notes)?;
        Self { level, mode, delta, order, page }.checked("delta_encoding_order")
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        let mut map = Map::new();
        map.insert("level".into(), json!(self.level));
        map.insert("mode_spec".into(), json!(name(self.mode, &Mode::NAMES)));
        map.insert("delta_spec".into(), json!(name(self.delta, &Delta::NAMES)));
        map.insert("paging_spec".into(), json!(PAGING));
        if self.order.is_some() || dialect == Dialect::Numcodecs {
            map.insert("delta_encoding_order".into(), json!(self.order));
        }
        map.insert(PAGING.into(), json!(self.page));
        Ok(map)
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("pcodec", words, 0, WORDS)?;
        let level = params::word_or(words, 0, LEVEL);
        let page = params::word_or(words, 4, PAGE);
        let order = Some(params::word_or(words, 3, NONE)).filter(|&order| order != NONE);
        let most = [(0, level, LEVEL_MAX), (3, order.unwrap_or(0), ORDER_MAX)];
        if let Some((at, word, most)) = most.into_iter().find(|(_, word, most)| word > most) {
            return Err(CodecError::config(
                format!("cd_values[{at}]"),
                format!("{word} is not within 0 to {most}"),
            ));
        }
        if page == 0 {
            return Err(CodecError::config("cd_values[4]", "a page holds at least one number"));
        }
        Self {
            level,
            mode: numbered("cd_values[1]", params::word_or(words, 1, 0), &Mode::NAMES)?,
            delta: numbered("cd_values[2]", params::word_or(words, 2, 0), &Delta::NAMES)?,
            order,
            page,
        }
        .checked("cd_values[3]")
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(vec![self.level, self.mode as u32, self.delta as u32, self.order.unwrap_or(NONE), self.page])
    }
}

impl Codec for Pcodec {
    const INFO: CodecInfo = CodecInfo::new("pcodec", "strong and fast lossless compression of numbers")
        .numcodecs(&["pcodec"])
        .zarr_v3(&["numcodecs.pcodec"])
        .working_params()
        .lossless();

    type Coder = PcodecCoder;

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let Repr::Array { dtype, .. } = input else {
            return Err(CodecError::unsupported(
                "pcodec takes numbers, not bytes; put it first, or after codecs that return numbers",
            ));
        };
        let numbers = numbers_of(dtype)?;
        let stored = self.checked("delta_encoding_order")?;
        let coder = PcodecCoder::new(stored, Some(numbers));
        let mut working = stored.to_params()?;
        working.push(numbers as u32);
        Bound::bytes(stored, working, coder, input)
    }

    fn coder(working: &[u32]) -> Result<PcodecCoder> {
        let given = &working[..working.len().min(WORDS)];
        let numbers = match working.get(WORDS) {
            None => None,
            Some(&word) => Some(Numbers::numbered(word).ok_or_else(|| {
                CodecError::config("cd_values[5]", format!("no type has the number {word}"))
            })?),
        };
        Ok(PcodecCoder::new(Self::from_params(given)?, numbers))
    }
}

impl Pcodec {
    /// Refuses an order of differences that are not tried; `key` names it.
    fn checked(self, key: &str) -> Result<Self> {
        match (self.delta, self.order) {
            (Delta::Consecutive, None) => {
                Err(CodecError::config(key, "\"try_consecutive\" needs an order from 0 to 7"))
            }
            (Delta::None | Delta::Lookback, Some(_)) => {
                Err(CodecError::config(key, "an order is for \"try_consecutive\" only"))
            }
            _ => Ok(self),
        }
    }

    /// The same for Pco, for a page of `count` numbers.
    pub(crate) fn chunk_config(&self, count: usize) -> pco::ChunkConfig {
        let mode = match self.mode {
            Mode::Auto => pco::ModeSpec::Auto,
            Mode::Classic => pco::ModeSpec::Classic,
        };
        let delta = match (self.delta, self.order) {
            (Delta::Auto | Delta::Consecutive, Some(order)) => pco::DeltaSpec::TryConsecutive(order as usize),
            (Delta::Auto | Delta::Consecutive, None) => pco::DeltaSpec::Auto,
            (Delta::None, _) => pco::DeltaSpec::NoOp,
            // A single number has no predecessor, and pcodec 0.3 does not decode its own encoding of it.
            (Delta::Lookback, _) if count == 1 => pco::DeltaSpec::NoOp,
            (Delta::Lookback, _) => pco::DeltaSpec::TryLookback,
        };
        pco::ChunkConfig::default()
            .with_compression_level(self.level as usize)
            .with_mode_spec(mode)
            .with_delta_spec(delta)
    }

    /// The numbers of each page for `count` numbers: as few pages as can be, of lengths as equal as can be.
    pub(crate) fn pages(&self, count: usize) -> impl ExactSizeIterator<Item = usize> + use<> {
        let pages = count.div_ceil(self.page.min(PAGE_MAX) as usize);
        let (least, longer) = (count.checked_div(pages).unwrap_or(0), count.checked_rem(pages).unwrap_or(0));
        (0..pages).map(move |page| least + usize::from(page < longer))
    }
}

impl Mode {
    const NAMES: [(&'static str, Self); 2] = [("auto", Self::Auto), ("classic", Self::Classic)];
}

impl Delta {
    const NAMES: [(&'static str, Self); 4] = [
        ("auto", Self::Auto),
        ("none", Self::None),
        ("try_consecutive", Self::Consecutive),
        ("try_lookback", Self::Lookback),
    ];
}

/// Returns the value named `text`.
fn named<T: Copy>(key: &str, text: &str, names: &[(&'static str, T)]) -> Result<T> {
    names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        CodecError::config(key, format!("{text:?} is none of {}", names.join(", ")))
    })
}

/// Returns the value with the number `word`, its index among the names.
fn numbered<T: Copy>(key: &str, word: u32, names: &[(&'static str, T)]) -> Result<T> {
    names
        .get(word as usize)
        .map(|(_, value)| *value)
        .ok_or_else(|| CodecError::config(key, format!("{word} is not within 0 to {}", names.len() - 1)))
}

fn name<T: PartialEq>(value: T, names: &[(&'static str, T)]) -> &'static str {
    names.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

fn numbers_of(dtype: &Dtype) -> Result<Numbers> {
    let numbers = match (dtype.kind, dtype.size) {
        (Kind::Int, 2) => Numbers::I16,
        (Kind::Int, 4) => Numbers::I32,
        (Kind::Int, 8) => Numbers::I64,
        (Kind::UInt, 2) => Numbers::U16,
        (Kind::UInt, 4) => Numbers::U32,
        (Kind::UInt, 8) => Numbers::U64,
        (Kind::Float, 2) => Numbers::F16,
        (Kind::Float, 4) => Numbers::F32,
        (Kind::Float, 8) => Numbers::F64,
        (kind, size) => {
            return Err(CodecError::unsupported(format!(
                "pcodec takes integers and floating-point numbers of 2, 4 or 8 bytes, not {kind:?} of {size}"
            )));
        }
    };
    if dtype.order == ByteOrder::Big {
        return Err(CodecError::unsupported(
            "pcodec takes little-endian numbers only, also in numcodecs; let the variable be little-endian",
        ));
    }
    Ok(numbers)
}
