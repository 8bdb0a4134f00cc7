//! Who reads a dataset, as text and as JSON.

use std::collections::{BTreeMap, BTreeSet};

use ncz::readers::{Obstacle, Readability, Refusal, What};
use serde::Serialize;

use crate::codec_words::chain_words;
use crate::escape::escaped;
use crate::output::{Style, Table, abbreviated};

/// A reader in the JSON form.
#[derive(Serialize)]
pub(crate) struct ReaderReport<'a> {
    name: &'static str,
    /// The version that is tested; `null`: as its documentation says.
    tested_version: Option<&'static str>,
    /// Whether it reads all, without further packages.
    reads: bool,
    obstacles: Vec<ObstacleReport<'a>>,
}

#[derive(Serialize)]
struct ObstacleReport<'a> {
    variables: &'a [String],
    what: String,
    because: String,
    /// The package that makes the difference, or `plugins`.
    package: Option<&'static str>,
}

impl<'a> ReaderReport<'a> {
    pub(crate) fn new(readability: &'a Readability) -> Self {
        let obstacle = |obstacle: &'a Obstacle| ObstacleReport {
            variables: &obstacle.variables,
            what: obstacle.what.to_string(),
            because: obstacle.why.to_string(),
            package: obstacle.why.package(),
        };
        let reader = readability.setup.reader();
        Self {
            name: reader.name(),
            tested_version: reader.tested(),
            reads: readability.obstacles.is_empty(),
            obstacles: readability.obstacles.iter().map(obstacle).collect(),
        }
    }
}

/// Returns a table with a line for each reader.
pub(crate) fn table(readers: &[Readability], style: Style) -> String {
    let mut table = Table::new(&["read by", "tested", ""]);
    for readability in readers {
        let reader = readability.setup.reader();
        let tested = reader.tested().unwrap_or("-");
        table.row([reader.name().into(), tested.into(), words(readability).into()]);
    }
    table.render(style, "  ")
}

/// Returns `yes`, or what the reader does not read.
fn words(readability: &Readability) -> String {
    let obstacles = &readability.obstacles;
    if obstacles.is_empty() {
        return "yes".to_owned();
    }
    // One reason for the same variables is enough here; the JSON has all.
    let is_first = |(number, one): &(usize, &Obstacle)| {
        obstacles.iter().take(*number).all(|other| other.variables != one.variables)
    };
    let reasons: Vec<String> =
        obstacles.iter().enumerate().filter(is_first).map(|(_, one)| reason(one)).collect();
    let start = if readability.is_closed() { "no" } else { "in part" };
    let all_packages = obstacles.iter().all(|obstacle| obstacle.why.package().is_some());
    format!("{}: {}", if all_packages { "yes" } else { start }, reasons.join("; "))
}

/// Returns what a reader does not read, as a clause without its name.
fn reason(Obstacle { variables, what, why }: &Obstacle) -> String {
    let of = if variables.is_empty() { String::new() } else { format!(" of {}", abbreviated(variables)) };
    match (why.package(), why.is_misread()) {
        (_, true) => format!("wrong values{of}, because of {what}"),
        (Some("plugins"), _) => format!("with a plugin for the {what}{of}"),
        (Some(package), _) => format!("with the package {package} for the {what}{of}"),
        (None, _) => match what {
            What::Type(_) | What::Codec(_) => format!("not the {what}{of}"),
            What::Form(_) => format!("not {what}{of}"),
            What::Format(_) => format!("it does not read {what}{of}"),
        },
    }
}

/// Returns the note on something that the usual reader of a copy does not read. `keeps` says whether the source has it.
pub(crate) fn note(Obstacle { variables, what, why }: &Obstacle, keeps: bool) -> String {
    let has = if keeps { "keeps" } else { "has" };
    match what {
        What::Codec(name) => {
            format!("{}: {has} the codec {name}; {why}; choose another with --codec", abbreviated(variables))
        }
        _ if variables.is_empty() => format!("the copy is {what}; {why}"),
        _ => format!("{}: {what}; {why}", abbreviated(variables)),
    }
}

