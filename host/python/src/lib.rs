//! The extension module `ncz._ncz` of the Python package.
//!
//! Rules of this crate:
//!
//! - Work runs detached from the interpreter, by [`threads`]; Python objects are touched only by attached threads, and
//!   never by those of a pool. No lock is held while a thread attaches.
//! - Panics and errors become exceptions in [`errors`]; none crosses the border.
//! - Memory of Python is borrowed in [`buffers`] alone.

mod array_codecs;
mod buffers;
mod chain;
mod chunk_files;
mod copying;
mod dataset;
mod errors;
mod parts;
mod pipeline;
mod plugins;
mod selection;
mod threads;

use pyo3::prelude::*;

/// The extension module of the package ncz. Use the package, not this module.
#[pymodule(gil_used = false)]
fn _ncz(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(module)?;
    chain::register(module)?;
    dataset::register(module)?;
    parts::register(module)?;
    pipeline::register(module)?;
    plugins::register(module)?;
    threads::register(module)
}
