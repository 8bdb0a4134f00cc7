//! Whether datasets go together.

use std::collections::BTreeSet;

use ncz_model::{
    Attribute, Container, DataError, DimensionRef, Elements, Group, Hierarchy, SideError, Slab, StringArray,
    Variable,
};

use super::{ConcatError, Part, is_same};
use crate::agreement::{is_meaning, plain, same_meaning, unmasked_fills};
use crate::conversion::{Conversion, Conversions};
use crate::copy::Selection;

/// The most bytes of a variable that are compared at a time, if its chunks are not longer (16 MiB).
const COMPARED: u64 = 16 << 20;

/// The most names in a note.
const NAMED: usize = 12;

const CONVERT: &str = "convert one of them, or leave the variable out";

/// Checks that all datasets have the variables of the first one. Returns notes on what differs without harm, and how
/// variables of each dataset are converted.
pub(super) fn check(
    parts: &[Part],
    joined: &DimensionRef,
    selection: &Selection,
) -> Result<(Vec<String>, Vec<Conversions>), ConcatError> {
    let Some((first, others)) = parts.split_first() else { return Err(ConcatError::Nothing) };
    let ours = first.dataset.hierarchy();
    let (mut differ, mut notes) = (BTreeSet::new(), Vec::new());
    let mut all = vec![Conversions::new()];
    for part in others {
        let theirs = part.dataset.hierarchy();
        let formats = (ours.format, theirs.format);
        if formats.0 != formats.1 && !(formats.0.is_netcdf() && formats.1.is_netcdf()) {
            return Err(ConcatError::Formats { part: part.name.clone(), first: first.name.clone() });
        }
        if let Some(more) = theirs
            .variables()
            .find(|variable| selection.has(&variable.path) && ours.variable(&variable.path).is_err())
        {
            return Err(disagree(first, part, &more.path)(format!("{} does not have it", first.name)));
        }
        let mut conversions = Conversions::new();
        for variable in ours.variables().filter(|variable| selection.has(&variable.path)) {
            let disagree = disagree(first, part, &variable.path);
            let other = self::variable(part, &variable.path)?;
            let names = (first.name.as_str(), part.name.as_str());
            let conversion = match axis(ours, joined, variable) {
                Some(_) => Conversion::between((names.1, names.0), (other, theirs), (variable, ours)),
                None => same_meaning(names, (variable, ours), (other, theirs)).map(|()| None),
            };
            let conversion = conversion.map_err(&disagree)?;
            let is_converted = conversion.is_some();
            if let Some(conversion) = conversion {
                conversions.insert(variable.path.clone(), conversion);
            } else if variable.dtype != other.dtype {
                let (ours, theirs) = (&variable.dtype, &other.dtype);
                let reason = format!("its type is {ours} in {} and {theirs} in {}", names.0, names.1);
                match Conversion::of_byte_order(reason.clone(), other, variable) {
                    Some(conversion) => _ = conversions.insert(variable.path.clone(), conversion),
                    None => return Err(disagree(reason)),
                }
            }
            let class = |variable: &Variable| variable.user_type.as_ref().map(|user| user.class.clone());
            if class(variable) != class(other) {
                return Err(disagree(format!(
                    "its user-defined type in {} differs from that in {}",
                    names.0, names.1
                )));
            }
            same_dimensions((variable, ours), (other, theirs), joined).map_err(&disagree)?;
            if axis(ours, joined, variable).is_none() {
                same_values(first, part, variable, &disagree)?;
            }
            let of_variable = |name: &str| format!("{}:{name}", variable.path.trim_matches('/'));
            differing(&variable.attributes, &other.attributes, &mut |name| {
                if !is_converted || name != "_FillValue" {
                    differ.insert(of_variable(name));
                }
            });
        }
        for group in ours.groups() {
            let Ok(other) = theirs.group(&group.path) else { continue };
            differing(&group.attributes, &other.attributes, &mut |name| {
                differ.insert(format!("{}:{name}", group.path.trim_matches('/')));
            });
        }
        let fills = unmasked_fills(theirs, ours, selection);
        notes.extend(named(fills.iter().map(|path| path.trim_matches('/'))).map(|names| {
            format!(
                "the fill_value of {} does not mark missing values, although xarray masks it; for numbers an attribute \
                 _FillValue would make it do so: {names}",
                part.name
            )
        }));
        all.push(conversions);
    }
    let notes = note(&first.name, &differ).into_iter().chain(converted(&first.name, &all)).chain(notes);
    Ok((notes.collect(), all))
}

