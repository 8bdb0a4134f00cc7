//! Memory of Python objects as bytes: the only module with unsafe code.

#![expect(unsafe_code, reason = "the buffer protocol hands out pointers")]

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;

use crate::errors::{Failure, Kind};

/// Bytes of a Python object that stay where they are until this is dropped. Other threads of Python may change them
/// meanwhile, as with every program that reads numpy arrays: what is read from them is never taken for valid.
#[allow(dead_code, reason = "codecs read memory")]
pub(crate) struct ReadBuffer(PyUntypedBuffer);

/// Bytes of a Python object that may be written.
pub(crate) struct WriteBuffer(PyUntypedBuffer);

#[allow(dead_code, reason = "codecs read memory")]
impl ReadBuffer {
    /// Borrows the memory of an object whose elements lie in C order without gaps.
    ///
    /// # Errors
    /// The object has no such memory.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(Failure::new(
                Kind::Value,
                "expected memory in C order, got another layout; use numpy.ascontiguousarray",
            )
            .into());
        }
        Ok(Self(buffer))
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
    /// The object has no such memory.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(
                Failure::new(Kind::Value, "out: expected memory in C order, got another layout").into()
            );
        }
        if buffer.readonly() {
            return Err(Failure::new(
                Kind::Value,
                "out: expected memory that can be written, got a read-only object",
            )
            .into());
        }
        Ok(Self(buffer))
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
        // the view. `&mut self` makes this the only slice of ours; that nobody else writes there meanwhile is what
        // the caller of `out` promises, as for numpy's own functions that run without the interpreter's lock.
        unsafe { std::slice::from_raw_parts_mut(self.0.buf_ptr().cast::<u8>(), self.0.len_bytes()) }
    }
}
