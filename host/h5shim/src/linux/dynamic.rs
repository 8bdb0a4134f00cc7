//! What the dynamic section of a plugin says (System V ABI; for versions the GNU extensions).
//!
//! The file is not trusted: every place is checked before it is read, and every walk ends.

use super::bytes::{u16_at, u32_at, u64_at};
use crate::error::Error;

pub(super) const DT_NULL: u64 = 0;
pub(super) const DT_NEEDED: u64 = 1;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
pub(super) const DT_STRSZ: u64 = 10;
pub(super) const DT_SONAME: u64 = 14;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_CONFIG: u64 = 0x6fff_fefa;
const DT_DEPAUDIT: u64 = 0x6fff_fefb;
const DT_AUDIT: u64 = 0x6fff_fefc;
const DT_VERDEF: u64 = 0x6fff_fffc;
const DT_VERDEFNUM: u64 = 0x6fff_fffd;
const DT_VERNEED: u64 = 0x6fff_fffe;
const DT_VERNEEDNUM: u64 = 0x6fff_ffff;
const DT_AUXILIARY: u64 = 0x7fff_fffd;
const DT_FILTER: u64 = 0x7fff_ffff;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const SYMBOL: u64 = 24;
const STB_GLOBAL: u8 = 1;

/// A part of the file that is mapped.
#[derive(Debug)]
struct Segment {
    address: u64,
    offset: u64,
    len: u64,
}

/// An entry of the dynamic section.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Where it is in the file.
    pub(super) at: u64,
    pub(super) tag: u64,
    pub(super) value: u64,
}

/// A library whose versions are needed.
#[derive(Debug)]
pub(super) struct VersionNeed {
    /// Where in the file the number stands that gives `file`.
    pub(super) file_at: u64,
    /// The library's name, as an offset in the strings.
    pub(super) file: u64,
    /// The names of the versions, as offsets in the strings.
    pub(super) names: Vec<u64>,
}

/// A plugin's file with its dynamic section found.
#[derive(Debug)]
pub(super) struct Dynamic<'a> {
    data: &'a [u8],
    segments: Vec<Segment>,
    /// All entries, those after the terminating [`DT_NULL`] included.
    slots: Vec<Entry>,
    /// The number of entries before the terminating one.
    used: usize,
    /// The address of the strings.
    pub(super) strings_address: u64,
    /// Where they are in the file.
    pub(super) strings_at: u64,
    strings: &'a [u8],
}

impl<'a> Dynamic<'a> {
    /// Finds the dynamic section of a shared library for x86-64.
    pub(super) fn read(data: &'a [u8]) -> Result<Self, Error> {
        const HEADER: Error = Error::Damaged("the ELF header is cut off");
        if data.get(..6) != Some(b"\x7fELF\x02\x01") {
            return Err(Error::Damaged("it does not begin as a little-endian 64-bit ELF file does"));
        }
        let (kind, machine) = (u16_at(data, 16).ok_or(HEADER)?, u16_at(data, 18).ok_or(HEADER)?);
        if (kind, machine) != (3, 62) {
            return Err(Error::Damaged("it is not a shared library for x86-64"));
        }
        let table = u64_at(data, 32).ok_or(HEADER)?;
        let (size, count) = (u16_at(data, 54).ok_or(HEADER)?, u16_at(data, 56).ok_or(HEADER)?);
        if size != 56 {
            return Err(Error::Damaged("its program headers have another size"));
        }
        let mut segments = Vec::new();
        let mut dynamic = None;
        for index in 0..u64::from(count) {
            let at = table.checked_add(index * 56);
            let segment = at.and_then(|at| ProgramHeader::read(data, at));
            let segment = segment.ok_or(Error::Damaged("the program headers are cut off"))?;
            match segment.kind {
                PT_LOAD => segments.push(segment.load(data.len() as u64)?),
                PT_DYNAMIC => dynamic = Some((segment.address, segment.file_len)),
                _ => {}
            }
        }
        let (address, len) = dynamic.ok_or(Error::Damaged("there is no dynamic section"))?;
        let mut dynamic = Self {
            data,
            segments,
            slots: Vec::new(),
            used: 0,
            strings_address: 0,
            strings_at: 0,
            strings: &[],
        };
        dynamic.read_entries(address, len)?;
        dynamic.read_strings()?;
        Ok(dynamic)
    }

    fn read_entries(&mut self, address: u64, len: u64) -> Result<(), Error> {
        const CUT: Error = Error::Damaged("the dynamic section is not within the file");
        let (start, left) = self.place(address).ok_or(CUT)?;
        if left < len {
            return Err(CUT);
        }
        for index in 0..len / 16 {
            let at = start + index * 16;
            let tag = u64_at(self.data, at).ok_or(CUT)?;
            let value = u64_at(self.data, at + 8).ok_or(CUT)?;
            self.slots.push(Entry { at, tag, value });
        }
        let end = self.slots.iter().position(|entry| entry.tag == DT_NULL);
        self.used = end.ok_or(Error::Damaged("the dynamic section has no end"))?;
        Ok(())
    }

