//! Filters of numbers whose byte order is not known to every reader of Zarr version 3.

use ncz_codec::{BoundStage, ByteOrder, CodecError, Container, Dtype, Env, Repr};

use super::Stage;

/// Refuses a filter that works otherwise on little-endian elements. In Zarr version 3 `bytes` does not tell later codecs
/// what it made: in zarr-python's own pipeline a filter has to take all elements for little-endian ones.
///
/// # Errors
/// The elements are big-endian, and the filter needs to know it.
pub(super) fn check(stage: &Stage, bound: &BoundStage, input: &Repr, env: &Env) -> Result<(), CodecError> {
    let is_told = env.container != Container::ZarrV3 || stage.info.filter_id.is_none();
    if is_told || env.dtype.order != ByteOrder::Big || env.dtype.size == 1 {
        return Ok(());
    }
    let little = |dtype: Dtype| Dtype { order: ByteOrder::Little, ..dtype };
    let input = match input.clone() {
        Repr::Array { dtype, shape, fill } => Repr::Array { dtype: little(dtype), shape, fill },
        bytes @ Repr::Bytes { .. } => bytes,
    };
    let env = Env { dtype: little(env.dtype), ..env.clone() };
    match stage.config.bind(&input, &env) {
        Ok(other) if other.working == bound.working => Ok(()),
        _ => Err(CodecError::unsupported(
            "it needs the byte order of the elements, and readers of Zarr v3 take those that enter a filter for \
             little-endian; store them little-endian, or choose other codecs",
        )),
    }
}
