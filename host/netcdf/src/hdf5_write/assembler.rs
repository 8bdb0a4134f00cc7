//! Completes a file whose data are written.

use std::collections::VecDeque;
use std::io::{Seek, Write};
use std::ops::Range;

use ncz_model::Hierarchy;

use super::attributes::{self, FileAttribute, Places};
use super::chunk_tree::{self, Entry};
use super::datatype;
use super::dense;
use super::encode::{
    self, AllocationTime, Dataspace, DenseKind, DenseStorage, Fill, Layout, MESSAGE_BYTES, Messages,
    UNDEFINED,
};
use super::error::Hdf5WriteError;
use super::global_heap::{Collection, reference};
use super::plan::{Content, Object, Plan};
use super::planned_variable::PlannedVariable;
use super::sink::Sink;
use super::strings::text_len;
use crate::user_elements;
use crate::user_layout::Encoder;

/// The most links or attributes in an object header; more are in dense storage (the default of libhdf5).
const MOST_COMPACT: usize = 8;

/// The alignment of object headers.
const ALIGNMENT: usize = 8;

/// The number of the root group.
const ROOT: usize = 0;

/// The location of the stored bytes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredChunk<I> {
    /// The coordinates of the chunk in the grid of chunks.
    pub index: I,
    /// Where its bytes begin in the file.
    pub offset: u64,
    /// The number of its bytes. Without filters this is a whole chunk, also where the chunk extends beyond the array.
    pub len: u64,
    /// The filters that were not applied: bit `n` is for filter `n`.
    pub filter_mask: u32,
}

/// Where the data of a variable are.
#[derive(Debug)]
enum Stored {
    /// The root of the tree of its chunks, if there are chunks.
    Chunks {
        root: Option<u64>,
    },
    Contiguous {
        address: u64,
    },
    Compact(Vec<u8>),
}

/// Completes a netCDF-4 file whose chunks are written.
///
/// For each variable with data, say where they are with [`chunks`](Self::chunks), [`contiguous`](Self::contiguous) or
/// [`compact`](Self::compact); the other variables read as fill. Then [`finish`](Self::finish) the file. Until then it is
/// not an HDF5 file.
#[derive(Debug)]
pub struct Assembler<'a, W> {
    plan: Plan<'a>,
    sink: Sink<W>,
    stored: Vec<Option<Stored>>,
}

/// Checks that a netCDF-4 file can hold the metadata of a dataset, so that its data need not be written in vain.
///
/// # Errors
/// As for [`Assembler::new`].
pub fn check(hierarchy: &Hierarchy) -> Result<(), Hdf5WriteError> {
    let plan = Plan::new(hierarchy)?;
    Unplaced::of(&plan, &[])?;
    Ok(())
}

impl<'a, W: Write + Seek> Assembler<'a, W> {
    /// Starts to complete a file. Its first [`SUPERBLOCK_BYTES`](super::SUPERBLOCK_BYTES) are not used by data, nor is
    /// anything from the byte `end` on. The filters of variables are those of [`generic`](ncz_registry::spec::generic).
    ///
    /// # Errors
    /// A netCDF-4 file cannot hold the dataset: its names, types, shapes, filters or attributes are beyond the limits.
    pub fn new(hierarchy: &'a Hierarchy, file: W, end: u64) -> Result<Self, Hdf5WriteError> {
        let plan = Plan::new(hierarchy)?;
        let stored = plan.objects.iter().map(|_| None).collect();
        Ok(Self { plan, sink: Sink::new(file, end), stored })
    }

