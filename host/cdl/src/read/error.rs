//! The errors of CDL, with their positions.

use ncz_model::NcType;
use std::fmt;
use std::io;

/// The reasons why a dataset cannot be made from a text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CdlError {
    /// The text cannot be read.
    #[error("the CDL cannot be read")]
    Read(#[from] io::Error),
    /// The text is invalid.
    #[error("{spot}: {kind}{}", spot.shown())]
    Invalid {
        /// The position.
        spot: Box<Spot>,
        /// What is wrong.
        #[source]
        kind: CdlErrorKind,
    },
}

/// A position in a text, with the line to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// Lines count from 1.
    pub line: u64,
    /// Characters count from 1.
    pub column: u64,
    /// The line; of a long line the part around the column.
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
    /// The line with a caret below the column, each after a line break; nothing if the line is empty.
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

/// The error at a position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CdlErrorKind {
    /// The text is not what is expected here.
    #[error("expected {expected}, got {found}")]
    Expected {
        /// The expected text.
        expected: &'static str,
        /// The actual text.
        found: String,
    },
    /// A string or comment that begins here does not end.
    #[error("the {what} that begins here does not end")]
    Unterminated {
        /// Its kind: a string, a comment.
        what: &'static str,
    },
    /// A name, string or number is too long.
    #[error("the {what} is longer than {most} bytes")]
    TooLong {
        /// Its kind.
        what: &'static str,
        /// The limit in bytes.
        most: usize,
    },
    /// The text has more objects of a kind than a dataset may have.
    #[error("there are more than {most} {what}")]
    TooMuch {
        /// The kind of objects.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// The text is not UTF-8.
    #[error("the {what} is not UTF-8")]
    NotText {
        /// Its kind.
        what: &'static str,
    },
    /// A slash in the name of something that has no path.
    #[error(
        "a slash follows the name {name:?}: names in netCDF do not have slashes; write another character"
    )]
    Slash {
        /// The name before the slash.
        name: String,
    },
    /// The text is not a number.
    #[error("{text:?} is not a number: {reason}")]
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
    /// A fraction for a type of whole numbers.
    #[error("{text} is a fraction, but {nc_type} holds whole numbers")]
    Fraction {
        /// As written.
        text: String,
        /// The type.
        nc_type: NcType,
    },
    /// A value does not have the type of its variable or attribute.
    #[error("expected {}, got {found}", expected(*nc_type))]
    Kind {
        /// The type.
        nc_type: NcType,
        /// The actual constant.
        found: &'static str,
    },
    /// An attribute has both text and numbers.
    #[error("an attribute without a type has only text or only numbers; write its type before its name")]
    Mixed,
    /// A name that was not declared.
    #[error("there is no {kind} {name:?}{hint}")]
    Unknown {
        /// Dimension, variable, group.
        kind: &'static str,
        /// The name as written.
        name: String,
        /// Where it must be defined.
        hint: &'static str,
    },
    /// A name that was declared before.
    #[error("there is {} {kind} {name:?} already", if matches!(*kind, "attribute" | "integer") { "an" } else { "a" })]
    Twice {
        /// Dimension, variable, group, attribute, data.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// There are more values than a variable has.
    #[error("too many values: {what} has {most}")]
    TooMany {
        /// The variable, or a record of it.
        what: String,
        /// The number of its values.
        most: u64,
    },
    /// The product of a variable's lengths is too large.
    #[error("variable {variable:?} has more values than can be counted")]
    Uncountable {
        /// The path.
        variable: String,
    },
    /// The value of a special attribute is invalid.
    #[error("{name} {reason}")]
    Special {
        /// `_Storage` and so on.
        name: String,
        /// What is wrong, as the rest of a sentence.
        reason: String,
    },
}

fn expected(nc_type: NcType) -> &'static str {
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
