//! Prints to standard output while it is opened: it becomes part of what the program prints.
use ncz_bad_plugins::{CODEC, FILTER, on_load, plugin};

fn greet() {
    println!("tiny filter 1.0");
}

on_load!(greet);
plugin!(hdf5: FILTER, codec: CODEC);
