//! Makes the hierarchy of a file.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ncz_model::json::Json;
use ncz_model::{
    Dtype, FillValue, Format, Group, Hdf5Properties, Hierarchy, KeyEncoding, NetcdfKind, Order, ScalarForm,
    Separator, Storage, Unreadable, Variable, VariableDocuments, VariableError, Warning, join_path, limits,
};
use ncz_registry::spec::generic;

use super::attributes;
use super::dimensions::{Dimensions, is_only_dimension, variable_name};
use super::names::{self, PROPERTIES, STRICT};
use super::types::{self, Element};
use super::user_types::UserTypes;
use super::walk::{Committed, Found, Node, Walked, walk};
use crate::classic::layout::Layout as Block;
use crate::hdf5::{
    Collections, Dataset, Dataspace, DatatypeMessage, File, Fill, Hdf5Error, Layout, Reference, before_nul,
};
use crate::user_elements::{Undecoded, decode_within};
use crate::user_layout::has_references;

/// The most memory of a fill value that refers to what is in a heap (1 MiB).
const FILL_MEMORY: u64 = 1 << 20;

/// The hierarchy of a file, and the descriptions of its variables by their paths.
#[derive(Debug)]
pub(crate) struct Mapped {
    pub(crate) hierarchy: Hierarchy,
    pub(crate) datasets: HashMap<String, Dataset>,
}

/// What is made from the groups of a file.
struct Builder {
    heaps: Collections,
    dimensions: Dimensions,
    warnings: Vec<Warning>,
    types: UserTypes,
    datasets: HashMap<String, Dataset>,
}

/// Reads all of a file but its data.
pub(crate) fn map(file: &Arc<File>) -> Result<Mapped, Hdf5Error> {
    let Walked { root, mut warnings, files } = walk(file)?;
    if file.is_open_for_writing {
        let text =
            "a program is writing the file, or was stopped while it wrote; it may change, or be damaged";
        warnings.push(Warning { at: "/".to_owned(), text: text.to_owned() });
    }
    let mut heaps = Collections::default();
    // What is damaged is reported where it is needed.
    for file in &files {
        if let Err(error) = heaps.fetch(file, references(file, &root))
            && error.is_of_store()
        {
            return Err(error);
        }
    }
    let mut dimensions = Dimensions::find(&root, &mut heaps)?;
    warnings.append(&mut dimensions.warnings);
    let is_strict = root.attributes.get(STRICT).is_some();
    let kind = if is_strict { NetcdfKind::Netcdf4Classic } else { NetcdfKind::Netcdf4 };
    let mut hierarchy = Hierarchy::new(Format::Netcdf(kind));
    let properties = root.attributes.get(PROPERTIES).map(attributes::text).filter(|text| !text.is_empty());
    hierarchy.nc_properties = properties.map(|text| String::from_utf8_lossy(text).into_owned());
    hierarchy.hdf5 = Some(Hdf5Properties {
        superblock: file.version,
        is_netcdf4: is_strict || hierarchy.nc_properties.is_some() || has_marks(&root),
    });
    hierarchy.xarray = false;
    let mut builder =
        Builder { heaps, dimensions, warnings, types: UserTypes::default(), datasets: HashMap::new() };
    hierarchy.root = builder.group(root)?;
    hierarchy.warnings = builder.warnings;
    Ok(Mapped { hierarchy, datasets: builder.datasets })
}

/// The references of all attributes into heaps of a file, so that their collections are read in one round.
fn references(file: &File, node: &Node) -> Vec<Reference> {
    let datasets = node.datasets.iter().filter_map(|found| found.dataset.as_ref().ok());
    let datasets = datasets.map(|dataset| (&dataset.file, &dataset.attributes));
    let own = std::iter::once((&node.file, &node.attributes)).chain(datasets);
    let own = own.filter(|(of, _)| of.id == file.id).map(|(_, attributes)| attributes);
    let own = own.flat_map(|attributes| &attributes.all).flat_map(|raw| attributes::references(file, raw));
    own.chain(node.groups.iter().flat_map(|group| references(file, group))).collect()
}

/// Whether an object has an attribute that netCDF-4 writes (`NC4_isnetcdf4` in netcdf-c).
fn has_marks(node: &Node) -> bool {
    let marks =
        [names::CLASS, names::DIMENSION_LIST, names::REFERENCE_LIST, names::DIMENSION_ID, names::COORDINATES];
    let marked = |dataset: &Dataset| marks.iter().any(|mark| dataset.attributes.get(mark).is_some());
    node.datasets.iter().any(|found| found.dataset.as_ref().is_ok_and(marked))
        || node.groups.iter().any(has_marks)
}

