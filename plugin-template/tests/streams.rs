//! A stream written out by hand, and what holds for every stream.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use my_delta8::{Delta8, Delta8Coder};
use ncz_codec::{Codec, Coder, ErrorKind};

fn coder(distance: u32) -> Delta8Coder {
    Delta8::coder(&[distance]).unwrap()
}

fn encode(coder: Delta8Coder, data: &[u8]) -> Vec<u8> {
    let mut stream = vec![0; coder.max_encoded_len(data.len()).unwrap()];
    let len = coder.encode(&mut coder.scratch(), data, &mut stream).unwrap();
    stream.truncate(len);
    stream
}

fn decode(coder: Delta8Coder, stream: &[u8], capacity: usize) -> ncz_codec::Result<Vec<u8>> {
    let mut data = vec![0; capacity];
    let len = coder.decode(&mut coder.scratch(), stream, &mut data)?;
    data.truncate(len);
    Ok(data)
}

#[test]
fn stored_streams_stay_readable() {
    for (distance, data, stream) in [
        (1, [10, 12, 15, 15, 0, 255], [10, 2, 3, 0, 241, 255]),
        (2, [10, 12, 15, 15, 0, 255], [10, 12, 5, 3, 241, 240]),
        (9, [10, 12, 15, 15, 0, 255], [10, 12, 15, 15, 0, 255]),
    ] {
        assert_eq!(encode(coder(distance), &data), stream);
        assert_eq!(decode(coder(distance), &stream, data.len()).as_deref(), Ok(&data[..]));
    }
}

#[test]
fn data_of_every_length_come_back() {
    for distance in [1, 2, 3, 8, 255] {
        let coder = coder(distance);
        for len in 0..600_u32 {
            let data: Vec<u8> = (0..len).map(|n| (n * n * 31 / 7) as u8).collect();
            let stream = encode(coder, &data);
            assert_eq!(coder.decoded_len(&stream), Ok(Some(data.len())));
            assert_eq!(decode(coder, &stream, data.len()).as_ref(), Ok(&data));
            assert_eq!(decode(coder, &stream, data.len() + 9).as_ref(), Ok(&data));
        }
    }
}

#[test]
fn a_stream_that_is_too_long_is_refused() {
    let error = decode(coder(1), &[0; 10], 9).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::OutputFull { need: Some(10) });
}
