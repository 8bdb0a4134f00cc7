//! The szip codec.
//!
//! The coder is written from CCSDS 121.0-B-3 and gives the same bytes as libaec; see
//! [`SzParams`], and [`frame_header`] and [`split_frame`] for what HDF5 filter 4 puts around it.

#![forbid(unsafe_code)]

mod aec;
mod error;
mod frame;
mod sz;

pub use crate::error::SzError;
pub use crate::frame::{FRAME_LEN, frame_header, split_frame};
pub use crate::sz::{Scratch, SzParams, option};
