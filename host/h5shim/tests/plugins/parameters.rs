//! The results of `set_local` for given parameters, word for word as HDF5 records them in a file (HDF5 2.0.0 of
//! h5py 3.16 for hdf5plugin 7.1.0; HDF5 1.10.8 for Debian's; HDF5 2.2.0 for netCDF4's).

use ncz_h5shim::Type;

use crate::plugin::{Plugin, debian, package, ty};

const ANY: &[u64] = &[64, 48];
const NINES: [u32; 9] = [0, 1_062_232_653, 3_539_053_052, 0, 0, 0, 0, 0, 0];

fn check(plugin: &Plugin, element: &Type, chunk: &[u64], user: &[u32], expected: &[u32]) {
    let answer = plugin.ask(element, chunk, user);
    let what = format!("{} {element:?} {chunk:?} {user:?}", plugin.id());
    assert!(answer.can_apply > 0, "{what}: {:?}", answer.outcome);
    assert!(answer.set_local >= 0, "{what}: {:?}", answer.outcome);
    assert!(answer.outcome.modified, "{what}");
    assert_eq!(answer.values(), expected, "{what}");
    assert_eq!(answer.outcome.errors, [""; 0], "{what}");
}

fn refused(plugin: &Plugin, element: &Type, chunk: &[u64], user: &[u32]) {
    let answer = plugin.ask(element, chunk, user);
    let what = format!("{} {element:?} {chunk:?} {user:?}: {:?}", plugin.id(), answer.outcome);
    assert!(!answer.outcome.modified && answer.values() == user, "{what}");
    let failed = answer.can_apply <= 0 || answer.set_local < 0 || !answer.outcome.errors.is_empty();
    assert!(failed, "{what}");
}

fn hdf5plugin(name: &str) -> Option<Plugin> {
    package("hdf5plugin").map(|folder| Plugin::initialised(&folder.join(name)))
}

#[test]
fn blosc() {
    let Some(plugin) = hdf5plugin("libh5blosc.so") else { return };
    blosc_rows(&plugin);
    check(&plugin, &ty("f4"), ANY, &[0, 0, 0, 0, 9], &[2, 2, 4, 12_288, 9]);
    let nested = Type::array(Type::array(ty("f4"), 2), 5);
    // Only one level is looked through.
    check(&plugin, &nested, ANY, &[], &[2, 2, 8, 122_880]);
}

#[test]
fn blosc_of_debian_without_its_libhdf5() {
    let Some(folder) = debian() else { return };
    blosc_rows(&Plugin::debian(&folder.join("libH5Zblosc.so")));
    assert!(!crate::plugin::is_mapped("libhdf5"));
}

fn blosc_rows(plugin: &Plugin) {
    check(plugin, &ty("f4"), ANY, &[], &[2, 2, 4, 12_288]);
    check(plugin, &ty("f8"), ANY, &[], &[2, 2, 8, 24_576]);
    check(plugin, &ty("i2"), ANY, &[], &[2, 2, 2, 6144]);
    check(plugin, &ty("u1"), ANY, &[], &[2, 2, 1, 3072]);
    check(plugin, &ty("S5"), ANY, &[], &[2, 2, 5, 15_360]);
    check(plugin, &Type::array(ty("f4"), 3), ANY, &[], &[2, 2, 4, 36_864]);
    check(plugin, &ty(">i2"), ANY, &[0, 0, 0, 0, 5, 1, 1], &[2, 2, 2, 6144, 5, 1, 1]);
}

