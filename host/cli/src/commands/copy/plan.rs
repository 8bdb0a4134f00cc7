//! From options and dataset to a plan for each variable.

use std::collections::BTreeMap;

use ncz::codec::Dialect;
use ncz::copy::{Codecs, Indices, Selection, VariablePlan};
use ncz::nczarr::{DataError, Dataset, Format, Hierarchy, Kind, Variable};
use ncz::readers::{self, Unread};
use ncz::registry::Registry;
use ncz::registry::chain::{Stage, fault};
use ncz::registry::spec::ChainSpec;

use crate::args::{Copy, NccopyRules};
use crate::chunk_spec::{self, ChunkRequest, Shape};
use crate::commands::codec::by_number;
use crate::dataset::unknown_variable;
use crate::error::CliError;
use crate::filter_spec::{self, Decision, Request, Wish};
use crate::path::Place;
use crate::target::some_of;

/// The HDF5 id of shuffle.
const SHUFFLE: u32 = 2;

/// What the options ask for, before any dataset is looked at.
pub(super) struct Requests {
    codecs: Vec<Request>,
    chunks: Vec<ChunkRequest>,
}

/// What the copy engine is told, and what the user is told.
pub(super) struct Plan {
    pub(super) variables: BTreeMap<String, VariablePlan>,
    pub(super) notes: Vec<String>,
}

impl Requests {
    pub(super) fn parse(options: &Copy) -> Result<Self, CliError> {
        let filter = |option, text: &String, source| CliError::Filter {
            option,
            text: text.clone(),
            source: Box::new(source),
        };
        let mut codecs = Vec::new();
        for text in &options.filters {
            codecs.push(Request::parse_filter(text).map_err(|source| filter("-F", text, source))?);
        }
        for text in &options.codecs {
            codecs.push(Request::parse_codec(text).map_err(|source| filter("--codec", text, source))?);
        }
        if let Some(level) = options.deflate {
            codecs.push(Request::deflate(level, options.shuffle));
        }
        if options.compress {
            codecs.push(Request::compress());
        }
        filter_spec::check(&codecs).map_err(|twice| {
            let (given, source) = *twice;
            CliError::Filter { option: given.option, text: given.text, source: Box::new(source) }
        })?;

        let wrong = |text: &String, source| CliError::Chunks {
            what: format!("-c {text:?}"),
            source: Box::new(source),
        };
        let mut chunks = Vec::new();
        for text in &options.chunks {
            chunks.push(ChunkRequest::parse(text).map_err(|source| wrong(text, source))?);
            chunk_spec::check(&chunks).map_err(|source| wrong(text, source))?;
        }
        Ok(Self { codecs, chunks })
    }

    /// Checks that every name exists.
    fn check_names(&self, hierarchy: &Hierarchy, place: &Place, as_nccopy: bool) -> Result<(), CliError> {
        let known = |path: &str| {
            hierarchy.variables().any(|variable| variable.path == path)
                || hierarchy.unreadable().any(|lost| lost.path == path)
        };
        if let Some((name, given)) = filter_spec::unknown(&self.codecs, known) {
            let hint = match given.option {
                "-F" => "; -F is VARIABLE,FILTERS, and '*,FILTERS' is for all",
                _ => "",
            };
            return Err(unknown_variable(place, hierarchy, name, hint));
        }
        let dimensions: Vec<String> = hierarchy
            .groups()
            .flat_map(|group| {
                let prefix = group.path.trim_end_matches('/');
                group.dimensions.iter().map(move |dimension| format!("{prefix}/{}", dimension.name))
            })
            .collect();
        let is_dimension = |name: &str| {
            let relative = |path: &&String| path.rsplit_once('/').is_some_and(|(_, last)| last == name);
            dimensions.iter().any(|path| path == name) || dimensions.iter().any(|path| relative(&path))
        };
        // nccopy takes any name with a colon for a variable.
        if !as_nccopy {
            chunk_spec::check_colons(&self.chunks, is_dimension, known).map_err(|(given, source)| {
                CliError::Chunks { what: format!("-c {given:?}"), source: Box::new(source) }
            })?;
        }
        if let Some(name) = chunk_spec::variables(&self.chunks).find(|name| !known(name)) {
            return Err(unknown_variable(place, hierarchy, name, ""));
        }
        match chunk_spec::dimensions(&self.chunks).find(|(name, _)| !is_dimension(name)) {
            Some((name, _)) => {
                let mut hint = crate::suggest::known(name, dimensions.iter().map(String::as_str));
                let is_meant =
                    |variable: &&Variable| variable.path.rsplit('/').next() == name.rsplit('/').next();
                if let Some(variable) = hierarchy.variables().find(is_meant) {
                    let path = variable.path.trim_start_matches('/');
                    hint.push_str(&format!(
                        "; for the variable write {path}:LENGTH,... with a length for each dimension"
                    ));
                }
                Err(CliError::UnknownDimension {
                    name: name.to_owned(),
                    dataset: place.location.to_string(),
                    known: hint,
                })
            }
            None => Ok(()),
        }
    }
}

