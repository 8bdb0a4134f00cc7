//! The report of `ncz verify`: as text for people, as JSON for programs.

use ncz::location::Location;
use ncz::repair::{Plan, Step};
use ncz::verify::{Finding, Remedy, Report, Severity, VariableReport};
use serde::Serialize;

use crate::output::{Style, bytes, count, one_line, seconds};
use crate::remedy;

/// The version of the JSON form; it changes when a key changes its meaning or is removed.
const SCHEMA: u32 = 1;

/// Maximum number of notes without -v.
const NOTES: usize = 10;
/// A reason up to this length is repeated for each finding.
const SHORT: usize = 120;

/// What was found in a dataset, and what was or would be repaired.
pub(super) struct VerifyReport {
    location: Location,
    /// The repaired copy.
    target: Option<Location>,
    findings: Vec<Finding>,
    /// What was checked; `None` if the dataset does not open, or nothing was done yet.
    report: Option<Report>,
    /// Why the dataset does not open.
    closed: Option<String>,
    steps: Vec<Step>,
    /// Whether the steps were not done.
    dry: bool,
    /// Whether missing chunks are listed.
    missing: bool,
}

impl VerifyReport {
    pub(super) fn new(location: &Location, report: Report) -> Self {
        let findings = report.findings.clone();
        Self { report: Some(report), ..Self::of(location, findings) }
    }

    /// Makes the report of a dataset that does not open.
    pub(super) fn closed(location: &Location, findings: Vec<Finding>, why: String) -> Self {
        Self { closed: Some(why), ..Self::of(location, findings) }
    }

    /// Makes the report of what would be done.
    pub(super) fn planned(location: &Location, plan: &Plan) -> Self {
        let closed = plan.closed.as_ref().map(|error| crate::error::with_causes(error));
        Self { steps: plan.steps.clone(), dry: true, closed, ..Self::of(location, plan.left.clone()) }
    }

    /// Lists missing chunks, if so requested.
    pub(super) fn with_missing(self, missing: bool) -> Self {
        Self { missing, ..self }
    }

    /// Adds the repairs that were done.
    pub(super) fn after(self, plan: &Plan, target: Option<&Location>) -> Self {
        Self { steps: plan.steps.clone(), target: target.cloned(), ..self }
    }

    fn of(location: &Location, findings: Vec<Finding>) -> Self {
        let location = location.clone();
        let steps = Vec::new();
        Self {
            location,
            target: None,
            findings,
            report: None,
            closed: None,
            steps,
            dry: false,
            missing: false,
        }
    }

    /// Whether there are no errors or warnings. A repair that would be done is still needed.
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
                let done = if self.dry { "would repair" } else { "repaired" };
                text.push_str(&format!(
                    "{} {} {}: {}\n",
                    style.good(done),
                    one_line(&location_of(&step.finding)),
                    style.dim(step.finding.code.id()),
                    one_line(&step.action)
                ));
            }
        }
        let mut notes = 0;
        // A codec that is not found may be that of many variables: the reason is printed once.
        let mut explained: Vec<(&str, String)> = Vec::new();
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
            match explained.iter().find(|(known, _)| *known == reason) {
                Some((_, first)) => {
                    text.push_str(&line(finding, &format!("{own}same as for {first}"), style))
                }
                None => {
                    text.push_str(&line(finding, &finding.reason, style));
                    if reason.len() > SHORT {
                        explained.push((reason, location_of(finding)));
                    }
                }
            }
        }
        if self.missing && !quiet {
            text.push_str(&self.missing_text(style));
        }
        if !quiet {
            text.push_str(&self.summary(style, if verbose { 0 } else { notes.saturating_sub(NOTES) }));
        }
        text
    }

    /// The lines of missing chunks.
    fn missing_text(&self, style: Style) -> String {
        let mut text = String::new();
        for variable in self.report.iter().flat_map(|report| &report.variables) {
            for chunk in &variable.missing_chunks {
                let location = location_of_chunk(&variable.path, Some(chunk));
                text.push_str(&format!("{} {location}\n", style.dim("missing")));
            }
            let more = variable.missing.saturating_sub(variable.missing_chunks.len() as u64);
            if more > 0 {
                text.push_str(&format!(
                    "... and {} in {}\n",
                    count(more, "more missing chunk"),
                    variable.path
                ));
            }
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
        let shown = self.target.as_ref().unwrap_or(&self.location);
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
                "{} no checksum, so wrong values in a chunk of the right length are not detected: {}\n",
                style.dim("note:"),
                unchecked.join(", ")
            ));
        }
        text
    }

    pub(super) fn to_json(&self) -> impl Serialize {
        let steps: Vec<StepJson<'_>> = self
            .steps
            .iter()
            .map(|step| StepJson { finding: FindingJson::new(&step.finding), action: &step.action })
            .collect();
        let (repaired, would_repair) = if self.dry { (Vec::new(), steps) } else { (steps, Vec::new()) };
        let report = self.report.as_ref();
        ReportJson {
            schema: SCHEMA,
            dataset: self.location.to_string(),
            target: self.target.as_ref().map(ToString::to_string),
            sound: self.is_sound(),
            does_not_open: self.closed.as_deref(),
            errors: self.count(Severity::Error),
            warnings: self.count(Severity::Warning),
            notes: self.count(Severity::Note),
            findings: self.findings.iter().map(FindingJson::new).collect(),
            repaired,
            would_repair,
            variables: report.map(|report| {
                report.variables.iter().map(|variable| VariableJson::new(variable, self.missing)).collect()
            }),
        }
    }
}

