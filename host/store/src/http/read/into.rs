//! Reads straight into a caller's slice.

use reqwest::Response;

use super::{Attempt, BodyRange, LARGEST_OFFSET, closed};
use crate::http::exchange::{Part, Reply};
use crate::http::range::RequestedRange;
use crate::remote::{BodyError, Failure, SlicePart};
use crate::store::ReadInto;

impl Attempt<'_> {
    pub(super) async fn read_into(
        &mut self,
        part: SlicePart,
        out: &mut [u8],
    ) -> Result<Option<ReadInto>, Failure> {
        match part {
            SlicePart::From(offset) if !out.is_empty() && offset <= LARGEST_OFFSET => {
                self.read_from_into(offset, out).await
            }
            SlicePart::End if !out.is_empty() => self.read_end_into(out).await,
            // no header asks for no bytes
            SlicePart::From(_) | SlicePart::End => {
                let len = self.len().await?;
                Ok(len.map(|object_len| ReadInto { filled: 0, object_len }))
            }
        }
    }

    async fn read_from_into(&mut self, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, Failure> {
        let room = out.len() as u64;
        let (response, cut, total) =
            match self.service.get(self.key, closed(offset, room), &mut self.record).await? {
                Reply::Missing => return Ok(None),
                Reply::Unsatisfiable(total) => {
                    let Some(object_len) = self.total(total).await? else { return Ok(None) };
                    if object_len > offset {
                        return Err(self.contradiction(object_len));
                    }
                    return Ok(Some(ReadInto { filled: 0, object_len }));
                }
                Reply::Part(Part { response, len, total }) => (response, BodyRange::part(len), total),
                Reply::Whole(response, total) => {
                    let take = total.map_or(room, |total| room.min(total.saturating_sub(offset)));
                    let rest = total.is_none_or(|total| offset.saturating_add(room) < total);
                    let skip = total.map_or(offset, |total| offset.min(total));
                    let cut = BodyRange { skip, take: Some(take), rest, open: total.is_none() };
                    (response, cut, total)
                }
            };
        let Some(read) = self.fill(response, cut, total, out).await? else { return Ok(None) };
        if read.filled as u64 != room.min(read.object_len.saturating_sub(offset)) {
            return Err(Failure::again("the server gave fewer bytes than requested"));
        }
        Ok(Some(read))
    }

    /// As [`read_suffix`](Self::read_suffix), of an object of any length.
    async fn read_end_into(&mut self, out: &mut [u8]) -> Result<Option<ReadInto>, Failure> {
        let room = out.len() as u64;
        let features = &self.service.features;
        if !features.may_support_suffixes() && features.ranges() != Some(false) {
            return self.read_end_by_length(None, out).await;
        }
        let (response, cut, total) =
            match self.service.get(self.key, RequestedRange::Suffix(room), &mut self.record).await? {
                Reply::Missing => return Ok(None),
                Reply::Unsatisfiable(Some(0)) => return Ok(Some(ReadInto { filled: 0, object_len: 0 })),
                Reply::Unsatisfiable(total) => {
                    // some servers know suffixes, but none that are longer than the object
                    if total.is_none_or(|total| total >= room) {
                        features.note_no_suffixes();
                    }
                    return self.read_end_by_length(total, out).await;
                }
                Reply::Part(Part { response, len, total }) => (response, BodyRange::part(len), total),
                Reply::Whole(response, Some(total)) if total <= room || features.ranges() == Some(false) => {
                    let take = room.min(total);
                    let cut = BodyRange { skip: total - take, take: Some(take), rest: false, open: false };
                    (response, cut, Some(total))
                }
                Reply::Whole(response, total) => {
                    drop(response);
                    features.note_no_suffixes();
                    return self.read_end_by_length(total, out).await;
                }
            };
        let Some(read) = self.fill(response, cut, total, out).await? else { return Ok(None) };
        if read.filled as u64 != room.min(read.object_len) {
            return Err(Failure::again("the server gave fewer bytes than requested"));
        }
        Ok(Some(read))
    }

    /// Reads the end of an object once its length is known or requested.
    async fn read_end_by_length(
        &mut self,
        known: Option<u64>,
        out: &mut [u8],
    ) -> Result<Option<ReadInto>, Failure> {
        let Some(len) = self.total(known).await? else { return Ok(None) };
        if len == 0 {
            return Ok(Some(ReadInto { filled: 0, object_len: 0 }));
        }
        let read = self.read_from_into(len.saturating_sub(out.len() as u64), out).await?;
        match read {
            Some(read) if read.object_len != len => {
                Err(Failure::again("the object was replaced while it was read"))
            }
            read => Ok(read),
        }
    }

    /// Fills a caller's slice with the bytes of a cut, which has room for them.
    async fn fill(
        &mut self,
        response: Response,
        cut: BodyRange,
        total: Option<u64>,
        out: &mut [u8],
    ) -> Result<Option<ReadInto>, Failure> {
        self.check_cut(cut)?;
        self.permit.reserve(cut.take.unwrap_or(out.len() as u64), self.read_ahead).await;
        let mut filled = 0;
        let ended = self
            .receive(response, cut, &mut |bytes| match out.get_mut(filled..filled + bytes.len()) {
                Some(to) => {
                    to.copy_from_slice(bytes);
                    filled += bytes.len();
                    Ok(())
                }
                None => Err(BodyError::Broken { reason: "more bytes came than were promised".to_owned() }),
            })
            .await?;
        let object_len = self.total(total.or(ended)).await?;
        Ok(object_len.map(|object_len| ReadInto { filled, object_len }))
    }
}
