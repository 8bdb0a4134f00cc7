//! Memory of Python objects as bytes: the only module with unsafe code.

#![expect(unsafe_code, reason = "the buffer protocol hands out pointers")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use ncz::codec::{ByteOrder, Dtype, Kind as ElementKind};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::copying::{Layout, Run, each_run};
use crate::errors::{Failure, Kind};

/// Bytes of a Python object that stay where they are until this is dropped. Other threads of Python may change them
/// meanwhile, as with every program that reads numpy arrays: what is read from them is never taken for valid.
pub(crate) struct ReadBuffer(PyUntypedBuffer);

/// Bytes of a Python object that may be written.
pub(crate) struct WriteBuffer(PyUntypedBuffer);

impl ReadBuffer {
    /// Borrows the memory of an object whose elements lie in C or Fortran order without gaps.
    ///
    /// # Errors
    /// The object has no such memory, or its elements are objects.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(object)?;
        if !buffer.is_c_contiguous() && !buffer.is_fortran_contiguous() {
            let text = "expected memory without gaps, got another layout; use numpy.ascontiguousarray";
            return Err(Failure::new(Kind::Value, text).into());
        }
        refuse_objects(&buffer)?;
        Ok(Self(buffer))
    }

    /// The type of an element.
    pub(crate) fn dtype(&self) -> Dtype {
        dtype(&self.0)
    }

    /// The lengths, in C order; of memory in Fortran order the number of elements.
    pub(crate) fn shape(&self) -> Vec<u64> {
        shape(&self.0)
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        if self.0.len_bytes() == 0 {
            return &[];
        }
        // SAFETY: the buffer is contiguous and has this many bytes, which stay allocated while `self` holds the view.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast::<u8>().cast_const(), self.0.len_bytes()) }
    }
}

impl WriteBuffer {
    /// Borrows the memory of a writable object whose elements lie in C order without gaps.
    ///
    /// # Errors
    /// The object has no such memory, or its elements are objects.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::of(object, PyUntypedBuffer::is_c_contiguous)
    }

    /// Borrows the memory of a writable object whose elements lie in C or Fortran order without gaps.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn in_any_order(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::of(object, |buffer| buffer.is_c_contiguous() || buffer.is_fortran_contiguous())
    }

    fn of(object: &Bound<'_, PyAny>, fits: impl FnOnce(&PyUntypedBuffer) -> bool) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(object)?;
        if !fits(&buffer) {
            return Err(
                Failure::new(Kind::Value, "out: expected memory in C order, got another layout").into()
            );
        }
        refuse_objects(&buffer)?;
        if buffer.readonly() {
            return Err(Failure::new(
                Kind::Value,
                "out: expected memory that can be written, got a read-only object",
            )
            .into());
        }
        Ok(Self(buffer))
    }

    /// The type of an element.
    pub(crate) fn dtype(&self) -> Dtype {
        dtype(&self.0)
    }

    /// The lengths, in C order; of memory in Fortran order the number of elements.
    pub(crate) fn shape(&self) -> Vec<u64> {
        shape(&self.0)
    }

    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len_bytes()
    }

    /// The bytes.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        if self.0.len_bytes() == 0 {
            return &mut [];
        }
        // SAFETY: the buffer is contiguous, writable, and has this many bytes, which stay allocated while `self` holds
        // the view. `&mut self` makes this the only slice of ours. The caller of `out` promises that no other
        // thread writes there meanwhile, as for numpy's own functions that run without the interpreter's lock.
        unsafe { std::slice::from_raw_parts_mut(self.0.buf_ptr().cast::<u8>(), self.0.len_bytes()) }
    }
}

/// Bytes that Python may read where they are: the buffer of a codec, without a copy.
#[pyclass(module = "ncz._ncz", frozen)]
pub(crate) struct Memory(Vec<u8>);

impl Memory {
    /// Hands out bytes as a `memoryview`.
    pub(crate) fn view(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Bound<'_, PyMemoryView>> {
        PyMemoryView::from(Bound::new(py, Self(bytes))?.as_any())
    }
}

#[pymethods]
impl Memory {
    /// # Safety
    /// `view` is a structure that Python wants filled.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view to fill"));
        }
        let bytes = &slf.get().0;
        let len = isize::try_from(bytes.len()).unwrap_or(isize::MAX);
        // SAFETY: `view` is Python's and not null. The view holds a reference to `slf`, which is frozen, so that its
        // bytes stay where they are, unchanged: Python is told that they are read-only.
        let code = unsafe {
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), bytes.as_ptr().cast_mut().cast(), len, 1, flags)
        };
        if code == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// A box of the elements of an array of Python, which may have more dimensions than the array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Region {
    /// The index of its first element along each dimension of the box.
    pub(crate) start: Vec<usize>,
    /// The elements along each dimension.
    pub(crate) count: Vec<usize>,
    /// The dimension of the array; `None` for one that the array lacks: all elements along it are the same.
    pub(crate) axis: Vec<Option<usize>>,
}

