//! What a copy is to be, and what it has otherwise than its source.

use ncz::copy::CopyOptions;
use ncz::nczarr::metadata::ZarrVersion;
use ncz::nczarr::{Consolidated, Format, Hierarchy, NcType, Order, Variable};
use ncz::place::{Metadata, Mode};
use serde_json::Value as Json;

use crate::args::FormatArg;
use crate::error::CliError;

/// Names to show of those that one note is about.
const SHOWN: usize = 5;

/// Metadata of a copy, as an option and the mode behind `#` of the target ask for them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// The format that was asked for; `None` keeps that of the source.
    pub(crate) format: Option<Format>,
    pub(crate) consolidated: bool,
    pub(crate) noxarray: bool,
}

impl Target {
    /// Both together; where they do not agree, or have no meaning, is an error.
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
        let format = by_option.or(mode.new_format()).or(by_version);
        let becomes = format.unwrap_or(source);
        let other_version = mode.version.is_some_and(|wanted| (wanted == ZarrVersion::V3) != becomes.is_v3());
        let other_metadata =
            mode.metadata.is_some_and(|wanted| (wanted == Metadata::Nczarr) != becomes.is_nczarr());
        if other_version || other_metadata {
            return Err(CliError::Usage(
                "--format and the mode behind # of the target ask for different formats; give one of them"
                    .to_owned(),
            ));
        }
        if mode.noxarray && becomes.is_v3() {
            return Err(CliError::Usage(
                "noxarray leaves out _ARRAY_DIMENSIONS, which version 3 of Zarr has not; leave it out of the mode \
                 of the target, or make the copy in version 2"
                    .to_owned(),
            ));
        }
        Ok(Self { format, consolidated: mode.consolidated, noxarray: mode.noxarray })
    }

    /// The same for the engine of copies.
    pub(crate) fn options(self) -> CopyOptions {
        CopyOptions {
            format: self.format,
            consolidated: self.consolidated,
            noxarray: self.noxarray,
            ..CopyOptions::default()
        }
    }

    /// What becomes otherwise, or what readers of the copy should know.
    pub(crate) fn changes(self, hierarchy: &Hierarchy) -> Vec<String> {
        let becomes = self.format.unwrap_or(hierarchy.format);
        let mut notes = Vec::new();
        match (hierarchy.format.is_nczarr(), becomes.is_nczarr()) {
            (false, true) => without_type(hierarchy, &mut notes),
            (true, false) => without_netcdf(hierarchy, &mut notes),
            _ => {}
        }
        if becomes.is_nczarr() {
            let foreign = hierarchy.variables().filter(|variable| variable.nc_type.is_none());
            let foreign: Vec<String> =
                foreign.map(|variable| format!("{} ({})", variable.path, variable.dtype)).collect();
            if !foreign.is_empty() {
                let names = some_of(&foreign);
                notes.push(format!("netCDF has no such types; netcdf-c will not open the copy: {names}"));
            }
        }
        let zeros = hierarchy.variables().filter(|variable| variable.has_unmasked_zero());
        let zeros: Vec<String> = zeros.map(|variable| variable.path.clone()).collect();
        if hierarchy.format == Format::Zarr2 && becomes != Format::Zarr2 && !zeros.is_empty() {
            notes.push(format!(
                "the fill_value 0 is not taken for a missing value, though xarray masks it; an attribute _FillValue would \
                 say that it is one: {}",
                some_of(&zeros)
            ));
        }
        let columns = |variable: &&Variable| variable.order == Order::F && variable.shape.len() > 1;
        let columns: Vec<String> =
            hierarchy.variables().filter(columns).map(|variable| variable.path.clone()).collect();
        // netcdf-c reads no version 3.
        if !columns.is_empty() && !becomes.is_v3() {
            let what = match becomes.is_nczarr() {
                true => "stored in order C, because netcdf-c reads order F as if it were C",
                false => {
                    "kept in order F, which netcdf-c reads as if it were C; --format nczarr stores order C"
                }
            };
            notes.push(format!("{}: {what}", some_of(&columns)));
        }
        if self.noxarray && !becomes.is_nczarr() {
            notes.push("without _ARRAY_DIMENSIONS pure Zarr has no names of dimensions".to_owned());
        }
        if hierarchy.consolidated != Consolidated::Absent && !self.consolidated {
            notes.push("the copy has no consolidated metadata; --consolidated writes them".to_owned());
        }
        notes
    }
}

