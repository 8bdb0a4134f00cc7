use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

use crate::dataset::{Class, Dataset, FilterEntry, Order, Type};
use crate::session::{self, Handles, with_dataset};

/// A function of the table, as a plugin finds it.
macro_rules! call {
    ($name:literal, fn($($argument:expr => $type:ty),*) -> $result:ty) => {{
        let (_, address) = super::functions().into_iter().find(|(name, _)| *name == $name).unwrap();
        // SAFETY: the type that HDF5 declares for this function.
        let function: unsafe extern "C" fn($($type),*) -> $result = unsafe { std::mem::transmute(address) };
        // SAFETY: HDF5's contract: pointers are NULL or have room.
        unsafe { function($($argument),*) }
    }};
}

fn dataset() -> Dataset {
    Dataset {
        ty: Type::float(4, Order::Big),
        chunk: vec![4, 5, 6],
        fill: Some(vec![1, 2, 3, 4]),
        filters: vec![FilterEntry { id: 300, flags: 1, values: vec![7, 8, 9], name: "abcdef".into() }],
    }
}

fn by_id(dcpl: i64, id: i32, count: *mut usize, values: *mut u32, name: &mut [c_char]) -> c_int {
    let (len, name) = (name.len(), name.as_mut_ptr());
    call!("H5Pget_filter_by_id1", fn(dcpl => i64, id => i32, null_mut() => *mut c_uint, count => *mut usize,
        values => *mut c_uint, len => usize, name => *mut c_char) -> c_int)
}

fn text(name: &[c_char]) -> String {
    name.iter().map(|byte| char::from(*byte as u8)).collect()
}

#[test]
fn a_filter_is_reported_with_its_true_count_and_no_more_values_than_there_is_room_for() {
    with_dataset(&dataset(), |Handles { dcpl, ty, .. }| {
        let mut values = [0; 4];
        let mut count = 2;
        let mut name = [1; 8];
        assert_eq!(by_id(dcpl, 300, &mut count, values.as_mut_ptr(), &mut name), 0);
        assert_eq!((count, values, text(&name)), (3, [7, 8, 0, 0], "abcdef\0\u{1}".to_owned()));
        let mut short = [1; 3];
        assert_eq!(by_id(dcpl, 300, null_mut(), values.as_mut_ptr(), &mut short), 0);
        // With no count the values are not touched.
        assert_eq!((values, text(&short)), ([7, 8, 0, 0], "abc".to_owned()));
        count = 0;
        assert_eq!(by_id(dcpl, 300, &mut count, null_mut(), &mut []), 0);
        assert_eq!(count, 3);
        // The calls that HDF5 refuses: a length without a buffer, a count that was not set, another filter, another
        // handle.
        assert_eq!(by_id(dcpl, 300, &mut count, null_mut(), &mut []), -1);
        count = 257;
        assert_eq!(by_id(dcpl, 300, &mut count, values.as_mut_ptr(), &mut []), -1);
        assert_eq!(by_id(dcpl, 301, null_mut(), null_mut(), &mut []), -1);
        assert_eq!(by_id(ty, 300, null_mut(), null_mut(), &mut []), -1);
    });
}

fn modify(dcpl: i64, id: i32, flags: u32, values: &[u32]) -> c_int {
    call!("H5Pmodify_filter", fn(dcpl => i64, id => i32, flags => c_uint, values.len() => usize,
        values.as_ptr() => *const c_uint) -> c_int)
}

