//! The layout of a variable's values: rows, lines, braces and comments, as in ncdump.

use std::io::{self, Write};

/// The bytes of text to collect before writing.
const FULL: usize = 1 << 16;

/// Comments with the position of values in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Annotations {
    /// One for each row (`ncdump -b`).
    pub rows: bool,
    /// One for each value (`ncdump -f`).
    pub values: bool,
    /// The style of indices.
    pub indices: IndexStyle,
}

/// The style of the indices of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IndexStyle {
    /// From 0, the fastest-changing dimension last.
    #[default]
    C,
    /// From 1, the fastest-changing dimension first.
    Fortran,
}

/// The text of a variable's values so far, and the position of the next value.
pub(super) struct Layout {
    pub(super) text: Vec<u8>,
    pub(super) shape: Vec<u64>,
    /// The unlimited dimensions.
    unlimited: Vec<bool>,
    /// The position of the next value.
    index: Vec<u64>,
    /// The number of remaining values.
    pub(super) left: u128,
    /// The escaped name of the variable.
    name: String,
    indent: usize,
    /// Bytes in this line, as ncdump counts them.
    column: usize,
    line_length: usize,
    annotations: Annotations,
}

impl Layout {
    /// Starts a variable's values, with `name = ` in the text.
    pub(super) fn new(
        name: &str,
        shape: Vec<u64>,
        unlimited: Vec<bool>,
        left: u128,
        (indent, line_length): (usize, usize),
        annotations: Annotations,
    ) -> Self {
        let escaped = super::escaped_name(name);
        let (equals, column) = match shape.len() {
            0 | 1 => (" = ", name.len() + 4 + indent),
            _ => (" =\n  ", 2 + indent),
        };
        Self {
            text: format!("\n{:indent$} {escaped}{equals}", "").into_bytes(),
            index: vec![0; shape.len()],
            shape,
            unlimited,
            left,
            name: escaped,
            indent,
            column,
            line_length: line_length.saturating_sub(2),
            annotations,
        }
    }

    /// Places the next `count` values, which `write` appends to the text; at most as many as are left.
    pub(super) fn values(
        &mut self,
        out: &mut dyn Write,
        count: usize,
        mut write: impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), io::Error> {
        let mut at = 0;
        while at < count {
            if self.text.len() >= FULL {
                self.flush(out)?;
            }
            self.start_row();
            // Values that do not end a row, and at most as many as fill one piece of text.
            let run =
                usize::try_from(self.left_in_row() - 1).unwrap_or(usize::MAX).min(count - at).min(1 << 12);
            let first = self.index.last().copied().unwrap_or(0);
            for value in at..at + run {
                let start = self.text.len();
                write(value, &mut self.text);
                self.text.extend_from_slice(b", ");
                match self.annotations.values {
                    false => self.fold(start),
                    true => self.annotate_value(first + (value - at) as u64),
                }
            }
            at += run;
            self.step(run as u64);
            if at < count && self.left_in_row() == 1 {
                let start = self.text.len();
                write(at, &mut self.text);
                self.end_row(start);
                at += 1;
            }
        }
        Ok(())
    }

    /// Whether the next value starts a row; if so, its braces and its comment are placed.
    pub(super) fn start_row(&mut self) -> bool {
        if self.index.last().is_some_and(|&at| at > 0) {
            return false;
        }
        let rank = self.shape.len();
        // Braces around the records of an inner unlimited dimension, from which CDL determines their lengths.
        for level in 1..rank {
            let starts = self.index.get(level..).is_some_and(|inner| inner.iter().all(|&at| at == 0));
            if starts && self.is_unlimited(level) {
                self.text.push(b'{');
                self.column += 1;
            }
        }
        if self.annotations.rows && rank > 1 {
            self.annotate_row();
        }
        true
    }

    /// Ends the row with the value whose text begins at `start`.
    pub(super) fn end_row(&mut self, start: usize) {
        let is_last = self.left == 1;
        // At the last value all braces are open; it may be the last value that is printed.
        let braces = if is_last { self.braces() } else { self.closing_braces() };
        self.text.resize(self.text.len() + braces, b'}');
        if self.annotations.values {
            self.text.push(if is_last { b';' } else { b',' });
            self.annotate_value(self.index.last().copied().unwrap_or(0));
        } else {
            self.fold(start);
            self.text.extend_from_slice(if is_last { b" ;\n" } else { b",\n  " });
            self.column = self.indent + 2;
        }
        self.step(1);
    }