/// Returns notes on codecs of the source that others replace: for each variable, the first reason.
pub(crate) fn replaced_notes(replaced: &[Refusal]) -> Vec<String> {
    let (mut notes, mut noted) = (Vec::new(), BTreeSet::new());
    for Refusal { obstacle, instead } in replaced {
        let what = match &obstacle.what {
            What::Codec(name) => format!("codec {name}"),
            what => what.to_string(),
        };
        for (chain, paths) in instead {
            let paths: Vec<String> =
                paths.iter().filter(|path| noted.insert((*path).clone())).cloned().collect();
            let chain = if chain == "none" { "no codec".to_owned() } else { chain_words(chain, 0) };
            if !paths.is_empty() {
                let why = obstacle.why;
                notes.push(format!("{}: {what}: {why}; stored with {chain} instead", abbreviated(&paths)));
            }
        }
    }
    notes
}

/// Returns the options that make a copy readable for those that `--for` names; `None` if there are none.
pub(crate) fn remedy(refusals: &[Refusal]) -> Option<String> {
    // Version 3 has the byte order as a codec. Its codecs have other readers, so that this helps only by itself.
    if refusals.iter().all(|refusal| refusal.obstacle.what == What::Form("big-endian numbers")) {
        return (!refusals.is_empty()).then(|| "add --format zarr3".to_owned());
    }
    // In the single quotes of a shell.
    let name = |path: &String| escaped(path.trim_start_matches('/')).replace('\'', r"'\''");
    let excluded: Vec<&String> = refusals
        .iter()
        .filter(|refusal| is_excluded(&refusal.obstacle.what))
        .flat_map(|refusal| &refusal.obstacle.variables)
        .collect();
    // A variable can lack several things, all of which another chain of codecs gives.
    let mut chains: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let (mut remedies, mut is_other_format): (Vec<&str>, bool) = (Vec::new(), false);
    for Refusal { obstacle, instead } in refusals {
        match &obstacle.what {
            What::Codec(_) | What::Form("several codecs") => {
                for (chain, paths) in instead {
                    let kept = paths.iter().filter(|path| !excluded.contains(path)).map(name);
                    chains.entry(chain).or_default().extend(kept);
                }
            }
            What::Format(_) => is_other_format = true,
            What::Form("order F") => remedies.push("--format nczarr"),
            What::Type(_) | What::Form(_) => {}
        }
    }
    remedies.sort_unstable();
    remedies.dedup();
    let mut remedies: Vec<String> = remedies.into_iter().map(str::to_owned).collect();
    let chains = chains.into_iter().filter(|(_, names)| !names.is_empty()).map(|(chain, names)| {
        let names: Vec<String> = names.into_iter().collect();
        format!("--codec '{}={chain}'", names.join("&"))
    });
    let old = remedies.len();
    remedies.extend(chains);
    // Codecs are refused that were requested: others take their place.
    let verb = if remedies.len() > old { "use" } else { "add" };
    let mut names: Vec<String> = excluded.into_iter().map(name).collect();
    names.sort_unstable();
    names.dedup();
    if !names.is_empty() {
        remedies.push(format!("--exclude '{}'", names.join(",")));
    }
    let format = is_other_format.then(|| "choose another --format".to_owned());
    let options = (!remedies.is_empty()).then(|| format!("{verb} {}", remedies.join(" ")));
    let parts: Vec<String> = format.into_iter().chain(options).collect();
    (!parts.is_empty()).then(|| parts.join(", and "))
}

/// Whether only a copy without the variable helps.
fn is_excluded(what: &What) -> bool {
    match what {
        What::Type(_) => true,
        What::Form(form) => !["several codecs", "order F"].contains(form),
        What::Codec(_) | What::Format(_) => false,
    }
}
