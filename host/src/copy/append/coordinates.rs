//! The coordinates that stay as they are when records are appended.

use ncz_model::{Container, DataError, Elements, Slab, Variable};
use ncz_zarr::Dataset;

use super::{CopyError, SIDES};
use crate::agreement;

/// Coordinates of up to this many bytes are compared.
const COMPARED: u64 = 64 << 20;

/// The estimated size of a text in memory.
const TEXT_BYTES: u64 = 64;

/// Whether a coordinate that stays as it is has the same values on both sides: else the records are at other
/// coordinates.
pub(super) fn same(
    source: &dyn Container,
    target: &Dataset,
    original: &Variable,
    variable: &Variable,
    disagree: &dyn Fn(String) -> CopyError,
) -> Result<(), CopyError> {
    let is_coordinate = matches!(variable.dimensions.as_slice(), [only] if only.name == variable.name);
    let shape = target.hierarchy().shape_of(variable);
    let is_cut = source.hierarchy().shape_of(original) != shape;
    let is_text = agreement::is_text(original) && agreement::is_text(variable);
    let element = if is_text { TEXT_BYTES } else { variable.dtype.size() as u64 };
    let bytes = shape.iter().fold(element, |all, len| all.saturating_mul(*len));
    if !is_coordinate || is_cut || bytes > COMPARED {
        return Ok(());
    }
    let (one, other) = ((original, source.hierarchy()), (variable, target.hierarchy()));
    let is_same = if is_text {
        agreement::same_texts(SIDES, one, other).map_err(disagree)?;
        let texts = |dataset: &dyn Container| dataset.strings(&variable.path)?.read(&Slab::whole(&shape));
        texts(source).map_err(CopyError::of_source)? == texts(target)?
    } else if variable.shown().is_some() && !variable.dtype.is_variable_length() {
        agreement::same_meaning(SIDES, one, other).map_err(disagree)?;
        let values = |dataset: &dyn Container| {
            let mut values = vec![0; bytes as usize];
            let array = dataset.array(&variable.path)?;
            array.read_bytes(&Slab::whole(&shape), Elements::Native, &mut values)?;
            Ok::<_, DataError>(values)
        };
        values(source).map_err(CopyError::of_source)? == values(target)?
    } else {
        true
    };
    match is_same {
        true => Ok(()),
        false => Err(disagree("its values differ, so the records are at other coordinates".to_owned())),
    }
}
