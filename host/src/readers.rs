//! Which programs read a dataset, and why others do not.
//!
//! The facts are one table, of which the tests check each cell against the program itself; GDAL and MATLAB are as their
//! documentation says.

mod nearest;

use std::collections::BTreeMap;
use std::fmt;

use ncz_codec::{CodecInfo, Dialect};
use ncz_model::json::Json;
use ncz_model::{
    ByteOrder, Dtype, FillValue, Format, Hierarchy, Kind, NcType, NetcdfKind, Order, Session, Variable,
};
use ncz_registry::Registry;
use ncz_registry::chain::FilterChain;
use ncz_registry::known::CodecHome;
pub use ncz_registry::known::{Reader, ReaderSetup, ReaderSetupError, Unread, read_by};
use ncz_registry::spec::{ChainSpec, StageSpec};

pub use self::nearest::nearest;

/// The program that most people read datasets of this format with: netcdf-c for NCZarr and netCDF files, zarr-python
/// for Zarr.
///
/// The draft of NCZarr over Zarr version 3 counts as Zarr: no release of netcdf-c reads it.
///
/// ```
/// use ncz::model::Format;
/// use ncz::readers::usual;
///
/// assert_eq!(usual(Format::NCZARR).name(), "netcdf-c");
/// assert_eq!(usual(Format::Zarr3).name(), "zarr-python");
/// ```
#[must_use]
pub fn usual(format: Format) -> Reader {
    match format {
        Format::Nczarr(_) | Format::Netcdf(_) => Reader::NetcdfC,
        _ => Reader::ZarrPython,
    }
}

/// The first codec of a chain that the [usual] reader of a format does not read, and why.
#[must_use]
pub fn unread(chain: &FilterChain, format: Format) -> Option<(&str, Unread)> {
    let setup = ReaderSetup::from(usual(format));
    chain.each_lossy().find_map(|(codec, _)| Some((&*codec.name, setup.unread_codec(codec, home(format))?)))
}

/// Something in a dataset that a reader does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The variables that have it; none if it concerns the whole dataset.
    pub variables: Vec<String>,
    /// What it is.
    pub what: What,
    /// Why the reader does not read it.
    pub why: Unread,
}

/// What readers can lack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The format of the dataset, or how it is stored.
    Format(&'static str),
    /// The type of the elements.
    Type(String),
    /// A codec, by its name; as the metadata have it if the reader reads it by another name.
    Codec(String),
    /// The form of an array, as a noun.
    Form(&'static str),
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(name) | Self::Form(name) => f.write_str(name),
            Self::Type(name) => write!(f, "type {name}"),
            Self::Codec(name) => write!(f, "codec {name}"),
        }
    }
}

/// What a reader makes of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readability {
    /// The reader.
    pub setup: ReaderSetup,
    /// The format of the dataset.
    pub format: Format,
    /// What it does not read; empty: it reads all.
    pub obstacles: Vec<Obstacle>,
}

impl Readability {
    /// Whether it does not open the dataset.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        // One variable that they cannot represent, and these open no dataset.
        let is_closing = |obstacle: &Obstacle| match self.setup.reader() {
            Reader::NetcdfC => matches!(obstacle.what, What::Type(_)),
            Reader::Xarray => !self.format.is_netcdf() && !obstacle.why.is_misread(),
            _ => false,
        };
        self.obstacles.iter().any(|obstacle| obstacle.variables.is_empty() || is_closing(obstacle))
    }
}

/// Why a reader does not open zip files; `None`: it does.
#[must_use]
pub fn unread_zip(setup: &ReaderSetup) -> Option<Unread> {
    setup.unread("zip file")
}

/// Whether a reader opens datasets of a format.
#[must_use]
pub fn opens(setup: &ReaderSetup, format: Format) -> bool {
    setup.unread(format_row(format).0).is_none()
}

