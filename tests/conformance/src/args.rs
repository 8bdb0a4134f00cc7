//! The command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use clap::builder::styling::{AnsiColor, Styles};
use ncz_conform::Conformance;
use ncz_conform::check::Target;
use ncz_conform::report;
use ncz_conform::results::Run;
use ncz_conform::trial::Settings;

/// Help that starts with an example, before the description.
const TEMPLATE: &str = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n{all-args}{after-help}";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Check codec plugins for conformance: with HDF5, netcdf-c and ncz.
///
/// Each check runs in its own process, so a plugin that crashes or hangs is a line of the report.
#[derive(Debug, Parser)]
#[command(
    name = "ncz-conform",
    version,
    styles = STYLES,
    help_template = TEMPLATE,
    before_help = "Example: ncz-conform libh5zstd.so\n         \
        ncz-conform libh5zstd.so --level 10 --html report.html\n         \
        ncz-conform plugins/ --include damaged --include buffers.size --jobs 2\n         \
        ncz-conform --list --level 10",
    after_help = "\
CHECK is an id (buffers.size), a group (damaged), the beginning of an id, or a pattern (*.random).

Exit codes: 0 no library is unfit, 1 findings (failed, crashed, hung; with --strict also warned), 2 usage,
3 could not be done, 70 a bug in ncz-conform, 130 interrupted.",
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// Plugins: shared libraries, or folders, in which each file with a plugin's name is checked
    #[arg(value_name = "LIBRARY", required_unless_present = "list")]
    pub(crate) libraries: Vec<PathBuf>,
    /// How thorough: 1 (seconds) to 10 (minutes)
    #[arg(short, long, value_name = "N", default_value_t = 5, help_heading = "What is run", value_parser = clap::value_parser!(u8).range(1..=10))]
    pub(crate) level: u8,
    /// Run these checks only (repeatable)
    #[arg(short, long, value_name = "CHECK", help_heading = "What is run")]
    pub(crate) include: Vec<String>,
    /// Do not run these checks (repeatable)
    #[arg(short, long, value_name = "CHECK", help_heading = "What is run")]
    pub(crate) exclude: Vec<String>,
    /// Run on this part of a library only: library, hdf5:32015, nczarr:zstd or native:zstd (repeatable)
    #[arg(long, value_name = "PART", help_heading = "What is run")]
    pub(crate) target: Vec<Target>,
    /// Show the checks that would run, and run none
    #[arg(long, help_heading = "What is run")]
    pub(crate) list: bool,
    /// The number that all random choices follow from; another one each time unless given
    #[arg(long, value_name = "N", help_heading = "How it is run")]
    pub(crate) seed: Option<u64>,
    /// Checks that run at a time; as many as there are processors unless given
    #[arg(short, long, value_name = "N", help_heading = "How it is run", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// How long one check may run before it is killed; 60, and more at levels above 5, unless given
    #[arg(long, value_name = "SECONDS", help_heading = "How it is run", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// The cd_values of filter ID in all checks; replaces the known ones (repeatable)
    #[arg(long, value_name = "ID=N,N..", help_heading = "How it is run", value_parser = params)]
    pub(crate) params: Vec<(u32, Vec<u32>)>,
    /// Filter ID does not restore values exactly (repeatable)
    #[arg(long, value_name = "ID", help_heading = "How it is run")]
    pub(crate) lossy: Vec<u32>,
    /// Damaged streams of each kind; replaces the number of the level
    #[arg(long, value_name = "N", help_heading = "How it is run", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) mutations: Option<u32>,
    /// The newest glibc that a plugin may need
    #[arg(long, value_name = "VERSION", default_value = "2.34", help_heading = "How it is run", value_parser = glibc)]
    pub(crate) glibc: (u32, u32),
    /// Write a report for programs, with --list the list; - writes it to standard output, and nothing else is written
    /// there
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    pub(crate) json: Option<PathBuf>,
    /// Write a report for build servers, in JUnit's XML
    #[arg(long, value_name = "FILE", help_heading = "Reports", conflicts_with = "list")]
    pub(crate) junit: Option<PathBuf>,
    /// Write a report for a browser: one page that needs nothing else
    #[arg(long, value_name = "FILE", help_heading = "Reports", conflicts_with = "list")]
    pub(crate) html: Option<PathBuf>,
    /// Write a table of the libraries and of what was found, in Markdown
    #[arg(long, value_name = "FILE", help_heading = "Reports", conflicts_with = "list")]
    pub(crate) markdown: Option<PathBuf>,
    /// Take warnings for findings
    #[arg(long, help_heading = "Reports")]
    pub(crate) strict: bool,
    /// Show checks that passed too, and what checks printed
    #[arg(short, long, help_heading = "Reports", conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Show nothing but findings
    #[arg(short, long, help_heading = "Reports")]
    pub(crate) quiet: bool,
}

