//! Whether two datasets have the same dimensions, values and attributes: what is not joined must be equal.

use std::collections::BTreeSet;

use ncz_model::masked::FILL_VALUE;
use ncz_model::{
    Attribute, Container, DataError, DimensionRef, Elements, Hierarchy, Kind, SideError, Slab, StringArray,
    Variable,
};

use super::{Side, is_meaning, is_text, plain};
use crate::conversion::{Conversion, Converted, Source};
use crate::tiles::Window;

/// The most bytes of a variable that are compared at a time, if a row is not longer (16 MiB).
const COMPARED: u64 = 16 << 20;

/// The estimated size of a text in memory.
const TEXT_BYTES: u64 = 64;

/// Whether a variable's dimension is the one along which datasets are joined. In pure Zarr dimensions have no paths: one
/// of a group is that of the same name around it.
pub(crate) fn is_same_dimension(
    hierarchy: &Hierarchy,
    joined: &DimensionRef,
    dimension: &DimensionRef,
) -> bool {
    dimension == joined || !hierarchy.format.has_netcdf_model() && dimension.name == joined.name
}

/// Whether the dimensions have the same names, and besides the one at `joined` the same lengths; `lens` are those of the
/// one. The error is the difference, in which the `names` are those of the two datasets.
pub(crate) fn same_dimensions(
    names: (&str, &str),
    (one, ours): Side<'_>,
    (other, theirs): Side<'_>,
    lens: &[u64],
    joined: Option<usize>,
) -> Result<(), String> {
    let shown = |variable: &Variable| {
        let names: Vec<String> = variable.dimensions.iter().map(ToString::to_string).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let have_paths = ours.format.has_netcdf_model() && theirs.format.has_netcdf_model();
    let mut pairs = one.dimensions.iter().zip(&other.dimensions);
    let is_same = one.dimensions.len() == other.dimensions.len()
        && pairs.all(|(one, other)| one == other || !have_paths && one.name == other.name);
    if !is_same {
        let (ours, theirs) = (shown(one), shown(other));
        return Err(format!("its dimensions are {ours} in {} and {theirs} in {}", names.0, names.1));
    }
    let wanted = theirs.shape_of(other);
    for (d, (dimension, (len, wanted))) in other.dimensions.iter().zip(lens.iter().zip(wanted)).enumerate() {
        if Some(d) != joined && *len != wanted {
            return Err(format!(
                "its dimension {dimension} has {len} elements in {} and {wanted} in {}",
                names.0, names.1
            ));
        }
    }
    Ok(())
}

/// Whether a variable of the one has, in a window that covers that of the other, the same values after the conversion.
///
/// # Errors
/// A side cannot be read, or a value cannot be converted.
pub(crate) fn same_values(
    path: &str,
    one: &dyn Container,
    conversion: Option<Conversion>,
    other: &dyn Container,
    window: &Window,
) -> Result<bool, SideError> {
    let of_one = |error: DataError| SideError::One(Box::new(error));
    let view;
    let one = match conversion {
        None => one,
        Some(conversion) => {
            let conversions = [(path.to_owned(), conversion)].into();
            view = Converted::new(Source::Borrowed(one), conversions).map_err(of_one)?;
            &view
        }
    };
    let of_other = |error: DataError| SideError::Other(Box::new(error));
    let original = one.hierarchy().variable(path).map_err(|error| of_one(error.into()))?;
    let variable = other.hierarchy().variable(path).map_err(|error| of_other(error.into()))?;
    let (shape, size) = (other.hierarchy().shape_of(variable), variable.dtype.size());
    let cut = |slab: &Slab| window.cut(slab.start(), slab.count()).0;
    let is_structured =
        |variable: &Variable| variable.is_structured() && variable.dtype.kind() != Kind::Complex;
    if is_structured(original) && is_structured(variable) {
        // Bytes are addresses in heaps, or have another layout.
        let ours = one.user_array(path).map_err(of_one)?;
        let theirs = other.user_array(path).map_err(of_other)?;
        for slab in rows(&shape, size as u64) {
            if ours.differing(&cut(&slab), (&theirs, &slab))?.is_some() {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    let is_any_length = original.dtype.is_variable_length() || variable.dtype.is_variable_length();
    let is_other_length = original.dtype.size() != size && is_text(original) && is_text(variable);
    if is_any_length || is_other_length {
        let (ours, theirs): (StringArray, StringArray) =
            (one.strings(path).map_err(of_one)?, other.strings(path).map_err(of_other)?);
        for slab in rows(&shape, TEXT_BYTES) {
            if ours.read(&cut(&slab)).map_err(of_one)? != theirs.read(&slab).map_err(of_other)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    let (ours, theirs) = (one.array(path).map_err(of_one)?, other.array(path).map_err(of_other)?);
    let (mut read, mut wanted) = (Vec::new(), Vec::new());
    for slab in rows(&shape, size as u64) {
        let len = slab.elements().and_then(|count| usize::try_from(count).ok()?.checked_mul(size));
        let len = len.unwrap_or(usize::MAX);
        let reserved =
            read.try_reserve(len.saturating_sub(read.len())).and_then(|()| wanted.try_reserve(len));
        if reserved.is_err() {
            let reason = format!("no memory to compare {len} bytes");
            return Err(of_one(DataError::Unsupported { variable: path.to_owned(), reason }));
        }
        read.resize(len, 0_u8);
        wanted.resize(len, 0_u8);
        ours.read_bytes(&cut(&slab), Elements::Native, &mut read).map_err(of_one)?;
        theirs.read_bytes(&slab, Elements::Native, &mut wanted).map_err(of_other)?;
        if read != wanted {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Slabs of whole rows that cover an array.
fn rows(shape: &[u64], element: u64) -> impl Iterator<Item = Slab> {
    let row: u64 = shape.iter().skip(1).fold(element, |all, len| all.saturating_mul(*len));
    let together = COMPARED.checked_div(row).unwrap_or(u64::MAX).max(1);
    let (len, shape) = (shape.first().copied().unwrap_or(1), shape.to_vec());
    (0..len.div_ceil(together)).map(move |number| {
        let start = number * together;
        let (mut from, mut count) = (vec![0; shape.len()], shape.clone());
        if let (Some(from), Some(count)) = (from.first_mut(), count.first_mut()) {
            (*from, *count) = (start, together.min(len - start));
        }
        Slab::new(from, count)
    })
}

/// The attributes of a variable that differ and do not give numbers their meaning, as `name:attribute`. What is masked is
/// compared as such.
pub(crate) fn differing(one: &Variable, other: &Variable) -> Vec<String> {
    let names = names_of(&one.attributes, &other.attributes).into_iter();
    let names = names.filter(|name| *name != FILL_VALUE);
    names.map(|name| format!("{}:{name}", one.path.trim_matches('/'))).collect()
}

/// The attributes that differ of groups that both datasets have.
pub(crate) fn differing_groups(one: &Hierarchy, other: &Hierarchy) -> Vec<String> {
    let both = one.groups().filter_map(|group| Some((group, other.group(&group.path).ok()?)));
    let names = both.flat_map(|(group, other)| {
        let names = names_of(&group.attributes, &other.attributes).into_iter();
        names.map(|name| format!("{}:{name}", group.path.trim_matches('/')))
    });
    names.collect()
}

/// The names of attributes that differ.
fn names_of<'a>(ours: &'a [Attribute], theirs: &'a [Attribute]) -> BTreeSet<&'a str> {
    let value = |of: &[Attribute], name: &str| {
        of.iter().find(|attribute| attribute.name == name).map(|attribute| plain(&attribute.value))
    };
    let names = ours.iter().chain(theirs).map(|attribute| attribute.name.as_str());
    names.filter(|name| !is_meaning(name) && value(ours, name) != value(theirs, name)).collect()
}
