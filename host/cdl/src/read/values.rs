//! The second pass over the values of a variable: reads the elements, in blocks.

use ncz_model::{ElementType, NcType, Row, Strings, Value};
use std::io::{Read, Seek};

use super::error::{CdlError, CdlErrorKind};
use super::extent::{levels, unit};
use super::input::{Input, Mark};
use super::lexer::Constant;
use super::number::{self, Element, Number};
use super::user_values::Memory;

/// A block of values of a variable, in order.
#[derive(Debug)]
pub enum CdlBlock<'a> {
    /// Elements in the machine's byte order. The receiver may take the vector and leave an empty one.
    Elements(&'a mut Vec<u8>),
    /// Strings. The receiver may take the row and leave an empty one.
    Strings(&'a mut Strings),
    /// Values of a user-defined type. The receiver may take them ([`Row::take`]).
    Rows(&'a mut Row),
}

/// Receives the values of a variable block by block, with the bytes of the text that were read so far, and returns the
/// number of values of the next block; 0 ends the calls.
pub type Blocks<'a, E> = &'a mut dyn FnMut(CdlBlock<'_>, u64) -> Result<u64, E>;

/// The properties of a variable for reading its values.
pub(super) struct Request<'a> {
    pub(super) path: &'a str,
    /// The lengths, and whether each dimension is unlimited.
    pub(super) dimensions: &'a [(u64, bool)],
    /// The type.
    pub(super) of: &'a ElementType,
    /// The value of `_` and of missing values.
    pub(super) fill: &'a Row,
    /// The number of values of the first block.
    pub(super) first: u64,
}

/// Reads the values up to the `;`, which is not consumed. Blocks of only fill values are not passed on; missing values
/// at the end of a block are filled.
pub(super) fn read<R: Read + Seek, E: From<CdlError>>(
    input: &mut Input<R>,
    request: &Request<'_>,
    sink: Blocks<'_, E>,
) -> Result<(), E> {
    let shape = || {
        let mut levels = levels(request.dimensions)?;
        for level in &mut levels {
            level.len = level.unlimited.and_then(|at| request.dimensions.get(at)).map_or(1, |&(len, _)| len);
        }
        let sizes: Option<Vec<u64>> = levels.iter().map(|level| level.len.checked_mul(level.inner)).collect();
        let sizes = sizes?;
        sizes.iter().try_fold(1u64, |product, &size| product.checked_mul(size))?;
        Some(sizes)
    };
    let Some(sizes) = shape() else {
        let mark = input.mark();
        return Err(input.error(mark, super::extent::uncountable(request.path)).into());
    };
    let mut reader = Reader {
        input,
        path: request.path,
        sizes,
        unit: unit(request.dimensions),
        is_scalar: request.dimensions.is_empty(),
        block_len: request.first,
        held: 0,
        pushed: 0,
        sink,
    };
    let fill = match (request.of, request.fill) {
        (ElementType::Atomic(_), Row::Plain(fill)) => fill,
        (of, fill) => return reader.rows(of, fill),
    };
    match fill {
        Value::Byte(fill) => reader.numbers(fill.first().copied().unwrap_or_default()),
        Value::UByte(fill) => reader.numbers(fill.first().copied().unwrap_or_default()),
        Value::Short(fill) => reader.numbers(fill.first().copied().unwrap_or_default()),
        Value::UShort(fill) => reader.numbers(fill.first().copied().unwrap_or_default()),
        Value::Int(fill) => reader.numbers(fill.first().copied().unwrap_or_default()),
        Value::UInt(fill) => reader.numbers(fill.first().copied().unwrap_or_default()),
        Value::Int64(fill) => reader.numbers(fill.first().copied().unwrap_or_default()),
        Value::UInt64(fill) => reader.numbers(fill.first().copied().unwrap_or_default()),
        Value::Float(fill) => reader.numbers(fill.first().copied().unwrap_or_default()),
        Value::Double(fill) => reader.numbers(fill.first().copied().unwrap_or_default()),
        Value::Char(fill) => reader
            .elements(Texts { fill: fill.first().copied().unwrap_or_default(), row: Vec::new() }, Vec::new()),
        Value::String(fill) => {
            let fill = fill.first().cloned().unwrap_or_default();
            reader.elements(StringKind { fill, text: Vec::new() }, Strings::new())
        }
    }
}

struct Reader<'a, 'b, R, E> {
    input: &'a mut Input<R>,
    path: &'a str,
    /// The most values, or braces, of each level.
    sizes: Vec<u64>,
    /// The bytes of each text of a char variable; the length of a text is rounded up to a multiple.
    unit: u64,
    is_scalar: bool,
    /// The number of values of this block; `held` is the number so far.
    block_len: u64,
    held: u64,
    /// The number of values of all blocks so far.
    pushed: u64,
    sink: Blocks<'b, E>,
}

/// A buffer of elements that is passed on as a block.
trait Buffer {
    fn block(&mut self) -> CdlBlock<'_>;
    fn clear(&mut self);
}

impl Buffer for Vec<u8> {
    fn block(&mut self) -> CdlBlock<'_> {
        CdlBlock::Elements(self)
    }

    fn clear(&mut self) {
        Self::clear(self);
    }
}

impl Buffer for Row {
    fn block(&mut self) -> CdlBlock<'_> {
        CdlBlock::Rows(self)
    }

    fn clear(&mut self) {
        self.truncate(0);
    }
}

