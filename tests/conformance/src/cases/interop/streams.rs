//! Streams that other programs wrote, with what they decode to; part of this program.

use std::io::{Cursor, Read};

use ncz_codec::{Dialect, Dtype, Kind, Names};
use serde_json::{Map, Value};
use zip::ZipArchive;

/// Chunks of HDF5 files, by HDF5 2.0 with hdf5plugin.
const HDF5: &[u8] = include_bytes!("../../../../fixtures/hdf5-chunks.zip");

/// Arrays of zarr-python with one codec each: the store, and the values as numpy keeps them.
macro_rules! arrays {
    ($($name:literal),* $(,)?) => {
        [$((
            $name,
            include_bytes!(concat!("../../../../fixtures/zarr-python/", $name, ".zip")).as_slice(),
            include_bytes!(concat!("../../../../fixtures/zarr-python/", $name, ".npz")).as_slice(),
        )),*]
    };
}

/// Name, store and values.
type Array = (&'static str, &'static [u8], &'static [u8]);

const NUMCODECS: [Array; 14] = arrays![
    "v2-blosc-blosclz",
    "v2-blosc-lz4",
    "v2-blosc-lz4hc",
    "v2-blosc-zlib-noshuffle",
    "v2-blosc-zstd-bit",
    "v2-bz2",
    "v2-fletcher32",
    "v2-gzip",
    "v2-lz4",
    "v2-lzma",
    "v2-zlib",
    "v2-zstd",
    "v2-zstd-checksum",
    "v2-zstd-negative",
];

const ZARR_V3: [Array; 5] = arrays!["v3-blosc", "v3-blosc-bit", "v3-crc32c", "v3-gzip", "v3-zstd"];

/// What one entry may unpack to.
const ENTRY_MAX: u64 = 16 << 20;

/// A stored stream.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cases) struct Stream {
    /// Its name in the fixtures.
    pub(in crate::cases) name: String,
    /// Who wrote it.
    pub(in crate::cases) writer: &'static str,
    pub(in crate::cases) dtype: Dtype,
    pub(in crate::cases) shape: Vec<u64>,
    pub(in crate::cases) parameters: Parameters,
    /// Whether encoding lost digits; `raw` is what decoding gives.
    pub(in crate::cases) lossy: bool,
    pub(in crate::cases) encoded: Vec<u8>,
    pub(in crate::cases) raw: Vec<u8>,
}

/// How a stream says how its codec was configured.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cases) enum Parameters {
    /// Working `cd_values`.
    Words(Vec<u32>),
    /// The configuration in JSON, without the codec's name.
    Json(Dialect, Map<String, Value>),
}

