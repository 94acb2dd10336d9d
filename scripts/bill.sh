#!/usr/bin/env bash
# Writes the bill of materials (CycloneDX 1.5) of the static binary: all crates that are compiled into it. Needs cargo-cyclonedx.
#     scripts/bill.sh FILE.cdx.json
# Members of the workspace are named by their place in it, not by this machine's directories. With SOURCE_DATE_EPOCH, two runs write the same bytes.
set -euo pipefail
out=$(realpath -m "${1:?"usage: scripts/bill.sh FILE.cdx.json"}")
cd "$(dirname "$0")/.."
cargo cyclonedx --version >/dev/null 2>&1 || { echo "NOT RUN: no cargo-cyclonedx (cargo install cargo-cyclonedx)"; exit 77; }
# It writes a file of this name beside each member of the workspace.
name=bill-of-materials
trap 'find . -name "$name.json" -not -path "./target/*" -delete' EXIT
(cd nc3z-cli && cargo cyclonedx --quiet --format json --spec-version 1.5 --no-build-deps --no-default-features --features plot,remote \
    --target "$(uname -m)-unknown-linux-musl" --override-filename "$name")
sed "s|path+file://$PWD/||g" "nc3z-cli/$name.json" >"$out"
if grep -q "$PWD" "$out"; then echo "$out names directories of this machine"; exit 1; fi
echo "$out: $(grep -c '"type": "library"' "$out") crates"
