//! Values of user-defined types: enumerators, opaque bytes, compounds and rows of any length.

use ncz_model::{ElementType, EnumMember, Field, NcType, Row, TypeClass, UserType, Value, default_fill};
use std::io::{Read, Seek};
use std::sync::Arc;

use super::error::{CdlError, CdlErrorKind};
use super::input::{Input, Mark};
use super::lexer::Constant;
use super::number;

/// What an allocation takes besides its bytes.
const ALLOCATION: usize = 32;

/// The memory that values may take.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    left: usize,
    most: usize,
}

impl Memory {
    /// The most memory of values that are held together (512 MiB): a text of few bytes can stand for many.
    pub(super) const USUAL: Self = Self::new(1 << 29, 1 << 29);

    /// What is `left` of the most.
    pub(super) const fn new(left: usize, most: usize) -> Self {
        Self { left, most }
    }

    /// Takes the memory of `count` values of `each` bytes.
    pub(super) fn take(&mut self, count: usize, each: usize) -> Result<(), CdlErrorKind> {
        let left = count.checked_mul(each).and_then(|bytes| self.left.checked_sub(bytes));
        self.left = left.ok_or(CdlErrorKind::TooMuch {
            what: "bytes of memory in values of user-defined types",
            most: self.most,
        })?;
        Ok(())
    }
}

impl<R: Read + Seek> Input<R> {
    /// Reads values of a user-defined type up to the `;`, which is not consumed.
    pub(super) fn user_list(&mut self, of: &Arc<UserType>, mut memory: Memory) -> Result<Row, CdlError> {
        let of = ElementType::User(Arc::clone(of));
        let mut row = Row::empty(&of);
        self.list(&of, b';', &mut memory, &mut row)?;
        Ok(row)
    }

    /// Reads one value of a user-defined type, and adds it to a row.
    pub(super) fn user_value(
        &mut self,
        of: &ElementType,
        memory: &mut Memory,
        row: &mut Row,
    ) -> Result<(), CdlError> {
        self.one(of, memory, row)
    }

    /// Reads values and the commas between them up to a byte, which is not consumed.
    fn list(
        &mut self,
        of: &ElementType,
        end: u8,
        memory: &mut Memory,
        row: &mut Row,
    ) -> Result<(), CdlError> {
        if self.skip_blanks()? == Some(end) {
            return Ok(());
        }
        loop {
            let before = row.len();
            self.one(of, memory, row)?;
            // In a list an empty text is a character.
            if matches!(of, ElementType::Atomic(NcType::Char)) && row.len() == before {
                row.append(Row::Plain(Value::Char(vec![0])));
            }
            match self.skip_blanks()? {
                Some(b',') => self.take(1),
                Some(byte) if byte == end => return Ok(()),
                _ if end == b';' => return Err(self.expected(", or ; after a value")),
                _ => return Err(self.expected(", or } after a value")),
            }
        }
    }

    /// Reads one value; of `char`, the characters of a text.
    fn one(&mut self, of: &ElementType, memory: &mut Memory, row: &mut Row) -> Result<(), CdlError> {
        self.skip_blanks()?;
        let mark = self.mark();
        let user = match of {
            ElementType::Atomic(nc_type) => {
                let value = self.atomic(*nc_type, mark)?;
                let bytes = match &value {
                    Value::Char(text) => text.len(),
                    Value::String(texts) => texts.iter().map(|text| text.len() + TEXT).sum(),
                    _ => nc_type.size().unwrap_or(1),
                };
                self.taken(memory.take(1, bytes), mark)?;
                row.append(Row::Plain(value));
                return Ok(());
            }
            ElementType::User(user) => user,
        };
        if self.accept_fill()? {
            self.taken(memory.take(1, needs(of)), mark)?;
            row.append(default_row(of));
            return Ok(());
        }
        // What is inside takes its own.
        let own = match &user.class {
            TypeClass::Enum { base, .. } => base.size().unwrap_or(1),
            TypeClass::Opaque { size } => size.saturating_add(TEXT),
            TypeClass::Vlen { .. } => ROW,
            TypeClass::Compound { fields } => TEXT.saturating_add(fields.len().saturating_mul(ROW)),
        };
        self.taken(memory.take(1, own), mark)?;
        match &user.class {
            TypeClass::Enum { base, members } => {
                let value = self.enumerator((*base, members), user, mark)?;
                row.append(Row::Plain(value));
            }
            TypeClass::Opaque { size } => row.append(Row::Opaque(vec![self.opaque(*size, mark)?])),
            TypeClass::Vlen { base } => {
                self.expect(b'{', "{ before a row of any length")?;
                let mut inner = Row::empty(base);
                self.list(base, b'}', memory, &mut inner)?;
                self.expect(b'}', "} after a row of any length")?;
                row.append(Row::Vlen(vec![inner]));
            }
            TypeClass::Compound { fields } => {
                self.expect(b'{', "{ before the fields of a compound")?;
                let mut values = Vec::with_capacity(fields.len());
                for field in fields {
                    let has_more = self.skip_blanks()? != Some(b'}');
                    values.push(match has_more {
                        true => self.field(field, memory)?,
                        false => {
                            self.taken(memory.take(1, field_needs(field)), mark)?;
                            default_field(field)
                        }
                    });
                    if self.skip_blanks()? == Some(b',') {
                        let mark = self.mark();
                        self.take(1);
                        if values.len() == fields.len() {
                            let what = format!("a compound of the type {:?}", user.name);
                            let kind = CdlErrorKind::TooMany { what, most: fields.len() as u64 };
                            return Err(self.error(mark, kind));
                        }
                    }
                }
                self.expect(b'}', ", or } after a field of a compound")?;
                row.append(Row::Compound(vec![values]));
            }
        }
        Ok(())
    }

