//! How the commands print: colours, tables, and numbers for people.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

/// Whether to use colours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    colour: bool,
    /// The characters in a line of the terminal; `None` if the output is something else, where nothing is cut.
    width: Option<usize>,
}

impl Style {
    /// Uses colours on a terminal, unless `NO_COLOR` or `TERM=dumb` is set.
    pub(crate) fn for_stream(is_terminal: bool) -> Self {
        let disabled = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let width = (is_terminal).then(terminal_size::terminal_size).flatten();
        Self { colour: is_terminal && !disabled, width: width.map(|(width, _)| usize::from(width.0)) }
    }

    /// Whether colours are used.
    pub(crate) fn is_coloured(self) -> bool {
        self.colour
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    pub(crate) fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Returns a text with its control characters, which a terminal would obey, as escapes; line ends and tabs are kept.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| letter.is_control() && !matches!(letter, '\n' | '\t'))
}

/// Returns a text as [`printable`] does, with line ends and tabs as escapes too.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, char::is_control)
}

fn escaped(text: &str, is_escaped: fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match is_escaped(letter) {
            true => escaped.extend(letter.escape_default()),
            false => escaped.push(letter),
        }
    }
    Cow::Owned(escaped)
}

/// A cell of a [`Table`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    text: String,
    paint: Option<fn(Style, &str) -> String>,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), paint: None }
    }

    pub(crate) fn painted(text: impl Into<String>, paint: fn(Style, &str) -> String) -> Self {
        Self { text: text.into(), paint: Some(paint) }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// A column is not made narrower than this.
const NARROWEST: usize = 10;
/// The space for a last column of text, which continues on the next line.
const LAST: usize = 24;

/// Columns of text. On a terminal, long cells are cut so that a line fits; text in the last column is never cut.
#[derive(Debug, Default)]
pub(crate) struct Table {
    right: Vec<bool>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Makes a table with these headings. A heading that starts with `>` makes its column right-aligned.
    pub(crate) fn new(headings: &[&str]) -> Self {
        let right = headings.iter().map(|heading| heading.starts_with('>')).collect();
        let heading = |text: &&str| Cell::painted(text.trim_start_matches('>'), Style::dim);
        Self { right, rows: vec![headings.iter().map(heading).collect()] }
    }

    /// Leaves out the line of the headings.
    pub(crate) fn without_headings(mut self) -> Self {
        self.rows.clear();
        self
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns the table as text, with `indent` before each line.
    pub(crate) fn render(&self, style: Style, indent: &str) -> String {
        let width = |cell: &Cell| cell.text.chars().count();
        let mut widths: Vec<usize> = (0..self.right.len())
            .map(|column| self.rows.iter().filter_map(|row| row.get(column)).map(width).max().unwrap_or(0))
            .collect();
        if let Some(line) = style.width {
            self.narrow(&mut widths, line.saturating_sub(indent.len()));
        }
        let mut text = String::new();
        for row in &self.rows {
            let mut line = indent.to_owned();
            for (column, cell) in row.iter().enumerate() {
                let cut = cut(&cell.text, widths.get(column).copied().unwrap_or(usize::MAX));
                let padding = widths.get(column).map_or(0, |most| most.saturating_sub(cut.chars().count()));
                let padding = " ".repeat(padding);
                let shown = cell.paint.map_or_else(|| cut.to_string(), |paint| paint(style, &cut));
                if self.right.get(column) == Some(&true) {
                    line.push_str(&padding);
                    line.push_str(&shown);
                } else {
                    line.push_str(&shown);
                    line.push_str(&padding);
                }
                line.push_str("  ");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// Narrows the widest columns of text, one character at a time, until a line fits.
    fn narrow(&self, widths: &mut [usize], line: usize) {
        let last = widths.len().saturating_sub(1);
        let is_text = |column: usize| self.right.get(column) == Some(&false);
        let wide = |widths: &[usize]| -> usize {
            let of = |(column, width): (usize, &usize)| match column == last && is_text(column) {
                true => (*width).min(LAST),
                false => width + 2,
            };
            widths.iter().enumerate().map(of).sum()
        };
        while wide(widths) > line {
            let widest = (0..last).filter(|&column| is_text(column)).max_by_key(|&column| widths[column]);
            match widest {
                Some(column) if widths[column] > NARROWEST => widths[column] -= 1,
                _ => break,
            }
        }
    }
}

/// Cuts a text at a number of characters; the last one is then an ellipsis.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    let mut ends = text.char_indices().map(|(at, _)| at).skip(most.saturating_sub(1));
    match (ends.next(), ends.next()) {
        (Some(end), Some(_)) => Cow::Owned(format!("{}…", &text[..end])),
        _ => Cow::Borrowed(text),
    }
}

/// Writes a report as indented JSON.
pub(crate) fn write_json(out: &mut dyn Write, report: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}

/// Formats a number of bytes for people: `512 B`, `12.3 kB`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if count < 1000 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Formats the compression ratio, or a dash if there is none.
pub(crate) fn ratio(raw: u64, stored: u64) -> String {
    if raw == 0 || stored == 0 { "-".to_owned() } else { format!("{:.2}x", raw as f64 / stored as f64) }
}

/// Formats bytes per time as a speed.
pub(crate) fn speed(count: u64, time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1e-6 { "-".to_owned() } else { format!("{}/s", bytes((count as f64 / seconds) as u64)) }
}

/// Formats a time for people.
pub(crate) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", s * 1000.0),
        s if s < 90.0 => format!("{s:.1} s"),
        s => format!("{} min {} s", s as u64 / 60, s as u64 % 60),
    }
}

/// Formats a count with its noun: `1 chunk`, `2 chunks`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Formats a shape: `16 x 73 x 144`, or `scalar`.
pub(crate) fn shape(lengths: &[u64]) -> String {
    let mut text = String::new();
    for (index, length) in lengths.iter().enumerate() {
        text.push_str(&format!("{}{length}", if index == 0 { "" } else { " x " }));
    }
    if text.is_empty() { "scalar".to_owned() } else { text }
}

/// Returns the first few names, and how many more there are.
pub(crate) fn abbreviated(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_and_never_show_a_thousand_of_a_unit() {
        let shown = [0, 999, 1000, 12_345, 999_949, 999_950, 5_000_000_000, u64::MAX].map(bytes);
        assert_eq!(shown, ["0 B", "999 B", "1.0 kB", "12.3 kB", "999.9 kB", "1.0 MB", "5.0 GB", "18.4 EB"]);
        assert_eq!(ratio(10, 4), "2.50x");
        assert_eq!(ratio(10, 0), "-");
        assert_eq!(seconds(Duration::from_millis(1250)), "1.2 s");
        assert_eq!(seconds(Duration::from_secs(135)), "2 min 15 s");
    }

    #[test]
    fn colours_do_not_change_the_alignment_of_a_table() {
        let mut table = Table::new(&["name", ">size", "note"]);
        table.row(["t".into(), "12".into(), Cell::painted("good", Style::good)]);
        table.row(["température".into(), "3".into(), "".into()]);
        assert_eq!(
            table.render(Style { colour: false, width: None }, " "),
            " name         size  note\n t              12  good\n température     3\n"
        );
        let coloured = table.render(Style { colour: true, width: Some(80) }, "");
        assert!(coloured.contains("\x1b[32mgood\x1b[0m"), "{coloured}");
    }

    #[test]
    fn a_line_fits_into_a_terminal_and_is_whole_in_a_pipe() {
        let long = "ü".repeat(60);
        let mut table = Table::new(&["name", "codecs", ">ratio"]);
        table.row([long.as_str().into(), "zlib".into(), "1.86x".into()]);
        let render = |width| table.render(Style { colour: false, width }, "  ");
        let terminal = render(Some(40));
        assert!(terminal.lines().all(|line| line.chars().count() <= 40), "{terminal}");
        assert!(terminal.contains("ü…  zlib    1.86x"), "{terminal}");
        assert_eq!(render(None).matches(&long).count(), 1);
        assert_eq!(render(Some(80)), render(None));
        // Columns of numbers and short ones stay whole; text in the last column continues on the next line.
        assert!(render(Some(5)).contains("zlib    1.86x"), "{}", render(Some(5)));
        let mut table = Table::new(&["name", "reason"]);
        table.row([long.as_str().into(), long.as_str().into()]);
        assert!(table.render(Style { colour: false, width: Some(40) }, "").contains(&format!("…  {long}")));
    }
}
