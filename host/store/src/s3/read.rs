//! Reading objects, and parts of them: one GET each.

use std::ops::Range;

use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::primitives::ByteStream;

use super::failure::{Failure, Kind, chain};
use super::shared::{Attempts, Operation, Shared};
use crate::error::{ObjectLocation, StoreError};
use crate::key::Key;
use crate::remote::{Body, ContentRange, ReadAhead, SlicePart, ThroughputGuard, UNKNOWN_LEN_RESERVE};
use crate::store::{ReadInto, ReadRange, Stamp};

/// Reads as [`Store::read`](crate::Store::read) promises.
pub(super) async fn read(
    shared: &Shared,
    key: Key<'_>,
    range: ReadRange,
    max_len: u64,
    out: &mut Vec<u8>,
    read_ahead: &mut ReadAhead,
) -> Result<bool, StoreError> {
    out.clear();
    let name = shared.name(key)?;
    object(shared, &name, shared.at(key), range, max_len, out, read_ahead).await
}

/// Reads the object `name` of the bucket.
pub(super) async fn object(
    shared: &Shared,
    name: &str,
    location: ObjectLocation,
    range: ReadRange,
    max_len: u64,
    out: &mut Vec<u8>,
    read_ahead: &mut ReadAhead,
) -> Result<bool, StoreError> {
    let at = || location.clone();
    let Some(header) = header(range) else {
        // no bytes are requested, or more than any object has: its length says all
        let Some(Stamp { length: len, .. }) = stamp_of(shared, name, at()).await? else {
            return Ok(false);
        };
        return match range.checked(len, max_len, at)? {
            wanted if wanted.is_empty() => Ok(true),
            wanted => Err(StoreError::OutOfMemory { at: at(), len: wanted.end - wanted.start }),
        };
    };
    let mut attempts = shared.attempts(Operation { range: header.as_deref(), ..get(name, at()) });
    loop {
        let mut permit = shared.limiter.permit().await;
        let failure = match open(shared, &mut attempts, name, range).await? {
            Ok(answer) => {
                let taken = async {
                    let wanted = answer.wanted(range, max_len, at)?;
                    let promised = wanted.as_ref().map(|wanted| wanted.end - wanted.start);
                    permit.reserve(promised.unwrap_or(max_len.min(UNKNOWN_LEN_RESERVE)), read_ahead).await;
                    let mut body = Body::begin(out, promised, max_len, at())?;
                    if let Err(failure) = answer.bytes(shared, wanted, |bytes| Ok(body.push(bytes)?)).await {
                        return Err(match failure.refused {
                            Some(error) => Failure::from(*error),
                            None => body.broken(failure.text).into(),
                        });
                    }
                    Ok(body.finish()?)
                };
                match taken.await {
                    Ok(len) => {
                        attempts.succeeded(len);
                        return Ok(true);
                    }
                    Err(failure) => failure,
                }
            }
            Err(failure) => failure,
        };
        // what follows may take a permit of its own
        drop(permit);
        let failure = match failure.kind {
            Kind::Missing => {
                attempts.ended(&failure);
                return Ok(false);
            }
            Kind::OutOfRange => {
                attempts.ended(&failure);
                let len = match failure.object_len {
                    Some(len) => Some(len),
                    None => stamp_of(shared, name, at()).await?.map(|stamp| stamp.length),
                };
                match len.map(|len| range.checked(len, max_len, at)) {
                    None => return Ok(false),
                    Some(Ok(wanted)) if wanted.is_empty() => return Ok(true),
                    Some(Ok(_)) => changed(),
                    Some(Err(error)) => error.into(),
                }
            }
            _ => failure,
        };
        attempts.again(failure).await?;
    }
}

/// Reads as [`Store::read_into`](crate::Store::read_into) and its sisters promise.
pub(super) async fn read_into(
    shared: &Shared,
    key: Key<'_>,
    part: SlicePart,
    out: &mut [u8],
) -> Result<Option<ReadInto>, StoreError> {
    let room = out.len() as u64;
    let range = part.range(room);
    let Some(header) = header(range) else {
        return Ok(len(shared, key).await?.map(|object_len| ReadInto { filled: 0, object_len }));
    };
    let name = shared.name(key)?;
    let mut attempts = shared.attempts(Operation { range: header.as_deref(), ..get(&name, shared.at(key)) });
    loop {
        let mut permit = shared.limiter.permit().await;
        let failure = match open(shared, &mut attempts, &name, range).await? {
            Ok(answer) => {
                let taken = async {
                    let object_len = answer.object_len()?;
                    let wanted = part.of(object_len, room);
                    let want = (wanted.end - wanted.start) as usize;
                    permit.reserve(want as u64, &mut ReadAhead::none()).await;
                    let mut filled = 0;
                    let to = |bytes: &[u8]| {
                        if let Some(room) = out.get_mut(filled..filled + bytes.len()) {
                            room.copy_from_slice(bytes);
                        }
                        filled += bytes.len();
                        Ok(())
                    };
                    answer.bytes(shared, Some(wanted), to).await?;
                    if filled != want {
                        return Err(short(want as u64, filled as u64));
                    }
                    Ok(ReadInto { filled, object_len })
                };
                match taken.await {
                    Ok(found) => {
                        attempts.succeeded(found.filled as u64);
                        return Ok(Some(found));
                    }
                    Err(failure) => failure,
                }
            }
            Err(failure) => failure,
        };
        // what follows may take a permit of its own
        drop(permit);
        let failure = match failure.kind {
            Kind::Missing => {
                attempts.ended(&failure);
                return Ok(None);
            }
            Kind::OutOfRange => {
                attempts.ended(&failure);
                let len = match failure.object_len {
                    Some(len) => Some(len),
                    None => len(shared, key).await?,
                };
                match len {
                    Some(object_len) if !part.of(object_len, room).is_empty() => changed(),
                    found => return Ok(found.map(|object_len| ReadInto { filled: 0, object_len })),
                }
            }
            _ => failure,
        };
        attempts.again(failure).await?;
    }
}

