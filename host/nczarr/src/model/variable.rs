//! Variables: arrays with names for their dimensions.

use serde_json::{Map, Value as Json};

use super::{DimensionRef, document_key};
use crate::attribute::Attribute;
use crate::dtype::{Dtype, NcType};
use crate::error::NczarrError;
use crate::fill::FillValue;

/// An array of a dataset that can be read.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name within its group.
    pub name: String,
    /// The path, such as `/g1/q`.
    pub path: String,
    /// Prefix of its keys in the store without slash at the ends; empty for an array at the root of a store.
    pub key: String,
    /// Type of an element as stored.
    pub dtype: Dtype,
    /// The netCDF type; `None` where netCDF has none for the dtype.
    pub nc_type: Option<NcType>,
    /// Lengths of the stored array; empty for scalars. [`Hierarchy::shape_of`](super::Hierarchy::shape_of) gives what netCDF shows.
    pub shape: Vec<u64>,
    /// Lengths of a chunk, of the same rank, each at least 1.
    pub chunk_shape: Vec<u64>,
    /// How a scalar is stored; `None` for arrays that have dimensions.
    pub scalar: Option<ScalarForm>,
    /// The dimensions, outermost first.
    pub dimensions: Vec<DimensionRef>,
    /// What missing elements read as; `None` is Zarr's `null`: zeros.
    pub fill: Option<FillValue>,
    /// Order of the elements in a chunk.
    pub order: Order,
    /// What stands between the chunk indices in a key.
    pub separator: Separator,
    /// The chain in the order of encoding as codec JSON: `filters`, then `compressor`.
    pub filters: Vec<Json>,
    /// netCDF's storage class.
    pub storage: Storage,
    /// Attributes, without those that carry metadata (`_ARRAY_DIMENSIONS`, `_nczarr_*`).
    pub attributes: Vec<Attribute>,
    /// The documents this was read from; empty for a new variable.
    pub documents: VariableDocuments,
}

/// The documents of a variable as they were read: ordered, numbers as written, unknown keys included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VariableDocuments {
    /// `.zarray`
    pub zarray: Option<Map<String, Json>>,
    /// `.zattrs`
    pub zattrs: Option<Map<String, Json>>,
}

/// Order of the elements in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// The last dimension changes fastest.
    #[default]
    C,
    /// The first dimension changes fastest.
    F,
}

/// What stands between the chunk indices in a key.
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

/// netCDF's storage classes. All but the first hold one chunk of the whole shape.
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
    /// The word in the metadata.
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

/// How a scalar's array is stored. Its one chunk has the key `0` in both.
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

    /// Sets an attribute, in its place if there is one of that name.
    ///
    /// # Errors
    /// [`NczarrError::Name`] for a name that netCDF or NCZarr reserves.
    pub fn set_attribute(&mut self, attribute: Attribute) -> Result<(), NczarrError> {
        crate::attribute::set(&mut self.attributes, attribute)
    }

    /// The netCDF type.
    ///
    /// # Errors
    /// [`NczarrError::NotNetcdfType`] where netCDF has none for the dtype.
    pub fn netcdf_type(&self) -> Result<NcType, NczarrError> {
        self.nc_type.ok_or_else(|| NczarrError::NotNetcdfType {
            path: self.path.clone(),
            dtype: self.dtype.text().to_owned(),
        })
    }

    /// One element of fill in the stored byte order, [`Dtype::size`] bytes: zeros if there is no fill value.
    #[must_use]
    pub fn fill_bytes(&self) -> Vec<u8> {
        match &self.fill {
            Some(fill) => fill.bytes().to_vec(),
            None => vec![0; self.dtype.size()],
        }
    }

    /// The shape that `.zarray` says, which codecs are bound to: `[1]` for scalars in NCZarr's form.
    #[must_use]
    pub fn stored_shape(&self) -> Vec<u64> {
        match self.scalar {
            Some(ScalarForm::Rank1) => vec![1],
            _ => self.shape.clone(),
        }
    }

    /// The chunk shape that `.zarray` says: `[1]` for scalars in NCZarr's form.
    #[must_use]
    pub fn stored_chunk_shape(&self) -> Vec<u64> {
        match self.scalar {
            Some(ScalarForm::Rank1) => vec![1],
            _ => self.chunk_shape.clone(),
        }
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
