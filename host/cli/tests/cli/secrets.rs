//! Every secret has a mark of its own in it; none may be seen, however much is said.

use std::net::TcpListener;
use std::process::Command;

use ncz_test_servers::{Credentials, Fault, Refusal, Rule, S3Options, S3Server};

use crate::bench::{Run, command, ocean, run};

/// What nothing may show: the parts of the URLs below, and of the environment.
const SECRETS: [&str; 7] = [
    "passw0rd-7d1f",
    "signature-3c9a0b",
    "fragment-key-51ee",
    "fragment-token-0d4e",
    "env-secret-a8f2",
    "env-token-77bc",
    "proxy-pass-19d3",
];

/// What only a signed request has in it, in small letters.
const OF_SIGNATURES: [&str; 3] = ["signature=", "aws4-hmac", "x-amz-security-token"];

/// URLs with all kinds of secrets, at a server's address.
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

/// The commands that take a URL, with all kinds of output.
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
        // One URL too many, and one as an option: the errors of the command line name them.
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

/// Runs all commands on two URLs and one on all, at the same time since most of it is waiting; returns everything
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
fn no_secret_is_printed_if_no_server_answers() {
    // Bound and dropped: no service listens there.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let said = say_all(&address);
    assert!(said.contains("a.zarr"), "the locations are named: {said}");
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

/// A service with the bucket `bucket`, for these credentials.
fn service(secret: &str, token: &str) -> S3Server {
    let credentials = Credentials {
        key: "AKIAEXAMPLE".to_owned(),
        secret: secret.to_owned(),
        token: Some(token.to_owned()),
    };
    let options = S3Options { credentials, buckets: vec!["bucket".to_owned()], ..S3Options::default() };
    S3Server::start(options).unwrap()
}

/// All commands on a location in S3, beginning with a copy of a dataset to it.
fn lines_in_s3(place: &str, beside: &str) -> Vec<Vec<String>> {
    let ocean = ocean().display().to_string();
    let lines: [&[&str]; 8] = [
        &["copy", "-vvv", &ocean, place],
        &["info", "-vvv", place],
        &["info", "-vvv", "--json", "--sizes", place],
        &["dump", "--verbose", "--verbose", "--verbose", place],
        &["verify", "-vvv", place],
        &["verify", "-vvv", "--json", place],
        &["copy", "-vvv", place, beside],
        &["copy", "-vvv", "--json", "--overwrite", &ocean, place],
    ];
    lines.iter().map(|line| line.iter().map(|word| (*word).to_owned()).collect()).collect()
}

#[track_caller]
fn assert_no_signature_shown(run: &Run, line: &[String]) {
    assert_nothing_shown(run, line);
    let all = format!("{}\n{}", run.stdout, run.stderr).to_lowercase();
    for text in OF_SIGNATURES {
        assert!(!all.contains(text), "{text} is seen in the output of {line:?}\n{all}");
    }
}

/// Runs all commands on a location in S3, first as they should go and then with every kind of failure.
fn say_all_in_s3(server: &S3Server, place: &str, command: &(dyn Fn() -> Command + Sync)) {
    let folder = tempfile::tempdir().unwrap();
    let beside = folder.path().join("beside.zarr").display().to_string();
    let lines = lines_in_s3(place, &beside);
    for line in &lines {
        let run = run(command().args(line));
        // what old netcdf-c left in the dataset is a finding
        assert!([0, 1].contains(&run.code), "{line:?}: {}", run.stderr);
        assert!(run.stderr.contains("ncz_store::s3: "), "requests are shown: {}", run.stderr);
        assert_no_signature_shown(&run, line);
    }
    assert!(server.object("bucket", "ocean.zarr/.zgroup").is_some());
    // S3 sends back all that was signed, the token among it
    let mismatch = Refusal::new(403, "SignatureDoesNotMatch", "The signatures differ.")
        .element("StringToSign", "AWS4-HMAC-SHA256\n20261122T000000Z")
        .element("SignatureProvided", "0123456789abcdef")
        .element("CanonicalRequest", "GET\nx-amz-security-token:env-token-77bc fragment-token-0d4e");
    for fault in [
        Fault::Answer(mismatch),
        Fault::access_denied(),
        Fault::expired_token(),
        Fault::invalid_access_key(),
        Fault::no_such_bucket(),
        Fault::answer(501, "NotImplemented", "of a test"),
    ] {
        server.fail(Rule::new(fault));
        std::thread::scope(|scope| {
            for line in &lines {
                scope.spawn(move || {
                    let run = run(command().args(line));
                    assert!(![0, 70].contains(&run.code), "{line:?}: {}", run.stderr);
                    assert_no_signature_shown(&run, line);
                });
            }
        });
        server.heal();
    }
}

#[test]
fn no_secret_is_seen_where_the_service_takes_those_of_the_environment() {
    let server = service("env-secret-a8f2", "env-token-77bc");
    let address = server.address().to_string();
    say_all_in_s3(&server, "s3://bucket/ocean.zarr", &|| talkative(&address));
}

#[test]
fn no_secret_is_printed_if_the_service_accepts_those_of_the_url() {
    let server = service("fragment-key-51ee", "fragment-token-0d4e");
    let address = server.address().to_string();
    let place = format!(
        "http://{address}/bucket/ocean.zarr#mode=s3&aws.access_key_id=AKIAEXAMPLE\
         &aws.secret_access_key=fragment-key-51ee&aws.session_token=fragment-token-0d4e"
    );
    say_all_in_s3(&server, &place, &|| {
        let mut command = talkative(&address);
        for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3"]
        {
            command.env_remove(name);
        }
        command
    });
}
