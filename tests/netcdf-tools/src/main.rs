//! `zmapio`: the objects of a dataset with their content, as netcdf-c's test scripts look at them.

#![forbid(unsafe_code)]

use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::{ArgAction, Parser};
use ncz::cdl::CFormat;
use ncz::location::DatasetUrl;
use ncz::model::json;
use ncz::model::limits;
use ncz::store::{Access, Depth, EntryKind, Key, KeyBuf, Prefix, Store, StoreExt, Visited};

/// The command line, which is that of netcdf-c's program.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true, args_override_self = true)]
struct Arguments {
    /// Name every key on standard error first.
    #[arg(short)]
    debug: bool,
    /// No content of chunks.
    #[arg(short = 'h')]
    metadata_only: bool,
    #[arg(short = 'v', action = ArgAction::SetTrue)]
    version: bool,
    #[arg(short = 't')]
    item: Option<String>,
    #[arg(short = 'x')]
    action: Option<String>,
    #[arg(short = 'F')]
    format: Option<String>,
    /// The level of the trace, which has no effect: see NCTRACING.
    #[arg(short = 'T')]
    _trace: Option<String>,
    #[arg(short = 'X')]
    extended: Option<String>,
    files: Vec<String>,
}

/// How the bytes of a chunk are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    /// Integers of this many bytes.
    Integer {
        size: usize,
        signed: bool,
    },
    Float,
    Double,
    Char,
    /// Strings of this many bytes; 0 is the whole chunk.
    String(usize),
}

/// What to print.
struct Options {
    path: String,
    type_name: String,
    item: Item,
    format: Option<String>,
    /// No content of chunks.
    metadata_only: bool,
    /// No content of `.zmetadata`.
    skip_consolidated: bool,
    /// Name every key on standard error first.
    debug: bool,
}

