use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use serde_json::Value;
use zip::ZipArchive;

use crate::fixtures::read_entry;
use crate::{Error, fixtures};

/// What one entry may unpack to.
const ENTRY: u64 = 16 << 20;

/// One chunk as HDF5 stored it, with what must come out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkCase {
    /// The name, which starts with the codecs: `blosc-lz4-...--f4`.
    pub name: String,
    /// The dtype in numpy's notation, such as `<f4`.
    pub dtype: String,
    /// The shape of the chunk, in elements.
    pub shape: Vec<u64>,
    /// The filter pipeline in the order of encoding.
    pub filters: Vec<Filter>,
    /// HDF5's filter mask: bit n set says that filter n was skipped for this chunk.
    pub filter_mask: u32,
    /// Whether encoding lost digits: `raw` is then what decoding gives, not what was put in.
    pub lossy: bool,
    /// SHA-256 of `raw`, in hexadecimal digits; empty if none is stored.
    pub sha256: String,
    /// The chunk as stored.
    pub encoded: Vec<u8>,
    /// The chunk as HDF5 decodes it.
    pub raw: Vec<u8>,
}

/// One filter of a pipeline, as HDF5 recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// The number by which HDF5 knows the filter.
    pub id: u32,
    /// The flags: bit 0 says that the filter is optional.
    pub flags: u32,
    /// The working parameters, after `set_local`.
    pub params: Vec<u32>,
    /// The name that the filter gives itself; not a key.
    pub name: String,
}

/// A case of `codecs/hdf5-edges.zip`, with what HDF5 was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeCase {
    /// The chunk, as in `hdf5-chunks.zip`; it has no SHA-256.
    pub chunk: ChunkCase,
    /// What was written; differs from the raw bytes if the case is lossy.
    pub given: Vec<u8>,
}

/// The cases of `codecs/hdf5-edges.zip` for one codec, such as `lzf`, in the order in which they were made.
///
/// # Errors
///
/// [`Error::Io`] and [`Error::Zip`] if the file cannot be read, [`Error::Fixture`] if a case is not complete.
pub fn edges(codec: &str) -> Result<Vec<EdgeCase>, Error> {
    let path = fixtures().join("codecs/hdf5-edges.zip");
    let file = File::open(&path).map_err(Error::io(&path))?;
    let mut archive = ZipArchive::new(file).map_err(Error::zip(&path))?;
    let inside = format!("{codec}.json");
    let at = path.join(&inside);
    let mut entry = archive.by_name(&inside).map_err(Error::zip(&at))?;
    let json = read_entry(&mut entry, ENTRY).map_err(Error::io(&at))?;
    let cases: serde_json::Map<String, Value> =
        serde_json::from_slice(&json).map_err(|error| Error::fixture(&at, error.to_string()))?;
    cases
        .into_iter()
        .map(|(name, case)| {
            let at = at.join(&name);
            let (encoded, raw) = (bytes(&at, &case, "encoded")?, bytes(&at, &case, "raw")?);
            let given = bytes(&at, &case, "given")?;
            Ok(EdgeCase { chunk: ChunkCase::parse(&at, name, &case, encoded, raw)?, given })
        })
        .collect()
}

/// All chunks of `hdf5-chunks.zip`, sorted by name.
///
/// # Errors
///
/// [`Error::Io`] and [`Error::Zip`] if the file cannot be read, [`Error::Fixture`] if a case is not complete.
pub fn chunks() -> Result<Vec<ChunkCase>, Error> {
    let path = fixtures().join("hdf5-chunks.zip");
    let file = File::open(&path).map_err(Error::io(&path))?;
    let mut archive = ZipArchive::new(file).map_err(Error::zip(&path))?;
    let mut names = BTreeSet::new();
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(Error::zip(&path))?;
        let name = entry.name().map_err(Error::zip(&path))?;
        let Some((stem, "json" | "enc" | "raw")) = name.rsplit_once('.') else {
            return Err(Error::fixture(&path.join(&*name), "is not part of a case"));
        };
        names.insert(stem.to_owned());
    }
    names
        .into_iter()
        .map(|name| {
            let mut part = |ending: &str| {
                let inside = format!("{name}.{ending}");
                let mut entry = archive.by_name(&inside).map_err(Error::zip(&path.join(&inside)))?;
                read_entry(&mut entry, ENTRY).map_err(Error::io(&path.join(&inside)))
            };
            let (json, encoded, raw) = (part("json")?, part("enc")?, part("raw")?);
            let at = path.join(format!("{name}.json"));
            let document =
                serde_json::from_slice(&json).map_err(|error| Error::fixture(&at, error.to_string()))?;
            ChunkCase::parse(&at, name, &document, encoded, raw)
        })
        .collect()
}

