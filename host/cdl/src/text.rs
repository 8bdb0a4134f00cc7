//! Text in CDL.

/// Quotes the text of an attribute or a `string`: UTF-8 is unchanged, control characters are escaped.
pub(super) fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() + 2);
    quote(bytes, &mut text);
    text
}

/// Appends a quoted text.
pub(super) fn quote(bytes: &[u8], text: &mut Vec<u8>) {
    quote_with(b"\\n", bytes, text);
}

/// Appends a quoted text with `newline` for each newline.
pub(super) fn quote_with(newline: &[u8], bytes: &[u8], text: &mut Vec<u8>) {
    text.push(b'"');
    for &byte in bytes {
        match escape(byte) {
            Some(_) if byte == b'\n' => text.extend_from_slice(newline),
            Some(escape) => text.extend_from_slice(escape),
            None if byte.is_ascii_control() => text.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            None => text.push(byte),
        }
    }
    text.push(b'"');
}

/// The escape sequence of a byte, if CDL has one.
pub(super) fn escape(byte: u8) -> Option<&'static [u8]> {
    Some(match byte {
        0x08 => b"\\b",
        0x0c => b"\\f",
        b'\n' => b"\\n",
        b'\r' => b"\\r",
        b'\t' => b"\\t",
        0x0b => b"\\v",
        b'\\' => b"\\\\",
        b'\'' => b"\\'",
        b'"' => b"\\\"",
        _ => return None,
    })
}

/// The bytes without the NUL bytes at the end, which are not printed.
pub(super) fn without_padding(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
    bytes.get(..end).unwrap_or_default()
}
