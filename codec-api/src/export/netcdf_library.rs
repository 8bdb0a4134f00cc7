//! The functions of the calling libnetcdf that `NCZ_modify_parameters` needs.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::caller;
use crate::abi::nczarr::{self as abi, error, nc_type};
use crate::error::{CodecError, ErrorKind, Result};
use crate::repr::{ByteOrder, Container, Dtype, Env, Kind};

/// netCDF's greatest rank (`NC_MAX_VAR_DIMS`).
const RANK_MAX: usize = 1024;

type InqVar =
    unsafe extern "C" fn(c_int, c_int, *mut c_char, *mut c_int, *mut c_int, *mut c_int, *mut c_int) -> c_int;
type InqType = unsafe extern "C" fn(c_int, c_int, *mut c_char, *mut usize) -> c_int;
type InqVarChunking = unsafe extern "C" fn(c_int, c_int, *mut c_int, *mut usize) -> c_int;
type InqVarEndian = unsafe extern "C" fn(c_int, c_int, *mut c_int) -> c_int;
type InqDimlen = unsafe extern "C" fn(c_int, c_int, *mut usize) -> c_int;

/// The libnetcdf that called us.
pub(super) struct Library {
    inq_var: InqVar,
    inq_type: InqType,
    inq_var_chunking: InqVarChunking,
    inq_var_endian: InqVarEndian,
    inq_dimlen: InqDimlen,
}

impl Library {
    /// Finds the calling libnetcdf.
    ///
    /// # Safety
    /// The identifiers passed to its methods belong to the calling library.
    pub(super) unsafe fn calling() -> Result<Self> {
        let image = caller::calling_image().ok_or_else(|| {
            CodecError::unsupported("the library that called NCZ_modify_parameters cannot be found")
        })?;
        let get = |name: &CStr| {
            image.function(name).ok_or_else(|| {
                CodecError::unsupported(format!(
                    "the library that called NCZ_modify_parameters has no {}",
                    name.to_string_lossy()
                ))
            })
        };
        // SAFETY: these functions have had these signatures since netCDF 4.0; the image stays loaded.
        unsafe {
            use std::mem::transmute;
            Ok(Self {
                inq_var: transmute::<*mut c_void, InqVar>(get(c"nc_inq_var")?),
                inq_type: transmute::<*mut c_void, InqType>(get(c"nc_inq_type")?),
                inq_var_chunking: transmute::<*mut c_void, InqVarChunking>(get(c"nc_inq_var_chunking")?),
                inq_var_endian: transmute::<*mut c_void, InqVarEndian>(get(c"nc_inq_var_endian")?),
                inq_dimlen: transmute::<*mut c_void, InqDimlen>(get(c"nc_inq_dimlen")?),
            })
        }
    }

    /// Returns what a filter can know about a variable.
    pub(super) fn env(&self, ncid: c_int, varid: c_int) -> Result<Env> {
        let (mut xtype, mut rank) = (0, 0);
        let null = std::ptr::null_mut();
        // SAFETY: netCDF accepts null for outputs that are not needed.
        let status = unsafe {
            (self.inq_var)(
                ncid,
                varid,
                null,
                &raw mut xtype,
                &raw mut rank,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        check("nc_inq_var", status)?;
        let rank = usize::try_from(rank)
            .ok()
            .filter(|&rank| rank <= RANK_MAX)
            .ok_or_else(|| CodecError::unsupported(format!("a variable of {rank} dimensions")))?;
        let dtype = self.dtype(ncid, varid, xtype)?;
        let array_shape = self.array_shape(ncid, varid, rank)?;
        let chunk_shape = self.chunk_shape(ncid, varid, &array_shape)?;
        // libnetcdf applies no filter when it writes strings, so filtered strings come from numcodecs.
        let container = if xtype == nc_type::STRING { Container::ZarrV2 } else { Container::NczarrV2 };
        Ok(Env { dtype, array_shape, chunk_shape, container })
    }

    fn dtype(&self, ncid: c_int, varid: c_int, xtype: c_int) -> Result<Dtype> {
        let kind = match xtype {
            nc_type::BYTE | nc_type::SHORT | nc_type::INT | nc_type::INT64 => Kind::Int,
            nc_type::UBYTE | nc_type::USHORT | nc_type::UINT | nc_type::UINT64 => Kind::UInt,
            nc_type::FLOAT | nc_type::DOUBLE => Kind::Float,
            // libnetcdf does not report the length of fixed-length strings. 1, which makes shuffle
            // do nothing, is right for those that it wrote itself.
            nc_type::CHAR | nc_type::STRING => return Ok(Dtype::little(Kind::Opaque, 1)),
            other => return Err(CodecError::unsupported(format!("netCDF type number {other}"))),
        };
        let mut size = 0;
        // SAFETY: null for the name, which is not needed.
        check("nc_inq_type", unsafe { (self.inq_type)(ncid, xtype, std::ptr::null_mut(), &raw mut size) })?;
        let mut endian = 0;
        // SAFETY: the output pointer is valid.
        check("nc_inq_var_endian", unsafe { (self.inq_var_endian)(ncid, varid, &raw mut endian) })?;
        let order = match endian {
            _ if size == 1 => ByteOrder::Little,
            abi::ENDIAN_LITTLE => ByteOrder::Little,
            abi::ENDIAN_BIG => ByteOrder::Big,
            // The native byte order.
            _ if cfg!(target_endian = "big") => ByteOrder::Big,
            _ => ByteOrder::Little,
        };
        if size == 0 {
            return Err(CodecError::unsupported(format!("netCDF type number {xtype} of size 0")));
        }
        Ok(Dtype { kind, size, order })
    }

    fn array_shape(&self, ncid: c_int, varid: c_int, rank: usize) -> Result<Vec<u64>> {
        let mut dimensions = vec![0; rank];
        // SAFETY: the buffer has room for the variable's `rank` dimensions.
        let status = unsafe {
            (self.inq_var)(
                ncid,
                varid,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                dimensions.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        check("nc_inq_var", status)?;
        let lengths = dimensions.into_iter().map(|dimension| {
            let mut len = 0;
            // SAFETY: the output pointer is valid.
            check("nc_inq_dimlen", unsafe { (self.inq_dimlen)(ncid, dimension, &raw mut len) })?;
            Ok(len as u64)
        });
        lengths.collect()
    }

    /// Returns the lengths of a chunk; a variable that is not chunked is one chunk.
    fn chunk_shape(&self, ncid: c_int, varid: c_int, array_shape: &[u64]) -> Result<Vec<u64>> {
        let mut storage = 0;
        let mut lengths = vec![0_usize; array_shape.len().max(1)];
        // SAFETY: one output pointer, and a buffer with one length per dimension.
        let status = unsafe { (self.inq_var_chunking)(ncid, varid, &raw mut storage, lengths.as_mut_ptr()) };
        check("nc_inq_var_chunking", status)?;
        if storage != abi::STORAGE_CHUNKED || array_shape.is_empty() {
            return Ok(array_shape.to_vec());
        }
        Ok(lengths.into_iter().map(|len| len as u64).collect())
    }
}

fn check(function: &str, status: c_int) -> Result<()> {
    if status == error::NOERR {
        return Ok(());
    }
    let detail = format!("{function} of the calling libnetcdf failed");
    Err(CodecError::new(ErrorKind::Plugin { code: status.into() }, detail))
}
