//! Arrays of chunks: fixed, where no dimension is unlimited, and extensible, where one is.
//!
//! Slots count over the grid of the greatest shape, not of the current one. In an extensible array the unlimited
//! dimension is the slowest, wherever it stands (`H5D__earray_idx_get_addr` in libhdf5).

use std::ops::Range;

use super::super::cursor::{Cursor, Decoded};
use super::super::decode::{self, ArrayGeometry};
use super::super::error::Hdf5Error;
use super::super::file::File;
use super::lazy::{Nodes, Stop};
use super::{Entry, Grid, NONE_SKIPPED, Record, coordinates, number};

/// The most data blocks or pages that are read in one round.
const ROUND: usize = 4096;

const FIXED: &str = "the fixed array of chunks";
const EXTENSIBLE: &str = "the extensible array of chunks";
const SUPER_BLOCK: &str = "a super block of an extensible array";
const DATA_BLOCK: &str = "a data block of an array of chunks";

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

/// The slots of an array: its elements, as chunks of a grid.
struct Slots<'a> {
    file: &'a File,
    grid: &'a Grid,
    element: Element,
    /// The counts of the grid of slots; the first is not limited.
    counts: Vec<u64>,
    /// The position of the slot grid's first dimension among those of the dataset.
    slowest: usize,
}

/// Elements that are read together: a data block, or a page of one.
struct Part {
    address: u64,
    /// The signature of a block, and the bytes before its elements. A page has neither.
    head: Option<(&'static [u8; 4], u64)>,
    /// The slot of the first element.
    first: u64,
    elements: u64,
}

impl Part {
    /// The checked part from its elements on.
    fn elements<'b>(&self, file: &File, bytes: &'b [u8]) -> Decoded<Cursor<'b>> {
        let mut cursor = file.cursor(bytes);
        if let Some((signature, len)) = self.head {
            cursor.signature(signature, 0)?;
            cursor.skip((len as usize).saturating_sub(cursor.position()))?;
        }
        Ok(cursor)
    }
}

impl Slots<'_> {
    /// The slot of a chunk.
    fn of(&self, index: &[u64]) -> Option<u64> {
        let mut index = index.to_vec();
        index.get_mut(..=self.slowest)?.rotate_right(1);
        let counts: Vec<u64> = [u64::MAX].into_iter().chain(self.counts.iter().skip(1).copied()).collect();
        number(&index, &counts)
    }

    /// Adds the chunks of elements that follow each other.
    fn add(&self, first: u64, count: u64, cursor: &mut Cursor<'_>, entries: &mut Vec<Entry>) -> Decoded<()> {
        for slot in first..first.saturating_add(count) {
            let Some(record) = self.element.decode(cursor)? else { continue };
            let mut index = coordinates(slot, &self.counts);
            if self.slowest > 0 && self.slowest < index.len() {
                // The slowest dimension goes back to its place.
                index[..=self.slowest].rotate_left(1);
            }
            self.grid.add(self.file, &index, record, entries)?;
        }
        Ok(())
    }

    /// The address of a part and its bytes.
    fn node(&self, part: &Part) -> (u64, u64) {
        let head = part.head.map_or(0, |(_, len)| len);
        let elements = part.elements.saturating_mul(self.element.size as u64);
        (part.address, head.saturating_add(elements).saturating_add(4))
    }

    /// Reads parts, many in one round, and adds their chunks.
    fn add_parts(
        &self,
        parts: impl Iterator<Item = Part>,
        entries: &mut Vec<Entry>,
    ) -> Result<(), Hdf5Error> {
        let mut parts = parts.peekable();
        while parts.peek().is_some() {
            let round: Vec<Part> = parts.by_ref().take(ROUND).collect();
            let nodes = self.file.read_nodes(round.iter().map(|part| self.node(part)), DATA_BLOCK)?;
            for (bytes, part) in nodes.iter().zip(&round) {
                let read = decode::check_sum(bytes).and_then(|()| {
                    self.add(part.first, part.elements, &mut part.elements(self.file, bytes)?, entries)
                });
                read.map_err(|error| self.file.error(error, DATA_BLOCK, part.address))?;
            }
        }
        Ok(())
    }

    /// The chunk of a slot in a part.
    fn find(&self, nodes: &mut Nodes<'_>, part: &Part, slot: u64) -> Result<Option<Record>, Stop> {
        let bytes = nodes.node(self.node(part), DATA_BLOCK, decode::check_sum)?;
        let found = part
            .elements(self.file, bytes)
            .and_then(|mut cursor| self.element(&mut cursor, slot - part.first));
        Ok(found.map_err(|error| self.file.error(error, DATA_BLOCK, part.address))?)
    }

    /// The element at a position.
    fn element(&self, cursor: &mut Cursor<'_>, position: u64) -> Decoded<Option<Record>> {
        let skipped = usize::try_from(position).unwrap_or(usize::MAX).saturating_mul(self.element.size);
        cursor.skip(skipped)?;
        self.element.decode(cursor)
    }
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

