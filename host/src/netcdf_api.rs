//! The parts of netCDF's C interface that programs use which are ported from it.
//!
//! - [`ZMap`]: a store with the operations of netcdf-c's `zmap`, and its error numbers
//!   ([`StoreError::netcdf_code`](crate::store::StoreError::netcdf_code)).
//! - [`filters`]: the filter functions of `netcdf_filter.h`, on a variable.

pub use ncz_model::filters;
pub use ncz_store::{Clobber, ZMap};
