//! What the crate `rust-hdf5` encodes for this one: messages, object headers, fractal heaps, B-trees of version 2 and
//! checksums. It is used nowhere else for writing, so that each of its encoders can be replaced alone.

use rust_hdf5::format::chunk_index::btree_v2;
use rust_hdf5::format::creation_order::CreationOrder;
use rust_hdf5::format::fractal_heap::HeapParams;
use rust_hdf5::format::fractal_heap_write::build_heap;
use rust_hdf5::format::messages::attr_info::AttributeInfoMessage;
use rust_hdf5::format::messages::attribute::AttributeMessage;
use rust_hdf5::format::messages::data_layout::DataLayoutMessage;
use rust_hdf5::format::messages::dataspace::{DataspaceClass, DataspaceMessage};
use rust_hdf5::format::messages::datatype::DatatypeMessage;
use rust_hdf5::format::messages::fill_value::FillValueMessage;
use rust_hdf5::format::messages::filter::{Filter, FilterPipeline};
use rust_hdf5::format::messages::group_info::GroupInfoMessage;
use rust_hdf5::format::messages::link::LinkMessage;
use rust_hdf5::format::messages::link_info::LinkInfoMessage;
use rust_hdf5::format::object_header::ObjectHeader;
use rust_hdf5::format::superblock::{SUPERBLOCK_V2, SuperblockV2V3};
use rust_hdf5::format::{FormatContext, UNDEF_ADDR, checksum, messages};

use super::error::Hdf5WriteError;

/// The address of what is not in the file.
pub(super) const UNDEFINED: u64 = UNDEF_ADDR;

/// The widths of addresses and lengths.
const CONTEXT: FormatContext = FormatContext { sizeof_addr: 8, sizeof_size: 8 };

/// The most bytes of a message in an object header.
pub(super) const MESSAGE_BYTES: usize = u16::MAX as usize;

/// The size of nodes in the indexes of dense storage (`H5A_NAME_BT2_NODE_SIZE`, `H5G_NAME_BT2_NODE_SIZE` in libhdf5).
const INDEX_NODE_BYTES: u32 = 512;

/// When space for data is allocated (`H5D_alloc_time_t`).
#[derive(Clone, Copy, Debug)]
pub(super) enum AllocationTime {
    /// With the object, as compact data are.
    Early = 1,
    /// With the first data, as contiguous data are.
    Late = 2,
    /// With each chunk.
    Incremental = 3,
}

/// What elements that were never written hold.
#[derive(Clone, Debug)]
pub(super) enum Fill {
    /// These bytes.
    Value(Vec<u8>),
    /// Zeros, as no value is defined.
    Zeros,
}

/// The extent of a dataset or an attribute.
#[derive(Clone, Debug)]
pub(super) enum Dataspace {
    /// One element.
    Scalar,
    /// An array of these lengths, of which some can grow; empty if none can.
    Simple { shape: Vec<u64>, max: Vec<u64> },
    /// No element.
    Null,
}

/// The storage of a dataset's elements.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    Compact(Vec<u8>),
    Contiguous {
        address: u64,
        bytes: u64,
    },
    /// The lengths of a chunk and the size of an element.
    Chunked {
        shape: Vec<u64>,
        index: u64,
    },
}

/// The addresses of dense storage: its heap, and the indexes of its objects by name and by creation order.
#[derive(Clone, Copy, Debug)]
pub(super) struct DenseStorage {
    pub(super) heap: u64,
    pub(super) names: u64,
    pub(super) order: u64,
}

impl DenseStorage {
    /// No dense storage.
    pub(super) const NONE: Self = Self { heap: UNDEFINED, names: UNDEFINED, order: UNDEFINED };
}

/// Bytes at an address.
pub(super) type Block = (u64, Vec<u8>);

pub(super) fn superblock(end: u64, root: u64) -> Vec<u8> {
    let superblock = SuperblockV2V3 {
        version: SUPERBLOCK_V2,
        sizeof_offsets: CONTEXT.sizeof_addr,
        sizeof_lengths: CONTEXT.sizeof_size,
        file_consistency_flags: 0,
        base_address: 0,
        superblock_extension_address: UNDEFINED,
        end_of_file_address: end,
        root_group_object_header_address: root,
    };
    superblock.encode()
}

