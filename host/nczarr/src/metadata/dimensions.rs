//! Which dimension each name of a variable means.

use super::array::{Names, Parsed};
use crate::error::VariableFault;
use crate::model::{Dimension, DimensionRef, Variable, join_path, split_path};

/// The dimensions of the groups that enclose the point of reading, the root first.
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

    /// Leaves the innermost group and hands out its dimensions, complete with those that variables brought.
    pub(super) fn leave(&mut self) -> Vec<Dimension> {
        self.levels.pop().map(|level| level.dimensions).unwrap_or_default()
    }

    /// Gives a variable of the innermost group its dimensions.
    pub(super) fn resolve(&mut self, parsed: Parsed) -> Result<(Variable, Vec<String>), VariableFault> {
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
    ) -> Result<Vec<DimensionRef>, VariableFault> {
        if references.len() != shape.len() {
            let (names, rank) = (references.len(), shape.len());
            return Err(VariableFault::Rank { key: "dimension_references", names, rank });
        }
        references.iter().zip(shape).map(|(reference, &len)| self.reference(reference, len, notes)).collect()
    }

    fn reference(
        &mut self,
        reference: &str,
        len: u64,
        notes: &mut Vec<String>,
    ) -> Result<DimensionRef, VariableFault> {
        let (group, name) = split_path(reference);
        let group = if group.is_empty() { "/" } else { group };
        let absolute = reference.starts_with('/');
        let found =
            self.levels.iter_mut().rev().filter(|level| !absolute || level.path == group).find_map(|level| {
                let dimension = level.dimensions.iter_mut().find(|dimension| dimension.name == name)?;
                Some((level.path.clone(), dimension))
            });
        let Some((group, dimension)) = found else {
            return Err(VariableFault::Dimension { name: reference.to_owned() });
        };
        if !dimension.unlimited && dimension.len != len {
            notes.push(format!(
                "its length {len} along {reference:?} is not the {} of that dimension; the larger counts, what is missing reads as fill",
                dimension.len
            ));
        }
        dimension.len = dimension.len.max(len);
        Ok(DimensionRef { group, name: dimension.name.clone() })
    }

    /// A name in the innermost group, qualified where it has another length there already.
    fn xarray(&mut self, name: &str, len: u64, notes: &mut Vec<String>) -> DimensionRef {
        let (mut group, mut name) = ("/".to_owned(), name.to_owned());
        if let Some(level) = self.levels.last_mut() {
            let found = level.dimensions.iter().find(|dimension| dimension.name == name);
            if let Some(other) = found.map(|found| found.len).filter(|&other| other != len) {
                let qualified = free_name(&level.dimensions, &format!("{name}_{len}"), len);
                notes.push(format!(
                    "{:?} has the length {len} here and {other} before in the same group; it is called {qualified:?} here",
                    join_path(&level.path, &name)
                ));
                name = qualified;
            }
            define(&mut level.dimensions, &name, len, false);
            group.clone_from(&level.path);
        }
        DimensionRef { group, name }
    }

    /// Unnamed dimensions are shared by length and live in the root, as in netcdf-c.
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

/// `wanted`, or with a number behind it if that name has another length already.
fn free_name(dimensions: &[Dimension], wanted: &str, len: u64) -> String {
    let usable =
        |name: &str| dimensions.iter().all(|dimension| dimension.name != name || dimension.len == len);
    if usable(wanted) {
        return wanted.to_owned();
    }
    (2u64..)
        .map(|number| format!("{wanted}_{number}"))
        .find(|name| usable(name))
        .unwrap_or_else(|| wanted.to_owned())
}

/// Adds a dimension unless it is there; a length of 0 is taken as not yet known: unlimited.
fn define(dimensions: &mut Vec<Dimension>, name: &str, len: u64, anonymous: bool) {
    if dimensions.iter().all(|dimension| dimension.name != name) {
        dimensions.push(Dimension { name: name.to_owned(), len, unlimited: len == 0, anonymous });
    }
}
