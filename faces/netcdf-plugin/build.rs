//! Link options of the library.

fn main() {
    // The library's threads run its code: once loaded, it must stay loaded.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnc3z_netcdf_plugin.so");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
