//! Breaks no rule: for ncz only.
use ncz_bad_plugins::{plugin, table};

plugin!(native: table());
