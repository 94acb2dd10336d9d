#!/usr/bin/env bash
# Installs one wheel of the Python package, built for release, into a fresh environment of each interpreter from 3.11 on, and runs the
# package's tests there. Interpreters: the arguments, or those of pyenv and of the path. Takes a quarter of an hour for each.
#     NC3Z_WHEEL   the wheel to install, such as that of scripts/wheel.sh, in place of one that is built here
#     NC3Z_TESTS   what pytest runs (tests/python)
set -uo pipefail
cd "$(dirname "$0")/.."
if [ $# -gt 0 ]; then
    interpreters=("$@")
else
    interpreters=()
    for python in "$HOME"/.pyenv/versions/3.*/bin/python3 $(compgen -c python3. | grep -E '^python3\.[0-9]+t?$' | sort -u); do
        python=$(command -v "$python") && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' && interpreters+=("$python")
    done
fi
if [ ${#interpreters[@]} = 0 ]; then
    echo "NOT RUN: no Python 3.11 or later"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0 known=""
for python in "${interpreters[@]}"; do
    version=$("$python" -c 'import sys, sysconfig; print("%d.%d" % sys.version_info[:2] + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""))')
    case " $known " in *" $version "*) continue ;; esac
    known+=" $version"
    own=$folder/$version/bin/python
    "$python" -m venv "$folder/$version"
    # A package without a wheel, such as netCDF4 without the GIL, ends the run for that interpreter.
    if ! "$own" -m pip install --quiet --disable-pip-version-check -r scripts/python.txt netCDF4 numcodecs pcodec; then
        echo "Python $version: packages that the tests need cannot be had"
        failed=1
        continue
    fi
    kind=abi3
    case $version in *t) kind=$version ;; esac
    if [ -n "${NC3Z_WHEEL:-}" ]; then
        mkdir -p "$folder/$kind" && cp "$NC3Z_WHEEL" "$folder/$kind/"
    elif [ ! -d "$folder/$kind" ]; then
        "$own" -m maturin build --quiet --release --interpreter "$own" --manifest-path faces/python/Cargo.toml --out "$folder/$kind" || exit 1
    fi
    "$own" -m pip install --quiet --disable-pip-version-check --no-deps "$folder/$kind"/*.whl
    if "$own" -m pytest -c tests/python/pytest.ini --quiet ${NC3Z_TESTS:-tests/python} -n 2; then
        echo "Python $version: passed ($(basename "$folder/$kind"/*.whl))"
    else
        echo "Python $version: FAILED"
        failed=1
    fi
done
exit $failed
