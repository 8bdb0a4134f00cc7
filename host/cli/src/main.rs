//! The ncz command.
fn main() {}
