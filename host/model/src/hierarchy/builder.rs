//! Builds a new dataset.

use crate::json::Json;

use super::{
    Dimension, DimensionRef, Format, Group, Hierarchy, KeyEncoding, Order, ScalarForm, Separator, Sharding,
    Storage, Variable, VariableDocuments,
};
use crate::attribute::Attribute;
use crate::dtype::{ByteOrder, Dtype, NcType};
use crate::error::MetadataError;
use crate::fill::{FillText, FillValue, default_fill};
use crate::limits;
use crate::masked::is_same_number;
use crate::names::{self, join_path};
use crate::value::Value;

/// The fill value of a new variable.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum NewFill {
    /// netCDF's default for the type.
    #[default]
    Default,
    /// No fill value: `null`.
    None,
    /// This value, which is also set as the attribute `_FillValue`.
    Value(Value),
}

/// The definition of a new variable; unset properties have netCDF's defaults.
///
/// ```
/// use ncz_model::{Format, Hierarchy, NcType, VariableBuilder};
///
/// let mut dataset = Hierarchy::new(Format::NCZARR);
/// dataset.add_dimension("/", "x", 5, false)?;
/// dataset.add_variable("/", VariableBuilder::new("v", NcType::Int).dimensions(["x"]).chunks([2]))?;
/// assert_eq!(dataset.variable("/v")?.chunk_shape, [2]);
/// # Ok::<(), ncz_model::MetadataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct VariableBuilder {
    name: String,
    dtype: Option<Dtype>,
    nc_type: Option<NcType>,
    byte_order: ByteOrder,
    string_length: Option<usize>,
    dimensions: Vec<String>,
    chunks: Option<Vec<u64>>,
    fill: NewFill,
    order: Order,
    sharding: Option<Sharding>,
    separator: Option<Separator>,
    filters: Vec<Json>,
    storage: Storage,
    attributes: Vec<Attribute>,
}

impl VariableBuilder {
    /// Defines a variable of a netCDF type.
    #[must_use]
    pub fn new(name: impl Into<String>, nc_type: NcType) -> Self {
        Self {
            name: name.into(),
            dtype: None,
            nc_type: Some(nc_type),
            byte_order: ByteOrder::Little,
            string_length: None,
            dimensions: Vec::new(),
            chunks: None,
            fill: NewFill::Default,
            order: Order::C,
            sharding: None,
            separator: None,
            filters: Vec::new(),
            storage: Storage::Chunked,
            attributes: Vec::new(),
        }
    }

    /// Defines a variable of a Zarr dtype, which may be one that netCDF lacks. Its default fill value is zero.
    #[must_use]
    pub fn of_dtype(name: impl Into<String>, dtype: Dtype, nc_type: Option<NcType>) -> Self {
        let fill = if nc_type.is_some() { NewFill::Default } else { NewFill::None };
        Self { dtype: Some(dtype), nc_type, fill, ..Self::new(name, NcType::Byte) }
    }

    /// Sets the byte order of the stored elements; the default is little-endian.
    #[must_use]
    pub fn byte_order(mut self, order: ByteOrder) -> Self {
        self.byte_order = order;
        self
    }

    /// Sets the bytes of a stored string. The default is the attribute `_nczarr_maxstrlen` of the variable, else
    /// `_nczarr_default_maxstrlen` of the root group, else 128.
    #[must_use]
    pub fn string_length(mut self, length: usize) -> Self {
        self.string_length = Some(length);
        self
    }

    /// Sets the dimensions, outermost first: paths, or names that are looked up in the group and its enclosing groups.
    #[must_use]
    pub fn dimensions<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.dimensions = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the lengths of a chunk.
    #[must_use]
    pub fn chunks(mut self, lengths: impl Into<Vec<u64>>) -> Self {
        self.chunks = Some(lengths.into());
        self
    }

    /// Sets the fill value.
    #[must_use]
    pub fn fill(mut self, fill: NewFill) -> Self {
        self.fill = fill;
        self
    }

