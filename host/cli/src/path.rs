//! Where a dataset is.

pub(crate) use ncz::place::Place;
