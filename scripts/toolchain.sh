# Sourced by scripts that build for a target other than this machine's.
#
# toolchain TARGET CRATES finds a compiler for TARGET: rustup's, whose library is installed or can be fetched, or else Debian's, for which cargo
# builds CRATES of the standard library from source (packages rustc-web and rust-web-src). Call cargo with "${other[@]}" and "${build_std[@]}" afterwards.
# Returns 1 where there is neither.
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
build_std=() other=(--quiet)
toolchain() {
    build_std=() other=(--quiet)
    # Programs that run at build time are the workspace's own, and are already compiled.
    unset RUSTC RUSTC_BOOTSTRAP RUSTC_WORKSPACE_WRAPPER
    if rustup target list --installed 2>/dev/null | grep -qx "$1" || timeout 30 rustup target add "$1" 2>/dev/null; then return 0; fi
    [ -x /usr/bin/rustc ] && [ -d "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library" ] || return 1
    # A compiler older than rust-version cannot build the workspace.
    [ "$(printf '%s\n' "$oldest" "$(/usr/bin/rustc --version | cut -d' ' -f2)" | sort -V | head -1)" = "$oldest" ] || return 1
    # RUSTC_BOOTSTRAP lets a stable cargo build the standard library.
    export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
    # Files that another compiler made are kept apart.
    other=(--target-dir "${CARGO_TARGET_DIR:-target}/other" --quiet)
    build_std=("-Zbuild-std=$2")
}
