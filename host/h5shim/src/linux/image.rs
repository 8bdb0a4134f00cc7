//! The bytes of a stub library: an ELF file with the minimum that the loader requires (System V ABI and its
//! supplement for x86-64).
//!
//! ```text
//! read, execute   header, program headers, stubs, the code of [`call`], symbols, their hash table, strings, versions
//! read, write     the dynamic section, a slot for each function, the variables
//! ```
//!
//! There are no sections and no relocations. A stub jumps to the address in its slot; the slots are filled
//! after loading, and found by the symbol [`SLOTS`].

use super::call;

/// The name of the symbol at which the slots begin, in the order in which the functions were given.
pub(super) const SLOTS: &std::ffi::CStr = c"ncz_h5shim_slots";

const PAGE: u64 = 4096;
const HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
const SYMBOL: u64 = 24;
const STUB: u64 = 8;
const HEADERS: u16 = 5;
const WORD: u64 = 8;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const PT_GNU_STACK: u32 = 0x6474_e551;
const PF_X: u32 = 1;
const PF_W: u32 = 2;
const PF_R: u32 = 4;

const DT_NULL: u64 = 0;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const DT_SYMENT: u64 = 11;
const DT_SONAME: u64 = 14;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_FLAGS_1: u64 = 0x6fff_fffb;
const DT_VERDEF: u64 = 0x6fff_fffc;
const DT_VERDEFNUM: u64 = 0x6fff_fffd;
/// `DF_1_NODELETE`: a plugin may close what it opened.
const NODELETE: u64 = 8;
const VER_FLG_BASE: u16 = 1;

/// The functions of a stub library.
pub(super) struct Contents<'a> {
    /// The name by which other libraries need it.
    pub(super) soname: &'a str,
    /// Versions of symbols that the users of it name. All are the same symbols.
    pub(super) versions: &'a [String],
    /// The functions.
    pub(super) functions: &'a [&'a str],
    /// The variables with their values.
    pub(super) variables: &'a [(String, i64)],
}

struct Symbol {
    name: u32,
    /// `STT_OBJECT` or `STT_FUNC`.
    kind: u8,
    address: u64,
    size: u64,
}

/// A table of strings.
struct Strings(Vec<u8>);

impl Strings {
    fn add(&mut self, text: &str) -> u32 {
        let at = self.0.len() as u32;
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        at
    }
}

/// The offsets of the parts, which are the same in the file and in memory.
struct Layout {
    stubs: u64,
    call: u64,
    frames: u64,
    symbols: u64,
    hash: u64,
    versyms: u64,
    verdefs: u64,
    strings: u64,
    read_only_end: u64,
    dynamic: u64,
    slots: u64,
    variables: u64,
    end: u64,
}

