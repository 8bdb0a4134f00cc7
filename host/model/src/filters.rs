//! The filters of a variable, as in netCDF's C functions: `nc_def_var_filter`, `nc_inq_var_filter`, and the functions
//! for filters that netCDF knows by name.
//!
//! [`FilterDefinition`] (from [`Session::define_filters`]) changes the filters of a variable that is being defined,
//! [`Filters`] (from [`Session::filters`]) describes them. [`FilterError::netcdf_code`] is the number that
//! netcdf-c 4.10 returns for the same call on NCZarr data, with the checks in the same order.
//!
//! # Differences from netcdf-c
//! netcdf-c accepts some requests that it does not, or cannot, carry out. Here a request is carried out or refused; a
//! refused request does not change the variable.
//!
//! | request | netcdf-c | here |
//! | --- | --- | --- |
//! | parameters that the codec refuses | accepted, the data cannot be written then | `NC_EFILTER` |
//! | other parameters for an existing deflate or szip | not checked | checked as the first ones |
//! | deflate without shuffle, or without deflate, if the variable has them | nothing | removes them |
//! | shuffle and deflate, if deflate is refused | leaves the shuffle | changes nothing |
//! | fletcher32 "off" | switches it on | removes it |
//! | a function whose library was not compiled in | success, nothing done | `NC_ENOFILTER`, or done |
//! | blosc with a level over 9 or a block size over 2^31 - 1 | accepted | `NC_EINVAL` |
//! | szip with blocks of 0 pixels | accepted | `NC_EFILTER` |
//! | szip with blocks larger than a chunk | only the whole variable counts, an unlimited dimension as 1 | `NC_EINVAL` |
//! | szip, if the last dimension is unlimited | accepted; older chunks cannot be read once it has grown | `NC_EINVAL` |
//! | shuffle with another element size than the type's, in NCZarr | stored, and ignored | `NC_EFILTER` |
//! | filters on strings | accepted, not applied | applied; a shuffle that netcdf-c reads otherwise is `NC_EFILTER` |
//! | `shuffle` asked for its parameters | as given | the element size that is stored |
//! | removing a filter | there is no function | [`FilterDefinition::remove`] |

mod define;
mod inquire;
mod standard;

use crate::data_error::FilterError;
use crate::format::Format;

use crate::hierarchy::{Hierarchy, Variable, VariableDocuments};
use ncz_registry::spec::ChainSpec;

use crate::session::Session;

pub use self::define::FilterDefinition;
pub use self::inquire::Filters;
pub use self::standard::{BloscFilter, SzipFilter};

/// HDF5's number of deflate, also called zlib.
pub(crate) const DEFLATE: u32 = 1;
/// HDF5's number of fletcher32.
pub(crate) const FLETCHER32: u32 = 3;
/// HDF5's number of szip.
pub(crate) const SZIP: u32 = 4;
/// The registered number of bzip2.
pub(crate) const BZIP2: u32 = 307;
/// The registered number of blosc.
pub(crate) const BLOSC: u32 = 32_001;
/// The registered number of zstd.
pub(crate) const ZSTANDARD: u32 = 32_015;

/// The largest filter number; netcdf-c refuses 65535, the last number of HDF5.
const MAX_ID: u32 = 65_534;

/// The phase of a dataset: whether it can be defined (netCDF's "define mode").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Phase {
    /// Variables that are not written yet can be defined.
    #[default]
    Definition,
    /// The definition has ended.
    Data,
}

impl Session {
    /// Defines the filters of the variable at `path`.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use ncz_model::{Format, Hierarchy, NcType, VariableBuilder, Pool, Session};
    /// use ncz_registry::Registry;
    ///
    /// let session = Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial());
    /// let mut dataset = Hierarchy::new(Format::NCZARR);
    /// dataset.add_dimension("/", "x", 5, false)?;
    /// dataset.add_variable("/", VariableBuilder::new("v", NcType::Int).dimensions(["x"]))?;
    /// let mut filters = session.define_filters(&mut dataset, "/v")?;
    /// assert_eq!(filters.define(40_000, &[]).unwrap_err().netcdf_code(), -136);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The variable does not exist, or cannot be read.
    pub fn define_filters<'a>(
        &'a self,
        hierarchy: &'a mut Hierarchy,
        path: &str,
    ) -> Result<FilterDefinition<'a>, FilterError> {
        FilterDefinition::new(self, hierarchy, path)
    }

    /// The filters of the variable at `path`.
    ///
    /// # Errors
    /// As [`define_filters`](Self::define_filters).
    pub fn filters<'a>(&'a self, hierarchy: &'a Hierarchy, path: &str) -> Result<Filters<'a>, FilterError> {
        Ok(Filters::new(self, hierarchy.variable(path)?, hierarchy.format))
    }
}

/// The chain of a variable in its metadata.
fn chain_of(variable: &Variable, format: Format) -> Result<ChainSpec, FilterError> {
    variable
        .chain_spec(format)
        .map_err(|source| FilterError::Spec { variable: variable.path.clone(), source: Box::new(source) })
}

/// Whether a store holds the variable's metadata; if so, the encoding of its chunks can no longer change.
fn is_written(variable: &Variable) -> bool {
    variable.documents != VariableDocuments::default()
}

/// Whether the last dimension of the variable can grow.
fn last_is_unlimited(hierarchy: &Hierarchy, variable: &Variable) -> bool {
    let last = variable.dimensions.last().and_then(|reference| hierarchy.dimension(reference));
    last.is_some_and(|dimension| dimension.unlimited)
}
