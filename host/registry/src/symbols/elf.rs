//! ELF: the dynamic section, as the loader sees it (section headers are not needed and not trusted).

mod check;

use object::elf;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use object::{Endianness, Pod, ReadRef, U32, U64};

use super::read::Bounded;
use super::{Exports, Format, Tables, Target, Unsuitable, names};

/// The most symbols that are looked through for undefined names.
const MOST_SYMBOLS: u64 = 1 << 18;

/// The most steps along one chain of a hash table.
const MOST_STEPS: u32 = 1 << 12;

/// The longest symbol or library name that is read.
const LONGEST_NAME: u64 = 4096;

/// Reads the tables of an ELF file.
pub(super) fn read<Elf>(data: Bounded<'_>, target: Target) -> Result<Tables, Unsuitable>
where
    Elf: FileHeader<Endian = Endianness>,
{
    let header = Elf::parse(data).map_err(|_| Unsuitable::Damaged("the ELF header is cut off or unknown"))?;
    let endian = header.endian().map_err(|_| Unsuitable::Damaged("the ELF header has no byte order"))?;
    match header.e_type(endian) {
        elf::ET_DYN => {}
        elf::ET_REL => return Err(Unsuitable::NotALibrary("an object file (.o)")),
        elf::ET_EXEC => return Err(Unsuitable::NotALibrary("a program")),
        elf::ET_CORE => return Err(Unsuitable::NotALibrary("a core dump")),
        _ => return Err(Unsuitable::Damaged("the ELF file type is unknown")),
    }
    target.check(machine(header, endian))?;
    let image = Image::<Elf>::open(data, header, endian)?;
    let tables = image.tables()?;
    // Only plugins are opened.
    if tables.exports.is_plugin() {
        check::check(&image, header.e_machine(endian))?;
    }
    Ok(tables)
}

/// Checks the loader's assumptions for a library that need not be a plugin.
#[cfg(test)]
pub(super) fn check_any(data: Bounded<'_>) -> Result<(), Unsuitable> {
    let header =
        elf::FileHeader64::<Endianness>::parse(data).map_err(|_| Unsuitable::Damaged("no ELF header"))?;
    let endian = header.endian().map_err(|_| Unsuitable::Damaged("no byte order"))?;
    check::check(&Image::open(data, header, endian)?, header.e_machine(endian))
}

/// The architecture of an ELF file.
fn machine<Elf: FileHeader<Endian = Endianness>>(header: &Elf, endian: Endianness) -> Target {
    let wide = header.is_class_64();
    let architecture = match (header.e_machine(endian), wide) {
        (elf::EM_X86_64, true) => "x86_64",
        (elf::EM_X86_64, false) => "x86_64 with 32-bit pointers",
        (elf::EM_386, _) => "x86",
        (elf::EM_AARCH64, true) => "aarch64",
        (elf::EM_AARCH64, false) => "aarch64 with 32-bit pointers",
        (elf::EM_ARM, _) => "arm",
        (elf::EM_PPC64, _) => "powerpc64",
        (elf::EM_PPC, _) => "powerpc",
        (elf::EM_RISCV, true) => "riscv64",
        (elf::EM_RISCV, false) => "riscv32",
        (elf::EM_S390, true) => "s390x",
        (elf::EM_LOONGARCH, true) => "loongarch64",
        (elf::EM_MIPS, true) => "mips64",
        (elf::EM_MIPS, false) => "mips",
        (elf::EM_SPARCV9, _) => "sparc64",
        _ => "another processor",
    };
    Target { format: Format::Elf, architecture, big_endian: header.is_big_endian() }
}

/// An ELF file with its dynamic section found.
struct Image<'a, Elf: FileHeader> {
    data: Bounded<'a>,
    endian: Endianness,
    segments: &'a [Elf::ProgramHeader],
    dynamic: &'a [Elf::Dyn],
    strings: u64,
    strings_len: u64,
    symbols: u64,
}

impl<'a, Elf: FileHeader<Endian = Endianness>> Image<'a, Elf> {
    fn open(data: Bounded<'a>, header: &Elf, endian: Endianness) -> Result<Self, Unsuitable> {
        let segments = header
            .program_headers(endian, data)
            .map_err(|_| Unsuitable::Damaged("the program headers are cut off"))?;
        let dynamic = segments
            .iter()
            .find_map(|segment| segment.dynamic(endian, data).transpose())
            .ok_or(Unsuitable::Damaged("the dynamic section is missing"))?
            .map_err(|_| Unsuitable::Damaged("the dynamic section is cut off"))?;
        let mut image = Self { data, endian, segments, dynamic, strings: 0, strings_len: 0, symbols: 0 };
        let tables = Unsuitable::Damaged("the dynamic section names no symbols or strings within the file");
        let (Some(strings), Some(symbols)) = (image.address(elf::DT_STRTAB), image.address(elf::DT_SYMTAB))
        else {
            return Err(tables);
        };
        image.strings = strings;
        image.strings_len = image.value(elf::DT_STRSZ).unwrap_or(0);
        image.symbols = symbols;
        Ok(image)
    }

