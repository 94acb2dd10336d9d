#!/usr/bin/env bash
# All checks that decide whether a change lands. Installs their requirements, runs every step even after a failure, and ends with
# the time of each step and a count. All Rust tests, and the acceptance tests' tool, are built once, with the dev profile:
# optimised, with overflow checks and debug assertions. Longer runs of the same tests: scripts/nightly.sh.
set -uo pipefail
cd "$(dirname "$0")/.."
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}
export NC3Z=$PWD/target/debug/nc3z NC3Z_READ_SLABS=$PWD/target/debug/examples/read_slabs
# The same cases in each run: whether a change lands must not hang on luck. scripts/nightly.sh tries new ones.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-20261122}
source scripts/steps.sh
source scripts/workspace.sh

format() {
    command -v cargo >/dev/null || { not_run_because "no cargo"; return; }
    cargo fmt --all -- --check
}
# Clippy has already checked the crates during the build (scripts/compile.sh).
lint() { what_was_said clippy; }
# Builds everything with tests, the tool, the Python package's module, and (only to check them) examples and benchmarks.
build() { cargo build "${workspace[@]}" --quiet --all-targets; }
tests() { cargo test "${workspace[@]}" --quiet --tests --no-fail-fast; }
doc_tests() { cargo test "${workspace[@]}" --quiet --doc; }
reference_decoder() {
    [ "${CI:-}" = true ] || "$python" -c 'import zstandard' 2>/dev/null || { not_run_because "Python's zstandard is not installed"; return; }
    "$python" spec/reference/nc3z_num.py --self-test
}
# Fuzzing builds everything once more, with sanitizers: longer than all other steps together. NC3Z_FUZZ_SECONDS enables it; so does nightly.sh.
fuzzing() {
    [ "${NC3Z_FUZZ_SECONDS:-0}" != 0 ] || { not_run_because "NC3Z_FUZZ_SECONDS is not set; scripts/nightly.sh fuzzes"; return; }
    scripts/fuzz-smoke.sh "$NC3Z_FUZZ_SECONDS"
}

# Setting up waits for the network most of the time. It runs beside the build, which needs a C compiler and nothing else of it.
mkdir -p target
bash scripts/setup.sh >target/setup.log 2>&1 &
setup=$!
finish_setup() {
    [ -n "$setup" ] || return 0
    local code=0 begin=$SECONDS
    wait "$setup" || code=$?
    setup=
    printf '\n== setup, which ran beside\n'
    cat target/setup.log
    [ "$code" = 0 ] || { echo "0 passed, 1 failed"; exit 1; }
    figures+=("$(printf '%5s s  %-8s %s' $((SECONDS - begin)) done "setup, beyond the build")")
}
command -v cc >/dev/null || finish_setup
# Without the compiler or the crates, the possible steps run and the others are named; in CI that is a failure.
compiles=true
[ "${CI:-}" = true ] || cargo fetch --locked --quiet --target "$(rustc --print host-tuple)" || compiles=false
# compiled_step NAME COMMAND...: a step that needs compiled programs.
compiled_step() {
    if [ "$compiles" = true ]; then step "$@"; else step "$1" not_run_because "no cargo, or crates that are not here and cannot be fetched"; fi
}
step "format" format
compiled_step "build of tests and tool" build
compiled_step "lint" lint
finish_setup
python=.venv/bin/python
[ -x "$python" ] || python=python3
compiled_step "Rust tests" tests
compiled_step "documentation's tests" doc_tests
compiled_step "documentation, public interface" scripts/public-api.sh
step "site" scripts/site.sh
compiled_step "licences" scripts/licences.sh
compiled_step "magic" scripts/check-magic.sh
step "reference decoder's own test" reference_decoder
# One core is idle here and there in either.
[ "$compiles" != true ] || begin_beside scripts/python.sh
compiled_step "acceptance" "$python" scripts/acceptance.py
compiled_step "Python package, beside the one before" end_beside
step "fuzzing" fuzzing
close