    fn read_strings(&mut self) -> Result<(), Error> {
        const CUT: Error = Error::Damaged("the strings of the dynamic section are not within the file");
        self.strings_address = self.value(DT_STRTAB).ok_or(CUT)?;
        let len = self.value(DT_STRSZ).ok_or(CUT)?;
        let (at, left) = self.place(self.strings_address).ok_or(CUT)?;
        if left < len {
            return Err(CUT);
        }
        self.strings_at = at;
        self.strings = self.data.get(at as usize..(at + len) as usize).ok_or(CUT)?;
        Ok(())
    }

    /// The entries before the terminating one.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.slots[..self.used]
    }

    /// The terminating entry, and what follows it.
    pub(super) fn rest(&self) -> &[Entry] {
        &self.slots[self.used..]
    }

    /// The value of a tag; the loader takes the last as well.
    fn value(&self, tag: u64) -> Option<u64> {
        self.entries().iter().rev().find(|entry| entry.tag == tag).map(|entry| entry.value)
    }

    /// The place in the file of an address, and how many bytes follow it in its segment.
    fn place(&self, address: u64) -> Option<(u64, u64)> {
        self.segments.iter().find_map(|segment| {
            let within = address.checked_sub(segment.address).filter(|within| *within < segment.len)?;
            Some((segment.offset + within, segment.len - within))
        })
    }

    /// The address at which a place of the file is mapped.
    pub(super) fn address(&self, at: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let within = at.checked_sub(segment.offset).filter(|within| *within < segment.len)?;
            segment.address.checked_add(within)
        })
    }

    /// The string at an offset, without its end.
    pub(super) fn string(&self, offset: u64) -> Option<&'a [u8]> {
        let rest = self.strings.get(usize::try_from(offset).ok()?..)?;
        rest.iter().position(|byte| *byte == 0).map(|end| &rest[..end])
    }

    /// Whether a string begins at an offset, rather than being the end of a longer one.
    pub(super) fn begins(&self, offset: u64) -> bool {
        match usize::try_from(offset) {
            Ok(0) => true,
            Ok(offset) => self.strings.get(offset - 1) == Some(&0),
            Err(_) => false,
        }
    }

    /// The names that another library must define. Those that may stay undefined are not among them.
    pub(super) fn undefined(&self) -> Result<Vec<&'a str>, Error> {
        const NAME: Error = Error::Damaged("the name of a symbol is not within the strings");
        let mut found = Vec::new();
        for at in self.symbols()? {
            let info = u32_at(self.data, at + 4).ok_or(NAME)?;
            let (binding, section) = ((info & 0xff) as u8 >> 4, info >> 16);
            if section == 0 && binding == STB_GLOBAL {
                let name = self.string(u32_at(self.data, at).ok_or(NAME)?.into()).ok_or(NAME)?;
                found.extend(std::str::from_utf8(name).ok().filter(|name| !name.is_empty()));
            }
        }
        Ok(found)
    }

    /// The offsets of all strings that are in use, but for the needed libraries and their versions' files.
    pub(super) fn other_strings(&self) -> Result<Vec<u64>, Error> {
        const TAGS: [u64; 8] =
            [DT_SONAME, DT_RPATH, DT_RUNPATH, DT_CONFIG, DT_DEPAUDIT, DT_AUDIT, DT_AUXILIARY, DT_FILTER];
        let entries = self.entries().iter().filter(|entry| TAGS.contains(&entry.tag));
        let mut all: Vec<u64> = entries.map(|entry| entry.value).collect();
        for at in self.symbols()? {
            all.push(u32_at(self.data, at).map_or(0, u64::from));
        }
        all.extend(self.version_needs()?.iter().flat_map(|need| &need.names));
        all.extend(self.version_definitions()?);
        Ok(all)
    }

    /// The places of the symbols in the file.
    fn symbols(&self) -> Result<impl Iterator<Item = u64> + use<>, Error> {
        const CUT: Error = Error::Damaged("the symbols are not within the file");
        let count = u64::from(self.symbol_count()?);
        let (at, left) = self.value(DT_SYMTAB).and_then(|address| self.place(address)).ok_or(CUT)?;
        if left / SYMBOL < count {
            return Err(CUT);
        }
        // The first stands for no symbol.
        Ok((1..count).map(move |index| at + index * SYMBOL))
    }

    /// Only the hash tables say how many there are.
    fn symbol_count(&self) -> Result<u32, Error> {
        const CUT: Error = Error::Damaged("the hash table of the symbols is cut off or makes no sense");
        let place = |tag| self.value(tag).and_then(|address| self.place(address)).map(|(at, _)| at);
        if let Some(at) = place(DT_HASH) {
            return u32_at(self.data, at + 4).ok_or(CUT);
        }
        let at = place(DT_GNU_HASH).ok_or(CUT)?;
        let word = |index: u64| u32_at(self.data, at.checked_add(index.checked_mul(4)?)?);
        let header = (word(0), word(1), word(2));
        let (Some(buckets), Some(base), Some(bloom)) = header else { return Err(CUT) };
        // Four words, the filter of 64-bit words, the buckets, the chains.
        let first_bucket = 4 + u64::from(bloom) * 2;
        let first_chain = first_bucket + u64::from(buckets);
        let mut last = 0;
        for index in 0..u64::from(buckets) {
            last = last.max(word(first_bucket + index).ok_or(CUT)?);
        }
        if last < base {
            return Ok(base);
        }
        // The longest chain ends with the last symbol. The file ends before the walk can become endless.
        loop {
            let chained = word(first_chain + u64::from(last - base)).ok_or(CUT)?;
            last = last.checked_add(1).ok_or(CUT)?;
            if chained & 1 == 1 {
                return Ok(last);
            }
        }
    }

    /// The libraries whose versions are needed.
    pub(super) fn version_needs(&self) -> Result<Vec<VersionNeed>, Error> {
        const CUT: Error = Error::Damaged("the needed versions are cut off or make no sense");
        let Some(address) = self.value(DT_VERNEED) else { return Ok(Vec::new()) };
        let (mut at, _) = self.place(address).ok_or(CUT)?;
        let mut budget = self.data.len() / 16;
        let mut found = Vec::new();
        for _ in 0..self.value(DT_VERNEEDNUM).unwrap_or(0) {
            let names = u16_at(self.data, at + 2).ok_or(CUT)?;
            let file = u32_at(self.data, at + 4).ok_or(CUT)?;
            let mut need = VersionNeed { file_at: at + 4, file: file.into(), names: Vec::new() };
            let mut name_at = step(at, u32_at(self.data, at + 8)).ok_or(CUT)?;
            for _ in 0..names {
                budget = budget.checked_sub(1).ok_or(CUT)?;
                need.names.push(u32_at(self.data, name_at + 8).ok_or(CUT)?.into());
                name_at = step(name_at, u32_at(self.data, name_at + 12)).ok_or(CUT)?;
            }
            found.push(need);
            budget = budget.checked_sub(1).ok_or(CUT)?;
            match u32_at(self.data, at + 12).ok_or(CUT)? {
                0 => break,
                next => at = step(at, Some(next)).ok_or(CUT)?,
            }
        }
        Ok(found)
    }

    /// The names of the versions that the plugin itself defines.
    fn version_definitions(&self) -> Result<Vec<u64>, Error> {
        const CUT: Error = Error::Damaged("the defined versions are cut off or make no sense");
        let Some(address) = self.value(DT_VERDEF) else { return Ok(Vec::new()) };
        let (mut at, _) = self.place(address).ok_or(CUT)?;
        let mut budget = self.data.len() / 8;
        let mut found = Vec::new();
        for _ in 0..self.value(DT_VERDEFNUM).unwrap_or(0) {
            let names = u16_at(self.data, at + 6).ok_or(CUT)?;
            let mut name_at = step(at, u32_at(self.data, at + 12)).ok_or(CUT)?;
            for _ in 0..names {
                budget = budget.checked_sub(1).ok_or(CUT)?;
                found.push(u32_at(self.data, name_at).ok_or(CUT)?.into());
                name_at = step(name_at, u32_at(self.data, name_at + 4)).ok_or(CUT)?;
            }
            budget = budget.checked_sub(1).ok_or(CUT)?;
            match u32_at(self.data, at + 16).ok_or(CUT)? {
                0 => break,
                next => at = step(at, Some(next)).ok_or(CUT)?,
            }
        }
        Ok(found)
    }
}

