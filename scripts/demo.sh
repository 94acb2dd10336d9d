#!/usr/bin/env bash
# The main job on real data: archive a NOAA climatology, restore it, compare the bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet
nc3z=target/release/nc3z
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$nc3z" archive testdata/classic/coads_climatology.cdf -o "$work/coads.cdf.nc3z"
"$nc3z" restore "$work/coads.cdf.nc3z" -o "$work/coads.cdf"
cmp testdata/classic/coads_climatology.cdf "$work/coads.cdf"
"$nc3z" info "$work/coads.cdf.nc3z"
echo "restored byte for byte: $(sha256sum <"$work/coads.cdf" | cut -c1-64)"
