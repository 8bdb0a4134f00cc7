//! Variables: arrays with named dimensions.

use std::sync::Arc;

use ncz_registry::spec::{ChainSpec, SpecError};

use super::{DimensionRef, document_key};
use crate::attribute::Attribute;
use crate::dtype::{ByteOrder, Dtype, NcType};
use crate::error::MetadataError;
use crate::fill::FillValue;
use crate::format::Format;
use crate::json::{Json, Map, to_values};
use crate::user_type::UserType;

/// An array of a dataset that can be read.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name within its group.
    pub name: String,
    /// The path, such as `/g1/q`.
    pub path: String,
    /// The prefix of its keys in the store, without slashes at the ends; empty for an array at the root of a store.
    pub key: String,
    /// Type of an element as stored.
    pub dtype: Dtype,
    /// The netCDF type; `None` if netCDF has none for the dtype.
    pub nc_type: Option<NcType>,
    /// The user-defined type. `nc_type` of an enumeration is the type of its integers; that of other types is `None`.
    pub user_type: Option<Arc<UserType>>,
    /// Lengths of the stored array; empty for scalars. [`Hierarchy::shape_of`](super::Hierarchy::shape_of) gives what
    /// netCDF shows.
    pub shape: Vec<u64>,
    /// Lengths of a chunk, which the codecs encode; of the same rank as the shape, each at least 1.
    pub chunk_shape: Vec<u64>,
    /// How chunks are grouped into shards; `None` if each chunk is an object.
    pub sharding: Option<Sharding>,
    /// How a scalar is stored; `None` for arrays that have dimensions.
    pub scalar: Option<ScalarForm>,
    /// The dimensions, outermost first.
    pub dimensions: Vec<DimensionRef>,
    /// The fill value; `None` is Zarr's `null`, which reads as zeros.
    pub fill: Option<FillValue>,
    /// Order of the elements in a chunk.
    pub order: Order,
    /// How the key of a chunk or shard begins.
    pub key_encoding: KeyEncoding,
    /// The separator of the chunk indices in a key.
    pub separator: Separator,
    /// The chain of a chunk as codec JSON, in the order of encoding. In version 2: `filters`, then `compressor`,
    /// without `vlen-utf8` and `vlen-bytes`, which follow from the dtype. In version 3: the codecs without `transpose`,
    /// `bytes`, `vlen-utf8`, `vlen-bytes` and `sharding_indexed`, which follow from the order, the dtype and the
    /// sharding.
    pub filters: Vec<Json>,
    /// netCDF's storage class.
    pub storage: Storage,
    /// Attributes, without those that carry metadata (`_ARRAY_DIMENSIONS`, `_nczarr_*`).
    pub attributes: Vec<Attribute>,
    /// The documents that the variable was read from; empty for a new variable.
    pub documents: VariableDocuments,
}

/// The documents of a variable as they were read: in order, with the original text of numbers and with unknown keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VariableDocuments {
    /// `.zarray`
    pub zarray: Option<Arc<Map>>,
    /// `.zattrs`
    pub zattrs: Option<Arc<Map>>,
    /// `zarr.json` of version 3, which includes the attributes
    pub zarr_json: Option<Arc<Map>>,
}

/// Order of the elements in a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// The last dimension changes fastest.
    #[default]
    C,
    /// The first dimension changes fastest.
    F,
    /// The dimensions from the slowest-changing to the fastest-changing, as in the `order` of version 3's `transpose`:
    /// a permutation of `0..rank` that is neither of the above.
    Axes(Vec<usize>),
}

impl Order {
    /// Returns the order of a permutation: C or F if it is one of them.
    #[must_use]
    pub fn from_axes(axes: Vec<usize>) -> Self {
        if axes.iter().copied().eq(0..axes.len()) {
            Self::C
        } else if axes.iter().copied().eq((0..axes.len()).rev()) {
            Self::F
        } else {
            Self::Axes(axes)
        }
    }

    /// The dimensions of an array of this rank, from the slowest-changing to the fastest-changing.
    #[must_use]
    pub fn axes(&self, rank: usize) -> Vec<usize> {
        match self {
            Self::C => (0..rank).collect(),
            Self::F => (0..rank).rev().collect(),
            Self::Axes(axes) => axes.clone(),
        }
    }
}

/// The encoding of chunk keys (Zarr v3 core, "Chunk key encoding").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum KeyEncoding {
    /// `v/0.1`, for a scalar `v/0`; the only encoding of version 2.
    #[default]
    V2,
    /// `v/c/0/1`, for a scalar `v/c`.
    Default,
}

