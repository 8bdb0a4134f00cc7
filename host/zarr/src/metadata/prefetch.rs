//! Requests the documents of a dataset before they are used: level by level, all of a level together. So the round
//! trips depend on the depth of a dataset, not on the number of its variables.

use ncz_model::{Generation, MetadataError, document_key, join_path, limits, names};

use super::loader::Loader;
use super::nczarr_object::{inside, nczarr_object};
use super::v3;
use crate::metadata::document;

/// Requests the documents of version 2 below the root. The root's documents must have been read.
pub(super) fn version2(loader: &mut Loader<'_>, generation: Option<Generation>) -> Result<(), MetadataError> {
    let objects = generation == Some(Generation::Objects);
    if objects {
        loader.ask_needed([document::NCZGROUP, document::NCZATTR])?;
    }
    descend(loader, |loader, level| {
        let (mut arrays, mut groups, mut unnamed) = (Vec::new(), Vec::new(), Vec::new());
        for path in level {
            match named(loader, path, generation) {
                Some((inner_arrays, inner_groups)) => {
                    loader.count(path, inner_arrays.len() + inner_groups.len())?;
                    arrays.extend(below(path, inner_arrays));
                    groups.extend(below(path, inner_groups));
                }
                None => unnamed.push(path.as_str()),
            }
        }
        let listed = list(loader, &unnamed)?;
        let all = arrays.iter().chain(&listed);
        let mut needed: Vec<String> = keys(all, &[document::ZARRAY, document::ZATTRS]);
        needed.extend(keys(&groups, &[document::ZGROUP, document::ZATTRS]));
        if objects {
            needed.extend(keys(&arrays, &[document::NCZVAR, document::NCZATTR]));
            needed.extend(keys(&groups, &[document::NCZGROUP, document::NCZATTR]));
        }
        loader.ask_needed(needed)?;
        if objects {
            let other = |loader: &mut Loader<'_>, path: &String, name: &str, other: &str| {
                is_missing(loader, path, name).then(|| document_key(path, other))
            };
            let mut needed = Vec::new();
            for path in arrays.iter().chain(&groups) {
                needed.extend(other(loader, path, document::NCZATTR, ".nczattrs"));
            }
            for path in &arrays {
                needed.extend(other(loader, path, document::NCZVAR, ".nczarray"));
            }
            loader.ask_needed(needed)?;
        }
        // A listed name that is not an array may be a group; if it is neither, it may belong to the other version.
        let mut rest: Vec<String> = listed;
        rest.retain(|path| is_missing(loader, path, document::ZARRAY));
        loader.ask_needed(keys(&rest, &[document::ZGROUP]))?;
        let (strange, inner): (Vec<String>, Vec<String>) =
            rest.into_iter().partition(|path| is_missing(loader, path, document::ZGROUP));
        loader.ask_needed(keys(&strange, &[document::ZARR_JSON]))?;
        groups.retain(|path| {
            let own: &[&str] = if objects {
                &[document::ZGROUP, document::ZATTRS, document::NCZGROUP]
            } else {
                &[document::ZGROUP, document::ZATTRS]
            };
            own.iter().any(|name| !is_missing(loader, path, name))
        });
        groups.extend(inner);
        Ok(groups)
    })
}

/// Requests the documents of version 3 below the root. The root's document must have been read.
pub(super) fn version3(loader: &mut Loader<'_>, draft: bool) -> Result<(), MetadataError> {
    descend(loader, |loader, level| {
        let (mut nodes, mut unnamed) = (Vec::new(), Vec::new());
        for path in level {
            let node = loader.object(&document_key(path, document::ZARR_JSON)).ok().flatten();
            match node.filter(|_| draft).and_then(|node| v3::named(&node)) {
                Some(names) => {
                    loader.count(path, names.len())?;
                    nodes.extend(below(path, names));
                }
                None => unnamed.push(path.as_str()),
            }
        }
        let listed = list(loader, &unnamed)?;
        nodes.extend(listed.iter().cloned());
        loader.ask_needed(keys(&nodes, &[document::ZARR_JSON]))?;
        let mut strange: Vec<&String> = listed.iter().collect();
        strange.retain(|path| is_missing(loader, path, document::ZARR_JSON));
        loader.ask_needed(keys(strange, &[document::ZARRAY, document::ZGROUP]))?;
        nodes.retain(|path| {
            let node = loader.object(&document_key(path, document::ZARR_JSON)).ok().flatten();
            node.is_some_and(|node| v3::is_group(&node))
        });
        Ok(nodes)
    })
}

/// Visits each level; `next` requests the content of the groups of one level, and returns the groups of the next.
fn descend(
    loader: &mut Loader<'_>,
    next: impl Fn(&mut Loader<'_>, &[String]) -> Result<Vec<String>, MetadataError>,
) -> Result<(), MetadataError> {
    if !loader.reads_documents() {
        return Ok(());
    }
    let mut level = vec!["/".to_owned()];
    for _ in 0..=limits::GROUP_DEPTH {
        if level.is_empty() {
            break;
        }
        loader.enter(&level)?;
        level = next(loader, &level)?;
    }
    Ok(())
}

/// The arrays and groups that NCZarr names in a group. A document that cannot be read names none; reading it later
/// reports the error.
fn named(
    loader: &mut Loader<'_>,
    path: &str,
    generation: Option<Generation>,
) -> Option<(Vec<String>, Vec<String>)> {
    let mut document = |name: &str| loader.object(&document_key(path, name));
    if generation? == Generation::Objects {
        return match document(document::NCZGROUP) {
            Ok(info) => info.map(|info| inside(&info)),
            Err(_) => Some(Default::default()),
        };
    }
    let (Ok(zgroup), Ok(zattrs)) = (document(document::ZGROUP), document(document::ZATTRS)) else {
        return Some(Default::default());
    };
    nczarr_object("group", zattrs.as_deref(), zgroup.as_deref()).map(inside)
}

/// The paths of the objects that the store lists in groups.
fn list(loader: &mut Loader<'_>, groups: &[&str]) -> Result<Vec<String>, MetadataError> {
    let prefixes: Vec<&str> = groups.iter().map(|path| path.trim_matches('/')).collect();
    loader.list(&prefixes)?;
    let mut listed = Vec::new();
    for (path, prefix) in groups.iter().zip(prefixes) {
        let names = loader.children(prefix)?;
        listed.extend(below(path, names.into_iter().filter(|name| name != document::ZARR_JSON).collect()));
    }
    Ok(listed)
}

/// The paths of the names in a group; names that cannot be part of a key are left out.
fn below(group: &str, names: Vec<String>) -> impl Iterator<Item = String> {
    names
        .into_iter()
        .filter(|name| names::broken_key_rule(name).is_none())
        .map(move |name| join_path(group, &name))
}

fn keys<'p>(paths: impl IntoIterator<Item = &'p String>, documents: &[&str]) -> Vec<String> {
    let of_path = |path: &String| documents.iter().map(|name| document_key(path, name)).collect::<Vec<_>>();
    paths.into_iter().flat_map(of_path).collect()
}

fn is_missing(loader: &mut Loader<'_>, path: &str, document: &str) -> bool {
    matches!(loader.object(&document_key(path, document)), Ok(None))
}
