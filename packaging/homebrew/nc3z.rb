# Builds nc3z from the tree that this file lies in: brew install --HEAD ./packaging/homebrew/nc3z.rb
class Nc3z < Formula
  desc "Exact, small, randomly readable archives of classic netCDF files"
  head "file://#{File.expand_path("../..", __dir__)}", using: :git, branch: "main"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "nc3z-cli")
    # The C library, and the netCDF plug-in where `nc3z` looks for it.
    system "cargo", "build", "--locked", "--release", "--target-dir=build-libraries", "-p", "nc3z-c", "-p", "nc3z-netcdf-plugin"
    system "bash", "scripts/install-c-library.sh", prefix.to_s, "build-libraries/release"
    system "bash", "scripts/install-netcdf-plugin.sh", prefix.to_s, "build-libraries/release"
    system bin/"nc3z", "man", "-o", man1
    generate_completions_from_executable(bin/"nc3z", "completions", shells: [:bash, :zsh, :fish])
    pkgshare.install "testdata/classic/numeric.nc"
  end

  test do
    system bin/"nc3z", "archive", pkgshare/"numeric.nc", "-o", "x.nc3z"
    system bin/"nc3z", "verify", "x.nc3z", "--against", pkgshare/"numeric.nc"
    ENV["NCRCENV_HOME"] = Dir.pwd
    system bin/"nc3z", "netcdf-plugin", "install"
  end
end
