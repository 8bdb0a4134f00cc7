//! Walks all groups of a file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ncz_model::{Warning, join_path, limits};

use super::linked_files::LinkedFiles;
use crate::hdf5::{Attributes, Dataset, DatatypeMessage, File, Hdf5Error, Header, Target, committed, links};

/// The most soft links on the way to one object.
const MOST_SOFT: usize = 16;

/// A group as it is in the file.
#[derive(Debug)]
pub(super) struct Node {
    /// The file that holds it.
    pub(super) file: Arc<File>,
    pub(super) name: String,
    pub(super) path: String,
    pub(super) attributes: Attributes,
    pub(super) types: Vec<Committed>,
    pub(super) datasets: Vec<Found>,
    pub(super) groups: Vec<Node>,
}

/// A committed datatype.
#[derive(Debug)]
pub(super) struct Committed {
    pub(super) name: String,
    pub(super) file: Arc<File>,
    pub(super) identity: Identity,
    pub(super) datatype: DatatypeMessage,
}

/// A dataset, or why it cannot be read.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) dataset: Result<Dataset, String>,
}

/// What a walk found.
pub(super) struct Walked {
    pub(super) root: Node,
    pub(super) warnings: Vec<Warning>,
    /// The file, and those that its external links lead to.
    pub(super) files: Vec<Arc<File>>,
}

/// The number of a file, and the address of an object in it.
pub(super) type Identity = (usize, u64);

/// The state of a walk.
struct Walk {
    files: LinkedFiles,
    warnings: Vec<Warning>,
    /// The groups that were visited.
    visited: BTreeMap<Identity, String>,
    /// The links of groups through which links lead, by name.
    names: HashMap<Identity, HashMap<String, Target>>,
    /// The links in `names`.
    named: usize,
    members: usize,
    /// The bytes of the headers and attributes of all members together; an object with several names counts for each.
    bytes: u64,
}

/// The most bytes of headers and attributes (512 MiB).
const MOST_BYTES: u64 = 512 << 20;

/// Reads all groups and descriptions of datasets.
pub(super) fn walk(file: &Arc<File>) -> Result<Walked, Hdf5Error> {
    let mut walk = Walk {
        files: LinkedFiles::new(file),
        warnings: Vec::new(),
        visited: BTreeMap::new(),
        names: HashMap::new(),
        named: 0,
        members: 0,
        bytes: 0,
    };
    let header = Header::read(file, file.root)?;
    walk.visited.insert((file.id, file.root), "/".to_owned());
    let root = walk.group(file, String::new(), "/".to_owned(), &header, 0)?;
    Ok(Walked { root, warnings: walk.warnings, files: walk.files.into_opened() })
}

impl Walk {
    fn group(
        &mut self,
        file: &Arc<File>,
        name: String,
        path: String,
        header: &Header,
        depth: usize,
    ) -> Result<Node, Hdf5Error> {
        let attributes = Attributes::read(file, header)?;
        let (types, datasets, groups) = (Vec::new(), Vec::new(), Vec::new());
        let mut node =
            Node { file: Arc::clone(file), name, path: path.clone(), attributes, types, datasets, groups };
        let links = match links(file, header) {
            Ok(links) => links,
            Err(error) if error.is_of_store() || depth == 0 => return Err(error),
            Err(error) => {
                self.warn(
                    &path,
                    format!("its content cannot be listed, so that it is not read: {}", error.line()),
                );
                Vec::new()
            }
        };
        let objects = links.iter().filter_map(|link| match link.target {
            Target::Object(address) => file.offset(address),
            _ => None,
        });
        file.source.prefetch(objects, "the object headers of a group")?;
        for link in links {
            self.members += 1;
            if self.members > limits::MEMBERS {
                let error = format!("the file has more than {} objects", limits::MEMBERS);
                return Err(file.error(error.into(), "the group", header.address));
            }
            if matches!(link.name.as_str(), "" | "." | "..") || link.name.contains('/') {
                let text = format!("the link {:?} is left out: HDF5 does not allow this name", link.name);
                self.warn(&path, text);
                continue;
            }
            let at = join_path(&path, &link.name);
            let is_soft = matches!(link.target, Target::Path(_));
            let (to, address) = match self.target(file, header.address, link.target, 0)? {
                Ok(found) => found,
                Err(reason) => {
                    self.warn(&at, reason);
                    continue;
                }
            };
            // The group has its own name in this file, but not in another one.
            let is_alias = is_soft && to.id == 0;
            self.object(&mut node, link.name, at, (&to, address), (depth, is_alias))?;
        }
        Ok(node)
    }

