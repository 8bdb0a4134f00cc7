//! Checks the assumptions of the system's loader about an ELF file. The loader itself checks little: a table or a
//! relocation outside of the image makes it read or write unmapped memory, which ends the process.

use std::collections::HashSet;
use std::ops::Range;

use object::Endianness;
use object::elf::{self, DynamicTag};
use object::read::ReadRef;
use object::read::elf::{FileHeader, ProgramHeader, Rela, Sym};

use super::{Image, Unsuitable, names};

/// The most steps along the chains of a hash table, and along the tables of versions.
const MOST_STEPS: u64 = 1 << 24;
/// The most constructors or destructors that are looked at.
const MOST_CALLED: u64 = 1 << 20;
/// The largest page of Linux.
const PAGE_MAX: u64 = 1 << 16;
/// The shortest record of the tables of versions, a `Verdaux`.
const VERSION_LEAST: u64 = 8;
/// The smallest number of bytes that a relocation writes: an address.
const WRITTEN_64: u64 = 8;
const WRITTEN_32: u64 = 4;

type Checked<T = ()> = Result<T, Unsuitable>;

/// A part of the file that the loader maps.
struct Load {
    memory: Range<u64>,
    /// The end of what comes from the file; the rest is zeros.
    end_in_file: u64,
    flags: elf::ProgramFlags,
}

/// The numbers of the relocations that need no symbol.
struct Kinds {
    none: u32,
    relative: u32,
    /// Calls a function of the library while it is opened.
    indirect: u32,
}

/// The checks of one file.
struct Check<'i, 'd, Elf: FileHeader> {
    image: &'i Image<'d, Elf>,
    loads: Vec<Load>,
    kinds: Option<Kinds>,
}

