//! What of the original is copied.

use std::collections::{BTreeMap, BTreeSet};

use ncz_model::Container;
use ncz_model::{
    DataError, DimensionRef, ElementType, Format, Group, Hierarchy, Kind, TypeClass, UserType, Variable,
};

use super::{CopyError, UnreadableSource};
use crate::tiles::{Indices, Window};

/// What of the original the copy has. The default is everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Paths of the variables that the copy has; `None`: all.
    pub variables: Option<BTreeSet<String>>,
    /// Paths of the groups that the copy has. Groups inside are not part of one, groups around it come without their
    /// variables. `None`: all.
    pub groups: Option<BTreeSet<String>>,
    /// Paths of variables that the copy has not.
    pub exclude: BTreeSet<String>,
    /// Paths of the variables whose values are copied, others are only defined; `None`: all.
    pub values: Option<BTreeSet<String>>,
    /// The part of dimensions that the copy has. It applies to every variable of the dimension.
    pub slabs: BTreeMap<DimensionRef, Indices>,
    /// Whether dimensions and groups stay of which nothing else is copied.
    pub keep_unused: bool,
    /// Whether variables that cannot be read are left out, and listed in
    /// [`CopySummary::unreadable`](super::CopySummary::unreadable).
    pub skip_unreadable: bool,
}

impl Selection {
    /// Whether a variable of this path is selected.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        let group = match path.rsplit_once('/') {
            Some(("", _)) | None => "/",
            Some((group, _)) => group,
        };
        !self.exclude.contains(path)
            && self.variables.as_ref().is_none_or(|paths| paths.contains(path))
            && self.groups.as_ref().is_none_or(|paths| paths.contains(group))
    }

    /// What the copy has of a hierarchy, and the warnings that are about it: what a user learns about a copy concerns
    /// nothing else. What cannot be read is not part of it.
    #[must_use]
    pub fn selected(&self, hierarchy: &Hierarchy) -> Hierarchy {
        let mut selected = hierarchy.clone();
        self.prune(&mut selected, &[]);
        let foreign: Vec<(&str, &str)> = (hierarchy.variables().filter(|variable| !self.has(&variable.path)))
            .map(|variable| (variable.path.as_str(), variable.key.as_str()))
            .collect();
        selected.warnings.retain(|warning| {
            let is_of = |&(path, key): &(&str, &str)| {
                warning.at == path
                    || !key.is_empty()
                        && warning.at.strip_prefix(key).is_some_and(|document| document.starts_with('/'))
            };
            !foreign.iter().any(is_of)
        });
        selected
    }

    /// Whether the values of a variable that the copy has are copied.
    pub(super) fn has_values(&self, path: &str) -> bool {
        self.values.as_ref().is_none_or(|paths| paths.contains(path))
    }

    /// Checks that everything that is named exists, and that slabs lie within their dimensions.
    pub(super) fn check(&self, hierarchy: &Hierarchy) -> Result<(), CopyError> {
        let known: BTreeSet<&str> = hierarchy
            .variables()
            .map(|variable| variable.path.as_str())
            .chain(hierarchy.unreadable().map(|lost| lost.path.as_str()))
            .collect();
        let named = [self.variables.as_ref(), Some(&self.exclude), self.values.as_ref()];
        if let Some(path) = named.into_iter().flatten().flatten().find(|path| !known.contains(path.as_str()))
        {
            return Err(CopyError::NoSuchVariable { path: path.clone() });
        }
        if let Some(path) = self.groups.iter().flatten().find(|path| hierarchy.group(path).is_err()) {
            return Err(CopyError::NoSuchGroup { path: path.clone() });
        }
        for (reference, indices) in &self.slabs {
            let len = hierarchy.dimension(reference).map(|dimension| dimension.len);
            let end = indices.count.checked_sub(1).map_or(Some(indices.start), |steps| {
                steps.checked_mul(indices.step)?.checked_add(indices.start)?.checked_add(1)
            });
            if indices.step == 0 || len.is_none() || end.is_none_or(|end| Some(end) > len) {
                let (dimension, len) = (reference.to_string(), len.unwrap_or(0));
                return Err(CopyError::Slab { dimension, len, indices: *indices });
            }
        }
        Ok(())
    }

    /// The variables that the copy should have and that cannot be read.
    ///
    /// # Errors
    /// There are any, and neither the selection nor `skip` says to skip them.
    pub(super) fn unreadable(
        &self,
        source: &dyn Container,
        format: Format,
        skip: bool,
    ) -> Result<Vec<UnreadableSource>, CopyError> {
        let hierarchy = source.hierarchy();
        let damaged = hierarchy
            .unreadable()
            .filter(|lost| self.has(&lost.path))
            .map(|lost| UnreadableSource { path: lost.path.clone(), error: lost.error().into() });
        let undecodable =
            hierarchy.variables().filter(|variable| self.has(&variable.path)).filter_map(|variable| {
                let opened = match variable.dtype.is_variable_length() {
                    _ if variable.is_structured() && format.has_user_types() => {
                        source.user_array(&variable.path).map(drop)
                    }
                    _ if variable.is_structured() && variable.dtype.kind() != Kind::Complex => {
                        Err(of_user_type(variable))
                    }
                    true => source.strings(&variable.path).map(drop),
                    false => source.array(&variable.path).map(drop),
                };
                opened.err().map(|error| UnreadableSource { path: variable.path.clone(), error })
            });
        let mut lost: Vec<UnreadableSource> = damaged.chain(undecodable).collect();
        if lost.is_empty() || skip || self.skip_unreadable {
            return Ok(lost);
        }
        let paths: Vec<String> = lost.iter().map(|lost| lost.path.clone()).collect();
        let source = Box::new(lost.swap_remove(0).error);
        Err(CopyError::Unreadable { paths, source })
    }

    /// Takes out of a hierarchy what the copy has not, and gives dimensions the lengths of their slabs.
    pub(super) fn prune(&self, hierarchy: &mut Hierarchy, unreadable: &[UnreadableSource]) {
        let lost: BTreeSet<&str> = unreadable.iter().map(|lost| lost.path.as_str()).collect();
        let used_before = used_dimensions(hierarchy);
        let has_all =
            self.variables.is_none() && self.groups.is_none() && self.exclude.is_empty() && lost.is_empty();
        self.prune_variables(&mut hierarchy.root, &lost);
        let with_types = groups_of_types(hierarchy);
        self.prune_groups(&mut hierarchy.root, &with_types);
        if !self.keep_unused && !has_all {
            let used = used_dimensions(hierarchy);
            let is_needed =
                |reference: &DimensionRef| used.contains(reference) || !used_before.contains(reference);
            drop_dimensions(&mut hierarchy.root, &is_needed);
        }
        for (reference, indices) in &self.slabs {
            if let Some(dimension) = hierarchy.dimension_mut(reference) {
                dimension.len = indices.count;
            }
        }
    }

    fn prune_variables(&self, group: &mut Group, lost: &BTreeSet<&str>) {
        group.variables.retain(|variable| self.has(&variable.path) && !lost.contains(variable.path.as_str()));
        group.unreadable.clear();
        group.groups.iter_mut().for_each(|inside| self.prune_variables(inside, lost));
    }

    fn prune_groups(&self, group: &mut Group, with_types: &BTreeSet<String>) {
        group.groups.iter_mut().for_each(|inside| self.prune_groups(inside, with_types));
        let is_wanted = |inside: &Group| {
            let by_groups = self.groups.as_ref().is_some_and(|paths| paths.contains(&inside.path));
            let by_variables = self.variables.is_none() || self.keep_unused || !inside.variables.is_empty();
            let by_inside = !inside.groups.is_empty() || with_types.contains(&inside.path);
            match &self.groups {
                Some(_) => by_inside || by_groups && by_variables,
                None => by_inside || by_variables,
            }
        };
        group.groups.retain(is_wanted);
    }

    /// The part of a variable that is copied, at the start of the copy. What its array lacks of its dimensions' lengths
    /// is not part of it.
    pub(super) fn window(&self, original: &Variable) -> Window {
        let axes = original.dimensions.iter().zip(&original.shape).map(|(reference, &stored)| {
            let mut indices = self.slabs.get(reference).copied().unwrap_or(Indices::all(stored));
            indices.count = indices.within(stored);
            indices
        });
        Window::new(axes)
    }
}

