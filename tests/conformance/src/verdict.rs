//! From the end of a worker to a verdict.

use std::time::Duration;

use crate::check::{Check, Target};
use crate::job::Answer;
use crate::outcome::{Outcome, Verdict};
use crate::process::{Ended, How};
use crate::results::{CheckResult, TargetFacts};
use crate::signals;

/// The result of inspecting a library.
#[derive(Debug)]
pub(crate) enum Inspected {
    /// It offers this.
    Opened(Vec<TargetFacts>),
    /// It cannot be opened, or its entry functions do not return; with the last step.
    Broken(Outcome, Option<String>),
    /// A fault of the runner.
    Bug(String),
}

impl Inspected {
    /// The parts of the library, as far as they are known.
    pub(crate) fn targets(&self) -> Vec<TargetFacts> {
        match self {
            Self::Opened(targets) => targets.clone(),
            Self::Broken(..) | Self::Bug(_) => {
                vec![TargetFacts { target: Target::Library, facts: Vec::new() }]
            }
        }
    }

    /// The filter ids of its parts; `None` if they are unknown.
    pub(crate) fn filter_ids(&self) -> Option<Vec<u32>> {
        match self {
            Self::Opened(targets) => Some(targets.iter().filter_map(TargetFacts::filter_id).collect()),
            Self::Broken(..) | Self::Bug(_) => None,
        }
    }
}

pub(crate) fn of_inspection(mut ended: Ended, timeout: Duration) -> Inspected {
    ended.step = Some("opening the library and asking what it offers".to_owned());
    match ended.answer.take() {
        // If it crashes only when the process ends, its reported parts are used; each check will report the crash.
        Some(Answer::Targets(targets)) => Inspected::Opened(targets),
        Some(Answer::Closed(why)) => Inspected::Broken(Outcome::new(Verdict::Failed, why), None),
        Some(Answer::Bug(what)) => Inspected::Bug(what),
        Some(Answer::Outcome(outcome)) => Inspected::Broken(outcome, ended.step),
        None => Inspected::Broken(without_answer(&ended, timeout), ended.step),
    }
}

/// The result of a check, and the fault of the runner if there was one.
pub(crate) fn of_check(
    check: &'static Check,
    target: Target,
    mut ended: Ended,
    timeout: Duration,
    replay: String,
) -> (CheckResult, Option<String>) {
    let mut bug = None;
    let mut outcome = match ended.answer.take() {
        Some(Answer::Outcome(outcome)) => after_answer(outcome, &ended, timeout),
        None => without_answer(&ended, timeout),
        Some(other) => {
            let what = match other {
                Answer::Bug(what) => what,
                _ => "the worker answered another question".to_owned(),
            };
            bug = Some(bug_line(check, &target, &what, &replay));
            Outcome::new(Verdict::Skipped, bug_text(&what))
        }
    };
    if ended.strays > 0 {
        let note = format!("processes left behind, which were killed: {}", ended.strays);
        outcome.verdict = outcome.verdict.max(Verdict::Warned);
        add(&mut outcome.message, &note);
    }
    let step = ended.step.filter(|_| matches!(outcome.verdict, Verdict::Crashed | Verdict::Hung));
    let result = CheckResult {
        check,
        target,
        outcome,
        took: ended.took,
        step,
        stdout: ended.stdout,
        stderr: ended.stderr,
        replay,
    };
    (result, bug)
}

/// The result of a check that was not run.
pub(crate) fn skipped(check: &'static Check, target: Target, why: &str, replay: String) -> CheckResult {
    CheckResult {
        check,
        target,
        outcome: Outcome::new(Verdict::Skipped, why),
        took: Duration::ZERO,
        step: None,
        stdout: String::new(),
        stderr: String::new(),
        replay,
    }
}

/// A worker that answered: its exit code is not used, but a crash at its end is.
fn after_answer(mut outcome: Outcome, ended: &Ended, timeout: Duration) -> Outcome {
    let (verdict, note) = match ended.how {
        // It ended itself to get out of a hung call.
        How::Signal(_) if outcome.verdict == Verdict::Hung => return outcome,
        How::Code(_) => return outcome,
        How::Signal(signal) => (
            Verdict::Crashed,
            format!("when the process ended (exit handlers, destructors): {}", signals::name(signal)),
        ),
        How::TimeOut => (
            Verdict::Hung,
            format!(
                "the process does not end (exit handlers, destructors): killed after {}",
                seconds(timeout)
            ),
        ),
    };
    // A rule that was seen broken is the clearer finding.
    if !outcome.verdict.is_bad() {
        outcome.verdict = verdict;
    }
    add(&mut outcome.message, &note);
    outcome
}

fn without_answer(ended: &Ended, timeout: Duration) -> Outcome {
    let step = ended.step.as_deref().unwrap_or("the process started");
    let (verdict, how) = match ended.how {
        How::TimeOut => (Verdict::Hung, format!("not done after {}, and killed", seconds(timeout))),
        How::Signal(signal) => (Verdict::Crashed, signals::name(signal)),
        How::Code(code) => (Verdict::Crashed, format!("it ended the process with exit code {code}")),
    };
    Outcome::new(verdict, format!("{how}, while: {step}"))
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// The message if the runner failed.
pub(crate) fn bug_text(what: &str) -> String {
    format!("a bug in ncz-conform: {what}")
}

/// A fault of the runner, and how it is met again.
pub(crate) fn bug_line(check: &Check, target: &Target, what: &str, replay: &str) -> String {
    format!("{} of {target}: {what}; again with: {replay}", check.id)
}

fn add(message: &mut String, note: &str) {
    if !message.is_empty() {
        message.push('\n');
    }
    message.push_str(note);
}
