#!/usr/bin/env bash
# Puts the Python package into .venv and runs its tests. Arguments go to pytest. The module is the one of the workspace's build for
# tests (scripts/workspace.sh), which takes seconds where scripts/test.sh has made it; maturin, which would compile most of the
# workspace once more, writes the metadata only. scripts/python-install.sh has it build a wheel.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/.venv/bin/python
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "NOT RUN: the package needs Python 3.11 or later, and .venv has none"
    exit 77
fi
if ! "$python" -c 'import dask, distributed, fsspec, icechunk, maturin, mypy, pytest, pytest_asyncio, scipy, virtualizarr, wheel, xarray, xdist, zarr' 2>/dev/null; then
    echo "NOT RUN: .venv lacks packages of scripts/python.txt; bash scripts/setup.sh installs them"
    exit 77
fi
source scripts/workspace.sh
cargo build "${workspace[@]}" --quiet --lib --example read_slabs
tree=$PWD/target/wheels/dev
rm -rf "$tree"
mkdir -p "$tree/wheel"
cp -r faces/python/python/nc3z "$tree/wheel/"
find "$tree/wheel" -name __pycache__ -prune -exec rm -r {} +
cp target/debug/lib_nc3z.so "$tree/wheel/nc3z/_nc3z.abi3.so"
(cd faces/python && "$python" -m maturin pep517 write-dist-info --metadata-directory "$tree/wheel" --interpreter "$python" >/dev/null 2>"$tree/maturin.log") ||
    { cat "$tree/maturin.log"; exit 1; }
"$python" -m wheel pack "$tree/wheel" --dest-dir "$tree" >/dev/null
"$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$tree"/*.whl
exec "$python" -m pytest -c tests/python/pytest.ini --quiet tests/python -n 2 "$@"
