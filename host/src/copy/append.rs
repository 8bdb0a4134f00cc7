//! Appending the records of one dataset to another.

mod order;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ncz_model::Container;
use ncz_model::{Appending, Interrupted, Reached};
use ncz_model::{DataError, DimensionRef, Hierarchy, SideError, Variable};
use ncz_store::MemoryStore;
use ncz_zarr::metadata::ReadOptions;
use ncz_zarr::{Dataset, Receipt};

use super::strings::AnyVariableCopy;
use super::{
    CopyError, CopyOptions, CopySummary, ForeignObjects, Resources, Selection, UnreadableSource,
    UnreadableVariable, rechunk, run,
};
use crate::agreement::{self, is_same_dimension};
use crate::conversion::{Conversion, Conversions, Converted, Source};
use crate::progress::{Phase, Progress};
use crate::tiles::Window;

/// How messages name the two datasets.
const SIDES: (&str, &str) = ("the source", "the target");

/// What to do about a variable that is not appended.
const LEAVE_OUT: &str = "leave it out, if that of the target is right for these records too";

/// What an append did.
#[derive(Debug)]
pub struct Appended {
    /// What was copied; no variable if nothing was.
    pub summary: CopySummary,
    /// An interrupted append, or other growth, that was finished or given up first.
    pub recovered: Option<Interrupted>,
    /// The paths of variables whose values were converted to the units, packing and missing values of the target.
    pub converted: Vec<String>,
    /// Attributes that differ and are those of the target, as `variable:attribute`, or `group:attribute`.
    pub differing: Vec<String>,
    /// The paths of variables whose fill value xarray masks in the source and not in the target, where it does not mark
    /// missing values.
    pub unmasked_fills: Vec<String>,
    /// The records were there: [`recovered`](Self::recovered) had appended them, and nothing was appended now.
    pub already_appended: bool,
    /// To be confirmed when it is recorded elsewhere that the append is done. Until then the same append is not made
    /// twice.
    pub receipt: Receipt,
}

/// What an append will do.
#[derive(Debug)]
struct Plan {
    /// The path of the dimension.
    dimension: String,
    /// Paths of the variables that get longer, and which of their dimensions.
    variables: Vec<(String, usize)>,
    /// The length of the dimension in the target.
    old: u64,
    /// How many records come.
    records: u64,
    /// How variables of the source become those of the target.
    conversions: Conversions,
    /// The paths of variables that stay as they are, and how those of the source become those of the target.
    fixed: Vec<(String, Result<Option<Conversion>, String>)>,
    /// Attributes that differ.
    differing: Vec<String>,
}

/// Writes the records of `source` along an unlimited dimension (its name, or its path) after those of `target`, and
/// makes them visible at the end. All variables of the dimension get them. Formats, chunks, codecs and byte orders of
/// the two may differ; types, the other dimensions, the attributes that give numbers their meaning, and the values of
/// variables without the dimension must be the same. Times in other units (CF conventions, the same calendar), other
/// packing (`scale_factor`, `add_offset`) and other missing values become those of the target, if every value stays
/// exact; one that does not is an error.
///
/// A coordinate of the dimension that has numbers or times must go on as in the target, where it grows or shrinks, unless
/// [`any_order`](CopyOptions::any_order) is set: records that are there are not appended a second time. Missing values in
/// it are left out. Texts may have another length, or any, if those of the source fit.
///
/// Of the options the selection, memory, [`verify`](CopyOptions::verify) and `any_order` count. A slab of the dimension is the
/// part of the source that is appended. Pure Zarr has no unlimited dimensions: there any may grow. To verify if a
/// codec of the target is lossy, its old records have to be whole chunks ([`CopyError::Unverifiable`]).
///
/// An append that is interrupted can be run again: if the records were appended, which the next program that opens the
/// target for writing sees to, they are not appended a second time. See [`append_with_receipt`].
///
/// # Errors
/// See [`CopyError`]. Until the very end the target has its old length, whatever happens. If the last step fails,
/// [`journal::interrupted`](ncz_zarr::journal::interrupted) reports how far it came.
pub fn append(
    source: &dyn Container,
    target: Dataset,
    dimension: &str,
    options: &CopyOptions,
    progress: &dyn Progress,
) -> Result<CopySummary, CopyError> {
    let store = target.store().clone();
    let appended = append_with_receipt(source, target, dimension, options, progress)?;
    if let Err(error) = appended.receipt.confirm(&*store) {
        tracing::warn!(target: "ncz", store = %store, "the records are appended, but the journal is left: {error}");
    }
    Ok(appended.summary)
}

