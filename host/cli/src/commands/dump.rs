//! `ncz dump`: a dataset as CDL.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ncz::codec::Dialect;
use ncz::nczarr::cdl::{self, CdlOptions, DataWriter};
use ncz::nczarr::{Array, Dataset, Elements, Slab, Value, Variable};
use ncz::registry::Registry;
use ncz::registry::spec::{ChainSpec, format_spec_text};

use crate::args::Dump;
use crate::dataset::{open, session, unknown_variable};
use crate::error::{CliError, with_causes};
use crate::exit::Exit;
use crate::filter_spec::full_path;
use crate::path::Place;
use crate::talk::Talk;

/// Bytes of values to hold at a time; as typed values they are there twice.
const BLOCK: u64 = 8 << 20;

/// Runs the command.
pub(crate) fn run(
    options: &Dump,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    talk: Talk,
) -> Result<Exit, CliError> {
    let place = Place::parse(&options.path)?;
    let dataset = open(&place, session(registry, options.threads, options.shuffle_size)?)?;
    let hierarchy = dataset.hierarchy();
    let wanted = wanted(options, &dataset, &place)?;
    let mut findings = false;
    for warning in &hierarchy.warnings {
        talk.warn(&warning.to_string());
        findings = true;
    }
    for lost in hierarchy.unreadable() {
        talk.warn(&with_causes(&lost.error()));
        findings = true;
    }

    let name = options.name.clone().unwrap_or_else(|| name_of(&place.path));
    let values_of = |variable: &Variable| wanted.as_ref().is_none_or(|paths| paths.contains(&variable.path));
    let filters = |variable: &Variable| filter_text(&dataset, variable, options.all_filters);
    let mut cdl_options = CdlOptions::new(&name);
    cdl_options.special = options.special || options.all_filters;
    cdl_options.filter_text = Some(&filters);
    cdl_options.values_of = Some(&values_of);
    if let Some(digits) = options.digits {
        cdl_options.digits = digits.into();
    }

    if options.header {
        cdl::header(out, hierarchy, &cdl_options)?;
        return Ok(Exit::of_findings(findings));
    }
    // All codecs are looked up first: an error is better than half a text.
    let mut arrays = Vec::new();
    for variable in hierarchy.variables().filter(|variable| values_of(variable)) {
        if variable.nc_type.is_none() {
            talk.warn(&format!(
                "variable {:?} is of the Zarr type {}, which CDL cannot express; its values are left out",
                variable.path, variable.dtype
            ));
            findings = true;
            continue;
        }
        let array = dataset.array(&variable.path);
        arrays.push(array.map_err(CliError::dataset(&place.path))?);
    }
    let mut arrays = arrays.into_iter();
    cdl::dump(out, hierarchy, &cdl_options, &mut |variable, writer| {
        // Variables without values are not asked for.
        match arrays.find(|array| array.path() == variable.path) {
            Some(array) => write_values(&array, variable, writer, &place.path),
            None => Ok(()),
        }
    })?;
    Ok(Exit::of_findings(findings))
}

/// The variables that `-v` names, by path; none is all.
fn wanted(options: &Dump, dataset: &Dataset, place: &Place) -> Result<Option<Vec<String>>, CliError> {
    if options.variables.is_empty() {
        return Ok(None);
    }
    let hierarchy = dataset.hierarchy();
    let mut wanted = Vec::new();
    for name in options.variables.iter().flat_map(|list| list.split(',')) {
        let path = full_path(name);
        if let Some(lost) = hierarchy.unreadable().find(|lost| lost.path == path) {
            return Err(CliError::dataset(&place.path)(lost.error().into()));
        }
        // A bare name means every variable of that name, as in ncdump.
        let named =
            |variable: &&Variable| variable.path == path || (!name.contains('/') && variable.name == name);
        let before = wanted.len();
        wanted.extend(hierarchy.variables().filter(named).map(|variable| variable.path.clone()));
        if wanted.len() == before {
            return Err(unknown_variable(place, hierarchy, name, ""));
        }
    }
    Ok(Some(wanted))
}

/// Reads and prints a variable block by block.
fn write_values(
    array: &Array,
    variable: &Variable,
    writer: &mut DataWriter<'_>,
    path: &Path,
) -> Result<(), CliError> {
    let failed = CliError::dataset(path);
    let nc_type = variable.netcdf_type().map_err(|error| failed(error.into()))?;
    let element = array.dtype().size();
    let mut buffer = Vec::new();
    for slab in Blocks::new(array.shape(), array.chunk_shape(), element as u64) {
        let count = slab.count().iter().product::<u64>();
        // A block has at most `BLOCK` bytes, or one element.
        buffer.resize(count as usize * element, 0);
        array.read(&slab, Elements::Native, &mut buffer).map_err(&failed)?;
        let values = Value::from_native_bytes(nc_type, element, &buffer).ok_or_else(|| CliError::Values {
            variable: variable.path.clone(),
            dtype: variable.dtype.to_string(),
        })?;
        writer.write(&values)?;
    }
    Ok(())
}