/// A fixed array (HDF5 file format, VII.D).
struct Fixed<'a> {
    slots: Slots<'a>,
    /// The number of elements.
    count: u64,
    /// The elements of a page.
    page: u64,
    /// The address of the data block.
    data: u64,
    /// The bytes of the data block before elements or the map of pages.
    prefix: u64,
}

impl<'a> Fixed<'a> {
    /// Reads the header of an array; `None` if it has no elements yet.
    fn read(file: &'a File, address: u64, grid: &'a Grid) -> Result<Option<Self>, Hdf5Error> {
        let failed = |error| file.error(error, FIXED, address);
        let bytes = file.read_up_to(address, HEADER, FIXED)?;
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
        let Some(data) = data else { return Ok(None) };
        let counts = grid.max_counts.iter().copied().collect::<Option<Vec<_>>>();
        let counts = counts.ok_or_else(|| failed("the dataset is unlimited, a fixed array is not".into()))?;
        if ncz_model::product(counts.iter().copied()) != Some(count) {
            return Err(failed(format!("it has {count} slots, the dataset has {counts:?} chunks").into()));
        }
        let slots = Slots { file, grid, element, counts, slowest: 0 };
        let page = 1_u64.checked_shl(u32::from(page_bits)).unwrap_or(u64::MAX);
        Ok(Some(Self { slots, count, page, data, prefix: 6 + u64::from(file.widths.offset) }))
    }

    /// The data block, if it has no pages.
    fn whole(&self) -> Option<Part> {
        (self.count <= self.page).then_some(Part {
            address: self.data,
            head: Some((b"FADB", self.prefix)),
            first: 0,
            elements: self.count,
        })
    }

    /// The map of pages that are used. They follow it.
    fn map(&self) -> Result<Vec<u8>, Hdf5Error> {
        let file = self.slots.file;
        let len = self.prefix.saturating_add(self.pages().div_ceil(8)).saturating_add(4);
        let mut bytes = file.read(self.data, len, FIXED)?;
        decode::check_sum(&bytes).map_err(|error| file.error(error, FIXED, self.data))?;
        Ok(bytes.split_off(bytes.len().min(self.prefix as usize)))
    }

    fn pages(&self) -> u64 {
        self.count.div_ceil(self.page)
    }

    fn page(&self, map: &[u8], number: u64) -> Part {
        let first = number.saturating_mul(self.page);
        let pages = self.data.saturating_add(self.prefix).saturating_add(map.len() as u64);
        let len = self.page.saturating_mul(self.slots.element.size as u64).saturating_add(4);
        Part {
            address: pages.saturating_add(number.saturating_mul(len)),
            head: None,
            first,
            // All pages but the last are full.
            elements: self.page.min(self.count.saturating_sub(first)),
        }
    }
}

/// Looks for a chunk in a fixed array.
pub(super) fn find_fixed(
    nodes: &mut Nodes<'_>,
    address: u64,
    grid: &Grid,
    index: &[u64],
) -> Result<Option<Record>, Stop> {
    let Some(array) = Fixed::read(nodes.file, address, grid)? else { return Ok(None) };
    let slot = array.slots.of(index).filter(|slot| *slot < array.count).ok_or(Stop::Unknown)?;
    let part = match array.whole() {
        Some(whole) => whole,
        None => {
            let (map, number) = (array.map()?, slot / array.page);
            if used_pages(&map, number..number + 1).next().is_none() {
                return Ok(None);
            }
            array.page(&map, number)
        }
    };
    array.slots.find(nodes, &part, slot)
}

/// Reads a fixed array.
pub(super) fn all_fixed(
    file: &File,
    address: u64,
    grid: &Grid,
    entries: &mut Vec<Entry>,
) -> Result<(), Hdf5Error> {
    let Some(array) = Fixed::read(file, address, grid)? else { return Ok(()) };
    if let Some(whole) = array.whole() {
        return array.slots.add_parts(std::iter::once(whole), entries);
    }
    let map = array.map()?;
    let used = used_pages(&map, 0..array.pages());
    array.slots.add_parts(used.map(|number| array.page(&map, number)), entries)
}

/// A data block of an extensible array.
struct DataBlock {
    address: u64,
    first: u64,
    elements: u64,
    /// The pages that are used; `None` if it has no pages.
    pages: Option<Vec<u64>>,
}

