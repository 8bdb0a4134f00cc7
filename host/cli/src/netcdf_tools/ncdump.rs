//! `ncdump`: prints a dataset as CDL, byte for byte as netCDF's ncdump, except for the differences in
//! `host/cli/NCDUMP.md`.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::Arc;

use ncz::cdl::{Annotations, Digits, IndexStyle, TimeForm};
use ncz::location::{DatasetUrl, Location, LocationError};
use ncz::model::Variable;
use ncz::model::json::Json;
use ncz::registry::Registry;
use ncz::registry::spec::ChainSpec;

use super::getopt::{self, Arguments};
use super::unescaped;
use crate::commands::dump::{self, CFormat, Language, Plan};
use crate::dataset::{groups_named, open, session, variables_named};
use crate::error::{CliError, with_causes};

/// The options of netCDF 4.10. `d` is an older name of `p`, `w` and `Xm` change nothing for these formats, and neither
/// does the level of `L`.
const OPTIONS: &str = "b:cd:f:g:hikl:n:p:stv:xwFKL:X:";

const USAGE: &str = "  [-c]             Coordinate variable data and header information
  [-h]             Header information only, no data
  [-v var1[,...]]  Data for variable(s) <var1>,... only
  [-b [c|f]]       Brief annotations for C or Fortran indices in data
  [-f [c|f]]       Full annotations for C or Fortran indices in data
  [-l len]         Line length maximum in data section (default 80)
  [-n name]        Name for netCDF (default derived from file name)
  [-p n[,n]]       Display floating-point values with less precision
  [-k]             Output kind of netCDF file
  [-s]             Output special (virtual) attributes
  [-t]             Output time data as date-time strings
  [-i]             Output time data as date-time strings with ISO-8601 'T' separator
  [-g grp1[,...]]  Data for group(s) <grp1>,... only
  [-w]             Has no effect: there are no DAP URLs here
  [-x]             Output XML (NcML) instead of CDL
  [-F]             Output _Filter and _Codecs instead of _Fletcher32, _Shuffle, and _Deflate
  [-Xp]            Unconditionally suppress output of the properties attribute
  [-XF]            Unconditionally output the type of the _FillValue attribute
  [-Ln]            Has no effect: set NCLOGGING or NCTRACING, or use ncz dump --verbose
  file             Directory, zip file or URL of a Zarr or NCZarr dataset
";

/// Why it failed.
enum End {
    /// A message to print after the name of the program.
    Message(String),
    /// A wrong command line: the usage follows.
    Usage(Option<String>),
    /// The reader of the output closed the pipe.
    Closed,
}

impl From<String> for End {
    fn from(text: String) -> Self {
        Self::Message(text)
    }
}

/// Runs the tool.
pub(super) fn run(program: &str, arguments: Vec<OsString>) -> ExitCode {
    if arguments.is_empty() {
        usage(program);
        return ExitCode::SUCCESS;
    }
    let ended = match dump(program, arguments) {
        Ok(()) | Err(End::Closed) => return ExitCode::SUCCESS,
        Err(ended) => ended,
    };
    let text = match &ended {
        End::Message(text) => Some(text),
        End::Usage(text) => text.as_ref(),
        End::Closed => None,
    };
    if let Some(text) = text {
        // If this fails, nothing is left to report to.
        let _ = writeln!(io::stderr(), "{program}: {}", crate::secrets::hide(text));
    }
    if matches!(ended, End::Usage(_)) {
        usage(program);
    }
    ExitCode::FAILURE
}

fn usage(program: &str) {
    let _ = write!(
        io::stderr(),
        "{program} [-c|-h] [-v ...] [[-b|-f] [c|f]] [-l len] [-n name] [-p n[,n]] [-k] [-x] [-s] [-t|-i] [-g ...] [-w] \
         [-F] [-Ln] file\n{USAGE}ncz version {}\n",
        env!("CARGO_PKG_VERSION")
    );
}

/// The options that are not part of the plan.
#[derive(Debug, Default)]
struct Options {
    variables: Vec<String>,
    groups: Vec<String>,
    kind: bool,
    extended_kind: bool,
    name: Option<String>,
}

