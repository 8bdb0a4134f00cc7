//! The szip codec.
