#!/usr/bin/env bash
# The specification as nc3z-spec-VERSION.html and .pdf in a directory [.], with their SHA-256 for the release notes. The program named by NC3Z
# writes the HTML; WeasyPrint, installed from PyPI into target/weasyprint, makes the PDF of it, the same bytes for the same text. It needs Pango.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-.}
python=target/weasyprint/bin/python
"$python" -c 'import weasyprint' 2>/dev/null || { python3 -m venv target/weasyprint && "$python" -m pip install --quiet --disable-pip-version-check weasyprint==70.0; }
version=$(sed -n 's/^| Format version | \([0-9.]*\).*/\1/p' spec/README.md)
date=$(sed -n 's/^| Date | \([0-9-]*\) |$/\1/p' spec/README.md)
"${NC3Z:-target/release/nc3z}" spec --html >"$out/nc3z-spec-$version.html"
SOURCE_DATE_EPOCH=$(date -u -d "$date" +%s) "$python" -m weasyprint --quiet "$out/nc3z-spec-$version.html" "$out/nc3z-spec-$version.pdf"
(cd "$out" && sha256sum "nc3z-spec-$version.html" "nc3z-spec-$version.pdf")
