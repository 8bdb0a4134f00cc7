//! Filters of a stream, as Python's module `lzma` names them.

use liblzma::stream::{Error, Filters, LzmaOptions, MatchFinder, Mode};
use ncz_codec::{CodecError, Result};
use serde_json::{Map, Value, json};

/// Python's number for LZMA1.
const LZMA1: u64 = 0x4000_0000_0000_0001;
/// The flag of the extreme variant of a preset.
pub(crate) const PRESET_EXTREME: u32 = 1 << 31;
const LZMA_KEYS: [&str; 9] = ["preset", "dict_size", "lc", "lp", "pb", "mode", "nice_len", "mf", "depth"];
/// The smallest dictionary that the library takes.
const DICTIONARY_LEAST: u32 = 4096;
/// The largest dictionary of all presets.
pub(crate) const DICTIONARY_PRESETS: u32 = 64 << 20;
/// The default preset.
pub(crate) const PRESET: u32 = 6;

/// One filter of a chain, with the options that were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Filter {
    id: FilterId,
    /// In the order of [`FilterId::keys`].
    options: [Option<u32>; LZMA_KEYS.len()],
}

/// The kind of a filter. The numbers are those of the parameter words, and Python's except for LZMA1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FilterId {
    /// Compresses, in the older form.
    Lzma1 = 1,
    /// Subtracts the byte at a fixed distance before.
    Delta = 3,
    /// Makes addresses in programs for x86 absolute; the following ones do so for other processors.
    X86 = 4,
    /// For PowerPC.
    PowerPc = 5,
    /// For Itanium.
    Ia64 = 6,
    /// For ARM.
    Arm = 7,
    /// For ARM's Thumb.
    ArmThumb = 8,
    /// For SPARC.
    Sparc = 9,
    /// Compresses.
    Lzma2 = 33,
}

impl Filter {
    /// A filter without options.
    pub fn new(id: FilterId) -> Self {
        Self { id, options: [None; LZMA_KEYS.len()] }
    }

    /// The filter with this option, such as `("dist", 4)`.
    ///
    /// # Errors
    /// The filter does not have that option, or does not accept that value.
    pub fn with(mut self, key: &str, value: u32) -> Result<Self> {
        let at = self.id.keys().iter().position(|known| *known == key).ok_or_else(|| {
            wrong(format!("filter {} has no {key:?}; it has {:?}", self.id.number(), self.id.keys()))
        })?;
        let range = match key {
            "dist" => 1..=256,
            "lc" | "lp" | "pb" => 0..=4,
            "mode" => 1..=2,
            "mf" if match_finder(value).is_none() => {
                return Err(wrong(format!("unknown match finder {value}")));
            }
            "preset" if value & !PRESET_EXTREME > 9 => {
                return Err(wrong(format!("unknown preset {value}")));
            }
            _ => 0..=u32::MAX,
        };
        if !range.contains(&value) {
            return Err(wrong(format!("{key} {value} is not within {} to {}", range.start(), range.end())));
        }
        self.options[at] = Some(value);
        Ok(self)
    }

    /// The kind of the filter.
    pub fn id(&self) -> FilterId {
        self.id
    }

    /// The option, if it was given.
    pub fn option(&self, key: &str) -> Option<u32> {
        let at = self.id.keys().iter().position(|known| *known == key)?;
        self.options[at]
    }

    pub(crate) fn from_json(json: &Value) -> Result<Self> {
        let map = json.as_object().ok_or_else(|| wrong(format!("expected an object, got {json}")))?;
        let id = map.get("id").and_then(Value::as_u64).and_then(FilterId::from_number);
        let id = id.ok_or_else(|| {
            wrong(format!("{json} has no \"id\" that Python's module lzma knows, such as 33 for LZMA2"))
        })?;
        map.iter().filter(|(key, _)| *key != "id").try_fold(Self::new(id), |filter, (key, value)| {
            let value = value.as_u64().and_then(|value| u32::try_from(value).ok());
            filter.with(
                key,
                value.ok_or_else(|| wrong(format!("{key:?} of {json} is not an unsigned 32-bit integer")))?,
            )
        })
    }

    pub(crate) fn to_json(self) -> Value {
        let mut map = Map::from_iter([("id".to_owned(), json!(self.id.number()))]);
        map.extend(self.given().map(|(key, value)| (key.to_owned(), json!(value))));
        Value::Object(map)
    }

