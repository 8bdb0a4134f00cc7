//! Deleting objects.

use std::sync::atomic::{AtomicBool, Ordering};

use aws_sdk_s3::error::BuildError;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};

use super::concurrent::ConcurrentRequests;
use super::failure::{Failure, Kind};
use super::shared::{LONG, Operation, Shared};
use crate::error::{ObjectLocation, StoreError};

/// S3 deletes no more objects at a time.
const BATCH: usize = 1000;

/// How many such requests at a time.
const BATCHES: usize = 4;

/// Deletes one object, whether it exists or not.
pub(super) async fn one(shared: &Shared, name: &str, at: ObjectLocation) -> Result<(), StoreError> {
    let mut attempts =
        shared.attempts(Operation { method: "DELETE", action: "delete", name, range: None, at });
    loop {
        let permit = shared.limiter.permit().await;
        let request = attempts.client().await?.delete_object().bucket(&shared.config.bucket).key(name);
        let failure = match attempts.send(0, request.send()).await {
            Ok(_) => {
                attempts.succeeded(0);
                return Ok(());
            }
            // some services say so of what S3 finds no fault with
            Err(failure) if failure.kind == Kind::Missing => return Ok(()),
            Err(failure) => failure,
        };
        drop(permit);
        attempts.again(failure).await?;
    }
}

/// Deletes objects, many with a request.
pub(super) async fn many(shared: &Shared, names: &[String]) -> Result<(), StoreError> {
    let one_by_one = AtomicBool::new(false);
    let mut requests = ConcurrentRequests::new(BATCHES);
    for names in names.chunks(BATCH) {
        requests.add(batch(shared, names, &one_by_one)).await?;
    }
    requests.finish().await.map(drop)
}

async fn batch(shared: &Shared, names: &[String], one_by_one: &AtomicBool) -> Result<(), StoreError> {
    let Some(first) = names.first() else {
        return Ok(());
    };
    let at = || ObjectLocation::store(shared);
    if names.len() > 1 && !one_by_one.load(Ordering::Relaxed) {
        let operation =
            Operation { method: "POST", action: "delete objects of", name: first, range: None, at: at() };
        let mut attempts = shared.attempts(operation);
        loop {
            let permit = shared.limiter.permit().await;
            let delete = objects(names).map_err(|error| Failure::new(Kind::Refused, error.to_string()));
            let client = attempts.client().await?;
            let answer = match delete {
                Ok(delete) => {
                    let request = client.delete_objects().bucket(&shared.config.bucket).delete(delete);
                    attempts.send(LONG, request.send()).await
                }
                Err(failure) => Err(failure),
            };
            let failure = match answer {
                Ok(answer) => match worst(answer.errors()) {
                    None => {
                        attempts.succeeded(0);
                        return Ok(());
                    }
                    Some(error) => {
                        let (code, text) =
                            (error.code().unwrap_or_default(), error.message().unwrap_or_default());
                        let (kind, text) =
                            (Kind::Broken, format!("{:?}: {code}: {text}", error.key().unwrap_or_default()));
                        let denied = code == "AccessDenied";
                        Failure {
                            code: Some(code.to_owned()),
                            ..Failure::new(if denied { Kind::Denied } else { kind }, text)
                        }
                    }
                },
                // not every service that speaks S3 knows this request
                Err(failure) if failure.kind == Kind::Refused => {
                    attempts.ended(&failure);
                    one_by_one.store(true, Ordering::Relaxed);
                    break;
                }
                Err(failure) => failure,
            };
            drop(permit);
            attempts.again(failure).await?;
        }
    }
    let mut requests = ConcurrentRequests::new(shared.config.remote.in_flight);
    for name in names {
        requests.add(one(shared, name, at())).await?;
    }
    requests.finish().await.map(drop)
}

/// The error to act on: one that no other try would change comes first. That an object is missing is none.
fn worst(errors: &[aws_sdk_s3::types::Error]) -> Option<&aws_sdk_s3::types::Error> {
    let errors = errors.iter().filter(|error| error.code() != Some("NoSuchKey"));
    errors.min_by_key(|error| error.code() != Some("AccessDenied"))
}

fn objects(names: &[String]) -> Result<Delete, BuildError> {
    let all = names.iter().map(|name| ObjectIdentifier::builder().key(name).build());
    Delete::builder().set_objects(Some(all.collect::<Result<_, _>>()?)).quiet(true).build()
}

#[cfg(test)]
mod tests {
    use aws_sdk_s3::types::Error;

    use super::*;

    #[test]
    fn of_many_errors_the_hopeless_one_is_reported_and_a_missing_object_is_none() {
        let code = |codes: &[&str]| {
            let errors: Vec<_> = codes.iter().map(|code| Error::builder().code(*code).build()).collect();
            worst(&errors).and_then(|error| error.code().map(str::to_owned))
        };
        assert_eq!(code(&["NoSuchKey"]), None);
        assert_eq!(code(&["NoSuchKey", "InternalError", "AccessDenied"]).as_deref(), Some("AccessDenied"));
        assert_eq!(code(&["NoSuchKey", "InternalError", "SlowDown"]).as_deref(), Some("InternalError"));
    }
}
