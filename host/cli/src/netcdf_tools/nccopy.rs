//! `nccopy`: translates its options for `ncz copy`.
//!
//! A name that ends as that of a netCDF file, or a kind, makes a netCDF file; other names make an NCZarr dataset. The
//! differences from netcdf-c's tool are listed in `tests/cli/nccopy_differences.json`.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::Arc;

use ncz::location::DatasetUrl;
use ncz::registry::Registry;

use super::{getopt, kinds};
use crate::args::{Copy, NccopyRules, Verbosity, size};
use crate::commands;
use crate::error::CliError;
use crate::exit_code::Exit;
use crate::guard::guarded;
use crate::messages::Messages;
use crate::output::Style;
use crate::secrets;
use crate::target::{is_netcdf_name, is_zarr_name};

/// The options of nccopy 4.10, and `5`, which its usage text mentions.
const LETTERS: &str = "k:34567d:sum:c:h:e:rwxg:G:v:V:F:L:M:X:";

/// Default of `-M`: a variable with smaller chunks becomes one chunk.
const LEAST_CHUNK: u64 = 8192;

/// Minimum of `-m`.
const LEAST_MEMORY: u64 = 1 << 20;

const USAGE: &str = "\
usage: nccopy [-3|-4|-5|-6|-7] [-k kind] [-d n] [-s] [-u] [-c chunkspec] [-F filterspec] [-v|-V vars] [-g|-G groups]
              [-m n] [-h n] [-e n] [-r] [-w] [-M n] [-L n] infile outfile
This is ncz under the name of netCDF's nccopy: it copies netCDF files, Zarr and NCZarr datasets. See ncz copy
--help.
  -k kind        the kind of the copy: nc3 (classic), nc6 (64-bit offset), nc4 (netCDF-4), nc7 (netCDF-4 classic
                 model) or cdf5; -3, -6, -4, -7 and -5 are the same. For a Zarr target nc4 and nc7 are NCZarr
  -d n           deflate at level n, 0 for none; -s shuffles first
  -u             make unlimited dimensions fixed
  -c chunkspec   dim/len,dim/len, var:len,len, var: or / (repeatable)
  -F filterspec  var,filters, var&var,filters, *,filters or none (repeatable)
  -v, -g list    values of only these variables, or groups; definitions of all
  -V, -G list    only these variables, or groups
  -M n           chunks of fewer than n bytes (8192) become one chunk
  -m n           bytes of memory; -h, -e, -r and -w are accepted and have no effect
  -L n           write more to standard error";

/// Runs nccopy with these arguments.
pub(super) fn run(arguments: Vec<OsString>) -> ExitCode {
    let (options, level) = match parse(arguments) {
        Ok(parsed) => parsed,
        Err(reason) => {
            // If this fails, nothing is left to report to.
            let _ = writeln!(io::stderr(), "nccopy: {}", secrets::hide(&reason));
            return ExitCode::from(1);
        }
    };
    let exit = guarded(|| copy(&options, level));
    ExitCode::from(u8::from(exit != Exit::Good))
}

fn copy(options: &Copy, level: u8) -> Result<Exit, CliError> {
    let messages = Messages::start((level, level == 0));
    let mut out = BufWriter::new(io::stdout().lock());
    let registry = Arc::new(Registry::builder().build());
    let style = Style::for_stream(false);
    commands::copy::run(options, registry, &mut out, style, messages)
}

