#!/usr/bin/env bash
# Programs that take long to install read a mounted file as they read the original: R, Octave, GDAL, ncview (under Xvfb) and PyFerret. R, Octave and
# Perl also read the archive by `nc3z netcdf-plugin run`. Each that is not here is installed (Debian, as root) or named. Ends with 77 where nothing can be mounted, 1 where a program saw a difference.
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
# output FILE COMMAND...: the command's output, in which {} is the file.
output() {
    local file=$1; shift
    (cd "$work" && "${@//\{\}/$file}" 2>&1 | sed "s|$file|FILE|g; /ncviewrc/d")
}
# compare NAME OUTPUT OUTPUT
compare() {
    if [ -n "$2" ] && [ "$2" = "$3" ]; then echo "$1: the same"; return; fi
    echo "$1: differs"; printf '%s\n' "$2" "$3" | tail -20
    failed=1
}
# same NAME COMMAND...: for the original and the mounted file.
same() {
    local name=$1; shift
    compare "$name" "$(output "$original" "$@")" "$(output "$shown" "$@")"
}
# same_by_run NAME COMMAND...: for the original, and for the archive by `nc3z netcdf-plugin run`.
same_by_run() {
    local name=$1; shift
    compare "$name, by nc3z netcdf-plugin run" "$(output "$original" "$@")" "$(output "$work/archive/coads_climatology.nc.nc3z" "$nc3z" netcdf-plugin run -- "$@")"
}
if wanted Rscript r-base-core r-cran-ncdf4; then
    words='library(ncdf4); f <- nc_open("{}"); for (v in names(f$var)) { x <- ncvar_get(f, v); cat(v, dim(x), sum(x, na.rm=TRUE), x[1:9], "\n") }'
    same "R, ncdf4" Rscript -e "$words"
    same_by_run "R, ncdf4" Rscript -e "$words"
fi
if wanted octave octave octave-netcdf; then
    words='pkg load netcdf; x = ncread("{}", "SST"); printf("%.17g ", size(x), sum(x(!isnan(x))), x(1:9))'
    same "Octave" octave --quiet --eval "$words"
    same_by_run "Octave" octave --quiet --eval "$words"
fi
[ "$(id -u)" != 0 ] || perl -MPDL::NetCDF -e 1 2>/dev/null || apt-get install -y -qq --no-install-recommends libpdl-netcdf-perl >/dev/null 2>&1
if perl -MPDL::NetCDF -e 1 2>/dev/null; then
    same_by_run "Perl" perl -MPDL -MPDL::NetCDF -e 'print PDL::NetCDF->new("{}", {MODE => O_RDONLY})->get("SST")->slice("0:4,40:44,3"), "\n"'
else
    echo "NOT TESTED: Perl (apt-get install libpdl-netcdf-perl)"
fi
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
