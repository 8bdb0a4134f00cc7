//! What a host asks a worker, and what a worker answers, as bytes. Either side reads the other's with every length and
//! number checked.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ncz_codec::abi::hdf5;
use ncz_codec::{CodecError, Container, Env, Repr, wire};

use crate::load::{Bound, Direction, FilterFacts, JsonFacts, Modified, Variable};

/// Changes with every change of the messages. Host and worker must also be of one release, so this only serves those
/// who build from a tree.
pub(super) const PROTOCOL: u32 = 2;
/// The longest name of a filter or codec.
const NAME_MAX: usize = 1024;
/// The most parameters.
const PARAMS_MAX: usize = 1 << 16;
/// The most codec halves of one library.
const HALVES_MAX: usize = 4096;
/// The longest list of one plugin.
const LOCK_MAX: usize = 1 << 16;
/// The longest text of an error.
const TEXT_MAX: usize = 4096;

/// What a host asks.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    /// Open the library; first of all, and once.
    Open {
        path: PathBuf,
        /// The address space that it may take.
        memory: u64,
        /// A list of plugins in JSON that has to admit it.
        lock: Option<String>,
    },
    SetLocal {
        given: Vec<u32>,
        variable: Variable,
    },
    /// `half` is a place in [`Records::json`].
    ToParams {
        half: usize,
        json: String,
    },
    ToJson {
        half: usize,
        params: Vec<u32>,
    },
    Modify {
        half: usize,
        visible: Vec<u32>,
        variable: Variable,
    },
    Run(Run),
    /// End as programs do, which runs what libraries have for that.
    Exit,
}

/// A call of the filter: the input lies at the start of the shared memory, the output goes where `output` begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Run {
    pub(super) direction: Direction,
    pub(super) params: Vec<u32>,
    /// The length of the input.
    pub(super) input: usize,
    /// Where the room for the output begins, and how long it is.
    pub(super) output: (usize, usize),
    /// How long the shared memory is.
    pub(super) shared: usize,
}

/// What a worker answers.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reply {
    /// Said before anything is asked.
    Hello {
        protocol: u32,
        version: String,
    },
    Opened(Records),
    /// The loader refuses the library.
    Refused(String),
    Params(Vec<u32>),
    Json(String),
    Modified(Modified),
    /// The filter wrote so many bytes.
    Ran(usize),
    /// The library, or what stands around it, refuses the call.
    Failed(CodecError),
}

/// What a library offers by its C faces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Records {
    /// How many codecs its native face has; they are not served.
    pub(super) natives: usize,
    pub(super) filter: Option<FilterFacts>,
    /// Its codec halves. The first `own` belong to its filter, the others are for filters of other libraries.
    pub(super) json: Vec<JsonFacts>,
    pub(super) own: usize,
    /// Whom the library asks.
    pub(super) bound: Option<Bound>,
    /// Parts that are refused, each with its reason.
    pub(super) refused: Vec<String>,
}

/// A message that is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

type Read<T> = Result<T, Malformed>;

impl Request {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Open { path, memory, lock } => {
                out.push(0);
                put_u64(&mut out, *memory);
                put_bytes(&mut out, path.as_os_str().as_bytes());
                out.push(lock.is_some().into());
                if let Some(lock) = lock {
                    put_bytes(&mut out, lock.as_bytes());
                }
            }
            Self::SetLocal { given, variable } => {
                out.push(1);
                put_words(&mut out, given);
                put_variable(&mut out, variable);
            }
            Self::ToParams { half, json } => {
                out.push(2);
                put_u64(&mut out, *half as u64);
                put_bytes(&mut out, json.as_bytes());
            }
            Self::ToJson { half, params } => {
                out.push(3);
                put_u64(&mut out, *half as u64);
                put_words(&mut out, params);
            }
            Self::Modify { half, visible, variable } => {
                out.push(4);
                put_u64(&mut out, *half as u64);
                put_words(&mut out, visible);
                put_variable(&mut out, variable);
            }
            Self::Run(run) => {
                out.push(5);
                out.push((run.direction == Direction::Decode).into());
                put_words(&mut out, &run.params);
                for number in [run.input, run.output.0, run.output.1, run.shared] {
                    put_u64(&mut out, number as u64);
                }
            }
            Self::Exit => out.push(6),
        }
        out
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Read<Self> {
        let mut bytes = Bytes(bytes);
        let request = match bytes.u8()? {
            0 => {
                let (memory, path) = (bytes.u64()?, bytes.path()?);
                let lock = if bytes.flag()? { Some(bytes.text(LOCK_MAX)?) } else { None };
                Self::Open { path, memory, lock }
            }
            1 => Self::SetLocal { given: bytes.words()?, variable: bytes.variable()? },
            2 => Self::ToParams { half: bytes.usize()?, json: bytes.text(usize::MAX)? },
            3 => Self::ToJson { half: bytes.usize()?, params: bytes.words()? },
            4 => Self::Modify { half: bytes.usize()?, visible: bytes.words()?, variable: bytes.variable()? },
            5 => Self::Run(Run {
                direction: if bytes.flag()? { Direction::Decode } else { Direction::Encode },
                params: bytes.words()?,
                input: bytes.usize()?,
                output: (bytes.usize()?, bytes.usize()?),
                shared: bytes.usize()?,
            }),
            6 => Self::Exit,
            _ => return Err(Malformed),
        };
        bytes.end(request)
    }
}

