//! One program, one direction, in a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ncz_test_servers::{Credentials, S3Options, S3Server};
use ncz_test_support::Python;
use serde_json::Value;

use crate::Result;
use crate::process::processor_seconds;

pub(crate) const BUCKET: &str = "bench";
pub(crate) const KEY: &str = "test";
pub(crate) const SECRET: &str = "testtest";

/// What a program needs longer than this for hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// The service, until it is dropped.
pub(crate) struct Service {
    child: Child,
    endpoint: String,
}

/// Serves until standard input ends, and prints its endpoint.
pub(crate) fn serve(latency: Duration) -> Result<()> {
    let options = S3Options {
        credentials: Credentials::new(KEY, SECRET),
        buckets: vec![BUCKET.to_owned()],
        quick_etags: true,
        ..Default::default()
    };
    let server = S3Server::start(options)?;
    server.keep_no_log();
    server.set_latency(latency);
    println!("{}", server.endpoint());
    std::io::stdout().flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

impl Service {
    pub(crate) fn start(latency: u64) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", &latency.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut endpoint = String::new();
        let stdout = child.stdout.take().ok_or("no output of the service")?;
        BufReader::new(stdout).read_line(&mut endpoint)?;
        Ok(Self { child, endpoint: endpoint.trim().to_owned() })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What all turns of a round have in common.
pub(crate) struct Turn<'a> {
    pub(crate) service: &'a Service,
    pub(crate) python: &'a Python,
    pub(crate) field: &'a Path,
    pub(crate) steps: u64,
    pub(crate) codec: &'a str,
}

/// What a turn took.
pub(crate) struct Taken {
    pub(crate) seconds: f64,
    pub(crate) peak_megabytes: f64,
    /// Of all processors: the program, and the service for it.
    pub(crate) own: f64,
    pub(crate) service: f64,
}

impl Turn<'_> {
    /// Writes or reads the dataset of a program.
    pub(crate) fn take(&self, program: &str, direction: &str) -> Result<Taken> {
        let prefix = format!("{}.zarr", program.replace(' ', "-"));
        let mut command = match program {
            "ncz" => ours()?,
            _ => {
                let mut command = self.python.command(&[]);
                let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
                command.arg(folder.join("benches/field/peers.py")).arg(program);
                command
            }
        };
        command.args([direction, &self.service.endpoint, BUCKET, &prefix]);
        self.run(&mut command)
    }

    /// What ncz takes for the same in a folder.
    pub(crate) fn in_folder(&self, folder: &Path, direction: &str) -> Result<Taken> {
        self.run(ours()?.args([direction, "folder", BUCKET]).arg(folder))
    }

    fn run(&self, command: &mut Command) -> Result<Taken> {
        command.arg(self.field).args([&self.steps.to_string(), self.codec]);
        command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET);
        command.env("AWS_REGION", "us-east-1").env("AWS_EC2_METADATA_DISABLED", "true");
        let service = self.service.child.id().to_string();
        let before = processor_seconds(&service)?;
        let output = ncz_test_support::run(command, LIMIT)?.success("a turn")?;
        let after = processor_seconds(&service)?;
        let text = output.stdout_text();
        let answer: Value = serde_json::from_str(text.lines().last().unwrap_or_default())?;
        let number = |name: &str| answer[name].as_f64().ok_or_else(|| format!("no {name} in {text}"));
        Ok(Taken {
            seconds: number("seconds")?,
            peak_megabytes: number("peak")?,
            own: number("processor")?,
            service: after - before,
        })
    }
}

fn ours() -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("turn");
    Ok(command)
}
