//! The data of one variable: hyperslabs and chunks, read and written on all threads.

mod region;
mod transfer;
mod worker;

use std::sync::{Arc, Mutex, PoisonError};

use ncz_codec::Env;
use ncz_registry::chain::FilterChain;
use ncz_store::Store;

pub use worker::Worker;

use crate::data_error::{ChunkFault, DataError};
use crate::dtype::{ByteOrder, Dtype, Kind};
use crate::grid::{self, Slab, SlabError};
use crate::model::{Format, Order, Separator, Variable};
use crate::pool::Pool;

/// A variable whose codecs are bound: reads and writes its data.
///
/// Elements are flat bytes in C order. [`Elements`] says in which byte order.
#[derive(Debug)]
pub struct Array {
    store: Arc<dyn Store>,
    path: String,
    key: String,
    dtype: Dtype,
    /// What netCDF shows; the stored array may be shorter.
    shape: Vec<u64>,
    stored_shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    order: Order,
    separator: Separator,
    /// One element for what was never written, as stored and in the machine's byte order.
    fill: Vec<u8>,
    native_fill: Vec<u8>,
    chain: FilterChain,
    pool: Pool,
    /// Workers of earlier calls, so that later ones allocate nothing.
    idle: Mutex<Vec<Worker>>,
}

/// The byte order of elements in the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Elements {
    /// The machine's.
    #[default]
    Native,
    /// That of the stored dtype.
    Stored,
}

/// What a write stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Written {
    /// Chunks written.
    pub chunks: u64,
    /// Their stored bytes.
    pub bytes: u64,
}

impl Array {
    /// Binds a variable of `shape` (what netCDF shows, see
    /// [`Hierarchy::shape_of`](crate::Hierarchy::shape_of)) to a store.
    ///
    /// # Errors
    /// A type without a size; a chain, lengths or a fill value that are not of this variable.
    pub fn new(
        store: Arc<dyn Store>,
        variable: &Variable,
        shape: Vec<u64>,
        chain: FilterChain,
        pool: Pool,
    ) -> Result<Self, DataError> {
        let element = variable.dtype.size();
        if element == 0 {
            return Err(DataError::Unsupported {
                variable: variable.path.clone(),
                reason: format!("its element type {} has no size", variable.dtype),
            });
        }
        let fill = variable.fill_bytes();
        let chunk_len = grid::product(variable.chunk_shape.iter().copied().chain([element as u64]));
        let rank = variable.shape.len();
        let fits = chunk_len == Some(chain.chunk_len() as u64)
            && chunk_len != Some(0)
            && [variable.chunk_shape.len(), shape.len()] == [rank, rank]
            && shape.iter().zip(&variable.shape).all(|(shown, stored)| shown >= stored)
            && fill.len() == element;
        if !fits {
            return Err(DataError::Unsupported {
                variable: variable.path.clone(),
                reason: format!(
                    "codecs for chunks of {} bytes and the shape {shape:?} are not of its chunks {:?} of {} and \
                     its shape {:?}; bind the codecs to the variable as it is",
                    chain.chunk_len(),
                    variable.chunk_shape,
                    variable.dtype,
                    variable.shape
                ),
            });
        }
        let mut native_fill = fill.clone();
        if variable.dtype.is_swapped() {
            region::swap_bytes(&mut native_fill, variable.dtype.swap_unit());
        }
        Ok(Self {
            store,
            path: variable.path.clone(),
            key: variable.key.clone(),
            dtype: variable.dtype.clone(),
            shape,
            stored_shape: variable.shape.clone(),
            chunk_shape: variable.chunk_shape.clone(),
            order: variable.order.clone(),
            separator: variable.separator,
            fill,
            native_fill,
            chain,
            pool,
            idle: Mutex::default(),
        })
    }

    /// The path of the variable.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The type of an element as stored.
    #[must_use]
    pub fn dtype(&self) -> &Dtype {
        &self.dtype
    }

    /// The lengths that netCDF shows.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The lengths of the stored array; what netCDF shows beyond them is fill.
    #[must_use]
    pub fn stored_shape(&self) -> &[u64] {
        &self.stored_shape
    }

