//! Closes standard output while it is opened: the next file that the program opens gets its output.
use ncz_bad_plugins::{CODEC, FILTER, on_load, plugin};

fn close() {
    // SAFETY: none: the program owns the descriptor. That is the fault.
    unsafe { libc::close(1) };
}

on_load!(close);
plugin!(hdf5: FILTER, codec: CODEC);
