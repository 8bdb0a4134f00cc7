//! Changes that are in memory and not yet in the store.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::model::DimensionRef;

/// What memory has and the store has not, and what is known of the store.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// Paths of the variables and groups whose documents may have to be written.
    pub(super) variables: BTreeSet<String>,
    pub(super) groups: BTreeSet<String>,
    /// Those of them that the store has not; their documents are of another dataset, if any.
    pub(super) new: HashSet<String>,
    /// Documents as they were before the change, by key: what is the same afterwards is not written.
    pub(super) before: HashMap<String, Vec<u8>>,
    /// Documents that were written, or may have been, since the last time that all of them were.
    pub(super) ours: HashMap<String, Vec<u8>>,
    /// Dimensions whose new length other arrays must get too.
    pub(super) grown: BTreeSet<DimensionRef>,
    /// Dimensions that were looked at for arrays left behind.
    pub(super) seen: BTreeSet<DimensionRef>,
    /// Data were written.
    pub(super) wrote: bool,
    /// Variables are longer than the store says.
    pub(super) longer: bool,
    /// Axes of variables whose last chunks hold nothing but fill beyond the end.
    pub(super) clean: HashSet<(String, usize)>,
    /// A dataset that is being made has no documents at its root yet.
    pub(super) unfinished: bool,
    pub(super) consolidate_new: bool,
}

impl Pending {
    /// From now on the documents of the root are written too.
    pub(super) fn complete(&mut self) {
        self.unfinished = false;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.variables.is_empty() && self.groups.is_empty()
    }

    /// Whether anything would be lost now.
    pub(super) fn is_unsaved(&self) -> bool {
        self.unfinished || !self.is_empty()
    }
}