    /// The number of remaining values of this row.
    pub(super) fn left_in_row(&self) -> u64 {
        match (self.index.last(), self.shape.last()) {
            (Some(&at), Some(&len)) => len - at,
            _ => 1,
        }
    }

    /// Advances by `count` values, which must not reach beyond the row.
    pub(super) fn step(&mut self, count: u64) {
        self.left -= u128::from(count);
        let mut steps = count;
        for (at, &len) in self.index.iter_mut().zip(&self.shape).rev() {
            *at += steps;
            if *at < len {
                return;
            }
            *at = 0;
            steps = 1;
        }
    }

    /// Starts a new line for the text from `start` on, if it does not fit in this line.
    pub(super) fn fold(&mut self, start: usize) {
        let len = self.text.len() - start;
        if len + self.column > self.line_length && len > 2 {
            let indent = self.indent + 4;
            self.text.push(b'\n');
            self.text.resize(self.text.len() + indent, b' ');
            if let Some(moved) = self.text.get_mut(start..) {
                moved.rotate_right(indent + 1);
            }
            self.column = indent;
        }
        self.column += len;
    }

    /// Ends the variable with the last placed value, and states in a comment how many more there are.
    pub(super) fn end_early(&mut self, more: u128) {
        if self.index.last().is_some_and(|&at| at > 0) {
            let end = self.text.trim_ascii_end();
            let end = end.strip_suffix(b",").unwrap_or(end).len();
            self.text.truncate(end);
            self.text.resize(end + self.braces(), b'}');
            self.text.extend_from_slice(b" ;\n");
        }
        let comment =
            format!("{:indent$}  // {more} more values of {}\n", "", self.name, indent = self.indent);
        self.text.extend_from_slice(comment.as_bytes());
    }

    /// Writes the text.
    pub(super) fn flush(&mut self, out: &mut dyn Write) -> Result<(), io::Error> {
        out.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }

    /// The escaped name of the variable.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The variable with the indices of the next value.
    pub(super) fn place(&self) -> String {
        let indices: Vec<String> = self.index.iter().map(u64::to_string).collect();
        format!("{}({})", self.name, indices.join(","))
    }

    /// `// name(1,2, 0-9)`
    fn annotate_row(&mut self) {
        let (row, len) = match (self.index.split_last(), self.shape.last()) {
            (Some((_, row)), Some(len)) => (row, *len),
            _ => return,
        };
        let place = match self.annotations.indices {
            IndexStyle::C => {
                let row: String = row.iter().map(|at| format!("{at},")).collect();
                let range = if len == 1 { "0".to_owned() } else { format!(" 0-{}", len - 1) };
                row + &range
            }
            IndexStyle::Fortran => {
                let range = if len == 1 { "1".to_owned() } else { format!("1-{len} ") };
                let row: String = row.iter().rev().map(|at| format!(",{}", at + 1)).collect();
                range + &row
            }
        };
        let comment = format!("// {}({place})\n{:indent$}    ", self.name, "", indent = self.indent);
        self.text.extend_from_slice(comment.as_bytes());
        self.column = 4 + self.indent;
    }

    /// Writes `// name(1,2,3)`; the last index is given, because the layout does not have it yet.
    fn annotate_value(&mut self, last: u64) {
        let row = self.index.split_last().map_or(&[][..], |(_, row)| row);
        let place = match self.annotations.indices {
            IndexStyle::C => {
                let row: String = row.iter().map(|at| format!("{at},")).collect();
                format!("{row}{last}")
            }
            IndexStyle::Fortran => {
                let row: String = row.iter().rev().map(|at| format!(",{}", at + 1)).collect();
                format!("{}{row}", last + 1)
            }
        };
        self.text.extend_from_slice(format!("  // {}({place})\n    ", self.name).as_bytes());
    }

    /// The braces that are open within a row.
    fn braces(&self) -> usize {
        (1..self.shape.len()).filter(|&level| self.is_unlimited(level)).count()
    }

    fn closing_braces(&self) -> usize {
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
}