/// The JSON form.
#[derive(Serialize)]
struct ReportJson<'a> {
    schema: u32,
    dataset: String,
    target: Option<String>,
    sound: bool,
    does_not_open: Option<&'a str>,
    errors: u64,
    warnings: u64,
    notes: u64,
    findings: Vec<FindingJson<'a>>,
    repaired: Vec<StepJson<'a>>,
    would_repair: Vec<StepJson<'a>>,
    variables: Option<Vec<VariableJson<'a>>>,
}

#[derive(Serialize)]
struct FindingJson<'a> {
    severity: &'static str,
    code: &'static str,
    variable: Option<&'a str>,
    chunk: Option<&'a [u64]>,
    key: Option<&'a str>,
    reason: &'a str,
    remedy: Option<&'static str>,
    option: Option<&'a str>,
}

/// A repair, and the finding that it ends.
#[derive(Serialize)]
struct StepJson<'a> {
    #[serde(flatten)]
    finding: FindingJson<'a>,
    action: &'a str,
}

#[derive(Serialize)]
struct VariableJson<'a> {
    path: &'a str,
    codecs: &'a str,
    checksum: bool,
    checked: bool,
    chunks: u64,
    faulty: u64,
    missing: u64,
    /// The coordinates of those; only if they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_chunks: Option<&'a [Vec<u64>]>,
    stored_bytes: u64,
    decoded_bytes: u64,
    findings_left_out: u64,
}

impl<'a> FindingJson<'a> {
    fn new(finding: &'a Finding) -> Self {
        let option = finding.remedy.and_then(remedy::option);
        let remedy = finding.remedy.map(|remedy| match remedy {
            Remedy::Repair => "repair",
            Remedy::ChooseByteOrder | Remedy::ChooseShuffleSize => "choice",
            _ => "copy",
        });
        Self {
            severity: finding.severity.name(),
            code: finding.code.id(),
            variable: finding.variable.as_deref(),
            chunk: finding.chunk.as_deref(),
            key: finding.key.as_deref(),
            reason: &finding.reason,
            remedy,
            option,
        }
    }
}

impl<'a> VariableJson<'a> {
    fn new(variable: &'a VariableReport, missing: bool) -> Self {
        Self {
            path: &variable.path,
            codecs: &variable.chain,
            checksum: variable.checksum,
            checked: variable.checked,
            chunks: variable.chunks,
            faulty: variable.faulty,
            missing: variable.missing,
            missing_chunks: missing.then_some(variable.missing_chunks.as_slice()),
            stored_bytes: variable.stored,
            decoded_bytes: variable.decoded,
            findings_left_out: variable.more,
        }
    }
}

/// Whether a finding is an error or a warning.
fn is_fault(finding: &Finding) -> bool {
    finding.severity > Severity::Note
}

/// Splits a reason into the part for this finding and the part that other findings can share.
fn parts(finding: &Finding) -> (&str, &str) {
    let variable = finding.variable.as_ref().map(|path| format!("variable {path:?}: ")).unwrap_or_default();
    let own = match finding.reason.find(": no codec for ") {
        // The configuration of the codec comes before it.
        Some(at) => at + 2,
        None if finding.reason.starts_with(&variable) => variable.len(),
        None => 0,
    };
    finding.reason.split_at(own)
}

/// Formats one finding as a line.
fn line(finding: &Finding, reason: &str, style: Style) -> String {
    let severity = match finding.severity {
        Severity::Error => style.bad("error"),
        Severity::Warning => style.warn("warning"),
        Severity::Note => style.dim("note"),
    };
    let remedy = match finding.remedy {
        None => String::new(),
        Some(Remedy::Repair) => "; --repair fixes it".to_owned(),
        Some(Remedy::Copy) => "; a new dataset does not have it (--repair-to, or ncz copy)".to_owned(),
        Some(remedy) => match remedy::option(remedy) {
            Some(option) => format!("; --repair {option} fixes it"),
            None => format!("; {}", remedy::advice(remedy)),
        },
    };
    let location = location_of(finding);
    let (location, reason) = (one_line(&location), one_line(reason));
    format!("{severity} {location} {}: {reason}{remedy}\n", style.dim(finding.code.id()))
}

/// Returns the location of a finding: `/v chunk 0,1 (v/0.1)`.
fn location_of(finding: &Finding) -> String {
    let mut text =
        location_of_chunk(finding.variable.as_deref().unwrap_or_default(), finding.chunk.as_deref());
    match (&finding.key, text.is_empty()) {
        (Some(key), true) => text.push_str(key),
        (Some(key), false) => text.push_str(&format!(" ({key})")),
        (None, true) => text.push_str("dataset"),
        (None, false) => {}
    }
    text
}

/// Returns the location of a chunk, or of a variable: `/v chunk 0,1`.
fn location_of_chunk(path: &str, chunk: Option<&[u64]>) -> String {
    let mut text = path.to_owned();
    if let Some(chunk) = chunk {
        let numbers: Vec<String> = chunk.iter().map(u64::to_string).collect();
        let numbers = if numbers.is_empty() { "0".to_owned() } else { numbers.join(",") };
        text.push_str(&format!(" chunk {numbers}"));
    }
    text
}
