#!/usr/bin/env bash
# Makes a release, up to the steps that need an account.
#     scripts/release.sh --dry-run 1.0.0 [DIRECTORY]    from a copy of the last commit, whose version it sets itself
#     scripts/release.sh 1.0.0 [DIRECTORY]              from this tree, whose version and changelog must be those of the release
# DIRECTORY (target/release-VERSION) gets what is published: binaries, packages, wheels, crates, the Java library, the specification, a list of
# SHA-256, and the notes. Runs every step even after a failure and ends with a count; the last lines name the steps that are left to a maintainer
# (docs/releasing.md). A step whose program cannot be had here is SKIPPED, with the reason.
set -uo pipefail
cd "$(dirname "$0")/.."
dry=false
[ "${1:-}" != --dry-run ] || { dry=true; shift; }
version=${1:?"usage: scripts/release.sh [--dry-run] VERSION [DIRECTORY]"}
out=$(realpath -m "${2:-target/release-$version}")
mkdir -p "$out"
if [ "$dry" = true ]; then
    # A copy of the last commit, with the changes that a release commit makes. Its builds share this tree's cache of crates only.
    tree=$(mktemp -d)
    trap 'rm -rf "$tree"' EXIT
    git clone --quiet --shared . "$tree/nc3z" && cd "$tree/nc3z" || exit 1
    python3 scripts/version.py --set "$version" >/dev/null || exit 1
    sed -i -E "s/^## (Unreleased|$version \\(Unreleased\\))$/## $version ($(date -u +%F))/" CHANGELOG.md
    git -c user.name=release -c user.email=release@localhost commit --quiet --all -m "release $version" || exit 1
    export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$tree/target}
fi
target_dir=${CARGO_TARGET_DIR:-$PWD/target}
source scripts/steps.sh
commit_time=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH=$commit_time