/// Appends as [`append`] does, and returns a receipt: the journal of the append stays until the receipt is confirmed,
/// and as long as it exists the same append is not made twice.
///
/// After an interruption the target's last records are compared with those of the source. If they are equal, and the
/// source is the same or the records have a coordinate, they were appended.
///
/// # Errors
/// As there; [`CopyError::SourceChanged`].
pub fn append_with_receipt(
    source: &dyn Container,
    mut target: Dataset,
    dimension: &str,
    options: &CopyOptions,
    progress: &dyn Progress,
) -> Result<Appended, CopyError> {
    options.selection.check(source.hierarchy())?;
    let lost = options.selection.unreadable(source, target.hierarchy().format, false)?;
    let mut plan = Plan::make(source, &target, dimension, options, &lost)?;
    plan.check_fixed(source, &target, options)?;
    let conversions = std::mem::take(&mut plan.conversions);
    let differing = std::mem::take(&mut plan.differing);
    let converted = conversions.iter().filter(|(_, conversion)| !conversion.keeps_numbers());
    let converted: Vec<String> = converted.map(|(path, _)| path.clone()).collect();
    let unmasked_fills =
        agreement::unmasked_fills(source.hierarchy(), target.hierarchy(), &options.selection);
    let view;
    let source: &dyn Container = match conversions.is_empty() {
        true => source,
        false => {
            view = Converted::new(Source::Borrowed(source), conversions)?;
            &view
        }
    };
    if options.verify {
        plan.check_verifiable(&target)?;
    }
    let appending = plan.appending(source, options)?;
    let recovered = target.recovered().cloned();
    if let Some(Interrupted { append: Some(done), reached: Reached::Lengths | Reached::All, .. }) = &recovered
    {
        let receipt = target.recovered_receipt();
        let same = |one: &Appending| (one.source.clone(), one.part.clone(), one.dimension.clone());
        let is_same = same(done) == same(&appending);
        if (is_same || plan.has_coordinate(&target, done.old)?)
            && plan.is_there(done, source, &target, options, progress)?
        {
            let unreadable = lost.into_iter().map(UnreadableVariable::from).collect();
            let (variables, foreign_objects, elapsed) =
                (Vec::new(), ForeignObjects::default(), Duration::ZERO);
            let summary = CopySummary { variables, foreign_objects, unreadable, elapsed };
            let already_appended = true;
            return Ok(Appended {
                summary,
                recovered,
                converted,
                differing,
                unmasked_fills,
                already_appended,
                receipt,
            });
        }
        if is_same {
            receipt.confirm(&**target.store())?;
            return Err(CopyError::SourceChanged { append: Box::new(done.clone()) });
        }
    }
    if !options.any_order {
        plan.check_order(source, &target, &options.selection)?;
    }
    target.begin_append(appending)?;
    let started = Instant::now();
    let (store, session) = (target.store().clone(), target.session().clone());
    let is_pure = !target.hierarchy().format.is_nczarr();
    let variables = match plan.write(source, &mut target, options, progress) {
        Ok(variables) => variables,
        Err(error) => {
            let is_ours = target.holds_journal();
            target.discard();
            if is_ours {
                let read = ReadOptions { pure: is_pure, ..ReadOptions::default() };
                // No reader sees chunks beyond the end, so that they may stay if they cannot be removed now.
                let _ = Dataset::open(store, session, &read).and_then(|mut target| {
                    let cleared = plan.grow(&mut target);
                    target.discard();
                    cleared
                });
            }
            return Err(error);
        }
    };
    let receipt = target.finish_append()?;
    let unreadable = lost.into_iter().map(UnreadableVariable::from).collect();
    let (foreign_objects, elapsed) = (ForeignObjects::default(), started.elapsed());
    let summary = CopySummary { variables, foreign_objects, unreadable, elapsed };
    let already_appended = false;
    Ok(Appended { summary, recovered, converted, differing, unmasked_fills, already_appended, receipt })
}

