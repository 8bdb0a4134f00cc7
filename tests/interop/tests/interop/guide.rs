//! The worked example of the book, `host/docs/src/plugin-guide.md`: its library passes the runner, and h5py prints with
//! it what the page shows.

use std::process::Command;
use std::time::Duration;

use ncz::codec::{Container, ErrorKind};
use ncz_test_support::{build_binary, build_examples, python, run, workspace_root};

use crate::harness::{bind, filters, plugins};

const ID: u32 = 32803;
const LIMIT: Duration = Duration::from_secs(600);

#[test]
fn the_worked_example_of_the_book_passes_the_runner_and_prints_in_h5py_what_the_page_shows() {
    let library = build_examples("ncz-codec").unwrap().remove("sparse").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let library_here = folder.path().join(library.file_name().unwrap());
    std::fs::copy(&library, &library_here).unwrap();
    let mut conform = Command::new(build_binary("ncz-conform").unwrap());
    run(conform.args(["--level", "6"]).arg(&library_here), LIMIT).unwrap().success("ncz-conform").unwrap();

    // ncz: an element of eight is not zero.
    let registry = plugins(&[folder.path()]);
    let chunk: Vec<u8> = (0..800_u32).flat_map(|n| (if n % 8 == 3 { n } else { 0 }).to_le_bytes()).collect();
    let spec = filters([(ID, &[][..])]);
    let chain = bind(&registry, &spec, "<i4", &[800], Container::NczarrV2);
    let mut scratch = chain.scratch();
    let stored = chain.encode(&mut scratch, &chunk).unwrap().to_vec();
    assert_eq!(stored.len(), 8 + 100 + 100 * 4);
    let mut decoded = vec![0; chunk.len()];
    chain.decode(0, &mut scratch, &stored, &mut decoded).unwrap();
    assert!(decoded == chunk);
    let cut = chain.decode(0, &mut scratch, &stored[..stored.len() - 1], &mut decoded).unwrap_err();
    assert_eq!(*cut.source.kind(), ErrorKind::Truncated);

    let Ok(python) = python() else { return };
    let page = std::fs::read_to_string(workspace_root().join("host/docs/src/plugin-guide.md")).unwrap();
    let mut scripts = page.split("```python\n").filter_map(|rest| rest.split("```").next());
    let script = scripts.find(|script| script.contains("rain.h5")).unwrap();
    let mut command = python.command(&[("HDF5_PLUGIN_PATH", folder.path().as_os_str())]);
    let printed = run(command.current_dir(folder.path()).arg("-c").arg(script), LIMIT).unwrap();
    let printed = printed.success("the script of the page").unwrap().stdout_text();
    assert!(page.contains(&format!("```text\n{printed}```")), "{printed}");
}
