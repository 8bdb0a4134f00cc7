//! The user-defined types of a file: committed datatypes, and those that only variables and attributes have
//! (`read_type` and `get_type_info2` in libhdf5/hdf5open.c of netcdf-c).

use std::collections::HashMap;
use std::sync::Arc;

use ncz_model::{ElementType, EnumMember, Field, NcType, TypeClass, UserType, Value, integer_at, limits};

use super::types;
use super::walk::Identity;
use crate::hdf5::{DatatypeMessage, File};
use crate::user_layout;

/// The user-defined types that were met.
#[derive(Debug, Default)]
pub(super) struct UserTypes {
    by_identity: HashMap<Identity, Arc<UserType>>,
    all: Vec<Arc<UserType>>,
    of_groups: HashMap<String, Vec<Arc<UserType>>>,
    anonymous: usize,
}

impl UserTypes {
    /// Adds the committed datatype `name` of a group. The error says why netCDF has no such type.
    pub(super) fn commit(
        &mut self,
        (file, group): (&File, &str),
        name: &str,
        identity: Identity,
        datatype: &DatatypeMessage,
    ) -> Result<(), String> {
        if let Some(class) = self.class((file, group), datatype)? {
            let user = self.add((file, group), name.to_owned(), class, datatype);
            self.by_identity.insert(identity, user);
        }
        Ok(())
    }

    /// The user-defined type of a variable or an attribute in a group; `None` for an atomic type.
    ///
    /// A datatype that is not committed is the first type with the same structure, else a new type without a name of its
    /// own, which gets one as in netcdf-c. Its elements can be stored otherwise than those of the first type. The error
    /// says why netCDF has no such type.
    pub(super) fn of(
        &mut self,
        (file, group): (&File, &str),
        datatype: &DatatypeMessage,
        committed: Option<Identity>,
    ) -> Result<Option<Arc<UserType>>, String> {
        if let Some(user) = committed.and_then(|identity| self.by_identity.get(&identity)) {
            return Ok(Some(Arc::clone(user)));
        }
        let Some(class) = self.class((file, group), datatype)? else { return Ok(None) };
        if let Some(user) = self.all.iter().find(|user| user.class == class) {
            let stored = user_layout::stored(file, datatype);
            return Ok(Some(match stored == user.stored {
                true => Arc::clone(user),
                false => Arc::new(UserType { stored, ..(**user).clone() }),
            }));
        }
        self.anonymous += 1;
        let kind = match class {
            TypeClass::Enum { .. } => "Enum",
            TypeClass::Opaque { .. } => "Opaque",
            TypeClass::Compound { .. } => "Compound",
            TypeClass::Vlen { .. } => "Vlen",
        };
        let name = format!("_Anonymous{kind}{}", self.anonymous);
        Ok(Some(self.add((file, group), name, class, datatype)))
    }

    /// Removes and returns the types of a group.
    pub(super) fn take(&mut self, group: &str) -> Vec<Arc<UserType>> {
        self.of_groups.remove(group).unwrap_or_default()
    }

    fn add(
        &mut self,
        (file, group): (&File, &str),
        name: String,
        class: TypeClass,
        datatype: &DatatypeMessage,
    ) -> Arc<UserType> {
        let stored = user_layout::stored(file, datatype);
        let user = Arc::new(UserType { name, group: group.to_owned(), class, stored });
        self.all.push(Arc::clone(&user));
        self.of_groups.entry(group.to_owned()).or_default().push(Arc::clone(&user));
        user
    }

    /// What the values of a datatype are; `None` for an atomic type.
    fn class(&mut self, at: (&File, &str), datatype: &DatatypeMessage) -> Result<Option<TypeClass>, String> {
        Ok(Some(match datatype {
            DatatypeMessage::Enum { base, members } => {
                let base = types::element(base)?;
                let Some(nc_type) = base.nc_type else {
                    return Err("an enumeration that is not of integers".to_owned());
                };
                let members = members.iter().map(|member| {
                    let value = Value::from_stored_bytes(nc_type, &base.dtype, &member.value);
                    let value = value.and_then(|value| integer_at(&value, 0));
                    let value = value.ok_or_else(|| "an enumeration that is not of integers".to_owned())?;
                    Ok(EnumMember { name: member.name.clone(), value })
                });
                TypeClass::Enum { base: nc_type, members: members.collect::<Result<_, String>>()? }
            }
            DatatypeMessage::Opaque { size, .. } => match usize::try_from(*size) {
                Ok(len) if len > 0 && u64::from(*size) <= limits::ELEMENT_BYTES => {
                    TypeClass::Opaque { size: len }
                }
                _ => return Err(format!("opaque, of {size} bytes")),
            },
            DatatypeMessage::Compound { members, .. } => {
                let fields = members.iter().map(|member| {
                    let mut shape = Vec::new();
                    let mut inner = &member.datatype;
                    while let DatatypeMessage::Array { dims, base } = inner {
                        shape.extend(dims.iter().map(|len| u64::from(*len)));
                        inner = base;
                    }
                    // A text of a fixed length is a row of char.
                    if let DatatypeMessage::FixedString { size: size @ 2.., .. } = inner {
                        shape.push(u64::from(*size));
                    }
                    let in_field = |reason| format!("a compound whose field {:?} is {reason}", member.name);
                    let element = self.element(at, inner).map_err(in_field)?;
                    Ok(Field { name: member.name.clone(), element, shape })
                });
                TypeClass::Compound { fields: fields.collect::<Result<_, String>>()? }
            }
            DatatypeMessage::VarLenSequence { base } => TypeClass::Vlen { base: self.element(at, base)? },
            _ => return Ok(None),
        }))
    }

    fn element(&mut self, at: (&File, &str), datatype: &DatatypeMessage) -> Result<ElementType, String> {
        if let Some(user) = self.of(at, datatype, None)? {
            return Ok(ElementType::User(user));
        }
        Ok(ElementType::Atomic(match datatype {
            DatatypeMessage::FixedString { .. } => NcType::Char,
            DatatypeMessage::VarLenString { .. } => NcType::String,
            // Numbers of two bytes.
            _ => types::element(datatype)?.nc_type.unwrap_or(NcType::Float),
        }))
    }
}
