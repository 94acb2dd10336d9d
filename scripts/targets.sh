#!/usr/bin/env bash
# Compiles for targets that are not this machine's: wasm32 (a browser), i686 (32 bits), Windows and macOS, and by the oldest compiler that
# Cargo.toml names. With --test runs tests instead: of the libraries as 32-bit programs, and of the codec and the format as big-endian ones.
# docs/testing.md says where the compilers come from, and what is not checked. A target whose toolchain cannot be had is named; where none can
# be, the script ends with 77, not run.
set -euo pipefail
cd "$(dirname "$0")/.."
wasm=wasm32-unknown-unknown small=i686-unknown-linux-gnu big_endian=s390x-unknown-linux-gnu
run=${1:-check}
source scripts/toolchain.sh
links_32_bits() { printf '#include <stdio.h>\nint main(void){return 0;}' | cc -m32 -xc - -o /dev/null 2>/dev/null; }

ran=0
wasm_packages=(nc3z-num nc3z-format nc3z-reader nc3z-web)
if [ "$run" = --test ]; then
    echo "NOT RUN for $wasm: nothing here runs it"
elif toolchain "$wasm" std,panic_abort; then
    # Crates with C code need a C compiler for wasm: without it, the build with codecs in Rust is checked.
    for package in "${wasm_packages[@]}"; do
        case $package in
            nc3z-num) features=ruzstd ;;
            nc3z-format) features=bitshuffle,lz4,lzma-rs,ruzstd,zlib ;;
            nc3z-web) features=pure ;;
            *) features=lzma-rs,ruzstd ;;
        esac
        echo "$wasm: $package without default features, with $features"
        cargo check -p "$package" --no-default-features --features "$features" --target "$wasm" "${other[@]}" "${build_std[@]}"
        ran=1
    done
else
    echo "NOT CHECKED for $wasm: no toolchain"
fi
if toolchain "$small" std,panic_unwind,proc_macro,test && links_32_bits; then
    case $run in
        --test)
            libraries=(-p nc3z-num -p nc3z-format -p nc3z-reader -p nc3z-writer -p nc3z-staged -p nc3z-collections -p nc3z-look -p nc3z-plot -p nc3z-zarr -p nc3z-cite -p nc3z -p nc3z-filters)
            echo "$small: tests of ${libraries[*]}"
            cargo test "${libraries[@]}" --tests --target "$small" "${other[@]}" "${build_std[@]}"
            ;;
        *)
            echo "$small: the workspace"
            cargo check --workspace --exclude nc3z-python --exclude public-api-list --exclude nc3z-remote --target "$small" "${other[@]}" "${build_std[@]}"
            ;;
    esac
    ran=1
else
    echo "NOT CHECKED for $small: no toolchain, or a C compiler without -m32 (Debian: gcc-multilib; rustc-web and rust-web-src where rustup has no library)"
fi
if [ "$run" = --test ]; then
    if command -v qemu-s390x >/dev/null && command -v s390x-linux-gnu-gcc >/dev/null && toolchain "$big_endian" std,panic_unwind,proc_macro,test; then
        echo "$big_endian, by qemu: tests of nc3z-num and nc3z-format"
        CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER=s390x-linux-gnu-gcc CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER="qemu-s390x -L /usr/s390x-linux-gnu" \
            CC_s390x_unknown_linux_gnu=s390x-linux-gnu-gcc AR_s390x_unknown_linux_gnu=s390x-linux-gnu-ar \
            cargo test -p nc3z-num -p nc3z-format --tests --target "$big_endian" "${other[@]}" "${build_std[@]}"
        ran=1
    else
        echo "NOT RUN for $big_endian: no toolchain, or none of qemu-user, gcc-s390x-linux-gnu, libc6-dev-s390x-cross (Debian)"
    fi
fi
if [ "$run" != check ]; then
    [ "$ran" = 1 ] || exit 77
    exit 0
fi

unset RUSTC RUSTC_BOOTSTRAP
if [ "$(rustc +"$oldest" --version 2>/dev/null | cut -d' ' -f2)" != "" ] || timeout 300 rustup toolchain install "$oldest" --profile minimal 2>/dev/null; then
    echo "Rust $oldest, the oldest that Cargo.toml allows: the workspace"
    cargo +"$oldest" check --workspace --exclude public-api-list --locked --target-dir target/other --quiet
    ran=1
else
    echo "NOT CHECKED by Rust $oldest: rustup does not have it"
fi

# The tool for other systems. Without URLs, whose library of cryptography needs headers of each system, and without pictures.
# Of the C libraries only objects are made: Debian's gcc-mingw-w64-x86-64 does for Windows, zig (PyPI: ziglang) for macOS.
other_system() {
    echo "$1: nc3z-cli without URLs and pictures"
    cargo check -p nc3z-cli --no-default-features --target "$1" "${other[@]}" "${build_std[@]}"
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
