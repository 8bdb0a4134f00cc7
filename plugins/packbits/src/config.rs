use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, Coder, Container, Dtype, Env, Kind, Repr, Result,
};

use crate::codec::PackBitsCoder;

/// Configuration of the packbits codec: it has no parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, CodecConfig)]
pub struct PackBits;

impl Codec for PackBits {
    const INFO: CodecInfo = CodecInfo::new("packbits", "eight truth values in a byte")
        .numcodecs(&["packbits"])
        .zarr_v3(&["numcodecs.packbits"])
        .lossless();

    type Coder = PackBitsCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        // numcodecs takes any byte for a truth value; zarr-python's codec of Zarr v3 takes nothing but these.
        let is_taken = match input {
            Repr::Array { dtype: Dtype { kind: Kind::Bool, size: 1, .. }, .. } => true,
            Repr::Array { dtype: Dtype { kind: Kind::Int | Kind::UInt, size: 1, .. }, .. } => {
                env.container != Container::ZarrV3
            }
            _ => false,
        };
        if !is_taken {
            return Err(CodecError::unsupported("only truth values of one byte can be packed into bits"));
        }
        let coder = PackBitsCoder;
        let len = input.size()?.bound().and_then(|len| coder.max_encoded_len(len)).unwrap_or_default();
        let output = Repr::Array { dtype: Dtype::little(Kind::UInt, 1), shape: vec![len as u64], fill: None };
        Ok(Bound { stored: *self, working: Vec::new(), output, coder })
    }

    fn coder(working: &[u32]) -> Result<PackBitsCoder> {
        Self::from_params(working)?;
        Ok(PackBitsCoder)
    }
}
