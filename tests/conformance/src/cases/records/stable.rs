//! Records are requested at any time and from any thread; hosts keep the first ones.

use std::sync::Arc;
use std::thread;

use ncz_codec::{CodecInfo, CodecType};
use ncz_registry::load::Library;
use ncz_registry::load::probe::{RawCodec, RawDefaults, RawPlugin};

use crate::outcome::Ending;
use crate::trial::Trial;

/// The number of calls from each thread.
const TIMES: usize = 3;
/// From how many threads, one after the other.
const THREADS: usize = 3;

/// All records of a library.
#[derive(Debug, Clone, PartialEq)]
struct Answers {
    hdf5: Option<RawPlugin>,
    codec: Option<Option<RawCodec>>,
    defaults: Option<RawDefaults>,
    /// The functions of the native table, and the infos of the codecs.
    native: (Option<String>, Vec<CodecInfo>),
}

impl Answers {
    fn of(library: &Arc<Library>) -> Self {
        let codecs = library.native().unwrap_or_default();
        let [_, _, table] = library.asked_again();
        Self {
            hdf5: library.raw_hdf5(),
            codec: library.raw_codec(),
            defaults: library.raw_defaults(),
            native: (table, codecs.iter().map(|codec| codec.info().clone()).collect()),
        }
    }

    /// The same content, without the addresses of the records.
    fn contents(&self) -> Self {
        let mut contents = self.clone();
        contents.addresses().into_iter().for_each(|address| *address = 0);
        contents
    }

    fn addresses(&mut self) -> Vec<&mut usize> {
        let hdf5 =
            self.hdf5.as_mut().and_then(|plugin| plugin.record.as_mut()).map(|record| &mut record.address);
        let codec = self.codec.as_mut().and_then(Option::as_mut).map(|record| &mut record.address);
        let defaults = self.defaults.iter_mut().filter_map(|list| list.records.as_mut()).flatten();
        hdf5.into_iter().chain(codec).chain(defaults.map(|record| &mut record.address)).collect()
    }

    /// The parts that differ.
    fn differing(&self, other: &Self) -> Vec<&'static str> {
        let parts = [
            ("HDF5 record", self.hdf5 != other.hdf5),
            ("codec record", self.codec != other.codec),
            ("list of codecs", self.defaults != other.defaults),
            ("native table or description", self.native != other.native),
        ];
        parts.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

pub(super) fn check(trial: &mut Trial) -> Result<(), Ending> {
    let library = Arc::clone(&trial.subject()?.library);
    let first = Answers::of(&library);
    let mut moved = Vec::new();
    for at in 1..TIMES {
        trial.step(format!("asking for the records, time {}", at + 1));
        compare(&first, &Answers::of(&library), "asked again", &mut moved)?;
    }
    for number in 1..=THREADS {
        trial.step(format!("asking for the records from thread {number}"));
        let asked = Arc::clone(&library);
        let answers = thread::spawn(move || Answers::of(&asked)).join();
        let answers = answers.map_err(|_| Ending::failed("asking from another thread panicked"))?;
        compare(&first, &answers, "called from another thread", &mut moved)?;
    }
    // The thread of the first call may have ended, and its memory with it.
    compare(&first, &Answers::of(&library), "called once more", &mut moved)?;
    moved.dedup();
    if !moved.is_empty() {
        trial.warn(format!(
            "{}: hosts keep the first for the life of the process, so it must be static, neither of one thread nor made anew \
             each time",
            moved.join("; ")
        ));
    }
    Ok(())
}

fn compare(first: &Answers, now: &Answers, when: &str, moved: &mut Vec<String>) -> Result<(), Ending> {
    let differing = first.contents().differing(&now.contents());
    if !differing.is_empty() {
        return Err(Ending::failed(format!("{when}, it gives another {}", differing.join(" and another "))));
    }
    let differing = first.differing(now);
    if !differing.is_empty() {
        moved.push(format!("{when}, its {} has another address", differing.join(" and ")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_address_is_distinguished_from_other_content() {
        let answers = |address, version| Answers {
            hdf5: None,
            codec: Some(Some(RawCodec { address, version, fields: None })),
            defaults: None,
            native: (None, Vec::new()),
        };
        let mut moved = Vec::new();
        assert_eq!(compare(&answers(1, 1), &answers(1, 1), "again", &mut moved), Ok(()));
        assert!(moved.is_empty());
        assert_eq!(compare(&answers(1, 1), &answers(2, 1), "again", &mut moved), Ok(()));
        assert_eq!(moved, ["again, its codec record has another address"]);
        let failed = compare(&answers(1, 1), &answers(1, 2), "again", &mut moved);
        assert_eq!(failed, Err(Ending::failed("again, it gives another codec record")));
    }
}
