//! Reading blocks back.

use super::bits::BitReader;
use super::sample::Sample;
use super::{Aec, REST_OF_SEGMENT, SEGMENT};
use crate::error::SzError;

/// Pairs of the second extension that a shortest coding can use: sums below 13.
const PAIRS: usize = 91;

/// The two samples after each number of a pair.
const PAIR: [[u8; 2]; PAIRS] = pairs();

pub(super) struct Decoder<'a> {
    aec: &'a Aec,
    id_bits: u32,
    max: u32,
}

/// How the decoding of an interval ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Padded,
    /// At the end of the stream, after the last requested sample and before the last of the interval.
    Unpadded,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(aec: &'a Aec) -> Self {
        Self { aec, id_bits: aec.id_bits(), max: aec.max() }
    }

    /// Fills one interval, of which `wanted` samples are needed.
    pub(super) fn decode_interval<T: Sample>(
        &self,
        samples: &mut [T],
        wanted: usize,
        input: &mut BitReader<'_>,
    ) -> Result<End, SzError> {
        let mut at = 0;
        let mut last = 0;
        while at < samples.len() {
            if at >= wanted && input.at_end() {
                return Ok(End::Unpadded);
            }
            let reference = self.aec.predict && at == 0;
            let id = input.take(self.id_bits)? as u32;
            if id == 0 && input.take(1)? == 0 {
                if reference {
                    last = input.take(self.aec.bits)? as u32;
                }
                let end = at + self.take_zero_run(at, samples.len(), input)?;
                // Differences of zero repeat the last sample.
                let value = if self.aec.predict { last } else { 0 };
                samples[at..end].fill(T::cut(value));
                at = end;
                continue;
            }
            let block = &mut samples[at..at + self.aec.block];
            if reference {
                last = input.take(self.aec.bits)? as u32;
                block[0] = T::cut(last);
            }
            let coded = &mut block[usize::from(reference)..];
            match id {
                0 => take_pairs(coded, reference, input)?,
                _ if id == (1 << self.id_bits) - 1 => {
                    coded.fill(T::default());
                    T::take_low(coded, self.aec.bits, input)?;
                }
                _ => self.take_split(coded, id - 1, input)?,
            }
            if T::union(coded) > self.max {
                return Err(OUT_OF_RANGE);
            }
            if self.aec.predict {
                last = self.unmap(coded, last);
            }
            at += self.aec.block;
        }
        Ok(End::Padded)
    }

    /// The length in samples of a run of zero blocks that begins at the sample `at` of `len`.
    fn take_zero_run(&self, at: usize, len: usize, input: &mut BitReader<'_>) -> Result<usize, SzError> {
        let done = at / self.aec.block;
        let left = len / self.aec.block - done;
        let blocks = match input.take_fs()? {
            REST_OF_SEGMENT => (SEGMENT - done % SEGMENT).min(left),
            few @ ..REST_OF_SEGMENT => few as usize + 1,
            many => usize::try_from(many).unwrap_or(usize::MAX),
        };
        if blocks > left {
            return Err(SzError::Corrupt("a run of zero blocks leaves its scanline"));
        }
        Ok(blocks * self.aec.block)
    }

    fn take_split<T: Sample>(
        &self,
        coded: &mut [T],
        k: u32,
        input: &mut BitReader<'_>,
    ) -> Result<(), SzError> {
        let mut union = 0;
        for sample in coded.iter_mut() {
            let upper = input.take_fs()?;
            union |= upper;
            *sample = T::cut((upper as u32) << k);
        }
        if union > u64::from(self.max >> k) {
            return Err(OUT_OF_RANGE);
        }
        if k > 0 {
            T::take_low(coded, k, input)?;
        }
        Ok(())
    }

    /// Replaces mapped differences by samples; returns the last one.
    #[inline(always)]
    fn unmap<T: Sample>(&self, coded: &mut [T], last: u32) -> u32 {
        let max = self.max;
        let sign = self.aec.bits - 1;
        let mut value = last;
        for sample in coded {
            let mapped: u32 = (*sample).into();
            let step = (mapped >> 1) ^ 0u32.wrapping_sub(mapped & 1);
            let size = (mapped >> 1) + (mapped & 1);
            // The nearer end of the range: within its distance both signs are possible.
            let flip = 0u32.wrapping_sub(value >> sign) & max;
            value = if size <= value ^ flip { value.wrapping_add(step) } else { mapped ^ flip };
            *sample = T::cut(value);
        }
        value
    }
}

const OUT_OF_RANGE: SzError = SzError::Corrupt("a sample has more bits than declared");

fn take_pairs<T: Sample>(coded: &mut [T], reference: bool, input: &mut BitReader<'_>) -> Result<(), SzError> {
    let (single, coded) = coded.split_at_mut(usize::from(reference));
    if let Some(single) = single.first_mut() {
        // Its partner is the reference sample, which counts as zero.
        let [0, b] = take_pair(input)? else {
            return Err(SzError::Corrupt("a reference sample's pair is not zero"));
        };
        *single = T::cut(b.into());
    }
    for pair in coded.as_chunks_mut::<2>().0 {
        let [a, b] = take_pair(input)?;
        *pair = [T::cut(a.into()), T::cut(b.into())];
    }
    Ok(())
}

fn take_pair(input: &mut BitReader<'_>) -> Result<[u8; 2], SzError> {
    let number = usize::try_from(input.take_fs()?).unwrap_or(usize::MAX);
    PAIR.get(number).copied().ok_or(SzError::Corrupt("a pair of the second extension is too large"))
}

const fn pairs() -> [[u8; 2]; PAIRS] {
    let mut table = [[0; 2]; PAIRS];
    let (mut a, mut b) = (0, 0);
    let mut i = 0;
    while i < PAIRS {
        table[i] = [a, b];
        (a, b) = if a == 0 { (b + 1, 0) } else { (a - 1, b + 1) };
        i += 1;
    }
    table
}
