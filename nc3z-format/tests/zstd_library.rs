//! How the zstd library is built: what SECURITY.md says about its known weaknesses rests on this.
#![cfg(feature = "zstd")]

use zstd::zstd_safe::{CCtx, CParameter};

#[test]
fn the_library_is_built_without_threads() {
    let mut context = CCtx::create();
    assert!(context.set_parameter(CParameter::NbWorkers(0)).is_ok());
    assert!(context.set_parameter(CParameter::NbWorkers(2)).is_err());
}
