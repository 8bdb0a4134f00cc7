//! What is said while a document is looked at.

use super::Step;
use crate::verify::{Code, Finding, Remedy, Severity};

/// The faults of one document: those that are mended and those that are left.
pub(super) struct Notes<'a> {
    pub(super) key: &'a str,
    pub(super) variable: Option<&'a str>,
    pub(super) steps: Vec<Step>,
    pub(super) left: Vec<Finding>,
}

impl<'a> Notes<'a> {
    pub(super) fn new(key: &'a str, variable: Option<&'a str>) -> Self {
        Self { key, variable, steps: Vec::new(), left: Vec::new() }
    }

    /// A fault that is gone now; `action` says what was done, as a sentence without subject.
    pub(super) fn mended(
        &mut self,
        severity: Severity,
        code: Code,
        reason: impl Into<String>,
        action: impl Into<String>,
    ) {
        let finding = self.finding(severity, code, reason.into(), Remedy::Repair);
        self.steps.push(Step { finding, action: action.into() });
    }

    /// A fault that stays.
    pub(super) fn left(&mut self, severity: Severity, code: Code, reason: impl Into<String>, remedy: Remedy) {
        let finding = self.finding(severity, code, reason.into(), remedy);
        self.left.push(finding);
    }

    fn finding(&self, severity: Severity, code: Code, reason: String, remedy: Remedy) -> Finding {
        let finding = Finding::new(severity, code, reason).key(self.key).remedy(remedy);
        match self.variable {
            Some(variable) => finding.variable(variable),
            None => finding,
        }
    }
}