versions() { local found; found=$(python3 scripts/version.py) || { echo "$found"; return 1; }; [ "$found" = "$version" ] || { echo "the tree is version $found, not $version"; return 1; }; }
clean() { local changed; changed=$(git status --porcelain); [ -z "$changed" ] || { echo "uncommitted changes: $changed"; return 1; }; }
# Prints the part of the changelog of this version, for the page of the release.
notes() {
    awk -v head="## $version" 'index($0, head) == 1 {on = 1; next} on && /^## / {exit} on' CHANGELOG.md >"$out/notes.md"
    [ "$(wc -w <"$out/notes.md")" -gt 20 ] || { echo "CHANGELOG.md has no section \"## $version (DATE)\""; return 1; }
}
tool() { cargo build --quiet --locked --release -p nc3z-cli -p nc3z-netcdf-plugin -p nc3z-c && "$target_dir/release/nc3z" --version | grep -q "^nc3z $version\b"; }
static() { scripts/static.sh && cp "$target_dir/$(uname -m)-unknown-linux-musl/static/nc3z.stripped" "$out/nc3z-$version-$(uname -m)-linux-musl"; }
# Nothing but the binary and one file: no C library, no certificates, no /proc.
empty_root() {
    local root binary=$out/nc3z-$version-$(uname -m)-linux-musl
    [ -e "$binary" ] || not_run_because "the static binary was not built" || return 77
    [ "$(id -u)" = 0 ] || not_run_because "chroot needs root" || return 77
    root=$(mktemp -d)
    install -m 755 "$binary" "$root/nc3z" && cp testdata/classic/coads_climatology.cdf "$root/a.nc" &&
        chroot "$root" /nc3z archive -q /a.nc -o /a.nc3z && chroot "$root" /nc3z verify -q /a.nc3z --against /a.nc &&
        chroot "$root" /nc3z restore -q /a.nc3z -o /b.nc && cmp "$root/a.nc" "$root/b.nc"
    local code=$?
    rm -rf "$root"
    return $code
}
# The crate nc3z promises its interface. Without a release before this one there is nothing to compare it with.
semver() {
    local before
    before=$(git tag --list 'v[1-9]*' --sort=-v:refname | grep -vx "v$version" | head -1)
    [ -n "$before" ] || not_run_because "no release before this one" || return 77
    cargo semver-checks --version >/dev/null 2>&1 || not_run_because "no cargo-semver-checks (cargo install cargo-semver-checks)" || return 77
    cargo semver-checks --package nc3z --baseline-rev "$before"
}
packages() { scripts/package.sh "$target_dir/release/nc3z" "$out/package" && mv "$out"/package/*.deb "$out"/package/*.tar.gz "$out/" && rm -rf "$out/package"; }
wheel() { scripts/wheel.sh "$(rustc --print host-tuple)" "$out"; }
# The wheel in an environment that has nothing else, without the network but for NumPy.
wheel_works() {
    local folder
    folder=$(mktemp -d)
    python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$out"/nc3z-"$version"-*.whl || return 1
    "$folder/venv/bin/nc3z" archive -q testdata/classic/coads_climatology.cdf -o "$folder/a.nc3z" &&
        "$folder/venv/bin/python" - "$folder/a.nc3z" "$version" <<'PY'
import sys

import nc3z

assert nc3z.__version__ == sys.argv[2], nc3z.__version__
with nc3z.open(sys.argv[1]) as archive:
    print(f"{len(archive.variables)} variables read by the wheel")
PY
    local code=$?
    rm -rf "$folder"
    return $code
}
# Both on a machine with neither compiler nor network.
bare() {
    local binary=$out/nc3z-$version-$(uname -m)-linux-musl wheels=("$out"/nc3z-"$version"-*.whl)
    [ -e "$binary" ] && [ -e "${wheels[0]}" ] || not_run_because "the static binary or the wheel was not built" || return 77
    scripts/bare.sh "$binary" "${wheels[0]}"
}
# With NC3Z_VERIFY_CRATES=1, each crate is built from what its package holds: half an hour.
crates() {
    local verify=(--no-verify)
    [ -z "${NC3Z_VERIFY_CRATES:-}" ] || verify=()
    cargo package --quiet --locked --workspace --exclude nc3z-python --exclude public-api-list "${verify[@]}" && cp "$target_dir"/package/*.crate "$out/"
}
java_library() {
    command -v mvn >/dev/null || { not_run_because "no mvn"; return; }
    mvn --quiet --offline -f faces/java/pom.xml package -DskipTests && cp faces/java/target/nc3z-java-"$version".jar "$out/"
}
# One page of HTML and one PDF, and their SHA-256 at the end of the notes.
specification() {
    local sums
    sums=$(NC3Z=$target_dir/release/nc3z scripts/spec_pdf.sh "$out") || return 1
    printf '\nThe specification, SHA-256:\n\n```\n%s\n```\n' "$sums" >>"$out/notes.md"
    echo "$sums"
}
# Archives of every earlier version give back the bytes that they were made of.
old_archives() {
    local list count=0 archive sha lost
    for list in testdata/archives/*/*.nc3z.sha256; do
        archive=${list%.sha256}
        read -r sha _ <"$list"
        # One archive was repaired with a loss; its digest is of the file with fill values.
        lost=()
        [[ $archive != *.lost.nc3z ]] || lost=(--fill-lost)
        [ "$("$target_dir/release/nc3z" restore -q "${lost[@]}" "$archive" -o - 2>/dev/null | sha256sum | cut -d' ' -f1)" = "$sha" ] || { echo "$archive: wrong bytes"; return 1; }
        count=$((count + 1))
    done
    echo "$count archives restored"
    [ "$count" -gt 0 ]
}
# The binary of a release can be made again by others: the same bytes from another folder.
twice() {
    [ -n "${NC3Z_TWICE:-}" ] || { not_run_because "NC3Z_TWICE=1 builds the static binary a second time in another folder"; return; }
    local other; other=$(mktemp -d)
    git clone --quiet --shared . "$other/elsewhere" && (cd "$other/elsewhere" && env -u CARGO_TARGET_DIR scripts/static.sh) &&
        cmp "$other/elsewhere/target/$(uname -m)-unknown-linux-musl/static/nc3z.stripped" "$out/nc3z-$version-$(uname -m)-linux-musl"
    local code=$?
    rm -rf "$other"
    return $code
}
# What the installer fetches, as the workflow packs it, and the installer itself, tried with these files.
installer() {
    local name folder binary=$out/nc3z-$version-$(uname -m)-linux-musl
    [ -e "$binary" ] || not_run_because "the static binary was not built" || return 77
    name=nc3z-$version-$(uname -m)-unknown-linux-musl
    folder=$(mktemp -d)
    mkdir "$folder/$name" && install -m 755 "$binary" "$folder/$name/nc3z" && cp README.md LICENSE-* "$folder/$name/" && tar -C "$folder" -czf "$out/$name.tar.gz" "$name" &&
        cp packaging/install/install.* "$out/" && (cd "$out" && sha256sum "$name.tar.gz" >"$folder/SHA256SUMS") && cp "$out/$name.tar.gz" "$folder/" &&
        NC3Z_RELEASE=file://$folder NC3Z_BIN=$folder/bin sh packaging/install/install.sh | grep -x "nc3z $version.*" >/dev/null
    local code=$?
    rm -rf "$folder"
    return $code
}
sums() { (cd "$out" && rm -f SHA256SUMS && find . -maxdepth 1 -type f ! -name SHA256SUMS ! -name notes.md -printf '%f\n' | sort | xargs sha256sum >SHA256SUMS && cat SHA256SUMS); }

step "one version everywhere" versions
step "nothing uncommitted" clean
step "notes from the changelog" notes
step "tool, plug-in and C library" tool
step "archives of earlier versions" old_archives
step "interface of the crate nc3z" semver
step "Debian package, tarball" packages
step "static binary" static
step "static binary in an empty root" empty_root
step "the same binary from another folder" twice
step "installer" installer
step "wheel" wheel
step "wheel in a clean environment" wheel_works
step "static binary and wheel on a bare Debian" bare
step "crates" crates
step "Java library" java_library
step "bill of materials" scripts/bill.sh "$out/nc3z-$version.cdx.json"
step "specification" specification
step "SHA-256 of all files" sums
close
code=$?
cat <<END

In $out: everything that can be made without an account. Left to a maintainer, in this order (docs/releasing.md):
  1. tag        git tag -s v$version && git push origin v$version     (starts .github/workflows/release.yml: the other systems, attestations)
  2. crates     cargo publish --workspace                             (needs a token of the Rust registry)
  3. wheels     twine upload nc3z-$version-*.whl                      (needs a token of PyPI; the workflow does it by trusted publishing)
  4. Java       mvn -P release deploy                                 (needs an account of Maven Central, and a key)
  5. recipes    conda-forge, Homebrew, Spack, EasyBuild: one pull request each, with the SHA-256 above
END
exit $code
