#!/usr/bin/env bash
# Installs the Python package as its README says, into a fresh environment, and runs the README's lines there. Takes a release
# build: minutes. Give an interpreter as the only argument [python3].
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${1:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check './faces/python[xarray]'
cp testdata/classic/etopo120.cdf "$folder/tas.nc"
sed -n '/^```python$/,/^```$/p' faces/python/README.md | sed '/^```/d' >"$folder/readme.py"
[ "$(wc -l <"$folder/readme.py")" -ge 3 ]
cat >>"$folder/readme.py" <<'END'
assert xr.open_dataset("tas.nc.nc3z").ROSE.shape == (90, 180)
import importlib.metadata as metadata
about = metadata.metadata("nc3z")
assert about["Name"] == "nc3z" and about["Version"] == nc3z.__version__ and about["License-Expression"] == "MIT OR Apache-2.0"
assert "nc3z.num" in metadata.entry_points(group="zarr.codecs").names
assert "numcodecs.codecs" in metadata.entry_points().groups and "nc3z" in xr.backends.list_engines()
assert "Reads nc3z archives" in metadata.distribution("nc3z").read_text("METADATA")
print(f"nc3z {nc3z.__version__} installed and run by Python {__import__('platform').python_version()}")
END
cd "$folder"
exec "$folder/venv/bin/python" readme.py
