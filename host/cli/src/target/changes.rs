//! Notes on what a copy in another format loses or changes.

use ncz::copy::{Substitute, substitute};
use ncz::model::json::Json;
use ncz::model::{Format, Hierarchy, NcType, Order, Variable};
use ncz::readers::type_name;

use super::Target;
use crate::output::abbreviated;

impl Target {
    /// Returns what differs in the copy, and what its readers should know.
    pub(crate) fn changes(self, hierarchy: &Hierarchy) -> Vec<String> {
        let becomes = self.format.unwrap_or(hierarchy.format);
        let mut notes = Vec::new();
        match (hierarchy.format.has_netcdf_model(), becomes.has_netcdf_model()) {
            (false, true) => without_type(hierarchy, &mut notes),
            (true, false) => without_netcdf(hierarchy, &mut notes),
            _ => {}
        }
        substituted(hierarchy, becomes, &mut notes);
        let fills = hierarchy.variables().filter(|variable| variable.has_unmasked_fill());
        let fills: Vec<String> = fills.map(|variable| variable.path.clone()).collect();
        if hierarchy.format == Format::Zarr2 && becomes != Format::Zarr2 {
            notes.extend(unmasked_fills_note(&fills));
        }
        let columns = |variable: &&Variable| variable.order == Order::F && variable.shape.len() > 1;
        let columns: Vec<String> =
            hierarchy.variables().filter(columns).map(|variable| variable.path.clone()).collect();
        // netcdf-c does not read version 3.
        if !columns.is_empty() && !becomes.is_v3() && !becomes.is_netcdf() {
            let what = match becomes.is_nczarr() {
                true => "stored in order C, because netcdf-c reads order F as if it were C",
                false => {
                    "kept in order F, which netcdf-c reads as if it were C; --format nczarr stores order C"
                }
            };
            notes.push(format!("{}: {what}", abbreviated(&columns)));
        }
        if self.noxarray && !becomes.is_nczarr() {
            notes.push("without _ARRAY_DIMENSIONS, pure Zarr has no dimension names".to_owned());
        }
        notes
    }
}

/// The note on variables whose fill values readers of the copy do not mask.
pub(crate) fn unmasked_fills_note(paths: &[String]) -> Option<String> {
    (!paths.is_empty()).then(|| {
        format!(
            "the fill_value does not mark missing values here, although xarray masks it; for numbers an attribute \
             _FillValue would make it do so: {}",
            abbreviated(paths)
        )
    })
}

/// Adds notes on types that become others.
fn substituted(hierarchy: &Hierarchy, becomes: Format, notes: &mut Vec<String>) {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for variable in hierarchy.variables() {
        // The copy refuses what cannot be stored.
        let Ok(Some(Substitute { nc_type, how })) = substitute(variable, becomes) else { continue };
        let text = format!("{} becomes {nc_type}, {how}", type_name(&variable.dtype));
        match found.iter_mut().find(|(other, _)| *other == text) {
            Some((_, paths)) => paths.push(variable.path.clone()),
            None => found.push((text, vec![variable.path.clone()])),
        }
    }
    notes.extend(found.into_iter().map(|(text, paths)| format!("{}: {text}", abbreviated(&paths))));
}

/// Adds notes on what netCDF has no type for.
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
        notes.push(format!("one-byte strings (S1) become char in netCDF: {}", abbreviated(&letters)));
    }
}

/// Adds notes on what pure Zarr cannot store.
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
    // JSON has integers, floating-point numbers and strings.
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
        ("pure Zarr has no unlimited dimensions; fixed are", unlimited),
        ("pure Zarr has no dimensions without variables; left out are", unused),
        ("pure Zarr has no attribute types; numbers become int or double in", attributes),
        ("pure Zarr has no char; one-byte strings are", letters),
    ] {
        if !lost.is_empty() {
            notes.push(format!("{what}: {}", abbreviated(&lost)));
        }
    }
}