/// The file.
pub(super) fn build(contents: &Contents<'_>) -> Vec<u8> {
    let mut strings = Strings(vec![0]);
    let soname = strings.add(contents.soname);
    let versions: Vec<u32> = contents.versions.iter().map(|name| strings.add(name)).collect();
    let functions: Vec<u32> = contents.functions.iter().map(|name| strings.add(name)).collect();
    let variables: Vec<u32> = contents.variables.iter().map(|(name, _)| strings.add(name)).collect();
    let slots = strings.add(&SLOTS.to_string_lossy());
    let call = strings.add(&call::NAME.to_string_lossy());

    let has_versions = !versions.is_empty();
    let count = 1 + functions.len() + variables.len() + 2;
    let dynamic_len = if has_versions { 11 } else { 8 };
    let layout = Layout::of(contents, count as u64, &strings, dynamic_len);

    let mut symbols = Vec::with_capacity(count);
    for (at, name) in (0..).zip(functions) {
        symbols.push(Symbol { name, kind: STT_FUNC, address: layout.stubs + at * STUB, size: STUB });
    }
    for (at, name) in (0..).zip(variables) {
        symbols.push(Symbol { name, kind: STT_OBJECT, address: layout.variables + at * WORD, size: WORD });
    }
    let size = contents.functions.len() as u64 * WORD;
    symbols.push(Symbol { name: slots, kind: STT_OBJECT, address: layout.slots, size });
    let size = call::CODE.len() as u64;
    symbols.push(Symbol { name: call, kind: STT_FUNC, address: layout.call, size });

    let mut out = Writer(Vec::with_capacity(layout.end as usize));
    out.header(&layout);
    out.pad_to(layout.stubs);
    for at in 0..contents.functions.len() as u64 {
        // jmp *disp(%rip), counted from the end of these six bytes.
        let next = layout.stubs + at * STUB + 6;
        let distance = (layout.slots + at * WORD - next) as u32;
        out.bytes(&[0xff, 0x25]);
        out.u32(distance);
        out.bytes(&[0xcc, 0xcc]);
    }
    out.pad_to(layout.call);
    out.bytes(&call::CODE);
    out.pad_to(layout.frames);
    out.bytes(&call::frames(layout.frames, layout.call));
    out.pad_to(layout.symbols);
    out.symbols(&symbols);
    out.pad_to(layout.hash);
    out.hash(&symbols, &strings);
    if has_versions {
        out.pad_to(layout.versyms);
        out.u16(0);
        // Index 1: good for every version.
        (0..symbols.len()).for_each(|_| out.u16(1));
        out.pad_to(layout.verdefs);
        let base = std::iter::once((contents.soname, soname));
        let named = contents.versions.iter().map(String::as_str).zip(versions.iter().copied());
        out.verdefs(&base.chain(named).collect::<Vec<_>>());
    }
    out.pad_to(layout.strings);
    out.bytes(&strings.0);
    out.pad_to(layout.dynamic);
    let mut entries = vec![
        (DT_SONAME, u64::from(soname)),
        (DT_HASH, layout.hash),
        (DT_STRTAB, layout.strings),
        (DT_SYMTAB, layout.symbols),
        (DT_STRSZ, strings.0.len() as u64),
        (DT_SYMENT, SYMBOL),
        (DT_FLAGS_1, NODELETE),
    ];
    if has_versions {
        let count = versions.len() as u64 + 1;
        entries.extend([(DT_VERSYM, layout.versyms), (DT_VERDEF, layout.verdefs), (DT_VERDEFNUM, count)]);
    }
    entries.push((DT_NULL, 0));
    debug_assert_eq!(entries.len() as u64, dynamic_len);
    for (tag, value) in entries {
        out.u64(tag);
        out.u64(value);
    }
    out.pad_to(layout.variables);
    for (_, value) in contents.variables {
        out.bytes(&value.to_le_bytes());
    }
    out.pad_to(layout.end);
    out.0
}

const STT_OBJECT: u8 = 1;
const STT_FUNC: u8 = 2;
const STB_GLOBAL: u8 = 1;

