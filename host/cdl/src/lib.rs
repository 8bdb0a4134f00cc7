//! CDL, netCDF's text form of a dataset, as ncdump prints it.
//!
//! [`dump`] walks the groups and writes the header. For the values it calls back with a [`DataWriter`] for one variable
//! after the other, so that only one block of values is held. Layout and wrapping are those of ncdump 4.10. Errors of
//! ncdump are not copied: empty strings are not `NIL`, text attributes are printed as stored, and numbers have as many
//! digits as they need ([`Digits`]).

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
mod user_types;

use ncz_model::{Group, Hierarchy, NcType, Variable};
use std::io::{self, Write};

pub use self::c_format::CFormat;
pub use self::calendar::Calendar;
pub use self::data::DataWriter;
pub use self::layout::{Annotations, IndexStyle};
pub use self::names::escaped_name;
pub use self::ncml::ncml;
pub use self::number::{Digits, number_text};
pub use self::read::{
    Blocks as CdlBlocks, Cdl, CdlBlock, CdlDimension, CdlError, CdlErrorKind, CdlFile, CdlGroup, CdlVariable,
    Special, Spot,
};
pub use self::times::TimeForm;

/// Writes the values of a variable in row-major order. Called once for each variable that has values.
pub type Data<'a, E> = &'a mut dyn FnMut(&Variable, &mut DataWriter<'_>) -> Result<(), E>;

/// Returns the text of `_Filter` for a variable: `id,p1,p2|id,...` without the filters 1, 2 and 3, which have their own
/// attributes. The text depends on the codec registry, so the caller provides it.
pub type FilterText<'a> = &'a dyn Fn(&Variable) -> Option<String>;

/// The options of printing.
#[derive(Clone, Copy)]
pub struct CdlOptions<'a> {
    /// The name after `netcdf`.
    pub name: &'a str,
    /// Also print netCDF's special attributes (`ncdump -s`).
    pub special: bool,
    /// Whether the special attributes include `_NCProperties` (not with `ncdump -Xp`).
    pub properties: bool,
    /// Print deflate, shuffle and fletcher32 only in `_Filter`, not in their own attributes (`ncdump -F`).
    pub only_filter: bool,
    /// Print the type before each `_FillValue` (`ncdump -XF`).
    pub fill_types: bool,
    /// Digits of floating-point numbers.
    pub digits: Digits,
    /// Print each row of a text so that it reads back unchanged. ncdump breaks a row after a newline, which in several
    /// dimensions makes two rows of it, and omits NUL bytes at its end even if the fill value is another byte. It breaks
    /// the texts of attributes in classic files, too.
    pub exact_text: bool,
    /// Selects the types of variables whose attribute `C_format` is used (as in ncdump without `-p`); none if unset.
    pub c_format: Option<&'a dyn Fn(NcType) -> bool>,
    /// Print numbers that count time as dates (`ncdump -t`).
    pub times: Option<TimeForm>,
    /// The column at which lines of data are wrapped; 80 for ncdump.
    pub line_length: usize,
    /// Comments with the position of values in the array (`ncdump -b`, `-f`).
    pub annotations: Annotations,
    /// Provides the text of `_Filter`; the attribute is left out if unset.
    pub filter_text: Option<FilterText<'a>>,
    /// Selects the groups whose values are printed (`ncdump -g`); all if unset.
    pub groups: Option<&'a dyn Fn(&Group) -> bool>,
    /// Selects the variables whose values are printed (`ncdump -v`); all if unset.
    pub values_of: Option<&'a dyn Fn(&Variable) -> bool>,
}

impl<'a> CdlOptions<'a> {
    /// The options of `ncdump` without arguments, but with exact digits.
    #[must_use]
    pub fn new(name: &'a str) -> Self {
        Self {
            name,
            special: false,
            properties: true,
            only_filter: false,
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
/// The errors of `data`, and those of writing. [`io::ErrorKind::InvalidData`] if `data` wrote a wrong number of values
/// for a variable.
pub fn dump<E: From<io::Error>>(
    out: &mut dyn Write,
    hierarchy: &Hierarchy,
    options: &CdlOptions<'_>,
    data: Data<'_, E>,
) -> Result<(), E> {
    header::write(out, hierarchy, options, Some(data))
}

/// Prints only the header of a dataset (`ncdump -h`).
///
/// ```
/// use ncz_cdl::{CdlOptions, header};
/// use ncz_model::{Format, Hierarchy};
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
/// The errors of writing.
pub fn header(out: &mut dyn Write, hierarchy: &Hierarchy, options: &CdlOptions<'_>) -> Result<(), io::Error> {
    header::write(out, hierarchy, options, None)
}
