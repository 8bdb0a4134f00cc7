//! Why a plugin cannot be given the functions.

use std::io;

/// Why a plugin cannot be given the functions of libhdf5 or libnetcdf.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The stub library is made for one kind of system.
    #[error("a plugin without its libhdf5 is not supported on this system (Linux with glibc on x86-64 is)")]
    Unsupported,
    /// The plugin calls what the shim does not offer.
    #[error("it needs functions that only the real library has: {}", .0.join(", "))]
    Missing(Vec<String>),
    /// The plugin is not linked against a library that was to be replaced.
    #[error("it is not linked against {0}")]
    NotNeeded(String),
    /// The file violates a rule of ELF, which the text names.
    #[error("the file is damaged: {0}")]
    Damaged(&'static str),
    /// No file could be made, neither in memory nor in the folder for temporary files.
    #[error("no file in memory and no temporary file could be made")]
    NoFile(#[source] io::Error),
    /// The system's loader refuses it; the text is the loader's.
    #[error("the loader refuses it: {0}")]
    Refused(String),
}
