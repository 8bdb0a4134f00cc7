//! What can be wrong with CDL, and where.

use std::fmt;
use std::io;

use crate::dtype::NcType;

/// Why a text is no CDL that a dataset can be made of.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CdlError {
    /// The text cannot be read.
    #[error("the CDL cannot be read")]
    Read(#[from] io::Error),
    /// Something in the text is wrong.
    #[error("{spot}: {fault}{}", spot.shown())]
    Fault {
        /// Where it stands.
        spot: Box<Spot>,
        /// What is wrong.
        #[source]
        fault: CdlFault,
    },
}

/// A place in a text, with the line to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// Lines count from 1.
    pub line: u64,
    /// Characters count from 1.
    pub column: u64,
    /// The line, or of a long one the part round the column.
    pub text: String,
    /// Characters of `text` before the column.
    pub before: usize,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

impl Spot {
    /// The line with a caret below the column, each behind a line break; nothing if there is no line.
    fn shown(&self) -> String {
        if self.text.trim().is_empty() {
            return String::new();
        }
        // Tabs keep the caret below its character.
        let blanks: String =
            self.text.chars().take(self.before).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        format!("\n    {}\n    {blanks}^", self.text)
    }
}

/// What is wrong at a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CdlFault {
    /// Something else has to stand here.
    #[error("expected {wanted}, found {found}")]
    Expected {
        /// What.
        wanted: &'static str,
        /// What stands here.
        found: String,
    },
    /// What begins here has no end.
    #[error("the {what} that begins here does not end")]
    Unterminated {
        /// A string, a comment.
        what: &'static str,
    },
    /// The text is longer than anything of its kind.
    #[error("the {what} is longer than {most} bytes")]
    TooLong {
        /// What it is.
        what: &'static str,
        /// How long it may be.
        most: usize,
    },
    /// There are more of something than a dataset may have.
    #[error("there are more than {most} {what}")]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// How much may be.
        most: usize,
    },
    /// The text is not UTF-8.
    #[error("the {what} is not UTF-8")]
    NotText {
        /// What it is.
        what: &'static str,
    },
    /// A number that is none.
    #[error("{text:?} is no number: {reason}")]
    Number {
        /// As written.
        text: String,
        /// Why not.
        reason: &'static str,
    },
    /// A number that its type cannot hold.
    #[error("{text} is out of range of {}", range(*nc_type))]
    Range {
        /// As written.
        text: String,
        /// The type.
        nc_type: NcType,
    },
    /// A fraction where whole numbers are.
    #[error("{text} is a fraction, and {nc_type} holds whole numbers")]
    Fraction {
        /// As written.
        text: String,
        /// The type.
        nc_type: NcType,
    },
    /// A value of another kind than its variable or attribute.
    #[error("expected {}, found {found}", wanted(*nc_type))]
    Kind {
        /// The type.
        nc_type: NcType,
        /// What stands here.
        found: &'static str,
    },
    /// Text where the other values of an attribute are numbers.
    #[error("an attribute without a type has text alone or numbers alone; write its type before its name")]
    Mixed,
    /// A type of the user's own.
    #[error(
        "{name:?} is {kind}, and NCZarr has no types but netCDF's own; leave it out, or spread it over variables of those"
    )]
    UserType {
        /// Its name.
        name: String,
        /// `a compound type`.
        kind: &'static str,
    },
    /// A name that was not declared.
    #[error("there is no {kind} {name:?}{hint}")]
    Unknown {
        /// Dimension, variable, group.
        kind: &'static str,
        /// The name as written.
        name: String,
        /// Where it was looked for.
        hint: &'static str,
    },
    /// A name that was declared before.
    #[error("there is {} {kind} {name:?} already", if *kind == "attribute" { "an" } else { "a" })]
    Twice {
        /// Dimension, variable, group, attribute, data.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// More values than a variable has.
    #[error("too many values: {what} has {most}")]
    TooMany {
        /// The variable, or a record of it.
        what: String,
        /// How many it has.
        most: u64,
    },
    /// The lengths of a variable are too large to count its values.
    #[error("variable {variable:?} has more values than can be counted")]
    Uncountable {
        /// The path.
        variable: String,
    },
    /// A special attribute whose value has no meaning.
    #[error("{name} {reason}")]
    Special {
        /// `_Storage` and so on.
        name: String,
        /// What is wrong, as the rest of a sentence.
        reason: String,
    },
}

fn wanted(nc_type: NcType) -> &'static str {
    match nc_type {
        NcType::Char => "text in quotes",
        NcType::String => "a string in quotes",
        _ => "a number",
    }
}

fn range(nc_type: NcType) -> &'static str {
    match nc_type {
        NcType::Byte => "byte (-128 to 127)",
        NcType::UByte => "ubyte (0 to 255)",
        NcType::Short => "short (-32768 to 32767)",
        NcType::UShort => "ushort (0 to 65535)",
        NcType::Int => "int (-2147483648 to 2147483647)",
        NcType::UInt => "uint (0 to 4294967295)",
        NcType::Int64 => "int64 (-9223372036854775808 to 9223372036854775807)",
        NcType::UInt64 => "uint64 (0 to 18446744073709551615)",
        NcType::Float => "float (up to 3.4e38)",
        NcType::Double => "double (up to 1.7e308)",
        NcType::Char => "char (0 to 255)",
        NcType::String => "string",
    }
}
