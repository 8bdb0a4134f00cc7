use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use s3s::dto::*;
use s3s::{S3, S3Error, S3ErrorCode, S3Request, S3Response, S3Result, TrailingHeaders, s3_error};

use crate::checksum::{etag_of_parts, verify, with_trailers};
use crate::s3::listing::page;
use crate::s3::memory::{Bucket, Buckets, Headers, Memory, Object, Upload};

/// What `encoding-type=url` leaves as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
/// The most entries of a page.
const PAGE: usize = 1000;

/// What makes the ETag of an object.
type EtagOf = fn(&[u8]) -> String;

/// The operations of S3 on buckets in memory.
pub(crate) struct Service {
    pub(crate) memory: Memory,
    pub(crate) etags: EtagOf,
}

impl Buckets {
    fn bucket(&mut self, name: &str) -> S3Result<&mut Bucket> {
        self.buckets
            .get_mut(name)
            .ok_or_else(|| s3_error!(NoSuchBucket, "The specified bucket does not exist"))
    }

    fn object(&mut self, bucket: &str, key: &str) -> S3Result<&Object> {
        let missing = if self.hide_missing {
            s3_error!(AccessDenied, "Access Denied")
        } else {
            s3_error!(NoSuchKey, "The specified key does not exist.")
        };
        self.bucket(bucket)?.objects.get(key).ok_or(missing)
    }

    fn upload(&mut self, bucket: &str, key: &str, id: &str) -> S3Result<&mut Upload> {
        let uploads = &mut self.bucket(bucket)?.uploads;
        let upload = uploads.get_mut(id).filter(|upload| upload.key == key);
        upload.ok_or_else(|| s3_error!(NoSuchUpload, "The specified upload does not exist."))
    }
}

#[async_trait::async_trait]
impl S3 for Service {
    async fn list_buckets(&self, _: S3Request<ListBucketsInput>) -> S3Result<S3Response<ListBucketsOutput>> {
        let names: Vec<String> = self.memory.lock().buckets.keys().cloned().collect();
        let bucket = |name| s3s::dto::Bucket { name: Some(name), ..Default::default() };
        let buckets = Some(names.into_iter().map(bucket).collect());
        Ok(S3Response::new(ListBucketsOutput { buckets, ..Default::default() }))
    }

    async fn create_bucket(
        &self,
        req: S3Request<CreateBucketInput>,
    ) -> S3Result<S3Response<CreateBucketOutput>> {
        let name = req.input.bucket;
        let mut all = self.memory.lock();
        if all.buckets.contains_key(&name) {
            return Err(s3_error!(BucketAlreadyOwnedByYou, "the bucket is yours already"));
        }
        let location = Some(format!("/{name}"));
        all.buckets.insert(name, Bucket::default());
        Ok(S3Response::new(CreateBucketOutput { location }))
    }

    async fn head_bucket(&self, req: S3Request<HeadBucketInput>) -> S3Result<S3Response<HeadBucketOutput>> {
        self.memory.lock().bucket(&req.input.bucket)?;
        Ok(S3Response::new(HeadBucketOutput::default()))
    }

    async fn get_bucket_location(
        &self,
        req: S3Request<GetBucketLocationInput>,
    ) -> S3Result<S3Response<GetBucketLocationOutput>> {
        self.memory.lock().bucket(&req.input.bucket)?;
        Ok(S3Response::new(GetBucketLocationOutput::default()))
    }

    async fn delete_bucket(
        &self,
        req: S3Request<DeleteBucketInput>,
    ) -> S3Result<S3Response<DeleteBucketOutput>> {
        let mut all = self.memory.lock();
        if !all.bucket(&req.input.bucket)?.objects.is_empty() {
            return Err(s3_error!(BucketNotEmpty, "The bucket you tried to delete is not empty"));
        }
        all.buckets.remove(&req.input.bucket);
        Ok(S3Response::with_status(DeleteBucketOutput::default(), hyper::StatusCode::NO_CONTENT))
    }

