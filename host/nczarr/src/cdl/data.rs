//! The values of one variable, in ncdump's rows and lines.

use std::io::{self, Write};

use super::CdlOptions;
use super::names::escaped_name;
use super::number::{Digits, double_value, float_value};
use super::text::{escape, quoted};
use crate::attribute::write::same;
use crate::dtype::NcType;
use crate::fill::default_fill;
use crate::model::{Hierarchy, Variable};
use crate::shown::Shown;
use crate::value::Value;

/// Takes the values of one variable in row-major order, in blocks of any size, and prints them.
pub struct DataWriter<'a> {
    out: &'a mut dyn Write,
    shown: Shown,
    shape: Vec<u64>,
    /// Which dimensions are unlimited.
    unlimited: Vec<bool>,
    /// Where the next value stands.
    index: Vec<u64>,
    /// Values that are still to come.
    left: u128,
    fill: Option<Value>,
    digits: Digits,
    indent: usize,
    /// Bytes in this line, as ncdump counts them.
    column: usize,
    line_length: usize,
    /// NUL bytes of a text that are printed only if others follow.
    pending_nuls: u64,
}

impl<'a> DataWriter<'a> {
    /// Starts the values of a variable; `None` if it has none to print: a length of 0, or a type that cannot be shown.
    pub(super) fn start(
        out: &'a mut dyn Write,
        hierarchy: &Hierarchy,
        variable: &Variable,
        options: &CdlOptions<'_>,
        indent: usize,
    ) -> Result<Option<Self>, io::Error> {
        let shape = hierarchy.shape_of(variable);
        let Some(shown) = variable.shown() else { return Ok(None) };
        if shape.contains(&0) {
            return Ok(None);
        }
        let left = shape.iter().try_fold(1u128, |product, &len| product.checked_mul(u128::from(len)));
        let left = left.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("variable {:?} has more values than can be counted", variable.path),
            )
        })?;
        let unlimited = variable
            .dimensions
            .iter()
            .map(|name| hierarchy.dimension(name).is_some_and(|found| found.unlimited))
            .collect();
        let name = escaped_name(&variable.name);
        let (equals, column) = match shape.len() {
            0 | 1 => (" = ", variable.name.len() + 4 + indent),
            _ => (" =\n  ", 2 + indent),
        };
        write!(out, "\n{:indent$} {name}{equals}", "")?;
        Ok(Some(Self {
            out,
            shown,
            index: vec![0; shape.len()],
            unlimited,
            left,
            fill: fill_mark(variable, shown),
            digits: options.digits,
            indent,
            column,
            line_length: options.line_length.saturating_sub(2),
            pending_nuls: 0,
            shape,
        }))
    }

    /// The lengths of the variable whose values are wanted.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Prints the next values, in the type in which they are [`Shown`]: whole elements, two values for each
    /// complex number.
    ///
    /// # Errors
    /// Those of writing; [`io::ErrorKind::InvalidData`] for values of another type or more than there are.
    pub fn write(&mut self, values: &Value) -> Result<(), io::Error> {
        let wanted = self.shown.nc_type();
        let parts = if matches!(self.shown, Shown::Complex(_)) { 2 } else { 1 };
        if values.nc_type() != wanted || !values.len().is_multiple_of(parts) {
            let (len, got) = (values.len(), values.nc_type());
            return Err(invalid(format!("{len} values of type {got} for a variable of type {wanted}")));
        }
        let elements = values.len() / parts;
        if elements as u128 > self.left {
            return Err(invalid(format!(
                "{elements} values, but only {} are left of the variable",
                self.left
            )));
        }
        if let Value::Char(bytes) = values {
            return bytes.iter().try_for_each(|&byte| self.letter(byte));
        }
        for at in 0..elements {
            let text = match (self.shown, values) {
                (Shown::Complex(_), _) => {
                    let parts = [2 * at, 2 * at + 1].map(|at| self.value_text(values, at));
                    [b"{", parts.join(&b", "[..]).as_slice(), b"}"].concat()
                }
                (Shown::Bytes, Value::String(rows)) => {
                    let row = rows.get(at).map(Vec::as_slice).unwrap_or_default();
                    let numbers: Vec<String> = row.iter().map(u8::to_string).collect();
                    format!("{{{}}}", numbers.join(", ")).into_bytes()
                }
                _ => self.value_text(values, at),
            };
            self.value(text)?;
        }
        Ok(())
    }

    /// Ends the variable.
    pub(super) fn finish(self) -> Result<(), io::Error> {
        match self.left {
            0 => Ok(()),
            left => Err(invalid(format!("{left} values of the variable were not given"))),
        }
    }

    fn value(&mut self, mut text: Vec<u8>) -> Result<(), io::Error> {
        self.open_records()?;
        if self.ends_row() {
            text.resize(text.len() + self.closing_records(), b'}');
            self.put(&text)?;
            self.end_row()
        } else {
            text.extend_from_slice(b", ");
            self.put(&text)?;
            self.advance();
            Ok(())
        }
    }

    fn letter(&mut self, byte: u8) -> Result<(), io::Error> {
        self.open_records()?;
        if self.index.last().is_none_or(|&at| at == 0) {
            self.out.write_all(b"\"")?;
        }
        if byte == 0 {
            self.pending_nuls += 1;
        } else {
            for _ in 0..self.pending_nuls {
                self.out.write_all(b"\\000")?;
            }
            self.pending_nuls = 0;
            match escape(byte) {
                Some(b"\\n") => self.out.write_all(b"\\n\",\n    \"")?,
                Some(escape) => self.out.write_all(escape)?,
                None if byte == b' ' || byte.is_ascii_graphic() => self.out.write_all(&[byte])?,
                None => write!(self.out, "\\{byte:03o}")?,
            }
        }
        if !self.ends_row() {
            self.advance();
            return Ok(());
        }
        self.pending_nuls = 0;
        self.out.write_all(b"\"")?;
        let records = vec![b'}'; self.closing_records()];
        self.put(&records)?;
        self.end_row()
    }

    /// Braces round the records of an inner unlimited dimension, which CDL needs to tell their lengths.
    fn open_records(&mut self) -> Result<(), io::Error> {
        if self.index.last().is_some_and(|&at| at > 0) {
            return Ok(());
        }
        let rank = self.shape.len();
        for level in 1..rank {
            let starts = self.index.get(level..).is_some_and(|inner| inner.iter().all(|&at| at == 0));
            if starts && self.is_unlimited(level) {
                self.put(b"{")?;
            }
        }
        Ok(())
    }

    fn closing_records(&self) -> usize {
        let rank = self.shape.len();
        let ends = |level: usize| {
            let outer = level..rank.saturating_sub(1);
            outer.into_iter().all(|at| {
                self.index.get(at).copied().unwrap_or(0) + 1 == self.shape.get(at).copied().unwrap_or(1)
            })
        };
        (1..rank).filter(|&level| self.is_unlimited(level) && ends(level)).count()
    }

    fn is_unlimited(&self, level: usize) -> bool {
        self.unlimited.get(level).copied().unwrap_or(false)
    }

    fn ends_row(&self) -> bool {
        match (self.index.last(), self.shape.last()) {
            (Some(&at), Some(&len)) => at + 1 == len,
            _ => true,
        }
    }

    fn end_row(&mut self) -> Result<(), io::Error> {
        self.advance();
        if self.left == 0 {
            self.out.write_all(b" ;\n")
        } else {
            self.out.write_all(b",\n  ")?;
            self.column = self.indent + 2;
            Ok(())
        }
    }

    fn advance(&mut self) {
        self.left -= 1;
        for (at, &len) in self.index.iter_mut().zip(&self.shape).rev() {
            *at += 1;
            if *at < len {
                return;
            }
            *at = 0;
        }
    }

    /// Prints what must not be split, in a new line if this one gets too long.
    fn put(&mut self, text: &[u8]) -> Result<(), io::Error> {
        if text.len() + self.column > self.line_length && text.len() > 2 {
            write!(self.out, "\n{:indent$}    ", "", indent = self.indent)?;
            self.column = 4 + self.indent;
        }
        self.out.write_all(text)?;
        self.column += text.len();
        Ok(())
    }

    fn value_text(&self, values: &Value, at: usize) -> Vec<u8> {
        macro_rules! number {
            ($variant:ident, $values:expr, $text:expr) => {{
                let value = $values.get(at).copied().unwrap_or_default();
                if let Some(fill) = &self.fill {
                    if same(&Value::$variant(vec![value]), fill) {
                        return b"_".to_vec();
                    }
                }
                $text(value).into_bytes()
            }};
        }
        let digits = self.digits;
        match values {
            Value::Byte(values) => number!(Byte, values, |value: i8| value.to_string()),
            Value::UByte(values) => number!(UByte, values, |value: u8| value.to_string()),
            Value::Short(values) => number!(Short, values, |value: i16| value.to_string()),
            Value::UShort(values) => number!(UShort, values, |value: u16| value.to_string()),
            Value::Int(values) => number!(Int, values, |value: i32| value.to_string()),
            Value::UInt(values) => number!(UInt, values, |value: u32| value.to_string()),
            Value::Int64(values) => number!(Int64, values, |value: i64| value.to_string()),
            Value::UInt64(values) => number!(UInt64, values, |value: u64| value.to_string()),
            Value::Float(values) => number!(Float, values, |value| float_value(value, digits)),
            Value::Double(values) => number!(Double, values, |value| double_value(value, digits)),
            Value::String(values) => {
                let value = values.get(at).map(Vec::as_slice).unwrap_or_default();
                match &self.fill {
                    Some(Value::String(fill)) if fill.first().map(Vec::as_slice) == Some(value) => {
                        b"_".to_vec()
                    }
                    _ => quoted(value),
                }
            }
            Value::Char(_) => Vec::new(),
        }
    }
}

/// The value that is printed as `_`: `_FillValue`, else the default of the type; bytes have none.
fn fill_mark(variable: &Variable, shown: Shown) -> Option<Value> {
    let Shown::Plain(nc_type) = shown else { return None };
    let attribute = variable.attribute("_FillValue").map(|attribute| &attribute.value);
    match attribute {
        Some(value) if value.nc_type() == nc_type && value.len() == 1 => Some(value.clone()),
        _ if matches!(nc_type, NcType::Byte | NcType::UByte | NcType::Char) => None,
        _ => Some(default_fill(nc_type)),
    }
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}
