use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ncz_test_support::{fixtures, program, unpack};
use tempfile::TempDir;

use crate::bench::{Run, assert_same_text, command, ocean, run};

/// ncz started under another name.
pub(crate) fn tool<S: AsRef<std::ffi::OsStr>>(name: &str, args: impl IntoIterator<Item = S>) -> Run {
    run(command().arg0(name).args(args))
}

/// A program of the system, in the same surroundings.
pub(crate) fn theirs<S: AsRef<std::ffi::OsStr>>(path: &Path, args: impl IntoIterator<Item = S>) -> Run {
    let mut run = run(Command::new(path)
        .arg0(path.file_name().unwrap())
        .args(args)
        .env("LC_ALL", "C")
        .env("HDF5_PLUGIN_PATH", "")
        .env_remove("NCLOGGING"));
    // netCDF looks for S3 accounts in every call.
    let said = run.stderr.lines().filter(|line| !line.starts_with("Warning:"));
    run.stderr = said.map(|line| format!("{line}\n")).collect();
    run
}

/// The table of NCDUMP.md: dataset, text of ncdump, ours.
pub(crate) fn differences() -> Vec<[String; 3]> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("NCDUMP.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let cell = |text: &str| match text.trim() {
        "nothing" => String::new(),
        text => text.trim_matches('`').replace("\\t", "\t").replace("\\n", "\n"),
    };
    let rows: Vec<[String; 3]> = rows
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
            [cell(cells[0]), cell(cells[1]), cell(cells[2])]
        })
        .collect();
    assert_eq!(rows.len(), 14);
    rows
}

/// Every dataset of which there is a text of ncdump 4.10.2: its name (`nczarr/simple`) and a folder with it.
fn stored() -> Vec<(String, TempDir)> {
    let mut datasets = Vec::new();
    for kind in ["nczarr", "zarr", "noxarray"] {
        for entry in fs::read_dir(fixtures().join(format!("netcdf-c-4.10.2/{kind}"))).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|found| found == "ncdump") {
                let name = format!("{kind}/{}", path.file_stem().unwrap().to_str().unwrap());
                datasets.push((name.clone(), unpack(format!("netcdf-c-4.10.2/{name}.zip")).unwrap()));
            }
        }
    }
    datasets.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(datasets.len(), 25);
    datasets
}

#[test]
fn stored_texts_of_ncdump_are_matched_to_the_byte() {
    let differences = differences();
    let mut used = vec![false; differences.len()];
    for (name, folder) in stored() {
        for (extension, options) in [("ncdump", ""), ("ncdump-hs", "-hs")] {
            let file = fixtures().join(format!("netcdf-c-4.10.2/{name}.{extension}"));
            let mut wanted = fs::read_to_string(file).unwrap();
            for ((dataset, theirs, ours), used) in
                differences.iter().map(|[a, b, c]| (a, b, c)).zip(&mut used)
            {
                if name.ends_with(dataset.as_str()) && wanted.contains(theirs.as_str()) {
                    wanted = wanted.replace(theirs, ours);
                    *used = true;
                }
            }
            let short = name.split('/').next_back().unwrap();
            let mut args = vec!["-n", short, folder.path().to_str().unwrap()];
            args.extend(Some(options).filter(|options| !options.is_empty()));
            let run = tool("ncdump", args).ends(0);
            assert_eq!(run.stderr, "", "{name}");
            assert_same_text(&run.stdout, &wanted, &format!("{name}.{extension}"));
        }
    }
    assert_eq!(used, vec![true; differences.len()], "differences that are none any more");
}

/// What to ask for of each dataset; `V` is its first variable.
const OPTIONS: [&str; 24] = [
    "",
    "-h",
    "-c",
    "-v V",
    "-g /",
    "-n other",
    "-p 5",
    "-p 5,9",
    "-p 9,17",
    "-d 3,4",
    "-b c",
    "-b f",
    "-f c",
    "-f f",
    "-b c -f f",
    "-l 60",
    "-l 20",
    "-t",
    "-i",
    "-t -i",
    "-t -l 40",
    "-k",
    "-w",
    "-L0 -h",
];

