use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use ncz_test_support::program;

use crate::bench::{ncz, ocean};

#[test]
fn bash_takes_the_completions_and_offers_commands_and_options() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(bash) = program("bash") else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("ncz.bash");
    fs::write(&script, ncz(["completions", "bash"]).ends(0).stdout)?;
    assert!(Command::new(&bash).arg("-n").arg(&script).status()?.success());
    // As bash calls it when Tab is pressed after these words.
    let offered = |words: &[&str]| -> String {
        let code = format!(
            "source {}; COMP_WORDS=({}); COMP_CWORD={}; _ncz ncz '{}' ''; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.display(),
            words.join(" "),
            words.len() - 1,
            words.last().unwrap(),
        );
        let output = Command::new(&bash).args(["-c", &code]).stderr(Stdio::inherit()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(offered(&["ncz", "ver"]).trim(), "verify");
    assert!(offered(&["ncz", "bench", "--ht"]).contains("--html"));
    assert!(offered(&["ncz", "copy", "--thr"]).contains("--threads"));
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        assert!(ncz(["completions", shell]).ends(0).stdout.contains("verify"), "{shell}");
    }
    ncz(["completions", "tcsh"]).ends(2).says(&["bash"]);
    Ok(())
}

#[test]
fn there_is_a_manual_page_for_each_command_and_man_has_nothing_to_say_against_it()
-> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let pages = folder.path().join("man1");
    let listed = ncz(["man", pages.to_str().unwrap()]).ends(0).stdout;
    for name in ["ncz.1", "ncz-copy.1", "ncz-plugins-why.1", "ncz-bench.1"] {
        assert!(pages.join(name).is_file(), "{listed}");
    }
    let copy = fs::read_to_string(pages.join("ncz-copy.1"))?;
    assert!(copy.contains(".SH EXAMPLES") && copy.contains(".TH ncz-copy 1"), "{copy}");
    let Ok(man) = program("man") else { return Ok(()) };
    for page in fs::read_dir(&pages)? {
        let page = page?.path();
        let output = Command::new(&man)
            .args(["--warnings", "-l"])
            .arg(&page)
            .envs([("MANWIDTH", "100"), ("MANPAGER", "cat"), ("LC_ALL", "C.UTF-8")])
            .output()?;
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && complaints.is_empty(), "{}: {complaints}", page.display());
        assert!(String::from_utf8_lossy(&output.stdout).contains("EXAMPLES"), "{}", page.display());
    }
    assert!(ncz(["man"]).ends(0).stdout.contains(".TH ncz 1"));
    Ok(())
}

#[test]
#[cfg(unix)]
fn links_start_the_tools_and_nothing_else_is_replaced() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let links = folder.path().join("a folder");
    let run = ncz(["links", links.to_str().unwrap()]).ends(0);
    assert!(run.stdout.contains("export PATH='") && run.stdout.contains("':\"$PATH\""), "{}", run.stdout);
    let header = Command::new(links.join("ncdump")).arg("-h").arg(ocean()).output()?;
    assert!(String::from_utf8(header.stdout)?.starts_with("netcdf ocean {"));
    let listed: Vec<String> = ncz(["links", links.to_str().unwrap(), "--json"]).ends(0).json()["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| Path::new(link.as_str().unwrap()).file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    for tool in ["ncdump", "ncgen", "nccopy"] {
        assert!(listed.iter().any(|link| link == tool), "{listed:?}");
    }
    // Another program of that name stays, and no link is made beside it.
    let other = folder.path().join("other");
    fs::create_dir(&other)?;
    fs::write(other.join("ncgen"), "mine")?;
    ncz(["links", other.to_str().unwrap()])
        .ends(2)
        .says(&["ncgen is not a link to ncz; replace it with --force"]);
    assert_eq!(fs::read_dir(&other)?.count(), 1);
    ncz(["links", other.to_str().unwrap(), "--force"]).ends(0);
    assert!(fs::symlink_metadata(other.join("ncgen"))?.is_symlink());
    fs::remove_file(other.join("ncgen"))?;
    fs::create_dir(other.join("ncgen"))?;
    ncz(["links", other.to_str().unwrap(), "--force"]).ends(2).says(&["is a folder"]);
    Ok(())
}

#[test]
#[cfg(unix)]
fn the_tools_write_consolidated_metadata_where_the_environment_says_so()
-> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    ncz(["links", folder.path().to_str().unwrap()]).ends(0);
    fs::write(
        folder.path().join("x.cdl"),
        "netcdf x { dimensions: n = 2 ; variables: int v(n) ; data: v = 1, 2 ; }",
    )?;
    for (value, wanted) in
        [("TRUE", true), ("yes", true), ("2", true), ("FALSE", false), ("0", false), ("", false)]
    {
        let tool = |name: &str, arguments: &[&str]| {
            let run = Command::new(folder.path().join(name))
                .args(arguments)
                .current_dir(&folder)
                .envs([("NCZARR_CONSOLIDATED", value), ("HDF5_PLUGIN_PATH", "")])
                .output();
            assert!(run.unwrap().status.success(), "{name} {arguments:?}");
        };
        tool("ncgen", &["-o", "file://x.zarr#mode=nczarr,file", "x.cdl"]);
        tool("nccopy", &["file://x.zarr#mode=nczarr,file", "file://y.zarr#mode=nczarr,file"]);
        for made in ["x.zarr", "y.zarr"] {
            assert_eq!(folder.path().join(made).join(".zmetadata").exists(), wanted, "{made} {value:?}");
            fs::remove_dir_all(folder.path().join(made))?;
        }
    }
    Ok(())
}
