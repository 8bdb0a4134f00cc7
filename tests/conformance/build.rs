//! Makes the program export its memory functions under the names that filters look for in their caller.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        // Zig's linker cannot export single symbols, so that the program exports all that are left.
        if std::env::var("RUSTC_LINKER").is_ok_and(|linker| linker.contains("zig")) {
            println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic");
            return;
        }
        for name in ["H5allocate_memory", "H5resize_memory", "H5free_memory"] {
            println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={name}");
        }
    }
}