    /// Sets the order of the elements in a chunk; the default is C, which NCZarr of version 2 requires.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Groups chunks into shards; only in version 3.
    #[must_use]
    pub fn sharding(mut self, sharding: Sharding) -> Self {
        self.sharding = Some(sharding);
        self
    }

    /// Sets the separator of the chunk indices in a key; the default is a dot in version 2, a slash in version 3.
    #[must_use]
    pub fn separator(mut self, separator: Separator) -> Self {
        self.separator = Some(separator);
        self
    }

    /// Sets the chain as codec JSON, in the order of encoding.
    #[must_use]
    pub fn filters<T: Into<Json>>(mut self, filters: impl IntoIterator<Item = T>) -> Self {
        self.filters = filters.into_iter().map(Into::into).collect();
        self
    }

    /// Sets netCDF's storage class; the default is chunked.
    #[must_use]
    pub fn storage(mut self, storage: Storage) -> Self {
        self.storage = storage;
        self
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, attribute: Attribute) -> Self {
        self.attributes.push(attribute);
        self
    }
}

impl Hierarchy {
    /// Adds a group inside the group at `parent`.
    ///
    /// # Errors
    /// The name is not allowed or exists already, or there is no group at `parent`.
    pub fn add_group(&mut self, parent: &str, name: &str) -> Result<&mut Group, MetadataError> {
        names::check("group", name)?;
        let parent = self.group_mut(parent)?;
        let path = join_path(&parent.path, name);
        refuse_taken(parent, "group", name)?;
        parent.groups.push(Group::new(name.to_owned(), path));
        let at = parent.groups.len() - 1;
        Ok(&mut parent.groups[at])
    }

    /// Adds a dimension to the group at `group`.
    ///
    /// # Errors
    /// The name is not allowed or exists already, a fixed length is 0, or there is no such group.
    pub fn add_dimension(
        &mut self,
        group: &str,
        name: &str,
        len: u64,
        unlimited: bool,
    ) -> Result<DimensionRef, MetadataError> {
        names::check("dimension", name)?;
        let group = self.group_mut(group)?;
        let path = join_path(&group.path, name);
        if group.dimension(name).is_some() {
            return Err(MetadataError::Exists { kind: "dimension", path });
        }
        group.dimensions.push(Dimension { name: name.to_owned(), len, unlimited, anonymous: false });
        Ok(DimensionRef { group: group.path.clone(), name: name.to_owned() })
    }

