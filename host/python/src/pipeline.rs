//! The codecs of a zarr array over batches of its chunks, on all threads.
//!
//! zarr-python says which part of which chunk goes where in an array of numpy. Here stored chunks, in memory or in files,
//! become these parts, and back.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ncz::model::{Pool, Session, Tasks};
use ncz::registry::chain::{ChainScratch, FilterChain};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::array_codecs;
use crate::buffers::{Held, Memory, ReadBuffer, Regions};
use crate::chunk_files;
use crate::copying::{Layout, fill, is_filled, swap_bytes};
use crate::errors::{Failure, Kind};
use crate::plugins;
use crate::selection::{Selected, select};
use crate::threads::{self, detached};

/// The codecs of one kind of chunk.
#[pyclass(module = "ncz._ncz", frozen)]
pub(crate) struct Plan {
    chain: FilterChain,
    /// The lengths of a chunk.
    shape: Vec<usize>,
    /// The bytes between neighbours along each dimension of a decoded chunk.
    strides: Vec<isize>,
    is_c_order: bool,
    element: usize,
    /// The bytes of the unit that is swapped where byte orders differ.
    unit: usize,
    /// Whether stored elements have another byte order than the machine's.
    is_swapped: bool,
    /// One element, as it is stored.
    fill: Vec<u8>,
    /// Locked by attached threads only.
    idle: Mutex<Vec<Work>>,
}

/// The memory of one thread.
#[derive(Default)]
pub(crate) struct Work {
    scratch: ChainScratch,
    stored: Vec<u8>,
    chunk: Vec<u8>,
}

/// The parts of an array's memory that the chunks of a batch are read into, or written from.
#[pyclass(module = "ncz._ncz", frozen)]
pub(crate) struct Parts {
    plan: Py<Plan>,
    regions: Regions,
    selected: Vec<Selected>,
    /// The unit of which the bytes are swapped between the array and stored chunks; 0 if none is.
    swapped_unit: usize,
}

/// Ends a call whose caller has stopped waiting.
#[pyclass(module = "ncz._ncz", frozen, name = "Stop")]
#[derive(Default)]
pub(crate) struct PyStop(threads::Stop);

#[pymethods]
impl PyStop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Ends the call after the chunks that are being worked on.
    fn set(&self) {
        self.0.set();
    }
}

#[pymethods]
impl Plan {
    /// Binds the codecs of an array of one chunk with this metadata document. `fill` is one element in the machine's byte
    /// order.
    #[new]
    #[pyo3(signature = (document, version, fill, shuffle_size=None, nczarr=false))]
    fn new(
        py: Python<'_>,
        document: Vec<u8>,
        version: u8,
        mut fill: Vec<u8>,
        shuffle_size: Option<&str>,
        nczarr: bool,
    ) -> PyResult<Self> {
        let reading = array_codecs::shuffle_reading(shuffle_size)?;
        let session = Session::new(plugins::registry(py, None), Pool::serial());
        let (variable, chain) =
            detached(py, || array_codecs::bind(&session, document, version, reading, nczarr))?;
        let element = variable.dtype.size();
        let is_sharded = variable.sharding.is_some();
        if element == 0 || is_sharded || fill.len() != element || variable.is_structured() {
            let text = format!("elements of {} are not numbers of a fixed size", variable.dtype);
            return Err(Failure::new(Kind::Codec, text).into());
        }
        let shape: Vec<usize> =
            variable.chunk_shape.iter().map(|&len| usize::try_from(len).unwrap_or(usize::MAX)).collect();
        let axes = variable.order.axes(shape.len());
        let mut strides = vec![0; shape.len()];
        let mut step = element as isize;
        for &axis in axes.iter().rev() {
            strides[axis] = step;
            step *= shape[axis] as isize;
        }
        let (unit, is_swapped) = (variable.dtype.swap_unit(), variable.dtype.is_swapped());
        if is_swapped {
            swap_bytes(&mut fill, unit);
        }
        let is_c_order = axes.is_sorted();
        Ok(Self {
            chain,
            shape,
            strides,
            is_c_order,
            element,
            unit,
            is_swapped,
            fill,
            idle: Mutex::default(),
        })
    }

