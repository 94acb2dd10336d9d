#!/usr/bin/env bash
# Runs rustdoc over the workspace, whose warnings are errors, and compares the public surface of the facade crate with the list in
# docs/api, or writes the list anew. The other crates are unstable and have no list.
#
#   scripts/public-api.sh           compare; 1 if the surface has changed, with the difference
#   scripts/public-api.sh --write   write the list
#
# One pass of rustdoc serves both: it writes JSON, from which scripts/public-api lists the surface. It is made with the build
# (scripts/compile.sh). RUSTC_BOOTSTRAP lets the stable rustdoc write it; it is set for rustdoc alone, since crates' build scripts look at it
# and would run again. Where this rustdoc's JSON is of a version that the list's library does not read, this script says so and ends with 77
# (skipped), or with 1 where PUBLIC_API_REQUIRED=1.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/workspace.sh

crates="nc3z"
lists=docs/api
target=${CARGO_TARGET_DIR:-$PWD/target}

mode=${1:-compare}
case $mode in
    compare | --write) ;;
    *) echo "usage: $0 [--write]" >&2; exit 2 ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# As scripts/test.sh does it, so that nothing is compiled again: fewer targets would have other features.
cargo build "${workspace[@]}" --quiet --all-targets
sound=0
documents=$NC3Z_LOOKED_AT/doc
what_was_said rustdoc || sound=1

changed=0
for crate in $crates; do
    if ! "$target/debug/public-api-list" "$documents/$crate/${crate//-/_}.json" >"$scratch/$crate.txt"; then
        echo "public-api: SKIPPED, the public surface was NOT compared: the list's library does not read what $(rustdoc --version) writes" >&2
        [ "${PUBLIC_API_REQUIRED:-0}" = 1 ] && exit 1
        exit 77
    fi
    if [ "$mode" = --write ]; then
        cp "$scratch/$crate.txt" "$lists/$crate.txt"
    elif ! diff -u "$lists/$crate.txt" "$scratch/$crate.txt"; then
        changed=1
    fi
done
if [ $changed = 1 ]; then
    echo "public-api: the surface has changed; if that is meant: scripts/public-api.sh --write, and a line in CHANGELOG.md" >&2
fi
[ $changed = 0 ] && [ $sound = 0 ]
