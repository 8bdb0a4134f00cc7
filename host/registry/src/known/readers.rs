//! Common programs for reading datasets, and what they read.

mod table;

use std::fmt;
use std::str::FromStr;

use ncz_codec::{CodecInfo, Dialect};

use self::table::{COLUMNS, TABLE, TESTED};
use super::closest;
use crate::spec::{NUMCODECS_PREFIX, generic};

/// A program that reads datasets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reader {
    /// netcdf-c, as in ncdump, netCDF4-python and other programs that are based on it.
    NetcdfC,
    /// HDF5, as in h5dump and h5py.
    Hdf5,
    /// zarr-python, with numcodecs.
    ZarrPython,
    /// xarray, which reads Zarr with zarr-python and netCDF files with netCDF4.
    Xarray,
    /// zarrs: its Python package, which is a pipeline for zarr-python.
    Zarrs,
    /// tensorstore.
    Tensorstore,
    /// GDAL. As documented, not tested.
    Gdal,
    /// MATLAB. As documented, not tested.
    Matlab,
}

/// A container for codecs, in which each has its own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodecHome {
    /// HDF5 files.
    Hdf5,
    /// Zarr: metadata in this dialect.
    Zarr(Dialect),
}

/// Why a reader does not read something. As text it is a clause: `zarr-python does not read it`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unread {
    reader: Reader,
    why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// Metadata name it by its filter number.
    ByNumber,
    /// It comes with a package that is not installed with the program.
    Package(&'static str),
    /// The program opens it, if it is installed with this package, and gives other values.
    Misread(Option<&'static str>),
    /// Earlier versions lack it.
    Since(&'static str),
    /// The program has no such thing.
    Absent,
}

/// A reader as it is installed: `zarr-python`, `zarr-python+imagecodecs`, `zarr-python=3.4`.
///
/// ```
/// use ncz_registry::known::{Reader, ReaderSetup};
///
/// let setup: ReaderSetup = "zarr-python+imagecodecs=3.4".parse()?;
/// assert_eq!(setup.reader(), Reader::ZarrPython);
/// assert!("zarr-pyton".parse::<ReaderSetup>().is_err());
/// # Ok::<(), ncz_registry::known::ReaderSetupError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderSetup {
    reader: Reader,
    /// Packages that are installed, and `plugins`.
    packages: Vec<String>,
    version: Option<Vec<u64>>,
}

/// Why a text does not name a reader.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReaderSetupError {
    /// There is no such reader.
    #[error("{name:?} is not a known reader{}; known are {}", hint(name), names().join(", "))]
    Name {
        /// The name.
        name: String,
    },
    /// The reader has no such package.
    #[error("{package:?} is not a package that makes a difference to {reader}; these are: {}", known.join(", "))]
    Package {
        /// The package.
        package: String,
        /// The reader.
        reader: &'static str,
        /// The packages.
        known: Vec<&'static str>,
    },
    /// The version is not one.
    #[error("expected a version such as 3.1, got {version:?}")]
    Version {
        /// The version.
        version: String,
    },
}

/// A reading of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    reads: bool,
    misreads: bool,
    since: Option<&'static str>,
    package: Option<&'static str>,
}

impl Cell {
    /// Reads the word of a cell.
    fn of(word: &'static str) -> Self {
        let none = Self { reads: false, misreads: false, since: None, package: None };
        let (since, package) = match word.split_once('+') {
            Some((since, package)) => (since, Some(package)),
            None => (word, None),
        };
        let (misreads, since) = (since == "w", since.strip_prefix('>'));
        match word {
            "y" => Self { reads: true, ..none },
            _ if misreads => Self { misreads, package, ..none },
            _ if since.is_some() || package.is_some() => Self { reads: true, since, package, ..none },
            _ => none,
        }
    }
}