    /// Adds the object at an address to a group.
    fn object(
        &mut self,
        node: &mut Node,
        name: String,
        at: String,
        (file, address): (&Arc<File>, u64),
        (depth, is_alias): (usize, bool),
    ) -> Result<(), Hdf5Error> {
        let header = match Header::read(file, address) {
            Err(error) if error.is_of_store() => return Err(error),
            Err(error) => {
                node.datasets.push(Found { name, dataset: Err(error.line()) });
                return Ok(());
            }
            Ok(header) => header,
        };
        self.bytes = self.bytes.saturating_add(header.len());
        if header.is_dataset() {
            let attributes = Attributes::read(file, &header);
            self.bytes = self.bytes.saturating_add(attributes.as_ref().map_or(0, Attributes::len));
            if self.bytes > MOST_BYTES {
                let error = format!(
                    "the headers and attributes of all its objects have more than {MOST_BYTES} bytes"
                );
                return Err(file.error(error.into(), "the group with the object", address));
            }
            let dataset = attributes.and_then(|attributes| Dataset::read(file, &header, attributes));
            let dataset = match dataset {
                Err(error) if error.is_of_store() => return Err(error),
                other => other.map_err(|error| error.line()),
            };
            node.datasets.push(Found { name, dataset });
        } else if header.is_group() {
            if let Some(first) = self.visited.get(&(file.id, address)) {
                let text = format!("another name of the group {first:?}, where its content is shown");
                self.warn(&at, text);
            } else if is_alias {
                // Soft links are not needed to reach a group: each has a hard link from another one.
                self.warn(
                    &at,
                    "a soft link to a group, whose content is shown only under its own name".to_owned(),
                );
            } else if depth >= limits::GROUP_DEPTH {
                self.warn(
                    &at,
                    format!("groups are nested deeper than {}; it is left out", limits::GROUP_DEPTH),
                );
            } else {
                self.visited.insert((file.id, address), at.clone());
                node.groups.push(self.group(file, name, at, &header, depth + 1)?);
            }
        } else {
            match committed(file, &header) {
                Ok(Some(datatype)) => {
                    let (file, identity) = (Arc::clone(file), (file.id, address));
                    node.types.push(Committed { name, file, identity, datatype });
                }
                Ok(None) => self.warn(&at, "an object of unknown kind; it is not shown".to_owned()),
                Err(error) if error.is_of_store() => return Err(error),
                Err(error) => self.warn(&at, format!("a datatype that cannot be read: {}", error.line())),
            }
        }
        Ok(())
    }

    /// The object that a link of the group at an address leads to. The inner error says why there is none.
    fn target(
        &mut self,
        file: &Arc<File>,
        group: u64,
        target: Target,
        depth: usize,
    ) -> Result<Result<(Arc<File>, u64), String>, Hdf5Error> {
        Ok(match target {
            Target::Object(address) => Ok((Arc::clone(file), address)),
            Target::Path(path) => {
                let found = self.follow(file, group, &path, depth)?;
                found.ok_or_else(|| format!("a soft link to {path:?}, which does not exist; it is left out"))
            }
            Target::External { file: name, path } => {
                match self.files.open(file, &name)? {
                    Err(reason) => Err(format!(
                        "a link to {path:?} of the file {name:?}, which is not followed: {reason}"
                    )),
                    Ok(other) => {
                        let found = self.follow(&other, other.root, &path, depth)?;
                        found.ok_or_else(|| {
                        format!("a link to {path:?} of the file {name:?}, which does not have it; it is left out")
                    })
                    }
                }
            }
            Target::Other(kind) => {
                Err(format!("a link of the type {kind}, which only its program can follow"))
            }
        })
    }

    /// The object at a path, relative to the group at an address; `None` if there is none.
    fn follow(
        &mut self,
        file: &Arc<File>,
        group: u64,
        path: &str,
        depth: usize,
    ) -> Result<Option<(Arc<File>, u64)>, Hdf5Error> {
        let start = if path.starts_with('/') { file.root } else { group };
        let mut at = (Arc::clone(file), start);
        let mut seen = BTreeSet::new();
        for name in path.split('/').filter(|name| !name.is_empty() && *name != ".") {
            self.members += 1;
            let is_new = seen.insert((at.0.id, at.1, name));
            if depth > MOST_SOFT || self.members > limits::MEMBERS || !is_new {
                return Ok(None);
            }
            let Some(target) = self.named(&at.0, at.1, name)? else { return Ok(None) };
            match self.target(&at.0, at.1, target, depth + 1)? {
                Ok(found) => at = found,
                Err(_) => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// The target of the link with this name in the group at an address. The links of a group are kept, because many
    /// links lead through the same groups.
    fn named(&mut self, file: &File, group: u64, name: &str) -> Result<Option<Target>, Hdf5Error> {
        if let Some(links) = self.names.get(&(file.id, group)) {
            return Ok(links.get(name).cloned());
        }
        let found = Header::read(file, group).and_then(|header| links(file, &header));
        let found = match found {
            Err(error) if error.is_of_store() => return Err(error),
            Err(_) => Vec::new(),
            Ok(found) => found,
        };
        let found: HashMap<String, Target> = found.into_iter().map(|link| (link.name, link.target)).collect();
        let target = found.get(name).cloned();
        if self.named.saturating_add(found.len()) > limits::MEMBERS {
            self.names.clear();
            self.named = 0;
        }
        self.named += found.len();
        self.names.insert((file.id, group), found);
        Ok(target)
    }

    fn warn(&mut self, at: &str, text: String) {
        self.warnings.push(Warning { at: at.to_owned(), text });
    }
}
