//! Finds where the loader has bound the undefined symbols of a library.
//!
//! A libhdf5 in the global scope of the program takes precedence over the one that a library is linked to, and is also
//! used by libraries that are linked to none. Only the addresses that the loader has written into the library show
//! which one it was.

use std::ffi::c_void;

/// The address that the first used name with this beginning is bound to. `None` if the library leaves no such name
/// undefined, or if this cannot be read here.
pub(super) fn bound_to(handle: *mut c_void, prefix: &str) -> Option<*mut c_void> {
    system::bound_to(handle, prefix.as_bytes())
}

#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod system {
    use std::ffi::{CStr, c_char, c_void};

    use object::elf;

    /// The relocations that put the address of a name into a table.
    #[cfg(target_arch = "x86_64")]
    const ADDRESSES: [u32; 2] = [elf::R_X86_64_GLOB_DAT.0, elf::R_X86_64_JUMP_SLOT.0];
    #[cfg(target_arch = "aarch64")]
    const ADDRESSES: [u32; 2] = [elf::R_AARCH64_GLOB_DAT.0, elf::R_AARCH64_JUMP_SLOT.0];
    /// No dynamic section has more entries.
    const ENTRIES_MAX: usize = 4096;

    /// `struct link_map`, as far as it is public.
    #[repr(C)]
    struct LinkMap {
        base: usize,
        name: *const c_char,
        dynamic: *const Entry,
    }

    /// `Elf64_Dyn`
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Entry {
        tag: i64,
        value: usize,
    }

    /// `Elf64_Rela`
    #[repr(C)]
    struct Relocation {
        offset: usize,
        info: u64,
        addend: i64,
    }

    /// `Elf64_Sym`
    #[repr(C)]
    struct Symbol {
        name: u32,
        info: u8,
        other: u8,
        section: u16,
        value: u64,
        size: u64,
    }

    pub(super) fn bound_to(handle: *mut c_void, prefix: &[u8]) -> Option<*mut c_void> {
        let mut map: *const LinkMap = std::ptr::null();
        // SAFETY: the handle is of a library that is never closed, and the answer is a pointer to its map.
        let code = unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
        if code != 0 || map.is_null() {
            return None;
        }
        // SAFETY: the loader's own record, which lives as long as the library.
        let map = unsafe { &*map };
        let entries: Vec<Entry> = (0..ENTRIES_MAX)
            // SAFETY: the section of a loaded library goes on until the entry that ends it.
            .map(|at| unsafe { map.dynamic.add(at).read() })
            .take_while(|entry| entry.tag != 0)
            .collect();
        let value =
            |tag: elf::DynamicTag| entries.iter().find(|entry| entry.tag == tag.0).map(|entry| entry.value);
        // The loader has converted them to addresses, except in read-only memory.
        let address = |tag| value(tag).map(|at| if at < map.base { at + map.base } else { at });
        let symbols = address(elf::DT_SYMTAB)? as *const Symbol;
        let strings = address(elf::DT_STRTAB)? as *const c_char;
        for (table, len) in [(elf::DT_JMPREL, elf::DT_PLTRELSZ), (elf::DT_RELA, elf::DT_RELASZ)] {
            let (Some(table), Some(len)) = (address(table), value(len)) else { continue };
            for at in 0..len / size_of::<Relocation>() {
                // SAFETY: the loader has applied these relocations, so table, symbols and strings are there.
                let relocation = unsafe { &*(table as *const Relocation).add(at) };
                if !ADDRESSES.contains(&(relocation.info as u32)) {
                    continue;
                }
                // SAFETY: as above.
                let (symbol, name) = unsafe {
                    let symbol = &*symbols.add((relocation.info >> 32) as usize);
                    (symbol, CStr::from_ptr(strings.add(symbol.name as usize)))
                };
                if symbol.section != 0 || !name.to_bytes().starts_with(prefix) {
                    continue;
                }
                // SAFETY: the loader has written there the address of the name, or null if no library has it.
                let bound = unsafe { ((map.base + relocation.offset) as *const *mut c_void).read() };
                if !bound.is_null() {
                    return Some(bound);
                }
            }
        }
        None
    }
}

#[cfg(not(all(
    target_os = "linux",
    target_env = "gnu",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod system {
    use std::ffi::c_void;

    pub(super) fn bound_to(_: *mut c_void, _: &[u8]) -> Option<*mut c_void> {
        None
    }
}