    fn tables(&self) -> Result<Tables, Unsuitable> {
        // A position-independent program has the type of a library; the loader refuses it.
        if self.value(elf::DT_FLAGS_1).is_some_and(|flags| flags & DF_1_PIE != 0) {
            return Err(Unsuitable::NotALibrary("a program"));
        }
        let damaged = Unsuitable::Damaged("the symbol hash table is truncated or inconsistent");
        let (exported, undefined) = if let Some(offset) = self.address(elf::DT_GNU_HASH) {
            let table = GnuHash::open(self, offset).ok_or(damaged)?;
            let exported = names::ALL.iter().filter(|name| table.find(self, name)).copied().collect();
            // All symbols of the table are defined ones; those before it are not in it.
            (exported, 1..u64::from(table.base))
        } else if let Some(offset) = self.address(elf::DT_HASH) {
            let count = self.u32_at(offset.saturating_add(4)).ok_or(damaged)?;
            let all = 1..u64::from(count).min(MOST_SYMBOLS);
            (self.exported_among(all.clone()), all)
        } else {
            return Err(Unsuitable::Damaged("the symbol hash table is missing"));
        };
        Ok(Tables {
            exports: Exports::of(exported),
            needed: self.texts(elf::DT_NEEDED),
            rpath: folders(self.texts(elf::DT_RPATH)),
            runpath: Some(self.texts(elf::DT_RUNPATH)).filter(|list| !list.is_empty()).map(folders),
            undefined_h5: self.undefined_h5(undefined),
        })
    }

    /// The names of libhdf5 among the undefined symbols of a range.
    fn undefined_h5(&self, range: std::ops::Range<u64>) -> Vec<String> {
        let end = range.end.min(MOST_SYMBOLS);
        let mut found = Vec::new();
        for symbol in self.symbols_of(range.start..end) {
            if symbol.st_shndx(self.endian) != elf::SHN_UNDEF {
                continue;
            }
            let Some(name) = self.text(u64::from(symbol.st_name(self.endian))) else { continue };
            let is_h5 = name.strip_prefix("H5").is_some_and(|rest| {
                // `H5open`, `H5Tget_size`, `H5_libinit_g`, `H5E_PLINE_g`; not somebody's `H5`.
                rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            });
            if is_h5 {
                found.push(name.to_owned());
            }
        }
        found.sort_unstable();
        found
    }

    /// The known names that are defined in a range of the symbol table.
    fn exported_among(&self, range: std::ops::Range<u64>) -> Vec<&'static str> {
        self.symbols_of(range)
            .iter()
            .filter_map(|symbol| {
                let name = self.text(u64::from(symbol.st_name(self.endian)))?;
                let known = names::ALL.iter().find(|known| **known == name).copied()?;
                self.is_exported(symbol, known).then_some(known)
            })
            .collect()
    }

    /// Returns symbols by number; fewer or none if the file is truncated.
    fn symbols_of(&self, range: std::ops::Range<u64>) -> &'a [Elf::Sym] {
        let size = size_of::<Elf::Sym>() as u64;
        let Some(offset) = range.start.checked_mul(size).and_then(|at| at.checked_add(self.symbols)) else {
            return &[];
        };
        let left = self.data.len().unwrap_or(0).saturating_sub(offset) / size;
        let count = range.end.saturating_sub(range.start).min(left);
        self.slice_at(offset, count as usize).unwrap_or_default()
    }

    /// Tests whether a symbol can be the entry `name`: a variable with a function's name would be called.
    fn is_exported(&self, symbol: &Elf::Sym, name: &str) -> bool {
        let bound = matches!(symbol.st_bind(), elf::STB_GLOBAL | elf::STB_WEAK | elf::STB_GNU_UNIQUE);
        // The header of abi_stable is read and checked, never called.
        let fits = name == names::NATIVE_ROOT
            || matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC | elf::STT_NOTYPE);
        bound && fits && symbol.st_shndx(self.endian) != elf::SHN_UNDEF
    }

    /// The value of a tag of the dynamic section.
    fn value(&self, tag: elf::DynamicTag) -> Option<u64> {
        self.entries().find(|(found, _)| *found == tag).map(|(_, value)| value)
    }

    /// Returns the file offset of the target of a tag.
    fn address(&self, tag: elf::DynamicTag) -> Option<u64> {
        self.value(tag).and_then(|address| self.offset_of(address))
    }

    /// All strings of a tag.
    fn texts(&self, tag: elf::DynamicTag) -> Vec<String> {
        self.entries()
            .filter(|(found, _)| *found == tag)
            .filter_map(|(_, offset)| self.text(offset).map(str::to_owned))
            .collect()
    }

    fn entries(&self) -> impl Iterator<Item = (elf::DynamicTag, u64)> + '_ {
        self.dynamic
            .iter()
            .map(|entry| (entry.d_tag(self.endian), entry.d_val(self.endian).into()))
            .take_while(|(tag, _)| *tag != elf::DT_NULL)
    }

    /// Returns the file offset of an address of the image.
    fn offset_of(&self, address: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            if segment.p_type(self.endian) != elf::PT_LOAD {
                return None;
            }
            let start: u64 = segment.p_vaddr(self.endian).into();
            let len: u64 = segment.p_filesz(self.endian).into();
            let offset: u64 = segment.p_offset(self.endian).into();
            let within = address.checked_sub(start).filter(|within| *within < len)?;
            offset.checked_add(within)
        })
    }

    /// The string at an offset of the string table.
    fn text(&self, offset: u64) -> Option<&'a str> {
        if offset >= self.strings_len {
            return None;
        }
        let start = self.strings.checked_add(offset)?;
        let end = start.checked_add((self.strings_len - offset).min(LONGEST_NAME))?;
        let end = end.min(self.data.len().ok()?);
        if start >= end {
            return None;
        }
        std::str::from_utf8(self.data.read_bytes_at_until(start..end, 0).ok()?).ok()
    }

    fn u32_at(&self, offset: u64) -> Option<u32> {
        Some(self.data.read_at::<U32<Endianness>>(offset).ok()?.get(self.endian))
    }

    fn slice_at<T: Pod>(&self, offset: u64, count: usize) -> Option<&'a [T]> {
        self.data.read_slice_at(offset, count).ok()
    }
}

