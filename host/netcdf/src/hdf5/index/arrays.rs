//! Arrays of chunks: fixed, where no dimension is unlimited, and extensible, where one is.
//!
//! Slots count over the grid of the greatest shape, not of the current one. In an extensible array the unlimited
//! dimension is the slowest, wherever it stands (`H5D__earray_idx_get_addr` in libhdf5).

use std::ops::Range;

use super::super::cursor::{Cursor, Decoded};
use super::super::decode::{self, ArrayGeometry};
use super::super::error::Hdf5Error;
use super::super::file::File;
use super::{Entry, Grid, NONE_SKIPPED, Record, coordinates};

/// The most data blocks or pages that are read in one round.
const ROUND: usize = 4096;

/// The bytes of the header of an array that are enough to decode it.
const HEADER: u64 = 128;

/// How elements are encoded: an address, or an address, a length and a mask.
#[derive(Clone, Copy)]
struct Element {
    size: usize,
    /// The bytes of the length; `None` if there is none.
    length: Option<usize>,
}

impl Element {
    fn new(client: u8, size: u8, file: &File) -> Decoded<Self> {
        let size = usize::from(size);
        let address = usize::from(file.widths.offset);
        match client {
            0 if size == address => Ok(Self { size, length: None }),
            1 if (address + 5..=address + 12).contains(&size) => {
                Ok(Self { size, length: Some(size - address - 4) })
            }
            _ => Err(format!("its elements have {size} bytes, and are of type {client}").into()),
        }
    }

    fn decode(self, cursor: &mut Cursor<'_>) -> Decoded<Option<Record>> {
        let address = cursor.address()?;
        let (len, mask) = match self.length {
            Some(width) => (Some(cursor.uint(width)?), cursor.u32()?),
            None => (None, NONE_SKIPPED),
        };
        Ok(address.map(|address| Record { address, len, mask }))
    }
}

/// Gives the coordinates of slots, and adds their chunks.
struct Slots<'a> {
    file: &'a File,
    grid: &'a Grid,
    element: Element,
    /// The counts of the grid of slots; the first is not limited.
    counts: Vec<u64>,
    /// The position of the slot grid's first dimension among those of the dataset.
    slowest: usize,
    entries: &'a mut Vec<Entry>,
}

impl Slots<'_> {
    /// Adds the chunks of elements that follow each other.
    fn add(&mut self, first: u64, count: u64, cursor: &mut Cursor<'_>) -> Decoded<()> {
        for slot in first..first.saturating_add(count) {
            let Some(record) = self.element.decode(cursor)? else { continue };
            let mut index = coordinates(slot, &self.counts);
            if self.slowest > 0 && self.slowest < index.len() {
                // The slowest dimension goes back to its place.
                index[..=self.slowest].rotate_left(1);
            }
            self.grid.add(self.file, &index, record, self.entries)?;
        }
        Ok(())
    }
}

/// Reads a fixed array (HDF5 file format, VII.D).
pub(super) fn fixed(
    file: &File,
    address: u64,
    grid: &Grid,
    entries: &mut Vec<Entry>,
) -> Result<(), Hdf5Error> {
    const WHAT: &str = "the fixed array of chunks";
    let failed = |error| file.error(error, WHAT, address);
    let bytes = file.read_up_to(address, HEADER, WHAT)?;
    let header = (|| {
        let mut cursor = file.cursor(&bytes);
        cursor.signature(b"FAHD", 0)?;
        let element = Element::new(cursor.u8()?, cursor.u8()?, file)?;
        let page_bits = cursor.u8()?;
        let (count, data) = (cursor.length()?, cursor.address()?);
        decode::check_sum(bytes.get(..cursor.position() + 4).unwrap_or_default())?;
        Ok((element, page_bits, count, data))
    })();
    let (element, page_bits, count, data) = header.map_err(failed)?;
    let Some(data) = data else { return Ok(()) };
    let counts = grid.max_counts.iter().copied().collect::<Option<Vec<_>>>();
    let counts = counts.ok_or_else(|| failed("the dataset is unlimited, a fixed array is not".into()))?;
    if ncz_model::product(counts.iter().copied()) != Some(count) {
        return Err(failed(format!("it has {count} slots, the dataset has {counts:?} chunks").into()));
    }
    let mut slots = Slots { file, grid, element, counts, slowest: 0, entries };
    let prefix = 6 + u64::from(file.widths.offset);
    let page = 1_u64.checked_shl(u32::from(page_bits)).unwrap_or(u64::MAX);
    let size = element.size as u64;
    if count <= page {
        let len = prefix.saturating_add(count.saturating_mul(size)).saturating_add(4);
        let bytes = file.read_nodes([(data, len)], WHAT)?.pop().unwrap_or_default();
        let read = (|| {
            decode::check_sum(&bytes)?;
            let mut cursor = file.cursor(&bytes);
            cursor.signature(b"FADB", 0)?;
            cursor.skip(1)?;
            cursor.address()?;
            slots.add(0, count, &mut cursor)
        })();
        return read.map_err(failed);
    }
    let pages = count.div_ceil(page);
    let bitmap = pages.div_ceil(8);
    let bytes = file.read(data, prefix.saturating_add(bitmap).saturating_add(4), WHAT)?;
    decode::check_sum(&bytes).map_err(failed)?;
    let used = bytes.get(prefix as usize..).unwrap_or_default();
    let first = data.saturating_add(bytes.len() as u64);
    let used = used_pages(used, 0..pages).map(|number| {
        // All pages but the last are full.
        let elements = page.min(count - number * page);
        let at = first.saturating_add(number.saturating_mul(page * size + 4));
        Page { address: at, first: number * page, elements }
    });
    read_pages(&mut slots, used, WHAT)
}

