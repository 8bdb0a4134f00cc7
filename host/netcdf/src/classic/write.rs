//! The header of a classic file that is written, and where its elements go.

use ncz_model::{
    Attribute, ByteOrder, FillText, FillValue, Hierarchy, NcType, NetcdfKind, Order, ScalarForm, Storage,
    Value, Variable,
};
use std::collections::HashSet;

use super::cursor::Name;
use super::error::ClassicWriteError;
use super::header::{self, ATTRIBUTES, DIMENSIONS, Dimension, Entry, Header, VARIABLES};
use super::layout::{self, Layout, TooLong};
use crate::mapping::names;

/// The longest dimension of CDF-1 and CDF-2.
const LONGEST: u64 = i32::MAX as u64;

/// The largest position of CDF-1.
const LAST_BEGIN: u64 = i32::MAX as u64;

/// The size of a variable, or of one record of it, from which on CDF-1 and CDF-2 allow it only at the end of the file.
const LARGE: u64 = u32::MAX as u64 - 3;

/// A file whose header is settled.
#[derive(Debug)]
pub(crate) struct NewClassic {
    /// The bytes of the header.
    pub(crate) header: Vec<u8>,
    /// The positions of the elements, in the order of the variables.
    pub(crate) layouts: Vec<Layout>,
    /// The length of the file.
    pub(crate) len: u64,
}

/// Settles the header of a new file, and gives its variables the form that they have in the file: big-endian, in the
/// chunks of [`layout`], without filters.
///
/// # Errors
/// A classic file of this kind cannot hold the dataset.
pub(crate) fn plan(hierarchy: &mut Hierarchy) -> Result<NewClassic, ClassicWriteError> {
    let kind = hierarchy.format.kind();
    let mut header = header(hierarchy, kind)?;
    let wide = kind == NetcdfKind::Cdf5;
    let start = encode(&header, wide).len() as u64;
    let too_long = |TooLong { variable }: TooLong| {
        let path = hierarchy.root.variables.get(variable).map(|variable| variable.path.clone());
        let reason = "its elements do not fit a file of 2^63 bytes".to_owned();
        ClassicWriteError::Variable { path: path.unwrap_or_default(), kind, reason }
    };
    layout::set_begins(&mut header, start).map_err(too_long)?;
    let (_, layouts) = layout::layouts(&header, 0).map_err(too_long)?;
    check_positions(&header, hierarchy, kind)?;
    let end = layouts.iter().map(|layout| layout.end).max().unwrap_or(0).max(start);
    for (variable, layout) in hierarchy.root.variables.iter_mut().zip(&layouts) {
        settle(variable, layout, kind)?;
    }
    let len = end.checked_next_multiple_of(4).unwrap_or(end);
    Ok(NewClassic { header: encode(&header, wide), layouts, len })
}

/// Checks that a dataset has the classic data model, which is all that "netCDF-4 classic model" files have.
///
/// # Errors
/// As for [`plan`], but for lengths.
pub(crate) fn check_model(hierarchy: &Hierarchy) -> Result<(), ClassicWriteError> {
    header(hierarchy, hierarchy.format.kind()).map(drop)
}

/// Gives a variable the form that it has in the file.
fn settle(variable: &mut Variable, layout: &Layout, kind: NetcdfKind) -> Result<(), ClassicWriteError> {
    let Some(nc_type) = variable.nc_type else { return Ok(()) };
    let dtype = nc_type.dtype(ByteOrder::Big, 0);
    if variable.dtype != dtype {
        let error =
            |reason: String| ClassicWriteError::Variable { path: variable.path.clone(), kind, reason };
        let fill = variable.fill.as_ref().map(|fill| {
            let value = fill.value(nc_type, &variable.dtype);
            let value = value.ok_or_else(|| error("its fill value is not of its type".to_owned()))?;
            FillValue::from_value(&value, &dtype, FillText::Plain).map_err(|source| error(source.to_string()))
        });
        variable.fill = fill.transpose()?;
        variable.dtype = dtype;
    }
    variable.shape.clone_from(&layout.shape);
    variable.chunk_shape.clone_from(&layout.chunk_shape);
    variable.sharding = None;
    variable.order = Order::C;
    variable.scalar = layout.shape.is_empty().then_some(ScalarForm::Rank0);
    variable.filters.clear();
    let one = layout.shape.iter().zip(&layout.chunk_shape).all(|(len, chunk)| len <= chunk);
    variable.storage = match (layout.shape.is_empty(), one) {
        (true, _) => Storage::Scalar,
        (false, true) => Storage::Contiguous,
        (false, false) => Storage::Chunked,
    };
    Ok(())
}

