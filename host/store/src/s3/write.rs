//! Writes objects: by one PUT, or by a multipart upload.

use std::hash::{BuildHasher, RandomState};

use aws_sdk_s3::types::{ChecksumAlgorithm, CompletedMultipartUpload, CompletedPart};
use bytes::Bytes;

use super::client::LEAST_PART;
use super::concurrent::ConcurrentRequests;
use super::config::Checksums;
use super::failure::{Failure, Kind};
use super::shared::{LONG, Operation, Shared};
use crate::error::{ObjectLocation, StoreError};
use crate::remote::ReadAhead;
use crate::store::{WriteMode, make_room};

/// S3 takes no larger object.
const MOST_BYTES: u64 = 5 << 40;

/// S3 takes no more parts.
const MOST_PARTS: u64 = 10_000;

/// The user metadata by which a writer recognizes its own object.
const WRITER: &str = "ncz-writer";

/// The value of `If-None-Match` for an object that must be new.
const NONE_MATCH: &str = "*";

/// Writes the object `name` of the bucket.
pub(super) async fn write(
    shared: &Shared,
    name: &str,
    at: ObjectLocation,
    bytes: &[u8],
    mode: WriteMode,
) -> Result<(), StoreError> {
    let len = bytes.len() as u64;
    if len > MOST_BYTES {
        return Err(StoreError::Unsupported {
            location: shared.to_string(),
            operation: "hold an object of more than 5 TiB",
            remedy: format!("write {at} in smaller chunks"),
        });
    }
    let object = Object::new(shared, name, at, mode);
    if len <= shared.config.part_size { object.put(bytes).await } else { object.in_parts(bytes).await }
}

/// An object that is being written.
pub(super) struct Object<'a> {
    pub(super) shared: &'a Shared,
    pub(super) name: &'a str,
    at: ObjectLocation,
    mode: WriteMode,
    /// Stored with an object that must be new or is uploaded in parts, to recognize it when the answer was lost.
    stamp: String,
}

impl<'a> Object<'a> {
    pub(super) fn new(shared: &'a Shared, name: &'a str, at: ObjectLocation, mode: WriteMode) -> Self {
        Self { shared, name, at, mode, stamp: stamp() }
    }

    async fn put(&self, bytes: &[u8]) -> Result<(), StoreError> {
        let Self { shared, name, .. } = *self;
        let len = bytes.len() as u64;
        let mut attempts = shared.attempts(self.operation("PUT", "write"));
        let mut body = None;
        loop {
            let mut permit = shared.limiter.permit().await;
            permit.reserve(len, &mut ReadAhead::none()).await;
            let body = match &body {
                Some(body) => Bytes::clone(body),
                None => body.insert(self.copied(bytes)?).clone(),
            };
            let mut request = attempts.client().await?.put_object().bucket(&shared.config.bucket).key(name);
            request = request.body(body.into());
            if self.is_new() {
                request = request.if_none_match(NONE_MATCH).metadata(WRITER, &self.stamp);
            }
            let answer = match shared.config.signs_payload() {
                true => attempts.send(len, request.send()).await,
                false => attempts.send(len, request.customize().disable_payload_signing().send()).await,
            };
            let failure = match answer {
                Ok(_) => {
                    attempts.succeeded(len);
                    return Ok(());
                }
                Err(failure) => failure,
            };
            drop(permit);
            if failure.kind == Kind::Exists && attempts.maybe_done && self.is_mine().await? {
                return Ok(());
            }
            attempts.again(failure).await?;
        }
    }

    /// The bytes for a request, which may outlive its caller's.
    fn copied(&self, bytes: &[u8]) -> Result<Bytes, StoreError> {
        let mut copy = Vec::new();
        make_room(&mut copy, bytes.len(), || self.at.clone())?;
        copy.extend_from_slice(bytes);
        Ok(copy.into())
    }

    async fn in_parts(&self, bytes: &[u8]) -> Result<(), StoreError> {
        let upload = self.begin().await?;
        let parts = self.parts(&upload, bytes).await;
        self.end(&upload, parts).await
    }

    /// Completes a multipart upload, or aborts it.
    pub(super) async fn end(
        &self,
        upload: &str,
        parts: Result<Vec<CompletedPart>, StoreError>,
    ) -> Result<(), StoreError> {
        let done = match parts {
            Ok(parts) => self.complete(upload, parts).await,
            Err(error) => Err(error),
        };
        if done.is_err() {
            // parts that stay cost money; the caller has an error already
            let _ = self.abort(upload).await;
        }
        done
    }

    /// Begins an upload in parts and gives its id.
    pub(super) async fn begin(&self) -> Result<String, StoreError> {
        let Self { shared, name, .. } = *self;
        let mut attempts = shared.attempts(self.operation("POST", "begin to write"));
        loop {
            let permit = shared.limiter.permit().await;
            let mut request =
                attempts.client().await?.create_multipart_upload().bucket(&shared.config.bucket).key(name);
            if shared.config.checksums == Checksums::WhenSupported {
                request = request.checksum_algorithm(ChecksumAlgorithm::Crc32);
            }
            request = request.metadata(WRITER, &self.stamp);
            let failure = match attempts.send(0, request.send()).await {
                Ok(begun) => match begun.upload_id {
                    Some(upload) => {
                        attempts.succeeded(0);
                        return Ok(upload);
                    }
                    None => Failure::new(Kind::Refused, "the answer gives no id for the upload"),
                },
                Err(failure) => failure,
            };
            drop(permit);
            attempts.again(failure).await?;
        }
    }