    /// Prefix of the keys of its chunks, without slash at the end; empty for an array at the root.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The index of the chunk with this key; `None`: the key is of no chunk of the stored array.
    #[must_use]
    pub fn chunk_index(&self, key: &str) -> Option<Vec<u64>> {
        let name = match self.key.as_str() {
            "" => key,
            prefix => key.strip_prefix(prefix)?.strip_prefix('/')?,
        };
        if self.chunk_shape.is_empty() {
            return (name == "0").then(Vec::new);
        }
        let numbers = name.split(self.separator.as_char());
        let index: Vec<u64> = numbers.map(|number| number.parse().ok()).collect::<Option<_>>()?;
        let inside = |(number, count): (&u64, &u64)| number < count;
        let counts = self.chunk_counts();
        (index.len() == counts.len() && index.iter().zip(&counts).all(inside)).then_some(index)
    }

    /// The lengths of a chunk.
    #[must_use]
    pub fn chunk_shape(&self) -> &[u64] {
        &self.chunk_shape
    }

    /// The codecs.
    #[must_use]
    pub fn chain(&self) -> &FilterChain {
        &self.chain
    }

    /// How many chunks the stored array has in each dimension.
    #[must_use]
    pub fn chunk_counts(&self) -> Vec<u64> {
        self.stored_shape.iter().zip(&self.chunk_shape).map(|(len, chunk)| len.div_ceil(*chunk)).collect()
    }

    /// The slab of the array that a chunk holds, cut at the array's end; empty for a chunk beyond it.
    #[must_use]
    pub fn chunk_slab(&self, index: &[u64]) -> Slab {
        let start: Vec<u64> =
            index.iter().zip(&self.chunk_shape).map(|(i, chunk)| i.saturating_mul(*chunk)).collect();
        let count: Vec<u64> = start
            .iter()
            .zip(self.chunk_shape.iter().zip(&self.stored_shape))
            .map(|(start, (chunk, len))| (*chunk).min(len.saturating_sub(*start)))
            .collect();
        Slab::new(start, count)
    }

    /// Reads a hyperslab into `out`, in C order, with all threads. Chunks that do not exist read as
    /// the fill value (zeros where there is none).
    ///
    /// # Errors
    /// The slab does not fit the variable or `out`; a chunk cannot be read or decoded. Then `out`
    /// holds nothing of use.
    pub fn read(&self, slab: &Slab, elements: Elements, out: &mut [u8]) -> Result<(), DataError> {
        self.check(slab, out.len())?;
        transfer::read(self, slab, elements, out)
    }

    /// Writes a hyperslab from `data`, in C order, with all threads. Chunks that it covers in part are
    /// read, changed and written; do not write the same chunk from two calls at the same time.
    ///
    /// # Errors
    /// The slab does not fit the variable or `data`; a chunk cannot be encoded or written. Chunks are
    /// written one by one: after an error some are new and some are not.
    pub fn write(&self, slab: &Slab, elements: Elements, data: &[u8]) -> Result<(), DataError> {
        self.check(slab, data.len())?;
        slab.check(&self.stored_shape).map_err(|source| self.slab_error(source))?;
        transfer::write(self, slab, elements, data)
    }

