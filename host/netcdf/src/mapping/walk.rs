//! Walks all groups of a file.

use std::collections::{BTreeMap, BTreeSet};

use ncz_model::{Warning, join_path, limits};

use crate::hdf5::{Attributes, Dataset, File, Hdf5Error, Header, Target, links};

/// The most soft links on the way to one object.
const MOST_SOFT: usize = 16;

/// A group as it is in the file.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) attributes: Attributes,
    pub(super) datasets: Vec<Found>,
    pub(super) groups: Vec<Node>,
}

/// A dataset, or why it cannot be read.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) dataset: Result<Dataset, String>,
}

/// The state of a walk.
pub(super) struct Walk<'a> {
    file: &'a File,
    pub(super) warnings: Vec<Warning>,
    /// The groups that were visited, by address.
    visited: BTreeMap<u64, String>,
    members: usize,
    /// The bytes of the headers and attributes of all members together; an object with several names counts for each.
    bytes: u64,
}

/// The most bytes of headers and attributes (512 MiB).
const MOST_BYTES: u64 = 512 << 20;

/// Reads all groups and descriptions of datasets.
pub(super) fn walk(file: &File) -> Result<(Node, Vec<Warning>), Hdf5Error> {
    let mut walk = Walk { file, warnings: Vec::new(), visited: BTreeMap::new(), members: 0, bytes: 0 };
    let header = Header::read(file, file.root)?;
    walk.visited.insert(file.root, "/".to_owned());
    let root = walk.group(String::new(), "/".to_owned(), &header, 0)?;
    Ok((root, walk.warnings))
}

impl Walk<'_> {
    fn group(
        &mut self,
        name: String,
        path: String,
        header: &Header,
        depth: usize,
    ) -> Result<Node, Hdf5Error> {
        let mut node = Node { name, ..Node::default() };
        node.attributes = Attributes::read(self.file, header)?;
        let links = match links(self.file, header) {
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
            Target::Object(address) => self.file.offset(address),
            _ => None,
        });
        self.file.source.prefetch(objects, "the object headers of a group")?;
        for link in links {
            self.members += 1;
            if self.members > limits::MEMBERS {
                let error = format!("the file has more than {} objects", limits::MEMBERS);
                return Err(self.file.error(error.into(), "the group", header.address));
            }
            if matches!(link.name.as_str(), "" | "." | "..") || link.name.contains('/') {
                let text = format!("the link {:?} is left out: HDF5 does not allow this name", link.name);
                self.warn(&path, text);
                continue;
            }
            let at = join_path(&path, &link.name);
            let is_soft = matches!(link.target, Target::Path(_));
            let address = match link.target {
                Target::Object(address) => address,
                Target::Path(target) => match self.follow(&target, header.address, 0)? {
                    Some(address) => address,
                    None => {
                        self.warn(
                            &at,
                            format!("a soft link to {target:?}, which does not exist; it is left out"),
                        );
                        continue;
                    }
                },
                Target::External { file, path } => {
                    self.warn(&at, format!("a link to {path:?} of the file {file:?}; it is not followed"));
                    continue;
                }
                Target::Other(kind) => {
                    self.warn(&at, format!("a link of the type {kind}, which only its program can follow"));
                    continue;
                }
            };
            self.object(&mut node, link.name, at, address, (depth, is_soft))?;
        }
        node.path = path;
        Ok(node)
    }

    /// Adds the object at an address to a group.
    fn object(
        &mut self,
        node: &mut Node,
        name: String,
        at: String,
        address: u64,
        (depth, is_soft): (usize, bool),
    ) -> Result<(), Hdf5Error> {
        let header = match Header::read(self.file, address) {
            Err(error) if error.is_of_store() => return Err(error),
            Err(error) => {
                node.datasets.push(Found { name, dataset: Err(error.line()) });
                return Ok(());
            }
            Ok(header) => header,
        };
        self.bytes = self.bytes.saturating_add(header.len());
        if header.is_dataset() {
            let attributes = Attributes::read(self.file, &header);
            self.bytes = self.bytes.saturating_add(attributes.as_ref().map_or(0, Attributes::len));
            if self.bytes > MOST_BYTES {
                let error = format!(
                    "the headers and attributes of all its objects have more than {MOST_BYTES} bytes"
                );
                return Err(self.file.error(error.into(), "the group with the object", address));
            }
            let dataset = attributes.and_then(|attributes| Dataset::read(self.file, &header, attributes));
            let dataset = match dataset {
                Err(error) if error.is_of_store() => return Err(error),
                other => other.map_err(|error| error.line()),
            };
            node.datasets.push(Found { name, dataset });
        } else if header.is_group() {
            if let Some(first) = self.visited.get(&address) {
                let text = format!("another name of the group {first:?}, where its content is shown");
                self.warn(&at, text);
            } else if is_soft {
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
                self.visited.insert(address, at.clone());
                node.groups.push(self.group(name, at, &header, depth + 1)?);
            }
        } else {
            self.warn(&at, "a committed datatype, or an object of unknown kind; it is not shown".to_owned());
        }
        Ok(())
    }

    /// The address of the object at a path, relative to the group at `group`; `None` if there is none.
    fn follow(&mut self, path: &str, group: u64, depth: usize) -> Result<Option<u64>, Hdf5Error> {
        let mut address = if path.starts_with('/') { self.file.root } else { group };
        let mut seen = BTreeSet::new();
        for name in path.split('/').filter(|name| !name.is_empty() && *name != ".") {
            self.members += 1;
            if depth > MOST_SOFT || self.members > limits::MEMBERS || !seen.insert((address, name)) {
                return Ok(None);
            }
            let links = Header::read(self.file, address).and_then(|header| links(self.file, &header));
            let links = match links {
                Err(error) if error.is_of_store() => return Err(error),
                Err(_) => return Ok(None),
                Ok(links) => links,
            };
            match links.into_iter().find(|link| link.name == name).map(|link| link.target) {
                Some(Target::Object(target)) => address = target,
                Some(Target::Path(target)) => match self.follow(&target, address, depth + 1)? {
                    Some(target) => address = target,
                    None => return Ok(None),
                },
                _ => return Ok(None),
            }
        }
        Ok(Some(address))
    }

    fn warn(&mut self, at: &str, text: String) {
        self.warnings.push(Warning { at: at.to_owned(), text });
    }
}
