//! `ncz ls`: what is in a dataset, or which datasets are in a folder.

mod folder;

use std::io::Write;
use std::sync::Arc;

use ncz::nczarr::{Dataset, Group, Hierarchy};
use ncz::place::PlaceError;
use ncz::registry::Registry;
use serde_json::{Value as Json, json};

use super::dump::groups_named;
use super::info::{chunks_words, join, size, type_words};
use crate::args::Ls;
use crate::dataset::{codecs_words, open, raw_len, session};
use crate::error::{CliError, with_causes};
use crate::exit::Exit;
use crate::output::{Cell, Style, Table, bytes};
use crate::path::Place;
use crate::suggest;
use crate::talk::Talk;

/// The version of the JSON form; it changes when a key changes its meaning or goes.
const SCHEMA: u32 = 1;

/// Runs the command.
pub(crate) fn run(
    options: &Ls,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    talk: Talk,
) -> Result<Exit, CliError> {
    let place = Place::parse(&options.path)?;
    match open(&place, session(Arc::clone(&registry), Some(1), None)?) {
        Ok(dataset) => list(options, &dataset, &place, out, style, talk),
        // Perhaps there are datasets inside.
        Err(CliError::Place(error @ PlaceError::NotADataset { .. })) if options.group.is_none() => {
            match folder::datasets(&place, options.recursive)? {
                found if found.is_empty() => Err(error.into()),
                found => folder::list(options, found, &registry, out, style),
            }
        }
        Err(error) => Err(error),
    }
}

fn list(
    options: &Ls,
    dataset: &Dataset,
    place: &Place,
    out: &mut dyn Write,
    style: Style,
    talk: Talk,
) -> Result<Exit, CliError> {
    let hierarchy = dataset.hierarchy();
    let group = group(options, dataset, place)?;
    let inside = |other: &&Group| {
        let below = other.path.strip_prefix(group.path.trim_end_matches('/'));
        below.is_some_and(|rest| rest.starts_with('/') || rest.is_empty())
    };
    let groups: Vec<&Group> = match options.recursive {
        true => hierarchy.groups().filter(inside).collect(),
        false => vec![group],
    };
    let mut findings = false;
    for lost in groups.iter().flat_map(|group| &group.unreadable) {
        talk.warn(&with_causes(&lost.error()));
        findings = true;
    }
    if options.json {
        writeln!(out, "{:#}", to_json(options, dataset, place, &groups)?)?;
        return Ok(Exit::of_findings(findings));
    }
    let mut headings = vec!["name", "type", "dimensions"];
    if options.long {
        headings.extend(["chunks", "codecs", ">data", ">stored"]);
    }
    let mut table = Table::new(&headings);
    for &listed in &groups {
        for variable in &listed.variables {
            let name = if options.recursive { &variable.path } else { &variable.name };
            let mut row = vec![
                Cell::painted(name, Style::bold),
                type_words(variable).into(),
                dimensions_words(hierarchy, variable).into(),
            ];
            if options.long {
                let raw = (!variable.dtype.is_variable_length()).then(|| raw_len(hierarchy, variable));
                row.push(chunks_words(variable).into());
                row.push(codecs_words(&variable.filters).into());
                row.push(raw.map_or_else(|| "-".to_owned(), bytes).into());
                row.push(bytes(size(dataset, place, variable)?.bytes).into());
            }
            table.row(row);
        }
        for lost in &listed.unreadable {
            let name = if options.recursive { &lost.path } else { &lost.name };
            table.row([Cell::new(name.as_str()), "cannot be read".into()]);
        }
        for child in &listed.groups {
            let name = if options.recursive { &child.path } else { &child.name };
            let count = |number: usize, noun| crate::output::count(number as u64, noun);
            let inside = format!(
                "{}, {}",
                count(child.variables.len(), "variable"),
                count(child.groups.len(), "group")
            );
            table.row([Cell::painted(format!("{name}/"), Style::bold), "group".into(), inside.into()]);
        }
    }
    out.write_all(table.render(style, "").as_bytes())?;
    Ok(Exit::of_findings(findings))
}

/// The group that is asked for.
fn group<'a>(options: &Ls, dataset: &'a Dataset, place: &Place) -> Result<&'a Group, CliError> {
    let hierarchy = dataset.hierarchy();
    let Some(name) = &options.group else { return Ok(&hierarchy.root) };
    let paths: Vec<&str> = groups_named(dataset, name.trim_end_matches('/')).collect();
    let found = match paths.as_slice() {
        [path] => hierarchy.group(path).ok(),
        [] => None,
        several => {
            return Err(CliError::Usage(format!(
                "several groups are named {name:?}: {}; give the path",
                several.join(", ")
            )));
        }
    };
    found.ok_or_else(|| {
        let known = suggest::known(name, hierarchy.groups().map(|group| group.path.as_str()));
        CliError::Usage(format!("there is no group {name:?} in {}; {known}", place.location))
    })
}

fn dimensions_words(hierarchy: &Hierarchy, variable: &ncz::nczarr::Variable) -> String {
    let lengths = hierarchy.shape_of(variable);
    let words: Vec<String> = variable
        .dimensions
        .iter()
        .zip(&lengths)
        .map(|(reference, len)| format!("{}={len}", reference.name))
        .collect();
    if words.is_empty() { "scalar".to_owned() } else { words.join(" ") }
}

fn to_json(options: &Ls, dataset: &Dataset, place: &Place, groups: &[&Group]) -> Result<Json, CliError> {
    let hierarchy = dataset.hierarchy();
    let mut variables = Vec::new();
    for variable in groups.iter().flat_map(|group| &group.variables) {
        let stored = match options.long {
            true => Some(size(dataset, place, variable)?.bytes),
            false => None,
        };
        variables.push(json!({
            "path": variable.path,
            "type": variable.nc_type.map(|nc_type| nc_type.name()),
            "dtype": variable.dtype.text(),
            "dimensions": variable.dimensions.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "shape": hierarchy.shape_of(variable),
            "chunks": variable.chunk_shape,
            "codecs": variable.filters,
            "raw_bytes": (!variable.dtype.is_variable_length()).then(|| raw_len(hierarchy, variable)),
            "stored_bytes": stored,
        }));
    }
    let children =
        groups.iter().flat_map(|group| group.groups.iter().map(|child| join(&group.path, &child.name)));
    let lost = groups.iter().flat_map(|group| &group.unreadable);
    let lost: Vec<Json> =
        lost.map(|lost| json!({"path": lost.path, "error": with_causes(&lost.error())})).collect();
    Ok(json!({
        "schema": SCHEMA,
        "path": place.location.to_string(),
        "kind": "dataset",
        "groups": children.collect::<Vec<_>>(),
        "variables": variables,
        "unreadable": lost,
    }))
}
