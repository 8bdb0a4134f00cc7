//! The values of attributes, with types that are given or inferred as in ncgen.

use ncz_model::{NcType, Value};
use std::io::{Read, Seek};

use super::error::{CdlError, CdlErrorKind};
use super::input::{Input, Mark};
use super::lexer::Constant;
use super::number::{Element, Number};

/// The most values of one attribute.
const VALUES: usize = 1 << 20;

/// The constants of an attribute, each with its position.
pub(super) type Constants = Vec<(Constant, Mark)>;

impl<R: Read + Seek> Input<R> {
    /// Reads the constants up to the `;`, which is not consumed.
    pub(super) fn constants(&mut self) -> Result<Constants, CdlError> {
        let mut constants = Vec::new();
        if self.skip_blanks()? == Some(b';') {
            return Ok(constants);
        }
        loop {
            constants.push(self.constant()?);
            if constants.len() > VALUES {
                let mark = self.mark();
                return Err(
                    self.error(mark, CdlErrorKind::TooMuch { what: "values in an attribute", most: VALUES })
                );
            }
            match self.skip_blanks()? {
                Some(b',') => self.take(1),
                Some(b';') => return Ok(constants),
                _ => return Err(self.expected(", or ; after a value")),
            }
        }
    }

    /// Converts the constants to a value of this type, or of the type inferred from them.
    pub(super) fn value(
        &mut self,
        constants: &Constants,
        nc_type: Option<NcType>,
    ) -> Result<Value, CdlError> {
        let nc_type = match nc_type {
            Some(nc_type) => nc_type,
            None => self.inferred(constants)?,
        };
        match nc_type {
            NcType::Char => self.text(constants),
            NcType::String => self.strings(constants),
            NcType::Byte => self.numbers(constants).map(Value::Byte),
            NcType::UByte => self.numbers(constants).map(Value::UByte),
            NcType::Short => self.numbers(constants).map(Value::Short),
            NcType::UShort => self.numbers(constants).map(Value::UShort),
            NcType::Int => self.numbers(constants).map(Value::Int),
            NcType::UInt => self.numbers(constants).map(Value::UInt),
            NcType::Int64 => self.numbers(constants).map(Value::Int64),
            NcType::UInt64 => self.numbers(constants).map(Value::UInt64),
            NcType::Float => self.numbers(constants).map(Value::Float),
            NcType::Double => self.numbers(constants).map(Value::Double),
        }
    }

    /// Infers the type: `char` if all constants are text; double or float if any constant is; else the widest type of
    /// whole numbers, and of several with the same width the last.
    fn inferred(&mut self, constants: &Constants) -> Result<NcType, CdlError> {
        let Some((first, _)) = constants.first() else { return Ok(NcType::Char) };
        let is_text = matches!(first, Constant::Text(_));
        let mut inferred = None;
        for (constant, mark) in constants {
            let nc_type = match constant {
                Constant::Text(_) if is_text => NcType::Char,
                Constant::Number(text) if !is_text => self.checked(Number::parse(text), *mark)?.nc_type(),
                // ncgen reads a single character as a small number.
                Constant::Letter(_) if !is_text => NcType::Byte,
                Constant::Text(_) | Constant::Number(_) | Constant::Letter(_) => {
                    return Err(self.error(*mark, CdlErrorKind::Mixed));
                }
                Constant::Fill | Constant::Nil => {
                    let found = constant.kind().to_owned();
                    return Err(
                        self.error(*mark, CdlErrorKind::Expected { expected: "a number or text", found })
                    );
                }
            };
            inferred = Some(match inferred {
                Some(prior) if rank(nc_type) < rank(prior) => prior,
                _ => nc_type,
            });
        }
        Ok(inferred.unwrap_or(NcType::Char))
    }

    fn text(&mut self, constants: &Constants) -> Result<Value, CdlError> {
        let mut bytes = Vec::new();
        for (constant, mark) in constants {
            match constant {
                Constant::Text(text) => bytes.extend_from_slice(text),
                Constant::Letter(letter) => bytes.push(*letter),
                Constant::Number(text) => bytes.push(self.char_number(text, *mark)?),
                Constant::Fill | Constant::Nil => return Err(self.kind(constant, *mark, NcType::Char)),
            }
        }
        Ok(Value::Char(bytes))
    }

    fn strings(&mut self, constants: &Constants) -> Result<Value, CdlError> {
        let mut strings = Vec::with_capacity(constants.len());
        for (constant, mark) in constants {
            strings.push(match constant {
                Constant::Text(text) => text.clone(),
                Constant::Nil => Vec::new(),
                _ => return Err(self.kind(constant, *mark, NcType::String)),
            });
        }
        Ok(Value::String(strings))
    }

    fn numbers<T: Element>(&mut self, constants: &Constants) -> Result<Vec<T>, CdlError> {
        let mut numbers = Vec::with_capacity(constants.len());
        for (constant, mark) in constants {
            numbers.push(self.number(constant, *mark)?);
        }
        Ok(numbers)
    }

    /// Converts a constant to a number of this type.
    pub(super) fn number<T: Element>(&mut self, constant: &Constant, mark: Mark) -> Result<T, CdlError> {
        match constant {
            Constant::Number(text) => self.checked(Number::parse(text).and_then(Number::to), mark),
            Constant::Letter(letter) => Ok(T::of_letter(*letter)),
            _ => Err(self.kind(constant, mark, T::TYPE)),
        }
    }

    /// Converts a number to a byte of text: only a number whose suffix is of a type of one byte.
    pub(super) fn char_number(&mut self, text: &str, mark: Mark) -> Result<u8, CdlError> {
        let number = self.checked(Number::parse(text), mark)?;
        match number.nc_type() {
            NcType::Byte => self.checked(number.to::<i8>(), mark).map(|byte| byte as u8),
            NcType::UByte => self.checked(number.to::<u8>(), mark),
            _ => Err(self.error(mark, CdlErrorKind::Kind { nc_type: NcType::Char, found: "a number" })),
        }
    }

    pub(super) fn kind(&mut self, constant: &Constant, mark: Mark, nc_type: NcType) -> CdlError {
        self.error(mark, CdlErrorKind::Kind { nc_type, found: constant.kind() })
    }

    pub(super) fn checked<T>(&mut self, result: Result<T, CdlErrorKind>, mark: Mark) -> Result<T, CdlError> {
        result.map_err(|kind| self.error(mark, kind))
    }
}

/// The rank of a type in inference: the highest rank is used.
fn rank(nc_type: NcType) -> u8 {
    match nc_type {
        NcType::Byte | NcType::UByte | NcType::Char => 0,
        NcType::Short | NcType::UShort => 1,
        NcType::Int | NcType::UInt => 2,
        NcType::Int64 | NcType::UInt64 => 3,
        NcType::Float => 4,
        NcType::Double | NcType::String => 5,
    }
}
