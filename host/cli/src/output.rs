//! How the commands print: colours, tables, and numbers for people.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

/// Whether to use colours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    colour: bool,
    /// Whether the output is a terminal, on which long cells are cut so that lines do not wrap.
    terminal: bool,
}

impl Style {
    /// Uses colours on a terminal, unless `NO_COLOR` or `TERM=dumb` is set.
    pub(crate) fn for_stream(is_terminal: bool) -> Self {
        let disabled = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self { colour: is_terminal && !disabled, terminal: is_terminal }
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

/// Maximum width of a cell on a terminal, in characters.
const WIDEST: usize = 40;

/// Columns of text. The last column is not padded, so its cells can be long.
#[derive(Debug, Default)]
pub(crate) struct Table {
    right: Vec<bool>,
    cut: bool,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Makes a table with these headings. A heading that starts with `>` makes its column right-aligned.
    pub(crate) fn new(headings: &[&str]) -> Self {
        let right = headings.iter().map(|heading| heading.starts_with('>')).collect();
        let heading = |text: &&str| Cell::painted(text.trim_start_matches('>'), Style::dim);
        Self { right, cut: false, rows: vec![headings.iter().map(heading).collect()] }
    }

    /// Cuts cells at [`WIDEST`] characters on a terminal, except in the last column.
    pub(crate) fn cut_on_terminals(self) -> Self {
        Self { cut: true, ..self }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns the table as text, with `indent` before each line.
    pub(crate) fn render(&self, style: Style, indent: &str) -> String {
        if self.cut && style.terminal {
            return self.shortened().render(style, indent);
        }
        let width = |cell: &Cell| cell.text.chars().count();
        let widths: Vec<usize> = (0..self.right.len())
            .map(|column| self.rows.iter().filter_map(|row| row.get(column)).map(width).max().unwrap_or(0))
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = indent.to_owned();
            for (column, cell) in row.iter().enumerate() {
                let padding = " ".repeat(widths.get(column).map_or(0, |most| most - width(cell)));
                let shown = cell.paint.map_or_else(|| cell.text.clone(), |paint| paint(style, &cell.text));
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

    fn shortened(&self) -> Self {
        let last = self.right.len().saturating_sub(1);
        let cut = |(column, cell): (usize, &Cell)| match cell.text.char_indices().nth(WIDEST) {
            Some((end, _)) if column < last => {
                let kept = cell.text[..end].char_indices().last().map_or(0, |(start, _)| start);
                Cell { text: format!("{}…", &cell.text[..kept]), paint: cell.paint }
            }
            _ => cell.clone(),
        };
        let rows = self.rows.iter().map(|row| row.iter().enumerate().map(cut).collect()).collect();
        Self { right: self.right.clone(), cut: false, rows }
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
            table.render(Style { colour: false, terminal: false }, " "),
            " name         size  note\n t              12  good\n température     3\n"
        );
        let coloured = table.render(Style { colour: true, terminal: true }, "");
        assert!(coloured.contains("\x1b[32mgood\x1b[0m"), "{coloured}");
    }

    #[test]
    fn long_cells_are_cut_on_a_terminal_and_whole_in_a_pipe() {
        let long = "ü".repeat(WIDEST + 1);
        let mut table = Table::new(&["name", "note"]).cut_on_terminals();
        table.row([long.as_str().into(), long.as_str().into()]);
        let terminal = table.render(Style { colour: false, terminal: true }, "");
        let shown = terminal.lines().nth(1).unwrap();
        assert_eq!(shown, format!("{}…  {long}", "ü".repeat(WIDEST - 1)));
        assert_eq!(table.render(Style { colour: false, terminal: false }, "").matches(&long).count(), 2);
    }
}
