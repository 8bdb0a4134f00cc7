//! moto: an S3 service that others wrote.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use ncz_test_support::Python;

/// Serves until standard input ends, so that it never outlives the test.
const CODE: &str = r#"
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
import boto3
s3 = boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1")
s3.create_bucket(Bucket=sys.argv[1])
print(f"http://{host}:{port}", flush=True)
sys.stdin.read()
"#;

/// The server, with one bucket; it takes any keys.
pub(crate) struct Moto {
    child: Child,
    pub(crate) endpoint: String,
}

impl Moto {
    pub(crate) fn start(python: &Python, bucket: &str) -> Self {
        let mut command = python.command(&[]);
        command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "testtest");
        command.args(["-c", CODE, bucket]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut endpoint = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut endpoint).unwrap();
        let endpoint = endpoint.trim().to_owned();
        assert!(endpoint.starts_with("http://"), "moto did not start");
        Self { child, endpoint }
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