#[test]
fn filters_are_modified_added_and_removed() {
    let (_, outcome) = with_dataset(&dataset(), |Handles { dcpl, .. }| {
        assert_eq!(modify(dcpl, 300, 0x100, &[1]), -1);
        assert_eq!(modify(dcpl, 5, 0, &[1]), -1);
        let none: *const u32 = null();
        let status = call!("H5Pmodify_filter", fn(dcpl => i64, 300 => i32, 0 => c_uint, 2 => usize,
            none => *const c_uint) -> c_int);
        assert_eq!(status, -1);
    });
    assert_eq!((outcome.modified, &outcome.filters), (false, &dataset().filters));

    let (_, outcome) = with_dataset(&dataset(), |Handles { dcpl, .. }| {
        assert_eq!(modify(dcpl, 300, 0, &[1, 2]), 0);
        let values = [5];
        let set = |id: i32| {
            call!("H5Pset_filter", fn(dcpl => i64, id => i32, 1 => c_uint, 1 => usize,
                values.as_ptr() => *const c_uint) -> c_int)
        };
        assert_eq!((set(65_536), set(-1), set(2)), (-1, -1, 0));
        assert_eq!(call!("H5Pget_nfilters", fn(dcpl => i64) -> c_int), 2);
        let second = call!("H5Pget_filter2", fn(dcpl => i64, 1 => c_uint, null_mut() => *mut c_uint,
            null_mut() => *mut usize, null_mut() => *mut c_uint, 0 => usize, null_mut() => *mut c_char,
            null_mut() => *mut c_uint) -> c_int);
        assert_eq!(second, 2);
        assert_eq!((3..40).map(set).filter(|status| *status == 0).count(), 30);
        let remove = |id: i32| call!("H5Premove_filter", fn(dcpl => i64, id => i32) -> c_int);
        assert!((3..33).all(|id| remove(id) == 0));
        assert_eq!((remove(300), remove(300)), (0, -1));
    });
    assert!(outcome.modified);
    assert_eq!(outcome.filters, [FilterEntry { id: 2, flags: 1, values: vec![5], name: String::new() }]);
}

#[test]
fn shapes_are_returned_whole_or_as_far_as_the_buffer_reaches() {
    with_dataset(&dataset(), |Handles { dcpl, space, .. }| {
        let mut lengths = [0; 3];
        let chunk = |most: i32, to: *mut u64| call!("H5Pget_chunk", fn(dcpl => i64, most => c_int, to => *mut u64) -> c_int);
        assert_eq!((chunk(2, lengths.as_mut_ptr()), lengths), (3, [4, 5, 0]));
        assert_eq!((chunk(32, null_mut()), chunk(-1, lengths.as_mut_ptr())), (3, 3));
        let mut most = [0; 3];
        let rank = call!("H5Sget_simple_extent_dims", fn(space => i64, null_mut() => *mut u64,
            most.as_mut_ptr() => *mut u64) -> c_int);
        assert_eq!((rank, most), (3, [4, 5, 6]));
        assert_eq!(call!("H5Sget_simple_extent_ndims", fn(space => i64) -> c_int), 3);
        assert_eq!(call!("H5Sget_simple_extent_npoints", fn(space => i64) -> i64), 120);
        assert_eq!(call!("H5Sis_simple", fn(space => i64) -> c_int), 1);
        assert_eq!(call!("H5Sis_simple", fn(dcpl => i64) -> c_int), -1);
    });
    let endless = Dataset { chunk: vec![u64::MAX, 2], ..dataset() };
    with_dataset(&endless, |Handles { space, .. }| {
        assert_eq!(call!("H5Sget_simple_extent_npoints", fn(space => i64) -> i64), -1);
    });
}

/// Class, size, order, sign, precision, offset.
fn facts(ty: i64) -> (i32, usize, i32, i32, usize, i32) {
    (
        call!("H5Tget_class", fn(ty => i64) -> c_int),
        call!("H5Tget_size", fn(ty => i64) -> usize),
        call!("H5Tget_order", fn(ty => i64) -> c_int),
        call!("H5Tget_sign", fn(ty => i64) -> c_int),
        call!("H5Tget_precision", fn(ty => i64) -> usize),
        call!("H5Tget_offset", fn(ty => i64) -> c_int),
    )
}

fn native(ty: i64) -> i64 {
    call!("H5Tget_native_type", fn(ty => i64, 1 => c_int) -> i64)
}

fn of_type<R>(ty: Type, body: impl FnOnce(i64) -> R) -> R {
    with_dataset(&Dataset { ty, ..dataset() }, |handles| body(handles.ty)).0
}

