//! Checks codec plugins for conformance: with HDF5, netcdf-c and ncz.
//!
//! Each check of a library runs in its own process, so that a plugin that crashes or hangs is a line of the
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
