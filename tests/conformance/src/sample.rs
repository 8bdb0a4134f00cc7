//! Chunks to encode: a dtype, a shape, values.

use fastrand::Rng;
use ncz_codec::{Container, Dtype, Env, Kind, Repr};

/// The kind of values in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Zeros.
    Zeros,
    /// Values that rise slowly, as measured fields do.
    Smooth,
    /// Few different bytes in long runs.
    Runs,
    /// Random bytes, which do not shrink.
    Noise,
}

/// A chunk to encode.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The type of its elements.
    pub dtype: Dtype,
    /// Elements in each dimension.
    pub shape: Vec<u64>,
    /// What its values are like.
    pub content: Content,
    /// Its bytes, in C order.
    pub bytes: Vec<u8>,
}

/// Every dtype that a chunk is tried with.
pub fn dtypes() -> Vec<Dtype> {
    let sized = |kind, sizes: &[usize]| {
        sizes
            .iter()
            .flat_map(move |&size| [Dtype::little(kind, size), Dtype::big(kind, size)])
            .collect::<Vec<_>>()
    };
    let mut all = sized(Kind::Int, &[2, 4, 8]);
    all.extend(sized(Kind::UInt, &[2, 4, 8]));
    all.extend(sized(Kind::Float, &[2, 4, 8]));
    all.extend(sized(Kind::Complex, &[8, 16]));
    let single = [
        (Kind::Int, 1),
        (Kind::UInt, 1),
        (Kind::Bool, 1),
        (Kind::Opaque, 3),
        (Kind::Opaque, 5),
        (Kind::Opaque, 16),
    ];
    all.extend(single.map(|(kind, size)| Dtype::little(kind, size)));
    all
}

/// A dtype's short name, such as `<f4` or `|V3`.
pub fn dtype_name(dtype: Dtype) -> String {
    let kind = match dtype.kind {
        Kind::Bool => 'b',
        Kind::Int => 'i',
        Kind::UInt => 'u',
        Kind::Float => 'f',
        Kind::Complex => 'c',
        _ => 'V',
    };
    let order = match (dtype.size, kind) {
        (1, _) | (_, 'V') => '|',
        _ if dtype == Dtype::little(dtype.kind, dtype.size) => '<',
        _ => '>',
    };
    format!("{order}{kind}{}", dtype.size)
}

impl Sample {
    /// A chunk of that type and shape. Equal seeds give equal bytes.
    pub fn new(dtype: Dtype, shape: &[u64], content: Content, seed: u64) -> Self {
        let elements = shape.iter().product::<u64>() as usize;
        let mut rng = Rng::with_seed(seed);
        let bytes = match content {
            Content::Zeros => vec![0; elements * dtype.size],
            Content::Noise => std::iter::repeat_with(|| rng.u8(..)).take(elements * dtype.size).collect(),
            Content::Runs => runs(elements * dtype.size, &mut rng),
            Content::Smooth => smooth(dtype, elements, &mut rng),
        };
        // A truth value is 0 or 1, whatever the content.
        let bytes =
            if dtype.kind == Kind::Bool { bytes.iter().map(|byte| byte & 1).collect() } else { bytes };
        Self { dtype, shape: shape.to_vec(), content, bytes }
    }

    /// One dimension of single bytes.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        let shape = vec![bytes.len() as u64];
        Self { dtype: Dtype::little(Kind::UInt, 1), shape, content: Content::Noise, bytes }
    }

    /// The container of the chunk: an HDF5 dataset, or an NCZarr array, of exactly its shape.
    pub fn env(&self, container: Container) -> Env {
        Env { dtype: self.dtype, array_shape: self.shape.clone(), chunk_shape: self.shape.clone(), container }
    }

    /// What enters a codec.
    pub fn repr(&self) -> Repr {
        self.env(Container::Hdf5).chunk()
    }

    /// Type and shape for a message, such as `<f4 64 x 48, smooth`.
    pub fn name(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        let content = match self.content {
            Content::Zeros => "zeros",
            Content::Smooth => "smooth",
            Content::Runs => "runs",
            Content::Noise => "noise",
        };
        format!("{} {}, {content}", dtype_name(self.dtype), shape.join(" x "))
    }
}

fn runs(len: usize, rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        let run = rng.usize(1..200).min(len - bytes.len());
        let byte = rng.u8(..4);
        bytes.resize(bytes.len() + run, byte);
    }
    bytes
}

/// A walk with small steps, in the type's own representation. Types without numbers get the walk's bytes.
fn smooth(dtype: Dtype, elements: usize, rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(elements * dtype.size);
    let mut value = 1000.0_f64;
    for _ in 0..elements {
        value += rng.f64() - 0.45;
        let mut element = match (dtype.kind, dtype.size) {
            (Kind::Float, 4) => (value as f32).to_le_bytes().to_vec(),
            (Kind::Float, 8) => value.to_le_bytes().to_vec(),
            (Kind::Complex, 8) => [(value as f32).to_le_bytes(), (-value as f32).to_le_bytes()].concat(),
            (Kind::Complex, 16) => [value.to_le_bytes(), (-value).to_le_bytes()].concat(),
            // Half-precision floats: a walk in the mantissa of numbers from 1 to 2.
            (Kind::Float, 2) => (0x3c00 | (value as i64 as u16 & 0x3ff)).to_le_bytes().to_vec(),
            (Kind::Bool, _) => vec![(value as i64 / 16 % 2) as u8],
            (_, size) => (value as i64 as i128).to_le_bytes().into_iter().cycle().take(size).collect(),
        };
        if dtype == Dtype::big(dtype.kind, dtype.size) && dtype.size > 1 {
            let part = if dtype.kind == Kind::Complex { dtype.size / 2 } else { dtype.size };
            element.chunks_mut(part).for_each(<[u8]>::reverse);
        }
        bytes.extend(element);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_have_their_length_and_repeat() {
        for dtype in dtypes() {
            for content in [Content::Zeros, Content::Smooth, Content::Runs, Content::Noise] {
                let sample = Sample::new(dtype, &[7, 5], content, 3);
                assert_eq!(sample.bytes.len(), 35 * dtype.size, "{}", sample.name());
                assert_eq!(sample.bytes, Sample::new(dtype, &[7, 5], content, 3).bytes);
            }
        }
    }

    #[test]
    fn big_endian_chunks_hold_the_same_numbers() {
        let [little, big] = [Dtype::little(Kind::Float, 8), Dtype::big(Kind::Float, 8)]
            .map(|dtype| Sample::new(dtype, &[9], Content::Smooth, 1));
        for (little, big) in little.bytes.chunks(8).zip(big.bytes.chunks(8)) {
            assert!(little.iter().eq(big.iter().rev()));
        }
    }
}
