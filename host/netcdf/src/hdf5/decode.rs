//! What the crate `rust-hdf5` decodes for this one: types, fractal heaps, B-trees of version 2 and checksums. It is used
//! nowhere else, so that each of its decoders can be replaced alone.

use rust_hdf5::format::chunk_index::btree_v2::{self, Bt2Geometry, Bt2Header, Bt2InternalNode, Bt2LeafNode};
use rust_hdf5::format::chunk_index::extensible_array::EaGeometry;
use rust_hdf5::format::fractal_heap::{self, FractalHeapHeader, HeapId, ManagedBlock};
use rust_hdf5::format::{BlockReader, FormatContext, FormatError, FormatResult, UNDEF_ADDR, checksum};

pub(crate) use rust_hdf5::format::chunk_index::extensible_array::EaGeometry as ArrayGeometry;
pub(crate) use rust_hdf5::format::messages::datatype::{
    ByteOrder, CompoundMember, DatatypeMessage, EnumMember, IeeeFormat,
};

use super::cursor::{Cursor, Decoded, Malformed};
use super::error::Hdf5Error;
use super::file_bytes::FileBytes;

/// The bytes of a heap's or tree's header that are enough to decode it.
const HEADER: u64 = 512;

/// The deepest B-tree: with two children in each node it has more records than a file has bytes.
const MOST_DEPTH: u16 = 64;

/// The longest floating-point number: its precision in bits is a number of 16 bits.
const MOST_FLOAT: u32 = 8192;

/// The longest ID of an object in a heap (`H5HF_MAX_ID_LEN` in libhdf5).
const MOST_HEAP_ID: u16 = 4097;

impl From<FormatError> for Malformed {
    fn from(error: FormatError) -> Self {
        error.to_string().into()
    }
}

/// Checks the lookup3 sum in the last four bytes of a structure.
pub(crate) fn check_sum(bytes: &[u8]) -> Decoded<()> {
    let Some((data, stored)) = bytes.split_last_chunk::<4>() else {
        return Err("it is too short for its checksum".into());
    };
    let (stored, computed) = (u32::from_le_bytes(*stored), checksum::checksum_metadata(data));
    if stored == computed {
        return Ok(());
    }
    Err(format!("its checksum is {stored:08x} where its bytes have {computed:08x}; it is damaged").into())
}

/// The number under which an index of names has a name.
pub(crate) fn name_hash(name: &str) -> u32 {
    checksum::checksum_metadata(name.as_bytes())
}

/// Decodes the message of a type.
pub(crate) fn decode_datatype(body: &[u8]) -> Decoded<DatatypeMessage> {
    // The decoder does not use the widths.
    let datatype = DatatypeMessage::decode(body, &FormatContext { sizeof_addr: 8, sizeof_size: 8 })?.0;
    check_floats(&datatype)?;
    Ok(datatype)
}

/// Checks that no number of a type is so long that the crate's sum of its bits overflows.
fn check_floats(datatype: &DatatypeMessage) -> Decoded<()> {
    match datatype {
        DatatypeMessage::FloatingPoint { size, .. } if *size > MOST_FLOAT => {
            Err(format!("a floating-point number of {size} bytes, possible are {MOST_FLOAT}").into())
        }
        DatatypeMessage::Enum { base, .. }
        | DatatypeMessage::Array { base, .. }
        | DatatypeMessage::VarLenSequence { base } => check_floats(base),
        DatatypeMessage::Compound { members, .. } => {
            members.iter().try_for_each(|member| check_floats(&member.datatype))
        }
        _ => Ok(()),
    }
}

/// Checks the fields of a fractal heap's header with which the crate computes.
fn check_heap_header(mut cursor: Cursor<'_>) -> Decoded<()> {
    cursor.signature(b"FRHP", 0)?;
    let id = cursor.u16()?;
    if !(1..=MOST_HEAP_ID).contains(&id) {
        return Err(format!("its IDs have {id} bytes, possible are 1 to {MOST_HEAP_ID}").into());
    }
    // Filters, flags and the size of managed objects; then the huge ones, the free space and eight sums.
    cursor.skip(2 + 1 + 4)?;
    for _ in 0..2 {
        cursor.length()?;
        cursor.address()?;
    }
    for _ in 0..8 {
        cursor.length()?;
    }
    let _width = cursor.u16()?;
    let (first, largest) = (cursor.length()?, cursor.length()?);
    let bits = cursor.u16()?;
    if !first.is_power_of_two() || !largest.is_power_of_two() || bits > 64 {
        let reason =
            format!("its blocks have {first} to {largest} bytes, and it has {bits} bits of addresses");
        return Err(format!("{reason}, which is not possible").into());
    }
    Ok(())
}

