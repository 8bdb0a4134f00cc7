//! Changes the working folder while it is opened.
use ncz_bad_plugins::{CODEC, FILTER, on_load, plugin};

fn change() {
    let _ = std::env::set_current_dir("/");
}

on_load!(change);
plugin!(hdf5: FILTER, codec: CODEC);
