//! `NCZ_modify_parameters`: from the parameters that metadata hold to those that a filter runs with.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use libloading::os::unix::Library as RawLibrary;
use ncz_codec::abi::nczarr::{ModifyParameters, error};
use ncz_codec::{ByteOrder, CodecError, Dtype, ErrorKind, Kind, Result};
use ncz_h5shim::{Caller, Endian};

use super::c_faces::{Modified, Variable};
use super::c_memory::{Malloced, padded, usable_size};
use super::hdf5_provider::Hdf5Provider;
use super::nczarr_codec::{NczarrCodec, PARAMS_MAX, check};
use super::symbol;

/// `NC_NETCDF4 | NC_DISKLESS`: a file of HDF5 that stays in memory.
const IN_MEMORY: c_int = 0x1000 | 0x0008;
/// `NC_CHUNKED`
const CHUNKED: c_int = 0;
/// `NC_BYTE`
const BYTE: c_int = 1;
/// The name of the variable that codecs query.
const NAME: &str = "variable";

macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions of a libnetcdf that are used here.
        struct Functions { $($field: unsafe extern "C" fn($($argument),*) -> $result,)* }

        impl Functions {
            fn of(raw: &RawLibrary) -> Result<Self> {
                // SAFETY: the interface gives functions of this name these types since netCDF 4.0.
                Ok(Self { $($field: unsafe { symbol(raw, $name) }.ok_or_else(|| {
                    let name = $name.to_string_lossy();
                    CodecError::unsupported(format!("the codec's libnetcdf has no function {name}"))
                })?,)* })
            }
        }
    };
}

functions! {
    create = c"nc_create": fn(*const c_char, c_int, *mut c_int) -> c_int;
    def_dim = c"nc_def_dim": fn(c_int, *const c_char, usize, *mut c_int) -> c_int;
    def_var = c"nc_def_var": fn(c_int, *const c_char, c_int, c_int, *const c_int, *mut c_int) -> c_int;
    def_chunking = c"nc_def_var_chunking": fn(c_int, c_int, c_int, *const usize) -> c_int;
    def_endian = c"nc_def_var_endian": fn(c_int, c_int, c_int) -> c_int;
    enddef = c"nc_enddef": fn(c_int) -> c_int;
    put_one = c"nc_put_var1": fn(c_int, c_int, *const usize, *const c_void) -> c_int;
    abort = c"nc_abort": fn(c_int) -> c_int;
}

/// A file of a real libnetcdf with one variable of interest.
struct File<'a> {
    call: &'a Functions,
    ncid: c_int,
}

/// Runs the codec's `NCZ_modify_parameters`.
pub(super) fn modify(half: &NczarrCodec, visible: &[u32], variable: &Variable) -> Result<Modified> {
    let Some(function) = half.modify_function() else {
        return Ok(Modified { visible: visible.to_vec(), working: visible.to_vec() });
    };
    let netcdf_type = netcdf_type(variable.dtype)?;
    let library = half.library();
    library.initialize();
    let _call = library.one_call();
    match library.hdf5_provider() {
        Hdf5Provider::Netcdf(_) => {
            let call = Functions::of(library.asked())?;
            let file = File::new(&call)?;
            let varid = file.define(variable, netcdf_type)?;
            run(function, None, [file.ncid, varid], visible)
        }
        Hdf5Provider::Unavailable(reason) => {
            let id = half.codec_id();
            Err(CodecError::unsupported(format!("codec {id} needs a libnetcdf, and has none: {reason}")))
        }
        // NCZarr codecs do not query a libhdf5 by itself.
        Hdf5Provider::Shim | Hdf5Provider::Nothing | Hdf5Provider::Hdf5(_) => {
            let described = ncz_h5shim::Variable {
                name: NAME.to_owned(),
                nc_type: netcdf_type,
                type_size: variable.dtype.size,
                endian: endian(variable.dtype),
                dims: variable.array_shape.clone(),
                chunk: variable.chunk_shape.clone(),
            };
            // Most functions need none.
            let caller = library.caller().ok().flatten();
            ncz_h5shim::with_variable(&described, |ncid, varid| run(function, caller, [ncid, varid], visible))
        }
    }
}