/// Says what a reader makes of a dataset with these metadata, also of one that is not written yet.
#[must_use]
pub fn reads(hierarchy: &Hierarchy, registry: &Registry, is_zip: bool, setup: ReaderSetup) -> Readability {
    let format = hierarchy.format;
    let (row, name) = format_row(format);
    let of_dataset = |what, why| Obstacle { variables: Vec::new(), what: What::Format(what), why };
    if let Some(why) = setup.unread(row) {
        return Readability { setup, format, obstacles: vec![of_dataset(name, why)] };
    }
    let mut obstacles = Vec::new();
    if is_zip && let Some(why) = unread_zip(&setup) {
        obstacles.push(of_dataset("a zip file", why));
    }
    let version = version(format);
    if hierarchy.root_array
        && let Some(why) = setup.unread(&format!("{version} root array"))
    {
        obstacles.push(of_dataset("an array at the root", why));
    }
    for variable in hierarchy.variables() {
        for (what, why) in of_variable(hierarchy, variable, registry, &setup) {
            match obstacles.iter_mut().find(|other| other.what == what && other.why == why) {
                Some(other) => other.variables.push(variable.path.clone()),
                None => obstacles.push(Obstacle { variables: vec![variable.path.clone()], what, why }),
            }
        }
    }
    Readability { setup, format, obstacles }
}

/// What a reader does not read of a variable.
fn of_variable(
    hierarchy: &Hierarchy,
    variable: &Variable,
    registry: &Registry,
    setup: &ReaderSetup,
) -> Vec<(What, Unread)> {
    let format = hierarchy.format;
    let version = version(format);
    let mut found = Vec::new();
    if let Some(why) = setup.unread(&format!("{version} type {}", type_row(variable, format))) {
        found.push((What::Type(type_name(&variable.dtype)), why));
    }
    for (form, noun) in forms(hierarchy, variable) {
        if let Some(why) = setup.unread(&format!("{version} {form}")) {
            found.push((What::Form(noun), why));
        }
    }
    let Ok(spec) = variable.chain_spec(format) else { return found };
    found.extend(of_codecs(&spec, registry, format, setup));
    found
}

/// What a reader does not read of a chain.
fn of_codecs<'a>(
    spec: &'a ChainSpec,
    registry: &'a Registry,
    format: Format,
    setup: &'a ReaderSetup,
) -> impl Iterator<Item = (What, Unread)> + 'a {
    spec.stages().iter().filter_map(move |stage| {
        let codec = info(stage, registry, format);
        let (name, why) = match (stage, home(format)) {
            // A codec can have several names, which not every reader knows.
            (StageSpec::Json { dialect, name, .. }, CodecHome::Zarr(of)) if *dialect == of => {
                let why = setup.unread_name(of, name)?;
                // Its common name would be that of a codec which the reader has.
                let is_read = setup.unread_codec(&codec, CodecHome::Zarr(of)).is_none();
                (if is_read { name.clone() } else { codec.name.to_string() }, why)
            }
            (_, home) => (codec.name.to_string(), setup.unread_codec(&codec, home)?),
        };
        Some((What::Codec(name), why))
    })
}

