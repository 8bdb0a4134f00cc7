//! Changes how floating-point numbers are rounded while it is opened.
use ncz_bad_plugins::{CODEC, FILTER, on_load, plugin};

unsafe extern "C" {
    fn fesetround(mode: libc::c_int) -> libc::c_int;
}

/// `FE_TOWARDZERO`, or another mode that is not the usual one.
const MODE: libc::c_int = if cfg!(target_arch = "x86_64") { 0xc00 } else { 0x80_0000 };

fn change() {
    // SAFETY: takes any number and answers which it knows.
    unsafe { fesetround(MODE) };
}

on_load!(change);
plugin!(hdf5: FILTER, codec: CODEC);
