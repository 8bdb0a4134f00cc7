//! The definitions of user-defined types.

use ncz_model::{ElementType, EnumMember, Field, NcType, TypeClass, UserType, integer_at, limits};
use std::collections::HashSet;
use std::io::{Read, Seek};
use std::sync::Arc;

use super::error::{CdlError, CdlErrorKind};
use super::input::Mark;
use super::lexer::Path;
use super::parser::{Parser, join_names, primitive};

/// The most fields and names of a type, with those of the types inside it.
const PARTS: usize = 1 << 16;

/// The most bytes of one value, without those of rows of any length (1 MiB).
const BYTES: usize = 1 << 20;

/// The most lengths of a field, as in HDF5.
const LENGTHS: usize = 32;

/// The deepest nesting of types.
const DEPTH: usize = 32;

impl<R: Read + Seek> Parser<'_, R> {
    /// Reads an entry of the types section: a type, or an attribute.
    pub(super) fn type_or_attribute(
        &mut self,
        group: usize,
        path: &Path,
        mark: Mark,
        has_colon: bool,
    ) -> Result<(), CdlError> {
        let word = path.word().unwrap_or_default();
        let next = self.input.skip_blanks()?;
        match (word, next) {
            (_, Some(b':')) => self.declaration(group, path, mark, has_colon),
            ("compound" | "struct" | "structure", _) => self.compound(group),
            ("opaque", Some(b'(')) => {
                self.input.take(1);
                let size = self.length()?;
                self.input.expect(b')', ") after the size")?;
                let (name, mark) = self.input.name("the name of a type")?;
                let size = usize::try_from(size).unwrap_or(usize::MAX);
                self.add_type(group, name.text, mark, TypeClass::Opaque { size })
            }
            (_, Some(b'(')) => {
                let base = self.element_type(group, path, mark)?;
                self.input.take(1);
                self.input.expect(b'*', "* for a type of any length")?;
                self.input.expect(b')', ") after *")?;
                let (name, mark) = self.input.name("the name of a type")?;
                self.add_type(group, name.text, mark, TypeClass::Vlen { base })
            }
            _ => {
                let of = self.element_type(group, path, mark)?;
                let (second, at) = self.input.path("enum or the name of a variable")?;
                match of {
                    ElementType::Atomic(base) if second.word() == Some("enum") => {
                        self.enumeration(group, base, mark)
                    }
                    of => {
                        let variable = self.variable(group, &second, at)?;
                        self.attribute(group, Some(variable), Some(of))
                    }
                }
            }
        }
    }

    /// The type with a name, in this group or its enclosing groups, or by its path.
    pub(super) fn element_type(
        &mut self,
        group: usize,
        path: &Path,
        mark: Mark,
    ) -> Result<ElementType, CdlError> {
        self.find_type(group, path).ok_or_else(|| {
            let hint = "; define it under types: of the group or of an enclosing one, before it is used";
            self.input.error(mark, CdlErrorKind::Unknown { kind: "type", name: path.text(), hint })
        })
    }

    pub(super) fn find_type(&self, group: usize, path: &Path) -> Option<ElementType> {
        if let Some(nc_type) = path.word().and_then(primitive) {
            return Some(ElementType::Atomic(nc_type));
        }
        let (name, groups) = path.names.split_last()?;
        let mut around = if path.absolute { join_names(groups) } else { self.group_path(group) };
        loop {
            let place = self.groups.get(&around);
            let found = place.and_then(|place| self.types.get(&(*place, name.text.clone())));
            if found.is_some() || path.absolute || around == "/" {
                return found.map(|user| ElementType::User(Arc::clone(user)));
            }
            around = match around.rsplit_once('/') {
                Some(("", _)) | None => "/".to_owned(),
                Some((outer, _)) => outer.to_owned(),
            };
        }
    }

    fn enumeration(&mut self, group: usize, base: NcType, at: Mark) -> Result<(), CdlError> {
        if matches!(base, NcType::Char | NcType::Float | NcType::Double | NcType::String) {
            let found = base.name().to_owned();
            let expected = "a type of integers before enum";
            return Err(self.input.error(at, CdlErrorKind::Expected { expected, found }));
        }
        let (type_name, type_mark) = self.input.name("the name of an enumeration")?;
        self.input.expect(b'{', "{ before the names of an enumeration")?;
        let (mut members, mut names, mut integers) = (Vec::new(), HashSet::new(), HashSet::new());
        loop {
            let (name, mark) = self.input.name("a name of an enumeration")?;
            self.input.expect(b'=', "= before the integer")?;
            let constant = self.input.constant()?;
            let value = self.input.value(&vec![constant], Some(base))?;
            if !names.insert(name.text.clone()) {
                let kind = CdlErrorKind::Twice { kind: "name", name: name.text };
                return Err(self.input.error(mark, kind));
            }
            let value = integer_at(&value, 0).unwrap_or_default();
            if !integers.insert(value) {
                let kind = CdlErrorKind::Twice { kind: "integer", name: value.to_string() };
                return Err(self.input.error(mark, kind));
            }
            members.push(EnumMember { name: name.text, value });
            if !self.input.accept(b',')? {
                break;
            }
        }
        self.input.expect(b'}', ", or } after an integer of an enumeration")?;
        self.add_type(group, type_name.text, type_mark, TypeClass::Enum { base, members })
    }

    /// Reads `name { type field(lengths), field ; ... }`.
    fn compound(&mut self, group: usize) -> Result<(), CdlError> {
        let (type_name, type_mark) = self.input.name("the name of a type")?;
        self.input.expect(b'{', "{ before the fields of a compound")?;
        let (mut fields, mut names) = (Vec::new(), HashSet::new());
        while !self.input.accept(b'}')? {
            let (path, mark) = self.input.path("the type of a field or }")?;
            let element = self.element_type(group, &path, mark)?;
            loop {
                let (name, mark) = self.input.name("the name of a field")?;
                let mut shape = Vec::new();
                if self.input.accept(b'(')? {
                    loop {
                        shape.push(self.length()?);
                        if shape.len() > LENGTHS {
                            let kind = CdlErrorKind::TooMuch { what: "lengths of a field", most: LENGTHS };
                            return Err(self.input.error(mark, kind));
                        }
                        if !self.input.accept(b',')? {
                            break;
                        }
                    }
                    self.input.expect(b')', ", or ) after a length")?;
                }
                if !names.insert(name.text.clone()) {
                    return Err(self
                        .input
                        .error(mark, CdlErrorKind::Twice { kind: "field", name: name.text }));
                }
                fields.push(Field { name: name.text, element: element.clone(), shape });
                if !self.input.accept(b',')? {
                    break;
                }
            }
            self.input.expect(b';', "( for lengths, or , or ; after a field")?;
        }
        if fields.is_empty() {
            return Err(self.input.expected("a compound with fields"));
        }
        self.add_type(group, type_name.text, type_mark, TypeClass::Compound { fields })
    }

    /// Reads a length of at least 1.
    fn length(&mut self) -> Result<u64, CdlError> {
        let (constant, mark) = self.input.constant()?;
        let len: i64 = self.input.number(&constant, mark)?;
        u64::try_from(len).ok().filter(|len| *len > 0).ok_or_else(|| {
            let (expected, found) = ("a length of at least 1", len.to_string());
            self.input.error(mark, CdlErrorKind::Expected { expected, found })
        })
    }

    fn add_type(&mut self, group: usize, name: String, mark: Mark, class: TypeClass) -> Result<(), CdlError> {
        // The semicolon after a type is of no use.
        self.input.accept(b';')?;
        let user = UserType { name: name.clone(), group: self.group_path(group), class, stored: None };
        let user = Arc::new(user);
        let (bytes, parts, depth) = extent(&ElementType::User(Arc::clone(&user)), 0);
        let too_much = [
            (bytes > BYTES, "bytes in a value of a type", BYTES),
            (parts > PARTS, "fields and names in a type", PARTS),
            (depth > DEPTH, "types inside one another", DEPTH),
        ];
        if let Some((_, what, most)) = too_much.into_iter().find(|(is_too_much, ..)| *is_too_much) {
            return Err(self.input.error(mark, CdlErrorKind::TooMuch { what, most }));
        }
        let Some(owner) = self.cdl.groups.get_mut(group) else { return Ok(()) };
        let number = owner.types.len();
        owner.types.push((Arc::clone(&user), mark.line()));
        self.check_many(number, "types in a group", mark)?;
        match self.types.insert((group, name.clone()), user) {
            Some(_) => Err(self.input.error(mark, CdlErrorKind::Twice { kind: "type", name })),
            None => Ok(()),
        }
    }
}

