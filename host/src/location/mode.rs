//! The mode words after `#` in a URL: `mode=nczarr,zip,v2` and others.

use ncz_model::Format;
use ncz_registry::known::closest;
use ncz_zarr::metadata::ZarrVersion;

use super::Storage;

/// The mode words after `#` in a URL. What they do not say is inferred on reading.
///
/// They are netCDF's mode words in any case: `nczarr`, `zarr`, `xarray` (pure Zarr), `noxarray` (no
/// `_ARRAY_DIMENSIONS`), `file`, `zip`, `s3`, `gs3`, `consolidated`, and `v2`, `v3` of the documents; `bytes` for one
/// netCDF or HDF5 file. `stale-ok`, for references, is a word of ncz. A word may also come without `mode=`: `#zarr` is
/// `#mode=zarr`, and `#s3` is `#mode=s3,nczarr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mode {
    /// Which metadata.
    pub metadata: Option<Metadata>,
    /// Which version of Zarr.
    pub version: Option<ZarrVersion>,
    /// The storage of the bytes.
    pub storage: Option<Storage>,
    /// Leave `_ARRAY_DIMENSIONS` out on writing.
    pub noxarray: bool,
    /// Read only consolidated metadata; on writing, write them.
    pub consolidated: bool,
    /// The URL is that of one netCDF or HDF5 file, which is read by byte ranges.
    pub bytes: bool,
    /// References are read although the files that they refer to have changed.
    pub stale_ok: bool,
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
const NOT_BUILT: [(&str, &str); 4] =
    [("dap2", "OPeNDAP"), ("dap4", "OPeNDAP"), ("dods", "OPeNDAP"), ("zmap", "raw keys")];

/// Mode words of netCDF for one file, which is recognised by its first bytes.
const OF_FILES: [&str; 5] = ["netcdf-3", "classic", "netcdf-4", "enhanced", "hdf5"];

const WORDS: [&str; 14] = [
    "nczarr",
    "zarr",
    "xarray",
    "noxarray",
    "file",
    "zip",
    "s3",
    "gs3",
    "consolidated",
    "v2",
    "v3",
    "bytes",
    "byterange",
    "stale-ok",
];

pub(super) const KNOWN: &str =
    "nczarr, zarr, xarray, noxarray, file, zip, s3, gs3, consolidated, v2, v3, bytes, stale-ok";

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
            "bytes" | "byterange" => mode.bytes = true,
            "stale-ok" => mode.stale_ok = true,
            "file" => set(&mut mode.storage, Storage::Directory, &word)?,
            "zip" => set(&mut mode.storage, Storage::Zip, &word)?,
            "s3" => set(&mut mode.storage, Storage::S3, &word)?,
            "gs3" => {
                set(&mut mode.storage, Storage::S3, &word)?;
                self.is_google = true;
            }
            "v2" => set(&mut mode.version, ZarrVersion::V2, &word)?,
            "v3" => set(&mut mode.version, ZarrVersion::V3, &word)?,
            word if OF_FILES.contains(&word) => {
                return Err(format!(
                    "mode word {word:?}: the kind of a netCDF file is found in the file; write mode=bytes, or for a file on \
                     this machine no mode"
                ));
            }
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

    /// What they say together; an error if they contradict each other.
    pub(super) fn mode(&self) -> Result<Mode, String> {
        let mut mode = self.mode;
        if mode.bytes {
            if let Some(word) = mode.zarr_word() {
                return Err(format!(
                    "mode word \"bytes\" is for one netCDF or HDF5 file and contradicts {word:?}, which is for a Zarr \
                     dataset; give one of them"
                ));
            }
            return Ok(mode);
        }
        // NCZarr over version 3 is an experiment, and must be requested explicitly.
        if self.is_nczarr_implied && mode.version != Some(ZarrVersion::V3) {
            mode.metadata = mode.metadata.or(Some(Metadata::Nczarr));
        }
        Ok(mode)
    }
}

impl Mode {
    /// A word that says that it is a Zarr dataset.
    pub(super) fn zarr_word(&self) -> Option<&'static str> {
        let metadata = self.metadata.map(|metadata| match metadata {
            Metadata::Nczarr => "nczarr",
            Metadata::Zarr => "zarr",
        });
        let version = self.version.map(|version| match version {
            ZarrVersion::V2 => "v2",
            ZarrVersion::V3 => "v3",
        });
        let storage = self.storage.filter(|storage| matches!(storage, Storage::Directory | Storage::Zip));
        let word = |is_set: bool, word| is_set.then_some(word);
        metadata
            .or(version)
            .or(storage.map(Storage::mode_word))
            .or(word(self.noxarray, "noxarray"))
            .or(word(self.consolidated, "consolidated"))
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
                bytes: false,
                stale_ok: false,
            }
        );
        for file in ["mode=bytes", "bytes", "mode=s3,bytes", "s3&bytes", "mode=BYTES", "mode=byterange"] {
            let mode = parse(file).unwrap();
            assert!(mode.bytes && mode.metadata.is_none(), "{file}");
        }
        assert!(parse("mode=netcdf-4").unwrap_err().contains("write mode=bytes"));
        for contradiction in [
            "mode=zip,file",
            "mode=v2,v3",
            "mode=bytes,zarr",
            "mode=nczarr,bytes",
            "bytes&zip",
            "mode=bytes,file",
            "mode=bytes&consolidated",
            "mode=noxarray,bytes",
            "mode=bytes,v3",
        ] {
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
