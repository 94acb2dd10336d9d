#!/usr/bin/env bash
# Packages of a built tool, with its manual pages and completions, which it writes itself:
#     scripts/package.sh [BINARY [DIRECTORY]]        defaults: target/release/nc3z, target/package
# makes DIRECTORY/nc3z-VERSION-ARCH.tar.gz and, where dpkg-deb is available, DIRECTORY/nc3z_VERSION_ARCH.deb.
# The package's maintainer is the person who builds it: DEBFULLNAME and DEBEMAIL, as Debian's tools have it.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(realpath "${1:-target/release/nc3z}") out=${2:-target/package}
version=$("$binary" --version | cut -d' ' -f2)
machine=$(uname -m)
root=$out/root doc=$out/root/usr/share/doc/nc3z
rm -rf "$root"
mkdir -p "$root/usr/bin" "$root/usr/share/man/man1" "$doc" "$root/usr/share/bash-completion/completions" \
    "$root/usr/sbin" "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d" "$root/usr/share/mime/packages"
install -m 755 "$binary" "$root/usr/bin/nc3z"
# Symbols and debugging information are not for users.
if command -v strip >/dev/null; then strip "$root/usr/bin/nc3z"; else echo "note: strip is missing: the binary is packed as it is" >&2; fi
# netCDF-C's plug-in, where it was built: `nc3z netcdf-plugin install` finds it there.
for folder in "$(dirname "$binary")" "$(dirname "$binary")/deps"; do
    if [ -e "$folder/libnc3z_netcdf_plugin.so" ]; then
        install -D -m 644 "$folder/libnc3z_netcdf_plugin.so" "$root/usr/lib/nc3z/libnc3z_netcdf_plugin.so"
        if command -v strip >/dev/null; then strip "$root/usr/lib/nc3z/libnc3z_netcdf_plugin.so"; fi
        break
    fi
done
[ -e "$root/usr/lib/nc3z" ] || echo "note: libnc3z_netcdf_plugin.so is not beside the binary: the package is without netCDF-C's plug-in" >&2
# The C library, where it was built.
for folder in "$(dirname "$binary")" "$(dirname "$binary")/deps"; do
    if [ -e "$folder/libnc3z.so" ]; then
        DESTDIR=$root scripts/install-c-library.sh /usr "$folder" >/dev/null
        # A program that links statically needs a library built for it.
        rm -f "$root/usr/lib/libnc3z.a"
        if command -v strip >/dev/null; then strip "$root"/usr/lib/libnc3z.so.*.*; fi
        chmod 644 "$root"/usr/lib/libnc3z.so.*.*
        break
    fi
done
[ -e "$root/usr/include/nc3z.h" ] || echo "note: libnc3z.so is not beside the binary: the package is without the C library" >&2
# mount(8) looks for it in /sbin, which is this directory.
install -m 755 packaging/mount.fuse.nc3z "$root/usr/sbin/mount.fuse.nc3z"
"$binary" man -o "$root/usr/share/man/man1"
gzip -9n "$root"/usr/share/man/man1/*.1
if [ -e "$root/usr/share/man/man1/nc3z-mount.1.gz" ]; then
    mkdir -p "$root/usr/share/man/man8"
    echo '.so man1/nc3z-mount.1' | gzip -9n >"$root/usr/share/man/man8/mount.fuse.nc3z.8.gz"
fi
"$binary" completions bash > "$root/usr/share/bash-completion/completions/nc3z"
"$binary" completions zsh > "$root/usr/share/zsh/vendor-completions/_nc3z"
"$binary" completions fish > "$root/usr/share/fish/vendor_completions.d/nc3z.fish"
# Debian's shared-mime-info sees it by a trigger.
cp packaging/identification/nc3z.xml "$root/usr/share/mime/packages/"
# file(1) takes it by `-m`, or from /etc/magic, which belongs to the administrator of the machine.
install -D -m 644 spec/magic "$root/usr/share/nc3z/magic"
cp README.md LICENSE-MIT LICENSE-APACHE libs/nc3z-plot/assets/DejaVuSans-LICENCE.txt "$doc/"
cp LICENSE-MIT "$doc/copyright"
gzip -9nc CHANGELOG.md > "$doc/CHANGELOG.md.gz"
tar -C "$root" --sort=name --owner=0 --group=0 --mtime=@0 -czf "$out/nc3z-$version-$machine.tar.gz" usr
echo "$out/nc3z-$version-$machine.tar.gz"
if command -v dpkg-deb >/dev/null; then
    arch=$(dpkg --print-architecture)
    mkdir -p "$root/DEBIAN"
    size=$(du -sk "$root/usr" | cut -f1)
    # A static binary needs nothing; of another, the libraries that it is linked with, in the versions whose symbols it uses.
    # Without plug-in and C library there is no usr/lib, which is an error to grep.
    newest() { { grep -ahoE "\b$1_[0-9.]+\b" -r "$root/usr/bin/nc3z" "$root/usr/lib" 2>/dev/null || true; } | sort -uV | tail -1 | cut -d_ -f2; }
    depends=
    # `grep -q` would end before ldd has written all of it, which fails by pipefail now and then.
    if [[ $(ldd "$binary" 2>/dev/null || true) == *libc.so* ]]; then
        depends="Depends: libc6 (>= $(newest GLIBC)), libgcc-s1 (>= $(newest GCC))"$'\n'
    fi
    [ -n "${DEBEMAIL:-}" ] || echo "note: DEBFULLNAME and DEBEMAIL are not set: the package has no maintainer who can be reached" >&2
    maintainer="${DEBFULLNAME:-The nc3z maintainers} <${DEBEMAIL:-nc3z@localhost}>"
    # Debian's own form of a changelog, with the release as its only entry.
    printf 'nc3z (%s) stable; urgency=medium\n\n  * This release; its changes are in CHANGELOG.md.gz.\n\n -- %s  %s\n' "$version" "$maintainer" \
        "$(LC_ALL=C date -uR -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}")" | gzip -9nc >"$doc/changelog.gz"
    library=$(cd "$root/usr/lib" 2>/dev/null && ls libnc3z.so.? 2>/dev/null || true)
    if [ -n "$library" ]; then
        echo "activate-noawait ldconfig" >"$root/DEBIAN/triggers"
        echo "libnc3z ${library##*.} nc3z (>= $version)" >"$root/DEBIAN/shlibs"
    fi
    printf 'Package: nc3z\nVersion: %s\nArchitecture: %s\nMaintainer: %s\nSection: science\nPriority: optional\nInstalled-Size: %s\n%sDescription: exact, small, randomly readable archives of classic netCDF files\n A classic netCDF file becomes one archive that gives back the very bytes,\n is small, can be read in part, and carries checksums on everything.\n' \
        "$version" "$arch" "$maintainer" "$size" "$depends" > "$root/DEBIAN/control"
    dpkg-deb --root-owner-group -Zgzip -z6 --build "$root" "$out/nc3z_${version}_$arch.deb" >/dev/null
    rm -rf "$root/DEBIAN"
    echo "$out/nc3z_${version}_$arch.deb"
fi
