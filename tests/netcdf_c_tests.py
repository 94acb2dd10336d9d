"""netcdf-c's own nc_test, its reading half, over archives that the plug-in opens.

    NC3Z=target/release/nc3z .venv/bin/python tests/netcdf_c_tests.py SOURCE OF NETCDF-C

SOURCE is a checkout of https://github.com/Unidata/netcdf-c; it is not part of this project. Its tests are compiled against the netCDF library of
the Python package netCDF4, and run twice: over the files that they write, and over archives of these files under the same names. Writing tests
are left out. Needs m4 and a C compiler. Exit code 1 where a check fails over the archives that passes over the files.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from common import NC3Z  # noqa: E402
from netcdf_oracle import library  # noqa: E402

CONFIG = """
#define NETCDF_ENABLE_CDF5 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_USHORT 1
#define HAVE_UINT 1
#define HAVE_INT64 1
#define HAVE_UINT64 1
#define ERANGE_FILL 1
typedef unsigned char uchar;
typedef long long longlong;
typedef unsigned long long ulonglong;
"""


def build(source, folder):
    tests = source / "nc_test"
    for name in ("util.c", "error.c", "error.h", "tests.h"):
        shutil.copy(tests / name, folder)
    for name in ("test_get", "test_put", "test_read", "test_write"):
        with open(folder / f"{name}.c", "wb") as out:
            subprocess.run(["m4", "-DERANGE_FILL", tests / f"{name}.m4"], stdout=out, check=True)
    text = (tests / "nc_test.c").read_text("utf-8")
    # Between the test file and the tests, the file becomes an archive; the tests that write are left out.
    text = text.replace("write_file(testfile);", 'write_file(testfile);\n { char c[600]; snprintf(c, sizeof c, "%s %s", getenv("CONVERT"), testfile); if (system(c)) return 3; }', 1)
    begin, end = text.index("/* Test write functions */"), text.index("NC_TEST(nc_set_default_format);")
    text = text[:begin] + text[end + len("NC_TEST(nc_set_default_format);"):]
    (folder / "nc_test.c").write_text(text)
    (folder / "config.h").write_text(CONFIG)
    (folder / "netcdf_meta.h").write_text(re.sub(r"@\w+@", "0", (source / "include/netcdf_meta.h.in").read_text("utf-8")))
    names = ["nc_test", "util", "error", "test_get", "test_put", "test_read", "test_write"]
    lib = library()
    command = ["cc", "-w", "-O1", "-I.", f"-I{source / 'include'}", *(f"{name}.c" for name in names), lib, f"-Wl,-rpath,{os.path.dirname(lib)}",
               f"-Wl,-rpath-link,{os.path.dirname(lib)}", "-lm", "-o", "nc_test"]
    subprocess.run(command, cwd=folder, check=True)


def run(folder, convert, env):
    done = subprocess.run([folder / "nc_test"], cwd=folder, env=dict(env, CONVERT=convert), capture_output=True, text=True)
    found = re.findall(r"\*\*\* testing (\w+) \.\.\. (.*?)(?=\*\*\* testing|Switching|\*\*\* Total|\Z)", done.stdout + done.stderr, re.S)
    passed, failed = [], []
    for name, words in found:
        (failed if "FAILURE" in words else passed).append((name, words))
    if not found:
        sys.exit(f"nc_test said nothing: {done.stdout[-2000:]} {done.stderr[-2000:]}")
    return passed, failed


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="nc3z-nc-test-") as work:
        folder = pathlib.Path(work)
        build(source, folder)
        env = {k: v for k, v in os.environ.items() if not k.startswith("NCRCENV")} | {"HOME": work}
        script = folder / "convert"
        script.write_text(f'#!/bin/sh\n{NC3Z} archive --quiet --force "$1" -o "$1.nc3z" && mv "$1.nc3z" "$1"\n')
        script.chmod(0o755)
        control = run(folder, "true", env)
        subprocess.run([NC3Z, "netcdf-plugin", "install"], env=env, check=True, stdout=subprocess.DEVNULL)
        over = run(folder, str(script), env)
        kinds = {path.name: path.read_bytes()[1:5] for path in folder.glob("nc_test_*.nc")}
    if len(kinds) < 3 or set(kinds.values()) != {b"NC3Z"}:
        sys.exit(f"these were to be archives: {kinds}")
    for title, (passed, failed) in (("files", control), ("archives", over)):
        print(f"over {title}: {len(passed)} tests passed, {len(failed)} failed")
        for name, words in failed:
            print(f"    {name}: {' '.join(words.split())[:400]}")
    # A test that fails over the library's own files says nothing of the plug-in.
    worse = {name for name, _ in over[1]} - {name for name, _ in control[1]}
    return 1 if worse or len(over[0]) < len(control[0]) else 0


if __name__ == "__main__":
    sys.exit(main())
