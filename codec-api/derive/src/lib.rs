//! Derive macros for the configuration of a codec. Use them through `ncz_codec`, which re-exports them.
//!
//! `#[derive(CodecConfig)]` implements `ncz_codec::CodecConfig` for a struct with named fields, or without fields,
//! which also implements `ncz_codec::Codec`. Each field is a key in JSON and, in the order of the fields, a parameter
//! word. Its type is `bool`, `u8`, `u32`, `i32`, `ncz_codec::Number`, an enumeration with `#[derive(ConfigEnum)]`, or
//! an `Option` of one of these. Unknown keys are a note in the numcodecs dialect and an error in Zarr v3.
//!
//! # Attributes of a field, in `#[codec(..)]`
//! | attribute | meaning |
//! | --- | --- |
//! | `key = "pixels-per-block"` | the key in JSON; without it, the name of the field |
//! | `range = 0..=9` | the accepted values of a number; without it, all values of the type |
//! | `default = 3`, `default` | the value if the key or the word is missing; bare `default` uses the type's default. The expression may use an earlier field. Without it, the key and the word are required, except for an `Option`, which is `None` |
//! | `missing = "it is missing: .."` | the message if a required key is missing |
//! | `omit_default` | the key is not written if it has its default |
//! | `only(numcodecs, "..")` | the key exists in this dialect only; the message is for a value that another cannot express |
//! | `no_word = ".."` | the field has no parameter word; the message is for a value other than the default |
//! | `none = u32::MAX` | the word for `None`; without it, the words end before a `None` |
//! | `label = "block size"` | the name of the word in messages; without it, the key |
//! | `read = function` | reads the key: `fn(&mut ConfigReader<'_>, &mut Vec<String>) -> Result<T>`, with the notes |
//! | `write = function` | returns the value as JSON: `fn(&T, Dialect) -> Result<serde_json::Value>` |
//! | `write_word = function` | returns the word: `fn(&T) -> Result<u32>` |
//!
//! `range`, `default` and `missing` take one value for all forms, or `numcodecs = ..`, `zarr_v3 = ..`, `json = ..`
//! (both) and `params = ..` (words) in parentheses; `omit_default` takes dialects in parentheses. `missing` makes an
//! `Option` required in these dialects.
//!
//! # Attributes of the struct
//! | attribute | meaning |
//! | --- | --- |
//! | `check = Self::check` | checks what was read: `fn(&Self, ncz_codec::config::Source) -> Result<()>`, in which the source names a field in messages |
//! | `max_words = 5` | how many words are accepted; those beyond the fields are ignored |
//! | `omit_default_words` | words at the end are not written if they have their defaults |
//! | `unnamed = ".."` | the message for a dialect in which the codec has no name |
//!
//! # Enumerations
//! `#[derive(ConfigEnum)]` is for an enumeration without fields. Its values are strings in JSON, the variant in snake
//! case or `#[codec(name = "..")]`, and the numbers of the variants as words.
//!
//! The examples are in the documentation of the trait `ncz_codec::CodecConfig`.

#![forbid(unsafe_code)]

mod attributes;
mod enumeration;
mod structure;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `ncz_codec::CodecConfig` for a struct. The attributes are described in the documentation of the crate.
#[proc_macro_derive(CodecConfig, attributes(codec))]
pub fn codec_config(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    structure::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements `ncz_codec::config::ConfigEnum` for an enumeration without fields.
#[proc_macro_derive(ConfigEnum, attributes(codec))]
pub fn config_enum(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    enumeration::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