impl Builder {
    fn commit(&mut self, group: &str, committed: &Committed) {
        let (at, datatype) = ((&*committed.file, group), &committed.datatype);
        let added = self.types.commit(at, &committed.name, committed.identity, datatype);
        if let Err(reason) = added {
            let text = format!("a datatype that netCDF does not have: {reason}; it is not shown");
            self.warnings.push(Warning { at: join_path(group, &committed.name), text });
        }
    }

    fn group(&mut self, node: Node) -> Result<Group, Hdf5Error> {
        let mut group = Group::new(node.name, node.path);
        group.dimensions = self.dimensions.of_group(&group.path);
        let mut names = HashSet::new();
        // A dataset can come before its type in the order of names.
        for committed in &node.types {
            self.commit(&group.path, committed);
        }
        for (position, found) in node.datasets.into_iter().enumerate() {
            if let Ok(dataset) = &found.dataset
                && is_only_dimension(dataset)
            {
                let path = join_path(&group.path, &found.name);
                let lost = self.attributes(&dataset.file, &group.path, &path, &dataset.attributes)?;
                if !lost.is_empty() {
                    let names: Vec<&str> = lost.iter().map(|attribute| attribute.name.as_str()).collect();
                    let text = format!(
                        "its attributes {names:?} are left out: netCDF has none for a dimension without a variable"
                    );
                    self.warnings.push(Warning { at: path, text });
                }
                continue;
            }
            let name = variable_name(&found.name).to_owned();
            let path = join_path(&group.path, &name);
            if !names.insert(name.clone()) {
                let text = format!("the dataset {:?} is left out: another variable has its name", found.name);
                self.warnings.push(Warning { at: path, text });
                continue;
            }
            match self.variable(found, &group.path, &name, &path)? {
                Ok(variable) => group.variables.push(variable),
                Err(reason) => {
                    let reason = VariableError::InFile { reason };
                    group.unreadable.push(Unreadable { name, path, position, reason });
                }
            }
        }
        group.attributes = self.attributes(&node.file, &group.path, &group.path, &node.attributes)?;
        group.types = self.types.take(&group.path);
        for child in node.groups {
            let child = self.group(child)?;
            group.groups.push(child);
        }
        Ok(group)
    }

    fn attributes(
        &mut self,
        file: &File,
        group: &str,
        path: &str,
        all: &crate::hdf5::Attributes,
    ) -> Result<Vec<ncz_model::Attribute>, Hdf5Error> {
        attributes::shown(file, &mut self.heaps, path, all, (group, &mut self.types), &mut self.warnings)
    }

    /// Makes a variable; the inner error says why it cannot be read.
    fn variable(
        &mut self,
        found: Found,
        group: &str,
        name: &str,
        path: &str,
    ) -> Result<Result<Variable, String>, Hdf5Error> {
        let dataset = match found.dataset {
            Ok(dataset) => dataset,
            Err(reason) => return Ok(Err(reason)),
        };
        let user_type = self.types.of(
            (&dataset.file, group),
            &dataset.datatype,
            dataset.committed.map(|address| (dataset.file.id, address)),
        );
        let typed = user_type.and_then(|user| {
            let element = match (types::element(&dataset.datatype), &user) {
                (Err(_), Some(_)) => bytes_of(dataset.element)?,
                (element, _) => element?,
            };
            Ok((element, user))
        });
        let (Element { dtype, nc_type, note }, user_type) = match typed {
            Ok(typed) => typed,
            Err(reason) => return Ok(Err(format!("the type of its elements is not supported: {reason}"))),
        };
        let Dataspace::Simple { shape, .. } = &dataset.dataspace else {
            return Ok(Err("it is empty: it has a type, but neither a shape nor elements".to_owned()));
        };
        let dimensions = self.dimensions.of_variable(path);
        if dimensions.len() != shape.len() {
            return Ok(Err("its dimensions are not known".to_owned()));
        }
        let (chunk_shape, storage) = match chunks(&dataset, shape) {
            Ok(chunks) => chunks,
            Err(reason) => return Ok(Err(reason)),
        };
        let fill = match fill(&mut self.heaps, &dataset, &dtype)? {
            Ok(fill) => fill,
            Err(reason) => return Ok(Err(format!("its fill value cannot be read: {reason}"))),
        };
        if let Some(note) = note {
            self.warnings.push(Warning { at: path.to_owned(), text: format!("its type is {note}") });
        }
        let filters = dataset.filters.iter();
        let filters = filters.map(|filter| generic::codec_json(u32::from(filter.id), &filter.params));
        let variable = Variable {
            name: name.to_owned(),
            path: path.to_owned(),
            key: path.trim_start_matches('/').to_owned(),
            dtype,
            nc_type,
            user_type,
            shape: shape.clone(),
            chunk_shape,
            sharding: None,
            scalar: shape.is_empty().then_some(ScalarForm::Rank0),
            dimensions,
            fill,
            order: Order::C,
            key_encoding: KeyEncoding::V2,
            separator: Separator::Dot,
            filters: filters.map(Json::from).collect(),
            storage,
            attributes: self.attributes(&dataset.file, group, path, &dataset.attributes)?,
            documents: VariableDocuments::default(),
        };
        self.datasets.insert(path.to_owned(), dataset);
        Ok(Ok(variable))
    }
}