#[test]
fn blosc2() {
    let Some(plugin) = hdf5plugin("libh5blosc2.so") else { return };
    check(&plugin, &ty("f4"), ANY, &[], &[1, 0, 4, 12_288, 5, 1, 0, 2, 64, 48]);
    check(&plugin, &ty("f8"), ANY, &[], &[1, 0, 8, 24_576, 5, 1, 0, 2, 64, 48]);
    let user = [0, 0, 0, 0, 5, 1, 1];
    check(&plugin, &ty("f4"), &[2; 9], &user, &[1, 0, 4, 2048, 5, 1, 1, 9, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
}

#[test]
fn bshuf() {
    let Some(plugin) = hdf5plugin("libh5bshuf.so") else { return };
    check(&plugin, &ty("f4"), ANY, &[], &[0, 4, 4]);
    check(&plugin, &ty("u1"), ANY, &[0, 2], &[0, 4, 1, 0, 2]);
    check(&plugin, &ty("S5"), ANY, &[], &[0, 4, 5]);
    check(&plugin, &ty("f4"), ANY, &[0, 3, 7], &[0, 4, 4, 0, 3, 7]);
    check(&plugin, &ty("f4"), ANY, &[512, 2], &[0, 4, 4, 512, 2]);
    refused(&plugin, &ty("f4"), ANY, &[13, 2]);
    // An unknown compression number means none, and it reports that.
    let unknown = plugin.ask(&ty("f4"), ANY, &[0, 9]);
    assert_eq!((unknown.set_local, unknown.values()), (1, &[0, 4, 4, 0, 9][..]));
    assert_eq!(unknown.outcome.errors.len(), 1);
}

#[test]
fn those_that_have_no_parameters_to_set_keep_what_they_got() {
    for name in ["libh5bzip2.so", "libh5lz4.so", "libh5zstd.so"] {
        let Some(plugin) = hdf5plugin(name) else { return };
        let answer = plugin.ask(&ty("f4"), ANY, &[7]);
        assert_eq!((answer.values(), answer.outcome.modified), (&[7][..], false));
    }
}

#[test]
fn zfp() {
    let Some(plugin) = hdf5plugin("libh5zfp.so") else { return };
    zfp_rows(&plugin, 269_504_785);
    check(
        &plugin,
        &ty("f4"),
        ANY,
        &[],
        &[269_504_785, 91_252_346, 4_026_532_598, 4_293_918_723, 3_767_042_048, 493_487],
    );
}

#[test]
fn zfp_of_debian_without_its_libhdf5() {
    let Some(folder) = debian() else { return };
    zfp_rows(&Plugin::debian(&folder.join("libh5zzfp.so")), 268_456_208);
    assert!(!crate::plugin::is_mapped("libhdf5"));
}

fn zfp_rows(plugin: &Plugin, version: u32) {
    let rate = [1, 0, 0, 1_076_101_120, 0, 0];
    for (name, third) in [
        ("f4", 4_026_532_598),
        ("f8", 4_026_532_599),
        ("i4", 4_026_532_596),
        ("u4", 4_026_532_596),
        ("i8", 4_026_532_597),
    ] {
        check(plugin, &ty(name), ANY, &rate, &[version, 91_252_346, third, 166_723_587]);
    }
    let f4 = |user: &[u32], last: &[u32]| {
        let expected = [&[version, 91_252_346, 4_026_532_598], last].concat();
        check(plugin, &ty("f4"), ANY, user, &expected);
    };
    f4(&[2, 0, 16, 0, 0, 0], &[2_163_212_291]);
    f4(&[3, 0, 3_539_053_052, 1_062_232_653, 0, 0], &[3_398_434_819]);
    f4(&[5, 0, 0, 0, 0, 0], &[2_281_701_379]);
    f4(&[4, 0, 1, 16_657, 64, 4_294_966_222], &[4_293_918_723, 3_767_009_280, 493_487]);
    // Dimensions of length 1 do not count.
    for chunk in [&[1, 64, 48][..], &[1, 1, 64, 48]] {
        check(plugin, &ty("f4"), chunk, &rate, &[version, 91_252_346, 4_026_532_598, 166_723_587]);
    }
    for name in ["i2", "u1", "f2"] {
        refused(plugin, &ty(name), ANY, &rate);
    }
    refused(plugin, &ty("f4"), &[2, 2, 4, 12, 16], &rate);
}

#[test]
fn fcidecomp() {
    let Some(plugin) = hdf5plugin("libh5fcidecomp.so") else { return };
    let padded = |head: [u32; 6]| [&head[..], &[0; 8]].concat();
    for (name, chunk, head) in [
        ("u1", ANY, [1, 1, 64, 48, 8, 1]),
        ("u2", ANY, [2, 1, 64, 48, 16, 1]),
        ("u2", &[3, 64, 48], [2, 3, 64, 48, 16, 3]),
    ] {
        let answer = plugin.ask(&ty(name), chunk, &[]);
        let expected = padded(head);
        assert_eq!(answer.values(), &expected[..answer.values().len()], "{name} {chunk:?}");
        assert_eq!(answer.values().len(), 13, "{name} {chunk:?}");
    }
}

#[test]
fn htj2k() {
    let Some(plugin) = hdf5plugin("libh5htj2k.so") else { return };
    check(&plugin, &ty("u1"), ANY, &[], &[1, 1, 48, 64, 1]);
    check(&plugin, &ty("i1"), ANY, &[], &[1, 129, 48, 64, 1]);
    check(&plugin, &ty("u2"), ANY, &[], &[1, 2, 48, 64, 1]);
    check(&plugin, &ty("i2"), ANY, &[], &[1, 130, 48, 64, 1]);
    check(&plugin, &ty("u1"), &[64, 48, 3], &[], &[1, 1, 48, 64, 3]);
    for (name, chunk) in
        [(">u2", ANY), ("u4", ANY), ("f4", ANY), ("u1", &[3, 64, 48]), ("u1", &[2, 2, 64, 48])]
    {
        refused(&plugin, &ty(name), chunk, &[]);
    }
}

#[test]
fn sperr() {
    let Some(plugin) = hdf5plugin("libh5sperr.so") else { return };
    check(&plugin, &ty("f4"), ANY, &[940_177_214, 0], &[1042, 940_177_214, 64, 48]);
    check(&plugin, &ty("f8"), ANY, &[940_177_214, 0], &[1026, 940_177_214, 64, 48]);
    check(&plugin, &ty("f4"), &[16, 12, 16], &[940_177_214, 0], &[1043, 940_177_214, 16, 12, 16]);
    check(&plugin, &ty("f4"), &[1, 64, 48], &[940_177_214, 0], &[1042, 940_177_214, 64, 48]);
    check(&plugin, &ty("f4"), ANY, &[940_177_214, 1], &[1106, 940_177_214, 64, 48]);
    check(&plugin, &ty("f4"), ANY, &[940_177_214, 2], &[1170, 940_177_214, 64, 48]);
    // It makes itself mandatory.
    let answer = plugin.ask(&ty("f4"), ANY, &[940_177_214, 0]);
    assert_eq!(answer.outcome.filters[0].flags, 0);
}

#[test]
fn sz() {
    let Some(plugin) = hdf5plugin("libh5sz.so") else { return };
    sz_rows(&plugin);
    let five = [&[5, 0, 16, 12, 4, 2, 2], &NINES[..]].concat();
    check(&plugin, &ty("f4"), &[2, 2, 4, 12, 16], &NINES, &five);
}

#[test]
fn sz3() {
    let Some(plugin) = hdf5plugin("libh5sz3.so") else { return };
    sz_rows(&plugin);
    check(&plugin, &ty("f4"), ANY, &[], &[2, 0, 48, 64]);
}

fn sz_rows(plugin: &Plugin) {
    let types = [("f4", 0), ("f8", 1), ("i4", 7), ("u2", 4), ("u1", 2), (">i2", 5), ("i8", 9)];
    for (name, number) in types {
        let expected = [&[2, number, 48, 64], &NINES[..]].concat();
        check(plugin, &ty(name), ANY, &NINES, &expected);
    }
}