/// The number under which an index of names has a name.
pub(super) fn name_hash(name: &str) -> u32 {
    checksum::checksum_metadata(name.as_bytes())
}

pub(super) fn dataspace(space: &Dataspace) -> Vec<u8> {
    let (class, dims, max_dims) = match space {
        Dataspace::Scalar => (DataspaceClass::Scalar, Vec::new(), None),
        Dataspace::Null => (DataspaceClass::Null, Vec::new(), None),
        Dataspace::Simple { shape, max } => {
            (DataspaceClass::Simple, shape.clone(), (!max.is_empty()).then(|| max.clone()))
        }
    };
    DataspaceMessage { class, dims, max_dims }.encode(&CONTEXT)
}

/// The message of an attribute; `is_shared`: its datatype is a pointer to a committed one.
pub(super) fn attribute(
    name: &str,
    (datatype, is_shared): (&[u8], bool),
    space: &Dataspace,
    data: Vec<u8>,
) -> Vec<u8> {
    // The encoder takes both messages as they are; its own fields for them are not used.
    let message = AttributeMessage {
        name: name.to_owned(),
        datatype: DatatypeMessage::u8_type(),
        dataspace: DataspaceMessage::null(),
        data,
    };
    message.encode_with_fields(u8::from(is_shared), datatype, &dataspace(space)).body
}

pub(super) fn fill(fill: &Fill, allocation: AllocationTime) -> Vec<u8> {
    let (fill_defined, fill_value) = match fill {
        Fill::Value(bytes) => (2, Some(bytes.clone())),
        Fill::Zeros => (1, None),
    };
    let fill_write_time = messages::fill_value::FILL_TIME_IFSET;
    FillValueMessage { alloc_time: allocation as u8, fill_write_time, fill_defined, fill_value }.encode()
}

/// The message of filters: of each its number, flags and parameters.
pub(super) fn filters(filters: &[(u16, u16, Vec<u32>)]) -> Vec<u8> {
    let filters = filters.iter().map(|(id, flags, parameters)| Filter {
        id: *id,
        flags: *flags,
        cd_values: parameters.clone(),
    });
    FilterPipeline { filters: filters.collect() }.encode()
}

pub(super) fn layout(layout: Layout) -> Vec<u8> {
    let message = match layout {
        Layout::Compact(data) => DataLayoutMessage::compact(data),
        Layout::Contiguous { address, bytes } => DataLayoutMessage::contiguous(address, bytes),
        Layout::Chunked { shape, index } => DataLayoutMessage::chunked_v3_btree_v1(shape, index),
    };
    message.encode(&CONTEXT)
}

/// The message of a hard link.
pub(super) fn link(name: &str, address: u64, order: usize) -> Vec<u8> {
    LinkMessage::hard(name, address).with_creation_order(order as i64).encode(&CONTEXT)
}

pub(super) fn link_info(links: usize, dense: DenseStorage) -> Vec<u8> {
    let message = LinkInfoMessage {
        max_creation_order: Some(links as u64),
        fractal_heap_address: dense.heap,
        name_btree_address: dense.names,
        creation_order_btree_address: Some(dense.order),
    };
    message.encode(&CONTEXT)
}

pub(super) fn group_info() -> Vec<u8> {
    GroupInfoMessage::default().encode()
}

pub(super) fn attribute_info(attributes: u16, dense: DenseStorage) -> Vec<u8> {
    let message = AttributeInfoMessage {
        max_creation_index: Some(attributes),
        fractal_heap_address: dense.heap,
        name_btree_address: dense.names,
        creation_order_btree_address: Some(dense.order),
    };
    message.encode(&CONTEXT)
}

/// The messages of an object header.
#[derive(Debug)]
pub(super) struct Messages(ObjectHeader);

impl Messages {
    pub(super) fn new() -> Self {
        let mut header = ObjectHeader::new();
        header.set_attribute_creation_order(CreationOrder::Indexed);
        Self(header)
    }

    pub(super) fn dataspace(&mut self, body: Vec<u8>) {
        self.0.add_message(messages::MSG_DATASPACE, 0, body);
    }

