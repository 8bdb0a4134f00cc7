//! Prints the report of a search as tables.

use ncz::registry::discover::FolderState;
use ncz::registry::report::{CodecReport, FileReport, FolderReport, Report, Verdict};
use ncz::registry::search_path::SearchPath;

use crate::output::{Cell, Style, Table, count};

/// If a folder has more files than this that are not plugins, they are only counted.
const NOT_PLUGINS: usize = 6;

/// Returns everything that was found.
pub(super) fn report(report: &Report, all: bool, style: Style) -> String {
    let mut text = String::new();
    if report.loaded {
        text.push_str(&codecs(&report.codecs).render(style, ""));
    }
    if let Some(off) = report.switched_off {
        text.push_str(&format!("\n{off}\n"));
    } else if report.folders.is_empty() {
        text.push_str("\nno folder is searched for plugins\n");
    }
    for folder in &report.folders {
        text.push('\n');
        text.push_str(&self::folder(folder, all, style));
    }
    let conflicts = report.conflicts.iter().map(|conflict| {
        format!(
            "the {} name {:?} means {}, not {}",
            conflict.dialect, conflict.name, conflict.holder, conflict.loser
        )
    });
    let notes: Vec<String> = conflicts.chain(report.notes.iter().cloned()).collect();
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        text.push_str(&format!("{} {note}\n", style.dim("note:")));
    }
    if !report.loaded {
        text.push_str("\nno library was loaded; the list shows only what their symbol tables contain\n");
    }
    text
}

/// Returns the folders in search order.
pub(super) fn search_path(path: &SearchPath, report: &Report, style: Style) -> String {
    let mut text = String::new();
    if let Some(off) = path.switched_off {
        text.push_str(&format!("{off}\n"));
    } else if path.folders.is_empty() {
        text.push_str("no folder is searched for plugins\n");
    } else {
        let mut table = Table::new(&[">", "folder", "set by", "state"]);
        for (index, folder) in report.folders.iter().enumerate() {
            table.row([
                (index + 1).to_string().into(),
                folder.folder.path.display().to_string().into(),
                folder.folder.origin.to_string().into(),
                state(folder),
            ]);
        }
        text.push_str(&table.render(style, ""));
    }
    for folder in &report.folders {
        for note in &folder.trust {
            text.push_str(&format!("{} {}: {note}\n", style.dim("note:"), folder.folder.path.display()));
        }
    }
    for note in &path.notes {
        text.push_str(&format!("{} {note}\n", style.dim("note:")));
    }
    text
}

fn codecs(codecs: &[CodecReport]) -> Table {
    let mut table = Table::new(&["codec", ">HDF5 id", "numcodecs", "Zarr v3", "from"]);
    let names = |names: &[String]| if names.is_empty() { "-".to_owned() } else { names.join(", ") };
    for codec in codecs {
        let used = codec.candidates.iter().find(|candidate| candidate.used);
        let others = codec.candidates.len() - usize::from(used.is_some());
        let mut from = match (used, codec.candidates.first()) {
            (Some(used), _) => used.origin.to_string(),
            (None, Some(first)) => format!("not usable: {}", first.state),
            (None, None) => "nowhere".to_owned(),
        };
        if others > 0 && used.is_some() {
            from.push_str(&format!(" (and {})", count(others as u64, "other")));
        }
        let name = if used.is_some() { Style::bold } else { Style::warn };
        table.row([
            Cell::painted(&codec.name, name),
            codec.id.map_or_else(|| "-".to_owned(), |id| id.to_string()).into(),
            names(&codec.numcodecs).into(),
            names(&codec.zarr_v3).into(),
            from.into(),
        ]);
    }
    table
}

fn folder(folder: &FolderReport, all: bool, style: Style) -> String {
    let path = folder.folder.path.display().to_string();
    let mut text = format!("{} ({}): ", style.bold(&path), folder.folder.origin);
    text.push_str(&match folder.state {
        FolderState::Searched => count(folder.files.len() as u64, "file"),
        _ => style.warn(&folder.state.to_string()),
    });
    text.push('\n');
    for note in &folder.trust {
        text.push_str(&format!("  {} {note}\n", style.dim("note:")));
    }
    let is_not_plugin = |file: &&FileReport| file.verdict == Verdict::Ignored && file.exports.is_empty();
    let not_plugins = folder.files.iter().filter(is_not_plugin).count();
    let hide = !all && not_plugins > NOT_PLUGINS;
    let shown: Vec<&FileReport> = folder.files.iter().filter(|file| !(hide && is_not_plugin(file))).collect();
    if !shown.is_empty() {
        let mut table = Table::new(&["file", "verdict", "face", "version", ">ids", "names", "reason"]);
        shown.iter().for_each(|file| table.row(row(file)));
        text.push_str(&table.render(style, "  "));
    }
    if hide {
        text.push_str(&format!(
            "  and {} that are not plugins (--all lists them)\n",
            count(not_plugins as u64, "file")
        ));
    }
    text
}

fn row(file: &FileReport) -> [Cell; 7] {
    let paint = match file.verdict {
        Verdict::Loaded => Style::good,
        Verdict::Refused => Style::bad,
        Verdict::Incomplete => Style::warn,
        _ => Style::dim,
    };
    let mut ids: Vec<String> =
        file.offers.iter().filter_map(|offer| offer.id).map(|id| id.to_string()).collect();
    ids.dedup();
    let mut names: Vec<&str> = file.offers.iter().map(|offer| offer.name.as_str()).collect();
    names.dedup();
    // Before a library is opened, its symbols say which faces it has.
    let face = match file.face {
        Some(face) => face.to_string(),
        None => file.exports.join(" "),
    };
    let version = match (&file.version, &file.interface) {
        (Some(version), Some(interface)) => format!("{version} for {interface}"),
        (None, Some(interface)) => format!("- for {interface}"),
        (_, None) => "-".to_owned(),
    };
    let mut reason = file.reason.clone();
    let missing: Vec<&str> = file.dependencies.missing().collect();
    if !missing.is_empty() && !missing.iter().any(|name| reason.contains(name)) {
        reason.push_str(if reason.is_empty() { "" } else { "; " });
        reason.push_str(&format!("needs {}, not found", missing.join(", ")));
    }
    for note in &file.notes {
        reason.push_str(if reason.is_empty() { "" } else { "; " });
        reason.push_str(note);
    }
    let name = file.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    [
        name.into(),
        Cell::painted(file.verdict.word(), paint),
        face.into(),
        version.into(),
        ids.join(" ").into(),
        names.join(" ").into(),
        reason.into(),
    ]
}

/// Returns the state of a folder, and how many files and plugins it has.
fn state(folder: &FolderReport) -> Cell {
    match folder.state {
        FolderState::Searched => {
            let plugins = folder.files.iter().filter(|file| !file.exports.is_empty()).count();
            Cell::new(format!(
                "{}, {}",
                count(folder.files.len() as u64, "file"),
                count(plugins as u64, "plugin")
            ))
        }
        _ => Cell::painted(folder.state.to_string(), Style::warn),
    }
}
