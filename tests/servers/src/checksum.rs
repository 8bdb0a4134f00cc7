use bytes::Bytes;
use hyper::HeaderMap;
use s3s::S3Result;
use s3s::checksum::ChecksumHasher;
use s3s::crypto::Checksum as _;
use s3s::crypto::{Crc32, Crc32c, Crc64Nvme, Md5, Sha1, Sha256};
use s3s::dto::Checksum;
use s3s::s3_error;

/// The MD5 of `bytes` in hexadecimal digits: their ETag.
pub(crate) fn md5(bytes: &[u8]) -> String {
    hex(Md5::checksum(bytes).as_ref())
}

/// The CRC-64/NVME of `bytes` in hexadecimal digits: an ETag that costs next to nothing.
pub(crate) fn crc64(bytes: &[u8]) -> String {
    hex(Crc64Nvme::checksum(bytes).as_ref())
}

/// The ETag of an object made of parts: the MD5 of the MD5s of the parts, and their number.
pub(crate) fn etag_of_parts(etags: &[&str]) -> String {
    let digests: Vec<u8> = etags.iter().flat_map(|etag| unhex(etag)).collect();
    format!("{}-{}", md5(&digests), etags.len())
}

/// Checks that `bytes` are what was declared in headers or trailers, and gives the checksums to keep: the declared
/// ones, or a CRC-64/NVME if there are none, as S3 does.
pub(crate) fn verify(bytes: &Bytes, declared: Checksum, content_md5: Option<&str>) -> S3Result<Checksum> {
    if let Some(declared) = content_md5
        && base64(Md5::checksum(bytes).as_ref()) != declared
    {
        return Err(s3_error!(BadDigest, "the Content-MD5 you specified did not match what we received"));
    }
    let none = declared == Checksum::default();
    let mut hasher = ChecksumHasher {
        crc32: declared.checksum_crc32.is_some().then(Crc32::new),
        crc32c: declared.checksum_crc32c.is_some().then(Crc32c::new),
        sha1: declared.checksum_sha1.is_some().then(Sha1::new),
        sha256: declared.checksum_sha256.is_some().then(Sha256::new),
        crc64nvme: (none || declared.checksum_crc64nvme.is_some()).then(Crc64Nvme::new),
    };
    hasher.update(bytes);
    let computed = hasher.finalize();
    if !none && computed != declared {
        return Err(s3_error!(BadDigest, "the checksum you specified did not match what we received"));
    }
    Ok(computed)
}

/// Fills in what is in the trailers of a body in chunks.
pub(crate) fn with_trailers(mut declared: Checksum, trailers: Option<&HeaderMap>) -> Checksum {
    let Some(trailers) = trailers else { return declared };
    let trailer = |name| trailers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let fill = |field: &mut Option<String>, name| *field = field.take().or_else(|| trailer(name));
    fill(&mut declared.checksum_crc32, "x-amz-checksum-crc32");
    fill(&mut declared.checksum_crc32c, "x-amz-checksum-crc32c");
    fill(&mut declared.checksum_sha1, "x-amz-checksum-sha1");
    fill(&mut declared.checksum_sha256, "x-amz-checksum-sha256");
    fill(&mut declared.checksum_crc64nvme, "x-amz-checksum-crc64nvme");
    declared
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

/// Base 64 with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let word =
            group.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for digit in 0..4 {
            let index = (word >> (18 - 6 * digit)) as usize & 63;
            text.push(if digit <= group.len() { char::from(DIGITS[index]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standards() {
        assert_eq!(md5(b"abc"), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(base64(b"f"), "Zg==");
        assert_eq!(base64(b"fo"), "Zm8=");
        assert_eq!(base64(b"foobar"), "Zm9vYmFy");
        assert_eq!(unhex("00ff10"), [0, 255, 16]);
    }

    #[test]
    fn a_wrong_checksum_is_refused_and_none_becomes_a_crc64() {
        let bytes = Bytes::from_static(b"123456789");
        let kept = verify(&bytes, Checksum::default(), None).unwrap();
        // the check value of CRC-64/NVME
        assert_eq!(
            kept.checksum_crc64nvme.as_deref(),
            Some(base64(&0xae8b_1486_0a79_9888_u64.to_be_bytes()).as_str())
        );
        let right = Checksum { checksum_crc32: Some("y/Q5Jg==".into()), ..Checksum::default() };
        assert!(verify(&bytes, right, None).is_ok());
        let wrong = Checksum { checksum_crc32: Some("y/Q5Jw==".into()), ..Checksum::default() };
        assert!(verify(&bytes, wrong, None).is_err());
        assert!(verify(&bytes, Checksum::default(), Some("AAAA")).is_err());
    }
}
