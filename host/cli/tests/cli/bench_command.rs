use std::fs;

use crate::bench::{ncz, ocean};

fn bench(arguments: &[&str]) -> crate::bench::Run {
    let ocean = ocean();
    let fixed = ["bench", ocean.to_str().unwrap(), "air_temperature", "--time", "2"];
    ncz(fixed.iter().chain(arguments))
}

/// Runs a command that was printed in a shell, as a user does it.
fn paste(folder: &std::path::Path, line: &str) {
    let line = line.replacen("ncz", env!("CARGO_BIN_EXE_ncz"), 1);
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &line]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
}

#[test]
fn the_command_that_it_names_stores_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("ocean-recompressed.nczarr");
    // The best chain of all is tried first, however short the time.
    let report = bench(&["--json", "--also", "bz2,9"]).ends(0).json();
    let choice = &report["choices"][0];
    assert_eq!(choice["what"], "best ratio");
    let chain =
        report["chains"].as_array().unwrap().iter().find(|one| one["chain"] == choice["chain"]).unwrap();
    paste(folder.path(), choice["command"].as_str().unwrap());
    let chunks = fs::read_dir(target.join("air_temperature")).unwrap().map(|entry| entry.unwrap());
    let chunks = chunks.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let stored: u64 = chunks.map(|entry| entry.metadata().unwrap().len()).sum();
    assert_eq!(chain["stored"], stored);
    assert_eq!(report["sample"]["existing_objects"], report["sample"]["chunks"]);
}

/// The report of `air_temperature` of a copy of the ocean in this format.
fn report_of(folder: &std::path::Path, format: &str) -> serde_json::Value {
    let target = folder.join(format);
    ncz(["copy".as_ref(), ocean().as_os_str(), target.as_os_str(), "--format".as_ref(), format.as_ref()])
        .ends(0);
    let fixed = ["bench", target.to_str().unwrap(), "air_temperature", "--time", "2", "--json"];
    ncz(fixed.iter().chain(&NAMED)).ends(0).json()
}