impl ChunkCase {
    fn parse(
        at: &Path,
        name: String,
        document: &Value,
        encoded: Vec<u8>,
        raw: Vec<u8>,
    ) -> Result<Self, Error> {
        let filters = array(at, document, "filters")?.iter().map(|filter| Filter::parse(at, filter));
        let shape = array(at, document, "shape")?.iter().map(|length| {
            length.as_u64().ok_or_else(|| Error::fixture(at, "a length in shape is not a number"))
        });
        Ok(Self {
            dtype: text(at, document, "dtype")?,
            shape: shape.collect::<Result<_, _>>()?,
            filters: filters.collect::<Result<_, _>>()?,
            filter_mask: word(at, "filter_mask", &document["filter_mask"])?,
            lossy: document["lossy"]
                .as_bool()
                .ok_or_else(|| Error::fixture(at, "lossy is not true or false"))?,
            sha256: document["sha256_decoded"].as_str().unwrap_or_default().to_owned(),
            name,
            encoded,
            raw,
        })
    }
}

impl Filter {
    fn parse(at: &Path, filter: &Value) -> Result<Self, Error> {
        let params = array(at, filter, "params")?.iter().map(|value| word(at, "params", value));
        Ok(Self {
            id: word(at, "id", &filter["id"])?,
            flags: word(at, "flags", &filter["flags"])?,
            params: params.collect::<Result<_, _>>()?,
            name: text(at, filter, "name")?,
        })
    }
}

fn bytes(at: &Path, document: &Value, key: &str) -> Result<Vec<u8>, Error> {
    let digits = text(at, document, key)?;
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    });
    pairs
        .collect::<Option<_>>()
        .ok_or_else(|| Error::fixture(at, format!("{key} is not in hexadecimal digits")))
}

fn array<'a>(at: &Path, document: &'a Value, key: &str) -> Result<&'a Vec<Value>, Error> {
    document[key].as_array().ok_or_else(|| Error::fixture(at, format!("{key} is not an array")))
}

fn text(at: &Path, document: &Value, key: &str) -> Result<String, Error> {
    let text = document[key].as_str().ok_or_else(|| Error::fixture(at, format!("{key} is not a string")))?;
    Ok(text.to_owned())
}

fn word(at: &Path, key: &str, value: &Value) -> Result<u32, Error> {
    let word = value.as_u64().and_then(|value| u32::try_from(value).ok());
    word.ok_or_else(|| Error::fixture(at, format!("{key} is not an unsigned 32-bit number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_read_with_its_bytes() {
        let cases = chunks().unwrap();
        assert_eq!(cases.len(), 181);
        assert_eq!(cases.iter().filter(|case| case.filter_mask != 0).count(), 45);
        for case in &cases {
            let size: u64 = case.dtype.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
            assert_eq!(case.raw.len() as u64, case.shape.iter().product::<u64>() * size, "{}", case.name);
            assert!(!case.encoded.is_empty() && !case.filters.is_empty(), "{}", case.name);
            assert_eq!(case.sha256.len(), 64);
        }
    }

    #[test]
    fn the_edges_of_every_codec_are_read() {
        for (codec, count) in
            [("lz4", 146), ("lzf", 121), ("bitshuffle", 246), ("scaleoffset", 396), ("nbit", 296)]
        {
            let cases = edges(codec).unwrap();
            assert_eq!(cases.len(), count, "{codec}");
            assert!(cases.iter().all(|case| case.chunk.lossy == (case.given != case.chunk.raw)), "{codec}");
        }
        assert!(edges("none").is_err());
    }

    #[test]
    fn the_recorded_parameters_are_kept() {
        let cases = chunks().unwrap();
        let case = cases.iter().find(|case| case.name == "bitshuffle--f4").unwrap();
        assert_eq!(case.filters[0].id, 32008);
        assert_eq!(case.filters[0].params, [0, 4, 4, 0, 0]);
        assert_eq!((case.dtype.as_str(), case.shape.as_slice()), ("<f4", [64, 48].as_slice()));
    }
}