impl Reply {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Hello { protocol, version } => {
                out.push(0);
                put_u32(&mut out, *protocol);
                put_bytes(&mut out, version.as_bytes());
            }
            Self::Opened(records) => {
                out.push(1);
                records.put(&mut out);
            }
            Self::Refused(reason) => {
                out.push(2);
                put_text(&mut out, reason);
            }
            Self::Params(params) => {
                out.push(3);
                put_words(&mut out, params);
            }
            Self::Json(json) => {
                out.push(4);
                put_bytes(&mut out, json.as_bytes());
            }
            Self::Modified(Modified { visible, working }) => {
                out.push(5);
                put_words(&mut out, visible);
                put_words(&mut out, working);
            }
            Self::Ran(len) => {
                out.push(6);
                put_u64(&mut out, *len as u64);
            }
            Self::Failed(error) => {
                out.push(7);
                let (number, first, second) = wire::error_numbers(error.kind());
                let key = match error.kind() {
                    ncz_codec::ErrorKind::Config { key } => key.as_str(),
                    _ => "",
                };
                put_u32(&mut out, number as u32);
                put_u64(&mut out, first);
                put_u64(&mut out, second);
                put_text(&mut out, key);
                put_text(&mut out, error.detail());
            }
        }
        out
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Read<Self> {
        let mut bytes = Bytes(bytes);
        let reply = match bytes.u8()? {
            0 => Self::Hello { protocol: bytes.u32()?, version: bytes.plain(NAME_MAX)? },
            1 => Self::Opened(Records::take(&mut bytes)?),
            2 => Self::Refused(bytes.plain(TEXT_MAX)?),
            3 => Self::Params(bytes.words()?),
            4 => Self::Json(bytes.text(wire::TEXT_MAX)?),
            5 => Self::Modified(Modified { visible: bytes.words()?, working: bytes.words()? }),
            6 => Self::Ran(bytes.usize()?),
            7 => {
                let (number, first, second) = (bytes.u32()? as i32, bytes.u64()?, bytes.u64()?);
                let (key, detail) = (bytes.plain(TEXT_MAX)?, bytes.plain(TEXT_MAX)?);
                Self::Failed(wire::error_of(number, first, second, &key, &detail))
            }
            _ => return Err(Malformed),
        };
        bytes.end(reply)
    }
}

impl Records {
    fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.natives as u64);
        out.push(self.filter.is_some().into());
        if let Some(facts) = &self.filter {
            put_u32(out, facts.id);
            put_bytes(out, facts.name.as_bytes());
            let flags = [facts.encodes, facts.decodes, facts.has_can_apply, facts.has_set_local];
            out.extend(flags.map(u8::from));
        }
        put_u64(out, self.own as u64);
        put_u64(out, self.json.len() as u64);
        for facts in &self.json {
            put_u32(out, facts.filter_id);
            put_bytes(out, facts.codec_id.as_bytes());
            out.push(facts.has_modify_parameters.into());
        }
        put_bound(out, self.bound.as_ref());
        put_u64(out, self.refused.len() as u64);
        self.refused.iter().for_each(|reason| put_text(out, reason));
    }

    /// What a library says of itself is checked again: this side has not seen it.
    fn take(bytes: &mut Bytes<'_>) -> Read<Self> {
        let natives = bytes.usize()?;
        let filter = match bytes.flag()? {
            false => None,
            true => Some(FilterFacts {
                id: bytes.id()?,
                name: bytes.name()?,
                encodes: bytes.flag()?,
                decodes: bytes.flag()?,
                has_can_apply: bytes.flag()?,
                has_set_local: bytes.flag()?,
            }),
        };
        let own = bytes.usize()?;
        let json = (0..bytes.count(HALVES_MAX)?).map(|_| {
            let (filter_id, codec_id) = (bytes.id()?, bytes.name()?);
            let facts = JsonFacts { codec_id, filter_id, has_modify_parameters: bytes.flag()? };
            if facts.codec_id.is_empty() { Err(Malformed) } else { Ok(facts) }
        });
        let json = json.collect::<Read<Vec<_>>>()?;
        let bound = bytes.bound()?;
        let refused =
            (0..bytes.count(HALVES_MAX)?).map(|_| bytes.plain(TEXT_MAX)).collect::<Read<Vec<_>>>()?;
        if own > json.len() {
            Err(Malformed)
        } else {
            Ok(Self { natives, filter, json, own, bound, refused })
        }
    }
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u64(out, bytes.len() as u64);
    out.extend(bytes);
}

/// A text for people, cut where it is too long.
fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, &text.as_bytes()[..text.floor_char_boundary(TEXT_MAX)]);
}

