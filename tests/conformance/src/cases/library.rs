//! The file and how it loads.

mod good_calls;
mod image;
mod linkage;
mod output;
mod process;
mod symbols;

use std::time::Duration;

use ncz_registry::search_path::Platform;
use ncz_registry::symbols::{LibraryFinder, Unsuitable, inspect, names};

use crate::check::{Check, Scope};
use crate::clock::cpu_time;
use crate::outcome::Ending;
use crate::trial::Trial;
use image::Image;
use output::{Marks, Written};
use process::{Parts, State};

/// The most processor time that opening may take.
const LOAD_MAX: Duration = Duration::from_millis(50);

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "library.file",
        level: 1,
        scope: Scope::File,
        about: "is a shared library of this machine, exports the names of a plugin, and has a file name that hosts look for",
        run: file,
    },
    Check {
        id: "library.entry-points",
        level: 1,
        scope: Scope::File,
        about: "exports entry points in whole sets, and none that hides another",
        run: entry_points,
    },
    Check {
        id: "library.dependencies",
        level: 1,
        scope: Scope::File,
        about: "names every library that it needs, all are found, and none is the host's own",
        run: linkage::check,
    },
    Check {
        id: "library.load",
        level: 1,
        scope: Scope::File,
        about: "opens with all its names resolved and to itself, and its entry functions answer",
        run: load,
    },
    Check {
        id: "library.load-time",
        level: 2,
        scope: Scope::File,
        about: "opens in at most 50 ms of processor time: hosts open every library of a folder to find one",
        run: load_time,
    },
    Check {
        id: "library.symbols",
        level: 2,
        scope: Scope::File,
        about: "exports only its entry points",
        run: |trial| {
            let image = image_of(trial)?;
            symbols::check(trial, &image)
        },
    },
    Check {
        id: "library.quiet",
        level: 2,
        scope: Scope::File,
        about: "writes nothing to standard output or error, neither when loaded nor in good calls",
        run: quiet,
    },
    Check {
        id: "library.baseline",
        level: 3,
        scope: Scope::File,
        about: "needs no newer C library than the stated one",
        run: baseline,
    },
    Check {
        id: "library.hygiene",
        level: 3,
        scope: Scope::File,
        about: "changes nothing of its process when loaded: folder, environment, signals, umask, locale, limits, files, \
                threads, arithmetic; good calls change only files and threads",
        run: hygiene,
    },
    Check {
        id: "library.stack",
        level: 3,
        scope: Scope::File,
        about: "needs no executable stack and no code that can be written to",
        run: stack,
    },
];

fn file(trial: &mut Trial) -> Result<(), Ending> {
    let path = trial.path().to_owned();
    let symbols = inspect(&path, &mut LibraryFinder::system()).map_err(|error| {
        Ending::failed(match &error {
            Unsuitable::Unreadable(why) => format!("cannot be read: {why}"),
            Unsuitable::NoEntry { lacking } if lacking.is_empty() => format!(
                "{error}: neither {} nor {} nor {}",
                names::HDF5.join(" and "),
                names::CODEC,
                names::NATIVE_C
            ),
            other => other.to_string(),
        })
    })?;
    trial.figure("entry points", symbols.exports.names().to_vec());
    if let Ok(metadata) = path.metadata() {
        trial.figure("bytes", metadata.len());
    }
    let platform = Platform::current();
    if let Some(name) = path.file_name().filter(|name| !platform.matches(name)) {
        trial.warn(format!(
            "HDF5 and ncz pass over a file called {}: they look for {}",
            name.display(),
            platform.name_pattern()
        ));
    }
    Ok(())
}

fn entry_points(trial: &mut Trial) -> Result<(), Ending> {
    let path = trial.path().to_owned();
    let exports = match inspect(&path, &mut LibraryFinder::system()) {
        Ok(symbols) => symbols.exports,
        Err(Unsuitable::NoEntry { lacking }) if !lacking.is_empty() => {
            return Err(Ending::failed(half_a_pair(&lacking)));
        }
        Err(error) => return Err(Ending::skipped(error.to_string())),
    };
    for pair in [names::HDF5, names::HDF5_DRAFT] {
        let lacking: Vec<&str> = pair.into_iter().filter(|name| !exports.has(name)).collect();
        if lacking.len() == 1 {
            return Err(Ending::failed(half_a_pair(&lacking)));
        }
    }
    if exports.has(names::CODEC_DRAFT) {
        return Err(Ending::failed(format!(
            "exports {}, by which hosts know records of a proposal of 2021 with another layout: leave it out",
            names::CODEC_DRAFT
        )));
    }
    let has_draft_alone = exports.has(names::HDF5_DRAFT[0]) && !exports.has(names::HDF5[0]);
    if has_draft_alone {
        trial.warn(format!(
            "exports only the names of a proposal; HDF5 and netcdf-c require {}",
            names::HDF5.join(" and ")
        ));
    }
    if exports.has_codec_defaults() && (exports.has(names::CODEC) || exports.has_hdf5()) {
        trial.warn(format!(
            "exports {} with other entry points: netcdf-c uses its list and ignores the rest; put the list into a separate \
             library",
            names::CODEC_DEFAULTS
        ));
    }
    Ok(())
}

