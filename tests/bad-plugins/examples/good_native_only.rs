//! Breaks no rule: for ncz alone.
use ncz_bad_plugins::{plugin, table};

plugin!(native: table());
