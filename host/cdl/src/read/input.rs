//! Buffered input of a text.

use std::io::{self, Read, Seek, SeekFrom};

use super::error::{CdlError, CdlErrorKind, Spot};

/// The size of the buffer in bytes.
const BUFFER: usize = 1 << 18;

/// The characters of a long line that are shown on each side of the position.
const SHOWN: u64 = 50;

/// A position in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// The bytes before it.
    offset: u64,
    line: u64,
    /// The start of its line.
    line_start: u64,
}

impl Mark {
    pub(super) fn line(self) -> u64 {
        self.line
    }
}

/// A text and the position of its reader.
#[derive(Debug)]
pub(super) struct Input<R> {
    source: R,
    /// Bytes of the text.
    len: u64,
    buffer: Vec<u8>,
    /// The start of the unread part of the buffer.
    at: usize,
    end: usize,
    /// The offset of the buffer in the text.
    base: u64,
    ended: bool,
    line: u64,
    line_start: u64,
}

impl<R: Read + Seek> Input<R> {
    pub(super) fn new(mut source: R) -> Result<Self, CdlError> {
        let len = source.seek(SeekFrom::End(0))?;
        source.seek(SeekFrom::Start(0))?;
        let mut input = Self {
            source,
            len,
            buffer: vec![0; BUFFER],
            at: 0,
            end: 0,
            base: 0,
            ended: false,
            line: 1,
            line_start: 0,
        };
        // The byte order mark of UTF-8 that some editors write.
        if input.rest(3)?.starts_with(b"\xEF\xBB\xBF") {
            input.take(3);
        }
        Ok(input)
    }

    /// The buffered bytes from the current position: at least `want`, unless the text ends before.
    pub(super) fn rest(&mut self, want: usize) -> Result<&[u8], CdlError> {
        if self.end - self.at < want && !self.ended {
            self.refill(want)?;
        }
        Ok(self.held())
    }

    /// The buffered bytes from the current position.
    pub(super) fn held(&self) -> &[u8] {
        self.buffer.get(self.at..self.end).unwrap_or_default()
    }

    /// Consumes buffered bytes that contain no line break.
    pub(super) fn take(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.end);
    }

    /// Consumes one byte, which may be a line break.
    pub(super) fn step(&mut self) {
        if self.held().first() == Some(&b'\n') {
            self.line += 1;
            self.line_start = self.base + self.at as u64 + 1;
        }
        self.take(1);
    }

    /// The next byte.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, CdlError> {
        if self.at == self.end {
            self.rest(1)?;
        }
        Ok(self.held().first().copied())
    }

    /// Skips blanks, line breaks and comments, and returns the next byte.
    pub(super) fn skip_blanks(&mut self) -> Result<Option<u8>, CdlError> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\r' | b'\x0c') => self.take(1),
                Some(b'\n') => self.step(),
                Some(b'/') => match self.rest(2)?.get(1) {
                    Some(b'/') => self.skip_line()?,
                    Some(b'*') => self.skip_comment()?,
                    _ => return Ok(Some(b'/')),
                },
                other => return Ok(other),
            }
        }
    }

    fn skip_line(&mut self) -> Result<(), CdlError> {
        while !self.rest(1)?.is_empty() {
            match self.held().iter().position(|&byte| byte == b'\n') {
                Some(bytes) => {
                    self.take(bytes);
                    return Ok(());
                }
                None => self.take(self.held().len()),
            }
        }
        Ok(())
    }

    fn skip_comment(&mut self) -> Result<(), CdlError> {
        let begin = self.mark();
        self.take(2);
        loop {
            match self.rest(2)? {
                [b'*', b'/', ..] => {
                    self.take(2);
                    return Ok(());
                }
                [] => return Err(self.error(begin, CdlErrorKind::Unterminated { what: "comment" })),
                _ => self.step(),
            }
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The number of bytes before the current position.
    pub(super) fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    /// The current position.
    pub(super) fn mark(&self) -> Mark {
        Mark { offset: self.base + self.at as u64, line: self.line, line_start: self.line_start }
    }

    /// Moves back or forward to a position.
    pub(super) fn go_to(&mut self, mark: Mark) -> Result<(), CdlError> {
        self.source.seek(SeekFrom::Start(mark.offset))?;
        (self.at, self.end, self.base, self.ended) = (0, 0, mark.offset, false);
        (self.line, self.line_start) = (mark.line, mark.line_start);
        Ok(())
    }

    /// Makes the error of a position; the reader must not be used afterwards.
    pub(super) fn error(&mut self, at: Mark, kind: CdlErrorKind) -> CdlError {
        match self.spot(at) {
            Ok(spot) => CdlError::Invalid { spot: Box::new(spot), kind },
            Err(error) => error.into(),
        }
    }

    fn refill(&mut self, want: usize) -> Result<(), CdlError> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.base += self.at as u64;
        (self.at, self.end) = (0, self.end - self.at);
        if self.buffer.len() < want {
            self.buffer.resize(want, 0);
        }
        while self.end < want.max(1) {
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.source.read(room) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(bytes) => self.end += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn spot(&mut self, at: Mark) -> io::Result<Spot> {
        let column = self.characters(at.line_start, at.offset)? + 1;
        let from = at.line_start.max(at.offset.saturating_sub(SHOWN));
        self.source.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        (&mut self.source).take(at.offset - from + SHOWN).read_to_end(&mut bytes)?;
        let (before, after) = bytes.split_at(bytes.len().min((at.offset - from) as usize));
        let after = after.split(|&byte| byte == b'\n' || byte == b'\r').next().unwrap_or_default();
        // A control character is one column wide like any other.
        let plain = |bytes: &[u8]| {
            let bytes = bytes.iter().skip_while(|&&byte| from > at.line_start && byte & 0xC0 == 0x80);
            let text: Vec<u8> = bytes.copied().collect();
            String::from_utf8_lossy(&text).replace(|c: char| c.is_control() && c != '\t', "\u{fffd}")
        };
        let before = plain(before);
        let after = plain(after);
        Ok(Spot {
            line: at.line,
            column,
            before: before.chars().count(),
            text: format!("{before}{}", after.trim_end()),
        })
    }

    /// Counts the characters between two positions of a line.
    fn characters(&mut self, from: u64, to: u64) -> io::Result<u64> {
        self.source.seek(SeekFrom::Start(from))?;
        let mut line = (&mut self.source).take(to.saturating_sub(from));
        let (mut buffer, mut characters) = ([0; 8192], 0);
        loop {
            let bytes = match line.read(&mut buffer) {
                Ok(0) => return Ok(characters),
                Ok(bytes) => buffer.get(..bytes).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            characters += bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u64;
        }
    }
}
