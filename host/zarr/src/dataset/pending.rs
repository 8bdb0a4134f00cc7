//! Changes in memory that are not in the store yet.

use std::collections::{BTreeSet, HashMap, HashSet};

use ncz_model::DimensionRef;

/// The pending changes, and the known state of the store.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// Paths of the variables and groups whose documents may have to be written.
    pub(super) variables: BTreeSet<String>,
    pub(super) groups: BTreeSet<String>,
    /// Those of them that are new in the store; existing documents under their keys belong to another dataset.
    pub(super) new: HashSet<String>,
    /// Documents before the change, by key: documents that do not differ afterwards are not written.
    pub(super) before: HashMap<String, Vec<u8>>,
    /// Documents that were written, or may have been, since the last complete flush.
    pub(super) ours: HashMap<String, Vec<u8>>,
    /// Dimensions whose new length other arrays must also get.
    pub(super) grown: BTreeSet<DimensionRef>,
    /// Dimensions that were checked for arrays that are too short.
    pub(super) seen: BTreeSet<DimensionRef>,
    /// Whether data were written.
    pub(super) wrote: bool,
    /// Whether variables are longer than in the store.
    pub(super) longer: bool,
    /// Axes of variables whose last chunks hold only fill beyond the end.
    pub(super) clean: HashSet<(String, usize)>,
    /// Whether this is a new dataset that has no documents at its root yet.
    pub(super) unfinished: bool,
    pub(super) consolidate_new: bool,
}

impl Pending {
    /// Includes the documents of the root in later writes.
    pub(super) fn complete(&mut self) {
        self.unfinished = false;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.variables.is_empty() && self.groups.is_empty()
    }

    /// Whether changes would be lost now.
    pub(super) fn is_unsaved(&self) -> bool {
        self.unfinished || !self.is_empty()
    }
}
