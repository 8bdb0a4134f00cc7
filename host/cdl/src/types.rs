//! Types that CDL must define before variables use them, and remarks on Zarr's types.

use ncz_model::{Dtype, Hierarchy, Kind, NcType, NetcdfView, Variable};
use std::io::{self, Write};

/// The names of the types that a dataset needs beyond netCDF's own.
pub(super) struct Types(Vec<(NetcdfView, String)>);

impl Types {
    /// Makes names for the types of all variables. No name is in use in the root group, where the types are defined.
    pub(super) fn of(hierarchy: &Hierarchy) -> Self {
        let usual = [
            (NetcdfView::Complex(NcType::Float), "complex64"),
            (NetcdfView::Complex(NcType::Double), "complex128"),
            (NetcdfView::Bytes, "bytes"),
        ];
        let root = &hierarchy.root;
        let is_taken = |name: &str| {
            root.variables.iter().any(|variable| variable.name == name)
                || root.groups.iter().any(|group| group.name == name)
                || root.dimension(name).is_some()
        };
        let needed = usual.into_iter().filter(|(shown, _)| {
            hierarchy.variables().any(|of| of.user_type.is_none() && of.shown() == Some(*shown))
        });
        let named = needed.map(|(shown, name)| {
            let mut name = name.to_owned();
            while is_taken(&name) {
                name.push('_');
            }
            (shown, name)
        });
        Self(named.collect())
    }

    /// The type name in the declaration of a variable.
    pub(super) fn name(&self, shown: NetcdfView) -> &str {
        match self.0.iter().find(|(defined, _)| *defined == shown) {
            Some((_, name)) => name,
            None => shown.nc_type().name(),
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Prints the definitions.
    pub(super) fn write(&self, out: &mut dyn Write) -> Result<(), io::Error> {
        for (shown, name) in &self.0 {
            match shown {
                NetcdfView::Bytes => writeln!(out, "  ubyte(*) {name} ;")?,
                // netCDF's programs recognize complex numbers by these names of the parts.
                _ => {
                    let part = shown.nc_type();
                    writeln!(out, "  compound {name} {{\n    {part} r ;\n    {part} i ;\n  }}; // {name}")?;
                }
            }
        }
        Ok(())
    }
}

/// The remark for a variable whose type differs from netCDF's.
pub(super) fn remark(variable: &Variable) -> Option<String> {
    let dtype = &variable.dtype;
    let meaning = match dtype.kind() {
        Kind::Bool => ", 0 is false, 1 is true",
        Kind::DateTime => ", counted from 1970, NaT is -9223372036854775808",
        Kind::TimeDelta => ", NaT is -9223372036854775808",
        Kind::Complex | Kind::Unicode | Kind::VlenText | Kind::VlenBytes => "",
        Kind::Float if dtype.size() == 2 => "",
        _ => return None,
    };
    Some(format!("Zarr type {}{meaning}", zarr_name(dtype)))
}

/// The dtype on one line.
pub(super) fn zarr_name(dtype: &Dtype) -> String {
    match dtype.vlen_codec() {
        Some(codec) => codec.to_owned(),
        None => dtype.text().replace(char::is_control, " "),
    }
}
