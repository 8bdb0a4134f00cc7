//! Known registered filters: working parameters for a chunk, and the precision of restored values.
//!
//! A filter with a `set_local` gets other words than users give: the function queries libhdf5 for the type and the
//! shape of the chunk and writes them into the words. The runner has no libhdf5; it knows the words that the published
//! filters derive from a chunk (as `h5py` shows of a dataset that was created with them) and passes these to the filter
//! function.

mod images;
mod lossless;
mod numbers;

use ncz_codec::{ByteOrder, Dtype, Kind};

use crate::sample::dtype_name;

/// The agreement of decoded values with the encoded ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fidelity {
    /// To the byte.
    Exact,
    /// Only in length.
    Lossy,
}

/// One set of parameters for a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterSet {
    /// `cd_values` as a filter function gets them.
    pub working: Vec<u32>,
    /// As users give them.
    pub given: Vec<u32>,
    /// The precision of restored values.
    pub fidelity: Fidelity,
}

/// Why a filter has no parameters for a chunk: it does not take such chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotForThis(pub String);

/// A chunk to find parameters for.
#[derive(Clone, Copy)]
struct Chunk<'a> {
    dtype: Dtype,
    shape: &'a [u64],
}

type Sets = Result<Vec<ParameterSet>, NotForThis>;

/// The parameter sets of the registered filter `id` for a chunk, the ordinary one first; nothing if the filter is
/// not known here.
pub fn of(id: u32, dtype: Dtype, shape: &[u64]) -> Option<Result<Vec<ParameterSet>, NotForThis>> {
    let chunk = Chunk { dtype, shape };
    let sets = match id {
        1 => unchanged(&[&[6], &[1], &[9], &[0]]),
        2 => lossless::shuffle(chunk),
        3 => unchanged(&[&[]]),
        4 => lossless::szip(chunk),
        5 => lossless::nbit(chunk),
        6 => numbers::scaleoffset(chunk),
        307 => unchanged(&[&[9], &[1]]),
        32000 => lossless::lzf(chunk),
        32001 => lossless::blosc(chunk),
        32004 => unchanged(&[&[], &[0], &[1000]]),
        32008 => lossless::bitshuffle(chunk),
        32013 => numbers::zfp(chunk),
        32015 => unchanged(&[&[3], &[1], &[19], &[]]),
        32017 => numbers::sz(chunk, false),
        32018 => images::fcidecomp(chunk),
        32024 => numbers::sz(chunk, true),
        32026 => lossless::blosc2(chunk),
        32028 => numbers::sperr(chunk),
        32032 => numbers::bitround(chunk),
        32033 => images::htj2k(chunk),
        _ => return None,
    };
    Some(sets)
}

/// Sets of a filter without `set_local`.
fn unchanged(sets: &[&[u32]]) -> Sets {
    Ok(sets.iter().map(|words| ParameterSet::exact(words, words.to_vec())).collect())
}

impl ParameterSet {
    fn exact(given: &[u32], working: Vec<u32>) -> Self {
        Self { working, given: given.to_vec(), fidelity: Fidelity::Exact }
    }

    fn lossy(given: &[u32], working: Vec<u32>) -> Self {
        Self { fidelity: Fidelity::Lossy, ..Self::exact(given, working) }
    }
}

