//! Every type with every codec, exchanged with every peer in both directions, as directory and as zip file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncz::codec::Dialect;
use ncz::copy::{CopyOptions, copy};
use ncz::location::DatasetUrl;
use ncz::model::{
    DataError, Dtype, Elements, Format, Hierarchy, NcType, Order, Pool, Session, Sharding, Slab,
    VariableBuilder,
};
use ncz::registry::spec::ChainSpec;
use ncz::store::{Access, Store};
use ncz::zarr::Dataset;
use ncz_test_support::{Python, build_plugins, python};
use serde_json::Value as Json;

use crate::harness::{builtins, explained, run_json, run_script};

const SCRIPT: &str = "matrix/exchange.py";

/// All cells, and the values of each type.
struct Cells {
    shape: Vec<u64>,
    chunk: Vec<u64>,
    shard: Vec<u64>,
    values: Json,
    v2: Vec<Cell>,
    v3: Vec<Cell>,
}

/// One array: a type and a chain.
struct Cell {
    name: String,
    dtype: String,
    codec: String,
    codecs: Vec<Json>,
    numpy: String,
}

impl Cells {
    fn new(described: &Json) -> Self {
        let lengths = |key: &str| list(&described[key]).iter().map(|len| len.as_u64().unwrap()).collect();
        let text = |value: &Json| value.as_str().unwrap().to_owned();
        let cell = |cell: &Json| Cell {
            name: text(&cell["name"]),
            dtype: text(&cell["dtype"]),
            codec: text(&cell["codec"]),
            codecs: list(&cell["codecs"]).to_vec(),
            numpy: text(&cell["numpy"]),
        };
        let cells = |version: &str| list(&described[version]).iter().map(cell).collect();
        Self {
            shape: lengths("shape"),
            chunk: lengths("chunk"),
            shard: lengths("shard"),
            values: described["values"].clone(),
            v2: cells("v2"),
            v3: cells("v3"),
        }
    }
}

fn list(value: &Json) -> &[Json] {
    value.as_array().unwrap()
}

/// The failure of each cell of a row, in the words of the program that refused; empty if none.
type Row = BTreeMap<String, String>;

/// The rows by their names.
type Table = BTreeMap<String, Row>;

#[test]
fn every_type_with_every_codec_is_exchanged_with_every_peer() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("theirs")).unwrap();
    std::fs::create_dir(folder.path().join("ours")).unwrap();
    let cells = Cells::new(&run_json(&python, SCRIPT, &["describe"], None));
    let session = Session::new(Arc::new(builtins()), Pool::serial());
    let ours = write(&cells, &session, folder.path());
    let exchange = |peer: &str| -> Table {
        let theirs = script(&python, "write", peer, folder.path());
        let mut table = read(&cells, &session, folder.path(), peer, &theirs);
        for (kind, row) in rows(&script(&python, "read", peer, folder.path())) {
            let row = row.into_iter().map(|(cell, text)| {
                let refused = ours.get(&wrote(peer, &kind)).and_then(|row| row.get(&cell));
                (cell, refused.cloned().unwrap_or(text))
            });
            table.insert(format!("{peer} {kind} reads"), row.collect());
        }
        table
    };
    let mut table = Table::new();
    std::thread::scope(|scope| {
        let halves = [&["zarr-python", "tensorstore"][..], &["netCDF4", "xarray"]]
            .map(|peers| scope.spawn(|| peers.iter().flat_map(|peer| exchange(peer)).collect::<Table>()));
        for half in halves {
            table.extend(half.join().unwrap());
        }
    });
    print(&cells, &table);
    let faults = faults(&table);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_xarray_keeps_by_conventions_is_kept_by_copies_of_every_form() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let act = |action: &str| {
        let args = [action, folder.path().to_str().unwrap()];
        let output = run_script(&python, "matrix/conventions.py", &args, None);
        output.success("conventions.py").unwrap_or_else(|error| panic!("{error}")).stdout_text()
    };
    let forms = act("make");
    assert_eq!(forms.lines().count(), 8);
    for form in forms.lines() {
        let (version, rest) = form.split_once('-').unwrap();
        let (consolidated, ending) = rest.split_once('.').unwrap();
        let other = |one: &str, this: &'static str, that: &'static str| if one == this { that } else { this };
        // As it is, in the other storage, in the other version.
        for (version, ending) in
            [(version, ending), (version, other(ending, "zarr", "zip")), (other(version, "v2", "v3"), ending)]
        {
            let copy_path = folder.path().join(format!("copy-{version}-{consolidated}-{form}.{ending}"));
            let options = CopyOptions {
                format: Some(if version == "v2" { Format::Zarr2 } else { Format::Zarr3 }),
                verify: true,
                consolidated: consolidated == "one",
                ..CopyOptions::default()
            };
            let session = Session::new(Arc::new(builtins()), Pool::serial());
            let source = DatasetUrl::parse(folder.path().join(form).to_str().unwrap()).unwrap();
            let source = source.open(session).unwrap_or_else(|error| panic!("{form}: {}", explained(&error)));
            copy(&source, new_store(&copy_path), &options, &())
                .unwrap_or_else(|error| panic!("{}: {}", copy_path.display(), explained(&error)));
        }
    }
    assert_eq!(act("check"), "");
}

