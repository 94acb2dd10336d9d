#!/bin/sh
# Installs the tool nc3z of a release, for this user:
#     curl --proto '=https' --tlsv1.2 -LsSf https://github.com/nc3z/nc3z/releases/latest/download/install.sh | sh
# NC3Z_BIN is the directory of the program (default: ~/.local/bin), NC3Z_RELEASE the address that the files are fetched from.
set -eu
version=0.1.0
release=${NC3Z_RELEASE:-https://github.com/nc3z/nc3z/releases/download/v$version}
bin=${NC3Z_BIN:-$HOME/.local/bin}

fail() { echo "install.sh: $*" >&2; exit 1; }
case $(uname -s)-$(uname -m) in
    Linux-x86_64) target=x86_64-unknown-linux-musl ;;
    Linux-aarch64) target=aarch64-unknown-linux-musl ;;
    Darwin-x86_64) target=x86_64-apple-darwin ;;
    Darwin-arm64) target=aarch64-apple-darwin ;;
    *) fail "no binary for $(uname -s) on $(uname -m); build it: cargo install --locked nc3z-cli" ;;
esac
if command -v sha256sum >/dev/null; then sum="sha256sum"
elif command -v shasum >/dev/null; then sum="shasum -a 256"
else fail "neither sha256sum nor shasum is installed: the file cannot be checked"
fi
command -v curl >/dev/null || fail "curl is not installed"
name=nc3z-$version-$target
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in "$name.tar.gz" SHA256SUMS; do
    curl -LsSf "$release/$file" -o "$work/$file" || fail "cannot fetch $release/$file"
done
expected=$(awk -v file="$name.tar.gz" '$2 == file || $2 == "*" file {print $1}' "$work/SHA256SUMS")
found=$(cd "$work" && $sum "$name.tar.gz" | cut -d' ' -f1)
[ "$expected" = "$found" ] || fail "$name.tar.gz has SHA-256 $found, expected ${expected:-a line in SHA256SUMS}; nothing was installed"
tar -xzf "$work/$name.tar.gz" -C "$work"
mkdir -p "$bin"
# In place of a program that may be running: the new file is renamed over it.
cp "$work/$name/nc3z" "$bin/.nc3z.new"
chmod 755 "$bin/.nc3z.new"
mv "$bin/.nc3z.new" "$bin/nc3z"
"$bin/nc3z" --version
case :$PATH: in
    *":$bin:"*) ;;
    *) echo "$bin is not in PATH; add it: export PATH=\"$bin:\$PATH\"" ;;
esac
