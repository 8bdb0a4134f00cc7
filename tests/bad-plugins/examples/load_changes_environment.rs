//! Sets an environment variable while it is opened.
use ncz_bad_plugins::{CODEC, FILTER, on_load, plugin};

fn change() {
    // SAFETY: none: another thread may read the environment. That is the fault.
    unsafe { libc::setenv(c"OMP_NUM_THREADS".as_ptr(), c"7".as_ptr(), 1) };
}

on_load!(change);
plugin!(hdf5: FILTER, codec: CODEC);
