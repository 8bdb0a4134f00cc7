//! Makes a plan for each variable from the options and the dataset.

use std::collections::BTreeMap;

use ncz::codec::Dialect;
use ncz::copy::{Codecs, Indices, Selection, Shards, VariablePlan};
use ncz::location::DatasetUrl;
use ncz::model::{Container, DataError, Format, Hierarchy, Kind, Variable};
use ncz::registry::Registry;
use ncz::registry::chain::{FilterChain, Stage, fault};
use ncz::registry::spec::ChainSpec;

use crate::args::{Copy, NccopyRules};
use crate::chunk_request::{self, ChunkRequest, Shape};
use crate::codec_notes::written_by_number;
use crate::codec_request::{self, CodecRequest, Decision, RequestedCodecs};
use crate::dataset::{unknown_variable, variable_paths};
use crate::error::CliError;
use crate::output::abbreviated;

/// The HDF5 id of shuffle.
const SHUFFLE: u32 = 2;

/// What the options request, before a dataset is opened.
pub(super) struct Requests {
    codecs: Vec<CodecRequest>,
    chunks: Vec<ChunkRequest>,
    shards: ShardRequests,
}

/// What `--shards` requests.
enum ShardRequests {
    /// No shards.
    None,
    /// Lengths of some, in the notation of `-c`.
    Lengths(Vec<ChunkRequest>),
}