fn put_words(out: &mut Vec<u8>, words: &[u32]) {
    put_u64(out, words.len() as u64);
    words.iter().for_each(|word| put_u32(out, *word));
}

fn put_bound(out: &mut Vec<u8>, bound: Option<&Bound>) {
    let mut put = |kind, text: &[u8]| {
        out.push(kind);
        put_bytes(out, text);
    };
    match bound {
        None => put(0, b""),
        Some(Bound::Nothing) => put(1, b""),
        Some(Bound::Shim) => put(2, b""),
        Some(Bound::Hdf5(file)) => put(3, file.as_os_str().as_bytes()),
        Some(Bound::Netcdf(file)) => put(4, file.as_os_str().as_bytes()),
        Some(Bound::Nobody(reason)) => put(5, &reason.as_bytes()[..reason.floor_char_boundary(TEXT_MAX)]),
    }
}

/// As the native face tells a plugin of its input.
fn put_variable(out: &mut Vec<u8>, variable: &Variable) {
    let Variable { dtype, array_shape, chunk_shape, fill } = variable.clone();
    let env = Env { dtype, array_shape, chunk_shape: chunk_shape.clone(), container: Container::Hdf5 };
    let input = Repr::Array { dtype, shape: chunk_shape, fill };
    put_bytes(out, wire::request_to_json(&input, &env).to_string().as_bytes());
}

/// What of a message is not read yet.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, len: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| Malformed)
    }

    fn u8(&mut self) -> Read<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn flag(&mut self) -> Read<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    fn u32(&mut self) -> Read<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Read<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn usize(&mut self) -> Read<usize> {
        usize::try_from(self.u64()?).map_err(|_| Malformed)
    }

    fn count(&mut self, most: usize) -> Read<usize> {
        self.usize().and_then(|count| if count <= most { Ok(count) } else { Err(Malformed) })
    }

    fn bytes(&mut self) -> Read<&'a [u8]> {
        let len = self.usize()?;
        self.take(len)
    }

    fn text(&mut self, most: usize) -> Read<String> {
        let text = std::str::from_utf8(self.bytes()?).map_err(|_| Malformed)?;
        if text.len() <= most { Ok(text.to_owned()) } else { Err(Malformed) }
    }

    /// A text for people, without what steers a terminal.
    fn plain(&mut self, most: usize) -> Read<String> {
        self.text(most).map(|text| text.replace(char::is_control, " "))
    }

    /// A name as records have them.
    fn name(&mut self) -> Read<String> {
        let name = self.text(NAME_MAX)?;
        if name.contains(char::is_control) { Err(Malformed) } else { Ok(name) }
    }

    fn id(&mut self) -> Read<u32> {
        let id = self.u32()?;
        let range = 1..=hdf5::FILTER_MAX as u32;
        if range.contains(&id) { Ok(id) } else { Err(Malformed) }
    }

    fn path(&mut self) -> Read<PathBuf> {
        Ok(Path::new(OsStr::from_bytes(self.bytes()?)).to_owned())
    }

    fn bound(&mut self) -> Read<Option<Bound>> {
        let kind = self.u8()?;
        Ok(match kind {
            3 => Some(Bound::Hdf5(self.path()?)),
            4 => Some(Bound::Netcdf(self.path()?)),
            5 => Some(Bound::Nobody(self.plain(TEXT_MAX)?)),
            0..=2 if !self.bytes()?.is_empty() => return Err(Malformed),
            0 => None,
            1 => Some(Bound::Nothing),
            2 => Some(Bound::Shim),
            _ => return Err(Malformed),
        })
    }

    fn words(&mut self) -> Read<Vec<u32>> {
        let bytes = self.count(PARAMS_MAX).and_then(|count| self.take(4 * count))?;
        let (words, _) = bytes.as_chunks();
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    fn variable(&mut self) -> Read<Variable> {
        let (input, env) = wire::request_from_json(self.bytes()?).map_err(|_| Malformed)?;
        Ok(Variable::new(&input, &env))
    }

    /// The message, if nothing follows it.
    fn end<T>(self, message: T) -> Read<T> {
        if self.0.is_empty() { Ok(message) } else { Err(Malformed) }
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
            Request::Open { path: "/a/libx.so".into(), memory: 1 << 40, lock: None },
            Request::Open { path: "/a/libx.so".into(), memory: 0, lock: Some("{}".into()) },
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
            filter: Some(filter),
            json: vec![json],
            own: 1,
            bound: Some(Bound::Hdf5("/a".into())),
            refused: vec!["why".into()],
        };
        vec![
            Reply::Hello { protocol: 1, version: "0.1.0".into() },
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
        let long = "x".repeat(NAME_MAX + 1);
        assert_eq!(change(&|records| records.json[0].codec_id = long.clone()), Err(Malformed));
        let text = Reply::Refused("red \x1b[31m\n".into());
        assert_eq!(Reply::from_bytes(&text.to_bytes()), Ok(Reply::Refused("red  [31m ".into())));
    }
}
