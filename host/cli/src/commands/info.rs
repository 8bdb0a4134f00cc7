//! `ncz info`: what is in a dataset, and what is odd about it.

use std::io::Write;
use std::sync::Arc;

use ncz::nczarr::{Dataset, NcType, Variable, limits};
use ncz::registry::Registry;
use ncz::store::{Depth, EntryKind, Prefix, Store};
use serde_json::{Value as Json, json};

use crate::args::Info;
use crate::dataset::{codecs_words, consolidated_words, format_words, open, raw_len, session};
use crate::error::{CliError, with_causes};
use crate::exit::Exit;
use crate::output::{Cell, Style, Table, bytes, count, ratio};
use crate::path::Place;

/// The version of the JSON form; it changes when a key changes its meaning or goes.
const SCHEMA: u32 = 1;

/// Runs the command.
pub(crate) fn run(
    options: &Info,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
) -> Result<Exit, CliError> {
    let place = Place::parse(&options.path)?;
    let dataset = open(&place, session(registry, Some(1), options.shuffle_size)?)?;
    let survey = Survey::of(&dataset, &place, options.sizes)?;
    if options.json {
        writeln!(out, "{:#}", survey.to_json())?;
    } else {
        out.write_all(survey.to_text(style).as_bytes())?;
    }
    Ok(Exit::of_findings(!survey.findings.is_empty()))
}

/// What there is to say of a dataset.
struct Survey<'a> {
    place: &'a Place,
    dataset: &'a Dataset,
    /// Chunks and their bytes, in the order of the variables.
    sizes: Option<Vec<Size>>,
    findings: Vec<String>,
    notes: Vec<String>,
}

/// The stored chunks of a variable.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) chunks: u64,
    pub(crate) bytes: u64,
}

impl<'a> Survey<'a> {
    fn of(dataset: &'a Dataset, place: &'a Place, sizes: bool) -> Result<Self, CliError> {
        let hierarchy = dataset.hierarchy();
        let mut findings: Vec<String> = hierarchy.warnings.iter().map(ToString::to_string).collect();
        match dataset.interrupted() {
            Ok(interrupted) => findings.extend(interrupted.as_ref().map(|found| found.with_remedy())),
            Err(error) => findings.push(with_causes(&error)),
        }
        for lost in hierarchy.unreadable() {
            findings.push(with_causes(&lost.error()));
        }
        let mut zeros = Vec::new();
        for variable in hierarchy.variables() {
            // Whether its codecs are at hand, and fit.
            if let Err(error) = dataset.chain(variable) {
                findings.push(with_causes(&error));
            }
            if variable.fill.is_none() {
                zeros.push(variable.path.as_str());
            }
        }
        let mut notes = Vec::new();
        if !zeros.is_empty() {
            let names = zeros.join(", ");
            notes.push(format!("without a fill value, so that missing chunks read as zeros: {names}"));
        }
        if hierarchy.root_array {
            notes.push("an array at the root, shown as a group with one variable".to_owned());
        }
        let left: Vec<String> = dataset.store().leftovers().into_iter().map(|left| left.path).collect();
        if !left.is_empty() {
            notes.push(format!("left by an interrupted writer: {}", left.join(", ")));
        }
        let sizes = match sizes {
            true => Some(
                hierarchy
                    .variables()
                    .map(|variable| size(dataset, place, variable))
                    .collect::<Result<_, _>>()?,
            ),
            false => None,
        };
        Ok(Self { place, dataset, sizes, findings, notes })
    }