/// The size of an element in the file.
pub(crate) fn element_size(file: &FileBytes, datatype: &DatatypeMessage) -> u64 {
    u64::from(datatype.element_size_ctx(&context(file)))
}

/// The geometry of an extensible array.
pub(crate) fn array_geometry(
    index_elements: u8,
    min_data: u8,
    min_pointers: u8,
    max_bits: u8,
    page_bits: u8,
) -> Decoded<EaGeometry> {
    Ok(EaGeometry::new(index_elements, min_data, min_pointers, max_bits, page_bits)?)
}

fn context(file: &FileBytes) -> FormatContext {
    FormatContext { sizeof_addr: file.widths.offset, sizeof_size: file.widths.length }
}

/// Reads blocks for the crate's walkers. Together they may not be longer than the file is, so that cycles end.
struct Blocks<'a> {
    file: &'a FileBytes,
    what: &'static str,
    left: u64,
    failed: Option<Hdf5Error>,
}

impl<'a> Blocks<'a> {
    fn new(file: &'a FileBytes, what: &'static str) -> Self {
        Self { file, what, left: file.source.len().saturating_mul(2).saturating_add(HEADER), failed: None }
    }

    /// The error of the file where there is one, else that of the format.
    fn error(self, error: FormatError, address: u64) -> Hdf5Error {
        match self.failed {
            Some(failed) => failed,
            None => self.file.error(error.into(), self.what, address),
        }
    }
}

impl BlockReader for Blocks<'_> {
    fn read_block(&mut self, offset: u64, len: usize) -> FormatResult<Vec<u8>> {
        let damaged = |text: &str| FormatError::InvalidData(text.to_owned());
        let Some(left) = self.left.checked_sub(len as u64) else {
            return Err(damaged("its blocks have more bytes than the file; it is damaged"));
        };
        self.left = left;
        match self.file.read_up_to(offset, len as u64, self.what) {
            Ok(bytes) if bytes.len() == len || len as u64 <= HEADER => Ok(bytes),
            Ok(_) => Err(damaged("the file ends within a block")),
            Err(error) => {
                self.failed = Some(error);
                Err(damaged("a block cannot be read"))
            }
        }
    }
}

/// A fractal heap: attributes, links or shared messages (HDF5 file format, III.F).
#[derive(Debug)]
pub(crate) struct Heap {
    header: FractalHeapHeader,
    blocks: Vec<ManagedBlock>,
    address: u64,
}

impl Heap {
    const WHAT: &'static str = "the fractal heap";

    /// Reads all managed blocks of a heap.
    pub(crate) fn read(file: &FileBytes, address: u64) -> Result<Self, Hdf5Error> {
        let mut reader = Blocks::new(file, Self::WHAT);
        let bytes = file.read_up_to(address, HEADER, Self::WHAT)?;
        check_heap_header(file.cursor(&bytes)).map_err(|error| file.error(error, Self::WHAT, address))?;
        let header = FractalHeapHeader::decode(&bytes, &context(file));
        let header = header.map_err(|error| file.error(error.into(), Self::WHAT, address))?;
        if header.filter_len > 0 {
            let error = "its blocks are filtered, which is not supported".into();
            return Err(file.error(error, Self::WHAT, address));
        }
        match fractal_heap::collect_managed_blocks(&header, &context(file), &mut reader) {
            Ok(blocks) => Ok(Self { header, blocks, address }),
            Err(error) => Err(reader.error(error, address)),
        }
    }

    /// The object with this ID.
    pub(crate) fn object(&self, file: &FileBytes, id: &[u8]) -> Result<Vec<u8>, Hdf5Error> {
        let mut reader = Blocks::new(file, "an object of the fractal heap");
        let context = context(file);
        let object = HeapId::parse(id, &self.header, &context).and_then(|id| {
            fractal_heap::read_heap_object(&id, &self.header, &context, &self.blocks, &mut reader)
        });
        object.map_err(|error| reader.error(error, self.address))
    }
}

pub(crate) const TREE_NODE: &str = "a node of a B-tree";

/// The most bytes of nodes that are read in one round (64 MiB).
const ROUND: u64 = 64 << 20;

/// The header of a B-tree of version 2 (HDF5 file format, III.A.2).
#[derive(Debug)]
pub(crate) struct TreeHeader {
    /// The type of its records.
    pub(crate) kind: u8,
    /// The bytes of a record.
    pub(crate) record_len: usize,
    /// The bytes of a node.
    pub(crate) node_len: u64,
    /// The depth of the root; that of a leaf is 0.
    pub(crate) depth: u16,
    /// `None` if there are no records.
    pub(crate) root: Option<TreeChild>,
    geometry: Bt2Geometry,
    record_size: u16,
    address: u64,
}

