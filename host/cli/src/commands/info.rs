//! `ncz info`: the contents of a dataset, and its problems.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use ncz::copy::Selection;
use ncz::location::{DatasetUrl, Storage};
use ncz::model::{Container, Hierarchy, Interrupted};
use ncz::readers::{Readability, Reader, ReaderSetup, reads};
use ncz::registry::Registry;
use serde::Serialize;

use super::dump::AttributeReport;
use crate::args::Info;
use crate::codec_words::filters_words;
use crate::dataset::{consolidated_words, format_words, open, session, variables_meant};
use crate::error::{CliError, with_causes};
use crate::exit_code::Exit;
use crate::output::{Cell, Style, Table, bytes, count, ratio, write_json};
use crate::reader_report::{self, ReaderReport};
use crate::remedy;
use crate::variable_report::{
    SizedVariableReport, StoredSize, chunks_words, dimensions_words, join, raw_bytes, raw_len, type_words,
};

/// The version of the JSON form; it changes when a key changes its meaning or is removed.
const SCHEMA: u32 = 1;

/// Runs the command.
pub(crate) fn run(
    options: &Info,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
) -> Result<Exit, CliError> {
    let url = DatasetUrl::parse(&options.path)?;
    let dataset = open(&url, session(registry, Some(1), options.shuffle_size)?)?;
    let names = options.variables.iter().map(String::as_str);
    let variables = variables_meant(names, dataset.hierarchy(), &url)?;
    let variables = (!variables.is_empty()).then_some(variables);
    let selection = Selection { variables, ..Selection::default() };
    let info = DatasetInfo::of(&dataset, &url, &selection, options.sizes)?;
    if options.json {
        write_json(out, &info.report())?;
    } else {
        out.write_all(info.to_text(style).as_bytes())?;
    }
    Ok(Exit::of_findings(!info.findings.is_empty()))
}

/// What is known about a dataset.
struct DatasetInfo<'a> {
    url: &'a DatasetUrl,
    /// The dataset, or the named variables and their dimensions.
    hierarchy: Cow<'a, Hierarchy>,
    /// The stored chunks of each variable, in order.
    sizes: Option<Vec<StoredSize>>,
    findings: Vec<String>,
    notes: Vec<String>,
    readers: Vec<Readability>,
}

impl<'a> DatasetInfo<'a> {
    fn of(
        dataset: &'a dyn Container,
        url: &'a DatasetUrl,
        selection: &Selection,
        sizes: bool,
    ) -> Result<Self, CliError> {
        let hierarchy = match selection.variables {
            None => Cow::Borrowed(dataset.hierarchy()),
            Some(_) => Cow::Owned(selection.selected(dataset.hierarchy())),
        };
        let mut findings: Vec<String> = hierarchy.warnings.iter().map(ToString::to_string).collect();
        match dataset.interrupted() {
            Ok(interrupted) => findings.extend(interrupted.as_ref().map(described)),
            Err(error) => findings.push(with_causes(&error)),
        }
        for lost in dataset.hierarchy().unreadable().filter(|lost| selection.has(&lost.path)) {
            findings.push(with_causes(&lost.error()));
        }
        let mut zeros: Vec<&str> = Vec::new();
        for variable in hierarchy.variables() {
            // Are its codecs available, and do they fit?
            if let Err(error) = dataset.chain(variable) {
                findings.push(with_causes(&error));
            }
            if variable.fill.is_none() && !hierarchy.format.is_netcdf() {
                zeros.push(variable.path.as_str());
            }
        }
        let mut notes = Vec::new();
        if !zeros.is_empty() {
            let names = zeros.join(", ");
            notes.push(format!("no fill value, so missing chunks read as zeros: {names}"));
        }
        if hierarchy.root_array {
            notes.push("the root is an array, shown as a group with one variable".to_owned());
        }
        let left: Vec<String> = dataset.store().leftovers().into_iter().map(|left| left.path).collect();
        if !left.is_empty() {
            notes.push(format!("left by an interrupted writer: {}", left.join(", ")));
        }
        let sizes = match sizes {
            true => Some(
                hierarchy
                    .variables()
                    .map(|variable| StoredSize::of(dataset, url, variable))
                    .collect::<Result<_, _>>()?,
            ),
            false => None,
        };
        let is_zip = url.new_storage() == Storage::Zip && !hierarchy.format.is_netcdf();
        let registry = &dataset.session().registry;
        let setups = Reader::ALL.into_iter().map(ReaderSetup::from);
        let readers = setups.map(|setup| reads(&hierarchy, registry, is_zip, setup)).collect();
        Ok(Self { url, hierarchy, sizes, findings, notes, readers })
    }