fn header(hierarchy: &Hierarchy, kind: NetcdfKind) -> Result<Header, ClassicWriteError> {
    let root = &hierarchy.root;
    if let Some(group) = root.groups.first() {
        return Err(ClassicWriteError::Group { path: group.path.clone(), kind });
    }
    if let Some(unreadable) = root.unreadable.first() {
        let reason = format!("it cannot be read: {}", unreadable.reason);
        return Err(ClassicWriteError::Variable { path: unreadable.path.clone(), kind, reason });
    }
    let mut dimensions = Vec::new();
    let mut names = HashSet::new();
    let mut record: Option<&str> = None;
    for dimension in &root.dimensions {
        if dimension.unlimited
            && let Some(first) = record.replace(&dimension.name)
        {
            return Err(ClassicWriteError::Unlimited {
                first: first.to_owned(),
                second: dimension.name.clone(),
                kind,
            });
        }
        if dimension.len == 0 && !dimension.unlimited && !kind.is_hdf5() {
            let reason = "its length is 0, which only the unlimited dimension can have".to_owned();
            return Err(ClassicWriteError::Dimension { name: dimension.name.clone(), kind, reason });
        }
        let is_short = matches!(kind, NetcdfKind::Classic | NetcdfKind::Offset64);
        let most = if is_short { LONGEST } else { i64::MAX as u64 };
        if dimension.len > most {
            let reason = format!("its length {} is more than {most}", dimension.len);
            return Err(ClassicWriteError::Dimension { name: dimension.name.clone(), kind, reason });
        }
        let len = if dimension.unlimited { 0 } else { dimension.len };
        dimensions.push(Dimension { name: name("dimension", "/", &dimension.name, &mut names)?, len });
    }
    let records = root.dimensions.iter().find(|dimension| dimension.unlimited);
    let mut names = HashSet::new();
    let variables = root.variables.iter().map(|variable| entry(hierarchy, variable, kind, &mut names));
    Ok(Header {
        kind,
        records: Some(records.map_or(0, |dimension| dimension.len)),
        dimensions,
        attributes: attributes("/", &root.attributes, kind)?,
        variables: variables.collect::<Result<_, _>>()?,
    })
}

fn entry<'a>(
    hierarchy: &Hierarchy,
    variable: &'a Variable,
    kind: NetcdfKind,
    names: &mut HashSet<&'a str>,
) -> Result<Entry, ClassicWriteError> {
    let error = |reason: String| ClassicWriteError::Variable { path: variable.path.clone(), kind, reason };
    let nc_type = variable.nc_type.filter(|nc_type| has_type(kind, *nc_type)).ok_or_else(|| {
        let name =
            variable.nc_type.map_or_else(|| variable.dtype.text().to_owned(), |nc_type| nc_type.to_string());
        error(format!("its type is {name}"))
    })?;
    let mut dimensions = Vec::new();
    for (axis, reference) in variable.dimensions.iter().enumerate() {
        let position =
            hierarchy.root.dimensions.iter().position(|dimension| dimension.name == reference.name);
        let position = position.ok_or_else(|| error(format!("its dimension {reference} is not defined")))?;
        let unlimited = hierarchy.root.dimensions.get(position).is_some_and(|dimension| dimension.unlimited);
        if axis > 0 && unlimited {
            return Err(error(format!(
                "its dimension {:?} is unlimited, but only the first dimension of a variable can be; make it fixed",
                reference.name
            )));
        }
        dimensions.push(position);
    }
    let attributes = attributes(&variable.path, &variable.attributes, kind)?;
    let name = name("variable", "/", &variable.name, names)?;
    Ok(Entry { name, dimensions, attributes, nc_type, begin: 0 })
}

fn attributes(
    path: &str,
    of: &[Attribute],
    kind: NetcdfKind,
) -> Result<Vec<header::Attribute>, ClassicWriteError> {
    let mut names = HashSet::new();
    let all = of.iter().map(|attribute| {
        if !has_type(kind, attribute.value.nc_type()) {
            return Err(ClassicWriteError::Attribute {
                path: path.to_owned(),
                name: attribute.name.clone(),
                nc_type: attribute.value.nc_type(),
                kind,
            });
        }
        let name = name("attribute", path, &attribute.name, &mut names)?;
        Ok(header::Attribute { name, value: attribute.value.clone() })
    });
    all.collect()
}

fn has_type(kind: NetcdfKind, nc_type: NcType) -> bool {
    /// The codes of double and of uint64.
    const LAST: (u8, u8) = (6, 11);
    nc_type.code() <= if kind == NetcdfKind::Cdf5 { LAST.1 } else { LAST.0 }
}

