//! The requests of a host and the answers of a worker, as bytes (postcard). Each side checks every length and number of
//! the other's messages.

use std::path::PathBuf;

use ncz_codec::{CodecError, Container, Env, ErrorKind, Repr, wire};
use semver::Version;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bounded::{self, NAME_MAX};
use crate::load::{Direction, FilterFacts, Hdf5Provider, JsonFacts, Modified, Variable};

/// The version of the messages. A host requires a worker of the same major number and at least its minor number.
pub(super) const PROTOCOL: Version = Version::new(3, 0, 0);
/// The largest number of NCZarr codecs of one library.
const HALVES_MAX: usize = 4096;
/// The longest list of one plugin.
const ALLOW_LIST_MAX: usize = 1 << 16;

/// A request of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Request {
    /// Open the library; first of all, and once.
    Open {
        #[serde(with = "bounded::path")]
        path: PathBuf,
        /// The address space that it may take.
        memory: u64,
        /// An allow-list in JSON that has to admit it.
        #[serde(deserialize_with = "allow_list")]
        allow_list: Option<String>,
    },
    SetLocal {
        #[serde(deserialize_with = "bounded::params")]
        given: Vec<u32>,
        #[serde(with = "variable")]
        variable: Variable,
    },
    /// `half` is an index in [`Records::json`].
    ToParams {
        half: usize,
        json: String,
    },
    ToJson {
        half: usize,
        #[serde(deserialize_with = "bounded::params")]
        params: Vec<u32>,
    },
    Modify {
        half: usize,
        #[serde(deserialize_with = "bounded::params")]
        visible: Vec<u32>,
        #[serde(with = "variable")]
        variable: Variable,
    },
    Run(Run),
    /// End as programs do, which runs what libraries have for that.
    Exit,
}

/// A call of the filter: the input is at the start of the shared memory, the output goes to offset `output`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) direction: Direction,
    #[serde(deserialize_with = "bounded::params")]
    pub(super) params: Vec<u32>,
    /// The length of the input.
    pub(super) input: usize,
    /// The offset and the length of the output buffer.
    pub(super) output: (usize, usize),
    /// The length of the shared memory.
    pub(super) shared: usize,
}

/// An answer of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The greeting, sent before any request. Its bytes are the same in all versions of the protocol since 3.0.0.
    Hello {
        /// The version of the protocol.
        #[serde(deserialize_with = "bounded::name")]
        protocol: String,
        /// The version of the program.
        #[serde(deserialize_with = "bounded::name")]
        version: String,
    },
    Opened(Records),
    /// The loader refuses the library.
    Refused(#[serde(with = "bounded::plain")] String),
    Params(#[serde(deserialize_with = "bounded::params")] Vec<u32>),
    Json(#[serde(deserialize_with = "json")] String),
    Modified(Modified),
    /// The filter wrote that many bytes.
    Ran(usize),
    /// The library, or the code around it, refuses the call.
    Failed(#[serde(with = "codec_error")] CodecError),
}

/// The codecs of a library's C faces.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Records {
    /// The number of codecs of its native face, which are not supported.
    pub(super) natives: usize,
    /// The version that the plugin states, and that of the interface.
    #[serde(deserialize_with = "version")]
    pub(super) version: Option<Version>,
    #[serde(deserialize_with = "version")]
    pub(super) interface: Option<Version>,
    pub(super) filter: Option<FilterFacts>,
    /// Its NCZarr codecs. The first `own` belong to its filter, the others are for filters of other libraries.
    #[serde(deserialize_with = "bounded::list::<_, _, HALVES_MAX>")]
    pub(super) json: Vec<JsonFacts>,
    pub(super) own: usize,
    /// The provider of libhdf5's functions for the library.
    pub(super) hdf5_provider: Option<Hdf5Provider>,
    /// Parts that are refused, each with its reason.
    #[serde(deserialize_with = "bounded::list::<_, _, HALVES_MAX>")]
    pub(super) refused: Vec<Plain>,
}

/// A text for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plain(#[serde(with = "bounded::plain")] pub(super) String);

/// A message that is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

impl Request {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        to_bytes(self)
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        from_bytes(bytes)
    }
}

impl Reply {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        to_bytes(self)
    }

    /// The library's records are checked again, because this side has not seen them.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        match from_bytes(bytes)? {
            Self::Opened(records) if records.own > records.json.len() => Err(Malformed),
            reply => Ok(reply),
        }
    }
}

