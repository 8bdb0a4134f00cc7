use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use ncz::model::{Elements, Format, Hierarchy, NcType, Pool, Session, Slab, VariableBuilder};
use ncz::registry::Registry;
use ncz::registry::spec::ChainSpec;
use ncz::store::{Access, CreateOptions, FileStore};
use ncz::zarr::Dataset;
use ncz_test_support::program;
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::bench::{Run, run};

fn session() -> Session {
    Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial())
}

/// The dataset of [`CDL`].
fn source(path: &Path) {
    let session = session();
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    for (name, len, unlimited) in [("time", 3, true), ("x", 40, false), ("y", 30, false)] {
        hierarchy.add_dimension("/", name, len, unlimited).unwrap();
    }
    hierarchy.add_group("/", "g").unwrap();
    hierarchy.add_group("/g", "h").unwrap();
    hierarchy.add_dimension("/g", "z", 4, false).unwrap();
    let deflate = "shuffle|zlib,3";
    for (group, name, dimensions, chunks, codecs) in [
        ("/", "time", vec!["time"], vec![1024], "[]"),
        ("/", "x", vec!["x"], vec![40], "[]"),
        ("/", "t", vec!["time", "y", "x"], vec![1, 10, 20], deflate),
        ("/", "big", vec!["y", "x"], vec![10, 40], "[]"),
        ("/g", "q", vec!["z"], vec![4], "[]"),
        ("/g", "r", vec!["z", "x"], vec![2, 40], "[]"),
        ("/g/h", "p", vec!["z"], vec![4], "[]"),
    ] {
        let new = VariableBuilder::new(name, NcType::Double).dimensions(dimensions).chunks(chunks);
        let variable = hierarchy.add_variable(group, new).unwrap();
        session.define(variable, Format::NCZARR, &ChainSpec::parse(codecs).unwrap()).unwrap();
    }
    let store = Arc::new(FileStore::create(path, CreateOptions::new()).unwrap());
    let dataset = Dataset::create(store, hierarchy, session, false).unwrap();
    let paths: Vec<String> = dataset.hierarchy().variables().map(|variable| variable.path.clone()).collect();
    for path in paths {
        let array = dataset.array(&path).unwrap();
        let len: u64 = array.shape().iter().product();
        let data: Vec<u8> = (0..len).flat_map(|at| (at as f64).to_ne_bytes()).collect();
        array.write_bytes(&Slab::whole(array.shape()), Elements::Native, &data).unwrap();
    }
    dataset.finish().unwrap();
}

/// The same for ncgen.
const CDL: &str = "netcdf a {
dimensions: time = UNLIMITED ; x = 40 ; y = 30 ;
variables:
  double time(time) ; time:_ChunkSizes = 1024 ;
  double x(x) ;
  double t(time, y, x) ; t:_ChunkSizes = 1, 10, 20 ; t:_DeflateLevel = 3 ; t:_Shuffle = \"true\" ;
  double big(y, x) ; big:_ChunkSizes = 10, 40 ;
data: time = 0, 1, 2 ;
group: g {
  dimensions: z = 4 ;
  variables: double q(z) ; double r(z, x) ; r:_ChunkSizes = 2, 40 ;
  group: h { variables: double p(z) ; }
} }";

/// What two copies must have in common.
#[derive(Debug, Default, PartialEq)]
struct Layout {
    /// Lengths by path; negative: unlimited.
    dimensions: BTreeMap<String, i64>,
    /// Chunk lengths by path.
    chunks: BTreeMap<String, Vec<u64>>,
    /// Deflate's level, and whether there is a shuffle, or another filter.
    filters: BTreeMap<String, String>,
}

struct Bench {
    folder: TempDir,
    nccopy: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let nccopy = folder.path().join("nccopy");
        symlink(env!("CARGO_BIN_EXE_ncz"), &nccopy).unwrap();
        source(&folder.path().join("a.nczarr"));
        Self { folder, nccopy }
    }

    fn ours<S: AsRef<str>>(&self, options: &[S]) -> Run {
        let mut command = Command::new(&self.nccopy);
        command.env("HDF5_PLUGIN_PATH", "").current_dir(self.folder.path());
        run(command
            .args(options.iter().map(AsRef::as_ref))
            .args(["file://a.nczarr#mode=nczarr,file", "file://o.nczarr#mode=nczarr,file"]))
    }

    fn copied(&self) -> Dataset {
        let store = FileStore::open(self.folder.path().join("o.nczarr"), Access::Read).unwrap();
        Dataset::open(Arc::new(store), session(), &Default::default()).unwrap()
    }

    fn our_layout(&self) -> Layout {
        let dataset = self.copied();
        let mut layout = Layout::default();
        for group in dataset.hierarchy().groups() {
            let path = group.path.trim_end_matches('/');
            for dimension in &group.dimensions {
                let len = dimension.len as i64;
                let len = if dimension.unlimited { -1 - len } else { len };
                layout.dimensions.insert(format!("{path}/{}", dimension.name), len);
            }
            for variable in &group.variables {
                layout.chunks.insert(variable.path.clone(), variable.chunk_shape.clone());
                let word = |codec: &ncz::model::json::Json| match codec["id"].as_str().unwrap() {
                    "zlib" => format!("deflate {}", codec["level"]),
                    other => other.to_owned(),
                };
                let words: Vec<String> = variable.filters.iter().map(word).collect();
                layout.filters.insert(variable.path.clone(), words.join(" "));
            }
        }
        layout
    }

    /// netcdf-c's copy of the same as a netCDF-4 file; `None`: it refuses.
    fn their_layout(&self, options: &[String]) -> Option<Layout> {
        let (cdl, input, output) = ("a.cdl", "a.nc", "o.nc");
        let at = |name: &str| {
            let mut command = Command::new(program(name).unwrap());
            command.current_dir(self.folder.path());
            command
        };
        std::fs::write(self.folder.path().join(cdl), CDL).unwrap();
        let _ = std::fs::remove_file(self.folder.path().join(output));
        assert_eq!(run(at("ncgen").args(["-4", "-o", input, cdl])).code, 0);
        let copied = run(at("nccopy").args(options).args([input, output]));
        if copied.code != 0 {
            return None;
        }
        Some(layout_of(&run(at("ncdump").args(["-h", "-s", output])).ends(0).stdout))
    }
}

