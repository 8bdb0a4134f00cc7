//! Reads CDL text in two passes, in bounded memory.
//!
//! [`CdlFile::open`] reads the declarations and skips the values, but determines the lengths that they give to
//! unlimited dimensions. [`CdlFile::values`] then goes back and reads the values of one variable, in blocks. The syntax
//! is netCDF's CDL (the manual page of ncgen, "CDL Syntax"). Values that a variable cannot hold are refused; ncgen takes
//! their low bits, cuts them or ignores them.

mod attributes;
mod error;
mod extent;
mod input;
mod lexer;
mod number;
mod parser;
mod special;
mod user_types;
mod user_values;
mod values;

use ncz_model::{Attribute, DimensionRef, ElementType, NcType, Row, UserType};
use std::io::{Read, Seek};
use std::sync::Arc;

pub use self::error::{CdlError, CdlErrorKind, Spot};
pub use self::special::Special;
pub use self::values::{Blocks, CdlBlock};

use self::input::{Input, Mark};

/// The declarations of a text.
#[derive(Debug, Clone)]
pub struct Cdl {
    /// The name after `netcdf`.
    pub name: String,
    /// The groups, each before its child groups; the root is the first.
    pub groups: Vec<CdlGroup>,
    /// The variables of all groups, in their order.
    pub variables: Vec<CdlVariable>,
    /// The omitted parts, with the reasons.
    pub notes: Vec<String>,
}

/// A group.
#[derive(Debug, Clone)]
pub struct CdlGroup {
    /// The path, `/` for the root.
    pub path: String,
    /// The name; empty for the root.
    pub name: String,
    /// Its user-defined types, each with its line.
    pub types: Vec<(Arc<UserType>, u64)>,
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
    /// The length; for an unlimited dimension, the length that the values require.
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
    pub of: ElementType,
    /// Its attributes without the special ones, each with its line.
    pub attributes: Vec<(Attribute, u64)>,
    /// Its special attributes, which define its storage.
    pub special: Special,
    /// The line that declares it.
    pub line: u64,
    /// The bytes of its longest string.
    pub longest: usize,
    /// The index of its group in the text.
    pub group: usize,
    /// Its dimensions: the index of the group, and of the dimension in the group.
    dimensions: Vec<(usize, usize)>,
    /// The position of its values in the text.
    data: Option<Mark>,
}

impl CdlVariable {
    /// Whether the text has values for it.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.data.is_some()
    }

    /// Its type, if that is one of netCDF's own.
    #[must_use]
    pub fn nc_type(&self) -> Option<NcType> {
        match &self.of {
            ElementType::Atomic(nc_type) => Some(*nc_type),
            ElementType::User(_) => None,
        }
    }

    /// Its type, if that is user-defined.
    #[must_use]
    pub fn user_type(&self) -> Option<&Arc<UserType>> {
        match &self.of {
            ElementType::Atomic(_) => None,
            ElementType::User(user) => Some(user),
        }
    }

    /// The value of `_` in its data: `_FillValue`, else the default of the type.
    #[must_use]
    pub fn fill(&self) -> Row {
        let given = match (&self.of, &self.special.fill) {
            (ElementType::Atomic(_), Some(value)) => Some(Row::Plain(value.clone())),
            (ElementType::Atomic(_), None) => None,
            (ElementType::User(_), _) => self.user_fill().cloned(),
        };
        given.unwrap_or_else(|| user_values::default_row(&self.of))
    }

    /// Its `_FillValue`, if its type is user-defined.
    #[must_use]
    pub fn user_fill(&self) -> Option<&Row> {
        let found = self.attributes.iter().find(|(attribute, _)| attribute.name == "_FillValue");
        found.and_then(|(attribute, _)| attribute.user.as_ref()).map(|user| &user.row)
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

/// A text and its declarations.
///
/// ```
/// use std::io::Cursor;
///
/// use ncz_cdl::{CdlBlock, CdlError, CdlFile};
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
    /// Reads the declarations of a text, from its start.
    ///
    /// # Errors
    /// The text cannot be read, or is not CDL.
    pub fn open(source: R) -> Result<Self, CdlError> {
        let mut input = Input::new(source)?;
        let cdl = parser::parse(&mut input)?;
        Ok(Self { input, cdl })
    }

    /// The declarations of the text.
    #[must_use]
    pub fn cdl(&self) -> &Cdl {
        &self.cdl
    }

    /// Reads the values of the variable with this number, and calls `sink` with blocks of them: first of `first`
    /// values, then of as many as `sink` requests. Values that the text lacks in a block are fill values; blocks of
    /// only fill values after the last value are not passed to `sink`.
    ///
    /// # Errors
    /// The errors of `sink`; or the values do not have the type, or are more than the variable has.
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
        let path = &variable.path;
        let request = values::Request { path, dimensions: &dimensions, of: &variable.of, fill: &fill, first };
        values::read(&mut self.input, &request, sink)
    }

    /// The bytes of the text.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.input.len()
    }

    /// Whether the text is empty, which an opened text never is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of bytes of the text that were read.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.input.position()
    }
}