impl Plan {
    /// Looks whether the two go together.
    fn make(
        source: &dyn Container,
        target: &Dataset,
        dimension: &str,
        options: &CopyOptions,
        lost: &[UnreadableSource],
    ) -> Result<Self, CopyError> {
        let (ours, theirs) = (source.hierarchy(), target.hierarchy());
        let reference = find(theirs, dimension)?;
        let (Some(to), Some(from)) = (theirs.dimension(&reference), ours.dimension(&reference)) else {
            return Err(CopyError::NoSuchDimension { dimension: reference.to_string() });
        };
        if theirs.format.is_nczarr() && !to.unlimited {
            return Err(CopyError::Fixed { dimension: reference.to_string(), len: to.len });
        }
        if let Some(unknown) = theirs.unreadable().next() {
            let reason = "it cannot be read, so it is not known whether it would have to grow too".to_owned();
            return Err(CopyError::Disagree { path: unknown.path.clone(), reason });
        }
        let slab = options.selection.slabs.get(&reference);
        let records = slab.map_or(from.len, |indices| indices.count);
        let has = |variable: &&Variable| {
            options.selection.has(&variable.path) && lost.iter().all(|lost| lost.path != variable.path)
        };
        let along = |variable: &&Variable| {
            variable.dimensions.iter().any(|dimension| is_same_dimension(ours, &reference, dimension))
        };
        if let Some(missing) =
            ours.variables().filter(has).find(|variable| theirs.variable(&variable.path).is_err())
        {
            let lost = if along(&missing) { "its records" } else { "it" };
            let reason = format!(
                "it is not in the target, which would not have {lost}; leave it out, or copy {dimension:?} with it \
                 to a new dataset"
            );
            return Err(CopyError::Disagree { path: missing.path.clone(), reason });
        }
        let (mut variables, mut fixed, mut conversions) = (Vec::new(), Vec::new(), Conversions::new());
        let mut differing = agreement::differing_groups(ours, theirs);
        for variable in theirs.variables() {
            let disagree = |reason: String| CopyError::Disagree { path: variable.path.clone(), reason };
            let original = ours.variables().filter(has).find(|original| original.path == variable.path);
            let is_along = |d: &usize| is_same_dimension(theirs, &reference, &variable.dimensions[*d]);
            let axes: Vec<usize> = (0..variable.dimensions.len()).filter(is_along).collect();
            let original = match (original, axes.len()) {
                (None, 0) => continue,
                (None, _) => {
                    return Err(disagree(
                        "no records come for it, so that it would get fill values; copy both to a new dataset without \
                         it"
                            .to_owned(),
                    ));
                }
                (Some(_), 2..) => return Err(disagree(format!("it has the dimension {dimension:?} twice"))),
                (Some(original), _) => original,
            };
            let axis = axes.first().copied();
            let remedy = if axis.is_some() { "convert it in one of them" } else { LEAVE_OUT };
            let disagree = |reason: String| disagree(format!("{reason}; {remedy}"));
            let (one, other) = ((original, ours), (variable, theirs));
            let conversion = match agreement::is_text(original) && agreement::is_text(variable) {
                true => agreement::same_texts(SIDES, one, other).map(|()| None),
                false => Conversion::between(SIDES, one, other),
            };
            let slabs = &options.selection.slabs;
            let lens = original.dimensions.iter().zip(ours.shape_of(original));
            let lens: Vec<u64> =
                lens.map(|(of, len)| slabs.get(of).map_or(len, |indices| indices.count)).collect();
            agreement::same_dimensions(SIDES, one, other, &lens, axis).map_err(&disagree)?;
            let Some(axis) = axis else {
                fixed.push((variable.path.clone(), conversion));
                continue;
            };
            let conversion = conversion.map_err(&disagree)?;
            differing.extend(agreement::differing(original, variable));
            let (len, old) = (lens.get(axis).copied(), theirs.shape_of(variable).get(axis).copied());
            if (len, old) != (Some(records), Some(to.len)) {
                let (len, old) = (len.unwrap_or(0), old.unwrap_or(0));
                return Err(disagree(format!(
                    "{len} records would follow its {old}, but {records} follow the {} of the others",
                    to.len
                )));
            }
            conversions.extend(conversion.map(|one| (variable.path.clone(), one)));
            variables.push((variable.path.clone(), axis));
        }
        let (dimension, old) = (reference.to_string(), to.len);
        Ok(Self { dimension, variables, old, records, conversions, fixed, differing })
    }

