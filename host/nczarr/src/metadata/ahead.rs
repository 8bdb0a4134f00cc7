//! Asking for the documents of a dataset before they are looked at: level by level, all of a level together. So the
//! depth of a dataset costs round trips, the number of its variables does not.

use super::loader::Loader;
use super::read::{inside, nczarr_object};
use super::v3;
use crate::error::NczarrError;
use crate::limits;
use crate::model::{Generation, document_key, join_path, names};

/// Asks for the documents of version 2 below the root, whose own were read.
pub(super) fn version2(loader: &mut Loader<'_>, generation: Option<Generation>) -> Result<(), NczarrError> {
    let objects = generation == Some(Generation::Objects);
    if objects {
        loader.ask_needed([".nczgroup", ".nczattr"])?;
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
        let mut wanted: Vec<String> = keys(all, &[".zarray", ".zattrs"]);
        wanted.extend(keys(&groups, &[".zgroup", ".zattrs"]));
        if objects {
            wanted.extend(keys(&arrays, &[".nczvar", ".nczattr"]));
            wanted.extend(keys(&groups, &[".nczgroup", ".nczattr"]));
        }
        loader.ask_needed(wanted)?;
        if objects {
            let other = |loader: &mut Loader<'_>, path: &String, name: &str, other: &str| {
                is_missing(loader, path, name).then(|| document_key(path, other))
            };
            let mut wanted = Vec::new();
            for path in arrays.iter().chain(&groups) {
                wanted.extend(other(loader, path, ".nczattr", ".nczattrs"));
            }
            for path in &arrays {
                wanted.extend(other(loader, path, ".nczvar", ".nczarray"));
            }
            loader.ask_needed(wanted)?;
        }
        // What was listed and is no array may be a group; what is neither may be of the other version.
        let mut rest: Vec<String> = listed;
        rest.retain(|path| is_missing(loader, path, ".zarray"));
        loader.ask_needed(keys(&rest, &[".zgroup"]))?;
        let (strange, inner): (Vec<String>, Vec<String>) =
            rest.into_iter().partition(|path| is_missing(loader, path, ".zgroup"));
        loader.ask_needed(keys(&strange, &[v3::DOCUMENT]))?;
        groups.retain(|path| {
            let own: &[&str] =
                if objects { &[".zgroup", ".zattrs", ".nczgroup"] } else { &[".zgroup", ".zattrs"] };
            own.iter().any(|name| !is_missing(loader, path, name))
        });
        groups.extend(inner);
        Ok(groups)
    })
}

/// Asks for the documents of version 3 below the root, whose own was read.
pub(super) fn version3(loader: &mut Loader<'_>, draft: bool) -> Result<(), NczarrError> {
    descend(loader, |loader, level| {
        let (mut nodes, mut unnamed) = (Vec::new(), Vec::new());
        for path in level {
            let node = loader.object(&document_key(path, v3::DOCUMENT)).ok().flatten();
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
        loader.ask_needed(keys(&nodes, &[v3::DOCUMENT]))?;
        let mut strange: Vec<&String> = listed.iter().collect();
        strange.retain(|path| is_missing(loader, path, v3::DOCUMENT));
        loader.ask_needed(keys(strange, &[".zarray", ".zgroup"]))?;
        nodes.retain(|path| {
            let node = loader.object(&document_key(path, v3::DOCUMENT)).ok().flatten();
            node.is_some_and(|node| v3::is_group(&node))
        });
        Ok(nodes)
    })
}

/// From level to level; `next` asks for what is in the groups of one, and gives the groups of the next.
fn descend(
    loader: &mut Loader<'_>,
    next: impl Fn(&mut Loader<'_>, &[String]) -> Result<Vec<String>, NczarrError>,
) -> Result<(), NczarrError> {
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

/// The arrays and groups that NCZarr names in a group. What cannot be read names none; reading it tells why.
fn named(
    loader: &mut Loader<'_>,
    path: &str,
    generation: Option<Generation>,
) -> Option<(Vec<String>, Vec<String>)> {
    let mut document = |name: &str| loader.object(&document_key(path, name));
    if generation? == Generation::Objects {
        return match document(".nczgroup") {
            Ok(info) => info.map(|info| inside(&info)),
            Err(_) => Some(Default::default()),
        };
    }
    let (Ok(zgroup), Ok(zattrs)) = (document(".zgroup"), document(".zattrs")) else {
        return Some(Default::default());
    };
    nczarr_object("group", zattrs.as_deref(), zgroup.as_deref()).map(inside)
}

/// The paths of what the store lists in groups.
fn list(loader: &mut Loader<'_>, groups: &[&str]) -> Result<Vec<String>, NczarrError> {
    let prefixes: Vec<&str> = groups.iter().map(|path| path.trim_matches('/')).collect();
    loader.list(&prefixes)?;
    let mut listed = Vec::new();
    for (path, prefix) in groups.iter().zip(prefixes) {
        let names = loader.children(prefix)?;
        listed.extend(below(path, names.into_iter().filter(|name| name != v3::DOCUMENT).collect()));
    }
    Ok(listed)
}

/// The paths of what is in a group; names that cannot be part of a key are left out.
fn below(group: &str, names: Vec<String>) -> impl Iterator<Item = String> {
    names.into_iter().filter(|name| names::key_fault(name).is_none()).map(move |name| join_path(group, &name))
}

fn keys<'p>(paths: impl IntoIterator<Item = &'p String>, documents: &[&str]) -> Vec<String> {
    let of_path = |path: &String| documents.iter().map(|name| document_key(path, name)).collect::<Vec<_>>();
    paths.into_iter().flat_map(of_path).collect()
}

fn is_missing(loader: &mut Loader<'_>, path: &str, document: &str) -> bool {
    matches!(loader.object(&document_key(path, document)), Ok(None))
}