/// An extensible array (HDF5 file format, VII.C).
struct Extensible<'a> {
    slots: Slots<'a>,
    geometry: ArrayGeometry,
    /// The addresses of data blocks and super blocks in the index block.
    data: Vec<Option<u64>>,
    supers: Vec<Option<u64>>,
    /// The bytes of a data block or super block before the rest.
    prefix: u64,
    /// The index block, and the position of its elements.
    index: (Vec<u8>, u64),
}

impl<'a> Extensible<'a> {
    /// Reads the header and the index block of an array; `None` if it has no elements yet.
    fn read(file: &'a File, address: u64, grid: &'a Grid) -> Result<Option<Self>, Hdf5Error> {
        let failed = |error| file.error(error, EXTENSIBLE, address);
        let bytes = file.read_up_to(address, HEADER, EXTENSIBLE)?;
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
            let geometry =
                decode::array_geometry(index_elements, min_data, min_pointers, max_bits, page_bits)?;
            Ok((element, max_bits, geometry, index))
        })();
        let (element, max_bits, geometry, index) = header.map_err(failed)?;
        let Some(index) = index else { return Ok(None) };
        let (slowest, counts) = slots_of(grid).map_err(failed)?;
        let slots = Slots { file, grid, element, counts, slowest };
        let pointer = u64::from(file.widths.offset);
        // Signature, version, client, address of the header.
        let prefix = 6 + pointer;
        let elements = geometry.idx_blk_elmts * element.size as u64;
        let pointers = (geometry.ndblk_addrs + geometry.nsblk_addrs) as u64;
        let bytes = file.read(index, prefix + elements + pointers * pointer + 4, EXTENSIBLE)?;
        let read = (|| {
            decode::check_sum(&bytes)?;
            let mut cursor = file.cursor(&bytes);
            cursor.signature(b"EAIB", 0)?;
            cursor.skip((prefix + elements) as usize - 5)?;
            let data = (0..geometry.ndblk_addrs).map(|_| cursor.address()).collect::<Decoded<Vec<_>>>()?;
            let supers = (0..geometry.nsblk_addrs).map(|_| cursor.address()).collect::<Decoded<Vec<_>>>()?;
            Ok((data, supers))
        })();
        let (data, supers) = read.map_err(failed)?;
        let offset_len = u64::from(max_bits.div_ceil(8).max(1));
        let index = (bytes, prefix);
        Ok(Some(Self { slots, geometry, data, supers, prefix: prefix + offset_len, index }))
    }

    /// The elements in the index block.
    fn index_elements(&self) -> Cursor<'_> {
        let (bytes, at) = &self.index;
        self.slots.file.cursor(bytes.get(*at as usize..).unwrap_or_default())
    }

    /// A data block whose address is in the index block; `None` if it is not used.
    fn indexed(&self, super_block: usize, local: u64) -> Decoded<Option<DataBlock>> {
        let Some(info) = self.geometry.sblk.get(super_block) else { return Ok(None) };
        let position = usize::try_from(info.start_dblk + local).unwrap_or(usize::MAX);
        let Some(Some(address)) = self.data.get(position) else { return Ok(None) };
        if self.geometry.is_sblk_paged(super_block) {
            return Err("data blocks of its index block have pages".into());
        }
        Ok(Some(self.data_block(super_block, local, *address, None)))
    }

    fn data_block(&self, super_block: usize, local: u64, address: u64, pages: Option<Vec<u64>>) -> DataBlock {
        let info = self.geometry.sblk.get(super_block);
        let (start, elements) = info.map_or((0, 0), |info| (info.start_idx, info.dblk_nelmts));
        let first = self.geometry.idx_blk_elmts + start + local * elements;
        DataBlock { address, first, elements, pages }
    }

    /// The address of a super block, and its bytes; `None` if it is not used.
    fn super_block(&self, number: usize) -> Option<(u64, u64)> {
        let address = (*self.supers.get(number.checked_sub(self.geometry.iblock_nsblks)?)?)?;
        let info = self.geometry.sblk.get(number)?;
        let bitmap = self.geometry.dblk_page_init_size(number) as u64;
        let each = bitmap.saturating_add(u64::from(self.slots.file.widths.offset));
        Some((address, self.prefix.saturating_add(info.ndblks.saturating_mul(each)).saturating_add(4)))
    }

    /// The used data blocks of a super block, each with its position there.
    fn of_super_block(&self, number: usize, bytes: &[u8]) -> Decoded<Vec<(u64, DataBlock)>> {
        let mut cursor = self.slots.file.cursor(bytes);
        cursor.signature(b"EASB", 0)?;
        cursor.skip(self.prefix as usize - 5)?;
        let count = self.geometry.sblk.get(number).map_or(0, |info| info.ndblks);
        let bitmap = self.geometry.dblk_page_init_size(number) as u64;
        let all = usize::try_from(bitmap.saturating_mul(count)).unwrap_or(usize::MAX);
        let bits = cursor.take(all)?;
        let pages = self.geometry.npages(number);
        let is_paged = self.geometry.is_sblk_paged(number);
        let mut blocks = Vec::new();
        for local in 0..count {
            let Some(address) = cursor.address()? else { continue };
            // The bits of one block follow those of the one before, also within a byte.
            let used = is_paged.then(|| used_pages(bits, local * pages..(local + 1) * pages).collect());
            blocks.push((local, self.data_block(number, local, address, used)));
        }
        Ok(blocks)
    }

    fn parts(&self, block: &DataBlock) -> Vec<Part> {
        let DataBlock { address, first, elements, ref pages } = *block;
        let Some(pages) = pages else {
            return vec![Part { address, head: Some((b"EADB", self.prefix)), first, elements }];
        };
        let page = self.geometry.dblk_page_nelmts;
        let len = page.saturating_mul(self.slots.element.size as u64).saturating_add(4);
        // The prefix of the block has a checksum of its own.
        let begin = address.saturating_add(self.prefix + 4);
        let part = |number: &u64| Part {
            address: begin.saturating_add(number.saturating_mul(len)),
            head: None,
            first: first + number * page,
            elements: page,
        };
        pages.iter().map(part).collect()
    }
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

