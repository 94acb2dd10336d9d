#!/bin/sh
# Compares the public surface of the libraries with the lists in docs/api, or writes those anew.
#
#   scripts/public-api.sh           compare; 1 if the surface has changed, with the difference
#   scripts/public-api.sh --write   write the lists
#
# Needs a nightly toolchain (rustdoc's JSON) and `cargo install cargo-public-api`. Where either is missing it says so and
# ends with 77 (skipped), or with 1 where PUBLIC_API_REQUIRED=1.
set -eu
cd "$(dirname "$0")/.."

crates="nc3z-num nc3z-format nc3z-reader nc3z-writer"
lists=docs/api
mode=${1:-compare}

skip() {
    echo "public-api: SKIPPED, the public surface was NOT compared: $1" >&2
    [ "${PUBLIC_API_REQUIRED:-0}" = 1 ] && exit 1
    exit 77
}

case $mode in
    compare | --write) ;;
    *) echo "usage: $0 [--write]" >&2; exit 2 ;;
esac
cargo public-api --version >/dev/null 2>&1 || skip "no cargo-public-api (cargo install cargo-public-api)"
rustc +nightly --version >/dev/null 2>&1 || skip "no nightly toolchain"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$lists"
changed=0
for crate in $crates; do
    # Derived and automatic implementations say little, and blanket ones nothing.
    cargo public-api -p "$crate" -sss --color never >"$scratch/$crate.txt"
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