    async fn parts(&self, upload: &str, bytes: &[u8]) -> Result<Vec<CompletedPart>, StoreError> {
        let size = part_len(bytes.len() as u64, self.shared.config.part_size);
        let mut requests = ConcurrentRequests::new(self.shared.config.remote.in_flight);
        let mut done = Vec::new();
        for (number, part) in (1..).zip(bytes.chunks(size as usize)) {
            done.extend(requests.add(self.part(upload, number, part)).await?);
        }
        done.extend(requests.finish().await?);
        done.sort_by_key(|part| part.part_number);
        Ok(done)
    }

    async fn part(&self, upload: &str, number: i32, bytes: &[u8]) -> Result<CompletedPart, StoreError> {
        let Self { shared, name, .. } = *self;
        let len = bytes.len() as u64;
        let mut attempts = shared.attempts(self.operation("PUT", "write a part of"));
        loop {
            let mut permit = shared.limiter.permit().await;
            permit.reserve(len, &mut ReadAhead::none()).await;
            let request = attempts.client().await?.upload_part().bucket(&shared.config.bucket).key(name);
            let body = self.copied(bytes)?;
            let request = request.upload_id(upload).part_number(number).body(body.into());
            let answer = match shared.config.signs_payload() {
                true => attempts.send(len, request.send()).await,
                false => attempts.send(len, request.customize().disable_payload_signing().send()).await,
            };
            let failure = match answer {
                Ok(part) => {
                    attempts.succeeded(len);
                    let done = CompletedPart::builder().part_number(number).set_e_tag(part.e_tag);
                    return Ok(done.set_checksum_crc32(part.checksum_crc32).build());
                }
                Err(failure) => failure,
            };
            drop(permit);
            attempts.again(failure).await?;
        }
    }

    async fn complete(&self, upload: &str, parts: Vec<CompletedPart>) -> Result<(), StoreError> {
        let Self { shared, name, .. } = *self;
        let parts = CompletedMultipartUpload::builder().set_parts(Some(parts)).build();
        let mut attempts = shared.attempts(self.operation("POST", "finish writing"));
        loop {
            let permit = shared.limiter.permit().await;
            let request = attempts.client().await?.complete_multipart_upload().bucket(&shared.config.bucket);
            let mut request = request.key(name).upload_id(upload).multipart_upload(parts.clone());
            if self.is_new() {
                request = request.if_none_match(NONE_MATCH);
            }
            let failure = match attempts.send(LONG, request.send()).await {
                Ok(_) => {
                    attempts.succeeded(0);
                    return Ok(());
                }
                Err(failure) => failure,
            };
            drop(permit);
            // the upload is gone once it is finished: a try before may have done that
            if matches!(failure.kind, Kind::Exists | Kind::NoUpload)
                && attempts.maybe_done
                && self.is_mine().await?
            {
                return Ok(());
            }
            attempts.again(failure).await?;
        }
    }

    async fn abort(&self, upload: &str) -> Result<(), StoreError> {
        let Self { shared, name, .. } = *self;
        let mut attempts = shared.attempts(self.operation("DELETE", "abort writing"));
        loop {
            let permit = shared.limiter.permit().await;
            let request = attempts.client().await?.abort_multipart_upload().bucket(&shared.config.bucket);
            let failure = match attempts.send(0, request.key(name).upload_id(upload).send()).await {
                Ok(_) => return Ok(()),
                Err(failure) if failure.kind == Kind::NoUpload => return Ok(()),
                Err(failure) => failure,
            };
            drop(permit);
            attempts.again(failure).await?;
        }
    }

    /// Whether this writer wrote the object, if the answer to its write was lost.
    async fn is_mine(&self) -> Result<bool, StoreError> {
        let Self { shared, name, .. } = *self;
        let mut attempts = shared.attempts(self.operation("HEAD", "look at"));
        loop {
            let permit = shared.limiter.permit().await;
            let request = attempts.client().await?.head_object().bucket(&shared.config.bucket).key(name);
            let failure = match attempts.send(0, request.send()).await {
                Ok(found) => {
                    attempts.succeeded(0);
                    let stamp = found.metadata.as_ref().and_then(|metadata| metadata.get(WRITER));
                    return Ok(stamp == Some(&self.stamp));
                }
                Err(failure) if matches!(failure.kind, Kind::Missing | Kind::NotFound) => return Ok(false),
                Err(failure) => failure,
            };
            drop(permit);
            attempts.again(failure).await?;
        }
    }

    fn is_new(&self) -> bool {
        self.mode == WriteMode::CreateNew
    }

    pub(super) fn operation(&self, method: &'static str, action: &'static str) -> Operation<'_> {
        Operation { method, action, name: self.name, range: None, at: self.at.clone() }
    }
}

/// Returns a unique text.
pub(super) fn stamp() -> String {
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

/// The length of the parts of an object: `at_most`, unless that makes too many of them.
pub(super) fn part_len(len: u64, at_most: u64) -> u64 {
    at_most.max(len.div_ceil(MOST_PARTS)).max(LEAST_PART)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_object_has_more_parts_than_s3_takes_and_no_part_more_bytes() {
        for len in [LEAST_PART + 1, 5 << 30, MOST_BYTES - 1, MOST_BYTES] {
            for at_most in [LEAST_PART, 1 << 30, super::super::client::MOST_AT_ONCE] {
                let part = part_len(len, at_most);
                assert!(len.div_ceil(part) <= MOST_PARTS, "{len} {at_most}");
                assert!(part <= super::super::client::MOST_AT_ONCE, "{len} {at_most}");
            }
        }
        assert_eq!(part_len(100 << 20, 8 << 20), 8 << 20);
    }
}
