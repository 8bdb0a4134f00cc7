//! The report for people at a terminal: what did not pass, counts, a verdict for each library.

use std::fmt::Write;
use std::io::IsTerminal;

use super::escape::{self, line};
use super::format;
use crate::outcome::Verdict;
use crate::results::{CheckResult, Counts, Fitness, LibraryResult, Run};

/// How text is laid out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether verdicts have colours.
    pub colour: bool,
    /// How many columns a line may have; as many as it needs if `None`.
    pub width: Option<usize>,
}

impl Style {
    /// What suits standard output: colours on a terminal unless `NO_COLOR` is set, lines as wide as it is.
    pub fn of_stdout() -> Self {
        let stdout = std::io::stdout();
        if !stdout.is_terminal() {
            return Self::default();
        }
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let columns = rustix::termios::tcgetwinsize(&stdout).map_or(0, |size| usize::from(size.ws_col));
        Self { colour: !no_colour && !dumb, width: Some(columns).filter(|&columns| columns > 0) }
    }

    fn paint(self, verdict: Verdict, text: &str) -> String {
        let code = match verdict {
            Verdict::Passed => "32",
            Verdict::Skipped => "2",
            Verdict::Warned => "33",
            Verdict::Failed => "31",
            Verdict::Hung | Verdict::Crashed => "1;31",
        };
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn fit(self, text: String, taken: usize) -> String {
        match self.width {
            Some(width) => shortened(&text, width.saturating_sub(taken).max(20)),
            None => text,
        }
    }
}

/// Third-party text without control characters of terminals and without characters that affect other text; line ends
/// are kept.
pub fn visible(text: &str) -> String {
    escape::visible(text)
}

/// The summary of a run.
pub fn render(run: &Run, style: Style) -> String {
    let mut text = String::new();
    for library in &run.libraries {
        of_library(&mut text, library, run.settings.level, style);
        text.push('\n');
    }
    if let many @ 2.. = run.libraries.len() {
        let tally = format!("{many} libraries: {}", run.tally());
        let _ = writeln!(
            text,
            "{}; {}",
            style.paint(run.fitness().looks_like(), &tally),
            counts(run.counts(), Style::default())
        );
    }
    let _ = writeln!(text, "{}, seed {}", format::seconds(run.took), run.settings.seed);
    if run.is_unfit() {
        let _ = writeln!(text, "again: {}", line(&run.replay));
    }
    for bug in &run.bugs {
        let _ = writeln!(text, "a bug in ncz-conform: {}", line(bug));
    }
    text
}

fn of_library(text: &mut String, library: &LibraryResult, level: u8, style: Style) {
    let _ = writeln!(text, "{}", line(&library.path.to_string_lossy()));
    let shown: Vec<&CheckResult> = library
        .results
        .iter()
        .filter(|result| result.outcome.verdict.is_bad() || result.outcome.verdict == Verdict::Warned)
        .collect();
    let widest = |texts: &dyn Fn(&CheckResult) -> String, most: usize| {
        shown.iter().map(|result| cells(&texts(result))).max().unwrap_or(0).min(most)
    };
    let part = |result: &CheckResult| line(&result.target.to_string());
    let checks = widest(&|result| result.check.id.to_owned(), 40);
    let parts = widest(&part, 24);
    for result in &shown {
        let verdict = result.outcome.verdict;
        let message = style.fit(line(&result.outcome.message), checks + parts + 15);
        let row = format!(
            "  {} {:checks$}  {}  {message}",
            style.paint(verdict, &format!("{verdict:8}")),
            result.check.id,
            padded(&shortened(&part(result), parts), parts),
        );
        let _ = writeln!(text, "{}", row.trim_end());
    }
    let warned = library.counts().number(Verdict::Warned) > 0;
    let verdict = match library.fitness() {
        Fitness::Fit if warned => Verdict::Warned,
        fitness => fitness.looks_like(),
    };
    let _ = writeln!(text, "  {}", counts(library.counts(), style));
    let _ = writeln!(text, "  {}", style.paint(verdict, &library.verdict(level)));
}

/// `60 passed, 3 skipped, 1 failed`, without zeros.
fn counts(counts: Counts, style: Style) -> String {
    let there = Verdict::ALL.into_iter().filter(|verdict| counts.number(*verdict) > 0);
    let parts: Vec<_> =
        there.map(|verdict| style.paint(verdict, &format!("{} {verdict}", counts.number(verdict)))).collect();
    if parts.is_empty() { "no checks".to_owned() } else { parts.join(", ") }
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(cells(text))))
}

/// The beginning of a text that needs more than `width` columns.
fn shortened(text: &str, width: usize) -> String {
    if cells(text) <= width {
        return text.to_owned();
    }
    let mut taken = 1;
    let kept = text.chars().take_while(|&c| {
        taken += cell(c);
        taken <= width
    });
    format!("{}…", kept.collect::<String>().trim_end())
}

/// How many columns a text takes.
fn cells(text: &str) -> usize {
    text.chars().map(cell).sum()
}

/// Two for the scripts of East Asia and for pictures, none for marks over letters.
fn cell(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_at_the_column() {
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdefg", 6), "abcde…");
        assert_eq!(shortened("圧縮圧縮", 6), "圧縮…");
        assert_eq!(cells("e\u{301}"), 1);
    }
}