/// The length and ETag of an object.
pub(super) async fn stamp(shared: &Shared, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
    stamp_of(shared, &shared.name(key)?, shared.at(key)).await
}

async fn len(shared: &Shared, key: Key<'_>) -> Result<Option<u64>, StoreError> {
    Ok(stamp(shared, key).await?.map(|stamp| stamp.length))
}

async fn stamp_of(shared: &Shared, name: &str, at: ObjectLocation) -> Result<Option<Stamp>, StoreError> {
    let operation = Operation { method: "HEAD", action: "look at", name, range: None, at };
    let mut attempts = shared.attempts(operation);
    loop {
        let permit = shared.limiter.permit().await;
        let request = attempts.client().await?.head_object().bucket(&shared.config.bucket).key(name);
        let failure = match attempts.send(0, request.send()).await {
            Ok(found) => {
                attempts.succeeded(0);
                match found.content_length().and_then(|len| u64::try_from(len).ok()) {
                    Some(length) => {
                        return Ok(Some(Stamp { length, etag: found.e_tag, ..Stamp::default() }));
                    }
                    None => Failure::new(Kind::Refused, "the answer does not tell the length"),
                }
            }
            Err(failure) if matches!(failure.kind, Kind::Missing | Kind::NotFound) => {
                attempts.ended(&failure);
                return Ok(None);
            }
            // an answer to HEAD has no words; one to GET says what is wrong
            Err(failure) if failure.code.is_none() && matches!(failure.status, Some(301 | 400 | 403)) => {
                attempts.ended(&failure);
                match open(shared, &mut attempts, name, ReadRange::Bounded { offset: 0, len: 1 }).await? {
                    Ok(answer) => match answer.object_len() {
                        Ok(length) => return Ok(Some(Stamp { length, ..Stamp::default() })),
                        Err(failure) => failure,
                    },
                    Err(failure) if failure.kind == Kind::Missing => return Ok(None),
                    Err(failure) if failure.kind == Kind::OutOfRange => return Ok(Some(Stamp::default())),
                    Err(failure) => failure,
                }
            }
            Err(failure) => failure,
        };
        drop(permit);
        attempts.again(failure).await?;
    }
}

fn get(name: &str, at: ObjectLocation) -> Operation<'_> {
    Operation { method: "GET", action: "read", name, range: None, at }
}

/// The header for a range: `Some(None)` for none at all, `None` where no request can ask for it.
fn header(range: ReadRange) -> Option<Option<String>> {
    let sane = |n: u64| i64::try_from(n).ok();
    match range {
        ReadRange::All | ReadRange::From(0) => Some(None),
        ReadRange::From(offset) => Some(Some(format!("bytes={}-", sane(offset)?))),
        ReadRange::Bounded { offset, len } => {
            let last = sane(offset.checked_add(len.checked_sub(1)?)?)?;
            Some(Some(format!("bytes={offset}-{last}")))
        }
        ReadRange::Suffix(0) => None,
        ReadRange::Suffix(len) => Some(Some(format!("bytes=-{}", sane(len)?))),
    }
}

/// The beginning of an answer to GET.
struct Answer {
    body: ByteStream,
    /// Which bytes of the object come; the end is not known of an answer without a length.
    first: u64,
    end: Option<u64>,
    object_len: Option<u64>,
}

/// One try. The outer error ends all of them.
async fn open(
    shared: &Shared,
    attempts: &mut Attempts<'_>,
    name: &str,
    range: ReadRange,
) -> Result<Result<Answer, Failure>, StoreError> {
    let request = attempts.client().await?.get_object().bucket(&shared.config.bucket).key(name);
    let request = request.set_range(header(range).flatten());
    Ok(attempts.send(0, request.send()).await.and_then(|answer| Answer::of(answer, range)))
}

