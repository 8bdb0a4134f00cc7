//! The first pass over the values of a variable: determines the lengths of unlimited dimensions.

use ncz_model::{ElementType, NcType};
use std::io::{Read, Seek};

use super::error::{CdlError, CdlErrorKind};
use super::input::Input;

/// A level of braces: the dimensions up to the next unlimited one. The outermost level has no braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Level {
    /// The index of its first dimension among those of the variable, if that is unlimited.
    pub(super) unlimited: Option<usize>,
    /// The number of values for each index of that dimension, or in total.
    pub(super) inner: u64,
    /// The largest number of indices so far.
    pub(super) len: u64,
}

/// The extent of a variable's values.
#[derive(Debug, Clone)]
pub(super) struct Extent {
    pub(super) levels: Vec<Level>,
    of: ElementType,
    /// The bytes of each text of a char variable; the length of a text is rounded up to a multiple.
    unit: u64,
    /// The bytes of the longest string.
    pub(super) longest: usize,
}

/// Converts a variable's dimensions, as (length, unlimited), to levels of braces.
pub(super) fn levels(dimensions: &[(u64, bool)]) -> Option<Vec<Level>> {
    let mut levels = vec![Level { unlimited: None, inner: 1, len: 0 }];
    for (at, &(len, unlimited)) in dimensions.iter().enumerate() {
        if unlimited && at > 0 {
            levels.push(Level { unlimited: None, inner: 1, len: 0 });
        }
        let level = levels.last_mut()?;
        if unlimited {
            level.unlimited = Some(at);
        } else {
            level.inner = level.inner.checked_mul(len)?;
        }
    }
    Some(levels)
}

/// Returns the bytes of each text of a char variable; the length of a text is rounded up to a multiple.
pub(super) fn unit(dimensions: &[(u64, bool)]) -> u64 {
    match dimensions {
        [_, .., (len, false)] => (*len).max(1),
        _ => 1,
    }
}

impl Extent {
    pub(super) fn new(of: ElementType, dimensions: &[(u64, bool)]) -> Option<Self> {
        Some(Self { levels: levels(dimensions)?, of, unit: unit(dimensions), longest: 0 })
    }
}

/// The bytes that stop the quick scan over values.
const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    let bytes = b"\n;{}\"'/=:";
    let mut at = 0;
    while at < bytes.len() {
        stops[bytes[at] as usize] = true;
        at += 1;
    }
    stops
};

impl<R: Read + Seek> Input<R> {
    /// Scans the values up to the `;`, which is not consumed.
    pub(super) fn extent(&mut self, extent: &mut Extent) -> Result<(), CdlError> {
        let is_fixed = extent.levels.iter().all(|level| level.unlimited.is_none());
        let is_fixed = is_fixed && matches!(extent.of, ElementType::Atomic(_));
        if is_fixed { self.skip_values(extent) } else { self.level(extent, 0) }
    }

    /// Skips values whose number is known.
    fn skip_values(&mut self, extent: &mut Extent) -> Result<(), CdlError> {
        let mut scratch = Vec::new();
        let mut depth = 0u64;
        loop {
            match self.skip_blanks()? {
                Some(b';') => return Ok(()),
                None | Some(b'=' | b':') => return Err(self.expected(", or ; after a value")),
                Some(b'"') => {
                    scratch.clear();
                    self.string(&mut scratch)?;
                    extent.longest = extent.longest.max(scratch.len());
                }
                Some(b'\'') => {
                    self.letter()?;
                }
                Some(b'{') => {
                    depth += 1;
                    self.take(1);
                }
                Some(b'}') if depth == 0 => return Err(self.expected(", or ; after a value")),
                Some(b'}') => {
                    depth -= 1;
                    self.take(1);
                }
                Some(_) => {
                    let held = self.held();
                    let bytes = held.iter().skip(1).position(|&byte| STOPS[usize::from(byte)]);
                    let bytes = bytes.map_or(held.len(), |bytes| bytes + 1);
                    self.take(bytes);
                }
            }
        }
    }