    /// Writes the index of the chunks of the variable at `path`. The chunks come in the order of their coordinates, the
    /// last changing fastest; those that are left out read as fill.
    ///
    /// # Errors
    /// There is no such variable, it is not stored in chunks, a chunk is not in its grid, comes twice or out of order, or
    /// has a wrong length, or the file cannot be written.
    pub fn chunks<I: AsRef<[u64]>>(
        &mut self,
        path: &str,
        chunks: impl IntoIterator<Item = StoredChunk<I>>,
    ) -> Result<(), Hdf5WriteError> {
        let (number, variable) = self.plan.variable(path)?;
        if !variable.is_chunked() {
            let reason = "is not stored in chunks, but has chunks".to_owned();
            return Err(Hdf5WriteError::Layout { path: path.to_owned(), reason });
        }
        let mut before: Option<Vec<u64>> = None;
        let entries = chunks.into_iter().map(|chunk| {
            let index = chunk.index.as_ref();
            let error = |reason: String| Hdf5WriteError::Chunk {
                path: path.to_owned(),
                index: index.to_vec(),
                reason,
            };
            if before.as_deref().is_some_and(|before| before >= index) {
                return Err(error("it does not come after the chunk before it".to_owned()));
            }
            let entry = entry(variable, &chunk).map_err(error)?;
            let before = before.get_or_insert_default();
            before.clear();
            before.extend_from_slice(index);
            Ok(entry)
        });
        let rank = variable.shape.len();
        let root = chunk_tree::write(&mut self.sink, rank, variable.element_bytes, entries)?;
        self.store(number, Stored::Chunks { root });
        Ok(())
    }

    /// Sets where the elements of a variable are that is stored contiguously, as scalars are.
    ///
    /// # Errors
    /// There is no such variable, it is stored in another way, or the range does not have the length of its elements.
    pub fn contiguous(&mut self, path: &str, range: Range<u64>) -> Result<(), Hdf5WriteError> {
        let (number, variable) = self.plan.variable(path)?;
        let error = |reason: String| Err(Hdf5WriteError::Layout { path: path.to_owned(), reason });
        if variable.is_chunked() || variable.is_compact() {
            return error("is not stored contiguously, but has a range of bytes".to_owned());
        }
        let (bytes, len) = (variable.bytes(), range.end.checked_sub(range.start));
        if bytes.is_none() || bytes != len {
            return error(format!("has the bytes {range:?}, but {} bytes", bytes.unwrap_or(0)));
        }
        // There is nothing at the address of an empty array.
        let address = if bytes == Some(0) { UNDEFINED } else { range.start };
        self.store(number, Stored::Contiguous { address });
        Ok(())
    }

    /// Sets the elements of a variable that is stored in its object header.
    ///
    /// # Errors
    /// There is no such variable, it is stored in another way, or these are not the bytes of its elements.
    pub fn compact(&mut self, path: &str, bytes: Vec<u8>) -> Result<(), Hdf5WriteError> {
        let (number, variable) = self.plan.variable(path)?;
        if !variable.is_compact() || variable.bytes() != Some(bytes.len() as u64) {
            let reason = format!("is not a compact variable of {} bytes", bytes.len());
            return Err(Hdf5WriteError::Layout { path: path.to_owned(), reason });
        }
        self.store(number, Stored::Compact(bytes));
        Ok(())
    }

    /// Writes all else, the superblock last, and returns the file. Its length is then that of the HDF5 file; it is not
    /// synchronized with the disk.
    ///
    /// # Errors
    /// A structure is larger than HDF5 allows, or the file cannot be written.
    pub fn finish(mut self) -> Result<W, Hdf5WriteError> {
        let unplaced = Unplaced::of(&self.plan, &self.stored)?;
        let len: usize = unplaced.headers.iter().map(|len| len.next_multiple_of(ALIGNMENT)).sum();
        let start = self.sink.allocate(len as u64);
        let mut next = start;
        let mut addresses = Vec::new();
        for len in &unplaced.headers {
            addresses.push(next);
            next = next.saturating_add(len.next_multiple_of(ALIGNMENT) as u64);
        }
        let collections = unplaced.collections.iter().map(|len| self.sink.allocate(*len)).collect();
        let mut placed =
            Placed { sink: &mut self.sink, objects: addresses, collections, current: Collection::new() };
        let mut headers = Vec::with_capacity(len);
        for (number, expected) in unplaced.headers.iter().enumerate() {
            let header = header(&self.plan, &self.stored, number, &mut placed)?;
            if header.len() != *expected {
                let reason = format!("it has {} bytes, planned were {expected}", header.len());
                return Err(Hdf5WriteError::Structure { what: "an object header", reason });
            }
            headers.extend_from_slice(&header);
            headers.resize(headers.len().next_multiple_of(ALIGNMENT), 0);
        }
        placed.write_collection()?;
        self.sink.write(start, &headers)?;
        self.sink.finish(start)
    }

