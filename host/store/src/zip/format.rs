//! The records that we write: local headers, the directory and its end (APPNOTE.TXT 6.3, 4.3).

use std::time::{SystemTime, UNIX_EPOCH};

pub(super) const LOCAL_HEADER: usize = 30;
pub(super) const LOCAL_MAGIC: [u8; 4] = *b"PK\x03\x04";
pub(super) const CENTRAL_HEADER: usize = 46;
pub(super) const CENTRAL_MAGIC: [u8; 4] = *b"PK\x01\x02";
pub(super) const END_MAGIC: [u8; 4] = *b"PK\x05\x06";
pub(super) const LOCATOR: usize = 20;
pub(super) const LOCATOR_MAGIC: [u8; 4] = *b"PK\x06\x07";
pub(super) const LARGE_END: usize = 56;
pub(super) const LARGE_END_MAGIC: [u8; 4] = *b"PK\x06\x06";

/// What a data descriptor takes at most, after the bytes of an entry whose header lacks them.
pub(super) const MOST_DESCRIPTOR: u64 = 24;

/// A field of 32 bits with this says that the number is in the zip64 extra field.
const ELSEWHERE: u32 = u32::MAX;
const ZIP64_EXTRA: u16 = 1;
const UTF8: u16 = 1 << 11;
const UNIX: u16 = 3 << 8;

/// An entry that we write; its bytes are stored as they are.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewEntry<'a> {
    /// The name; that of a directory ends in a slash.
    pub(super) name: &'a str,
    pub(super) len: u64,
    pub(super) crc: u32,
    pub(super) stamp: DosTime,
}

/// A moment in the encoding that archives have: years from 1980, two seconds; we give UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DosTime {
    date: u16,
    time: u16,
}

impl DosTime {
    pub(super) fn now() -> Self {
        Self::at(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
    }

    fn at(seconds: u64) -> Self {
        let (day, second) = (seconds / 86_400, seconds % 86_400);
        // days from 1 March of the year 0, in eras of 400 years (the civil calendar of Hinnant)
        let days = day + 719_468;
        let of_era = days % 146_097;
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = days / 146_097 * 400 + year_of_era + u64::from(month <= 2);
        let since = year.clamp(1980, 2107) - 1980;
        let (hour, minute) = (second / 3600, second / 60 % 60);
        // each part is within its bits
        Self {
            date: (since << 9 | month << 5 | day) as u16,
            time: (hour << 11 | minute << 5 | (second % 60 / 2)) as u16,
        }
    }
}

impl NewEntry<'_> {
    fn is_directory(&self) -> bool {
        self.name.ends_with('/')
    }

    fn flags(&self) -> u16 {
        if self.name.is_ascii() { 0 } else { UTF8 }
    }

    fn version(&self, large: bool) -> u16 {
        match (large, self.is_directory()) {
            (true, _) => 45,
            (false, true) => 20,
            (false, false) => 10,
        }
    }

    /// The name, and the length where it has room.
    fn short_len(&self) -> u32 {
        u32::try_from(self.len).unwrap_or(ELSEWHERE)
    }

    pub(super) fn local_header(&self) -> Vec<u8> {
        let large = self.short_len() == ELSEWHERE;
        let mut out = Vec::with_capacity(LOCAL_HEADER + self.name.len() + 20);
        out.extend_from_slice(&LOCAL_MAGIC);
        self.common(&mut out, large);
        let extra: &[u64] = if large { &[self.len, self.len] } else { &[] };
        push_u16(&mut out, extra_len(extra));
        out.extend_from_slice(self.name.as_bytes());
        push_extra(&mut out, extra);
        out
    }

    /// The record of the directory for an entry whose header is at `offset`.
    pub(super) fn push_record(&self, out: &mut Vec<u8>, offset: u64) {
        let short_offset = u32::try_from(offset).unwrap_or(ELSEWHERE);
        let mut extra = Vec::new();
        if self.short_len() == ELSEWHERE {
            extra.extend([self.len, self.len]);
        }
        if short_offset == ELSEWHERE {
            extra.push(offset);
        }
        out.extend_from_slice(&CENTRAL_MAGIC);
        push_u16(out, UNIX | self.version(!extra.is_empty()).max(20));
        self.common(out, !extra.is_empty());
        push_u16(out, extra_len(&extra));
        push_u16(out, 0); // comment
        push_u16(out, 0); // disk
        push_u16(out, 0); // internal attributes
        // of Unix in the upper half, of DOS in the lower
        push_u32(out, if self.is_directory() { 0o40_755 << 16 | 0x10 } else { 0o100_644 << 16 });
        push_u32(out, short_offset);
        out.extend_from_slice(self.name.as_bytes());
        push_extra(out, &extra);
    }

    /// What both headers have in the same order, from the version to the length of the name.
    fn common(&self, out: &mut Vec<u8>, large: bool) {
        push_u16(out, self.version(large));
        push_u16(out, self.flags());
        push_u16(out, 0); // stored
        push_u16(out, self.stamp.time);
        push_u16(out, self.stamp.date);
        push_u32(out, self.crc);
        push_u32(out, self.short_len());
        push_u32(out, self.short_len());
        // keys and prefixes are far shorter
        push_u16(out, u16::try_from(self.name.len()).unwrap_or(u16::MAX));
    }
}