/// What NCZarr has no type for.
fn without_type(hierarchy: &Hierarchy, notes: &mut Vec<String>) {
    let of_groups = hierarchy.groups().map(|group| (&group.path, &group.attributes));
    let of_variables = hierarchy.variables().map(|variable| (&variable.path, &variable.attributes));
    for (path, attributes) in of_groups.chain(of_variables) {
        let lost = |json: &Json| json.is_number() || json.is_null();
        let texts = attributes.iter().filter(|attribute| attribute.is_json_text());
        for attribute in texts.filter(|attribute| attribute.json.as_ref().is_some_and(lost)) {
            let value = attribute.value.as_text().unwrap_or_default();
            let name = &attribute.name;
            notes.push(format!("attribute {name:?} of {path} becomes text: netCDF has no type for {value}"));
        }
    }
    let letters = hierarchy.variables().filter(|variable| variable.dtype.nc_type(true) == Some(NcType::Char));
    let letters: Vec<String> = letters.map(|variable| variable.path.clone()).collect();
    if !letters.is_empty() {
        notes.push(format!("strings of one byte (>S1) are char in NCZarr: {}", some_of(&letters)));
    }
}

/// What pure Zarr has no place for.
fn without_netcdf(hierarchy: &Hierarchy, notes: &mut Vec<String>) {
    let (mut unlimited, mut unused) = (Vec::new(), Vec::new());
    for group in hierarchy.groups() {
        for dimension in &group.dimensions {
            let path = format!("{}/{}", group.path.trim_end_matches('/'), dimension.name);
            let is_used = |variable: &Variable| {
                variable.dimensions.iter().any(|reference| reference.to_string() == path)
            };
            if !hierarchy.variables().any(is_used) {
                unused.push(path);
            } else if dimension.unlimited {
                unlimited.push(path);
            }
        }
    }
    // JSON knows whole numbers, fractions and text.
    let typed = |nc_type| !matches!(nc_type, NcType::Int | NcType::Double | NcType::Char | NcType::String);
    let of_groups = hierarchy.groups().map(|group| (group.path.as_str(), &group.attributes));
    let of_variables = hierarchy.variables().map(|variable| (variable.path.as_str(), &variable.attributes));
    let mut attributes = Vec::new();
    for (path, all) in of_groups.chain(of_variables) {
        // The fill value has the type of the variable.
        let typed =
            all.iter().filter(|attribute| attribute.name != "_FillValue" && typed(attribute.value.nc_type()));
        attributes
            .extend(typed.map(|attribute| {
                format!("{path}:{} ({})", attribute.name, attribute.value.nc_type().name())
            }));
    }
    let letters = hierarchy.variables().filter(|variable| variable.nc_type == Some(NcType::Char));
    let letters: Vec<String> = letters.map(|variable| variable.path.clone()).collect();
    for (what, lost) in [
        ("pure Zarr cannot say that a dimension is unlimited", unlimited),
        ("pure Zarr has no dimensions without variables; the copy lacks", unused),
        ("pure Zarr has no types of attributes; numbers become int or double in", attributes),
        ("pure Zarr has no char; strings of one byte are", letters),
    ] {
        if !lost.is_empty() {
            notes.push(format!("{what}: {}", some_of(&lost)));
        }
    }
}

/// The first of some names, and how many there are besides.
pub(crate) fn some_of(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
