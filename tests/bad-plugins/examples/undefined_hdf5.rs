//! Uses a function of libhdf5 that it expects in the program: not every program has HDF5, or exports its
//! names.
use ncz_bad_plugins::{CODEC, FILTER, plugin};
use ncz_codec::abi::hdf5::Hid;

unsafe extern "C" {
    fn H5Pmodify_filter(plist: Hid, filter: i32, flags: u32, count: usize, words: *const u32) -> i32;
}

#[used]
static NEEDED: unsafe extern "C" fn(Hid, i32, u32, usize, *const u32) -> i32 = H5Pmodify_filter;

plugin!(hdf5: FILTER, codec: CODEC);