    async fn put_object(&self, req: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        let input = req.input;
        self.memory.lock().bucket(&input.bucket)?;
        let bytes = collect(input.body, input.content_length).await?;
        let declared = Checksum {
            checksum_crc32: input.checksum_crc32,
            checksum_crc32c: input.checksum_crc32c,
            checksum_crc64nvme: input.checksum_crc64nvme,
            checksum_sha1: input.checksum_sha1,
            checksum_sha256: input.checksum_sha256,
            checksum_type: None,
        };
        let checksum = verified(&bytes, declared, req.trailing_headers, input.content_md5.as_deref())?;
        let headers = Headers {
            content_type: input.content_type,
            content_encoding: input.content_encoding,
            cache_control: input.cache_control,
            metadata: input.metadata,
        };
        let object = Object::new((self.etags)(&bytes), bytes, headers, checksum);
        let output = PutObjectOutput {
            e_tag: Some(object.etag()),
            checksum_crc32: object.checksum.checksum_crc32.clone(),
            checksum_crc32c: object.checksum.checksum_crc32c.clone(),
            checksum_crc64nvme: object.checksum.checksum_crc64nvme.clone(),
            checksum_sha1: object.checksum.checksum_sha1.clone(),
            checksum_sha256: object.checksum.checksum_sha256.clone(),
            ..Default::default()
        };
        let mut all = self.memory.lock();
        if object.bytes.len() as u64 > all.limits.put {
            return Err(s3_error!(EntityTooLarge, "Your proposed upload exceeds the maximum allowed size"));
        }
        let bucket = all.bucket(&input.bucket)?;
        may_write(bucket.objects.get(&input.key), input.if_match.as_ref(), input.if_none_match.as_ref())?;
        bucket.objects.insert(input.key, object);
        Ok(S3Response::new(output))
    }

    async fn get_object(&self, req: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let input = req.input;
        let object = self.memory.lock().object(&input.bucket, &input.key)?.clone();
        may_read(&object, input.if_match.as_ref(), input.if_none_match.as_ref())?;
        let full = object.bytes.len() as u64;
        let (bytes, content_range) = match input.range {
            None => (object.bytes.clone(), None),
            Some(range) => {
                let range = range.check(full)?;
                // the last bytes of an empty object are the object: status 200
                let text =
                    range.end.checked_sub(1).map(|last| format!("bytes {}-{last}/{full}", range.start));
                (object.bytes.slice(index(range.start)..index(range.end)), text)
            }
        };
        // S3 has no checksum of a part of an object
        let whole = content_range.is_none() && input.checksum_mode.is_some();
        let checksum = if whole { object.checksum.clone() } else { Checksum::default() };
        let output = GetObjectOutput {
            accept_ranges: Some("bytes".into()),
            content_length: i64::try_from(bytes.len()).ok(),
            body: Some(StreamingBlob::from(s3s::Body::from(bytes))),
            content_range,
            e_tag: Some(object.etag()),
            last_modified: Some(object.modified.into()),
            content_type: object.headers.content_type,
            content_encoding: object.headers.content_encoding,
            cache_control: object.headers.cache_control,
            metadata: object.headers.metadata,
            checksum_crc32: checksum.checksum_crc32,
            checksum_crc32c: checksum.checksum_crc32c,
            checksum_crc64nvme: checksum.checksum_crc64nvme,
            checksum_sha1: checksum.checksum_sha1,
            checksum_sha256: checksum.checksum_sha256,
            ..Default::default()
        };
        Ok(S3Response::new(output))
    }

    async fn head_object(&self, req: S3Request<HeadObjectInput>) -> S3Result<S3Response<HeadObjectOutput>> {
        let input = req.input;
        let object = self.memory.lock().object(&input.bucket, &input.key)?.clone();
        may_read(&object, input.if_match.as_ref(), input.if_none_match.as_ref())?;
        let output = HeadObjectOutput {
            accept_ranges: Some("bytes".into()),
            content_length: i64::try_from(object.bytes.len()).ok(),
            e_tag: Some(object.etag()),
            last_modified: Some(object.modified.into()),
            content_type: object.headers.content_type,
            content_encoding: object.headers.content_encoding,
            cache_control: object.headers.cache_control,
            metadata: object.headers.metadata,
            ..Default::default()
        };
        Ok(S3Response::new(output))
    }

