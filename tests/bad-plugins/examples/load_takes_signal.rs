//! Takes a signal's handler while it is opened: the program's own is gone.
use ncz_bad_plugins::{CODEC, FILTER, on_load, plugin};

extern "C" fn handler(_: libc::c_int) {}

fn take() {
    // SAFETY: the handler does nothing, which it may at any time.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
}

on_load!(take);
plugin!(hdf5: FILTER, codec: CODEC);
