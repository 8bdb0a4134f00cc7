//! `ncz plugins`: lists what is on the search path, and explains why a codec is or is not used.

mod environment;
mod lock;
mod table;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ncz::codec::Dialect;
use ncz::registry::discover::FolderState;
use ncz::registry::report::{CodecReport, FileReport, FolderReport, Report, Verdict};
use ncz::registry::search_path::Origin;
use ncz::registry::{Entry, NotFound, Registry};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{Plugins, PluginsAction, PluginsAvail, PluginsList, PluginsPath, PluginsShow, PluginsWhy};
use crate::error::{CliError, with_causes};
use crate::exit_code::Exit;
use crate::messages::Messages;
use crate::output::{Style, bytes, write_json};

/// Runs the command.
pub(crate) fn run(
    options: &Plugins,
    registry: &Registry,
    out: &mut dyn Write,
    style: Style,
    messages: Messages,
) -> Result<Exit, CliError> {
    match &options.action {
        None => list(&options.list, registry, out, style),
        Some(PluginsAction::List(options)) => list(options, registry, out, style),
        Some(PluginsAction::Why(options)) => why(options, registry, out),
        Some(PluginsAction::Show(options)) => show(options, registry, out, style),
        Some(PluginsAction::Path(options)) => path(options, registry, out, style),
        Some(PluginsAction::Env(options)) => environment::run(options, registry, out, messages),
        Some(PluginsAction::Avail(options)) => avail(options, registry, out),
        Some(PluginsAction::Lock(options)) => lock::run(options, registry, out, style),
    }
}

/// Finds a codec by filter number or by name, including the names that netCDF has for filters.
fn available(registry: &Registry, what: &str) -> Result<Arc<Entry>, NotFound> {
    const NETCDF: [(&str, u32); 6] = [
        ("deflate", 1),
        ("szip", 4),
        ("bzip2", 307),
        ("blosc", 32001),
        ("zstd", 32015),
        ("zstandard", 32015),
    ];
    match what.parse() {
        Ok(id) => registry.by_id(id),
        Err(_) => match NETCDF.iter().find(|(name, _)| *name == what) {
            Some((_, id)) => registry.by_id(*id),
            None => registry.by_any_name(what),
        },
    }
}

/// The JSON form of `ncz plugins avail`.
#[derive(Serialize)]
struct AvailReport<'a> {
    schema: u32,
    what: &'a str,
    available: bool,
    reason: Option<String>,
}

/// The JSON form of `ncz plugins path`.
#[derive(Serialize)]
struct PathReport<'a> {
    schema: u32,
    switched_off: Option<String>,
    notes: &'a [String],
    folders: Vec<FolderRow>,
}

#[derive(Serialize)]
struct FolderRow {
    path: String,
    origin: &'static str,
    state: String,
    files: usize,
    trust: Vec<String>,
}

fn avail(options: &PluginsAvail, registry: &Registry, out: &mut dyn Write) -> Result<Exit, CliError> {
    let found = available(registry, &options.what);
    if options.json {
        let reason = found.as_ref().err().map(|error| with_causes(error));
        let report = AvailReport { schema: 1, what: &options.what, available: found.is_ok(), reason };
        write_json(out, &report)?;
    } else {
        match &found {
            Ok(_) => writeln!(out, "yes")?,
            Err(error) => writeln!(out, "no: {}", with_causes(error))?,
        }
    }
    Ok(Exit::of_findings(found.is_err()))
}

fn list(
    options: &PluginsList,
    registry: &Registry,
    out: &mut dyn Write,
    style: Style,
) -> Result<Exit, CliError> {
    let report = if options.no_load { registry.report_without_loading() } else { registry.report() };
    if options.json {
        writeln!(out, "{:#}", report.to_json())?;
    } else {
        out.write_all(table::report(report, options.all, style).as_bytes())?;
    }
    Ok(Exit::of_findings(has_findings(report)))
}

