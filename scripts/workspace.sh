# Sourced by what builds the whole workspace for tests: one choice of packages and features, so that each dependency is compiled
# once. Cargo compiles a crate again for every set of features, and which features are on hangs on the packages that are chosen.
# The Python package is one of them. Its module is loaded by an interpreter but links to none, so no interpreter is needed.
export PYO3_NO_PYTHON=1 PYO3_BUILD_EXTENSION_MODULE=1
workspace=(--workspace --features nc3z-reader/ndarray,nc3z/ndarray)
# A clean checkout is built once: what only later builds need costs a fifth of the time, and Clippy and rustdoc look at each crate as it is compiled.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0
export RUSTC_WORKSPACE_WRAPPER=$PWD/scripts/compile.sh NC3Z_LOOKED_AT=${CARGO_TARGET_DIR:-$PWD/target}/looked-at
# what_was_said TOOL: prints the findings of TOOL for each crate, or that there are none. TOOL must have run.
what_was_said() {
    local code verdict=0 looked=0
    for code in "$NC3Z_LOOKED_AT/$1"/*.code; do
        [ -e "$code" ] || break
        looked=$((looked + 1))
        [ "$(cat "$code")" != 0 ] || continue
        verdict=1
        cat "${code%.code}.said"
    done
    echo "$1 looked at $looked targets"
    [ "$looked" != 0 ] && [ "$verdict" = 0 ]
}