/// The datasets' hierarchy, without the variables that are not selected.
pub(super) fn selected(parts: &[Part], selection: &Selection) -> Hierarchy {
    let Some(first) = parts.first() else { return Hierarchy::new(ncz_model::Format::Zarr3) };
    let mut hierarchy = first.dataset.hierarchy().clone();
    prune(&mut hierarchy.root, selection);
    hierarchy
}

fn prune(group: &mut Group, selection: &Selection) {
    group.variables.retain(|variable| selection.has(&variable.path));
    group.unreadable.retain(|lost| selection.has(&lost.path));
    group.groups.iter_mut().for_each(|inside| prune(inside, selection));
}

/// The paths of the variables that have the dimension.
pub(super) fn along(hierarchy: &Hierarchy, joined: &DimensionRef) -> Vec<String> {
    let has = |variable: &&Variable| axis(hierarchy, joined, variable).is_some();
    hierarchy.variables().filter(has).map(|variable| variable.path.clone()).collect()
}

/// Which dimension of a variable is the one along which datasets are joined.
pub(super) fn axis(hierarchy: &Hierarchy, joined: &DimensionRef, variable: &Variable) -> Option<usize> {
    variable.dimensions.iter().position(|dimension| is_same(hierarchy, joined, dimension))
}

/// The variable of this path of a dataset.
pub(super) fn variable<'p>(part: &'p Part, path: &str) -> Result<&'p Variable, ConcatError> {
    let found = part.dataset.hierarchy().variable(path);
    found.map_err(|error| ConcatError::Data { part: part.name.clone(), source: Box::new(error.into()) })
}

fn disagree<'a>(first: &'a Part, part: &'a Part, path: &'a str) -> impl Fn(String) -> ConcatError + 'a {
    move |reason| ConcatError::Disagree {
        path: path.to_owned(),
        part: part.name.clone(),
        first: first.name.clone(),
        reason,
        remedy: CONVERT,
    }
}

/// Whether the dimensions have the same names, and besides the one that is joined the same lengths.
fn same_dimensions(
    (variable, ours): (&Variable, &Hierarchy),
    (other, theirs): (&Variable, &Hierarchy),
    joined: &DimensionRef,
) -> Result<(), String> {
    let names = |variable: &Variable| {
        let names: Vec<String> = variable.dimensions.iter().map(ToString::to_string).collect();
        names.join(", ")
    };
    if variable.dimensions != other.dimensions {
        return Err(format!("its dimensions are {} and {}", names(variable), names(other)));
    }
    if variable.dimensions.iter().filter(|dimension| is_same(ours, joined, dimension)).count() > 1 {
        return Err(format!("it has the dimension {joined} twice"));
    }
    let lens = ours.shape_of(variable).into_iter().zip(theirs.shape_of(other)).zip(&variable.dimensions);
    for ((len, other), dimension) in lens {
        if len != other && !is_same(ours, joined, dimension) {
            return Err(format!("its dimension {dimension} has {len} and {other} elements"));
        }
    }
    Ok(())
}

