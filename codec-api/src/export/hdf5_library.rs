//! The functions of the calling libhdf5 that `set_local` needs.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::caller;
use crate::abi::hdf5::{self as abi, Hid, class};
use crate::error::{CodecError, Result};
use crate::repr::{ByteOrder, Dtype, Kind};

/// HDF5's greatest rank (`H5S_MAX_RANK`).
const RANK_MAX: usize = 32;
/// The largest number of parameters of a filter in a property list.
const PARAMS_MAX: usize = 1 << 16;

type GetFilterById2 = unsafe extern "C" fn(
    Hid,
    c_int,
    *mut c_uint,
    *mut usize,
    *mut c_uint,
    usize,
    *mut c_char,
    *mut c_uint,
) -> c_int;
type ModifyFilter = unsafe extern "C" fn(Hid, c_int, c_uint, usize, *const c_uint) -> c_int;
type GetChunk = unsafe extern "C" fn(Hid, c_int, *mut u64) -> c_int;
type FillValueDefined = unsafe extern "C" fn(Hid, *mut c_int) -> c_int;
type GetFillValue = unsafe extern "C" fn(Hid, Hid, *mut c_void) -> c_int;
type TypeToInt = unsafe extern "C" fn(Hid) -> c_int;
type TypeToSize = unsafe extern "C" fn(Hid) -> usize;
type TypeToType = unsafe extern "C" fn(Hid) -> Hid;
type GetFields =
    unsafe extern "C" fn(Hid, *mut usize, *mut usize, *mut usize, *mut usize, *mut usize) -> c_int;
type GetLibVersion = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint) -> c_int;

/// The libhdf5 that called us.
pub(super) struct Library {
    get_filter_by_id2: GetFilterById2,
    modify_filter: ModifyFilter,
    get_chunk: GetChunk,
    fill_value_defined: FillValueDefined,
    get_fill_value: GetFillValue,
    get_class: TypeToInt,
    get_size: TypeToSize,
    get_precision: TypeToSize,
    get_order: TypeToInt,
    get_sign: TypeToInt,
    get_fields: GetFields,
    get_super: TypeToType,
    close: TypeToInt,
}

impl Library {
    /// Finds the calling libhdf5.
    ///
    /// # Safety
    /// The identifiers passed to its methods belong to the calling library.
    pub(super) unsafe fn calling() -> Result<Self> {
        let image = caller::calling_image()
            .ok_or_else(|| CodecError::unsupported("the library that called set_local cannot be found"))?;
        let get = |name: &CStr| {
            image.function(name).ok_or_else(|| {
                CodecError::unsupported(format!(
                    "the library that called set_local has no {}",
                    name.to_string_lossy()
                ))
            })
        };
        // SAFETY: these functions have had these signatures since HDF5 1.10, which is checked below
        // before any of them is called (`H5get_libversion` is the same in all); the image stays loaded.
        unsafe {
            use std::mem::transmute;
            let version = transmute::<*mut c_void, GetLibVersion>(get(c"H5get_libversion")?);
            check_version(version)?;
            Ok(Self {
                get_filter_by_id2: transmute::<*mut c_void, GetFilterById2>(get(c"H5Pget_filter_by_id2")?),
                modify_filter: transmute::<*mut c_void, ModifyFilter>(get(c"H5Pmodify_filter")?),
                get_chunk: transmute::<*mut c_void, GetChunk>(get(c"H5Pget_chunk")?),
                fill_value_defined: transmute::<*mut c_void, FillValueDefined>(get(
                    c"H5Pfill_value_defined",
                )?),
                get_fill_value: transmute::<*mut c_void, GetFillValue>(get(c"H5Pget_fill_value")?),
                get_class: transmute::<*mut c_void, TypeToInt>(get(c"H5Tget_class")?),
                get_size: transmute::<*mut c_void, TypeToSize>(get(c"H5Tget_size")?),
                get_precision: transmute::<*mut c_void, TypeToSize>(get(c"H5Tget_precision")?),
                get_order: transmute::<*mut c_void, TypeToInt>(get(c"H5Tget_order")?),
                get_sign: transmute::<*mut c_void, TypeToInt>(get(c"H5Tget_sign")?),
                get_fields: transmute::<*mut c_void, GetFields>(get(c"H5Tget_fields")?),
                get_super: transmute::<*mut c_void, TypeToType>(get(c"H5Tget_super")?),
                close: transmute::<*mut c_void, TypeToInt>(get(c"H5Tclose")?),
            })
        }
    }

