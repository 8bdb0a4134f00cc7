//! `ncgen`: translates its options for `ncz gen`.
//!
//! Makes netCDF files, Zarr and NCZarr datasets, not programs in C, Fortran and Java. A path without `#mode=` that does
//! not end as a Zarr dataset becomes a netCDF file.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use ncz::location::DatasetUrl;
use ncz::registry::Registry;

use super::{getopt, kinds, unescaped};
use crate::args::{FormatArg, Gen, Verbosity};
use crate::commands;
use crate::error::CliError;
use crate::exit_code::Exit;
use crate::guard::guarded;
use crate::messages::Messages;
use crate::output::Style;
use crate::secrets;
use crate::target::is_zarr_name;

/// The options of ncgen 4.10.
const LETTERS: &str = "134567bcdD:fhHk:l:M:no:Pv:xL:N:B:W:";

const USAGE: &str = "\
usage: ncgen [-3|-4|-5|-6|-7] [-b] [-k kind] [-l b] [-o target] [-H] [-N name] [-n] [-P] [-x] [-L level] [-h] [file]
This is ncz under the name of netCDF's ncgen: it makes netCDF files and NCZarr datasets. See ncz gen --help.
  -b, -l b       make a netCDF file, named after the file and ending in .nc; -n ends it in .cdf
  -o target      the netCDF file, or file://NAME#mode=nczarr,file (or zip, s3; zarr, noxarray)
  -k kind        the kind: nc3 (classic), nc6 (64-bit offset), nc4 (netCDF-4), nc7 (netCDF-4 classic model) or cdf5;
                 -3, -6, -4, -7 and -5 are the same; by default the first of nc3, cdf5 and nc4 that can hold it
  -H             only definitions, no values
  -h             print this text
  -L level       write more to standard error
  -N, -P, -x, -B, -D, -d, -M, -W  are accepted and have no effect
Without -b, -k, -l, -o or a digit, ncgen only checks the text.";

/// The parsed options.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    source: String,
    /// `None` only checks the text.
    target: Option<String>,
    /// `None`: the text decides.
    kind: Option<FormatArg>,
    header: bool,
    level: u8,
}

/// Why no dataset is made.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Help,
    Refused(String),
}