    async fn delete_object(
        &self,
        req: S3Request<DeleteObjectInput>,
    ) -> S3Result<S3Response<DeleteObjectOutput>> {
        let mut all = self.memory.lock();
        let bucket = all.bucket(&req.input.bucket)?;
        if req.input.if_match.is_some() {
            may_write(bucket.objects.get(&req.input.key), req.input.if_match.as_ref(), None)?;
        }
        bucket.objects.remove(&req.input.key);
        Ok(S3Response::with_status(DeleteObjectOutput::default(), hyper::StatusCode::NO_CONTENT))
    }

    async fn delete_objects(
        &self,
        req: S3Request<DeleteObjectsInput>,
    ) -> S3Result<S3Response<DeleteObjectsOutput>> {
        let delete = req.input.delete;
        if delete.objects.is_empty() || delete.objects.len() > PAGE {
            return Err(s3_error!(MalformedXML, "between 1 and 1000 keys can be deleted at once"));
        }
        let mut all = self.memory.lock();
        let bucket = all.bucket(&req.input.bucket)?;
        let mut deleted = Vec::new();
        for object in delete.objects {
            bucket.objects.remove(&object.key);
            deleted.push(DeletedObject { key: Some(object.key), ..Default::default() });
        }
        let deleted = (!delete.quiet.unwrap_or(false)).then_some(deleted);
        Ok(S3Response::new(DeleteObjectsOutput { deleted, ..Default::default() }))
    }

    async fn copy_object(&self, req: S3Request<CopyObjectInput>) -> S3Result<S3Response<CopyObjectOutput>> {
        let header = |name| {
            req.headers.get(name).and_then(|value| ETagCondition::parse_http_header(value.as_bytes()).ok())
        };
        let (if_match, if_none_match) = (header("if-match"), header("if-none-match"));
        let input = req.input;
        let (from_bucket, from_key) = source(&input.copy_source)?;
        let mut all = self.memory.lock();
        let limit = all.limits.copy;
        let mut object = all.object(from_bucket, from_key)?.clone();
        may_copy(&object, input.copy_source_if_match.as_ref(), input.copy_source_if_none_match.as_ref())?;
        if object.bytes.len() as u64 > limit {
            let message =
                "The specified copy source is larger than the maximum allowable size for a copy source";
            return Err(s3_error!(InvalidRequest, "{message}: {limit}"));
        }
        let replaces = input
            .metadata_directive
            .is_some_and(|directive| directive.as_str() == MetadataDirective::REPLACE);
        if replaces {
            object.headers = Headers {
                content_type: input.content_type,
                content_encoding: input.content_encoding,
                cache_control: input.cache_control,
                metadata: input.metadata,
            };
        } else if from_bucket == input.bucket && from_key == input.key {
            let message = "This copy request is illegal because it is trying to copy an object to itself without changing it";
            return Err(s3_error!(InvalidRequest, "{message}"));
        }
        // a copy is one piece, whatever the original was made of
        object = Object::new((self.etags)(&object.bytes), object.bytes, object.headers, object.checksum);
        let result = CopyObjectResult {
            e_tag: Some(object.etag()),
            last_modified: Some(object.modified.into()),
            ..Default::default()
        };
        let bucket = all.bucket(&input.bucket)?;
        may_write(bucket.objects.get(&input.key), if_match.as_ref(), if_none_match.as_ref())?;
        bucket.objects.insert(input.key, object);
        Ok(S3Response::new(CopyObjectOutput { copy_object_result: Some(result), ..Default::default() }))
    }

