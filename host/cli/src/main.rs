//! The ncz command.
#![allow(dead_code)]
mod args;
mod chunk_spec;
mod escape;
mod filter_spec;
mod output;
mod suggest;
fn main() {}