/// Whether the report has findings: a library that is refused, a named folder that cannot be searched, or a name that
/// two codecs claim.
fn has_findings(report: &Report) -> bool {
    let folder = |folder: &FolderReport| {
        let usable = matches!(folder.state, FolderState::Searched | FolderState::SameAs(_));
        // A default folder that does not exist is normal.
        !usable && (folder.folder.origin != Origin::Default || folder.state != FolderState::Missing)
    };
    report.folders.iter().any(folder)
        || report.files().any(|file| file.verdict == Verdict::Refused)
        || !report.conflicts.is_empty()
}

fn why(options: &PluginsWhy, registry: &Registry, out: &mut dyn Write) -> Result<Exit, CliError> {
    let why = registry.explain(&options.what);
    if options.json {
        writeln!(out, "{:#}", why.to_json())?;
    } else {
        write!(out, "{why}")?;
    }
    Ok(Exit::of_findings(!why.found))
}

fn show(
    options: &PluginsShow,
    registry: &Registry,
    out: &mut dyn Write,
    style: Style,
) -> Result<Exit, CliError> {
    let report = registry.report();
    let files: Vec<&FileReport> = report.files().filter(|file| is_file(file, &options.what)).collect();
    let codecs: Vec<&CodecReport> =
        report.codecs.iter().filter(|codec| codec.is_called(&options.what)).collect();
    if options.json {
        let list = |key: &str, keep: &dyn Fn(&Value) -> bool, within: &Value| -> Vec<Value> {
            let items = within.get(key).and_then(Value::as_array).into_iter().flatten();
            items.filter(|item| keep(item)).cloned().collect()
        };
        let whole = report.to_json();
        let paths: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
        let folders = list("folders", &|_| true, &whole);
        let files: Vec<Value> = folders
            .iter()
            .flat_map(|folder| {
                list("files", &|file| paths.iter().any(|path| file["path"] == path.as_str()), folder)
            })
            .collect();
        let codecs = list(
            "codecs",
            &|codec| {
                codecs
                    .iter()
                    .any(|wanted| codec["id"] == json!(wanted.id) && codec["name"] == wanted.name.as_str())
            },
            &whole,
        );
        writeln!(out, "{:#}", json!({"schema": whole["schema"], "files": files, "codecs": codecs}))?;
    } else {
        for file in &files {
            out.write_all(show_file(file, style).as_bytes())?;
        }
        for codec in &codecs {
            out.write_all(show_codec(codec, registry, style).as_bytes())?;
        }
        if files.is_empty() && codecs.is_empty() {
            writeln!(
                out,
                "{:?} was not found; `ncz plugins why {}` explains where it was searched for",
                options.what, options.what
            )?;
        }
    }
    Ok(Exit::of_findings(files.is_empty() && codecs.is_empty()))
}

fn path(
    options: &PluginsPath,
    registry: &Registry,
    out: &mut dyn Write,
    style: Style,
) -> Result<Exit, CliError> {
    let path = registry.search_path();
    let report = registry.report_without_loading();
    if options.json {
        let row = |folder: &FolderReport| FolderRow {
            path: folder.folder.path.display().to_string(),
            origin: folder.folder.origin.word(),
            state: folder.state.to_string(),
            files: folder.files.len(),
            trust: folder.trust.iter().map(ToString::to_string).collect(),
        };
        let report = PathReport {
            schema: ncz::registry::report::SCHEMA,
            switched_off: path.switched_off.map(|off| off.to_string()),
            notes: &path.notes,
            folders: report.folders.iter().map(row).collect(),
        };
        write_json(out, &report)?;
    } else {
        out.write_all(table::search_path(path, report, style).as_bytes())?;
    }
    Ok(Exit::of_findings(has_unusable_folder(report)))
}

fn has_unusable_folder(report: &Report) -> bool {
    has_findings(&Report { folders: without_files(report), ..Report::default() })
}

fn without_files(report: &Report) -> Vec<FolderReport> {
    let strip = |folder: &FolderReport| FolderReport { files: Vec::new(), ..folder.clone() };
    report.folders.iter().map(strip).collect()
}