    fn store(&mut self, number: usize, stored: Stored) {
        if let Some(slot) = self.stored.get_mut(number) {
            *slot = Some(stored);
        }
    }
}

/// The entry of a chunk in the index; the error says why it cannot be a chunk of the variable.
fn entry<I: AsRef<[u64]>>(variable: &PlannedVariable<'_>, chunk: &StoredChunk<I>) -> Result<Entry, String> {
    let index = chunk.index.as_ref();
    let lens = &variable.variable.chunk_shape;
    if index.len() != lens.len() {
        return Err(format!("the variable has {} dimensions", lens.len()));
    }
    let element = index.iter().zip(lens).map(|(at, len)| at.checked_mul(*len));
    let element = element
        .collect::<Option<Vec<u64>>>()
        .filter(|element| element.iter().zip(&variable.shape).all(|(first, len)| first < len));
    let element = element.ok_or_else(|| format!("it is outside the shape {:?}", variable.shape))?;
    let whole = variable.chunk_bytes();
    if variable.filters.is_empty() && whole != Some(chunk.len) {
        return Err(format!(
            "it has {} bytes, without filters it must have {}",
            chunk.len,
            whole.unwrap_or(0)
        ));
    }
    let len = u32::try_from(chunk.len).map_err(|_| format!("its {} bytes are 4 GiB or more", chunk.len))?;
    let mask = 1u64.checked_shl(variable.filters.len() as u32).map_or(u64::MAX, |bit| bit - 1);
    if u64::from(chunk.filter_mask) & !mask != 0 {
        return Err(format!("its filter mask {:#x} is for more filters than it has", chunk.filter_mask));
    }
    Ok(Entry { len, filter_mask: chunk.filter_mask, element, address: chunk.offset })
}

/// Where headers find what they refer to.
trait Storage: Places {
    /// Stores links or attributes in dense storage.
    fn dense(&mut self, kind: DenseKind, entries: Vec<dense::Entry>) -> Result<DenseStorage, Hdf5WriteError>;
}

/// Finds the lengths of all headers and collections, before anything has an address.
struct Unplaced {
    headers: Vec<usize>,
    collections: Vec<u64>,
    current: Collection,
    is_empty: bool,
}

impl Unplaced {
    fn of(plan: &Plan<'_>, stored: &[Option<Stored>]) -> Result<Self, Hdf5WriteError> {
        let mut unplaced =
            Self { headers: Vec::new(), collections: Vec::new(), current: Collection::new(), is_empty: true };
        for number in 0..plan.objects.len() {
            let header = header(plan, stored, number, &mut unplaced)?;
            unplaced.headers.push(header.len());
        }
        if !unplaced.is_empty {
            unplaced.collections.push(unplaced.current.len() as u64);
        }
        Ok(unplaced)
    }
}

impl Places for Unplaced {
    fn object(&self, _: usize) -> u64 {
        UNDEFINED
    }

    fn store(&mut self, object: &[u8]) -> Result<(u64, u16), Hdf5WriteError> {
        self.is_empty = false;
        if !self.current.has_room(object.len()) {
            self.collections.push(self.current.len() as u64);
            self.current = Collection::new();
        }
        Ok((UNDEFINED, self.current.push(object)))
    }
}

impl Storage for Unplaced {
    fn dense(&mut self, _: DenseKind, _: Vec<dense::Entry>) -> Result<DenseStorage, Hdf5WriteError> {
        Ok(DenseStorage::NONE)
    }
}

/// Writes what headers refer to.
struct Placed<'a, W> {
    sink: &'a mut Sink<W>,
    objects: Vec<u64>,
    /// The addresses of the collection that is filled, and of those after it.
    collections: VecDeque<u64>,
    current: Collection,
}

impl<W: Write + Seek> Placed<'_, W> {
    /// Writes the collection that is filled, if there is one.
    fn write_collection(&mut self) -> Result<(), Hdf5WriteError> {
        let Some(address) = self.collections.pop_front() else { return Ok(()) };
        let collection = std::mem::replace(&mut self.current, Collection::new());
        self.sink.write(address, &collection.finish())
    }
}

