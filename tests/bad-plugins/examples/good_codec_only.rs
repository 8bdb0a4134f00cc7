//! Breaks no rule: the JSON of a filter that is in another library.
use ncz_bad_plugins::{CODEC, plugin};

plugin!(codec: CODEC);
