# Spack: copy this file into the folder packages/nc3z of a repository of Spack packages. Untried: Spack was not available.
from spack.package import *


class Nc3z(Package):
    """Exact, small, randomly readable archives of classic netCDF files."""

    # A release adds a version with its SHA-256.
    homepage = "https://github.com/nc3z/nc3z"
    git = "https://github.com/nc3z/nc3z.git"
    license("MIT OR Apache-2.0")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        cargo("install", "--locked", "--no-track", "--root", prefix, "--path", "nc3z-cli")
        cargo("build", "--locked", "--release", "--target-dir", "build-libraries", "-p", "nc3z-c", "-p", "nc3z-netcdf-plugin")
        bash = which("bash", required=True)
        bash("scripts/install-c-library.sh", prefix, "build-libraries/release")
        bash("scripts/install-netcdf-plugin.sh", prefix, "build-libraries/release")
        mkdirp(prefix.share.man.man1)
        Executable(prefix.bin.nc3z)("man", "-o", prefix.share.man.man1)
