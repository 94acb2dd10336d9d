#!/usr/bin/env bash
# All tests. Installs what they need, then runs every step even after a failure, and ends with a count.
set -uo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh || { echo "0 passed, 1 failed"; exit 1; }
passed=0 failed=0
step() {
    local name=$1 begin=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    if "$@"; then passed=$((passed + 1)); verdict=passed; else failed=$((failed + 1)); verdict=FAILED; fi
    printf '== %s: %s, %s s\n' "$name" "$verdict" $((SECONDS - begin))
}
lint() { cargo clippy --workspace --all-targets --features nc3z-reader/ndarray --quiet -- -D warnings; }
docs() { RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet; }
acceptance() { NC3Z=target/release/nc3z .venv/bin/python -m unittest discover -s tests; }
magic() { scripts/check-magic.sh; }

step "format" cargo fmt --all -- --check
step "lint" lint
step "tests, debug" cargo test --workspace --features nc3z-reader/ndarray --quiet
step "build, release" cargo build --release --workspace --quiet
step "numeric codec, release" cargo test --release -p nc3z-format --quiet
step "documentation" docs
step "magic" magic
step "reference decoder's own test" .venv/bin/python spec/reference/nc3z_num.py --self-test
step "acceptance" acceptance
if [ -x scripts/fuzz-smoke.sh ] && cargo fuzz --version >/dev/null 2>&1 && rustup toolchain list 2>/dev/null | grep -q nightly; then
    step "fuzzing for a minute" scripts/fuzz-smoke.sh 60
else
    echo "== SKIPPED: fuzzing needs cargo-fuzz and a nightly toolchain (docs/fuzzing.md)"
fi
printf '\n%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
