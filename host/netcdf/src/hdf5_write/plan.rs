//! The objects of a file: groups, dimensions and variables, with what they have to do with each other.

use std::collections::HashMap;

use ncz_model::json::to_values;
use ncz_model::{Dimension, DimensionRef, Group, Hierarchy, NetcdfKind, UserType, Variable, join_path};
use ncz_registry::spec::generic;

use super::check::{self, RANK};
use super::datatype;
use super::encode::MESSAGE_BYTES;
use super::error::Hdf5WriteError;
use super::planned_variable::PlannedVariable;
use crate::mapping::names::NON_COORDINATE;
use crate::user_layout::UserLayout;

/// The length of an axis that can grow, as its maximum.
const UNLIMITED: u64 = u64::MAX;

/// All objects of a file, each group before what is in it. An object is known by its number here.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) objects: Vec<Object<'a>>,
    /// The objects of the dimensions, which are known by their numbers in the file.
    pub(super) scales: Vec<usize>,
    /// The text of `_NCProperties`, if the dataset has one.
    pub(super) properties: Option<&'a str>,
    /// Whether the file has the classic data model.
    pub(super) is_classic_model: bool,
    /// The numbers of the variables, by path.
    variables: HashMap<&'a str, usize>,
    /// The numbers of the committed datatypes and their messages, by path.
    types: HashMap<String, (usize, Vec<u8>)>,
}

#[derive(Debug)]
pub(super) struct Object<'a> {
    pub(super) path: String,
    pub(super) content: Content<'a>,
    /// What makes it a dimension.
    pub(super) scale: Option<Scale>,
}

#[derive(Debug)]
pub(super) enum Content<'a> {
    Group {
        group: &'a Group,
        links: Vec<(String, usize)>,
    },
    /// The message of a committed datatype.
    Type(Vec<u8>),
    /// A dimension without a variable.
    Dimension(&'a Dimension),
    Variable(Box<PlannedVariable<'a>>),
}

/// A dimension scale (H5DS).
#[derive(Debug)]
pub(super) struct Scale {
    /// The number of the dimension in the file.
    pub(super) id: usize,
    /// The datasets that have the dimension, each with its axis.
    pub(super) uses: Vec<(usize, u32)>,
}

impl<'a> Plan<'a> {
    /// Plans the file of a dataset.
    ///
    /// # Errors
    /// The dataset has what a netCDF-4 file cannot hold.
    pub(super) fn new(hierarchy: &'a Hierarchy) -> Result<Self, Hdf5WriteError> {
        let mut planner = Planner::default();
        for group in hierarchy.groups() {
            for dimension in &group.dimensions {
                let id = planner.lens.len();
                let reference = DimensionRef { group: group.path.clone(), name: dimension.name.clone() };
                planner.dimensions.insert(reference, id);
                planner.lens.push(dimension);
            }
        }
        for variable in hierarchy.variables() {
            for (reference, len) in variable.dimensions.iter().zip(&variable.shape) {
                let reached = planner.reached.entry(reference).or_default();
                *reached = (*reached).max(*len);
            }
        }
        planner.group(&hierarchy.root)?;
        let mut objects = planner.objects;
        let mut scales = vec![0; planner.lens.len()];
        for (number, object) in objects.iter().enumerate() {
            if let Some(slot) = object.scale.as_ref().and_then(|scale| scales.get_mut(scale.id)) {
                *slot = number;
            }
        }
        attach(&mut objects, &scales);
        let variables = objects.iter().enumerate().filter_map(|(number, object)| match &object.content {
            Content::Variable(variable) => Some((variable.variable.path.as_str(), number)),
            _ => None,
        });
        let variables = variables.collect();
        Ok(Self {
            variables,
            types: planner.types,
            objects,
            scales,
            properties: hierarchy.nc_properties.as_deref(),
            is_classic_model: hierarchy.format.kind() == NetcdfKind::Netcdf4Classic,
        })
    }

    /// The number of the committed datatype that is a type with this message.
    pub(super) fn committed(&self, user: &UserType, message: &[u8]) -> Option<usize> {
        let (number, committed) = self.types.get(&user.path())?;
        (committed == message).then_some(*number)
    }

    /// The number and plan of the variable at a path.
    pub(super) fn variable(&self, path: &str) -> Result<(usize, &PlannedVariable<'a>), Hdf5WriteError> {
        let number = self.variables.get(path).copied();
        let found = number.and_then(|number| match &self.objects.get(number)?.content {
            Content::Variable(variable) => Some((number, &**variable)),
            _ => None,
        });
        found.ok_or_else(|| Hdf5WriteError::NotFound { path: path.to_owned() })
    }
}

/// Adds to each dimension the variables that have it. A dimension cannot itself have dimensions (`H5DSattach_scale`).
fn attach(objects: &mut [Object<'_>], scales: &[usize]) {
    let mut uses = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        if let Content::Variable(variable) = &object.content
            && object.scale.is_none()
        {
            let axes = (0u32..).zip(&variable.dimensions);
            uses.extend(axes.filter_map(|(axis, id)| Some((*scales.get(*id)?, number, axis))));
        }
    }
    for (scale, user, axis) in uses {
        if let Some(scale) = objects.get_mut(scale).and_then(|object| object.scale.as_mut()) {
            scale.uses.push((user, axis));
        }
    }
}

#[derive(Default)]
struct Planner<'a> {
    /// The numbers of all dimensions.
    dimensions: HashMap<DimensionRef, usize>,
    lens: Vec<&'a Dimension>,
    /// The greatest length of the variables along each dimension.
    reached: HashMap<&'a DimensionRef, u64>,
    types: HashMap<String, (usize, Vec<u8>)>,
    objects: Vec<Object<'a>>,
}

