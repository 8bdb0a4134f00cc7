//! The properties of every byte codec here, as checks that the tests of each codec crate run.
//!
//! Included by path (`#[path = "../../../shared/tests/properties.rs"] mod properties;`), so that the codec crates need no
//! other dependency than the codec API.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{Coder, ErrorKind};

/// The bytes after an output buffer, to detect whether a codec writes past it.
const CANARY: [u8; 64] = [0xa5; 64];

/// Encodes `data`; the length is within the promise and nothing is written past the buffer.
pub(crate) fn encode<C: Coder>(coder: &C, data: &[u8]) -> Vec<u8> {
    let most = coder.max_encoded_len(data.len()).expect("a bound for data in memory");
    let mut output = vec![0; most];
    output.extend(CANARY);
    let mut scratch = coder.scratch();
    let length = coder.encode(&mut scratch, data, &mut output[..most]).expect("any data have an encoding");
    assert!(length <= most, "{length} bytes where at most {most} were guaranteed");
    assert_eq!(output[most..], CANARY, "written past the output");
    output.truncate(length);
    // The scratch keeps no state: the second stream equals the first.
    let mut again = vec![0; most];
    assert_eq!(coder.encode(&mut scratch, data, &mut again), Ok(length));
    assert!(again[..length] == output[..], "the same data gave other bytes");
    output
}

/// Decodes `stream` into a buffer of `capacity` bytes, of which none after the end is touched.
pub(crate) fn decode<C: Coder>(coder: &C, stream: &[u8], capacity: usize) -> ncz_codec::Result<Vec<u8>> {
    let mut output = vec![0; capacity];
    output.extend(CANARY);
    let mut scratch = coder.scratch();
    let result = coder.decode(&mut scratch, stream, &mut output[..capacity]);
    assert_eq!(output[capacity..], CANARY, "written past the output");
    let length = result?;
    assert!(length <= capacity, "{length} bytes claimed in a buffer of {capacity}");
    output.truncate(length);
    // What can be decoded is not refused without decoding it.
    let seen = coder.check(stream, Some(length)).expect("the stream was decoded");
    assert!(seen.is_none_or(|seen| seen == output));
    Ok(output)
}

/// Checks that data are decoded from their encoding, into a buffer that fits and into a larger one, and that a smaller
/// one is refused.
#[allow(dead_code, reason = "rounded values are not restored")]
pub(crate) fn round_trip<C: Coder>(coder: &C, data: &[u8]) -> Vec<u8> {
    let stream = encode(coder, data);
    for room in [0, 100] {
        let decoded = decode(coder, &stream, data.len() + room).expect("what was just encoded");
        assert!(decoded == data, "{} bytes were decoded to {} others", data.len(), decoded.len());
    }
    if let Some(stated) = coder.decoded_len(&stream).expect("the length of a good stream") {
        assert_eq!(stated, data.len());
    }
    if let Some(less) = data.len().checked_sub(1) {
        let error = decode(coder, &stream, less).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::OutputFull { .. }), "{error}");
    }
    stream
}

/// Every truncation of `stream` is refused, and so is every byte that follows it.
#[allow(dead_code, reason = "not every codec can see it: some streams state no length")]
pub(crate) fn every_other_length_is_refused<C: Coder>(coder: &C, stream: &[u8], decoded: usize) {
    let capacity = decoded + 64;
    for cut in 0..stream.len() {
        let result = decode(coder, &stream[..cut], capacity);
        assert!(result.is_err(), "{cut} of {} bytes were accepted as a stream", stream.len());
    }
    for extra in [0, 1, b'B', 0x28, 0x78, 0xff] {
        let longer = [stream, &[extra]].concat();
        assert!(decode(coder, &longer, capacity).is_err(), "a byte {extra:#x} after the stream was accepted");
    }
    let longer = [stream, &[0; 40]].concat();
    assert!(decode(coder, &longer, capacity).is_err(), "zeros after the stream were accepted");
}

/// Damage gives an error or other data of the right size, never a crash or bytes past the buffer.
#[allow(dead_code, reason = "not every codec has a format to damage")]
pub(crate) fn damage_is_survived<C: Coder>(coder: &C, stream: &[u8], decoded: usize, flips: &[(usize, u8)]) {
    let mut damaged = stream.to_vec();
    for &(at, bits) in flips {
        if !damaged.is_empty() {
            let at = at % damaged.len();
            damaged[at] ^= bits;
        }
    }
    let _ = decode(coder, &damaged, decoded);
    let _ = coder.decoded_len(&damaged);
}
