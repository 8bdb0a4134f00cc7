//! Parses the declarations of a text.

use ncz_model::{Attribute, DimensionRef, ElementType, NcType, UserType, UserValue, join_path, limits};
use std::collections::{HashMap, HashSet};
use std::io::{Read, Seek};
use std::sync::Arc;

use super::error::{CdlError, CdlErrorKind};
use super::extent::{self, Extent};
use super::input::{Input, Mark};
use super::lexer::{Name, Path};
use super::special::{OF_WRITERS, Special};
use super::user_values::Memory;
use super::{Cdl, CdlDimension, CdlGroup, CdlVariable};

/// The most bytes of all attributes.
const ATTRIBUTE_BYTES: usize = 256 << 20;

/// Reads everything except the values of variables.
pub(super) fn parse<R: Read + Seek>(input: &mut Input<R>) -> Result<Cdl, CdlError> {
    let (word, mark) = input.name("the word netcdf")?;
    if !word.plain || !["netcdf", "NETCDF", "netCDF"].contains(&word.text.as_str()) {
        let found = format!("{:?}", word.text);
        return Err(input.error(mark, CdlErrorKind::Expected { expected: "the word netcdf", found }));
    }
    let name = input.dataset_name()?;
    let mut parser = Parser {
        input,
        cdl: Cdl { name, groups: Vec::new(), variables: Vec::new(), notes: Vec::new() },
        groups: HashMap::new(),
        types: HashMap::new(),
        dimensions: HashMap::new(),
        variables: HashMap::new(),
        attributes: HashSet::new(),
        attribute_bytes: 0,
        of_writers: Vec::new(),
    };
    parser.add_group("/".to_owned(), String::new(), mark)?;
    parser.input.expect(b'{', "{ after the name of the dataset")?;
    parser.group(0, 0)?;
    if parser.input.skip_blanks()?.is_some() {
        return Err(parser.input.expected("nothing more after the last }"));
    }
    parser.finish()
}

pub(super) struct Parser<'a, R> {
    pub(super) input: &'a mut Input<R>,
    pub(super) cdl: Cdl,
    pub(super) groups: HashMap<String, usize>,
    /// By group and name.
    pub(super) types: HashMap<(usize, String), Arc<UserType>>,
    dimensions: HashMap<(usize, String), usize>,
    variables: HashMap<(usize, String), usize>,
    /// By group, variable and name.
    attributes: HashSet<(usize, Option<usize>, String)>,
    attribute_bytes: usize,
    of_writers: Vec<&'static str>,
}

/// The sections of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Attributes,
    Types,
    Dimensions,
    Variables,
    Data,
}

impl Section {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "types" => Self::Types,
            "dimensions" => Self::Dimensions,
            "variables" => Self::Variables,
            "data" => Self::Data,
            _ => return None,
        })
    }

    /// The tokens that can come next in this section, for messages.
    fn expected(self) -> &'static str {
        match self {
            Self::Data => "the name of a variable, group: or }",
            Self::Dimensions => "the name of a dimension, variables:, data:, group: or }",
            Self::Variables => "a type, an attribute, data:, group: or }",
            Self::Attributes | Self::Types => "dimensions:, variables:, an attribute, data:, group: or }",
        }
    }
}

