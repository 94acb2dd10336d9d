//! Tests that the library is built with its tests, in the same directory, and exports the functions that HDF5
//! and NCZarr call.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};

// The library is a dependency of its tests only if one of them names it.
use nc3z_hdf5_filter as _;

#[test]
fn what_hdf5_and_nczarr_look_for_is_exported() {
    let test = std::env::current_exe().unwrap();
    let library = test.with_file_name(format!("{DLL_PREFIX}nc3z_hdf5_filter{DLL_SUFFIX}"));
    let bytes = std::fs::read(&library).unwrap_or_else(|e| panic!("{}: {e}", library.display()));
    for symbol in ["H5PLget_plugin_type", "H5PLget_plugin_info", "NCZ_get_codec_info"] {
        let name = [b"\0", symbol.as_bytes(), b"\0"].concat();
        assert!(bytes.windows(name.len()).any(|window| window == name), "{symbol}");
    }
}
