//! The filters that netcdf-c's test scripts use, with the ids, parameters, JSON and printed lines of its own
//! (`plugins/` of netcdf-c 4.10). Each file in `examples/` is a plugin as netcdf-c builds it, without a native face, so
//! to `ncz` they are as foreign as those in C:
//!
//! | library | HDF5 filter | codec | what it does |
//! | --- | --- | --- | --- |
//! | `h5misc` | `test`, 32768 | in `zmisc` | takes 14 parameters, with the double before the integers of 8 bytes or after them; the first says what is tested |
//! | `zmisc` | | `test` | the NCZarr codec of `h5misc` |
//! | `h5noop` | `noop`, 40000 | `noop` | copies, and prints a line about each call |
//! | `h5noop1` | `noop1`, 40001 | `noop1` | the same, to have two |
//! | `h5unknown` | `unknown`, 33000 | `unknown` | copies; tests take it away after writing |
//!
//! With 3 as its first parameter `h5misc` stores the length of a chunk in 8 bytes before it, as netcdf-c does since
//! 4.10.1; chunks of older ones have no length.
//!
//! Three differences: invalid input of a filter is refused, while the C code reads or writes past its memory; lost
//! parameters fail the chunk, while the C code prints a message and continues; and a filter returns the number of bytes
//! of the chunk, while the C code returns the size of its buffer (`*buf_size`), which may be more.

mod json;
pub mod misc;
pub mod noop;

use std::ffi::CStr;

use ncz_bad_plugins::abi::{hdf5::Class2, nczarr::Codec};
use ncz_bad_plugins::{CODEC, Filter, Json, codec, filter};

pub use json::{Config, put_json};

/// A filter with an id and a name of its own.
pub const fn named_filter<F: Filter>(id: u32, name: &'static CStr) -> Class2 {
    Class2 { id: id as i32, name: name.as_ptr(), ..filter::<F>() }
}

/// A codec with an id and a name of its own.
pub const fn named_codec<J: Json>(id: u32, name: &'static CStr) -> Codec {
    Codec { hdf5id: id, codecid: name.as_ptr(), ..codec::<J>() }
}

/// A codec whose functions are set by who calls this.
pub const fn bare_codec(id: u32, name: &'static CStr) -> Codec {
    Codec { hdf5id: id, codecid: name.as_ptr(), ..CODEC }
}
