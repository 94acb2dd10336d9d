#!/usr/bin/env bash
# Installs the netCDF plug-in where `nc3z` in PREFIX/bin looks for it.
#     cargo build --release -p nc3z-netcdf-plugin && scripts/install-netcdf-plugin.sh PREFIX [DIRECTORY OF THE BUILT LIBRARY]
# The directory is target/release unless it is given. DESTDIR is put before PREFIX.
set -euo pipefail
prefix=${1:?"usage: scripts/install-netcdf-plugin.sh PREFIX [DIRECTORY]"}
cd "$(dirname "$0")/.."
built=${2:-target/release}
for name in libnc3z_netcdf_plugin.so libnc3z_netcdf_plugin.dylib; do
    [ -e "$built/$name" ] || continue
    mkdir -p "${DESTDIR:-}$prefix/lib/nc3z"
    install -m 644 "$built/$name" "${DESTDIR:-}$prefix/lib/nc3z/$name"
    echo "installed the netCDF plug-in in ${DESTDIR:-}$prefix/lib/nc3z"
    exit 0
done
echo "install-netcdf-plugin: missing libnc3z_netcdf_plugin in $built: cargo build --release -p nc3z-netcdf-plugin" >&2
exit 1
