//! Objects in the folders of groups that are not part of the dataset.

use std::collections::BTreeSet;

use ncz_model::Container;
use ncz_model::{DataError, Group, limits};
use ncz_store::{Depth, Entry, EntryKind, Key, Leftover, Prefix, Store, StoreError, StoreExt};
use ncz_zarr::metadata::document;

use crate::finding::{Code, Finding, Severity};

/// Looks at the folder of every group.
pub(super) fn findings(dataset: &dyn Container) -> Result<Vec<Finding>, DataError> {
    let store = &**dataset.store();
    let failed = |source| DataError::Store { store: store.to_string(), source };
    let mut findings: Vec<Finding> = store.leftovers().iter().map(left).collect();
    if !store.capabilities().list || dataset.hierarchy().root_array {
        return Ok(findings);
    }
    for group in dataset.hierarchy().groups() {
        beside(store, group, &mut findings).map_err(failed)?;
    }
    Ok(findings)
}

/// A writer ended early and left something.
fn left(leftover: &Leftover) -> Finding {
    let path = &leftover.path;
    let reason = match leftover.is_removed {
        true => format!("{path} was left by an interrupted writer; a later writer removes it"),
        false => format!(
            "{path} is the dataset that was replaced by this one or was to be; remove it when you no longer need it"
        ),
    };
    Finding::new(Severity::Note, Code::Leftover, reason)
}

fn beside(store: &dyn Store, group: &Group, findings: &mut Vec<Finding>) -> Result<(), StoreError> {
    let prefix = Prefix::parse(group.path.trim_matches('/')).unwrap_or(Prefix::ROOT);
    let listing = store.list(prefix, Depth::One, limits::CHILDREN)?;
    let mut members: BTreeSet<&str> = group.groups.iter().map(|child| child.name.as_str()).collect();
    members.extend(group.variables.iter().map(|variable| variable.name.as_str()));
    members.extend(group.unreadable.iter().map(|variable| variable.name.as_str()));
    for entry in &listing.entries {
        let (key, name) = (entry.key.as_str(), entry.key.as_key().name());
        let is_known = match entry.kind {
            EntryKind::Directory => members.contains(name),
            EntryKind::Object => document::ALL.contains(&name),
        };
        if is_known {
            continue;
        }
        if entry.kind == EntryKind::Directory && is_member(store, key)? {
            let reason = format!(
                "the metadata of {:?} do not list it: another program added it, or it is a leftover; pure Zarr readers show it",
                group.path
            );
            findings.push(Finding::new(Severity::Warning, Code::Unlisted, reason).key(key));
            continue;
        }
        let finding = match is_empty(store, entry) {
            Ok(true) => continue,
            Ok(false) => {
                let reason = "it is neither metadata nor a member of a group";
                Finding::new(Severity::Note, Code::Stray, reason)
            }
            Err(error @ (StoreError::LinkLoop { .. } | StoreError::TooManyLinks { .. })) => {
                Finding::new(Severity::Warning, Code::Stray, error.to_string())
            }
            Err(error) => return Err(error),
        };
        findings.push(finding.key(key));
    }
    for name in listing.skipped {
        let finding = Finding::new(
            Severity::Warning,
            Code::NoObject,
            format!("{name} is not an object that can be read"),
        );
        findings.push(finding);
    }
    Ok(())
}

/// Whether there is an array or a group.
fn is_member(store: &dyn Store, folder: &str) -> Result<bool, StoreError> {
    for document in [document::ZARRAY, document::ZGROUP, document::ZARR_JSON] {
        if let Ok(key) = Key::parse(&format!("{folder}/{document}"))
            && store.exists(key)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether nothing is in a folder but folders.
fn is_empty(store: &dyn Store, entry: &Entry) -> Result<bool, StoreError> {
    const ENOUGH: usize = 1000;
    if entry.kind == EntryKind::Object {
        return Ok(false);
    }
    match store.list(Prefix::from(entry.key.as_key()), Depth::All, ENOUGH) {
        Ok(inside) => Ok(inside.entries.iter().all(|entry| entry.kind == EntryKind::Directory)),
        Err(StoreError::TooManyEntries { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