    /// Checks that variables that stay as they are have the same values on both sides: else the records would be at
    /// other places, or times.
    fn check_fixed(
        &mut self,
        source: &dyn Container,
        target: &Dataset,
        options: &CopyOptions,
    ) -> Result<(), CopyError> {
        let (ours, theirs) = (source.hierarchy(), target.hierarchy());
        for (path, conversion) in std::mem::take(&mut self.fixed) {
            let disagree = |reason: String| CopyError::Disagree {
                path: path.clone(),
                reason: format!("{reason}; {LEAVE_OUT}"),
            };
            let variable = theirs.variable(&path).map_err(DataError::from)?;
            let copied;
            let (one, conversion, window): (&dyn Container, _, _) = match conversion {
                Ok(conversion) => {
                    let original = ours.variable(&path).map_err(DataError::from)?;
                    (source, conversion, options.selection.window(original))
                }
                Err(reason) => {
                    copied =
                        copied_alone(&path, source, target, options).map_err(|_| disagree(reason.clone()))?;
                    let original = copied.hierarchy().variable(&path).map_err(DataError::from)?;
                    let sides = ((original, copied.hierarchy()), (variable, theirs));
                    let conversion =
                        Conversion::between(SIDES, sides.0, sides.1).map_err(|_| disagree(reason))?;
                    (&copied, conversion, Window::whole(&copied.hierarchy().shape_of(original)))
                }
            };
            let original = one.hierarchy().variable(&path).map_err(DataError::from)?;
            self.differing.extend(agreement::differing(original, variable));
            match agreement::same_values(&path, one, conversion, target, &window) {
                Ok(true) => {}
                Ok(false) => {
                    let reason = "its values differ, and it does not have the dimension".to_owned();
                    return Err(disagree(reason));
                }
                Err(SideError::One(error)) => return Err(CopyError::of_source(*error)),
                Err(SideError::Other(error)) => return Err((*error).into()),
            }
        }
        Ok(())
    }

    /// What the journal says of it.
    fn appending(&self, source: &dyn Container, options: &CopyOptions) -> Result<Appending, CopyError> {
        let selection = &options.selection;
        let part = match (&selection.variables, &selection.groups, &selection.exclude, &selection.slabs) {
            (None, None, exclude, slabs) if exclude.is_empty() && slabs.is_empty() => "all".to_owned(),
            part => format!("{part:?}"),
        };
        let new = self.new_len()?;
        let (dimension, old) = (self.dimension.clone(), self.old);
        Ok(Appending { source: location(source), part, dimension, old, new })
    }

    fn new_len(&self) -> Result<u64, DataError> {
        self.old.checked_add(self.records).ok_or_else(|| DataError::Unsupported {
            variable: self.variables.first().map(|(path, _)| path.clone()).unwrap_or_default(),
            reason: "it would have more than 2^64 records".to_owned(),
        })
    }