fn is_file(file: &FileReport, query: &str) -> bool {
    let asked = Path::new(query);
    let same = |asked: &Path| {
        asked.canonicalize().is_ok_and(|asked| file.path.canonicalize().is_ok_and(|path| path == asked))
    };
    file.path == asked
        || file.path.file_name() == Some(asked.as_os_str())
        || (asked.components().count() > 1 && same(asked))
}

fn show_file(file: &FileReport, style: Style) -> String {
    let mut text = format!("{}\n", style.bold(&file.path.display().to_string()));
    let mut line = |label: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("  {}{value}\n", style.dim(&format!("{label:<14}"))));
        }
    };
    line("verdict", file.verdict.word());
    line("reason", &file.reason);
    if let Some(target) = &file.link_target {
        line("link to", &target.display().to_string());
    }
    line("size", &bytes(file.size));
    line("exports", &file.exports.join(", "));
    line("face in use", &file.face.map_or_else(String::new, |face| face.to_string()));
    line("version", &file.version.as_ref().map_or_else(String::new, ToString::to_string));
    line("interface", &file.interface.as_ref().map_or_else(String::new, ToString::to_string));
    for offer in &file.offers {
        let id = offer.id.map_or_else(String::new, |id| format!(" ({id})"));
        line("offers", &format!("{} face of {}{id}: {}", offer.part, offer.name, offer.state));
    }
    for needed in &file.dependencies.needed {
        let found = match &needed.found {
            Some(path) => path.display().to_string(),
            None => "not found".to_owned(),
        };
        line("needs", &format!("{}: {found}", needed.name));
    }
    line("libhdf5", &file.dependencies.describe_hdf5_provider().unwrap_or_else(|| "not needed".to_owned()));
    line("H5 calls", &file.dependencies.undefined_h5.join(", "));
    if file.isolated {
        line("runs in", "worker processes");
    }
    if let Some(time) = file.load_time {
        line("load time", &format!("{:.1} ms", time.as_secs_f64() * 1e3));
    }
    for note in &file.trust {
        line("note", &note.to_string());
    }
    for note in &file.notes {
        line("note", note);
    }
    text
}

fn show_codec(codec: &CodecReport, registry: &Registry, style: Style) -> String {
    let mut text = format!("{}\n", style.bold(&codec.name));
    let mut line = |label: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("  {}{value}\n", style.dim(&format!("{label:<14}"))));
        }
    };
    line("HDF5 filter", &codec.id.map_or_else(|| "none".to_owned(), |id| id.to_string()));
    line("numcodecs", &codec.numcodecs.join(", "));
    line("Zarr v3", &codec.zarr_v3.join(", "));
    let named = |dialect, names: &[String]| Some(registry.by_name(dialect, names.first()?));
    let entry = codec.id.map(|id| registry.by_id(id));
    let entry = entry.or_else(|| named(Dialect::Numcodecs, &codec.numcodecs));
    if let Some(Ok(entry)) = entry.or_else(|| named(Dialect::ZarrV3, &codec.zarr_v3)) {
        let info = entry.info();
        line("what it does", &info.summary);
        line(
            "lossy",
            match info.lossy {
                Some(true) => "yes: decoded values can differ",
                Some(false) => "no",
                None => "unknown",
            },
        );
        line("checksum", if info.has_checksum { "yes: damage is always detected" } else { "no" });
        if info.has_working_params {
            line("parameters", "the working parameters differ from the stored ones");
        }
    }
    for candidate in &codec.candidates {
        let version =
            candidate.version.as_ref().map(|version| format!(", version {version}")).unwrap_or_default();
        let mark = if candidate.used { "in use" } else { "not in use" };
        let state = match (candidate.used, candidate.state.as_str()) {
            (true, "used") | (_, "") => String::new(),
            (_, state) => format!(": {state}"),
        };
        line(mark, &format!("{}{version}{state}", candidate.origin));
    }
    text
}