// Each line is what h5py's HDF5 2.0.0 answers.
#[test]
fn types_are_described_as_in_hdf5() {
    let odd = Type { precision: 24, offset: 4, ..Type::integer(4, Order::Big, true) };
    of_type(odd.clone(), |ty| {
        assert_eq!(facts(ty), (0, 4, 1, 1, 24, 4));
        assert_eq!(facts(native(ty)), (0, 4, 0, 1, 32, 0));
        assert_eq!(call!("H5Tget_super", fn(ty => i64) -> i64), -1);
    });
    of_type(Type::array(odd, 6), |ty| {
        assert_eq!(facts(ty), (10, 24, 1, 1, 24, 4));
        let base = call!("H5Tget_super", fn(ty => i64) -> i64);
        assert_eq!(facts(base), (0, 4, 1, 1, 24, 4));
        assert_eq!(call!("H5Tclose", fn(base => i64) -> c_int), 0);
        assert_eq!(call!("H5Tclose", fn(base => i64) -> c_int), -1);
        // That of the dataset lives on.
        assert_eq!(call!("H5Tclose", fn(ty => i64) -> c_int), 0);
        assert_eq!(facts(native(ty)), (10, 24, 0, 1, 32, 0));
    });
    of_type(Type::float(8, Order::Big), |ty| {
        assert_eq!(facts(ty), (1, 8, 1, -1, 64, 0));
        assert_eq!(facts(native(ty)), (1, 8, 0, -1, 64, 0));
        assert_eq!(call!("H5Tget_native_type", fn(ty => i64, 3 => c_int) -> i64), -1);
    });
    let short = Type::integer(2, Order::Big, true);
    let list = Type { size: 16, class: Class::Vlen, ..Type::array(short.clone(), 1) };
    of_type(list, |ty| {
        assert_eq!((facts(ty), facts(native(ty))), ((9, 16, 1, 1, 16, 0), (9, 16, 0, 1, 16, 0)));
    });
    of_type(Type { class: Class::Enum, ..Type::array(short, 1) }, |ty| {
        assert_eq!((facts(ty), facts(native(ty))), ((8, 2, 1, 1, 16, 0), (8, 2, 0, 1, 16, 0)));
    });
    of_type(Type { class: Class::Bitfield, ..Type::integer(2, Order::Big, false) }, |ty| {
        assert_eq!((facts(ty), facts(native(ty))), ((4, 2, 1, -1, 16, 0), (4, 2, 0, -1, 16, 0)));
    });
    of_type(Type { order: Order::Big, ..Type::bytes(Class::Compound, 6) }, |ty| {
        assert_eq!(facts(ty), (6, 6, 1, -1, 0, -1));
    });
    of_type(Type::bytes(Class::Reference, 8), |ty| assert_eq!(facts(native(ty)), (7, 8, 4, -1, 64, 0)));
    of_type(Type::integer(3, Order::Big, true), |ty| assert_eq!(facts(native(ty)), (0, 4, 0, 1, 32, 0)));
    of_type(Type::string(5), |ty| assert_eq!(facts(ty), (3, 5, 4, -1, 40, 0)));
    of_type(Type::bytes(Class::Opaque, 7), |ty| assert_eq!(facts(ty), (5, 7, 4, -1, 0, -1)));
    assert_eq!(facts(12_345), (-1, 0, -1, -1, 0, -1));
}

fn constant(name: &str) -> i64 {
    crate::constants::variables().into_iter().find(|(known, _)| known == name).unwrap().1
}

#[test]
fn constant_types_live_without_a_session_and_convert() {
    let (big, little) = (constant("H5T_STD_U32BE_g"), constant("H5T_NATIVE_UINT_g"));
    assert_eq!((facts(big), facts(little)), ((0, 4, 1, 0, 32, 0), (0, 4, 0, 0, 32, 0)));
    let mut words = [0x0102_0304u32, 0xa0b0_c0d0];
    let mut convert = |from: i64, to: i64| {
        call!("H5Tconvert", fn(from => i64, to => i64, 2 => usize, words.as_mut_ptr().cast() => *mut c_void,
            null_mut() => *mut c_void, 0 => i64) -> c_int)
    };
    assert_eq!((convert(big, little), convert(little, little)), (0, 0));
    // A number of another size or kind is more than other bytes.
    let (long, float) = (constant("H5T_STD_U64LE_g"), constant("H5T_IEEE_F32BE_g"));
    assert_eq!((convert(little, long), convert(little, float), convert(little, 7)), (-1, -1, -1));
    assert_eq!(words, [0x0403_0201, 0xd0c0_b0a0]);
    assert_eq!(call!("H5Tclose", fn(big => i64) -> c_int), -1);
    assert_eq!(native(big), -1);
}