/// The function that makes the text of a report.
pub(crate) type Render = fn(&Run) -> String;

impl Cli {
    /// The requested reports.
    pub(crate) fn reports(&self) -> impl Iterator<Item = (&Path, Render)> {
        let all: [(&Option<PathBuf>, Render); 4] = [
            (&self.json, report::json::render),
            (&self.junit, report::junit::render),
            (&self.html, report::html::render),
            (&self.markdown, report::markdown::render),
        ];
        all.into_iter().filter_map(|(path, render)| Some((path.as_deref()?, render)))
    }

    /// Whether a report goes to standard output.
    pub(crate) fn reports_to_stdout(&self) -> bool {
        self.reports().any(|(path, _)| path == Path::new("-"))
    }

    /// The requested run.
    pub(crate) fn conformance(&self, seed: u64) -> Conformance {
        let mut run = Conformance::of_all(&self.libraries).settings(Settings {
            level: self.level,
            seed,
            params: self.params.clone(),
            lossy: self.lossy.clone(),
            mutations: self.mutations.map(|number| number as usize),
            glibc: self.glibc,
        });
        run = self.include.iter().fold(run, Conformance::include);
        run = self.exclude.iter().fold(run, Conformance::exclude);
        run = self.target.iter().cloned().fold(run, Conformance::target);
        run = self.timeout.into_iter().fold(run, Conformance::timeout);
        self.jobs.into_iter().fold(run, |run, jobs| run.jobs(jobs.into()))
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| "expected a number of seconds, such as 30 or 0.5".to_owned())
}

fn params(text: &str) -> Result<(u32, Vec<u32>), String> {
    let parse = || {
        let (id, words) = text.split_once('=')?;
        let words = words.split(',').map(str::trim).filter(|word| !word.is_empty());
        Some((id.parse().ok()?, words.map(|word| word.parse().ok()).collect::<Option<_>>()?))
    };
    parse()
        .ok_or_else(|| "expected a filter id and its words, such as 32015=3 or 32001=2,2,4,0,5,1".to_owned())
}

fn glibc(text: &str) -> Result<(u32, u32), String> {
    let parse = || {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    parse().ok_or_else(|| "expected a version, such as 2.34".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound_and_its_help_starts_with_an_example() {
        Cli::command().debug_assert();
        for page in [Cli::command().render_help(), Cli::command().render_long_help()] {
            assert!(page.to_string().starts_with("Example: ncz-conform "), "{page}");
        }
    }

    #[test]
    fn numbers_are_read_and_what_is_none_is_reported() {
        assert_eq!(params("32015=3, 4"), Ok((32015, vec![3, 4])));
        assert_eq!(params("5="), Ok((5, vec![])));
        assert!(params("5").is_err() && params("x=1").is_err() && params("1=-1").is_err());
        assert_eq!(glibc("2.17"), Ok((2, 17)));
        assert!(
            glibc("2").is_err() && seconds("0").is_err() && seconds("-1").is_err() && seconds("nan").is_err()
        );
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
    }
}
