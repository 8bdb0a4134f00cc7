//! The order of the coordinate along which records are appended.

use ncz_model::{Container, DataError, Elements, Slab};
use ncz_zarr::Dataset;

use super::{CopyError, Plan};
use crate::coordinate_order::{Coordinate, MOST_BYTES, OutOfOrder};
use crate::copy::Selection;
use crate::tiles::Indices;

impl Plan {
    /// Checks that the coordinates of the dimension grow, or shrink, from the first record of the target to its last one,
    /// and on through the records that come. Of the target only these two records are read, unless one is missing.
    pub(super) fn check_order(
        &self,
        source: &dyn Container,
        target: &Dataset,
        selection: &Selection,
    ) -> Result<(), CopyError> {
        for (path, axis) in &self.variables {
            let variable = target.hierarchy().variable(path).map_err(DataError::from)?;
            let bytes = self.records.saturating_mul(variable.dtype.size() as u64);
            let is_coordinate =
                matches!(variable.dimensions.as_slice(), [only] if only.name == variable.name);
            let coordinate = Coordinate::of(variable, target.hierarchy().format);
            let (true, Some(coordinate), 1..=MOST_BYTES) = (is_coordinate, coordinate, bytes) else {
                continue;
            };
            let mut values = self.ends(target, path, &coordinate)?;
            let old = values.len() / variable.dtype.size().max(1);
            let original = source.hierarchy().variable(path).map_err(DataError::from)?;
            let all = Indices::all(self.records);
            let of = original.dimensions.get(*axis).and_then(|dimension| selection.slabs.get(dimension));
            let Indices { start, count, step } = of.copied().unwrap_or(all);
            let slab = Slab::new([start], [count]).with_stride([step]);
            add(&mut values, source, path, &slab).map_err(CopyError::of_source)?;
            let Some(fault) = coordinate.out_of_order(&values) else { continue };
            let OutOfOrder { at, before_at, before, after, direction } = fault;
            let reason = if at < old {
                format!("the target begins with {before}, and ends with {after}")
            } else if before_at < old {
                format!("the source begins with {after}, and the target ends with {before}{direction}")
            } else {
                format!("in the source, {after} follows {before}{direction}")
            };
            return Err(CopyError::Order { path: path.clone(), reason });
        }
        Ok(())
    }

    /// The first and the last value of the target that are not missing; none if it is not known which these are.
    fn ends(&self, target: &Dataset, path: &str, coordinate: &Coordinate) -> Result<Vec<u8>, DataError> {
        let size = target.hierarchy().variable(path)?.dtype.size();
        let Some(last) = self.old.checked_sub(1) else { return Ok(Vec::new()) };
        let mut values = Vec::new();
        let indices = if last == 0 { vec![0] } else { vec![0, last] };
        for index in &indices {
            add(&mut values, target, path, &Slab::new([*index], [1]))?;
        }
        if coordinate.known(&values).count() < indices.len()
            && self.old.saturating_mul(size as u64) <= MOST_BYTES
        {
            values.clear();
            add(&mut values, target, path, &Slab::new([0], [self.old]))?;
        }
        let mut known = coordinate.known(&values).map(|(at, _)| at);
        let ends = known.next().into_iter().chain(known.last());
        Ok(ends.filter_map(|at| values.get(at * size..(at + 1) * size)).flatten().copied().collect())
    }
}

/// Reads a part of a coordinate after the values that are there, in the byte order of the machine.
fn add(values: &mut Vec<u8>, dataset: &dyn Container, path: &str, slab: &Slab) -> Result<(), DataError> {
    let size = dataset.hierarchy().variable(path)?.dtype.size();
    let start = values.len();
    values.resize(start + size * slab.count().first().map_or(0, |count| *count as usize), 0);
    dataset.array(path)?.read_bytes(slab, Elements::Native, values.get_mut(start..).unwrap_or_default())
}