/// Boxes of an array of Python, with any strides: what the chunks of a batch are read into, or written from.
pub(crate) struct Regions {
    buffer: PyUntypedBuffer,
    regions: Vec<(Layout, AtomicBool)>,
    is_writable: bool,
}

/// One box, held by one thread.
pub(crate) struct Held<'a> {
    base: *mut u8,
    layout: &'a Layout,
    taken: &'a AtomicBool,
    is_writable: bool,
}

impl Regions {
    /// Borrows the memory of `array` for the boxes `regions`. With `is_scalar` it has one element and no dimensions,
    /// though Python shows one.
    ///
    /// # Errors
    /// The object has no such memory; a box is not within it; or some overlap though they are to be written.
    pub(crate) fn new(
        array: &Bound<'_, PyAny>,
        regions: &[Region],
        is_writable: bool,
        is_scalar: bool,
    ) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(array)?;
        refuse_objects(&buffer)?;
        let refuse = |text: &str| Err(Failure::new(Kind::Value, text).into());
        if is_writable && buffer.readonly() {
            return refuse("out: expected memory that can be written, got a read-only object");
        }
        if buffer.suboffsets().is_some() {
            return refuse("expected one block of memory, got pointers to several");
        }
        let (shape, strides) = match buffer.item_count() {
            1 if is_scalar => ([].as_slice(), [].as_slice()),
            _ if is_scalar => return refuse("expected one element"),
            _ => (buffer.shape(), buffer.strides()),
        };
        if is_writable && !are_disjoint(regions) {
            return refuse("out: two chunks would be written to the same elements");
        }
        if is_writable && shape.iter().zip(strides).any(|(&len, &stride)| len > 1 && stride == 0) {
            return refuse("out: its elements share memory");
        }
        let mut layouts = Vec::with_capacity(regions.len());
        for region in regions {
            let Some(layout) = region.layout(shape, strides, is_writable) else {
                return refuse("a part of the selection is not within the array");
            };
            layouts.push((layout, AtomicBool::new(false)));
        }
        Ok(Self { buffer, regions: layouts, is_writable })
    }

    /// The bytes of an element.
    pub(crate) fn element(&self) -> usize {
        self.buffer.item_size()
    }

    /// The box of this number, unless another thread has it.
    pub(crate) fn hold(&self, number: usize) -> Option<Held<'_>> {
        let (layout, taken) = self.regions.get(number)?;
        if taken.swap(true, Ordering::Acquire) {
            return None;
        }
        Some(Held { base: self.buffer.buf_ptr().cast(), layout, taken, is_writable: self.is_writable })
    }
}

impl Region {
    /// Where its elements are in an array; `None` if some are not within it, or if several of a box that is to be written
    /// would be the same.
    fn layout(&self, shape: &[usize], strides: &[isize], is_writable: bool) -> Option<Layout> {
        if [self.count.len(), self.axis.len()] != [self.start.len(); 2] || shape.len() != strides.len() {
            return None;
        }
        let mut layout = Layout { offset: 0, counts: self.count.clone(), strides: vec![0; self.count.len()] };
        let mut is_covered = vec![false; shape.len()];
        for (number, (&start, &count)) in self.start.iter().zip(&self.count).enumerate() {
            let Some(axis) = self.axis[number] else {
                if start != 0 || is_writable && count != 1 {
                    return None;
                }
                continue;
            };
            let is_within = start.checked_add(count)? <= *shape.get(axis)?;
            if !is_within || std::mem::replace(&mut is_covered[axis], true) {
                return None;
            }
            layout.offset += start as isize * strides[axis];
            layout.strides[number] = strides[axis];
        }
        // Along other dimensions of the array the box would be at an index that was not chosen.
        is_covered.iter().all(|&covered| covered).then_some(layout)
    }
}

