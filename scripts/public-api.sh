#!/bin/sh
# Compares the public surface of the libraries with the lists in docs/api, or writes those anew.
#
#   scripts/public-api.sh           compare; 1 if the surface has changed, with the difference
#   scripts/public-api.sh --write   write the lists
#
# Needs cargo-public-api, which scripts/setup.sh builds into target/tools. Where it is missing this script says so and ends with 77
# (skipped), or with 1 where PUBLIC_API_REQUIRED=1. A nightly toolchain is not needed: RUSTC_BOOTSTRAP lets the stable rustdoc write
# its JSON, and this version of cargo-public-api reads what Rust 1.95 writes.
set -eu
cd "$(dirname "$0")/.."

crates="nc3z-num nc3z-format nc3z-reader nc3z-writer"
lists=docs/api
PATH=$PWD/target/tools/bin:$PATH

skip() {
    echo "public-api: SKIPPED, the public surface was NOT compared: $1" >&2
    [ "${PUBLIC_API_REQUIRED:-0}" = 1 ] && exit 1
    exit 77
}

mode=${1:-compare}
case $mode in
    compare | --write) ;;
    *) echo "usage: $0 [--write]" >&2; exit 2 ;;
esac
cargo public-api --version >/dev/null 2>&1 || skip "no cargo-public-api (scripts/setup.sh builds it)"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
changed=0
for crate in $crates; do
    name=$(echo "$crate" | tr - _)
    RUSTC_BOOTSTRAP=1 cargo rustdoc --quiet -p "$crate" --lib -- -Z unstable-options --output-format json --cap-lints allow
    # Derived and automatic implementations say little, and blanket ones nothing.
    cargo public-api --rustdoc-json "${CARGO_TARGET_DIR:-target}/doc/$name.json" -sss --color never >"$scratch/$crate.txt" ||
        skip "this cargo-public-api does not read what $(rustdoc --version) writes"
    if [ "$mode" = --write ]; then
        cp "$scratch/$crate.txt" "$lists/$crate.txt"
    elif ! diff -u "$lists/$crate.txt" "$scratch/$crate.txt"; then
        changed=1
    fi
done
if [ $changed = 1 ]; then
    echo "public-api: the surface has changed; if that is meant: scripts/public-api.sh --write, and a line in CHANGELOG.md" >&2
fi
exit $changed
