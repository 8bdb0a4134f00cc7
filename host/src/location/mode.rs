//! The mode words after `#` in a URL: `mode=nczarr,zip,v2` and others.

use ncz_model::Format;
use ncz_registry::known::closest;
use ncz_zarr::metadata::ZarrVersion;

use super::Storage;

/// The mode words after `#` in a URL. What they do not say is inferred on reading.
///
/// They are netCDF's mode words in any case: `nczarr`, `zarr`, `xarray` (pure Zarr), `noxarray` (no
/// `_ARRAY_DIMENSIONS`), `file`, `zip`, `s3`, `gs3`, `consolidated`, and `v2`, `v3` of the documents. A word may also
/// come without `mode=`: `#zarr` is `#mode=zarr`, and `#s3` is `#mode=s3,nczarr`.
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
    /// Read only consolidated metadata; on writing, write them.
    pub consolidated: bool,
}

/// Which metadata a dataset has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metadata {
    /// NCZarr's in addition to Zarr's.
    Nczarr,
    /// Only Zarr's; on reading, NCZarr's are ignored.
    Zarr,
}

/// Mode words of netCDF that are not supported.
const NOT_BUILT: [(&str, &str); 7] = [
    ("bytes", "byte ranges of one file"),
    ("byterange", "byte ranges of one file"),
    ("dap2", "OPeNDAP"),
    ("dap4", "OPeNDAP"),
    ("dods", "OPeNDAP"),
    ("zmap", "raw keys"),
    ("netcdf-4", "netCDF-4 files"),
];

const WORDS: [&str; 11] =
    ["nczarr", "zarr", "xarray", "noxarray", "file", "zip", "s3", "gs3", "consolidated", "v2", "v3"];

pub(super) const KNOWN: &str = "nczarr, zarr, xarray, noxarray, file, zip, s3, gs3, consolidated, v2, v3";

/// Whether a text is one of the words.
pub(super) fn is_word(text: &str) -> bool {
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// The words as they are read, one by one.
#[derive(Debug, Default)]
pub(super) struct Words {
    mode: Mode,
    /// A single `s3` means NCZarr, unless another word says something else.
    is_nczarr_implied: bool,
    /// `gs3`: S3's protocol, at Google.
    pub(super) is_google: bool,
}

impl Words {
    /// A word without `mode=`, a macro in netcdf-c: `s3` is `mode=s3,nczarr`. (netcdf-c gives the mode only the first
    /// of its values, so that its `#zarr` writes NCZarr; here it is what its documents say.)
    pub(super) fn take_single(&mut self, word: &str) -> Result<(), String> {
        self.is_nczarr_implied |= word.eq_ignore_ascii_case("s3") || word.eq_ignore_ascii_case("gs3");
        self.take(word)
    }

    /// A word of `mode=`.
    pub(super) fn take(&mut self, word: &str) -> Result<(), String> {
        let mode = &mut self.mode;
        let word = word.trim().to_ascii_lowercase();
        match word.as_str() {
            // `nczarr,zarr` is pure Zarr in netcdf-c.
            "nczarr" => mode.metadata = mode.metadata.or(Some(Metadata::Nczarr)),
            "zarr" | "xarray" => mode.metadata = Some(Metadata::Zarr),
            "noxarray" => mode.noxarray = true,
            "consolidated" => mode.consolidated = true,
            "file" => set(&mut mode.storage, Storage::Directory, &word)?,
            "zip" => set(&mut mode.storage, Storage::Zip, &word)?,
            "s3" => set(&mut mode.storage, Storage::S3, &word)?,
            "gs3" => {
                set(&mut mode.storage, Storage::S3, &word)?;
                self.is_google = true;
            }
            "v2" => set(&mut mode.version, ZarrVersion::V2, &word)?,
            "v3" => set(&mut mode.version, ZarrVersion::V3, &word)?,
            _ => {
                return Err(match NOT_BUILT.iter().find(|(known, _)| *known == word) {
                    Some((_, what)) => {
                        format!("mode word {word:?}: {what} is not supported yet; known: {KNOWN}")
                    }
                    None => match closest(&word, WORDS) {
                        Some(close) => format!(
                            "mode word {word:?} is not known here; did you mean {close:?}? known: {KNOWN}"
                        ),
                        None => format!("mode word {word:?} is not known here; known: {KNOWN}"),
                    },
                });
            }
        }
        Ok(())
    }

    /// What they say together.
    pub(super) fn mode(&self) -> Mode {
        let mut mode = self.mode;
        // NCZarr over version 3 is an experiment, and must be requested explicitly.
        if self.is_nczarr_implied && mode.version != Some(ZarrVersion::V3) {
            mode.metadata = mode.metadata.or(Some(Metadata::Nczarr));
        }
        mode
    }
}

impl Mode {
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
}

/// Sets a value; two words for one value must agree.
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
    use super::super::fragment::Fragment;
    use super::*;

    fn parse(text: &str) -> Result<Mode, String> {
        Fragment::parse(text.split('&')).map(|fragment| fragment.mode)
    }

    #[test]
    fn words_mean_what_the_documents_say() {
        let metadata = |text: &str| parse(text).unwrap().metadata;
        assert_eq!(metadata("mode=nczarr"), Some(Metadata::Nczarr));
        for pure in ["mode=zarr", "mode=nczarr,zarr", "mode=zarr,nczarr", "mode=xarray", "zarr", "MODE=ZARR"]
        {
            assert_eq!(metadata(pure), Some(Metadata::Zarr), "{pure}");
        }
        let mode = parse("mode=nczarr&mode=noxarray,zip,v2&consolidated").unwrap();
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
            assert!(parse(contradiction).unwrap_err().contains("contradicts"), "{contradiction}");
        }
    }

    #[test]
    fn the_format_of_a_new_dataset_follows() {
        let format = |text: &str| parse(text).unwrap().new_format();
        assert_eq!(format("mode=nczarr"), Some(Format::NCZARR));
        assert_eq!(format("mode=zarr"), Some(Format::Zarr2));
        assert_eq!(format("mode=zarr,v3"), Some(Format::Zarr3));
        assert_eq!(format("mode=nczarr,v3"), Some(Format::Nczarr3));
        assert_eq!(format("v3"), Some(Format::Zarr3));
        assert_eq!(format("mode=file"), None);
    }
}
