//! The filter functions against those of netcdf-c: the same calls return the same numbers and leave the same codecs,
//! except for the differences listed here.

use std::path::Path;
use std::sync::Arc;

use ncz::model::{
    BloscFilter, FilterError, Filters, Format, Hierarchy, NcType, Phase, Pool, QuantizeMode, Session,
    SzipFilter, VariableBuilder,
};
use ncz::store::MemoryStore;
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;
use ncz_test_support::{Python, python};
use serde_json::{Map, Value as Json, json};

use crate::harness::{builtins, run_json};
use crate::quantize::random;

const SCRIPT: &str = "filter_api.py";

/// A call whose result differs: what netcdf-c says, what we say, and why.
struct Difference {
    case: &'static str,
    call: usize,
    theirs: Json,
    ours: Json,
    reason: &'static str,
}

/// Cases after which the codecs or attributes differ, and why. What is left out of them is in [`Difference`].
const OTHER_CHAIN: [(&str, &str); 11] = [
    ("half a deflate", "netcdf-c has the shuffle of a deflate that it refused"),
    ("switching off", "deflate and shuffle are removed"),
    ("fletcher32 off", "netcdf-c switches it on"),
    ("fletcher32 on and off", "netcdf-c leaves it on"),
    ("parameters of a deflate that is there", "netcdf-c takes any"),
    ("parameters of a szip that is there", "netcdf-c takes any, and cannot write the data"),
    ("parameters that the codec refuses", "netcdf-c takes any, and cannot write the metadata"),
    ("blosc out of range", "netcdf-c takes any level and block size"),
    ("shuffle of another size", "netcdf-c stores the number and shuffles by the type's size"),
    ("szip by an unlimited dimension", "netcdf-c goes by the length of the dimension as it is"),
    ("strings", "netcdf-c takes the shuffle, by the size of a pointer"),
];

fn differences() -> Vec<Difference> {
    let difference = |case, call, theirs, ours, reason| Difference { case, call, theirs, ours, reason };
    vec![
        difference("switching off", 2, json!([0, 1, 1, 5]), json!([0, 0, 0, 0]), "switched off is gone"),
        difference("half a deflate", 2, json!([0, 4, 2]), json!([0, 4]), "what fails changes nothing"),
        difference("fletcher32 off", 1, json!([0, 1]), json!([0, 0]), "off is not on"),
        difference("fletcher32 on and off", 2, json!([0, 1]), json!([0, 0]), "switched off is gone"),
        difference(
            "parameters of a deflate that is there",
            1,
            json!([0]),
            json!([-36]),
            "checked as the first",
        ),
        difference(
            "parameters of a deflate that is there",
            2,
            json!([0]),
            json!([-132]),
            "checked as the first",
        ),
        difference(
            "parameters of a deflate that is there",
            3,
            json!([0]),
            json!([0, 5]),
            "refused: the first stay",
        ),
        difference("parameters of a szip that is there", 1, json!([0]), json!([-36]), "checked as the first"),
        difference(
            "parameters that the codec refuses",
            0,
            json!([0]),
            json!([-132]),
            "bzip2 has the levels 1 to 9",
        ),
        difference(
            "parameters that the codec refuses",
            1,
            json!([0]),
            json!([-132]),
            "fletcher32 has no parameters",
        ),
        difference(
            "parameters that the codec refuses",
            2,
            json!([0]),
            json!([-132]),
            "szip has no blocks of 0 pixels",
        ),
        difference("blosc out of range", 0, json!([0]), json!([-36]), "the levels are 0 to 9"),
        difference("blosc out of range", 1, json!([0]), json!([-36]), "the library has an int for it"),
        difference("shuffle of another size", 0, json!([0]), json!([-132]), "data would be read otherwise"),
        difference("asking for shuffle", 1, json!([0]), json!([0, 4]), "the stored size is returned"),
        difference(
            "szip by an unlimited dimension",
            0,
            json!([0]),
            json!([-36]),
            "older chunks could not be read",
        ),
        difference("strings", 1, json!([0]), json!([-132]), "netcdf-c reads them as if shuffled by 8 bytes"),
    ]
}

