//! The order of the coordinate along which records are appended.

use std::cmp::Ordering;

use ncz_model::{Container, DataError, Elements, Slab, Value};
use ncz_zarr::Dataset;

use super::{CopyError, Plan};
use crate::coordinate_order::{MOST_BYTES, OutOfOrder, out_of_order};
use crate::copy::Selection;
use crate::tiles::Indices;

impl Plan {
    /// Checks that the coordinates of the dimension grow, or shrink, from the first record of the target to its last one,
    /// and on through the records that come. Of the target only these two records are read.
    pub(super) fn check_order(
        &self,
        source: &dyn Container,
        target: &Dataset,
        selection: &Selection,
    ) -> Result<(), CopyError> {
        let Some(last) = self.old.checked_sub(1) else { return Ok(()) };
        let old: Vec<u64> = if last == 0 { vec![0] } else { vec![0, last] };
        for (path, axis) in &self.variables {
            let variable = target.hierarchy().variable(path).map_err(DataError::from)?;
            let bytes = self.records.saturating_mul(variable.dtype.size() as u64);
            let is_coordinate =
                matches!(variable.dimensions.as_slice(), [only] if only.name == variable.name);
            let (true, Some(nc_type), 1..=MOST_BYTES) = (is_coordinate, variable.nc_type, bytes) else {
                continue;
            };
            let (size, mut values) = (variable.dtype.size(), Vec::new());
            let mut add = |dataset: &dyn Container, slab: Slab| {
                let start = values.len();
                values.resize(start + size * slab.count().first().map_or(0, |count| *count as usize), 0);
                let array = dataset.array(path)?;
                array.read_bytes(&slab, Elements::Native, values.get_mut(start..).unwrap_or_default())
            };
            for index in &old {
                add(target, Slab::new([*index], [1]))?;
            }
            let original = source.hierarchy().variable(path).map_err(DataError::from)?;
            let all = Indices::all(self.records);
            let of = original.dimensions.get(*axis).and_then(|dimension| selection.slabs.get(dimension));
            let Indices { start, count, step } = of.copied().unwrap_or(all);
            add(source, Slab::new([start], [count]).with_stride([step])).map_err(CopyError::of_source)?;
            let values = Value::from_native_bytes(nc_type, size, &values);
            let Some(OutOfOrder { at, before, after }) = values.as_ref().and_then(out_of_order) else {
                continue;
            };
            let reason = match at.cmp(&old.len()) {
                Ordering::Less => {
                    format!("the target begins with {before}, and ends with {after}")
                }
                Ordering::Equal => {
                    format!("the source begins with {after}, and the target ends with {before}")
                }
                Ordering::Greater => format!("in the source, {after} follows {before}"),
            };
            return Err(CopyError::Order { path: path.clone(), reason });
        }
        Ok(())
    }
}
