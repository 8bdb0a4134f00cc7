//! The words behind `#` of a place: `mode=nczarr,zip,v2` and the like.

use ncz_nczarr::Format;
use ncz_nczarr::metadata::ZarrVersion;

use super::Storage;

/// What the words behind `#` ask for. What they do not say is inferred on reading.
///
/// They are netCDF's mode words in any case: `nczarr`, `zarr`, `xarray` (pure Zarr), `noxarray` (no
/// `_ARRAY_DIMENSIONS`), `file`, `zip`, `consolidated`, and `v2`, `v3` of the documents. A word may also stand
/// alone: `#zarr` is `#mode=zarr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mode {
    /// Which metadata.
    pub metadata: Option<Metadata>,
    /// Which version of Zarr.
    pub version: Option<ZarrVersion>,
    /// Where the bytes are.
    pub storage: Option<Storage>,
    /// Leave `_ARRAY_DIMENSIONS` out on writing.
    pub noxarray: bool,
    /// Read consolidated metadata alone; on writing make them.
    pub consolidated: bool,
}

/// Which metadata a dataset has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metadata {
    /// NCZarr's beside those of Zarr.
    Nczarr,
    /// Those of Zarr alone; on reading, NCZarr's are not looked at.
    Zarr,
}

/// What is known of things that are not built.
const NOT_BUILT: [(&str, &str); 6] = [
    ("s3", "S3"),
    ("gs3", "Google's storage"),
    ("bytes", "byte ranges over HTTP"),
    ("dap2", "OPeNDAP"),
    ("dap4", "OPeNDAP"),
    ("zmap", "raw keys"),
];

pub(super) const KNOWN: &str = "nczarr, zarr, xarray, noxarray, file, zip, consolidated, v2, v3";

impl Mode {
    /// Whether the text behind a `#` is meant as mode, and not part of a file's name.
    pub(super) fn is_fragment(text: &str) -> bool {
        text.split('&').all(|item| {
            item.get(..5).is_some_and(|key| key.eq_ignore_ascii_case("mode="))
                || Self::default().take(item).is_ok()
        })
    }

    /// Reads `mode=a,b&c`.
    pub(super) fn parse(fragment: &str) -> Result<Self, String> {
        let mut mode = Self::default();
        for item in fragment.split('&').filter(|item| !item.is_empty()) {
            match item.split_once('=') {
                Some((key, words)) if key.eq_ignore_ascii_case("mode") => {
                    for word in words.split(',') {
                        mode.take(word)?;
                    }
                }
                Some(_) => {
                    return Err(format!("{item:?} is not known here; behind # may stand mode= with {KNOWN}"));
                }
                None => mode.take(item)?,
            }
        }
        Ok(mode)
    }

    /// The format that a new dataset gets; `None` if the words do not say.
    #[must_use]
    pub fn new_format(&self) -> Option<Format> {
        match (self.metadata, self.version) {
            (Some(Metadata::Nczarr), Some(ZarrVersion::V3)) => Some(Format::Nczarr3),
            (Some(Metadata::Nczarr), _) => Some(Format::NCZARR),
            (_, Some(ZarrVersion::V3)) => Some(Format::Zarr3),
            (Some(Metadata::Zarr), _) => Some(Format::Zarr2),
            (None, _) => None,
        }
    }

    fn take(&mut self, word: &str) -> Result<(), String> {
        let word = word.to_ascii_lowercase();
        match word.as_str() {
            // `nczarr,zarr` is pure Zarr in netcdf-c.
            "nczarr" => self.metadata = self.metadata.or(Some(Metadata::Nczarr)),
            "zarr" | "xarray" => self.metadata = Some(Metadata::Zarr),
            "noxarray" => self.noxarray = true,
            "consolidated" => self.consolidated = true,
            "file" => set(&mut self.storage, Storage::Directory, &word)?,
            "zip" => set(&mut self.storage, Storage::Zip, &word)?,
            "v2" => set(&mut self.version, ZarrVersion::V2, &word)?,
            "v3" => set(&mut self.version, ZarrVersion::V3, &word)?,
            _ => {
                return Err(match NOT_BUILT.iter().find(|(known, _)| *known == word) {
                    Some((_, what)) => {
                        format!("mode word {word:?}: {what} is not built yet; known: {KNOWN}")
                    }
                    None => format!("mode word {word:?} is not known here; known: {KNOWN}"),
                });
            }
        }
        Ok(())
    }
}

/// Two words for one thing must agree.
fn set<T: Copy + PartialEq>(slot: &mut Option<T>, value: T, word: &str) -> Result<(), String> {
    match slot.replace(value) {
        Some(before) if before != value => {
            Err(format!("mode word {word:?} contradicts another one; give one of them"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_what_the_documents_say() {
        let metadata = |text: &str| Mode::parse(text).unwrap().metadata;
        assert_eq!(metadata("mode=nczarr"), Some(Metadata::Nczarr));
        for pure in ["mode=zarr", "mode=nczarr,zarr", "mode=zarr,nczarr", "mode=xarray", "zarr", "MODE=ZARR"]
        {
            assert_eq!(metadata(pure), Some(Metadata::Zarr), "{pure}");
        }
        let mode = Mode::parse("mode=nczarr&mode=noxarray,zip,v2&consolidated").unwrap();
        assert_eq!(
            mode,
            Mode {
                metadata: Some(Metadata::Nczarr),
                version: Some(ZarrVersion::V2),
                storage: Some(Storage::Zip),
                noxarray: true,
                consolidated: true,
            }
        );
        for contradiction in ["mode=zip,file", "mode=v2,v3"] {
            assert!(Mode::parse(contradiction).unwrap_err().contains("contradicts"), "{contradiction}");
        }
    }

    #[test]
    fn the_format_of_a_new_dataset_follows() {
        let format = |text: &str| Mode::parse(text).unwrap().new_format();
        assert_eq!(format("mode=nczarr"), Some(Format::NCZARR));
        assert_eq!(format("mode=zarr"), Some(Format::Zarr2));
        assert_eq!(format("mode=zarr,v3"), Some(Format::Zarr3));
        assert_eq!(format("mode=nczarr,v3"), Some(Format::Nczarr3));
        assert_eq!(format("v3"), Some(Format::Zarr3));
        assert_eq!(format("mode=file"), None);
    }
}
