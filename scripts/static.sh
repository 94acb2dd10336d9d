#!/usr/bin/env bash
# A binary that runs on any Linux of this machine's kind: linked with musl, statically. Needs the target and musl-gcc:
#     rustup target add x86_64-unknown-linux-musl; apt-get install musl-tools
# Checks that it is static, below 12 MB, and that it archives and restores. Ends with 77 where it cannot be built here.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(uname -m)-unknown-linux-musl
command -v musl-gcc >/dev/null || { echo "NOT RUN: no musl-gcc (apt-get install musl-tools)"; exit 77; }
[ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] || { echo "NOT RUN: no Rust for $target (rustup target add $target)"; exit 77; }
# Nothing is loaded at another address than it is linked for: less to relocate. A panic ends the process: no tables to unwind by. Names of
# source files, which panics tell, without this machine's directories.
export RUSTFLAGS="-C relocation-model=static -C target-feature=+crt-static -C force-unwind-tables=no --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src/="
# Rust's own linker, where it is: functions that are the same code are linked once.
lld=$(rustc --print sysroot)/lib/rustlib/$(uname -m)-unknown-linux-gnu/bin/gcc-ld
[ ! -x "$lld/ld.lld" ] || RUSTFLAGS+=" -C link-arg=-B$lld -C link-arg=-fuse-ld=lld -C link-arg=-Wl,--icf=all"
# Without `mount` and `serve`, which the limit has no room for.
cargo build --quiet --profile static -p nc3z-cli --no-default-features --features plot,remote --target "$target"
binary=target/$target/static/nc3z
if ldd "$binary" 2>&1 | grep -q '=>'; then echo "$binary is linked dynamically"; exit 1; fi
# The binary never unwinds, so the tables of C and of the standard library for it are unused.
strip -R .eh_frame -R .eh_frame_hdr -R .comment -o "$binary.stripped" "$binary" 2>/dev/null || strip -o "$binary.stripped" "$binary"
size=$(stat -c %s "$binary.stripped")
echo "$binary.stripped: $size bytes"
[ "$size" -lt 12000000 ] || { echo "it is larger than 12 MB"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$binary.stripped" archive -q testdata/classic/coads_climatology.cdf -o "$work/x.nc3z"
"$binary.stripped" restore -q "$work/x.nc3z" -o "$work/x.nc"
cmp testdata/classic/coads_climatology.cdf "$work/x.nc"
echo "the static binary archives and restores"
