//! Reads the values of a variable block by block.

use ncz::location::Location;
use ncz::model::{
    Array, Blocks, Container, DataError, Elements, NcType, NetcdfView, Row, Slab, StringArray, UserArray,
    Value, Variable,
};

use crate::error::CliError;
use crate::slab_request::Selected;

/// Bytes of values to hold at a time; they are held twice, as bytes and as typed values.
const BLOCK: u64 = 8 << 20;

/// Estimated bytes of a value of a structured type in memory.
const ROW_BYTES: usize = 512;

/// Estimated bytes of a string.
const STRING_BYTES: usize = 64;

/// Reads the values of a variable block by block.
pub(crate) struct VariableValues<'a> {
    variable: &'a Variable,
    reader: Reader,
    buffer: Vec<u8>,
}

enum Reader {
    Strings(Box<StringArray>),
    Elements(Box<Array>),
}

impl<'a> VariableValues<'a> {
    /// Opens a variable, which looks up its codecs.
    ///
    /// # Errors
    /// A codec that is not found or does not fit.
    pub(crate) fn of(dataset: &dyn Container, variable: &'a Variable) -> Result<Self, DataError> {
        let reader = match variable.shown().map(NetcdfView::nc_type) {
            Some(NcType::String) => Reader::Strings(Box::new(dataset.strings(&variable.path)?)),
            _ => Reader::Elements(Box::new(dataset.array(&variable.path)?)),
        };
        Ok(Self { variable, reader, buffer: Vec::new() })
    }

    /// Returns the lengths of the variable.
    pub(crate) fn shape(&self) -> &[u64] {
        match &self.reader {
            Reader::Strings(strings) => strings.shape(),
            Reader::Elements(array) => array.shape(),
        }
    }

    /// Calls `take` with the values of a part, block by block, up to the first `most` elements if that is given.
    ///
    /// # Errors
    /// Errors of the store or a codec, and those that `take` returns.
    pub(crate) fn each(
        &mut self,
        part: Vec<Selected>,
        most: Option<u128>,
        location: &Location,
        mut take: impl FnMut(&Value) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let parts = if matches!(self.variable.shown(), Some(NetcdfView::Complex(_))) { 2 } else { 1 };
        let mut left = most.unwrap_or(u128::MAX);
        for slab in self.blocks_of(part) {
            if left == 0 {
                break;
            }
            let mut values = self.read(&slab, location)?;
            let elements = (values.len() / parts).min(usize::try_from(left).unwrap_or(usize::MAX));
            values.truncate(elements * parts);
            left -= elements as u128;
            take(&values)?;
        }
        Ok(())
    }

    /// Returns the selection of the whole variable.
    pub(crate) fn whole(&self) -> Vec<Selected> {
        self.shape().iter().map(|len| Selected::all(*len)).collect()
    }

    /// Splits a part into blocks that fit in memory, in row-major order.
    pub(crate) fn blocks_of(&self, part: Vec<Selected>) -> impl Iterator<Item = Slab> + use<> {
        let (chunks, element) = match &self.reader {
            // Each string is allocated separately as a value.
            Reader::Strings(strings) => (strings.chunk_shape(), strings.dtype().size().max(STRING_BYTES)),
            Reader::Elements(array) => (array.chunk_shape(), array.dtype().size()),
        };
        Self::cut(part, chunks, element)
    }

    /// Splits a part of an array into blocks that fit in memory, of whole chunks if possible.
    pub(crate) fn cut(
        part: Vec<Selected>,
        chunks: &[u64],
        element: usize,
    ) -> impl Iterator<Item = Slab> + use<> {
        let counts: Vec<u64> = part.iter().map(|of| of.count).collect();
        let chunks: Vec<u64> = chunks.iter().zip(&part).map(|(chunk, of)| (chunk / of.step).max(1)).collect();
        Blocks::new(&counts, &chunks, element as u64, BLOCK).map(move |block| {
            let starts: Vec<u64> =
                block.start().iter().zip(&part).map(|(at, of)| of.start + at * of.step).collect();
            let steps: Vec<u64> = part.iter().map(|of| of.step).collect();
            Slab::new(starts, block.count()).with_stride(steps)
        })
    }

    /// Reads the values of a block.
    ///
    /// # Errors
    /// Errors of the store or a codec.
    pub(crate) fn read(&mut self, slab: &Slab, location: &Location) -> Result<Value, CliError> {
        let failed = CliError::dataset(location);
        let variable = self.variable;
        let values = match &self.reader {
            Reader::Strings(strings) => Some(Value::from(&strings.read(slab).map_err(&failed)?)),
            Reader::Elements(array) => {
                let size = array.dtype().size();
                let bytes = elements(array, slab, &mut self.buffer).map_err(&failed)?;
                match variable.nc_type {
                    Some(nc_type) => Value::from_native_bytes(nc_type, size, bytes),
                    None => Value::from_elements(array.dtype(), bytes),
                }
            }
        };
        values.ok_or_else(|| CliError::Values {
            variable: variable.path.clone(),
            dtype: variable.dtype.to_string(),
        })
    }
}

/// Calls `take` with the values of a part of a variable of a structured user-defined type, block by block, up to the
/// first `most` values if that is given.
///
/// # Errors
/// Errors of the store or a codec, and those that `take` returns.
pub(crate) fn each_row(
    array: &UserArray,
    part: Vec<Selected>,
    most: Option<u128>,
    location: &Location,
    mut take: impl FnMut(&Row) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let stored = array.stored();
    let mut left = most.unwrap_or(u128::MAX);
    for slab in VariableValues::cut(part, stored.chunk_shape(), stored.dtype().size().max(ROW_BYTES)) {
        if left == 0 {
            break;
        }
        row_parts(array, &slab, location, &mut |mut row| {
            if left == 0 {
                return Ok(());
            }
            row.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            left -= row.len() as u128;
            take(&row)
        })?;
    }
    Ok(())
}

/// Reads a slab in as many parts as memory needs.
fn row_parts(
    array: &UserArray,
    slab: &Slab,
    location: &Location,
    take: &mut dyn FnMut(Row) -> Result<(), CliError>,
) -> Result<(), CliError> {
    match (array.read(slab), slab.halves()) {
        (Err(error), Some((first, second))) if error.is_of_long_rows() => {
            row_parts(array, &first, location, take)?;
            row_parts(array, &second, location, take)
        }
        (read, _) => take(read.map_err(CliError::dataset(location))?),
    }
}

/// Reads the elements of a block. A block has at most [`BLOCK`] bytes, or one element.
pub(crate) fn elements<'b>(
    array: &Array,
    slab: &Slab,
    buffer: &'b mut Vec<u8>,
) -> Result<&'b [u8], DataError> {
    let count = slab.count().iter().product::<u64>();
    buffer.resize(count as usize * array.dtype().size(), 0);
    array.read_bytes(slab, Elements::Native, buffer)?;
    Ok(buffer)
}
