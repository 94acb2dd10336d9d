# nix run ./packaging/nix -- help, nix build ./packaging/nix (with --impure: the tree is two folders up). Untried: Nix was not available where it was written.
{
  description = "Exact, small, randomly readable archives of classic netCDF files";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
      version = (builtins.fromTOML (builtins.readFile ../../Cargo.toml)).workspace.package.version;
    in {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "nc3z";
          inherit version;
          src = ../..;
          cargoLock.lockFile = ../../Cargo.lock;
          cargoBuildFlags = [ "-p" "nc3z-cli" ];
          # The tests need the programs that scripts/setup.sh installs.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            mkdir -p man && $out/bin/nc3z man -o man && installManPage man/*.1
            installShellCompletion --cmd nc3z --bash <($out/bin/nc3z completions bash) \
              --zsh <($out/bin/nc3z completions zsh) --fish <($out/bin/nc3z completions fish)
          '';
        };
      });
    };
}
