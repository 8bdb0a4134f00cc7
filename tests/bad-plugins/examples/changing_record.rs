//! Returns another record at every third call.
use std::sync::atomic::{AtomicU32, Ordering};

use ncz_bad_plugins::abi::hdf5::Class2;
use ncz_bad_plugins::{CODEC, FILTER, entry, plugin};

const OTHER: Class2 = Class2 { name: c"ncz_tiny, asked again".as_ptr(), ..FILTER };
static TIMES: AtomicU32 = AtomicU32::new(1);

entry!(H5PLget_plugin_type -> i32, 0);
entry!(H5PLget_plugin_info -> *const Class2, {
    match TIMES.fetch_add(1, Ordering::Relaxed) % 3 {
        0 => const { &OTHER },
        _ => const { &FILTER },
    }
});
plugin!(codec: CODEC);
