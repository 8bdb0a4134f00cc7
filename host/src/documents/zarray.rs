//! Faults of `.zarray` documents.

use ncz_model::json::{Json, Map, json};
use ncz_model::{ByteOrder, Dtype, Generation, Kind, NcType, ShuffleReading};

use super::Choices;
use super::notes::Notes;
use crate::finding::{Code, Remedy, Severity};

/// What a document does not say about itself.
pub(super) struct Context {
    /// `None` in pure Zarr.
    pub(super) generation: Option<Generation>,
    /// Whether the variable has an attribute `_FillValue`.
    pub(super) has_fill_attribute: bool,
}

/// After one of these codecs, the element size of a shuffle is not that of the variable.
const TYPE_CHANGING: [&str; 4] = ["astype", "delta", "fixedscaleoffset", "packbits"];

/// Repairs a `.zarray`.
pub(super) fn repair(zarray: &mut Map, context: &Context, choices: &Choices, notes: &mut Notes<'_>) {
    byte_order(zarray, context, choices, notes);
    let dtype = zarray.get("dtype").and_then(|dtype| Dtype::from_json(dtype).ok());
    if let Some(dtype) = &dtype {
        fill(zarray, context, dtype, notes);
    }
    let mut changed = false;
    if let Some(filters) = zarray.get_mut("filters").and_then(Json::as_array_mut) {
        for codec in filters.iter_mut() {
            changed |= codec.get("id").and_then(Json::as_str).is_some_and(|id| TYPE_CHANGING.contains(&id));
            repair_codec(codec, dtype.as_ref().filter(|_| !changed), context, choices, notes);
        }
    }
    if let Some(compressor) = zarray.get_mut("compressor") {
        repair_codec(compressor, dtype.as_ref().filter(|_| !changed), context, choices, notes);
    }
}

fn byte_order(zarray: &mut Map, context: &Context, choices: &Choices, notes: &mut Notes<'_>) {
    let Some(text) = zarray.get("dtype").and_then(Json::as_str).map(str::to_owned) else { return };
    let body = text.trim_start_matches(['<', '>', '|', '=']);
    let is_number = body.starts_with(['i', 'u', 'f', 'c']);
    if !is_number || body.get(1..).is_none_or(|size| matches!(size, "" | "1")) {
        return;
    }
    let choice = notes.variable.and_then(|path| choices.byte_orders.get(path)).copied();
    let order = match choice {
        Some(ByteOrder::Big) => '>',
        _ => '<',
    };
    let (code, severity, reason) = if !text.starts_with(['<', '>']) {
        let reason = format!(
            "its dtype {text:?} has no byte order: netcdf-c turns such values round on common machines, others do not"
        );
        (Code::ByteOrderMissing, Severity::Error, reason)
    } else if text.starts_with('>') && context.generation.is_some_and(|old| old != Generation::Attributes) {
        let reason = format!(
            "it is declared big-endian ({text:?}) by netcdf-c 4.9.2 or older, which may have stored the machine's byte order"
        );
        (Code::ByteOrderDoubtful, Severity::Warning, reason)
    } else {
        return;
    };
    match choice {
        None => notes.left(severity, code, reason, Remedy::ChooseByteOrder),
        Some(_) => {
            let wanted = format!("{order}{body}");
            if wanted != text {
                let action = format!("\"dtype\" {text:?} becomes {wanted:?}");
                zarray.insert("dtype".to_owned(), json!(wanted));
                notes.repaired(severity, code, reason, action);
            }
        }
    }
}

fn fill(zarray: &mut Map, context: &Context, dtype: &Dtype, notes: &mut Notes<'_>) {
    let Some(fill) = zarray.get("fill_value") else {
        let reason = "it has no \"fill_value\", without which zarr-python opens nothing";
        if context.has_fill_attribute {
            notes.left(
                Severity::Warning,
                Code::FillMissing,
                format!("{reason}; its attribute _FillValue may have been meant"),
                None,
            );
        } else {
            zarray.insert("fill_value".to_owned(), Json::Null);
            notes.repaired(
                Severity::Warning,
                Code::FillMissing,
                reason,
                "\"fill_value\" null is added, which reads as zeros as before",
            );
        }
        return;
    };
    let single = matches!(dtype.kind(), Kind::Int | Kind::UInt | Kind::Float | Kind::Bool | Kind::Bytes);
    let mut fill = fill.clone();
    if let (true, Json::Array(items)) = (single, &fill)
        && let [only] = items.as_slice()
    {
        let only = only.clone();
        let action = format!("\"fill_value\" {fill} becomes {only}");
        notes.repaired(
            Severity::Warning,
            Code::FillList,
            "its \"fill_value\" is a list of one, which zarr-python refuses",
            action,
        );
        zarray.insert("fill_value".to_owned(), only.clone());
        fill = only;
    }
    if dtype.kind() == Kind::Bytes && fill.as_number().is_some_and(|number| number.as_str() == "0") {
        let reason =
            "its \"fill_value\" is the number 0 for texts: netcdf-c and zarr-python open nothing then";
        notes.repaired(
            Severity::Warning,
            Code::FillTextZero,
            reason,
            "\"fill_value\" 0 becomes null, which reads as empty texts too",
        );
        zarray.insert("fill_value".to_owned(), Json::Null);
    }
    if let (Kind::Float, Some(word)) = (dtype.kind(), fill.as_str())
        && let Some(proper) = proper_word(word)
    {
        let action = format!("\"fill_value\" {word:?} becomes {proper:?}");
        notes.repaired(
            Severity::Warning,
            Code::FillWord,
            format!("its \"fill_value\" is {word:?}, which not every reader accepts"),
            action,
        );
        zarray.insert("fill_value".to_owned(), json!(proper));
    }
}