    async fn list_objects_v2(
        &self,
        req: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let input = req.input;
        let token = input.continuation_token.as_deref().map(from_token).transpose()?;
        let listing = List {
            bucket: &input.bucket,
            prefix: input.prefix.as_deref().unwrap_or_default(),
            delimiter: input.delimiter.as_deref(),
            after: token.as_deref().or(input.start_after.as_deref()),
            max_keys: input.max_keys,
            url: input.encoding_type.is_some(),
        };
        let (contents, common_prefixes, next) = self.list(&listing)?;
        let encode = |text: Option<String>| text.map(|text| listing.encode(&text));
        let output = ListObjectsV2Output {
            name: Some(input.bucket.clone()),
            key_count: i32::try_from(contents.len() + common_prefixes.len()).ok(),
            max_keys: Some(input.max_keys.unwrap_or(1000)),
            is_truncated: Some(next.is_some()),
            next_continuation_token: next.map(|last| to_token(&last)),
            contents: Some(contents),
            common_prefixes: Some(common_prefixes),
            prefix: encode(input.prefix.clone()),
            delimiter: encode(input.delimiter.clone()),
            start_after: encode(input.start_after.clone()),
            continuation_token: input.continuation_token.clone(),
            encoding_type: input.encoding_type.clone(),
            ..Default::default()
        };
        Ok(S3Response::new(output))
    }

    async fn list_objects(
        &self,
        req: S3Request<ListObjectsInput>,
    ) -> S3Result<S3Response<ListObjectsOutput>> {
        let input = req.input;
        let listing = List {
            bucket: &input.bucket,
            prefix: input.prefix.as_deref().unwrap_or_default(),
            delimiter: input.delimiter.as_deref(),
            after: input.marker.as_deref(),
            max_keys: input.max_keys,
            url: input.encoding_type.is_some(),
        };
        let (contents, common_prefixes, next) = self.list(&listing)?;
        let encode = |text: Option<String>| text.map(|text| listing.encode(&text));
        let output = ListObjectsOutput {
            name: Some(input.bucket.clone()),
            max_keys: Some(input.max_keys.unwrap_or(1000)),
            is_truncated: Some(next.is_some()),
            next_marker: encode(next.filter(|_| input.delimiter.is_some())),
            contents: Some(contents),
            common_prefixes: Some(common_prefixes),
            prefix: encode(input.prefix.clone()),
            delimiter: encode(input.delimiter.clone()),
            marker: encode(input.marker.clone()),
            encoding_type: input.encoding_type.clone(),
            ..Default::default()
        };
        Ok(S3Response::new(output))
    }

