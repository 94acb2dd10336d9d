//! Link options of the library.

fn main() {
    // The library's threads run its code: once loaded, it must stay loaded. The number in the soname is that
    // of the ABI.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnc3z.so.1");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
