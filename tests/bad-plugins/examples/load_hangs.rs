//! Never returns from being opened.
use ncz_bad_plugins::{CODEC, FILTER, on_load, plugin};

fn wait() {
    loop {
        std::thread::park();
    }
}

on_load!(wait);
plugin!(hdf5: FILTER, codec: CODEC);
