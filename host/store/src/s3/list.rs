//! Listing what is below a prefix.

use std::collections::{BTreeMap, HashSet};

use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Output;
use aws_sdk_s3::types::{EncodingType, Object};
use percent_encoding::percent_decode_str;

use super::answer_limit::AnswerLimit;
use super::failure::{Failure, Kind};
use super::shared::{Operation, Shared};
use crate::error::{ObjectLocation, StoreError};
use crate::key::{KeyBuf, KeyError, Prefix};
use crate::store::{Depth, Entry, EntryKind, Listing};

/// S3 gives no more names at a time.
const PAGE: usize = 1000;

/// Pages without a name that may follow each other: services skip what was deleted.
const EMPTY: usize = 1000;

/// Most names that are listed to copy or delete all of them.
const NAMES: usize = 100_000_000;

/// Lists as [`Store::list`](crate::Store::list) promises.
pub(super) async fn list(
    shared: &Shared,
    prefix: Prefix<'_>,
    depth: Depth,
    max_entries: usize,
) -> Result<Listing, StoreError> {
    let at = || ObjectLocation::below(shared, prefix);
    let start = shared.start(prefix);
    let above = shared.start(Prefix::ROOT).len();
    let delimiter = (depth == Depth::One).then_some("/");
    let mut found = Found::default();
    // Names that come again are the same entries, and our own temporary names are not entries.
    let (mut names, most_names) = (0_usize, max_entries.saturating_mul(2).saturating_add(100 * PAGE));
    let mut pages = Pages::new(shared, start.clone(), delimiter, max_entries.saturating_add(1), at());
    while let Some(page) = pages.next().await? {
        names += page.names.len() + page.prefixes.len();
        for (name, len) in page.names {
            if let (Some(key), Some(below)) = (name.get(above..), name.get(start.len()..)) {
                found.object((key, len), above_len(&start, above), below);
            }
        }
        for name in page.prefixes {
            if let Some(key) = name.get(above..) {
                found.directory(key.strip_suffix('/').unwrap_or(key));
            }
        }
        if found.entries.len() + found.skipped.len() > max_entries || names > most_names {
            return Err(StoreError::TooManyEntries { at: at(), limit: max_entries });
        }
    }
    let entries = found.entries.into_iter().map(|((key, kind), len)| Entry { key, kind, len });
    Ok(Listing { entries: entries.collect(), skipped: found.skipped })
}

fn above_len(start: &str, above: usize) -> usize {
    start.len() - above
}

#[derive(Default)]
struct Found {
    /// What is there, with the lengths of objects.
    entries: BTreeMap<(KeyBuf, EntryKind), Option<u64>>,
    skipped: Vec<String>,
}

impl Found {
    /// Takes an object, and the directories that lead to it. `prefix` bytes of the key are those of the prefix.
    fn object(&mut self, (key, len): (&str, u64), prefix: usize, below: &str) {
        let (key, is_marker) = match key.strip_suffix('/') {
            // an object that other programs make to show an empty folder
            Some(folder) => (folder, true),
            None => (key, false),
        };
        let (kind, len) = match is_marker {
            true => (EntryKind::Directory, None),
            // 0 is also what is taken for a length that the server does not say
            false => (EntryKind::Object, Some(len).filter(|len| *len > 0)),
        };
        if below.is_empty() || !self.fits(key, kind, len) {
            return;
        }
        for (at, _) in key.match_indices('/').filter(|(at, _)| *at > prefix) {
            self.fits(key.get(..at).unwrap_or_default(), EntryKind::Directory, None);
        }
    }

    fn directory(&mut self, key: &str) {
        self.fits(key, EntryKind::Directory, None);
    }

    fn fits(&mut self, text: &str, kind: EntryKind, len: Option<u64>) -> bool {
        match KeyBuf::parse(text) {
            Ok(key) => {
                self.entries.insert((key, kind), len);
                true
            }
            // our own temporary names are never shown
            Err(KeyError::Reserved { .. }) => false,
            Err(_) => {
                self.skipped.push(text.to_owned());
                false
            }
        }
    }
}

/// The pages of a list, one request each.
pub(super) struct Pages<'a> {
    shared: &'a Shared,
    start: String,
    delimiter: Option<&'a str>,
    at_most: usize,
    at: ObjectLocation,
    next: Next,
    /// The continuation tokens that came: one that comes again would make the list endless.
    tokens: HashSet<String>,
    /// Pages without a name, one after the other.
    empty: usize,
}

enum Next {
    First,
    After(String),
    None,
}

/// One page of a list.
pub(super) struct Page {
    /// The names of objects in the bucket, and their lengths.
    pub(super) names: Vec<(String, u64)>,
    /// What several names begin with, up to the delimiter.
    pub(super) prefixes: Vec<String>,
}

