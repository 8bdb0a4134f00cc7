//! The program headers of a plugin, which map parts of the file to addresses.

use super::bytes::{put, u16_at, u32_at, u64_at};
use crate::error::Error;

pub(super) const PAGE: u64 = 4096;
pub(super) const HEADER_LEN: u64 = 56;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_PHDR: u32 = 6;
const PF_W_R: u32 = 6;

/// The program headers of a shared library for x86-64.
#[derive(Debug)]
pub(super) struct Segments {
    headers: Vec<Header>,
}

#[derive(Debug, Clone, Copy)]
struct Header {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    file_len: u64,
    memory_len: u64,
    align: u64,
}

/// One more segment, to be read and written.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) place: u64,
    pub(super) address: u64,
    pub(super) len: u64,
}

impl Segments {
    /// Reads and checks them.
    pub(super) fn read(data: &[u8]) -> Result<Self, Error> {
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
        if u64::from(size) != HEADER_LEN {
            return Err(Error::Damaged("its program headers have another size"));
        }
        let mut headers = Vec::new();
        for index in 0..u64::from(count) {
            let header = table.checked_add(index * HEADER_LEN).and_then(|at| Header::read(data, at));
            let header = header.ok_or(Error::Damaged("the program headers are cut off"))?;
            if header.kind == PT_LOAD && !header.is_within(data.len() as u64) {
                return Err(Error::Damaged("a segment is not within the file"));
            }
            headers.push(header);
        }
        Ok(Self { headers })
    }

    /// The number of program headers.
    pub(super) fn count(&self) -> usize {
        self.headers.len()
    }

    /// Address and length of the dynamic section.
    pub(super) fn dynamic(&self) -> Option<(u64, u64)> {
        let header = self.headers.iter().find(|header| header.kind == PT_DYNAMIC)?;
        Some((header.address, header.file_len))
    }

    /// Returns the file offset of an address, and how many bytes follow it in its segment.
    pub(super) fn place(&self, address: u64) -> Option<(u64, u64)> {
        self.loaded().find_map(|segment| {
            let within = address.checked_sub(segment.address).filter(|within| *within < segment.file_len)?;
            Some((segment.offset + within, segment.file_len - within))
        })
    }

    /// The first page after all segments.
    pub(super) fn free_address(&self) -> Option<u64> {
        let end = self.loaded().map(|segment| segment.address + segment.memory_len).max()?;
        end.checked_next_multiple_of(PAGE)
    }

    /// The headers with one more segment, which begins with the headers themselves and the dynamic section.
    pub(super) fn with(&self, added: &Added, headers_len: u64, dynamic_len: u64) -> Option<Vec<u8>> {
        added.address.checked_add(added.len)?;
        let mut out = Vec::new();
        for header in &self.headers {
            let mut header = *header;
            match header.kind {
                PT_PHDR => header.lie_at(added.place, added.address, headers_len),
                PT_DYNAMIC => {
                    let (place, address) = (added.place + headers_len, added.address + headers_len);
                    header.lie_at(place, address, dynamic_len);
                }
                _ => {}
            }
            header.write(&mut out);
        }
        let mut last = Header { kind: PT_LOAD, flags: PF_W_R, align: PAGE, ..Header::default() };
        last.lie_at(added.place, added.address, added.len);
        // Segments come in the order of their addresses, and this is the highest.
        last.write(&mut out);
        Some(out)
    }

    /// Writes the offset of the program headers into the file header.
    pub(super) fn place_headers(image: &mut [u8], place: u64, count: usize) -> Option<()> {
        // 0xffff has another meaning.
        let count = u16::try_from(count).ok().filter(|count| *count < 0xffff)?;
        put(image, 32, &place.to_le_bytes())?;
        put(image, 56, &count.to_le_bytes())
    }

    fn loaded(&self) -> impl Iterator<Item = &Header> {
        self.headers.iter().filter(|header| header.kind == PT_LOAD)
    }
}

impl Default for Header {
    fn default() -> Self {
        Self { kind: 0, flags: 0, offset: 0, address: 0, physical: 0, file_len: 0, memory_len: 0, align: 1 }
    }
}

impl Header {
    fn read(data: &[u8], at: u64) -> Option<Self> {
        let word = |index: u64| u64_at(data, at.checked_add(index)?);
        Some(Self {
            kind: u32_at(data, at)?,
            flags: u32_at(data, at.checked_add(4)?)?,
            offset: word(8)?,
            address: word(16)?,
            physical: word(24)?,
            file_len: word(32)?,
            memory_len: word(40)?,
            align: word(48)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.kind.to_le_bytes());
        out.extend(self.flags.to_le_bytes());
        let words = [self.offset, self.address, self.physical, self.file_len, self.memory_len, self.align];
        words.iter().for_each(|word| out.extend(word.to_le_bytes()));
    }

    fn lie_at(&mut self, place: u64, address: u64, len: u64) {
        self.offset = place;
        (self.address, self.physical) = (address, address);
        (self.file_len, self.memory_len) = (len, len);
    }

    /// The loader maps without asking how long the file is, and then dies at the first touch.
    fn is_within(&self, file_len: u64) -> bool {
        let end = self.offset.checked_add(self.file_len);
        end.is_some_and(|end| end <= file_len)
            && self.address.checked_add(self.memory_len).is_some()
            && self.file_len <= self.memory_len
    }
}
