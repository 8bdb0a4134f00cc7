//! The variables of libhdf5 that plugins read: numbers of errors, of types, of a property list class.
//!
//! Their values differ from one libhdf5 to the next and mean something only to the library itself.

use crate::dataset::{Order, Type};

/// A variable and its value; each is 8 bytes wide, of which a plugin may read fewer.
pub(crate) type Variable = (String, i64);

/// `H5P_CLS_DATASET_CREATE_ID_g`.
pub(crate) const DATASET_CREATE: i64 = 1;
const FIRST_TYPE: i64 = 0x100;
const FIRST_ERROR: i64 = 0x1000;

/// All variables.
pub(crate) fn variables() -> Vec<Variable> {
    let fixed = [
        // Both are bool: the library is in use, and not ending.
        ("H5_libinit_g", 1),
        ("H5_libterm_g", 0),
        ("H5P_CLS_DATASET_CREATE_ID_g", DATASET_CREATE),
    ];
    let fixed = fixed.into_iter().map(|(name, value)| (name.to_owned(), value));
    let types = (FIRST_TYPE..).zip(TYPES).map(|(value, row)| (format!("H5T_{}_g", row.0), value));
    let errors =
        (FIRST_ERROR..).zip(ERRORS.split_whitespace()).map(|(value, name)| (format!("H5E_{name}_g"), value));
    fixed.chain(types).chain(errors).collect()
}

/// The type of one of the constants.
pub(crate) fn datatype(handle: i64) -> Option<Type> {
    let index = usize::try_from(handle.checked_sub(FIRST_TYPE)?).ok()?;
    let (_, kind, size, order) = *TYPES.get(index)?;
    Some(match kind {
        Kind::Signed => Type::integer(size, order, true),
        Kind::Unsigned => Type::integer(size, order, false),
        Kind::Float => Type::float(size, order),
    })
}

#[derive(Clone, Copy)]
enum Kind {
    Signed,
    Unsigned,
    Float,
}

use Kind::{Float, Signed, Unsigned};
use Order::{Big, Little};

const NATIVE: Order = Order::NATIVE;
const LONG: usize = size_of::<std::ffi::c_long>();

const TYPES: &[(&str, Kind, usize, Order)] = &[
    ("NATIVE_SCHAR", Signed, 1, NATIVE),
    ("NATIVE_UCHAR", Unsigned, 1, NATIVE),
    ("NATIVE_SHORT", Signed, 2, NATIVE),
    ("NATIVE_USHORT", Unsigned, 2, NATIVE),
    ("NATIVE_INT", Signed, 4, NATIVE),
    ("NATIVE_UINT", Unsigned, 4, NATIVE),
    ("NATIVE_LONG", Signed, LONG, NATIVE),
    ("NATIVE_ULONG", Unsigned, LONG, NATIVE),
    ("NATIVE_LLONG", Signed, 8, NATIVE),
    ("NATIVE_ULLONG", Unsigned, 8, NATIVE),
    ("NATIVE_INT8", Signed, 1, NATIVE),
    ("NATIVE_UINT8", Unsigned, 1, NATIVE),
    ("NATIVE_INT16", Signed, 2, NATIVE),
    ("NATIVE_UINT16", Unsigned, 2, NATIVE),
    ("NATIVE_INT32", Signed, 4, NATIVE),
    ("NATIVE_UINT32", Unsigned, 4, NATIVE),
    ("NATIVE_INT64", Signed, 8, NATIVE),
    ("NATIVE_UINT64", Unsigned, 8, NATIVE),
    ("NATIVE_FLOAT", Float, 4, NATIVE),
    ("NATIVE_DOUBLE", Float, 8, NATIVE),
    ("STD_I8LE", Signed, 1, Little),
    ("STD_I8BE", Signed, 1, Big),
    ("STD_I16LE", Signed, 2, Little),
    ("STD_I16BE", Signed, 2, Big),
    ("STD_I32LE", Signed, 4, Little),
    ("STD_I32BE", Signed, 4, Big),
    ("STD_I64LE", Signed, 8, Little),
    ("STD_I64BE", Signed, 8, Big),
    ("STD_U8LE", Unsigned, 1, Little),
    ("STD_U8BE", Unsigned, 1, Big),
    ("STD_U16LE", Unsigned, 2, Little),
    ("STD_U16BE", Unsigned, 2, Big),
    ("STD_U32LE", Unsigned, 4, Little),
    ("STD_U32BE", Unsigned, 4, Big),
    ("STD_U64LE", Unsigned, 8, Little),
    ("STD_U64BE", Unsigned, 8, Big),
    ("IEEE_F32LE", Float, 4, Little),
    ("IEEE_F32BE", Float, 4, Big),
    ("IEEE_F64LE", Float, 8, Little),
    ("IEEE_F64BE", Float, 8, Big),
];