fn half_a_pair(lacking: &[&str]) -> String {
    let remedy = "an HDF5 filter has both; a codec without an HDF5 id has neither";
    format!("exports one of two functions that go together, {} is missing: {remedy}", lacking.join(" and "))
}

fn load(trial: &mut Trial) -> Result<(), Ending> {
    trial.step("opening the library");
    trial.subject().map(|_| ())
}

/// Opens the library for a check of another matter than whether it opens.
fn open(trial: &mut Trial) -> Result<(), Ending> {
    trial.step("opening the library");
    trial
        .subject()
        .map(|_| ())
        .map_err(|_| Ending::skipped("the library does not open; library.load says why"))
}

fn load_time(trial: &mut Trial) -> Result<(), Ending> {
    let before = cpu_time();
    open(trial)?;
    let took = cpu_time().saturating_sub(before);
    trial.figure("load ms", (took.as_secs_f64() * 1e4).round() / 10.0);
    if took > LOAD_MAX {
        trial.warn(format!(
            "opening took {} ms of processor time, more than {} ms; do such work at the first call",
            took.as_millis(),
            LOAD_MAX.as_millis()
        ));
    }
    Ok(())
}

fn image_of(trial: &Trial) -> Result<Image, Ending> {
    Image::read(trial.path()).map_err(|error| Ending::skipped(error.to_string()))
}

fn quiet(trial: &mut Trial) -> Result<(), Ending> {
    let Some(marks) = Marks::now() else {
        return Err(Ending::skipped(
            "standard output and error are not files here, so output cannot be observed",
        ));
    };
    open(trial)?;
    let loading = marks.written();
    let calls = good_calls::make(trial)?;
    // What was written when loading is reported once.
    let calling = if loading == Written::default() { marks.written() } else { Written::default() };
    trial.figure("good calls", calls);
    for (written, when) in [(loading, "when loaded"), (calling, "in good calls")] {
        if let Some(text) = written.output {
            return Err(Ending::failed(format!(
                "writes to standard output {when}, where programs such as ncdump have their data: {text}"
            )));
        }
        if let Some(text) = written.error {
            trial.warn(format!("writes to standard error {when}: {text}"));
        }
    }
    Ok(())
}

fn baseline(trial: &mut Trial) -> Result<(), Ending> {
    let image = image_of(trial)?;
    for (library, figure) in [("GLIBC", "glibc"), ("GLIBCXX", "libstdc++")] {
        if let Some(((major, minor), _)) = image.newest(library) {
            trial.figure(figure, format!("{major}.{minor}"));
        }
    }
    let Some((newest, users)) = image.newest("GLIBC") else {
        return Err(Ending::skipped("it names no versions of glibc"));
    };
    let stated = trial.settings().glibc;
    if newest > stated {
        trial.warn(format!(
            "needs glibc {}.{} (for {}); systems with an older one cannot load it, {}.{} is stated (--glibc); build it on an \
             older system or in a manylinux container",
            newest.0,
            newest.1,
            symbols::some(&users),
            stated.0,
            stated.1
        ));
    }
    Ok(())
}

fn hygiene(trial: &mut Trial) -> Result<(), Ending> {
    // What the runner opens at first use, such as its own executable, is open by now or does not stay open.
    let fresh = State::now();
    open(trial)?;
    trial.step("calculating after loading");
    let loaded = State::now();
    let changes = fresh.changes(&loaded, Parts::All);
    if !changes.is_empty() {
        return Err(Ending::failed(format!("loading changes its process: {}", changes.join("; "))));
    }
    let calls = good_calls::make(trial)?;
    trial.figure("good calls", calls);
    let changes = loaded.changes(&State::now(), Parts::ButFilesAndThreads);
    if !changes.is_empty() {
        return Err(Ending::failed(format!("good calls change the process: {}", changes.join("; "))));
    }
    Ok(())
}

fn stack(trial: &mut Trial) -> Result<(), Ending> {
    let Some(facts) = image_of(trial)?.elf else { return Err(Ending::skipped("not an ELF file")) };
    match facts.executable_stack {
        Some(true) => {
            return Err(Ending::failed(
                "needs an executable stack, which newer systems refuse; most often a file of assembler lacks its \
                 .note.GNU-stack: link with -Wl,-z,noexecstack",
            ));
        }
        None if cfg!(any(target_arch = "x86_64", target_arch = "x86")) => {
            return Err(Ending::failed(
                "does not declare that its stack need not be executable, so the loader makes it so: link with -Wl,-z,noexecstack",
            ));
        }
        _ => {}
    }
    if facts.text_relocations {
        return Err(Ending::failed(
            "has relocations in its code, which the loader must write to: compile with -fPIC",
        ));
    }
    if facts.writable_code > 0 {
        return Err(Ending::failed(
            "has code that can be written to: a segment is both writable and executable",
        ));
    }
    Ok(())
}
