//! One input.

/// One input of a target. As a file: the context, a line feed, the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Case {
    /// The location of the bytes, for instance the dataset and the key; without line feed.
    pub context: String,
    /// What is changed.
    pub bytes: Vec<u8>,
}

impl Case {
    /// Bytes somewhere.
    pub fn new(context: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { context: context.into(), bytes: bytes.into() }
    }

    /// The case in a file; `None` if its first line is missing or no text.
    #[must_use]
    pub fn from_file(content: &[u8]) -> Option<Self> {
        let end = content.iter().position(|&byte| byte == b'\n')?;
        let context = std::str::from_utf8(&content[..end]).ok()?;
        Some(Self::new(context, &content[end + 1..]))
    }

    /// What its file holds.
    #[must_use]
    pub fn to_file(&self) -> Vec<u8> {
        [self.context.as_bytes(), b"\n", &self.bytes].concat()
    }
}