    /// Adds a variable to the group at `group`.
    ///
    /// # Errors
    /// The name is not allowed or exists already; a dimension or the group does not exist; the chunks have another rank
    /// or a length of 0; the fill value has another type; or the order is not C in NCZarr of version 2.
    pub fn add_variable(
        &mut self,
        group: &str,
        new: VariableBuilder,
    ) -> Result<&mut Variable, MetadataError> {
        names::check("variable", &new.name)?;
        let group_path = self.group(group)?.path.clone();
        refuse_taken(self.group(group)?, "variable", &new.name)?;
        let path = join_path(&group_path, &new.name);
        let wrong =
            |reason: String| MetadataError::Definition { kind: "variable", path: path.clone(), reason };

        let mut dimensions = Vec::with_capacity(new.dimensions.len());
        let mut lens = Vec::with_capacity(new.dimensions.len());
        for name in &new.dimensions {
            let reference = self
                .resolve_dimension(&group_path, name)
                .ok_or_else(|| wrong(format!("its dimension {name:?} is not defined; define it first")))?;
            let dimension = self.dimension(&reference).map(|dimension| (dimension.len, dimension.unlimited));
            lens.push(dimension.unwrap_or_default());
            dimensions.push(reference);
        }
        if dimensions.len() > limits::RANK {
            return Err(wrong(format!(
                "it has {} dimensions, the limit is {}",
                dimensions.len(),
                limits::RANK
            )));
        }
        let dtype = match (new.dtype.clone(), new.nc_type) {
            (Some(dtype), _) => dtype,
            (None, Some(nc_type)) => {
                let length = if nc_type == NcType::String { self.string_length(&new)? } else { 0 };
                nc_type.dtype(new.byte_order, length)
            }
            (None, None) => return Err(wrong("it has no type".to_owned())),
        };
        let shape: Vec<u64> = lens.iter().map(|&(len, _)| len).collect();
        let scalar = shape.is_empty().then_some(if self.format == Format::NCZARR {
            ScalarForm::Rank1
        } else {
            ScalarForm::Rank0
        });
        let chunk_shape = match (new.chunks, new.storage) {
            (Some(chunks), Storage::Chunked) => chunks,
            (Some(chunks), storage) if chunks != shape => {
                return Err(wrong(format!(
                    "storage {:?} has one chunk of the whole shape, got {chunks:?}",
                    storage.name()
                )));
            }
            (_, Storage::Chunked) if dtype.is_variable_length() => default_chunks(&lens, STRING_LENGTH),
            (_, Storage::Chunked) => default_chunks(&lens, dtype.size()),
            _ => shape.iter().map(|&len| len.max(1)).collect(),
        };
        if chunk_shape.len() != shape.len() {
            return Err(wrong(format!(
                "its chunks have {} lengths, but its shape has {}",
                chunk_shape.len(),
                shape.len()
            )));
        }
        if chunk_shape.contains(&0) {
            return Err(wrong(format!(
                "chunk lengths {chunk_shape:?} contain 0; give each dimension at least 1"
            )));
        }
        if matches!(self.format, Format::Nczarr(_)) && new.order != Order::C && shape.len() > 1 {
            return Err(wrong(
                "netcdf-c reads every chunk in C order; leave the order out, or make a dataset of pure Zarr"
                    .to_owned(),
            ));
        }
        let text = FillText::of(self.format);
        let mut attributes: Vec<Attribute> = Vec::new();
        let given = new.attributes.iter().find(|attribute| attribute.name == "_FillValue");
        if let Some(Attribute { value: given, .. }) = given {
            let agrees = |value: &Value| {
                let is_number = given.nc_type() == value.nc_type() && given.len() == value.len();
                given == value || is_number && is_same_number(given, value)
            };
            if !matches!(&new.fill, NewFill::Value(value) if agrees(value)) {
                return Err(wrong(
                    "its attribute _FillValue differs from its fill value; set it as the fill value"
                        .to_owned(),
                ));
            }
        }
        let is_given = given.is_some();
        let fill = match (&new.fill, new.nc_type) {
            (NewFill::None, _) => None,
            (NewFill::Default, Some(nc_type)) => Some((default_fill(nc_type), false)),
            (NewFill::Default, None) => None,
            (NewFill::Value(value), _) => Some((value.clone(), true)),
        };
        let fill = match fill {
            None => None,
            Some((value, shown)) => {
                let fill =
                    FillValue::from_value(&value, &dtype, text).map_err(|error| wrong(error.to_string()))?;
                if shown && !is_given {
                    attributes.push(Attribute::new("_FillValue", value));
                }
                Some(fill)
            }
        };
        for attribute in new.attributes {
            crate::attribute::set(&mut attributes, attribute)?;
        }
        if let Some(sharding) = &new.sharding {
            let whole = sharding.shape.len() == chunk_shape.len()
                && sharding
                    .shape
                    .iter()
                    .zip(&chunk_shape)
                    .all(|(shard, chunk)| *shard > 0 && shard % chunk == 0);
            if !self.format.is_v3() {
                return Err(wrong(
                    "shards exist only in Zarr version 3; this dataset has version 2".to_owned(),
                ));
            }
            if !whole || shape.is_empty() {
                return Err(wrong(format!(
                    "its shards {:?} are not multiples of its chunks {chunk_shape:?}",
                    sharding.shape
                )));
            }
        }
        let (key_encoding, separator) = if self.format.is_v3() {
            (KeyEncoding::Default, Separator::Slash)
        } else {
            (KeyEncoding::V2, Separator::Dot)
        };
        let group = self.group_mut(&group_path)?;
        group.variables.push(Variable {
            name: new.name,
            key: path.trim_start_matches('/').to_owned(),
            path,
            dtype,
            nc_type: new.nc_type,
            user_type: None,
            shape,
            chunk_shape,
            scalar,
            dimensions,
            fill,
            sharding: new.sharding,
            order: new.order,
            key_encoding,
            separator: new.separator.unwrap_or(separator),
            filters: new.filters,
            storage: new.storage,
            attributes,
            documents: VariableDocuments::default(),
        });
        let at = group.variables.len() - 1;
        Ok(&mut group.variables[at])
    }
}

