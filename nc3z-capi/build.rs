//! Link options of the library.

fn main() {
    // Its threads run code of it: once loaded, it stays. The number in the soname is that of the ABI.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnc3z.so.1");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