/// The plan of each variable for the library, and notes for the user.
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
            codecs.push(CodecRequest::parse_filter(text).map_err(|source| filter("-F", text, source))?);
        }
        for text in &options.codecs {
            codecs.push(CodecRequest::parse_codec(text).map_err(|source| filter("--codec", text, source))?);
        }
        if let Some(level) = options.deflate {
            codecs.push(CodecRequest::deflate(level, options.shuffle));
        }
        if options.compress {
            codecs.push(CodecRequest::compress());
        }
        codec_request::check(&codecs).map_err(|twice| {
            let (given, source) = *twice;
            CliError::Filter { option: given.option, text: given.text, source: Box::new(source) }
        })?;

        let shards = match options.shards.as_slice() {
            [none] if none == "none" => ShardRequests::None,
            texts => ShardRequests::Lengths(lengths("--shards", texts)?),
        };
        Ok(Self { codecs, chunks: lengths("-c", &options.chunks)?, shards })
    }

    /// Checks that every name exists.
    fn check_names(&self, hierarchy: &Hierarchy, url: &DatasetUrl, as_nccopy: bool) -> Result<(), CliError> {
        let paths = variable_paths(hierarchy);
        let known = |path: &str| paths.contains(&path);
        if let Some((name, given)) = codec_request::unknown(&self.codecs, &paths) {
            let hint = match given.option {
                "-F" => "; write -F VARIABLE,FILTERS, or -F '*,FILTERS' for all variables",
                _ => "",
            };
            return Err(unknown_variable(url, hierarchy, name, hint));
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
        let shards = match &self.shards {
            ShardRequests::None => &[][..],
            ShardRequests::Lengths(shards) => shards,
        };
        // To nccopy any name before a colon is a variable.
        for (option, requests) in [("-c", self.chunks.as_slice()), ("--shards", shards)] {
            if as_nccopy {
                break;
            }
            chunk_request::check_colons(requests, is_dimension, known).map_err(|(given, source)| {
                CliError::Chunks { what: format!("{option} {given:?}"), source: Box::new(source) }
            })?;
        }
        let both = || self.chunks.iter().chain(shards);
        let mut named = chunk_request::variables(both());
        if let Some(name) = named.find(|name| !paths.iter().any(|path| name.matches(path))) {
            return Err(unknown_variable(url, hierarchy, name.path(), ""));
        }
        match chunk_request::dimensions(both()).find(|(name, _)| !is_dimension(name)) {
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
                    dataset: url.location.to_string(),
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
        dataset: &dyn Container,
        url: &DatasetUrl,
        format: Option<Format>,
        selection: &Selection,
        rules: Option<&NccopyRules>,
    ) -> Result<Self, CliError> {
        let hierarchy = dataset.hierarchy();
        requests.check_names(hierarchy, url, rules.is_some())?;
        let format = format.unwrap_or(hierarchy.format);
        let mut plan = Self { variables: BTreeMap::new(), notes: Vec::new() };
        if matches!(&requests.shards, ShardRequests::Lengths(shards) if !shards.is_empty()) && !format.is_v3()
        {
            let text = "--shards: only Zarr version 3 has shards; add --format zarr3";
            return Err(CliError::Usage(text.to_owned()));
        }
        for request in &requests.codecs {
            plan.notes.extend(Self::check_codecs(request, &dataset.session().registry)?);
        }
        let mut replaced = Vec::new();
        for variable in hierarchy.variables().filter(|variable| selection.has(&variable.path)) {
            // The library reports variables that cannot be read.
            let Ok(chain) = dataset.chain(variable) else { continue };
            let shape = shape(hierarchy, variable, selection);
            let chunks = chunk_request::decide(&requests.chunks, &shape).map_err(|source| {
                CliError::Chunks { what: "-c does not fit".to_owned(), source: Box::new(source) }
            })?;
            let chunks = match rules {
                Some(rules) => not_too_small(rules, &shape, variable, chunks),
                None => chunks,
            };
            let mut planned = variable.clone();
            if let Some(chunks) = &chunks {
                planned.chunk_shape.clone_from(chunks);
            }
            let codecs = match codec_request::decide(&requests.codecs, &variable.path) {
                Decision::Keep => Codecs::Keep,
                Decision::Named(request) => match &request.codecs {
                    RequestedCodecs::None => Codecs::Spec(ChainSpec::default()),
                    RequestedCodecs::Chain(_) if variable.shape.is_empty() => {
                        return Err(CliError::Usage(format!(
                            "{}: variable {:?} is a scalar, and netCDF does not allow filters on scalars; leave it out",
                            request.given, variable.path
                        )));
                    }
                    RequestedCodecs::Chain(_) if refers(variable) => {
                        return Err(CliError::Usage(format!(
                            "{}: the elements of variable {:?} refer to heaps of the file, which filters do not reach; \
                             leave it out",
                            request.given, variable.path
                        )));
                    }
                    RequestedCodecs::Chain(spec) => Codecs::Spec(spec.clone()),
                    RequestedCodecs::ByType => Codecs::Sensible,
                },
                Decision::All(request) => match &request.codecs {
                    RequestedCodecs::None => Codecs::Spec(ChainSpec::default()),
                    RequestedCodecs::ByType => Codecs::Sensible,
                    RequestedCodecs::Chain(spec) => plan.for_all(dataset, &planned, format, spec)?,
                },
            };
            if codecs == Codecs::Keep && !stays(&chain, format) {
                replaced.push(variable.path.clone());
            }
            let shards = plan.shards(&requests.shards, &planned, shape)?;
            let planned = VariablePlan { codecs, chunks, shards };
            if planned != VariablePlan::default() {
                plan.variables.insert(variable.path.clone(), planned);
            }
        }
        plan.notes.extend(replaced_note(&replaced, format));
        Ok(plan)
    }

    /// Returns how the chunks of a variable are grouped. `shape` is its shape in the copy.
    fn shards(
        &mut self,
        requests: &ShardRequests,
        variable: &Variable,
        shape: Shape<'_>,
    ) -> Result<Shards, CliError> {
        let requests = match requests {
            ShardRequests::None => return Ok(Shards::Single),
            ShardRequests::Lengths(requests) => requests,
        };
        let current = variable.sharding.as_ref().map_or(&variable.chunk_shape, |sharding| &sharding.shape);
        // A shard can be longer than the array: more may be appended.
        let unlimited = vec![true; shape.unlimited.len()];
        let shape = Shape { chunks: current.clone(), unlimited, ..shape };
        let lens = chunk_request::decide(requests, &shape).map_err(|source| CliError::Chunks {
            what: "--shards does not fit".to_owned(),
            source: Box::new(source),
        })?;
        match lens {
            None => Ok(Shards::Keep),
            Some(_) if variable.dtype.is_variable_length() => {
                self.notes.push(format!("{} has strings of any length, which get no shards", variable.path));
                Ok(Shards::Keep)
            }
            Some(lens) => Ok(Shards::Of(lens)),
        }
    }

    /// Looks up the codecs of a request before anything is written, and returns notes on them.
    fn check_codecs(request: &CodecRequest, registry: &Registry) -> Result<Vec<String>, CliError> {
        let RequestedCodecs::Chain(spec) = &request.codecs else { return Ok(Vec::new()) };
        let stages = spec
            .resolve(registry)
            .map_err(|source| CliError::Codec { text: request.given.to_string(), source: source.into() })?;
        // In metadata these are notes, but what a user requests is either done as it is written or refused. Parameters
        // give no notes; the same configuration as JSON does.
        let as_json = |stage: &Stage| {
            // Without a size shuffle takes that of the elements; its JSON cannot leave it open without a note.
            let id = stage.info.filter_id.filter(|id| *id != SHUFFLE && !stage.is_by_number())?;
            let json = stage.config.to_json(Dialect::Numcodecs).ok()?;
            let entry = registry.by_id(id).ok()?;
            let mut notes = Vec::new();
            entry.codec().parse_json(Dialect::Numcodecs, &json, &mut notes).ok()?;
            Some(fault(notes.first()?, &*stage.config))
        };
        match stages.iter().find_map(|stage| stage.fault().or_else(|| as_json(stage))) {
            Some(fault) => Err(CliError::Usage(format!("{}: {fault}", request.given))),
            None => Ok(stages.iter().filter_map(written_by_number).collect()),
        }
    }

    /// Returns the codecs of a variable for a request for all variables. A variable that cannot have the chain keeps its
    /// codecs, with a note.
    fn for_all(
        &mut self,
        dataset: &dyn Container,
        variable: &Variable,
        format: Format,
        spec: &ChainSpec,
    ) -> Result<Codecs, CliError> {
        if variable.shape.is_empty() {
            self.notes.push(format!("{} is a scalar, which has no filters", variable.path));
            return Ok(Codecs::Keep);
        }
        if refers(variable) {
            let path = &variable.path;
            self.notes.push(format!("{path} gets no filters: its elements refer to heaps of the file"));
            return Ok(Codecs::Spec(ChainSpec::default()));
        }
        let numeric = matches!(variable.dtype.kind(), Kind::Int | Kind::UInt | Kind::Float);
        match dataset.session().define(&mut variable.clone(), format, spec) {
            Err(DataError::Chain { source, .. }) if !numeric => {
                self.notes.push(format!(
                    "{} keeps its codecs: the chain cannot encode {}: {}",
                    variable.path, variable.dtype, source.source
                ));
                Ok(Codecs::Keep)
            }
            // The copy checks again, with the variable as it will be there.
            Err(DataError::Unsupported { .. }) => Ok(Codecs::Spec(spec.clone())),
            Err(source) => {
                Err(CliError::CannotCarry { path: variable.path.clone(), source: Box::new(source) })
            }
            Ok(_) => Ok(Codecs::Spec(spec.clone())),
        }
    }
}

/// Reads the values of an option in the notation of `-c`.
fn lengths(option: &str, texts: &[String]) -> Result<Vec<ChunkRequest>, CliError> {
    let wrong = |text: &String, source| CliError::Chunks {
        what: format!("{option} {text:?}"),
        source: Box::new(source),
    };
    let mut requests = Vec::new();
    for text in texts {
        requests.push(ChunkRequest::parse(text).map_err(|source| wrong(text, source))?);
        chunk_request::check(&requests).map_err(|source| wrong(text, source))?;
    }
    Ok(requests)
}

/// Whether the elements of a variable are rows of any length, or compounds with some or with strings.
fn refers(variable: &Variable) -> bool {
    variable.user_type.as_ref().is_some_and(|user| user.has_references())
}

/// Returns the note on codecs that the file cannot have.
fn replaced_note(replaced: &[String], format: Format) -> Option<String> {
    let what = match is_classic(format) {
        true => "stored without codecs, which classic netCDF files do not have",
        false => {
            "shuffle and deflate instead of codecs that are not HDF5 filters; choose others with --codec"
        }
    };
    (!replaced.is_empty()).then(|| format!("{}: {what}", abbreviated(replaced)))
}

/// Whether a variable can keep its codecs in this format: netCDF-4 files have HDF5 filters, classic files none.
fn stays(chain: &FilterChain, format: Format) -> bool {
    let has_numbers = || chain.working().iter().all(|(id, _)| *id != 0);
    !format.is_netcdf() || chain.is_empty() || (!is_classic(format) && has_numbers())
}

fn is_classic(format: Format) -> bool {
    matches!(format, Format::Netcdf(kind) if !kind.is_hdf5())
}

/// Returns one chunk for a variable that nccopy makes contiguous: one without unlimited dimensions whose chunks would
/// have fewer bytes than `-M`. A variable that is too large for one chunk keeps its chunks.
fn not_too_small(
    rules: &NccopyRules,
    shape: &Shape<'_>,
    variable: &Variable,
    chunks: Option<Vec<u64>>,
) -> Option<Vec<u64>> {
    const MOST: u64 = 1 << 32;
    let bytes = |lens: &[u64]| lens.iter().copied().fold(variable.dtype.size() as u64, u64::saturating_mul);
    let current = chunks.as_deref().unwrap_or(&shape.chunks);
    let whole: Vec<u64> = shape.lengths.iter().map(|&len| len.max(1)).collect();
    let is_small = bytes(current) < rules.least_chunk && !shape.unlimited.contains(&true);
    if !is_small || bytes(&whole) > MOST || whole == current {
        return chunks;
    }
    Some(whole).filter(|whole| *whole != shape.chunks)
}

/// Returns what the chunks of a variable depend on.
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