impl<R: Read + Seek> Parser<'_, R> {
    /// Reads the content of a group and its closing `}`.
    fn group(&mut self, group: usize, depth: usize) -> Result<(), CdlError> {
        let mut section = Section::Attributes;
        loop {
            match self.input.skip_blanks()? {
                Some(b'}') => {
                    self.input.take(1);
                    return Ok(());
                }
                Some(b':') => {
                    self.attribute(group, None, None)?;
                    continue;
                }
                _ => {}
            }
            let (path, mark) = self.input.path(section.expected())?;
            // A keyword of CDL is directly followed by its colon; a variable of that name has a blank before the colon.
            let has_colon = self.input.peek()? == Some(b':');
            match path.word().filter(|_| has_colon) {
                Some("group") => {
                    self.input.take(1);
                    self.subgroup(group, depth)?;
                    section = Section::Attributes;
                    continue;
                }
                Some(word) if Section::of(word).is_some() => {
                    self.input.take(1);
                    section = Section::of(word).unwrap_or(section);
                    continue;
                }
                _ => {}
            }
            let next = self.input.skip_blanks()?;
            match section {
                Section::Data if next == Some(b'=') => self.data(group, &path, mark)?,
                Section::Data => return Err(self.input.expected("= after the name of the variable")),
                Section::Dimensions if next == Some(b'=') => self.dimension_list(group, path, mark)?,
                Section::Types => self.type_or_attribute(group, &path, mark, has_colon)?,
                _ => self.declaration(group, &path, mark, has_colon)?,
            }
        }
    }

    fn subgroup(&mut self, parent: usize, depth: usize) -> Result<(), CdlError> {
        let (name, mark) = self.input.name("the name of a group")?;
        if depth + 1 > limits::GROUP_DEPTH {
            let kind = CdlErrorKind::TooMuch { what: "groups inside one another", most: limits::GROUP_DEPTH };
            return Err(self.input.error(mark, kind));
        }
        let path = join_path(&self.group_path(parent), &name.text);
        let group = self.add_group(path, name.text, mark)?;
        self.input.expect(b'{', "{ after the name of the group")?;
        self.group(group, depth + 1)
    }

    fn add_group(&mut self, path: String, name: String, mark: Mark) -> Result<usize, CdlError> {
        let group = self.cdl.groups.len();
        self.check_many(group, "groups", mark)?;
        if self.groups.insert(path.clone(), group).is_some() {
            return Err(self.input.error(mark, CdlErrorKind::Twice { kind: "group", name }));
        }
        let line = mark.line();
        let (types, dimensions, attributes) = (Vec::new(), Vec::new(), Vec::new());
        self.cdl.groups.push(CdlGroup { path, name, types, dimensions, attributes, line });
        Ok(group)
    }

    pub(super) fn group_path(&self, group: usize) -> String {
        self.cdl.groups.get(group).map_or_else(|| "/".to_owned(), |group| group.path.clone())
    }

    /// Reads `x = 5, y = UNLIMITED ;`, from the first `=` on.
    fn dimension_list(&mut self, group: usize, path: Path, mark: Mark) -> Result<(), CdlError> {
        let (mut name, mut mark) = (self.single(path, mark, "a dimension")?, mark);
        loop {
            self.dimension(group, name, mark)?;
            if !self.input.accept(b',')? {
                return self.input.expect(b';', ", or ; after the length of a dimension");
            }
            let (next, at) = self.input.name("the name of a dimension")?;
            (name, mark) = (next.text, at);
        }
    }

    fn dimension(&mut self, group: usize, name: String, mark: Mark) -> Result<(), CdlError> {
        self.input.expect(b'=', "= after the name of the dimension")?;
        let first = self.input.skip_blanks()?;
        let at = self.input.mark();
        let expected = "a length or UNLIMITED";
        let (len, unlimited) = if first.is_some_and(|byte| byte.is_ascii_alphabetic()) {
            let (word, _) = self.input.name(expected)?;
            if !["UNLIMITED", "unlimited"].contains(&word.text.as_str()) {
                let found = format!("{:?}", word.text);
                return Err(self.input.error(at, CdlErrorKind::Expected { expected, found }));
            }
            (0, true)
        } else if first.is_some_and(|byte| byte.is_ascii_digit() || byte == b'-' || byte == b'+') {
            let (constant, at) = self.input.constant()?;
            let len: i64 = self.input.number(&constant, at)?;
            match u64::try_from(len) {
                // netCDF's number for an unlimited length.
                Ok(0) => (0, true),
                Ok(len) => (len, false),
                Err(_) => {
                    let reason = "must be at least 0".to_owned();
                    let kind =
                        CdlErrorKind::Special { name: format!("the length of dimension {name:?}"), reason };
                    return Err(self.input.error(at, kind));
                }
            }
        } else {
            return Err(self.input.expected(expected));
        };
        let line = mark.line();
        let Some(owner) = self.cdl.groups.get_mut(group) else { return Ok(()) };
        let number = owner.dimensions.len();
        owner.dimensions.push(CdlDimension { name: name.clone(), len, unlimited, line });
        self.check_many(number, "dimensions in a group", mark)?;
        match self.dimensions.insert((group, name.clone()), number) {
            Some(_) => Err(self.input.error(mark, CdlErrorKind::Twice { kind: "dimension", name })),
            None => Ok(()),
        }
    }

    fn single(&mut self, path: Path, mark: Mark, expected: &'static str) -> Result<String, CdlError> {
        match <[Name; 1]>::try_from(path.names) {
            Ok([name]) if !path.absolute => Ok(name.text),
            _ => Err(self.input.error(mark, CdlErrorKind::Expected { expected, found: "a path".to_owned() })),
        }
    }

    /// Reads variables or an attribute, which begin with a type or the name of a variable.
    pub(super) fn declaration(
        &mut self,
        group: usize,
        path: &Path,
        mark: Mark,
        has_colon: bool,
    ) -> Result<(), CdlError> {
        let of = self.find_type(group, path);
        if self.input.skip_blanks()? == Some(b':') {
            // A variable may have the name of a type; a typed attribute of the group has a blank before the colon.
            let of_variable = of.is_none() || has_colon && self.find_variable(group, path).is_some();
            if of_variable {
                let variable = self.variable(group, path, mark)?;
                return self.attribute(group, Some(variable), None);
            }
            return self.attribute(group, None, of);
        }
        let of = self.element_type(group, path, mark)?;
        let (path, mark) = self.input.path("the name of a variable")?;
        if self.input.skip_blanks()? == Some(b':') {
            let variable = self.variable(group, &path, mark)?;
            return self.attribute(group, Some(variable), Some(of));
        }
        let (mut name, mut mark) = (self.single(path, mark, "a variable")?, mark);
        loop {
            self.new_variable(group, of.clone(), name, mark)?;
            if !self.input.accept(b',')? {
                return self.input.expect(b';', "( for dimensions, or , or ; after the variable");
            }
            let (next, at) = self.input.name("the name of a variable")?;
            (name, mark) = (next.text, at);
        }
    }

    fn new_variable(
        &mut self,
        group: usize,
        of: ElementType,
        name: String,
        mark: Mark,
    ) -> Result<(), CdlError> {
        let mut dimensions = Vec::new();
        if self.input.accept(b'(')? {
            loop {
                let (path, at) = self.input.path("the name of a dimension")?;
                dimensions.push(self.find_dimension(group, &path, at)?);
                if dimensions.len() > limits::RANK {
                    let kind = CdlErrorKind::TooMuch { what: "dimensions of a variable", most: limits::RANK };
                    return Err(self.input.error(at, kind));
                }
                if !self.input.accept(b',')? {
                    break;
                }
            }
            self.input.expect(b')', ", or ) after a dimension")?;
        }
        let number = self.cdl.variables.len();
        self.check_many(number, "variables", mark)?;
        if self.variables.insert((group, name.clone()), number).is_some() {
            return Err(self.input.error(mark, CdlErrorKind::Twice { kind: "variable", name }));
        }
        self.cdl.variables.push(CdlVariable {
            path: join_path(&self.group_path(group), &name),
            group,
            name,
            of,
            dimensions,
            attributes: Vec::new(),
            special: Special::default(),
            line: mark.line(),
            longest: 0,
            data: None,
        });
        Ok(())
    }

    /// Finds a dimension in this group or its enclosing groups, or by its path.
    fn find_dimension(&mut self, group: usize, path: &Path, mark: Mark) -> Result<(usize, usize), CdlError> {
        let mut found = None;
        if let Some((name, groups)) = path.names.split_last() {
            let mut around = if path.absolute { join_names(groups) } else { self.group_path(group) };
            loop {
                let place = self.groups.get(&around).copied();
                let dimension =
                    place.and_then(|place| Some((place, *self.dimensions.get(&(place, name.text.clone()))?)));
                found = dimension;
                if found.is_some() || path.absolute || around == "/" {
                    break;
                }
                around = match around.rsplit_once('/') {
                    Some(("", _)) | None => "/".to_owned(),
                    Some((outer, _)) => outer.to_owned(),
                };
            }
        }
        found.ok_or_else(|| {
            let hint = "; define it under dimensions: of the group or of an enclosing one, before it is used";
            self.input.error(mark, CdlErrorKind::Unknown { kind: "dimension", name: path.text(), hint })
        })
    }

    fn find_variable(&self, group: usize, path: &Path) -> Option<usize> {
        let (name, groups) = path.names.split_last()?;
        let group = if path.absolute { *self.groups.get(&join_names(groups))? } else { group };
        self.variables.get(&(group, name.text.clone())).copied()
    }

    pub(super) fn variable(&mut self, group: usize, path: &Path, mark: Mark) -> Result<usize, CdlError> {
        self.find_variable(group, path).ok_or_else(|| {
            let hint = "; declare it under variables: of the same group, before it is used";
            self.input.error(mark, CdlErrorKind::Unknown { kind: "variable", name: path.text(), hint })
        })
    }

    /// Reads `:name = values ;`, of a variable or of the group.
    pub(super) fn attribute(
        &mut self,
        group: usize,
        variable: Option<usize>,
        of: Option<ElementType>,
    ) -> Result<(), CdlError> {
        self.input.expect(b':', ": before the name of an attribute")?;
        let (name, mark) = self.input.name("the name of an attribute")?;
        self.input.expect(b'=', "= after the name of the attribute")?;
        let of_variable = variable.and_then(|variable| self.cdl.variables.get(variable));
        let of_variable = of_variable.and_then(|variable| variable.user_type()).cloned();
        let of_fill = of_variable.filter(|_| name.text == "_FillValue");
        if let Some(ElementType::User(user)) = of.clone().or(of_fill.clone().map(ElementType::User)) {
            return self.user_attribute((group, variable), (name.text, mark), &user, of_fill.as_ref());
        }
        let constants = self.input.constants()?;
        self.input.expect(b';', "; after the value")?;
        if of_fill.is_some() {
            return Err(self.input.error(mark, wrong_fill()));
        }
        let nc_type = of.and_then(|of| match of {
            ElementType::Atomic(nc_type) => Some(nc_type),
            ElementType::User(_) => None,
        });
        if !self.attributes.insert((group, variable, name.text.clone())) {
            return Err(self.input.error(mark, CdlErrorKind::Twice { kind: "attribute", name: name.text }));
        }
        let of_writer = OF_WRITERS.into_iter().find(|known| *known == name.text);
        if let (None, Some(known)) = (variable, of_writer) {
            self.of_writers.push(known);
            return Ok(());
        }
        if let Some(variable) = variable.and_then(|variable| self.cdl.variables.get_mut(variable)) {
            let shape = (variable.nc_type(), variable.dimensions.len());
            if self.input.special(&mut variable.special, shape, (&name.text, mark), &constants)? {
                if name.text == "_FillValue" {
                    variable.special.fill_position = variable.attributes.len();
                }
                return Ok(());
            }
        }
        let value = self.input.value(&constants, nc_type)?;
        self.attribute_bytes = self
            .attribute_bytes
            .saturating_add(value.to_native_bytes(0).map_or(value.len(), |bytes| bytes.len()))
            .saturating_add(name.text.len() + 64);
        if self.attribute_bytes > ATTRIBUTE_BYTES {
            let kind = CdlErrorKind::TooMuch { what: "bytes of attributes", most: ATTRIBUTE_BYTES };
            return Err(self.input.error(mark, kind));
        }
        self.add_attribute((group, variable), Attribute::new(name.text, value), mark);
        Ok(())
    }

    /// Reads the values of an attribute of a user-defined type. `of_fill` is the type of the variable, if these are its
    /// fill value.
    fn user_attribute(
        &mut self,
        (group, variable): (usize, Option<usize>),
        (name, mark): (String, Mark),
        user: &Arc<UserType>,
        of_fill: Option<&Arc<UserType>>,
    ) -> Result<(), CdlError> {
        let left = ATTRIBUTE_BYTES.saturating_sub(self.attribute_bytes);
        let row = self.input.user_list(user, Memory::new(left, ATTRIBUTE_BYTES))?;
        self.input.expect(b';', "; after the value")?;
        if !self.attributes.insert((group, variable, name.clone())) {
            return Err(self.input.error(mark, CdlErrorKind::Twice { kind: "attribute", name }));
        }
        if of_fill.is_some_and(|of| of != user || row.len() != 1) {
            return Err(self.input.error(mark, wrong_fill()));
        }
        self.attribute_bytes = self.attribute_bytes.saturating_add(row.memory());
        let value = UserValue { of: Arc::clone(user), row };
        self.add_attribute((group, variable), Attribute::of_user_type(name, value), mark);
        Ok(())
    }

    fn add_attribute(&mut self, (group, variable): (usize, Option<usize>), attribute: Attribute, mark: Mark) {
        let attributes = match variable {
            Some(variable) => self.cdl.variables.get_mut(variable).map(|variable| &mut variable.attributes),
            None => self.cdl.groups.get_mut(group).map(|group| &mut group.attributes),
        };
        if let Some(attributes) = attributes {
            attributes.push((attribute, mark.line()));
        }
    }

    /// Scans `= values ;` of a variable, for the lengths and the position of the values.
    fn data(&mut self, group: usize, path: &Path, mark: Mark) -> Result<(), CdlError> {
        self.input.expect(b'=', "= after the name of the variable")?;
        let number = self.variable(group, path, mark)?;
        let Some(variable) = self.cdl.variables.get_mut(number) else { return Ok(()) };
        if variable.data.is_some() {
            return Err(self
                .input
                .error(mark, CdlErrorKind::Twice { kind: "list of values of", name: path.text() }));
        }
        variable.data = Some(self.input.mark());
        let lengths: Vec<(u64, bool)> = variable
            .dimensions
            .iter()
            .filter_map(|&(group, dimension)| {
                let dimension = self.cdl.groups.get(group)?.dimensions.get(dimension)?;
                // Unlimited lengths are determined by the scan.
                Some((dimension.len, dimension.unlimited))
            })
            .collect();
        let Some(mut extent) = Extent::new(variable.of.clone(), &lengths) else {
            let kind = extent::uncountable(&variable.path);
            return Err(self.input.error(mark, kind));
        };
        self.input.extent(&mut extent)?;
        self.input.expect(b';', ", or ; after a value")?;
        variable.longest = extent.longest;
        for level in extent.levels {
            let dimension = level.unlimited.and_then(|at| variable.dimensions.get(at));
            if let Some(&(group, dimension)) = dimension
                && let Some(group) = self.cdl.groups.get_mut(group)
                && let Some(dimension) = group.dimensions.get_mut(dimension)
            {
                dimension.len = dimension.len.max(level.len);
            }
        }
        Ok(())
    }

    pub(super) fn check_many(
        &mut self,
        number: usize,
        what: &'static str,
        mark: Mark,
    ) -> Result<(), CdlError> {
        if number < limits::CHILDREN {
            return Ok(());
        }
        Err(self.input.error(mark, CdlErrorKind::TooMuch { what, most: limits::CHILDREN }))
    }

    fn finish(mut self) -> Result<Cdl, CdlError> {
        if !self.of_writers.is_empty() {
            self.of_writers.sort_unstable();
            self.of_writers.dedup();
            let names = self.of_writers.join(", ");
            self.cdl.notes.push(format!(
                "{names}: left out, because they describe the program that wrote a file, and this file \
                               is new"
            ));
        }
        Ok(self.cdl)
    }
}