    /// Whether the records have a coordinate that can be compared, so that equal records of another source are the
    /// same.
    fn has_coordinate(&self, target: &Dataset, old: u64) -> Result<bool, DataError> {
        for (path, axis) in &self.variables {
            let variable = target.hierarchy().variable(path)?;
            let is_coordinate =
                matches!(variable.dimensions.as_slice(), [only] if only.name == variable.name);
            if is_coordinate && shared_lossy(target, path, *axis, old)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the last records of the target, which an interrupted append has brought, are those that come.
    fn is_there(
        &self,
        done: &Appending,
        source: &dyn Container,
        target: &Dataset,
        options: &CopyOptions,
        progress: &dyn Progress,
    ) -> Result<bool, CopyError> {
        let is_as_long = done.dimension == self.dimension
            && done.new == self.old
            && done.new.checked_sub(done.old) == Some(self.records);
        if !is_as_long {
            return Ok(false);
        }
        let resources = self.resources(options);
        let mut copies = Vec::new();
        for (path, axis) in &self.variables {
            // Chunks of a lossy codec with records of both sides cannot be encoded once more; the other variables
            // decide.
            if shared_lossy(target, path, *axis, done.old)?.is_none() {
                let original = source.hierarchy().variable(path).map_err(DataError::from)?;
                let window = options.selection.window(original).after(*axis, done.old);
                copies.push(AnyVariableCopy::new(source, target, original, window, resources)?);
            }
        }
        progress.begin(Phase::Verify, super::total(&copies));
        for variable in &copies {
            match variable.verify(progress) {
                Ok(_) => {}
                Err(CopyError::Verify { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn resources<'a>(&self, options: &'a CopyOptions) -> Resources<'a> {
        let memory = options.memory.unwrap_or(rechunk::MEMORY);
        Resources { memory, scratch: options.scratch.as_deref(), keep: false, salvage: false }
    }

    /// Refuses chunks of a lossy codec with records of both sides: what it makes of them cannot be made once more,
    /// since the old ones are gone by then.
    fn check_verifiable(&self, target: &Dataset) -> Result<(), CopyError> {
        for (path, axis) in &self.variables {
            if self.records > 0
                && let Some((codec, chunk)) = shared_lossy(target, path, *axis, self.old)?
            {
                return Err(CopyError::Unverifiable { path: path.clone(), codec, len: self.old, chunk });
            }
        }
        Ok(())
    }

    /// Makes the variables longer, in memory; what is stored beyond their ends becomes fill.
    fn grow(&self, target: &mut Dataset) -> Result<(), DataError> {
        for (path, axis) in &self.variables {
            let mut shape = target.hierarchy().shape_of(target.hierarchy().variable(path)?);
            shape[*axis] = self.new_len()?;
            target.resize(path, &shape)?;
        }
        Ok(())
    }

    fn write(
        &self,
        source: &dyn Container,
        target: &mut Dataset,
        options: &CopyOptions,
        progress: &dyn Progress,
    ) -> Result<Vec<super::VariableSummary>, CopyError> {
        self.grow(target)?;
        let resources = self.resources(options);
        let mut copies = Vec::new();
        for (path, axis) in &self.variables {
            let original = source.hierarchy().variable(path).map_err(DataError::from)?;
            let window = options.selection.window(original).after(*axis, self.old);
            copies.push(AnyVariableCopy::new(source, target, original, window, resources)?);
        }
        let mut variables = run(&copies, progress)?;
        for (summary, (path, axis)) in variables.iter_mut().zip(&self.variables) {
            let chunk = target.hierarchy().variable(path).map_err(DataError::from)?.chunk_shape[*axis];
            let is_lossy = !summary.lossy.is_empty() && self.records > 0;
            summary.encoded_again = if is_lossy { self.old % chunk } else { 0 };
        }
        if options.verify {
            super::verify(&copies, &mut variables, progress)?;
        }
        Ok(variables)
    }
}

/// A variable as a copy in the format of the target would have it, which may be another type with other attributes.
fn copied_alone(
    path: &str,
    source: &dyn Container,
    target: &Dataset,
    options: &CopyOptions,
) -> Result<Dataset, CopyError> {
    let store = Arc::new(MemoryStore::new("a copy to compare"));
    let format = target.hierarchy().format;
    let selection = Selection {
        variables: Some(std::iter::once(path.to_owned()).collect()),
        groups: None,
        ..options.selection.clone()
    };
    let alone = CopyOptions { format: Some(format), selection, ..CopyOptions::default() };
    super::copy(source, Arc::clone(&store), &alone, &())?;
    let read = ReadOptions { pure: !format.is_nczarr(), ..ReadOptions::default() };
    Ok(Dataset::open(store, source.session().clone(), &read)?)
}

/// The lossy codec that encodes records before and after `len` together, and the records of a chunk.
fn shared_lossy(
    target: &Dataset,
    path: &str,
    axis: usize,
    len: u64,
) -> Result<Option<(String, u64)>, DataError> {
    let variable = target.hierarchy().variable(path)?;
    let chunk = variable.chunk_shape[axis];
    if len.is_multiple_of(chunk) || variable.dtype.is_variable_length() {
        return Ok(None);
    }
    Ok(target.array(path)?.chain().lossy().next().map(|codec| (codec.name.to_string(), chunk)))
}

/// The location of a dataset, independent of how it was named.
fn location(dataset: &dyn Container) -> String {
    let (store, text) = (dataset.store(), dataset.store().to_string());
    match std::fs::canonicalize(&text) {
        Ok(path) if store.capabilities().local => path.to_string_lossy().into_owned(),
        _ => text,
    }
}

/// The dimension of this name or path.
pub(crate) fn find(hierarchy: &Hierarchy, name: &str) -> Result<DimensionRef, CopyError> {
    let all = hierarchy.groups().flat_map(|group| {
        let of = |name: &str| DimensionRef { group: group.path.clone(), name: name.to_owned() };
        group.dimensions.iter().map(move |dimension| of(&dimension.name))
    });
    let path = format!("/{}", name.trim_start_matches('/'));
    let all: Vec<DimensionRef> = all.collect();
    if let Some(found) = all.iter().find(|reference| reference.to_string() == path) {
        return Ok(found.clone());
    }
    let mut named = all.into_iter().filter(|reference| reference.name == name);
    match (named.next(), named.next()) {
        (Some(found), None) => Ok(found),
        (Some(one), Some(other)) => Err(CopyError::AmbiguousDimension {
            dimension: name.to_owned(),
            paths: vec![one.to_string(), other.to_string()],
        }),
        (None, _) => Err(CopyError::NoSuchDimension { dimension: name.to_owned() }),
    }
}