/// Runs ncgen with these arguments.
pub(super) fn run(program: &str, arguments: Vec<OsString>) -> ExitCode {
    // If writing a message fails, nothing is left to report to.
    match parse(arguments) {
        Ok(options) => {
            let exit = guarded(|| generate(&options));
            ExitCode::from(u8::from(exit != Exit::Good))
        }
        Err(End::Help) => {
            let _ = writeln!(io::stderr(), "{USAGE}\nncz version {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Err(End::Refused(reason)) => {
            let _ = writeln!(io::stderr(), "{program}: {}", secrets::hide(&reason));
            ExitCode::FAILURE
        }
    }
}

fn generate(options: &Options) -> Result<Exit, CliError> {
    let target = options.target.as_deref().map(DatasetUrl::parse).transpose()?;
    let is_zarr = target.as_ref().is_none_or(is_zarr_name);
    let gen_options = Gen {
        source: options.source.clone(),
        target: options.target.clone(),
        output: None,
        format: kinds::of_target(options.kind, is_zarr),
        kind_by_text: options.kind.is_none() && !is_zarr,
        consolidated: is_zarr && super::wants_consolidated(),
        no_lossy_guard: false,
        header: options.header,
        check: options.target.is_none(),
        // As ncgen, which overwrites an existing file.
        overwrite: true,
        threads: None,
        json: false,
        verbosity: Verbosity { verbose: options.level, quiet: true },
    };
    let messages = Messages::start((options.level, options.level == 0));
    let registry = Arc::new(Registry::builder().build());
    commands::generate::run_to(
        &gen_options,
        target,
        registry,
        &mut io::stdout(),
        Style::for_stream(false),
        messages,
    )
}

fn parse(arguments: Vec<OsString>) -> Result<Options, End> {
    let refused = |reason: String| End::Refused(reason);
    let found = getopt::parse(LETTERS, arguments).map_err(|error| refused(format!("{error}\n{USAGE}")))?;
    let (mut output, mut kind, mut language) = (None, None, false);
    let (mut header, mut ending, mut level) = (false, "nc", 0u8);
    for (letter, argument) in found.options {
        let argument = argument.unwrap_or_default();
        match letter {
            'h' => return Err(End::Help),
            'o' => output = Some(unescaped(&argument)),
            '3' | '4' | '5' | '6' | '7' => kind = kinds::by_letter(letter),
            '1' => kind = kinds::by_letter('3'),
            'k' | 'v' => {
                let named = kinds::by_name(&argument);
                kind = Some(named.ok_or_else(|| refused(format!("Invalid format: {argument}")))?);
            }
            'b' | 'n' | 'l' if language => {
                return Err(refused("Please specify only one language".to_owned()));
            }
            'b' => language = true,
            'n' => (language, ending) = (true, "cdf"),
            'l' if argument == "b" => language = true,
            'l' if ["c", "C", "f77", "fortran77", "Fortran77", "j", "java"].contains(&argument.as_str()) => {
                return Err(refused(program_text(&format!("-l {argument}"))));
            }
            'l' => return Err(refused(format!("output language {argument} not implemented"))),
            'c' | 'f' => return Err(refused(program_text(&format!("-{letter}")))),
            'H' => header = true,
            'L' => level = argument.parse::<i32>().map_or(0, |level| level.clamp(0, 3) as u8),
            // Options for memory, a debugger and names that NCZarr does not have.
            _ => {}
        }
    }
    let source = match found.operands.as_slice() {
        [] => "-".to_owned(),
        [source] => unescaped(source),
        _ => return Err(refused("only one input file argument permitted".to_owned())),
    };
    // Without any of these options ncgen only checks the text.
    let target = match output {
        Some(output) => Some(output),
        None if kind.is_some() || language => {
            let stem = Path::new(&source).file_stem().filter(|_| source != "-");
            let Some(stem) = stem.and_then(|stem| stem.to_str()) else {
                return Err(refused(
                    "standard input has no file name to name the dataset after; give one with -o".to_owned(),
                ));
            };
            Some(format!("{stem}.{ending}"))
        }
        None => None,
    };
    Ok(Options { source, target, kind, header, level })
}

fn program_text(option: &str) -> String {
    format!("{option}: cannot make programs in C, Fortran or Java; -l b makes a dataset")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, End> {
        parse(line.split(' ').filter(|word| !word.is_empty()).map(OsString::from).collect())
    }

    #[test]
    fn command_lines_of_netcdf_c_s_scripts_name_their_target() {
        for (line, target) in [
            ("-4 -o tmp.nc ref.cdl", "tmp.nc"),
            ("-4 -b -o file://tmp.file#mode=nczarr,file ref.cdl", "file://tmp.file#mode=nczarr,file"),
            ("-4 -lb -o file://tmp.zip\\#mode=zarr,zip ref.cdl", "file://tmp.zip#mode=zarr,zip"),
            ("-k nc4 dir/ref.cdl", "ref.nc"),
            ("-b ref.cdl", "ref.nc"),
            ("-n ref.cdl", "ref.cdf"),
            ("-3 ref.cdl", "ref.nc"),
            ("-7 -x -P -N name -W 5 -B 3 -M main -d -D 2 -o a ref.cdl", "a"),
        ] {
            assert_eq!(parsed(line).unwrap().target.as_deref(), Some(target), "{line}");
        }
        assert_eq!(parsed("ref.cdl").unwrap().target, None);
        assert!(parsed("-H -4 -o a ref.cdl").unwrap().header);
        assert_eq!(parsed("-h"), Err(End::Help));
    }

    #[test]
    fn unsupported_output_is_refused_by_name() {
        for (line, named) in [
            ("-k x a.cdl", "Invalid format: x"),
            ("-lc a.cdl", "-l c"),
            ("-l java a.cdl", "-l java"),
            ("-l perl a.cdl", "perl"),
            ("-f a.cdl", "-f"),
            ("-b -lb a.cdl", "one language"),
            ("a b", "only one input"),
            ("-z a", "'z'"),
            ("-4", "-o"),
        ] {
            let Err(End::Refused(reason)) = parsed(line) else { panic!("{line} was taken") };
            assert!(reason.contains(named), "{line}: {reason}");
        }
    }
}
