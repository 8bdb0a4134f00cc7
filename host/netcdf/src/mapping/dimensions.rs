//! The dimensions of a file: dimension scales, and those that netcdf-c makes up where there are none
//! (`libhdf5/hdf5open.c` of netcdf-c, `read_scale`, `rec_match_dimscales` and `create_phony_dims`).

use std::collections::{BTreeMap, HashMap};

use ncz_model::{Dimension, DimensionRef, Warning};

use super::attributes;
use super::names::{COORDINATES, DIMENSION_ID, DIMENSION_LIST, NAME, NON_COORDINATE, NOT_A_VARIABLE};
use super::walk::Node;
use crate::hdf5::{Collections, Dataset, Dataspace, Hdf5Error};

/// The dimensions of a file.
#[derive(Debug, Default)]
pub(super) struct Dimensions {
    all: Vec<Entry>,
    /// By the number of the file and the address of the header.
    by_address: HashMap<(usize, u64), usize>,
    by_id: BTreeMap<i64, usize>,
    /// The dimensions of a group that have, or once had, a length, and whether they are unlimited.
    by_length: HashMap<(String, u64, bool), Vec<usize>>,
    /// The dimensions of each variable, by its path.
    of_variables: HashMap<String, Vec<usize>>,
    next_id: i64,
    /// Scales that do not have the length of their axes.
    pub(super) warnings: Vec<Warning>,
}

#[derive(Debug)]
struct Entry {
    group: String,
    name: String,
    id: i64,
    len: u64,
    unlimited: bool,
    is_phony: bool,
}

/// Whether a dataset is a dimension, and not a variable.
pub(super) fn is_only_dimension(dataset: &Dataset) -> bool {
    attributes::is_scale(&dataset.attributes)
        && dataset
            .attributes
            .get(NAME)
            .is_some_and(|name| attributes::text(name).starts_with(NOT_A_VARIABLE.as_bytes()))
}

/// The name of a variable.
pub(super) fn variable_name(name: &str) -> &str {
    name.strip_prefix(NON_COORDINATE).unwrap_or(name)
}

impl Dimensions {
    /// Finds the dimensions of all variables below a group.
    pub(super) fn find(root: &Node, heaps: &mut Collections) -> Result<Self, Hdf5Error> {
        let mut dimensions = Self::default();
        dimensions.add_scales(root);
        dimensions.match_variables(root, heaps)?;
        Ok(dimensions)
    }

    /// The dimensions that a group defines, in the order of their numbers.
    pub(super) fn of_group(&self, group: &str) -> Vec<Dimension> {
        let mut own: Vec<&Entry> = self.all.iter().filter(|entry| entry.group == group).collect();
        own.sort_by_key(|entry| entry.id);
        own.into_iter()
            .map(|entry| Dimension {
                name: entry.name.clone(),
                len: entry.len,
                unlimited: entry.unlimited,
                anonymous: entry.is_phony,
            })
            .collect()
    }

    /// The dimensions of the variable at a path.
    pub(super) fn of_variable(&self, path: &str) -> Vec<DimensionRef> {
        let numbers = self.of_variables.get(path).map(Vec::as_slice).unwrap_or_default();
        let entries = numbers.iter().filter_map(|number| self.all.get(*number));
        entries.map(|entry| DimensionRef { group: entry.group.clone(), name: entry.name.clone() }).collect()
    }

    fn add(&mut self, entry: Entry, address: Option<(usize, u64)>) -> usize {
        let number = self.all.len();
        self.by_id.entry(entry.id).or_insert(number);
        self.next_id = self.next_id.max(entry.id.saturating_add(1));
        if let Some(address) = address {
            self.by_address.entry(address).or_insert(number);
        }
        self.by_length.entry((entry.group.clone(), entry.len, entry.unlimited)).or_default().push(number);
        self.all.push(entry);
        number
    }

    /// Makes an unlimited dimension at least so long.
    fn grow(&mut self, number: usize, len: u64) {
        if let Some(entry) = self.all.get_mut(number).filter(|entry| entry.unlimited && entry.len < len) {
            entry.len = len;
            self.by_length.entry((entry.group.clone(), len, true)).or_default().push(number);
        }
    }