/// A page of elements with its own checksum.
struct Page {
    address: u64,
    first: u64,
    elements: u64,
}

/// The numbers, from 0, of the pages whose bit is set; `bits` are those of the pages. The first bit is the highest of
/// the first byte.
fn used_pages(bitmap: &[u8], bits: Range<u64>) -> impl Iterator<Item = u64> {
    let first = bits.start;
    bits.filter(|bit| {
        let byte = usize::try_from(bit / 8).ok().and_then(|byte| bitmap.get(byte));
        byte.is_some_and(|byte| byte & (0x80 >> (bit % 8)) != 0)
    })
    .map(move |bit| bit - first)
}

/// Reads pages, many in one round.
fn read_pages(
    slots: &mut Slots<'_>,
    pages: impl Iterator<Item = Page>,
    what: &'static str,
) -> Result<(), Hdf5Error> {
    let mut pages = pages.peekable();
    while pages.peek().is_some() {
        let round: Vec<Page> = pages.by_ref().take(ROUND).collect();
        let size = slots.element.size as u64;
        let nodes =
            round.iter().map(|page| (page.address, page.elements.saturating_mul(size).saturating_add(4)));
        for (bytes, page) in slots.file.read_nodes(nodes, what)?.iter().zip(&round) {
            let read = decode::check_sum(bytes)
                .and_then(|()| slots.add(page.first, page.elements, &mut slots.file.cursor(bytes)));
            read.map_err(|error| slots.file.error(error, what, page.address))?;
        }
    }
    Ok(())
}

/// A data block of an extensible array.
struct DataBlock {
    address: u64,
    first: u64,
    elements: u64,
    /// The pages that are used; `None` if it has no pages.
    pages: Option<Vec<u64>>,
}

/// Reads an extensible array (HDF5 file format, VII.C).
pub(super) fn extensible(
    file: &File,
    address: u64,
    grid: &Grid,
    entries: &mut Vec<Entry>,
) -> Result<(), Hdf5Error> {
    const WHAT: &str = "the extensible array of chunks";
    let failed = |error| file.error(error, WHAT, address);
    let bytes = file.read_up_to(address, HEADER, WHAT)?;
    let header = (|| {
        let mut cursor = file.cursor(&bytes);
        cursor.signature(b"EAHD", 0)?;
        let element = Element::new(cursor.u8()?, cursor.u8()?, file)?;
        let (max_bits, index_elements) = (cursor.u8()?, cursor.u8()?);
        let (min_data, min_pointers, page_bits) = (cursor.u8()?, cursor.u8()?, cursor.u8()?);
        for _ in 0..6 {
            cursor.length()?;
        }
        let index = cursor.address()?;
        decode::check_sum(bytes.get(..cursor.position() + 4).unwrap_or_default())?;
        let geometry = decode::array_geometry(index_elements, min_data, min_pointers, max_bits, page_bits)?;
        Ok((element, max_bits, geometry, index))
    })();
    let (element, max_bits, geometry, index) = header.map_err(failed)?;
    let Some(index) = index else { return Ok(()) };
    let (slowest, counts) = slots_of(grid).map_err(failed)?;
    let mut slots = Slots { file, grid, element, counts, slowest, entries };
    let pointer = u64::from(file.widths.offset);
    let size = element.size as u64;
    // Signature, version, client, address of the header.
    let prefix = 6 + pointer;
    let pointers = (geometry.ndblk_addrs + geometry.nsblk_addrs) as u64;
    let len = prefix + geometry.idx_blk_elmts * size + pointers * pointer + 4;
    let bytes = file.read(index, len, WHAT)?;
    let read = (|| {
        decode::check_sum(&bytes)?;
        let mut cursor = file.cursor(&bytes);
        cursor.signature(b"EAIB", 0)?;
        cursor.skip(1)?;
        cursor.address()?;
        slots.add(0, geometry.idx_blk_elmts, &mut cursor)?;
        let data = (0..geometry.ndblk_addrs).map(|_| cursor.address()).collect::<Decoded<Vec<_>>>()?;
        let supers = (0..geometry.nsblk_addrs).map(|_| cursor.address()).collect::<Decoded<Vec<_>>>()?;
        Ok((data, supers))
    })();
    let (data, supers) = read.map_err(failed)?;
    let offset_len = u64::from(max_bits.div_ceil(8).max(1));
    let mut blocks = Vec::new();
    for (super_block, info) in geometry.sblk.iter().enumerate().take(geometry.iblock_nsblks) {
        for local in 0..info.ndblks {
            let number = usize::try_from(info.start_dblk + local).unwrap_or(usize::MAX);
            let Some(Some(address)) = data.get(number) else { continue };
            if geometry.is_sblk_paged(super_block) {
                return Err(failed("data blocks of its index block have pages".into()));
            }
            let first = geometry.idx_blk_elmts + info.start_idx + local * info.dblk_nelmts;
            blocks.push(DataBlock { address: *address, first, elements: info.dblk_nelmts, pages: None });
        }
    }
    super_blocks(&slots, &geometry, &supers, prefix + offset_len, &mut blocks)?;
    data_blocks(&mut slots, &geometry, blocks, prefix + offset_len)
}