impl<W: Write + Seek> Places for Placed<'_, W> {
    fn object(&self, number: usize) -> u64 {
        self.objects.get(number).copied().unwrap_or(UNDEFINED)
    }

    fn store(&mut self, object: &[u8]) -> Result<(u64, u16), Hdf5WriteError> {
        if !self.current.has_room(object.len()) {
            self.write_collection()?;
        }
        let address = self.collections.front().copied().unwrap_or(UNDEFINED);
        Ok((address, self.current.push(object)))
    }
}

impl<W: Write + Seek> Storage for Placed<'_, W> {
    fn dense(&mut self, kind: DenseKind, entries: Vec<dense::Entry>) -> Result<DenseStorage, Hdf5WriteError> {
        let (storage, blocks) = dense::build(kind, entries, &mut |bytes| self.sink.allocate(bytes))?;
        for (address, bytes) in blocks {
            self.sink.write(address, &bytes)?;
        }
        Ok(storage)
    }
}

/// Encodes the header of an object.
fn header(
    plan: &Plan<'_>,
    stored: &[Option<Stored>],
    number: usize,
    storage: &mut impl Storage,
) -> Result<Vec<u8>, Hdf5WriteError> {
    let mut messages = Messages::new();
    let Some(object) = plan.objects.get(number) else { return messages.encode() };
    match &object.content {
        Content::Group { links, .. } => group(&mut messages, links, storage)?,
        Content::Type(datatype) => messages.datatype(datatype.clone()),
        Content::Dimension(dimension) => {
            let max = if dimension.unlimited { u64::MAX } else { dimension.len };
            let space = Dataspace::Simple { shape: vec![dimension.len], max: vec![max] };
            const FLOAT: u32 = 4;
            messages.dataspace(encode::dataspace(&space));
            messages.datatype(datatype::float(FLOAT, true).unwrap_or_default());
            let (layout, allocation) = if dimension.unlimited {
                let shape = vec![1, u64::from(FLOAT)];
                (Layout::Chunked { shape, index: UNDEFINED }, AllocationTime::Incremental)
            } else {
                let bytes = dimension.len.saturating_mul(u64::from(FLOAT));
                (Layout::Contiguous { address: UNDEFINED, bytes }, AllocationTime::Late)
            };
            messages.fill(encode::fill(&Fill::Zeros, allocation));
            messages.layout(encode::layout(layout));
        }
        Content::Variable(variable) => {
            let stored = stored.get(number).and_then(Option::as_ref);
            self::variable(&mut messages, plan, variable, stored, storage)?;
        }
    }
    attributes(&mut messages, plan, object, number == ROOT, storage)?;
    messages.encode()
}

fn group(
    messages: &mut Messages,
    links: &[(String, usize)],
    storage: &mut impl Storage,
) -> Result<(), Hdf5WriteError> {
    let encoded = links.iter().enumerate().map(|(order, (name, target))| dense::Entry {
        name: name.clone(),
        message: encode::link(name, storage.object(*target), order),
    });
    let encoded: Vec<dense::Entry> = encoded.collect();
    if links.len() > MOST_COMPACT {
        let dense = storage.dense(DenseKind::Links, encoded)?;
        messages.link_info(encode::link_info(links.len(), dense));
        messages.group_info(encode::group_info());
        return Ok(());
    }
    messages.link_info(encode::link_info(links.len(), DenseStorage::NONE));
    messages.group_info(encode::group_info());
    encoded.into_iter().for_each(|link| messages.link(link.message));
    Ok(())
}

