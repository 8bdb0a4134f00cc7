//! The links of a group (HDF5 file format, III.C, IV.A.2.g and IV.A.2.r).

use std::collections::BTreeSet;

use super::attributes;
use super::cursor::{Cursor, Decoded, before_nul};
use super::decode::{Heap, TreeHeader, record};
use super::error::Hdf5Error;
use super::file::File;
use super::header::{Header, LINK, LINK_INFO, SYMBOL_TABLE};

/// The most links of one group.
const MOST: usize = ncz_model::limits::CHILDREN;

/// The bytes of the header of a node before its addresses.
const NODE: u64 = 8;

/// A name in a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) target: Target,
    order: Option<u64>,
}

/// What a link leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The object header at this address.
    Object(u64),
    /// A path in the same file.
    Path(String),
    /// An object in another file.
    External { file: String, path: String },
    /// A link of a kind that a program defined.
    Other(u8),
}

/// Reads the links of a group, in the order of their creation if all have one, else by the bytes of their names.
pub(crate) fn links(file: &File, header: &Header) -> Result<Vec<Link>, Hdf5Error> {
    let mut links = Vec::new();
    let failed = |error, what| file.error(error, what, header.address);
    for message in header.all(LINK) {
        let (body, _) = file.message_body(message)?;
        links.push(link(file.cursor(&body)).map_err(|error| failed(error, "a link of the group"))?);
    }
    if let Some(message) = header.message(LINK_INFO) {
        let info = attributes::info(file, &message.body, 8);
        if let Some((heap, index)) = info.map_err(|error| failed(error, "the link info"))? {
            dense(file, heap, index, &mut links)?;
        }
    }
    if let Some(message) = header.message(SYMBOL_TABLE) {
        let mut cursor = file.cursor(&message.body);
        let addresses = (|| Ok((cursor.address()?, cursor.address()?)))();
        let (tree, heap) = addresses.map_err(|error| failed(error, "the symbol table"))?;
        if let Some((tree, heap)) = tree.zip(heap) {
            symbols(file, tree, heap, &mut links)?;
        }
    }
    if links.iter().all(|link| link.order.is_some()) {
        links.sort_by_key(|link| link.order);
    } else {
        links.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
    }
    Ok(links)
}

fn link(mut cursor: Cursor<'_>) -> Decoded<Link> {
    if cursor.u8()? != 1 {
        return Err("its version is not known".into());
    }
    let flags = cursor.u8()?;
    let kind = if flags & 0x08 != 0 { cursor.u8()? } else { 0 };
    let order = if flags & 0x04 != 0 { Some(cursor.uint(8)?) } else { None };
    if flags & 0x10 != 0 {
        cursor.skip(1)?;
    }
    let len = cursor.uint(1 << (flags & 3))?;
    let name = cursor.take(usize::try_from(len).unwrap_or(usize::MAX))?;
    let name = String::from_utf8_lossy(name).into_owned();
    let target = match kind {
        0 => Target::Object(cursor.defined()?),
        1 => {
            let len = usize::from(cursor.u16()?);
            Target::Path(String::from_utf8_lossy(before_nul(cursor.take(len)?)).into_owned())
        }
        64 => {
            cursor.skip(3)?;
            let file = String::from_utf8_lossy(cursor.text()).into_owned();
            Target::External { file, path: String::from_utf8_lossy(cursor.text()).into_owned() }
        }
        other => Target::Other(other),
    };
    Ok(Link { name, target, order })
}

/// Reads links in a heap.
fn dense(file: &File, heap: u64, index: u64, links: &mut Vec<Link>) -> Result<(), Hdf5Error> {
    let heap_address = heap;
    let heap = Heap::read(file, heap)?;
    let header = TreeHeader::read(file, index)?;
    if header.kind != record::LINK_NAME || header.record_len < 5 {
        return Err(file.error("it is not the index of names of links".into(), "the B-tree", index));
    }
    for record in header.records(file)?.chunks_exact(header.record_len) {
        let mut cursor = file.cursor(record);
        cursor.skip(4).map_err(|error| file.error(error, "the B-tree", index))?;
        let object = heap.object(file, cursor.rest())?;
        let link = link(file.cursor(&object));
        links.push(link.map_err(|error| file.error(error, "a link in the fractal heap", heap_address))?);
        check_count(file, links, index)?;
    }
    Ok(())
}

fn check_count(file: &File, links: &[Link], address: u64) -> Result<(), Hdf5Error> {
    if links.len() > MOST {
        return Err(file.error(format!("it has more than {MOST} links").into(), "the group", address));
    }
    Ok(())
}

