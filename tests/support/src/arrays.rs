use std::fs::File;
use std::path::Path;

use zip::ZipArchive;

use crate::fixtures::read_entry;
use crate::{Error, fixtures};

/// What one array may unpack to.
const ENTRY: u64 = 64 << 20;

/// One array of an `.npz` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedArray {
    /// The name inside the file, without `.npy`.
    pub name: String,
    /// The dtype in numpy's notation, such as `<f4`.
    pub dtype: String,
    /// Whether the first dimension varies fastest.
    pub fortran_order: bool,
    /// The shape, in elements; empty for a scalar.
    pub shape: Vec<u64>,
    /// The elements, in the byte order of `dtype`.
    pub bytes: Vec<u8>,
}

/// All arrays of an `.npz` file (`numpy.savez`), in the order of the file.
///
/// `npz` is relative to [`fixtures`], for instance `zarr-python/v2-zlib.npz`. Of the `.npy` format, versions 1 and 2
/// with plain dtypes are read, which is what numpy writes for them.
///
/// # Errors
///
/// [`Error::Io`] and [`Error::Zip`] if the file cannot be read, [`Error::Fixture`] if an array in it has another form.
pub fn arrays(npz: impl AsRef<Path>) -> Result<Vec<NamedArray>, Error> {
    let path = fixtures().join(npz);
    let file = File::open(&path).map_err(Error::io(&path))?;
    let mut archive = ZipArchive::new(file).map_err(Error::zip(&path))?;
    (0..archive.len())
        .map(|index| {
            let mut entry = archive.by_index(index).map_err(Error::zip(&path))?;
            let name = entry.name().map_err(Error::zip(&path))?.trim_end_matches(".npy").to_owned();
            let at = path.join(&name);
            let bytes = read_entry(&mut entry, ENTRY).map_err(Error::io(&at))?;
            NamedArray::parse(name, &bytes).ok_or_else(|| Error::fixture(&at, "is not a plain .npy array"))
        })
        .collect()
}

impl NamedArray {
    /// Magic, version, length of the header, header (a Python dictionary), elements.
    fn parse(name: String, bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(b"\x93NUMPY")?;
        let (version, rest) = rest.split_first_chunk::<2>()?;
        let (length, rest) = match version {
            [1, _] => {
                rest.split_first_chunk::<2>().map(|(n, rest)| (usize::from(u16::from_le_bytes(*n)), rest))?
            }
            [2, _] => {
                let (length, rest) = rest.split_first_chunk::<4>()?;
                (usize::try_from(u32::from_le_bytes(*length)).ok()?, rest)
            }
            _ => return None,
        };
        let (header, elements) = rest.split_at_checked(length)?;
        let header = std::str::from_utf8(header).ok()?;
        let dtype = after(header, "'descr': '")?.split('\'').next()?.to_owned();
        let fortran_order = after(header, "'fortran_order': ")?.starts_with("True");
        let shape = after(header, "'shape': (")?.split(')').next()?;
        let shape: Vec<u64> = shape
            .split(',')
            .map(str::trim)
            .filter(|length| !length.is_empty())
            .map(|length| length.parse().ok())
            .collect::<Option<_>>()?;
        let digits = dtype.trim_start_matches(|c: char| !c.is_ascii_digit());
        let digits = digits.split('[').next()?;
        // numpy counts the characters of `U`, each of four bytes
        let size = digits.parse::<u64>().ok()?.checked_mul(if dtype.contains('U') { 4 } else { 1 })?;
        let expected = shape.iter().try_fold(size, |product, length| product.checked_mul(*length))?;
        (elements.len() as u64 == expected).then(|| Self {
            name,
            dtype,
            fortran_order,
            shape,
            bytes: elements.to_owned(),
        })
    }
}

fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(key).map(|(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_array_of_the_fixtures_is_read() {
        let mut count = 0;
        for entry in std::fs::read_dir(fixtures().join("zarr-python")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "npz") {
                assert!(!arrays(&path).unwrap().is_empty(), "{path:?}");
                count += 1;
            }
        }
        assert!(count > 40, "{count} files");
    }

    #[test]
    fn an_array_shorter_than_its_shape_is_refused() {
        let header = b"{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n";
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header);
        bytes.extend([1, 0, 2]);
        assert_eq!(NamedArray::parse("x".into(), &bytes), None);
        bytes.push(0);
        assert_eq!(NamedArray::parse("x".into(), &bytes).unwrap().shape, [2]);
    }
}
