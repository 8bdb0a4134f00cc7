use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use ncz_test_support::{fixtures, program};

use crate::bench::{Run, assert_same_text, command, dump, ncz, run};

fn cdl(name: &str) -> String {
    fixtures().join(format!("cdl/{name}.cdl")).to_str().unwrap().to_owned()
}

/// Runs the program under the name of ncgen, in a folder.
fn ncgen(folder: &Path, args: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ncz"));
    command.arg0("ncgen").current_dir(folder).args(args).env("HDF5_PLUGIN_PATH", "").env("NO_COLOR", "1");
    run(&mut command)
}

#[test]
fn a_dataset_is_named_after_the_text_or_by_the_option() {
    let folder = tempfile::tempdir().unwrap();
    let made = run(command().current_dir(folder.path()).args(["gen", &cdl("simple")])).ends(0);
    assert!(made.stdout.contains("simple.zarr: NCZarr 2"), "{}", made.stdout);
    assert!(folder.path().join("simple.zarr/.zgroup").exists());
    let zip = folder.path().join("x.zip");
    let json = ncz(["gen", &cdl("simple"), "-o", zip.to_str().unwrap(), "--json"]).ends(0).json();
    assert_eq!((json["schema"].as_u64(), json["name"].as_str()), (Some(1), Some("simple")));
    assert_same_text(&dump(&zip), &dump(&folder.path().join("simple.zarr")), "zip and directory");
    let named = folder.path().join("named.nczarr");
    let text = named.to_str().unwrap();
    ncz(["gen", &cdl("simple"), text]).ends(0);
    assert_same_text(&dump(&named), &dump(&zip), "both ways to name the target");
    ncz(["gen", &cdl("simple"), text, "-o", text]).ends(2);
}

#[test]
fn an_existing_dataset_is_replaced_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x.zarr");
    let make = |name: &str, more: &[&str]| {
        let (source, target) = (cdl(name), target.to_str().unwrap().to_owned());
        ncz(["gen", &source, "-o", &target].into_iter().chain(more.iter().copied()))
    };
    make("simple", &[]).ends(0);
    let before = dump(&target);
    make("types", &[]).ends(3).says(&["--overwrite"]);
    assert_eq!(dump(&target), before);
    make("types", &["--overwrite"]).ends(0);
    assert_ne!(dump(&target), before);
}

#[test]
fn a_text_from_a_pipe_makes_what_the_file_makes() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (folder.path().join("one.zarr"), folder.path().join("other.zarr"));
    ncz(["gen", &cdl("groups"), "-q", "-o", one.to_str().unwrap()]).ends(0);
    let mut child = command()
        .args(["gen", "-", "-q", "-o", other.to_str().unwrap()])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(cdl("groups")).unwrap()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_same_text(&dump(&one), &dump(&other), "pipe and file");
}

#[test]
fn errors_show_the_line_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("bad.cdl");
    fs::write(&source, "netcdf bad {\nvariables:\n  byte v ;\ndata:\n  v = 200 ;\n}\n").unwrap();
    let make = |args: &[&str]| {
        run(command().current_dir(folder.path()).arg("gen").arg(&source).args(args)).ends(3).says(&[
            "line 5, column 7: 200 is out of range of byte (-128 to 127)",
            "\n      v = 200 ;\n          ^",
        ])
    };
    make(&[]).says(&["the target is as it was before"]);
    make(&["--check"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only the text");
    ncz(["gen", "none.cdl"]).ends(3).says(&["cannot use none.cdl"]);
}

#[test]
fn every_format_holds_the_values() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["nczarr", "zarr", "zarr3"] {
        let target = folder.path().join(format);
        ncz([
            "gen",
            &cdl("simple"),
            "-q",
            "-o",
            target.to_str().unwrap(),
            "--format",
            format,
            "--consolidated",
        ])
        .ends(0);
        let text = dump(&target);
        assert!(text.contains("_, 281.5, 282.5"), "{text}");
    }
    assert!(folder.path().join("zarr/.zmetadata").exists());
    assert!(folder.path().join("zarr3/zarr.json").exists());
}

#[test]
fn attributes_have_the_order_of_the_text_as_those_of_ncgen() {
    let (Ok(ncdump), Ok(theirs)) = (program("ncdump"), program("ncgen")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let text = "netcdf o {\ndimensions: x = 2 ;\nvariables:\n float first(x), second(x) ;\n\
         first:units = \"m\" ;\n first:_FillValue = NaNf ;\n first:after = 1 ;\n\
         second:_FillValue = -9.f ;\n second:units = \"m\" ;\ndata:\n first = 1, _ ;\n second = _, 2 ;\n}\n";
    fs::write(folder.path().join("o.cdl"), text).unwrap();
    for kind in ["-3", "-4"] {
        let args = [kind, "-o", "theirs.nc", "o.cdl"];
        run(Command::new(&theirs).current_dir(folder.path()).args(args)).ends(0);
        ncgen(folder.path(), &[kind, "-o", "ours.nc", "o.cdl"]).ends(0);
        let [theirs, ours] = ["theirs.nc", "ours.nc"].map(|file| {
            run(Command::new(&ncdump).current_dir(folder.path()).args(["-n", "o", file])).ends(0).stdout
        });
        assert_same_text(&ours, &theirs, kind);
    }
}

#[test]
fn ncgen_takes_the_command_lines_of_netcdf_c_s_scripts() {
    let folder = tempfile::tempdir().unwrap();
    let source = cdl("simple");
    ncgen(folder.path(), &["-4", "-b", "-o", "file://tmp.file#mode=nczarr,file", &source]).ends(0);
    ncgen(folder.path(), &["-4", "-lb", "-o", "file://tmp.zip#mode=zarr,zip", &source]).ends(0);
    ncgen(folder.path(), &["-k", "nc4", "-o", "tmp.nc", &source]).ends(0);
    // As ncgen, a dataset that is there begins anew.
    ncgen(folder.path(), &["-k", "nc4", "-o", "tmp.nc", &source]).ends(0);
    ncgen(folder.path(), &["-b", &source]).ends(0);
    let at = |name: &str| folder.path().join(name);
    assert!(at("tmp.file/.zgroup").exists() && at("tmp.zip").is_file() && at("simple.nc").is_file());
    assert_same_text(&dump(&at("tmp.nc")), &dump(&at("tmp.file")), "a netCDF file and NCZarr");
    // Without a target the text is checked.
    let quiet = ncgen(folder.path(), &[&source]).ends(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    ncgen(folder.path(), &["-3", "-o", "x.zarr", &source]).ends(1).says(&["--format classic", "x.zarr"]);
    ncgen(folder.path(), &["-lc", &source]).ends(1).says(&["-l c"]);
    ncgen(folder.path(), &["-z"]).ends(1).says(&["invalid option -- 'z'", "usage: ncgen"]);
    ncgen(folder.path(), &["-h"]).ends(0).says(&["usage: ncgen"]);
    ncgen(folder.path(), &["-b", "none.cdl"]).ends(1).says(&["none.cdl"]);
}