impl Plan {
    pub(super) fn make(
        requests: &Requests,
        dataset: &Dataset,
        place: &Place,
        format: Option<Format>,
        selection: &Selection,
        rules: Option<&NccopyRules>,
    ) -> Result<Self, CliError> {
        let hierarchy = dataset.hierarchy();
        requests.check_names(hierarchy, place, rules.is_some())?;
        let format = format.unwrap_or(hierarchy.format);
        let mut plan = Self { variables: BTreeMap::new(), notes: Vec::new() };
        for request in &requests.codecs {
            plan.notes.extend(Self::check_codecs(request, &dataset.session().registry)?);
        }
        let mut kept = Kept::default();
        for variable in hierarchy.variables().filter(|variable| selection.has(&variable.path)) {
            // What is unreadable is told of by the engine.
            let Ok(chain) = dataset.chain(variable) else { continue };
            let shape = shape(hierarchy, variable, selection);
            let chunks = chunk_spec::decide(&requests.chunks, &shape).map_err(|source| CliError::Chunks {
                what: "-c does not fit".to_owned(),
                source: Box::new(source),
            })?;
            let chunks = match rules {
                Some(rules) => not_too_small(rules, &shape, variable, chunks),
                None => chunks,
            };
            let mut planned = variable.clone();
            if let Some(chunks) = &chunks {
                planned.chunk_shape.clone_from(chunks);
            }
            let codecs = match filter_spec::decide(&requests.codecs, &variable.path) {
                Decision::Keep => Codecs::Keep,
                Decision::Named(request) => match &request.wish {
                    Wish::Nothing => Codecs::Spec(ChainSpec::default()),
                    Wish::Chain(_) if variable.shape.is_empty() => {
                        return Err(CliError::Usage(format!(
                            "{}: variable {:?} is a scalar, and netCDF allows no filters on scalars; leave it out",
                            request.given, variable.path
                        )));
                    }
                    Wish::Chain(spec) => Codecs::Spec(spec.clone()),
                    Wish::Sensible => Codecs::Sensible,
                },
                Decision::All(request) => match &request.wish {
                    Wish::Nothing => Codecs::Spec(ChainSpec::default()),
                    Wish::Sensible => Codecs::Sensible,
                    Wish::Chain(spec) => plan.for_all(dataset, &planned, format, spec)?,
                },
            };
            if codecs == Codecs::Keep && readers::usual(format) != readers::usual(hierarchy.format) {
                kept.add(&variable.path, readers::unread(&chain, format));
            }
            if codecs != Codecs::Keep || chunks.is_some() {
                plan.variables.insert(variable.path.clone(), VariablePlan { codecs, chunks });
            }
        }
        plan.notes.extend(kept.notes());
        Ok(plan)
    }

    /// Looks up the codecs of a request before anything is done; what is to be said of them is returned.
    fn check_codecs(request: &Request, registry: &Registry) -> Result<Vec<String>, CliError> {
        let Wish::Chain(spec) = &request.wish else { return Ok(Vec::new()) };
        let stages = spec
            .resolve(registry)
            .map_err(|source| CliError::Codec { text: request.given.to_string(), source: source.into() })?;
        // In metadata these are notes; what a user asks for is done as it is written or refused. Parameters come
        // without notes, which the same configuration as JSON has.
        let as_json = |stage: &Stage| {
            // Without a size it takes that of the elements, where JSON cannot leave it open without a remark.
            let id = stage.info.filter_id.filter(|id| *id != SHUFFLE && !stage.is_by_number())?;
            let json = stage.config.to_json(Dialect::Numcodecs).ok()?;
            let entry = registry.by_id(id).ok()?;
            let mut notes = Vec::new();
            entry.codec().parse_json(Dialect::Numcodecs, &json, &mut notes).ok()?;
            Some(fault(notes.first()?, &*stage.config))
        };
        match stages.iter().find_map(|stage| stage.fault().or_else(|| as_json(stage))) {
            Some(fault) => Err(CliError::Usage(format!("{}: {fault}", request.given))),
            None => Ok(stages.iter().filter_map(by_number).collect()),
        }
    }

