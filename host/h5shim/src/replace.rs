//! The libraries that a copy of a plugin finds replaced.

use std::path::Path;

use crate::symbols::Symbols;

/// The replacements in a plugin's list of libraries.
#[derive(Debug, Clone, Copy)]
pub struct Replace<'a> {
    /// The needed libraries (`DT_NEEDED`) that a stub library replaces. Empty for a plugin that leaves the
    /// functions undefined and names no library.
    pub needed: &'a [&'a str],
    /// The functions that the stub library offers.
    pub symbols: Symbols,
    /// Other needed libraries by absolute path, to be loaded first: the copy is not in the plugin's folder,
    /// so its `$ORIGIN` is not valid.
    pub load_first: &'a [&'a Path],
}