/// Calls the function as netcdf-c does: with the visible parameters in a vector of malloc's that it may
/// replace, and none yet that work.
fn run(
    function: ModifyParameters,
    caller: Option<Caller>,
    [ncid, varid]: [c_int; 2],
    visible: &[u32],
) -> Result<Modified> {
    // Some codecs read parameters that are not there.
    let (mut visible_count, mut visible_words) = (visible.len(), to_malloc(&padded(visible))?);
    let (mut working_count, mut working_words) = (0, std::ptr::null_mut());
    let (count, words) = (&raw mut visible_count, &raw mut visible_words);
    let (made_count, made_words) = (&raw mut working_count, &raw mut working_words);
    // SAFETY: called as netcdf-c calls it, with a file and variable that exist in the library that it queries.
    let code = unsafe {
        match caller {
            Some(caller) => {
                let places = [count as usize, words as usize, made_count as usize, made_words as usize];
                let [a, b, c, d] = places;
                caller.call(function as *const (), [ncid as usize, varid as usize, a, b, c, d]) as c_int
            }
            None => function(ncid, varid, count, words, made_count, made_words),
        }
    };
    // One vector can be both; it is freed once.
    let is_one = std::ptr::eq(visible_words, working_words);
    let visible_words = Malloced(NonNull::new(visible_words.cast()));
    let working_words = Malloced(if is_one { None } else { NonNull::new(working_words.cast()) });
    check(code, "NCZ_modify_parameters")?;
    let visible = taken(&visible_words, visible_count)?;
    let working = taken(if is_one { &visible_words } else { &working_words }, working_count)?;
    Ok(Modified { visible, working })
}

/// The words of a vector that the library left.
fn taken(words: &Malloced, count: usize) -> Result<Vec<u32>> {
    match words.0 {
        _ if count == 0 => Ok(Vec::new()),
        Some(start) if count <= PARAMS_MAX && usable_size(start) >= count * 4 => {
            let start = start.cast::<u32>().as_ptr();
            // SAFETY: the block holds at least that many words, according to its size.
            Ok((0..count).map(|i| unsafe { start.add(i).read_unaligned() }).collect())
        }
        _ => Err(CodecError::unsupported(format!(
            "the library reports {count} parameters but does not return them"
        ))),
    }
}

fn to_malloc(words: &[u32]) -> Result<*mut c_uint> {
    // SAFETY: any size is allowed; the result is checked.
    let start = unsafe { libc::malloc(size_of_val(words)) }.cast::<c_uint>();
    if start.is_null() {
        return Err(CodecError::unsupported("no memory for parameters"));
    }
    // SAFETY: a fresh block of that size.
    unsafe { start.copy_from_nonoverlapping(words.as_ptr(), words.len()) };
    Ok(start)
}

