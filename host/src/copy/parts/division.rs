//! Divides a copy into boxes of whole objects, and these into parts.

use ncz_model::{Container, DataError};

use super::super::rechunk::{self, Axis};
use super::super::strings::AnyVariableCopy;
use super::super::variable::axes;
use super::super::{CopyOptions, Resources};
use super::{Division, PART, Part, PartsError, Region};
use crate::byte_array::keyed_array;
use crate::tiles::Tiles;

/// The estimated size of a string of any length.
const STRING: u64 = 64;

/// A box is no larger, also if there are few parts.
const LARGEST_BOX: u64 = 1 << 30;

/// The most boxes of a plan, which takes about 200 bytes for each.
const MOST_BOXES: u64 = 1_000_000;

/// Divides the data of the variables that `has` names. The boxes of each part are whole objects of `copy`.
pub(super) fn divide(
    source: &dyn Container,
    copy: &dyn Container,
    has: &dyn Fn(&str) -> bool,
    options: &CopyOptions,
    division: Division,
) -> Result<Vec<Part>, PartsError> {
    let selection = &options.selection;
    let resources = Resources {
        memory: options.memory.unwrap_or(rechunk::MEMORY),
        scratch: options.scratch.as_deref(),
        keep: false,
        salvage: false,
    };
    let variables = || {
        source
            .hierarchy()
            .variables()
            .filter(|variable| has(&variable.path) && selection.has_values(&variable.path))
    };
    let largest = match division {
        Division::BySize => PART,
        Division::Into(parts) => {
            let bytes = |variable: &ncz_model::Variable| {
                let lens = selection.window(variable).end();
                lens.into_iter().fold(element(variable), u64::saturating_mul)
            };
            let total = variables().map(bytes).fold(0, u64::saturating_add);
            total.div_ceil(parts.max(1)).min(LARGEST_BOX)
        }
    };
    let mut boxes: Vec<(Region, u64)> = Vec::new();
    for original in variables() {
        let window = selection.window(original);
        let planned = copy.hierarchy().variable(&original.path).map_err(DataError::from)?;
        let variable = AnyVariableCopy::new(source, copy, original, window.clone(), resources)?;
        let units = variable.unit().iter();
        let mut axes = axes(original, planned, &window);
        axes.iter_mut().zip(units).for_each(|(axis, unit)| axis.unit = *unit);
        let lens = grown(&axes, rechunk::tile(&axes, element(original), largest), element(original), largest);
        let keys = keyed_array(source, original)?;
        let tiles = Tiles::of_window(&keys, &window, &lens)?;
        let tiles = tiles.existing(&keys, &**source.store(), &window, &lens)?;
        let all = tiles.len().saturating_add(boxes.len() as u64);
        if all > MOST_BOXES {
            return Err(PartsError::TooManyBoxes { boxes: all, most: MOST_BOXES });
        }
        for position in 0..tiles.len() {
            let start: Vec<u64> =
                tiles.index(position).iter().zip(&lens).map(|(index, len)| index * len).collect();
            let (_, to) = window.cut(&start, &lens);
            let bytes = to.count().iter().copied().fold(element(original), u64::saturating_mul);
            let variable = original.path.clone();
            boxes.push((Region { variable, start, shape: to.count().to_vec() }, bytes));
        }
    }
    Ok(grouped(boxes, division))
}

/// The estimated bytes of an element.
fn element(variable: &ncz_model::Variable) -> u64 {
    if variable.dtype.is_variable_length() { STRING } else { variable.dtype.size().max(1) as u64 }
}

/// A box with more units along the last dimensions, as far as it fits into `budget` bytes: few boxes are described in
/// few words.
fn grown(axes: &[Axis], mut lens: Vec<u64>, element: u64, budget: u64) -> Vec<u64> {
    for d in (0..axes.len()).rev() {
        let others = lens.iter().enumerate().filter(|(other, _)| *other != d);
        let bytes = others.map(|(other, len)| (*len).min(axes[other].len)).fold(element, u64::saturating_mul);
        let all = axes[d].len.div_ceil(lens[d]);
        let fitting = (budget / bytes.saturating_mul(lens[d]).max(1)).clamp(1, all);
        lens[d] = lens[d].saturating_mul(fitting);
        if fitting < all {
            break;
        }
    }
    lens
}

/// Parts of about the same size, of boxes in their order.
fn grouped(boxes: Vec<(Region, u64)>, division: Division) -> Vec<Part> {
    let total = boxes.iter().map(|(_, bytes)| u128::from(*bytes)).sum::<u128>().max(1);
    let wanted = match division {
        Division::BySize => total.div_ceil(u128::from(PART)),
        Division::Into(parts) => u128::from(parts.max(1)),
    };
    let mut parts: Vec<(u128, Part)> = Vec::new();
    let mut done = 0u128;
    for (region, bytes) in boxes {
        // A box belongs to the part in whose share of all bytes its middle is.
        let number = ((done + u128::from(bytes) / 2) * wanted / total).min(wanted - 1);
        done += u128::from(bytes);
        match parts.last_mut() {
            Some((last, part)) if *last == number => {
                part.bytes += bytes;
                part.regions.push(region);
            }
            _ => parts.push((number, Part { bytes, regions: vec![region], objects: None })),
        }
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn axis((len, unit): &(u64, u64)) -> Axis {
        Axis { len: *len, unit: *unit, other: *unit }
    }

    proptest! {
        #[test]
        fn boxes_grow_by_whole_units_and_fit(
            lens in prop::collection::vec((1u64..3000, 1u64..200), 1..4),
            budget in 1u64..1 << 22,
        ) {
            let axes: Vec<Axis> = lens.iter().map(axis).collect();
            let least: Vec<u64> = axes.iter().map(|axis| axis.unit).collect();
            let lens = grown(&axes, least.clone(), 4, budget);
            let bytes = |lens: &[u64]| {
                lens.iter().zip(&axes).fold(4, |all, (len, axis)| all * (*len).min(axis.len))
            };
            prop_assert!(lens.iter().zip(&axes).all(|(len, axis)| len % axis.unit == 0));
            prop_assert!(bytes(&lens) <= budget.max(bytes(&least)), "{lens:?}");
        }

        #[test]
        fn every_box_is_in_one_part_and_parts_are_no_more_than_wanted(
            sizes in prop::collection::vec(0u64..1 << 30, 0..60),
            wanted in 1u64..80,
        ) {
            let region = |at: usize| Region { variable: at.to_string(), start: vec![], shape: vec![] };
            let boxes: Vec<_> = sizes.iter().enumerate().map(|(at, size)| (region(at), *size)).collect();
            let parts = grouped(boxes, Division::Into(wanted));
            prop_assert!(parts.len() as u64 <= wanted);
            let found: Vec<usize> = parts.iter().flat_map(|part| &part.regions)
                .map(|region| region.variable.parse().unwrap()).collect();
            prop_assert_eq!(found, (0..sizes.len()).collect::<Vec<_>>());
            prop_assert_eq!(parts.iter().map(|part| part.bytes).sum::<u64>(), sizes.iter().sum::<u64>());
        }
    }
}