/// Reads the links of a group in the old form: a B-tree of tables, and a heap of names.
fn symbols(file: &File, tree: u64, heap: u64, links: &mut Vec<Link>) -> Result<(), Hdf5Error> {
    let names = local_heap(file, heap)?;
    let mut level = vec![tree];
    let mut height = None;
    let mut visited = BTreeSet::new();
    while !level.is_empty() {
        let mut below = Vec::new();
        for address in level {
            const WHAT: &str = "a node of a B-tree";
            let failed = |error| file.error(error, WHAT, address);
            if !visited.insert(address) {
                return Err(failed("two nodes refer to it".into()));
            }
            if height == Some(0) {
                table(file, address, &names, links)?;
                check_count(file, links, address)?;
                continue;
            }
            let prefix = NODE + 2 * u64::from(file.widths.offset);
            let bytes = file.read(address, prefix, WHAT)?;
            let (level, entries) = node_prefix(file.cursor(&bytes), 0).map_err(failed)?;
            if height.is_some_and(|height: u8| level + 1 != height) {
                return Err(failed("its level does not follow that of its parent".into()));
            }
            let len = u64::from(entries) * u64::from(file.widths.offset + file.widths.length);
            let bytes = file.read(address.saturating_add(prefix), len, WHAT)?;
            let mut cursor = file.cursor(&bytes);
            for _ in 0..entries {
                cursor.length().map_err(failed)?;
                below.push((level, cursor.defined().map_err(failed)?));
            }
        }
        // Level 0 has the addresses of tables.
        height = below.first().map(|(level, _)| *level);
        level = below.into_iter().map(|(_, address)| address).collect();
    }
    Ok(())
}

/// The level and the number of entries of a node of a B-tree of version 1 (HDF5 file format, III.A.1).
pub(super) fn node_prefix(mut cursor: Cursor<'_>, kind: u8) -> Decoded<(u8, u16)> {
    if cursor.take(4)? != b"TREE" {
        return Err("it has no signature".into());
    }
    match cursor.u8()? {
        found if found == kind => Ok((cursor.u8()?, cursor.u16()?)),
        found => Err(format!("it is of type {found} where {kind} is expected").into()),
    }
}

/// The names of a group in the old form (HDF5 file format, III.D).
fn local_heap(file: &File, address: u64) -> Result<Vec<u8>, Hdf5Error> {
    const WHAT: &str = "the local heap";
    let len = NODE + 2 * u64::from(file.widths.length) + u64::from(file.widths.offset);
    let bytes = file.read(address, len, WHAT)?;
    let mut cursor = file.cursor(&bytes);
    let fields = (|| {
        cursor.signature(b"HEAP", 0)?;
        cursor.skip(3)?;
        let len = cursor.length()?;
        cursor.length()?;
        Ok((cursor.defined()?, len))
    })();
    let (data, len) = fields.map_err(|error| file.error(error, WHAT, address))?;
    file.read(data, len, WHAT)
}

/// Reads a table of links (HDF5 file format, III.B and III.C).
fn table(file: &File, address: u64, names: &[u8], links: &mut Vec<Link>) -> Result<(), Hdf5Error> {
    const WHAT: &str = "a table of links";
    let failed = |error| file.error(error, WHAT, address);
    let bytes = file.read(address, NODE, WHAT)?;
    let mut cursor = file.cursor(&bytes);
    let fields = cursor.signature(b"SNOD", 1).and_then(|()| cursor.skip(1)).and_then(|()| cursor.u16());
    let entries = fields.map_err(failed)?;
    let entry = 2 * u64::from(file.widths.offset) + 24;
    let bytes = file.read(address.saturating_add(NODE), u64::from(entries) * entry, WHAT)?;
    let mut cursor = file.cursor(&bytes);
    for _ in 0..entries {
        links.push(symbol(&mut cursor, names).map_err(failed)?);
    }
    Ok(())
}

fn symbol(cursor: &mut Cursor<'_>, names: &[u8]) -> Decoded<Link> {
    let text = |at: u64| {
        let text = usize::try_from(at).ok().and_then(|at| names.get(at..));
        let text = text.ok_or("a name is not within the local heap")?;
        Decoded::Ok(String::from_utf8_lossy(before_nul(text)).into_owned())
    };
    let name = text(cursor.defined()?)?;
    let address = cursor.address()?;
    let kind = cursor.u32()?;
    cursor.skip(4)?;
    let path = u64::from(cursor.u32()?);
    cursor.skip(12)?;
    let target = match (kind, address) {
        (2, _) => Target::Path(text(path)?),
        (_, Some(address)) => Target::Object(address),
        (_, None) => return Err("the address of an object is undefined".into()),
    };
    Ok(Link { name, target, order: None })
}
