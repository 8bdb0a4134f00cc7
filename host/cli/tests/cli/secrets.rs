//! Every secret has a mark of its own in it; none may be seen, however much is said.

use std::net::TcpListener;
use std::process::Command;

use crate::bench::{Run, command, ocean, run};

/// What nothing may show: the parts of the URLs below, and of the environment.
const SECRETS: [&str; 6] = [
    "passw0rd-7d1f",
    "signature-3c9a0b",
    "fragment-key-51ee",
    "env-secret-a8f2",
    "env-token-77bc",
    "proxy-pass-19d3",
];

/// Places that hold all kinds of secrets, at a server's address.
fn places(address: &str) -> Vec<String> {
    let secret = "aws.secret_access_key=fragment-key-51ee";
    vec![
        format!("http://me:passw0rd-7d1f@{address}/bucket/a.zarr"),
        format!("http://{address}/bucket/a.zarr?X-Amz-Date=20261122&X-Amz-Signature=signature-3c9a0b"),
        format!("http://me:passw0rd-7d1f@{address}/bucket/a.zarr?sig=signature-3c9a0b#mode=zarr"),
        format!("http://{address}/bucket/a.zarr#mode=s3,zarr&{secret}"),
        format!(
            "http://{address}/bucket/a.zarr#mode=s3,zarr&aws.access_key_id=AKIAX&{secret}&aws.region=eu-1"
        ),
        format!("[{secret}][mode=s3]http://{address}/bucket/a.zarr"),
        format!("s3://bucket/a.zarr#{secret}"),
        format!("s3://me:passw0rd-7d1f@bucket/a.zarr?X-Amz-Signature=signature-3c9a0b"),
        format!("https://me:pa/ss#passw0rd-7d1f@{address}/bucket/a.zarr"),
        format!("gopher://me:passw0rd-7d1f@{address}/a?X-Amz-Signature=signature-3c9a0b#{secret}"),
        format!("/nowhere/a.zarr#mode=s3&{secret}"),
        format!("http://me:passw0rd-7d1f@{address}:no-port/a.zarr"),
    ]
}

/// The program with everything in its environment that may make it talk.
fn talkative(address: &str) -> Command {
    let mut command = command();
    command
        .env("NCTRACING", "9")
        .env("NCLOGGING", "DEBUG")
        .env("RUST_LOG", "trace")
        .env("RUST_BACKTRACE", "full")
        .env("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
        .env("AWS_SECRET_ACCESS_KEY", "env-secret-a8f2")
        .env("AWS_SESSION_TOKEN", "env-token-77bc")
        .env("AWS_ENDPOINT_URL_S3", format!("http://{address}"))
        .env("AWS_REGION", "us-east-1")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_CONFIG_FILE", "/nowhere/config")
        .env("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials")
        .env("NCRCENV_IGNORE", "1");
    command
}

/// The commands that take a place, in all the ways they talk.
fn command_lines(place: &str, beside: &str) -> Vec<Vec<String>> {
    let ocean = ocean().display().to_string();
    let lines: [&[&str]; 11] = [
        &["info", "-vvv", place],
        &["info", "-vvv", "--json", "--sizes", place],
        &["copy", "-vvv", place, beside],
        &["copy", "-vvv", "--json", place, beside],
        &["copy", "-vvv", &ocean, place],
        &["copy", "-vvv", "--json", "--overwrite", &ocean, place],
        &["verify", "-vvv", place],
        &["verify", "-vvv", "--json", place],
        &["verify", "-vvv", "--repair-to", beside, place],
        &["dump", "--verbose", "--verbose", "--verbose", place],
        // One place too many, and one as an option: the errors of the command line name them.
        &["info", "one", place, "three"],
    ];
    let owned = |line: &&[&str]| line.iter().map(|word| (*word).to_owned()).collect();
    lines.iter().map(owned).chain([vec!["info".to_owned(), format!("--what={place}")]]).collect()
}

#[track_caller]
fn assert_nothing_shown(run: &Run, line: &[String]) {
    for secret in SECRETS {
        let seen = run.stdout.contains(secret) || run.stderr.contains(secret);
        assert!(!seen, "{secret} is seen in the output of {line:?}\n{}\n{}", run.stdout, run.stderr);
    }
}

/// Runs all commands on two places and one on all, at the same time since most of it is waiting; gives back everything
/// that was said on standard error.
fn say_all(address: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = Vec::new();
    for (number, place) in places(address).iter().enumerate() {
        let beside = folder.path().join(format!("{number}.zarr")).display().to_string();
        let of_place = command_lines(place, &beside);
        let many = if [2, 4].contains(&number) { of_place.len() } else { 1 };
        lines.extend(of_place.into_iter().take(many));
    }
    let say = |line: &Vec<String>| {
        let run = run(talkative(address).args(line));
        assert_nothing_shown(&run, line);
        assert!(![0, 70].contains(&run.code), "nothing is there: {line:?}: {}", run.stderr);
        run.stderr
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = lines.iter().map(|line| scope.spawn(move || say(line))).collect();
        started.into_iter().map(|said| said.join().unwrap()).collect()
    })
}

#[test]
fn no_secret_is_seen_where_nobody_answers() {
    // Bound and dropped: nobody listens there.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let said = say_all(&address);
    assert!(said.contains("a.zarr"), "the places are named: {said}");
    assert!(said.contains("***"), "what is hidden is seen to be hidden: {said}");
}

#[test]
fn a_proxys_password_is_not_seen_either() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let proxy = format!("http://me:proxy-pass-19d3@{address}");
    for place in ["http://example.invalid/a.zarr", "s3://bucket/a.zarr"] {
        let line = vec!["info".to_owned(), "-vvv".to_owned(), place.to_owned()];
        let mut command = talkative(&address);
        for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
            command.env(name, &proxy);
        }
        assert_nothing_shown(&run(command.args(&line)), &line);
    }
}
