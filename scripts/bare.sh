#!/usr/bin/env bash
# Installs nc3z on a bare machine: a Debian made by debootstrap, without a compiler, Rust or network. Copies the static binary, installs the wheel by
# pip from files (--no-index), and runs the pages for five kinds of readers (tests/journeys) with each of them. Fails if a block fails, or does not
# run for another reason than those listed at the end.
#     scripts/bare.sh [BINARY [WHEEL]]      defaults: what scripts/static.sh and scripts/wheel.sh built
# Needs root and debootstrap. Ends with 77 where it cannot run.
set -euo pipefail
cd "$(dirname "$0")/.."
machine=$(uname -m)
newest() { ls -t "$@" 2>/dev/null | head -1; }
binary=${1:-$(newest "${CARGO_TARGET_DIR:-target}/$machine-unknown-linux-musl/static/nc3z.stripped" || true)}
wheel=${2:-$(newest target/wheels/nc3z-*-manylinux_*"_$machine".whl || true)}
for file in "$binary" "$wheel"; do
    [ -f "$file" ] || { echo "NOT RUN: no static binary (scripts/static.sh), or no wheel (scripts/wheel.sh)"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "NOT RUN: debootstrap and chroot need root"; exit 77; }
command -v debootstrap >/dev/null || apt-get install -y -qq --no-install-recommends debootstrap >/dev/null || { echo "NOT RUN: no debootstrap"; exit 77; }
suite=bookworm python=3.11
root=$(mktemp -d)/root
# Mounts are made in a namespace of the program that uses them, so nothing is mounted here.
trap 'rm -rf --one-file-system "$(dirname "$root")"' EXIT
debootstrap --variant=minbase --include=python3,python3-venv,curl,fuse3,iproute2 "$suite" "$root" >"$(dirname "$root")/debootstrap.log" 2>&1 ||
    { tail -3 "$(dirname "$root")/debootstrap.log"; echo "NOT RUN: debootstrap failed"; exit 77; }
for program in rustc cargo cc gcc ncdump; do
    if chroot "$root" sh -c "command -v $program" >/dev/null; then echo "the bare machine has $program"; exit 1; fi
done

# Everything that is installed, fetched beforehand.
mkdir "$root/wheels"
cp "$wheel" "$root/wheels/"
install -m 755 "$binary" "$root/usr/local/bin/nc3z"
# All tags of this machine up to the C library of the bare one.
platforms=(--platform "linux_$machine")
for minor in 17 24 26 27 28 31 34 35; do platforms+=(--platform "manylinux_2_${minor}_$machine"); done
python3 -m pip download --quiet --disable-pip-version-check --dest "$root/wheels" --only-binary :all: --python-version "$python" --implementation cp \
    "${platforms[@]}" --platform "manylinux2014_$machine" numpy xarray 'dask[array]' netCDF4 zstandard || { echo "NOT RUN: the wheels that nc3z needs cannot be fetched"; exit 77; }
git archive HEAD docs tests testdata/classic | tar -x -C "$root/srv"

cat >"$root/srv/journeys.sh" <<'END'
set -eu
ip link set lo up
[ -z "$(ip route)" ] || { echo "the bare machine has a network"; exit 1; }
cd /srv/tests
export NC3Z_DATE= NC3Z_AUTHOR= PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1
journeys() { NC3Z=$1 "$2/bin/python" -m unittest test_journeys.Journeys; }
# What the pages and their checks need besides nc3z: a reference decoder's zstd, and another library that reads netCDF.
python3 -m venv /srv/tool && /srv/tool/bin/pip install --quiet --find-links /wheels netCDF4 zstandard
echo "== the static binary"
journeys /usr/local/bin/nc3z /srv/tool
rm /usr/local/bin/nc3z
python3 -m venv /srv/wheel && /srv/wheel/bin/pip install --quiet --find-links /wheels nc3z xarray 'dask[array]' netCDF4 zstandard
echo "== the wheel: $(/srv/wheel/bin/nc3z --version)"
journeys /srv/wheel/bin/nc3z /srv/wheel
END
log=$(dirname "$root")/log
code=0
unshare --mount --net --pid --fork --kill-child bash -c '
    mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/tmp" &&
        exec chroot "$1" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin HOME=/root LANG=C.UTF-8 timeout 1800 bash /srv/journeys.sh' _ "$root" >"$log" 2>&1 || code=$?
cat "$log"
[ "$code" = 0 ] || exit 1
# The static binary has neither Python package nor servers. A wheel has all of it, but a machine may have no FUSE.
expected=("analyst, xarray" "operator, mount" "operator, serve" "programmer, python")
[ -c /dev/fuse ] || expected+=("operator, mount")
diff <(printf '%s\n' "${expected[@]}" | sort) <(sed -n 's/^\(.*\): NOT TESTED: .*/\1/p' "$log" | sort) ||
    { echo "other blocks than these were not tested (<: expected, >: found)"; exit 1; }
echo "bare $suite: the static binary and the wheel pass the journeys, offline and without a compiler"