/// Elements of a user-defined type, as they are stored.
fn bytes_of(size: u64) -> Result<Element, String> {
    let dtype = Dtype::parse(&format!("|V{size}")).map_err(|error| error.to_string())?;
    Ok(Element { dtype, nc_type: None, note: None })
}

/// The lengths of a chunk, and how the variable is stored.
fn chunks(dataset: &Dataset, shape: &[u64]) -> Result<(Vec<u64>, Storage), String> {
    let too_large = || "its lengths do not fit 64 bits; the file is damaged".to_owned();
    let bytes = dataset.dataspace.elements().and_then(|elements| elements.checked_mul(dataset.element));
    let bytes = bytes.ok_or_else(too_large)?;
    match &dataset.layout {
        Layout::Compact(stored) => {
            if (stored.len() as u64) < bytes {
                return Err(format!("its header holds {} of its {bytes} bytes", stored.len()));
            }
            Ok((shape.iter().map(|len| (*len).max(1)).collect(), Storage::Compact))
        }
        Layout::Contiguous(_) => {
            let block = Block::block(0, shape, dataset.element).ok_or_else(too_large)?;
            Ok((block.chunk_shape, Storage::Contiguous))
        }
        Layout::Chunked { shape: chunk, element, .. } => {
            if *element != dataset.element {
                return Err(format!(
                    "its chunks have elements of {element} bytes, its type has {}; the file is damaged",
                    dataset.element
                ));
            }
            let bytes = ncz_model::product(chunk.iter().copied().chain([*element]));
            if bytes.is_none_or(|bytes| bytes > limits::CHUNK_BYTES) {
                return Err(format!("its chunks {chunk:?} are longer than 4 GiB"));
            }
            Ok((chunk.clone(), Storage::Chunked))
        }
    }
}

/// The value of elements that were never written.
fn fill(
    heaps: &mut Collections,
    dataset: &Dataset,
    dtype: &Dtype,
) -> Result<Result<Option<FillValue>, String>, Hdf5Error> {
    let bytes = match &dataset.fill {
        // netCDF calls both no fill value; what was never written reads as zeros.
        Fill::Undefined | Fill::Default => return Ok(Ok(None)),
        Fill::Value(address) if dtype.is_variable_length() => {
            return match string(dataset, heaps, address) {
                Ok(text) => {
                    Ok(FillValue::from_bytes(&text, dtype).map(Some).map_err(|error| error.to_string()))
                }
                Err(error) if error.is_of_store() => Err(error),
                Err(error) => Ok(Err(error.line())),
            };
        }
        Fill::Value(bytes) => bytes,
    };
    Ok(match FillValue::from_bytes(bytes, dtype) {
        // What cannot be decoded is an error where it is needed.
        Ok(fill) if has_references(&dataset.datatype) => {
            let row = decode_within(&dataset.file, heaps, &dataset.datatype, bytes, FILL_MEMORY);
            match row {
                Ok(row) => Ok(Some(fill.with_row(row))),
                Err(Undecoded::File(error)) if error.is_of_store() => return Err(error),
                Err(_) => Ok(Some(fill)),
            }
        }
        Ok(fill) => Ok(Some(fill)),
        // No fill value reads as zeros too.
        Err(_) if bytes.iter().all(|byte| *byte == 0) => Ok(None),
        Err(error) => Err(error.to_string()),
    })
}

/// The string in a fill value, or at its address in a heap.
fn string(dataset: &Dataset, heaps: &mut Collections, address: &[u8]) -> Result<Vec<u8>, Hdf5Error> {
    if let DatatypeMessage::FixedString { .. } = dataset.datatype {
        return Ok(before_nul(address).to_vec());
    }
    let file = &*dataset.file;
    let references = Reference::decode_all(file, address);
    let references = references.map_err(|error| file.error(error, "the fill value", 0))?;
    heaps.fetch(file, references.iter().copied())?;
    let text = references.first().map(|reference| heaps.get(file, *reference)).transpose()?;
    Ok(before_nul(text.unwrap_or_default()).to_vec())
}