/// Named cases: a variable and calls on it.
fn cases() -> Vec<(&'static str, &'static str, Json)> {
    vec![
        (
            "nothing",
            "f",
            json!([
                ["ids"],
                ["first"],
                ["params", 1],
                ["params", 0],
                ["get_deflate"],
                ["get_szip"],
                ["get_fletcher32"],
                ["get_bzip2"],
                ["get_zstandard"],
                ["get_blosc"],
                ["get_quantize"]
            ]),
        ),
        (
            "availability",
            "f",
            json!([
                ["available", 0],
                ["available", 1],
                ["available", 2],
                ["available", 3],
                ["available", 4],
                ["available", 307],
                ["available", 32001],
                ["available", 32015],
                ["available", 65534],
                ["available", 65535],
                ["available", 4294967295u32],
                ["available", 40000]
            ]),
        ),
        (
            "numbers",
            "f",
            json!([
                ["filter", 0],
                ["filter", 65535],
                ["filter", 65534],
                ["filter", 100000],
                ["filter", 40000, 1]
            ]),
        ),
        (
            "deflate",
            "f",
            json!([
                ["filter", 1],
                ["filter", 1, 1, 2],
                ["filter", 1, 10],
                ["filter", 1, 4294967295u32],
                ["deflate", 0, 1, 10],
                ["deflate", 0, 1, -1],
                ["filter", 1, 9],
                ["get_deflate"],
                ["first"]
            ]),
        ),
        ("shuffle comes first", "f", json!([["deflate", 1, 1, 4], ["ids"], ["get_deflate"], ["params", 1]])),
        ("level 0", "f", json!([["deflate", 0, 1, 0], ["get_deflate"]])),
        (
            "szip",
            "d",
            json!([
                ["szip", 32, 7],
                ["szip", 32, 34],
                ["filter", 4, 32],
                ["filter", 4, 32, 8, 8, 8],
                ["szip", 32, 8],
                ["get_szip"],
                ["params", 4]
            ]),
        ),
        ("szip of few elements", "f", json!([["szip", 32, 12], ["szip", 32, 10]])),
        ("szip after deflate", "d", json!([["deflate", 0, 1, 1], ["szip", 32, 8], ["szip", 32, 7], ["ids"]])),
        (
            "deflate after szip",
            "d",
            json!([["szip", 4, 16], ["deflate", 0, 1, 1], ["filter", 1, 77], ["filter", 1], ["ids"]]),
        ),
        (
            "bzip2",
            "f",
            json!([
                ["bzip2", 0],
                ["bzip2", 10],
                ["bzip2", -1],
                ["bzip2", 9],
                ["get_bzip2"],
                ["bzip2", 1],
                ["params", 307]
            ]),
        ),
        (
            "zstandard",
            "f",
            json!([
                ["zstandard", -131073],
                ["zstandard", 23],
                ["zstandard", -5],
                ["get_zstandard"],
                ["params", 32015],
                ["zstandard", 22]
            ]),
        ),
        (
            "blosc",
            "d",
            json!([
                ["blosc", 6, 5, 0, 1],
                ["blosc", 0, 5, 0, 3],
                ["blosc", 1, 5, 4096, 2],
                ["get_blosc"],
                ["params", 32001],
                ["blosc", 5, 9, 0, 0]
            ]),
        ),
        ("half a deflate", "d", json!([["szip", 32, 8], ["deflate", 1, 1, 1], ["ids"]])),
        (
            "positions are kept",
            "f",
            json!([
                ["filter", 307, 3],
                ["filter", 1, 3],
                ["filter", 3],
                ["filter", 32015, 3],
                ["filter", 307, 9],
                ["filter", 1, 9],
                ["ids"],
                ["first"],
                ["params", 307]
            ]),
        ),
        (
            "all at once",
            "d",
            json!([
                ["fletcher32", 1],
                ["deflate", 1, 1, 2],
                ["bzip2", 3],
                ["zstandard", 4],
                ["blosc", 1, 5, 0, 1],
                ["quantize", 2, 4],
                ["ids"],
                ["get_fletcher32"],
                ["get_quantize"]
            ]),
        ),
        (
            "scalars",
            "scalar",
            json!([
                ["filter", 1, 3],
                ["filter", 1, 77],
                ["filter", 0],
                ["deflate", 1, 1, 3],
                ["deflate", 0, 1, 3],
                ["deflate", 0, 0, 0],
                ["szip", 32, 7],
                ["fletcher32", 1],
                ["bzip2", 1],
                ["bzip2", 77],
                ["quantize", 1, 3],
                ["ids"]
            ]),
        ),
        (
            "quantize",
            "f",
            json!([
                ["quantize", 1, 0],
                ["quantize", 1, 7],
                ["quantize", 2, 7],
                ["quantize", 3, 24],
                ["quantize", 1, 6],
                ["get_quantize"],
                ["quantize", 3, 23],
                ["get_quantize"]
            ]),
        ),
        (
            "quantize double",
            "d",
            json!([
                ["quantize", 1, 16],
                ["quantize", 2, 16],
                ["quantize", 3, 53],
                ["quantize", 2, 15],
                ["get_quantize"]
            ]),
        ),
        ("quantize off", "f", json!([["quantize", 1, 6], ["quantize", 0, 0], ["get_quantize"]])),
        (
            "quantize int",
            "i",
            json!([["quantize", 1, 3], ["quantize", 3, 3], ["quantize", 0, 0], ["get_quantize"]]),
        ),
        (
            "too late",
            "f",
            json!([
                ["deflate", 1, 1, 3],
                ["quantize", 1, 3],
                ["enddef"],
                ["filter", 1, 3],
                ["filter", 1, 77],
                ["filter", 0],
                ["deflate", 0, 1, 77],
                ["deflate", 1, 1, 3],
                ["fletcher32", 1],
                ["bzip2", 77],
                ["bzip2", 3],
                ["szip", 32, 7],
                ["quantize", 1, 3],
                ["quantize", 1, 99],
                ["redef"],
                ["filter", 1, 77],
                ["filter", 40000],
                ["fletcher32", 1],
                ["quantize", 3, 99],
                ["ids"],
                ["get_deflate"],
                ["get_quantize"]
            ]),
        ),
        (
            "too late for a scalar",
            "scalar",
            json!([
                ["enddef"],
                ["filter", 1, 3],
                ["fletcher32", 1],
                ["redef"],
                ["filter", 1, 3],
                ["fletcher32", 1]
            ]),
        ),
        ("szip in records", "tx", json!([["szip", 32, 8], ["get_szip"]])),
        ("switching off", "f", json!([["deflate", 1, 1, 5], ["deflate", 0, 0, 0], ["get_deflate"]])),
        ("fletcher32 off", "f", json!([["fletcher32", 0], ["get_fletcher32"]])),
        ("fletcher32 on and off", "f", json!([["fletcher32", 1], ["fletcher32", 0], ["get_fletcher32"]])),
        (
            "parameters of a deflate that is there",
            "f",
            json!([["filter", 1, 5], ["filter", 1, 77], ["filter", 1], ["params", 1]]),
        ),
        ("parameters of a szip that is there", "d", json!([["szip", 32, 8], ["szip", 32, 7]])),
        (
            "parameters that the codec refuses",
            "d",
            json!([["filter", 307, 77], ["filter", 3, 1], ["szip", 32, 0]]),
        ),
        ("blosc out of range", "d", json!([["blosc", 1, 99, 0, 1], ["blosc", 1, 5, 2147483648u32, 1]])),
        ("shuffle of another size", "f", json!([["filter", 2, 9]])),
        ("asking for shuffle", "f", json!([["filter", 2], ["params", 2]])),
        ("szip by an unlimited dimension", "xt", json!([["szip", 32, 2]])),
        ("szip in a one-dimensional record", "t", json!([["szip", 32, 2]])),
        ("strings", "s", json!([["filter", 1, 3], ["deflate", 1, 1, 3], ["fletcher32", 1]])),
    ]
}

