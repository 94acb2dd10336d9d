#!/usr/bin/env bash
# Measures the gain of each rule of the planner that is a field of its policy. All classic files of the given directories are archived with all of
# them on, then with each one switched off. Prints a table. The first argument may be --preset fast|default|max, or --rule NAME.
#     scripts/ablate.sh [--preset NAME] [--rule NAME]... DIRECTORY...
set -euo pipefail
cd "$(dirname "$0")/.."
options=()
while [[ "${1:-}" == --* ]]; do options+=("$1" "$2"); shift 2; done
[ $# -gt 0 ] || { sed -n 2,4p "$0" | cut -c3- >&2; exit 2; }
cargo build --release --quiet -p nc3z-writer --features ablation --example ablation
find "$@" -type f -print0 | sort -z | xargs -0 target/release/examples/ablation "${options[@]}"
