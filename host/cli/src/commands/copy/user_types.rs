//! Notes about user-defined types of netCDF-4, which Zarr does not have.

use ncz::model::{Attribute, Hierarchy};

/// Returns what a copy does not keep of the types of enumerations and attributes.
pub(super) fn notes(selected: &Hierarchy) -> Vec<String> {
    let mut notes = Vec::new();
    for group in selected.groups() {
        of_attributes(&group.path, &group.attributes, &mut notes);
        for variable in &group.variables {
            of_attributes(&variable.path, &variable.attributes, &mut notes);
            let is_taken =
                variable.attribute("flag_values").is_some() || variable.attribute("flag_meanings").is_some();
            if variable.user_type.as_ref().is_some_and(|user| user.is_enum()) && is_taken {
                notes.push(format!(
                    "{}: the names of its enumeration are left out: it has flag_values or flag_meanings already",
                    variable.path
                ));
            }
        }
    }
    notes
}

fn of_attributes(path: &str, attributes: &[Attribute], notes: &mut Vec<String>) {
    for attribute in attributes {
        let Some(user) = &attribute.user else { continue };
        let form = if user.of.is_enum() { "integers" } else { "JSON" };
        notes.push(format!(
            "{path}: its attribute {:?} of the user-defined type {} becomes {form}",
            attribute.name,
            user.of.path()
        ));
    }
}