impl Buffer for Strings {
    fn block(&mut self) -> CdlBlock<'_> {
        CdlBlock::Strings(self)
    }

    fn clear(&mut self) {
        Self::clear(self);
    }
}

/// A kind of elements, with the functions that read them into the buffer.
trait Kind {
    type Buffer: Buffer;

    /// Reads the text between two commas and appends its elements; at most `room` fit.
    fn item<R: Read + Seek, E: From<CdlError>>(
        &mut self,
        reader: &mut Reader<'_, '_, R, E>,
        buffer: &mut Self::Buffer,
        room: u64,
    ) -> Result<u64, E>;

    /// Reads items and the commas between them, as long as the quick parser can.
    fn items<R: Read + Seek, E: From<CdlError>>(
        &mut self,
        _reader: &mut Reader<'_, '_, R, E>,
        _buffer: &mut Self::Buffer,
        _room: u64,
    ) -> Result<u64, E> {
        Ok(0)
    }

    /// Ends a row that several items form.
    fn end_row<R: Read + Seek, E: From<CdlError>>(
        &mut self,
        _reader: &mut Reader<'_, '_, R, E>,
        _buffer: &mut Self::Buffer,
        _room: u64,
    ) -> Result<u64, E> {
        Ok(0)
    }

    fn fill(&self, buffer: &mut Self::Buffer);
}

impl<R: Read + Seek, E: From<CdlError>> Reader<'_, '_, R, E> {
    fn numbers<T: Element>(&mut self, fill: T) -> Result<(), E> {
        self.elements(Numbers { fill }, Vec::new())
    }

    /// Reads values of a user-defined type. Blocks of only fill values are passed on too: what was never written reads as
    /// zeros, which its fill value need not be.
    fn rows(&mut self, of: &ElementType, fill: &Row) -> Result<(), E> {
        let (fill_memory, memory) = (fill.memory(), Memory::USUAL);
        let (mut kind, mut buffer) = (Rows { of, fill, fill_memory, memory }, Row::empty(of));
        let total = self.sizes.iter().product();
        self.level(&mut kind, &mut buffer, 0)?;
        while self.block_len > 0 && self.pushed < total {
            self.fill(&kind, &mut buffer)?;
        }
        Ok(())
    }