#[test]
fn the_same_calls_return_the_same_numbers_and_leave_the_same_codecs() {
    let Ok(python) = python() else { return };
    let cases = cases();
    let theirs = by_netcdf_c(&python, cases.iter().map(|(_, variable, calls)| (*variable, calls.clone())));
    let mut listed = differences();
    let mut other_chains: Vec<&str> = OTHER_CHAIN.iter().map(|(case, _)| *case).collect();
    let mut unlisted = Vec::new();
    for ((name, variable, calls), theirs) in cases.iter().zip(&theirs) {
        let ours = by_us(variable, calls);
        let returned = |result: &Json| result["returned"].as_array().unwrap().clone();
        for (call, (theirs, ours)) in returned(theirs).iter().zip(&returned(&ours)).enumerate() {
            let at = listed.iter().position(|difference| {
                (difference.case, difference.call) == (name, call)
                    && (&difference.theirs, &difference.ours) == (theirs, ours)
            });
            match at {
                Some(at) => drop(listed.swap_remove(at)),
                None if theirs == ours => {}
                None => unlisted.push(format!("{name}, {}: netcdf-c {theirs}, ours {ours}", calls[call])),
            }
        }
        let stored = (respelled(&theirs["stored"], variable), &ours["stored"]);
        match other_chains.iter().position(|case| case == name) {
            Some(at) if stored.0 != *stored.1 => drop(other_chains.swap_remove(at)),
            None if stored.0 == *stored.1 => {}
            _ => unlisted.push(format!("{name}: netcdf-c stores {}, we {}", stored.0, stored.1)),
        }
    }
    assert!(unlisted.is_empty(), "{unlisted:#?}");
    let stale: Vec<_> = listed.iter().map(|it| format!("{} {}: {}", it.case, it.call, it.reason)).collect();
    assert!(
        stale.is_empty() && other_chains.is_empty(),
        "no difference any more: {stale:?} {other_chains:?}"
    );
}

