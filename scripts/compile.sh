#!/usr/bin/env bash
# Cargo's compiler for the workspace's crates in the tests' build (RUSTC_WORKSPACE_WRAPPER, scripts/workspace.sh): compiles, and looks at the same source with
# Clippy and rustdoc, with the dependencies that were compiled already. `cargo clippy` and `cargo doc` would check all of them once more.
#
# Neither fails the build. What they say, and with which code they ended, is in NC3Z_LOOKED_AT: clippy/ and rustdoc/, two files for each crate, and
# doc/PACKAGE/, what rustdoc wrote. scripts/test.sh shows the first, scripts/public-api.sh the second and the third.
set -uo pipefail
"$@"
code=$?
rustc=$1
shift
name= kind= test= previous= source=
plain=()
for argument in "$@"; do
    keep=true
    case $previous in
        --crate-name) name=$argument ;;
        --crate-type) kind=$argument ;;
        --out-dir) keep='' ;;
    esac
    case $argument in
        --error-format=* | --json=* | --emit=* | --out-dir) keep='' ;;
        --test) test=test ;;
        */src/lib.rs | */src/main.rs) source=$argument ;;
    esac
    [ -z "$keep" ] || plain+=("$argument")
    previous=$argument
done
# Cargo queries the version of the compiler, for example.
if [ "$code" != 0 ] || [ -z "$name" ] || [ "$name" = ___ ]; then exit "$code"; fi

# look TOOL COMMAND...: runs it, with the crate's arguments in it, and keeps what it says.
look() {
    local said=$NC3Z_LOOKED_AT/$1/$CARGO_PKG_NAME.$name${kind:+.$kind}${test:+.test}
    mkdir -p "${said%/*}"
    shift
    "$@" >"$said.said" 2>&1
    echo $? >"$said.code"
}
look clippy env CLIPPY_ARGS="-Dwarnings__CLIPPY_HACKERY__" clippy-driver "$rustc" "${plain[@]}" --emit=metadata --out-dir "$NC3Z_LOOKED_AT/metadata"
# Libraries and programs, as `cargo doc`: no tests, no examples.
case ${CARGO_PKG_NAME:-} in
    nc3z-python | public-api-list) ;;
    *)
        if [ -z "$test" ] && [ -n "$source" ]; then
            look rustdoc env RUSTC_BOOTSTRAP=1 rustdoc "${plain[@]}" -D warnings -Z unstable-options --output-format json --out-dir "$NC3Z_LOOKED_AT/doc/$CARGO_PKG_NAME"
        fi
        ;;
esac
exit 0
