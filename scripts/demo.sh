#!/usr/bin/env bash
# The main job on real data: archive a NOAA climatology, restore it, compare the bytes. Needs Rust and a C compiler. The tool is built without
# URLs and pictures and without link-time optimisation, so that it is there soon: for daily use, `cargo install --locked --path nc3z-cli`.
set -euo pipefail
cd "$(dirname "$0")/.."
# missing PROGRAM HOW
missing() {
    command -v "$1" >/dev/null && return 0
    echo "$1 is missing. $2" >&2
    exit 1
}
missing cargo "Rust 1.88 or newer has it: https://rustup.rs says how to install it for a user, without root."
missing cc "It is the C compiler: apt install gcc (Debian, Ubuntu), dnf install gcc (Fedora), xcode-select --install (macOS)."
echo "Building nc3z, without URLs and pictures: one to three minutes on two cores the first time, seconds after that." >&2
begin=$SECONDS
cargo build --profile demo --package nc3z-cli --no-default-features --quiet &
build=$!
# Prints a line every ten seconds; cargo reports errors.
while kill -0 "$build" 2>/dev/null; do
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        kill -0 "$build" 2>/dev/null || break
        sleep 1
    done
    kill -0 "$build" 2>/dev/null && echo "  still building, $((SECONDS - begin)) s" >&2
done
wait "$build"
echo "Built in $((SECONDS - begin)) s." >&2
nc3z=target/demo/nc3z
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
set -x
"$nc3z" archive testdata/classic/coads_climatology.cdf -o "$work/coads.cdf.nc3z"
"$nc3z" restore "$work/coads.cdf.nc3z" -o "$work/coads.cdf"
cmp testdata/classic/coads_climatology.cdf "$work/coads.cdf"
"$nc3z" info "$work/coads.cdf.nc3z"
{ set +x; } 2>/dev/null
echo "restored byte for byte: $(sha256sum <"$work/coads.cdf" | cut -c1-64)"