/// The default bytes of a string.
const STRING_LENGTH: usize = 128;

impl Hierarchy {
    /// Returns the bytes of the strings of a new variable.
    fn string_length(&self, new: &VariableBuilder) -> Result<usize, MetadataError> {
        let own = new.attributes.iter().find(|attribute| attribute.name == "_nczarr_maxstrlen");
        let default =
            self.root.attributes.iter().find(|attribute| attribute.name == "_nczarr_default_maxstrlen");
        let wrong =
            |reason: String| MetadataError::Definition { kind: "variable", path: new.name.clone(), reason };
        let said = match own.or(default.filter(|_| new.string_length.is_none())) {
            None => return Ok(new.string_length.unwrap_or(STRING_LENGTH)),
            Some(attribute) => attribute,
        };
        let length = said.value.as_integer().and_then(|length| usize::try_from(length).ok());
        let most = limits::ELEMENT_BYTES as usize;
        let length = length.filter(|length| said.value.len() == 1 && (1..=most).contains(length));
        let length = length.ok_or_else(|| {
            wrong(format!("the attribute {} is not a whole number from 1 to {most}", said.name))
        })?;
        match new.string_length {
            Some(other) if other != length => Err(wrong(format!(
                "its strings have {other} bytes, but its attribute _nczarr_maxstrlen is {length}; set only one of them"
            ))),
            _ => Ok(length),
        }
    }
}

/// Returns netCDF's chunk lengths for dimensions given as (length, unlimited) and an element size in bytes.
///
/// The target is 16 MiB. Unlimited dimensions get 1 (a single unlimited dimension 4096 bytes); the others share the
/// rest in proportion to their lengths, adjusted so that the last chunk wastes little. Each length is at least 1.
#[must_use]
pub fn default_chunks(dimensions: &[(u64, bool)], element_size: usize) -> Vec<u64> {
    const TARGET: f64 = 16_777_216.0;
    let size = element_size.max(1) as f64;
    if let [(_, true)] = dimensions {
        return vec![(4096 / element_size.max(1) as u64).max(1)];
    }
    let fixed = dimensions.iter().filter(|(_, unlimited)| !unlimited).count();
    if fixed == 0 {
        let each = (TARGET / size).powf(1.0 / dimensions.len().max(1) as f64);
        return dimensions.iter().map(|_| (each as u64).max(1)).collect();
    }
    let values: f64 =
        dimensions.iter().filter(|(_, unlimited)| !unlimited).map(|&(len, _)| len.max(1) as f64).product();
    let share = (TARGET / (values * size)).powf(1.0 / fixed as f64);
    dimensions
        .iter()
        .map(|&(len, unlimited)| match len {
            _ if unlimited => 1,
            0 => 1,
            _ => {
                let target = ((len as f64 * share - 0.5) as u64).clamp(1, len);
                len.div_ceil(len.div_ceil(target))
            }
        })
        .collect()
}

