# Sourced by what builds the whole workspace for tests: one choice of packages and features, so that each dependency is compiled
# once. Cargo compiles a crate again for every set of features, and which features are on hangs on the packages that are chosen.
# The Python package is one of them. Its module is loaded by an interpreter and links to none, so that none is asked for.
export PYO3_NO_PYTHON=1 PYO3_BUILD_EXTENSION_MODULE=1
workspace=(--workspace --features nc3z-reader/ndarray)
# A clean checkout is built once: what only later builds need costs a fifth of the time.
[ "${CI:-}" != true ] || export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0
