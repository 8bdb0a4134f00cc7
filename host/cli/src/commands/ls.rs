//! `ncz ls`: lists the contents of a dataset, or the datasets in a folder.

mod folder;

use std::io::Write;
use std::sync::Arc;

use ncz::location::{DatasetUrl, LocationError};
use ncz::model::{Container, Group};
use ncz::registry::Registry;
use serde::Serialize;

use crate::args::Ls;
use crate::codec_words::filters_words;
use crate::dataset::{groups_named, open, session};
use crate::error::{CliError, with_causes};
use crate::exit_code::Exit;
use crate::messages::Messages;
use crate::output::{Cell, Style, Table, bytes, write_json};
use crate::suggest;
use crate::variable_report::{
    SizedVariableReport, StoredSize, chunks_words, dimensions_words, join, raw_bytes, type_words,
};

/// The version of the JSON form; it changes when a key changes its meaning or is removed.
const SCHEMA: u32 = 1;

/// Runs the command.
pub(crate) fn run(
    options: &Ls,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    messages: Messages,
) -> Result<Exit, CliError> {
    let url = DatasetUrl::parse(&options.path)?;
    match open(&url, session(Arc::clone(&registry), Some(1), None)?) {
        Ok(dataset) => list(options, &dataset, &url, out, style, messages),
        // There can be datasets inside.
        Err(CliError::Location(error @ LocationError::NotADataset { .. })) if options.group.is_none() => {
            match folder::datasets(&url, options.recursive)? {
                found if found.is_empty() => Err(error.into()),
                found => folder::list(options, found, &registry, out, style),
            }
        }
        Err(error) => Err(error),
    }
}

fn list(
    options: &Ls,
    dataset: &dyn Container,
    url: &DatasetUrl,
    out: &mut dyn Write,
    style: Style,
    messages: Messages,
) -> Result<Exit, CliError> {
    let hierarchy = dataset.hierarchy();
    let group = group(options, dataset, url)?;
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
        messages.warn(&with_causes(&lost.error()));
        findings = true;
    }
    if options.json {
        write_json(out, &report(options, dataset, url, &groups)?)?;
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
                let raw = raw_bytes(hierarchy, variable);
                row.push(chunks_words(variable).into());
                row.push(filters_words(&variable.filters, variable.dtype.size()).into());
                row.push(raw.map_or_else(|| "-".to_owned(), bytes).into());
                row.push(bytes(StoredSize::of(dataset, url, variable)?.bytes).into());
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

/// Returns the group to list.
fn group<'a>(options: &Ls, dataset: &'a dyn Container, url: &DatasetUrl) -> Result<&'a Group, CliError> {
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
        CliError::Usage(format!("there is no group {name:?} in {}; {known}", url.location))
    })
}

/// The JSON form for a dataset.
#[derive(Serialize)]
struct ListReport<'a> {
    schema: u32,
    path: String,
    kind: &'static str,
    groups: Vec<String>,
    variables: Vec<SizedVariableReport<'a>>,
    unreadable: Vec<UnreadableReport<'a>>,
}

#[derive(Serialize)]
struct UnreadableReport<'a> {
    path: &'a str,
    error: String,
}

fn report<'a>(
    options: &Ls,
    dataset: &'a dyn Container,
    url: &DatasetUrl,
    groups: &[&'a Group],
) -> Result<ListReport<'a>, CliError> {
    let mut variables = Vec::new();
    for variable in groups.iter().flat_map(|group| &group.variables) {
        let size = options.long.then(|| StoredSize::of(dataset, url, variable)).transpose()?;
        variables.push(SizedVariableReport::new(dataset.hierarchy(), variable, size));
    }
    let children =
        groups.iter().flat_map(|group| group.groups.iter().map(|child| join(&group.path, &child.name)));
    let lost = groups.iter().flat_map(|group| &group.unreadable);
    Ok(ListReport {
        schema: SCHEMA,
        path: url.location.to_string(),
        kind: "dataset",
        groups: children.collect(),
        variables,
        unreadable: lost
            .map(|lost| UnreadableReport { path: &lost.path, error: with_causes(&lost.error()) })
            .collect(),
    })
}