impl Reader {
    /// All readers.
    pub const ALL: [Self; 8] = COLUMNS;

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NetcdfC => "netcdf-c",
            Self::Hdf5 => "HDF5",
            Self::ZarrPython => "zarr-python",
            Self::Xarray => "xarray",
            Self::Zarrs => "zarrs",
            Self::Tensorstore => "tensorstore",
            Self::Gdal => "GDAL",
            Self::Matlab => "MATLAB",
        }
    }

    /// The version that is tested; `None`: what it reads is as its documentation says.
    #[must_use]
    pub fn tested(self) -> Option<&'static str> {
        TESTED[self.column()]
    }

    fn column(self) -> usize {
        self as usize
    }

    /// The packages that make a difference to it.
    fn packages(self) -> Vec<&'static str> {
        let cells = TABLE.iter().map(|(_, cells)| Cell::of(cells[self.column()]));
        let mut packages: Vec<&str> = cells.filter_map(|cell| cell.package).collect();
        packages.sort_unstable();
        packages.dedup();
        packages
    }
}

impl From<Reader> for ReaderSetup {
    /// The reader without further packages, in the version that is tested.
    fn from(reader: Reader) -> Self {
        Self { reader, packages: Vec::new(), version: None }
    }
}

impl ReaderSetup {
    /// The program.
    #[must_use]
    pub fn reader(&self) -> Reader {
        self.reader
    }

    /// Why it does not read what this row of the table is about, such as `format zarr3`; `None`: it does.
    #[must_use]
    pub fn unread(&self, row: &str) -> Option<Unread> {
        let cells = TABLE.iter().find(|(key, _)| *key == row).map(|(_, cells)| cells);
        let cell = cells.map(|cells| Cell::of(cells[self.reader.column()]));
        self.why(cell).map(|why| Unread { reader: self.reader, why })
    }

    /// Why it does not read a codec that the metadata of Zarr call `name`; `None`: it does.
    #[must_use]
    pub fn unread_name(&self, dialect: Dialect, name: &str) -> Option<Unread> {
        if name == generic::NAME {
            return Some(Unread { reader: self.reader, why: Why::ByNumber });
        }
        self.unread(&match dialect {
            Dialect::Numcodecs => format!("v2 {name}"),
            Dialect::ZarrV3 => format!("v3 {name}"),
        })
    }

    /// Why it does not read a codec by the name that is written; `None`: it does.
    #[must_use]
    pub fn unread_codec(&self, codec: &CodecInfo, home: CodecHome) -> Option<Unread> {
        if let CodecHome::Zarr(dialect) = home {
            let written = codec.names(dialect).first().map(str::to_owned);
            // As written in metadata: numcodecs.zlib.
            let lent = || format!("{NUMCODECS_PREFIX}{}", codec.numcodecs.first().unwrap_or_default());
            return self.unread_name(dialect, &written.unwrap_or_else(lent));
        }
        let row = format!("filter {}", codec.filter_id.unwrap_or_default());
        // With a library for it, these read every filter that has a number.
        let by_plugin = [Reader::NetcdfC, Reader::Hdf5, Reader::Gdal, Reader::Matlab, Reader::Xarray];
        if by_plugin.contains(&self.reader)
            && codec.filter_id.is_some()
            && !TABLE.iter().any(|(key, _)| *key == row)
        {
            let plugins = Cell { reads: true, misreads: false, since: None, package: Some("plugins") };
            return self.why(Some(plugins)).map(|why| Unread { reader: self.reader, why });
        }
        self.unread(&row)
    }

    fn why(&self, cell: Option<Cell>) -> Option<Why> {
        let Some(cell) = cell else { return Some(Why::Absent) };
        let has = |package: &str| self.packages.iter().any(|have| have == package);
        if cell.misreads {
            return Some(match cell.package.is_none_or(has) {
                true => Why::Misread(cell.package),
                false => Why::Absent,
            });
        }
        if !cell.reads {
            return Some(Why::Absent);
        }
        if let Some(since) = cell.since
            && self.version().is_some_and(|version| is_before(&version, since))
        {
            return Some(Why::Since(since));
        }
        cell.package.filter(|package| !has(package)).map(Why::Package)
    }