/// The blocks of an array in row-major order, each within [`BLOCK`].
struct Blocks {
    shape: Vec<u64>,
    /// The dimension that is cut: those inside are whole, those outside of length one.
    cut: usize,
    step: u64,
    next: Option<Vec<u64>>,
}

impl Blocks {
    fn new(shape: &[u64], chunk: &[u64], element: u64) -> Self {
        let mut cut = shape.len().saturating_sub(1);
        // Bytes of one index of the dimension that is cut.
        let mut inner = element.max(1);
        while cut > 0 && inner.saturating_mul(shape[cut]) <= BLOCK {
            inner *= shape[cut];
            cut -= 1;
        }
        let mut step = (BLOCK / inner.max(1)).max(1);
        if let (Some(&len), Some(&chunk)) = (shape.get(cut), chunk.get(cut)) {
            step = step.min(len.max(1));
            if step < len && step > chunk {
                // Whole chunks, so that none is decoded twice.
                step -= step % chunk;
            }
        }
        let empty = shape.contains(&0);
        Self { cut, step, next: (!empty).then(|| vec![0; shape.len()]), shape: shape.to_vec() }
    }
}

impl Iterator for Blocks {
    type Item = Slab;

    fn next(&mut self) -> Option<Slab> {
        let start = self.next.take()?;
        let mut count = vec![1; start.len()];
        count.iter_mut().zip(&self.shape).skip(self.cut).for_each(|(count, len)| *count = *len);
        if let Some(len) = count.get_mut(self.cut) {
            *len = self.step.min(self.shape[self.cut] - start[self.cut]);
        }
        let mut after = start.clone();
        for dimension in (0..=self.cut.min(start.len().saturating_sub(1))).rev() {
            let Some(at) = after.get_mut(dimension) else { break };
            *at += if dimension == self.cut { self.step } else { 1 };
            if *at < self.shape[dimension] {
                self.next = Some(after);
                break;
            }
            *at = 0;
        }
        Some(Slab::new(start, count))
    }
}

/// What ncdump shows as `_Filter`: the filters that have no attribute of their own, or all with `-F`.
fn filter_text(dataset: &Dataset, variable: &Variable, all: bool) -> Option<String> {
    let spec = ChainSpec::from_json(Dialect::Numcodecs, &variable.filters).ok()?;
    let mut shown = Vec::new();
    for stage in spec.stages() {
        // A codec that is not there, or has no number, is in `_Codecs` all the same.
        let Ok(stage) = stage.resolve(&dataset.session().registry) else { continue };
        match (stage.info.filter_id, stage.config.to_params()) {
            (Some(1..=3), _) if !all => {}
            (Some(id), Ok(params)) => shown.push((id, params)),
            _ => {}
        }
    }
    let borrowed: Vec<(u32, &[u32])> = shown.iter().map(|(id, params)| (*id, params.as_slice())).collect();
    (!borrowed.is_empty()).then(|| format_spec_text(&borrowed))
}

/// The name of a dataset: that of its directory without what is behind the last point.
fn name_of(path: &Path) -> String {
    let full = path.canonicalize();
    let path = full.as_deref().unwrap_or(path);
    path.file_stem().map_or_else(|| "dataset".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn blocks_cover_every_element_once_and_in_order(
            lengths in prop::collection::vec((1u64..9, 1u64..5), 0..4),
            element in prop::sample::select(vec![1u64, 8, BLOCK / 30, BLOCK / 3, BLOCK, BLOCK * 2]),
        ) {
            let shape: Vec<u64> = lengths.iter().map(|(len, _)| *len).collect();
            let chunk: Vec<u64> = lengths.iter().map(|(_, chunk)| *chunk).collect();
            let mut next = 0u64;
            for slab in Blocks::new(&shape, &chunk, element) {
                let count: u64 = slab.count().iter().product();
                prop_assert!(count == 1 || count * element <= BLOCK, "{slab:?}");
                let first = slab.start().iter().zip(&shape).fold(0, |at, (i, len)| at * len + i);
                prop_assert_eq!(first, next, "{:?}", slab);
                let last = slab.start().iter().zip(slab.count()).zip(&shape)
                    .fold(0, |at, ((i, n), len)| at * len + i + n - 1);
                prop_assert_eq!(last + 1, first + count, "not contiguous: {:?}", slab);
                next += count;
            }
            prop_assert_eq!(next, shape.iter().product::<u64>());
        }
    }

    #[test]
    fn nothing_is_read_of_an_array_without_elements() {
        assert_eq!(Blocks::new(&[3, 0], &[1, 1], 4).count(), 0);
        assert_eq!(Blocks::new(&[], &[], 4).count(), 1);
    }
}