impl<'a> Planner<'a> {
    /// Adds a group and what is in it, and returns its number.
    fn group(&mut self, group: &'a Group) -> Result<usize, Hdf5WriteError> {
        if let Some(unreadable) = group.unreadable.first() {
            let reason = format!("cannot be written, as it cannot be read: {}", unreadable.reason);
            return Err(Hdf5WriteError::Layout { path: unreadable.path.clone(), reason });
        }
        let number = self.objects.len();
        let content = Content::Group { group, links: Vec::new() };
        self.objects.push(Object { path: group.path.clone(), content, scale: None });
        let mut own = Vec::new();
        // Readers know only the types that come before what has them.
        for user in &group.types {
            check::name("type", &group.path, &user.name)?;
            let (_, message) = layout_of(user, &user.path())?;
            own.push((user.name.clone(), self.objects.len()));
            self.types.insert(user.path(), (self.objects.len(), message.clone()));
            self.objects.push(Object { path: user.path(), content: Content::Type(message), scale: None });
        }
        for dimension in &group.dimensions {
            check::name("dimension", &group.path, &dimension.name)?;
            let id = self.id(&group.path, &dimension.name);
            if group.variables.iter().any(|variable| is_coordinate(group, variable, &dimension.name)) {
                continue;
            }
            own.push((dimension.name.clone(), self.objects.len()));
            self.objects.push(Object {
                path: join_path(&group.path, &dimension.name),
                content: Content::Dimension(dimension),
                scale: id.map(|id| Scale { id, uses: Vec::new() }),
            });
        }
        for variable in &group.variables {
            check::name("variable", &group.path, &variable.name)?;
            let has_scale = group.dimension(&variable.name).is_some();
            let is_scale = is_coordinate(group, variable, &variable.name);
            let name = match has_scale && !is_scale {
                true => format!("{NON_COORDINATE}{}", variable.name),
                false => variable.name.clone(),
            };
            let id = self.id(&group.path, &variable.name).filter(|_| is_scale);
            let planned = self.variable(variable, id.is_some())?;
            own.push((name, self.objects.len()));
            self.objects.push(Object {
                path: variable.path.clone(),
                content: Content::Variable(Box::new(planned)),
                scale: id.map(|id| Scale { id, uses: Vec::new() }),
            });
        }
        for child in &group.groups {
            check::name("group", &group.path, &child.name)?;
            own.push((child.name.clone(), self.group(child)?));
        }
        check::unique(&group.path, own.iter().map(|(name, _)| name.as_str()))?;
        if let Some(Object { content: Content::Group { links, .. }, .. }) = self.objects.get_mut(number) {
            *links = own;
        }
        Ok(number)
    }

    fn id(&self, group: &str, name: &str) -> Option<usize> {
        let reference = DimensionRef { group: group.to_owned(), name: name.to_owned() };
        self.dimensions.get(&reference).copied()
    }