#[test]
fn the_fill_value_comes_in_either_order() {
    let fill = |ty: i64, dcpl: i64| {
        let mut value = [9u8; 8];
        let status = call!("H5Pget_fill_value", fn(dcpl => i64, ty => i64,
            value.as_mut_ptr().cast() => *mut c_void) -> c_int);
        (status, value)
    };
    let defined = |dcpl: i64| {
        let mut status = -7;
        call!("H5Pfill_value_defined", fn(dcpl => i64, &mut status => *mut c_int) -> c_int);
        status
    };
    with_dataset(&dataset(), |Handles { dcpl, ty, .. }| {
        assert_eq!(defined(dcpl), 2);
        assert_eq!(fill(ty, dcpl), (0, [1, 2, 3, 4, 9, 9, 9, 9]));
        assert_eq!(fill(native(ty), dcpl), (0, [4, 3, 2, 1, 9, 9, 9, 9]));
        assert_eq!(fill(constant("H5T_IEEE_F64LE_g"), dcpl), (-1, [9; 8]));
    });
    with_dataset(&Dataset { fill: None, ..dataset() }, |Handles { dcpl, ty, .. }| {
        assert_eq!((defined(dcpl), fill(ty, dcpl)), (1, (0, [0, 0, 0, 0, 9, 9, 9, 9])));
    });
}

#[test]
fn properties_of_any_name_are_bytes() {
    with_dataset(&dataset(), |Handles { dcpl, ty, .. }| {
        let name = c"zfp_controls".as_ptr();
        let exist = || call!("H5Pexist", fn(dcpl => i64, name => *const c_char) -> c_int);
        let mut value = [1u8, 2, 3];
        let insert = |value: &mut [u8]| {
            call!("H5Pinsert2", fn(dcpl => i64, name => *const c_char, value.len() => usize,
                value.as_mut_ptr().cast() => *mut c_void, null() => *const c_void, null() => *const c_void,
                null() => *const c_void, null() => *const c_void, null() => *const c_void,
                null() => *const c_void) -> c_int)
        };
        let set = |value: &[u8]| {
            call!("H5Pset", fn(dcpl => i64, name => *const c_char,
                value.as_ptr().cast() => *const c_void) -> c_int)
        };
        assert_eq!((exist(), set(&value)), (0, -1));
        assert_eq!((insert(&mut value), insert(&mut value), exist()), (0, -1, 1));
        assert_eq!(set(&[4, 5, 6]), 0);
        let mut read = [0u8; 4];
        let status = call!("H5Pget", fn(dcpl => i64, name => *const c_char,
            read.as_mut_ptr().cast() => *mut c_void) -> c_int);
        assert_eq!((status, read), (0, [4, 5, 6, 0]));
        let isa = |plist: i64, class: i64| call!("H5Pisa_class", fn(plist => i64, class => i64) -> c_int);
        let class = constant("H5P_CLS_DATASET_CREATE_ID_g");
        assert_eq!((isa(dcpl, class), isa(dcpl, class + 1), isa(ty, class)), (1, 0, -1));
    });
}

fn push1(message: &[u8]) {
    let status = call!("H5Epush1", fn(null() => *const c_char, null() => *const c_char, 0 => c_uint, 0 => i64,
        0 => i64, message.as_ptr().cast() => *const c_char) -> c_int);
    assert_eq!(status, 0);
}

#[test]
fn messages_are_kept_for_the_session_or_else_for_the_thread() {
    push1(b"before\0");
    let (_, outcome) = with_dataset(&dataset(), |_| {
        let format = c"%d is wrong\n".as_ptr();
        call!("H5Epush2", fn(0 => i64, null() => *const c_char, null() => *const c_char, 0 => c_uint,
            0 => i64, 0 => i64, 0 => i64, format => *const c_char) -> c_int);
        push1(b"caf\xe9\0");
        // A name without a terminator is truncated.
        push1(&[b'x'; 4096]);
        call!("H5Epush1", fn(null() => *const c_char, null() => *const c_char, 0 => c_uint, 0 => i64,
            0 => i64, null() => *const c_char) -> c_int);
    });
    assert_eq!(outcome.errors, ["%d is wrong".to_owned(), "caf\u{fffd}".to_owned(), "x".repeat(512)]);
    assert_eq!(session::take_errors(), ["before"]);
    (0..1000).for_each(|_| push1(b"again\0"));
    assert_eq!(session::take_errors().len(), 32);
    assert_eq!(session::take_errors(), [""; 0]);
}

#[test]
fn memory_is_that_of_malloc() {
    let allocate =
        |len: usize, clear: u8| call!("H5allocate_memory", fn(len => usize, clear => u8) -> *mut c_void);
    let resize = |at: *mut c_void, len: usize| call!("H5resize_memory", fn(at => *mut c_void, len => usize) -> *mut c_void);
    assert!(allocate(0, 1).is_null());
    let block = allocate(100, 1);
    // SAFETY: a block of 100 bytes that were cleared.
    assert!(unsafe { std::slice::from_raw_parts(block.cast::<u8>(), 100) }.iter().all(|byte| *byte == 0));
    let block = resize(block, 200);
    assert!(!block.is_null() && resize(block, 0).is_null());
    let other = resize(null_mut(), 8);
    // SAFETY: a block of malloc, which is what this shows.
    unsafe { libc::free(other) };
    assert_eq!(call!("H5free_memory", fn(allocate(8, 0) => *mut c_void) -> c_int), 0);
}

