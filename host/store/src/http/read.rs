//! Reads, tried again where that may help.

mod into;

use reqwest::Response;

use super::exchange::{Part, Reply, Service, drain};
use super::log::RequestLog;
use super::range::RequestedRange;
use crate::error::StoreError;
use crate::key::Key;
use crate::remote::{
    Body, BodyError, Failure, Permit, ReadAhead, Retry, SlicePart, ThroughputGuard, UNKNOWN_LEN_RESERVE,
};
use crate::store::{ReadInto, ReadRange, Stamp};

/// Bytes before a range that are read in vain where a server gives no ranges; more only if the range is longer still.
const READ_IN_VAIN: u64 = 64 << 20;

/// No object is longer than this, and some servers stumble over larger numbers.
const LARGEST_OFFSET: u64 = i64::MAX as u64;

impl Service {
    /// [`Store::read`](crate::Store::read), as a task.
    pub(super) async fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
        read_ahead: &mut ReadAhead,
    ) -> Result<bool, StoreError> {
        let mut retry = Retry::new(&self.options);
        loop {
            out.clear();
            let mut attempt = self.attempt(key, read_ahead, &retry).await;
            let failure = match attempt.read(range, max_len, out).await {
                Ok(found) => return Ok(found),
                Err(failure) => attempt.failed(failure),
            };
            out.clear();
            self.pause(key, failure, &mut retry).await?;
        }
    }

    /// [`Store::read_into`](crate::Store::read_into) or [`Store::read_end_into`](crate::Store::read_end_into), as a
    /// task.
    pub(super) async fn read_into(
        &self,
        key: Key<'_>,
        part: SlicePart,
        out: &mut [u8],
    ) -> Result<Option<ReadInto>, StoreError> {
        let mut retry = Retry::new(&self.options);
        loop {
            let mut read_ahead = ReadAhead::none();
            let mut attempt = self.attempt(key, &mut read_ahead, &retry).await;
            let failure = match attempt.read_into(part, out).await {
                Ok(found) => return Ok(found),
                Err(failure) => attempt.failed(failure),
            };
            self.pause(key, failure, &mut retry).await?;
        }
    }

    /// [`Store::stamp`](crate::Store::stamp), as a task.
    pub(super) async fn stamp(&self, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
        let mut retry = Retry::new(&self.options);
        loop {
            let mut read_ahead = ReadAhead::none();
            let mut attempt = self.attempt(key, &mut read_ahead, &retry).await;
            let failure = match attempt.stamp().await {
                Ok(stamp) => return Ok(stamp),
                Err(failure) => attempt.failed(failure),
            };
            self.pause(key, failure, &mut retry).await?;
        }
    }

    async fn attempt<'a>(
        &'a self,
        key: Key<'a>,
        read_ahead: &'a mut ReadAhead,
        retry: &Retry,
    ) -> Attempt<'a> {
        let permit = self.limiter.permit().await;
        let record = RequestLog::new(self.address.base(), key, retry.number());
        Attempt { service: self, key, permit, read_ahead, record }
    }

    async fn pause(&self, key: Key<'_>, failure: Failure, retry: &mut Retry) -> Result<(), StoreError> {
        let attempt = retry.number();
        let why = failure.to_string();
        let is_silent = matches!(failure, Failure::Silent { .. });
        let pause = retry.pause(failure, "read", || self.at(key))?;
        if is_silent {
            // It took long, and may take as long again.
            tracing::warn!(target: "ncz_store::http", "{}: {why}; trying once more", self.at(key));
        }
        RequestLog::retried(self.address.base(), key, attempt, pause, &why);
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// One try of a read. It holds its permit for all requests that it takes.
struct Attempt<'a> {
    service: &'a Service,
    key: Key<'a>,
    permit: Permit,
    read_ahead: &'a mut ReadAhead,
    record: RequestLog<'a>,
}