impl Answer {
    fn of(answer: GetObjectOutput, asked: ReadRange) -> Result<Self, Failure> {
        let promised = answer.content_length().and_then(|len| u64::try_from(len).ok());
        let Some(range) = answer.content_range().map(str::to_owned) else {
            // The SDK does not tell 200 (all bytes) from 206 (a part). More bytes than were asked for are all of them,
            // and no part has none; any others may be a part that lost the header on its way.
            let whole = match asked {
                ReadRange::All | ReadRange::From(0) => true,
                ReadRange::From(_) => promised == Some(0),
                ReadRange::Bounded { len, .. } | ReadRange::Suffix(len) => {
                    promised.is_some_and(|promised| promised == 0 || promised > len)
                }
            };
            if !whole {
                let text = "a part was requested, but the answer does not say which bytes it has";
                return Err(Failure::new(Kind::Damaged, text));
            }
            return Ok(Self { body: answer.body, first: 0, end: promised, object_len: promised });
        };
        let parsed = ContentRange::parse(&range).and_then(|range| Some((range.bytes?, range.total)));
        let sound = parsed.filter(|(bytes, _)| promised.is_none_or(|len| len == bytes.end - bytes.start));
        let Some((bytes, object_len)) = sound else {
            return Err(Failure::new(
                Kind::Damaged,
                format!("the answer makes no sense: {range:?} in {promised:?} bytes"),
            ));
        };
        Ok(Self { body: answer.body, first: bytes.start, end: Some(bytes.end), object_len })
    }

    fn object_len(&self) -> Result<u64, Failure> {
        self.object_len
            .ok_or_else(|| Failure::new(Kind::Refused, "the answer does not tell the length of the object"))
    }

    /// The bytes of the object to take; `None` for all, however many come.
    fn wanted(
        &self,
        range: ReadRange,
        max_len: u64,
        at: impl Fn() -> ObjectLocation,
    ) -> Result<Option<Range<u64>>, Failure> {
        if self.end.is_none() {
            return Ok(None);
        }
        Ok(Some(range.checked(self.object_len()?, max_len, at)?))
    }

    /// Hands on the wanted bytes as they come.
    async fn bytes(
        mut self,
        shared: &Shared,
        wanted: Option<Range<u64>>,
        mut to: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let wanted = wanted.unwrap_or(self.first..u64::MAX);
        if self.first > wanted.start || self.end.is_some_and(|end| end < wanted.end) {
            return Err(Failure::new(Kind::Damaged, "other bytes came than were requested"));
        }
        // What is needed to its end is read to its end, for the checksum is known only then.
        let to_end = self.end.is_none_or(|end| end == wanted.end);
        let mut position = self.first;
        let patience = shared.config.remote.idle_timeout;
        let mut throughput = ThroughputGuard::new(patience);
        while to_end || position < wanted.end {
            let next = tokio::time::timeout(patience, self.body.next()).await.map_err(|_| {
                Failure::new(Kind::Silent, format!("no byte came for {} s", patience.as_secs_f32()))
            })?;
            let Some(bytes) = next else {
                return match self.end {
                    Some(end) if to_end && end != position => {
                        Err(short(end - self.first, position - self.first))
                    }
                    _ => Ok(()),
                };
            };
            let bytes = bytes.map_err(|error| Failure::new(Kind::Damaged, chain(&error)))?;
            throughput.count(bytes.len()).map_err(|reason| Failure::new(Kind::Refused, reason))?;
            let skip = wanted.start.saturating_sub(position).min(bytes.len() as u64) as usize;
            let take = (wanted.end.saturating_sub(position)).min(bytes.len() as u64) as usize;
            position += bytes.len() as u64;
            if self.end.is_some_and(|end| position > end) {
                return Err(Failure::new(Kind::Damaged, "more bytes came than were promised"));
            }
            to(bytes.get(skip..take).unwrap_or_default())?;
        }
        Ok(())
    }
}

fn changed() -> Failure {
    Failure::new(Kind::Damaged, "the object has changed meanwhile")
}

fn short(promised: u64, came: u64) -> Failure {
    Failure::new(Kind::Damaged, format!("{promised} bytes were promised and {came} came"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_asked_for_only_where_http_knows_them() {
        let bounded = |offset, len| header(ReadRange::Bounded { offset, len });
        assert_eq!(header(ReadRange::All), Some(None));
        assert_eq!(header(ReadRange::From(0)), Some(None));
        assert_eq!(header(ReadRange::From(7)), Some(Some("bytes=7-".to_owned())));
        assert_eq!(bounded(0, 1), Some(Some("bytes=0-0".to_owned())));
        assert_eq!(bounded(5, 3), Some(Some("bytes=5-7".to_owned())));
        assert_eq!(header(ReadRange::Suffix(3)), Some(Some("bytes=-3".to_owned())));
        for none in
            [bounded(5, 0), bounded(u64::MAX, 2), bounded(u64::MAX - 1, 1), header(ReadRange::Suffix(0))]
        {
            assert_eq!(none, None);
        }
    }
}
