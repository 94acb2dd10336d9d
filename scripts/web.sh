#!/usr/bin/env bash
# web.sh -o DIR: makes the page that reads archives in a browser, as files that any web server can send (docs/browser.md). Archives and classic
# files in DIR, at any depth, are listed on the page; run it again when others have come.
# --clang: zstd and LZMA by their C libraries, which decode up to twice as fast, in a module that is a third longer. It needs clang, as a program of this name or in CC.
# --wasm FILE: the module is there already.
set -euo pipefail
usage() { sed -n 's/^# \{0,1\}//; 2,5p' "$0" >&2; exit 2; }
out='' codecs=pure wasm=''
while [ $# -gt 0 ]; do
    case $1 in
        -o) out=${2:-}; shift ;;
        --clang) codecs=codecs ;;
        --wasm) wasm=$(realpath "${2:-}"); shift ;;
        *) usage ;;
    esac
    shift
done
[ -n "$out" ] || usage
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")/.."
target=wasm32-unknown-unknown
if [ -z "$wasm" ]; then
    linker=$(rustc --print sysroot)/lib/rustlib/$(rustc --print host-tuple)/bin/rust-lld
    source scripts/toolchain.sh
    if ! toolchain "$target" std,panic_abort; then
        echo "web.sh: no Rust for $target: rustup target add $target, or as root on Debian: apt-get install rustc-web rust-web-src" >&2
        exit 77
    fi
    folder=${CARGO_TARGET_DIR:-target}
    if [ ${#build_std[@]} != 0 ]; then
        folder+=/other
        [ ! -x "$linker" ] || export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$linker
    fi
    if [ "$codecs" = codecs ]; then
        compiler=${CC:-$(compgen -c clang | grep -x 'clang\(-[0-9]*\)\?' | sort -V | tail -1)}
        [ -n "$compiler" ] || { echo "web.sh: --clang needs clang" >&2; exit 77; }
        export CC_wasm32_unknown_unknown=$compiler AR_wasm32_unknown_unknown=${AR:-llvm-ar${compiler#clang}}
    fi
    # The strings of the module contain no directory of the machine that made it.
    RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$PWD=nc3z --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo" \
        cargo build "${other[@]}" ${build_std[@]+"${build_std[@]}"} --package nc3z-web --features "$codecs" --target "$target" --profile web
    wasm=$folder/$target/web/nc3z_web.wasm
fi
cp "$wasm" "$out/nc3z_web.wasm"
cp faces/web/page/{web,archive,worker,wasm,sources}.js faces/web/page/web.css "$out/"
# Files shared with the server's page.
cp faces/serve/page/{view,data,map,uplot}.js faces/serve/page/{page,uplot}.css faces/serve/page/uplot-LICENCE.txt libs/nc3z-look/assets/coastline.bin "$out/"
python3 - "$out" <<'END'
import json
import pathlib
import re
import sys
import urllib.parse

out = pathlib.Path(sys.argv[1])
view = re.search(r'<section id="file".*</section>\n(?=</main>)', pathlib.Path("faces/serve/page/index.html").read_text(encoding="utf-8"), re.S)
page = pathlib.Path("faces/web/page/index.html").read_text(encoding="utf-8")
(out / "index.html").write_text(page.replace("<!--VIEW-->\n", view.group()), encoding="utf-8")
ends = (".nc3z", ".nc", ".cdf", ".nc3")
files = sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.suffix.lower() in ends and p.is_file())
(out / "files.json").write_text(json.dumps({"files": [urllib.parse.quote(f) for f in files]}, indent=1) + "\n", encoding="utf-8")
END
echo "$out/index.html: $(du -cb "$out"/*.{js,css,wasm,bin,html} | tail -1 | cut -f1) bytes in all, nc3z_web.wasm $(stat -c %s "$out/nc3z_web.wasm")"