    /// The lengths of a chunk.
    #[getter]
    fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The bytes of a decoded chunk.
    #[getter]
    fn chunk_len(&self) -> usize {
        self.chain.chunk_len()
    }

    /// The parts of `array` that chunks are read into or written from: for each the selections in the chunk and in the
    /// array, and whether writing the part replaces the whole chunk. `native` says whether the array has the machine's
    /// byte order, `is_scalar` whether its only element is used for all. `None` if a selection has other things than
    /// integers and slices.
    #[pyo3(signature = (selections, array, native, is_read, is_scalar=false))]
    fn parts(
        slf: &Bound<'_, Self>,
        selections: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>, bool)>,
        array: &Bound<'_, PyAny>,
        native: bool,
        is_read: bool,
        is_scalar: bool,
    ) -> PyResult<Option<Parts>> {
        let plan = slf.get();
        let shape: Vec<usize> = if is_scalar { Vec::new() } else { array.getattr("shape")?.extract()? };
        let mut selected = Vec::with_capacity(selections.len());
        let mut regions = Vec::with_capacity(selections.len());
        for (in_chunk, in_array, is_complete) in &selections {
            let Some((mut part, region)) = select(&plan.shape, &shape, in_chunk, in_array, is_scalar)? else {
                return Ok(None);
            };
            part.is_complete |= *is_complete;
            selected.push(part);
            regions.push(region);
        }
        let regions = Regions::new(array, &regions, is_read, is_scalar)?;
        if regions.element() != plan.element {
            return Ok(None);
        }
        let swapped_unit = if plan.is_swapped == native { plan.unit } else { 0 };
        Ok(Some(Parts { plan: slf.clone().unbind(), regions, selected, swapped_unit }))
    }
}

#[pymethods]
impl Parts {
    /// For each part, whether the rest of its chunk has to be read before it is written.
    #[getter]
    fn partial(&self) -> Vec<bool> {
        self.selected.iter().map(|selected| !selected.is_complete).collect()
    }

    /// Reads parts from stored chunks: those from the number `first` on, `None` where there is no chunk. `keys` name them
    /// in errors. Returns for each whether there is a chunk.
    fn read(
        &self,
        py: Python<'_>,
        first: usize,
        stored: Vec<Option<Bound<'_, PyAny>>>,
        keys: Vec<String>,
        stop: &PyStop,
    ) -> PyResult<Vec<bool>> {
        let stored = borrow(&stored)?;
        self.run(py, stored.len(), &stop.0, |plan, work, number| {
            let bytes = stored[number].as_ref().map(ReadBuffer::bytes);
            self.put(plan, work, first + number, bytes).map_err(|error| error.of_data().about(&keys[number]))
        })?;
        Ok(stored.iter().map(Option::is_some).collect())
    }

