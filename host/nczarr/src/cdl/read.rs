//! Reading CDL: a text in two looks, in bounded memory.
//!
//! [`CdlFile::open`] reads what is declared and steps over the values, with an eye on the lengths that they give to
//! unlimited dimensions; [`CdlFile::values`] then goes back and reads those of one variable, in blocks. What is read
//! is netCDF's CDL (the manual page of ncgen, "CDL Syntax"), with the types that NCZarr has. Unlike ncgen,
//! which takes the low bits, cuts or passes over, it refuses what a variable cannot hold.

mod attributes;
mod error;
mod extent;
mod input;
mod lexer;
mod number;
mod parser;
mod special;
mod values;

use std::io::{Read, Seek};

pub use self::error::{CdlError, CdlFault, Spot};
pub use self::special::Special;
pub use self::values::{Blocks, CdlBlock};

use self::input::{Input, Mark};
use self::values::Wanted;
use crate::attribute::Attribute;
use crate::dtype::NcType;
use crate::fill::default_fill;
use crate::model::DimensionRef;
use crate::value::Value;

/// What a text declares.
#[derive(Debug, Clone)]
pub struct Cdl {
    /// The name behind `netcdf`.
    pub name: String,
    /// The groups, each before those inside; the root is the first.
    pub groups: Vec<CdlGroup>,
    /// The variables of all groups, in their order.
    pub variables: Vec<CdlVariable>,
    /// What was left out and why.
    pub notes: Vec<String>,
}

/// A group.
#[derive(Debug, Clone)]
pub struct CdlGroup {
    /// The path, `/` for the root.
    pub path: String,
    /// The name; empty for the root.
    pub name: String,
    /// Its dimensions.
    pub dimensions: Vec<CdlDimension>,
    /// Its attributes, each with its line.
    pub attributes: Vec<(Attribute, u64)>,
    /// The line that declares it.
    pub line: u64,
}

/// A dimension.
#[derive(Debug, Clone)]
pub struct CdlDimension {
    /// The name.
    pub name: String,
    /// The length; of an unlimited dimension what the values need.
    pub len: u64,
    /// Whether it is unlimited.
    pub unlimited: bool,
    /// The line that declares it.
    pub line: u64,
}

/// A variable.
#[derive(Debug, Clone)]
pub struct CdlVariable {
    /// The path.
    pub path: String,
    /// The name within its group.
    pub name: String,
    /// The type.
    pub nc_type: NcType,
    /// Its attributes without the special ones, each with its line.
    pub attributes: Vec<(Attribute, u64)>,
    /// How it is to be stored.
    pub special: Special,
    /// The line that declares it.
    pub line: u64,
    /// Bytes of its longest string.
    pub longest: usize,
    /// Its group, among those of the text.
    pub group: usize,
    /// Its dimensions: the group and the number in that.
    dimensions: Vec<(usize, usize)>,
    /// Where its values stand.
    data: Option<Mark>,
}

impl CdlVariable {
    /// Whether the text has values for it.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.data.is_some()
    }

    /// What `_` means in its values: `_FillValue`, else netCDF's default of the type.
    #[must_use]
    pub fn fill(&self) -> Value {
        self.special.fill.clone().unwrap_or_else(|| default_fill(self.nc_type))
    }
}

impl Cdl {
    /// The dimensions of a variable.
    #[must_use]
    pub fn dimensions_of(&self, variable: &CdlVariable) -> Vec<DimensionRef> {
        variable.dimensions.iter().filter_map(|&place| self.reference(place)).collect()
    }

    /// Lengths of a variable's dimensions, and whether each is unlimited.
    #[must_use]
    pub fn lengths_of(&self, variable: &CdlVariable) -> Vec<(u64, bool)> {
        let dimensions = variable
            .dimensions
            .iter()
            .filter_map(|&(group, dimension)| self.groups.get(group)?.dimensions.get(dimension));
        dimensions.map(|dimension| (dimension.len, dimension.unlimited)).collect()
    }
}

/// A text and what it declares.
///
/// ```
/// use std::io::Cursor;
///
/// use ncz_nczarr::cdl::{CdlBlock, CdlError, CdlFile};
///
/// let text = "netcdf d { dimensions: t = UNLIMITED ; variables: short v(t) ; data: v = 1, _, 3 ; }";
/// let mut file = CdlFile::open(Cursor::new(text))?;
/// assert_eq!(file.cdl().groups[0].dimensions[0].len, 3);
/// file.values(0, 3, &mut |block, _| {
///     let CdlBlock::Elements(bytes) = block else { unreachable!() };
///     assert_eq!(*bytes, [1i16, -32767, 3].map(i16::to_ne_bytes).concat());
///     Ok::<u64, CdlError>(0)
/// })?;
/// # Ok::<(), CdlError>(())
/// ```
#[derive(Debug)]
pub struct CdlFile<R> {
    input: Input<R>,
    cdl: Cdl,
}

impl<R: Read + Seek> CdlFile<R> {
    /// Reads what a text declares, from its start.
    ///
    /// # Errors
    /// The text cannot be read or is no CDL; types of the user's own.
    pub fn open(source: R) -> Result<Self, CdlError> {
        let mut input = Input::new(source)?;
        let cdl = parser::parse(&mut input)?;
        Ok(Self { input, cdl })
    }

    /// What it declares.
    #[must_use]
    pub fn cdl(&self) -> &Cdl {
        &self.cdl
    }

    /// Reads the values of a variable, by its number among all: calls `sink` with blocks of them, of `first` values and
    /// then of as many as it asks for. What the text lacks of a block are fill values; blocks of them alone, behind the
    /// last value, are not handed out.
    ///
    /// # Errors
    /// Those of `sink`; values that are not of the type, or more than there are.
    pub fn values<E: From<CdlError>>(
        &mut self,
        variable: usize,
        first: u64,
        sink: Blocks<'_, E>,
    ) -> Result<(), E> {
        let Some(variable) = self.cdl.variables.get(variable) else { return Ok(()) };
        let Some(mark) = variable.data else { return Ok(()) };
        self.input.go_to(mark)?;
        let (dimensions, fill) = (self.cdl.lengths_of(variable), variable.fill());
        let wanted = Wanted { path: &variable.path, dimensions: &dimensions, fill: &fill, first };
        values::read(&mut self.input, &wanted, sink)
    }

    /// Bytes of the text.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.input.len()
    }

    /// Whether there is no text; what was opened has some.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How far the text is read, in bytes.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.input.position()
    }
}
