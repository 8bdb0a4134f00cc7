//! A stub library in memory with the addresses of this program's functions.

use super::image::{self, Contents};
use super::loader::{self, Loaded, Place};
use crate::error::Error;
use crate::symbols::Symbols;

/// Makes and loads a stub library of a name that no library has yet.
pub(super) fn load(soname: &str, versions: &[String], symbols: Symbols) -> Result<Loaded, Error> {
    let functions = symbols.functions();
    let names: Vec<&str> = functions.iter().map(|(name, _)| *name).collect();
    let variables = symbols.variables();
    let contents = Contents { soname, versions, functions: &names, variables: &variables };
    let image = image::build(&contents);
    // Files in memory may be forbidden, or /proc absent.
    let loaded =
        loader::open_image(&image, Place::Memory).or_else(|_| loader::open_image(&image, Place::Folder))?;
    let slots = loader::symbol(loaded.handle, image::SLOTS)
        .ok_or_else(|| Error::Refused("the generated library has no table".to_owned()))?
        .cast::<*const ()>();
    for (at, (_, address)) in functions.iter().enumerate() {
        // SAFETY: the table has a slot for each function, in the writable segment of a library that is
        // never unloaded. Nothing runs through it yet: no other code has the library.
        unsafe { slots.add(at).write(*address) };
    }
    Ok(loaded)
}
