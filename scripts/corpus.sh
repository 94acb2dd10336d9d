#!/usr/bin/env bash
# The test files for decoders, as one reproducible tar: OUT [nc3z-test-files-1.0.tar]. With --make the files are made anew first, by the tool that NC3Z names.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
[ -x "$python" ] || python=python3
if [ "${1:-}" = --make ]; then
    shift
    "$python" scripts/corpus.py MAKE
fi
"$python" scripts/corpus.py TAR "${1:-nc3z-test-files-1.0.tar}"
