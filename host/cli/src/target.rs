//! The target of a new dataset: its format, and whether it can be written.

mod changes;
pub(crate) mod failure;

use std::sync::Arc;

use ncz::copy::CopyOptions;
use ncz::location::{DatasetUrl, Metadata, Mode, Storage};
use ncz::model::Format;
use ncz::store::{Store, StoreError};
use ncz::zarr::metadata::ZarrVersion;

use crate::args::FormatArg;
use crate::error::CliError;

/// The format of a new dataset, from an option and from the mode after `#` of the target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// The requested format, NCZarr for a netCDF file; `None` keeps that of the source.
    pub(crate) format: Option<Format>,
    pub(crate) consolidated: bool,
    pub(crate) noxarray: bool,
}

impl Target {
    /// Combines the mode and the option. It is an error if they contradict each other.
    pub(crate) fn of(mode: &Mode, option: Option<FormatArg>, source: Format) -> Result<Self, CliError> {
        let by_option = option.map(|format| match format {
            FormatArg::Nczarr => Format::NCZARR,
            FormatArg::Zarr => Format::Zarr2,
            FormatArg::Zarr3 => Format::Zarr3,
            FormatArg::Nczarr3 => Format::Nczarr3,
        });
        let by_version = match (mode.version, source.is_v3()) {
            (Some(ZarrVersion::V2), true) if source.is_nczarr() => Some(Format::NCZARR),
            (Some(ZarrVersion::V2), true) => Some(Format::Zarr2),
            _ => None,
        };
        if mode.bytes {
            return Err(CliError::Usage(
                "mode=bytes is for reading a netCDF file; leave it out of the target, and name it .nczarr, .zarr or .zip"
                    .to_owned(),
            ));
        }
        let by_source = source.is_netcdf().then_some(Format::NCZARR);
        let format = by_option.or(mode.new_format()).or(by_version).or(by_source);
        let becomes = format.unwrap_or(source);
        let other_version = mode.version.is_some_and(|wanted| (wanted == ZarrVersion::V3) != becomes.is_v3());
        let other_metadata =
            mode.metadata.is_some_and(|wanted| (wanted == Metadata::Nczarr) != becomes.is_nczarr());
        if other_version || other_metadata {
            return Err(CliError::Usage(
                "--format and the mode after # of the target request different formats; give only one of them"
                    .to_owned(),
            ));
        }
        if mode.noxarray && becomes.is_v3() {
            return Err(CliError::Usage(
                "noxarray leaves out _ARRAY_DIMENSIONS, which Zarr version 3 does not have; remove it from the mode of the \
                 target, or write version 2"
                    .to_owned(),
            ));
        }
        Ok(Self { format, consolidated: mode.consolidated, noxarray: mode.noxarray })
    }

    /// Returns the options for the library.
    pub(crate) fn options(self) -> CopyOptions {
        CopyOptions {
            format: self.format,
            consolidated: self.consolidated,
            noxarray: self.noxarray,
            ..CopyOptions::default()
        }
    }
}

/// Refuses a target whose extension does not match what would be written.
pub(crate) fn check_ending(target: &DatasetUrl) -> Result<(), CliError> {
    let Some(path) = target.location.path() else {
        let name = target.location.file_name().unwrap_or_default().to_ascii_lowercase();
        return match name.rsplit_once('.') {
            Some((_, "json")) => Err(CliError::Usage(format!(
                "{}: references are written to a local file; write them there, and copy the file",
                target.location
            ))),
            Some((_, ending @ ("zip" | "nc" | "nc4" | "h5" | "hdf5" | "cdf" | "nc3"))) => {
                Err(CliError::Usage(format!(
                    "{}: a dataset in S3 is one object for each chunk, not a .{ending} file; name it .nczarr or .zarr, or \
                 write a local zip file",
                    target.location
                )))
            }
            _ => Ok(()),
        };
    };
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    let is_directory = target.new_storage() == Storage::Directory;
    match ending.as_ref().and_then(|ending| ending.to_str()) {
        Some(ending @ ("nc" | "nc4" | "h5" | "hdf5" | "cdf" | "nc3")) if !path.is_dir() => {
            Err(CliError::Usage(format!(
                "{}: .{ending} files cannot be written; name the target .nczarr, .zarr or .zip",
                path.display()
            )))
        }
        Some("zip") if is_directory && !path.is_dir() => Err(CliError::Usage(format!(
            "{}: mode=file makes a directory; name it .nczarr or .zarr, or remove mode=file",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Creates the store of a new dataset.
pub(crate) fn create(target: &DatasetUrl, overwrite: bool) -> Result<Arc<dyn Store>, CliError> {
    target.create_store(overwrite).map_err(|source| cannot_write(target, source))
}

/// Returns the error of a target that cannot be written, with the option that helps.
pub(crate) fn cannot_write(target: &DatasetUrl, source: StoreError) -> CliError {
    let hint = match &source {
        StoreError::AlreadyExists { .. } => "; --overwrite replaces a dataset",
        _ => "",
    };
    CliError::Target { location: target.location.clone(), hint, source: Box::new(source) }
}