    /// A worker for the calls below: one for each thread, used again from call to call.
    #[must_use]
    pub fn worker(&self) -> Worker {
        let spare = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| Worker::new(&self.chain))
    }

    /// Gives a worker back, so that its memory is used again.
    pub fn give_back(&self, worker: Worker) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }

    /// Reads a hyperslab as [`read`](Self::read) does, on the caller's thread alone. Says whether any
    /// chunk of it exists; if none does, all is fill.
    ///
    /// # Errors
    /// As there.
    pub fn read_with(
        &self,
        worker: &mut Worker,
        slab: &Slab,
        elements: Elements,
        out: &mut [u8],
    ) -> Result<bool, DataError> {
        self.check(slab, out.len())?;
        transfer::read_serial(self, worker, slab, elements, out)
    }

    /// Writes a hyperslab as [`write`](Self::write) does, on the caller's thread alone. Returns what
    /// was stored.
    ///
    /// # Errors
    /// As there.
    pub fn write_with(
        &self,
        worker: &mut Worker,
        slab: &Slab,
        elements: Elements,
        data: &[u8],
    ) -> Result<Written, DataError> {
        self.check(slab, data.len())?;
        slab.check(&self.stored_shape).map_err(|source| self.slab_error(source))?;
        transfer::write_serial(self, worker, slab, elements, data)
    }

    /// Reads and decodes one whole chunk as it is stored (byte order, order F, padding at the array's
    /// end included) into `out`. Returns the stored length; `None`: there is no such chunk.
    ///
    /// # Errors
    /// The array has no such chunk, it cannot be read or decoded, or `out` is not of a chunk's length.
    pub fn read_chunk(
        &self,
        worker: &mut Worker,
        index: &[u64],
        out: &mut [u8],
    ) -> Result<Option<usize>, DataError> {
        self.check_index(index)?;
        self.check_len(self.chain.chunk_len(), out.len())?;
        worker.set_key(self, index);
        let found = worker.decode(self, out).map_err(|fault| self.chunk_error(worker, fault))?;
        Ok(found.then(|| if self.chain.is_empty() { out.len() } else { worker.stored().len() }))
    }

    /// Encodes and writes one whole chunk as it is stored. Returns the stored length.
    ///
    /// # Errors
    /// The array has no such chunk, it cannot be encoded or written, or `chunk` is not of a chunk's
    /// length.
    pub fn write_chunk(&self, worker: &mut Worker, index: &[u64], chunk: &[u8]) -> Result<usize, DataError> {
        self.check_index(index)?;
        self.check_len(self.chain.chunk_len(), chunk.len())?;
        worker.set_key(self, index);
        worker.encode(self, chunk).map_err(|fault| self.chunk_error(worker, fault))
    }

    /// The stored bytes of one chunk; `None`: there is none.
    ///
    /// # Errors
    /// The array has no such chunk, it cannot be read, or it has no codecs and another length than a chunk.
    pub fn read_stored<'w>(
        &self,
        worker: &'w mut Worker,
        index: &[u64],
    ) -> Result<Option<&'w [u8]>, DataError> {
        self.check_index(index)?;
        worker.set_key(self, index);
        if !worker.load(self).map_err(|fault| self.chunk_error(worker, fault))? {
            return Ok(None);
        }
        let (want, got) = (self.chain.chunk_len() as u64, worker.stored().len() as u64);
        if self.chain.is_empty() && got != want {
            return Err(self.chunk_error(worker, ChunkFault::Length { want, got }));
        }
        Ok(Some(worker.stored()))
    }

    /// Writes the stored bytes of one chunk as they are.
    ///
    /// # Errors
    /// The array has no such chunk, or it cannot be written.
    pub fn write_stored(&self, worker: &mut Worker, index: &[u64], stored: &[u8]) -> Result<(), DataError> {
        self.check_index(index)?;
        worker.set_key(self, index);
        worker.store(self, stored).map_err(|fault| self.chunk_error(worker, fault))
    }

    fn check(&self, slab: &Slab, len: usize) -> Result<(), DataError> {
        slab.check(&self.shape).map_err(|source| self.slab_error(source))?;
        let want = slab.elements().and_then(|elements| elements.checked_mul(self.dtype.size() as u64));
        match want {
            Some(want) if want == len as u64 => Ok(()),
            want => {
                Err(self.slab_error(SlabError::Buffer { want: want.unwrap_or(u64::MAX), got: len as u64 }))
            }
        }
    }

    /// Whether the stored array has a chunk there. A chunk elsewhere would never be read again.
    fn check_index(&self, index: &[u64]) -> Result<(), DataError> {
        let lens = self.stored_shape.iter().zip(&self.chunk_shape);
        let inside = index.len() == self.chunk_shape.len()
            && index.iter().zip(lens).all(|(i, (len, chunk))| *i < len.div_ceil(*chunk));
        if inside {
            return Ok(());
        }
        Err(self.slab_error(SlabError::Chunk { index: index.to_vec(), counts: self.chunk_counts() }))
    }

    fn check_len(&self, want: usize, got: usize) -> Result<(), DataError> {
        if want == got {
            return Ok(());
        }
        Err(self.slab_error(SlabError::Buffer { want: want as u64, got: got as u64 }))
    }

    fn slab_error(&self, source: SlabError) -> DataError {
        DataError::Slab { variable: self.path.clone(), source }
    }

    fn chunk_error(&self, worker: &Worker, source: ChunkFault) -> DataError {
        DataError::Chunk {
            variable: self.path.clone(),
            key: worker.key().to_owned(),
            store: self.store.to_string(),
            source: Box::new(source),
        }
    }

    /// Whether the elements of the caller must be turned round.
    fn swaps(&self, elements: Elements) -> bool {
        elements == Elements::Native && self.dtype.is_swapped()
    }

    fn fill(&self, elements: Elements) -> &[u8] {
        if elements == Elements::Native { &self.native_fill } else { &self.fill }
    }

    /// Whether a chunk's bytes are in C order; with one dimension both orders are the same.
    fn is_c_order(&self) -> bool {
        self.order == Order::C || self.chunk_shape.len() <= 1
    }
}