    fn elements<K: Kind>(&mut self, mut kind: K, mut buffer: K::Buffer) -> Result<(), E> {
        self.level(&mut kind, &mut buffer, 0)?;
        while self.held > 0 {
            self.fill(&kind, &mut buffer)?;
        }
        Ok(())
    }

    /// Reads a level up to its end, which is not consumed.
    fn level<K: Kind>(&mut self, kind: &mut K, buffer: &mut K::Buffer, at: usize) -> Result<(), E> {
        let most = self.sizes.get(at).copied().unwrap_or(0);
        let is_last = at + 1 >= self.sizes.len();
        let end = if at == 0 { b';' } else { b'}' };
        let mut items = 0;
        if self.input.skip_blanks()? != Some(end) {
            loop {
                if is_last {
                    items += kind.items(self, buffer, most - items)?;
                    items += kind.item(self, buffer, most - items)?;
                } else {
                    self.braces(kind, buffer, at, most - items)?;
                    items += 1;
                }
                match self.input.skip_blanks()? {
                    Some(b',') => self.input.take(1),
                    Some(byte) if byte == end => break,
                    _ if end == b';' => return Err(self.input.expected(", or ; after a value").into()),
                    _ => return Err(self.input.expected(", or } after a value").into()),
                }
            }
        }
        if is_last {
            items += kind.end_row(self, buffer, most - items)?;
        }
        if at > 0 {
            let below: u64 = self.sizes.iter().skip(at + 1).product();
            for _ in 0..(most - items) * below {
                self.fill(kind, buffer)?;
            }
        }
        Ok(())
    }

    fn braces<K: Kind>(
        &mut self,
        kind: &mut K,
        buffer: &mut K::Buffer,
        at: usize,
        room: u64,
    ) -> Result<(), E> {
        if self.input.skip_blanks()? != Some(b'{') {
            let expected = "{ before the values along an inner unlimited dimension";
            return Err(self.input.expected(expected).into());
        }
        if room == 0 {
            return Err(self.too_many(self.input.mark()));
        }
        self.input.take(1);
        self.level(kind, buffer, at + 1)?;
        Ok(self.input.expect(b'}', ", or } after a value")?)
    }

    fn too_many(&mut self, mark: Mark) -> E {
        let total: u64 = self.sizes.iter().product();
        let what = format!("variable {:?}", self.path);
        self.input.error(mark, CdlErrorKind::TooMany { what, most: total }).into()
    }

    fn fill<K: Kind>(&mut self, kind: &K, buffer: &mut K::Buffer) -> Result<(), E> {
        kind.fill(buffer);
        self.pushed(buffer)
    }

    /// Counts an element in the buffer, and passes on the buffer if it is full.
    fn pushed(&mut self, buffer: &mut impl Buffer) -> Result<(), E> {
        if self.block_len == 0 {
            buffer.clear();
            return Ok(());
        }
        self.held += 1;
        self.pushed += 1;
        if self.held == self.block_len {
            self.block_len = (self.sink)(buffer.block(), self.input.position())?;
            self.held = 0;
            buffer.clear();
        }
        Ok(())
    }

    fn wrong_kind(&mut self, mark: Mark, nc_type: NcType) -> E {
        match self.input.found() {
            Ok(_) if self.input.held().first() == Some(&b'{') => {
                let expected = "a value; braces surround the values along an inner unlimited dimension, and \
                              nowhere else";
                self.input.expected(expected).into()
            }
            Ok(_) => match self.input.constant() {
                Ok((constant, _)) => self.input.kind(&constant, mark, nc_type).into(),
                Err(error) => error.into(),
            },
            Err(error) => error.into(),
        }
    }
}

struct Numbers<T> {
    fill: T,
}

impl<T: Element> Kind for Numbers<T> {
    type Buffer = Vec<u8>;

