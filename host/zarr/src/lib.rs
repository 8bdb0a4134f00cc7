//! Zarr 2, Zarr 3 and NCZarr: datasets of the [data model](ncz_model) in a store.

mod attribute;
mod dataset;
pub mod journal;
pub mod metadata;
mod trace;

pub use self::dataset::{Dataset, Receipt};
