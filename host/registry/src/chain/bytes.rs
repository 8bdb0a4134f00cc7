//! Chains over bytes of any length, as variable-length strings become before they are compressed.

use ncz_codec::{AnyCoder, CodecError, Dtype, Env, ErrorKind, Kind, Repr, Scratch, Size};

use super::run::{claimed_within, output_limit, reserve};
use super::{ChainError, ChainScratch, FilterChain, Operation, Stage};

/// The initial buffer of a decoder if the stream does not state its length.
const FIRST_ROOM: usize = 4096;

impl FilterChain {
    /// Binds `stages`, in encoding order, to bytes of any length up to `max_len`. Codecs that depend
    /// on elements get single bytes, whatever the type of `env`.
    ///
    /// # Errors
    /// A codec cannot take the output of the stage before it, or `max_len` is more than a chunk may have.
    pub fn bind_bytes(stages: &[Stage], env: &Env, max_len: usize) -> Result<Self, ChainError> {
        let env = Env { dtype: Dtype::little(Kind::Opaque, 1), ..env.clone() };
        let size = Size::AtMost(max_len);
        Self::fold(stages, &env, Repr::Bytes { size }, Ok(size))
    }

    /// Binds `stages`, in encoding order, to bytes of any length up to `max_len` that another codec made of chunks of
    /// the variable. Codecs that depend on elements get the type of `env`, as within one chain.
    ///
    /// # Errors
    /// As [`bind_bytes`](Self::bind_bytes).
    pub fn bind_after_another(stages: &[Stage], env: &Env, max_len: usize) -> Result<Self, ChainError> {
        let size = Size::AtMost(max_len);
        Self::fold(stages, env, Repr::Bytes { size }, Ok(size))
    }

    /// Encodes bytes with a chain from [`bind_bytes`](Self::bind_bytes). The result is in the scratch,
    /// or is the bytes themselves if there is no codec.
    ///
    /// # Errors
    /// A codec fails, or there are more bytes than the chain was bound to.
    pub fn encode_bytes<'a>(
        &self,
        scratch: &'a mut ChainScratch,
        bytes: &'a [u8],
    ) -> Result<&'a [u8], ChainError> {
        self.check_bytes(Operation::Encode, bytes.len(), scratch)?;
        self.run_encoders(scratch, bytes)
    }

    /// Decodes what was stored into `out`, whose length becomes what the stream holds: up to `max_len`,
    /// and never more than the chain was bound to. What `out` held is lost, its memory is used again.
    ///
    /// Memory is allocated as the stream states or needs it, not for the longest possible input.
    ///
    /// # Errors
    /// A codec fails, or the stream holds more; then `out` is empty.
    pub fn decode_bytes(
        &self,
        scratch: &mut ChainScratch,
        stored: &[u8],
        max_len: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), ChainError> {
        let result = self.run_decoders(scratch, stored, max_len, out);
        out.truncate(*result.as_ref().unwrap_or(&0));
        result.map(drop)
    }

    /// Decodes into the start of `out` and returns the length.
    fn run_decoders(
        &self,
        scratch: &mut ChainScratch,
        stored: &[u8],
        max_len: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, ChainError> {
        self.check_bytes(Operation::Decode, 0, scratch)?;
        let most = max_len.min(self.chunk_len);
        let ChainScratch { contexts, front, back } = scratch;
        let mut decoded: Option<usize> = None;
        for (index, (link, context)) in self.links.iter().zip(contexts.iter_mut()).enumerate().rev() {
            let fail = |source| self.error(Operation::Decode, index, source);
            let input = decoded.map_or(stored, |len| &front[..len]);
            let coder = &*link.bound.coder;
            if index == 0 {
                return decode_growing(coder, context, input, most, out).map_err(fail);
            }
            let limit = output_limit(link.input, self.chunk_len);
            decoded = Some(decode_growing(coder, context, input, limit, back).map_err(fail)?);
            std::mem::swap(front, back);
        }
        let copy = |out: &mut Vec<u8>| {
            if stored.len() > most {
                return Err(CodecError::output_full(Some(stored.len())));
            }
            reserve(out, stored.len())?;
            out[..stored.len()].copy_from_slice(stored);
            Ok(stored.len())
        };
        let origin = "the bytes are stored as they are";
        copy(out).map_err(|source| self.error_of_none(Operation::Decode, origin, source))
    }

    /// Sees to it that the chain is one of bytes, that they are not too many and that the scratch fits.
    fn check_bytes(
        &self,
        operation: Operation,
        len: usize,
        scratch: &mut ChainScratch,
    ) -> Result<(), ChainError> {
        let refuse = |source| Err(self.error_of_none(operation, "the caller", source));
        match self.input {
            Size::AtMost(most) if len <= most => {}
            Size::AtMost(most) => {
                let text = format!("{len} bytes are more than the {most} that the chain was made for");
                return refuse(CodecError::unsupported(text));
            }
            _ => return refuse(CodecError::unsupported("the chain is one of chunks of one length")),
        }
        self.fit(scratch);
        Ok(())
    }
}

/// Decodes into the start of `buffer`, which grows as far as needed, to at most `limit` bytes.
fn decode_growing(
    coder: &dyn AnyCoder,
    context: &mut Scratch,
    input: &[u8],
    limit: usize,
    buffer: &mut Vec<u8>,
) -> Result<usize, CodecError> {
    let mut room = match coder.decoded_len(input)? {
        Some(stated) if stated > limit => return Err(CodecError::output_full(Some(stated))),
        Some(stated) => stated,
        None => input.len().saturating_mul(4).max(FIRST_ROOM).max(buffer.len()).min(limit),
    };
    loop {
        reserve(buffer, room)?;
        let error = match coder.decode(context, input, &mut buffer[..room]) {
            Ok(len) => return claimed_within(len, room),
            Err(error) => error,
        };
        let &ErrorKind::OutputFull { need } = error.kind() else { return Err(error) };
        let need = need.map(|need| usize::try_from(need).unwrap_or(usize::MAX));
        if room >= limit || need.is_some_and(|need| need > limit) {
            return Err(error);
        }
        room = match need {
            Some(need) if need > room => need,
            _ => room.saturating_mul(2).max(FIRST_ROOM).min(limit),
        };
    }
}
