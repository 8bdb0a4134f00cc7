//! The native face for Rust hosts: an `abi_stable` root module that carries the table's address.
//!
//! In addition to the plain symbol, it checks before any call that both sides were built with compatible
//! versions of this crate and of `abi_stable`, and agree on the layout of the module.
#![allow(
    non_local_definitions,
    non_camel_case_types,
    missing_docs,
    clippy::undocumented_unsafe_blocks,
    reason = "code that abi_stable's macros write"
)]

use abi_stable::StableAbi;
use abi_stable::library::{LibHeader, LibraryError, RootModule};
use abi_stable::prefix_type::PrefixTypeTrait as _;
use abi_stable::sabi_types::VersionStrings;

use super::native_face::{self, CodecList};
use crate::abi::native::Plugin;

/// The name of the symbol; abi_stable fixes it.
pub const SYMBOL: &str = "_1as_0lib_1header_0root_bmodule_bloader";

/// The root module: one function that returns the table.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginModuleRef)))]
#[sabi(missing_field(panic))]
pub struct PluginModule {
    /// The address of a [`Plugin`], the same that the plain symbol returns.
    #[sabi(last_prefix_field)]
    pub table: extern "C" fn() -> usize,
}

impl RootModule for PluginModuleRef {
    abi_stable::declare_root_module_statics! {PluginModuleRef}

    const BASE_NAME: &'static str = "ncz_codec";
    const NAME: &'static str = "ncz_codec";
    const VERSION_STRINGS: VersionStrings = abi_stable::package_version_strings!();
}

/// The header that a library exports under [`SYMBOL`].
pub const fn header<L: CodecList>() -> LibHeader {
    extern "C" fn make<L: CodecList>() -> abi_stable::library::RootModuleResult {
        abi_stable::library::__call_root_module_loader(module::<L>)
    }
    // SAFETY: the function returns a module of exactly this type.
    unsafe {
        LibHeader::from_constructor::<PluginModuleRef>(make::<L>, abi_stable::library::CheckTypeLayout::Yes)
    }
}

/// Returns the plugin's table from its header.
///
/// # Errors
/// The plugin was built with an incompatible version of this crate, or with another layout.
pub fn table(header: &LibHeader) -> Result<*const Plugin, LibraryError> {
    let module = header.init_root_module::<PluginModuleRef>()?;
    Ok(module.table()() as *const Plugin)
}

fn module<L: CodecList>() -> PluginModuleRef {
    extern "C" fn table<L: CodecList>() -> usize {
        native_face::plugin::<L>() as usize
    }
    PluginModule { table: table::<L> }.leak_into_prefix()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_symbol_is_the_one_that_abi_stable_looks_for() {
        assert_eq!(SYMBOL, abi_stable::library::ROOT_MODULE_LOADER_NAME);
    }
}
