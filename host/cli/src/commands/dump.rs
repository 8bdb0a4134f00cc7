//! `ncz dump`: prints a dataset as CDL, NcML or JSON.

mod json;
mod plan;
mod print;
mod values;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ncz::cdl::{Annotations, IndexStyle, TimeForm};
use ncz::location::{DatasetUrl, Location};
use ncz::model::{Container, Variable};
use ncz::registry::Registry;

pub(crate) use self::json::{AttributeReport, NestedJson, elements as count_of, head_count, structured};
pub(crate) use self::plan::{CFormat, Language, Plan};
pub(crate) use self::print::print;
pub(crate) use self::values::{VariableValues, each_row, elements};
use crate::args::{Dump, IndexArg};
use crate::dataset::{groups_named, open, session, unknown_variable, variables_named};
use crate::error::{CliError, with_causes};
use crate::exit_code::Exit;
use crate::messages::Messages;
use crate::suggest;

/// Runs the command.
pub(crate) fn run(
    options: &Dump,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    messages: Messages,
) -> Result<Exit, CliError> {
    let url = DatasetUrl::parse(&options.path)?;
    let mut plan = plan(options, &url.location);
    // A header decodes nothing, so no threads are started.
    let threads = if plan.has_data() { options.threads } else { Some(1) };
    let dataset = open(&url, session(registry, threads, options.shuffle_size)?)?;
    if options.kind {
        writeln!(out, "{}", dataset.hierarchy().format.kind().name())?;
        return Ok(Exit::Good);
    }
    plan.variables = named_variables(options, &dataset, &url)?;
    plan.groups = named_groups(options, &dataset, &url)?;
    let hierarchy = dataset.hierarchy();
    let mut findings = false;
    for warning in &hierarchy.warnings {
        messages.warn(&warning.to_string());
        findings = true;
    }
    for lost in hierarchy.unreadable() {
        messages.warn(&with_causes(&lost.error()));
        findings = true;
    }
    if plan.has_data() {
        for variable in hierarchy.variables().filter(|variable| plan.has_values_of(hierarchy, variable)) {
            if variable.shown().is_none() && variable.user_type.is_none() {
                messages.warn(&format!(
                    "variable {:?} has the Zarr type {}, which CDL cannot express; its values are left out",
                    variable.path, variable.dtype
                ));
            }
        }
    }
    if plan.has_data() && plan.head.is_none() {
        let wanted = |variable: &&Variable| {
            plan.has_values_of(hierarchy, variable)
                && (variable.shown().is_some() || variable.user_type.is_some())
        };
        let groups = hierarchy.groups().filter(|group| plan.has_group(group));
        let variables = groups.flat_map(|group| group.variables.iter()).filter(wanted);
        warn_of_many(variables.map(|variable| count_of(&hierarchy.shape_of(variable))), messages);
    }
    let mut lost_any = false;
    print(out, &dataset, &url.location, &plan, &mut |variable, error| {
        lost_any = true;
        let error = with_causes(&error);
        messages.warn(&format!("the values of variable {:?} are left out: {error}", variable.path));
        Ok(())
    })?;
    // Without the values of a variable that was named, the command failed.
    match lost_any && plan.variables.is_some() {
        true => {
            out.flush()?;
            Err(CliError::NotAllPrinted)
        }
        false => Ok(Exit::of_findings(findings || lost_any)),
    }
}

/// Warns before a very large number of values is printed.
pub(crate) fn warn_of_many(counts: impl Iterator<Item = u128>, messages: Messages) {
    const MANY: u128 = 100_000_000;
    let values = counts.fold(0, u128::saturating_add);
    if values > MANY {
        messages.warn(&format!(
            "about to print {values} values; --head N prints the first N of each variable, Ctrl-C stops"
        ));
    }
}

fn plan(options: &Dump, location: &Location) -> Plan {
    let name = options.name.clone().unwrap_or_else(|| name_of(location));
    let mut plan = Plan::new(name, location.to_string());
    plan.language = match (options.ncml, options.json) {
        (true, _) => Language::Ncml,
        (_, true) => Language::Json,
        _ => Language::Cdl,
    };
    plan.header = options.header;
    plan.coordinates = options.coordinates;
    plan.special = options.special || options.all_filters;
    plan.all_filters = options.all_filters;
    plan.fill_types = options.fill_types;
    plan.properties = !options.no_properties;
    if let Some(digits) = options.digits {
        plan.digits = digits.into();
    }
    plan.times = match (options.iso_times, options.times) {
        (true, _) => Some(TimeForm::Iso),
        (_, true) => Some(TimeForm::Blank),
        _ => None,
    };
    plan.line_length = usize::from(options.line_length);
    plan.head = options.head;
    plan.annotations = Annotations {
        rows: options.annotate_rows.is_some(),
        values: options.annotate.is_some(),
        indices: match options.annotate.or(options.annotate_rows) {
            Some(IndexArg::Fortran) => IndexStyle::Fortran,
            _ => IndexStyle::C,
        },
    };
    plan
}

/// Returns the paths of the variables that `-v` names; `None` is all.
fn named_variables(
    options: &Dump,
    dataset: &dyn Container,
    url: &DatasetUrl,
) -> Result<Option<Vec<String>>, CliError> {
    if options.variables.is_empty() {
        return Ok(None);
    }
    let hierarchy = dataset.hierarchy();
    let mut wanted = Vec::new();
    for name in options.variables.iter().flat_map(|list| list.split(',')) {
        if let Some(lost) = hierarchy
            .unreadable()
            .find(|lost| lost.path.trim_start_matches('/') == name.trim_start_matches('/'))
        {
            return Err(CliError::dataset(&url.location)(lost.error().into()));
        }
        let before = wanted.len();
        wanted.extend(variables_named(dataset, name).map(|variable| variable.path.clone()));
        if wanted.len() == before {
            return Err(unknown_variable(url, hierarchy, name, ""));
        }
    }
    Ok(Some(wanted))
}

/// Returns the paths of the groups that `-g` names; `None` is all.
fn named_groups(
    options: &Dump,
    dataset: &dyn Container,
    url: &DatasetUrl,
) -> Result<Option<Vec<String>>, CliError> {
    if options.groups.is_empty() {
        return Ok(None);
    }
    let mut wanted = Vec::new();
    for name in options.groups.iter().flat_map(|list| list.split(',')) {
        let before = wanted.len();
        wanted.extend(groups_named(dataset, name).map(str::to_owned));
        if wanted.len() == before {
            let paths = dataset.hierarchy().groups().map(|group| group.path.as_str());
            return Err(CliError::Usage(format!(
                "there is no group {name:?} in {}; {}",
                url.location,
                suggest::known(name, paths)
            )));
        }
    }
    Ok(Some(wanted))
}

/// Returns the name of a dataset: its file name without the extension.
fn name_of(location: &Location) -> String {
    let full = location.path().and_then(|path| path.canonicalize().ok());
    let name = full.map_or_else(|| location.file_name(), |path| Location::Path(path).file_name());
    let stem = name.as_deref().map(Path::new).and_then(Path::file_stem);
    stem.map_or_else(|| "dataset".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