    fn add_scales(&mut self, node: &Node) {
        for found in &node.datasets {
            let Ok(dataset) = &found.dataset else { continue };
            let Dataspace::Simple { shape, max } = &dataset.dataspace else { continue };
            let (Some(len), Some(max)) = (shape.first(), max.first()) else { continue };
            if !attributes::is_scale(&dataset.attributes) {
                continue;
            }
            // The numbers of another file are not those of this one.
            let id = dataset.attributes.get(DIMENSION_ID).filter(|_| dataset.file.id == 0);
            let id = id.and_then(attributes::integers);
            let id = id.and_then(|ids| ids.first().copied()).filter(|id| *id >= 0);
            let id = id.filter(|id| !self.by_id.contains_key(id)).unwrap_or(self.next_id);
            let entry = Entry {
                group: node.path.clone(),
                name: variable_name(&found.name).to_owned(),
                id,
                len: *len,
                unlimited: max.is_none() || *len == 0,
                is_phony: false,
            };
            self.add(entry, Some((dataset.file.id, dataset.address)));
        }
        node.groups.iter().for_each(|group| self.add_scales(group));
    }

    /// Finds the dimensions of variables; inner groups are done first.
    fn match_variables(&mut self, node: &Node, heaps: &mut Collections) -> Result<(), Hdf5Error> {
        for group in &node.groups {
            self.match_variables(group, heaps)?;
        }
        for found in &node.datasets {
            let Ok(dataset) = &found.dataset else { continue };
            if is_only_dimension(dataset) {
                continue;
            }
            let Dataspace::Simple { shape, max } = &dataset.dataspace else { continue };
            let mut own = self.named(dataset, heaps)?;
            own.resize(shape.len(), None);
            let mut numbers: Vec<usize> = Vec::new();
            let path = ncz_model::join_path(&node.path, variable_name(&found.name));
            for ((named, len), max) in own.into_iter().zip(shape).zip(max) {
                let number = match named.filter(|number| self.fits(*number, *len, &path)) {
                    Some(number) => number,
                    // As netcdf-c: the length 0 means an unlimited dimension.
                    None => self.phony(&node.path, *len, max.is_none() || *len == 0, &numbers),
                };
                self.grow(number, *len);
                numbers.push(number);
            }
            self.of_variables.insert(path, numbers);
        }
        Ok(())
    }

    /// Whether a dimension can be that of an axis of this length; HDF5 does not check it.
    fn fits(&mut self, number: usize, len: u64, path: &str) -> bool {
        let Some(entry) = self.all.get(number) else { return false };
        let fits = entry.unlimited || entry.len == len;
        if !fits {
            let text = format!(
                "a dimension of length {len} has the scale {:?} of length {}; it is shown without that scale",
                entry.name, entry.len
            );
            self.warnings.push(Warning { at: path.to_owned(), text });
        }
        fits
    }

    /// The dimensions of a variable that the file names.
    fn named(&self, dataset: &Dataset, heaps: &mut Collections) -> Result<Vec<Option<usize>>, Hdf5Error> {
        let rank = dataset.dataspace.shape().len();
        let file = &*dataset.file;
        let ids = dataset.attributes.get(COORDINATES).filter(|_| file.id == 0);
        let ids = ids.and_then(attributes::integers);
        if let Some(ids) = ids.filter(|ids| ids.len() == rank) {
            let numbers = ids.iter().map(|id| self.by_id.get(id).copied());
            if let Some(numbers) = numbers.collect::<Option<Vec<_>>>() {
                return Ok(numbers.into_iter().map(Some).collect());
            }
        }
        if let Some(own) = self.by_address.get(&(file.id, dataset.address)) {
            let mut numbers = vec![None; rank];
            if let Some(first) = numbers.first_mut() {
                *first = Some(*own);
            }
            return Ok(numbers);
        }
        let Some(list) = dataset.attributes.get(DIMENSION_LIST) else { return Ok(Vec::new()) };
        let rows = attributes::references(file, list);
        let fetched = heaps.fetch(file, rows.iter().copied());
        if let Err(error) = fetched {
            // A damaged list leaves the axes without names.
            return if error.is_of_store() { Err(error) } else { Ok(Vec::new()) };
        }
        let numbers = rows.into_iter().map(|row| {
            let address = heaps.get(file, row).ok().and_then(|row| file.cursor(row).address().ok().flatten());
            address.and_then(|address| self.by_address.get(&(file.id, address)).copied())
        });
        Ok(numbers.collect())
    }

    /// A dimension of this group with this length that the variable does not use yet; a new one if there is none.
    fn phony(&mut self, group: &str, len: u64, unlimited: bool, used: &[usize]) -> usize {
        let candidates = self.by_length.get(&(group.to_owned(), len, unlimited));
        let fits = |number: &usize| {
            !used.contains(number) && self.all.get(*number).is_some_and(|entry| entry.len == len)
        };
        if let Some(number) = candidates.into_iter().flatten().copied().filter(fits).min() {
            return number;
        }
        let id = self.next_id;
        let name = format!("phony_dim_{id}");
        self.add(Entry { group: group.to_owned(), name, id, len, unlimited, is_phony: true }, None)
    }
}
