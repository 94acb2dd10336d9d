"""netCDF4-python's own tests, with every classic file that they open for reading turned into an archive first.

    NC3Z=target/release/nc3z .venv/bin/python tests/netcdf4_python_tests.py SOURCE OF NETCDF4-PYTHON

SOURCE is a checkout of https://github.com/Unidata/netcdf4-python; it is not part of this project. Its tests run twice: as they are, and with archives.
Exit code 1 where a test fails with archives that passes without. test_cdf5.py is left out: its file has gigabytes.
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

CONFTEST = r"""
import netCDF4, os, subprocess
opened = netCDF4.Dataset
archived = []

class Dataset(opened):
    def __init__(self, filename, mode="r", **options):
        path = filename if isinstance(filename, (str, os.PathLike)) and os.path.isfile(filename) else None
        if os.environ.get("ARCHIVE") and mode in ("r", "rs") and path and options.get("memory") is None and open(path, "rb").read(3) == b"CDF":
            subprocess.run([os.environ["NC3Z"], "archive", "--quiet", "--force", path, "-o", f"{path}.nc3z"], check=True)
            os.replace(f"{path}.nc3z", path)
            archived.append(path)
        super().__init__(filename, mode, **options)

netCDF4.Dataset = Dataset

def pytest_sessionfinish(session):
    print("\narchived and read:", len(archived))
"""


def run(source, folder, env, *before):
    shutil.copytree(source / "test", folder)
    (folder / "conftest.py").write_text(CONFTEST)
    command = [*before, sys.executable, "-m", "pytest", "-q", "-s", "-rA", "-p", "no:cacheprovider", "--deselect", "test_cdf5.py", "."]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    results = {name: verdict for verdict, name in re.findall(r"^(PASSED|FAILED|ERROR) (\S+)", done.stdout, re.M)}
    archived = re.search(r"archived and read: (\d+)", done.stdout)
    if not results or not archived:
        sys.exit(done.stdout[-3000:] + done.stderr[-1000:])
    return results, int(archived.group(1))


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="nc3z-netcdf4-python-") as work:
        work = pathlib.Path(work)
        env = {k: v for k, v in os.environ.items() if not k.startswith("NCRCENV")} | {"HOME": str(work), "NC3Z": NC3Z, "NO_NET": "1"}
        plain, _ = run(source, work / "plain", env)
        subprocess.run([NC3Z, "netcdf-plugin", "install"], env=env, check=True, stdout=subprocess.DEVNULL)
        # By preload too, for the system's ncdump, which one of the tests starts.
        found, archived = run(source, work / "archived", env | {"ARCHIVE": "1"}, NC3Z, "netcdf-plugin", "run", "--")
    worse = sorted(name for name, verdict in plain.items() if verdict == "PASSED" and found.get(name) != "PASSED")
    for title, results in (("files", plain), ("archives", found)):
        failed = sorted(name for name, verdict in results.items() if verdict != "PASSED")
        print(f"with {title}: {len(results) - len(failed)} passed, {len(failed)} failed {failed}")
    print(f"{archived} files became archives; worse with them: {worse}")
    return 1 if worse or archived == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