/// What is refused: words of the row, types, codecs (`*` for all), a part of what who refused says, and the word in
/// the table.
type Refusal = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// Every cell that is not right. `type` and `codec`: the peer has none of this kind.
const REFUSALS: [Refusal; 27] = [
    // Its wheel is built without zip files.
    ("netCDF4 zip", "*", "*", "Attempt to use feature that was not turned on", "no-zip"),
    // One variable of such a type, and netcdf-c does not open the dataset.
    ("netCDF4 file reads", "b1 le-f2 le-c8 be-c16 le-M8[ns] le-m8[s] le-U5", "*", "NCZarr error", "type"),
    ("netCDF4 zarr file reads", "vlen-utf8 vlen-bytes", "*", "NCZarr error", "type"),
    ("netCDF4 nczarr file reads", "vlen-bytes", "*", "NCZarr error", "type"),
    (
        "netCDF4 file writes",
        "b1 le-f2 le-M8[ns] le-m8[s] vlen-bytes",
        "*",
        "Illegal primitive data type",
        "type",
    ),
    ("netCDF4 file writes", "le-c8 be-c16", "*", "complex datatypes", "type"),
    ("netCDF4 file writes", "le-U5", "*", "Invalid argument", "type"),
    // netcdf-c has no such filter, and netCDF4-python cannot ask for some that it has.
    ("netCDF4 file reads", "*", "gzip crc32c", "undefined filter", "codec"),
    ("netCDF4 file writes", "*", "gzip crc32c order-F", "createVariable has no word", "codec"),
    // Our bytes are not UTF-8, which it wants of strings.
    ("netCDF4 file reads", "S7", "*", "UnicodeDecodeError", "utf-8"),
    // netcdf-c takes every chunk as one in C order: it reads other values of plain Zarr, so we write no such NCZarr.
    ("netCDF4 zarr file reads", "*", "order-F", "wrong: ", "WRONG"),
    ("netCDF4 nczarr file reads", "*", "order-F", "netcdf-c reads every chunk in C order", "ours"),
    // netcdf-c shuffles strings by the size of a pointer, whatever it says.
    (
        "netCDF4 nczarr file reads",
        "S7",
        "shuffle+zlib shuffle+zlib+fletcher32",
        "netcdf-c shuffles strings by 8",
        "ours",
    ),
    (
        "netCDF4 nczarr file reads",
        "vlen-utf8",
        "shuffle+zlib shuffle+zlib+fletcher32",
        "\"elementsize\" is not usable",
        "ours",
    ),
    (
        "netCDF4 nczarr file reads",
        "vlen-bytes",
        "shuffle+zlib shuffle+zlib+fletcher32",
        "its shuffle has element size 1",
        "ours",
    ),
    (
        "netCDF4 nczarr file writes",
        "S7 vlen-utf8",
        "shuffle+zlib shuffle+zlib+fletcher32",
        "its shuffle has element size 1",
        "ours",
    ),
    // It reverses elements in memory and forgets it.
    (
        "zarr-python v3 file writes",
        "vlen-utf8 vlen-bytes",
        "order-F",
        "does not read back what it wrote",
        "WRONG",
    ),
    // Strings in shards are not built.
    ("zarr-python v3 file", "vlen-utf8 vlen-bytes", "sharded", "strings of any length in shards", "ours"),
    ("xarray v3 reads", "vlen-utf8 vlen-bytes", "sharded", "strings of any length in shards", "ours"),
    ("xarray v3 writes", "vlen-utf8", "sharded", "strings of any length in shards", "ours"),
    (
        "tensorstore v3 file reads",
        "vlen-utf8 vlen-bytes",
        "sharded",
        "strings of any length in shards",
        "ours",
    ),
    (
        "tensorstore v2",
        "le-M8[ns] le-m8[s] le-U5 vlen-utf8 vlen-bytes",
        "*",
        "Unsupported zarr dtype",
        "type",
    ),
    ("tensorstore v3", "le-M8[ns] le-m8[s] le-U5 S7 char vlen-utf8 vlen-bytes", "*", "data_type", "type"),
    (
        "tensorstore v2",
        "*",
        "shuffle+zlib fletcher32 shuffle+zlib+fletcher32 crc32c",
        "filters are not supported",
        "codec",
    ),
    ("tensorstore v2 reads", "*", "fletcher32 shuffle+zlib+fletcher32 crc32c", "\"compressor\"", "codec"),
    ("tensorstore v3", "*", "zlib bz2 shuffle+zlib fletcher32", "is not registered", "codec"),
    // An empty string as fill value, which the others write too; it wants the Base64 of all bytes.
    ("tensorstore v2 reads", "S7 char", "*", "\"fill_value\"", "fill"),
];