#[test]
fn handles_die_with_their_session_and_are_another_threads_nothing() {
    let size = |ty: i64| call!("H5Tget_size", fn(ty => i64) -> usize);
    let ((kept, derived), _) = with_dataset(&dataset(), |Handles { dcpl, ty, space }| {
        let derived = native(ty);
        assert_eq!((size(ty), size(derived)), (4, 4));
        let elsewhere = std::thread::scope(|scope| {
            let ask = move || {
                let rank = call!("H5Sget_simple_extent_ndims", fn(space => i64) -> c_int);
                let count = call!("H5Pget_nfilters", fn(dcpl => i64) -> c_int);
                (size(ty), rank, count)
            };
            // Also if that thread has its own dataset.
            let asked = scope.spawn(move || [ask(), with_dataset(&dataset(), |_| ask()).0]);
            asked.join().unwrap()
        });
        assert_eq!(elsewhere, [(0, -1, -1); 2]);
        // An inner session does not hide the outer one.
        let other = Dataset { ty: Type::float(8, Order::Little), ..dataset() };
        let (sizes, _) = with_dataset(&other, |inner| (size(ty), size(inner.ty)));
        assert_eq!(sizes, (4, 8));
        (ty, derived)
    });
    assert_eq!((size(kept), size(derived)), (0, 0));
    with_dataset(&dataset(), |_| assert_eq!((size(kept), size(derived)), (0, 0)));
}

#[test]
fn a_panic_ends_the_session() {
    let outcome =
        std::panic::catch_unwind(|| with_dataset(&dataset(), |_| std::panic::resume_unwind(Box::new(()))));
    assert!(outcome.is_err());
    push1(b"after\0");
    assert_eq!(session::take_errors(), ["after"]);
}

#[test]
fn types_that_are_never_closed_are_bounded() {
    of_type(Type::integer(4, Order::Little, false), |ty| {
        let opened = (0..10_000).filter(|_| native(ty) > 0).count();
        assert_eq!(opened, 4095);
    });
}

#[test]
fn every_name_is_there_once() {
    let functions = crate::Symbols::Both.functions().into_iter().map(|(name, _)| name.to_owned());
    let mut names: Vec<String> =
        functions.chain(crate::constants::variables().into_iter().map(|(name, _)| name)).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn the_version_is_one_with_handles_of_64_bits() {
    let mut version = [0_u32; 3];
    let [major, minor, release] = version.each_mut().map(|place| place as *mut c_uint);
    let version_of = call!(
        "H5get_libversion",
        fn(major => *mut c_uint, minor => *mut c_uint, release => *mut c_uint) -> c_int
    );
    assert_eq!(version_of, 0);
    assert!(version >= [1, 10, 0] && version[0] < 2, "{version:?}");
}

#[test]
fn floating_point_numbers_have_the_fields_of_ieee_754() {
    let fields = |ty: Type| {
        of_type(ty, |ty| {
            let mut fields = [usize::MAX; 5];
            let [sign, exponent, exponent_len, mantissa, mantissa_len] =
                fields.each_mut().map(|place| place as *mut usize);
            let status = call!(
                "H5Tget_fields",
                fn(
                    ty => i64,
                    sign => *mut usize,
                    exponent => *mut usize,
                    exponent_len => *mut usize,
                    mantissa => *mut usize,
                    mantissa_len => *mut usize
                ) -> c_int
            );
            (status == 0).then_some(fields)
        })
    };
    // As libhdf5 has them: sign, exponent and its length, mantissa and its length.
    assert_eq!(fields(Type::float(2, Order::Little)), Some([15, 10, 5, 0, 10]));
    assert_eq!(fields(Type::float(4, Order::Big)), Some([31, 23, 8, 0, 23]));
    assert_eq!(fields(Type::float(8, Order::Little)), Some([63, 52, 11, 0, 52]));
    assert_eq!(fields(Type::integer(4, Order::Little, true)), None);
    assert_eq!(fields(Type::float(3, Order::Little)), None);
}