/// The numbers of errors that HDF5 1.10 to 2.2 export.
const ERRORS: &str = "
    ALIGNMENT ALREADYEXISTS ALREADYINIT ARGS ATOM ATTR BADATOM BADFILE BADGROUP BADID BADITER BADMESG
    BADRANGE BADSELECT BADSIZE BADTYPE BADVALUE BTREE CACHE CALLBACK CANAPPLY CANTALLOC CANTAPPEND
    CANTATTACH CANTCANCEL CANTCLEAN CANTCLIP CANTCLOSEFILE CANTCLOSEOBJ CANTCOMPARE CANTCOMPUTE CANTCONVERT
    CANTCOPY CANTCORK CANTCOUNT CANTCREATE CANTDECODE CANTDEC CANTDELETEFILE CANTDELETE CANTDEPEND
    CANTDIRTY CANTENCODE CANTEXPUNGE CANTEXTEND CANTFILTER CANTFIND CANTFLUSH CANTFREE CANTGATHER CANTGC
    CANTGETSIZE CANTGET CANTINC CANTINIT CANTINSERT CANTINS CANTLIST CANTLOAD CANTLOCKFILE CANTLOCK
    CANTMARKCLEAN CANTMARKDIRTY CANTMARKSERIALIZED CANTMARKUNSERIALIZED CANTMERGE CANTMODIFY CANTMOVE
    CANTNEXT CANTNOTIFY CANTOPENFILE CANTOPENOBJ CANTOPERATE CANTPACK CANTPIN CANTPROTECT CANTPUT CANTRECV
    CANTREDISTRIBUTE CANTREGISTER CANTRELEASE CANTREMOVE CANTRENAME CANTRESET CANTRESIZE CANTRESTORE
    CANTREVIVE CANTSELECT CANTSERIALIZE CANTSET CANTSHRINK CANTSORT CANTSPLIT CANTSWAP CANTTAG CANTUNCORK
    CANTUNDEPEND CANTUNLOCKFILE CANTUNLOCK CANTUNPIN CANTUNPROTECT CANTUNSERIALIZE CANTUPDATE CANTWAIT
    CLOSEERROR COMPLEN CONTEXT DATASET DATASPACE DATATYPE DUPCLASS EARRAY EFL ERROR ERR_CLS EVENTSET EXISTS
    FARRAY FCNTL FILEEXISTS FILEOPEN FILE FSPACE FUNC HEAP ID INCONSISTENTSTATE INTERNAL IO LIB LINKCOUNT
    LINK LOGFAIL LOGGING MAP MOUNT MPIERRSTR MPI NLINKS NOENCODER NOFILTER NOIDS NONE_MAJOR NONE_MINOR
    NOSPACE NOTCACHED NOTFOUND NOTHDF5 NOTREGISTERED NO_INDEPENDENT OBJOPEN OHDR OPENERROR OVERFLOW PAGEBUF
    PATH PLINE PLIST PLUGIN PROTECT READERROR REFERENCE RESOURCE RS RTREE SEEKERROR SETDISALLOWED SETLOCAL
    SLIST SOHM STORAGE SYM SYSERRSTR SYSTEM THREADSAFE TRAVERSE TRUNCATED TST UNINITIALIZED UNMOUNT
    UNSUPPORTED VERSION VFL VOL WRITEERROR
";
