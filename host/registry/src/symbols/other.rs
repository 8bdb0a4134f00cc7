//! Mach-O and PE, and what has the looks of a library but is none.

use object::read::macho::{FatArch, MachOFatFile32, MachOFatFile64};
use object::read::{NameOrOrdinal, Object, ObjectKind, ReadRef};
use object::{Architecture, FileKind};

use super::read::{Bounded, describe};
use super::{Exports, Format, Tables, Target, Unsuitable, names};

/// Reads the tables of a Mach-O or PE file.
pub(super) fn read(data: Bounded<'_>, kind: FileKind, target: Target) -> Result<Tables, Unsuitable> {
    match kind {
        FileKind::MachO32 | FileKind::MachO64 => read_one(data, Format::MachO, target),
        FileKind::Pe32 | FileKind::Pe64 => read_one(data, Format::Pe, target),
        FileKind::MachOFat32 => {
            let fat = MachOFatFile32::parse(data)
                .map_err(|_| Unsuitable::Damaged("the list of architectures is cut off"))?;
            read_fat(data, fat.arches(), target)
        }
        FileKind::MachOFat64 => {
            let fat = MachOFatFile64::parse(data)
                .map_err(|_| Unsuitable::Damaged("the list of architectures is cut off"))?;
            read_fat(data, fat.arches(), target)
        }
        FileKind::Coff | FileKind::CoffBig | FileKind::CoffImport => {
            Err(Unsuitable::NotALibrary("a Windows object file or import library"))
        }
        _ => Err(Unsuitable::NotALibrary(describe(data))),
    }
}

fn read_fat<F: FatArch>(data: Bounded<'_>, arches: &[F], target: Target) -> Result<Tables, Unsuitable> {
    let found: Vec<_> = arches.iter().map(|arch| name(arch.architecture())).collect();
    if target.format != Format::MachO {
        let found = format!("Mach-O for {}", found.join(" and "));
        return Err(Unsuitable::OtherMachine { found, wanted: target.to_string() });
    }
    let Some(arch) = arches.iter().find(|arch| name(arch.architecture()) == target.architecture) else {
        let found = format!("Mach-O for {}", found.join(" and "));
        return Err(Unsuitable::OtherMachine { found, wanted: target.to_string() });
    };
    let slice = arch.data(data).map_err(|_| Unsuitable::Damaged("an architecture's part is cut off"))?;
    read_one(slice, Format::MachO, target)
}

fn read_one<'a, R: ReadRef<'a>>(data: R, format: Format, target: Target) -> Result<Tables, Unsuitable> {
    let file = object::File::parse(data)
        .map_err(|_| Unsuitable::Damaged("its headers are truncated or inconsistent"))?;
    // The checks of another system's loader do not matter.
    target.check(Target {
        format,
        architecture: name(file.architecture()),
        big_endian: !file.is_little_endian(),
    })?;
    if file.kind() != ObjectKind::Dynamic {
        return Err(Unsuitable::NotALibrary("a program or an object file"));
    }
    // The C names of Mach-O carry an underscore in front.
    let prefix: &[u8] = if format == Format::MachO { b"_" } else { b"" };
    let damaged = |_| Unsuitable::Damaged("its symbol tables are truncated or inconsistent");
    let mut exported = Vec::new();
    for export in file.exports().map_err(damaged)? {
        let export = export.map_err(damaged)?;
        if let NameOrOrdinal::Name(symbol) = export.name()
            && let Some(symbol) = symbol.strip_prefix(prefix)
            && let Some(known) = names::ALL.iter().find(|known| known.as_bytes() == symbol)
        {
            exported.push(*known);
        }
    }
    let mut undefined_h5 = Vec::new();
    for import in file.imports().map_err(damaged)? {
        let import = import.map_err(damaged)?;
        if let NameOrOrdinal::Name(symbol) = import.name()
            && let Some(symbol) = symbol.strip_prefix(prefix)
            && symbol.starts_with(b"H5")
        {
            undefined_h5.push(String::from_utf8_lossy(symbol).into_owned());
        }
    }
    undefined_h5.sort_unstable();
    let mut needed = Vec::new();
    for library in file.import_libraries().map_err(damaged)? {
        needed.push(String::from_utf8_lossy(library.map_err(damaged)?.name()).into_owned());
    }
    Ok(Tables { exports: Exports::of(exported), needed, undefined_h5, ..Tables::default() })
}

/// The processor in the words of `std::env::consts::ARCH`.
fn name(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "x86_64",
        Architecture::I386 => "x86",
        Architecture::Aarch64 => "aarch64",
        Architecture::Arm => "arm",
        _ => "another processor",
    }
}
