//! Where references are written to.

use std::io;

use ncz_model::Variable;
use ncz_store::references::Sources;

/// What a key refers to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reference<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// The object at this URL.
    Object(&'a str),
    /// A range of it: the first byte, and the bytes.
    Range(&'a str, u64, u64),
}

/// Takes references.
pub(super) trait Output {
    /// The chunks of this variable follow, in row-major order.
    fn begin(&mut self, variable: &Variable) -> io::Result<()>;

    /// A chunk of the variable.
    fn chunk(&mut self, key: &str, reference: Reference<'_>) -> io::Result<()>;

    /// A metadata document.
    fn document(&mut self, key: &str, content: &[u8]) -> io::Result<()>;

    /// Everything was written. `sources` are the objects that it refers to ranges of.
    fn end(&mut self, sources: &Sources) -> io::Result<()>;
}
