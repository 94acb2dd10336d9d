#!/usr/bin/env bash
# Checks that file(1) identifies an archive by spec/magic, and that an archive's first lines describe it to a person.
set -euo pipefail
cd "$(dirname "$0")/.."
nc3z=${NC3Z:-target/debug/nc3z}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$nc3z" archive testdata/classic/etopo120.cdf -o "$work/a.nc3z" 2>/dev/null
head -c 160 "$work/a.nc3z" | grep -a -q 'nc3z restore FILE'
if command -v file >/dev/null; then
    file -m spec/magic "$work/a.nc3z" | grep -q 'nc3z archive of a classic netCDF file, version '
    [ "$(file -m spec/magic --brief --mime-type "$work/a.nc3z")" = application/vnd.nc3z ]
elif [ "${CI:-}" = true ]; then
    echo "file(1) is missing" >&2
    exit 1
else
    echo "NOT RUN: file(1) is missing"
    exit 77
fi
