//! Tells whether a codec plugin is fit: for HDF5, for netcdf-c, for ncz.
//!
//! Each check of a library runs in a process of its own, so that a plugin that crashes or hangs is a line of the
//! report. The program is `ncz-conform`; other programs run the same with [`Conformance`], and
//! tests of a crate with [`test_main`].

pub mod cases;
pub mod check;
pub mod clock;
pub mod coding;
pub mod error;
pub mod exit;
pub mod mutation;
pub mod outcome;
pub mod profile;
pub mod report;
pub mod results;
pub mod sample;
pub mod subject;
pub mod trial;
pub mod worker;

mod conformance;
mod job;
mod libraries;
mod machine;
mod plan;
mod process;
mod replay;
mod signals;
mod strays;
mod testing;
mod verdict;
mod watchdog;

pub use conformance::{Conformance, Watcher};
pub use plan::Selection;
pub use strays::{has_no_children, kill_children};
pub use testing::test_main;