/// Whether a refusal is about a cell.
fn is_about(refusal: &Refusal, row: &str, cell: &str) -> bool {
    let (words, dtypes, codecs, ..) = refusal;
    let (dtype, codec) = cell.split_once('.').unwrap();
    let among = |list: &str, one: &str| list == "*" || list.split(' ').any(|item| item == one);
    words.split(' ').all(|word| among(row, word)) && among(dtypes, dtype) && among(codecs, codec)
}

/// The word for what became of a cell; `None` if it was not expected.
fn word(row: &str, cell: &str, text: &str) -> Option<&'static str> {
    let mut known = REFUSALS.iter().filter(|refusal| is_about(refusal, row, cell));
    if text.is_empty() {
        return known.next().is_none().then_some("ok");
    }
    known.find(|(_, _, _, says, _)| text.contains(says)).map(|(.., word)| *word)
}

/// The unexpected cells, and the refusals that refuse nothing.
fn faults(table: &Table) -> Vec<String> {
    let cells =
        || table.iter().flat_map(|(row, cells)| cells.iter().map(move |(cell, text)| (row, cell, text)));
    let mut faults = Vec::new();
    for (row, cell, text) in cells() {
        if word(row, cell, text).is_none() {
            let text = if text.is_empty() { "is right; take it from the list of refusals" } else { text };
            faults.push(format!("{row}, {cell}: {text}"));
        }
    }
    for refusal in &REFUSALS {
        let holds = |(row, cell, text): (&String, &String, &String)| {
            is_about(refusal, row, cell) && text.contains(refusal.3)
        };
        if !cells().any(holds) {
            faults.push(format!("nothing is refused as {refusal:?} says"));
        }
    }
    faults
}

/// Prints three tables: all types without a codec, all codecs of one type, and what only a type with a codec shows.
fn print(all: &Cells, table: &Table) {
    const TYPE: &str = "le-f8";
    let outcome = |row: &String, dtype: &str, codec: &str| {
        let cell = format!("{dtype}.{codec}");
        table[row].get(&cell).map_or("-", |text| word(row, &cell, text).unwrap_or("FAULT"))
    };
    let mut dtypes: Vec<&str> = Vec::new();
    let mut codecs: Vec<&str> = Vec::new();
    for cell in all.v2.iter().chain(&all.v3) {
        for (column, columns) in [(&cell.dtype, &mut dtypes), (&cell.codec, &mut codecs)] {
            if !columns.contains(&column.as_str()) {
                columns.push(column);
            }
        }
    }
    let head = |columns: &[&str]| {
        let width = |column: &&str| format!("{column:>0$}", column.len().max(6) + 1);
        println!("\n{:30}{}", "", columns.iter().map(width).collect::<String>());
    };
    let line = |row: &str, columns: &[&str], words: &dyn Fn(&str) -> &'static str| {
        let word = |column: &&str| format!("{:>1$}", words(column), column.len().max(6) + 1);
        println!("{row:30}{}", columns.iter().map(word).collect::<String>());
    };
    head(&dtypes);
    for row in table.keys() {
        line(row, &dtypes, &|dtype| outcome(row, dtype, "none"));
    }
    head(&codecs);
    for row in table.keys() {
        line(row, &codecs, &|codec| outcome(row, TYPE, codec));
    }
    println!();
    let mut others: BTreeMap<(&String, &str, &str), BTreeSet<&str>> = BTreeMap::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (row, cells) in table {
        for cell in cells.keys() {
            let (dtype, codec) = cell.split_once('.').unwrap();
            let word = outcome(row, dtype, codec);
            *counts.entry(word).or_default() += 1;
            if ![outcome(row, dtype, "none"), outcome(row, TYPE, codec), "ok"].contains(&word) {
                others.entry((row, codec, word)).or_default().insert(dtype);
            }
        }
    }
    for ((row, codec, word), dtypes) in others {
        println!("{row:30} {codec} of {}: {word}", dtypes.into_iter().collect::<Vec<_>>().join(" "));
    }
    println!("{counts:?}");
}

