//! The text of references.

use std::io::{self, Write};

use ncz_model::{Variable, base64};
use ncz_store::references::{SOURCES, Sources};

use super::output::{Output, Reference};

/// References that are being written.
pub(super) struct Json<'a> {
    out: &'a mut dyn Write,
    is_first: bool,
}

impl<'a> Json<'a> {
    pub(super) fn begin(out: &'a mut dyn Write) -> io::Result<Self> {
        out.write_all(b"{\"version\":1,\"refs\":{")?;
        Ok(Self { out, is_first: true })
    }

    fn bytes(&mut self, key: &str, bytes: &[u8]) -> io::Result<()> {
        self.key(key)?;
        write!(self.out, "\"base64:{}\"", base64::encode(bytes))
    }

    fn key(&mut self, key: &str) -> io::Result<()> {
        self.out.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        string(self.out, key)?;
        self.out.write_all(b":")
    }
}

impl Output for Json<'_> {
    fn begin(&mut self, _: &Variable) -> io::Result<()> {
        Ok(())
    }

    fn chunk(&mut self, key: &str, reference: Reference<'_>) -> io::Result<()> {
        let (url, range) = match reference {
            Reference::Bytes(bytes) => return self.bytes(key, bytes),
            Reference::Object(url) => (url, String::new()),
            Reference::Range(url, offset, len) => (url, format!(",{offset},{len}")),
        };
        self.key(key)?;
        self.out.write_all(b"[")?;
        string(self.out, url)?;
        write!(self.out, "{range}]")
    }

    fn document(&mut self, key: &str, content: &[u8]) -> io::Result<()> {
        match str::from_utf8(content) {
            Ok(text) if !text.starts_with("base64:") => {
                self.key(key)?;
                string(self.out, text)
            }
            _ => self.bytes(key, content),
        }
    }

    fn end(&mut self, sources: &Sources) -> io::Result<()> {
        self.out.write_all(b"\n}")?;
        if !sources.is_empty() {
            write!(self.out, ",\"{SOURCES}\":{}", serde_json::to_string(sources)?)?;
        }
        self.out.write_all(b"}\n")
    }
}

fn string(out: &mut dyn Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}
