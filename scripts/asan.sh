#!/usr/bin/env bash
# The tests of the decoders under AddressSanitizer: nc3z-num and nc3z-format, and the C code of zstd and liblzma in them, which the
# same flag reaches through the build. Needs a nightly toolchain and a C compiler with the sanitizer (gcc or clang); ends with 77,
# not run, if they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
    echo "NOT RUN: AddressSanitizer needs a nightly toolchain"
    exit 77
fi
# gcc takes constant tables of zstd for locals and reports their use after scope.
sanitize="-fsanitize=address -fno-sanitize-address-use-after-scope"
if ! printf 'int main(void){return 0;}' | cc $sanitize -xc - -o /dev/null 2>/dev/null; then
    echo "NOT RUN: the C compiler has no AddressSanitizer"
    exit 77
fi
target=$(rustc +nightly -vV | sed -n 's/^host: //p')
export RUSTFLAGS="-Zsanitizer=address" CFLAGS="-fno-sanitize-address-use-after-scope" CARGO_TARGET_DIR=target/asan
# Leaks are none of this: contexts live as long as their thread.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
cargo +nightly test --quiet --target "$target" -p nc3z-num --all-features --lib --tests "$@"
cargo +nightly test --quiet --target "$target" -p nc3z-format --lib --tests "$@"
# Only if the C code was compiled with it does this prove anything.
for library in zstd lzma; do
    found=$(find "target/asan/$target" -name "lib$library.a" -print -quit)
    # Counted, not `grep -q`, which would close the pipe of `nm` early and fail it.
    if [ -z "$found" ] || [ "$(nm "$found" 2>/dev/null | grep -c __asan_report)" = 0 ]; then
        echo "asan: lib$library.a was built without AddressSanitizer" >&2
        exit 1
    fi
done
echo "no finding in nc3z-num, nc3z-format, zstd and liblzma"
