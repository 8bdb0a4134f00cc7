//! Tells whether a codec plugin is fit: for HDF5, for netcdf-c, for ncz.
//!
//! Each check of a library runs in a process of its own, so that a plugin that crashes or hangs is a line of the
//! report. The program is `ncz-conform`; a crate's own tests reach the same through [`test_main`].

pub mod cases;
pub mod check;
pub mod coding;
pub mod mutation;
pub mod outcome;
pub mod profile;
pub mod results;
pub mod sample;
pub mod subject;
pub mod trial;