    /// Reads a field of a compound: one value, or as many as it has lengths for, in braces. Those that the text lacks are
    /// fill.
    fn field(&mut self, field: &Field, memory: &mut Memory) -> Result<Row, CdlError> {
        let mut row = Row::empty(&field.element);
        let next = self.skip_blanks()?;
        let mark = self.mark();
        let len =
            field.shape.iter().try_fold(1usize, |len, more| len.checked_mul(usize::try_from(*more).ok()?));
        let len = len.unwrap_or(usize::MAX);
        let is_char = field.element == ElementType::Atomic(NcType::Char);
        if self.accept_fill()? {
            self.taken(memory.take(1, field_needs(field)), mark)?;
            return Ok(default_field(field));
        }
        match (field.shape.last(), next) {
            (None, _) => self.one(&field.element, memory, &mut row)?,
            (Some(width), Some(b'{')) if is_char => {
                let width = usize::try_from(*width).unwrap_or(usize::MAX);
                self.take(1);
                self.texts(width, len, mark, &mut row)?;
                self.expect(b'}', ", or } after a text")?;
            }
            (Some(_), Some(b'{')) => {
                self.take(1);
                self.list(&field.element, b'}', memory, &mut row)?;
                self.expect(b'}', ", or } after a value")?;
            }
            // A text needs no braces.
            (Some(_), _) if is_char => self.one(&field.element, memory, &mut row)?,
            (Some(_), _) => return Err(self.expected("{ before the values of a field with lengths")),
        }
        // An empty text is a character too.
        if is_char && field.shape.is_empty() && row.is_empty() {
            row.append(Row::Plain(Value::Char(vec![0])));
        }
        if row.len() > len {
            let kind =
                CdlErrorKind::TooMany { what: format!("the field {:?}", field.name), most: len as u64 };
            return Err(self.error(mark, kind));
        }
        let missing = len - row.len();
        self.taken(memory.take(missing, needs(&field.element)), mark)?;
        row.append(default_row(&field.element).repeated(missing));
        Ok(row)
    }

    /// Reads texts, each of which fills a row of `width` characters.
    fn texts(&mut self, width: usize, most: usize, mark: Mark, row: &mut Row) -> Result<(), CdlError> {
        let mut all = Vec::new();
        while self.skip_blanks()? != Some(b'}') {
            let is_text = self.peek()? == Some(b'"');
            let at = self.mark();
            let Value::Char(text) = self.atomic(NcType::Char, at)? else { break };
            all.extend_from_slice(&text);
            if is_text {
                // An empty text is a row too.
                let len = all.len() + usize::from(text.is_empty());
                all.resize(len.next_multiple_of(width.max(1)), 0);
            }
            if all.len() > most {
                let kind =
                    CdlErrorKind::TooMany { what: "the field of characters".to_owned(), most: most as u64 };
                return Err(self.error(mark, kind));
            }
            if !self.accept(b',')? {
                break;
            }
        }
        row.append(Row::Plain(Value::Char(all)));
        Ok(())
    }

    fn atomic(&mut self, nc_type: NcType, mark: Mark) -> Result<Value, CdlError> {
        match self.constant()? {
            (Constant::Fill, _) => Ok(default_fill(nc_type)),
            (Constant::Text(text), _) if nc_type == NcType::Char => Ok(Value::Char(text)),
            (Constant::Text(text), _) if nc_type == NcType::String => Ok(Value::String(vec![text])),
            (constant, _) => self.value(&vec![(constant, mark)], Some(nc_type)),
        }
    }

    fn taken(&mut self, taken: Result<(), CdlErrorKind>, mark: Mark) -> Result<(), CdlError> {
        taken.map_err(|kind| self.error(mark, kind))
    }

    /// Consumes `_` if it is next, and not a name that begins with it; returns whether it is.
    pub(super) fn accept_fill(&mut self) -> Result<bool, CdlError> {
        let is_part = |byte: u8| number::is_part(byte) || byte >= 0x80 || byte == b'\\' || byte == b'@';
        let is_fill = match *self.rest(2)? {
            [b'_'] => true,
            [b'_', byte, ..] => !is_part(byte),
            _ => false,
        };
        if is_fill {
            self.take(1);
        }
        Ok(is_fill)
    }

