//! Changes the metadata of a dataset: attributes, and new groups, dimensions and variables.

use ncz_model::{DataError, Group, Hierarchy, Variable, join_path};

use super::Dataset;

/// The objects that a change affects, by path.
#[derive(Debug, Default)]
struct Touched {
    variables: Vec<String>,
    groups: Vec<String>,
    new_variables: Vec<String>,
    new_groups: Vec<String>,
}

impl Dataset {
    /// Whether a variable is in the dataset, so that its type, shape, chunks, codecs and fill value cannot change.
    #[must_use]
    pub fn is_defined(&self, path: &str) -> bool {
        match self.hierarchy.variable(path) {
            Ok(_) => true,
            Err(error) => !matches!(error, ncz_model::MetadataError::NotFound { .. }),
        }
    }

    /// Changes the metadata: `edit` may set and remove attributes, and add groups, dimensions and variables with their
    /// codecs ([`Session::define`](super::Session::define)). It works on a copy; if the change is refused, or `edit`
    /// fails, nothing has changed.
    ///
    /// Pending changes are flushed first. The documents that differ are written before this returns, each as a whole,
    /// and new objects before the lists that name them: after a crash each object is either old or new.
    ///
    /// # Errors
    /// [`DataError::LateDefinition`] and [`DataError::LateFill`] for properties that cannot change;
    /// [`DataError::ObjectExists`] if the store has an object under a new name; [`DataError::Changed`]; the metadata have
    /// an old generation; `edit` fails; or the store fails, after which the same change may be tried again.
    pub fn change<T>(
        &mut self,
        edit: impl FnOnce(&mut Hierarchy) -> Result<T, DataError>,
    ) -> Result<T, DataError> {
        self.check_writable()?;
        self.settle()?;
        let mut next = self.hierarchy.clone();
        let answer = edit(&mut next)?;
        let touched = Touched::between(&self.hierarchy, &mut next)?;
        for path in &touched.variables {
            self.touch_variable(path)?;
        }
        for path in &touched.groups {
            self.touch_group(path)?;
        }
        let old = std::mem::replace(&mut self.hierarchy, next);
        let written = self.add_new(&touched.new_variables, &touched.new_groups).and_then(|()| self.save());
        if let Err(error) = written {
            self.hierarchy = old;
            self.forget_changes();
            return Err(error);
        }
        self.settle()?;
        Ok(answer)
    }
}

impl Touched {
    /// Compares a hierarchy with its changed copy, and restores the fields of the copy that users cannot change.
    fn between(old: &Hierarchy, new: &mut Hierarchy) -> Result<Self, DataError> {
        new.nc_properties.clone_from(&old.nc_properties);
        new.consolidated = old.consolidated;
        if (old.format, old.root_array) != (new.format, new.root_array) {
            return Err(late("/", "format"));
        }
        let mut touched = Self::default();
        touched.group(&old.root, &mut new.root)?;
        if old.root_array && !(touched.new_variables.is_empty() && touched.new_groups.is_empty()) {
            return Err(late("/", "root, which is an array,"));
        }
        Ok(touched)
    }

    fn group(&mut self, old: &Group, new: &mut Group) -> Result<(), DataError> {
        new.documents.clone_from(&old.documents);
        for dimension in &old.dimensions {
            if new.dimension(&dimension.name) != Some(dimension) {
                return Err(late(&join_path(&old.path, &dimension.name), "length or position"));
            }
        }
        if old.unreadable.len() != new.unreadable.len() {
            return Err(late(&old.path, "list of variables that cannot be read"));
        }
        let mut kept = 0;
        for variable in &mut new.variables {
            match old.variables.iter().find(|old| old.name == variable.name) {
                None => self.new_variables.push(variable.path.clone()),
                Some(old) => {
                    kept += 1;
                    self.variable(old, variable)?;
                }
            }
        }
        if kept != old.variables.len() {
            return Err(late(&old.path, "list of variables"));
        }
        let mut kept = 0;
        for group in &mut new.groups {
            match old.group(&group.name) {
                None => self.whole_group(group),
                Some(old) => {
                    kept += 1;
                    self.group(old, group)?;
                }
            }
        }
        if kept != old.groups.len() {
            return Err(late(&old.path, "list of groups"));
        }
        let same = old.attributes == new.attributes
            && old.dimensions.len() == new.dimensions.len()
            && old.variables.len() == new.variables.len()
            && old.groups.len() == new.groups.len();
        if !same {
            self.groups.push(old.path.clone());
        }
        Ok(())
    }

    fn whole_group(&mut self, group: &Group) {
        self.new_variables.extend(group.variables.iter().map(|variable| variable.path.clone()));
        group.groups.iter().for_each(|inside| self.whole_group(inside));
        self.new_groups.push(group.path.clone());
    }

    fn variable(&mut self, old: &Variable, new: &mut Variable) -> Result<(), DataError> {
        new.documents.clone_from(&old.documents);
        let settled = [
            ("type", old.dtype == new.dtype && old.nc_type == new.nc_type),
            ("shape", old.shape == new.shape && old.scalar == new.scalar && old.dimensions == new.dimensions),
            ("chunks", old.chunk_shape == new.chunk_shape && old.sharding == new.sharding),
            ("order", old.order == new.order && old.storage == new.storage),
            ("keys", old.key == new.key && old.path == new.path),
            ("key encoding", old.key_encoding == new.key_encoding && old.separator == new.separator),
            ("filters", old.filters == new.filters),
        ];
        if let Some((what, _)) = settled.iter().find(|(_, same)| !same) {
            return Err(late(&old.path, what));
        }
        let fill_attribute = |variable: &Variable| {
            variable.attribute("_FillValue").map(|attribute| format!("{:?}", attribute.value))
        };
        if old.fill != new.fill || fill_attribute(old) != fill_attribute(new) {
            return Err(DataError::LateFill { variable: old.path.clone() });
        }
        if old.attributes != new.attributes {
            self.variables.push(old.path.clone());
        }
        Ok(())
    }
}

fn late(path: &str, what: &'static str) -> DataError {
    DataError::LateDefinition { path: path.to_owned(), what }
}
