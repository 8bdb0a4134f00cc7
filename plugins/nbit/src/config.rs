use ncz_codec::{
    Bound, ByteOrder, Codec, CodecConfig, CodecError, CodecInfo, Coder, Dialect, Env, Kind, Repr, Result,
    Size,
};
use serde_json::{Map, Value};

use crate::codec::NbitCoder;
use crate::tree::Tree;

/// The words before those of the element: how many there are in all, whether all bits are kept, the elements of a
/// chunk.
const HEAD: usize = 3;

/// Configuration of the nbit codec. There is nothing to choose: what is kept follows from the type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Nbit {
    /// The words that HDF5 stored with a dataset, which describe its elements; `None` to derive them from the
    /// variable, whose numbers use all their bits.
    pub stored: Option<Vec<u32>>,
}

impl CodecConfig for Nbit {
    fn from_json(_dialect: Dialect, _config: &Map<String, Value>, _notes: &mut Vec<String>) -> Result<Self> {
        Err(no_json())
    }

    fn to_json(&self, _dialect: Dialect) -> Result<Map<String, Value>> {
        Err(no_json())
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        if words.is_empty() {
            return Ok(Self { stored: None });
        }
        Self::coder(words)?;
        Ok(Self { stored: Some(words.to_vec()) })
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(self.stored.clone().unwrap_or_default())
    }
}

impl Codec for Nbit {
    const INFO: CodecInfo =
        CodecInfo::new("nbit", "leaves out the bits that the type of a number does not use")
            .filter_id(5)
            .working_params()
            .lossless();

    type Coder = NbitCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let working = match &self.stored {
            Some(words) => words.clone(),
            None => whole(input, env)?,
        };
        let coder = Self::coder(&working)?;
        let size = input.size()?;
        if let (Size::Exact(len), Some(expected)) = (size, coder.chunk_len())
            && len != expected
        {
            return Err(CodecError::unsupported(format!(
                "nbit expected {expected} bytes, got {len}; it must be the first of its chain"
            )));
        }
        let output = match size.bound().map(|len| coder.max_encoded_len(len)) {
            Some(Some(most)) if coder.chunk_len().is_some() => Size::AtMost(most),
            _ => size,
        };
        Ok(Bound { stored: self.clone(), working, output: Repr::Bytes { size: output }, coder })
    }

    fn coder(working: &[u32]) -> Result<NbitCoder> {
        let [count, keeps_all, elements, element @ ..] = working else {
            return Err(CodecError::config(
                "cd_values",
                format!("nbit works with at least {HEAD} parameters, got {}", working.len()),
            ));
        };
        if *count as usize != working.len() {
            return Err(CodecError::config(
                "cd_values[0]",
                format!("expected {count} parameters as stated, got {}", working.len()),
            ));
        }
        match keeps_all {
            0 => NbitCoder::new(*elements as usize, Tree::parse(element)?),
            _ => Ok(NbitCoder::copying()),
        }
    }
}

/// The working words for numbers that use all their bits, and for what is not a number.
fn whole(input: &Repr, env: &Env) -> Result<Vec<u32>> {
    let (dtype, shape) = match input {
        Repr::Array { dtype, shape, .. } => (*dtype, shape),
        Repr::Bytes { .. } => (env.dtype, &env.chunk_shape),
    };
    let too_many = || CodecError::unsupported(format!("a chunk of shape {shape:?} is too large for nbit"));
    let count = shape.iter().try_fold(1_u64, |product, &len| product.checked_mul(len));
    let count = count.and_then(|count| u32::try_from(count).ok()).ok_or_else(too_many)?;
    let size = u32::try_from(dtype.size).map_err(|_| too_many())?;
    Ok(match dtype.kind {
        Kind::Int | Kind::UInt | Kind::Float => {
            let order = u32::from(dtype.order == ByteOrder::Big);
            vec![8, 1, count, 1, size, order, size.checked_mul(8).ok_or_else(too_many)?, 0]
        }
        _ => vec![HEAD as u32, 1, count],
    })
}

fn no_json() -> CodecError {
    CodecError::unsupported("nbit has no JSON form; packbits of numcodecs is another format")
}
