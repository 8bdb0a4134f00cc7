//! The dataset that a filter queries through libhdf5: a dataset that is being created, as the filters of one chunk see
//! it.

/// A dataset with chunks: the one that `can_apply` and `set_local` get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dataset {
    /// The type of an element in the file.
    pub ty: Type,
    /// Lengths of a chunk; this is also what the dataspace handle describes.
    pub chunk: Vec<u64>,
    /// The fill value, one element of `ty`; `None` if none was set.
    pub fill: Option<Vec<u8>>,
    /// The filters in the order of encoding.
    pub filters: Vec<FilterEntry>,
}

/// A data type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// The class.
    pub class: Class,
    /// Bytes of an element, at least 1.
    pub size: usize,
    /// The byte order.
    pub order: Order,
    /// Whether an integer is signed; unused for other classes.
    pub signed: bool,
    /// Bits that carry the value.
    pub precision: usize,
    /// The first of these bits.
    pub offset: usize,
    /// The type of the parts: of an array or enumeration; otherwise `None`.
    pub base: Option<Box<Type>>,
}

/// The class of a type, with HDF5's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Class {
    /// Integers.
    Integer = 0,
    /// Floating-point numbers.
    Float = 1,
    /// Strings of a fixed length.
    String = 3,
    /// Bit fields.
    Bitfield = 4,
    /// Bytes without meaning.
    Opaque = 5,
    /// Records.
    Compound = 6,
    /// References.
    Reference = 7,
    /// Enumerations; their base is an integer.
    Enum = 8,
    /// Sequences and strings of any length.
    Vlen = 9,
    /// Arrays.
    Array = 10,
    /// Complex numbers (HDF5 2.0).
    Complex = 11,
}

/// The byte order of a type, with HDF5's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Order {
    /// Lowest byte first.
    Little = 0,
    /// Highest byte first.
    Big = 1,
    /// The type has none.
    None = 4,
}

/// A filter of the pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterEntry {
    /// HDF5's id of the filter.
    pub id: u32,
    /// `H5Z_FLAG_*`: 1 is optional.
    pub flags: u32,
    /// The parameters.
    pub values: Vec<u32>,
    /// The name in the class record; may be empty.
    pub name: String,
}

impl Order {
    /// The order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };
}

impl Type {
    /// An integer of `size` bytes.
    pub fn integer(size: usize, order: Order, signed: bool) -> Self {
        Self { signed, ..Self::plain(Class::Integer, size, order) }
    }

    /// An IEEE 754 number of `size` bytes.
    pub fn float(size: usize, order: Order) -> Self {
        Self::plain(Class::Float, size, order)
    }

    /// A string of exactly `size` bytes.
    pub fn string(size: usize) -> Self {
        Self::plain(Class::String, size, Order::None)
    }

    /// `size` bytes of another class without a byte order: opaque, compound, reference ...
    pub fn bytes(class: Class, size: usize) -> Self {
        Self::plain(class, size, Order::None)
    }

    /// An array of `count` elements (all dimensions multiplied) of `base`.
    pub fn array(base: Self, count: usize) -> Self {
        let size = base.size.saturating_mul(count);
        Self {
            class: Class::Array,
            size,
            order: base.order,
            signed: base.signed,
            precision: base.precision,
            offset: base.offset,
            base: Some(Box::new(base)),
        }
    }

    fn plain(class: Class, size: usize, order: Order) -> Self {
        Self { class, size, order, signed: false, precision: size.saturating_mul(8), offset: 0, base: None }
    }
}
