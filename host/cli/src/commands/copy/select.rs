//! Selects the part of a dataset that the options name.

use std::collections::{BTreeMap, BTreeSet};

use ncz::copy::{Indices, Selection};
use ncz::location::DatasetUrl;
use ncz::model::{DimensionRef, Hierarchy, Variable};

use crate::args::Copy;
use crate::dataset::variables_meant;
use crate::error::CliError;
use crate::escape;
use crate::name_pattern::{NamePattern, full_path};
use crate::slab_request::{self, SlabRequest};
use crate::suggest;

/// CF attributes that name other variables which belong to a variable.
const COMPANIONS: [&str; 2] = ["coordinates", "bounds"];

/// Returns what the options select of a dataset.
pub(super) fn selection(
    options: &Copy,
    hierarchy: &Hierarchy,
    url: &DatasetUrl,
) -> Result<Selection, CliError> {
    let names = |texts: &[String]| variables(texts, hierarchy, url);
    let rules = options.nccopy.as_ref();
    let mut selection = Selection {
        variables: names(&options.variables)?,
        groups: groups(&options.groups, hierarchy, url)?.map(|named| with_inner(named, hierarchy)),
        exclude: names(&options.exclude)?.unwrap_or_default(),
        values: names(&options.values)?,
        slabs: slabs(&options.slab.join(","), hierarchy)?,
        keep_unused: rules.is_some(),
        skip_unreadable: options.skip_unreadable,
    };
    if let Some(named) = &mut selection.variables
        && !options.no_coordinates
    {
        named.extend(companions(named, hierarchy));
    }
    if let Some(rules) = rules {
        let list = |texts: &Option<Vec<String>>| match texts {
            Some(texts) => groups(texts, hierarchy, url),
            None => Ok(None),
        };
        selection.groups = list(&rules.groups)?;
        if let Some(named) = list(&rules.values_of_groups)? {
            let is_in = |variable: &&Variable| named.contains(group_of(&variable.path));
            let in_groups: BTreeSet<String> =
                hierarchy.variables().filter(is_in).map(|variable| variable.path.clone()).collect();
            selection.values = Some(match selection.values.take() {
                Some(values) => values.intersection(&in_groups).cloned().collect(),
                None => in_groups,
            });
        }
    }
    Ok(selection)
}

/// Returns the paths of variables in lists of names, or `None` without a list.
fn variables(
    texts: &[String],
    hierarchy: &Hierarchy,
    url: &DatasetUrl,
) -> Result<Option<BTreeSet<String>>, CliError> {
    let names = texts.iter().flat_map(|text| escape::split(text, ','));
    let paths = variables_meant(names, hierarchy, url)?;
    Ok((!texts.is_empty()).then_some(paths))
}

/// Returns the paths of groups in lists of names, or `None` without a list.
fn groups(
    texts: &[String],
    hierarchy: &Hierarchy,
    url: &DatasetUrl,
) -> Result<Option<BTreeSet<String>>, CliError> {
    let mut paths = BTreeSet::new();
    for name in texts.iter().flat_map(|text| escape::split(text, ',')) {
        let known: Vec<&str> = hierarchy.groups().map(|group| group.path.as_str()).collect();
        let meant = NamePattern::parse(name).select(known.iter().copied());
        if meant.is_empty() {
            let known = suggest::known(&full_path(name), known);
            return Err(CliError::Usage(format!("there is no group {name:?} in {}; {known}", url.location)));
        }
        paths.extend(meant.into_iter().map(str::to_owned));
    }
    Ok((!texts.is_empty()).then_some(paths))
}

/// Returns groups and all groups inside them.
fn with_inner(named: BTreeSet<String>, hierarchy: &Hierarchy) -> BTreeSet<String> {
    let is_inside = |path: &str| {
        named.iter().any(|outer| {
            let outer = outer.trim_end_matches('/');
            path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    hierarchy.groups().map(|group| group.path.clone()).filter(|path| is_inside(path)).collect()
}

/// Returns the coordinates of variables: those of their dimensions, and those that their attributes name.
fn companions(named: &BTreeSet<String>, hierarchy: &Hierarchy) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<String> = named.iter().cloned().collect();
    while let Some(path) = waiting.pop() {
        let Ok(variable) = hierarchy.variable(&path) else { continue };
        let of_dimensions = variable.dimensions.iter().map(ToString::to_string);
        let of_attributes = COMPANIONS.iter().flat_map(|name| {
            let text = variable.attribute(name).and_then(|attribute| attribute.value.as_text());
            text.unwrap_or_default()
                .split_whitespace()
                .filter_map(|name| find_upwards(hierarchy, &path, name))
        });
        for path in of_dimensions.chain(of_attributes) {
            let is_readable = hierarchy.variable(&path).is_ok();
            if is_readable && !named.contains(&path) && found.insert(path.clone()) {
                waiting.push(path);
            }
        }
    }
    found
}

/// Finds the variable of this name in the group of `path` or in one of its parent groups.
fn find_upwards(hierarchy: &Hierarchy, path: &str, name: &str) -> Option<String> {
    let mut group = group_of(path);
    loop {
        let candidate = full_path(&format!("{}/{name}", group.trim_end_matches('/')));
        if hierarchy.variable(&candidate).is_ok() {
            return Some(candidate);
        }
        if group == "/" {
            return None;
        }
        group = group_of(group);
    }
}

/// Returns the path of the group that contains a path.
fn group_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((group, _)) => group,
    }
}

/// Parses the text of `--slab` as parts of dimensions.
fn slabs(text: &str, hierarchy: &Hierarchy) -> Result<BTreeMap<DimensionRef, Indices>, CliError> {
    let wrong = |error: slab_request::SlabRequestError| CliError::Usage(format!("--slab {text:?}: {error}"));
    let dimensions: Vec<(DimensionRef, u64)> = hierarchy
        .groups()
        .flat_map(|group| {
            let of = |name: &str| DimensionRef { group: group.path.clone(), name: name.to_owned() };
            group.dimensions.iter().map(move |dimension| (of(&dimension.name), dimension.len))
        })
        .collect();
    let mut slabs = BTreeMap::new();
    if text.is_empty() {
        return Ok(slabs);
    }
    for spec in slab_request::parse(text).map_err(wrong)? {
        let (reference, len) = dimension_of(&spec, &dimensions)
            .map_err(|reason| CliError::Usage(format!("--slab {text:?}: {reason}")))?;
        let found = spec.resolve(len).map_err(wrong)?;
        let indices = Indices { start: found.start, count: found.count, step: found.step };
        if slabs.insert(reference, indices).is_some() {
            return Err(CliError::Usage(format!(
                "--slab {text:?}: dimension {:?} is named twice",
                spec.dimension
            )));
        }
    }
    Ok(slabs)
}

/// Returns the dimension that a piece of a slab names.
fn dimension_of(
    spec: &SlabRequest,
    dimensions: &[(DimensionRef, u64)],
) -> Result<(DimensionRef, u64), String> {
    let found: Vec<_> =
        dimensions.iter().filter(|(reference, _)| spec.means(&reference.to_string())).collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => {
            let paths: Vec<String> = dimensions.iter().map(|(reference, _)| reference.to_string()).collect();
            let known = suggest::known(&spec.dimension, paths.iter().map(String::as_str));
            Err(format!("there is no dimension {:?}; {known}", spec.dimension))
        }
        many => {
            let paths: Vec<String> = many.iter().map(|(reference, _)| reference.to_string()).collect();
            Err(format!(
                "several dimensions are named {:?}; say which: {}",
                spec.dimension,
                paths.join(" or ")
            ))
        }
    }
}