fn dump(program: &str, arguments: Vec<OsString>) -> Result<(), End> {
    let arguments = getopt::parse(OPTIONS, arguments).map_err(|error| End::Usage(Some(error.to_string())))?;
    let mut plan = Plan::new(String::new(), String::new());
    let options = take(&arguments, &mut plan)?;
    let [path] = arguments.operands.as_slice() else { return Err(End::Usage(None)) };
    let path = unescaped(path);
    plan.name = options.name.clone().unwrap_or_else(|| name_of(&path));
    plan.location.clone_from(&path);

    let message = |text: &str| End::Message(format!("{path}: {text}"));
    let url = DatasetUrl::parse(&path).map_err(|error| message(&netcdf_message(&error.into())))?;
    let registry = Arc::new(Registry::builder().build());
    let threads = if plan.has_data() && !options.kind { None } else { Some(1) };
    let session = session(registry, threads, None).map_err(|error| message(&netcdf_message(&error)))?;
    let dataset = open(&url, session).map_err(|error| message(&netcdf_message(&error)))?;
    let hierarchy = dataset.hierarchy();
    for warning in &hierarchy.warnings {
        // If this fails, nothing is left to report to.
        let _ = writeln!(io::stderr(), "{program}: warning: {warning}");
    }

    let stdout = io::stdout();
    let mut out = BufWriter::with_capacity(1 << 16, stdout.lock());
    if options.kind {
        let kind = hierarchy.format.kind().name();
        return written(writeln!(out, "{kind}").and_then(|()| out.flush()).map_err(CliError::Output));
    }
    if options.extended_kind {
        // The number of NCZarr, for which ncdump has no name.
        return Err("unrecognized extended format: 10".to_owned().into());
    }
    if !options.variables.is_empty() {
        let mut paths = Vec::new();
        for name in &options.variables {
            let before = paths.len();
            paths.extend(variables_named(&dataset, name).map(|variable| variable.path.clone()));
            if paths.len() == before {
                return Err(format!("{name}: No such variable").into());
            }
        }
        plan.variables = Some(paths);
    }
    if !options.groups.is_empty() {
        let mut paths = Vec::new();
        for name in &options.groups {
            let before = paths.len();
            paths.extend(groups_named(&dataset, name).map(str::to_owned));
            if paths.len() == before {
                return Err(format!("{name}: No such group").into());
            }
        }
        plan.groups = Some(paths);
    }

    let mut unsupported = None;
    let printed = dump::print(&mut out, &dataset, &url.location, &plan, &mut |variable, error| {
        let spells = hierarchy.format.dialect();
        let is_missing = |codec: &&Json| {
            ChainSpec::from_json(spells, &[codec.to_value()])
                .ok()
                .is_none_or(|spec| spec.resolve(&dataset.session().registry).is_err())
        };
        unsupported = variable.filters.iter().find(is_missing).map(|codec| no_codec(variable, codec));
        Err(error)
    });
    match (printed, unsupported) {
        (Err(error @ CliError::Dataset { .. }), Some(text)) => {
            let _ = out.flush();
            return Err(format!("{text}: {}", with_causes(&error)).into());
        }
        (result, _) => {
            // Output before an error is printed.
            let flushed = out.flush().map_err(CliError::Output);
            written(result.and(flushed))?;
        }
    }
    match hierarchy.unreadable().next() {
        Some(lost) => Err(message(&with_causes(&lost.error()))),
        None => Ok(()),
    }
}

/// Returns the message of netcdf-c for a codec that it does not have.
fn no_codec(variable: &Variable, codec: &Json) -> String {
    let id = codec.get("id").or_else(|| codec.get("name")).and_then(Json::as_str);
    format!("Variable '{}' has unsupported codec: ({})", variable.name, id.unwrap_or("?"))
}

