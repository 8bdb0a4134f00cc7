//! The netCDF variable that an NCZarr codec queries through libnetcdf.

/// A variable of a netCDF file in the making: the one that `NCZ_modify_parameters` gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The name of the variable; at most 256 bytes of it are returned.
    pub name: String,
    /// netCDF's number of the type: `NC_BYTE` is 1, `NC_STRING` 12.
    pub nc_type: i32,
    /// Bytes of an element.
    pub type_size: usize,
    /// The byte order that was requested.
    pub endian: Endian,
    /// Lengths of the dimensions.
    pub dims: Vec<u64>,
    /// Lengths of a chunk, as many as there are dimensions; empty for a variable without chunks.
    pub chunk: Vec<u64>,
}

/// The byte order of a variable, with netCDF's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Endian {
    /// That of the machine.
    Native = 0,
    /// Lowest byte first.
    Little = 1,
    /// Highest byte first.
    Big = 2,
}