    /// Reads all parts from files of these names in the folder `root`. Returns for each whether there is such a file.
    fn read_files(
        &self,
        py: Python<'_>,
        root: PathBuf,
        keys: Vec<String>,
        stop: &PyStop,
    ) -> PyResult<Vec<bool>> {
        let found = Mutex::new(vec![false; keys.len()]);
        self.run(py, keys.len(), &stop.0, |plan, work, number| {
            let path = root.join(&keys[number]);
            let about = |error: Failure| error.of_data().about(&path.display().to_string());
            let is_there = self.read_file(plan, work, number, &path).map_err(about)?;
            if let Some(found) = found.lock().unwrap_or_else(PoisonError::into_inner).get_mut(number) {
                *found = is_there;
            }
            Ok(())
        })?;
        Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Encodes chunks from parts: those from the number `first` on. `old` are stored chunks of which a part is kept, or
    /// `None`. Returns `None` for a chunk that is not stored, since it is nothing but fill values; unless `keep_empty`.
    fn write<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        old: Vec<Option<Bound<'py, PyAny>>>,
        keys: Vec<String>,
        keep_empty: bool,
        stop: &PyStop,
    ) -> PyResult<Bound<'py, PyList>> {
        let old = borrow(&old)?;
        let encoded: Vec<Mutex<Option<Vec<u8>>>> = old.iter().map(|_| Mutex::new(None)).collect();
        self.run(py, old.len(), &stop.0, |plan, work, number| {
            let bytes = old[number].as_ref().map(ReadBuffer::bytes);
            let held = self.hold(first + number)?;
            let Work { scratch, chunk, .. } = work;
            let made = self.make(plan, (scratch, chunk), &held, bytes, keep_empty);
            let made = made.map_err(|error| error.about(&keys[number]))?;
            *encoded[number].lock().unwrap_or_else(PoisonError::into_inner) = made.map(<[u8]>::to_vec);
            Ok(())
        })?;
        let list = PyList::empty(py);
        for chunk in encoded {
            let chunk = chunk.into_inner().unwrap_or_else(PoisonError::into_inner);
            list.append(chunk.map(|bytes| Memory::view(py, bytes)).transpose()?)?;
        }
        Ok(list)
    }

    /// Writes all chunks to files of these names in the folder `root`: each is replaced as a whole, or removed if it is
    /// nothing but fill values; unless `keep_empty`.
    fn write_files(
        &self,
        py: Python<'_>,
        root: PathBuf,
        keys: Vec<String>,
        keep_empty: bool,
        stop: &PyStop,
    ) -> PyResult<()> {
        self.run(py, keys.len(), &stop.0, |plan, work, number| {
            let path = root.join(&keys[number]);
            let mut write = || {
                let held = self.hold(number)?;
                let Work { scratch, stored, chunk } = work;
                let found =
                    !held.1.is_complete && chunk_files::read(&path, plan.chain.max_stored_len(), stored)?;
                let old = found.then_some(&**stored);
                match self.make(plan, (scratch, chunk), &held, old, keep_empty)? {
                    Some(bytes) => chunk_files::write(&path, bytes),
                    None => chunk_files::remove(&path),
                }
            };
            write().map_err(|error| error.about(&path.display().to_string()))
        })
    }
}

impl Parts {
    /// Runs `step` for each number below `count` on all threads, until one fails or the call is to stop.
    fn run(
        &self,
        py: Python<'_>,
        count: usize,
        stop: &threads::Stop,
        step: impl Fn(&Plan, &mut Work, usize) -> Result<(), Failure> + Sync,
    ) -> PyResult<()> {
        /// Memory of a thread that is kept for the next batch.
        const KEPT: usize = 64 << 20;
        let plan = self.plan.get();
        let pool = threads::pool(py, None)?;
        let idle = Mutex::new(std::mem::take(&mut *plan.idle.lock().unwrap_or_else(PoisonError::into_inner)));
        let state = || idle.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let works = detached(py, || {
            pool.for_each(&Tasks::new(count as u64), state, |work, number| {
                if stop.is_set() {
                    return Err(Failure::new(Kind::Error, "interrupted"));
                }
                step(plan, work, usize::try_from(number).unwrap_or(usize::MAX))
            })
        })?;
        let rest = idle.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut idle = plan.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.extend(works.into_iter().chain(rest).filter(|work| work.chunk.capacity() <= KEPT));
        idle.truncate(pool.threads());
        Ok(())
    }

    fn hold(&self, number: usize) -> Result<(Held<'_>, &Selected), Failure> {
        let held = self.regions.hold(number).zip(self.selected.get(number));
        held.ok_or_else(|| Failure::new(Kind::Error, "a part of the selection is being worked on already"))
    }

    /// Whether a chunk lies in the array as it does in its decoded form.
    fn is_alike(&self, plan: &Plan, selected: &Selected) -> bool {
        selected.is_whole && plan.is_c_order && self.swapped_unit == 0
    }

    /// Reads a part from a file; returns whether there is one.
    fn read_file(&self, plan: &Plan, work: &mut Work, number: usize, path: &Path) -> Result<bool, Failure> {
        if plan.chain.is_empty() {
            let (mut held, selected) = self.hold(number)?;
            if self.is_alike(plan, selected)
                && let Some(out) = held.bytes_mut(plan.element)
                && chunk_files::read_exactly(path, out)?
            {
                return Ok(true);
            }
        }
        let mut stored = std::mem::take(&mut work.stored);
        let found = chunk_files::read(path, plan.chain.max_stored_len(), &mut stored);
        let put = found.and_then(|found| {
            self.put(plan, work, number, found.then_some(&*stored))?;
            Ok(found)
        });
        work.stored = stored;
        put
    }

