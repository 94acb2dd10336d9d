#!/usr/bin/env bash
# Runs each fuzz target for its share of SECONDS (60 by default). Needs cargo-fuzz; ends with 77, not run, where it is not
# there. Sanitizers are a matter of nightly toolchains; where there is none, RUSTC_BOOTSTRAP lets the stable one use its own.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "NOT RUN: fuzzing needs cargo-fuzz (docs/fuzzing.md)"
    exit 77
fi
if rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
    fuzz() { cargo +nightly fuzz "$@"; }
else
    fuzz() { RUSTC_BOOTSTRAP=1 cargo fuzz "$@"; }
fi
targets=(classic_header archive_open block_decode roundtrip verify_repair parity versions short_form chain_text capi)
share=$(( ${1:-60} / ${#targets[@]} ))
(( share > 0 )) || share=1
cargo run --quiet --package nc3z-writer --example fuzz_seeds
# gcc's AddressSanitizer takes constant tables of zstd for locals and reports their use after scope.
export CFLAGS="${CFLAGS:-} -fno-sanitize-address-use-after-scope"
for target in "${targets[@]}"; do
    # Checks that sync files use a file system in memory, if there is one.
    if [[ -z ${TMPDIR:-} && -w /dev/shm ]]; then export TMPDIR=/dev/shm; fi
    # The C library has the reader's own limits, under which a tile may have a gigabyte.
    memory=1024; [ "$target" != capi ] || memory=4096
    fuzz run "$target" -- -max_total_time="$share" -max_len=16384 -rss_limit_mb="$memory" -timeout=10 -verbosity=0
done
