//! Calls of an NCZarr codec and of a native codec with unchecked text and words.

use std::ffi::{c_char, c_int};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use ncz_codec::{AnyConfig, Dialect, Result};

use super::memory::ReadOnly;
use crate::load::NativeCodec;
use crate::load::c_memory::{Malloced, usable_size};
use crate::load::nczarr_codec::NczarrCodec;

/// More words than this are not looked at.
const WORDS_MAX: usize = 1 << 20;

/// The result of `NCZ_codec_to_hdf5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordsAnswer {
    /// A netcdf error number; 0 is good.
    pub code: c_int,
    /// The number of words that it reports.
    pub count: usize,
    /// The size of the block of the words in bytes; 0 if there is none.
    pub holds: usize,
    /// The words, as far as the block holds them.
    pub words: Vec<u32>,
}

/// The result of `NCZ_hdf5_to_codec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonAnswer {
    /// A netcdf error number; 0 is good.
    pub code: c_int,
    /// The bytes of the text up to its terminating zero, or the whole block; `None` if there is no block.
    pub text: Option<Vec<u8>>,
    /// Whether an end mark was found within the block.
    pub ends: bool,
}

impl NczarrCodec {
    /// Passes the text, which ends at a guard page, to `NCZ_codec_to_hdf5`.
    ///
    /// # Errors
    /// Memory for the text cannot be allocated, or it contains a zero byte.
    pub fn probe_words(&self, text: &[u8]) -> io::Result<WordsAnswer> {
        if text.contains(&0) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a zero byte in a C string"));
        }
        let mut whole = text.to_vec();
        whole.push(0);
        let text = ReadOnly::new(&whole)?;
        self.library().initialize();
        let (mut count, mut words) = (0, std::ptr::null_mut());
        // SAFETY: called as netcdf-c calls it, with a C string and two valid output pointers.
        let code = unsafe {
            (self.to_words_function())(text.as_slice().as_ptr().cast(), &raw mut count, &raw mut words)
        };
        let words = Malloced(NonNull::new(words.cast()));
        let holds = words.0.map_or(0, usable_size);
        let kept = count.min(holds / 4).min(WORDS_MAX);
        let words = match words.0 {
            Some(start) => {
                let start = start.cast::<u32>().as_ptr();
                // SAFETY: the block holds at least that many words, as its allocator says.
                (0..kept).map(|i| unsafe { start.add(i).read_unaligned() }).collect()
            }
            None => Vec::new(),
        };
        Ok(WordsAnswer { code, count, holds, words })
    }

    /// Passes words, which end at a guard page, to `NCZ_hdf5_to_codec`.
    ///
    /// # Errors
    /// There is no memory for the words.
    pub fn probe_json(&self, words: &[u32]) -> io::Result<JsonAnswer> {
        let given = ReadOnly::of_words(words)?;
        self.library().initialize();
        let mut text: *mut c_char = std::ptr::null_mut();
        // netcdf-c passes a null pointer if there are none.
        let start = if words.is_empty() { std::ptr::null() } else { given.as_slice().as_ptr().cast() };
        // SAFETY: called as netcdf-c calls it.
        let code = unsafe { (self.to_json_function())(words.len(), start, &raw mut text) };
        let text = Malloced(NonNull::new(text.cast()));
        let Some(start) = text.0 else { return Ok(JsonAnswer { code, text: None, ends: false }) };
        let room = usable_size(start);
        // SAFETY: the block has that size; bytes are read one by one, up to the end of the text.
        let bytes = (0..room).map(|i| unsafe { start.as_ptr().cast::<u8>().add(i).read() });
        let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
        Ok(JsonAnswer { code, ends: bytes.len() < room, text: Some(bytes) })
    }
}

impl NativeCodec {
    /// Passes text that need not be JSON to the plugin; it ends at a guard page.
    ///
    /// # Errors
    /// The plugin's error; a lack of memory is `unsupported`.
    pub fn probe_text(
        &self,
        dialect: Dialect,
        text: &[u8],
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn AnyConfig>> {
        let text = ReadOnly::new(text).map_err(|error| {
            ncz_codec::CodecError::unsupported(format!("no memory for the text: {error}"))
        })?;
        self.parse_text(dialect, text.as_slice(), notes)
    }
}