/// Requests that both carry out, in any order: positions and conflicts.
#[test]
fn chains_that_are_made_at_random_are_the_same() {
    let Ok(python) = python() else { return };
    let mut random = random();
    let mut next = |most: u64| (random.next().unwrap() >> 8) % most;
    let cases: Vec<(&str, Json)> = (0..150)
        .map(|_| {
            let calls = 1 + next(10);
            let calls: Vec<Json> = (0..calls)
                .map(|_| match next(11) {
                    0 => json!(["filter", 1, next(10)]),
                    1 => json!(["filter", 2]),
                    2 => json!(["filter", 3]),
                    3 => json!(["fletcher32", 1]),
                    4 => {
                        let mask = [4, 32][next(2) as usize];
                        json!(["szip", mask, 2 + 2 * next(4)])
                    }
                    5 => json!(["bzip2", next(11)]),
                    6 => json!(["filter", 307, 1 + next(9)]),
                    7 => json!(["zstandard", next(40) as i64 - 12]),
                    8 => {
                        // netCDF4's blosc is built without snappy.
                        let compressor = [0, 1, 2, 4, 5, 6][next(6) as usize];
                        json!(["blosc", compressor, next(10), 1024 * next(3), next(4)])
                    }
                    9 => json!(["quantize", 1 + next(3), next(8)]),
                    _ => {
                        let id = [0, 2, 40_000, 65_535][next(4) as usize];
                        json!(["filter", id])
                    }
                })
                .chain([
                    json!(["ids"]),
                    json!(["get_deflate"]),
                    json!(["get_blosc"]),
                    json!(["get_quantize"]),
                ])
                .collect();
            (["f", "d", "tx"][next(3) as usize], Json::from(calls))
        })
        .collect();
    let theirs = by_netcdf_c(&python, cases.iter().cloned());
    for ((variable, calls), theirs) in cases.iter().zip(&theirs) {
        let ours = by_us(variable, calls);
        assert_eq!(theirs["returned"], ours["returned"], "{variable}: {calls}");
        assert_eq!(respelled(&theirs["stored"], variable), ours["stored"], "{variable}: {calls}");
    }
}