fn refuse_taken(group: &Group, kind: &'static str, name: &str) -> Result<(), MetadataError> {
    let taken = group.variables.iter().any(|variable| variable.name == name)
        || group.unreadable.iter().any(|variable| variable.name == name)
        || group.groups.iter().any(|child| child.name == name);
    if taken { Err(MetadataError::Exists { kind, path: join_path(&group.path, name) }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;

    #[test]
    fn default_chunks_are_those_of_netcdf() {
        assert_eq!(default_chunks(&[(5, true)], 8), [512]);
        assert_eq!(default_chunks(&[(3, true), (3, false)], 4), [1, 3]);
        assert_eq!(default_chunks(&[(2, false), (3, false), (6, false)], 2), [2, 3, 6]);
        assert_eq!(default_chunks(&[(0, false)], 4), [1]);
        assert_eq!(default_chunks(&[], 4), Vec::<u64>::new());
    }

    #[test]
    fn default_chunks_stay_near_their_target_for_absurd_lengths() {
        let chunks = default_chunks(&[(1 << 60, false), (1 << 60, false)], 8);
        let bytes = chunks.iter().map(|&len| len as f64).product::<f64>() * 8.0;
        assert!((1.0..=20e6).contains(&bytes), "{chunks:?}");
    }

    #[test]
    fn definitions_that_contradict_themselves_are_refused() {
        let mut dataset = Hierarchy::new(Format::NCZARR);
        dataset.add_dimension("/", "x", 5, false).unwrap();
        let variable = || VariableBuilder::new("v", NcType::Int).dimensions(["x"]);
        assert!(dataset.add_variable("/", variable().dimensions(["y"])).is_err());
        assert!(dataset.add_variable("/", variable().chunks([0])).is_err());
        assert!(dataset.add_variable("/", variable().chunks([1, 1])).is_err());
        assert!(dataset.add_variable("/", variable().fill(NewFill::Value(1.5f32.into()))).is_err());
        assert!(dataset.add_variable("/", variable().dimensions(["x", "x"]).order(Order::F)).is_err());
        dataset.add_variable("/", variable()).unwrap();
        assert!(matches!(dataset.add_variable("/", variable()), Err(MetadataError::Exists { .. })));
        assert!(matches!(dataset.add_group("/", "v"), Err(MetadataError::Exists { .. })));
        assert!(matches!(dataset.add_dimension("/", "x", 1, false), Err(MetadataError::Exists { .. })));
        assert!(matches!(dataset.add_group("/none", "g"), Err(MetadataError::NotFound { .. })));
    }

    #[test]
    fn strings_are_as_long_as_the_attributes_say() {
        let mut dataset = Hierarchy::new(Format::NCZARR);
        let string = || VariableBuilder::new("s", NcType::String);
        let own = |value: Value| string().attribute(Attribute::new("_nczarr_maxstrlen", value));
        let dtype = |dataset: &Hierarchy, new: VariableBuilder| {
            dataset.clone().add_variable("/", new).map(|variable| variable.dtype.text().to_owned())
        };
        assert_eq!(dtype(&dataset, string()).unwrap(), "|S128");
        dataset.root.set_attribute(Attribute::new("_nczarr_default_maxstrlen", 7)).unwrap();
        assert_eq!(dtype(&dataset, string()).unwrap(), "|S7");
        assert_eq!(dtype(&dataset, own(11i64.into())).unwrap(), "|S11");
        assert_eq!(dtype(&dataset, own(11i64.into()).string_length(11)).unwrap(), "|S11");
        assert_eq!(dtype(&dataset, string().string_length(3)).unwrap(), "|S3");
        for wrong in [own(0.into()), own("x".into()), own(vec![1, 2].into()), own(5.into()).string_length(6)]
        {
            dtype(&dataset, wrong).unwrap_err();
        }
        let number =
            VariableBuilder::new("i", NcType::Int).attribute(Attribute::new("_nczarr_maxstrlen", "x"));
        assert_eq!(dtype(&dataset, number).unwrap(), "<i4");
    }

    #[test]
    fn a_dimension_is_found_in_the_nearest_enclosing_group() {
        let mut dataset = Hierarchy::new(Format::NCZARR);
        dataset.add_group("/", "g").unwrap();
        dataset.add_group("/g", "h").unwrap();
        dataset.add_dimension("/", "x", 5, false).unwrap();
        dataset.add_dimension("/", "y", 7, false).unwrap();
        dataset.add_dimension("/g", "x", 6, false).unwrap();
        let shape = |dataset: &mut Hierarchy, name: &str, dimensions: [&str; 2]| {
            let new = VariableBuilder::new(name, NcType::Int).dimensions(dimensions);
            dataset.add_variable("/g/h", new).unwrap().shape.clone()
        };
        assert_eq!(shape(&mut dataset, "v", ["x", "y"]), [6, 7]);
        assert_eq!(shape(&mut dataset, "w", ["/x", "/g/x"]), [5, 6]);
    }
}