/// A node below another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeChild {
    pub(crate) address: u64,
    /// The number of its records.
    count: u16,
}

/// A node of a B-tree of version 2.
pub(crate) struct TreeNode {
    pub(crate) records: Vec<u8>,
    /// One more than records, or none in a leaf.
    pub(crate) children: Vec<TreeChild>,
}

impl TreeHeader {
    const WHAT: &'static str = "the B-tree";

    pub(crate) fn read(file: &FileBytes, address: u64) -> Result<Self, Hdf5Error> {
        let failed = |error: Malformed| file.error(error, Self::WHAT, address);
        let bytes = file.read_up_to(address, HEADER, Self::WHAT)?;
        let header = Bt2Header::decode(&bytes, &context(file)).map_err(|error| failed(error.into()))?;
        let record_size = header.record_size;
        let is_empty = header.total_num_records == 0 || header.root_node_addr == UNDEF_ADDR;
        if !is_empty && (header.depth > MOST_DEPTH || record_size == 0 || header.node_size < 16) {
            return Err(failed("its depth, or the size of its nodes or records, is not possible".into()));
        }
        let depth = header.depth.min(MOST_DEPTH);
        let root = TreeChild { address: header.root_node_addr, count: header.num_records_in_root };
        Ok(Self {
            kind: header.record_type,
            record_len: usize::from(record_size.max(1)),
            node_len: u64::from(header.node_size),
            depth,
            root: (!is_empty).then_some(root),
            geometry: Bt2Geometry::new(header.node_size, record_size, depth, file.widths.offset),
            record_size,
            address,
        })
    }

    /// Decodes a node at this depth.
    pub(crate) fn node(
        &self,
        file: &FileBytes,
        bytes: &[u8],
        depth: u16,
        at: TreeChild,
    ) -> Result<TreeNode, Hdf5Error> {
        let failed = |error: FormatError| file.error(error.into(), TREE_NODE, at.address);
        if depth == 0 {
            let leaf = Bt2LeafNode::decode(bytes, at.count, self.record_size).map_err(failed)?;
            return Ok(TreeNode { records: leaf.record_data, children: Vec::new() });
        }
        let node = Bt2InternalNode::decode(
            bytes,
            &context(file),
            depth,
            at.count,
            self.record_size,
            self.geometry.max_nrec_size,
            self.geometry.child_total_size(depth),
        )
        .map_err(failed)?;
        let children = node.child_addrs.iter().zip(&node.child_nrecords);
        let children = children.map(|(address, count)| TreeChild { address: *address, count: *count });
        Ok(TreeNode { children: children.collect(), records: node.record_data })
    }

    /// Reads all records, the nodes of a level in few rounds. Their order is not that of their keys.
    pub(crate) fn records(&self, file: &FileBytes) -> Result<Vec<u8>, Hdf5Error> {
        let mut records = Vec::new();
        let mut level: Vec<TreeChild> = self.root.into_iter().collect();
        let mut visited = std::collections::BTreeSet::new();
        for depth in (0..=self.depth).rev() {
            if !level.iter().all(|child| visited.insert(child.address)) {
                let error = "one of its nodes has two parents".into();
                return Err(file.error(error, Self::WHAT, self.address));
            }
            let mut below = Vec::new();
            for round in level.chunks(usize::try_from(ROUND / self.node_len.max(1)).unwrap_or(1).max(1)) {
                let nodes = round.iter().map(|child| (child.address, self.node_len));
                for (bytes, child) in file.read_nodes(nodes, TREE_NODE)?.iter().zip(round) {
                    let node = self.node(file, bytes, depth, *child)?;
                    records.extend_from_slice(&node.records);
                    below.extend(node.children);
                }
            }
            level = below;
        }
        Ok(records)
    }
}

/// The types of records of a B-tree of version 2.
pub(crate) mod record {
    use super::btree_v2;

    pub(crate) const LINK_NAME: u8 = btree_v2::BT2_TYPE_GRP_NAME;
    pub(crate) const ATTRIBUTE_NAME: u8 = btree_v2::BT2_TYPE_ATTR_NAME;
    pub(crate) const CHUNK: u8 = btree_v2::BT2_TYPE_CHUNK_UNFILT;
    pub(crate) const FILTERED_CHUNK: u8 = btree_v2::BT2_TYPE_CHUNK_FILT;
}
