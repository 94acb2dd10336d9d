#!/bin/sh
# Makes bench/.venv with the Python peers. The commands nccopy (netcdf-bin), xz, zstd and gzip are the system's.
set -eu
cd "$(dirname "$0")"
python3 -m venv .venv
.venv/bin/pip install --quiet --requirement requirements.txt
for tool in nccopy xz zstd gzip; do
    command -v $tool >/dev/null || echo "missing: $tool (its rows will be left out)" >&2
done
