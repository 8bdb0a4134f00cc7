//! Printing a dataset, for `ncz dump` and for `ncdump`.

use std::io::Write;

use ncz::cdl::{self, CdlOptions, DataWriter};
use ncz::location::Location;
use ncz::model::{Container, Group, NcType, Variable};
use ncz::registry::spec::{format_spec_text, generic};

use super::json;
use super::plan::{CFormat, Language, Plan};
use super::values::{VariableValues, each_row};
use crate::error::CliError;
use crate::slab_request::Selected;

/// Prints a dataset. `lost` gets each variable that cannot be read, and returns an error to stop.
///
/// # Errors
/// Errors of writing, and those that `lost` returns.
pub(crate) fn print(
    out: &mut dyn Write,
    dataset: &dyn Container,
    location: &Location,
    plan: &Plan,
    lost: &mut dyn FnMut(&Variable, CliError) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let hierarchy = dataset.hierarchy();
    let values_of = |variable: &Variable| plan.has_values_of(hierarchy, variable);
    let groups = |group: &Group| plan.has_group(group);
    let filters = |variable: &Variable| filter_text(dataset, variable, plan.all_filters);
    let c_format = |nc_type: NcType| plan.c_format.applies_to(nc_type);
    let mut options = CdlOptions::new(&plan.name);
    options.special = plan.special;
    options.properties = plan.properties;
    options.only_filter = plan.all_filters;
    options.fill_types = plan.fill_types;
    options.digits = plan.digits;
    options.exact_text = plan.exact_text;
    options.c_format = (plan.c_format != CFormat::IGNORED).then_some(&c_format);
    options.times = plan.times;
    options.line_length = plan.line_length;
    options.annotations = plan.annotations;
    options.filter_text = Some(&filters);
    options.groups = Some(&groups);
    options.values_of = Some(&values_of);
    match plan.language {
        Language::Json => return json::print(out, dataset, location, plan, lost),
        Language::Ncml => {
            let nothing = |_: &Variable| false;
            if plan.header {
                options.values_of = Some(&nothing);
            }
            cdl::ncml(out, hierarchy, &plan.location, &options)?;
        }
        Language::Cdl if plan.header => cdl::header(out, hierarchy, &options)?,
        Language::Cdl => cdl::dump(out, hierarchy, &options, &mut |variable, writer| match values(
            dataset, variable, writer, location, plan.head,
        ) {
            Err(error) if !matches!(error, CliError::Output(_)) => {
                writer.give_up(&crate::error::with_causes(&error))?;
                lost(variable, error)
            }
            result => result,
        })?,
    }
    Ok(())
}

/// Reads and prints the values of a variable, block by block.
fn values(
    dataset: &dyn Container,
    variable: &Variable,
    writer: &mut DataWriter<'_>,
    location: &Location,
    head: Option<u64>,
) -> Result<(), CliError> {
    if variable.is_structured() {
        let array = dataset.user_array(&variable.path).map_err(CliError::dataset(location))?;
        if let Some(most) = head {
            writer.head(most);
        }
        let whole = array.stored().shape().iter().map(|len| Selected::all(*len)).collect();
        let left = writer.remaining();
        return each_row(&array, whole, Some(left), location, |row| Ok(writer.write_row(row)?));
    }
    let mut values = VariableValues::of(dataset, variable).map_err(CliError::dataset(location))?;
    if let Some(most) = head {
        writer.head(most);
    }
    let whole = values.whole();
    values.each(whole, Some(writer.remaining()), location, |values| Ok(writer.write(values)?))
}

/// Returns what ncdump prints as `_Filter`: filters without an attribute of their own, or all filters with `-F`.
fn filter_text(dataset: &dyn Container, variable: &Variable, all: bool) -> Option<String> {
    if dataset.hierarchy().format.is_netcdf() {
        return hdf5_filter_text(variable, all);
    }
    let spec = variable.chain_spec(dataset.hierarchy().format).ok()?;
    let mut shown = Vec::new();
    for stage in spec.stages() {
        // A codec that is not found, or has no number, is still printed in `_Codecs`.
        let Ok(stage) = stage.resolve(&dataset.session().registry) else { continue };
        match (stage.info.filter_id, stage.config.to_params()) {
            (Some(1..=3), _) if !all => {}
            (Some(id), Ok(params)) => shown.push((id, params)),
            _ => {}
        }
    }
    let borrowed: Vec<(u32, &[u32])> = shown.iter().map(|(id, params)| (*id, params.as_slice())).collect();
    (!borrowed.is_empty()).then(|| format_spec_text(&borrowed))
}

/// Returns the same for an HDF5 file, whose filters need not be found.
fn hdf5_filter_text(variable: &Variable, all: bool) -> Option<String> {
    let filters = variable.filters.iter().filter_map(|codec| generic::of_codec_json(&codec.to_value()));
    let shown: Vec<(u32, Vec<u32>)> = filters.filter(|(id, _)| all || !matches!(id, 1..=3)).collect();
    let borrowed: Vec<(u32, &[u32])> = shown.iter().map(|(id, params)| (*id, params.as_slice())).collect();
    (!borrowed.is_empty()).then(|| format_spec_text(&borrowed))
}
