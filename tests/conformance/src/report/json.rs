//! The report for programs. Its form is documented in the README and changes only with its number.

use serde_json::{Map, Value, json};

use super::format;
use crate::outcome::Verdict;
use crate::results::{CheckResult, Counts, LibraryResult, Run, TargetFacts};

/// The number of the form that is described in the README.
pub const SCHEMA: u32 = 1;

/// The report as text with line ends.
pub fn render(run: &Run) -> String {
    format!("{:#}\n", value(run))
}

/// The report.
pub fn value(run: &Run) -> Value {
    let libraries: Vec<Value> = run.libraries.iter().map(|of| library(of, run.settings.level)).collect();
    json!({
        "schema": SCHEMA,
        "runner": {"name": "ncz-conform", "version": run.version},
        "started": format::utc(run.started),
        "seconds": seconds(run.took),
        "machine": {
            "system": run.machine.system,
            "architecture": run.machine.architecture,
            "cpus": run.machine.cpus,
            "c_library": run.machine.c_library,
        },
        "settings": settings(run),
        "replay": run.replay,
        "verdict": run.fitness().word(),
        "counts": counts(run.counts()),
        "bugs": run.bugs,
        "libraries": libraries,
    })
}

fn settings(run: &Run) -> Value {
    let settings = &run.settings;
    let params: Map<String, Value> =
        settings.params.iter().map(|(id, words)| (id.to_string(), json!(words))).collect();
    json!({
        "level": settings.level,
        // Text: not every reader keeps 64 bits of a number.
        "seed": settings.seed.to_string(),
        "params": params,
        "lossy": settings.lossy,
        "mutations": settings.mutations,
        "glibc": format!("{}.{}", settings.glibc.0, settings.glibc.1),
    })
}

fn library(library: &LibraryResult, level: u8) -> Value {
    let targets: Vec<Value> = library.targets.iter().map(target).collect();
    let results: Vec<Value> = library.results.iter().map(result).collect();
    json!({
        "path": library.path.to_string_lossy(),
        "size": library.size,
        "modified": library.modified.map(format::utc),
        "crc32": format!("{:08x}", library.crc32),
        "verdict": library.fitness().word(),
        "summary": library.verdict(level),
        "counts": counts(library.counts()),
        "targets": targets,
        "results": results,
    })
}

fn target(target: &TargetFacts) -> Value {
    let facts: Vec<Value> =
        target.facts.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    json!({"target": target.target.to_string(), "facts": facts})
}

fn result(result: &CheckResult) -> Value {
    json!({
        "check": result.check.id,
        "about": result.check.about,
        "level": result.check.level,
        "target": result.target.to_string(),
        "verdict": result.outcome.verdict.word(),
        "message": result.outcome.message,
        "figures": result.outcome.figures,
        "seconds": seconds(result.took),
        "step": result.step,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "replay": result.replay,
    })
}

fn counts(counts: Counts) -> Map<String, Value> {
    Verdict::ALL
        .into_iter()
        .map(|verdict| (verdict.word().to_owned(), counts.number(verdict).into()))
        .collect()
}

/// To the millisecond.
fn seconds(took: std::time::Duration) -> f64 {
    (took.as_secs_f64() * 1e3).round() / 1e3
}
