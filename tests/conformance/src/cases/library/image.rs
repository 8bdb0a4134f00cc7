//! Reads the tables of a shared library from the file.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use object::elf;
use object::read::elf::{Dyn, ElfFile, FileHeader, ProgramHeader};
use object::read::{ExportFlags, ExportTarget, File, ImportFlags, NameOrOrdinal, Object};
use object::{Endianness, ReadRef};

/// No library is looked at that is longer.
const LEN_MAX: u64 = 1 << 30;

/// The tables of a shared library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Image {
    /// The names that it exports, sorted.
    pub(super) exports: BTreeSet<String>,
    /// Those that are unique in the whole process, even if libraries are loaded privately.
    pub(super) unique: BTreeSet<String>,
    /// Its undefined symbols.
    pub(super) imports: Vec<Import>,
    /// Facts that only ELF has.
    pub(super) elf: Option<ElfFacts>,
}

/// A name that a library expects from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) name: String,
    /// It may be missing.
    pub(super) weak: bool,
    /// The version that is required, such as `GLIBC_2.34`.
    pub(super) version: Option<String>,
}

/// Facts that only ELF has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ElfFacts {
    /// Whether the stack must be executable; `None` if the file does not state it.
    pub(super) executable_stack: Option<bool>,
    /// Whether the loader must write to code.
    pub(super) text_relocations: bool,
    /// How many segments can be written to and run.
    pub(super) writable_code: usize,
}

/// Why a file cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub(super) enum ImageError {
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("has {0} bytes, more than is looked at")]
    Long(u64),
    #[error("its tables make no sense: {0}")]
    Tables(#[from] object::Error),
}

impl Image {
    /// Reads the tables of a file.
    pub(super) fn read(path: &Path) -> Result<Self, ImageError> {
        let len = fs::metadata(path)?.len();
        if len > LEN_MAX {
            return Err(ImageError::Long(len));
        }
        let bytes = fs::read(path)?;
        let mut image = Self::default();
        match File::parse(&*bytes)? {
            File::Elf32(file) => image.read_elf(&file)?,
            File::Elf64(file) => image.read_elf(&file)?,
            file => image.read_other(&file)?,
        }
        Ok(image)
    }

    fn read_elf<Elf>(&mut self, file: &ElfFile<'_, Elf>) -> Result<(), ImageError>
    where
        Elf: FileHeader<Endian = Endianness>,
    {
        self.read_names(file, "")?;
        let (endian, data) = (file.endian(), file.data());
        self.elf = Some(ElfFacts::of(file.elf_program_headers(), endian, data));
        Ok(())
    }

    fn read_other(&mut self, file: &File<'_>) -> Result<(), ImageError> {
        // The C names of Mach-O carry an underscore in front.
        let is_macho = matches!(file, File::MachO32(_) | File::MachO64(_));
        self.read_names(file, if is_macho { "_" } else { "" })
    }

    fn read_names<'a>(&mut self, file: &impl Object<'a>, prefix: &str) -> Result<(), ImageError> {
        let text = |name: &[u8]| {
            let name = String::from_utf8_lossy(name);
            name.strip_prefix(prefix).unwrap_or(&name).to_owned()
        };
        for export in file.exports()? {
            let export = export?;
            // Marks of the linker such as `_end`, and the names of versions, have no address.
            if matches!(export.target(), ExportTarget::Absolute { .. }) {
                continue;
            }
            let NameOrOrdinal::Name(name) = export.name() else { continue };
            let name = text(name);
            if LINKER_MARKS.contains(&&*name) {
                continue;
            }
            if let ExportFlags::Elf { st_info, .. } = export.flags()
                && st_info.st_bind() == elf::STB_GNU_UNIQUE
            {
                self.unique.insert(name.clone());
            }
            self.exports.insert(name);
        }
        for import in file.imports()? {
            let import = import?;
            let NameOrOrdinal::Name(name) = import.name() else { continue };
            let version = match import.flags() {
                ImportFlags::Elf { version, .. } => {
                    version.map(|name| String::from_utf8_lossy(name).into_owned())
                }
                _ => None,
            };
            self.imports.push(Import { name: text(name), weak: import.is_weak(), version });
        }
        Ok(())
    }

    /// The newest version of a versioned library that it needs, such as 2.34 for `GLIBC`, and the names that need it.
    /// Names that may be missing do not count.
    pub(super) fn newest(&self, library: &str) -> Option<((u32, u32), Vec<&str>)> {
        let needs = || {
            self.imports
                .iter()
                .filter(|import| !import.weak)
                .filter_map(|import| Some((version_of(import.version.as_deref()?, library)?, &*import.name)))
        };
        let newest = needs().map(|(version, _)| version).max()?;
        let names = needs().filter(|(version, _)| *version == newest).map(|(_, name)| name).collect();
        Some((newest, names))
    }
}

/// Names that linkers define in every library, which are not functions.
const LINKER_MARKS: [&str; 8] = ["_init", "_fini", "_edata", "edata", "_end", "end", "__bss_start", "_etext"];

/// 2.34 of `GLIBC_2.34`; the third number does not matter for what is newest by far.
fn version_of(text: &str, library: &str) -> Option<(u32, u32)> {
    let numbers = text.strip_prefix(library)?.strip_prefix('_')?;
    let mut numbers = numbers.split('.');
    let major = numbers.next()?.parse().ok()?;
    Some((major, numbers.next().unwrap_or("0").parse().ok()?))
}

impl ElfFacts {
    fn of<'a, H, R>(segments: &[H], endian: Endianness, data: R) -> Self
    where
        H: ProgramHeader<Endian = Endianness>,
        R: ReadRef<'a>,
    {
        let mut facts = Self::default();
        for segment in segments {
            let flags = segment.p_flags(endian);
            let runs = flags.0 & elf::PF_X.0 != 0;
            if segment.p_type(endian) == elf::PT_GNU_STACK {
                facts.executable_stack = Some(runs);
            }
            if segment.p_type(endian) == elf::PT_LOAD && runs && flags.0 & elf::PF_W.0 != 0 {
                facts.writable_code += 1;
            }
            if let Ok(Some(entries)) = segment.dynamic(endian, data) {
                facts.text_relocations |= entries.iter().any(|entry| {
                    let (tag, value): (_, u64) = (entry.d_tag(endian), entry.d_val(endian).into());
                    tag == elf::DT_TEXTREL || (tag == elf::DT_FLAGS && value & DF_TEXTREL != 0)
                });
            }
        }
        facts
    }
}

/// `DT_FLAGS`: relocations may write to code (System V ABI).
const DF_TEXTREL: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_by_number_and_names_who_needs_it() {
        let import = |name: &str, version: &str, weak| Import {
            name: name.to_owned(),
            weak,
            version: Some(version.to_owned()),
        };
        let image = Image {
            imports: vec![
                import("memcpy", "GLIBC_2.14", false),
                import("free", "GLIBC_2.2.5", false),
                import("a", "GLIBC_2.9", false),
                import("gettid", "GLIBC_2.30", true),
                import("stream", "GLIBCXX_3.4.29", false),
                import("private", "GLIBC_PRIVATE", false),
            ],
            ..Image::default()
        };
        assert_eq!(image.newest("GLIBC"), Some(((2, 14), vec!["memcpy"])));
        assert_eq!(image.newest("GLIBCXX"), Some(((3, 4), vec!["stream"])));
        assert_eq!(image.newest("GCC"), None);
    }
}