/// The error for a variable whose type the copy cannot have.
fn of_user_type(variable: &Variable) -> DataError {
    let user = variable.user_type.as_ref();
    let (class, path) = user.map_or(("user-defined", String::new()), |user| (user.class_name(), user.path()));
    DataError::Unsupported {
        variable: variable.path.clone(),
        reason: format!(
            "its type {path:?} is {class}, which only netCDF-4 files have; copy to a netCDF-4 file, or leave the variable out"
        ),
    }
}

/// The groups whose types variables and their attributes have, also inside other types.
fn groups_of_types(hierarchy: &Hierarchy) -> BTreeSet<String> {
    fn add(user: &UserType, groups: &mut BTreeSet<String>) {
        groups.insert(user.group.clone());
        let mut inside = |element: &ElementType| match element {
            ElementType::User(user) => add(user, groups),
            ElementType::Atomic(_) => {}
        };
        match &user.class {
            TypeClass::Compound { fields } => fields.iter().for_each(|field| inside(&field.element)),
            TypeClass::Vlen { base } => inside(base),
            TypeClass::Enum { .. } | TypeClass::Opaque { .. } => {}
        }
    }
    let mut groups = BTreeSet::new();
    for variable in hierarchy.variables() {
        let of_attributes = variable.attributes.iter().filter_map(|attribute| attribute.user.as_ref());
        let all = variable.user_type.iter().chain(of_attributes.map(|user| &user.of));
        all.for_each(|user| add(user, &mut groups));
    }
    groups
}

fn used_dimensions(hierarchy: &Hierarchy) -> BTreeSet<DimensionRef> {
    hierarchy.variables().flat_map(|variable| variable.dimensions.iter().cloned()).collect()
}

fn drop_dimensions(group: &mut Group, is_needed: &dyn Fn(&DimensionRef) -> bool) {
    let path = group.path.clone();
    let needed = |name: &str| is_needed(&DimensionRef { group: path.clone(), name: name.to_owned() });
    group.dimensions.retain(|dimension| needed(&dimension.name));
    group.groups.iter_mut().for_each(|inside| drop_dimensions(inside, is_needed));
}
