//! Starts a test server and keeps it until standard input ends, for trials and for benchmarks with other programs.
//!
//! ```console
//! $ ncz-test-servers s3 --bucket air --latency 20
//! {"endpoint":"http://127.0.0.1:41123","key":"test","secret":"testtest","region":"us-east-1","buckets":["air"]}
//! ```

#![forbid(unsafe_code)]

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use ncz_test_servers::{Authority, Control, Credentials, HttpOptions, HttpServer, S3Options, S3Server};
use serde_json::{Map, Value, json};

#[derive(Parser)]
#[command(
    about = "Starts a test server on 127.0.0.1, prints its endpoint as one line of JSON, runs until standard input ends"
)]
struct Cli {
    #[command(subcommand)]
    server: Server,
}

#[derive(Subcommand)]
enum Server {
    /// An S3 service with its buckets in memory
    S3 {
        #[command(flatten)]
        common: Common,
        /// The access key id
        #[arg(long, default_value = "test")]
        key: String,
        /// The secret access key
        #[arg(long, default_value = "testtest")]
        secret: String,
        /// A bucket to create; may be given again
        #[arg(long, value_name = "NAME")]
        bucket: Vec<String>,
        /// Everybody may read and list the buckets
        #[arg(long)]
        public: bool,
        /// Puts the files below this folder into the first bucket
        #[arg(long, value_name = "FOLDER", requires = "bucket")]
        load: Option<PathBuf>,
    },
    /// A file server
    Http {
        #[command(flatten)]
        common: Common,
        /// The folder to serve
        folder: PathBuf,
    },
}

#[derive(Args)]
struct Common {
    /// The port; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Milliseconds by which every answer is late
    #[arg(long, value_name = "MS", default_value_t = 0)]
    latency: u64,
    /// Uses https, and writes the certificate of the authority to this file
    #[arg(long, value_name = "FILE")]
    https: Option<PathBuf>,
}

impl Common {
    fn authority(&self) -> io::Result<Option<Authority>> {
        let Some(file) = &self.https else { return Ok(None) };
        let authority = Authority::new()?;
        authority.write(file)?;
        Ok(Some(authority))
    }

    fn apply(&self, control: &Control) {
        control.keep_no_log();
        control.set_latency(Duration::from_millis(self.latency));
    }
}

fn main() -> ExitCode {
    match run(Cli::parse().server) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ncz-test-servers: {error}");
            ExitCode::from(3)
        }
    }
}

fn run(server: Server) -> io::Result<()> {
    match server {
        Server::S3 { common, key, secret, bucket, public, load } => {
            let credentials = Credentials::new(&key, &secret);
            let authority = common.authority()?;
            let options = S3Options {
                port: common.port,
                credentials,
                buckets: bucket.clone(),
                authority,
                ..Default::default()
            };
            let server = S3Server::start(options)?;
            common.apply(&server);
            for name in bucket.iter().filter(|_| public) {
                server.make_public(name);
            }
            if let (Some(folder), Some(first)) = (load, bucket.first()) {
                server.import(&folder, first, "")?;
            }
            let more = json!({"key": key, "secret": secret, "region": "us-east-1", "buckets": bucket});
            serve(&server.endpoint(), &server, more)
        }
        Server::Http { common, folder } => {
            let options =
                HttpOptions { port: common.port, authority: common.authority()?, ..Default::default() };
            let server = HttpServer::start(&folder, options)?;
            common.apply(&server);
            serve(&server.endpoint(), &server, json!({}))
        }
    }
}

/// Prints the line with the address of the server, waits for the end of standard input, and prints the counts.
fn serve(endpoint: &str, control: &Control, more: Value) -> io::Result<()> {
    let mut line = Map::new();
    line.insert("endpoint".into(), endpoint.into());
    if let Value::Object(more) = more {
        line.extend(more);
    }
    writeln!(io::stdout(), "{}", Value::Object(line))?;
    io::stdout().flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    let counts: Map<String, Value> = control
        .counts()
        .into_iter()
        .map(|(operation, count)| (operation.to_string(), count.into()))
        .collect();
    writeln!(io::stdout(), "{}", json!({"requests": counts, "max_in_flight": control.max_in_flight()}))
}