/// The grouping of chunks into one object, a shard, with an index at its start or end (Zarr v3, `sharding_indexed`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharding {
    /// Lengths of a shard: multiples of those of a chunk.
    pub shape: Vec<u64>,
    /// Byte order of the index's 64-bit numbers.
    pub index_order: ByteOrder,
    /// Whether a CRC-32C follows the index.
    pub index_checksum: bool,
    /// Whether the index is at the end of the shard, else at the start.
    pub index_at_end: bool,
}

impl Sharding {
    /// Shards of this shape with the usual index: little-endian, with checksum, at the end.
    #[must_use]
    pub fn new(shape: impl Into<Vec<u64>>) -> Self {
        Self { shape: shape.into(), index_order: ByteOrder::Little, index_checksum: true, index_at_end: true }
    }
}

/// The separator of the chunk indices in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Separator {
    /// `v/0.1`
    #[default]
    Dot,
    /// `v/0/1`
    Slash,
}

impl Separator {
    /// The separator as a character.
    #[must_use]
    pub fn as_char(self) -> char {
        match self {
            Self::Dot => '.',
            Self::Slash => '/',
        }
    }
}

/// netCDF's storage classes. All except the first have one chunk of the whole shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Storage {
    /// Chunks of the user's choice.
    #[default]
    Chunked,
    /// One block.
    Contiguous,
    /// One small block.
    Compact,
    /// A scalar.
    Scalar,
}

impl Storage {
    /// The name in the metadata.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chunked => "chunked",
            Self::Contiguous => "contiguous",
            Self::Compact => "compact",
            Self::Scalar => "scalar",
        }
    }
}

/// The shape of a scalar's stored array. Its single chunk has the key `0` in both forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarForm {
    /// `"shape": []`, as in pure Zarr.
    Rank0,
    /// `"shape": [1]`, as in NCZarr.
    Rank1,
}

impl Variable {
    /// The attribute of this name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Sets an attribute. An existing attribute of that name is replaced at its position.
    ///
    /// # Errors
    /// [`MetadataError::Name`] if netCDF or NCZarr reserves the name.
    pub fn set_attribute(&mut self, attribute: Attribute) -> Result<(), MetadataError> {
        crate::attribute::set(&mut self.attributes, attribute)
    }

    /// Whether its values are opaque, compounds or rows of any length, which are read as [`UserArray`](crate::UserArray).
    #[must_use]
    pub fn is_structured(&self) -> bool {
        self.user_type.as_ref().is_some_and(|user| !user.is_enum())
    }

    /// The netCDF type.
    ///
    /// # Errors
    /// [`MetadataError::NotNetcdfType`] if netCDF has no type for the dtype.
    pub fn netcdf_type(&self) -> Result<NcType, MetadataError> {
        self.nc_type.ok_or_else(|| MetadataError::NotNetcdfType {
            path: self.path.clone(),
            dtype: self.dtype.text().to_owned(),
        })
    }

    /// Returns its codecs, in the dialect of `format`.
    ///
    /// # Errors
    /// The JSON does not name codecs.
    pub fn chain_spec(&self, format: Format) -> Result<ChainSpec, SpecError> {
        ChainSpec::from_json(format.dialect(), &to_values(&self.filters))
    }

    /// One element of fill in the stored byte order, [`Dtype::size`] bytes: that of [`Dtype::no_fill`] if there is no fill
    /// value.
    #[must_use]
    pub fn fill_bytes(&self) -> Vec<u8> {
        match &self.fill {
            Some(fill) => fill.bytes().to_vec(),
            None => self.dtype.no_fill(),
        }
    }

    /// The shape in `.zarray`, which codecs are bound to: `[1]` for scalars in NCZarr's form.
    #[must_use]
    pub fn stored_shape(&self) -> Vec<u64> {
        match self.scalar {
            Some(ScalarForm::Rank1) => vec![1],
            _ => self.shape.clone(),
        }
    }

    /// The chunk shape in `.zarray`: `[1]` for scalars in NCZarr's form.
    #[must_use]
    pub fn stored_chunk_shape(&self) -> Vec<u64> {
        match self.scalar {
            Some(ScalarForm::Rank1) => vec![1],
            _ => self.chunk_shape.clone(),
        }
    }

    /// The lengths of the part that one object of the store holds: a shard, or a chunk.
    #[must_use]
    pub fn object_shape(&self) -> &[u64] {
        self.sharding.as_ref().map_or(&self.chunk_shape, |sharding| &sharding.shape)
    }

    /// Elements of one chunk; `None` beyond 64 bits.
    #[must_use]
    pub fn chunk_elements(&self) -> Option<u64> {
        self.chunk_shape.iter().try_fold(1u64, |product, &len| product.checked_mul(len))
    }

    /// The key of one of this variable's documents, such as `g1/q/.zarray`.
    #[must_use]
    pub fn document_key(&self, document: &str) -> String {
        document_key(&self.key, document)
    }
}