/// The name of the row of ours that a peer reads.
fn wrote(peer: &str, kind: &str) -> String {
    if peer == "xarray" { format!("xarray {kind}") } else { format!("all {kind}") }
}

fn script(python: &Python, action: &str, peer: &str, folder: &Path) -> Json {
    run_json(python, SCRIPT, &[action, peer, folder.to_str().unwrap()], Some(&build_plugins().unwrap()))
}

fn rows(printed: &Json) -> impl Iterator<Item = (String, Row)> {
    let rows = printed.as_object().unwrap().iter().filter(|(kind, _)| !kind.ends_with("values"));
    rows.map(|(kind, row)| {
        let cells = row.as_object().unwrap().iter();
        (kind.clone(), cells.map(|(cell, text)| (cell.clone(), text.as_str().unwrap().to_owned())).collect())
    })
}

/// Reads what a peer wrote.
fn read(cells: &Cells, session: &Session, folder: &Path, peer: &str, theirs: &Json) -> Table {
    let mut table = Table::new();
    for (kind, mut row) in rows(theirs) {
        let path = place(folder, "theirs", peer, &kind);
        let values = &theirs[format!("{kind} values")];
        let open = |path: &Path| {
            DatasetUrl::parse(path.to_str().unwrap()).unwrap().open_zarr(Access::Read, session.clone())
        };
        let whole = open(&path);
        for (name, text) in row.iter_mut().filter(|(_, text)| text.is_empty()) {
            let dtype = name.split_once('.').unwrap().0;
            let wanted = values.get(dtype).unwrap_or(&cells.values[dtype]);
            // Those of netcdf-c are datasets of their own.
            let found = if peer == "netCDF4" {
                let dataset = open(&path.join(name));
                dataset.map_err(|error| explained(&error)).and_then(|dataset| compare(&dataset, "/v", wanted))
            } else {
                let dataset = whole.as_ref().map_err(|error| explained(error));
                dataset.and_then(|dataset| compare(dataset, &format!("/{name}"), wanted))
            };
            *text = found.err().map_or(String::new(), |text| format!("ncz: {text}"));
        }
        table.insert(format!("{peer} {kind} writes"), row);
    }
    table
}

/// Whether a variable has these values: the bytes of all elements, or a list of strings.
fn compare(dataset: &Dataset, path: &str, wanted: &Json) -> Result<(), String> {
    let explain = |error: DataError| explained(&error);
    let (found, wanted) = match wanted {
        Json::String(wanted) => {
            let array = dataset.array(path).map_err(explain)?;
            let mut bytes = vec![0; array.shape().iter().product::<u64>() as usize * array.dtype().size()];
            array.read_bytes(&Slab::whole(array.shape()), Elements::Native, &mut bytes).map_err(explain)?;
            (hex(&bytes), wanted.clone())
        }
        wanted => {
            let strings = dataset.strings(path).map_err(explain)?;
            let found = strings.read(&Slab::whole(strings.shape())).map_err(explain)?;
            let wanted: Vec<&str> = list(wanted).iter().map(|text| text.as_str().unwrap()).collect();
            (found.iter().map(hex).collect::<Vec<_>>().join(" "), wanted.join(" "))
        }
    };
    if found == wanted {
        return Ok(());
    }
    let start = |text: &str| text.chars().take(80).collect::<String>();
    Err(format!("wrong: {} instead of {}", start(&found), start(&wanted)))
}

/// Writes the cells in every form that a peer reads; what we refuse to write.
fn write(cells: &Cells, session: &Session, folder: &Path) -> Table {
    let mut table = Table::new();
    for (format, version) in [(Format::Zarr2, "v2"), (Format::Zarr3, "v3")] {
        for storage in ["file", "zip"] {
            for peer in ["all", "xarray"] {
                let kind = format!("{version} {storage}");
                let cells_here = if version == "v3" { &cells.v3 } else { &cells.v2 };
                let store = new_store(&place(folder, "ours", peer, &kind));
                let row = write_one(cells, cells_here.iter(), format, store, session, peer == "xarray", None);
                table.insert(format!("{peer} {kind}"), row);
            }
        }
    }
    for (format, mode) in [(Format::NCZARR, "nczarr"), (Format::Zarr2, "zarr")] {
        let kind = format!("{mode} file");
        let base = place(folder, "ours", "all", &kind);
        std::fs::create_dir(&base).unwrap();
        let mut row = Row::new();
        for cell in &cells.v2 {
            let store = new_store(&base.join(&cell.name));
            row.extend(write_one(cells, std::iter::once(cell), format, store, session, false, Some("v")));
        }
        table.insert(format!("all {kind}"), row);
        // A zip file for it to refuse.
        let store = new_store(&place(folder, "ours", "all", &format!("{mode} zip")));
        write_one(cells, cells.v2.iter().take(1), format, store, session, false, None);
    }
    table
}