/// The end of an archive whose directory has `entries` records and lies at `directory`. Positions
/// are given as `shift` less than they are, where something is before the archive.
pub(super) fn end(entries: u64, directory: std::ops::Range<u64>, shift: u64, comment: &[u8]) -> Vec<u8> {
    let (start, len) = (directory.start - shift, directory.end - directory.start);
    let short = |number: u64| u32::try_from(number).unwrap_or(ELSEWHERE);
    let short_entries = u16::try_from(entries).unwrap_or(u16::MAX);
    let mut out = Vec::new();
    if short_entries == u16::MAX || short(start) == ELSEWHERE || short(len) == ELSEWHERE {
        out.extend_from_slice(&LARGE_END_MAGIC);
        push_u64(&mut out, 44);
        push_u16(&mut out, UNIX | 45);
        push_u16(&mut out, 45);
        push_u32(&mut out, 0); // this disk
        push_u32(&mut out, 0); // that of the directory
        for number in [entries, entries, len, start] {
            push_u64(&mut out, number);
        }
        out.extend_from_slice(&LOCATOR_MAGIC);
        push_u32(&mut out, 0);
        push_u64(&mut out, directory.end - shift);
        push_u32(&mut out, 1); // disks
    }
    out.extend_from_slice(&END_MAGIC);
    push_u16(&mut out, 0);
    push_u16(&mut out, 0);
    push_u16(&mut out, short_entries);
    push_u16(&mut out, short_entries);
    push_u32(&mut out, short(len));
    push_u32(&mut out, short(start));
    push_u16(&mut out, u16::try_from(comment.len()).unwrap_or(u16::MAX));
    out.extend_from_slice(comment);
    out
}

/// A record of somebody else's directory, as its bytes.
pub(super) struct Record(pub(super) Vec<u8>);

impl Record {
    /// The length of the whole record that begins with these bytes.
    pub(super) fn whole_len(header: &[u8; CENTRAL_HEADER]) -> usize {
        [28, 30, 32].into_iter().map(|at| usize::from(u16_at(header, at).unwrap_or(0))).sum::<usize>()
            + CENTRAL_HEADER
    }

    /// The name, for a message.
    pub(super) fn name(&self) -> String {
        let len = usize::from(u16_at(&self.0, 28).unwrap_or(0));
        let name = self.0.get(CENTRAL_HEADER..CENTRAL_HEADER + len).unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    }

    /// The position of the local header, as the record tells it.
    #[cfg(test)]
    fn offset(&self) -> Option<u64> {
        match u32_at(&self.0, 42)? {
            ELSEWHERE => u64_at(&self.0, self.large_offset()?),
            short => Some(short.into()),
        }
    }

    /// Tells another position, which is not greater than the old one and so has room. `None`: the
    /// record is malformed.
    pub(super) fn set_offset(&mut self, offset: u64) -> Option<()> {
        if u32_at(&self.0, 42)? == ELSEWHERE {
            let at = self.large_offset()?;
            self.0.get_mut(at..at + 8)?.copy_from_slice(&offset.to_le_bytes());
        } else {
            let short = u32::try_from(offset).ok().filter(|short| *short != ELSEWHERE)?;
            self.0.get_mut(42..46)?.copy_from_slice(&short.to_le_bytes());
        }
        Some(())
    }

    /// Where in the record the position is that has no room in its field.
    fn large_offset(&self) -> Option<usize> {
        let mut at = CENTRAL_HEADER + usize::from(u16_at(&self.0, 28)?);
        let end = at + usize::from(u16_at(&self.0, 30)?);
        while at + 4 <= end {
            let (kind, len) = (u16_at(&self.0, at)?, usize::from(u16_at(&self.0, at + 2)?));
            if kind == ZIP64_EXTRA {
                let before =
                    [20, 24].into_iter().filter(|at| u32_at(&self.0, *at) == Some(ELSEWHERE)).count();
                return (before * 8 + 8 <= len).then_some(at + 4 + before * 8);
            }
            at += 4 + len;
        }
        None
    }
}

fn extra_len(extra: &[u64]) -> u16 {
    // at most three numbers
    if extra.is_empty() { 0 } else { 4 + 8 * extra.len() as u16 }
}

fn push_extra(out: &mut Vec<u8>, extra: &[u64]) {
    if extra.is_empty() {
        return;
    }
    push_u16(out, ZIP64_EXTRA);
    push_u16(out, 8 * extra.len() as u16);
    for number in extra {
        push_u64(out, *number);
    }
}

fn push_u16(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn push_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn push_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_calendar() {
        for (seconds, year, month, day, time) in [
            (315_532_800, 1980_u16, 1_u16, 1_u16, 0_u16),
            (951_782_399, 2000, 2, 28, 23 << 11 | 59 << 5 | 29),
            (951_782_400, 2000, 2, 29, 0),
            (1_709_294_706, 2024, 3, 1, 12 << 11 | 5 << 5 | 3),
            (0, 1980, 1, 1, 0),
        ] {
            let stamp = DosTime::at(seconds);
            assert_eq!(stamp, DosTime { date: (year - 1980) << 9 | month << 5 | day, time }, "{seconds}");
        }
    }

    #[test]
    fn a_position_can_be_told_anew_in_either_form() {
        for (len, offset, new) in [(5, 100, 7), (5, 1 << 33, 7), (1 << 33, 1 << 34, 1 << 33), (1 << 33, 9, 0)]
        {
            let mut bytes = Vec::new();
            NewEntry { name: "a/é", len, crc: 1, stamp: DosTime::now() }.push_record(&mut bytes, offset);
            let header = bytes[..CENTRAL_HEADER].try_into().unwrap();
            assert_eq!(Record::whole_len(&header), bytes.len());
            let mut record = Record(bytes);
            assert_eq!(record.offset(), Some(offset));
            record.set_offset(new).unwrap();
            assert_eq!(record.offset(), Some(new));
        }
    }
}
