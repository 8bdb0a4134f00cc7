//! The target of a new dataset: its format, and whether it can be written.

mod changes;
pub(crate) mod failure;

use std::sync::Arc;

use ncz::NewDataset;
use ncz::copy::CopyOptions;
use ncz::location::{DatasetUrl, Metadata, Storage};
use ncz::model::{Format, NetcdfKind};
use ncz::readers::{self, Reader, ReaderSetup};
use ncz::store::{ObjectLocation, Store, StoreError};
use ncz::zarr::metadata::ZarrVersion;

use crate::args::FormatArg;
use crate::error::CliError;

pub(crate) use self::changes::unmasked_fills_note;

/// The extensions of netCDF files. Those after `nc` say the kind.
const NETCDF_ENDINGS: [&str; 6] = ["nc", "nc4", "h5", "hdf5", "cdf", "nc3"];
/// The extensions of Zarr datasets.
const ZARR_ENDINGS: [&str; 3] = ["zarr", "nczarr", "zip"];

/// The format of a new dataset, from an option, from the name of the target and from the mode after `#` of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// The requested format; `None` keeps that of the source.
    pub(crate) format: Option<Format>,
    pub(crate) consolidated: bool,
    pub(crate) noxarray: bool,
}

impl Target {
    /// Combines the name, the mode and the options. It is an error if they contradict each other.
    pub(crate) fn of(
        target: &DatasetUrl,
        option: Option<FormatArg>,
        consolidated: bool,
        source: Format,
    ) -> Result<Self, CliError> {
        let mode = &target.mode;
        if mode.bytes {
            return Err(CliError::Usage(
                "mode=bytes is for reading a netCDF file; leave it out of the target, and name it .nc, .nczarr, .zarr or \
                 .zip"
                    .to_owned(),
            ));
        }
        let consolidated = consolidated || mode.consolidated;
        if let Some(kind) = netcdf_kind(target, option, source)? {
            let zarr_only =
                [(consolidated, "consolidated metadata"), (mode.noxarray, "_ARRAY_DIMENSIONS (noxarray)")];
            if let Some((_, what)) = zarr_only.iter().find(|(requested, _)| *requested) {
                return Err(CliError::Usage(format!(
                    "{}: a netCDF file has no {what}; leave out the request for it, or name the target .nczarr or .zarr",
                    target.location
                )));
            }
            return Ok(Self { format: Some(Format::Netcdf(kind)), consolidated: false, noxarray: false });
        }
        let by_version = match (mode.version, source.is_v3()) {
            (Some(ZarrVersion::V2), true) if source.is_nczarr() => Some(Format::NCZARR),
            (Some(ZarrVersion::V2), true) => Some(Format::Zarr2),
            _ => None,
        };
        let by_source = source.is_netcdf().then_some(Format::NCZARR);
        let format = option.map(FormatArg::format).or(mode.new_format()).or(by_version).or(by_source);
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
        Ok(Self { format, consolidated, noxarray: mode.noxarray })
    }