/// Compares our text of a dataset with ncdump's of a netCDF file of the same content.
fn compare_with_twin(ncdump: &Path, ours: &Path, twin: &Path, name: &str) {
    let header = tool("ncdump", [Path::new("-h"), ours]).ends(0).stdout;
    let first = header.lines().skip_while(|line| *line != "variables:").nth(1).unwrap_or_default();
    let first = first.trim().split([' ', '(']).nth(1).unwrap_or_default();
    for options in OPTIONS {
        let options: Vec<&str> = options
            .split(' ')
            .filter(|word| !word.is_empty())
            .map(|word| if word == "V" { first } else { word })
            .collect();
        let named = options.contains(&"-n");
        let with = |path: &Path| {
            let mut args: Vec<String> = options.iter().map(ToString::to_string).collect();
            if !named {
                args.extend(["-n".to_owned(), "d".to_owned()]);
            }
            args.push(path.to_str().unwrap().to_owned());
            args
        };
        let (mut ours, mut theirs) = (tool("ncdump", with(ours)), theirs(ncdump, with(twin)));
        if name.ends_with("/types") {
            // ncgen took -0 for 0.
            ours.stdout = ours.stdout.replace("-0, ", "0, ");
        }
        let what = format!("{name} {options:?}");
        assert_eq!((ours.code, ours.stderr.as_str()), (theirs.code, theirs.stderr.as_str()), "{what}");
        if options.ends_with(&["-f", "f"]) {
            // NCDUMP.md: the index of a scalar.
            theirs.stdout = theirs
                .stdout
                .lines()
                .map(|line| match line.rsplit_once('(') {
                    Some((start, index))
                        if line.starts_with(' ')
                            && index.len() <= 4
                            && start.contains(";  // ")
                            && !ours.stdout.contains(line) =>
                    {
                        format!("{start}(1)\n")
                    }
                    _ => format!("{line}\n"),
                })
                .collect();
        }
        assert_same_text(&ours.stdout, &theirs.stdout, &what);
    }
}

/// A netCDF file with the content of a dataset, through our CDL with all digits.
fn twin(ncgen: &Path, ours: &Path, folder: &Path) -> PathBuf {
    let cdl = tool("ncdump", ["-p", "9,17", "-n", "d", ours.to_str().unwrap()]).ends(0).stdout;
    let text = folder.join("d.cdl");
    fs::write(&text, cdl).unwrap();
    let file = folder.join("d.nc");
    let run = theirs(ncgen, ["-4", "-o", file.to_str().unwrap(), text.to_str().unwrap()]).ends(0);
    assert_eq!(run.stderr, "");
    file
}

