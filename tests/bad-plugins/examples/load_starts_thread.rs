//! Starts a thread while it is opened: a program that forks then loses it.
use ncz_bad_plugins::{CODEC, FILTER, on_load, plugin};

fn spawn() {
    std::thread::spawn(|| {
        loop {
            std::thread::park();
        }
    });
}

on_load!(spawn);
plugin!(hdf5: FILTER, codec: CODEC);
