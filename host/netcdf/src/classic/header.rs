//! The header of a classic file ("The NetCDF Classic Format Specification", and CDF-5 of PnetCDF).

use ncz_model::{ByteOrder, NcType, NetcdfKind, Value, limits};

use super::cursor::{Cursor, Name, Stop};

pub(super) const DIMENSIONS: u32 = 10;
pub(super) const VARIABLES: u32 = 11;
pub(super) const ATTRIBUTES: u32 = 12;

/// The most members of one list.
const MOST: u64 = limits::CHILDREN as u64;

/// What a header says.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) kind: NetcdfKind,
    /// The number of records; `None` if it follows from the length of the file.
    pub(super) records: Option<u64>,
    pub(super) dimensions: Vec<Dimension>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) variables: Vec<Entry>,
}

#[derive(Debug)]
pub(super) struct Dimension {
    pub(super) name: Name,
    /// 0 for the record dimension.
    pub(super) len: u64,
}

#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) name: Name,
    pub(super) value: Value,
}

/// What the header says about a variable.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Name,
    /// By number.
    pub(super) dimensions: Vec<usize>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) nc_type: NcType,
    /// The position of its first element in the file.
    pub(super) begin: u64,
}

impl Header {
    /// Parses the header at the start of `bytes`; `None` if they do not begin as a classic file does.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Self>, Stop> {
        let mut cursor = Cursor::new(bytes);
        let kind = match cursor.take(4)? {
            b"CDF\x01" => NetcdfKind::Classic,
            b"CDF\x02" => NetcdfKind::Offset64,
            b"CDF\x05" => NetcdfKind::Cdf5,
            _ => return Ok(None),
        };
        cursor.wide = kind == NetcdfKind::Cdf5;
        let records = cursor.count()?;
        let streaming = if cursor.wide { u64::MAX } else { u64::from(u32::MAX) };
        let dimensions = dimensions(&mut cursor)?;
        let attributes = attributes(&mut cursor)?;
        let variables = variables(&mut cursor, kind, &dimensions)?;
        let records = (records != streaming).then_some(records);
        Ok(Some(Self { kind, records, dimensions, attributes, variables }))
    }
}

fn dimensions(cursor: &mut Cursor<'_>) -> Result<Vec<Dimension>, Stop> {
    let mut dimensions = Vec::<Dimension>::new();
    let mut has_records = false;
    for _ in 0..cursor.list(DIMENSIONS, "dimensions", MOST)? {
        let name = cursor.name("a dimension")?;
        let len = cursor.count()?;
        if len == 0 && std::mem::replace(&mut has_records, true) {
            return cursor.damaged(format!("a second record dimension {:?}", name.text));
        }
        dimensions.push(Dimension { name, len });
    }
    Ok(dimensions)
}

fn attributes(cursor: &mut Cursor<'_>) -> Result<Vec<Attribute>, Stop> {
    let mut attributes = Vec::new();
    for _ in 0..cursor.list(ATTRIBUTES, "attributes", MOST)? {
        let name = cursor.name("an attribute")?;
        let (nc_type, size) = element_type(cursor, &name.text)?;
        let count = cursor.count()?;
        let Some(len) = count.checked_mul(size as u64) else {
            return cursor.damaged(format!("{count} values in the attribute {:?}", name.text));
        };
        let bytes = cursor.padded(len)?;
        let value = Value::from_stored_bytes(nc_type, &nc_type.dtype(ByteOrder::Big, 0), bytes);
        let Some(value) = value else {
            return cursor.damaged(format!("the attribute {:?} has no values of {nc_type}", name.text));
        };
        attributes.push(Attribute { name, value });
    }
    Ok(attributes)
}

fn variables(
    cursor: &mut Cursor<'_>,
    kind: NetcdfKind,
    dimensions: &[Dimension],
) -> Result<Vec<Entry>, Stop> {
    let mut variables = Vec::new();
    for _ in 0..cursor.list(VARIABLES, "variables", MOST)? {
        let name = cursor.name("a variable")?;
        let rank = cursor.count()?;
        let mut of = Vec::new();
        for axis in 0..rank {
            let number = cursor.count()?;
            let number = usize::try_from(number).ok().filter(|number| *number < dimensions.len());
            let Some(number) = number else {
                return cursor
                    .damaged(format!("variable {:?} has a dimension that does not exist", name.text));
            };
            if axis > 0 && dimensions.get(number).is_some_and(|dimension| dimension.len == 0) {
                return cursor
                    .damaged(format!("the record dimension is not the first of variable {:?}", name.text));
            }
            of.push(number);
        }
        let attributes = attributes(cursor)?;
        let (nc_type, _) = element_type(cursor, &name.text)?;
        // The size in bytes is redundant, and wrong for variables that are too long for it.
        cursor.count()?;
        let begin = match kind {
            NetcdfKind::Classic => cursor.u32().map(u64::from)?,
            _ => cursor.u64()?,
        };
        variables.push(Entry { name, dimensions: of, attributes, nc_type, begin });
    }
    Ok(variables)
}

/// A type, and the bytes of an element.
fn element_type(cursor: &mut Cursor<'_>, name: &str) -> Result<(NcType, usize), Stop> {
    let code = cursor.u32()?;
    let last = if cursor.wide { 11 } else { 6 };
    let found = u8::try_from(code).ok().filter(|code| *code <= last).and_then(NcType::from_code);
    match found.and_then(|nc_type| Some((nc_type, nc_type.size()?))) {
        Some(found) => Ok(found),
        None => cursor
            .damaged(format!("{name:?} has the type {code}; a file of this kind has the types 1 to {last}")),
    }
}
