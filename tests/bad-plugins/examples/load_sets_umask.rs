//! Changes the mask of new files' permissions while it is opened.
use ncz_bad_plugins::{CODEC, FILTER, on_load, plugin};

fn change() {
    // SAFETY: takes any mask.
    unsafe { libc::umask(0o177) };
}

on_load!(change);
plugin!(hdf5: FILTER, codec: CODEC);