    fn to_text(&self, style: Style) -> String {
        let hierarchy = self.dataset.hierarchy();
        let mut text =
            format!("{}: {}\n", style.bold(&self.place.location.to_string()), format_words(hierarchy.format));
        if let Some(properties) = &hierarchy.nc_properties {
            text.push_str(&format!("  written by {properties}\n"));
        }
        text.push_str(&format!("  consolidated metadata: {}\n", consolidated_words(hierarchy.consolidated)));

        let mut dimensions = Table::new(&["dimension", ">length", ""]);
        for group in hierarchy.groups() {
            for dimension in &group.dimensions {
                let unlimited = if dimension.unlimited { "unlimited" } else { "" };
                dimensions.row([
                    join(&group.path, &dimension.name).into(),
                    dimension.len.to_string().into(),
                    unlimited.into(),
                ]);
            }
        }
        text.push('\n');
        text.push_str(&dimensions.render(style, "  "));
        text.push('\n');
        text.push_str(&self.variables().render(style, "  "));
        if let Some(sizes) = &self.sizes {
            let raw: u64 = hierarchy
                .variables()
                .fold(0, |sum, variable| sum.saturating_add(raw_len(hierarchy, variable)));
            let stored: u64 = sizes.iter().map(|size| size.bytes).sum();
            let chunks: u64 = sizes.iter().map(|size| size.chunks).sum();
            text.push_str(&format!(
                "\n  {} in {}, {} of data ({})\n",
                bytes(stored),
                count(chunks, "chunk"),
                bytes(raw),
                ratio(raw, stored)
            ));
        }
        if !self.notes.is_empty() || !self.findings.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            text.push_str(&format!("{} {note}\n", style.dim("note:")));
        }
        for finding in &self.findings {
            text.push_str(&format!("{} {finding}\n", style.warn("warning:")));
        }
        text
    }

    fn variables(&self) -> Table {
        let hierarchy = self.dataset.hierarchy();
        let mut headings = vec!["variable", "type", "dimensions", "chunks", "codecs", ">data"];
        if self.sizes.is_some() {
            headings.extend([">stored", ">chunks", ">ratio"]);
        }
        let mut table = Table::new(&headings);
        for (index, variable) in hierarchy.variables().enumerate() {
            // What strings of any length take is known only from the data.
            let raw = Some(raw_len(hierarchy, variable)).filter(|_| !variable.dtype.is_variable_length());
            let lengths = hierarchy.shape_of(variable);
            let dimensions: Vec<String> = variable
                .dimensions
                .iter()
                .zip(&lengths)
                .map(|(reference, len)| format!("{}={len}", reference.name))
                .collect();
            let mut row = vec![
                Cell::painted(&variable.path, Style::bold),
                type_words(variable).into(),
                if dimensions.is_empty() { "scalar".into() } else { dimensions.join(" ").into() },
                chunks_words(variable).into(),
                codecs_words(&variable.filters).into(),
                raw.map_or_else(|| "-".to_owned(), bytes).into(),
            ];
            if let Some(size) = self.sizes.as_ref().and_then(|sizes| sizes.get(index)) {
                row.push(bytes(size.bytes).into());
                row.push(size.chunks.to_string().into());
                row.push(raw.map_or_else(|| "-".to_owned(), |raw| ratio(raw, size.bytes)).into());
            }
            table.row(row);
        }
        table
    }

    fn to_json(&self) -> Json {
        let hierarchy = self.dataset.hierarchy();
        let dimensions: Vec<Json> = hierarchy
            .groups()
            .flat_map(|group| {
                group.dimensions.iter().map(|dimension| {
                    json!({
                        "path": join(&group.path, &dimension.name),
                        "length": dimension.len,
                        "unlimited": dimension.unlimited,
                    })
                })
            })
            .collect();
        let variables: Vec<Json> = hierarchy
            .variables()
            .enumerate()
            .map(|(index, variable)| {
                let size = self.sizes.as_ref().and_then(|sizes| sizes.get(index));
                json!({
                    "path": variable.path,
                    "dtype": variable.dtype.text(),
                    "type": variable.nc_type.map(|nc_type| nc_type.name()),
                    "dimensions": variable.dimensions.iter().map(ToString::to_string).collect::<Vec<_>>(),
                    "shape": hierarchy.shape_of(variable),
                    "chunks": variable.chunk_shape,
                    "shards": variable.sharding.as_ref().map(|sharding| &sharding.shape),
                    "codecs": variable.filters,
                    "raw_bytes": (!variable.dtype.is_variable_length()).then(|| raw_len(hierarchy, variable)),
                    "stored_bytes": size.map(|size| size.bytes),
                    "stored_chunks": size.map(|size| size.chunks),
                })
            })
            .collect();
        json!({
            "schema": SCHEMA,
            "path": self.place.location.to_string(),
            "format": format_words(hierarchy.format),
            "nczarr": hierarchy.format.is_nczarr(),
            "written_by": hierarchy.nc_properties,
            "consolidated": consolidated_words(hierarchy.consolidated),
            "dimensions": dimensions,
            "variables": variables,
            "notes": self.notes,
            "findings": self.findings,
        })
    }
}

/// Adds up the chunks of a variable: every object below its key but the metadata.
pub(crate) fn size(dataset: &Dataset, place: &Place, variable: &Variable) -> Result<Size, CliError> {
    let store: &dyn Store = &**dataset.store();
    let failed = CliError::store(&place.location);
    let prefix = if variable.key.is_empty() {
        Prefix::ROOT
    } else {
        Prefix::parse(&variable.key).map_err(|error| failed(error.into()))?
    };
    let listing = store.list(prefix, Depth::All, limits::CHILDREN).map_err(&failed)?;
    let mut size = Size { chunks: 0, bytes: 0 };
    for entry in &listing.entries {
        let key = entry.key.as_key();
        let is_document = key.name().starts_with('.') || key.name() == "zarr.json";
        if entry.kind == EntryKind::Object && !is_document {
            size.chunks += 1;
            size.bytes += store.len(key).map_err(&failed)?.unwrap_or(0);
        }
    }
    Ok(size)
}

pub(crate) fn type_words(variable: &Variable) -> String {
    let big =
        if variable.dtype.text().starts_with('>') && variable.dtype.size() > 1 { " big-endian" } else { "" };
    match (variable.nc_type, variable.dtype.vlen_codec()) {
        // Strings differ in more than their name.
        (Some(NcType::String), Some(codec)) => format!("string ({codec})"),
        (Some(NcType::String), None) => format!("string ({})", variable.dtype),
        (Some(nc_type), _) => format!("{}{big}", nc_type.name()),
        (None, Some(codec)) => codec.to_owned(),
        (None, None) => variable.dtype.text().to_owned(),
    }
}

/// The lengths of a chunk, and those of the shard around it.
pub(crate) fn chunks_words(variable: &Variable) -> String {
    let joined = |lengths: &[u64]| lengths.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
    match &variable.sharding {
        _ if variable.chunk_shape.is_empty() => "1".to_owned(),
        Some(sharding) => format!("{} in {}", joined(&variable.chunk_shape), joined(&sharding.shape)),
        None => joined(&variable.chunk_shape),
    }
}

pub(crate) fn join(group: &str, name: &str) -> String {
    format!("{}/{name}", group.trim_end_matches('/'))
}