/// What codecs are told of a variable.
#[must_use]
pub fn codec_env(variable: &Variable, format: Format) -> Env {
    let kind = match variable.dtype.kind() {
        Kind::Bool => ncz_codec::Kind::Bool,
        Kind::Int | Kind::DateTime | Kind::TimeDelta => ncz_codec::Kind::Int,
        Kind::UInt => ncz_codec::Kind::UInt,
        Kind::Float => ncz_codec::Kind::Float,
        Kind::Complex => ncz_codec::Kind::Complex,
        _ => ncz_codec::Kind::Opaque,
    };
    let order = match variable.dtype.order() {
        ByteOrder::Big => ncz_codec::ByteOrder::Big,
        _ => ncz_codec::ByteOrder::Little,
    };
    Env {
        dtype: ncz_codec::Dtype { kind, size: variable.dtype.size(), order },
        array_shape: variable.stored_shape(),
        chunk_shape: variable.stored_chunk_shape(),
        container: format.container(),
    }
}

#[cfg(test)]
mod tests {
    use ncz_store::{Key, MemoryStore, StoreExt};
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Hierarchy, NewFill, NewVariable};
    use crate::{NcType, Value};

    /// An array in memory without codecs, of shorts that start as -7.
    fn shorts(
        shape: &[u64],
        stored: &[u64],
        chunk: &[u64],
        order: Order,
        big: bool,
        pool: Pool,
    ) -> (Arc<MemoryStore>, Array) {
        let mut dataset = Hierarchy::new(Format::Zarr2);
        let names: Vec<String> = (0..shape.len()).map(|d| format!("d{d}")).collect();
        for (name, &len) in names.iter().zip(stored) {
            dataset.add_dimension("/", name, len, true).unwrap();
        }
        let new = NewVariable::new("v", NcType::Short)
            .dimensions(names)
            .chunks(chunk)
            .order(order)
            .byte_order(if big { ByteOrder::Big } else { ByteOrder::Little })
            .fill(NewFill::Value(Value::from(-7i16)));
        let variable = dataset.add_variable("/", new).unwrap();
        let chain = FilterChain::bind(&[], &codec_env(variable, Format::Zarr2)).unwrap();
        let store = Arc::new(MemoryStore::new("test"));
        let array = Array::new(store.clone(), variable, shape.to_vec(), chain, pool).unwrap();
        (store, array)
    }

    fn bytes(values: &[i16]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    /// The positions of a slab's elements in a flat array, in C order.
    fn positions(shape: &[u64], start: &[u64], count: &[u64], stride: &[u64]) -> Vec<usize> {
        let total: u64 = count.iter().product();
        (0..total)
            .map(|element| {
                let mut rest = element;
                let mut at = vec![0; shape.len()];
                for d in (0..shape.len()).rev() {
                    at[d] = start[d] + (rest % count[d]) * stride[d];
                    rest /= count[d];
                }
                at.iter().zip(shape).fold(0, |offset, (i, len)| offset * len + i) as usize
            })
            .collect()
    }

    type Case = (Vec<(u64, u64, u64, u64, u64)>, bool, bool, bool);

    fn cases() -> impl Strategy<Value = Case> {
        let dimension = (1u64..10, 1u64..5, 1u64..4).prop_flat_map(|(len, chunk, stride)| {
            (0..len).prop_flat_map(move |start| {
                let most = (len - start).div_ceil(stride);
                (Just(len), Just(chunk), Just(start), 0..=most, Just(stride))
            })
        });
        (prop::collection::vec(dimension, 0..4), any::<bool>(), any::<bool>(), any::<bool>())
    }

    proptest! {
        #[test]
        fn slabs_written_and_read_are_those_of_a_plain_array((dimensions, fortran, big, threads) in cases(), seed: u16) {
            let shape: Vec<_> = dimensions.iter().map(|d| d.0).collect();
            let chunk: Vec<_> = dimensions.iter().map(|d| d.1).collect();
            let start: Vec<_> = dimensions.iter().map(|d| d.2).collect();
            let count: Vec<_> = dimensions.iter().map(|d| d.3).collect();
            let stride: Vec<_> = dimensions.iter().map(|d| d.4).collect();
            let order = if fortran { Order::F } else { Order::C };
            let pool = if threads { Pool::with_threads(3).unwrap() } else { Pool::serial() };
            let (_, array) = shorts(&shape, &shape, &chunk, order, big, pool);
            let mut model = vec![-7i16; shape.iter().product::<u64>() as usize];
            let slab = Slab::new(start.clone(), count.clone()).with_stride(stride.clone());
            let at = positions(&shape, &start, &count, &stride);
            let values: Vec<i16> = (0..at.len()).map(|i| (i as i16).wrapping_mul(31).wrapping_add(seed as i16)).collect();
            array.write(&slab, Elements::Native, &bytes(&values)).unwrap();
            for (&position, &value) in at.iter().zip(&values) {
                model[position] = value;
            }
            let mut out = vec![0; model.len() * 2];
            array.read(&Slab::whole(&shape), Elements::Native, &mut out).unwrap();
            prop_assert_eq!(&out, &bytes(&model));
            let mut out = vec![0; values.len() * 2];
            array.read(&slab, Elements::Native, &mut out).unwrap();
            prop_assert_eq!(&out, &bytes(&values));
            let mut worker = array.worker();
            array.read_with(&mut worker, &slab, Elements::Native, &mut out).unwrap();
            prop_assert_eq!(&out, &bytes(&values));
        }

        #[test]
        fn what_netcdf_shows_beyond_the_stored_array_is_fill(lens in prop::collection::vec((1u64..7, 0u64..4, 1u64..4), 1..3), fortran: bool) {
            let stored: Vec<_> = lens.iter().map(|d| d.0).collect();
            let shape: Vec<_> = lens.iter().map(|d| d.0 + d.1).collect();
            let chunk: Vec<_> = lens.iter().map(|d| d.2).collect();
            let order = if fortran { Order::F } else { Order::C };
            let (store, array) = shorts(&shape, &stored, &chunk, order.clone(), false, Pool::serial());
            let values: Vec<i16> = (0..stored.iter().product::<u64>() as i16).collect();
            array.write(&Slab::whole(&stored), Elements::Native, &bytes(&values)).unwrap();
            // Another program's padding at the array's end is no data.
            let counts = array.chunk_counts();
            for number in 0..counts.iter().product::<u64>() {
                let index: Vec<u64> = if counts.len() == 1 { vec![number] } else { vec![number / counts[1], number % counts[1]] };
                let key = format!("v/{}", index.iter().map(u64::to_string).collect::<Vec<_>>().join("."));
                let key = Key::parse(&key).unwrap();
                let mut chunk_bytes = store.read_vec(key, 1 << 20).unwrap().unwrap();
                let part = array.chunk_slab(&index);
                if part.elements().unwrap() * 2 < chunk_bytes.len() as u64 {
                    let mut padded = vec![0x55; chunk_bytes.len()];
                    let inside = positions(&chunk, &vec![0; chunk.len()], part.count(), &vec![1; chunk.len()]);
                    let inside: Vec<usize> = if order == Order::C || chunk.len() == 1 { inside } else {
                        inside.iter().map(|&p| (p % chunk[1] as usize) * chunk[0] as usize + p / chunk[1] as usize).collect()
                    };
                    for p in inside { padded[2 * p..2 * p + 2].copy_from_slice(&chunk_bytes[2 * p..2 * p + 2]); }
                    chunk_bytes = padded;
                    store.write(key, &chunk_bytes, ncz_store::WriteMode::Replace).unwrap();
                }
            }
            let mut model = vec![-7i16; shape.iter().product::<u64>() as usize];
            for (position, value) in positions(&shape, &vec![0; shape.len()], &stored, &vec![1; shape.len()]).into_iter().zip(&values) {
                model[position] = *value;
            }
            let mut out = vec![0; model.len() * 2];
            array.read(&Slab::whole(&shape), Elements::Native, &mut out).unwrap();
            prop_assert_eq!(out, bytes(&model));
        }
    }

    #[test]
    fn a_chunk_of_another_length_is_an_error_that_names_it() {
        let (store, array) =
            shorts(&[4, 4], &[4, 4], &[2, 2], Order::C, false, Pool::with_threads(2).unwrap());
        store.write(Key::parse("v/1.0").unwrap(), &[0; 7], ncz_store::WriteMode::Replace).unwrap();
        let error = array.read(&Slab::whole(&[4, 4]), Elements::Native, &mut [0; 32]).unwrap_err();
        assert_eq!(error.to_string(), "variable \"/v\", chunk \"v/1.0\" in memory:test");
        let DataError::Chunk { source, .. } = error else { panic!("{error}") };
        assert!(matches!(*source, ChunkFault::Length { want: 8, got: 7 }));
        store.write(Key::parse("v/1.0").unwrap(), &[0; 9], ncz_store::WriteMode::Replace).unwrap();
        array.read(&Slab::whole(&[4, 4]), Elements::Native, &mut [0; 32]).unwrap_err();
        array.read(&Slab::new([0, 0], [2, 4]), Elements::Native, &mut [0; 16]).unwrap();
    }

    #[test]
    fn a_chunk_longer_than_its_codecs_make_is_refused_before_it_is_read() {
        let (store, array) = shorts(&[4], &[4], &[4], Order::C, false, Pool::serial());
        store.write(Key::parse("v/0").unwrap(), &[0; 9], ncz_store::WriteMode::Replace).unwrap();
        let error = array.read_stored(&mut array.worker(), &[0]).unwrap_err();
        let DataError::Chunk { source, .. } = error else { panic!("{error}") };
        assert!(matches!(*source, ChunkFault::TooLong { got: 9, most: 8, .. }), "{source}");
    }

    #[test]
    fn slabs_and_buffers_that_do_not_fit_are_refused() {
        let (_, array) = shorts(&[4], &[4], &[2], Order::C, false, Pool::serial());
        assert!(array.read(&Slab::new([1], [4]), Elements::Native, &mut [0; 8]).is_err());
        assert!(array.read(&Slab::new([0], [4]), Elements::Native, &mut [0; 7]).is_err());
        assert!(array.read(&Slab::new([0, 0], [4, 1]), Elements::Native, &mut [0; 8]).is_err());
        assert_eq!(
            array.read(&Slab::new([1], [4]), Elements::Native, &mut [0; 8]).unwrap_err().netcdf_code(),
            -57
        );
        array.read(&Slab::new([4], [0]), Elements::Native, &mut []).unwrap();
    }

    #[test]
    fn a_lone_element_may_have_any_stride() {
        let (_, array) = shorts(&[4, 4], &[4, 4], &[2, 2], Order::F, true, Pool::serial());
        let slab = Slab::new([3, 2], [1, 1]).with_stride([u64::MAX, u64::MAX]);
        array.write(&slab, Elements::Native, &bytes(&[5])).unwrap();
        let mut out = [0; 2];
        array.read(&slab, Elements::Native, &mut out).unwrap();
        assert_eq!(out, 5i16.to_ne_bytes());
    }

    #[test]
    fn chunks_that_the_array_does_not_have_are_refused() {
        let (store, array) = shorts(&[4, 4], &[4, 3], &[2, 2], Order::C, false, Pool::serial());
        let mut worker = array.worker();
        let chunk = [0; 8];
        for index in [&[2u64, 0] as &[u64], &[0, 2], &[0], &[0, 0, 0], &[u64::MAX, 0]] {
            let error = array.write_chunk(&mut worker, index, &chunk).unwrap_err();
            assert!(matches!(error, DataError::Slab { source: SlabError::Chunk { .. }, .. }), "{error}");
            array.write_stored(&mut worker, index, &chunk).unwrap_err();
            array.read_stored(&mut worker, index).unwrap_err();
            array.read_chunk(&mut worker, index, &mut [0; 8]).unwrap_err();
        }
        assert_eq!(array.chunk_slab(&[u64::MAX, 0]).elements(), Some(0));
        assert!(store.list(ncz_store::Prefix::ROOT, ncz_store::Depth::All, 10).unwrap().entries.is_empty());
        array.write_chunk(&mut worker, &[1, 1], &chunk).unwrap();
    }

    #[test]
    fn codecs_of_another_variable_are_refused() {
        let mut dataset = Hierarchy::new(Format::Zarr2);
        dataset.add_dimension("/", "x", 5, false).unwrap();
        let new = NewVariable::new("v", NcType::Int).dimensions(["x"]).chunks([5]);
        let variable = dataset.add_variable("/", new).unwrap();
        let other = Env { chunk_shape: vec![4], ..codec_env(variable, Format::Zarr2) };
        let chain = FilterChain::bind(&[], &other).unwrap();
        let store = Arc::new(MemoryStore::new("test"));
        Array::new(store, variable, vec![5], chain, Pool::serial()).unwrap_err();
    }
}
