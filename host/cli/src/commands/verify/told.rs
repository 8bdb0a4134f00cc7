//! What `ncz verify` prints.

use ncz::place::Location;
use ncz::repair::{Plan, Step};
use ncz::verify::{Finding, Remedy, Report, Severity, VariableReport};
use serde_json::{Value as Json, json};

use super::is_fault;
use crate::output::{Style, bytes, count, seconds};

/// The version of the JSON form; it changes when a key changes its meaning or goes.
const SCHEMA: u32 = 1;

/// Notes that are shown without -v.
const NOTES: usize = 10;
/// A reason that is no longer is said again where it holds again.
const SHORT: usize = 120;

/// What there is to say.
pub(super) struct Told {
    place: Location,
    /// The mended copy.
    target: Option<Location>,
    findings: Vec<Finding>,
    /// What was looked at; `None` where the dataset does not open, or nothing was done yet.
    report: Option<Report>,
    /// Why the dataset does not open.
    closed: Option<String>,
    steps: Vec<Step>,
    /// Whether the steps are still to be done.
    dry: bool,
}

impl Told {
    pub(super) fn new(place: &Location, report: Report) -> Self {
        let findings = report.findings.clone();
        Self { report: Some(report), ..Self::of(place, findings) }
    }

    /// Of a dataset that does not open.
    pub(super) fn closed(place: &Location, findings: Vec<Finding>, why: String) -> Self {
        Self { closed: Some(why), ..Self::of(place, findings) }
    }

    /// Of what would be done.
    pub(super) fn planned(place: &Location, plan: &Plan) -> Self {
        let closed = plan.closed.as_ref().map(|error| crate::error::with_causes(error));
        Self { steps: plan.steps.clone(), dry: true, closed, ..Self::of(place, plan.left.clone()) }
    }

    /// Adds what was done.
    pub(super) fn after(self, plan: &Plan, target: Option<&Location>) -> Self {
        Self { steps: plan.steps.clone(), target: target.cloned(), ..self }
    }

    fn of(place: &Location, findings: Vec<Finding>) -> Self {
        let place = place.clone();
        Self { place, target: None, findings, report: None, closed: None, steps: Vec::new(), dry: false }
    }

    /// Whether nothing is left that somebody should look at. What would be done is not done.
    pub(super) fn is_sound(&self) -> bool {
        self.count(Severity::Error) == 0
            && self.count(Severity::Warning) == 0
            && self.closed.is_none()
            && !(self.dry && self.steps.iter().any(|step| is_fault(&step.finding)))
    }

    fn count(&self, severity: Severity) -> u64 {
        match &self.report {
            Some(report) => report.count(severity),
            None => self.findings.iter().filter(|finding| finding.severity == severity).count() as u64,
        }
    }

    pub(super) fn to_text(&self, style: Style, quiet: bool, verbose: bool) -> String {
        let mut text = String::new();
        if !quiet {
            for step in &self.steps {
                let done = if self.dry { "would mend" } else { "mended" };
                text.push_str(&format!(
                    "{} {} {}: {}\n",
                    style.good(done),
                    place_of(&step.finding),
                    style.dim(step.finding.code.id()),
                    step.action
                ));
            }
        }
        let mut notes = 0;
        // A codec that is missing is missing for many variables; why is told once.
        let mut told: Vec<(&str, String)> = Vec::new();
        for finding in &self.findings {
            if finding.severity == Severity::Note {
                notes += 1;
                if !verbose && notes > NOTES {
                    continue;
                }
            }
            if quiet && finding.severity != Severity::Error {
                continue;
            }
            let (own, reason) = parts(finding);
            match told.iter().find(|(known, _)| *known == reason) {
                Some((_, first)) => text.push_str(&line(finding, &format!("{own}as for {first}"), style)),
                None => {
                    text.push_str(&line(finding, &finding.reason, style));
                    if reason.len() > SHORT {
                        told.push((reason, place_of(finding)));
                    }
                }
            }
        }
        if !quiet {
            text.push_str(&self.summary(style, if verbose { 0 } else { notes.saturating_sub(NOTES) }));
        }
        text
    }