impl Attempt<'_> {
    async fn read(&mut self, range: ReadRange, max_len: u64, out: &mut Vec<u8>) -> Result<bool, Failure> {
        let wanted = match range {
            ReadRange::All | ReadRange::From(0) => RequestedRange::All,
            // no header asks for no bytes, and what is too long is not fetched to find that out
            ReadRange::Bounded { len, .. } | ReadRange::Suffix(len) if len == 0 || len > max_len => {
                return self.read_by_length(range, max_len, out).await;
            }
            ReadRange::From(offset) | ReadRange::Bounded { offset, .. } if offset > LARGEST_OFFSET => {
                return self.read_by_length(range, max_len, out).await;
            }
            ReadRange::From(offset) => RequestedRange::From(offset),
            ReadRange::Bounded { offset, len } => closed(offset, len),
            ReadRange::Suffix(len) => return self.read_suffix(len, max_len, out).await,
        };
        let reply = self.service.get(self.key, wanted, &mut self.record).await?;
        self.take(reply, range, max_len, out).await
    }

    /// Reads a range once the length of the object says where it lies.
    async fn read_by_length(
        &mut self,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        let Some(len) = self.len().await? else { return Ok(false) };
        self.read_of(len, range, max_len, out).await
    }

    /// Reads a range of an object of `len` bytes.
    async fn read_of(
        &mut self,
        len: u64,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        let location = range.checked(len, max_len, || self.service.at(self.key))?;
        if location.is_empty() {
            return Ok(true);
        }
        let len = location.end - location.start;
        let reply = self.service.get(self.key, closed(location.start, len), &mut self.record).await?;
        self.take(reply, ReadRange::Bounded { offset: location.start, len }, max_len, out).await
    }

    /// Many servers do not understand "the last bytes". Some ignore it and send everything, some send something
    /// else, some refuse: those are asked for the bytes by their places.
    async fn read_suffix(&mut self, len: u64, max_len: u64, out: &mut Vec<u8>) -> Result<bool, Failure> {
        let range = ReadRange::Suffix(len);
        let features = &self.service.features;
        if !features.may_support_suffixes() && features.ranges() != Some(false) {
            return self.read_by_length(range, max_len, out).await;
        }
        let total = match self.service.get(self.key, RequestedRange::Suffix(len), &mut self.record).await? {
            Reply::Unsatisfiable(total) => total,
            Reply::Whole(response, Some(total)) if total > len && features.ranges() != Some(false) => {
                drop(response);
                Some(total)
            }
            reply => return self.take(reply, range, max_len, out).await,
        };
        match total {
            Some(total) if total < len => {
                range.checked(total, max_len, || self.service.at(self.key))?;
                Ok(true)
            }
            Some(total) => {
                features.note_no_suffixes();
                self.read_of(total, range, max_len, out).await
            }
            None => {
                features.note_no_suffixes();
                self.read_by_length(range, max_len, out).await
            }
        }
    }

    /// Takes what an answer has of a range.
    async fn take(
        &mut self,
        reply: Reply,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        match reply {
            Reply::Missing => Ok(false),
            Reply::Unsatisfiable(total) => {
                let Some(total) = self.total(total).await? else { return Ok(false) };
                let location = range.checked(total, max_len, || self.service.at(self.key))?;
                if location.is_empty() { Ok(true) } else { Err(self.contradiction(total)) }
            }
            Reply::Part(Part { response, len, total }) => {
                if let ReadRange::Bounded { len: want, .. } | ReadRange::Suffix(want) = range
                    && len < want
                {
                    drop(response);
                    let Some(total) = self.total(total).await? else { return Ok(false) };
                    range.checked(total, max_len, || self.service.at(self.key))?;
                    return Err(Failure::again("the server gave fewer bytes than requested"));
                }
                self.collect(response, BodyRange::part(len), max_len, out).await?;
                Ok(true)
            }
            Reply::Whole(response, total) => {
                let cut = self.cut(range, total, max_len)?;
                if let Some(seen) = self.collect(response, cut, max_len, out).await? {
                    range.checked(seen, max_len, || self.service.at(self.key))?;
                    return Err(Failure::again("the answer ended too early"));
                }
                Ok(true)
            }
        }
    }

    /// Where a range lies in a body that is a whole object.
    fn cut(&self, range: ReadRange, total: Option<u64>, max_len: u64) -> Result<BodyRange, Failure> {
        let cut = match (total, range) {
            (Some(total), range) => {
                let location = range.checked(total, max_len, || self.service.at(self.key))?;
                let take = Some(location.end - location.start);
                BodyRange { skip: location.start, take, rest: location.end < total, open: false }
            }
            (None, ReadRange::All) => BodyRange { skip: 0, take: None, rest: false, open: true },
            (None, ReadRange::From(offset)) => {
                BodyRange { skip: offset, take: None, rest: false, open: true }
            }
            (None, ReadRange::Bounded { offset, len }) => {
                BodyRange { skip: offset, take: Some(len), rest: true, open: true }
            }
            (None, ReadRange::Suffix(_)) => {
                return Err(self
                    .service
                    .refused(self.key, "the server supports no ranges and does not report the length"));
            }
        };
        self.check_cut(cut)?;
        Ok(cut)
    }

    /// Learns that a server has no ranges, and refuses to read too much for the sake of little.
    fn check_cut(&self, cut: BodyRange) -> Result<(), Failure> {
        if cut.skip > 0 || cut.rest {
            self.service.features.note_no_ranges();
        }
        if cut.skip > READ_IN_VAIN.max(cut.take.unwrap_or(0)) {
            let reason = format!(
                "the server has no ranges, and for bytes from offset {} all before them would have to be read: use a server with ranges, or copy the dataset to a disk first",
                cut.skip
            );
            return Err(self.service.refused(self.key, reason));
        }
        Ok(())
    }

    /// Collects a body in a caller's buffer; says how long it was where it ended before the cut.
    async fn collect(
        &mut self,
        response: Response,
        cut: BodyRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>, Failure> {
        let at = self.service.at(self.key);
        if let Some(len) = cut.take.filter(|take| *take > max_len) {
            return Err(StoreError::TooLarge { at, len, limit: max_len }.into());
        }
        self.permit.reserve(cut.take.unwrap_or(max_len.min(UNKNOWN_LEN_RESERVE)), self.read_ahead).await;
        let mut body = Body::begin(out, cut.take, max_len, at)?;
        let seen = self.receive(response, cut, &mut |bytes| body.push(bytes)).await?;
        if seen.is_none() {
            body.finish()?;
        }
        Ok(seen)
    }

    /// Passes the bytes of a cut on; says how long the body was where it ended before the cut and nothing had announced its
    /// length. What follows a cut is left unread.
    async fn receive(
        &mut self,
        mut response: Response,
        cut: BodyRange,
        push: &mut (dyn FnMut(&[u8]) -> Result<(), BodyError> + Send),
    ) -> Result<Option<u64>, Failure> {
        let (mut skip, mut seen) = (cut.skip, 0u64);
        let end = cut.take.map(|take| cut.skip.saturating_add(take));
        let mut throughput = ThroughputGuard::new(self.service.options.idle_timeout);
        while !(cut.rest && end.is_some_and(|end| seen >= end)) {
            let bytes = response.chunk().await.map_err(|error| self.service.broken(self.key, error))?;
            let Some(bytes) = bytes else {
                let short = seen < cut.skip || end.is_some_and(|end| seen < end);
                return match (short, cut.open) {
                    (false, _) => Ok(None),
                    (true, true) => Ok(Some(seen)),
                    (true, false) => Err(Failure::again("the answer ended too early")),
                };
            };
            self.record.received(bytes.len());
            throughput.count(bytes.len()).map_err(|reason| self.service.refused(self.key, reason))?;
            let skipped = usize::try_from(skip).unwrap_or(usize::MAX).min(bytes.len());
            skip -= skipped as u64;
            let mut wanted = bytes.get(skipped..).unwrap_or_default();
            if let Some(end) = end.filter(|_| cut.rest) {
                let left = end.saturating_sub(seen + skipped as u64);
                let left = usize::try_from(left).unwrap_or(usize::MAX).min(wanted.len());
                wanted = wanted.get(..left).unwrap_or_default();
            }
            seen += bytes.len() as u64;
            push(wanted)?;
        }
        Ok(None)
    }

    /// The length from an answer, or else from a request for it.
    async fn total(&mut self, known: Option<u64>) -> Result<Option<u64>, Failure> {
        match known {
            Some(total) => Ok(Some(total)),
            None => self.len().await,
        }
    }

    async fn len(&mut self) -> Result<Option<u64>, Failure> {
        Ok(self.stamp().await?.map(|stamp| stamp.length))
    }

    async fn stamp(&mut self) -> Result<Option<Stamp>, Failure> {
        let Self { service, key, record, .. } = self;
        if service.features.may_support_head() {
            match service.head(*key, record).await {
                Ok(stamp) => return Ok(stamp),
                Err(Some(failure)) => return Err(failure),
                Err(None) => service.features.note_no_head(),
            }
        }
        let total = match service.get(*key, RequestedRange::Closed(0, 0), record).await? {
            Reply::Missing => return Ok(None),
            Reply::Unsatisfiable(total) => total,
            Reply::Part(Part { response, total, .. }) => {
                drain(response).await;
                total
            }
            Reply::Whole(_, total) => total,
        };
        match total {
            Some(length) => Ok(Some(Stamp { length, ..Stamp::default() })),
            None => Err(service.refused(
                *key,
                "the server does not report the length of an object, neither for HEAD nor for a range",
            )),
        }
    }

    fn contradiction(&self, total: u64) -> Failure {
        let reason = format!("the server has no such bytes (416), though it says that there are {total}");
        self.service.refused(self.key, reason)
    }

    fn failed(mut self, failure: Failure) -> Failure {
        self.record.failed(&failure);
        failure
    }
}

/// The bytes of a body that are needed.
#[derive(Debug, Clone, Copy)]
struct BodyRange {
    /// Bytes before them.
    skip: u64,
    /// How many they are, where that is known.
    take: Option<u64>,
    /// Others may follow.
    rest: bool,
    /// The length of the body is unknown.
    open: bool,
}

impl BodyRange {
    /// All of a body that is a range of `len` bytes.
    fn part(len: u64) -> Self {
        Self { skip: 0, take: Some(len), rest: false, open: false }
    }
}

/// `len` bytes, at least one, from `offset`.
fn closed(offset: u64, len: u64) -> RequestedRange {
    RequestedRange::Closed(offset, offset.saturating_add(len - 1).min(LARGEST_OFFSET))
}