    /// The flags and parameters of filter `id` in a property list.
    pub(super) fn filter(&self, dcpl: Hid, id: c_int) -> Result<(c_uint, Vec<c_uint>)> {
        let mut words = vec![0; 64];
        loop {
            let (mut flags, mut count) = (0, words.len());
            // SAFETY: `words` holds `count` words; no name and no configuration is requested.
            let status = unsafe {
                (self.get_filter_by_id2)(
                    dcpl,
                    id,
                    &raw mut flags,
                    &raw mut count,
                    words.as_mut_ptr(),
                    0,
                    std::ptr::null_mut(),
                    std::ptr::null_mut(),
                )
            };
            if status < 0 || count > PARAMS_MAX {
                return Err(failed("H5Pget_filter_by_id2"));
            }
            if count <= words.len() {
                words.truncate(count);
                return Ok((flags, words));
            }
            words = vec![0; count];
        }
    }

    /// Replaces the parameters of filter `id`.
    pub(super) fn modify_filter(&self, dcpl: Hid, id: c_int, flags: c_uint, words: &[c_uint]) -> Result<()> {
        // SAFETY: pointer and count are those of `words`.
        let status = unsafe { (self.modify_filter)(dcpl, id, flags, words.len(), words.as_ptr()) };
        if status < 0 { Err(failed("H5Pmodify_filter")) } else { Ok(()) }
    }

    /// The lengths of a chunk.
    pub(super) fn chunk(&self, dcpl: Hid) -> Result<Vec<u64>> {
        let mut lengths = [0; RANK_MAX];
        // SAFETY: the buffer has room for the stated number of lengths.
        let rank = unsafe { (self.get_chunk)(dcpl, RANK_MAX as c_int, lengths.as_mut_ptr()) };
        let rank = usize::try_from(rank).map_err(|_| failed("H5Pget_chunk"))?;
        lengths.get(..rank).map(<[u64]>::to_vec).ok_or_else(|| failed("H5Pget_chunk"))
    }

    /// Returns the bytes of the fill value that a user has set, in the type that [`dtype`](Self::dtype) returns; none
    /// for array types, whose fill value is several elements.
    pub(super) fn fill(&self, dcpl: Hid, datatype: Hid, dtype: Dtype) -> Result<Option<Vec<u8>>> {
        // Types other than numbers can hold pointers.
        if dtype.kind == Kind::Opaque {
            return Ok(None);
        }
        let mut status = 0;
        // SAFETY: the output pointer is valid.
        if unsafe { (self.fill_value_defined)(dcpl, &raw mut status) } < 0 {
            return Err(failed("H5Pfill_value_defined"));
        }
        if status != abi::FILL_VALUE_USER_DEFINED {
            return Ok(None);
        }
        let mut fill = vec![0; self.size(datatype)?];
        // SAFETY: the buffer has room for one value of the type, which holds numbers only.
        if unsafe { (self.get_fill_value)(dcpl, datatype, fill.as_mut_ptr().cast()) } < 0 {
            return Err(failed("H5Pget_fill_value"));
        }
        let mut elements = fill.chunks(dtype.size);
        let first = elements.next().map(<[u8]>::to_vec);
        Ok(first.filter(|first| elements.all(|element| element == first)))
    }

    /// The element type of `datatype`, and how many elements it holds if it is an array type.
    ///
    /// One level of arrays is unwrapped, as the registered filters do.
    pub(super) fn dtype(&self, datatype: Hid) -> Result<(Dtype, Option<u64>)> {
        if self.class(datatype)? != class::ARRAY {
            return Ok((self.element(datatype)?, None));
        }
        let base = self.super_type(datatype)?;
        let element = self.element(base.id)?;
        let whole = self.size(datatype)?;
        if whole % element.size != 0 {
            return Err(CodecError::unsupported(format!(
                "an array type of {whole} bytes with elements of {} bytes",
                element.size
            )));
        }
        Ok((element, Some((whole / element.size) as u64)))
    }

