#!/usr/bin/env bash
# Builds the documentation as a site, target/site: every page of the repository at its own path, so that links between pages are the
# same in both. A page that is not in the navigation, and a link that leads nowhere, are errors.
#     scripts/site.sh --reader [OPTIONS OF web.sh]    with the page that reads archives in the browser (docs/browser.md), and two to read.
#                                                     NC3Z is the tool that makes them; the default is the tests' one
set -euo pipefail
cd "$(dirname "$0")/.."
if ! .venv/bin/python -c 'import mkdocs, material' 2>/dev/null; then
    echo "NOT RUN: .venv lacks mkdocs-material; bash scripts/setup.sh installs it"
    exit 77
fi
pages=target/site-pages
rm -rf "$pages"
mkdir -p "$pages"
cp README.md "$pages/index.md"
cp CHANGELOG.md CODE_OF_CONDUCT.md CONTRIBUTING.md GOVERNANCE.md SECURITY.md "$pages/"
for folder in docs spec packaging faces testdata; do
    find "$folder" -name '*.md' -not -path '*/node_modules/*' -not -path '*/target/*' -print0
    [ "$folder" != docs ] || find docs \( -name '*.svg' -o -name '*.png' \) -print0
done | while IFS= read -r -d '' page; do
    mkdir -p "$pages/$(dirname "$page")"
    cp "$page" "$pages/$page"
done
if [ "${1:-}" = --reader ]; then
    mkdir -p "$pages/reader"
    for file in coads_climatology.cdf etopo120.cdf; do
        "${NC3Z:-target/debug/nc3z}" archive -q "testdata/classic/$file" -o "$pages/reader/$file.nc3z"
    done
    scripts/web.sh -o "$pages/reader" "${@:2}"
fi
# Its own --quiet would keep it from counting the warnings that --strict takes for errors.
.venv/bin/python -m mkdocs build --strict >target/site.log 2>&1 || { cat target/site.log; exit 1; }
echo "target/site: $(find target/site -name '*.html' | wc -l) pages"