impl Layout {
    fn of(contents: &Contents<'_>, symbols: u64, strings: &Strings, dynamic_len: u64) -> Self {
        let mut end = HEADER + PROGRAM_HEADER * u64::from(HEADERS);
        let mut place = |len: u64| {
            let at = end.next_multiple_of(16);
            end = at + len;
            at
        };
        let functions = contents.functions.len() as u64;
        let versions = contents.versions.len() as u64;
        let stubs = place(functions * STUB);
        let call = place(call::CODE.len() as u64);
        let frames = place(call::FRAMES);
        let symbol_table = place(symbols * SYMBOL);
        // As many buckets as symbols.
        let hash = place(8 + symbols * 8);
        let versyms = place(if versions > 0 { symbols * 2 } else { 0 });
        let verdefs = place(if versions > 0 { (versions + 1) * 28 } else { 0 });
        let string_table = place(strings.0.len() as u64);
        let read_only_end = end;
        end = end.next_multiple_of(PAGE);
        let mut place = |len: u64| {
            let at = end.next_multiple_of(16);
            end = at + len;
            at
        };
        let dynamic = place(dynamic_len * 16);
        let slots = place(functions * WORD);
        let variables = place(contents.variables.len() as u64 * WORD);
        Self {
            stubs,
            call,
            frames,
            symbols: symbol_table,
            hash,
            versyms,
            verdefs,
            strings: string_table,
            read_only_end,
            dynamic,
            slots,
            variables,
            end,
        }
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    fn pad_to(&mut self, at: u64) {
        debug_assert!(self.0.len() as u64 <= at);
        self.0.resize(at as usize, 0);
    }

    fn header(&mut self, layout: &Layout) {
        // ELF, 64 bits, little-endian, version 1, System V.
        self.bytes(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
        self.u16(3); // a shared object
        self.u16(62); // x86-64
        self.u32(1);
        self.u64(0); // nowhere to start
        self.u64(HEADER);
        self.u64(0); // no sections
        self.u32(0);
        self.u16(HEADER as u16);
        self.u16(PROGRAM_HEADER as u16);
        self.u16(HEADERS);
        self.u16(64);
        self.u16(0);
        self.u16(0);
        let writable = layout.end - layout.dynamic;
        self.segment(PT_LOAD, PF_R | PF_X, 0, layout.read_only_end, PAGE);
        self.segment(PT_LOAD, PF_R | PF_W, layout.dynamic, writable, PAGE);
        self.segment(PT_DYNAMIC, PF_R | PF_W, layout.dynamic, layout.slots - layout.dynamic, WORD);
        self.segment(PT_GNU_STACK, PF_R | PF_W, 0, 0, 16);
        self.segment(PT_GNU_EH_FRAME, PF_R, layout.frames, call::FRAMES, 4);
    }

    fn segment(&mut self, kind: u32, flags: u32, at: u64, len: u64, align: u64) {
        self.u32(kind);
        self.u32(flags);
        // In the file, in memory, and once more.
        [at, at, at, len, len, align].into_iter().for_each(|value| self.u64(value));
    }

    fn symbols(&mut self, symbols: &[Symbol]) {
        self.bytes(&[0; SYMBOL as usize]);
        for symbol in symbols {
            self.u32(symbol.name);
            self.bytes(&[STB_GLOBAL << 4 | symbol.kind, 0]);
            // There are no sections; any number except 0 means that it is defined.
            self.u16(1);
            self.u64(symbol.address);
            self.u64(symbol.size);
        }
    }

    /// The hash table of System V, with chains through a table of as many entries as there are symbols.
    fn hash(&mut self, symbols: &[Symbol], strings: &Strings) {
        let count = symbols.len() + 1;
        let mut buckets = vec![0u32; count];
        let mut chains = vec![0u32; count];
        for (index, symbol) in (1..).zip(symbols) {
            let name = strings.0[symbol.name as usize..].split(|byte| *byte == 0).next().unwrap_or_default();
            let bucket = &mut buckets[hash(name) as usize % count];
            chains[index as usize] = *bucket;
            *bucket = index;
        }
        self.u32(count as u32);
        self.u32(count as u32);
        buckets.into_iter().chain(chains).for_each(|value| self.u32(value));
    }

    /// The version definitions; the first is the library's own name.
    fn verdefs(&mut self, versions: &[(&str, u32)]) {
        for (index, (name, string)) in (1..).zip(versions) {
            self.u16(1); // of the structure
            self.u16(if index == 1 { VER_FLG_BASE } else { 0 });
            self.u16(index);
            self.u16(1); // names
            self.u32(hash(name.as_bytes()));
            self.u32(20); // to the name
            self.u32(if usize::from(index) == versions.len() { 0 } else { 28 }); // to the next
            self.u32(*string);
            self.u32(0);
        }
    }
}

/// The hash function of System V.
fn hash(name: &[u8]) -> u32 {
    name.iter().fold(0u32, |hash, byte| {
        let sum = (hash << 4).wrapping_add(u32::from(*byte));
        let high = sum & 0xf000_0000;
        (sum ^ (high >> 24)) & !high
    })
}
