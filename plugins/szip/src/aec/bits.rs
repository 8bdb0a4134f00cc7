//! Bits, most significant first: a writer and a reader with 64-bit accumulators.

use crate::error::SzError;

/// The most bits that one [`BitWriter::put`] or [`BitReader::take`] moves.
pub(super) const MAX_BITS: u32 = 56;

/// Writes bits into a slice. Running over the end is noticed by [`BitWriter::finish`],
/// so that the hot path carries no error.
pub(super) struct BitWriter<'a> {
    out: &'a mut [u8],
    pos: usize,
    acc: u64,
    /// Unused bits of `acc`, 1..=64. Bits above the used ones are stale.
    free: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(out: &'a mut [u8]) -> Self {
        Self { out, pos: 0, acc: 0, free: 64 }
    }

    /// Appends the `n` low bits of `value`; the others must be zero, and `n <= MAX_BITS`.
    #[inline(always)]
    pub(super) fn put(&mut self, value: u64, n: u32) {
        debug_assert!(n <= MAX_BITS && value >> n == 0);
        if n < self.free {
            self.acc = (self.acc << n) | value;
            self.free -= n;
        } else {
            // `free <= n <= 56` here, so neither shift reaches 64.
            let over = n - self.free;
            self.push((self.acc << self.free) | (value >> over));
            self.acc = value;
            self.free = 64 - over;
        }
    }

    /// Appends the `n <= 64` low bits of `value`; the others must be zero.
    #[inline(always)]
    pub(super) fn put_wide(&mut self, value: u64, n: u32) {
        if n <= MAX_BITS {
            self.put(value, n);
        } else {
            self.put(value >> 32, n - 32);
            self.put(value & 0xFFFF_FFFF, 32);
        }
    }

    /// Appends a fundamental sequence: `zeros` zero bits, then a one.
    #[inline(always)]
    pub(super) fn put_fs(&mut self, zeros: u64) {
        if zeros < u64::from(MAX_BITS) {
            self.put(1, zeros as u32 + 1);
        } else {
            self.put_long_fs(zeros);
        }
    }

    /// The number of bytes, the last one filled with zero bits.
    ///
    /// # Errors
    /// `OutputFull` if the slice was too short.
    pub(super) fn finish(mut self) -> Result<usize, SzError> {
        let capacity = self.out.len();
        let full = SzError::OutputFull { capacity };
        if self.pos > capacity {
            return Err(full);
        }
        let used = 64 - self.free;
        if used > 0 {
            let bytes = used.div_ceil(8) as usize;
            let word = (self.acc << self.free).to_be_bytes();
            let slot = self.out.get_mut(self.pos..self.pos + bytes).ok_or(full)?;
            slot.copy_from_slice(&word[..bytes]);
            self.pos += bytes;
        }
        Ok(self.pos)
    }

    #[inline(always)]
    fn push(&mut self, word: u64) {
        if let Some(slot) = self.out.get_mut(self.pos..).and_then(<[u8]>::first_chunk_mut) {
            *slot = word.to_be_bytes();
            self.pos += 8;
        } else {
            // For good: no later `push` may find room again.
            self.pos = usize::MAX;
        }
    }

    #[cold]
    fn put_long_fs(&mut self, mut zeros: u64) {
        while zeros >= u64::from(MAX_BITS) {
            self.put(0, MAX_BITS);
            zeros -= u64::from(MAX_BITS);
        }
        self.put(1, zeros as u32 + 1);
    }
}

/// Reads bits from a slice; no bit is made up after its end.
pub(super) struct BitReader<'a> {
    data: &'a [u8],
    pos: usize,
    /// The next bits, from the top. Those below `count` are zero or true bits of the stream.
    buf: u64,
    /// Bits of `buf` that are accounted for, 0..=63.
    count: u32,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self { data, pos: 0, buf: 0, count: 0 }
    }

    /// The next `n <= MAX_BITS` bits.
    ///
    /// # Errors
    /// `Truncated` if fewer are left.
    #[inline(always)]
    pub(super) fn take(&mut self, n: u32) -> Result<u64, SzError> {
        debug_assert!(n <= MAX_BITS);
        if self.count < n {
            self.refill();
            if self.count < n {
                return Err(SzError::Truncated);
            }
        }
        // In two steps, since `n` may be 0.
        let value = (self.buf >> 1) >> (63 - n);
        self.buf <<= n;
        self.count -= n;
        Ok(value)
    }

    /// The next `n <= 64` bits.
    #[inline(always)]
    pub(super) fn take_wide(&mut self, n: u32) -> Result<u64, SzError> {
        if n <= MAX_BITS {
            return self.take(n);
        }
        let high = self.take(n - 32)?;
        Ok((high << 32) | self.take(32)?)
    }

    /// The length of the next fundamental sequence: the zero bits before the next one.
    ///
    /// # Errors
    /// `Truncated` if no one follows.
    #[inline(always)]
    pub(super) fn take_fs(&mut self) -> Result<u64, SzError> {
        let zeros = self.buf.leading_zeros();
        if zeros < self.count {
            self.buf <<= zeros + 1;
            self.count -= zeros + 1;
            return Ok(u64::from(zeros));
        }
        self.take_fs_refilling()
    }

    /// Whether nothing but the fill bits of the last byte is left.
    pub(super) fn at_end(&mut self) -> bool {
        self.refill();
        self.count < 8 && self.buf == 0
    }

    /// Checks that the stream ends here.
    ///
    /// # Errors
    /// `Trailing` if whole bytes are left, `Corrupt` if the fill bits are not zero.
    pub(super) fn finish(mut self) -> Result<(), SzError> {
        self.refill();
        let bytes = self.count as usize / 8 + (self.data.len() - self.pos);
        if bytes > 0 {
            return Err(SzError::Trailing { bytes });
        }
        if self.buf != 0 {
            return Err(SzError::Corrupt("the fill bits of the last byte are not zero"));
        }
        Ok(())
    }

    #[inline(always)]
    fn refill(&mut self) {
        if let Some(bytes) = self.data.get(self.pos..).and_then(<[u8]>::first_chunk) {
            // Whole bytes are counted; the rest of the word stays as look-ahead and is or-ed
            // with itself by the next refill.
            self.buf |= u64::from_be_bytes(*bytes) >> self.count;
            self.pos += ((63 - self.count) >> 3) as usize;
            self.count |= 56;
        } else {
            self.refill_from_tail();
        }
    }

    #[cold]
    fn refill_from_tail(&mut self) {
        while self.count < 56 {
            let Some(&byte) = self.data.get(self.pos) else {
                return;
            };
            self.buf |= u64::from(byte) << (56 - self.count);
            self.pos += 1;
            self.count += 8;
        }
    }

    #[inline(never)]
    fn take_fs_refilling(&mut self) -> Result<u64, SzError> {
        let mut passed = 0;
        loop {
            passed += u64::from(self.count);
            self.buf = 0;
            self.count = 0;
            // The look-ahead went with `buf`; it is read again from `pos`.
            self.refill();
            if self.count == 0 {
                return Err(SzError::Truncated);
            }
            let zeros = self.buf.leading_zeros();
            if zeros < self.count {
                self.buf <<= zeros + 1;
                self.count -= zeros + 1;
                return Ok(passed + u64::from(zeros));
            }
        }
    }
}