/// The bytes of a value of a type, its fields and names, and how deep the types inside it are nested. What is beyond the
/// limits is not counted to its end.
fn extent(of: &ElementType, depth: usize) -> (usize, usize, usize) {
    /// What is stored of a string or a row of any length itself.
    const REFERENCE: usize = 16;
    let user = match of {
        ElementType::Atomic(nc_type) => return (nc_type.size().unwrap_or(REFERENCE), 1, depth),
        ElementType::User(user) => user,
    };
    if depth > DEPTH {
        return (0, 1, depth);
    }
    match &user.class {
        TypeClass::Enum { base, members } => (base.size().unwrap_or(REFERENCE), members.len(), depth),
        TypeClass::Opaque { size } => (*size, 1, depth),
        TypeClass::Vlen { base } => {
            let (_, parts, depth) = extent(base, depth + 1);
            (REFERENCE, parts.saturating_add(1), depth)
        }
        TypeClass::Compound { fields } => {
            let (mut bytes, mut parts, mut deepest) = (0usize, 0usize, depth);
            for field in fields {
                let (own, inside, below) = extent(&field.element, depth + 1);
                let lengths =
                    field.shape.iter().fold(own as u64, |product, len| product.saturating_mul(*len));
                bytes = bytes.saturating_add(usize::try_from(lengths).unwrap_or(usize::MAX));
                parts = parts.saturating_add(inside).saturating_add(1);
                deepest = deepest.max(below);
                if parts > PARTS {
                    break;
                }
            }
            (bytes, parts, deepest)
        }
    }
}

const _: () = assert!(BYTES as u64 <= limits::ELEMENT_BYTES);