/// Looks for a chunk in an extensible array.
pub(super) fn find_extensible(
    nodes: &mut Nodes<'_>,
    address: u64,
    grid: &Grid,
    index: &[u64],
) -> Result<Option<Record>, Stop> {
    let file = nodes.file;
    let failed = |error| file.error(error, EXTENSIBLE, address);
    let Some(array) = Extensible::read(file, address, grid)? else { return Ok(None) };
    let (slots, geometry) = (&array.slots, &array.geometry);
    let slot = slots.of(index).ok_or(Stop::Unknown)?;
    let Some(after) = slot.checked_sub(geometry.idx_blk_elmts) else {
        return Ok(slots.element(&mut array.index_elements(), slot).map_err(failed)?);
    };
    let super_block = geometry.sblk_index(slot);
    let Some(info) = geometry.sblk.get(super_block) else { return Err(Stop::Unknown) };
    let local = after.saturating_sub(info.start_idx) / info.dblk_nelmts.max(1);
    let block = if super_block < geometry.iblock_nsblks {
        array.indexed(super_block, local).map_err(failed)?
    } else {
        let Some(node) = array.super_block(super_block) else { return Ok(None) };
        let bytes = nodes.node(node, SUPER_BLOCK, decode::check_sum)?;
        let blocks = array.of_super_block(super_block, bytes);
        let blocks = blocks.map_err(|error| file.error(error, SUPER_BLOCK, node.0))?;
        blocks.into_iter().find_map(|(at, block)| (at == local).then_some(block))
    };
    let parts = block.map(|block| array.parts(&block)).unwrap_or_default();
    match parts.iter().find(|part| (part.first..part.first + part.elements).contains(&slot)) {
        Some(part) => slots.find(nodes, part, slot),
        None => Ok(None),
    }
}

/// Reads an extensible array: all super blocks in one round, then all data blocks.
pub(super) fn all_extensible(
    file: &File,
    address: u64,
    grid: &Grid,
    entries: &mut Vec<Entry>,
) -> Result<(), Hdf5Error> {
    let failed = |error| file.error(error, EXTENSIBLE, address);
    let Some(array) = Extensible::read(file, address, grid)? else { return Ok(()) };
    let (slots, geometry) = (&array.slots, &array.geometry);
    slots.add(0, geometry.idx_blk_elmts, &mut array.index_elements(), entries).map_err(failed)?;
    let mut blocks = Vec::new();
    for (super_block, info) in geometry.sblk.iter().enumerate().take(geometry.iblock_nsblks) {
        for local in 0..info.ndblks {
            blocks.extend(array.indexed(super_block, local).map_err(failed)?);
        }
    }
    let numbers = geometry.iblock_nsblks..geometry.sblk.len();
    let used: Vec<_> = numbers.filter_map(|number| Some((number, array.super_block(number)?))).collect();
    let nodes = file.read_nodes(used.iter().map(|(_, node)| *node), SUPER_BLOCK)?;
    for (bytes, (number, (address, _))) in nodes.iter().zip(&used) {
        let read = decode::check_sum(bytes).and_then(|()| array.of_super_block(*number, bytes));
        let read = read.map_err(|error| file.error(error, SUPER_BLOCK, *address))?;
        blocks.extend(read.into_iter().map(|(_, block)| block));
    }
    slots.add_parts(blocks.iter().flat_map(|block| array.parts(block)), entries)
}
