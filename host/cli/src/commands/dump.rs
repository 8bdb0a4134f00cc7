//! `ncz dump`: a dataset as CDL.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ncz::codec::Dialect;
use ncz::nczarr::cdl::{self, CdlOptions, DataWriter};
use ncz::nczarr::{Array, Blocks, DataError, Dataset, Elements, NcType, Shown, StringArray, Value, Variable};
use ncz::place::Location;
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

/// Bytes that a string is thought to take.
const STRING_BYTES: usize = 64;

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

    let name = options.name.clone().unwrap_or_else(|| name_of(&place.location));
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
    let mut sources = Vec::new();
    for variable in hierarchy.variables().filter(|variable| values_of(variable)) {
        if variable.shown().is_none() {
            talk.warn(&format!(
                "variable {:?} is of the Zarr type {}, which CDL cannot express; its values are left out",
                variable.path, variable.dtype
            ));
            continue;
        }
        let source = Source::of(&dataset, variable).map_err(|source| CliError::Unprintable {
            place: place.location.clone(),
            source: Box::new(source),
        })?;
        sources.push((&variable.path, source));
    }
    let mut sources = sources.into_iter();
    cdl::dump(out, hierarchy, &cdl_options, &mut |variable, writer| {
        // Variables without values are not asked for.
        match sources.find(|(path, _)| **path == variable.path) {
            Some((_, source)) => source.write(variable, writer, &place.location),
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
            return Err(CliError::dataset(&place.location)(lost.error().into()));
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

/// Where the values of a variable come from.
enum Source {
    Strings(Box<StringArray>),
    Elements(Box<Array>),
}

impl Source {
    fn of(dataset: &Dataset, variable: &Variable) -> Result<Self, DataError> {
        match variable.shown().map(Shown::nc_type) {
            Some(NcType::String) => {
                dataset.strings(&variable.path).map(|strings| Self::Strings(Box::new(strings)))
            }
            _ => dataset.array(&variable.path).map(|array| Self::Elements(Box::new(array))),
        }
    }

    /// Reads and prints the values block by block.
    fn write(
        &self,
        variable: &Variable,
        writer: &mut DataWriter<'_>,
        place: &Location,
    ) -> Result<(), CliError> {
        let failed = CliError::dataset(place);
        let mut buffer = Vec::new();
        for slab in self.blocks() {
            let values = match self {
                Self::Strings(strings) => Some(Value::from(&strings.read(&slab).map_err(&failed)?)),
                Self::Elements(array) => {
                    let count = slab.count().iter().product::<u64>();
                    // A block has at most `BLOCK` bytes, or one element.
                    buffer.resize(count as usize * array.dtype().size(), 0);
                    array.read(&slab, Elements::Native, &mut buffer).map_err(&failed)?;
                    match variable.nc_type {
                        Some(nc_type) => Value::from_native_bytes(nc_type, array.dtype().size(), &buffer),
                        None => Value::from_elements(array.dtype(), &buffer),
                    }
                }
            };
            let values = values.ok_or_else(|| CliError::Values {
                variable: variable.path.clone(),
                dtype: variable.dtype.to_string(),
            })?;
            writer.write(&values)?;
        }
        Ok(())
    }

    fn blocks(&self) -> Blocks {
        match self {
            Self::Strings(strings) => {
                // Each string has memory of its own as a value.
                let element = strings.dtype().size().max(STRING_BYTES) as u64;
                Blocks::new(strings.shape(), strings.chunk_shape(), element, BLOCK)
            }
            Self::Elements(array) => {
                Blocks::new(array.shape(), array.chunk_shape(), array.dtype().size() as u64, BLOCK)
            }
        }
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
fn name_of(location: &Location) -> String {
    let full = location.path().and_then(|path| path.canonicalize().ok());
    let name = full.map_or_else(|| location.file_name(), |path| Location::Path(path).file_name());
    let stem = name.as_deref().map(Path::new).and_then(Path::file_stem);
    stem.map_or_else(|| "dataset".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