/// Reads the text of `ncdump -h -s`.
fn layout_of(text: &str) -> Layout {
    let mut layout = Layout::default();
    let mut group = String::new();
    let mut shapes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // Those of groups say who wrote the file.
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(':')) {
        let words = line.trim_end_matches(';').trim();
        if let Some(name) = line.strip_prefix("group: ") {
            group = format!("{group}/{}", name.trim_end_matches(" {"));
        } else if line.starts_with("} // group") {
            group.truncate(group.rfind('/').unwrap());
        } else if let Some((name, len)) = line.split_once(" = UNLIMITED ; // (") {
            let len: i64 = len.trim_end_matches(" currently)").parse().unwrap();
            layout.dimensions.insert(format!("{group}/{name}"), -1 - len);
        } else if let Some(declared) = words.strip_prefix("double ") {
            let (name, dimensions) = declared.trim_end_matches(')').split_once('(').unwrap();
            let path = format!("{group}/{name}");
            layout.filters.insert(path.clone(), String::new());
            shapes.insert(path, dimensions.split(", ").map(str::to_owned).collect());
        } else if let Some((name, rest)) = words.split_once(":_") {
            let path = format!("{group}/{name}");
            let (key, value) = rest.split_once(" = ").unwrap();
            let filters = layout.filters.entry(path.clone()).or_default();
            match key {
                "ChunkSizes" => {
                    let lens = value.split(", ").map(|len| len.parse().unwrap()).collect();
                    layout.chunks.insert(path, lens);
                }
                "Shuffle" => filters.insert_str(0, if filters.is_empty() { "shuffle" } else { "shuffle " }),
                "DeflateLevel" => {
                    filters.push_str(if filters.is_empty() { "" } else { " " });
                    filters.push_str(&format!("deflate {value}"));
                }
                "Filter" => filters.push_str("bz2"),
                _ => {}
            }
        } else if let Some((name, len)) = words.split_once(" = ")
            && let Ok(len) = len.parse()
        {
            layout.dimensions.insert(format!("{group}/{name}"), len);
        }
    }
    // What is contiguous is one chunk.
    for (path, names) in shapes {
        let len = |name: &String| {
            let len = layout.dimensions.get(&format!("/{name}")).or_else(|| layout.dimensions.get("/g/z"));
            let len = *len.unwrap();
            if len < 0 { (-1 - len) as u64 } else { len as u64 }
        };
        let whole = names.iter().map(len).collect();
        layout.chunks.entry(path).or_insert(whole);
    }
    layout
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn the_copy_has_the_layout_of_nccopys_save_for_the_listed_differences() {
    for name in ["ncgen", "nccopy", "ncdump"] {
        if program(name).is_err() {
            return;
        }
    }
    let listed: Json = serde_json::from_str(include_str!("nccopy_differences.json")).unwrap();
    let listed: Vec<(Vec<String>, String)> = listed["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            assert!(entry["reason"].as_str().unwrap().len() > 20, "{entry}");
            let options = entry["options"].as_array().unwrap().iter();
            let options = options.map(|word| word.as_str().unwrap().to_owned()).collect();
            (options, entry["differs"].as_str().unwrap().to_owned())
        })
        .collect();
    let same = [
        "",
        "-v time",
        "-V time",
        "-V /g/q,t",
        "-c time/2,x/10 -M 0",
        "-c time/2,x/10",
        "-c t:1,30,40",
        "-c t:3,5,10 -M 0",
        "-c time/ -M 0",
        "-d 5",
        "-d 5 -s",
        "-d 0",
        "-M 0",
        "-M 4000",
        "-F none",
        "-4",
        "-k nc4",
        "-k enhanced",
        "-m 5M -h 1M -e 1000",
        "-w",
        "-u -c time/2 -M 0",
        "-F none -d 5",
        "-d 5 -F big,none",
    ];
    let (bench, mut wrong) = (Bench::new(), Vec::new());
    let cases = same
        .iter()
        .map(|line| (words(line), None))
        .chain(listed.into_iter().map(|(options, differs)| (options, Some(differs))));
    for (options, differs) in cases {
        let theirs = bench.their_layout(&options);
        let ours = bench.ours(&options);
        assert_eq!(ours.code, 0, "{options:?}: {ours:?}");
        assert_eq!((ours.stdout.as_str(), ours.stderr.as_str()), ("", ""), "{options:?}");
        let ours = bench.our_layout();
        let Some(theirs) = theirs else {
            if differs.as_deref() != Some("refused") {
                wrong.push(format!("{options:?}: nccopy refuses, listed {differs:?}"));
            }
            continue;
        };
        let found = if ours.chunks.keys().ne(theirs.chunks.keys()) {
            Some("variables")
        } else if ours.dimensions != theirs.dimensions {
            Some("dimensions")
        } else if ours.filters != theirs.filters {
            Some("filters")
        } else if ours.chunks != theirs.chunks {
            Some("chunks")
        } else {
            None
        };
        if found != differs.as_deref() {
            wrong.push(format!(
                "{options:?}: {found:?}, listed {differs:?}\nours:   {ours:?}\ntheirs: {theirs:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_eight_rows_of_the_documentation_hold_whatever_the_input_has() {
    let bench = Bench::new();
    let bz2 = r#"[{"id":"bz2","level":9}]"#;
    let kept = r#"[{"id":"shuffle","elementsize":8},{"id":"zlib","level":3}]"#;
    for (line, path, wanted) in [
        ("-F none", "/t", "[]"),
        ("-F none -F t,none", "/t", "[]"),
        ("-F none -F t,307,9", "/t", bz2),
        ("-F big,307,9", "/t", kept),
        ("-F t,none", "/t", "[]"),
        ("-F t,307,9", "/t", bz2),
        ("-F t,307,9", "/big", "[]"),
        ("-F big,307,9", "/big", bz2),
        // The input's deflate is ignored if -F or -d applies to the variable.
        ("-d 0 -F t,307,9", "/t", bz2),
        ("-d 5 -F big&t,307,9", "/t", bz2),
    ] {
        let ran = bench.ours(&words(line));
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        let filters = Json::from(bench.copied().hierarchy().variable(path).unwrap().filters.clone());
        assert_eq!(filters, serde_json::from_str::<Json>(wanted).unwrap(), "{line}: {path}");
    }
}

#[test]
fn values_are_copied_of_what_is_listed_and_the_rest_reads_as_fill() {
    let bench = Bench::new();
    let first = |path: &str| {
        let dataset = bench.copied();
        let array = dataset.array(path).unwrap();
        let mut out = [0; 8];
        let slab = Slab::new(vec![1; array.shape().len()], vec![1; array.shape().len()]);
        array.read_bytes(&slab, Elements::Native, &mut out).unwrap();
        f64::from_ne_bytes(out)
    };
    const FILL: f64 = 9.969_209_968_386_869e36;
    bench.ours(&words("-v /t,/g/q")).ends(0);
    // The element at [1, 1, 1] of 3 x 30 x 40.
    assert_eq!([first("/t"), first("/g/q"), first("/big")], [1241.0, 1.0, FILL]);
    bench.ours(&words("-g /g/h")).ends(0);
    assert_eq!([first("/g/h/p"), first("/g/q"), first("/big")], [1.0, FILL, FILL]);
}

#[test]
fn what_makes_no_sense_is_refused_by_name_with_code_1() {
    let bench = Bench::new();
    for (options, wanted) in [
        ("-3", "is the location of a Zarr dataset; name a local file that ends in .nc"),
        ("-5", "name a local file that ends in .nc"),
        ("-6", "name a local file that ends in .nc"),
        ("-k classic", "name a local file that ends in .nc"),
        ("-x", "-x: there is no chunk cache"),
        ("-Xf", "-X f: "),
        ("-z", "invalid option -- 'z'"),
        ("-d 11", "invalid deflation level: 11"),
        ("-v nothing", "there is no variable \"nothing\""),
        ("-G nothing", "there is no group \"nothing\""),
        ("-c nothing/3", "there is no dimension \"nothing\""),
    ] {
        bench.ours(&words(options)).ends(1).says(&[wanted]);
    }
    std::fs::write(bench.folder.path().join("in.nc"), b"\x89HDF\r\n\x1a\n0000").unwrap();
    let mut command = Command::new(&bench.nccopy);
    let ran = run(command.current_dir(bench.folder.path()).args(["in.nc", "out.nczarr"])).ends(1);
    ran.says(&["\"in.nc\"", "the superblock at 0"]);
    let mut command = Command::new(&bench.nccopy);
    run(command.current_dir(bench.folder.path()).args(["a.nczarr", "out.nc"])).ends(0);
    let mut command = Command::new(&bench.nccopy);
    run(&mut command).ends(1).says(&["usage: nccopy"]);
}