    /// A chain that was asked for without naming the variable: what cannot carry it by its nature is left
    /// alone, and the user is told.
    fn for_all(
        &mut self,
        dataset: &Dataset,
        variable: &Variable,
        format: Format,
        spec: &ChainSpec,
    ) -> Result<Codecs, CliError> {
        if variable.shape.is_empty() {
            self.notes.push(format!("{} is a scalar and stays without filters", variable.path));
            return Ok(Codecs::Keep);
        }
        let numeric = matches!(variable.dtype.kind(), Kind::Int | Kind::UInt | Kind::Float);
        match dataset.session().define(&mut variable.clone(), format, spec) {
            Err(DataError::Chain { source, .. }) if !numeric => {
                self.notes.push(format!(
                    "{} keeps its codecs: {} cannot carry the chain: {}",
                    variable.path, variable.dtype, source.source
                ));
                Ok(Codecs::Keep)
            }
            // The copy asks again, of the variable as it will be there.
            Err(DataError::Unsupported { .. }) => Ok(Codecs::Spec(spec.clone())),
            Err(source) => {
                Err(CliError::CannotCarry { path: variable.path.clone(), source: Box::new(source) })
            }
            Ok(_) => Ok(Codecs::Spec(spec.clone())),
        }
    }
}

/// Codecs that variables keep and that the usual reader of the copy does not read.
#[derive(Default)]
struct Kept {
    codecs: Vec<(String, Unread, Vec<String>)>,
}

impl Kept {
    fn add(&mut self, path: &str, unread: Option<(&str, Unread)>) {
        let Some((codec, why)) = unread else { return };
        match self.codecs.iter_mut().find(|(known, reason, _)| known == codec && *reason == why) {
            Some((.., paths)) => paths.push(path.to_owned()),
            None => self.codecs.push((codec.to_owned(), why, vec![path.to_owned()])),
        }
    }

    fn notes(self) -> impl Iterator<Item = String> {
        let note = |(codec, why, paths): (String, Unread, Vec<String>)| {
            format!("{}: the codec {codec} is kept; {why}; --codec chooses another", some_of(&paths))
        };
        self.codecs.into_iter().map(note)
    }
}

/// One chunk for what nccopy makes contiguous: a variable without unlimited dimensions whose chunks would have fewer
/// bytes than `-M` says. A variable that is too large for one chunk keeps its own.
fn not_too_small(
    rules: &NccopyRules,
    shape: &Shape<'_>,
    variable: &Variable,
    chunks: Option<Vec<u64>>,
) -> Option<Vec<u64>> {
    const MOST: u64 = 1 << 32;
    let bytes = |lens: &[u64]| lens.iter().copied().fold(variable.dtype.size() as u64, u64::saturating_mul);
    let wanted = chunks.as_deref().unwrap_or(&shape.chunks);
    let whole: Vec<u64> = shape.lengths.iter().map(|&len| len.max(1)).collect();
    let is_small = bytes(wanted) < rules.least_chunk && !shape.unlimited.contains(&true);
    if !is_small || bytes(&whole) > MOST || whole == wanted {
        return chunks;
    }
    Some(whole).filter(|whole| *whole != shape.chunks)
}

/// The facts on which chunks depend.
fn shape<'a>(hierarchy: &Hierarchy, variable: &'a Variable, selection: &Selection) -> Shape<'a> {
    let lengths = hierarchy.shape_of(variable).into_iter().zip(&variable.dimensions);
    let cut =
        |(len, reference)| selection.slabs.get(reference).map_or(len, |indices: &Indices| indices.count);
    Shape {
        path: &variable.path,
        dimensions: variable.dimensions.iter().map(ToString::to_string).collect(),
        unlimited: variable
            .dimensions
            .iter()
            .map(|reference| hierarchy.dimension(reference).is_some_and(|dimension| dimension.unlimited))
            .collect(),
        lengths: lengths.map(cut).collect(),
        chunks: variable.chunk_shape.clone(),
    }
}
