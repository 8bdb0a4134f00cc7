//! The native codec: a table of functions, of which a plugin may replace one.

use std::fmt;
use std::marker::PhantomData;

use ncz_codec::abi::native::{Coder, ErrorOut, Plugin, Scratch, Transcode, status};
use ncz_codec::export::native_face::{self, CodecList};
use ncz_codec::{Bound, Codec, CodecConfig, CodecInfo, CodecType, Dialect, Env, Erased, Repr, Result};
use serde_json::{Map, Value};

use crate::tiny::Tiny;

/// The size of a whole table.
pub const TABLE_SIZE: usize = size_of::<Plugin>();

struct Codecs;

impl CodecList for Codecs {
    const CODECS: &'static [&'static dyn CodecType] = &[const { &Erased::<Tiny>::new() }];
}

/// The table without fault.
pub fn table() -> Plugin {
    table_of::<Codecs>()
}

/// The table of other codecs.
pub fn table_of<L: CodecList>() -> Plugin {
    // SAFETY: the table is a constant of this image.
    unsafe { *native_face::plugin::<L>() }
}

/// A codec with a fault in what it binds.
pub trait Twist: Copy + fmt::Debug + Send + Sync + 'static {
    /// Changes a good codec's output for `input`.
    fn bind(bound: &mut Bound<Twisted<Self>>, input: &Repr);

    /// The coder for working words.
    fn coder(good: Tiny) -> Tiny {
        good
    }
}

/// [`Tiny`] with the fault `T`.
#[derive(Debug, Clone, Copy)]
pub struct Twisted<T>(
    /// The configuration.
    pub Tiny,
    PhantomData<T>,
);

/// The coder of [`Twisted`].
#[derive(Debug, Clone, Copy)]
pub struct TwistedCoder {
    /// The coder settings.
    pub tiny: Tiny,
    /// The number of bytes lost at the end of a chunk.
    pub lost: usize,
    /// Called with `tiny` before it encodes.
    pub before: fn(Tiny) -> Tiny,
}

impl ncz_codec::Coder for TwistedCoder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        self.tiny.max_encoded_len(len)
    }

    fn encode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let tiny = (self.before)(self.tiny);
        tiny.encode(&mut (), &input[..input.len().saturating_sub(self.lost)], output)
    }

    fn decode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        self.tiny.decode(&mut (), input, output)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        self.tiny.decoded_len(input)
    }
}

impl<T: Twist> CodecConfig for Twisted<T> {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        Ok(Self(Tiny::from_json(dialect, config, notes)?, PhantomData))
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        self.0.to_json(dialect)
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        Ok(Self(Tiny::from_params(words)?, PhantomData))
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        self.0.to_params()
    }
}

impl<T: Twist> Codec for Twisted<T> {
    const INFO: CodecInfo = Tiny::INFO;

    type Coder = TwistedCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let Bound { working, output, coder, .. } = self.0.bind(input, env)?;
        let coder = TwistedCoder { tiny: coder, lost: 0, before: |tiny| tiny };
        let mut bound = Bound { stored: *self, working, output, coder };
        T::bind(&mut bound, input);
        Ok(bound)
    }

    fn coder(working: &[u32]) -> Result<TwistedCoder> {
        Ok(TwistedCoder { tiny: T::coder(<Tiny as Codec>::coder(working)?), lost: 0, before: |tiny| tiny })
    }
}

/// The table of a codec with the fault `T`.
pub fn twisted<T: Twist>() -> Plugin {
    struct Codecs<T>(PhantomData<T>);

    impl<T: Twist> CodecList for Codecs<T> {
        const CODECS: &'static [&'static dyn CodecType] = &[const { &Erased::<Twisted<T>>::new() }];
    }

    table_of::<Codecs<T>>()
}

/// `encode` or `decode` with a fault.
pub trait Transcoder {
    /// The status.
    fn run(call: Native) -> i32;
}

/// The function of a table that runs `T`.
pub const fn transcoder<T: Transcoder>() -> Option<Transcode> {
    Some(transcode::<T>)
}

unsafe extern "C" fn transcode<T: Transcoder>(
    coder: *const Coder,
    scratch: *mut Scratch,
    input: *const u8,
    input_len: usize,
    output: *mut u8,
    output_capacity: usize,
    written: *mut usize,
    error: *mut ErrorOut,
) -> i32 {
    T::run(Native { coder, scratch, input, input_len, output, output_capacity, written, error })
}

/// The arguments of `encode` and `decode`.
#[derive(Debug, Clone, Copy)]
pub struct Native {
    /// The coder.
    pub coder: *const Coder,
    /// The scratch.
    pub scratch: *mut Scratch,
    /// The input.
    pub input: *const u8,
    /// Its length.
    pub input_len: usize,
    /// The output.
    pub output: *mut u8,
    /// Its size.
    pub output_capacity: usize,
    /// The output pointer for the length.
    pub written: *mut usize,
    /// The output pointer for the details of an error.
    pub error: *mut ErrorOut,
}

impl Native {
    /// The input.
    pub fn input(&self) -> &[u8] {
        if self.input_len == 0 {
            return &[];
        }
        // SAFETY: the host guarantees that many bytes.
        unsafe { std::slice::from_raw_parts(self.input, self.input_len) }
    }

    /// Does what a good plugin does.
    pub fn encode(&self) -> i32 {
        self.call(table().encode)
    }

    /// Does what a good plugin does.
    pub fn decode(&self) -> i32 {
        self.call(table().decode)
    }

    fn call(&self, function: Option<Transcode>) -> i32 {
        let Some(function) = function else { return status::UNSUPPORTED };
        // SAFETY: the arguments are those of our own call, which the host guarantees.
        unsafe {
            function(
                self.coder,
                self.scratch,
                self.input,
                self.input_len,
                self.output,
                self.output_capacity,
                self.written,
                self.error,
            )
        }
    }
}