    fn summary(&self, style: Style, hidden: usize) -> String {
        let mut text = String::new();
        if hidden > 0 {
            text.push_str(&format!("... and {} (-v shows them)\n", count(hidden as u64, "note")));
        }
        if let Some(why) = &self.closed {
            text.push_str(&format!("{} the dataset does not open: {why}\n", style.bad("error:")));
        }
        let shown = self.target.as_ref().unwrap_or(&self.place);
        let verdict = match (self.count(Severity::Error), self.count(Severity::Warning)) {
            (0, 0) if self.is_sound() => style.good("good"),
            (0, 0) => style.warn("not good yet"),
            (errors, 0) => style.bad(&count(errors, "error")),
            (0, warnings) => style.warn(&count(warnings, "warning")),
            (errors, warnings) => {
                style.bad(&format!("{}, {}", count(errors, "error"), count(warnings, "warning")))
            }
        };
        let Some(report) = &self.report else { return text + &format!("{shown}: {verdict}\n") };
        for variable in report.variables.iter().filter(|variable| variable.more > 0) {
            text.push_str(&format!("... and {} more in {}\n", variable.more, variable.path));
        }
        let sum = |of: fn(&VariableReport) -> u64| report.variables.iter().map(of).sum::<u64>();
        text.push_str(&format!(
            "{shown}: {verdict}; {} of {}, {} stored, {} decoded in {}\n",
            count(sum(|variable| variable.chunks), "chunk"),
            count(report.variables.len() as u64, "variable"),
            bytes(sum(|variable| variable.stored)),
            bytes(sum(|variable| variable.decoded)),
            seconds(report.elapsed),
        ));
        let unchecked: Vec<&str> = report
            .variables
            .iter()
            .filter(|variable| variable.checked && variable.chunks > 0 && !variable.checksum)
            .map(|variable| variable.path.as_str())
            .collect();
        if !unchecked.is_empty() {
            text.push_str(&format!(
                "{} without a checksum, so that wrong values in a chunk of the right length would pass: {}\n",
                style.dim("note:"),
                unchecked.join(", ")
            ));
        }
        text
    }

    pub(super) fn to_json(&self) -> Json {
        let steps: Vec<Json> = self
            .steps
            .iter()
            .map(|step| {
                let mut object = finding_json(&step.finding);
                object["action"] = json!(step.action);
                object
            })
            .collect();
        let variables: Option<Vec<Json>> = self.report.as_ref().map(|report| {
            let variable = |variable: &VariableReport| {
                json!({
                    "path": variable.path,
                    "codecs": variable.chain,
                    "checksum": variable.checksum,
                    "checked": variable.checked,
                    "chunks": variable.chunks,
                    "faulty": variable.faulty,
                    "missing": variable.missing,
                    "stored_bytes": variable.stored,
                    "decoded_bytes": variable.decoded,
                    "findings_left_out": variable.more,
                })
            };
            report.variables.iter().map(variable).collect()
        });
        json!({
            "schema": SCHEMA,
            "dataset": self.place.to_string(),
            "target": self.target.as_ref().map(|target| target.to_string()),
            "sound": self.is_sound(),
            "does_not_open": self.closed,
            "errors": self.count(Severity::Error),
            "warnings": self.count(Severity::Warning),
            "notes": self.count(Severity::Note),
            "findings": self.findings.iter().map(finding_json).collect::<Vec<_>>(),
            "mended": if self.dry { Vec::new() } else { steps.clone() },
            "would_mend": if self.dry { steps } else { Vec::new() },
            "variables": variables,
        })
    }
}

/// A reason in two parts: what is this finding's own, and what may be so of others.
fn parts(finding: &Finding) -> (&str, &str) {
    let variable = finding.variable.as_ref().map(|path| format!("variable {path:?}: ")).unwrap_or_default();
    let own = match finding.reason.find(": no codec for ") {
        // The configuration of the codec comes before.
        Some(at) => at + 2,
        None if finding.reason.starts_with(&variable) => variable.len(),
        None => 0,
    };
    finding.reason.split_at(own)
}

/// One finding in one line.
fn line(finding: &Finding, reason: &str, style: Style) -> String {
    let severity = match finding.severity {
        Severity::Error => style.bad("error"),
        Severity::Warning => style.warn("warning"),
        Severity::Note => style.dim("note"),
    };
    let remedy = match finding.remedy {
        Remedy::None => String::new(),
        Remedy::Repair => "; --repair mends it".to_owned(),
        Remedy::Choice(option) => format!("; --repair {option} mends it"),
        Remedy::Copy => "; a new dataset ends it (--repair-to, or ncz copy)".to_owned(),
    };
    let place = place_of(finding);
    format!("{severity} {place} {}: {reason}{remedy}\n", style.dim(finding.code.id()))
}

/// Where a finding is: `/v chunk 0,1 (v/0.1)`.
fn place_of(finding: &Finding) -> String {
    let mut text = finding.variable.clone().unwrap_or_default();
    if let Some(chunk) = &finding.chunk {
        let numbers: Vec<String> = chunk.iter().map(u64::to_string).collect();
        text.push_str(&format!(
            " chunk {}",
            if numbers.is_empty() { "0".to_owned() } else { numbers.join(",") }
        ));
    }
    match (&finding.key, text.is_empty()) {
        (Some(key), true) => text.push_str(key),
        (Some(key), false) => text.push_str(&format!(" ({key})")),
        (None, true) => text.push_str("dataset"),
        (None, false) => {}
    }
    text
}

fn finding_json(finding: &Finding) -> Json {
    let (remedy, option) = match finding.remedy {
        Remedy::None => (None, None),
        Remedy::Repair => (Some("repair"), None),
        Remedy::Choice(option) => (Some("choice"), Some(option)),
        Remedy::Copy => (Some("copy"), None),
    };
    json!({
        "severity": finding.severity.name(),
        "code": finding.code.id(),
        "variable": finding.variable,
        "chunk": finding.chunk,
        "key": finding.key,
        "reason": finding.reason,
        "remedy": remedy,
        "option": option,
    })
}
