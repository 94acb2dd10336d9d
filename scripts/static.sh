#!/usr/bin/env bash
# A binary that runs on any Linux of this machine's kind: linked with musl, statically. Needs musl-gcc (apt-get install musl-tools) and a compiler
# for the target (scripts/toolchain.sh): rustup's, or Debian's, which builds the standard library as well.
# Checks that it is static, below 12 MB, and that it archives and restores. Ends with 77 where it cannot be built here.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(uname -m)-unknown-linux-musl
command -v musl-gcc >/dev/null || { echo "NOT RUN: no musl-gcc (apt-get install musl-tools)"; exit 77; }
# Rust's own linker, where it is: functions that are the same code are linked once.
lld=$(rustc --print sysroot)/lib/rustlib/$(uname -m)-unknown-linux-gnu/bin/gcc-ld
source scripts/toolchain.sh
toolchain "$target" std,panic_abort || { echo "NOT RUN: no Rust for $target (rustup target add $target, or apt-get install rustc-web rust-web-src)"; exit 77; }
folder=${CARGO_TARGET_DIR:-target}
# Nothing is loaded at another address than it is linked for: less to relocate. A panic ends the process: no tables to unwind by. Names of
# source files, which panics tell, without this machine's directories.
export RUSTFLAGS="-C relocation-model=static -C target-feature=+crt-static -C force-unwind-tables=no --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src/="
[ ! -x "$lld/ld.lld" ] || RUSTFLAGS+=" -C link-arg=-B$lld -C link-arg=-fuse-ld=lld -C link-arg=-Wl,--icf=all"
built=$folder/$target
if [ ${#build_std[@]} != 0 ]; then
    built=$folder/other/$target
    # Only rustup's library brings the C library and the unwinder. musl-gcc has the first. The second would read tables that are cut off below, so
    # this one finds no frame. Its path is relative, because it must be the same in each folder that builds the same bytes.
    mkdir -p target/no-unwinder
    printf 'int _Unwind_Backtrace(void *step, void *state) { (void)step, (void)state; return 5; }
unsigned long _Unwind_GetIP(void *context) { (void)context; return 0; }\n' >target/no-unwinder/none.c
    musl-gcc -O2 -c target/no-unwinder/none.c -o target/no-unwinder/none.o
    rm -f target/no-unwinder/libunwind.a
    ar rcsD target/no-unwinder/libunwind.a target/no-unwinder/none.o
    RUSTFLAGS+=" -C linker=musl-gcc -C link-self-contained=no -C link-arg=-Wl,--no-dynamic-linker -L native=target/no-unwinder"
    build_std+=(-Zbuild-std-features=)
fi
# With the list of its crates in it, which `cargo audit bin` compares with the advisories.
cargo=(cargo)
if cargo auditable --version >/dev/null 2>&1; then cargo+=(auditable); else echo "the binary has no list of its crates: no cargo-auditable (cargo install cargo-auditable)"; fi
# Without `mount` and `serve`, which the limit has no room for.
"${cargo[@]}" build "${other[@]}" "${build_std[@]}" --profile static -p nc3z-cli --no-default-features --features plot,remote --target "$target"
binary=$folder/$target/static/nc3z
if ldd "$built/static/nc3z" 2>&1 | grep -q '=>'; then echo "$built/static/nc3z is linked dynamically"; exit 1; fi
# The binary never unwinds, so the tables of C and of the standard library for it are unused.
mkdir -p "$(dirname "$binary")"
strip -R .eh_frame -R .eh_frame_hdr -R .comment -o "$binary.stripped" "$built/static/nc3z" 2>/dev/null || strip -o "$binary.stripped" "$built/static/nc3z"
size=$(stat -c %s "$binary.stripped")
echo "$binary.stripped: $size bytes, by $("${RUSTC:-rustc}" --version)"
[ "$size" -lt 12000000 ] || { echo "it is larger than 12 MB"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ ${#cargo[@]} = 2 ]; then
    objcopy --dump-section ".dep-v0=$work/crates" "$binary.stripped" /dev/null
    python3 - "$work/crates" <<'PY'
import json
import sys
import zlib

names = {crate["name"] for crate in json.loads(zlib.decompress(open(sys.argv[1], "rb").read()))["packages"]}
assert {"nc3z-cli", "zstd-sys"} <= names, names
print(f"it names its {len(names)} crates")
PY
fi
"$binary.stripped" archive -q testdata/classic/coads_climatology.cdf -o "$work/x.nc3z"
"$binary.stripped" restore -q "$work/x.nc3z" -o "$work/x.nc"
cmp testdata/classic/coads_climatology.cdf "$work/x.nc"
# The least of 50 starts, fork and exec of Python included. The goal is 5 ms.
least=$(python3 - "$binary.stripped" <<'PY'
import subprocess
import sys
import time

def start():
    begin = time.perf_counter()
    subprocess.run([sys.argv[1], "--version"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin

print(f"{1e3 * min(start() for _ in range(50)):.1f}")
PY
)
echo "the static binary archives and restores, and starts within $least ms"
