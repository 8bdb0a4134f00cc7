//! Findings about the metadata of a dataset.

use ncz_model::Container;
use ncz_model::{Consolidated, DataError, Order, Warning};
use ncz_zarr::metadata::document;

use crate::causes::with_causes;
use crate::documents::{self, Choices};
use crate::finding::{Code, Finding, Remedy, Severity};

/// Findings of the documents themselves, and what the reader made of them.
pub(super) fn findings(dataset: &dyn Container) -> Result<Vec<Finding>, DataError> {
    let hierarchy = dataset.hierarchy();
    let mut findings = match dataset.store().capabilities().list {
        true => {
            let choices = Choices { shuffle: dataset.session().shuffle, ..Choices::default() };
            documents::survey(&**dataset.store(), &choices)?
        }
        // Without a listing, other documents than those that were read cannot be found.
        false => Vec::new(),
    };
    if hierarchy.root_array
        && let Some(variable) = hierarchy.variables().next()
    {
        for finding in findings.iter_mut().filter(|finding| finding.variable.is_none()) {
            finding.variable = Some(variable.path.clone());
        }
    }
    let seen_consolidated = findings.iter().any(|finding| finding.code == Code::ConsolidatedStale);
    for warning in &hierarchy.warnings {
        let is_told = match () {
            () if warning.text.contains("is declared big-endian by netcdf-c") => true,
            () => warning.at == document::ZMETADATA && seen_consolidated,
        };
        if !is_told {
            findings.push(of_warning(warning));
        }
    }
    if hierarchy.consolidated == Consolidated::Stale && hierarchy.format.is_v3() && !seen_consolidated {
        let reason =
            "its consolidated metadata differ from the documents: those that trust them read old metadata";
        findings.push(Finding::new(Severity::Warning, Code::ConsolidatedStale, reason).remedy(Remedy::Copy));
    }
    for lost in hierarchy.unreadable() {
        let finding = Finding::new(Severity::Error, Code::VariableUnreadable, with_causes(&lost.reason));
        findings.push(finding.variable(&lost.path));
    }
    for variable in
        hierarchy.variables().filter(|variable| !hierarchy.format.is_v3() && variable.shape.len() > 1)
    {
        if variable.order != Order::C {
            let severity = if hierarchy.format.is_nczarr() { Severity::Warning } else { Severity::Note };
            let reason =
                "its chunks are in order F, which netcdf-c ignores: it returns the values in wrong positions";
            findings.push(
                Finding::new(severity, Code::OrderF, reason).variable(&variable.path).remedy(Remedy::Copy),
            );
        }
    }
    Ok(findings)
}

fn of_warning(warning: &Warning) -> Finding {
    let finding = match warning.text.contains("unknown key") {
        true => Finding::new(Severity::Note, Code::UnknownKey, &warning.text),
        false => Finding::new(Severity::Warning, Code::Metadata, &warning.text),
    };
    if warning.at.starts_with('/') { finding.variable(&warning.at) } else { finding.key(&warning.at) }
}