    async fn create_multipart_upload(
        &self,
        req: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
        let input = req.input;
        let headers = Headers {
            content_type: input.content_type,
            content_encoding: input.content_encoding,
            cache_control: input.cache_control,
            metadata: input.metadata,
        };
        let mut all = self.memory.lock();
        all.uploads_made += 1;
        let id = format!("upload-{}", all.uploads_made);
        let upload = Upload { key: input.key.clone(), headers, parts: Default::default() };
        all.bucket(&input.bucket)?.uploads.insert(id.clone(), upload);
        let output = CreateMultipartUploadOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(id),
            checksum_algorithm: input.checksum_algorithm,
            ..Default::default()
        };
        Ok(S3Response::new(output))
    }

    async fn upload_part(&self, req: S3Request<UploadPartInput>) -> S3Result<S3Response<UploadPartOutput>> {
        let input = req.input;
        self.memory.lock().upload(&input.bucket, &input.key, &input.upload_id)?;
        let bytes = collect(input.body, input.content_length).await?;
        let declared = Checksum {
            checksum_crc32: input.checksum_crc32,
            checksum_crc32c: input.checksum_crc32c,
            checksum_crc64nvme: input.checksum_crc64nvme,
            checksum_sha1: input.checksum_sha1,
            checksum_sha256: input.checksum_sha256,
            checksum_type: None,
        };
        let checksum = verified(&bytes, declared, req.trailing_headers, input.content_md5.as_deref())?;
        let part = Object::new((self.etags)(&bytes), bytes, Headers::default(), checksum);
        let output = UploadPartOutput {
            e_tag: Some(part.etag()),
            checksum_crc32: part.checksum.checksum_crc32.clone(),
            checksum_crc32c: part.checksum.checksum_crc32c.clone(),
            checksum_crc64nvme: part.checksum.checksum_crc64nvme.clone(),
            checksum_sha1: part.checksum.checksum_sha1.clone(),
            checksum_sha256: part.checksum.checksum_sha256.clone(),
            ..Default::default()
        };
        self.add_part(&input.bucket, &input.key, &input.upload_id, input.part_number, part)?;
        Ok(S3Response::new(output))
    }

    async fn upload_part_copy(
        &self,
        req: S3Request<UploadPartCopyInput>,
    ) -> S3Result<S3Response<UploadPartCopyOutput>> {
        let input = req.input;
        let (from_bucket, from_key) = source(&input.copy_source)?;
        let object = self.memory.lock().object(from_bucket, from_key)?.clone();
        may_copy(&object, input.copy_source_if_match.as_ref(), input.copy_source_if_none_match.as_ref())?;
        let bytes = match input.copy_source_range.as_deref() {
            None => object.bytes,
            Some(range) => {
                let full = object.bytes.len() as u64;
                let range = Range::parse(range).ok().and_then(|range| range.check(full).ok());
                let range =
                    range.ok_or_else(|| s3_error!(InvalidArgument, "the range is not in the source"))?;
                object.bytes.slice(index(range.start)..index(range.end))
            }
        };
        let part = Object::new((self.etags)(&bytes), bytes, Headers::default(), Checksum::default());
        let result = CopyPartResult {
            e_tag: Some(part.etag()),
            last_modified: Some(part.modified.into()),
            ..Default::default()
        };
        self.add_part(&input.bucket, &input.key, &input.upload_id, input.part_number, part)?;
        Ok(S3Response::new(UploadPartCopyOutput { copy_part_result: Some(result), ..Default::default() }))
    }

    async fn complete_multipart_upload(
        &self,
        req: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
        let input = req.input;
        let listed = input.multipart_upload.and_then(|upload| upload.parts).unwrap_or_default();
        let mut all = self.memory.lock();
        let smallest = all.limits.part;
        let upload = all.upload(&input.bucket, &input.key, &input.upload_id)?;
        let object = assembled(upload, &listed, smallest)?;
        let bucket = all.bucket(&input.bucket)?;
        may_write(bucket.objects.get(&input.key), input.if_match.as_ref(), input.if_none_match.as_ref())?;
        let output = CompleteMultipartUploadOutput {
            location: Some(format!("/{}/{}", input.bucket, input.key)),
            bucket: Some(input.bucket),
            key: Some(input.key.clone()),
            e_tag: Some(object.etag()),
            ..Default::default()
        };
        bucket.uploads.remove(&input.upload_id);
        bucket.objects.insert(input.key, object);
        Ok(S3Response::new(output))
    }

    async fn abort_multipart_upload(
        &self,
        req: S3Request<AbortMultipartUploadInput>,
    ) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
        let input = req.input;
        let mut all = self.memory.lock();
        all.upload(&input.bucket, &input.key, &input.upload_id)?;
        all.bucket(&input.bucket)?.uploads.remove(&input.upload_id);
        Ok(S3Response::with_status(AbortMultipartUploadOutput::default(), hyper::StatusCode::NO_CONTENT))
    }

    async fn list_multipart_uploads(
        &self,
        req: S3Request<ListMultipartUploadsInput>,
    ) -> S3Result<S3Response<ListMultipartUploadsOutput>> {
        let input = req.input;
        let prefix = input.prefix.clone().unwrap_or_default();
        let mut all = self.memory.lock();
        let bucket = all.bucket(&input.bucket)?;
        let mut uploads: Vec<_> =
            bucket.uploads.iter().filter(|(_, upload)| upload.key.starts_with(&prefix)).collect();
        uploads.sort_by(|(a_id, a), (b_id, b)| (&a.key, a_id).cmp(&(&b.key, b_id)));
        let uploads = uploads.into_iter().map(|(id, upload)| MultipartUpload {
            key: Some(upload.key.clone()),
            upload_id: Some(id.clone()),
            initiated: Some(SystemTime::now().into()),
            ..Default::default()
        });
        let output = ListMultipartUploadsOutput {
            uploads: Some(uploads.collect()),
            is_truncated: Some(false),
            bucket: Some(input.bucket),
            prefix: input.prefix,
            ..Default::default()
        };
        Ok(S3Response::new(output))
    }

    async fn list_parts(&self, req: S3Request<ListPartsInput>) -> S3Result<S3Response<ListPartsOutput>> {
        let input = req.input;
        let mut all = self.memory.lock();
        let upload = all.upload(&input.bucket, &input.key, &input.upload_id)?;
        let parts = upload.parts.iter().map(|(number, part)| Part {
            part_number: Some(*number),
            e_tag: Some(part.etag()),
            size: i64::try_from(part.bytes.len()).ok(),
            last_modified: Some(part.modified.into()),
            ..Default::default()
        });
        let output = ListPartsOutput {
            parts: Some(parts.collect()),
            is_truncated: Some(false),
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(input.upload_id),
            ..Default::default()
        };
        Ok(S3Response::new(output))
    }
}

