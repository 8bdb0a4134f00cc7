//! Object-safe codec traits, so that a host can hold built-in, native and foreign codecs in the same way.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::codec::{Bound, Codec, CodecConfig, Coder, check_len};
use crate::dialect::Dialect;
use crate::error::{CodecError, Result};
use crate::info::CodecInfo;
use crate::repr::{Env, Repr};

/// [`Codec`] with its type erased: makes configurations and coders.
pub trait CodecType: fmt::Debug + Send + Sync {
    /// Returns the names and properties of the codec.
    fn info(&self) -> &CodecInfo;

    /// See [`CodecConfig::from_json`].
    ///
    /// # Errors
    /// As there.
    fn parse_json(
        &self,
        dialect: Dialect,
        config: &Map<String, Value>,
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn AnyConfig>>;

    /// See [`CodecConfig::from_params`].
    ///
    /// # Errors
    /// As there.
    fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn AnyConfig>>;

    /// See [`Codec::coder`].
    ///
    /// # Errors
    /// As there.
    fn coder(&self, working: &[u32]) -> Result<Arc<dyn AnyCoder>>;
}

/// A configuration of a codec with its type erased.
pub trait AnyConfig: fmt::Debug + Send + Sync {
    /// See [`CodecConfig::to_json`].
    ///
    /// # Errors
    /// As there.
    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>>;

    /// See [`CodecConfig::to_params`].
    ///
    /// # Errors
    /// As there.
    fn to_params(&self) -> Result<Vec<u32>>;

    /// See [`Codec::bind`].
    ///
    /// # Errors
    /// As there.
    fn bind(&self, input: &Repr, env: &Env) -> Result<BoundStage>;
}

/// [`Bound`] with its type erased.
#[derive(Debug, Clone)]
pub struct BoundStage {
    /// The configuration for the metadata.
    pub stored: Arc<dyn AnyConfig>,
    /// The parameter words for an HDF5 filter function.
    pub working: Vec<u32>,
    /// The output of the stage when encoding.
    pub output: Repr,
    /// See [`Codec::is_lossy`].
    pub lossy: Option<bool>,
    /// Runs the codec.
    pub coder: Arc<dyn AnyCoder>,
}

/// The scratch of one thread for one coder. Use it only with the coder that made it.
pub struct Scratch(Box<dyn Any + Send>);

/// [`Coder`] with its type erased.
pub trait AnyCoder: fmt::Debug + Send + Sync {
    /// See [`Coder::scratch`].
    fn scratch(&self) -> Scratch;

    /// See [`Coder::max_encoded_len`].
    fn max_encoded_len(&self, len: usize) -> Option<usize>;

    /// See [`Coder::encode`].
    ///
    /// # Errors
    /// As there; also a scratch of another coder.
    fn encode(&self, scratch: &mut Scratch, input: &[u8], output: &mut [u8]) -> Result<usize>;

    /// See [`Coder::decode`].
    ///
    /// # Errors
    /// As there; also a scratch of another coder.
    fn decode(&self, scratch: &mut Scratch, input: &[u8], output: &mut [u8]) -> Result<usize>;

    /// See [`Coder::decoded_len`].
    ///
    /// # Errors
    /// As there.
    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>>;

    /// See [`Coder::check`].
    ///
    /// # Errors
    /// As there.
    fn check<'a>(&self, input: &'a [u8], len: Option<usize>) -> Result<Option<&'a [u8]>> {
        check_len(self.decoded_len(input)?, len).map(|()| None)
    }
}

/// Returns the type-erased form of the codec `C`.
pub struct Erased<C>(PhantomData<fn() -> C>);

impl<C> Erased<C> {
    /// The type-erased form of `C`; it contains only the type.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<C> Default for Erased<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    /// Wraps the working memory of a coder.
    pub fn new<T: Any + Send>(scratch: T) -> Self {
        Self(Box::new(scratch))
    }

    /// Returns the content in the type of the coder that made it.
    ///
    /// # Errors
    /// The scratch was made by another kind of coder.
    pub fn downcast<T: Any>(&mut self) -> Result<&mut T> {
        self.0.downcast_mut().ok_or_else(|| CodecError::unsupported("the scratch belongs to another codec"))
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scratch")
    }
}

impl<C: Codec> fmt::Debug for Erased<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Erased").field(&C::INFO.name).finish()
    }
}

impl<C: Codec> CodecType for Erased<C> {
    fn info(&self) -> &CodecInfo {
        const { &C::INFO }
    }

    fn parse_json(
        &self,
        dialect: Dialect,
        config: &Map<String, Value>,
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn AnyConfig>> {
        Ok(Arc::new(C::from_json(dialect, config, notes)?))
    }

    fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn AnyConfig>> {
        Ok(Arc::new(C::from_params(params)?))
    }

    fn coder(&self, working: &[u32]) -> Result<Arc<dyn AnyCoder>> {
        Ok(Arc::new(C::coder(working)?))
    }
}

impl<C: Codec> AnyConfig for C {
    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        CodecConfig::to_json(self, dialect)
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        CodecConfig::to_params(self)
    }

    fn bind(&self, input: &Repr, env: &Env) -> Result<BoundStage> {
        let Bound { stored, working, output, coder } = Codec::bind(self, input, env)?;
        let lossy = stored.is_lossy(input);
        Ok(BoundStage { stored: Arc::new(stored), working, output, lossy, coder: Arc::new(coder) })
    }
}

impl<C: Coder> AnyCoder for C {
    fn scratch(&self) -> Scratch {
        Scratch::new(Coder::scratch(self))
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        Coder::max_encoded_len(self, len)
    }

    fn encode(&self, scratch: &mut Scratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        Coder::encode(self, scratch.downcast()?, input, output)
    }

    fn decode(&self, scratch: &mut Scratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        Coder::decode(self, scratch.downcast()?, input, output)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        Coder::decoded_len(self, input)
    }

    fn check<'a>(&self, input: &'a [u8], len: Option<usize>) -> Result<Option<&'a [u8]>> {
        Coder::check(self, input, len)
    }
}
