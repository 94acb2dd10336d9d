#!/usr/bin/env bash
# Programs that take long to install read a mounted file as they read the original: R, Octave, GDAL, ncview (under Xvfb) and PyFerret. Each that is
# not here is installed (Debian, as root) or named. Ends with 77 where nothing can be mounted, 1 where a program saw a difference.
#     scripts/mount-programs.sh [NC3Z]
set -uo pipefail
cd "$(dirname "$0")/.."
nc3z=$(realpath "${1:-target/release/nc3z}")
[ -c /dev/fuse ] || { echo "NOT RUN: there is no /dev/fuse"; exit 77; }
work=$(mktemp -d)
trap 'umount -l "$work/mnt" 2>/dev/null || fusermount3 -u -z "$work/mnt" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/archive" "$work/mnt" "$work/original"
original=$work/original/coads_climatology.nc
shown=$work/mnt/coads_climatology.nc
cp testdata/classic/coads_climatology.cdf "$original"
"$nc3z" archive -q "$original" -o "$work/archive/coads_climatology.nc.nc3z" || exit 1
"$nc3z" mount --daemon "$work/archive" "$work/mnt" || { echo "NOT RUN: nothing can be mounted here"; exit 77; }

wanted() {
    local program=$1; shift
    command -v "$program" >/dev/null && return
    [ "$(id -u)" = 0 ] && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1
    command -v "$program" >/dev/null && return
    echo "NOT TESTED: $program (apt-get install $*)"
    return 1
}
failed=0
# same NAME COMMAND...: the command's output for both files, in which {} is the file.
same() {
    local name=$1; shift
    local said=() file
    for file in "$original" "$shown"; do
        said+=("$(cd "$work" && "${@//\{\}/$file}" 2>&1 | sed "s|$file|FILE|g; /ncviewrc/d")")
    done
    if [ -n "${said[0]}" ] && [ "${said[0]}" = "${said[1]}" ]; then echo "$name: the same"; return; fi
    echo "$name: differs"; printf '%s\n' "${said[@]}" | tail -20
    failed=1
}
wanted Rscript r-base-core r-cran-ncdf4 &&
    same "R, ncdf4" Rscript -e 'library(ncdf4); f <- nc_open("{}"); for (v in names(f$var)) { x <- ncvar_get(f, v); cat(v, dim(x), sum(x, na.rm=TRUE), x[1:9], "\n") }'
wanted octave octave octave-netcdf &&
    same "Octave" octave --quiet --eval 'pkg load netcdf; x = ncread("{}", "SST"); printf("%.17g ", size(x), sum(x(!isnan(x))), x(1:9))'
wanted gdalinfo gdal-bin && same "GDAL" gdalinfo -checksum 'NETCDF:{}:SST'
if wanted ncview ncview && wanted xvfb-run xvfb xauth; then
    # It opens a window and stays: that it does so for both files, and complains of neither, is all that it can say.
    same "ncview" timeout 10 xvfb-run -a ncview '{}'
fi
if command -v pyferret >/dev/null; then
    printf 'use "%s"\nshow data\nlist/i=10:14/j=40:44/l=3 sst\nlist sst[i=@ave,j=@ave]\nexit\n' '{}' > "$work/script"
    same "PyFerret" bash -c 'sed "s|{}|$1|" script > now.jnl; pyferret -nodisplay -script now.jnl' _ '{}'
else
    echo "NOT TESTED: pyferret"
fi
exit "$failed"