fn by_netcdf_c<'a>(python: &Python, cases: impl Iterator<Item = (&'a str, Json)>) -> Vec<Json> {
    let folder = tempfile::tempdir().unwrap();
    let cases: Vec<Json> =
        cases.map(|(variable, calls)| json!({"variable": variable, "calls": calls})).collect();
    let file = folder.path().join("cases.json");
    std::fs::write(&file, Json::from(cases).to_string()).unwrap();
    let args: [&Path; 2] = [&file, folder.path()];
    let printed = run_json(python, SCRIPT, &args, None);
    printed.as_array().unwrap().clone()
}

/// What netcdf-c stored, in our spelling: the true element size of shuffle (trap 1), zstd's level with its sign (trap
/// 15).
fn respelled(stored: &Json, variable: &str) -> Json {
    let mut stored = stored.clone();
    for codec in stored.get_mut(0).and_then(Json::as_array_mut).into_iter().flatten() {
        if codec["id"] == "shuffle" && codec["elementsize"] == 0 {
            codec["elementsize"] = json!(if variable == "d" { 8 } else { 4 });
        }
        if codec["id"] == "zstd" {
            codec["level"] = json!(codec["level"].as_i64().unwrap() as u32 as i32);
        }
    }
    stored
}

/// The same calls with our functions; what they return, and the codecs and quantize attributes then.
fn by_us(variable: &str, calls: &Json) -> Json {
    let session = Session::new(Arc::new(builtins()), Pool::serial());
    let mut ours = Ours {
        session,
        hierarchy: defined(variable),
        path: format!("/{variable}"),
        phase: Phase::Definition,
    };
    let returned: Vec<Json> = calls.as_array().unwrap().iter().map(|call| ours.call(call)).collect();
    let variable = ours.hierarchy.variable(&ours.path).unwrap();
    let quantize = variable.attributes.iter().filter(|attribute| attribute.name.starts_with("_Quantize"));
    let quantize: Map<String, Json> =
        quantize.map(|it| (it.name.clone(), json!(it.value.as_integer().unwrap() as i64))).collect();
    json!({"returned": returned, "stored": [variable.filters, quantize]})
}

/// A dataset with one variable, as the script defines it.
fn defined(variable: &str) -> Hierarchy {
    let (nc_type, dimensions): (_, &[&str]) = match variable {
        "f" => (NcType::Float, &["x"]),
        "d" => (NcType::Double, &["x", "y"]),
        "i" => (NcType::Int, &["x"]),
        "s" => (NcType::String, &["x"]),
        "tx" => (NcType::Float, &["t", "x"]),
        "xt" => (NcType::Float, &["x", "t"]),
        "t" => (NcType::Float, &["t"]),
        _ => (NcType::Float, &[]),
    };
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    for (name, len, unlimited) in [("x", 10, false), ("y", 100, false), ("t", 0, true)] {
        hierarchy.add_dimension("/", name, len, unlimited).unwrap();
    }
    let new = VariableBuilder::new(variable, nc_type).dimensions(dimensions.iter().copied());
    hierarchy.add_variable("/", new).unwrap();
    hierarchy
}

struct Ours {
    session: Session,
    hierarchy: Hierarchy,
    path: String,
    phase: Phase,
}