    /// Chooses a format that all of these readers open, unless the format is requested.
    ///
    /// # Errors
    /// A reader opens no dataset in the format, or none that is stored like this.
    pub(crate) fn readable_for(
        mut self,
        readers: &[ReaderSetup],
        target: &DatasetUrl,
        has_format: bool,
        source: Format,
    ) -> Result<Self, CliError> {
        if readers.is_empty() {
            return Ok(self);
        }
        let mode = &target.mode;
        let is_requested = has_format || mode.metadata.is_some() || mode.version.is_some();
        let default = self.format.unwrap_or(source);
        let opened = |format: &Format| readers.iter().all(|setup| readers::opens(setup, *format));
        if !is_requested && !default.is_netcdf() {
            // netcdf-c reads more of NCZarr than of other Zarr.
            let nczarr =
                readers.iter().any(|setup| setup.reader() == Reader::NetcdfC).then_some(Format::NCZARR);
            let formats = nczarr.into_iter().chain([default, Format::Zarr3, Format::Zarr2]);
            if let Some(format) = formats.into_iter().find(opened).filter(|format| *format != source) {
                self.format = Some(format);
            }
        }
        let opens_zarr = |setup: &&ReaderSetup| {
            [Format::NCZARR, Format::Zarr2, Format::Zarr3].iter().any(|format| readers::opens(setup, *format))
        };
        if !default.is_netcdf()
            && let Some(setup) = readers.iter().find(|setup| !opens_zarr(setup))
        {
            return Err(CliError::Usage(format!(
                "{}: a Zarr dataset, which {} does not open; name the target .nc",
                target.location,
                setup.reader().name()
            )));
        }
        if target.new_storage() == Storage::Zip
            && !default.is_netcdf()
            && let Some(why) = readers.iter().find_map(readers::unread_zip)
        {
            return Err(CliError::Usage(format!(
                "{}: a zip file; {why}; name the target .zarr or .nczarr",
                target.location
            )));
        }
        Ok(self)
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
        return match ending(target).as_deref() {
            Some("json") => Err(CliError::Usage(format!(
                "{}: references are written to a local file; write them there, and copy the file",
                target.location
            ))),
            Some(ending) if ending == "zip" || NETCDF_ENDINGS.contains(&ending) => {
                Err(CliError::Usage(format!(
                    "{}: a dataset in S3 is one object for each chunk, not a .{ending} file; name it .nczarr or .zarr, or \
                 write a local .{ending} file and upload it",
                    target.location
                )))
            }
            _ => Ok(()),
        };
    };
    let is_directory = target.new_storage() == Storage::Directory;
    match ending(target).as_deref() {
        Some("zip") if is_directory && !path.is_dir() => Err(CliError::Usage(format!(
            "{}: mode=file makes a directory; name it .nczarr or .zarr, or remove mode=file",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Whether the name of a target is that of a netCDF file, and its mode does not say that it is a Zarr dataset.
pub(crate) fn is_netcdf_name(target: &DatasetUrl) -> bool {
    target.location.path().is_some()
        && !has_zarr_mode(target)
        && ending(target).is_some_and(|ending| NETCDF_ENDINGS.contains(&ending.as_str()))
}

/// Whether the name or the mode of a target is that of a Zarr dataset.
pub(crate) fn is_zarr_name(target: &DatasetUrl) -> bool {
    target.location.path().is_none()
        || has_zarr_mode(target)
        || ending(target).is_some_and(|ending| ZARR_ENDINGS.contains(&ending.as_str()))
}

fn has_zarr_mode(target: &DatasetUrl) -> bool {
    let mode = &target.mode;
    mode.metadata.is_some() || mode.version.is_some() || mode.storage.is_some()
}

/// The extension of a target in lower case.
fn ending(target: &DatasetUrl) -> Option<String> {
    let name = target.location.file_name()?;
    name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())
}

/// The kind of the netCDF file that is to be written; `None` for a Zarr dataset.
fn netcdf_kind(
    target: &DatasetUrl,
    option: Option<FormatArg>,
    source: Format,
) -> Result<Option<NetcdfKind>, CliError> {
    let location = &target.location;
    match option.map(|option| (option.word(), option.format())) {
        Some((word, Format::Netcdf(_))) if is_zarr_name(target) => Err(CliError::Usage(format!(
            "--format {word} writes a netCDF file, but {location} is the location of a Zarr dataset; name a local file \
             that ends in .nc, or leave out --format {word}"
        ))),
        Some((_, Format::Netcdf(kind))) => Ok(Some(kind)),
        Some((word, _)) if is_netcdf_name(target) => Err(CliError::Usage(format!(
            "--format {word} writes a Zarr dataset, but {location} is the name of a netCDF file; name the target .zarr, or \
             leave out --format {word}"
        ))),
        None if is_netcdf_name(target) => Ok(Some(kind_by_name(&ending(target).unwrap_or_default(), source))),
        _ => Ok(None),
    }
}

/// The kind of a netCDF file with this extension. The kind of the source is kept where it fits, as nccopy does.
fn kind_by_name(ending: &str, source: Format) -> NetcdfKind {
    let of_source = match source {
        Format::Netcdf(kind) => Some(kind),
        _ => None,
    };
    let is_hdf5 = |kind: &NetcdfKind| kind.is_hdf5();
    match ending {
        "nc3" | "cdf" => of_source.filter(|kind| !is_hdf5(kind)).unwrap_or(NetcdfKind::Classic),
        "nc4" | "h5" | "hdf5" => of_source.filter(is_hdf5).unwrap_or(NetcdfKind::Netcdf4),
        _ => of_source.unwrap_or(NetcdfKind::Netcdf4),
    }
}

/// Starts a new dataset in this format.
pub(crate) fn create(target: &DatasetUrl, format: Format, overwrite: bool) -> Result<NewDataset, CliError> {
    match target.location.path() {
        Some(path) if format.is_netcdf() => {
            if !overwrite && path.symlink_metadata().is_ok() {
                let at = ObjectLocation::store(path.display().to_string());
                return Err(cannot_write(target, StoreError::AlreadyExists { at }));
            }
            Ok(NewDataset::Netcdf { path: path.to_owned(), overwrite })
        }
        _ => create_store(target, overwrite).map(NewDataset::Objects),
    }
}

/// Creates the store of a new Zarr dataset.
pub(crate) fn create_store(target: &DatasetUrl, overwrite: bool) -> Result<Arc<dyn Store>, CliError> {
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
