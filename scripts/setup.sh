#!/usr/bin/env bash
# Installs what the tests need beside Rust: netCDF's own tools and data (Debian, as root), Python packages (in .venv).
# Safe to run again; says what it could not do.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=()
command -v ncdump >/dev/null && command -v nccopy >/dev/null || packages+=(netcdf-bin)
command -v ncvalidator >/dev/null || packages+=(pnetcdf-bin)
command -v ncks >/dev/null || packages+=(nco)
[ -d /usr/share/ferret-vis/data ] || packages+=(ferret-datasets)
command -v strace >/dev/null || packages+=(strace)
command -v file >/dev/null || packages+=(file)
command -v cc >/dev/null || packages+=(build-essential)
command -v python3 >/dev/null || packages+=(python3)
python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
if [ ${#packages[@]} -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
    else
        echo "setup: missing ${packages[*]}; install them (as root: apt-get install ${packages[*]})" >&2
        [ "${CI:-}" != true ] || exit 1
    fi
fi
if ! .venv/bin/python -c 'import bagit, h5py, hdf5plugin, netCDF4, numcodecs, numpy, zstandard' 2>/dev/null; then
    python3 -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r scripts/requirements.txt
fi
# Fuzzing needs a nightly compiler, which is not ours to install; with one at hand, CI gets cargo-fuzz too.
if [ "${CI:-}" = true ] && rustup toolchain list 2>/dev/null | grep -q nightly && ! cargo fuzz --version >/dev/null 2>&1; then
    cargo install cargo-fuzz --locked --quiet
fi