/// `DT_FLAGS_1`: this is a program (System V ABI, GNU extensions).
const DF_1_PIE: u64 = 0x0800_0000;

/// The GNU hash table: finds a name in two or three small reads.
struct GnuHash {
    /// The first symbol that is in the table.
    base: u32,
    bucket_count: u32,
    bloom_count: u32,
    bloom_shift: u32,
    bloom: u64,
    buckets: u64,
    chains: u64,
}

impl GnuHash {
    fn open<Elf>(image: &Image<'_, Elf>, offset: u64) -> Option<Self>
    where
        Elf: FileHeader<Endian = Endianness>,
    {
        let word = |index: u64| image.u32_at(offset.checked_add(index * 4)?);
        let (bucket_count, base, bloom_count, bloom_shift) = (word(0)?, word(1)?, word(2)?, word(3)?);
        let bloom = offset.checked_add(16)?;
        let buckets = bloom.checked_add(u64::from(bloom_count) * size_of::<Elf::Word>() as u64)?;
        let chains = buckets.checked_add(u64::from(bucket_count) * 4)?;
        (bucket_count > 0 && bloom_count.is_power_of_two()).then_some(Self {
            base,
            bucket_count,
            bloom_count,
            bloom_shift,
            bloom,
            buckets,
            chains,
        })
    }

    /// Whether `name` is defined.
    fn find<Elf>(&self, image: &Image<'_, Elf>, name: &str) -> bool
    where
        Elf: FileHeader<Endian = Endianness>,
    {
        let hash = elf::gnu_hash(name.as_bytes());
        self.may_hold(image, hash) && self.walk(image, name, hash).unwrap_or(false)
    }

    fn may_hold<Elf>(&self, image: &Image<'_, Elf>, hash: u32) -> bool
    where
        Elf: FileHeader<Endian = Endianness>,
    {
        let size = size_of::<Elf::Word>() as u32;
        let bits = size * 8;
        let at = self.bloom + u64::from((hash / bits) & (self.bloom_count - 1)) * u64::from(size);
        let filter = if size == 8 {
            image.data.read_at::<U64<Endianness>>(at).ok().map(|word| word.get(image.endian))
        } else {
            image.u32_at(at).map(u64::from)
        };
        let second = hash.checked_shr(self.bloom_shift).unwrap_or(0);
        filter.is_some_and(|filter| (filter >> (hash % bits)) & (filter >> (second % bits)) & 1 == 1)
    }

    fn walk<Elf>(&self, image: &Image<'_, Elf>, name: &str, hash: u32) -> Option<bool>
    where
        Elf: FileHeader<Endian = Endianness>,
    {
        let bucket = image.u32_at(self.buckets + u64::from(hash % self.bucket_count) * 4)?;
        let mut index = bucket;
        for _ in 0..MOST_STEPS {
            let chained = image.u32_at(self.chains + u64::from(index.checked_sub(self.base)?) * 4)?;
            if chained | 1 == hash | 1 {
                let number = u64::from(index);
                let symbol = image.symbols_of(number..number + 1).first()?;
                if image.is_exported(symbol, name)
                    && image.text(u64::from(symbol.st_name(image.endian))) == Some(name)
                {
                    return Some(true);
                }
            }
            if chained & 1 == 1 {
                return Some(false);
            }
            index = index.checked_add(1)?;
        }
        None
    }
}

/// Splits the lists of folders that a library names.
fn folders(lists: Vec<String>) -> Vec<String> {
    lists
        .iter()
        .flat_map(|list| list.split(':'))
        .filter(|folder| !folder.is_empty())
        .map(str::to_owned)
        .collect()
}
