#!/usr/bin/env bash
# Builds the Python package as a wheel that has the tool, too: `pip install` of it brings `import nc3z` and the command `nc3z`.
#     scripts/wheel.sh [TARGET [DIRECTORY]]       defaults: this machine's target, target/wheels
# The extension is for CPython's stable interface from 3.11 on, so one wheel serves all later versions. For Linux, cargo-zigbuild (from PyPI)
# links both against an old C library (manylinux 2.28: glibc 2.28), or against musl for a target that ends with -musl.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-$(rustc --print host-tuple)} out=$(realpath -m "${2:-target/wheels}")
venv=target/wheel-venv target_dir=${CARGO_TARGET_DIR:-target}
[ -e "$venv/pyvenv.cfg" ] || python3 -m venv "$venv"
# Windows has another name for it.
programs=$PWD/$venv/bin
[ -d "$programs" ] || programs=$PWD/$venv/Scripts
export PATH=$programs:$PATH
python -m pip install --quiet --disable-pip-version-check 'maturin>=1.12,<2' ziglang==0.15.2 cargo-zigbuild==0.24.1
case $target in
    *-linux-gnu) suffix=.2.28 policy=manylinux_2_28 build=zigbuild ;;
    *-linux-musl) suffix= policy=musllinux_1_2 build=zigbuild ;;
    *) suffix= policy= build=build ;;
esac
# The tool's own features: no FUSE, whose driver needs a system library at build time only where `mount` is on.
cargo "$build" --quiet --release --locked -p nc3z-cli --target "$target$suffix"
# maturin takes the folder MODULE.data. What is below its `scripts` is installed beside the interpreter, as a command.
data=faces/python/nc3z._nc3z.data
rm -rf "$data"
trap 'rm -rf "$data"' EXIT
mkdir -p "$data/scripts"
tool=$target_dir/$target/release/nc3z
[ -e "$tool" ] || tool=$tool.exe
install -m 755 "$tool" "$data/scripts/"
strip "$data/scripts/$(basename "$tool")" 2>/dev/null || true
more=()
[ -z "$policy" ] || more+=(--compatibility "$policy" --zig)
python -m maturin build --quiet --release --locked --strip --manifest-path faces/python/Cargo.toml --target "$target" --out "$out" "${more[@]}"
for wheel in "$out"/nc3z-*.whl; do
    python -m zipfile -l "$wheel" | grep -q '\.data/scripts/nc3z' || { echo "$wheel: the command nc3z is not in it"; exit 1; }
done
ls -l "$out"/nc3z-*.whl