    fn items<R: Read + Seek, E: From<CdlError>>(
        &mut self,
        reader: &mut Reader<'_, '_, R, E>,
        buffer: &mut Vec<u8>,
        room: u64,
    ) -> Result<u64, E> {
        let mut items = 0;
        while items < room {
            let bytes = reader.input.rest(64)?;
            let blanks = bytes.iter().take_while(|&&byte| byte == b' ').count();
            let Some((value, len)) = bytes.get(blanks..).and_then(T::quick) else { break };
            // The last item is left: the full parser checks the text after it.
            if bytes.get(blanks + len) != Some(&b',') {
                break;
            }
            reader.input.take(blanks + len + 1);
            value.push(buffer);
            reader.pushed(buffer)?;
            items += 1;
        }
        Ok(items)
    }

    fn item<R: Read + Seek, E: From<CdlError>>(
        &mut self,
        reader: &mut Reader<'_, '_, R, E>,
        buffer: &mut Vec<u8>,
        room: u64,
    ) -> Result<u64, E> {
        let next = reader.input.skip_blanks()?;
        let mark = reader.input.mark();
        let value = match next {
            Some(b'\'') => T::of_letter(reader.input.letter()?),
            Some(byte) if number::is_part(byte) => {
                let bytes = reader.input.rest(number::MOST_BYTES + 1)?;
                let len = bytes.iter().take_while(|&&byte| number::is_part(byte)).count();
                let word = bytes.get(..len.min(number::MOST_BYTES)).unwrap_or_default();
                if word == b"_" {
                    reader.input.take(1);
                    self.fill
                } else {
                    let number =
                        str::from_utf8(word).ok().map(|word| Number::parse(word).and_then(Number::to));
                    match number {
                        Some(Ok(value)) => {
                            reader.input.take(len);
                            value
                        }
                        // The full parser makes the error.
                        _ => {
                            let (constant, mark) = reader.input.constant()?;
                            reader.input.number(&constant, mark)?
                        }
                    }
                }
            }
            _ => return Err(reader.wrong_kind(mark, T::TYPE)),
        };
        if room == 0 {
            return Err(reader.too_many(mark));
        }
        value.push(buffer);
        reader.pushed(buffer)?;
        Ok(1)
    }

    fn fill(&self, buffer: &mut Vec<u8>) {
        self.fill.push(buffer);
    }
}

struct Rows<'a> {
    of: &'a ElementType,
    fill: &'a Row,
    fill_memory: usize,
    /// The memory that the values of a block may take.
    memory: Memory,
}

impl Kind for Rows<'_> {
    type Buffer = Row;

    fn item<R: Read + Seek, E: From<CdlError>>(
        &mut self,
        reader: &mut Reader<'_, '_, R, E>,
        buffer: &mut Row,
        room: u64,
    ) -> Result<u64, E> {
        reader.input.skip_blanks()?;
        let mark = reader.input.mark();
        if room == 0 {
            return Err(reader.too_many(mark));
        }
        if buffer.is_empty() {
            self.memory = Memory::USUAL;
        }
        if reader.input.accept_fill()? {
            let taken = self.memory.take(1, self.fill_memory);
            taken.map_err(|kind| reader.input.error(mark, kind))?;
            buffer.append(self.fill.clone());
        } else {
            reader.input.user_value(self.of, &mut self.memory, buffer)?;
        }
        reader.pushed(buffer)?;
        Ok(1)
    }

    fn fill(&self, buffer: &mut Row) {
        buffer.append(self.fill.clone());
    }
}

struct StringKind {
    fill: Vec<u8>,
    text: Vec<u8>,
}

impl Kind for StringKind {
    type Buffer = Strings;