    /// Counts the items of a level and of its inner levels.
    fn level(&mut self, extent: &mut Extent, at: usize) -> Result<(), CdlError> {
        let is_last = at + 1 == extent.levels.len();
        let (mut items, mut text) = (0u64, Vec::new());
        // Adjacent characters form one text.
        let mut letters = 0u64;
        let mut expects_value = false;
        loop {
            let next = self.skip_blanks()?;
            match next {
                Some(b'}') if at > 0 && !expects_value => break,
                Some(b';') if at == 0 && !expects_value => break,
                _ => {}
            }
            let is_char = extent.of == ElementType::Atomic(NcType::Char);
            match next {
                Some(b'{') if !is_last => {
                    self.take(1);
                    self.level(extent, at + 1)?;
                    items += 1;
                    self.expect(b'}', ", or } after a value")?;
                }
                _ if !is_last => {
                    return Err(self.expected("{ before the values along an inner unlimited dimension"));
                }
                Some(b',' | b'}' | b';') | None => return Err(self.expected("a value")),
                _ if matches!(extent.of, ElementType::User(_)) => {
                    self.skip_value()?;
                    items += 1;
                }
                Some(b'"') => {
                    text.clear();
                    self.string(&mut text)?;
                    extent.longest = extent.longest.max(text.len());
                    items += padded(std::mem::take(&mut letters), extent.unit);
                    items += if is_char { text_len(&text, extent.unit) } else { 1 };
                }
                Some(b'\'') => {
                    self.letter()?;
                    if is_char { letters += 1 } else { items += 1 }
                }
                _ if is_char => {
                    self.constant()?;
                    letters += 1;
                }
                _ => {
                    let (more, comma) = self.count_quickly()?;
                    items += more;
                    if comma {
                        expects_value = true;
                        continue;
                    }
                }
            }
            expects_value = false;
            match self.skip_blanks()? {
                Some(b',') => {
                    self.take(1);
                    expects_value = true;
                }
                Some(b'}') if at > 0 => {}
                Some(b';') if at == 0 => {}
                _ => {
                    return Err(self.expected(if at > 0 {
                        ", or } after a value"
                    } else {
                        ", or ; after a value"
                    }));
                }
            }
        }
        items += padded(letters, extent.unit);
        if let Some(level) = extent.levels.get_mut(at) {
            level.len = level.len.max(items.div_ceil(level.inner.max(1)));
        }
        Ok(())
    }

    /// Skips a value of a user-defined type, up to the comma or the end of the list after it.
    fn skip_value(&mut self) -> Result<(), CdlError> {
        let (mut depth, mut text) = (0u64, Vec::new());
        loop {
            match self.skip_blanks()? {
                Some(b',' | b';' | b'}') if depth == 0 => return Ok(()),
                Some(b'{') => {
                    depth += 1;
                    self.take(1);
                }
                Some(b'}') => {
                    depth -= 1;
                    self.take(1);
                }
                Some(b'"') => {
                    text.clear();
                    self.string(&mut text)?;
                }
                Some(b'\'') => {
                    self.letter()?;
                }
                // An escaped character of a name.
                Some(b'\\') => {
                    self.rest(2)?;
                    self.take(2);
                }
                None | Some(b';' | b'=' | b':') => return Err(self.expected(", or } after a value")),
                Some(_) => self.take(1),
            }
        }
    }

    /// Skips and counts values without quotes, and the commas between them; returns whether a comma was last.
    fn count_quickly(&mut self) -> Result<(u64, bool), CdlError> {
        let (mut items, mut in_value) = (0u64, false);
        loop {
            let held = self.rest(1)?;
            let mut bytes = 0;
            for &byte in held {
                match byte {
                    _ if STOPS[usize::from(byte)] => break,
                    b',' if !in_value => break,
                    b',' => in_value = false,
                    b' ' | b'\t' | b'\r' | b'\x0c' => {}
                    _ if in_value => {}
                    _ => {
                        items += 1;
                        in_value = true;
                    }
                }
                bytes += 1;
            }
            self.take(bytes);
            match self.skip_blanks()? {
                Some(b',') if in_value => {}
                Some(byte) if !STOPS[usize::from(byte)] && byte != b',' => {}
                _ if items == 0 => return Err(self.expected("a value")),
                _ => return Ok((items, !in_value)),
            }
        }
    }
}

fn text_len(text: &[u8], unit: u64) -> u64 {
    match text.len() as u64 {
        // An empty text is a whole row, unless rows are single characters.
        0 if unit > 1 => unit,
        len => padded(len, unit),
    }
}

fn padded(len: u64, unit: u64) -> u64 {
    len.div_ceil(unit).saturating_mul(unit)
}

/// The error of lengths whose product is too large.
pub(super) fn uncountable(variable: &str) -> CdlErrorKind {
    CdlErrorKind::Uncountable { variable: variable.to_owned() }
}