/// Refuses a file that the loader does not survive, as far as its tables show it.
pub(super) fn check<Elf>(image: &Image<'_, Elf>, machine: elf::Machine) -> Checked
where
    Elf: FileHeader<Endian = Endianness>,
{
    let kinds = match machine {
        elf::EM_X86_64 => Some((elf::R_X86_64_NONE, elf::R_X86_64_RELATIVE, elf::R_X86_64_IRELATIVE)),
        elf::EM_AARCH64 => Some((elf::R_AARCH64_NONE, elf::R_AARCH64_RELATIVE, elf::R_AARCH64_IRELATIVE)),
        _ => None,
    };
    let kinds = kinds.map(|(none, relative, indirect)| Kinds {
        none: none.0,
        relative: relative.0,
        indirect: indirect.0,
    });
    let check = Check { image, loads: loads(image)?, kinds };
    check.segments()?;
    check.dynamic()?;
    let symbols = check.symbols()?;
    check.versions(symbols)?;
    check.code(symbols)
}

/// The segments that are mapped.
fn loads<Elf>(image: &Image<'_, Elf>) -> Checked<Vec<Load>>
where
    Elf: FileHeader<Endian = Endianness>,
{
    let len = image.data.len().unwrap_or(0);
    let mut loads: Vec<Load> = Vec::new();
    for segment in image.segments.iter().filter(|segment| segment.p_type(image.endian) == elf::PT_LOAD) {
        let part = Part::of(segment, image.endian);
        if part.offset.checked_add(part.in_file).is_none_or(|end| end > len) {
            return damaged("the file ends within a segment");
        }
        if part.in_file > part.in_memory {
            return damaged("a segment is longer in the file than in memory");
        }
        let is_aligned = part.align <= 1
            || part.align.is_power_of_two() && part.start.wrapping_sub(part.offset) & (part.align - 1) == 0;
        if !is_aligned {
            return damaged("a segment is not aligned as stated");
        }
        let Some(end) = part.start.checked_add(part.in_memory) else {
            return damaged("a segment exceeds the address space");
        };
        if loads.last().is_some_and(|before| part.start < before.memory.end) {
            return damaged("segments overlap or are not sorted");
        }
        loads.push(Load {
            memory: part.start..end,
            end_in_file: part.start + part.in_file,
            flags: segment.p_flags(image.endian),
        });
    }
    if loads.is_empty() { damaged("no segment is to be loaded") } else { Ok(loads) }
}

/// The numbers of a program header.
struct Part {
    offset: u64,
    start: u64,
    in_file: u64,
    in_memory: u64,
    align: u64,
}

impl Part {
    fn of<P: ProgramHeader<Endian = Endianness>>(segment: &P, endian: Endianness) -> Self {
        Self {
            offset: segment.p_offset(endian).into(),
            start: segment.p_vaddr(endian).into(),
            in_file: segment.p_filesz(endian).into(),
            in_memory: segment.p_memsz(endian).into(),
            align: segment.p_align(endian).into(),
        }
    }
}

impl<Elf: FileHeader<Endian = Endianness>> Check<'_, '_, Elf> {
    /// The segments that describe parts of other segments.
    fn segments(&self) -> Checked {
        let endian = self.image.endian;
        let mut dynamic = 0;
        for segment in self.image.segments {
            let part = Part::of(segment, endian);
            let in_file = || self.read(part.start, part.in_file);
            match segment.p_type(endian) {
                elf::PT_DYNAMIC => {
                    dynamic += 1;
                    in_file()?;
                    if self.image.offset_of(part.start) != Some(part.offset) {
                        return damaged("the dynamic section is elsewhere in memory than in the file");
                    }
                    // The loader writes to it, unless it is marked as read-only.
                    let flags = segment.p_flags(endian);
                    if flags.0 & elf::PF_W.0 != 0 && !self.is_writable(part.start, part.in_file) {
                        return damaged("the dynamic section is in a segment that is read only");
                    }
                }
                elf::PT_TLS => {
                    let is_sound = part.in_file <= part.in_memory
                        && (part.align <= 1 || part.align.is_power_of_two())
                        && part.start.checked_add(part.in_memory).is_some();
                    if !is_sound {
                        return damaged("the segment of thread-local variables is inconsistent");
                    }
                    in_file()?;
                }
                elf::PT_GNU_RELRO => {
                    // It may go to the end of the last page.
                    let end_of =
                        |load: &Load| load.memory.end.checked_next_multiple_of(PAGE_MAX).unwrap_or(u64::MAX);
                    if part.in_memory > 0 && !self.has(part.start, part.in_memory, elf::PF_W, end_of) {
                        return damaged("PT_GNU_RELRO is not inside one writable segment");
                    }
                }
                elf::PT_NOTE | elf::PT_GNU_PROPERTY | elf::PT_GNU_EH_FRAME | elf::PT_PHDR => in_file()?,
                _ => {}
            }
        }
        if dynamic == 1 { Ok(()) } else { damaged("there is more than one dynamic section") }
    }

    /// Returns the entries of the dynamic section, without their targets.
    fn dynamic(&self) -> Checked {
        /// For other tags the loader uses the last one.
        const OFTEN: [DynamicTag; 5] =
            [elf::DT_NEEDED, elf::DT_NULL, elf::DT_AUXILIARY, elf::DT_FILTER, elf::DT_DEBUG];
        const TEXTS: [DynamicTag; 6] = [
            elf::DT_NEEDED,
            elf::DT_SONAME,
            elf::DT_RPATH,
            elf::DT_RUNPATH,
            elf::DT_AUXILIARY,
            elf::DT_FILTER,
        ];
        let image = self.image;
        let count = image.entries().count();
        if count == image.dynamic.len() {
            return damaged("the dynamic section is not terminated");
        }
        let mut seen = Vec::new();
        for (tag, value) in image.entries() {
            if !OFTEN.contains(&tag) {
                if seen.contains(&tag) {
                    return damaged("the dynamic section names a table twice");
                }
                seen.push(tag);
            }
            if TEXTS.contains(&tag) && value >= image.strings_len {
                return damaged("a name is beyond the end of the string table");
            }
        }
        let strings = image.value(elf::DT_STRTAB).unwrap_or(0);
        self.read(strings, image.strings_len)?;
        let last = image.strings_len.checked_sub(1).and_then(|last| image.strings.checked_add(last));
        let last = last.and_then(|last| image.data.read_bytes_at(last, 1).ok());
        if last != Some(&[0]) { damaged("the string table is not terminated") } else { Ok(()) }
    }

    /// Checks the hash tables and the symbols, whose number comes from them; `None`: they do not state it.
    fn symbols(&self) -> Checked<Option<u64>> {
        let image = self.image;
        let size = size_of::<Elf::Sym>() as u64;
        self.entry_size(elf::DT_SYMENT, size)?;
        let mut count = None;
        if let Some(table) = image.value(elf::DT_GNU_HASH) {
            count = self.gnu_hash(table)?;
        }
        if let Some(table) = image.value(elf::DT_HASH) {
            count = Some(self.hash(table)?);
        }
        let Some(count) = count else { return Ok(None) };
        let start = image.value(elf::DT_SYMTAB).unwrap_or(0);
        self.read(start, count.saturating_mul(size))?;
        // Of a table that is too long to be read at once there are none here: it is left to the loader.
        for symbol in image.symbols_of(0..count) {
            if u64::from(symbol.st_name(image.endian)) >= image.strings_len {
                return damaged("the name of a symbol is beyond the end of the string table");
            }
            let section = symbol.st_shndx(image.endian);
            let is_code = symbol.st_type() == elf::STT_GNU_IFUNC || self.is_entry(symbol);
            let address = symbol.st_value(image.endian).into();
            if section != elf::SHN_UNDEF && section != elf::SHN_ABS && is_code && !self.is_code(address) {
                return damaged("a called function is not in a code segment");
            }
        }
        Ok(Some(count))
    }

    /// Whether a symbol is an entry that is called.
    fn is_entry(&self, symbol: &Elf::Sym) -> bool {
        let name = self.image.text(u64::from(symbol.st_name(self.image.endian)));
        name.is_some_and(|name| {
            names::ALL.contains(&name) && name != names::NATIVE_ROOT && self.image.is_exported(symbol, name)
        })
    }

    /// Returns the number of symbols in a GNU hash table; `None` if it has none.
    fn gnu_hash(&self, table: u64) -> Checked<Option<u64>> {
        let wrong = || Unsuitable::Damaged("the symbol hash table is truncated or inconsistent");
        self.read(table, 16)?;
        let at = self.image.offset_of(table).ok_or_else(wrong)?;
        let hash = super::GnuHash::open(self.image, at).ok_or_else(wrong)?;
        let (buckets, chains) = (table + (hash.buckets - at), table + (hash.chains - at));
        self.read(table, chains - table)?;
        let mut last = 0;
        for number in 0..u64::from(hash.bucket_count) {
            let bucket = self.word(buckets + 4 * number)?;
            if bucket != 0 && bucket < hash.base {
                return Err(wrong());
            }
            last = last.max(bucket);
        }
        if last == 0 {
            return Ok(None);
        }
        // The last chain ends the table.
        for index in u64::from(last)..u64::from(last) + MOST_STEPS {
            let at = (index - u64::from(hash.base)).checked_mul(4).and_then(|at| at.checked_add(chains));
            if self.word(at.ok_or_else(wrong)?)? & 1 == 1 {
                return Ok(Some(index + 1));
            }
        }
        Err(wrong())
    }

    /// Returns the number of symbols in an old hash table.
    fn hash(&self, table: u64) -> Checked<u64> {
        let wrong = "the symbol hash table is truncated or inconsistent";
        let (buckets, count) = (u64::from(self.word(table)?), u64::from(self.word(table.saturating_add(4))?));
        let first = table.saturating_add(8);
        self.read(table, (2 + buckets + count) * 4)?;
        if buckets == 0 || count > MOST_STEPS {
            return damaged(wrong);
        }
        let chain = |number: u64| self.word(first + (buckets + number) * 4).map(u64::from);
        let mut steps = 0;
        for bucket in 0..buckets {
            let mut number = u64::from(self.word(first + bucket * 4)?);
            while number != 0 {
                steps += 1;
                if number >= count || steps > count {
                    return damaged(wrong);
                }
                number = chain(number)?;
            }
        }
        Ok(count)
    }

    /// Checks the tables of versions, which are linked lists of records. The loader follows the links and ignores the
    /// counts.
    fn versions(&self, symbols: Option<u64>) -> Checked {
        let image = self.image;
        if let (Some(table), Some(symbols)) = (image.value(elf::DT_VERSYM), symbols) {
            self.read(table, symbols.saturating_mul(2))?;
        }
        // The lengths of a record and of its parts; the offsets of the first part and of the next record in a record,
        // of the name and of the next part in a part, and of the file name in a record.
        let kinds = [
            (elf::DT_VERNEED, [16, 16], [8, 12], [8, 12], Some(4)),
            (elf::DT_VERDEF, [20, 8], [12, 16], [0, 4], None),
        ];
        // In sound tables nothing overlaps.
        let mut steps = (image.data.len().unwrap_or(0) / VERSION_LEAST).min(MOST_STEPS);
        for (table, [record_len, part_len], [first_at, next_at], [name_at, next_part_at], file_at) in kinds {
            let Some(mut record) = image.value(table) else { continue };
            loop {
                self.read(record, record_len)?;
                if let Some(at) = file_at {
                    self.name(record + at)?;
                }
                let mut part = record.saturating_add(self.word(record + first_at)?.into());
                loop {
                    if steps == 0 {
                        return damaged("the table of versions is not terminated");
                    }
                    steps -= 1;
                    self.read(part, part_len)?;
                    self.name(part + name_at)?;
                    match self.word(part + next_part_at)? {
                        0 => break,
                        next => part = part.saturating_add(next.into()),
                    }
                }
                match self.word(record + next_at)? {
                    0 => break,
                    next => record = record.saturating_add(next.into()),
                }
            }
        }
        Ok(())
    }

    /// Checks the memory that is changed and the functions that are called while the library is opened and closed.
    fn code(&self, symbols: Option<u64>) -> Checked {
        let image = self.image;
        for tag in [elf::DT_INIT, elf::DT_FINI] {
            if image.value(tag).is_some_and(|address| address != 0 && !self.is_code(address)) {
                return damaged("a called function is not in a code segment");
            }
        }
        let word = if Elf::is_type_64_sized() { WRITTEN_64 } else { WRITTEN_32 };
        let mut called = HashSet::new();
        for (tag, len) in
            [(elf::DT_INIT_ARRAY, elf::DT_INIT_ARRAYSZ), (elf::DT_FINI_ARRAY, elf::DT_FINI_ARRAYSZ)]
        {
            let (Some(start), len) = (image.value(tag), image.value(len).unwrap_or(0)) else { continue };
            self.read(start, len)?;
            if !start.is_multiple_of(word) || !len.is_multiple_of(word) {
                return damaged("a table of functions is not aligned");
            }
            if len / word <= MOST_CALLED {
                called.extend((start..start + len).step_by(word as usize));
            }
        }
        self.entry_size(elf::DT_RELRENT, word)?;
        if let Some(start) = image.value(elf::DT_RELR) {
            self.read(start, image.value(elf::DT_RELRSZ).unwrap_or(0))?;
            // It only relocates addresses, without symbols.
            called.clear();
        }
        let text_is_written = image.value(elf::DT_TEXTREL).is_some()
            || image.value(elf::DT_FLAGS).is_some_and(|flags| flags & elf::DF_TEXTREL.0 != 0);
        let relocations = Relocations { symbols, text_is_written, word };
        let (rela, rel) = (size_of::<Elf::Rela>() as u64, size_of::<Elf::Rel>() as u64);
        self.entry_size(elf::DT_RELAENT, rela)?;
        self.entry_size(elf::DT_RELENT, rel)?;
        let plt = match image.value(elf::DT_PLTREL) {
            Some(kind) if kind == elf::DT_RELA.0 as u64 => rela,
            Some(kind) if kind == elf::DT_REL.0 as u64 => rel,
            None if image.value(elf::DT_JMPREL).is_none() => rela,
            _ => return damaged("DT_PLTREL is neither REL nor RELA"),
        };
        for (tag, len, entry, relative) in [
            (elf::DT_RELA, elf::DT_RELASZ, rela, elf::DT_RELACOUNT),
            (elf::DT_REL, elf::DT_RELSZ, rel, elf::DT_RELCOUNT),
            (elf::DT_JMPREL, elf::DT_PLTRELSZ, plt, elf::DT_NULL),
        ] {
            let (Some(start), len) = (image.value(tag), image.value(len).unwrap_or(0)) else { continue };
            self.read(start, len)?;
            if !len.is_multiple_of(entry) {
                return damaged("a table of relocations ends within one");
            }
            let Some(at) = image.offset_of(start).filter(|_| len > 0) else { continue };
            let count = (len / entry) as usize;
            // A table that is too long to be read at once is left to the loader.
            if entry == rela {
                let Some(entries) = image.slice_at::<Elf::Rela>(at, count) else {
                    called.clear();
                    continue;
                };
                self.relocate(entries.iter().cloned(), relative, &relocations, &mut called)?;
            } else {
                called.clear();
                let Some(entries) = image.slice_at::<Elf::Rel>(at, count) else { continue };
                // Without an explicit addend: it is at the location that they write.
                let entries = entries.iter().map(|entry| Elf::Rela::from(*entry));
                self.relocate(entries, relative, &relocations, &mut called)?;
            }
        }
        if called.is_empty() || self.kinds.is_none() {
            return Ok(());
        }
        damaged("a constructor or destructor address has no relocation")
    }

    /// Checks relocations: the locations that they write, and their symbols. `called` are the locations of addresses
    /// that are called; those that a relocation writes are removed.
    fn relocate(
        &self,
        entries: impl ExactSizeIterator<Item = Elf::Rela>,
        relative: DynamicTag,
        all: &Relocations,
        called: &mut HashSet<u64>,
    ) -> Checked {
        let endian = self.image.endian;
        let first_are_relative = self.image.value(relative).filter(|_| relative != elf::DT_NULL).unwrap_or(0);
        if first_are_relative > entries.len() as u64 {
            return damaged("there are fewer relocations than stated");
        }
        for (number, entry) in entries.enumerate() {
            let (kind, symbol) = (entry.r_type(endian, false).0, entry.r_sym(endian, false));
            let (place, addend): (u64, i64) = (entry.r_offset(endian).into(), entry.r_addend(endian).into());
            if let Some(kinds) = &self.kinds {
                if (number as u64) < first_are_relative && kind != kinds.relative {
                    return damaged("there are fewer relocations without a symbol than stated");
                }
                if kind == kinds.none {
                    continue;
                }
                let target = addend.cast_unsigned();
                if kind == kinds.indirect && !self.is_code(target) {
                    return damaged("a called function is not in a code segment");
                }
                if called.remove(&place) && kind == kinds.relative && !self.is_code(target) {
                    return damaged("a called function is not in a code segment");
                }
            }
            if all.symbols.is_some_and(|symbols| u64::from(symbol) >= symbols) {
                return damaged("a relocation names a symbol that does not exist");
            }
            let is_in_memory = self.has(place, all.word, elf::PF_R, |load| load.memory.end);
            if !(self.is_writable(place, all.word) || all.text_is_written && is_in_memory) {
                return damaged("a relocation writes outside of the segments that can be written");
            }
        }
        Ok(())
    }

    /// Refuses a table whose entries have another size than the loader expects.
    fn entry_size(&self, tag: DynamicTag, size: u64) -> Checked {
        match self.image.value(tag) {
            Some(stated) if stated != size => damaged("a table has an unexpected entry size"),
            _ => Ok(()),
        }
    }

    /// Whether a segment with this right has these addresses below an end of it.
    fn has(&self, start: u64, len: u64, right: elf::ProgramFlags, end_of: impl Fn(&Load) -> u64) -> bool {
        let Some(end) = start.checked_add(len) else { return false };
        let mut loads = self.loads.iter().filter(|load| load.flags.0 & right.0 != 0);
        loads.any(|load| load.memory.start <= start && end <= end_of(load))
    }

    /// Refuses a table that the loader would read from unmapped memory or only zeros. An empty table may be anywhere.
    fn read(&self, start: u64, len: u64) -> Checked {
        if len == 0 {
            return Ok(());
        }
        match self.has(start, len, elf::PF_R, |load| load.end_in_file) {
            true => Ok(()),
            false => damaged("a table is outside of the loaded segments"),
        }
    }

    fn is_writable(&self, start: u64, len: u64) -> bool {
        self.has(start, len, elf::PF_W, |load| load.memory.end)
    }

    fn is_code(&self, address: u64) -> bool {
        self.has(address, 1, elf::PF_X, |load| load.end_in_file)
    }

    /// The 32 bits at an address.
    fn word(&self, address: u64) -> Checked<u32> {
        self.read(address, 4)?;
        let word = self.image.offset_of(address).and_then(|at| self.image.u32_at(at));
        word.ok_or(Unsuitable::Damaged("a table is outside of the file"))
    }

    /// Refuses an offset at an address that is not one of the string table.
    fn name(&self, address: u64) -> Checked {
        if u64::from(self.word(address)?) < self.image.strings_len {
            return Ok(());
        }
        damaged("the name of a version is beyond the end of the string table")
    }
}

/// The common part of relocations.
struct Relocations {
    symbols: Option<u64>,
    /// Whether the loader makes segments writable for them.
    text_is_written: bool,
    word: u64,
}

fn damaged<T>(reason: &'static str) -> Checked<T> {
    Err(Unsuitable::Damaged(reason))
}