    /// The numbers of its version; `None`: any.
    fn version(&self) -> Option<Vec<u64>> {
        self.version.clone().or_else(|| numbers(self.reader.tested()?))
    }
}

impl FromStr for ReaderSetup {
    type Err = ReaderSetupError;

    fn from_str(text: &str) -> Result<Self, ReaderSetupError> {
        let (program, version) = match text.split_once('=') {
            Some((program, version)) => (program, Some(version.trim_start_matches('='))),
            None => (text, None),
        };
        let mut parts = program.split('+').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let mut packages: Vec<String> = parts.map(str::to_owned).collect();
        let lower = name.to_ascii_lowercase();
        let reader = match lower.as_str() {
            "h5py" => {
                packages.push("h5py".to_owned());
                Some(Reader::Hdf5)
            }
            "netcdf" | "netcdf4" | "netcdf4-python" => Some(Reader::NetcdfC),
            "zarr" => Some(Reader::ZarrPython),
            _ => Reader::ALL.into_iter().find(|reader| reader.name().to_ascii_lowercase() == lower),
        };
        let reader = reader.ok_or_else(|| ReaderSetupError::Name { name: name.to_owned() })?;
        let known = reader.packages();
        if let Some(package) = packages.iter().find(|package| !known.contains(&package.as_str())) {
            return Err(ReaderSetupError::Package { package: package.clone(), reader: reader.name(), known });
        }
        let wrong = |version: &str| ReaderSetupError::Version { version: version.to_owned() };
        let version = version.map(|version| numbers(version).ok_or_else(|| wrong(version))).transpose()?;
        Ok(Self { reader, packages, version })
    }
}

impl fmt::Display for ReaderSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reader.name())?;
        self.packages.iter().try_for_each(|package| write!(f, "+{package}"))?;
        match &self.version {
            Some(version) => {
                let numbers: Vec<String> = version.iter().map(u64::to_string).collect();
                write!(f, "={}", numbers.join("."))
            }
            None => Ok(()),
        }
    }
}

impl Unread {
    /// The reader.
    #[must_use]
    pub fn reader(self) -> Reader {
        self.reader
    }

    /// The package with which the reader reads it, if there is one: that of Python, or `plugins`.
    #[must_use]
    pub fn package(self) -> Option<&'static str> {
        match self.why {
            Why::Package(package) => Some(package),
            _ => None,
        }
    }

    /// Whether only ncz reads it, because metadata name the codec by its filter number.
    #[must_use]
    pub fn is_by_number(self) -> bool {
        self.why == Why::ByNumber
    }

    /// Whether the reader gives other values instead of an error.
    #[must_use]
    pub fn is_misread(self) -> bool {
        matches!(self.why, Why::Misread(_))
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reader = self.reader.name();
        match self.why {
            Why::ByNumber => f.write_str("only ncz reads it"),
            Why::Package("plugins") => write!(f, "{reader} reads it only with a plugin"),
            Why::Package(package) => write!(f, "{reader} reads it only with the package {package}"),
            Why::Misread(None) => write!(f, "{reader} misreads it"),
            Why::Misread(Some(package)) => write!(f, "{reader} with the package {package} misreads it"),
            Why::Since(version) => write!(f, "{reader} before {version} does not read it"),
            Why::Absent => write!(f, "{reader} does not read it"),
        }
    }
}

