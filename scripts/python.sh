#!/usr/bin/env bash
# Builds the Python package with the dev profile into .venv, and runs its tests. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/.venv/bin/python
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "NOT RUN: the package needs Python 3.11 or later, and .venv has none"
    exit 77
fi
if ! "$python" -c 'import dask, distributed, fsspec, maturin, mypy, pytest, pytest_asyncio, scipy, xarray, xdist, zarr' 2>/dev/null; then
    echo "NOT RUN: .venv lacks packages of scripts/python.txt; bash scripts/setup.sh installs them"
    exit 77
fi
wheels=target/wheels/dev
rm -rf "$wheels"
"$python" -m maturin build --quiet --profile dev --interpreter "$python" --manifest-path nc3z-python/Cargo.toml --out "$wheels"
"$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/*.whl
exec "$python" -m pytest -c tests/python/pytest.ini --quiet tests/python -n 2 "$@"
