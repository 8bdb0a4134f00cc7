//! The findings about one document.

use super::Step;
use crate::finding::{Code, Finding, Remedy, Severity};

/// The faults of one document: repaired ones, and others.
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

    /// Adds a fault that is repaired; `action` says how, as a sentence without subject.
    pub(super) fn repaired(
        &mut self,
        severity: Severity,
        code: Code,
        reason: impl Into<String>,
        action: impl Into<String>,
    ) {
        let finding = self.finding(severity, code, reason.into(), Some(Remedy::Repair));
        self.steps.push(Step { finding, action: action.into() });
    }

    /// Adds a fault that is not repaired.
    pub(super) fn left(
        &mut self,
        severity: Severity,
        code: Code,
        reason: impl Into<String>,
        remedy: impl Into<Option<Remedy>>,
    ) {
        let finding = self.finding(severity, code, reason.into(), remedy.into());
        self.left.push(finding);
    }

    fn finding(&self, severity: Severity, code: Code, reason: String, remedy: Option<Remedy>) -> Finding {
        let finding = Finding::new(severity, code, reason).key(self.key).remedy(remedy);
        match self.variable {
            Some(variable) => finding.variable(variable),
            None => finding,
        }
    }
}
