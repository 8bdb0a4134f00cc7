//! Arrays of bytes that represent arrays of strings of any length, whose chunks have the same keys.

use ncz_model::Container;
use ncz_model::{Array, ByteOrder, DataError, Dtype, Kind, Pool, Variable};
use ncz_registry::spec::ChainSpec;

/// The array of a variable for finding its chunks: of strings of any length, the [`byte_array`].
pub(crate) fn keyed_array(dataset: &dyn Container, variable: &Variable) -> Result<Array, DataError> {
    match variable.dtype.is_variable_length() {
        true => byte_array(dataset, variable),
        false => dataset.array(&variable.path),
    }
}

/// An array of bytes whose chunks have the keys of those of `variable`. It cannot decode them.
pub(crate) fn byte_array(dataset: &dyn Container, variable: &Variable) -> Result<Array, DataError> {
    let dtype = Dtype::numeric(Kind::UInt, 1, ByteOrder::None).map_err(|fault| DataError::Unsupported {
        variable: variable.path.clone(),
        reason: fault.to_string(),
    })?;
    let bytes = Variable { dtype, fill: None, filters: Vec::new(), ..variable.clone() };
    let chain = dataset.session().bind(&bytes, dataset.hierarchy().format, &ChainSpec::default())?;
    let array = Array::new(dataset.store().clone(), &bytes, bytes.shape.clone(), chain, Pool::serial())?;
    Ok(array.with_chunks(dataset.chunks(variable)?))
}