fn attributes(
    messages: &mut Messages,
    plan: &Plan<'_>,
    object: &Object<'_>,
    is_root: bool,
    storage: &mut impl Storage,
) -> Result<(), Hdf5WriteError> {
    let all: Vec<FileAttribute<'_>> = attributes::of_object(plan, object, is_root)?;
    let mut encoded = Vec::with_capacity(all.len());
    for attribute in all {
        let message = attribute.encode(&object.path, storage)?;
        encoded.push(dense::Entry { name: attribute.name.into_owned(), message });
    }
    let count = u16::try_from(encoded.len()).unwrap_or(u16::MAX);
    let is_dense =
        encoded.len() > MOST_COMPACT || encoded.iter().any(|entry| entry.message.len() > MESSAGE_BYTES);
    if is_dense {
        let dense = storage.dense(DenseKind::Attributes, encoded)?;
        messages.attribute_info(encode::attribute_info(count, dense));
        return Ok(());
    }
    messages.attribute_info(encode::attribute_info(count, DenseStorage::NONE));
    for (order, attribute) in (0u16..).zip(encoded) {
        messages.attribute(attribute.message, order);
    }
    Ok(())
}

fn variable(
    messages: &mut Messages,
    plan: &Plan<'_>,
    planned: &PlannedVariable<'_>,
    stored: Option<&Stored>,
    storage: &mut impl Storage,
) -> Result<(), Hdf5WriteError> {
    let bytes = planned.bytes().unwrap_or(u64::MAX);
    let fill = fill(planned, storage)?;
    let (layout, allocation) = match stored {
        _ if planned.is_chunked() => {
            let index = match stored {
                Some(Stored::Chunks { root: Some(root) }) => *root,
                _ => UNDEFINED,
            };
            let shape = planned.variable.chunk_shape.iter().copied().chain([planned.element_bytes]).collect();
            (Layout::Chunked { shape, index }, AllocationTime::Incremental)
        }
        Some(Stored::Compact(data)) => (Layout::Compact(data.clone()), AllocationTime::Early),
        // Compact elements are always there.
        None if planned.is_compact() => {
            let element = match &fill {
                Fill::Value(bytes) => bytes.clone(),
                Fill::Zeros => vec![0; planned.element_bytes as usize],
            };
            let data = element.iter().copied().cycle().take(bytes as usize).collect();
            (Layout::Compact(data), AllocationTime::Early)
        }
        Some(Stored::Contiguous { address }) => {
            (Layout::Contiguous { address: *address, bytes }, AllocationTime::Late)
        }
        _ => (Layout::Contiguous { address: UNDEFINED, bytes }, AllocationTime::Late),
    };
    messages.dataspace(encode::dataspace(&planned.dataspace()));
    let user = planned.variable.user_type.as_ref();
    match user.and_then(|user| plan.committed(user, &planned.datatype)) {
        Some(number) => messages.committed_datatype(datatype::committed(storage.object(number))),
        None => messages.datatype(planned.datatype.clone()),
    }
    messages.fill(encode::fill(&fill, allocation));
    messages.layout(encode::layout(layout));
    if !planned.filters.is_empty() {
        messages.filters(encode::filters(&planned.filters));
    }
    Ok(())
}

/// The fill value of a variable. Without one, elements that were never written read as zeros, as in Zarr. netCDF shows
/// that as no fill value, too; the fill time "never", which netcdf-c writes, would make readers leave what is in memory.
fn fill(planned: &PlannedVariable<'_>, storage: &mut impl Storage) -> Result<Fill, Hdf5WriteError> {
    let variable = planned.variable;
    let Some(value) = &variable.fill else { return Ok(Fill::Zeros) };
    if let Some(layout) = planned.layout.as_ref().filter(|layout| layout.has_references()) {
        let fail = |reason: String| Hdf5WriteError::Layout {
            path: variable.path.clone(),
            reason: format!("has a fill value that cannot be stored: {reason}"),
        };
        let row = user_elements::fill_row(variable).map_err(fail)?;
        let mut store = |object: &[u8]| storage.store(object);
        return Ok(Fill::Value(layout.encode_with(row, &mut Encoder { store: &mut store, fail: &fail })?));
    }
    if !variable.dtype.is_variable_length() {
        return Ok(Fill::Value(value.bytes().to_vec()));
    }
    let len = text_len(value.bytes()).map_err(|reason| Hdf5WriteError::Layout {
        path: variable.path.clone(),
        reason: format!("has a fill value that cannot be stored: {reason}"),
    })?;
    let (collection, object) = storage.store(value.bytes())?;
    Ok(Fill::Value(reference(len, collection, object).to_vec()))
}
