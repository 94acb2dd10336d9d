//! Link options of the library.

fn main() {
    // Its threads run code of it: once loaded, it stays.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnc3z_udf.so");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