    /// Takes one filter off the front of `words`.
    pub(crate) fn take(words: &mut &[u32]) -> Result<Self> {
        let [id, given, rest @ ..] = *words else { return Err(cut()) };
        let id = ALL.into_iter().find(|known| *known as u32 == *id);
        let id = id.ok_or_else(|| CodecError::config("cd_values", "unknown filter number"))?;
        if given >> id.keys().len() != 0 {
            return Err(CodecError::config("cd_values", "a filter has no such options"));
        }
        *words = rest;
        id.keys().iter().enumerate().filter(|(bit, _)| given >> bit & 1 == 1).try_fold(
            Self::new(id),
            |filter, (_, key)| {
                let (value, rest) = words.split_first().ok_or_else(cut)?;
                *words = rest;
                filter.with(key, *value)
            },
        )
    }

    pub(crate) fn words(&self) -> impl Iterator<Item = u32> {
        let given =
            self.options.iter().enumerate().map(|(bit, value)| u32::from(value.is_some()) << bit).sum();
        [self.id as u32, given].into_iter().chain(self.options.into_iter().flatten())
    }

    fn add(&self, chain: &mut Filters, decoded: Option<usize>) -> Result<(), Error> {
        // The library reads the options of these filters from the bytes that a file would hold.
        let start = self.option("start_offset").unwrap_or(0).to_le_bytes();
        let start = if start == [0; 4] { &start[..0] } else { &start[..] };
        match self.id {
            FilterId::Lzma1 => chain.lzma1(&self.lzma_options(decoded)?),
            FilterId::Lzma2 => chain.lzma2(&self.lzma_options(decoded)?),
            FilterId::Delta => chain.delta_properties(&[(self.option("dist").unwrap_or(1) - 1) as u8])?,
            FilterId::X86 => chain.x86_properties(start)?,
            FilterId::PowerPc => chain.powerpc_properties(start)?,
            FilterId::Ia64 => chain.ia64_properties(start)?,
            FilterId::Arm => chain.arm_properties(start)?,
            FilterId::ArmThumb => chain.arm_thumb_properties(start)?,
            FilterId::Sparc => chain.sparc_properties(start)?,
        };
        Ok(())
    }

    fn lzma_options(&self, decoded: Option<usize>) -> Result<LzmaOptions, Error> {
        let mut options = LzmaOptions::new_preset(self.option("preset").unwrap_or(PRESET))?;
        for (key, value) in self.given() {
            match key {
                "dict_size" => options.dict_size(value),
                "lc" => options.literal_context_bits(value),
                "lp" => options.literal_position_bits(value),
                "pb" => options.position_bits(value),
                "mode" => options.mode(if value == 1 { Mode::Fast } else { Mode::Normal }),
                "nice_len" => options.nice_len(value),
                "mf" => options.match_finder(match_finder(value).ok_or(Error::Options)?),
                "depth" => options.depth(value),
                _ => &mut options,
            };
        }
        if let Some(decoded) = decoded {
            let stated = self.option("dict_size").unwrap_or(DICTIONARY_PRESETS);
            options.dict_size(stated.min(u32::try_from(decoded).unwrap_or(u32::MAX)).max(DICTIONARY_LEAST));
        }
        Ok(options)
    }

    fn given(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.id.keys().iter().zip(self.options).filter_map(|(key, value)| Some((*key, value?)))
    }
}

impl FilterId {
    /// The names of its options.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Lzma1 | Self::Lzma2 => &LZMA_KEYS,
            Self::Delta => &["dist"],
            _ => &["start_offset"],
        }
    }

    /// Python's number.
    fn number(self) -> u64 {
        match self {
            Self::Lzma1 => LZMA1,
            other => other as u64,
        }
    }

    fn from_number(number: u64) -> Option<Self> {
        ALL.into_iter().find(|id| id.number() == number)
    }
}

const ALL: [FilterId; 9] = [
    FilterId::Lzma1,
    FilterId::Delta,
    FilterId::X86,
    FilterId::PowerPc,
    FilterId::Ia64,
    FilterId::Arm,
    FilterId::ArmThumb,
    FilterId::Sparc,
    FilterId::Lzma2,
];

/// The library's form of `filters`. A decoder passes the largest length of its output: a larger dictionary is not
/// needed.
pub(crate) fn chain(filters: &[Filter], decoded: Option<usize>) -> Result<Filters, Error> {
    let mut chain = Filters::new();
    for filter in filters {
        filter.add(&mut chain, decoded)?;
    }
    Ok(chain)
}

fn match_finder(number: u32) -> Option<MatchFinder> {
    Some(match number {
        0x03 => MatchFinder::HashChain3,
        0x04 => MatchFinder::HashChain4,
        0x12 => MatchFinder::BinaryTree2,
        0x13 => MatchFinder::BinaryTree3,
        0x14 => MatchFinder::BinaryTree4,
        _ => return None,
    })
}

fn wrong(detail: String) -> CodecError {
    CodecError::config("filters", detail)
}

fn cut() -> CodecError {
    CodecError::config("cd_values", "the words of a filter are not complete")
}
