//! Reads the dynamic section of a plugin (System V ABI; for versions the GNU extensions).
//!
//! The file is not trusted: every offset is checked before it is read, and every walk ends.

use super::bytes::{u16_at, u32_at, u64_at};
use super::segments::Segments;
use crate::error::Error;

pub(super) const DT_NULL: u64 = 0;
pub(super) const DT_NEEDED: u64 = 1;
const DT_HASH: u64 = 4;
pub(super) const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
pub(super) const DT_STRSZ: u64 = 10;
pub(super) const DT_SONAME: u64 = 14;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_VERNEED: u64 = 0x6fff_fffe;
const DT_VERNEEDNUM: u64 = 0x6fff_ffff;

const SYMBOL: u64 = 24;
const STB_GLOBAL: u8 = 1;

/// An entry of the dynamic section.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) tag: u64,
    pub(super) value: u64,
}

/// A library whose versions are needed.
#[derive(Debug)]
pub(super) struct VersionNeed {
    /// The offset in the file of the number that gives `file`.
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
    segments: Segments,
    entries: Vec<Entry>,
    strings: &'a [u8],
}

impl<'a> Dynamic<'a> {
    /// Finds the dynamic section of a shared library for x86-64.
    pub(super) fn read(data: &'a [u8]) -> Result<Self, Error> {
        let segments = Segments::read(data)?;
        let (address, len) = segments.dynamic().ok_or(Error::Damaged("the dynamic section is missing"))?;
        let mut dynamic = Self { data, segments, entries: Vec::new(), strings: &[] };
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
            if tag == DT_NULL {
                return Ok(());
            }
            self.entries.push(Entry { tag, value });
        }
        Err(Error::Damaged("the dynamic section is not terminated"))
    }

    fn read_strings(&mut self) -> Result<(), Error> {
        const CUT: Error = Error::Damaged("the strings of the dynamic section are not within the file");
        let address = self.value(DT_STRTAB).ok_or(CUT)?;
        let len = self.value(DT_STRSZ).ok_or(CUT)?;
        let (at, left) = self.place(address).ok_or(CUT)?;
        if left < len {
            return Err(CUT);
        }
        self.strings = self.data.get(at as usize..(at + len) as usize).ok_or(CUT)?;
        Ok(())
    }

    /// The entries before the terminating one.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The table of strings.
    pub(super) fn strings(&self) -> &'a [u8] {
        self.strings
    }

    /// The program headers.
    pub(super) fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The value of a tag; the loader takes the last as well.
    fn value(&self, tag: u64) -> Option<u64> {
        self.entries().iter().rev().find(|entry| entry.tag == tag).map(|entry| entry.value)
    }

    fn place(&self, address: u64) -> Option<(u64, u64)> {
        self.segments.place(address)
    }

    /// The string at an offset, without its end.
    pub(super) fn string(&self, offset: u64) -> Option<&'a [u8]> {
        let rest = self.strings.get(usize::try_from(offset).ok()?..)?;
        rest.iter().position(|byte| *byte == 0).map(|end| &rest[..end])
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

    /// The offsets of the symbols in the file.
    fn symbols(&self) -> Result<impl Iterator<Item = u64> + use<>, Error> {
        const CUT: Error = Error::Damaged("the symbols are not within the file");
        let count = u64::from(self.symbol_count()?);
        let (at, left) = self.value(DT_SYMTAB).and_then(|address| self.place(address)).ok_or(CUT)?;
        if left / SYMBOL < count {
            return Err(CUT);
        }
        // The first is not a symbol.
        Ok((1..count).map(move |index| at + index * SYMBOL))
    }

    /// Only the hash tables state the number of symbols.
    fn symbol_count(&self) -> Result<u32, Error> {
        const CUT: Error = Error::Damaged("the hash table of the symbols is truncated or inconsistent");
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
        const CUT: Error = Error::Damaged("the needed versions are truncated or inconsistent");
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
}

/// The next record of a chain. Offsets stay far below the maximum of the type, so that adding the offset
/// of a field cannot overflow.
fn step(at: u64, next: Option<u32>) -> Option<u64> {
    at.checked_add(next?.into()).filter(|at| *at < u64::MAX / 2)
}
