//! Running a chain over chunks, forwards and backwards.

use ncz_codec::{CodecError, ErrorKind, Size};

use super::{ChainError, ChainScratch, FilterChain, MAX_STAGE_BYTES, Operation};

impl FilterChain {
    /// A scratch for one thread.
    pub fn scratch(&self) -> ChainScratch {
        ChainScratch {
            contexts: self.links.iter().map(|link| link.bound.coder.scratch()).collect(),
            front: Vec::new(),
            back: Vec::new(),
        }
    }

    /// Encodes a chunk of [`chunk_len`](Self::chunk_len) bytes. The result is in the scratch, or is
    /// the chunk itself if there is no codec.
    ///
    /// # Errors
    /// A codec fails, or `chunk` has another length; data that do not shrink are not a failure.
    pub fn encode<'a>(&self, scratch: &'a mut ChainScratch, chunk: &'a [u8]) -> Result<&'a [u8], ChainError> {
        self.check(Operation::Encode, chunk, scratch)?;
        self.run_encoders(scratch, chunk)
    }

    /// Encodes input whose length and scratch were checked.
    pub(super) fn run_encoders<'a>(
        &self,
        scratch: &'a mut ChainScratch,
        chunk: &'a [u8],
    ) -> Result<&'a [u8], ChainError> {
        let ChainScratch { contexts, front, back } = scratch;
        let mut encoded: Option<usize> = None;
        for (index, (link, context)) in self.links.iter().zip(contexts.iter_mut()).enumerate() {
            let fail = |source| self.error(Operation::Encode, index, source);
            let input = encoded.map_or(chunk, |len| &front[..len]);
            let coder = &link.bound.coder;
            let most = coder.max_encoded_len(input.len()).filter(|&len| len <= MAX_STAGE_BYTES);
            let most = most.ok_or_else(|| {
                fail(CodecError::unsupported(format!("{} bytes are too many to encode", input.len())))
            })?;
            reserve(back, most).map_err(fail)?;
            let mut room = most;
            let len = match coder.encode(context, input, &mut back[..room]) {
                // Only foreign codecs lack a reliable bound; they report what they need.
                Err(error) if let ErrorKind::OutputFull { need: Some(need) } = *error.kind() => {
                    let need = usize::try_from(need).ok().filter(|&need| need <= MAX_STAGE_BYTES);
                    room = need.ok_or_else(|| fail(error))?;
                    reserve(back, room).map_err(fail)?;
                    coder.encode(context, input, &mut back[..room])
                }
                other => other,
            }
            .and_then(|len| claimed_within(len, room))
            .map_err(fail)?;
            std::mem::swap(front, back);
            encoded = Some(len);
        }
        Ok(encoded.map_or(chunk, |len| &front[..len]))
    }

    /// Decodes a stored chunk into `chunk`, which has [`chunk_len`](Self::chunk_len) bytes.
    ///
    /// `mask` is the HDF5 filter mask: a set bit means that the stage with this number was skipped for
    /// this chunk. Zarr has no mask; pass 0.
    ///
    /// # Errors
    /// A codec fails, or any length differs from the expected one; then `chunk` holds nothing of use.
    pub fn decode(
        &self,
        mask: u32,
        scratch: &mut ChainScratch,
        stored: &[u8],
        chunk: &mut [u8],
    ) -> Result<(), ChainError> {
        self.check(Operation::Decode, chunk, scratch)?;
        let runs = |index: usize| index >= 32 || mask & (1 << index) == 0;
        let ChainScratch { contexts, front, back } = scratch;
        let mut decoded: Option<usize> = None;
        let first = (0..self.links.len()).find(|&index| runs(index));
        for index in (0..self.links.len()).rev().filter(|&index| runs(index)) {
            let fail = |source| self.error(Operation::Decode, index, source);
            let link = &self.links[index];
            let coder = &link.bound.coder;
            let context = &mut contexts[index];
            let input = decoded.map_or(stored, |len| &front[..len]);
            if Some(index) == first {
                let len = coder.decode(context, input, chunk).map_err(fail)?;
                if len != chunk.len() {
                    return Err(fail(CodecError::size(chunk.len(), len, "the decoded chunk")));
                }
                return Ok(());
            }
            let expected = if mask == 0 { link.input } else { self.size_before(index, mask) };
            let limit = output_limit(expected, self.chunk_len);
            reserve(back, limit).map_err(fail)?;
            let len = coder
                .decode(context, input, &mut back[..limit])
                .and_then(|len| claimed_within(len, limit))
                .map_err(fail)?;
            if let Size::Exact(want) = expected
                && len != want
            {
                return Err(fail(CodecError::size(want, len, "the output of this stage")));
            }
            std::mem::swap(front, back);
            decoded = Some(len);
        }
        // No codec ran: the chunk is stored unencoded.
        if stored.len() != chunk.len() {
            let source = CodecError::size(chunk.len(), stored.len(), "the stored chunk");
            return Err(self.error_of_none(Operation::Decode, "the chunk is stored without a codec", source));
        }
        chunk.copy_from_slice(stored);
        Ok(())
    }

    /// Checks of a stored chunk, for which all filters ran, what costs next to nothing: its length, and what its codecs
    /// find without decoding it ([`Coder::check`](ncz_codec::Coder::check)). That there is no error proves nothing.
    ///
    /// # Errors
    /// The chunk cannot be decoded.
    pub fn check_stored(&self, stored: &[u8]) -> Result<(), ChainError> {
        let mut seen = stored;
        for (index, link) in self.links.iter().enumerate().rev() {
            let fail = |source| self.error(Operation::Decode, index, source);
            if let Ok(Size::Exact(want)) = link.bound.output.size()
                && seen.len() != want
            {
                return Err(fail(CodecError::size(want, seen.len(), "the stored form")));
            }
            let len = if let Size::Exact(len) = link.input { Some(len) } else { None };
            match link.bound.coder.check(seen, len).map_err(fail)? {
                Some(inside) => seen = inside,
                None => return Ok(()),
            }
        }
        match self.input {
            Size::Exact(want) if seen.len() != want => {
                let source = CodecError::size(want, seen.len(), "the stored chunk");
                Err(self.error_of_none(Operation::Decode, "the chunk is stored without a codec", source))
            }
            _ => Ok(()),
        }
    }

    /// Sees to it that the caller's chunk and scratch are of this chain.
    fn check(
        &self,
        operation: Operation,
        chunk: &[u8],
        scratch: &mut ChainScratch,
    ) -> Result<(), ChainError> {
        if self.input != Size::Exact(chunk.len()) {
            let source = CodecError::size(self.chunk_len, chunk.len(), "the caller's chunk");
            return Err(self.error_of_none(operation, "the caller", source));
        }
        self.fit(scratch);
        Ok(())
    }

    /// Completes a scratch of another chain.
    pub(super) fn fit(&self, scratch: &mut ChainScratch) {
        if scratch.contexts.len() != self.links.len() {
            scratch.contexts = self.scratch().contexts;
        }
    }

    /// An error outside of any codec.
    pub(super) fn error_of_none(&self, operation: Operation, origin: &str, source: CodecError) -> ChainError {
        ChainError {
            operation,
            codec: "none".to_owned(),
            stage: 0,
            stages: self.links.len(),
            origin: origin.to_owned(),
            source,
        }
    }

    /// Returns the input of stage `index` when the stages of `mask` are skipped.
    fn size_before(&self, index: usize, mask: u32) -> Size {
        let mut size = Size::Exact(self.chunk_len);
        for (earlier, link) in self.links[..index].iter().enumerate() {
            if earlier < 32 && mask & (1 << earlier) != 0 {
                continue;
            }
            size = if size == link.input {
                link.bound.output.size().unwrap_or(Size::Unknown)
            } else {
                match size.bound().and_then(|len| link.bound.coder.max_encoded_len(len)) {
                    Some(most) => Size::AtMost(most),
                    None => Size::Unknown,
                }
            };
        }
        size
    }

    pub(super) fn error(&self, operation: Operation, stage: usize, source: CodecError) -> ChainError {
        ChainError {
            operation,
            codec: self.links[stage].info.name.to_string(),
            stage,
            stages: self.links.len(),
            origin: self.links[stage].origin.clone(),
            source,
        }
    }
}

/// Returns the largest stream length to accept for `size`: other encoders of a format can exceed
/// our bound somewhat, and a foreign codec has none.
pub(super) fn output_limit(size: Size, chunk_len: usize) -> usize {
    match size {
        Size::Exact(len) => len,
        Size::AtMost(len) => len.saturating_add(len / 8).saturating_add(4096),
        Size::Unknown => chunk_len.saturating_mul(2).saturating_add(65536),
    }
}

/// A plugin's claim of how much it wrote, checked against what it was given.
pub(super) fn claimed_within(len: usize, capacity: usize) -> Result<usize, CodecError> {
    if len <= capacity {
        Ok(len)
    } else {
        Err(CodecError::size(capacity, len, "the codec reports more than its buffer holds"))
    }
}

/// Makes `buffer` hold at least `len` bytes; keeps what it has.
pub(super) fn reserve(buffer: &mut Vec<u8>, len: usize) -> Result<(), CodecError> {
    if buffer.len() < len {
        let more = len - buffer.len();
        buffer
            .try_reserve_exact(more)
            .map_err(|_| CodecError::unsupported(format!("no memory for a buffer of {len} bytes")))?;
        buffer.resize(len, 0);
    }
    Ok(())
}
