//! The datasets in a folder or below a prefix of S3.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ncz::nczarr::limits;
use ncz::place::{Location, MARKS, Storage};
use ncz::registry::Registry;
use ncz::store::{Depth, EntryKind, Key, Prefix, Store, StoreExt};
use serde_json::{Value as Json, json};

use super::SCHEMA;
use crate::args::Ls;
use crate::dataset::{format_words, open, session};
use crate::error::{CliError, with_causes};
use crate::exit::Exit;
use crate::output::{Cell, Style, Table, count};
use crate::path::Place;

/// A dataset that was found.
pub(super) struct Found {
    /// Its name below the folder.
    name: String,
    /// Where it is, if it can be opened by that alone.
    place: Option<Place>,
}

/// The datasets right below a place, or with `deep` at any depth, but none inside others.
pub(super) fn datasets(place: &Place, deep: bool) -> Result<Vec<Found>, CliError> {
    let mut found = Vec::new();
    match &place.location {
        Location::Path(path) if path.is_dir() => in_folder(path, path, deep, &mut found)?,
        Location::S3(_) => {
            let store = place.open_folder()?;
            below_prefix(&*store, Prefix::ROOT, deep, &mut found)
                .map_err(CliError::store(&place.location))?;
        }
        _ => {}
    }
    Ok(found)
}

fn in_folder(root: &Path, folder: &Path, deep: bool, found: &mut Vec<Found>) -> Result<(), CliError> {
    let look = |source| ncz::place::PlaceError::Look { place: Location::from(folder), source };
    let entries = std::fs::read_dir(folder).map_err(look)?.take(limits::CHILDREN);
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(look)?;
    paths.sort();
    for path in paths {
        let location = Location::from(path.as_path());
        let place = Place { location, mode: ncz::place::Mode::default() };
        // A link to a folder around it would be walked for ever.
        let is_folder = path.is_dir() && !path.is_symlink();
        let is_zip = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip"));
        match place.storage() {
            Ok(Storage::Directory) => {}
            Ok(_) if is_zip => {}
            _ if is_folder && deep => {
                in_folder(root, &path, deep, found)?;
                continue;
            }
            _ => continue,
        }
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        found.push(Found { name, place: Some(place) });
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
            found.push(Found { name: entry.key.as_str().to_owned(), place: None });
        } else if deep {
            below_prefix(store, entry.key.as_key().into(), deep, found)?;
        }
    }
    Ok(())
}

/// Lists them, with what each is.
pub(super) fn list(
    options: &Ls,
    found: Vec<Found>,
    registry: &Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
) -> Result<Exit, CliError> {
    let mut table = Table::new(&["dataset", "format", "inside"]);
    let mut rows: Vec<Json> = Vec::new();
    let mut findings = false;
    for Found { name, place } in found {
        let Some(place) = place else {
            table.row([Cell::painted(&name, Style::bold)]);
            rows.push(json!({"name": name}));
            continue;
        };
        match open(&place, session(Arc::clone(registry), Some(1), None)?) {
            Ok(dataset) => {
                let hierarchy = dataset.hierarchy();
                let (variables, groups) = (hierarchy.variables().count(), hierarchy.groups().count() - 1);
                let mut inside = count(variables as u64, "variable");
                if groups > 0 {
                    inside.push_str(&format!(", {}", count(groups as u64, "group")));
                }
                let format = format_words(hierarchy.format);
                table.row([Cell::painted(&name, Style::bold), format.into(), inside.into()]);
                rows.push(json!({"name": name, "path": place.location.to_string(), "format": format, "variables": variables, "groups": groups}));
            }
            Err(error) => {
                findings = true;
                let reason = with_causes(&error);
                table.row([
                    Cell::painted(&name, Style::bold),
                    Cell::painted("cannot be read", Style::warn),
                    reason.as_str().into(),
                ]);
                rows.push(json!({"name": name, "path": place.location.to_string(), "error": reason}));
            }
        }
    }
    if options.json {
        let listing = json!({"schema": SCHEMA, "path": options.path, "kind": "folder", "datasets": rows});
        writeln!(out, "{listing:#}")?;
    } else {
        out.write_all(table.render(style, "").as_bytes())?;
    }
    Ok(Exit::of_findings(findings))
}