/// Who reads a codec, in words: `netcdf-c; zarr-python v2 and v3; tensorstore v2`. Readers that are not tested are left
/// out.
#[must_use]
pub fn read_by(codec: &CodecInfo) -> String {
    const HOMES: [(CodecHome, &str); 3] = [
        (CodecHome::Hdf5, "HDF5 files"),
        (CodecHome::Zarr(Dialect::Numcodecs), "Zarr v2"),
        (CodecHome::Zarr(Dialect::ZarrV3), "Zarr v3"),
    ];
    let mut texts = Vec::new();
    for reader in
        Reader::ALL.into_iter().filter(|reader| reader.tested().is_some() && *reader != Reader::Xarray)
    {
        let setup = ReaderSetup::from(reader);
        let mut homes: Vec<(String, Vec<&str>)> = Vec::new();
        for (home, name) in HOMES {
            let with = match setup.unread_codec(codec, home) {
                None => String::new(),
                Some(Unread { why: Why::Package("plugins"), .. }) => " with a plugin".to_owned(),
                Some(Unread { why: Why::Package(package), .. }) => format!(" with {package}"),
                Some(Unread { why: Why::Since(version), .. }) => format!(" from {version} on"),
                Some(_) => continue,
            };
            match homes.iter_mut().find(|(other, _)| *other == with) {
                Some((_, names)) => names.push(name),
                None => homes.push((with, vec![name])),
            }
        }
        for (with, names) in homes {
            // HDF5 has one format.
            let what =
                if reader == Reader::Hdf5 { String::new() } else { format!(" ({})", names.join(", ")) };
            texts.push(format!("{}{with}{what}", reader.name()));
        }
    }
    if texts.is_empty() { "none of the tested programs".to_owned() } else { texts.join("; ") }
}

/// The numbers of a version.
fn numbers(version: &str) -> Option<Vec<u64>> {
    version.split('.').map(|number| number.parse().ok()).collect()
}

/// Whether a version is older than another one; 3 is as old as 3.0.
fn is_before(version: &[u64], since: &str) -> bool {
    let since = numbers(since).unwrap_or_default();
    let both = version.len().max(since.len());
    let padded =
        |numbers: &[u64]| -> Vec<u64> { (0..both).map(|at| numbers.get(at).copied().unwrap_or(0)).collect() };
    padded(version) < padded(&since)
}

fn names() -> Vec<&'static str> {
    Reader::ALL.into_iter().map(Reader::name).collect()
}