/// The next record of a chain. Places stay far below the end of the numbers, so that adding the offset of
/// a field cannot overflow.
fn step(at: u64, next: Option<u32>) -> Option<u64> {
    at.checked_add(next?.into()).filter(|at| *at < u64::MAX / 2)
}

struct ProgramHeader {
    kind: u32,
    offset: u64,
    address: u64,
    file_len: u64,
    memory_len: u64,
}

impl ProgramHeader {
    fn read(data: &[u8], at: u64) -> Option<Self> {
        let word = |index: u64| u64_at(data, at.checked_add(index)?);
        Some(Self {
            kind: u32_at(data, at)?,
            offset: word(8)?,
            address: word(16)?,
            file_len: word(32)?,
            memory_len: word(40)?,
        })
    }

    /// The loader maps without asking how long the file is, and then dies at the first touch.
    fn load(&self, file_len: u64) -> Result<Segment, Error> {
        let end = self.offset.checked_add(self.file_len);
        let memory_end = self.address.checked_add(self.memory_len);
        let is_whole = end.is_some_and(|end| end <= file_len) && memory_end.is_some();
        if !is_whole || self.file_len > self.memory_len {
            return Err(Error::Damaged("a segment is not within the file"));
        }
        Ok(Segment { address: self.address, offset: self.offset, len: self.file_len })
    }
}