impl Held<'_> {
    /// Copies `chunk` into the box: from where `from` says, element by element. Without a box to write nothing happens.
    pub(crate) fn put(&mut self, chunk: &[u8], from: &Layout, element: usize) {
        if !self.is_writable {
            return;
        }
        each_run(from, self.layout, element, &mut |Run { from, to, len }| {
            let Some(source) = usize::try_from(from).ok().and_then(|at| chunk.get(at..)?.get(..len)) else {
                return;
            };
            // SAFETY: `to` is the offset of `len` bytes of elements of the box, which is within the array's memory
            // (checked when the box was made), and of no other box that is written; `taken` makes this thread the only
            // one that has this box. What Python does with the memory meanwhile is up to the caller, as with numpy.
            unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), self.base.offset(to), len) }
        });
    }

    /// Copies the box into `chunk`: to where `to` says, element by element.
    pub(crate) fn take(&self, chunk: &mut [u8], to: &Layout, element: usize) {
        each_run(self.layout, to, element, &mut |Run { from, to, len }| {
            let target = usize::try_from(to).ok().and_then(|at| chunk.get_mut(at..)?.get_mut(..len));
            let Some(target) = target else { return };
            // SAFETY: `from` is the offset of `len` bytes of elements of the box, which is within the array's memory
            // (checked when the box was made); `target` is memory of ours.
            unsafe { std::ptr::copy_nonoverlapping(self.base.offset(from), target.as_mut_ptr(), len) }
        });
    }

    /// The bytes of the box, if its elements lie in C order without gaps.
    pub(crate) fn bytes(&self, element: usize) -> Option<&[u8]> {
        let len = self.layout.contiguous_len(element).filter(|&len| len > 0)?;
        // SAFETY: the box is within the array's memory (checked when it was made), and its bytes follow each other.
        // They stay allocated while the buffer is held, from which `self` borrows.
        Some(unsafe { std::slice::from_raw_parts(self.base.offset(self.layout.offset), len) })
    }

    /// The bytes of the box for writing, if its elements lie in C order without gaps.
    pub(crate) fn bytes_mut(&mut self, element: usize) -> Option<&mut [u8]> {
        let len = self.layout.contiguous_len(element).filter(|&len| len > 0 && self.is_writable)?;
        // SAFETY: as in `bytes`; no other box that is written has these bytes, and `taken` makes this thread the only one
        // that has this box.
        Some(unsafe { std::slice::from_raw_parts_mut(self.base.offset(self.layout.offset), len) })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.taken.store(false, Ordering::Release);
    }
}

/// Whether no two boxes share an element: along each dimension the ranges are the same or apart, and no two boxes are the
/// same. The parts of a selection that chunks make are of this kind.
fn are_disjoint(regions: &[Region]) -> bool {
    let Some(first) = regions.first() else { return true };
    for axis in 0..first.start.len() {
        let range = |region: &Region| Some((*region.start.get(axis)?, *region.count.get(axis)?));
        let Some(mut ranges) = regions.iter().map(range).collect::<Option<Vec<_>>>() else { return false };
        ranges.sort_unstable();
        ranges.dedup();
        let apart = ranges.windows(2).all(|pair| match pair {
            [(start, count), (next, _)] => start.saturating_add(*count) <= *next,
            _ => true,
        });
        if !apart {
            return false;
        }
    }
    let mut boxes: Vec<_> = regions.iter().map(|region| &region.start).collect();
    boxes.sort_unstable();
    boxes.windows(2).all(|pair| !matches!(pair, [one, other] if one == other))
}

/// Refuses pointers to objects.
fn refuse_objects(buffer: &PyUntypedBuffer) -> PyResult<()> {
    if buffer.format().to_bytes().contains(&b'O') {
        return Err(
            Failure::new(Kind::Type, "object arrays are not supported: their elements are pointers").into()
        );
    }
    Ok(())
}

/// The type of an element, by its letter in the buffer protocol.
fn dtype(buffer: &PyUntypedBuffer) -> Dtype {
    let format = buffer.format().to_bytes();
    let (order, format) = match format {
        [b'>' | b'!', rest @ ..] => (ByteOrder::Big, rest),
        [b'<' | b'=' | b'@', rest @ ..] => (ByteOrder::Little, rest),
        _ => (ByteOrder::Little, format),
    };
    let kind = match format {
        b"?" => ElementKind::Bool,
        b"b" | b"h" | b"i" | b"l" | b"q" | b"n" => ElementKind::Int,
        b"B" | b"H" | b"I" | b"L" | b"Q" | b"N" => ElementKind::UInt,
        b"e" | b"f" | b"d" | b"g" => ElementKind::Float,
        b"Zf" | b"Zd" | b"Zg" => ElementKind::Complex,
        _ => ElementKind::Opaque,
    };
    Dtype { kind, size: buffer.item_size(), order }
}

fn shape(buffer: &PyUntypedBuffer) -> Vec<u64> {
    if buffer.is_c_contiguous() {
        buffer.shape().iter().map(|&len| len as u64).collect()
    } else {
        vec![buffer.item_count() as u64]
    }
}