    /// Returns the type as a filter sees it; everything except ordinary numbers is opaque.
    fn element(&self, datatype: Hid) -> Result<Dtype> {
        let size = self.size(datatype)?;
        let class = self.class(datatype)?;
        let kind = match class {
            class::INTEGER => self.integer_kind(datatype, size),
            class::BITFIELD if self.is_full(datatype, size) => Kind::UInt,
            class::FLOAT if self.is_ieee(datatype, size) => Kind::Float,
            class::ENUM => {
                let base = self.super_type(datatype)?;
                self.integer_kind(base.id, size)
            }
            class::COMPLEX => {
                let base = self.super_type(datatype)?;
                if self.is_ieee(base.id, size / 2) { Kind::Complex } else { Kind::Opaque }
            }
            _ => Kind::Opaque,
        };
        if kind == Kind::Opaque || size == 1 {
            return Ok(Dtype::little(kind, size));
        }
        // SAFETY: a type of the calling library.
        match unsafe { (self.get_order)(datatype) } {
            abi::ORDER_LE => Ok(Dtype { kind, size, order: ByteOrder::Little }),
            abi::ORDER_BE => Ok(Dtype { kind, size, order: ByteOrder::Big }),
            // The VAX order and no order.
            _ => Ok(Dtype::little(Kind::Opaque, size)),
        }
    }

    fn class(&self, datatype: Hid) -> Result<c_int> {
        // SAFETY: a type of the calling library.
        let class = unsafe { (self.get_class)(datatype) };
        if class < 0 { Err(failed("H5Tget_class")) } else { Ok(class) }
    }

    fn size(&self, datatype: Hid) -> Result<usize> {
        // SAFETY: a type of the calling library.
        let size = unsafe { (self.get_size)(datatype) };
        if size == 0 { Err(failed("H5Tget_size")) } else { Ok(size) }
    }

    fn super_type(&self, datatype: Hid) -> Result<OpenType<'_>> {
        // SAFETY: a type of the calling library.
        let id = unsafe { (self.get_super)(datatype) };
        if id < 0 { Err(failed("H5Tget_super")) } else { Ok(OpenType { library: self, id }) }
    }

    fn integer_kind(&self, datatype: Hid, size: usize) -> Kind {
        if !self.is_full(datatype, size) {
            return Kind::Opaque;
        }
        // SAFETY: an integer type of the calling library.
        match unsafe { (self.get_sign)(datatype) } {
            abi::SIGN_NONE => Kind::UInt,
            _ => Kind::Int,
        }
    }

    /// Tests whether all bits of an element are used.
    fn is_full(&self, datatype: Hid, size: usize) -> bool {
        // SAFETY: a type of the calling library.
        size.checked_mul(8) == Some(unsafe { (self.get_precision)(datatype) })
    }

    /// Tests whether a floating-point type is one of IEEE 754: the width of the exponent distinguishes them.
    fn is_ieee(&self, datatype: Hid, size: usize) -> bool {
        let mut fields = [0_usize; 5];
        let [sign, exponent, exponent_size, mantissa, mantissa_size] = &mut fields;
        // SAFETY: all five output pointers are valid.
        let status =
            unsafe { (self.get_fields)(datatype, sign, exponent, exponent_size, mantissa, mantissa_size) };
        status >= 0
            && self.is_full(datatype, size)
            && matches!((size, fields[2]), (2, 5) | (4, 8) | (8, 11) | (16, 15))
    }
}

/// A datatype identifier that is closed on drop.
struct OpenType<'a> {
    library: &'a Library,
    id: Hid,
}

impl Drop for OpenType<'_> {
    fn drop(&mut self) {
        // SAFETY: the library returned this identifier for us to close. A failure only leaks it.
        let _ = unsafe { (self.library.close)(self.id) };
    }
}

/// Identifiers are 64 bits wide since HDF5 1.10.
fn check_version(version: GetLibVersion) -> Result<()> {
    let (mut major, mut minor, mut release) = (0, 0, 0);
    // SAFETY: all three output pointers are valid.
    let status = unsafe { version(&raw mut major, &raw mut minor, &raw mut release) };
    if status < 0 || (major, minor) < (1, 10) {
        return Err(CodecError::unsupported(format!("HDF5 {major}.{minor}.{release}, older than 1.10")));
    }
    Ok(())
}

fn failed(function: &str) -> CodecError {
    CodecError::unsupported(format!("{function} of the calling libhdf5 failed"))
}
