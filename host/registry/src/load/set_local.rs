//! `can_apply` and `set_local`: convert the parameters that a user gives to working parameters.

use std::ffi::c_int;

use ncz_codec::abi::hdf5;
use ncz_codec::{ByteOrder, CodecError, Dtype, ErrorKind, Kind, Result};
use ncz_h5shim::{Class, Dataset, FilterEntry, Order, Type};

use super::c_faces::Variable;
use super::hdf5_filter::Hdf5Filter;
use super::hdf5_provider::Hdf5Provider;

/// The results of the two functions.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The result of `can_apply`, if it exists.
    pub(super) can_apply: Option<c_int>,
    /// The result of `set_local`, if it exists and was called.
    pub(super) set_local: Option<c_int>,
    /// The parameters afterwards; none if the filter took itself out of the pipeline.
    pub(super) after: Option<Vec<u32>>,
    /// Whether the filter set parameters. If that cannot be observed, it is assumed.
    pub(super) modified: bool,
    /// Its messages on libhdf5's error stack.
    pub(super) said: Vec<String>,
}

/// The working parameters for those given.
pub(super) fn working(half: &Hdf5Filter, given: &[u32], variable: &Variable) -> Result<Vec<u32>> {
    if half.can_apply().is_none() && half.set_local_function().is_none() {
        return Ok(given.to_vec());
    }
    let library = half.library();
    let answer = {
        let _call = library.one_call();
        match library.hdf5_provider() {
            Hdf5Provider::Unavailable(reason) => {
                return Err(CodecError::unsupported(format!(
                    "filter {} makes its working parameters with the help of a libhdf5, and has none: {reason}",
                    half.title()
                )));
            }
            Hdf5Provider::Hdf5(_) | Hdf5Provider::Netcdf(_) => {
                let (libhdf5, raw) = library.libhdf5()?;
                libhdf5.ask(raw, half, given, variable)?
            }
            Hdf5Provider::Shim | Hdf5Provider::Nothing => ask(half, given, variable)?,
        }
    };
    judge(half, answer, variable)
}

/// Runs a filter's two functions with these handles: `can_apply` first, and `set_local` only if that agrees.
pub(super) fn call(half: &Hdf5Filter, handles: [hdf5::Hid; 3]) -> (Option<c_int>, Option<c_int>) {
    // Most functions need none.
    let caller = half.library().caller().ok().flatten();
    let ask = |function: unsafe extern "C" fn(hdf5::Hid, hdf5::Hid, hdf5::Hid) -> c_int| {
        let [dcpl, ty, space] = handles;
        // SAFETY: called as HDF5 calls it, with a property list, a type and a space; the caller's lock excludes
        // other calls of the library.
        unsafe {
            match caller {
                // A handle is as wide as a word on systems with stubs; the result is the lower 32 bits of the word.
                Some(caller) => {
                    let words = [dcpl as usize, ty as usize, space as usize, 0, 0, 0];
                    caller.call(function as *const (), words) as c_int
                }
                None => function(dcpl, ty, space),
            }
        }
    };
    let can_apply = half.can_apply().map(ask);
    if can_apply.is_some_and(|agrees| agrees <= 0) {
        return (can_apply, None);
    }
    (can_apply, half.set_local_function().map(ask))
}

/// Runs the two functions with this program in place of libhdf5.
fn ask(half: &Hdf5Filter, given: &[u32], variable: &Variable) -> Result<Answer> {
    let entry = FilterEntry { id: half.id(), flags: 0, values: given.to_vec(), name: half.name().to_owned() };
    let ty = type_of(variable.dtype);
    let fill = variable.fill.clone().filter(|fill| fill.len() == ty.size);
    let dataset = Dataset { ty, chunk: shape_of(variable), fill, filters: vec![entry] };
    let ((can_apply, set_local), outcome) =
        ncz_h5shim::with_dataset(&dataset, |handles| call(half, [handles.dcpl, handles.ty, handles.space]));
    let after = outcome.filters.into_iter().find(|entry| entry.id == half.id()).map(|entry| entry.values);
    Ok(Answer { can_apply, set_local, after, modified: outcome.modified, said: outcome.errors })
}

/// Interprets the result. HDF5 is less strict: it continues if an optional filter declares that it does not support the
/// data, or if `set_local` returns 0 without having set anything, and then writes chunks that no program can read, or
/// unfiltered ones.
fn judge(half: &Hdf5Filter, answer: Answer, variable: &Variable) -> Result<Vec<u32>> {
    let words = if answer.said.is_empty() { String::new() } else { format!(": {}", answer.said.join("; ")) };
    let title = half.title();
    let what = describe(variable);
    match answer.can_apply {
        Some(0) => {
            return Err(CodecError::unsupported(format!("filter {title} does not support {what}{words}")));
        }
        Some(code) if code < 0 => {
            let text = format!("can_apply of filter {title} fails for {what}{words}");
            return Err(CodecError::new(ErrorKind::Plugin { code: code.into() }, text));
        }
        _ => {}
    }
    match answer.set_local {
        Some(code) if code < 0 => {
            let text = format!("filter {title} refuses its parameters for {what}{words}");
            return Err(CodecError::new(ErrorKind::Plugin { code: code.into() }, text));
        }
        // The documented success is 0, and some use it for failure.
        Some(0) if !answer.modified || !answer.said.is_empty() => {
            let text = format!("filter {title} returns no working parameters for {what}{words}");
            return Err(CodecError::unsupported(text));
        }
        _ => {}
    }
    answer.after.ok_or_else(|| {
        let text = format!("filter {title} takes itself out of the pipeline for {what}: store it without");
        CodecError::unsupported(text)
    })
}

/// A type as HDF5 has it.
///
/// Truth values are unsigned bytes, as in Zarr. (h5py makes enumerations of them, which filters for integers
/// then refuse.) Complex numbers are records of two parts.
pub(super) fn type_of(dtype: Dtype) -> Type {
    let order = match dtype.order {
        ByteOrder::Big if dtype.size > 1 => Order::Big,
        ByteOrder::Big | ByteOrder::Little => Order::Little,
    };
    match dtype.kind {
        Kind::Int => Type::integer(dtype.size, order, true),
        Kind::UInt | Kind::Bool => Type::integer(dtype.size, order, false),
        Kind::Float => Type::float(dtype.size, order),
        Kind::Complex => Type::bytes(Class::Compound, dtype.size),
        // Also kinds of later versions: nothing is known of them.
        _ => Type::bytes(Class::Opaque, dtype.size),
    }
}

/// Returns the shape of a chunk as in HDF5, whose chunks have at least one dimension.
pub(super) fn shape_of(variable: &Variable) -> Vec<u64> {
    if variable.chunk_shape.is_empty() { vec![1] } else { variable.chunk_shape.clone() }
}

/// `big-endian 4-byte floating-point numbers in chunks of 3 x 4`
fn describe(variable: &Variable) -> String {
    let Dtype { kind, size, order } = variable.dtype;
    let order = if order == ByteOrder::Big && size > 1 { "big-endian " } else { "" };
    let kind = match kind {
        Kind::Bool => "truth values",
        Kind::Int => "signed integers",
        Kind::UInt => "unsigned integers",
        Kind::Float => "floating-point numbers",
        Kind::Complex => "complex numbers",
        _ => "opaque values",
    };
    let shape: Vec<_> = shape_of(variable).iter().map(ToString::to_string).collect();
    format!("{order}{size}-byte {kind} in chunks of {}", shape.join(" x "))
}
