//! Printing a dataset, for `ncz dump` and for `ncdump`.

use std::io::Write;

use ncz::codec::Dialect;
use ncz::nczarr::cdl::{self, Annotations, CdlOptions, DataWriter, Digits, TimeForm};
use ncz::nczarr::{Dataset, Group, Hierarchy, NcType, Variable};
use ncz::place::Location;
use ncz::registry::spec::{ChainSpec, format_spec_text};

use super::json;
use super::source::Source;
use crate::error::CliError;

/// What to print of a dataset, and how.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) language: Language,
    /// The name in the first line of CDL.
    pub(crate) name: String,
    /// Where the dataset is, for NcML.
    pub(crate) location: String,
    pub(crate) header: bool,
    /// Data of coordinate variables only.
    pub(crate) coordinates: bool,
    /// Paths of the variables whose data are wanted; none is all.
    pub(crate) variables: Option<Vec<String>>,
    /// Paths of the groups whose data are wanted; none is all.
    pub(crate) groups: Option<Vec<String>>,
    pub(crate) special: bool,
    pub(crate) all_filters: bool,
    pub(crate) properties: bool,
    pub(crate) fill_types: bool,
    pub(crate) digits: Digits,
    /// Whether rows of text read back as they are, which those of ncdump do not.
    pub(crate) exact_text: bool,
    pub(crate) c_format: CFormat,
    pub(crate) times: Option<TimeForm>,
    pub(crate) line_length: usize,
    pub(crate) annotations: Annotations,
    /// Values of each variable to print at most.
    pub(crate) head: Option<u64>,
}

/// What a dataset is printed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Cdl,
    Ncml,
    Json,
}

/// Whose `C_format` has its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CFormat {
    pub(crate) integers: bool,
    pub(crate) floats: bool,
    pub(crate) doubles: bool,
}

impl CFormat {
    /// Of no variable: all digits are wanted.
    pub(crate) const IGNORED: Self = Self { integers: false, floats: false, doubles: false };

    fn counts_for(self, nc_type: NcType) -> bool {
        match nc_type {
            NcType::Float => self.floats,
            NcType::Double => self.doubles,
            NcType::Char | NcType::String => false,
            _ => self.integers,
        }
    }
}

impl Plan {
    /// What both print unless told otherwise: CDL with all data and all digits.
    pub(crate) fn new(name: String, location: String) -> Self {
        Self {
            language: Language::Cdl,
            name,
            location,
            header: false,
            coordinates: false,
            variables: None,
            groups: None,
            special: false,
            all_filters: false,
            properties: true,
            fill_types: false,
            digits: Digits::Exact,
            exact_text: true,
            c_format: CFormat::IGNORED,
            times: None,
            line_length: 80,
            annotations: Annotations::default(),
            head: None,
        }
    }

    /// Whether values are printed at all.
    pub(crate) fn has_data(&self) -> bool {
        !self.header && self.language != Language::Ncml
    }

    /// Whether data of a variable are wanted.
    pub(crate) fn wants(&self, hierarchy: &Hierarchy, variable: &Variable) -> bool {
        self.variables.as_ref().is_none_or(|paths| paths.contains(&variable.path))
            && (!self.coordinates || is_coordinate(hierarchy, variable))
    }

    /// Whether data of a group's variables are wanted.
    pub(crate) fn wants_group(&self, group: &Group) -> bool {
        self.groups.as_ref().is_none_or(|paths| paths.contains(&group.path))
    }
}

/// Whether a variable has one dimension and the name of a dimension that it sees.
fn is_coordinate(hierarchy: &Hierarchy, variable: &Variable) -> bool {
    let group = match variable.path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((group, _)) => group,
    };
    variable.dimensions.len() == 1 && hierarchy.resolve_dimension(group, &variable.name).is_some()
}

/// Prints a dataset. A variable that cannot be read goes to `lost`, which says whether to go on with the others.
///
/// # Errors
/// Those of writing, and what `lost` gives back.
pub(crate) fn print(
    out: &mut dyn Write,
    dataset: &Dataset,
    place: &Location,
    plan: &Plan,
    lost: &mut dyn FnMut(&Variable, CliError) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let hierarchy = dataset.hierarchy();
    let values_of = |variable: &Variable| plan.wants(hierarchy, variable);
    let groups = |group: &Group| plan.wants_group(group);
    let filters = |variable: &Variable| filter_text(dataset, variable, plan.all_filters);
    let c_format = |nc_type: NcType| plan.c_format.counts_for(nc_type);
    let mut options = CdlOptions::new(&plan.name);
    options.special = plan.special;
    options.properties = plan.properties;
    options.filters_alone = plan.all_filters;
    options.fill_types = plan.fill_types;
    options.digits = plan.digits;
    options.exact_text = plan.exact_text;
    options.c_format = (plan.c_format != CFormat::IGNORED).then_some(&c_format);
    options.times = plan.times;
    options.line_length = plan.line_length;
    options.annotations = plan.annotations;
    options.filter_text = Some(&filters);
    options.groups = Some(&groups);
    options.values_of = Some(&values_of);
    match plan.language {
        Language::Json => return json::print(out, dataset, place, plan, lost),
        Language::Ncml => {
            let nothing = |_: &Variable| false;
            if plan.header {
                options.values_of = Some(&nothing);
            }
            cdl::ncml(out, hierarchy, &plan.location, &options)?;
        }
        Language::Cdl if plan.header => cdl::header(out, hierarchy, &options)?,
        Language::Cdl => cdl::dump(out, hierarchy, &options, &mut |variable, writer| match values(
            dataset, variable, writer, place, plan.head,
        ) {
            Err(error) if !matches!(error, CliError::Output(_)) => {
                writer.give_up(&crate::error::with_causes(&error))?;
                lost(variable, error)
            }
            result => result,
        })?,
    }
    Ok(())
}

/// Reads and prints the values of a variable, block by block.
fn values(
    dataset: &Dataset,
    variable: &Variable,
    writer: &mut DataWriter<'_>,
    place: &Location,
    head: Option<u64>,
) -> Result<(), CliError> {
    let mut source = Source::of(dataset, variable).map_err(CliError::dataset(place))?;
    if let Some(most) = head {
        writer.head(most);
    }
    source.each(source.whole(), Some(writer.wanted()), place, |values| Ok(writer.write(values)?))
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
