//! User-defined types of netCDF-4: enumerations, opaque bytes, compounds and variable-length rows
//! (<https://docs.unidata.ucar.edu/netcdf-c/current/group__user__types.html>).

use std::sync::Arc;

use crate::dtype::NcType;
use crate::names::join_path;

/// A type that a group defines. Types are equal if they have the same name, group and values, however these are stored.
#[derive(Clone, Debug)]
pub struct UserType {
    /// The name within its group.
    pub name: String,
    /// The path of its group.
    pub group: String,
    /// What its values are.
    pub class: TypeClass,
    /// How an element is stored: the datatype message of HDF5, for addresses of 8 bytes. `None` for a new type, whose
    /// writer chooses.
    pub stored: Option<Arc<[u8]>>,
}

impl PartialEq for UserType {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.group, &self.class) == (&other.name, &other.group, &other.class)
    }
}

/// What the values of a user-defined type are.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeClass {
    /// Integers with names.
    Enum {
        /// The type of the integers.
        base: NcType,
        /// The names in their order.
        members: Vec<EnumMember>,
    },
    /// Bytes without a meaning.
    Opaque {
        /// The number of bytes.
        size: usize,
    },
    /// Several fields.
    Compound {
        /// The fields in their order.
        fields: Vec<Field>,
    },
    /// Rows of any length.
    Vlen {
        /// The type of an element of a row.
        base: ElementType,
    },
}

/// A name of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumMember {
    /// The name.
    pub name: String,
    /// The integer.
    pub value: i128,
}

/// A field of a compound.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The type of its elements.
    pub element: ElementType,
    /// Its lengths; empty for one element.
    pub shape: Vec<u64>,
}

/// A type of netCDF: atomic or user-defined.
#[derive(Clone, Debug, PartialEq)]
pub enum ElementType {
    /// An atomic type.
    Atomic(NcType),
    /// A user-defined type.
    User(Arc<UserType>),
}

impl UserType {
    /// The path of the type, such as `/g/name`.
    #[must_use]
    pub fn path(&self) -> String {
        join_path(&self.group, &self.name)
    }

    /// Whether the values are integers with names.
    #[must_use]
    pub fn is_enum(&self) -> bool {
        matches!(self.class, TypeClass::Enum { .. })
    }

    /// Whether a value has strings or rows of any length, which HDF5 files have in heaps.
    #[must_use]
    pub fn has_references(&self) -> bool {
        let refers = |element: &ElementType| match element {
            ElementType::Atomic(nc_type) => *nc_type == NcType::String,
            ElementType::User(user) => user.has_references(),
        };
        match &self.class {
            TypeClass::Vlen { .. } => true,
            TypeClass::Compound { fields } => fields.iter().any(|field| refers(&field.element)),
            TypeClass::Enum { .. } | TypeClass::Opaque { .. } => false,
        }
    }

    /// The name of an integer of an enumeration.
    #[must_use]
    pub fn member(&self, value: i128) -> Option<&str> {
        match &self.class {
            TypeClass::Enum { members, .. } => {
                members.iter().find(|member| member.value == value).map(|member| member.name.as_str())
            }
            _ => None,
        }
    }

    /// The kind of the type as a word of CDL: `enum`, `opaque`, `compound` or `vlen`.
    #[must_use]
    pub fn class_name(&self) -> &'static str {
        match self.class {
            TypeClass::Enum { .. } => "enum",
            TypeClass::Opaque { .. } => "opaque",
            TypeClass::Compound { .. } => "compound",
            TypeClass::Vlen { .. } => "vlen",
        }
    }
}
