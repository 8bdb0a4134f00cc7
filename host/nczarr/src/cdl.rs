//! CDL, netCDF's text form of a dataset, as ncdump prints it.
//!
//! [`dump`] walks the groups and writes the header; for the values it calls back with a [`DataWriter`] for one
//! variable after the other, so that no more than one block of values is held. Layout and wrapping are those of
//! ncdump 4.10. Where ncdump is wrong this is not: empty strings are no `NIL`, text attributes come as they were
//! stored, and numbers have as many digits as they need ([`Digits`]).

mod data;
mod header;
mod names;
mod number;
mod text;
mod types;

use std::io::{self, Write};

use serde_json::Value as Json;

pub use self::data::DataWriter;
pub use self::names::escaped_name;
pub use self::number::Digits;

use crate::json;
use crate::model::{Hierarchy, Variable};

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
    /// Digits of floating-point numbers.
    pub digits: Digits,
    /// Where lines of data are wrapped; 80 for ncdump.
    pub line_length: usize,
    /// Says what `_Filter` is; without it the attribute is left out.
    pub filter_text: Option<FilterText<'a>>,
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
            digits: Digits::Exact,
            line_length: 80,
            filter_text: None,
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