/// Chains to try first, however short the time.
const NAMED: [&str; 8] =
    ["--also", "32008,0,2", "--also", "szip,32,32", "--also", "gzip,6", "--also", r#"{"id":"pcodec"}"#];

#[test]
fn only_chains_that_the_datasets_readers_have_are_recommended_and_the_others_are_marked() {
    let folder = tempfile::tempdir().unwrap();
    for (format, reader, lacks, has) in [
        ("nczarr", "netcdf-c", "gzip,6", "szip,32,32"),
        ("zarr", "zarr-python", "szip,32,32", "gzip,6"),
        ("zarr3", "zarr-python", "szip,32,32", "gzip,6"),
    ] {
        let report = report_of(folder.path(), format);
        assert_eq!(report["reader"], reader);
        let chains = report["chains"].as_array().unwrap();
        let trial = |chain: &serde_json::Value| chains.iter().find(|one| one["chain"] == *chain).unwrap();
        let unread = |chain: &str| trial(&chain.into())["unread"].clone();
        assert_eq!(unread("32008,0,2"), "only ncz reads it", "{format}");
        assert!(unread(has).is_null(), "{format}");
        assert_eq!(unread(lacks), format!("{reader} does not read it"), "{format}");
        let choices = report["choices"].as_array().unwrap();
        assert_eq!(choices.len(), 3, "{choices:?}");
        for choice in choices {
            let trial = trial(&choice["chain"]);
            assert!(trial["unread"].is_null() && trial["ratio"].as_f64().unwrap() >= 1.05, "{trial}");
        }
        // The best one of all is not recommended if the readers lack it.
        assert_ne!(choices[0]["chain"], r#"{"id":"pcodec"}"#, "{format}");
    }
    let run = bench(&NAMED).ends(0);
    assert!(run.stdout.contains("(only ncz reads it)"), "{}", run.stdout);
    assert!(run.stdout.contains("(netcdf-c does not read it)"), "{}", run.stdout);
}

#[test]
fn where_no_codec_helps_that_is_what_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let array = folder.path().join("noise.zarr/t");
    fs::create_dir_all(&array).unwrap();
    fs::write(folder.path().join("noise.zarr/.zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    let zarray = r#"{"zarr_format": 2, "shape": [65536], "chunks": [65536], "dtype": "|u1", "fill_value": 0, "order": "C",
        "compressor": null, "filters": null}"#;
    fs::write(array.join(".zarray"), zarray).unwrap();
    let mut state = 1u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(65536)
    .collect();
    fs::write(array.join("0"), noise).unwrap();
    let page = folder.path().join("page.html");
    let dataset = folder.path().join("noise.zarr");
    let run = |options: &[&str]| {
        let fixed = ["bench", dataset.to_str().unwrap(), "t", "--time", "1"];
        ncz(fixed.iter().chain(options)).ends(0)
    };
    let said = "no codec helps: none that zarr-python can read makes the sample at least 1.05 times smaller";
    let text = run(&["--html", page.to_str().unwrap()]).stdout;
    assert!(text.contains(said) && !text.contains("--codec"), "{text}");
    assert!(fs::read_to_string(&page).unwrap().contains(said));
    assert_eq!(run(&["--json"]).json()["choices"], serde_json::json!([]));
}

#[test]
fn the_page_is_self_contained_and_marks_the_front() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let run = bench(&["--html", page.to_str().unwrap()]).ends(0);
    assert!(run.stdout.contains("best ratio: "), "{}", run.stdout);
    assert!(run.stdout.contains("--codec 'air_temperature="), "{}", run.stdout);
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("default-src 'none'"));
    for outside in ["<script ", "http://", "https://", "src=", "@import", "url("] {
        assert!(!html.contains(outside), "{outside} is in the page");
    }
    assert!(html.contains("prefers-color-scheme: dark"));
    assert_eq!(html.matches("<svg").count(), 2);
    let rows = html.matches("<code>").count() - html.matches("<p><code>").count();
    let points = html.matches("<circle class=\"dot").count();
    assert_eq!(points, 2 * rows, "each chain is in both charts");
    assert!(html.contains("<circle class=\"dot front\"") && html.contains("<circle class=\"dot now\""));
    assert_eq!(html.matches("<title>").count(), points + 1, "each point says what it is");
    assert!(
        html.contains(">now: ") && html.contains("decoded megabytes in a second") && html.contains("read by")
    );
    is_the_script_allowed(&html);
}

/// Computes the hash of the script, which the page allows.
fn is_the_script_allowed(html: &str) {
    let Ok(python) = ncz_test_support::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [page, program] = ["page.html", "hash.py"].map(|name| folder.path().join(name));
    fs::write(&page, html).unwrap();
    let text = "import base64, hashlib, re, sys\n\
                page = open(sys.argv[1]).read()\n\
                script, = re.findall('<script>(.*?)</script>', page, re.S)\n\
                digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()\n\
                assert f\"script-src 'sha256-{digest}'\" in page, digest\n";
    fs::write(&program, text).unwrap();
    python.run(&program, &[page.to_str().unwrap()], &[]).unwrap();
}

/// A dataset of two alike variables, one of noise, one of another type, and a short one.
fn mixed(folder: &std::path::Path) -> std::path::PathBuf {
    let cdl = folder.join("mixed.cdl");
    let numbers =
        |of: &dyn Fn(u64) -> u64| (0..6000).map(|at| of(at).to_string()).collect::<Vec<_>>().join(", ");
    let noise = numbers(&|at| {
        let mixed = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 56
    });
    let text = format!(
        "netcdf mixed {{\ndimensions: x = 6000; y = 3;\nvariables: int one(x); int two(x); ubyte noise(x); double far(x); \
         int y(y);\n one:_ChunkSizes = 2000; two:_ChunkSizes = 2000;\ndata:\n one = {};\n two = {};\n noise = {noise};\n \
         far = {};\n y = 1, 2, 3;\n}}\n",
        numbers(&|at| at / 3),
        numbers(&|at| at / 5 + 7),
        numbers(&|at| at / 100),
    );
    fs::write(&cdl, text).unwrap();
    let dataset = folder.join("mixed.nczarr");
    ncz(["gen", cdl.to_str().unwrap(), "-o", dataset.to_str().unwrap()]).ends(0);
    dataset
}

#[test]
fn a_dataset_gets_one_command_for_its_groups_of_variables() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = mixed(folder.path());
    let page = folder.path().join("page.html");
    let run = |options: &[&str]| {
        let fixed = ["bench", dataset.to_str().unwrap(), "--time", "3"];
        ncz(fixed.iter().chain(options)).ends(0)
    };
    let report = run(&["--rank", "size", "--json", "--html", page.to_str().unwrap()]).json();
    let groups = report["groups"].as_array().unwrap();
    let of = |name: &str| {
        let has = |group: &&serde_json::Value| group["variables"].as_array().unwrap().contains(&name.into());
        groups.iter().find(has).unwrap()
    };
    assert_eq!(of("/one"), of("/two"), "{report:#}");
    assert!(of("/noise")["recommended"].is_null(), "{report:#}");
    assert_ne!(of("/far"), of("/one"));
    assert_eq!(report["left_out"][0]["variable"], "/y");
    for group in groups.iter().filter(|group| !group["recommended"].is_null()) {
        assert!(group["recommended"]["ratio"].as_f64().unwrap() >= 1.05, "{group}");
    }
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("Groups of similar variables") && html.contains("one, two"), "{html}");
    is_the_script_allowed(&html);
    // The command does all of it.
    paste(folder.path(), report["command"].as_str().unwrap());
    let copied = folder.path().join("mixed-recompressed.nczarr");
    crate::bench::assert_same_text(&crate::bench::dump(&copied), &crate::bench::dump(&dataset), "the copy");
    let sizes = |path: &std::path::Path| ncz(["info", path.to_str().unwrap(), "--sizes", "--json"]).json();
    let (before, after) = (sizes(&dataset), sizes(&copied));
    let stored = |report: &serde_json::Value, name: &str| {
        let variables = report["variables"].as_array().unwrap();
        let variable = variables.iter().find(|variable| variable["path"] == name).unwrap();
        variable["stored_bytes"].as_u64().unwrap()
    };
    for name in ["/one", "/two", "/far"] {
        assert!(stored(&after, name) * 5 < stored(&before, name) * 4, "{name}: {after:#}");
    }
    assert_eq!(stored(&after, "/noise"), stored(&before, "/noise"));
    // The answer is the first line.
    let text = run(&[]).stdout;
    assert!(text.starts_with("Give 3 of 5 variables other codecs: the dataset becomes "), "{text}");
    assert!(text.contains("ncz copy ") && text.contains("--codec 'one&two="), "{text}");
    // What is good already stays.
    let copied = copied.to_str().unwrap();
    let again = ncz(["bench", copied, "--time", "3", "--rank", "size"]).ends(0).stdout;
    assert!(again.starts_with("Keep the dataset as it is: "), "{again}");
    ncz(["bench", copied, "--rank", "best"]).ends(2).says(&["expected size, speed or balanced"]);
}

#[test]
fn what_cannot_be_tried_is_reported() {
    let ocean = ocean();
    let ocean = ocean.to_str().unwrap();
    ncz(["bench", ocean, "air_temprature"]).ends(2).says(&["did you mean \"/air_temperature\"?"]);
    ncz(["bench", ocean, "air_temperature", "--also", "zstd,,"]).ends(2);
    let misspelt = bench(&["--also", r#"{"id":"zstd","leve":3}"#]).ends(2);
    misspelt.says(&["unknown key \"leve\"; did you mean \"level\"?"]);
    ncz(["bench", ocean, "air_temperature", "--sample", "0"]).ends(2).says(&["expected a size above 0"]);
    let bad = bench(&["--html", "/nowhere/there/page.html"]).ends(3);
    bad.says(&["cannot write /nowhere/there/page.html"]);
}