/// The word of Zarr for what C's `printf` and `strtod` call otherwise.
pub(super) fn proper_word(word: &str) -> Option<&'static str> {
    let proper = match word.to_ascii_lowercase().as_str() {
        "nan" | "-nan" | "+nan" => "NaN",
        "inf" | "+inf" | "infinity" | "+infinity" => "Infinity",
        "-inf" | "-infinity" => "-Infinity",
        _ => return None,
    };
    (word != proper).then_some(proper)
}

fn repair_codec(
    codec: &mut Json,
    dtype: Option<&Dtype>,
    context: &Context,
    choices: &Choices,
    notes: &mut Notes<'_>,
) {
    let Some(codec) = codec.as_object_mut() else { return };
    match codec.get("id").and_then(Json::as_str) {
        Some("shuffle") => shuffle(codec, dtype, context, choices, notes),
        Some("zlib") => zlib(codec, notes),
        Some("zstd") if codec.contains_key("checksum") => {
            codec.shift_remove("checksum");
            let reason = "its zstd has the key \"checksum\", which not every reader of version 2 knows";
            notes.repaired(
                Severity::Note,
                Code::ZstdChecksumKey,
                reason,
                "the key is removed; reading does not need it",
            );
        }
        _ => {}
    }
}

fn zlib(codec: &mut Map, notes: &mut Notes<'_>) {
    let (reason, level) = match codec.get("level").map(Json::as_i64) {
        None => ("its zlib has no \"level\", on which netcdf-c crashes", 1),
        Some(Some(-1)) => ("its zlib has the level -1, which netcdf-c refuses", 6),
        _ => return,
    };
    codec.insert("level".to_owned(), json!(level));
    notes.repaired(
        Severity::Warning,
        Code::ZlibLevel,
        reason,
        format!("\"level\" {level} is written, which it means"),
    );
}

fn shuffle(
    codec: &mut Map,
    dtype: Option<&Dtype>,
    context: &Context,
    choices: &Choices,
    notes: &mut Notes<'_>,
) {
    if let Some(text) = codec.get("elementsize").and_then(Json::as_str).map(str::to_owned)
        && let Ok(number) = text.parse::<u64>()
    {
        codec.insert("elementsize".to_owned(), json!(number));
        let reason = format!("its shuffle has the element size {text:?} as text, on which numcodecs fails");
        notes.repaired(
            Severity::Warning,
            Code::ShuffleSizeText,
            reason,
            format!("\"elementsize\" {number} is written"),
        );
    }
    let Some(dtype) = dtype else { return };
    let size = type_size(dtype, context.generation);
    // Without a size numcodecs takes 4; anything but a number is refused on reading.
    let Some(stored) = codec.get("elementsize").map_or(Some(4), Json::as_u64) else { return };
    if stored == 0 {
        codec.insert("elementsize".to_owned(), json!(size));
        // Elements of one byte are not shuffled by anybody.
        let severity = if size > 1 { Severity::Warning } else { Severity::Note };
        let reason = "its shuffle has element size 0: netcdf-c takes that of the type, zarr-python does not unshuffle and \
                      returns wrong values";
        notes.repaired(severity, Code::ShuffleSizeZero, reason, format!("\"elementsize\" 0 becomes {size}"));
        return;
    }
    if context.generation.is_none() || stored == size {
        return;
    }
    let reason = format!(
        "its shuffle has element size {stored} where the type has {size} bytes: netcdf-c reads such data with {size}, \
         zarr-python with {stored}"
    );
    match choices.shuffle {
        ShuffleReading::Refuse => {
            notes.left(Severity::Error, Code::ShuffleSizeDisputed, reason, Remedy::ChooseShuffleSize);
        }
        ShuffleReading::TypeSize => {
            codec.insert("elementsize".to_owned(), json!(size));
            let action = format!("\"elementsize\" {stored} becomes {size}, as was chosen");
            notes.repaired(Severity::Error, Code::ShuffleSizeDisputed, reason, action);
        }
        // Its chunks must be encoded again; a partly repaired variable could not be distinguished from others.
        ShuffleReading::AsStored => {
            notes.left(Severity::Error, Code::ShuffleSizeDisputed, reason, Remedy::Copy);
        }
    }
}

/// The size of an element to netcdf-c, whose shuffle knows no other: for strings that of a pointer.
fn type_size(dtype: &Dtype, generation: Option<Generation>) -> u64 {
    let old = matches!(generation, Some(Generation::Objects | Generation::UpperCase));
    if old && dtype.kind() == Kind::Unicode && dtype.size() == 4 {
        // These versions call char <U1 but store one byte for each.
        return 1;
    }
    match dtype.nc_type(generation.is_some()) {
        Some(NcType::String) if generation.is_some() => 8,
        _ => dtype.size() as u64,
    }
}