/// The forms of an array that not every reader has: their rows in the table, and as nouns.
fn forms(hierarchy: &Hierarchy, variable: &Variable) -> Vec<(&'static str, &'static str)> {
    let format = hierarchy.format;
    if format.is_netcdf() {
        return Vec::new();
    }
    let dimension = |reference| hierarchy.dimension(reference);
    let has_names =
        variable.dimensions.iter().all(|name| dimension(name).is_none_or(|found| !found.anonymous));
    // Of new variables of version 2; those that were read keep what they have.
    let is_named = match &variable.documents.zattrs {
        Some(zattrs) if !format.is_v3() => {
            zattrs.contains_key("_ARRAY_DIMENSIONS") || variable.shape.is_empty()
        }
        _ => has_names && (format.is_v3() || hierarchy.xarray),
    };
    let is_reordered = variable.order != Order::C && variable.shape.len() > 1;
    let is_text = variable.dtype.kind() == Kind::Bytes && variable.fill.is_some();
    let is_empty = variable.fill.as_ref().is_some_and(FillValue::is_zero);
    let is_plain_text = is_text && !is_empty && format.is_nczarr();
    let is_structure = variable.dtype.kind() == Kind::Other && variable.fill.is_some();
    let is_swapped = variable.dtype.order() == ByteOrder::Big;
    let several = variable.filters.len() > 1;
    let unsized_shuffle = |codec: &Json| {
        codec.get("id").is_some_and(|id| *id == "shuffle")
            && codec.get("elementsize").is_none_or(|size| *size == 0)
    };
    let is_unsized = variable.dtype.size() > 1 && variable.filters.iter().any(unsized_shuffle);
    let is_blosc = variable.filters.iter().any(|codec| codec.get("id").is_some_and(|id| *id == "blosc"));
    let found = match format.is_v3() {
        false => vec![
            (is_reordered, ("order F", "order F")),
            (several, ("several codecs", "several codecs")),
            (is_swapped, ("big-endian", "big-endian numbers")),
            (is_text && !is_plain_text, ("fill of text", "a fill value of text")),
            (is_plain_text, ("fill of text of NCZarr", "a fill value of text")),
            (is_structure, ("fill of structures", "a fill value of structures")),
            (is_unsized, ("shuffle without size", "shuffle without the size of elements")),
            (is_blosc && variable.shape.is_empty(), ("blosc of a scalar", "blosc of a scalar")),
        ],
        true => vec![
            (is_reordered, ("transpose", "another order of elements")),
            (variable.sharding.is_some(), ("shards", "shards")),
            (is_text && !is_empty, ("fill of text", "a fill value of text")),
            (!variable.has_fill_of_xarray(), ("attribute _FillValue", "the attribute _FillValue")),
        ],
    };
    let unnamed = (!is_named, ("unnamed dimensions", "dimensions without names"));
    found.into_iter().chain([unnamed]).filter_map(|(is_it, form)| is_it.then_some(form)).collect()
}

/// The description of a codec, as far as it is known.
fn info(stage: &StageSpec, registry: &Registry, format: Format) -> CodecInfo {
    let resolved = ChainSpec::new(vec![stage.clone()]).resolve(registry).ok();
    if let Some(stage) = resolved.and_then(|stages| stages.into_iter().next()) {
        return CodecInfo::clone(&stage.info);
    }
    let named = |name: &String| {
        let own = || std::iter::once(name.clone()).collect();
        let mut info = CodecInfo { name: name.clone().into(), ..CodecInfo::new("", "") };
        match format.dialect() {
            Dialect::Numcodecs => info.numcodecs = own(),
            Dialect::ZarrV3 => info.zarr_v3 = own(),
        }
        info
    };
    match stage {
        StageSpec::Json { name, .. } | StageSpec::Named { name, .. } => named(name),
        StageSpec::Filter { id, .. } => {
            CodecInfo { filter_id: Some(*id), ..named(&format!("HDF5 filter {id}")) }
        }
    }
}

fn home(format: Format) -> CodecHome {
    match format {
        Format::Netcdf(_) => CodecHome::Hdf5,
        other => CodecHome::Zarr(other.dialect()),
    }
}

/// The first word of the rows of the table that are about variables in this format.
fn version(format: Format) -> &'static str {
    match format {
        Format::Netcdf(_) => "file",
        other if other.is_v3() => "v3",
        _ => "v2",
    }
}