impl Chunk<'_> {
    /// Its length in bytes, as filters note it.
    fn bytes(self) -> Result<u32, NotForThis> {
        let elements = self.elements();
        let bytes = elements.and_then(|elements| elements.checked_mul(self.dtype.size as u64));
        bytes
            .and_then(|bytes| u32::try_from(bytes).ok())
            .ok_or_else(|| NotForThis("chunks in HDF5 have less than 4 GiB".to_owned()))
    }

    fn elements(self) -> Option<u64> {
        self.shape.iter().try_fold(1_u64, |product, &len| product.checked_mul(len))
    }

    /// The lengths of its dimensions as words.
    fn dims(self) -> Result<Vec<u32>, NotForThis> {
        let dims: Result<_, _> = self.shape.iter().map(|&len| u32::try_from(len)).collect();
        dims.map_err(|_| NotForThis("its dimensions are too long".to_owned()))
    }

    /// The lengths of its dimensions, those of length 1 left out.
    fn long_dims(self) -> Result<Vec<u32>, NotForThis> {
        Ok(self.dims()?.into_iter().filter(|&len| len != 1).collect())
    }

    /// Whether the elements are little-endian numbers of one of these kinds and sizes.
    fn is_little(self, kinds: &[Kind], sizes: &[usize]) -> Result<(), NotForThis> {
        let little = self.dtype.order == ByteOrder::Little || self.dtype.size == 1;
        match little && kinds.contains(&self.dtype.kind) && sizes.contains(&self.dtype.size) {
            true => Ok(()),
            false => Err(NotForThis(format!("the filter is not for {}", dtype_name(self.dtype)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F4: Dtype = Dtype::little(Kind::Float, 4);

    /// What the published filters (hdf5plugin 7.1.0 in h5py; szip of netCDF4 1.7.5) made of the given words.
    #[test]
    fn words_are_those_that_the_published_filters_set() {
        let f8 = Dtype::little(Kind::Float, 8);
        let u1 = Dtype::little(Kind::UInt, 1);
        let big = |kind, size| Dtype::big(kind, size);
        let nine = [0, 1_062_232_653, 3_539_053_052, 0, 0, 0, 0, 0, 0];
        let with_nine = |head: &[u32]| [head, &nine].concat();
        let reversible = |third, fourth| vec![268_456_208, 91_252_346, third, fourth];
        type Case<'a> = (u32, &'a [u32], Dtype, &'a [u64], Vec<u32>);
        let cases: &[Case<'_>] = &[
            (4, &[4, 8], F4, &[64, 48], vec![12, 8, 32, 48]),
            (4, &[32, 16], big(Kind::Float, 4), &[64, 48], vec![48, 16, 32, 48]),
            (4, &[4, 8], f8, &[64, 48], vec![12, 8, 64, 48]),
            (5, &[], F4, &[64, 48], vec![8, 1, 3072, 1, 4, 0, 32, 0]),
            (5, &[], big(Kind::UInt, 2), &[37], vec![8, 1, 37, 1, 2, 1, 16, 0]),
            (6, &[2, 0], big(Kind::Int, 2), &[37], [&[2, 0, 37, 0, 2, 1, 1, 1][..], &[0; 12]].concat()),
            (6, &[0, 2], f8, &[33, 7], [&[0, 2, 231, 1, 8, 0, 0, 1][..], &[0; 12]].concat()),
            (32000, &[], F4, &[64, 48], vec![4, 261, 12288]),
            (32001, &[0, 0, 0, 0, 5, 1, 1], F4, &[64, 48], vec![2, 2, 4, 12288, 5, 1, 1]),
            (
                32001,
                &[0, 0, 0, 0, 5, 1, 1],
                Dtype::little(Kind::Opaque, 300),
                &[1],
                vec![2, 2, 1, 300, 5, 1, 1],
            ),
            (32026, &[0, 0, 0, 0, 5, 1, 1], F4, &[48], vec![1, 0, 4, 192, 5, 1, 1]),
            (32026, &[0, 0, 0, 0, 5, 1, 1], F4, &[3, 4, 5], vec![1, 0, 4, 240, 5, 1, 1, 3, 3, 4, 5]),
            (32008, &[0, 2], F4, &[1], vec![0, 4, 4, 0, 2]),
            (32013, &[5], F4, &[64, 48], reversible(4_026_532_598, 2_281_701_379)),
            (32013, &[5], f8, &[64, 48], reversible(4_026_532_599, 2_281_701_379)),
            (32013, &[5], Dtype::little(Kind::UInt, 4), &[64, 48], reversible(4_026_532_596, 2_281_701_379)),
            (32013, &[5], F4, &[48], reversible(754, 2_281_701_376)),
            (32013, &[5], F4, &[7, 5, 6], reversible(4_194_394, 2_281_701_472)),
            (32013, &[5], F4, &[3, 4, 5, 6], reversible(805_568_606, 2_281_701_888)),
            (32013, &[5], F4, &[1, 2, 3, 4, 5], reversible(537_067_598, 2_281_701_632)),
            (32013, &[5], F4, &[70000, 3], reversible(4_026_531_878, 2_281_705_750)),
            (32013, &[1, 0, 0, 1_076_101_120, 0, 0], F4, &[64, 48], reversible(4_026_532_598, 166_723_587)),
            (32013, &[2, 0, 16], F4, &[64, 48], reversible(4_026_532_598, 2_163_212_291)),
            (
                32013,
                &[3, 0, 3_539_053_052, 1_062_232_653],
                F4,
                &[64, 48],
                reversible(4_026_532_598, 3_398_434_819),
            ),
            (32018, &[], u1, &[64, 48], vec![1, 1, 64, 48, 8, 1, 0, 0, 0, 0, 0, 0, 0]),
            (
                32018,
                &[],
                Dtype::little(Kind::UInt, 2),
                &[3, 64, 48],
                vec![2, 3, 64, 48, 16, 3, 0, 0, 0, 0, 0, 0, 0],
            ),
            (32033, &[], u1, &[48], vec![1, 1, 48, 1, 1]),
            (32033, &[], Dtype::little(Kind::Int, 2), &[64, 48], vec![1, 130, 48, 64, 1]),
            (32033, &[], u1, &[64, 48, 3], vec![1, 1, 48, 64, 3]),
            (32028, &[940_177_214, 0], F4, &[1, 64, 48], vec![1042, 940_177_214, 64, 48]),
            (32028, &[940_177_214, 0], f8, &[64, 48], vec![1026, 940_177_214, 64, 48]),
            (32028, &[940_177_214, 0], F4, &[16, 12, 16], vec![1043, 940_177_214, 16, 12, 16]),
            (32028, &[940_177_214, 1], F4, &[64, 48], vec![1106, 940_177_214, 64, 48]),
            (32017, &nine, F4, &[64, 48], with_nine(&[2, 0, 48, 64])),
            (32017, &nine, F4, &[48], with_nine(&[1, 0, 0, 48])),
            (32024, &nine, F4, &[2, 3, 4, 5], with_nine(&[4, 0, 5, 4, 3, 2])),
            (32024, &nine, Dtype::little(Kind::Int, 8), &[1, 64, 48], with_nine(&[2, 9, 48, 64])),
        ];
        for (id, given, dtype, shape, working) in cases {
            let sets = of(*id, *dtype, shape).unwrap().unwrap();
            let set = sets.iter().find(|set| set.given == *given);
            assert_eq!(set.map(|set| &set.working), Some(working), "{id} {given:?} {shape:?} of {sets:?}");
        }
    }

    #[test]
    fn chunks_that_a_filter_is_not_for_are_reported() {
        let big = Dtype::big(Kind::Float, 4);
        for (id, dtype, shape) in
            [(32013, big, vec![64, 48]), (32013, F4, vec![1]), (32018, F4, vec![64, 48]), (4, F4, vec![1])]
        {
            assert!(of(id, dtype, &shape).unwrap().is_err(), "{id}");
        }
        assert!(of(40000, F4, &[1]).is_none());
    }
}