#[test]
fn every_option_prints_what_ncdump_prints_for_a_file_of_the_same_content() {
    let (Ok(ncdump), Ok(ncgen)) = (program("ncdump"), program("ncgen")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for (name, dataset) in stored() {
        let path = dataset.path();
        let twin = twin(&ncgen, path, folder.path());
        compare_with_twin(&ncdump, path, &twin, &name);
        compared += 1;
    }
    assert_eq!(compared, 25);
}

/// A dataset that the system's ncgen wrote from CDL, as NCZarr and as a netCDF file.
struct Both {
    folder: TempDir,
    nczarr: PathBuf,
    netcdf: PathBuf,
}

impl Both {
    fn of(ncgen: &Path, cdl: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("d.cdl");
        fs::write(&text, cdl).unwrap();
        let (nczarr, netcdf) = (folder.path().join("d.nczarr"), folder.path().join("d.nc"));
        let url = format!("file://{}#mode=nczarr,file", nczarr.display());
        for target in [url.as_str(), netcdf.to_str().unwrap()] {
            theirs(ncgen, ["-4", "-o", target, text.to_str().unwrap()]).ends(0);
        }
        Self { folder, nczarr, netcdf }
    }

    fn url(&self) -> String {
        format!("file://{}#mode=nczarr,file", self.nczarr.display())
    }
}

#[test]
fn times_are_dates_in_every_calendar_as_ncdump_has_them() {
    let (Ok(ncdump), Ok(ncgen)) = (program("ncdump"), program("ncgen")) else { return };
    let both = Both::of(&ncgen, include_str!("times.cdl"));
    compare_with_twin(&ncdump, &both.nczarr, &both.netcdf, "times");
}

#[test]
fn dates_of_any_number_are_those_of_ncdump() {
    let (Ok(ncdump), Ok(ncgen)) = (program("ncdump"), program("ncgen")) else { return };
    let mut state = 7u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    const CALENDARS: [&str; 9] = [
        "standard",
        "gregorian",
        "proleptic_gregorian",
        "noleap",
        "365_day",
        "all_leap",
        "366_day",
        "360_day",
        "julian",
    ];
    const UNITS: [(&str, u64); 8] = [
        ("seconds", 20_000_000_000),
        ("minutes", 500_000_000),
        ("hours", 10_000_000),
        ("days", 800_000),
        ("weeks", 100_000),
        ("months", 20_000),
        ("seasons", 5000),
        ("years", 1500),
    ];
    let mut cdl = "netcdf d {\ndimensions:\n\tn = 12 ;\nvariables:\n".to_owned();
    let mut data = String::new();
    for (at, calendar) in CALENDARS.iter().cycle().take(72).enumerate() {
        let (unit, most) = UNITS[at % UNITS.len()];
        let (year, month, day) = (1400 + random(800), 1 + random(12), 1 + random(28));
        let (hour, minute, second) = (random(24), random(60), random(60));
        cdl.push_str(&format!(
            "\tdouble v{at}(n) ;\n\t\tv{at}:units = \"{unit} since {year}-{month}-{day} {hour}:{minute}:{second}\" ;\n\t\tv{at}:calendar = \"{calendar}\" ;\n"
        ));
        let numbers: Vec<String> = (0..12)
            .map(|number| {
                let whole = random(most) as i64 - (most / 3) as i64;
                let fraction = ["", ".5", ".25", ".123456789"][number % 4];
                format!("{whole}{fraction}")
            })
            .collect();
        data.push_str(&format!(" v{at} = {} ;\n", numbers.join(", ")));
    }
    let both = Both::of(&ncgen, &format!("{cdl}data:\n{data}}}\n"));
    for option in ["-t", "-i"] {
        let ours = tool("ncdump", [option, both.nczarr.to_str().unwrap()]).ends(0).stdout;
        let theirs = theirs(&ncdump, [option, both.netcdf.to_str().unwrap()]).ends(0).stdout;
        assert_same_text(&ours, &theirs, option);
    }
}

#[test]
fn what_netcdf_wrote_as_nczarr_prints_as_netcdf_prints_it() {
    let (Ok(ncdump), Ok(ncgen)) = (program("ncdump"), program("ncgen")) else { return };
    let cdl = "netcdf d {\ndimensions:\n\tx = 6 ;\n\ty = 4 ;\nvariables:\n\tint v(y, x) ;\n\t\tv:_ChunkSizes = 2, 3 ;\n\t\tv:_Shuffle = \"true\" ;\n\t\tv:_DeflateLevel = 4 ;\n\tfloat w(x) ;\n\t\tw:_FillValue = -1.f ;\n\t\tw:_Fletcher32 = \"true\" ;\n\t\tw:_Endianness = \"little\" ;\n\tbyte b(y) ;\n\t\tb:_NoFill = \"true\" ;\n\n// global attributes:\n\t\t:title = \"t\" ;\ndata:\n w = 1, 2, 3, 4, 5, 6 ;\n b = 1, 2, 3, 4 ;\n v = 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24 ;\n}\n";
    let both = Both::of(&ncgen, cdl);
    let url = both.url();
    for options in ["", "-h", "-s", "-hs", "-sF", "-h -F", "-k", "-K", "-c -s"] {
        let args = || options.split(' ').filter(|word| !word.is_empty()).chain([url.as_str()]);
        let (ours, theirs) = (tool("ncdump", args()), theirs(&ncdump, args()));
        assert_same_text(&ours.stdout, &theirs.stdout, options);
        assert_eq!((ours.code, ours.stderr), (theirs.code, theirs.stderr), "{options}");
    }
    drop(both.folder);
}

#[test]
fn mistakes_are_reported_in_the_words_of_ncdump() {
    let (Ok(ncdump), Ok(ncgen)) = (program("ncdump"), program("ncgen")) else { return };
    let both = Both::of(
        &ncgen,
        "netcdf d {\ndimensions:\n\tx = 2 ;\nvariables:\n\tint v(x) ;\ndata:\n v = 1, 2 ;\n}\n",
    );
    for options in [
        "nowhere",
        "/etc/passwd",
        "-v other D",
        "-g other D",
        "-l 5 D",
        "-b x D",
        "-f 3 D",
        "-p 30 D",
        "-p 5,x D",
        "-X q D",
    ] {
        let with = |path: &Path| {
            let args = options.split(' ').map(|word| if word == "D" { path.to_str().unwrap() } else { word });
            args.map(str::to_owned).collect::<Vec<_>>()
        };
        let (ours, theirs) = (tool("ncdump", with(&both.nczarr)), theirs(&ncdump, with(&both.netcdf)));
        assert_eq!((ours.code, ours.stdout), (1, theirs.stdout), "{options}");
        assert_eq!(ours.stderr, theirs.stderr, "{options}");
    }
    for options in ["-z D", "-v", "", "a b"] {
        let args = || options.split(' ').filter(|word| !word.is_empty());
        let (ours, theirs) = (tool("ncdump", args()), theirs(&ncdump, args()));
        assert_eq!(ours.code, theirs.code, "{options}");
        let first = |text: &str| text.lines().next().map(str::to_owned);
        assert_eq!(first(&ours.stderr), first(&theirs.stderr), "{options}");
    }
}

#[test]
fn ncml_is_that_of_classic_files() {
    let (Ok(ncdump), Ok(ncgen)) = (program("ncdump"), program("ncgen")) else { return };
    let cdl = "netcdf d {\ndimensions:\n\tx = 2 ;\n\ty = 3 ;\nvariables:\n\tfloat v(x) ;\n\t\tv:a = 1.5f, 2.f ;\n\t\tv:s = \"a<b>&\\\"q\\\"\\n\" ;\n\tdouble w ;\n\tint n(y, x) ;\n\t\tn:_FillValue = -1 ;\n\tchar c(x) ;\n\n// global attributes:\n\t\t:title = \"t\" ;\n\t\t:d = 1e20, 3. ;\n\t\t:b = 1b, -2b ;\n\t\t:i = 7s ;\ndata:\n v = 1, 2 ;\n}\n";
    let both = Both::of(&ncgen, cdl);
    let classic = both.folder.path().join("classic.nc");
    let text = both.folder.path().join("d.cdl");
    theirs(&ncgen, ["-3", "-o", classic.to_str().unwrap(), text.to_str().unwrap()]).ends(0);
    for options in [["-x", "-w"], ["-x", "-h"], ["-x", "-vv"], ["-x", "-c"]] {
        let with = |path: &Path| {
            options
                .map(str::to_owned)
                .into_iter()
                .chain([path.to_str().unwrap().to_owned()])
                .collect::<Vec<_>>()
        };
        let ours = tool("ncdump", with(&both.nczarr)).ends(0).stdout;
        let theirs = theirs(&ncdump, with(&classic)).ends(0).stdout;
        let theirs = theirs.replace(classic.to_str().unwrap(), both.nczarr.to_str().unwrap());
        assert_same_text(&ours, &theirs, &format!("{options:?}"));
    }
}

/// A dataset with a variable `data` whose codec is not found, and one that can be read before it.
fn unknown_codec(folder: &Path) -> PathBuf {
    let root = folder.join("ref_data.zarr");
    for (name, codec) in [("before", "null"), ("data", r#"{"id": "faultycodecname"}"#)] {
        fs::create_dir_all(root.join(name)).unwrap();
        let zarray = format!(
            r#"{{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "fill_value": 7, "order": "C", "compressor": {codec}, "filters": null}}"#
        );
        fs::write(root.join(name).join(".zarray"), zarray).unwrap();
    }
    fs::write(root.join("data/0"), b"????").unwrap();
    fs::write(root.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    root
}

#[test]
fn a_codec_that_is_missing_ends_it_in_the_words_that_netcdf_tests_for() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}#mode=zarr", unknown_codec(folder.path()).display());
    let run = tool("ncdump", ["-v", "data", "-L0", &url]).ends(1);
    assert!(
        run.stderr.starts_with("ncdump: Variable 'data' has unsupported codec: (faultycodecname)"),
        "{}",
        run.stderr
    );
    tool("ncdump", ["-h", &url]).ends(0);
    let run = tool("ncdump", [&url]).ends(1);
    assert!(run.stdout.contains("\n before = 7, 7 ;\n"), "{}", run.stdout);
}

#[test]
fn a_reader_that_closes_the_pipe_is_not_an_error() {
    let mut child =
        command().arg0("ncdump").arg(ocean()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
}

#[test]
fn the_type_of_fill_values_and_the_properties_can_be_chosen() {
    let path = ocean();
    let path = path.to_str().unwrap();
    let run = tool("ncdump", ["-h", "-XF", path]).ends(0);
    assert!(
        run.stdout.contains("\t\tfloat air_temperature:_FillValue = ") || run.stdout.contains(":_FillValue"),
        "{}",
        run.stdout
    );
    for line in run.stdout.lines().filter(|line| line.contains(":_FillValue")) {
        assert!(line.trim().split(' ').count() >= 5, "no type: {line}");
    }
    let with = tool("ncdump", ["-hs", path]).ends(0).stdout;
    let without = tool("ncdump", ["-hs", "-Xp", path]).ends(0).stdout;
    assert!(!without.contains("_NCProperties"));
    let kept = with.lines().filter(|line| !line.contains("_NCProperties")).count();
    assert_eq!(without.lines().count(), kept);
}