/// The slowest dimension of the slots, and their counts with it in front.
fn slots_of(grid: &Grid) -> Decoded<(usize, Vec<u64>)> {
    let mut unlimited = grid.max_counts.iter().enumerate().filter(|(_, count)| count.is_none());
    let (Some((slowest, _)), None) = (unlimited.next(), unlimited.next()) else {
        return Err("the dataset does not have one unlimited dimension".into());
    };
    // The number of slots along the unlimited dimension is not needed.
    let others = grid.max_counts.iter().flatten().copied();
    Ok((slowest, [0].into_iter().chain(others).collect()))
}

/// Reads all super blocks in one round, and lists their data blocks.
fn super_blocks(
    slots: &Slots<'_>,
    geometry: &ArrayGeometry,
    addresses: &[Option<u64>],
    prefix: u64,
    blocks: &mut Vec<DataBlock>,
) -> Result<(), Hdf5Error> {
    const WHAT: &str = "a super block of an extensible array";
    let file = slots.file;
    let used: Vec<_> = addresses
        .iter()
        .enumerate()
        .filter_map(|(at, address)| {
            let number = geometry.iblock_nsblks + at;
            Some((number, (*address)?, geometry.sblk.get(number)?))
        })
        .collect();
    let bitmap = |number: usize| geometry.dblk_page_init_size(number) as u64;
    let nodes = used.iter().map(|(number, address, info)| {
        let each = bitmap(*number).saturating_add(u64::from(file.widths.offset));
        (*address, prefix.saturating_add(info.ndblks.saturating_mul(each)).saturating_add(4))
    });
    for (bytes, (number, address, info)) in file.read_nodes(nodes, WHAT)?.iter().zip(&used) {
        let read = (|| {
            decode::check_sum(bytes)?;
            let mut cursor = file.cursor(bytes);
            cursor.signature(b"EASB", 0)?;
            cursor.skip(prefix as usize - 5)?;
            let all = usize::try_from(bitmap(*number).saturating_mul(info.ndblks)).unwrap_or(usize::MAX);
            let bits = cursor.take(all)?;
            let pages = geometry.npages(*number);
            let is_paged = geometry.is_sblk_paged(*number);
            for local in 0..info.ndblks {
                let Some(address) = cursor.address()? else { continue };
                let first = geometry.idx_blk_elmts + info.start_idx + local * info.dblk_nelmts;
                // The bits of one block follow those of the one before, also within a byte.
                let used = is_paged.then(|| used_pages(bits, local * pages..(local + 1) * pages).collect());
                blocks.push(DataBlock { address, first, elements: info.dblk_nelmts, pages: used });
            }
            Ok(())
        })();
        read.map_err(|error| file.error(error, WHAT, *address))?;
    }
    Ok(())
}

fn data_blocks(
    slots: &mut Slots<'_>,
    geometry: &ArrayGeometry,
    blocks: Vec<DataBlock>,
    prefix: u64,
) -> Result<(), Hdf5Error> {
    const WHAT: &str = "a data block of an extensible array";
    let size = slots.element.size as u64;
    let (paged, whole): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|block| block.pages.is_some());
    for round in whole.chunks(ROUND) {
        let len = |block: &DataBlock| prefix + block.elements.saturating_mul(size) + 4;
        let nodes = round.iter().map(|block| (block.address, len(block)));
        for (bytes, block) in slots.file.read_nodes(nodes, WHAT)?.iter().zip(round) {
            let read = (|| {
                decode::check_sum(bytes)?;
                let mut cursor = slots.file.cursor(bytes);
                cursor.signature(b"EADB", 0)?;
                cursor.skip(prefix as usize - 5)?;
                slots.add(block.first, block.elements, &mut cursor)
            })();
            read.map_err(|error| slots.file.error(error, WHAT, block.address))?;
        }
    }
    let page = geometry.dblk_page_nelmts;
    let pages = paged.iter().flat_map(|block| {
        block.pages.iter().flatten().map(move |number| Page {
            // The prefix of the block has a checksum of its own.
            address: block
                .address
                .saturating_add(prefix + 4)
                .saturating_add(number.saturating_mul(page.saturating_mul(size).saturating_add(4))),
            first: block.first + number * page,
            elements: page,
        })
    });
    read_pages(slots, pages, WHAT)
}