fn main() -> ExitCode {
    let options = match Arguments::try_parse() {
        Ok(arguments) => Options::of(arguments),
        Err(_) => Err("unknown option\nfail: NetCDF: Invalid argument\n".to_owned()),
    };
    let options = match options {
        Ok(options) => options,
        Err(text) => {
            // If this fails, nothing is left to report to.
            let _ = write!(io::stderr(), "{text}");
            return ExitCode::FAILURE;
        }
    };
    let stdout = io::stdout();
    let mut out = BufWriter::with_capacity(1 << 16, stdout.lock());
    let result = list(&options, &mut out).and_then(|()| Ok(out.flush()?));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            let mut text = error.to_string();
            let mut source = error.source();
            while let Some(cause) = source {
                text.push_str(&format!(": {cause}"));
                source = cause.source();
            }
            let _ = writeln!(io::stderr(), "fail: {text}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the reader of the output has closed it.
fn is_closed_pipe(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

const USAGE: &str = "usage: zmapio [-t <type>][-d][-h][-x objdump][-F <format>][-T <level>][-X m] <file>\n";

impl Options {
    fn of(arguments: Arguments) -> Result<Self, String> {
        let (type_name, item) = match &arguments.item {
            Some(name) => item(name).ok_or(USAGE)?,
            None => {
                let _ = writeln!(io::stderr(), "Default type: ubyte");
                ("ubyte".to_owned(), Item::Integer { size: 1, signed: false })
            }
        };
        let is_known = |action: &String| action.eq_ignore_ascii_case("objdump");
        if arguments.version || !arguments.action.as_ref().is_none_or(is_known) {
            return Err(USAGE.to_owned());
        }
        let path = match arguments.files.as_slice() {
            // A shell was to see the backslashes.
            [path] => path.replace('\\', ""),
            [] => return Err("zmapio: no input file specified\nfail: NetCDF: Invalid argument\n".to_owned()),
            _ => {
                let text = "zmapio: only one input file argument permitted\nfail: NetCDF: Invalid argument\n";
                return Err(text.to_owned());
            }
        };
        // A zip file is known by its ending; everything else has to say what it is.
        let is_zip = !path.contains("://") && path.ends_with(".zip");
        let mode = path.split(['#', '&']).find_map(|key| key.strip_prefix("mode=")).unwrap_or_default();
        if !is_zip && !mode.split(',').any(|word| matches!(word, "file" | "zip" | "s3")) {
            return Err(USAGE.to_owned());
        }
        if arguments.action.is_none() {
            let _ = writeln!(io::stderr(), "Default action: objdump");
        }
        let options = Self {
            path,
            type_name,
            item,
            format: arguments.format,
            metadata_only: arguments.metadata_only,
            skip_consolidated: arguments.extended.is_some_and(|letters| letters.contains('m')),
            debug: arguments.debug,
        };
        match options.format_fits() {
            true => Ok(options),
            false => Err(format!(
                "zmapio: -F {} does not fit the type {}\n",
                options.format.unwrap_or_default(),
                options.type_name
            )),
        }
    }
}

/// Returns the type that a word names, and the word as it is printed.
fn item(name: &str) -> Option<(String, Item)> {
    let lower = name.to_ascii_lowercase();
    let integer = |size, signed| Item::Integer { size, signed };
    let item = match lower.as_str() {
        "ubyte" => integer(1, false),
        "byte" => integer(1, true),
        "ushort" => integer(2, false),
        "short" => integer(2, true),
        "uint" => integer(4, false),
        "int" => integer(4, true),
        "uint64" => integer(8, false),
        "int64" => integer(8, true),
        "float" => Item::Float,
        "double" => Item::Double,
        "char" => Item::Char,
        "string" => Item::String(0),
        other => Item::String(other.strip_prefix("string/")?.parse().ok()?),
    };
    Some((lower, item))
}

impl Options {
    fn format_fits(&self) -> bool {
        let Some(format) = &self.format else { return true };
        match self.item {
            Item::Integer { .. } => CFormat::parse(format.as_bytes(), false).is_some(),
            Item::Float | Item::Double => CFormat::parse(format.as_bytes(), true).is_some(),
            Item::Char => format.contains("%c"),
            Item::String(_) => format.contains("%s"),
        }
    }
}

fn list(options: &Options, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let store = DatasetUrl::parse(&options.path)?.open_store(Access::Read)?;
    let mut keys = Vec::new();
    walk(&*store, Prefix::ROOT, &mut Visited::default(), &mut keys)?;
    if options.debug {
        let mut stderr = io::stderr().lock();
        let _ = writeln!(stderr, "stack:");
        for (at, (key, _)) in keys.iter().enumerate() {
            let _ = writeln!(stderr, "[{at}] /{}", key.as_str());
        }
    }
    // The number of a name counts names without content too.
    for (at, (key, kind)) in keys.iter().enumerate() {
        if *kind != EntryKind::Object {
            continue;
        }
        let key = key.as_key();
        let Some(bytes) = store.read_vec(key, limits::CHUNK_BYTES)? else { continue };
        write!(out, "[{at}] /{key} : (")?;
        let is_chunk = !key.name().starts_with('.');
        if bytes.is_empty() {
            writeln!(out, "0) ||")?;
            continue;
        }
        let text = if is_chunk { options.chunk(&*store, key, &bytes)? } else { (bytes.len(), bytes) };
        let (count, content) = text;
        write!(out, "{count})")?;
        if is_chunk && !matches!(options.item, Item::String(_)) {
            write!(out, " ({})", options.type_name)?;
        }
        write!(out, " |")?;
        if is_chunk && options.metadata_only {
            write!(out, "...")?;
        } else if !(options.skip_consolidated && key.name() == ".zmetadata") {
            out.write_all(&content)?;
        }
        writeln!(out, "|")?;
    }
    Ok(())
}

/// Collects all names below a prefix, each before those below it.
fn walk(
    store: &dyn Store,
    prefix: Prefix<'_>,
    visited: &mut Visited,
    keys: &mut Vec<(KeyBuf, EntryKind)>,
) -> Result<(), ncz::store::StoreError> {
    visited.enter(store, prefix)?;
    let listing = store.list(prefix, Depth::One, limits::CHILDREN)?;
    for entry in listing.entries {
        let below = (entry.kind == EntryKind::Directory).then(|| entry.key.clone());
        keys.push((entry.key, entry.kind));
        if let Some(key) = below {
            walk(store, key.as_key().into(), visited, keys)?;
        }
    }
    Ok(())
}

impl Options {
    /// Returns the number of items in a chunk, and their text.
    fn chunk(
        &self,
        store: &dyn Store,
        key: Key<'_>,
        bytes: &[u8],
    ) -> Result<(usize, Vec<u8>), ncz::store::StoreError> {
        let size = match self.item {
            Item::Integer { size, .. } => size,
            Item::Float => 4,
            Item::Double => 8,
            Item::Char => 1,
            Item::String(0) => bytes.len(),
            Item::String(size) => size,
        };
        let count = bytes.len().div_ceil(size);
        let mut text = Vec::new();
        if self.metadata_only {
            return Ok((count, text));
        }
        let is_number = !matches!(self.item, Item::Char | Item::String(_));
        let swapped = is_number && size > 1 && is_swapped(store, key)?;
        let default = match self.item {
            Item::Integer { signed: true, .. } => "%d",
            Item::Integer { signed: false, .. } => "%u",
            _ => "%f",
        };
        let format = self.format.as_deref().unwrap_or(default);
        let format = CFormat::parse(format.as_bytes(), matches!(self.item, Item::Float | Item::Double));
        for (at, item) in bytes.chunks(size).enumerate() {
            if at > 0 {
                text.extend_from_slice(b", ");
            }
            match self.item {
                Item::Char => {
                    let (before, after) =
                        self.format.as_deref().unwrap_or("'%c'").split_once("%c").unwrap_or_default();
                    text.extend_from_slice(before.as_bytes());
                    text.extend_from_slice(item);
                    text.extend_from_slice(after.as_bytes());
                }
                Item::String(width) => {
                    let end = item.iter().position(|byte| *byte == 0).unwrap_or(item.len());
                    let (before, after) =
                        self.format.as_deref().unwrap_or("%s").split_once("%s").unwrap_or_default();
                    text.extend_from_slice(before.as_bytes());
                    text.resize(text.len() + width.saturating_sub(end), b' ');
                    text.extend_from_slice(item.get(..end).unwrap_or_default());
                    text.extend_from_slice(after.as_bytes());
                }
                _ => {
                    // An incomplete item at the end is shown as if zeros followed.
                    let mut number = [0; 8];
                    for (to, from) in number.iter_mut().zip(item) {
                        *to = *from;
                    }
                    if let (true, Some(own)) = (swapped, number.get_mut(..size)) {
                        own.reverse();
                    }
                    let bits = u64::from_le_bytes(number);
                    if let Some(format) = &format {
                        self.number(bits, size, format, &mut text);
                    }
                }
            }
        }
        Ok((count, text))
    }

    fn number(&self, bits: u64, size: usize, format: &CFormat, text: &mut Vec<u8>) {
        let special = |value: f64| match value {
            _ if value.is_finite() => None,
            _ if value.is_nan() => Some("nan"),
            f64::INFINITY => Some("inf"),
            _ => Some("-inf"),
        };
        let fraction = match self.item {
            Item::Float => Some(f64::from(f32::from_bits(bits as u32))),
            Item::Double => Some(f64::from_bits(bits)),
            _ => None,
        };
        match (fraction, fraction.and_then(special)) {
            (_, Some(word)) => text.extend_from_slice(word.as_bytes()),
            (Some(value), None) => format.write_float(value, text),
            (None, None) => {
                let unused = 64 - 8 * size as u32;
                let value = match self.item {
                    Item::Integer { signed: true, .. } => i128::from((bits << unused) as i64 >> unused),
                    _ => i128::from(bits),
                };
                format.write_integer(value, 8 * size as u32, text);
            }
        }
    }
}

/// Whether the array that a chunk belongs to is big-endian. Its metadata are in one of the folders above the chunk.
fn is_swapped(store: &dyn Store, key: Key<'_>) -> Result<bool, ncz::store::StoreError> {
    let mut folder = key.as_str();
    while let Some((around, _)) = folder.rsplit_once('/') {
        folder = around;
        let document = format!("{folder}/.zarray");
        let Ok(document) = Key::parse(&document) else { continue };
        if let Some(bytes) = store.read_vec(document, limits::DOCUMENT_BYTES as u64)? {
            let parsed = json::parse(&bytes).ok();
            let dtype = parsed.and_then(|parsed| parsed.value.get("dtype")?.as_str().map(str::to_owned));
            return Ok(dtype.is_some_and(|dtype| dtype.starts_with('>')));
        }
    }
    Ok(false)
}
