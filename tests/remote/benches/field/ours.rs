//! What ncz does in a turn.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ncz::copy::{CopyOptions, copy};
use ncz::model::{
    ByteOrder, Elements, Format, Hierarchy, NcType, NewFill, Pool, Session, Slab, VariableBuilder,
};
use ncz::registry::Registry;
use ncz::registry::spec::ChainSpec;
use ncz::store::Secret;
use ncz::store::s3::{Credentials, S3Config, S3Store};
use ncz::store::{Access, CreateOptions, Durability, FileStore, Store};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;

use crate::process::{peak_megabytes, processor_seconds};
use crate::turn::{KEY, SECRET};
use crate::{CHUNK_ROWS, COLUMNS, ROWS, Result};

/// `write|read|copy ENDPOINT BUCKET PREFIX FIELD STEPS CODEC`; for the endpoint `folder` the prefix is a folder.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [direction, endpoint, bucket, prefix, field, steps, codec] = args else {
        return Err("not the arguments of a turn".into());
    };
    let location = BenchLocation { endpoint, bucket, prefix };
    let shape = [steps.parse()?, ROWS, COLUMNS];
    let session =
        Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::with_threads(2)?);
    let (seconds, processor) = match direction.as_str() {
        "write" => {
            let field = std::fs::read(field)?;
            timed(|| write(&location, &session, shape, codec, &field))?
        }
        "read" => {
            // Touched, so that its pages are there: readers of numpy get such a buffer too.
            let mut out = vec![1; shape.iter().product::<u64>() as usize * 4];
            // Only the array is opened, as tensorstore does; as a dataset it has the name `data`.
            let array = format!("{prefix}/v");
            let location = BenchLocation { endpoint, bucket, prefix: &array };
            let taken = timed(|| {
                location.dataset(&session)?.array("/data")?.read_bytes(
                    &Slab::whole(&shape),
                    Elements::Native,
                    &mut out,
                )?;
                Ok(())
            })?;
            let peak = peak_megabytes()?;
            if out != std::fs::read(field)? {
                return Err("what was read is not what was written".into());
            }
            return tell(taken, peak);
        }
        "copy" => timed(|| {
            let to = format!("{prefix}-copy");
            let target = BenchLocation { endpoint, bucket, prefix: &to }.create(false)?;
            copy(&location.dataset(&session)?, target, &CopyOptions::default(), &())?;
            Ok(())
        })?,
        other => return Err(format!("unknown direction {other}").into()),
    };
    tell((seconds, processor), peak_megabytes()?)
}

fn tell((seconds, processor): (f64, f64), peak: f64) -> Result<()> {
    println!("{}", serde_json::json!({"seconds": seconds, "processor": processor, "peak": peak}));
    Ok(())
}

fn timed(action: impl FnOnce() -> Result<()>) -> Result<(f64, f64)> {
    let (before, started) = (processor_seconds("self")?, Instant::now());
    action()?;
    Ok((started.elapsed().as_secs_f64(), processor_seconds("self")? - before))
}

fn write(
    location: &BenchLocation<'_>,
    session: &Session,
    shape: [u64; 3],
    codec: &str,
    field: &[u8],
) -> Result<()> {
    let mut hierarchy = Hierarchy::new(Format::Zarr2);
    for (name, len) in ["t", "y", "x"].into_iter().zip(shape) {
        hierarchy.add_dimension("/", name, len, false)?;
    }
    let new = VariableBuilder::new("v", NcType::Float)
        .dimensions(["t", "y", "x"])
        .chunks([1, CHUNK_ROWS, COLUMNS])
        .byte_order(ByteOrder::Little)
        .fill(NewFill::None);
    let variable = hierarchy.add_variable("/", new)?;
    let chain = match codec {
        "none" => "[]",
        "zstd-1" => r#"{"id":"zstd","level":1}"#,
        "blosc-lz4-5" => r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1}"#,
        "blosc-zstd-5" => r#"{"id":"blosc","cname":"zstd","clevel":5,"shuffle":1}"#,
        other => return Err(format!("unknown codec {other}").into()),
    };
    session.define(variable, Format::Zarr2, &ChainSpec::parse(chain)?)?;
    let mut dataset = Dataset::create(location.create(true)?, hierarchy, session.clone(), false)?;
    dataset.write("/v", &Slab::whole(&shape), Elements::Native, field)?;
    Ok(dataset.finish()?)
}

/// A prefix in a bucket, or a folder.
struct BenchLocation<'a> {
    endpoint: &'a str,
    bucket: &'a str,
    prefix: &'a str,
}

impl BenchLocation<'_> {
    fn config(&self) -> S3Config {
        let credentials =
            Credentials::Keys { id: KEY.to_owned(), secret: Secret::new(SECRET.to_owned()), token: None };
        let mut config = S3Config::new(self.bucket, self.prefix)
            .with_endpoint(self.endpoint)
            .with_credentials(credentials);
        config.region = Some("us-east-1".to_owned());
        config
    }

    fn create(&self, anew: bool) -> Result<Arc<dyn Store>> {
        if self.endpoint != "folder" {
            return Ok(Arc::new(S3Store::create(self.config(), CreateOptions::new())?));
        }
        if anew && Path::new(self.prefix).exists() {
            std::fs::remove_dir_all(self.prefix)?;
        }
        Ok(Arc::new(
            FileStore::create(self.prefix, CreateOptions::new())?.with_durability(Durability::Process),
        ))
    }

    fn dataset(&self, session: &Session) -> Result<Dataset> {
        let store: Arc<dyn Store> = if self.endpoint == "folder" {
            Arc::new(FileStore::open(self.prefix, Access::Read)?)
        } else {
            Arc::new(S3Store::open(self.config(), Access::Read)?)
        };
        Ok(Dataset::open(store, session.clone(), &ReadOptions::default())?)
    }
}