fn new_store(path: &Path) -> Arc<dyn Store> {
    DatasetUrl::parse(path.to_str().unwrap()).unwrap().create_store(false).unwrap()
}

/// Writes a dataset of cells; what we refuse to write.
fn write_one<'c>(
    all: &Cells,
    cells: impl Iterator<Item = &'c Cell> + Clone,
    format: Format,
    store: Arc<dyn Store>,
    session: &Session,
    consolidated: bool,
    name: Option<&str>,
) -> Row {
    let mut hierarchy = Hierarchy::new(format);
    for (name, len) in ["y", "x"].into_iter().zip(&all.shape) {
        hierarchy.add_dimension("/", name, *len, false).unwrap();
    }
    let mut refused = Row::new();
    for cell in cells.clone() {
        let name = name.unwrap_or(&cell.name);
        if let Err(text) = define(all, cell, name, &mut hierarchy, session) {
            refused.insert(cell.name.clone(), format!("ncz: {text}"));
        }
    }
    let dataset = match Dataset::create(store, hierarchy, session.clone(), consolidated) {
        Ok(dataset) => dataset,
        Err(error) => {
            let text = format!("ncz: {}", explained(&error));
            return cells.map(|cell| (cell.name.clone(), text.clone())).collect();
        }
    };
    for cell in cells {
        if refused.contains_key(&cell.name) {
            continue;
        }
        if let Err(error) = fill(&dataset, name.unwrap_or(&cell.name), &all.values[&cell.dtype]) {
            refused.insert(cell.name.clone(), format!("ncz: {}", explained(&error)));
        }
    }
    dataset.finish().unwrap();
    refused
}

fn define(
    all: &Cells,
    cell: &Cell,
    name: &str,
    hierarchy: &mut Hierarchy,
    session: &Session,
) -> Result<(), String> {
    let format = hierarchy.format;
    let new = match cell.numpy.as_str() {
        "vlen-utf8" if format.is_nczarr() => VariableBuilder::new(name, NcType::String).string_length(400),
        "vlen-utf8" => VariableBuilder::of_dtype(name, Dtype::vlen_text(), Some(NcType::String)),
        "vlen-bytes" => VariableBuilder::of_dtype(name, Dtype::vlen_bytes(), None),
        _ if cell.dtype == "char" => VariableBuilder::new(name, NcType::Char),
        numpy => {
            let dtype = Dtype::parse(numpy).unwrap();
            let nc_type = dtype.nc_type(false);
            VariableBuilder::of_dtype(name, dtype, nc_type)
        }
    };
    let mut new = new.dimensions(["y", "x"]).chunks(all.chunk.clone());
    match cell.codec.as_str() {
        "order-F" => new = new.order(Order::F),
        "sharded" => new = new.sharding(Sharding::new(all.shard.clone())),
        _ => {}
    }
    let variable = hierarchy.add_variable("/", new).map_err(|error| explained(&error))?;
    let dialect = if format.is_v3() { Dialect::ZarrV3 } else { Dialect::Numcodecs };
    let spec = ChainSpec::from_json(dialect, &cell.codecs).unwrap();
    let defined = session.define(variable, format, &spec).map_err(|error| explained(&error));
    if defined.is_err() {
        hierarchy.root.variables.pop();
    }
    defined.map(drop)
}

fn fill(dataset: &Dataset, path: &str, values: &Json) -> Result<(), DataError> {
    let slab = |shape: &[u64]| Slab::whole(shape);
    match values {
        Json::String(values) => {
            let array = dataset.array(path)?;
            array.write_bytes(&slab(array.shape()), Elements::Native, &unhex(values)).map(drop)
        }
        values => {
            let strings = dataset.strings(path)?;
            let values: Vec<Vec<u8>> =
                list(values).iter().map(|text| unhex(text.as_str().unwrap())).collect();
            strings.write(&slab(strings.shape()), &values)
        }
    }
}

fn place(folder: &Path, side: &str, peer: &str, kind: &str) -> PathBuf {
    let ending = if kind.ends_with("zip") { ".zip" } else { "" };
    folder.join(side).join(format!("{peer}-{}{ending}", kind.replace(' ', "-")))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
