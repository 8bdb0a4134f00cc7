//! Whether datasets go together.

use std::collections::BTreeSet;

use ncz_model::{Container, DimensionRef, Group, Hierarchy, SideError, Variable};

use super::{ConcatError, Part};
use crate::agreement::{
    differing, differing_groups, is_same_dimension, same_dimensions, same_values, unmasked_fills,
};
use crate::conversion::{Conversion, Conversions};
use crate::copy::Selection;
use crate::tiles::Window;

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
            let (sides, names_of) = (((other, theirs), (variable, ours)), (names.1, names.0));
            let joined_axis = axis(ours, joined, variable);
            let conversion = Conversion::between(names_of, sides.0, sides.1).map_err(&disagree)?;
            let class = |variable: &Variable| variable.user_type.as_ref().map(|user| user.class.clone());
            if class(variable) != class(other) {
                return Err(disagree(format!(
                    "its user-defined type in {} differs from that in {}",
                    names.0, names.1
                )));
            }
            let is_joined = |dimension: &&DimensionRef| is_same_dimension(ours, joined, dimension);
            if variable.dimensions.iter().filter(is_joined).count() > 1 {
                return Err(disagree(format!("it has the dimension {joined} twice")));
            }
            let lens = theirs.shape_of(other);
            same_dimensions(names_of, sides.0, sides.1, &lens, joined_axis).map_err(&disagree)?;
            if joined_axis.is_none() {
                has_same_values(first, part, variable, conversion, &disagree)?;
            } else if let Some(conversion) = conversion {
                conversions.insert(variable.path.clone(), conversion);
            } else if variable.dtype != other.dtype {
                let (ours, theirs) = (&variable.dtype, &other.dtype);
                let reason = format!("its type is {ours} in {} and {theirs} in {}", names.0, names.1);
                match Conversion::of_byte_order(reason.clone(), other, variable) {
                    Some(conversion) => _ = conversions.insert(variable.path.clone(), conversion),
                    None => return Err(disagree(reason)),
                }
            }
            differ.extend(differing(other, variable));
        }
        differ.extend(differing_groups(theirs, ours));
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
    variable.dimensions.iter().position(|dimension| is_same_dimension(hierarchy, joined, dimension))
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

/// Whether a variable that is not joined has the same values.
fn has_same_values(
    first: &Part,
    part: &Part,
    variable: &Variable,
    conversion: Option<Conversion>,
    disagree: &dyn Fn(String) -> ConcatError,
) -> Result<(), ConcatError> {
    let unread = |part: &Part, source| ConcatError::Data { part: part.name.clone(), source };
    let whole = Window::whole(&first.dataset.hierarchy().shape_of(variable));
    match same_values(&variable.path, &*part.dataset, conversion, &*first.dataset, &whole) {
        Ok(true) => Ok(()),
        Ok(false) => Err(disagree("its values differ, and it does not have the dimension".to_owned())),
        Err(SideError::One(error)) => Err(unread(part, error)),
        Err(SideError::Other(error)) => Err(unread(first, error)),
    }
}

fn note(first: &str, differ: &BTreeSet<String>) -> Option<String> {
    let names = named(differ.iter().map(String::as_str))?;
    Some(format!("attributes differ, those of {first} are kept: {names}"))
}

/// Names the variables whose values are converted.
fn converted(first: &str, all: &[Conversions]) -> Option<String> {
    let of_values = all.iter().flatten().filter(|(_, conversion)| !conversion.keeps_numbers());
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