/// What both versions of the listing ask for.
struct List<'a> {
    bucket: &'a str,
    prefix: &'a str,
    delimiter: Option<&'a str>,
    after: Option<&'a str>,
    max_keys: Option<i32>,
    url: bool,
}

impl List<'_> {
    fn encode(&self, text: &str) -> String {
        if self.url { utf8_percent_encode(text, PLAIN).to_string() } else { text.to_owned() }
    }
}

impl Service {
    fn list(&self, list: &List<'_>) -> S3Result<(ObjectList, CommonPrefixList, Option<String>)> {
        let mut all = self.memory.lock();
        let asked = list.max_keys.map_or(PAGE, |max| usize::try_from(max).unwrap_or(0));
        let limit = asked.min(PAGE).min(all.page_size.unwrap_or(PAGE));
        let objects = &all.bucket(list.bucket)?.objects;
        if limit == 0 {
            return Ok((Vec::new(), Vec::new(), None));
        }
        let page = page(objects, list.prefix, list.delimiter, list.after, limit);
        let contents =
            page.keys.iter().filter_map(|key| Some((key, objects.get(key)?))).map(|(key, object)| {
                s3s::dto::Object {
                    key: Some(list.encode(key)),
                    size: i64::try_from(object.bytes.len()).ok(),
                    e_tag: Some(object.etag()),
                    last_modified: Some(object.modified.into()),
                    storage_class: Some(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD)),
                    ..Default::default()
                }
            });
        let prefixes = page.prefixes.iter().map(|prefix| CommonPrefix { prefix: Some(list.encode(prefix)) });
        Ok((contents.collect(), prefixes.collect(), page.next))
    }

    fn add_part(&self, bucket: &str, key: &str, id: &str, number: i32, part: Object) -> S3Result<()> {
        if !(1..=10_000).contains(&number) {
            return Err(s3_error!(
                InvalidArgument,
                "Part number must be an integer between 1 and 10000, inclusive"
            ));
        }
        let mut all = self.memory.lock();
        if part.bytes.len() as u64 > all.limits.put {
            return Err(s3_error!(EntityTooLarge, "Your proposed upload exceeds the maximum allowed size"));
        }
        all.upload(bucket, key, id)?.parts.insert(number, part);
        Ok(())
    }
}

/// The object that the listed parts make.
fn assembled(upload: &Upload, listed: &[CompletedPart], smallest: u64) -> S3Result<Object> {
    if listed.is_empty() {
        return Err(s3_error!(MalformedXML, "an upload is completed with one part at least"));
    }
    if !listed.is_sorted_by(|a, b| a.part_number < b.part_number) {
        return Err(s3_error!(InvalidPartOrder, "The list of parts was not in ascending order."));
    }
    let mut bytes = BytesMut::new();
    let mut etags = Vec::new();
    for (at, listed_part) in listed.iter().enumerate() {
        let part = listed_part.part_number.and_then(|number| upload.parts.get(&number));
        let part =
            part.filter(|part| listed_part.e_tag.as_ref().is_none_or(|etag| etag.value() == part.etag));
        let part = part.ok_or_else(|| {
            s3_error!(InvalidPart, "One or more of the specified parts could not be found.")
        })?;
        if at + 1 < listed.len() && (part.bytes.len() as u64) < smallest {
            return Err(s3_error!(
                EntityTooSmall,
                "Your proposed upload is smaller than the minimum allowed size"
            ));
        }
        bytes.extend_from_slice(&part.bytes);
        etags.push(part.etag.as_str());
    }
    let etag = etag_of_parts(&etags);
    let object = Object::new(etag, bytes.freeze(), upload.headers.clone(), Checksum::default());
    Ok(object)
}

