//! The tables of references.

use std::io;

use ncz_model::Variable;
use ncz_store::references::parquet::{METADATA, Row, encode, record_key};
use ncz_store::references::{SOURCES, Sources};
use ncz_store::{Key, Store, WriteMode};

use super::output::{Output, Reference};

/// References in a file, as in Kerchunk.
const RECORDS: u64 = 10_000;

/// References that are being written to the folder of a store.
pub(super) struct Parquet<'a> {
    store: &'a dyn Store,
    /// The documents, as the members of a JSON object.
    documents: Vec<u8>,
    array: String,
    counts: Vec<u64>,
    /// The number of the file, and its references up to the last one that exists.
    record: u64,
    rows: Vec<Row>,
}

impl<'a> Parquet<'a> {
    pub(super) fn begin(store: &'a dyn Store) -> Self {
        let (array, counts) = (String::new(), Vec::new());
        Self { store, documents: Vec::new(), array, counts, record: 0, rows: Vec::new() }
    }

    /// Writes the file of the last references. Where all are missing there is no file.
    fn flush(&mut self) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.rows.resize(RECORDS as usize, Row::Missing);
        let bytes = encode(&self.rows).map_err(|reason| {
            io::Error::other(format!("{} cannot be written in Parquet: {reason}; write .json", self.array))
        })?;
        self.rows.clear();
        self.write(&record_key(&self.array, self.record), &bytes)
    }

    fn write(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let key = Key::parse(key).map_err(io::Error::other)?;
        self.store.write(key, bytes, WriteMode::CreateNew).map_err(io::Error::other)
    }
}

impl Output for Parquet<'_> {
    fn begin(&mut self, variable: &Variable) -> io::Result<()> {
        self.flush()?;
        self.array.clone_from(&variable.key);
        let lens = variable.shape.iter().zip(&variable.chunk_shape);
        self.counts = lens.map(|(len, chunk)| len.div_ceil((*chunk).max(1))).collect();
        self.record = 0;
        Ok(())
    }

    fn chunk(&mut self, key: &str, reference: Reference<'_>) -> io::Result<()> {
        let index = key.rsplit('/').next().unwrap_or(key).split('.');
        let number = index
            .zip(&self.counts)
            .try_fold(0_u64, |number, (at, count)| number.checked_mul(*count)?.checked_add(at.parse().ok()?));
        let number = number.ok_or_else(|| io::Error::other(format!("{key:?} is not the key of a chunk")))?;
        if number / RECORDS != self.record {
            self.flush()?;
            self.record = number / RECORDS;
        }
        let row = match reference {
            Reference::Bytes(bytes) => Row::Inline(bytes.to_vec()),
            Reference::Object(url) => Row::Whole(Some(url.to_owned())),
            Reference::Range(url, offset, len) => Row::Range { url: Some(url.to_owned()), offset, len },
        };
        // Chunks come in the order of their numbers.
        self.rows.resize((number % RECORDS) as usize, Row::Missing);
        self.rows.push(row);
        Ok(())
    }

    fn document(&mut self, key: &str, content: &[u8]) -> io::Result<()> {
        if !self.documents.is_empty() {
            self.documents.push(b',');
        }
        serde_json::to_writer(&mut self.documents, key).map_err(io::Error::from)?;
        self.documents.push(b':');
        self.documents.extend_from_slice(content);
        Ok(())
    }

    fn end(&mut self, sources: &Sources) -> io::Result<()> {
        self.flush()?;
        let mut all = b"{\"metadata\":{".to_vec();
        all.append(&mut self.documents);
        let sources = serde_json::to_string(sources)?;
        all.extend_from_slice(format!("}},\"{SOURCES}\":{sources},\"record_size\":{RECORDS}}}").as_bytes());
        self.write(METADATA, &all)
    }
}
