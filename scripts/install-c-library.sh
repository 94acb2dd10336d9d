#!/usr/bin/env bash
# Installs the C library: header, shared and static library, pkg-config file.
#     cargo build --release -p nc3z-c && scripts/install-c-library.sh PREFIX [DIRECTORY OF THE BUILT LIBRARIES]
# The directory is target/release unless it is given. DESTDIR is put before PREFIX where files go, and not into the pkg-config file.
set -euo pipefail
prefix=${1:?"usage: scripts/install-c-library.sh PREFIX [DIRECTORY]"}
cd "$(dirname "$0")/.."
built=${2:-target/release}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
abi=$(sed -n 's/^#define NC3Z_ABI_VERSION //p' faces/c/include/nc3z.h)
case $prefix in /*) ;; *) echo "install-c-library: PREFIX must be an absolute path, and \`$prefix\` is none" >&2; exit 2 ;; esac
root=${DESTDIR:-}$prefix
if [ -e "$built/libnc3z.so" ]; then
    file=libnc3z.so.$abi.$version link=libnc3z.so.$abi short=libnc3z.so
elif [ -e "$built/libnc3z.dylib" ]; then
    file=libnc3z.$abi.$version.dylib link=libnc3z.$abi.dylib short=libnc3z.dylib
else
    echo "install-c-library: missing libnc3z in $built: cargo build --release -p nc3z-c" >&2
    exit 1
fi
mkdir -p "$root/include" "$root/lib/pkgconfig"
install -m 644 faces/c/include/nc3z.h "$root/include/nc3z.h"
install -m 755 "$built/$short" "$root/lib/$file"
# macOS finds a library by the name that is in it.
case $short in *.dylib) install_name_tool -id "$prefix/lib/$link" "$root/lib/$file" ;; esac
ln -sf "$file" "$root/lib/$link"
ln -sf "$link" "$root/lib/$short"
if [ -e "$built/libnc3z.a" ]; then install -m 644 "$built/libnc3z.a" "$root/lib/libnc3z.a"; fi
cat > "$root/lib/pkgconfig/nc3z.pc" <<PC
prefix=$prefix
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: nc3z
Description: exact, small, randomly readable archives of classic netCDF files
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lnc3z
Libs.private: -lpthread -ldl -lm -lgcc_s
PC
echo "installed libnc3z $version (ABI $abi) in $root"
