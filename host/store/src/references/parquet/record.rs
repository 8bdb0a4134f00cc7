//! One file of references: a table with the columns `path`, `offset`, `size` and `raw`.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

/// A reference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Row {
    /// The chunk does not exist.
    #[default]
    Missing,
    /// These bytes.
    Inline(Vec<u8>),
    /// A whole object, by its URL; `None` for the target that the reader gives.
    Whole(Option<String>),
    /// A range of an object.
    Range {
        /// Its URL.
        url: Option<String>,
        /// The first byte.
        offset: u64,
        /// The bytes.
        len: u64,
    },
}

const SCHEMA: &str = "message schema {
    optional binary path (UTF8);
    required int64 offset;
    required int64 size;
    optional binary raw;
}";

/// Writes a file of references.
///
/// # Errors
/// An offset or a length does not fit 63 bits, a range is empty, or a reference has no URL: the table cannot say that.
/// The error is the reason.
pub fn encode(rows: &[Row]) -> Result<Vec<u8>, String> {
    let mut paths = Column::default();
    let mut raws = Column::default();
    let (mut offsets, mut sizes) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    let signed = |value: u64| i64::try_from(value).map_err(|_| format!("{value} does not fit 63 bits"));
    for row in rows {
        let (path, offset, size, raw) = match row {
            Row::Missing => (None, 0, 0, None),
            Row::Inline(bytes) => (None, 0, 0, Some(bytes.as_slice())),
            Row::Whole(url) => (Some(url), 0, 0, None),
            Row::Range { url, offset, len } => {
                if (*offset, *len) == (0, 0) {
                    return Err("no bytes from 0 would be read as a whole object".to_owned());
                }
                (Some(url), signed(*offset)?, signed(*len)?, None)
            }
        };
        let path = path.map(|url| url.as_deref().ok_or("a reference without a URL")).transpose()?;
        paths.push(path.map(str::as_bytes));
        raws.push(raw);
        offsets.push(offset);
        sizes.push(size);
    }
    written(&paths, &raws, &offsets, &sizes).map_err(|error| error.to_string())
}

/// A column of values that may be missing.
#[derive(Default)]
struct Column {
    values: Vec<ByteArray>,
    levels: Vec<i16>,
}

impl Column {
    fn push(&mut self, value: Option<&[u8]>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value.map(|bytes| ByteArray::from(bytes.to_vec())));
    }
}

fn written(paths: &Column, raws: &Column, offsets: &[i64], sizes: &[i64]) -> Result<Vec<u8>, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::None)
        // Without the statement that none are missing, fastparquet reads integers as floats.
        .set_column_statistics_enabled(ColumnPath::from("offset"), EnabledStatistics::Chunk)
        .set_column_statistics_enabled(ColumnPath::from("size"), EnabledStatistics::Chunk)
        .build();
    let mut out = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut out, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let mut number = 0;
    while let Some(mut column) = group.next_column()? {
        match number {
            0 => column.typed::<ByteArrayType>().write_batch(&paths.values, Some(&paths.levels), None)?,
            1 => column.typed::<Int64Type>().write_batch(offsets, None, None)?,
            2 => column.typed::<Int64Type>().write_batch(sizes, None, None)?,
            _ => column.typed::<ByteArrayType>().write_batch(&raws.values, Some(&raws.levels), None)?,
        };
        column.close()?;
        number += 1;
    }
    group.close()?;
    writer.close()?;
    Ok(out)
}

/// Reads a file of at most `most` references, and calls `found` with the number and the reference of each row that is
/// not missing. The error is the reason.
pub(super) fn decode(
    bytes: Vec<u8>,
    most: u64,
    found: &mut dyn FnMut(u64, Row) -> Result<(), String>,
) -> Result<(), String> {
    let failed = |error: ParquetError| error.to_string();
    let reader = SerializedFileReader::new(Bytes::from(bytes)).map_err(failed)?;
    let rows = u64::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(u64::MAX);
    if rows > most {
        return Err(format!("it has {rows} references, more than {most}"));
    }
    for (number, row) in (0..rows).zip(reader.get_row_iter(None).map_err(failed)?) {
        let row = row.map_err(failed)?;
        let (mut path, mut raw, mut offset, mut len) = (None, None, 0, 0);
        for (name, field) in row.get_column_iter() {
            match (name.as_str(), field) {
                (_, Field::Null) => {}
                ("path", Field::Str(text)) => path = Some(text.clone()),
                ("path", Field::Bytes(bytes)) => {
                    path = Some(bytes.as_utf8().map_err(failed)?.to_owned());
                }
                ("raw", Field::Bytes(bytes)) => raw = Some(bytes.data().to_vec()),
                ("raw", Field::Str(text)) => raw = Some(text.clone().into_bytes()),
                ("offset", field) => offset = unsigned(field)?,
                ("size", field) => len = unsigned(field)?,
                ("path" | "raw", field) => return Err(format!("{name:?} is {field}")),
                _ => {}
            }
        }
        let reference = match (raw, path) {
            (Some(raw), _) => Row::Inline(raw),
            (None, None) => continue,
            (None, url) if (offset, len) == (0, 0) => Row::Whole(url),
            (None, url) => Row::Range { url, offset, len },
        };
        found(number, reference)?;
    }
    Ok(())
}

fn unsigned(field: &Field) -> Result<u64, String> {
    let number = match field {
        Field::Int(number) => u64::try_from(*number).ok(),
        Field::Long(number) => u64::try_from(*number).ok(),
        Field::UInt(number) => Some(u64::from(*number)),
        Field::ULong(number) => Some(*number),
        _ => None,
    };
    number.ok_or_else(|| format!("{field} is not an offset or a length"))
}
