//! Gives another record each time it is asked.
use std::sync::atomic::{AtomicBool, Ordering};

use ncz_bad_plugins::abi::hdf5::Class2;
use ncz_bad_plugins::{CODEC, FILTER, entry, plugin};

const OTHER: Class2 = Class2 { name: c"ncz_tiny, asked again".as_ptr(), ..FILTER };
static IS_SECOND: AtomicBool = AtomicBool::new(false);

entry!(H5PLget_plugin_type -> i32, 0);
entry!(H5PLget_plugin_info -> *const Class2, {
    if IS_SECOND.fetch_xor(true, Ordering::Relaxed) { const { &OTHER } } else { const { &FILTER } }
});
plugin!(codec: CODEC);