/// The stored streams cannot be read, which is a fault of this program.
#[derive(Debug, thiserror::Error)]
pub(in crate::cases) enum BrokenFixture {
    #[error("{0}")]
    Zip(#[from] zip::result::ZipError),
    #[error("{0}")]
    Read(#[from] std::io::Error),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("{0} is not as expected")]
    Shape(String),
}

type Result<T> = std::result::Result<T, BrokenFixture>;

/// Chunks that went through just the filter `id`.
pub(in crate::cases) fn of_filter(id: u32) -> Result<Vec<Stream>> {
    let mut archive = ZipArchive::new(Cursor::new(HDF5))?;
    let mut names = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index(index)?;
        names.extend(entry.name()?.strip_suffix(".json").map(str::to_owned));
    }
    names.sort();
    let mut found = Vec::new();
    for name in names {
        let document: Value = serde_json::from_slice(&entry(&mut archive, &format!("{name}.json"))?)?;
        let broken = || BrokenFixture::Shape(name.clone());
        let [filter] = &document["filters"].as_array().ok_or_else(broken)?[..] else { continue };
        if filter["id"] != id || document["filter_mask"] != 0 {
            continue;
        }
        let words = filter["params"].as_array().ok_or_else(broken)?.iter();
        let words = words.map(|word| word.as_u64().and_then(|word| u32::try_from(word).ok()));
        found.push(Stream {
            writer: "HDF5",
            dtype: document["dtype"].as_str().and_then(dtype).ok_or_else(broken)?,
            shape: lengths(&document["shape"]).ok_or_else(broken)?,
            parameters: Parameters::Words(words.collect::<Option<_>>().ok_or_else(broken)?),
            lossy: document["lossy"].as_bool().ok_or_else(broken)?,
            encoded: entry(&mut archive, &format!("{name}.enc"))?,
            raw: entry(&mut archive, &format!("{name}.raw"))?,
            name,
        });
    }
    Ok(found)
}

/// Chunks that went through just one codec, which numcodecs calls by one of these names.
pub(in crate::cases) fn of_numcodecs(names: &Names) -> Result<Vec<Stream>> {
    let mut found = Vec::new();
    for (name, store, values) in NUMCODECS {
        let mut archive = ZipArchive::new(Cursor::new(store))?;
        let array: Value = serde_json::from_slice(&entry(&mut archive, "v/.zarray")?)?;
        let stages = array["filters"]
            .as_array()
            .into_iter()
            .flatten()
            .chain(array["compressor"].as_object().map(|_| &array["compressor"]));
        let stages: Vec<&Value> = stages.collect();
        let [stage] = stages[..] else { continue };
        let broken = || BrokenFixture::Shape(name.to_owned());
        let mut config = stage.as_object().ok_or_else(broken)?.clone();
        let id = config.shift_remove("id");
        if !id.as_ref().and_then(Value::as_str).is_some_and(|id| names.contains(id)) {
            continue;
        }
        let dtype = array["dtype"].as_str().and_then(dtype).ok_or_else(broken)?;
        let (shape, chunk) =
            (lengths(&array["shape"]).ok_or_else(broken)?, lengths(&array["chunks"]).ok_or_else(broken)?);
        let values = entry(&mut ZipArchive::new(Cursor::new(values))?, "v.npy")?;
        let raw = first_chunk(&values, dtype.size, &shape, &chunk).ok_or_else(broken)?;
        let key = vec!["0"; chunk.len()].join(".");
        found.push(Stream {
            name: name.to_owned(),
            writer: "numcodecs",
            dtype,
            shape: chunk,
            parameters: Parameters::Json(Dialect::Numcodecs, config),
            lossy: false,
            encoded: entry(&mut archive, &format!("v/{key}"))?,
            raw,
        });
    }
    Ok(found)
}

/// Chunks of Zarr v3 whose last codec has one of these names.
pub(in crate::cases) fn of_zarr_v3(names: &Names) -> Result<Vec<Stream>> {
    let mut found = Vec::new();
    for (name, store, values) in ZARR_V3 {
        let mut archive = ZipArchive::new(Cursor::new(store))?;
        let array: Value = serde_json::from_slice(&entry(&mut archive, "v/zarr.json")?)?;
        let broken = || BrokenFixture::Shape(name.to_owned());
        let codecs = array["codecs"].as_array().ok_or_else(broken)?;
        let last = codecs.last().ok_or_else(broken)?;
        let Some(codec) = last["name"].as_str().filter(|codec| names.contains(codec)) else {
            continue;
        };
        let encoded = entry(&mut archive, "v/c/0/0")?;
        let shape = lengths(&array["shape"]).ok_or_else(broken)?;
        let chunk = lengths(&array["chunk_grid"]["configuration"]["chunk_shape"]).ok_or_else(broken)?;
        let is_float = array["data_type"] == "float32" && codecs[0]["configuration"]["endian"] == "little";
        let (dtype, chunk, raw) = match &codecs[..] {
            [_, _] if is_float => {
                let values = entry(&mut ZipArchive::new(Cursor::new(values))?, "v.npy")?;
                let raw = first_chunk(&values, 4, &shape, &chunk).ok_or_else(broken)?;
                (Dtype::little(Kind::Float, 4), chunk, raw)
            }
            // The checksum is after what it is of: the stream of the codec before.
            [.., _] if codec == "crc32c" => {
                let raw = encoded.get(..encoded.len().saturating_sub(4)).ok_or_else(broken)?.to_vec();
                (Dtype::little(Kind::UInt, 1), vec![raw.len() as u64], raw)
            }
            _ => continue,
        };
        found.push(Stream {
            name: name.to_owned(),
            writer: "zarr-python",
            dtype,
            shape: chunk,
            parameters: Parameters::Json(
                Dialect::ZarrV3,
                last["configuration"].as_object().cloned().unwrap_or_default(),
            ),
            lossy: false,
            encoded,
            raw,
        });
    }
    Ok(found)
}

fn entry(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    archive.by_name(name)?.take(ENTRY_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The elements of a two-dimensional array that lie in its first chunk, which is inside the array.
fn first_chunk(npy: &[u8], size: usize, shape: &[u64], chunk: &[u64]) -> Option<Vec<u8>> {
    let (&[rows, columns], &[height, width]) = (shape, chunk) else { return None };
    // numpy's format 1.0: a magic number, a version, the length of a header that says what `.zarray` says.
    let head = npy.strip_prefix(b"\x93NUMPY\x01\x00")?;
    let header = usize::from(u16::from_le_bytes(head.get(..2)?.try_into().ok()?));
    let values = head.get(2 + header..)?;
    if values.len() as u64 != rows * columns * size as u64 || height > rows || width > columns {
        return None;
    }
    let (columns, width) = (columns as usize * size, width as usize * size);
    Some(values.chunks(columns).take(height as usize).flat_map(|row| &row[..width]).copied().collect())
}

fn lengths(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

/// A dtype in numpy's notation, such as `<f4`.
fn dtype(text: &str) -> Option<Dtype> {
    let kind = match text.get(1..2)? {
        "i" => Kind::Int,
        "u" => Kind::UInt,
        "f" => Kind::Float,
        _ => return None,
    };
    let size = text.get(2..)?.parse().ok()?;
    Some(if text.starts_with('>') { Dtype::big(kind, size) } else { Dtype::little(kind, size) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stored_stream_is_whole() {
        let ids = [
            (1, 5),
            (2, 5),
            (3, 5),
            (4, 4),
            (307, 5),
            (32_001, 38),
            (32_004, 10),
            (32_008, 15),
            (32_015, 10),
        ];
        for (id, count) in ids {
            let streams = of_filter(id).unwrap();
            assert_eq!(streams.len(), count, "{id}");
            for stream in streams {
                let elements = stream.shape.iter().product::<u64>();
                assert_eq!(stream.raw.len() as u64, elements * stream.dtype.size as u64, "{}", stream.name);
                assert!(!stream.encoded.is_empty());
            }
        }
        assert_eq!(of_filter(40_000).unwrap(), []);
    }

    #[test]
    fn arrays_of_numcodecs_have_their_first_chunk() {
        let names = |id: &str| of_numcodecs(&Names::from_iter([id])).unwrap();
        assert_eq!(names("blosc").len(), 5);
        assert_eq!(names("zstd").len(), 3);
        let [gzip] = &names("gzip")[..] else { panic!("one stream of gzip") };
        assert_eq!((gzip.shape.as_slice(), gzip.raw.len()), ([20, 15].as_slice(), 1200));
        assert_eq!(gzip.encoded[..2], [0x1f, 0x8b]);
        let names = |id: &str| of_zarr_v3(&Names::from_iter([id])).unwrap();
        assert_eq!([names("blosc").len(), names("gzip").len(), names("zstd").len()], [2, 1, 1]);
        assert_eq!(names("gzip")[0].raw.len(), 1200);
        let [checksum] = &names("crc32c")[..] else { panic!("one stream of crc32c") };
        assert_eq!(checksum.raw.len() + 4, checksum.encoded.len());
        let names = |id: &str| of_numcodecs(&Names::from_iter([id])).unwrap();
        // fletcher32 leaves the values as they are and puts its sum after them.
        let [fletcher] = &names("fletcher32")[..] else { panic!("one stream of fletcher32") };
        assert_eq!(fletcher.encoded[..1200], fletcher.raw);
        assert_eq!(fletcher.encoded.len(), 1204);
    }
}