impl Ours {
    fn call(&mut self, call: &Json) -> Json {
        let name = call[0].as_str().unwrap();
        let args: Vec<i64> = call.as_array().unwrap()[1..].iter().map(|arg| arg.as_i64().unwrap()).collect();
        let word = |at: usize| args[at] as u32;
        match name {
            "enddef" => {
                // Written, and read again: netCDF's definition is one with what is in the file.
                let store = Arc::new(MemoryStore::new("test"));
                let hierarchy = self.hierarchy.clone();
                let made = Dataset::create(store.clone(), hierarchy, self.session.clone(), false).unwrap();
                made.finish().unwrap();
                let opened = Dataset::open(store, self.session.clone(), &ReadOptions::default()).unwrap();
                self.hierarchy = opened.hierarchy().clone();
                self.phase = Phase::Data;
                return json!([0]);
            }
            "redef" => {
                self.phase = Phase::Definition;
                return json!([0]);
            }
            "available" => return unit(self.session.filter_available(word(0))),
            _ => {}
        }
        if let Some(asked) = self.ask(name, &args) {
            return asked.unwrap_or_else(|error| json!([error.netcdf_code()]));
        }
        let definition = self.session.define_filters(&mut self.hierarchy, &self.path).unwrap();
        let mut filters = definition.in_phase(self.phase);
        unit(match name {
            "filter" => {
                filters.define(word(0), &args[1..].iter().map(|word| *word as u32).collect::<Vec<_>>())
            }
            "deflate" => filters.deflate(args[0] != 0, (args[1] != 0).then_some(args[2] as i32)),
            "fletcher32" => filters.fletcher32(args[0] != 0),
            "szip" => filters.szip(SzipFilter { mask: word(0), pixels_per_block: word(1) }),
            "bzip2" => filters.bzip2(args[0] as i32),
            "zstandard" => filters.zstandard(args[0] as i32),
            "blosc" => filters.blosc(BloscFilter {
                subcompressor: word(0),
                level: word(1),
                blocksize: word(2),
                shuffle: word(3),
            }),
            "quantize" => {
                let mode =
                    QuantizeMode::ALL.into_iter().find(|mode| i64::from(mode.netcdf_number()) == args[0]);
                filters.quantize(mode.map(|mode| (mode, args[1])))
            }
            other => panic!("no function {other}"),
        })
    }

    /// What netcdf-c returns through its pointers.
    fn ask(&self, name: &str, args: &[i64]) -> Option<Result<Json, FilterError>> {
        let filters: Filters<'_> = self.session.filters(&self.hierarchy, &self.path).unwrap();
        let list = |words: Vec<u32>| json!([vec![0], words].concat());
        Some(match name {
            "ids" => filters.ids().map(list),
            "params" => filters.params(args[0] as u32).map(list),
            "first" => filters.first().map(|first| match first {
                None => json!([0, 0]),
                Some((id, params)) => json!([vec![0, id], params].concat()),
            }),
            "get_deflate" => filters.deflate().and_then(|level| {
                Ok(json!([0, u8::from(filters.shuffle()?), u8::from(level.is_some()), level.unwrap_or(0)]))
            }),
            "get_szip" => filters.szip().map(|szip| {
                szip.map_or(json!([0, 0, 0]), |szip| json!([0, szip.mask, szip.pixels_per_block]))
            }),
            "get_fletcher32" => filters.fletcher32().map(|on| json!([0, u8::from(on)])),
            "get_bzip2" => filters.bzip2().map(|it| json!([0, u8::from(it.is_some()), it.unwrap_or(0)])),
            "get_zstandard" => {
                filters.zstandard().map(|it| json!([0, u8::from(it.is_some()), it.unwrap_or(0)]))
            }
            "get_blosc" => filters.blosc().map(|blosc| match blosc {
                None => json!([0, 0, 0, 0, 0, 0]),
                Some(it) => json!([0, 1, it.subcompressor, it.level, it.blocksize, it.shuffle]),
            }),
            "get_quantize" => filters.quantize().map(|quantize| match quantize {
                None => json!([0, 0, 0]),
                Some(it) => json!([0, it.mode().netcdf_number(), it.significant()]),
            }),
            _ => return None,
        })
    }
}

fn unit(result: Result<(), FilterError>) -> Json {
    json!([result.map_or_else(|error| error.netcdf_code(), |()| 0)])
}
