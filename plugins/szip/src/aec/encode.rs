//! Choosing and writing the option of each block.

use super::bits::BitWriter;
use super::sample::Sample;
use super::{Aec, REST_OF_SEGMENT, SEGMENT};

/// The state that lasts over intervals.
pub(super) struct Encoder<'a> {
    aec: &'a Aec,
    id_bits: u32,
    /// The k of the last nonzero block, at which the next search begins.
    k: u32,
}

/// A run of zero blocks that waits to be written.
#[derive(Default)]
struct ZeroRun {
    blocks: u64,
    reference: Option<u32>,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(aec: &'a Aec) -> Self {
        Self { aec, id_bits: aec.id_bits(), k: 0 }
    }

    /// Writes one interval. With a `reference`, the first of the `samples` is 0.
    pub(super) fn encode_interval<T: Sample>(
        &mut self,
        samples: &[T],
        mut reference: Option<u32>,
        out: &mut BitWriter<'_>,
    ) {
        let blocks = samples.len() / self.aec.block;
        let mut run = ZeroRun::default();
        for (number, block) in samples.chunks_exact(self.aec.block).enumerate() {
            let reference = reference.take();
            if T::union(block) != 0 {
                self.put_zero_run(&mut run, false, out);
                self.encode_block(block, reference, out);
                continue;
            }
            if run.blocks == 0 {
                run.reference = reference;
            }
            run.blocks += 1;
            if number + 1 == blocks || (number + 1) % SEGMENT == 0 {
                self.put_zero_run(&mut run, true, out);
            }
        }
    }

    fn encode_block<T: Sample>(&mut self, block: &[T], reference: Option<u32>, out: &mut BitWriter<'_>) {
        let coded = if reference.is_some() { &block[1..] } else { block };
        let uncompressed = coded.len() as u64 * u64::from(self.aec.bits);
        let (k, split) = self.best_split(block, coded.len() as u64);
        self.k = k;
        // It wins a tie against splitting, but not one against no compression.
        let limit = split.min(uncompressed - 1);
        if pairs_fit(block, limit) {
            self.put_id(0, out);
            out.put(1, 1);
            self.put_reference(reference, out);
            put_pairs(block, out);
        } else if split < uncompressed {
            self.put_id(k + 1, out);
            self.put_reference(reference, out);
            for &sample in coded {
                let sample: u64 = sample.into();
                out.put_fs(sample >> k);
            }
            if k > 0 {
                T::put_low(coded, k, out);
            }
        } else {
            self.put_id((1 << self.id_bits) - 1, out);
            if let Some(reference) = reference {
                self.put_reference(Some(reference), out);
            }
            T::put_low(coded, self.aec.bits, out);
        }
    }

    /// The best k and the length of the block with it, without id and reference sample.
    ///
    /// The length over k has one minimum (Kiely, IPN Progress Report 42-159). The search goes
    /// from the k of the last block upwards while the length falls, else downwards. Of several
    /// equal lengths, the one it finds determines the bytes, so its steps are those of libaec.
    fn best_split<T: Sample>(&self, block: &[T], coded: u64) -> (u32, u64) {
        let most = (1 << self.id_bits) - 3;
        let length = |k: u32| {
            let zeros = T::sum_shifted(block, k);
            (zeros, zeros + coded * u64::from(k + 1))
        };
        let mut best_k = self.k;
        let (mut zeros, mut best) = length(self.k);
        // Upwards. With fewer zeros than samples one more low bit cannot pay.
        while zeros >= coded && best_k < most {
            let (next_zeros, next) = length(best_k + 1);
            if next >= best {
                break;
            }
            (zeros, best, best_k) = (next_zeros, next, best_k + 1);
        }
        if best_k > self.k {
            return (best_k, best);
        }
        while best_k > 0 {
            let (next_zeros, next) = length(best_k - 1);
            if next >= best {
                break;
            }
            (best, best_k) = (next, best_k - 1);
            if next_zeros >= coded {
                break;
            }
        }
        (best_k, best)
    }

    fn put_zero_run(&self, run: &mut ZeroRun, at_end: bool, out: &mut BitWriter<'_>) {
        let ZeroRun { blocks, reference } = std::mem::take(run);
        if blocks == 0 {
            return;
        }
        self.put_id(0, out);
        out.put(0, 1);
        self.put_reference(reference, out);
        out.put_fs(match blocks {
            ..=4 => blocks - 1,
            _ if at_end => REST_OF_SEGMENT,
            _ => blocks,
        });
    }

    fn put_reference(&self, reference: Option<u32>, out: &mut BitWriter<'_>) {
        if let Some(reference) = reference {
            out.put(reference.into(), self.aec.bits);
        }
    }

    fn put_id(&self, id: u32, out: &mut BitWriter<'_>) {
        out.put(id.into(), self.id_bits);
    }
}

/// Whether the block has at most `limit` bits with the second extension.
fn pairs_fit<T: Sample>(block: &[T], limit: u64) -> bool {
    let mut length = 1;
    for &[a, b] in block.as_chunks().0 {
        length += pair(a, b) + 1;
        if length > limit {
            return false;
        }
    }
    true
}

fn put_pairs<T: Sample>(block: &[T], out: &mut BitWriter<'_>) {
    for &[a, b] in block.as_chunks().0 {
        out.put_fs(pair(a, b));
    }
}

/// The number of a pair of samples; pairs of smaller sum come first.
///
/// Samples have at most 31 bits, so that nothing overflows.
#[inline(always)]
fn pair<T: Sample>(a: T, b: T) -> u64 {
    let (a, b): (u64, u64) = (a.into(), b.into());
    let sum = a + b;
    sum * (sum + 1) / 2 + b
}
