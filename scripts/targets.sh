#!/usr/bin/env bash
# Compiles for targets that are not this machine's: wasm32 (a browser), i686 (32 bits), Windows and macOS; with --test also runs the tests
# of the pure crates as 32-bit programs. docs/testing.md says where the compilers come from, and what is not checked.
# A target whose toolchain is not here is named; where none is, the script ends with 77, not run.
set -euo pipefail
cd "$(dirname "$0")/.."
wasm=wasm32-unknown-unknown small=i686-unknown-linux-gnu
run=check
[ "${1:-}" != --test ] || run=test

# Which compiler knows a target: a standard library that rustup installed, or Debian's compiler and the library's source,
# from which cargo builds the library. RUSTC_BOOTSTRAP lets a stable cargo do so.
build_std=()
toolchain() {
    build_std=()
    unset RUSTC RUSTC_BOOTSTRAP
    if rustup target list --installed 2>/dev/null | grep -qx "$1"; then return 0; fi
    [ -x /usr/bin/rustc ] && [ -d "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library" ] || return 1
    # Older than the workspace's rust-version: no use.
    [ "$(printf '%s\n' "$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)" "$(/usr/bin/rustc --version | cut -d' ' -f2)" \
        | sort -V | head -1)" = "$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)" ] || return 1
    export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
    build_std=("-Zbuild-std=$2")
}

ran=0
if toolchain "$wasm" std,panic_abort; then
    for package in nc3z-num nc3z-format nc3z-reader; do
        # What has C in it needs a C compiler for wasm: only what is built without is checked.
        [ -d "$package" ] || continue
        if ! cargo tree -p "$package" --no-default-features --target "$wasm" -e normal --prefix none 2>/dev/null | grep -q -- '-sys '; then
            # With the codecs that are written in Rust.
            case $package in
                nc3z-num) features=ruzstd ;;
                nc3z-format) features=bitshuffle,lz4,lzma-rs,ruzstd,zlib ;;
                *) features=lzma-rs,ruzstd ;;
            esac
            echo "$wasm: $package without default features, with $features"
            cargo check -p "$package" --no-default-features --features "$features" --target "$wasm" --target-dir target/other --quiet "${build_std[@]}"
            ran=1
        else
            echo "NOT CHECKED for $wasm: $package, which needs C libraries without its default features too"
        fi
    done
else
    echo "NOT CHECKED for $wasm: no toolchain"
fi
if toolchain "$small" std,panic_unwind,proc_macro,test && printf '#include <stdio.h>\nint main(void){return 0;}' | cc -m32 -xc - -o /dev/null 2>/dev/null; then
    packages=(-p nc3z-format)
    [ ! -d nc3z-num ] || packages+=(-p nc3z-num)
    if [ "$run" = test ]; then
        echo "$small: tests of ${packages[*]}"
        cargo test "${packages[@]}" --lib --target "$small" --target-dir target/other --quiet "${build_std[@]}"
    else
        echo "$small: the workspace"
        cargo check --workspace --exclude nc3z-python --exclude public-api-list --exclude nc3z-remote --target "$small" --target-dir target/other --quiet "${build_std[@]}"
    fi
    ran=1
else
    echo "NOT CHECKED for $small: no toolchain, or a C compiler without -m32 (Debian: rustc-web, rust-web-src, gcc-multilib)"
fi

# The tool for other systems. Without URLs, whose library of cryptography wants a linker's headers of each, and without pictures.
# Of the C libraries only objects are made: Debian's gcc-mingw-w64-x86-64 does for Windows, zig (PyPI: ziglang) for macOS.
other_system() {
    echo "$1: nc3z-cli without URLs and pictures"
    cargo check -p nc3z-cli --no-default-features --target "$1" --target-dir target/other --quiet "${build_std[@]}"
    ran=1
}
windows=x86_64-pc-windows-gnu macos=aarch64-apple-darwin
if ! toolchain "$windows" std,panic_abort; then
    echo "NOT CHECKED for $windows: no toolchain"
elif ! command -v x86_64-w64-mingw32-gcc >/dev/null; then
    echo "NOT CHECKED for $windows: no C compiler (Debian: gcc-mingw-w64-x86-64)"
else
    other_system "$windows"
fi
python=python3
[ ! -x .venv/bin/python ] || python=$PWD/.venv/bin/python
if ! toolchain "$macos" std,panic_abort; then
    echo "NOT CHECKED for $macos: no toolchain"
elif [ "$(uname -s)" != Darwin ] && ! "$python" -c 'import ziglang' 2>/dev/null; then
    echo "NOT CHECKED for $macos: no C compiler (PyPI: ziglang)"
elif [ "$(uname -s)" = Darwin ]; then
    other_system "$macos"
else
    # zig takes the target by its own name, and not the options of Apple's compiler.
    mkdir -p target/other/zig
    cat > target/other/zig/cc <<END
#!/usr/bin/env bash
options=() skip=
for option in "\$@"; do
    if [ -n "\$skip" ]; then skip=; continue; fi
    case \$option in --target=* | -mmacosx-version-min=*) ;; -arch | -isysroot) skip=1 ;; *) options+=("\$option") ;; esac
done
exec "$python" -m ziglang cc -target aarch64-macos "\${options[@]}"
END
    printf '#!/bin/sh\nexec "%s" -m ziglang ar "$@"\n' "$python" > target/other/zig/ar
    chmod +x target/other/zig/cc target/other/zig/ar
    export CC_aarch64_apple_darwin=$PWD/target/other/zig/cc AR_aarch64_apple_darwin=$PWD/target/other/zig/ar SDKROOT=$PWD/target/other/zig
    other_system "$macos"
fi
[ "$ran" = 1 ] || exit 77
