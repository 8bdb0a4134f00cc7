//! Resolves the dimension names of variables.

use ncz_model::{Dimension, DimensionRef, Variable, VariableError, join_path, split_path};

use super::array::{Names, Parsed};

/// The dimensions of the groups that enclose the current position, the root first.
#[derive(Default)]
pub(super) struct Scope {
    levels: Vec<Level>,
}

struct Level {
    path: String,
    dimensions: Vec<Dimension>,
}

impl Scope {
    /// Enters a group that defines these dimensions.
    pub(super) fn enter(&mut self, path: &str, dimensions: Vec<Dimension>) {
        self.levels.push(Level { path: path.to_owned(), dimensions });
    }

    /// Leaves the innermost group and returns its dimensions, including those that variables added.
    pub(super) fn leave(&mut self) -> Vec<Dimension> {
        self.levels.pop().map(|level| level.dimensions).unwrap_or_default()
    }

    /// Sets the dimensions of a variable of the innermost group.
    pub(super) fn resolve(&mut self, parsed: Parsed) -> Result<(Variable, Vec<String>), VariableError> {
        let Parsed { mut variable, names, mut notes } = parsed;
        let shape = variable.shape.clone();
        variable.dimensions = match names {
            Names::References(references) => self.references(&references, &shape, &mut notes)?,
            Names::Xarray(names) => {
                names.iter().zip(&shape).map(|(name, &len)| self.xarray(name, len, &mut notes)).collect()
            }
            Names::Nullable(names) => names
                .iter()
                .zip(&shape)
                .map(|(name, &len)| match name {
                    Some(name) => self.xarray(name, len, &mut notes),
                    None => self.anonymous(len),
                })
                .collect(),
            Names::Absent => shape.iter().map(|&len| self.anonymous(len)).collect(),
        };
        Ok((variable, notes))
    }

    fn references(
        &mut self,
        references: &[String],
        shape: &[u64],
        notes: &mut Vec<String>,
    ) -> Result<Vec<DimensionRef>, VariableError> {
        if references.len() != shape.len() {
            let (names, rank) = (references.len(), shape.len());
            return Err(VariableError::Rank { key: "dimension_references", names, rank });
        }
        references.iter().zip(shape).map(|(reference, &len)| self.reference(reference, len, notes)).collect()
    }

    fn reference(
        &mut self,
        reference: &str,
        len: u64,
        notes: &mut Vec<String>,
    ) -> Result<DimensionRef, VariableError> {
        let (group, name) = split_path(reference);
        let group = if group.is_empty() { "/" } else { group };
        let absolute = reference.starts_with('/');
        let found =
            self.levels.iter_mut().rev().filter(|level| !absolute || level.path == group).find_map(|level| {
                let dimension = level.dimensions.iter_mut().find(|dimension| dimension.name == name)?;
                Some((level.path.clone(), dimension))
            });
        let Some((group, dimension)) = found else {
            return Err(VariableError::Dimension { name: reference.to_owned() });
        };
        if !dimension.unlimited && dimension.len != len {
            notes.push(format!(
                "its length {len} along {reference:?} is not the {} of that dimension; the larger length is used, and \
                 missing elements read as fill",
                dimension.len
            ));
        }
        dimension.len = dimension.len.max(len);
        Ok(DimensionRef { group, name: dimension.name.clone() })
    }

    /// Resolves a name in the innermost group; it is qualified if it already has another length there.
    fn xarray(&mut self, name: &str, len: u64, notes: &mut Vec<String>) -> DimensionRef {
        let (mut group, mut name) = ("/".to_owned(), name.to_owned());
        if let Some(level) = self.levels.last_mut() {
            let found = level.dimensions.iter().find(|dimension| dimension.name == name);
            if let Some(other) = found.map(|found| found.len).filter(|&other| other != len) {
                let qualified = free_name(&level.dimensions, &format!("{name}_{len}"), len);
                notes.push(format!(
                    "{:?} has the length {len} here, and the length {other} before in the same group; it is named \
                     {qualified:?} here",
                    join_path(&level.path, &name)
                ));
                name = qualified;
            }
            define(&mut level.dimensions, &name, len, false);
            group.clone_from(&level.path);
        }
        DimensionRef { group, name }
    }

    /// Returns the unnamed dimension of this length. Unnamed dimensions are shared by length and belong to the root, as
    /// in netcdf-c.
    fn anonymous(&mut self, len: u64) -> DimensionRef {
        let mut name = format!("_Anonymous_Dim_{len}");
        let mut group = "/".to_owned();
        if let Some(root) = self.levels.first_mut() {
            name = free_name(&root.dimensions, &name, len);
            define(&mut root.dimensions, &name, len, true);
            group.clone_from(&root.path);
        }
        DimensionRef { group, name }
    }
}

/// Returns `preferred`, or `preferred` with a number appended if that name already has another length.
fn free_name(dimensions: &[Dimension], preferred: &str, len: u64) -> String {
    let usable =
        |name: &str| dimensions.iter().all(|dimension| dimension.name != name || dimension.len == len);
    if usable(preferred) {
        return preferred.to_owned();
    }
    (2u64..)
        .map(|number| format!("{preferred}_{number}"))
        .find(|name| usable(name))
        .unwrap_or_else(|| preferred.to_owned())
}

/// Adds a dimension unless it exists; a length of 0 counts as not yet known: unlimited.
fn define(dimensions: &mut Vec<Dimension>, name: &str, len: u64, anonymous: bool) {
    if dimensions.iter().all(|dimension| dimension.name != name) {
        dimensions.push(Dimension { name: name.to_owned(), len, unlimited: len == 0, anonymous });
    }
}