async fn collect(body: Option<StreamingBlob>, length: Option<i64>) -> S3Result<Bytes> {
    let Some(mut body) = body else { return Ok(Bytes::new()) };
    let expected = length.and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    let mut bytes = BytesMut::with_capacity(expected);
    while let Some(piece) = body.next().await {
        // a wrong hash or a wrong chunk signature comes as an error of the stream, as does a client that left
        let piece = piece.map_err(|error| match error.downcast::<S3Error>() {
            Ok(error) => *error,
            Err(error) => S3Error::with_source(S3ErrorCode::IncompleteBody, error),
        })?;
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.freeze())
}

fn verified(
    bytes: &Bytes,
    declared: Checksum,
    trailers: Option<TrailingHeaders>,
    content_md5: Option<&str>,
) -> S3Result<Checksum> {
    let trailers = trailers.and_then(|trailers| trailers.take());
    verify(bytes, with_trailers(declared, trailers.as_ref()), content_md5)
}

fn source(source: &CopySource) -> S3Result<(&str, &str)> {
    match source {
        CopySource::Bucket { bucket, key, .. } => Ok((bucket, key)),
        _ => Err(s3_error!(NotImplemented, "only buckets are sources of copies")),
    }
}

fn matches(condition: &ETagCondition, object: &Object) -> bool {
    condition.is_any() || condition.as_etag().is_some_and(|etag| etag.value() == object.etag)
}

fn precondition_failed() -> S3Error {
    s3_error!(PreconditionFailed, "At least one of the pre-conditions you specified did not hold")
}

/// The conditions of a write on what it would replace.
fn may_write(
    present: Option<&Object>,
    if_match: Option<&ETagCondition>,
    if_none_match: Option<&ETagCondition>,
) -> S3Result<()> {
    match (if_match, present) {
        (Some(_), None) => return Err(s3_error!(NoSuchKey, "The specified key does not exist.")),
        (Some(condition), Some(object)) if !matches(condition, object) => return Err(precondition_failed()),
        _ => {}
    }
    match (if_none_match, present) {
        (Some(condition), Some(object)) if matches(condition, object) => Err(precondition_failed()),
        _ => Ok(()),
    }
}

fn may_read(
    object: &Object,
    if_match: Option<&ETagCondition>,
    if_none_match: Option<&ETagCondition>,
) -> S3Result<()> {
    if if_match.is_some_and(|condition| !matches(condition, object)) {
        return Err(precondition_failed());
    }
    if if_none_match.is_some_and(|condition| matches(condition, object)) {
        return Err(s3_error!(NotModified));
    }
    Ok(())
}

fn may_copy(
    object: &Object,
    if_match: Option<&ETagCondition>,
    if_none_match: Option<&ETagCondition>,
) -> S3Result<()> {
    may_read(object, if_match, if_none_match).map_err(|_| precondition_failed())
}

/// Bodies are in memory, so their indices fit.
fn index(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// A token marks where to continue; clients must not interpret it, so it does not look like a key.
fn to_token(last: &str) -> String {
    last.bytes().map(|byte| format!("{:02x}", byte ^ 0x5a)).collect()
}

fn from_token(token: &str) -> S3Result<String> {
    let bytes = token.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok().map(|byte| byte ^ 0x5a)
    });
    let key = bytes.collect::<Option<Vec<u8>>>().and_then(|bytes| String::from_utf8(bytes).ok());
    key.ok_or_else(|| s3_error!(InvalidArgument, "The continuation token provided is incorrect"))
}