fn written(result: Result<(), CliError>) -> Result<(), End> {
    match result {
        Ok(()) => Ok(()),
        Err(CliError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Err(End::Closed),
        Err(error) => Err(End::Message(netcdf_message(&error))),
    }
}

/// Reads the options like ncdump: a later one overrides an earlier one.
fn take(arguments: &Arguments, plan: &mut Plan) -> Result<Options, End> {
    let mut options = Options::default();
    let mut no_properties = false;
    let mut c_format = CFormat { integers: true, floats: true, doubles: true };
    plan.digits = Digits::NCDUMP;
    plan.exact_text = false;
    for (letter, value) in &arguments.options {
        let value = value.as_deref().unwrap_or_default();
        match letter {
            'h' => plan.header = true,
            'c' => plan.coordinates = true,
            'n' => options.name = Some(value.to_owned()),
            'b' | 'f' => {
                let indices = match value.chars().next() {
                    Some('c' | 'C') => IndexStyle::C,
                    Some('f' | 'F') => IndexStyle::Fortran,
                    _ => return Err(format!("invalid value for -{letter} option: {value}").into()),
                };
                let Annotations { rows, values, .. } = plan.annotations;
                plan.annotations =
                    Annotations { rows: rows || *letter == 'b', values: values || *letter == 'f', indices };
            }
            'l' => {
                let length = leading_number(value).0.unwrap_or(0);
                if length < 10 {
                    return Err(format!("unreasonably small line length specified: {length}").into());
                }
                plan.line_length = usize::try_from(length).unwrap_or(usize::MAX);
            }
            // Only the last list counts.
            'v' => options.variables = names(value),
            'g' => options.groups = names(value),
            'd' | 'p' => {
                let (float, double) = digits(value)?;
                plan.digits = Digits::Fixed { float: float.unwrap_or(7), double: double.unwrap_or(15) };
                if *letter == 'p' {
                    c_format.floats = c_format.floats && float.is_none();
                    c_format.doubles = c_format.doubles && double.is_none();
                }
            }
            'x' => plan.language = Language::Ncml,
            'k' => options.kind = true,
            'K' => options.extended_kind = true,
            't' => plan.times = Some(TimeForm::Blank),
            'i' => plan.times = Some(TimeForm::Iso),
            's' => plan.special = true,
            'F' => plan.all_filters = true,
            'X' => match value.chars().next() {
                Some('m' | 'M') => {}
                Some('p' | 'P') => no_properties = true,
                Some('f' | 'F') => plan.fill_types = true,
                _ => return Err(format!("invalid value for -X option: {value}").into()),
            },
            // w and L.
            _ => {}
        }
    }
    plan.properties = !no_properties;
    plan.c_format = c_format;
    Ok(options)
}

fn names(list: &str) -> Vec<String> {
    list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Parses the digits of floats and doubles in `7,15`, `,15` or `7`.
fn digits(text: &str) -> Result<(Option<usize>, Option<usize>), End> {
    let unreasonable =
        |what: &str, digits: i64| format!("unreasonable value for {what} significant digits: {digits}");
    let within = |digits: i64| usize::try_from(digits).ok().filter(|digits| (1..=20).contains(digits));
    let (float, rest) = leading_number(text);
    let float = match (float, text.is_empty() || text.starts_with(',')) {
        (_, true) => None,
        (number, false) => {
            let number = number.unwrap_or(0);
            Some(within(number).ok_or_else(|| unreasonable("float", number))?)
        }
    };
    let Some(double) = rest.strip_prefix(',').filter(|_| float.is_some()) else { return Ok((float, None)) };
    let number = leading_number(double).0.unwrap_or(0);
    Ok((float, Some(within(number).ok_or_else(|| unreasonable("double", number))?)))
}

/// Splits off the integer at the start of a text.
fn leading_number(text: &str) -> (Option<i64>, &str) {
    let start = text.trim_start();
    let unsigned = start.strip_prefix(['-', '+']).unwrap_or(start);
    let len = unsigned.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(unsigned.len());
    let end = start.len() - unsigned.len() + len;
    (start[..end].parse().ok(), &start[end..])
}

/// Returns the name of a dataset: the last part of its path or URL, without the extension.
fn name_of(path: &str) -> String {
    let is_url = path.contains("://");
    let path = match is_url {
        true => path.split(['#', '?']).next().unwrap_or(path),
        false => path,
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rfind('.') {
        Some(0) if is_url => name.to_owned(),
        Some(end) => name[..end].to_owned(),
        None => name.to_owned(),
    }
}

/// Returns the message of netCDF for an error, if it has one.
fn netcdf_message(error: &CliError) -> String {
    match error {
        CliError::Location(LocationError::NotADataset { location: Location::Path(path), .. })
            if !path.exists() =>
        {
            "No such file or directory".to_owned()
        }
        CliError::Location(LocationError::NotADataset { .. }) => "NetCDF: Unknown file format".to_owned(),
        CliError::Location(LocationError::Look { source, .. }) => {
            let text = source.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_owned()
        }
        error => with_causes(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_paths_and_urls() {
        for (path, name) in [
            ("a/b.zarr", "b"),
            ("b", "b"),
            ("a.b.c", "a.b"),
            ("dir/.hidden", ""),
            ("file:///tmp/x.nczarr#mode=nczarr,file", "x"),
            ("s3://bucket/k.zarr?x=y#mode=s3", "k"),
        ] {
            assert_eq!(name_of(path), name, "{path}");
        }
        assert_eq!(unescaped(r"file://x.file\#mode=a\,b"), "file://x.file#mode=a,b");
    }

    #[test]
    fn digits_are_one_number_or_two() {
        for (text, wanted) in [("5", (Some(5), None)), ("5,9", (Some(5), Some(9))), ("", (None, None))] {
            assert_eq!(digits(text).ok(), Some(wanted), "{text}");
        }
        for text in ["0", "21", "x", "5,", "5,0", "-1"] {
            assert!(digits(text).is_err(), "{text}");
        }
    }
}