    fn item<R: Read + Seek, E: From<CdlError>>(
        &mut self,
        reader: &mut Reader<'_, '_, R, E>,
        buffer: &mut Strings,
        room: u64,
    ) -> Result<u64, E> {
        let next = reader.input.skip_blanks()?;
        let mark = reader.input.mark();
        self.text.clear();
        match next {
            Some(b'"') => reader.input.string(&mut self.text)?,
            Some(byte) if number::is_part(byte) => match reader.input.constant()? {
                (Constant::Fill, _) => self.text.extend_from_slice(&self.fill),
                (Constant::Nil, _) => {}
                (constant, mark) => return Err(reader.input.kind(&constant, mark, NcType::String).into()),
            },
            _ => return Err(reader.wrong_kind(mark, NcType::String)),
        }
        if room == 0 {
            return Err(reader.too_many(mark));
        }
        buffer.push(&self.text);
        reader.pushed(buffer)?;
        Ok(1)
    }

    fn fill(&self, buffer: &mut Strings) {
        buffer.push(&self.fill);
    }
}

/// The texts and characters of a char variable.
struct Texts {
    fill: u8,
    /// The current text, or adjacent characters, which form one text.
    row: Vec<u8>,
}

impl Texts {
    /// Appends the text and the fill of its row.
    fn row<R: Read + Seek, E: From<CdlError>>(
        &mut self,
        reader: &mut Reader<'_, '_, R, E>,
        buffer: &mut Vec<u8>,
        room: u64,
        mark: Mark,
    ) -> Result<u64, E> {
        let len = (self.row.len() as u64).div_ceil(reader.unit).saturating_mul(reader.unit);
        if len > room {
            return Err(reader.too_many(mark));
        }
        for &letter in &self.row {
            buffer.push(letter);
            reader.pushed(buffer)?;
        }
        for _ in self.row.len() as u64..len {
            buffer.push(self.fill);
            reader.pushed(buffer)?;
        }
        self.row.clear();
        Ok(len)
    }
}

impl Kind for Texts {
    type Buffer = Vec<u8>;

    fn item<R: Read + Seek, E: From<CdlError>>(
        &mut self,
        reader: &mut Reader<'_, '_, R, E>,
        buffer: &mut Vec<u8>,
        room: u64,
    ) -> Result<u64, E> {
        let next = reader.input.skip_blanks()?;
        let mark = reader.input.mark();
        if next != Some(b'"') {
            let letter = match next {
                Some(b'\'') => reader.input.letter()?,
                Some(byte) if number::is_part(byte) => match reader.input.constant()? {
                    (Constant::Number(text), mark) => reader.input.char_number(&text, mark)?,
                    (Constant::Fill, _) => self.fill,
                    (constant, mark) => return Err(reader.input.kind(&constant, mark, NcType::Char).into()),
                },
                _ => return Err(reader.wrong_kind(mark, NcType::Char)),
            };
            if self.row.len() as u64 >= room {
                return Err(reader.too_many(mark));
            }
            self.row.push(letter);
            // A long row of characters is not collected.
            return if self.row.len() as u64 == reader.unit {
                self.row(reader, buffer, room, mark)
            } else {
                Ok(0)
            };
        }
        let before = if self.row.is_empty() { 0 } else { self.row(reader, buffer, room, mark)? };
        reader.input.string(&mut self.row)?;
        if self.row.is_empty() {
            // An empty text is a whole row; for a scalar, the byte 0.
            let fill = if reader.is_scalar { 0 } else { self.fill };
            let len = if reader.unit > 1 || reader.is_scalar { reader.unit } else { 0 };
            if len > room - before {
                return Err(reader.too_many(mark));
            }
            for _ in 0..len {
                buffer.push(fill);
                reader.pushed(buffer)?;
            }
            return Ok(before + len);
        }
        Ok(before + self.row(reader, buffer, room - before, mark)?)
    }

    fn end_row<R: Read + Seek, E: From<CdlError>>(
        &mut self,
        reader: &mut Reader<'_, '_, R, E>,
        buffer: &mut Vec<u8>,
        room: u64,
    ) -> Result<u64, E> {
        let mark = reader.input.mark();
        if self.row.is_empty() { Ok(0) } else { self.row(reader, buffer, room, mark) }
    }

    fn fill(&self, buffer: &mut Vec<u8>) {
        buffer.push(self.fill);
    }
}
