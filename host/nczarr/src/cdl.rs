//! CDL, netCDF's text form of a dataset, as ncdump prints it.
//!
//! [`dump`] walks the groups and writes the header; for the values it calls back with a [`DataWriter`] for one
//! variable after the other, so that no more than one block of values is held. Layout and wrapping are those of
//! ncdump 4.10. Where ncdump is wrong this is not: empty strings are no `NIL`, text attributes come as they were
//! stored, and numbers have as many digits as they need ([`Digits`]).

mod c_format;
mod calendar;
mod data;
mod header;
mod layout;
mod names;
mod ncml;
mod number;
mod read;
mod text;
mod times;
mod types;

use std::io::{self, Write};

use serde_json::Value as Json;

pub use self::c_format::CFormat;
pub use self::data::DataWriter;
pub use self::layout::{Annotations, IndexStyle};
pub use self::names::escaped_name;
pub use self::ncml::ncml;
pub use self::number::{Digits, number_text};
pub use self::read::{
    Blocks as CdlBlocks, Cdl, CdlBlock, CdlDimension, CdlError, CdlFault, CdlFile, CdlGroup, CdlVariable,
    Special, Spot,
};
pub use self::times::TimeForm;

use crate::dtype::NcType;
use crate::json;
use crate::model::{Group, Hierarchy, Variable};

/// The values of a variable: called once for each that has any, writes all of them in row-major order.
pub type Data<'a, E> = &'a mut dyn FnMut(&Variable, &mut DataWriter<'_>) -> Result<(), E>;

/// The text of `_Filter` for a variable: `id,p1,p2|id,...` without the filters 1, 2 and 3, which have attributes of
/// their own. It takes the codec registry to know it, so the caller says.
pub type FilterText<'a> = &'a dyn Fn(&Variable) -> Option<String>;

/// What to print.
#[derive(Clone, Copy)]
pub struct CdlOptions<'a> {
    /// The name after `netcdf`.
    pub name: &'a str,
    /// Also print what netCDF shows as special attributes (`ncdump -s`).
    pub special: bool,
    /// Whether `_NCProperties` is among these (not with `ncdump -Xp`).
    pub properties: bool,
    /// Leave it to `_Filter` to tell of deflate, shuffle and fletcher32, without attributes of their own
    /// (`ncdump -F`).
    pub filters_alone: bool,
    /// Print the type before each `_FillValue` (`ncdump -XF`).
    pub fill_types: bool,
    /// Digits of floating-point numbers.
    pub digits: Digits,
    /// Print each row of a text so that it reads back as it is. ncdump breaks it behind a newline, which in several
    /// dimensions makes two rows of it, and leaves NUL bytes at its end out though the fill value is another byte.
    pub exact_text: bool,
    /// The types of variables whose attribute `C_format` has its way (as in ncdump without `-p`); none without it.
    pub c_format: Option<&'a dyn Fn(NcType) -> bool>,
    /// Print numbers that count time as dates (`ncdump -t`).
    pub times: Option<TimeForm>,
    /// Where lines of data are wrapped; 80 for ncdump.
    pub line_length: usize,
    /// Comments that tell where in the array a value stands (`ncdump -b`, `-f`).
    pub annotations: Annotations,
    /// Says what `_Filter` is; without it the attribute is left out.
    pub filter_text: Option<FilterText<'a>>,
    /// Which groups' values to print (`ncdump -g`); all without it.
    pub groups: Option<&'a dyn Fn(&Group) -> bool>,
    /// Which variables' values to print (`ncdump -v`); all without it.
    pub values_of: Option<&'a dyn Fn(&Variable) -> bool>,
}

impl<'a> CdlOptions<'a> {
    /// The options of plain `ncdump`, but exact digits.
    #[must_use]
    pub fn new(name: &'a str) -> Self {
        Self {
            name,
            special: false,
            properties: true,
            filters_alone: false,
            fill_types: false,
            digits: Digits::Exact,
            exact_text: true,
            c_format: None,
            times: None,
            line_length: 80,
            annotations: Annotations::default(),
            filter_text: None,
            groups: None,
            values_of: None,
        }
    }
}

/// Prints a dataset with its values.
///
/// # Errors
/// Those of `data`, and those of writing. A variable for which `data` wrote another number of values than it has is
/// an error of the kind [`io::ErrorKind::InvalidData`].
pub fn dump<E: From<io::Error>>(
    out: &mut dyn Write,
    hierarchy: &Hierarchy,
    options: &CdlOptions<'_>,
    data: Data<'_, E>,
) -> Result<(), E> {
    header::write(out, hierarchy, options, Some(data))
}

/// Prints the header of a dataset alone (`ncdump -h`).
///
/// ```
/// use ncz_nczarr::cdl::{CdlOptions, header};
/// use ncz_nczarr::{Format, Hierarchy};
///
/// let mut dataset = Hierarchy::new(Format::NCZARR);
/// dataset.add_dimension("/", "x", 5, false)?;
/// let mut text = Vec::new();
/// header(&mut text, &dataset, &CdlOptions::new("d"))?;
/// assert_eq!(text, b"netcdf d {\ndimensions:\n\tx = 5 ;\n}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of writing.
pub fn header(out: &mut dyn Write, hierarchy: &Hierarchy, options: &CdlOptions<'_>) -> Result<(), io::Error> {
    header::write(out, hierarchy, options, None)
}

/// The value of netCDF's `_Codecs`: the chain as a JSON list.
#[must_use]
pub fn codecs_text(filters: &[Json]) -> String {
    json::to_text(&Json::Array(filters.to_vec()))
}