/// Whether a variable that is not joined has the same values.
fn same_values(
    first: &Part,
    part: &Part,
    variable: &Variable,
    disagree: &dyn Fn(String) -> ConcatError,
) -> Result<(), ConcatError> {
    let unread =
        |part: &Part, source| ConcatError::Data { part: part.name.clone(), source: Box::new(source) };
    let differ = || disagree("its values differ, and it does not have the dimension".to_owned());
    let shape = first.dataset.hierarchy().shape_of(variable);
    if variable.is_structured() {
        // Bytes are addresses in heaps, or have another layout.
        let open = |part: &Part| part.dataset.user_array(&variable.path).map_err(|error| unread(part, error));
        let (ours, theirs) = (open(first)?, open(part)?);
        for slab in rows(&shape, variable.dtype.size() as u64) {
            match ours.differing(&slab, (&theirs, &slab)) {
                Ok(None) => {}
                Ok(Some(_)) => return Err(differ()),
                Err(SideError::One(error)) => return Err(unread(first, *error)),
                Err(SideError::Other(error)) => return Err(unread(part, *error)),
            }
        }
        return Ok(());
    }
    if variable.dtype.is_variable_length() {
        let read = |part: &Part| {
            let strings: StringArray = part.dataset.strings(&variable.path)?;
            strings.read(&Slab::whole(&shape))
        };
        let (ours, theirs) =
            (read(first).map_err(|e| unread(first, e))?, read(part).map_err(|e| unread(part, e))?);
        return if ours == theirs { Ok(()) } else { Err(differ()) };
    }
    let open = |part: &Part| part.dataset.array(&variable.path).map_err(|error| unread(part, error));
    let (ours, theirs) = (open(first)?, open(part)?);
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for slab in rows(&shape, variable.dtype.size() as u64) {
        let len =
            slab.elements().and_then(|count| usize::try_from(count).ok()?.checked_mul(variable.dtype.size()));
        let len = len.unwrap_or(usize::MAX);
        let reserved = one.try_reserve(len.saturating_sub(one.len())).and_then(|()| other.try_reserve(len));
        if reserved.is_err() {
            let reason = format!("no memory to compare {len} bytes");
            return Err(unread(part, DataError::Unsupported { variable: variable.path.clone(), reason }));
        }
        one.resize(len, 0_u8);
        other.resize(len, 0_u8);
        ours.read_bytes(&slab, Elements::Native, &mut one).map_err(|error| unread(first, error))?;
        theirs.read_bytes(&slab, Elements::Native, &mut other).map_err(|error| unread(part, error))?;
        if one != other {
            return Err(differ());
        }
    }
    Ok(())
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

/// Calls `found` with the names of attributes that differ.
fn differing(ours: &[Attribute], theirs: &[Attribute], found: &mut dyn FnMut(&str)) {
    let value = |of: &[Attribute], name: &str| {
        of.iter().find(|attribute| attribute.name == name).map(|attribute| plain(&attribute.value))
    };
    let names = ours.iter().chain(theirs).map(|attribute| attribute.name.as_str());
    for name in names.filter(|name| !is_meaning(name)) {
        if value(ours, name) != value(theirs, name) {
            found(name);
        }
    }
}

fn note(first: &str, differ: &BTreeSet<String>) -> Option<String> {
    let names = named(differ.iter().map(String::as_str))?;
    Some(format!("attributes differ, those of {first} are kept: {names}"))
}

/// Names the variables whose values are converted.
fn converted(first: &str, all: &[Conversions]) -> Option<String> {
    let of_values = all.iter().flatten().filter(|(_, conversion)| !conversion.is_of_byte_order());
    let paths: BTreeSet<&str> = of_values.map(|(path, _)| path.trim_matches('/')).collect();
    let names = named(paths.into_iter())?;
    Some(format!("values are converted to the units, packing and missing values of {first}: {names}"))
}

/// The first names, and how many more there are; `None` if there is none.
fn named<'n>(mut names: impl ExactSizeIterator<Item = &'n str>) -> Option<String> {
    let shown: Vec<&str> = names.by_ref().take(NAMED).collect();
    match (shown.is_empty(), names.len()) {
        (true, _) => None,
        (_, 0) => Some(shown.join(", ")),
        (_, more) => Some(format!("{} and {more} more", shown.join(", "))),
    }
}