    /// Whether only some variables are shown, with their attributes.
    fn has_attributes(&self) -> bool {
        matches!(self.hierarchy, Cow::Owned(_))
    }

    fn to_text(&self, style: Style) -> String {
        let hierarchy = &*self.hierarchy;
        let mut text =
            format!("{}: {}\n", style.bold(&self.url.location.to_string()), format_words(hierarchy.format));
        if let Some(properties) = &hierarchy.nc_properties {
            text.push_str(&format!("  written by {properties}\n"));
        }
        if !hierarchy.format.is_netcdf() {
            text.push_str(&format!(
                "  consolidated metadata: {}\n",
                consolidated_words(hierarchy.consolidated)
            ));
        }

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
                .fold(0, |sum: u64, variable| sum.saturating_add(raw_len(hierarchy, variable)));
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
        if self.has_attributes() {
            for variable in hierarchy.variables().filter(|variable| !variable.attributes.is_empty()) {
                let mut table = Table::new(&["", ""]).without_headings();
                for attribute in &variable.attributes {
                    table.row([
                        attribute.name.as_str().into(),
                        AttributeReport::new(attribute).value_text().into(),
                    ]);
                }
                text.push_str(&format!(
                    "\n  {}\n{}",
                    style.bold(&variable.path),
                    table.render(style, "    ")
                ));
            }
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
        text.push('\n');
        text.push_str(&reader_report::table(&self.readers, style));
        text
    }

    fn variables(&self) -> Table {
        let hierarchy = &*self.hierarchy;
        let mut headings = vec!["variable", "type", "dimensions", "chunks", "codecs", ">data"];
        if self.sizes.is_some() {
            headings.extend([">stored", ">chunks", ">ratio"]);
        }
        let mut table = Table::new(&headings);
        for (index, variable) in hierarchy.variables().enumerate() {
            let raw = raw_bytes(hierarchy, variable);
            let mut row = vec![
                Cell::painted(&variable.path, Style::bold),
                type_words(variable).into(),
                dimensions_words(hierarchy, variable).into(),
                chunks_words(variable).into(),
                filters_words(&variable.filters, variable.dtype.size()).into(),
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

    fn report(&self) -> InfoReport<'_> {
        let hierarchy = &*self.hierarchy;
        let dimensions = hierarchy.groups().flat_map(|group| {
            group.dimensions.iter().map(|dimension| DimensionReport {
                path: join(&group.path, &dimension.name),
                length: dimension.len,
                unlimited: dimension.unlimited,
            })
        });
        let size = |index: usize| self.sizes.as_ref().and_then(|sizes| sizes.get(index)).copied();
        let variables = hierarchy.variables().enumerate().map(|(index, variable)| NamedVariableReport {
            variable: SizedVariableReport::new(hierarchy, variable, size(index)),
            attributes: (self.has_attributes())
                .then(|| variable.attributes.iter().map(AttributeReport::new).collect()),
        });
        InfoReport {
            schema: SCHEMA,
            path: self.url.location.to_string(),
            format: format_words(hierarchy.format),
            nczarr: hierarchy.format.is_nczarr(),
            written_by: hierarchy.nc_properties.as_deref(),
            consolidated: consolidated_words(hierarchy.consolidated),
            dimensions: dimensions.collect(),
            variables: variables.collect(),
            notes: &self.notes,
            findings: &self.findings,
            readers: self.readers.iter().map(ReaderReport::new).collect(),
        }
    }
}

/// The JSON form.
#[derive(Serialize)]
struct InfoReport<'a> {
    schema: u32,
    path: String,
    format: &'static str,
    nczarr: bool,
    written_by: Option<&'a str>,
    consolidated: &'static str,
    dimensions: Vec<DimensionReport>,
    variables: Vec<NamedVariableReport<'a>>,
    notes: &'a [String],
    findings: &'a [String],
    readers: Vec<ReaderReport<'a>>,
}

/// A variable, and its attributes if it was named.
#[derive(Serialize)]
struct NamedVariableReport<'a> {
    #[serde(flatten)]
    variable: SizedVariableReport<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<Vec<AttributeReport<'a>>>,
}

#[derive(Serialize)]
struct DimensionReport {
    path: String,
    length: u64,
    unlimited: bool,
}

/// Describes interrupted growth, with the option of the command that ends it.
fn described(interrupted: &Interrupted) -> String {
    match interrupted.remedy() {
        Some(remedy) => format!("{}: {}", interrupted.with_remedy(), remedy::advice(remedy)),
        None => interrupted.with_remedy(),
    }
}