/// Returns the options of `ncz copy`, and the level of messages.
fn parse(arguments: Vec<OsString>) -> Result<(Copy, u8), String> {
    if arguments.is_empty() {
        return Err(USAGE.to_owned());
    }
    let found = getopt::parse(LETTERS, arguments).map_err(|error| format!("{error}\n{USAGE}"))?;
    let [source, target] = found.operands.as_slice() else {
        return Err(format!("expected one input and one output\n{USAGE}"));
    };
    let url = DatasetUrl::parse(target).map_err(|error| error.to_string())?;
    let mut rules = NccopyRules { least_chunk: LEAST_CHUNK, ..NccopyRules::default() };
    let mut copy = Copy {
        paths: vec![source.clone(), target.clone()],
        plan: None,
        part: None,
        finish: None,
        discard: None,
        filters: Vec::new(),
        codecs: Vec::new(),
        compress: false,
        deflate: None,
        shuffle: false,
        shards: Vec::new(),
        chunks: Vec::new(),
        fixed: false,
        format: None,
        readers: Vec::new(),
        consolidated: false,
        no_consolidated: true,
        variables: Vec::new(),
        no_coordinates: true,
        groups: Vec::new(),
        exclude: Vec::new(),
        values: Vec::new(),
        slab: Vec::new(),
        skip_unreadable: false,
        salvage: false,
        salvage_report: None,
        concat: None,
        any_order: false,
        append: None,
        resume: false,
        // As nccopy, which overwrites without asking.
        overwrite: true,
        verify: false,
        threads: None,
        memory: None,
        scratch: None,
        shuffle_size: None,
        no_lossy_guard: false,
        json: false,
        verbosity: Verbosity { verbose: 0, quiet: true },
        nccopy: None,
    };
    let (mut level, mut none_for_all, mut kind) = (0, false, None);
    for (letter, argument) in found.options {
        let text = argument.unwrap_or_default();
        let number = || size(&text).map_err(|error| format!("-{letter}: {error}"));
        match letter {
            '3' | '4' | '5' | '6' | '7' => kind = kinds::by_letter(letter),
            'k' => {
                let named = kinds::by_name(&text);
                kind = Some(named.ok_or_else(|| format!("invalid output format: {text}"))?);
            }
            'd' => match text.parse() {
                Ok(level @ 0..=9) => copy.deflate = Some(level),
                _ => return Err(format!("invalid deflation level: {text}; it is 0 to 9")),
            },
            's' => copy.shuffle = true,
            'u' => copy.fixed = true,
            'c' => copy.chunks.push(text),
            'F' => {
                none_for_all |= matches!(text.to_ascii_lowercase().as_str(), "none" | "*,none");
                copy.filters.push(text);
            }
            'm' => copy.memory = Some(number()?.max(LEAST_MEMORY)),
            'h' | 'e' => drop(number()?),
            'r' | 'w' => {}
            'v' => copy.values.push(text),
            'V' => copy.variables.push(text),
            'g' => rules.values_of_groups.get_or_insert_default().push(text),
            'G' => rules.groups.get_or_insert_default().push(text),
            'M' => rules.least_chunk = number()?,
            'L' => level = text.parse().map_err(|_| format!("-L: {text:?} is not a level"))?,
            'x' => return Err("-x: there is no chunk cache to estimate the size of".to_owned()),
            'X' => {
                return Err(format!("-X {text}: values that are not written always read as the fill value"));
            }
            other => return Err(format!("invalid option -- '{other}'\n{USAGE}")),
        }
    }
    if none_for_all {
        // No filters, except for named variables: deflate would be for all.
        copy.deflate = None;
    }
    copy.format = kinds::of_target(kind, is_zarr_name(&url));
    let is_file = copy.format.is_some() || is_netcdf_name(&url);
    copy.consolidated = !is_file && super::wants_consolidated();
    copy.nccopy = Some(rules);
    Ok((copy, level))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::FormatArg;

    fn parsed(line: &str) -> Result<Copy, String> {
        parse(line.split(' ').map(OsString::from).collect()).map(|(copy, _)| copy)
    }

    #[test]
    fn every_option_of_nccopy_is_accepted_or_refused_by_name() {
        let copy = parsed(
            "-4 -k nc4 -d5 -su -m 64M -c t/1 -c v:2,3 -h 1M -e 1000 -r -w -F a,1,2 -M 0 -v a,b -V c in out",
        )
        .unwrap();
        assert_eq!((copy.deflate, copy.shuffle, copy.fixed), (Some(5), true, true));
        assert_eq!((copy.memory, copy.chunks.len()), (Some(64_000_000), 2));
        assert_eq!((copy.values, copy.variables), (vec!["a,b".to_owned()], vec!["c".to_owned()]));
        let rules = parsed("-g a -g b -G c in out").unwrap().nccopy.unwrap();
        assert_eq!(rules.least_chunk, 8192);
        assert_eq!(rules.values_of_groups, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(rules.groups, Some(vec!["c".to_owned()]));
        for (line, wanted) in [
            ("-k nonsense in out", "invalid output format: nonsense"),
            ("-x in out", "-x: there is no chunk cache"),
            ("-Xf in out", "-X f: "),
            ("-d 10 in out", "invalid deflation level: 10"),
            ("-m 5Q in out", "-m: \"5Q\""),
            ("-z in out", "invalid option -- 'z'"),
            ("in", "expected one input and one output"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.starts_with(wanted), "{line}: {error}");
        }
    }

    #[test]
    fn kinds_are_formats_of_netcdf_files() {
        for (line, wanted) in [
            ("in out.nc", None),
            ("-3 in out.nc", Some(FormatArg::Classic)),
            ("-k 64-bit-offset in out.nc", Some(FormatArg::Offset64)),
            ("-7 in out", Some(FormatArg::Netcdf4Classic)),
            ("-k 5 in out.nc", Some(FormatArg::Cdf5)),
            ("-4 in out.zarr", None),
            ("-4 in file://out.nc#mode=nczarr,file", None),
            ("-3 in out.zarr", Some(FormatArg::Classic)),
        ] {
            assert_eq!(parsed(line).unwrap().format, wanted, "{line}");
        }
    }

    #[test]
    fn none_for_all_overrides_deflate() {
        assert_eq!(parsed("-F none -d 5 in out").unwrap().deflate, None);
        assert_eq!(parsed("-F v,none -d 5 in out").unwrap().deflate, Some(5));
    }
}