    fn variable(
        &self,
        variable: &'a Variable,
        is_scale: bool,
    ) -> Result<PlannedVariable<'a>, Hdf5WriteError> {
        let path = || variable.path.clone();
        let layout = |reason: String| Hdf5WriteError::Layout { path: path(), reason };
        let rank = variable.shape.len();
        if rank > RANK {
            return Err(layout(format!("has {rank} dimensions; HDF5 has at most {RANK}")));
        }
        if variable.dimensions.len() != rank {
            return Err(layout(format!("has {rank} axes, but {} dimensions", variable.dimensions.len())));
        }
        let (mut dimensions, mut shape, mut max) = (Vec::new(), Vec::new(), Vec::new());
        for (reference, stored) in variable.dimensions.iter().zip(&variable.shape) {
            let id = self.dimensions.get(reference).copied();
            let dimension = id.and_then(|id| self.lens.get(id).map(|dimension| (id, dimension)));
            let (id, dimension) = dimension
                .ok_or_else(|| layout(format!("has the dimension {reference}, which is not defined")))?;
            if dimension.len < *stored && !dimension.unlimited {
                let (name, len) = (&dimension.name, dimension.len);
                return Err(layout(format!("has {stored} elements along {name:?}, whose length is {len}")));
            }
            // A dimension is as long as its longest variable. If that is not enough, its own dataset is longer.
            let is_own = is_scale && dimensions.is_empty();
            let extends = is_own && self.reached.get(reference).is_none_or(|len| *len < dimension.len);
            shape.push(if dimension.unlimited && !extends { *stored } else { dimension.len });
            max.push(if dimension.unlimited { UNLIMITED } else { dimension.len });
            dimensions.push(id);
        }
        let unknown = || Hdf5WriteError::Type { path: path(), dtype: variable.dtype.text().to_owned() };
        let (layout, datatype) = match &variable.user_type {
            None => (None, datatype::of_dtype(&variable.dtype).ok_or_else(unknown)?),
            Some(user) => {
                let (layout, message) = layout_of(user, &variable.path)?;
                (Some(layout), message)
            }
        };
        let element_bytes = datatype::element_bytes(&variable.dtype);
        if layout.as_ref().is_some_and(|layout| layout.element_bytes() != element_bytes) {
            return Err(unknown());
        }
        let filters = filters(variable)?;
        let planned =
            PlannedVariable { variable, datatype, layout, element_bytes, shape, max, dimensions, filters };
        check::layout(&planned)?;
        Ok(planned)
    }
}

/// The layout and the message of a user-defined type of the object at a path.
pub(super) fn layout_of(user: &UserType, path: &str) -> Result<(UserLayout, Vec<u8>), Hdf5WriteError> {
    let error = |reason: String| Hdf5WriteError::UserType { path: path.to_owned(), of: user.path(), reason };
    let layout = UserLayout::of(user).map_err(error)?;
    let message = layout.message().ok_or_else(|| error("has values that netCDF does not have".to_owned()))?;
    if message.len() > MESSAGE_BYTES {
        return Err(error(format!(
            "has a description of {} bytes; HDF5 has less than 64 KiB",
            message.len()
        )));
    }
    Ok((layout, message))
}

/// Whether a variable of a group is the coordinate variable of the group's dimension `name`: over it first, and of its
/// name.
fn is_coordinate(group: &Group, variable: &Variable, name: &str) -> bool {
    variable.name == name
        && group.dimension(name).is_some()
        && variable.dimensions.first().is_some_and(|first| first.name == name && first.group == group.path)
}

/// The filters of a variable.
fn filters(variable: &Variable) -> Result<Vec<(u16, u16, Vec<u32>)>, Hdf5WriteError> {
    let error = |reason: String| Hdf5WriteError::Filters { path: variable.path.clone(), reason };
    let mut filters = Vec::new();
    for codec in to_values(&variable.filters) {
        let filter = generic::of_codec_json(&codec);
        let (id, parameters) =
            filter.ok_or_else(|| error(format!("{codec} is not an HDF5 filter by its number")))?;
        let id = u16::try_from(id).map_err(|_| error(format!("{id} is not the number of an HDF5 filter")))?;
        filters.push((id, check::filter_flags(id), parameters));
    }
    if filters.len() > check::FILTERS {
        return Err(error(format!("{} are more than {}, the most in HDF5", filters.len(), check::FILTERS)));
    }
    Ok(filters)
}