    /// Decodes a stored chunk, or takes the fill value for one that is missing, into the array.
    fn put(&self, plan: &Plan, work: &mut Work, number: usize, stored: Option<&[u8]>) -> Result<(), Failure> {
        let (mut held, selected) = self.hold(number)?;
        let element = plan.element;
        let Work { scratch, chunk, .. } = work;
        let Some(stored) = stored else {
            let mut fill_value = plan.fill.clone();
            swap_bytes(&mut fill_value, self.swapped_unit);
            match held.bytes_mut(element) {
                Some(out) => fill(out, &fill_value),
                None => {
                    let strides = vec![0; selected.count.len()];
                    let from = Layout { offset: 0, counts: selected.count.clone(), strides };
                    held.put(&fill_value, &from, element);
                }
            }
            return Ok(());
        };
        if self.is_alike(plan, selected)
            && let Some(out) = held.bytes_mut(element)
        {
            plan.chain.decode(0, scratch, stored, out)?;
            return Ok(());
        }
        let from = plan.layout(selected);
        if plan.chain.is_empty() && self.swapped_unit == 0 && stored.len() == plan.chain.chunk_len() {
            held.put(stored, &from, element);
            return Ok(());
        }
        resize(chunk, plan.chain.chunk_len())?;
        plan.chain.decode(0, scratch, stored, chunk)?;
        swap_bytes(chunk, self.swapped_unit);
        held.put(chunk, &from, element);
        Ok(())
    }

    /// Encodes a chunk from the array and, if it has only a part of it, from what was stored.
    fn make<'a>(
        &'a self,
        plan: &'a Plan,
        (scratch, chunk): (&'a mut ChainScratch, &'a mut Vec<u8>),
        (held, selected): &'a (Held<'a>, &'a Selected),
        old: Option<&[u8]>,
        keep_empty: bool,
    ) -> Result<Option<&'a [u8]>, Failure> {
        if self.is_alike(plan, selected)
            && let Some(data) = held.bytes(plan.element)
        {
            if !keep_empty && is_filled(data, &plan.fill) {
                return Ok(None);
            }
            return Ok(Some(plan.chain.encode(scratch, data)?));
        }
        resize(chunk, plan.chain.chunk_len())?;
        if !selected.is_whole {
            match old {
                Some(old) => plan
                    .chain
                    .decode(0, scratch, old, chunk)
                    .map_err(|error| Failure::from(error).of_data())?,
                None => fill(chunk, &plan.fill),
            }
            swap_bytes(chunk, self.swapped_unit);
        }
        held.take(chunk, &plan.layout(selected), plan.element);
        swap_bytes(chunk, self.swapped_unit);
        if !keep_empty && is_filled(chunk, &plan.fill) {
            return Ok(None);
        }
        Ok(Some(plan.chain.encode(scratch, chunk)?))
    }
}

impl Plan {
    /// Where a part of a chunk is in its decoded form.
    fn layout(&self, selected: &Selected) -> Layout {
        let offset =
            selected.start.iter().zip(&self.strides).map(|(&start, &stride)| start as isize * stride).sum();
        let strides = selected.step.iter().zip(&self.strides).map(|(&step, &stride)| step as isize * stride);
        Layout { offset, counts: selected.count.clone(), strides: strides.collect() }
    }
}

/// Borrows the memory of stored chunks.
fn borrow(stored: &[Option<Bound<'_, PyAny>>]) -> PyResult<Vec<Option<ReadBuffer>>> {
    stored.iter().map(|stored| stored.as_ref().map(ReadBuffer::new).transpose()).collect()
}

/// Sets the length of a buffer whose content does not matter.
fn resize(buffer: &mut Vec<u8>, len: usize) -> Result<(), Failure> {
    if let Some(more) = len.checked_sub(buffer.len()) {
        buffer
            .try_reserve_exact(more)
            .map_err(|_| Failure::new(Kind::Memory, format!("no memory for a chunk of {len} bytes")))?;
    }
    buffer.resize(len, 0);
    Ok(())
}

/// Adds the classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Plan>()?;
    module.add_class::<Parts>()?;
    module.add_class::<PyStop>()
}