/// The error of a fill value that is not one value of the type of its variable.
fn wrong_fill() -> CdlErrorKind {
    let reason = "must be one value of the type of the variable".to_owned();
    CdlErrorKind::Special { name: "_FillValue".to_owned(), reason }
}

pub(super) fn join_names(names: &[Name]) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
    format!("/{}", names.join("/"))
}

/// The type of a keyword of CDL.
pub(super) fn primitive(word: &str) -> Option<NcType> {
    Some(match word {
        "char" => NcType::Char,
        "byte" => NcType::Byte,
        "ubyte" => NcType::UByte,
        "short" => NcType::Short,
        "ushort" => NcType::UShort,
        "int" | "long" | "integer" => NcType::Int,
        "uint" | "ulong" | "uinteger" => NcType::UInt,
        "int64" | "longlong" => NcType::Int64,
        "uint64" | "ulonglong" => NcType::UInt64,
        "float" | "real" => NcType::Float,
        "double" => NcType::Double,
        "string" => NcType::String,
        _ => return None,
    })
}

impl Cdl {
    /// The reference to a variable's dimension in a dataset.
    pub(super) fn reference(&self, (group, dimension): (usize, usize)) -> Option<DimensionRef> {
        let group = self.groups.get(group)?;
        let name = group.dimensions.get(dimension)?.name.clone();
        Some(DimensionRef { group: group.path.clone(), name })
    }
}