/// A name that no object of its kind has yet.
fn name<'a>(
    object: &'static str,
    path: &str,
    text: &'a str,
    used: &mut HashSet<&'a str>,
) -> Result<Name, ClassicWriteError> {
    let reason = names::unusable(text)
        .or_else(|| text.contains('/').then_some("it contains a slash"))
        .or_else(|| (!used.insert(text)).then_some("it is in use"));
    match reason {
        Some(reason) => {
            Err(ClassicWriteError::Name { object, path: path.to_owned(), name: text.to_owned(), reason })
        }
        None => Ok(Name { text: text.to_owned(), is_latin1: false }),
    }
}

/// Checks the positions and sizes that CDF-1 and CDF-2 limit ("The NetCDF Classic Format Specification", "Note on
/// vsize").
fn check_positions(
    header: &Header,
    hierarchy: &Hierarchy,
    kind: NetcdfKind,
) -> Result<(), ClassicWriteError> {
    if kind == NetcdfKind::Cdf5 {
        return Ok(());
    }
    let sizes = layout::sizes(header).unwrap_or_default();
    let has_records = sizes.iter().any(|size| size.has_records);
    for (number, (entry, size)) in header.variables.iter().zip(&sizes).enumerate() {
        let error = |reason: String| {
            let path = hierarchy.root.variables.get(number).map(|variable| variable.path.clone());
            Err(ClassicWriteError::Variable { path: path.unwrap_or_default(), kind, reason })
        };
        if kind == NetcdfKind::Classic && entry.begin > LAST_BEGIN {
            return error(format!("it begins at byte {}, beyond 2 GiB", entry.begin));
        }
        let after = sizes.iter().skip(number + 1);
        let is_last = match size.has_records {
            true => !after.into_iter().any(|size| size.has_records),
            false => !has_records && after.into_iter().next().is_none(),
        };
        if size.padded > LARGE && !is_last {
            return error(format!(
                "it has {} bytes, and only the last one can have 4 GiB or more",
                size.bytes
            ));
        }
    }
    Ok(())
}

/// Encodes a header.
fn encode(header: &Header, wide: bool) -> Vec<u8> {
    let mut out = Encoder { bytes: Vec::new(), wide };
    out.bytes.extend_from_slice(match header.kind {
        NetcdfKind::Offset64 => b"CDF\x02",
        NetcdfKind::Cdf5 => b"CDF\x05",
        _ => b"CDF\x01",
    });
    out.count(header.records.unwrap_or(0));
    out.list(DIMENSIONS, header.dimensions.len());
    for dimension in &header.dimensions {
        out.name(&dimension.name);
        out.count(dimension.len);
    }
    out.attributes(&header.attributes);
    out.list(VARIABLES, header.variables.len());
    let sizes = layout::sizes(header).unwrap_or_default();
    for (entry, size) in header.variables.iter().zip(&sizes) {
        out.name(&entry.name);
        out.count(entry.dimensions.len() as u64);
        entry.dimensions.iter().for_each(|number| out.count(*number as u64));
        out.attributes(&entry.attributes);
        out.number(u32::from(entry.nc_type.code()));
        out.count(if wide { size.padded } else { size.padded.min(u64::from(u32::MAX)) });
        match header.kind {
            // Checked to be below 2 GiB.
            NetcdfKind::Classic => out.number(u32::try_from(entry.begin).unwrap_or(u32::MAX)),
            _ => out.bytes.extend_from_slice(&entry.begin.to_be_bytes()),
        }
    }
    out.bytes
}

struct Encoder {
    bytes: Vec<u8>,
    /// Whether counts have 8 bytes, as in CDF-5.
    wide: bool,
}

impl Encoder {
    fn number(&mut self, number: u32) {
        self.bytes.extend_from_slice(&number.to_be_bytes());
    }

    fn count(&mut self, count: u64) {
        match self.wide {
            true => self.bytes.extend_from_slice(&count.to_be_bytes()),
            // Lengths are checked; the lists of a hierarchy are shorter than 2^32.
            false => self.number(u32::try_from(count).unwrap_or(u32::MAX)),
        }
    }

    fn list(&mut self, tag: u32, count: usize) {
        self.number(if count == 0 { 0 } else { tag });
        self.count(count as u64);
    }

    fn name(&mut self, name: &Name) {
        self.count(name.text.len() as u64);
        self.padded(name.text.as_bytes());
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn attributes(&mut self, attributes: &[header::Attribute]) {
        self.list(ATTRIBUTES, attributes.len());
        for header::Attribute { name, value } in attributes {
            self.name(name);
            self.number(u32::from(value.nc_type().code()));
            self.count(value.len() as u64);
            self.padded(&stored(value));
        }
    }
}

fn stored(value: &Value) -> Vec<u8> {
    value.to_stored_bytes(&value.nc_type().dtype(ByteOrder::Big, 0)).unwrap_or_default()
}