impl<'a> File<'a> {
    fn new(call: &'a Functions) -> Result<Self> {
        // A unique name: libnetcdf identifies open files by it. Nothing is written there.
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("in-memory-{}-{number}.nc", std::process::id())).unwrap_or_default();
        let mut ncid = 0;
        // SAFETY: a C string and a valid output pointer.
        let code = unsafe { (call.create)(name.as_ptr(), IN_MEMORY, &raw mut ncid) };
        check(code, "nc_create of the codec's libnetcdf")?;
        Ok(Self { call, ncid })
    }

    /// Defines the variable; returns its number.
    fn define(&self, variable: &Variable, netcdf_type: c_int) -> Result<c_int> {
        let rank = variable.array_shape.len();
        if variable.chunk_shape.len() != rank {
            return Err(CodecError::unsupported("a chunk with another number of dimensions than the array"));
        }
        let chunk: Vec<usize> = variable.chunk_shape.iter().map(|&len| size(len)).collect::<Result<_>>()?;
        let mut dims = Vec::with_capacity(rank);
        // Dimensions that are shorter than a chunk, with their lengths.
        let mut short = Vec::new();
        for (place, &len) in variable.array_shape.iter().enumerate() {
            let len = size(len)?;
            // libnetcdf allows that of unlimited dimensions only.
            let is_short = len < chunk[place];
            let dim = self.dimension(place, if is_short { 0 } else { len })?;
            dims.push(dim);
            if is_short && len > 0 {
                short.push((dim, len));
            }
        }
        let varid = self.variable(NAME, netcdf_type, &dims)?;
        if rank > 0 {
            // SAFETY: as many lengths as the variable has dimensions.
            let code = unsafe { (self.call.def_chunking)(self.ncid, varid, CHUNKED, chunk.as_ptr()) };
            check(code, "nc_def_var_chunking of the codec's libnetcdf")?;
        }
        if variable.dtype.size > 1 {
            // SAFETY: plain numbers.
            let code = unsafe { (self.call.def_endian)(self.ncid, varid, endian(variable.dtype) as c_int) };
            check(code, "nc_def_var_endian of the codec's libnetcdf")?;
        }
        self.grow(&short)?;
        Ok(varid)
    }

    /// Sets the lengths of unlimited dimensions by writing a value at the last index of each.
    fn grow(&self, short: &[(c_int, usize)]) -> Result<()> {
        if short.is_empty() {
            return Ok(());
        }
        let name = |dim| format!("length{dim}");
        let helpers: Vec<_> = short
            .iter()
            .map(|&(dim, len)| Ok((self.variable(&name(dim), BYTE, &[dim])?, len)))
            .collect::<Result<_>>()?;
        // SAFETY: a file that is being defined.
        check(unsafe { (self.call.enddef)(self.ncid) }, "nc_enddef of the codec's libnetcdf")?;
        for (varid, len) in helpers {
            let (place, value) = (len - 1, 0_u8);
            // SAFETY: one number for the one dimension, and one byte for the value.
            let code =
                unsafe { (self.call.put_one)(self.ncid, varid, &raw const place, (&raw const value).cast()) };
            check(code, "nc_put_var1 of the codec's libnetcdf")?;
        }
        Ok(())
    }

    fn dimension(&self, place: usize, len: usize) -> Result<c_int> {
        let name = CString::new(format!("dimension{place}")).unwrap_or_default();
        let mut dim = 0;
        // SAFETY: a C string and a valid output pointer; 0 means an unlimited dimension.
        let code = unsafe { (self.call.def_dim)(self.ncid, name.as_ptr(), len, &raw mut dim) };
        check(code, "nc_def_dim of the codec's libnetcdf")?;
        Ok(dim)
    }

    fn variable(&self, name: &str, netcdf_type: c_int, dims: &[c_int]) -> Result<c_int> {
        let name = CString::new(name).unwrap_or_default();
        let rank = c_int::try_from(dims.len()).map_err(|_| CodecError::unsupported("too many dimensions"))?;
        let mut varid = 0;
        // SAFETY: a C string, the stated number of values, and a valid output pointer.
        let code = unsafe {
            (self.call.def_var)(self.ncid, name.as_ptr(), netcdf_type, rank, dims.as_ptr(), &raw mut varid)
        };
        check(code, "nc_def_var of the codec's libnetcdf")?;
        Ok(varid)
    }
}

impl Drop for File<'_> {
    fn drop(&mut self) {
        // SAFETY: created here, closed once. Its memory is freed with it.
        unsafe { (self.call.abort)(self.ncid) };
    }
}

/// netCDF's number of a type.
fn netcdf_type(dtype: Dtype) -> Result<c_int> {
    Ok(match (dtype.kind, dtype.size) {
        (Kind::Int, 1) => BYTE,
        // `char` in netCDF.
        (Kind::Opaque, 1) => 2,
        (Kind::Int, 2) => 3,
        (Kind::Int, 4) => 4,
        (Kind::Float, 4) => 5,
        (Kind::Float, 8) => 6,
        (Kind::UInt | Kind::Bool, 1) => 7,
        (Kind::UInt, 2) => 8,
        (Kind::UInt, 4) => 9,
        (Kind::Int, 8) => 10,
        (Kind::UInt, 8) => 11,
        (kind, size) => {
            let text = format!(
                "a codec of netcdf-c queries netCDF about the type, which has no {size}-byte {kind:?}"
            );
            return Err(CodecError::new(ErrorKind::Unsupported, text));
        }
    })
}

fn endian(dtype: Dtype) -> Endian {
    match dtype.order {
        ByteOrder::Little => Endian::Little,
        ByteOrder::Big => Endian::Big,
    }
}

fn size(len: u64) -> Result<usize> {
    usize::try_from(len)
        .map_err(|_| CodecError::new(ErrorKind::Plugin { code: error::EINVAL.into() }, "a length"))
}
