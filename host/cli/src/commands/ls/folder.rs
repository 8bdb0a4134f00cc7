//! Lists the datasets in a folder or below an S3 prefix.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ncz::location::{DatasetUrl, Location, MARKS, Storage};
use ncz::model::limits;
use ncz::registry::Registry;
use ncz::store::{Depth, EntryKind, Key, Prefix, Store, StoreExt};
use serde::Serialize;

use super::SCHEMA;
use crate::args::Ls;
use crate::dataset::{format_words, open, session};
use crate::error::{CliError, with_causes};
use crate::exit_code::Exit;
use crate::output::{Cell, Style, Table, count, write_json};

/// A dataset that was found.
pub(super) struct Found {
    /// Its name below the folder.
    name: String,
    /// Its location, if it can be opened.
    url: Option<DatasetUrl>,
}

/// Finds the datasets directly below a location, or with `deep` at any depth, but none inside another.
pub(super) fn datasets(url: &DatasetUrl, deep: bool) -> Result<Vec<Found>, CliError> {
    let mut found = Vec::new();
    match &url.location {
        Location::Path(path) if path.is_dir() => in_folder(path, path, deep, &mut found)?,
        Location::S3(_) => {
            let store = url.open_folder()?;
            below_prefix(&*store, Prefix::ROOT, deep, &mut found).map_err(CliError::store(&url.location))?;
        }
        _ => {}
    }
    Ok(found)
}

fn in_folder(root: &Path, folder: &Path, deep: bool, found: &mut Vec<Found>) -> Result<(), CliError> {
    let look = |source| ncz::location::LocationError::Look { location: Location::from(folder), source };
    let entries = std::fs::read_dir(folder).map_err(look)?.take(limits::CHILDREN);
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(look)?;
    paths.sort();
    for path in paths {
        let location = Location::from(path.as_path());
        let url = DatasetUrl { location, mode: ncz::location::Mode::default() };
        // A link to a parent folder would never end.
        let is_folder = path.is_dir() && !path.is_symlink();
        let is_zip = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip"));
        match url.storage() {
            Ok(Storage::Directory | Storage::File | Storage::References) => {}
            Ok(_) if is_zip => {}
            _ if is_folder && deep => {
                in_folder(root, &path, deep, found)?;
                continue;
            }
            _ => continue,
        }
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        found.push(Found { name, url: Some(url) });
    }
    Ok(())
}

fn below_prefix(
    store: &dyn Store,
    prefix: Prefix<'_>,
    deep: bool,
    found: &mut Vec<Found>,
) -> Result<(), ncz::store::StoreError> {
    for entry in store.list(prefix, Depth::One, limits::CHILDREN)?.entries {
        if entry.kind != EntryKind::Directory {
            continue;
        }
        let mut is_dataset = false;
        for mark in MARKS {
            let key = format!("{}/{mark}", entry.key.as_str());
            if let Ok(key) = Key::parse(&key)
                && store.exists(key)?
            {
                is_dataset = true;
                break;
            }
        }
        if is_dataset {
            found.push(Found { name: entry.key.as_str().to_owned(), url: None });
        } else if deep {
            below_prefix(store, entry.key.as_key().into(), deep, found)?;
        }
    }
    Ok(())
}

/// The JSON form for a folder.
#[derive(Serialize)]
struct FolderReport<'a> {
    schema: u32,
    path: &'a str,
    kind: &'static str,
    datasets: Vec<DatasetRow>,
}

/// A dataset in a folder; below a prefix of S3 only its name is known.
#[derive(Default, Serialize)]
struct DatasetRow {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variables: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Prints the datasets and what each holds.
pub(super) fn list(
    options: &Ls,
    found: Vec<Found>,
    registry: &Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
) -> Result<Exit, CliError> {
    let mut table = Table::new(&["dataset", "format", "inside"]);
    let mut rows = Vec::new();
    let mut findings = false;
    for Found { name, url } in found {
        let Some(url) = url else {
            table.row([Cell::painted(&name, Style::bold)]);
            rows.push(DatasetRow { name, ..DatasetRow::default() });
            continue;
        };
        match open(&url, session(Arc::clone(registry), Some(1), None)?) {
            Ok(dataset) => {
                let hierarchy = dataset.hierarchy();
                let (variables, groups) = (hierarchy.variables().count(), hierarchy.groups().count() - 1);
                let mut inside = count(variables as u64, "variable");
                if groups > 0 {
                    inside.push_str(&format!(", {}", count(groups as u64, "group")));
                }
                let format = format_words(hierarchy.format);
                table.row([Cell::painted(&name, Style::bold), format.into(), inside.into()]);
                rows.push(DatasetRow {
                    name,
                    path: Some(url.location.to_string()),
                    format: Some(format),
                    variables: Some(variables),
                    groups: Some(groups),
                    error: None,
                });
            }
            Err(error) => {
                findings = true;
                let reason = with_causes(&error);
                table.row([
                    Cell::painted(&name, Style::bold),
                    Cell::painted("cannot be read", Style::warn),
                    reason.as_str().into(),
                ]);
                let path = Some(url.location.to_string());
                rows.push(DatasetRow { name, path, error: Some(reason), ..DatasetRow::default() });
            }
        }
    }
    if options.json {
        let report = FolderReport { schema: SCHEMA, path: &options.path, kind: "folder", datasets: rows };
        write_json(out, &report)?;
    } else {
        out.write_all(table.render(style, "").as_bytes())?;
    }
    Ok(Exit::of_findings(findings))
}
