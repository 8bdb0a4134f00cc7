use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::client::{block, http};

#[test]
fn the_program_serves_until_its_input_ends() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".zgroup"), "{}").unwrap();
    let folder = folder.path().to_str().unwrap();
    for (args, path) in [
        (vec!["s3", "--bucket", "air", "--public", "--load", folder], "air/.zgroup"),
        (vec!["http", folder], ".zgroup"),
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ncz-test-servers"))
            .args(&args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let endpoint = line.split('"').nth(3).unwrap();
        let client = http().build().unwrap();
        let body = block(async {
            client.get(format!("{endpoint}/{path}")).send().await.unwrap().text().await.unwrap()
        });
        assert_eq!(body, "{}", "{args:?}");
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        assert!(rest.contains(":1}"), "{rest}");
    }
}
