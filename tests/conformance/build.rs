//! Makes the program export its memory functions under the names that filters look for in their caller.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        for name in ["H5allocate_memory", "H5resize_memory", "H5free_memory"] {
            println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={name}");
        }
    }
}
