//! `ncz dump`: a dataset as CDL, NcML or JSON.

mod json;
mod print;
mod source;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ncz::nczarr::cdl::{Annotations, IndexStyle, TimeForm};
use ncz::nczarr::{Dataset, Variable};
use ncz::place::Location;
use ncz::registry::Registry;

pub(crate) use self::json::{Nested, elements as count_of, head_count};
pub(crate) use self::print::{CFormat, Language, Plan, print};
pub(crate) use self::source::{Source, elements};
use crate::args::{Dump, IndexArg};
use crate::dataset::{open, session, unknown_variable};
use crate::error::{CliError, with_causes};
use crate::exit::Exit;
use crate::path::Place;
use crate::suggest;
use crate::talk::Talk;

/// Runs the command.
pub(crate) fn run(
    options: &Dump,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    talk: Talk,
) -> Result<Exit, CliError> {
    let place = Place::parse(&options.path)?;
    let mut plan = plan(options, &place.location);
    // Nothing is decoded for a header, so no thread is started.
    let threads = if plan.has_data() { options.threads } else { Some(1) };
    let dataset = open(&place, session(registry, threads, options.shuffle_size)?)?;
    if options.kind {
        writeln!(out, "{}", KIND)?;
        return Ok(Exit::Good);
    }
    plan.variables = wanted(options, &dataset, &place)?;
    plan.groups = wanted_groups(options, &dataset, &place)?;
    let hierarchy = dataset.hierarchy();
    let mut findings = false;
    for warning in &hierarchy.warnings {
        talk.warn(&warning.to_string());
        findings = true;
    }
    for lost in hierarchy.unreadable() {
        talk.warn(&with_causes(&lost.error()));
        findings = true;
    }
    if plan.has_data() {
        for variable in hierarchy.variables().filter(|variable| plan.wants(hierarchy, variable)) {
            if variable.shown().is_none() {
                talk.warn(&format!(
                    "variable {:?} is of the Zarr type {}, which CDL cannot express; its values are left out",
                    variable.path, variable.dtype
                ));
            }
        }
    }
    if plan.has_data() && plan.head.is_none() {
        let wanted = |variable: &&Variable| plan.wants(hierarchy, variable) && variable.shown().is_some();
        let groups = hierarchy.groups().filter(|group| plan.wants_group(group));
        let variables = groups.flat_map(|group| group.variables.iter()).filter(wanted);
        warn_of_many(variables.map(|variable| count_of(&hierarchy.shape_of(variable))), talk);
    }
    let mut lost_any = false;
    print(out, &dataset, &place.location, &plan, &mut |variable, error| {
        lost_any = true;
        let error = with_causes(&error);
        talk.warn(&format!("the values of variable {:?} are left out: {error}", variable.path));
        Ok(())
    })?;
    // Who names a variable wants it, whatever else can be had.
    match lost_any && plan.variables.is_some() {
        true => {
            out.flush()?;
            Err(CliError::NotAllPrinted)
        }
        false => Ok(Exit::of_findings(findings || lost_any)),
    }
}

/// Warns before more values are printed than anyone reads.
pub(crate) fn warn_of_many(counts: impl Iterator<Item = u128>, talk: Talk) {
    const MANY: u128 = 100_000_000;
    let values = counts.fold(0, u128::saturating_add);
    if values > MANY {
        talk.warn(&format!(
            "{values} values are about to be printed; --head N prints the first N of each variable, Ctrl-C ends it"
        ));
    }
}

/// What netCDF calls datasets of these formats, as it does HDF5 files: they have groups and all its types.
pub(crate) const KIND: &str = "netCDF-4";

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

/// The variables that `-v` names, by path; none is all.
fn wanted(options: &Dump, dataset: &Dataset, place: &Place) -> Result<Option<Vec<String>>, CliError> {
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
            return Err(CliError::dataset(&place.location)(lost.error().into()));
        }
        let before = wanted.len();
        wanted.extend(variables_named(dataset, name).map(|variable| variable.path.clone()));
        if wanted.len() == before {
            return Err(unknown_variable(place, hierarchy, name, ""));
        }
    }
    Ok(Some(wanted))
}

/// The variables that a name means, as ncdump takes it: a bare name those of every group, one with groups before it
/// those that are so named from some group on, one that starts with `/` only that from the root on.
pub(crate) fn variables_named<'a>(dataset: &'a Dataset, name: &'a str) -> impl Iterator<Item = &'a Variable> {
    dataset.hierarchy().variables().filter(move |variable| {
        variable.path.strip_suffix(name).is_some_and(|rest| match name.starts_with('/') {
            true => rest.is_empty(),
            false => rest.ends_with('/'),
        })
    })
}

/// The paths of the groups that a name means, by the same rules.
pub(crate) fn groups_named<'a>(dataset: &'a Dataset, name: &'a str) -> impl Iterator<Item = &'a str> {
    let groups = dataset.hierarchy().groups().map(|group| group.path.as_str());
    groups.filter(move |path| match name {
        "" | "/" => *path == "/",
        _ => path.strip_suffix(name).is_some_and(|rest| match name.starts_with('/') {
            true => rest.is_empty(),
            false => rest.ends_with('/'),
        }),
    })
}

/// The groups that `-g` names, by path; none is all.
fn wanted_groups(options: &Dump, dataset: &Dataset, place: &Place) -> Result<Option<Vec<String>>, CliError> {
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
                place.location,
                suggest::known(name, paths)
            )));
        }
    }
    Ok(Some(wanted))
}

/// The name of a dataset: that of its directory without what is behind the last point.
fn name_of(location: &Location) -> String {
    let full = location.path().and_then(|path| path.canonicalize().ok());
    let name = full.map_or_else(|| location.file_name(), |path| Location::Path(path).file_name());
    let stem = name.as_deref().map(Path::new).and_then(Path::file_stem);
    stem.map_or_else(|| "dataset".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
