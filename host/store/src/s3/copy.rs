//! Copying objects inside the service.

use std::ops::Range;

use aws_sdk_s3::types::CompletedPart;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::client::MOST_AT_ONCE;
use super::concurrent::ConcurrentRequests;
use super::shared::{LONG, Shared};
use super::write::{Object, part_len};
use crate::error::{ObjectLocation, StoreError};
use crate::store::WriteMode;

const IN_A_HEADER: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// Copies the object `from` of `len` bytes to the name `to` of the same bucket.
pub(super) async fn copy(
    shared: &Shared,
    from: &str,
    to: &str,
    len: u64,
    at: ObjectLocation,
) -> Result<(), StoreError> {
    let source = format!("{}/{}", shared.config.bucket, utf8_percent_encode(from, IN_A_HEADER));
    let object = Object::new(shared, to, at, WriteMode::Replace);
    if len <= MOST_AT_ONCE { whole(&object, &source).await } else { in_parts(&object, &source, len).await }
}

async fn whole(object: &Object<'_>, source: &str) -> Result<(), StoreError> {
    let Object { shared, name, .. } = *object;
    let mut attempts = shared.attempts(object.operation("COPY", "copy"));
    loop {
        let permit = shared.limiter.permit().await;
        let request = attempts.client().await?.copy_object().bucket(&shared.config.bucket).key(name);
        let failure = match attempts.send(LONG, request.copy_source(source).send()).await {
            Ok(_) => {
                attempts.succeeded(0);
                return Ok(());
            }
            Err(failure) => failure,
        };
        drop(permit);
        attempts.again(failure).await?;
    }
}

async fn in_parts(object: &Object<'_>, source: &str, len: u64) -> Result<(), StoreError> {
    let size = part_len(len, object.shared.config.part_size);
    let upload = object.begin().await?;
    let parts = parts(object, &upload, source, len, size).await;
    object.end(&upload, parts).await
}

async fn parts(
    object: &Object<'_>,
    upload: &str,
    source: &str,
    len: u64,
    size: u64,
) -> Result<Vec<CompletedPart>, StoreError> {
    let mut requests = ConcurrentRequests::new(object.shared.config.remote.in_flight);
    let mut done = Vec::new();
    for (number, start) in (1..).zip((0..len).step_by(usize::try_from(size).unwrap_or(usize::MAX))) {
        let range = start..len.min(start.saturating_add(size));
        done.extend(requests.add(part(object, upload, source, number, range)).await?);
    }
    done.extend(requests.finish().await?);
    done.sort_by_key(|part| part.part_number);
    Ok(done)
}

async fn part(
    object: &Object<'_>,
    upload: &str,
    source: &str,
    number: i32,
    range: Range<u64>,
) -> Result<CompletedPart, StoreError> {
    let Object { shared, name, .. } = *object;
    let range = format!("bytes={}-{}", range.start, range.end - 1);
    let mut attempts = shared.attempts(object.operation("COPY", "copy a part of"));
    loop {
        let permit = shared.limiter.permit().await;
        let request = attempts.client().await?.upload_part_copy().bucket(&shared.config.bucket).key(name);
        let request =
            request.upload_id(upload).part_number(number).copy_source(source).copy_source_range(&range);
        let failure = match attempts.send(LONG, request.send()).await {
            Ok(answer) => {
                attempts.succeeded(0);
                let copied = answer.copy_part_result;
                let (e_tag, checksum) =
                    copied.map(|part| (part.e_tag, part.checksum_crc32)).unwrap_or_default();
                let done = CompletedPart::builder().part_number(number).set_e_tag(e_tag);
                return Ok(done.set_checksum_crc32(checksum).build());
            }
            Err(failure) => failure,
        };
        drop(permit);
        attempts.again(failure).await?;
    }
}