fn hint(name: &str) -> String {
    closest(name, names()).map_or_else(String::new, |close| format!(", did you mean {close}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: CodecHome = CodecHome::Zarr(Dialect::Numcodecs);
    const V3: CodecHome = CodecHome::Zarr(Dialect::ZarrV3);

    fn said(
        setup: &str,
        home: CodecHome,
        id: Option<u32>,
        numcodecs: &'static str,
        v3: &'static str,
    ) -> String {
        let names = |name: &'static str| Some(name).filter(|name| !name.is_empty()).into_iter().collect();
        let info = CodecInfo {
            filter_id: id,
            numcodecs: names(numcodecs),
            zarr_v3: names(v3),
            ..CodecInfo::new("x", "")
        };
        let setup: ReaderSetup = setup.parse().unwrap();
        setup.unread_codec(&info, home).map_or_else(|| "read".to_owned(), |unread| unread.to_string())
    }

    #[test]
    fn each_reader_has_its_own_codecs() {
        for (setup, home, id, numcodecs, name, wanted) in [
            ("zarr-python", V2, Some(1), "zlib", "numcodecs.zlib", "read"),
            ("zarr-python", V3, Some(1), "zlib", "numcodecs.zlib", "read"),
            ("netcdf-c", V2, Some(1), "zlib", "", "read"),
            ("zarr-python", V2, Some(4), "szip", "", "zarr-python does not read it"),
            ("zarr-python", V3, Some(4), "szip", "", "zarr-python does not read it"),
            ("netcdf-c", V2, Some(4), "szip", "", "read"),
            ("zarr-python", V2, None, "lz4", "numcodecs.lz4", "read"),
            ("netcdf-c", V2, None, "lz4", "numcodecs.lz4", "netcdf-c does not read it"),
            (
                "xarray",
                V2,
                Some(32_000),
                "imagecodecs_lzf",
                "",
                "xarray reads it only with the package imagecodecs",
            ),
            ("zarr-python+imagecodecs", V2, Some(32_000), "imagecodecs_lzf", "", "read"),
            ("zarr-python", V3, Some(32_000), "imagecodecs_lzf", "", "zarr-python does not read it"),
            ("netcdf-c", V2, Some(32_000), "imagecodecs_lzf", "", "netcdf-c reads it only with a plugin"),
            ("netcdf-c+plugins", V2, Some(32_000), "imagecodecs_lzf", "", "read"),
            (
                "hdf5",
                CodecHome::Hdf5,
                Some(32_000),
                "imagecodecs_lzf",
                "",
                "HDF5 reads it only with the package h5py",
            ),
            ("h5py", CodecHome::Hdf5, Some(32_000), "imagecodecs_lzf", "", "read"),
            ("hdf5+hdf5plugin", CodecHome::Hdf5, Some(32_008), "", "", "read"),
            ("netcdf-c", CodecHome::Hdf5, Some(40_000), "", "", "netcdf-c reads it only with a plugin"),
            ("zarr-python", V2, None, "bitround", "bitround", "read"),
            ("zarr-python", V3, None, "bitround", "numcodecs.bitround", "read"),
            ("zarr-python", V3, None, "bitround", "bitround", "zarr-python does not read it"),
            ("tensorstore", V3, None, "zstd", "numcodecs.zstd", "tensorstore does not read it"),
            (
                "zarr-python",
                V3,
                None,
                "pcodec",
                "numcodecs.pcodec",
                "zarr-python reads it only with the package pcodec",
            ),
            ("zarr-python", V3, None, "", "scale_offset", "zarr-python before 3.4 does not read it"),
            ("zarr-python=3.4.1", V3, None, "", "scale_offset", "read"),
            ("zarr-python", V2, Some(32_008), generic::NAME, generic::NAME, "only ncz reads it"),
            ("netcdf-c", V3, Some(32_008), generic::NAME, generic::NAME, "only ncz reads it"),
        ] {
            assert_eq!(said(setup, home, id, numcodecs, name), wanted, "{setup} {home:?} {numcodecs} {name}");
        }
    }

    #[test]
    fn every_cell_is_a_known_word_and_no_row_is_there_twice() {
        for (row, cells) in TABLE {
            assert_eq!(TABLE.iter().filter(|(other, _)| other == row).count(), 1, "{row}");
            for word in cells {
                let cell = Cell::of(word);
                let version = cell.since.is_none_or(|since| numbers(since).is_some());
                assert!(cell.reads || cell.misreads || ["n", "-"].contains(word), "{row}: {word:?}");
                assert!(version && cell.package != Some(""), "{row}: {word:?}");
            }
        }
        for (column, reader) in COLUMNS.into_iter().enumerate() {
            assert_eq!(reader.column(), column, "{reader:?}");
        }
    }

    #[test]
    fn a_reader_is_named_with_packages_and_a_version() {
        let setup: ReaderSetup = "Zarr-Python+imagecodecs=3.4".parse().unwrap();
        assert_eq!(setup.to_string(), "zarr-python+imagecodecs=3.4");
        let old: ReaderSetup = "zarr-python==2.18.1".parse().unwrap();
        assert_eq!(
            old.unread("format zarr3").unwrap().to_string(),
            "zarr-python before 3.0 does not read it"
        );
        assert_eq!(old.unread("format zarr2"), None);
        for (text, wanted) in [
            ("zarr-pyton", "did you mean zarr-python?"),
            ("zarr-python+hdf5plugin", "imagecodecs, pcodec, zfpy"),
            ("xarray=new", "expected a version"),
            ("", "known are netcdf-c"),
        ] {
            let error = text.parse::<ReaderSetup>().unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