/// Returns an empty, invalid message if one cannot be written, which only happens with a list longer than memory.
fn to_bytes(message: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(message).unwrap_or_default()
}

/// The message, if nothing follows it.
fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        _ => Err(Malformed),
    }
}

fn json<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    bounded::text::<D, { wire::TEXT_MAX }>(from)
}

fn allow_list<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    struct List(#[serde(deserialize_with = "bounded::text::<_, ALLOW_LIST_MAX>")] String);
    Ok(Option::<List>::deserialize(from)?.map(|List(text)| text))
}

fn version<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Version>, D::Error> {
    #[derive(Deserialize)]
    struct Text(#[serde(deserialize_with = "bounded::text::<_, NAME_MAX>")] String);
    let text = Option::<Text>::deserialize(from)?;
    text.map(|Text(text)| Version::parse(&text).map_err(D::Error::custom)).transpose()
}

/// A variable as the native face describes it to a plugin.
mod variable {
    use super::{Container, Deserializer, Env, Repr, Serialize, Serializer, Variable, wire};
    use serde::de::Error as _;

    pub(super) fn serialize<S: Serializer>(variable: &Variable, to: S) -> Result<S::Ok, S::Error> {
        let Variable { dtype, array_shape, chunk_shape, fill } = variable.clone();
        let env = Env { dtype, array_shape, chunk_shape: chunk_shape.clone(), container: Container::Hdf5 };
        let input = Repr::Array { dtype, shape: chunk_shape, fill };
        wire::request_to_json(&input, &env).to_string().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Variable, D::Error> {
        let text = super::json(from)?;
        let (input, env) = wire::request_from_json(text.as_bytes()).map_err(D::Error::custom)?;
        Ok(Variable::new(&input, &env))
    }
}

/// An error as the native face describes it to a host.
mod codec_error {
    use super::{CodecError, Deserialize, Deserializer, ErrorKind, Serialize, Serializer, bounded, wire};

    #[derive(Serialize, Deserialize)]
    struct Failure {
        status: i32,
        first: u64,
        second: u64,
        #[serde(with = "bounded::plain")]
        key: String,
        #[serde(with = "bounded::plain")]
        detail: String,
    }

    pub(super) fn serialize<S: Serializer>(error: &CodecError, to: S) -> Result<S::Ok, S::Error> {
        let (status, first, second) = wire::error_numbers(error.kind());
        let key = match error.kind() {
            ErrorKind::Config { key } => key.clone(),
            _ => String::new(),
        };
        Failure { status, first, second, key, detail: error.detail().to_owned() }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<CodecError, D::Error> {
        let Failure { status, first, second, key, detail } = Failure::deserialize(from)?;
        Ok(wire::error_of(status, first, second, &key, &detail))
    }
}

#[cfg(test)]
mod tests {
    use ncz_codec::{Dtype, Kind};

    use super::*;

    fn requests() -> Vec<Request> {
        let variable = Variable {
            dtype: Dtype::big(Kind::Float, 8),
            array_shape: vec![1000, 777],
            chunk_shape: vec![64, 48],
            fill: Some(vec![1, 2, 3, 4, 5, 6, 7, 8]),
        };
        let run =
            Run { direction: Direction::Decode, params: vec![], input: 10, output: (64, 100), shared: 4096 };
        vec![
            Request::Open { path: "/a/libx.so".into(), memory: 1 << 40, allow_list: None },
            Request::Open { path: "/a/libx.so".into(), memory: 0, allow_list: Some("{}".into()) },
            Request::SetLocal { given: vec![1, u32::MAX], variable: variable.clone() },
            Request::ToParams { half: 3, json: r#"{"level":5}"#.into() },
            Request::ToJson { half: 0, params: vec![7] },
            Request::Modify { half: 1, visible: vec![], variable: Variable { fill: None, ..variable } },
            Request::Run(run),
            Request::Exit,
        ]
    }

    fn replies() -> Vec<Reply> {
        let filter = FilterFacts {
            id: 32_004,
            name: "lz4".into(),
            encodes: true,
            decodes: false,
            has_can_apply: true,
            has_set_local: false,
        };
        let json = JsonFacts { codec_id: "zstd".into(), filter_id: 32_015, has_modify_parameters: true };
        let records = Records {
            natives: 1,
            version: Some(Version::new(1, 2, 3)),
            interface: None,
            filter: Some(filter),
            json: vec![json],
            own: 1,
            hdf5_provider: Some(Hdf5Provider::Hdf5("/a".into())),
            refused: vec![Plain("why".into())],
        };
        vec![
            Reply::Hello { protocol: "3.0.0".into(), version: "0.1.0".into() },
            Reply::Opened(records),
            Reply::Opened(Records::default()),
            Reply::Refused("no".into()),
            Reply::Params(vec![1, 2]),
            Reply::Json("{}".into()),
            Reply::Modified(Modified { visible: vec![1], working: vec![2, 3] }),
            Reply::Ran(12),
            Reply::Failed(CodecError::config("level", "out of range")),
            Reply::Failed(CodecError::output_full(Some(77))),
        ]
    }

    #[test]
    fn messages_come_back_as_they_were_sent_and_no_part_of_one_is_one() {
        for request in requests() {
            let bytes = request.to_bytes();
            assert_eq!(Request::from_bytes(&bytes), Ok(request));
            (0..bytes.len()).for_each(|len| assert!(Request::from_bytes(&bytes[..len]).is_err()));
            assert!(Request::from_bytes(&[bytes, vec![0]].concat()).is_err());
        }
        for reply in replies() {
            let bytes = reply.to_bytes();
            assert_eq!(Reply::from_bytes(&bytes), Ok(reply));
            (0..bytes.len()).for_each(|len| assert!(Reply::from_bytes(&bytes[..len]).is_err()));
            assert!(Reply::from_bytes(&[bytes, vec![0]].concat()).is_err());
        }
    }

    #[test]
    fn damaged_answers_are_answers_or_malformed_but_never_a_crash() {
        let mut seed = 1_u64;
        for _ in 0..20_000 {
            for mut bytes in replies().iter().map(Reply::to_bytes) {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (seed >> 33) as usize % bytes.len();
                bytes[at] ^= 1 << (seed >> 61);
                let _ = Reply::from_bytes(&bytes);
            }
        }
    }

    #[test]
    fn what_a_worker_says_of_a_library_is_checked_as_records_are() {
        let Some(Reply::Opened(good)) = replies().into_iter().nth(1) else { unreachable!() };
        let back = |records: &Records| Reply::from_bytes(&Reply::Opened(records.clone()).to_bytes());
        assert!(back(&good).is_ok());
        let change = |change: &dyn Fn(&mut Records)| {
            let mut records = good.clone();
            change(&mut records);
            back(&records)
        };
        assert_eq!(change(&|records| records.own = 2), Err(Malformed));
        assert_eq!(change(&|records| records.json[0].filter_id = 0), Err(Malformed));
        assert_eq!(change(&|records| records.json[0].codec_id = String::new()), Err(Malformed));
        assert_eq!(change(&|records| records.json[0].codec_id = "\x1b[31m".into()), Err(Malformed));
        assert_eq!(
            change(&|records| records.refused = vec![Plain(String::new()); HALVES_MAX + 1]),
            Err(Malformed)
        );
        let long = "x".repeat(NAME_MAX + 1);
        assert_eq!(change(&|records| records.json[0].codec_id = long.clone()), Err(Malformed));
        let many = Reply::Params(vec![0; bounded::PARAMS_MAX + 1]);
        assert_eq!(Reply::from_bytes(&many.to_bytes()), Err(Malformed));
        let text = Reply::Refused("red \x1b[31m\n".into());
        assert_eq!(Reply::from_bytes(&text.to_bytes()), Ok(Reply::Refused("red  [31m ".into())));
    }
}
