//! What to print of a dataset, and how.

use ncz::cdl::{Annotations, Digits, TimeForm};
use ncz::model::{Group, Hierarchy, NcType, Variable};

/// What to print of a dataset, and how.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) language: Language,
    /// The name in the first line of CDL.
    pub(crate) name: String,
    /// The location of the dataset, for NcML.
    pub(crate) location: String,
    pub(crate) header: bool,
    /// Data only of coordinate variables.
    pub(crate) coordinates: bool,
    /// Paths of the variables whose data are printed; `None` is all.
    pub(crate) variables: Option<Vec<String>>,
    /// Paths of the groups whose data are printed; `None` is all.
    pub(crate) groups: Option<Vec<String>>,
    pub(crate) special: bool,
    pub(crate) all_filters: bool,
    pub(crate) properties: bool,
    pub(crate) fill_types: bool,
    pub(crate) digits: Digits,
    /// Whether rows of text can be read back exactly, unlike those of ncdump.
    pub(crate) exact_text: bool,
    pub(crate) c_format: CFormat,
    pub(crate) times: Option<TimeForm>,
    pub(crate) line_length: usize,
    pub(crate) annotations: Annotations,
    /// Maximum number of values to print of each variable.
    pub(crate) head: Option<u64>,
}

/// The output language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Cdl,
    Ncml,
    Json,
}

/// The types whose `C_format` attribute decides how values are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CFormat {
    pub(crate) integers: bool,
    pub(crate) floats: bool,
    pub(crate) doubles: bool,
}

impl CFormat {
    /// `C_format` is ignored: all digits are printed.
    pub(crate) const IGNORED: Self = Self { integers: false, floats: false, doubles: false };

    pub(super) fn applies_to(self, nc_type: NcType) -> bool {
        match nc_type {
            NcType::Float => self.floats,
            NcType::Double => self.doubles,
            NcType::Char | NcType::String => false,
            _ => self.integers,
        }
    }
}

impl Plan {
    /// The default: CDL with all data and all digits.
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

    /// Whether data of a variable are printed.
    pub(crate) fn has_values_of(&self, hierarchy: &Hierarchy, variable: &Variable) -> bool {
        self.variables.as_ref().is_none_or(|paths| paths.contains(&variable.path))
            && (!self.coordinates || is_coordinate(hierarchy, variable))
    }

    /// Whether data of a group's variables are printed.
    pub(crate) fn has_group(&self, group: &Group) -> bool {
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