    /// Reads the name of an integer of an enumeration, or the integer.
    fn enumerator(
        &mut self,
        (base, members): (NcType, &[EnumMember]),
        user: &UserType,
        mark: Mark,
    ) -> Result<Value, CdlError> {
        let first = self.peek()?;
        if first.is_some_and(|byte| byte.is_ascii_digit() || b"+-.'".contains(&byte)) {
            return self.atomic(base, mark);
        }
        let (name, _) = self.name("the name of an integer of the enumeration")?;
        // The name of the type can come before it.
        let short = name.text.strip_prefix(&user.name).and_then(|rest| rest.strip_prefix('.'));
        let find = |name: &str| members.iter().find(|member| member.name == name);
        let value = find(&name.text).or_else(|| find(short?)).map(|member| member.value);
        let value = value.and_then(|value| integer(base, value));
        value.ok_or_else(|| {
            let hint = " in its enumeration";
            self.error(mark, CdlErrorKind::Unknown { kind: "integer with the name", name: name.text, hint })
        })
    }

    /// Reads bytes as `0X` and two hexadecimal digits for each. Digits that the text lacks at the end are 0.
    fn opaque(&mut self, size: usize, mark: Mark) -> Result<Vec<u8>, CdlError> {
        if !matches!(self.rest(2)?, [b'0', b'x' | b'X', ..]) {
            return Err(self.expected("0X and the bytes of an opaque value in hexadecimal"));
        }
        self.take(2);
        let (mut bytes, mut high) = (Vec::new(), None);
        while let Some(byte) = self.peek()?.filter(|byte| number::is_part(*byte)) {
            let Some(digit) = char::from(byte).to_digit(16) else {
                return Err(self.expected("hexadecimal digits"));
            };
            self.take(1);
            match high.take() {
                None => high = Some(digit),
                Some(high) => bytes.push((high * 16 + digit) as u8),
            }
            if bytes.len() > size {
                break;
            }
        }
        bytes.extend(high.map(|high| (high * 16) as u8));
        if bytes.len() > size {
            let what = "the opaque value in bytes".to_owned();
            return Err(self.error(mark, CdlErrorKind::TooMany { what, most: size as u64 }));
        }
        bytes.resize(size, 0);
        Ok(bytes)
    }
}

/// An integer of an enumeration as a value of its base type.
pub(super) fn integer(base: NcType, value: i128) -> Option<Value> {
    Some(match base {
        NcType::Byte => Value::from(i8::try_from(value).ok()?),
        NcType::UByte => Value::from(u8::try_from(value).ok()?),
        NcType::Short => Value::from(i16::try_from(value).ok()?),
        NcType::UShort => Value::from(u16::try_from(value).ok()?),
        NcType::Int => Value::from(i32::try_from(value).ok()?),
        NcType::UInt => Value::from(u32::try_from(value).ok()?),
        NcType::Int64 => Value::from(i64::try_from(value).ok()?),
        NcType::UInt64 => Value::from(u64::try_from(value).ok()?),
        NcType::Char | NcType::Float | NcType::Double | NcType::String => return None,
    })
}

/// One value where the text has none, as ncgen chooses it: the first integer of an enumeration, zero bytes, an empty row,
/// and the default fill values of netCDF's own types.
pub(super) fn default_row(of: &ElementType) -> Row {
    match of {
        ElementType::Atomic(nc_type) => Row::Plain(default_fill(*nc_type)),
        ElementType::User(user) => match &user.class {
            TypeClass::Enum { base, members } => {
                let first = members.first().map_or(0, |member| member.value);
                Row::Plain(integer(*base, first).unwrap_or_else(|| default_fill(*base)))
            }
            TypeClass::Opaque { size } => Row::Opaque(vec![vec![0; *size]]),
            TypeClass::Compound { fields } => Row::Compound(vec![fields.iter().map(default_field).collect()]),
            TypeClass::Vlen { base } => Row::Vlen(vec![Row::empty(base)]),
        },
    }
}

/// The memory of a text, or of the list of a value, without its bytes.
const TEXT: usize = size_of::<Vec<u8>>() + ALLOCATION;

/// The memory of a row without its values.
const ROW: usize = size_of::<Row>() + ALLOCATION;

/// The memory of one value that the text lacks.
fn needs(of: &ElementType) -> usize {
    let user = match of {
        ElementType::Atomic(nc_type) => return nc_type.size().unwrap_or(TEXT),
        ElementType::User(user) => user,
    };
    match &user.class {
        TypeClass::Enum { base, .. } => base.size().unwrap_or(1),
        TypeClass::Opaque { size } => size.saturating_add(TEXT),
        TypeClass::Vlen { .. } => ROW,
        TypeClass::Compound { fields } => {
            fields.iter().fold(TEXT, |sum, field| sum.saturating_add(ROW).saturating_add(field_needs(field)))
        }
    }
}

/// The memory of the values of a field that the text lacks.
fn field_needs(field: &Field) -> usize {
    let each = needs(&field.element);
    field
        .shape
        .iter()
        .fold(each, |product, len| product.saturating_mul(usize::try_from(*len).unwrap_or(usize::MAX)))
}

fn default_field(field: &Field) -> Row {
    let len = field.shape.iter().try_fold(1usize, |len, more| len.checked_mul(usize::try_from(*more).ok()?));
    default_row(&field.element).repeated(len.unwrap_or(0))
}
