//! Computes for a fifth of a second while it is opened.
use ncz_bad_plugins::{CODEC, FILTER, on_load, plugin};

fn compute() {
    let end = cpu_seconds() + 0.2;
    while cpu_seconds() < end {}
}

fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the output pointer is valid.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

on_load!(compute);
plugin!(hdf5: FILTER, codec: CODEC);
