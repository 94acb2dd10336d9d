#!/usr/bin/env bash
# Builds the image of packaging/docker/Dockerfile by buildah, from no other image, and archives a file in it. The argument is the static binary
# (default: the one that scripts/static.sh built). Ends with 77 where buildah is not available.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=${1:-$(ls -t target/*-linux-*/static/nc3z.stripped 2>/dev/null | head -1)}
[ -n "$binary" ] || { echo "NOT RUN: missing static binary (scripts/static.sh)"; exit 77; }
command -v buildah >/dev/null || { [ "$(id -u)" = 0 ] && apt-get install -y -qq --no-install-recommends buildah crun >/dev/null; } || { echo "NOT RUN: no buildah"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
install -m 755 "$binary" "$folder/nc3z"
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
buildah --root "$folder/storage" --runroot "$folder/run" build --quiet -f packaging/docker/Dockerfile -t nc3z "$folder" >/dev/null
container=$(buildah --root "$folder/storage" --runroot "$folder/run" from nc3z)
mkdir "$folder/data"
cp testdata/classic/coads_climatology.cdf "$folder/data/a.nc"
run() { buildah --root "$folder/storage" --runroot "$folder/run" run --isolation chroot -v "$folder/data:/data" "$container" -- /usr/bin/nc3z "$@"; }
run archive -q a.nc
run restore -q a.nc.nc3z -o b.nc
cmp "$folder/data/a.nc" "$folder/data/b.nc"
echo "the image, $(stat -c %s "$binary") bytes of one binary, archives and restores"