impl<'a> Pages<'a> {
    /// The names that begin with `start`, `at_most` on a page.
    pub(super) fn new(
        shared: &'a Shared,
        start: String,
        delimiter: Option<&'a str>,
        at_most: usize,
        at: ObjectLocation,
    ) -> Self {
        Self {
            shared,
            start,
            delimiter,
            at_most: at_most.min(PAGE),
            at,
            next: Next::First,
            tokens: HashSet::new(),
            empty: 0,
        }
    }

    /// The next page.
    pub(super) async fn next(&mut self) -> Result<Option<Page>, StoreError> {
        let after = match &self.next {
            Next::First => None,
            Next::After(token) => Some(token.clone()),
            Next::None => return Ok(None),
        };
        let (shared, start) = (self.shared, self.start.clone());
        let operation =
            Operation { method: "LIST", action: "list", name: &start, range: None, at: self.at.clone() };
        let mut attempts = shared.attempts(operation);
        loop {
            let permit = shared.limiter.permit().await;
            let request = attempts.client().await?.list_objects_v2().bucket(&shared.config.bucket);
            let request = request
                .set_prefix((!self.start.is_empty()).then(|| self.start.clone()))
                .set_delimiter(self.delimiter.map(str::to_owned))
                .set_continuation_token(after.clone())
                .max_keys(i32::try_from(self.at_most).unwrap_or(i32::MAX))
                .encoding_type(EncodingType::Url)
                .customize()
                .interceptor(AnswerLimit::All);
            let failure =
                match attempts.send(0, request.send()).await.and_then(|page| page_of(&page, &self.start)) {
                    Ok((page, next)) => match self.goes_on(&page, next.as_deref()) {
                        None => {
                            attempts.succeeded(0);
                            self.next = next.map_or(Next::None, Next::After);
                            return Ok(Some(page));
                        }
                        Some(reason) => {
                            Failure::new(Kind::Refused, format!("the list does not go on: {reason}"))
                        }
                    },
                    Err(failure) => failure,
                };
            drop(permit);
            attempts.again(failure).await?;
        }
    }

    /// Why a page is not taken, where it would lead to no end.
    fn goes_on(&mut self, page: &Page, next: Option<&str>) -> Option<String> {
        let next = next?;
        if !self.tokens.insert(next.to_owned()) {
            return Some("the same continuation token came again".to_owned());
        }
        let is_empty = page.names.is_empty() && page.prefixes.is_empty();
        self.empty = if is_empty { self.empty + 1 } else { 0 };
        (self.empty > EMPTY).then(|| format!("{EMPTY} pages without a name came one after the other"))
    }

    /// All names that are left.
    pub(super) async fn names(mut self) -> Result<Vec<(String, u64)>, StoreError> {
        let mut all = Vec::new();
        while let Some(page) = self.next().await? {
            all.extend(page.names);
            if all.len() > NAMES {
                return Err(StoreError::TooManyEntries { at: self.at, limit: NAMES });
            }
        }
        Ok(all)
    }
}

fn page_of(page: &ListObjectsV2Output, start: &str) -> Result<(Page, Option<String>), Failure> {
    let encoded = page.encoding_type() == Some(&EncodingType::Url);
    let name = |text: Option<&str>| {
        let text = text.unwrap_or_default();
        let name = if encoded { decoded(text)? } else { text.to_owned() };
        if !name.starts_with(start) {
            let text = format!("the list names {name:?}, which does not begin with {start:?}");
            return Err(Failure::new(Kind::Refused, text));
        }
        Ok(name)
    };
    let object = |object: &Object| {
        Ok((name(object.key())?, object.size().and_then(|len| len.try_into().ok()).unwrap_or(0)))
    };
    let names = page.contents().iter().map(object).collect::<Result<_, Failure>>()?;
    let prefixes =
        page.common_prefixes().iter().map(|common| name(common.prefix())).collect::<Result<_, _>>()?;
    let next = match (page.is_truncated(), page.next_continuation_token()) {
        (Some(true), None) => {
            return Err(Failure::new(Kind::Refused, "the list goes on, but the answer does not say where"));
        }
        (Some(true), Some(token)) => Some(token.to_owned()),
        _ => None,
    };
    Ok((Page { names, prefixes }, next))
}

/// A name as S3 writes it in a list: percent-encoded, with `+` for a space.
fn decoded(text: &str) -> Result<String, Failure> {
    let spaced = text.replace('+', " ");
    match percent_decode_str(&spaced).decode_utf8() {
        Ok(name) => Ok(name.into_owned()),
        Err(_) => Err(Failure::new(Kind::Refused, format!("the list names {text:?}, which is not UTF-8"))),
    }
}
