//! A hand-written stream, and properties of every stream.

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
        let stream = [&[6, 0, 0, 0, 0, 0, 0, 0], &stream[..]].concat();
        assert_eq!(encode(coder(distance), &data), stream);
        assert_eq!(decode(coder(distance), &stream, data.len()).as_deref(), Ok(&data[..]));
    }
}

#[test]
fn data_of_every_length_round_trip() {
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
fn a_cut_or_extended_stream_is_refused() {
    let mut stream = encode(coder(1), &[7; 100]);
    for len in 0..stream.len() {
        let error = decode(coder(1), &stream[..len], 200).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Truncated, "{len}");
        assert!(coder(1).decoded_len(&stream[..len]).is_err());
    }
    stream.extend([0; 3]);
    assert_eq!(*decode(coder(1), &stream, 200).unwrap_err().kind(), ErrorKind::Trailing { extra: 3 });
    let endless = [0xff; 100];
    assert_eq!(*decode(coder(1), &endless, 200).unwrap_err().kind(), ErrorKind::Truncated);
}

#[test]
fn an_output_that_is_too_small_is_not_written_to() {
    let stream = encode(coder(1), &[7; 10]);
    for capacity in 0..10 {
        let error = decode(coder(1), &stream, capacity).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::OutputFull { need: Some(10) });
    }
    let error = coder(1).encode(&mut (), &[7; 10], &mut [0; 17]).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::OutputFull { need: Some(18) });
}
