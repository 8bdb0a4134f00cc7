//! The values of one variable, in ncdump's rows and lines.

use ncz_model::{ElementType, Hierarchy, NcType, NetcdfView, Row, Value, Variable, default_fill};
use std::io::{self, Write};
use std::sync::Arc;

use super::CdlOptions;
use super::c_format::CFormat;
use super::layout::Layout;
use super::number::{Digits, double_value, float_value, integer_value, special};
use super::text::{escape, quote};
use super::times::Times;
use super::user_types;

/// Prints the values of one variable, which are given in row-major order, in blocks of any size.
pub struct DataWriter<'a> {
    out: &'a mut dyn Write,
    /// The view of plain values; `None` for those of structured user-defined types.
    shown: Option<NetcdfView>,
    user: Option<ElementType>,
    /// The value of a user-defined type that is printed as `_`.
    user_fill: Option<Vec<u8>>,
    digits: Digits,
    layout: Layout,
    fill: Option<Value>,
    form: Form,
    /// Whether a row of text continues in a new constant after a newline.
    breaks_text: bool,
    /// Whether NUL bytes at the end of a text are printed.
    keeps_nuls: bool,
    /// NUL bytes of a text that are printed only if others follow.
    pending_nuls: u64,
    /// Whether values were printed.
    started: bool,
    /// Whether the remaining values are left out.
    given_up: bool,
    /// The values after the requested ones.
    more: u128,
}

