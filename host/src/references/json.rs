//! The text of references.

use std::io::{self, Write};

use ncz_model::base64;

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

    pub(super) fn end(self) -> io::Result<()> {
        self.out.write_all(b"\n}}\n")
    }

    /// Text, such as a metadata document.
    pub(super) fn text(&mut self, key: &str, text: &str) -> io::Result<()> {
        if text.starts_with("base64:") {
            return self.bytes(key, text.as_bytes());
        }
        self.key(key)?;
        string(self.out, text)
    }

    pub(super) fn bytes(&mut self, key: &str, bytes: &[u8]) -> io::Result<()> {
        self.key(key)?;
        write!(self.out, "\"base64:{}\"", base64::encode(bytes))
    }

    pub(super) fn object(&mut self, key: &str, url: &str) -> io::Result<()> {
        self.key(key)?;
        self.out.write_all(b"[")?;
        string(self.out, url)?;
        self.out.write_all(b"]")
    }

    pub(super) fn range(&mut self, key: &str, url: &str, offset: u64, len: u64) -> io::Result<()> {
        self.key(key)?;
        self.out.write_all(b"[")?;
        string(self.out, url)?;
        write!(self.out, ",{offset},{len}]")
    }

    fn key(&mut self, key: &str) -> io::Result<()> {
        self.out.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        string(self.out, key)?;
        self.out.write_all(b":")
    }
}

fn string(out: &mut dyn Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}