    pub(super) fn datatype(&mut self, body: Vec<u8>) {
        self.0.add_message(messages::MSG_DATATYPE, messages::MSG_FLAG_CONSTANT, body);
    }

    /// The pointer to a committed datatype.
    pub(super) fn committed_datatype(&mut self, pointer: Vec<u8>) {
        const SHARED: u8 = 2;
        self.0.add_message(messages::MSG_DATATYPE, messages::MSG_FLAG_CONSTANT | SHARED, pointer);
    }

    pub(super) fn fill(&mut self, body: Vec<u8>) {
        self.0.add_message(messages::MSG_FILL_VALUE, messages::MSG_FLAG_CONSTANT, body);
    }

    pub(super) fn layout(&mut self, body: Vec<u8>) {
        self.0.add_message(messages::MSG_DATA_LAYOUT, 0, body);
    }

    pub(super) fn filters(&mut self, body: Vec<u8>) {
        self.0.add_message(messages::MSG_FILTER_PIPELINE, messages::MSG_FLAG_CONSTANT, body);
    }

    pub(super) fn link_info(&mut self, body: Vec<u8>) {
        self.0.add_message(messages::MSG_LINK_INFO, 0, body);
    }

    pub(super) fn group_info(&mut self, body: Vec<u8>) {
        self.0.add_message(messages::MSG_GROUP_INFO, messages::MSG_FLAG_CONSTANT, body);
    }

    pub(super) fn link(&mut self, body: Vec<u8>) {
        self.0.add_message(messages::MSG_LINK, 0, body);
    }

    pub(super) fn attribute_info(&mut self, body: Vec<u8>) {
        self.0.add_message(messages::MSG_ATTR_INFO, messages::MSG_FLAG_DONTSHARE, body);
    }

    pub(super) fn attribute(&mut self, body: Vec<u8>, order: u16) {
        self.0.add_message_indexed(messages::MSG_ATTRIBUTE, 0, body, order);
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, Hdf5WriteError> {
        let error = |error: rust_hdf5::format::FormatError| Hdf5WriteError::Structure {
            what: "an object header",
            reason: error.to_string(),
        };
        self.0.encode().map_err(error)
    }
}

/// What dense storage holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DenseKind {
    Links,
    Attributes,
}

impl DenseKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Links => "the dense storage of links",
            Self::Attributes => "the dense storage of attributes",
        }
    }
}

/// Builds a fractal heap: its address, and the identifier of each object in it. Its blocks are added to `blocks`.
pub(super) fn fractal_heap(
    kind: DenseKind,
    objects: &[Vec<u8>],
    allocate: &mut dyn FnMut(u64) -> u64,
    blocks: &mut Vec<Block>,
) -> Result<(u64, Vec<Vec<u8>>), Hdf5WriteError> {
    let parameters = match kind {
        DenseKind::Links => HeapParams::group_links(),
        DenseKind::Attributes => HeapParams::object_header(),
    };
    let heap = build_heap(&parameters, &CONTEXT, objects, allocate)
        .map_err(|error| Hdf5WriteError::Structure { what: kind.name(), reason: error.to_string() })?;
    blocks.extend(heap.blocks.into_iter().map(|block| (block.addr, block.image)));
    Ok((heap.header_addr, heap.ids))
}

/// Builds a B-tree of version 2 of records in their order, and returns its address.
pub(super) fn index(
    kind: DenseKind,
    is_by_name: bool,
    record_bytes: u16,
    records: &[u8],
    allocate: &mut dyn FnMut(u64) -> u64,
    blocks: &mut Vec<Block>,
) -> u64 {
    let record_type = match (kind, is_by_name) {
        (DenseKind::Links, true) => btree_v2::BT2_TYPE_GRP_NAME,
        (DenseKind::Links, false) => btree_v2::BT2_TYPE_GRP_CORDER,
        (DenseKind::Attributes, true) => btree_v2::BT2_TYPE_ATTR_NAME,
        (DenseKind::Attributes, false) => btree_v2::BT2_TYPE_ATTR_CORDER,
    };
    let (address, nodes) =
        btree_v2::build_index(record_type, record_bytes, INDEX_NODE_BYTES, records, &CONTEXT, allocate);
    blocks.extend(nodes);
    address
}