/// The formatting of numbers.
enum Form {
    Digits(Digits),
    Times(Times, Digits),
    Printf(CFormat),
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
        let user = variable.user_type.clone().map(ElementType::User);
        let shown = if user.is_some() { None } else { variable.shown() };
        if shown.is_none() && user.is_none() {
            return Ok(None);
        }
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
        let place = (indent, options.line_length);
        let rank = shape.len();
        let fill = shown.and_then(|shown| fill_mark(variable, shown));
        let user_fill = variable.attribute("_FillValue").and_then(|fill| fill.user.as_ref()).map(|fill| {
            let mut text = Vec::new();
            let of = ElementType::User(Arc::clone(&fill.of));
            user_types::value(&of, &fill.row, 0, options.digits, &mut text);
            text
        });
        Ok(Some(Self {
            out,
            shown,
            user,
            user_fill: user_fill.filter(|fill| !fill.is_empty()),
            digits: options.digits,
            layout: Layout::new(&variable.name, shape, unlimited, left, place, options.annotations),
            breaks_text: rank < 2 || !options.exact_text,
            keeps_nuls: options.exact_text && fill.as_ref().is_some_and(|fill| *fill != Value::Char(vec![0])),
            fill,
            form: shown
                .map_or(Form::Digits(options.digits), |shown| Form::of(hierarchy, variable, shown, options)),
            pending_nuls: 0,
            started: false,
            given_up: false,
            more: 0,
        }))
    }

    /// The lengths of the variable whose values are printed.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.layout.shape
    }

    /// Limits the output to the first values, at least one, and states in a comment how many more there are. Text is
    /// limited to whole rows.
    pub fn head(&mut self, most: u64) {
        let row = match self.shown {
            Some(NetcdfView::Plain(NcType::Char)) => self.layout.shape.last().copied().unwrap_or(1),
            _ => 1,
        };
        let most = u128::from(most.max(1)).next_multiple_of(u128::from(row.max(1)));
        self.more = self.layout.left.saturating_sub(most);
        self.layout.left -= self.more;
    }

    /// The number of values that are still to be written.
    #[must_use]
    pub fn remaining(&self) -> u128 {
        self.layout.left
    }

    /// Prints the next values, in the type of their [`NetcdfView`]: whole elements, two values for each complex number.
    ///
    /// # Errors
    /// The errors of writing; [`io::ErrorKind::InvalidData`] if the values have another type, or are more than the
    /// variable has.
    pub fn write(&mut self, values: &Value) -> Result<(), io::Error> {
        let Some(shown) = self.shown else { return self.write_row(&Row::Plain(values.clone())) };
        let expected = shown.nc_type();
        let parts = if matches!(shown, NetcdfView::Complex(_)) { 2 } else { 1 };
        if values.nc_type() != expected || !values.len().is_multiple_of(parts) {
            let (len, got) = (values.len(), values.nc_type());
            return Err(invalid(format!("expected values of type {expected}, got {len} of type {got}")));
        }
        let elements = values.len() / parts;
        if elements as u128 > self.layout.left {
            let left = self.layout.left;
            return Err(invalid(format!(
                "expected at most {left} more values of the variable, got {elements}"
            )));
        }
        self.started = self.started || elements > 0;
        match (shown, values) {
            (NetcdfView::Complex(_), _) => self.complex(values, elements),
            (NetcdfView::Bytes, Value::String(rows)) => self.layout.values(self.out, elements, |at, text| {
                text.push(b'{');
                for (at, byte) in rows.get(at).into_iter().flatten().enumerate() {
                    text.extend_from_slice(if at > 0 { b", " } else { b"" });
                    integer_value(*byte, text);
                }
                text.push(b'}');
            }),
            (_, Value::Char(bytes)) => self.letters(bytes),
            _ => self.plain(values),
        }
    }

    /// Prints the next values of a user-defined type.
    ///
    /// # Errors
    /// The errors of writing; [`io::ErrorKind::InvalidData`] if the type is not user-defined, or if they are more than
    /// the variable has.
    pub fn write_row(&mut self, row: &Row) -> Result<(), io::Error> {
        let Some(user) = &self.user else {
            return Err(invalid("expected values of an atomic type".to_owned()));
        };
        if row.len() as u128 > self.layout.left {
            let (left, got) = (self.layout.left, row.len());
            return Err(invalid(format!("expected at most {left} more values of the variable, got {got}")));
        }
        self.started = self.started || !row.is_empty();
        let (fill, digits) = (self.user_fill.as_deref(), self.digits);
        self.layout.values(self.out, row.len(), |at, text| {
            let start = text.len();
            user_types::value(user, row, at, digits, text);
            if fill.is_some() && text.get(start..) == fill {
                text.truncate(start);
                text.push(b'_');
            }
        })
    }

    /// Leaves out the remaining values, and states the reason in a comment. The result is not valid CDL, so that no
    /// reader takes the variable as complete.
    ///
    /// # Errors
    /// The errors of writing.
    pub fn give_up(&mut self, reason: &str) -> Result<(), io::Error> {
        let reason = reason.replace(char::is_control, " ");
        let comment = if self.started {
            format!("\n// {} and what follows cannot be read: {reason}\n", self.layout.place())
        } else {
            self.layout.text.clear();
            format!("\n // {} cannot be read: {reason}\n", self.layout.name())
        };
        self.layout.text.extend_from_slice(comment.as_bytes());
        self.given_up = true;
        self.layout.flush(self.out)
    }

    /// Ends the variable.
    pub(super) fn finish(mut self) -> Result<(), io::Error> {
        if self.more > 0 && !self.given_up {
            self.layout.end_early(self.more);
        }
        self.layout.flush(self.out)?;
        match self.layout.left {
            0 => Ok(()),
            _ if self.given_up => Ok(()),
            left => Err(invalid(format!("expected {left} more values of the variable"))),
        }
    }

    fn letters(&mut self, bytes: &[u8]) -> Result<(), io::Error> {
        let layout = &mut self.layout;
        for &byte in bytes {
            if layout.start_row() {
                layout.text.push(b'"');
            }
            if byte == 0 && !self.keeps_nuls {
                self.pending_nuls += 1;
            } else {
                for _ in 0..self.pending_nuls {
                    layout.text.extend_from_slice(b"\\000");
                }
                self.pending_nuls = 0;
                match escape(byte) {
                    Some(b"\\n") if self.breaks_text => layout.text.extend_from_slice(b"\\n\",\n    \""),
                    Some(escape) => layout.text.extend_from_slice(escape),
                    None if byte == b' ' || byte.is_ascii_graphic() => layout.text.push(byte),
                    None => layout.text.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
                }
            }
            if layout.left_in_row() > 1 {
                layout.step(1);
                continue;
            }
            self.pending_nuls = 0;
            layout.text.push(b'"');
            layout.end_row(layout.text.len());
        }
        layout.flush(self.out)
    }

    fn complex(&mut self, values: &Value, elements: usize) -> Result<(), io::Error> {
        let Form::Digits(digits) = self.form else { return Ok(()) };
        self.layout.values(self.out, elements, |at, text| {
            for (part, mark) in [(2 * at, b"{".as_slice()), (2 * at + 1, b", ")] {
                text.extend_from_slice(mark);
                match values {
                    Value::Float(values) => {
                        float_value(values.get(part).copied().unwrap_or(0.), digits, text)
                    }
                    Value::Double(values) => {
                        double_value(values.get(part).copied().unwrap_or(0.), digits, text)
                    }
                    _ => {}
                }
            }
            text.push(b'}');
        })
    }

    fn plain(&mut self, values: &Value) -> Result<(), io::Error> {
        let count = values.len();
        let Self { out, layout, fill, form, .. } = self;
        macro_rules! integers {
            ($values:expr, $variant:ident) => {{
                let fill = match fill {
                    Some(Value::$variant(fill)) => fill.first().copied(),
                    _ => None,
                };
                layout.values(*out, count, |at, text| {
                    let value = $values.get(at).copied().unwrap_or_default();
                    if fill == Some(value) {
                        text.push(b'_');
                        return;
                    }
                    match form {
                        Form::Times(times, _) if times.write(value as f64, text) => {}
                        Form::Printf(format) => {
                            format.write_integer(i128::from(value), 8 * size_of_val(&value) as u32, text);
                        }
                        _ => integer_value(value, text),
                    }
                })
            }};
        }
        macro_rules! fractions {
            ($values:expr, $variant:ident, $write:ident) => {{
                let fill = match fill {
                    Some(Value::$variant(fill)) => fill.first().copied(),
                    _ => None,
                };
                let fill_bits = fill.map(|fill| fill.to_bits());
                let nan_is_fill = fill.is_some_and(|fill| fill.is_nan());
                layout.values(*out, count, |at, text| {
                    let value = $values.get(at).copied().unwrap_or_default();
                    if fill_bits == Some(value.to_bits()) || nan_is_fill && value.is_nan() {
                        text.push(b'_');
                        return;
                    }
                    match form {
                        Form::Digits(digits) => $write(value, *digits, text),
                        Form::Times(times, digits) => match special(f64::from(value)) {
                            Some(word) => text.extend_from_slice(word.as_bytes()),
                            None if times.write(f64::from(value), text) => {}
                            None => $write(value, *digits, text),
                        },
                        Form::Printf(format) if value.is_finite() => {
                            format.write_float(f64::from(value), text)
                        }
                        Form::Printf(_) => $write(value, Digits::Exact, text),
                    }
                })
            }};
        }
        match values {
            Value::Byte(values) => integers!(values, Byte),
            Value::UByte(values) => integers!(values, UByte),
            Value::Short(values) => integers!(values, Short),
            Value::UShort(values) => integers!(values, UShort),
            Value::Int(values) => integers!(values, Int),
            Value::UInt(values) => integers!(values, UInt),
            Value::Int64(values) => integers!(values, Int64),
            Value::UInt64(values) => integers!(values, UInt64),
            Value::Float(values) => fractions!(values, Float, float_value),
            Value::Double(values) => fractions!(values, Double, double_value),
            Value::String(values) => {
                let fill = match fill {
                    Some(Value::String(fill)) => fill.first(),
                    _ => None,
                };
                layout.values(*out, count, |at, text| match values.get(at) {
                    Some(value) if fill == Some(value) => text.push(b'_'),
                    value => quote(value.map(Vec::as_slice).unwrap_or_default(), text),
                })
            }
            Value::Char(_) => Ok(()),
        }
    }
}

impl Form {
    fn of(hierarchy: &Hierarchy, variable: &Variable, shown: NetcdfView, options: &CdlOptions<'_>) -> Self {
        let digits = options.digits;
        let NetcdfView::Plain(nc_type) = shown else { return Self::Digits(digits) };
        if nc_type != NcType::String {
            let times = options.times.and_then(|form| Times::of_values(hierarchy, variable, form));
            if let Some(times) = times {
                return Self::Times(times, digits);
            }
        }
        let floating = matches!(nc_type, NcType::Float | NcType::Double);
        let applies = options.c_format.is_some_and(|applies| applies(nc_type));
        let format =
            variable.attribute("C_format").filter(|_| applies).and_then(|format| match &format.value {
                Value::Char(text) => CFormat::parse(text, floating),
                _ => None,
            });
        format.map_or(Self::Digits(digits), Self::Printf)
    }
}

/// The value that is printed as `_`: `_FillValue`, else the default of the type; types of one byte have no default.
fn fill_mark(variable: &Variable, shown: NetcdfView) -> Option<Value> {
    let NetcdfView::Plain(nc_type) = shown else { return None };
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
