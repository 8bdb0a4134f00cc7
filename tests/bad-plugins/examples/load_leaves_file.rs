//! Leaves a file open that it opened while it was opened itself.
use ncz_bad_plugins::{CODEC, FILTER, on_load, plugin};

fn open() {
    std::mem::forget(std::fs::File::open("/dev/null"));
}

on_load!(open);
plugin!(hdf5: FILTER, codec: CODEC);