/// The row of a format in the table, and its name.
fn format_row(format: Format) -> (&'static str, &'static str) {
    match format {
        Format::Zarr2 => ("format zarr2", "Zarr version 2"),
        Format::Nczarr(_) => ("format nczarr", "NCZarr"),
        Format::Zarr3 => ("format zarr3", "Zarr version 3"),
        Format::Nczarr3 => ("format nczarr3", "the draft of NCZarr for Zarr version 3"),
        Format::Netcdf(NetcdfKind::Netcdf4) => ("format netcdf4", "netCDF-4"),
        Format::Netcdf(NetcdfKind::Netcdf4Classic) => ("format netcdf4-classic", "netCDF-4"),
        Format::Netcdf(NetcdfKind::Classic) => ("format classic", "classic netCDF"),
        Format::Netcdf(NetcdfKind::Offset64) => ("format 64bit-offset", "classic netCDF"),
        Format::Netcdf(NetcdfKind::Cdf5) => ("format cdf5", "classic netCDF"),
    }
}

/// The word for the type of a variable in the rows of the table.
fn type_row(variable: &Variable, format: Format) -> &'static str {
    let dtype = &variable.dtype;
    match (dtype.kind(), dtype.size()) {
        _ if variable.is_structured() => "other",
        (Kind::Int | Kind::UInt, _) | (Kind::Float, 4 | 8) => "number",
        (Kind::Bool, _) => "bool",
        (Kind::Float, 2) => "float16",
        (Kind::Complex, 8 | 16) => "complex",
        (Kind::DateTime, _) => "datetime64",
        (Kind::TimeDelta, _) => "timedelta64",
        (Kind::Unicode, _) => "unicode",
        (Kind::Bytes, _) if variable.nc_type == Some(NcType::Char) => {
            let has_order = matches!(format, Format::Nczarr(_)) && dtype.text().starts_with('>');
            if has_order { "char of NCZarr" } else { "char" }
        }
        (Kind::Bytes, _) => "bytes",
        (Kind::VlenText, _) => "string",
        (Kind::VlenBytes, _) => "variable_length_bytes",
        _ => "other",
    }
}

/// The name that numpy and Zarr version 3 give to a type: `float16`, `datetime64[ns]`; others as version 2 writes them.
#[must_use]
pub fn type_name(dtype: &Dtype) -> String {
    let bits = dtype.size() * 8;
    let unit = dtype.text().split_once('[').map_or(String::new(), |(_, unit)| format!("[{unit}"));
    match dtype.kind() {
        Kind::Bool => "bool".to_owned(),
        Kind::Int => format!("int{bits}"),
        Kind::UInt => format!("uint{bits}"),
        Kind::Float => format!("float{bits}"),
        Kind::Complex => format!("complex{bits}"),
        Kind::DateTime => format!("datetime64{unit}"),
        Kind::TimeDelta => format!("timedelta64{unit}"),
        Kind::VlenText => "string".to_owned(),
        Kind::VlenBytes => "variable_length_bytes".to_owned(),
        _ => dtype.text().to_owned(),
    }
}

/// What readers that were asked for do not read of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it is, and whose reader.
    pub obstacle: Obstacle,
    /// Codecs that all of these readers read, as text for an option, and the variables that they suit.
    pub instead: BTreeMap<String, Vec<String>>,
}

/// Checks that these readers read a dataset with these metadata, which is not in a zip file; returns what they do not
/// read.
#[must_use]
pub fn refusals(hierarchy: &Hierarchy, session: &Session, setups: &[ReaderSetup]) -> Vec<Refusal> {
    let found =
        setups.iter().flat_map(|setup| reads(hierarchy, &session.registry, false, setup.clone()).obstacles);
    let refusal = |obstacle: Obstacle| {
        let mut instead: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let is_of_codecs = matches!(obstacle.what, What::Codec(_) | What::Form("several codecs"));
        for path in obstacle.variables.iter().filter(|_| is_of_codecs) {
            let variable = hierarchy.variable(path).ok();
            let chain = variable.and_then(|variable| nearest(session, variable, hierarchy.format, setups));
            if let Some(chain) = chain {
                instead.entry(chain).or_default().push(path.clone());
            }
        }
        Refusal { obstacle, instead }
    };
    found.map(refusal).collect()
}
