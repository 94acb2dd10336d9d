"""The netCDF plug-in: programs that use netCDF-C open archives, by ~/.ncrc or preloaded, and read the same values as from the originals."""

import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

import kinds
from common import NC3Z, NIGHT, ROOT, Case, good_files, missing, nc3z

LIBRARIES = [pathlib.Path(NC3Z).resolve().parent / folder / "libnc3z_netcdf_plugin.so" for folder in (".", "deps")]
LIBRARY = max((path for path in LIBRARIES if path.exists()), key=lambda path: path.stat().st_mtime, default=LIBRARIES[0])
SLICES = int(os.environ.get("NC3Z_SLICES") or (10_000 if NIGHT else 1_500))
SEED = int(os.environ.get("NC3Z_SEED") or 47)


# The library takes "streaming" for a number of records. The plug-in counts them, as the specification of the format has it.
DIFFERENT = {"streaming.nc", "streaming_partial.nc"}

#: Opens a name by netCDF-C, and reads variable `a`.
NETCDF_READS = r"""
import json, netCDF4, sys
def read(name):
    try:
        with netCDF4.Dataset(name) as file:
            a = file["a"]
            a.set_auto_mask(False)
            return a[(0,) * (a.ndim - 1)][:3].tolist() if a.ndim else []
    except (OSError, IndexError, KeyError):
        return None
print(json.dumps([read(name) for name in sys.argv[1:]]))
"""


def data_files():
    """Files of testdata; those of NC3Z_DATA too, if it is set."""
    place = os.environ.get("NC3Z_DATA")
    more = sorted(p for p in pathlib.Path(place).rglob("*") if p.suffix in (".nc", ".cdf")) if place else []
    return [path for path in good_files() + more if path.name not in DIFFERENT]


class Plugin(Case):
    def setUp(self):
        super().setUp()
        if not LIBRARY.exists():
            missing(self, f"{LIBRARY} is not built (cargo build -p nc3z-netcdf-plugin)")
        self.home = self.dir / "home"
        self.home.mkdir()
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("NCRCENV", "LD_PRELOAD", "NC3Z_UDF"))}
        self.env = dict(keep, HOME=str(self.home), NC3Z_UDF_LIBRARY=str(LIBRARY))

    def tool(self, *args, code=0, **more):
        done = nc3z(*args, env=dict(self.env, **more))
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def archive(self, source, name="a.nc.nc3z", *args):
        out = self.dir / name
        self.tool("archive", "--quiet", "--force", *args, source, "-o", out)
        return out

    def python(self, code, *args, **options):
        return subprocess.run([sys.executable, "-c", code, *map(str, args)], env=self.env, capture_output=True, text=True, **options)

    def need_wheel(self):
        if importlib.util.find_spec("netCDF4") is None:
            missing(self, "the Python package netCDF4 is not installed")


class Ncrc(Plugin):
    def test_install_keeps_what_is_there_and_is_idempotent(self):
        rc = self.home / ".ncrc"
        rc.write_bytes(b"# mine\nHTTP.TIMEOUT=9\nNETCDF.UDF0.LIBRARY=/o.so\nNETCDF.UDF0.INIT=o_init")
        rc.chmod(0o600)
        out = self.tool("netcdf-plugin", "install").stdout.decode()
        self.assertIn("4.10.1", out)
        first = rc.read_bytes()
        self.assertTrue(first.startswith(b"# mine\nHTTP.TIMEOUT=9\nNETCDF.UDF0.LIBRARY=/o.so\nNETCDF.UDF0.INIT=o_init\n"))
        self.assertIn(f"NETCDF.UDF9.LIBRARY={LIBRARY}\nNETCDF.UDF9.INIT=nc3z_udf9_init\n".encode() + b"NETCDF.UDF9.MAGIC=\x89NC3Z\n", first)
        self.assertEqual(rc.stat().st_mode & 0o777, 0o600)
        self.assertIn(b"already installed", self.tool("netcdf-plugin", "install").stdout)
        self.assertEqual(rc.read_bytes(), first)
        # Another plug-in's slot is not taken.
        self.assertIn("--slot", self.tool("netcdf-plugin", "install", "--slot", "0", code=1).stderr)
        self.tool("netcdf-plugin", "install", "--slot", "2")
        self.assertIn(b"NETCDF.UDF2.INIT=nc3z_udf2_init", rc.read_bytes())
        self.assertNotIn(b"UDF9", rc.read_bytes())
        status = json.loads(self.tool("netcdf-plugin", "status", "--json").stdout)
        self.assertEqual([(s["slot"], s["exists"]) for s in status["installed"]], [(2, True)])
        self.tool("netcdf-plugin", "remove")
        self.assertNotIn(b"nc3z", rc.read_bytes())
        self.assertIn(b"o_init", rc.read_bytes())
        self.assertIn(b"not installed", self.tool("netcdf-plugin", "remove").stdout)
        self.tool("netcdf-plugin", "install", "--slot", "10", code=2)

    def test_home_of_netcdf_and_links(self):
        elsewhere = self.dir / "elsewhere"
        elsewhere.mkdir()
        (self.dir / "kept").write_bytes(b"A=1\n")
        (elsewhere / ".ncrc").symlink_to(self.dir / "kept")
        self.tool("netcdf-plugin", "install", NCRCENV_HOME=str(elsewhere))
        self.assertTrue((elsewhere / ".ncrc").is_symlink())
        self.assertIn(b"nc3z_udf9_init", (self.dir / "kept").read_bytes())
        self.assertFalse((self.home / ".ncrc").exists())

    def test_where_the_library_was_looked_for_is_told(self):
        del self.env["NC3Z_UDF_LIBRARY"]
        lonely = self.dir / "bin"
        lonely.mkdir()
        shutil.copy(NC3Z, lonely / "nc3z")
        for command in (["netcdf-plugin", "install"], ["netcdf-plugin", "run", "--", "true"]):
            done = subprocess.run([lonely / "nc3z", *command], env=self.env, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            for place in ("bin/libnc3z_netcdf_plugin.so", "lib/libnc3z_netcdf_plugin.so", "lib/nc3z/libnc3z_netcdf_plugin.so", "NC3Z_UDF_LIBRARY"):
                self.assertIn(place, done.stderr)
        (self.dir / "lib/nc3z").mkdir(parents=True)
        shutil.copy(LIBRARY, self.dir / "lib/nc3z")
        done = subprocess.run([lonely / "nc3z", "netcdf-plugin", "install"], env=self.env, capture_output=True, text=True)
        self.assertIn("lib/nc3z/libnc3z_netcdf_plugin.so", done.stdout)


class Loaded(Plugin):
    """By .ncrc, in the netCDF library of the Python package."""

    def setUp(self):
        super().setUp()
        self.need_wheel()
        self.tool("netcdf-plugin", "install")

    def test_every_file_and_random_slices_are_equal(self):
        files, pairs = data_files(), []
        outs = self.dir / "out"
        outs.mkdir()
        for n, path in enumerate(files):
            # Names repeat between folders.
            out = outs / f"{n}-{path.name}.nc3z"
            done = nc3z("archive", "--quiet", path, "-o", out, env=self.env)
            if done.returncode == 0:
                pairs.append((str(path), str(out)))
        self.assertGreater(len(pairs), 20)
        done = subprocess.run([sys.executable, ROOT / "tests/netcdf_oracle.py", str(SLICES), str(SEED)], env=self.env,
                              input=json.dumps(pairs), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, (done.stderr + done.stdout)[-4000:])
        counts = json.loads(done.stdout)
        self.assertLess(counts["refused_by_the_library"], len(pairs) / 4)
        # Values that do not fit, and requests beyond their variable, were among them.
        self.assertGreater(counts["codes"].get("-60", 0), 0, counts)
        self.assertGreater(counts["codes"].get("0", 0), SLICES / 2, counts)
        print(f"\nplug-in: {len(pairs)} files, {counts}", file=sys.stderr)

    def test_every_slot_loads(self):
        archive = self.archive(ROOT / "testdata/classic/record_padding.nc")
        code = "import netCDF4, sys; print(netCDF4.Dataset(sys.argv[1])['a'][1].tolist())"
        for slot in range(10):
            self.tool("netcdf-plugin", "install", "--slot", slot)
            done = self.python(code, archive)
            self.assertEqual((done.returncode, done.stdout), (0, "[21, 22, -32768, 24, 25]\n"), f"slot {slot}: {done.stderr}")
        self.tool("netcdf-plugin", "remove")
        self.assertNotEqual(self.python(code, archive).returncode, 0)

    def test_each_kind_of_input_is_read_or_refused(self):
        """netCDF-C looks for a file of the whole name, and gives the plug-in those that begin like an archive."""
        kinds.write(self.dir)
        self.archive(self.dir / "aggregation.nc", "aggregation.nc.nc3z")
        names = {kind: name for kind, name in kinds.names(kinds.NoServer()).items() if kind not in kinds.URLS}
        names["archived-aggregation"] = "aggregation.nc.nc3z"
        done = self.python(NETCDF_READS, *names.values(), cwd=self.dir)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = dict(zip(names, json.loads(done.stdout), strict=True))
        read = {"archive": kinds.FIRST, "classic": kinds.FIRST, "archived-aggregation": kinds.FIRST}
        self.assertEqual({kind: values for kind, values in found.items() if values is not None}, read | {"aggregation": found["aggregation"]})

    def test_xarray_reads_what_it_reads_of_the_original(self):
        if importlib.util.find_spec("xarray") is None:
            missing(self, "the Python package xarray is not installed")
        source = ROOT / "testdata/classic/record_padding.nc"
        archive = self.archive(source)
        code = r"""
import sys, xarray as xr
a, b = (xr.open_dataset(p, engine="netcdf4").load() for p in sys.argv[1:])
xr.testing.assert_identical(a, b)
print(len(a.variables))
"""
        done = self.python(code, source, archive)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(int(done.stdout), 0)

    def test_writing_is_refused_and_damage_is_an_error(self):
        archive = self.archive(ROOT / "testdata/classic/record_padding.nc")
        bytes_ = archive.read_bytes()
        cut, flipped = self.dir / "cut.nc3z", self.dir / "flipped.nc3z"
        cut.write_bytes(bytes_[: len(bytes_) // 2])
        spoiled = bytearray(bytes_)
        spoiled[len(bytes_) // 3] ^= 0x40
        flipped.write_bytes(bytes(spoiled))
        code = r"""
import netCDF4, sys
archive, *bad = sys.argv[1:]
try:
    netCDF4.Dataset(archive, "r+")
    sys.exit("opened for writing")
except OSError as e:
    print("write", e.errno)
for path in bad:
    try:
        with netCDF4.Dataset(path) as d:
            for v in d.variables.values():
                v[...]
        sys.exit(f"{path} was read")
    except (OSError, RuntimeError) as e:
        print("damaged")
"""
        done = self.python(code, archive, cut, flipped)
        self.assertEqual((done.returncode, done.stdout), (0, "write -37\ndamaged\ndamaged\n"), done.stderr)
        self.env["NC3Z_LOG"] = "1"
        self.assertIn("nc3z: ", self.python(code, archive, cut, flipped).stderr)

    def test_forked_children_and_threads_read(self):
        archive = self.archive(ROOT / "testdata/classic/record_padding.nc")
        big = self.big()
        code = r"""
import netCDF4, os, sys, threading, ctypes
import numpy as np
small, big = sys.argv[1:]
d = netCDF4.Dataset(big)
whole = d["t"][...].copy()     # threads of the plug-in are there from now on
def read(n):
    assert (d["t"][n::3] == whole[n::3]).all()
for _ in range(3):
    children = []
    stop = threading.Event()
    for n in range(3):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                read(n)
                assert (d["t"][...] == whole).all()
                assert netCDF4.Dataset(small)["a"][1, 1] == 22
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    for pid in children:
        assert os.waitpid(pid, 0)[1] == 0
    read(0)
print("ok")
"""
        done = self.python(code, archive, big, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, "ok\n"), done.stderr)

    def big(self):
        """An archive whose whole read is work for several threads: 12 MB."""
        source = self.dir / "big.nc"
        code = r"""
import numpy as np, sys
from scipy.io import netcdf_file
with netcdf_file(sys.argv[1], "w", version=2) as f:
    for name, n in (("time", 50), ("y", 200), ("x", 300)):
        f.createDimension(name, n)
    t = f.createVariable("t", "f4", ("time", "y", "x"))
    y, x = np.mgrid[:200, :300]
    for i in range(50):
        t[i] = np.round(280 + 20 * np.sin(x / 30 + i) * np.cos(y / 25), 2)
"""
        if importlib.util.find_spec("scipy") is None:
            missing(self, "the Python package scipy is not installed")
        done = self.python(code, source)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.archive(source, "big.nc.nc3z")

    def test_composed_names_are_found_by_their_parts(self):
        """As the library does, whose names are in normal form C; names in another form are found as they are stored."""
        source = self.dir / "x.nc"
        code = r"""
import netCDF4, sys
with netCDF4.Dataset(sys.argv[1], "w", format="NETCDF3_CLASSIC") as d:
    d.createDimension("h\u00f6he", 2)
    d.createVariable("h\u00f6he", "i4", ("h\u00f6he",))[:] = [3, 5]
    d.setncattr("gr\u00f6\u00dfe", 7)
"""
        done = self.python(code, source)
        self.assertEqual(done.returncode, 0, done.stderr)
        code = r"""
import ctypes, glob, netCDF4, os, sys
# By the library's own functions: netCDF4-python looks up names without the library.
library = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(netCDF4.__file__), "..", "netcdf4.libs", "libnetcdf*"))[0])
d, found = netCDF4.Dataset(sys.argv[1]), ctypes.c_int(-1)
for name in ("h\u00f6he", "ho\u0308he", "hohe"):
    one = library.nc_inq_varid(d._grpid, name.encode(), ctypes.byref(found))
    other = library.nc_inq_dimid(d._grpid, name.encode(), ctypes.byref(found))
    print(one, other)
for name in ("gr\u00f6\u00dfe", "gro\u0308\u00dfe"):
    print(library.nc_inq_attid(d._grpid, -1, name.encode(), ctypes.byref(found)))
"""
        plain, archived = (self.python(code, path) for path in (source, self.archive(source)))
        self.assertEqual((plain.returncode, plain.stdout.split()), (0, ["0"] * 4 + ["-49", "-46"] + ["0"] * 2), plain.stderr)
        self.assertEqual(archived.stdout, plain.stdout, archived.stderr)

    def test_files_in_memory(self):
        archive = self.archive(ROOT / "testdata/classic/record_padding.nc")
        code = r"""
import netCDF4, sys
d = netCDF4.Dataset("in memory", memory=open(sys.argv[1], "rb").read())
print(d["a"][1].tolist())
d.close()
"""
        done = self.python(code, archive)
        self.assertEqual((done.returncode, done.stdout), (0, "[21, 22, -32768, 24, 25]\n"), done.stderr)


class Preloaded(Plugin):
    """In programs whose netCDF library does not read .ncrc for it."""

    def programs(self, *names):
        for name in names:
            if shutil.which(name) is None:
                missing(self, f"{name} is not installed")

    def test_ncdump_and_ncks_print_what_they_print_of_the_original(self):
        self.programs("ncdump", "ncks")
        files = [p for p in data_files() if p.stat().st_size < ((4 << 20) if NIGHT else (200 << 10))]
        compared = 0
        for n, source in enumerate(files):
            folder = self.dir / str(n)
            folder.mkdir()
            archive = folder / source.name
            done = nc3z("archive", "--quiet", source, "-o", folder / "x.nc3z", env=self.env)
            if done.returncode != 0:
                continue
            # ncdump prints the file's name.
            (folder / "x.nc3z").rename(archive)
            for command in (["ncdump"], ["ncdump", "-k"], ["ncdump", "-hs"], ["ncks", "--cdl"]):
                plain = subprocess.run([*command, source], capture_output=True, env=self.env)
                if plain.returncode != 0:
                    continue
                done = self.run_preloaded([*command, archive])
                out = done.stdout
                if command == ["ncdump", "-hs"]:
                    # The special attribute of the format differs: it is another one.
                    self.assertEqual(done.returncode, 0, done.stderr)
                    continue
                self.assertEqual(out, plain.stdout, f"{command} {source}")
                compared += 1
        self.assertGreater(compared, 30)

    def test_programs_write_what_they_write_of_the_original(self):
        self.programs("nccopy", "ncks", "ncra")
        source = ROOT / "testdata/classic/coads_climatology.cdf"
        archive = self.archive(source)
        for command in (["nccopy", "-k", "classic", "IN", "OUT"], ["ncks", "-O", "-h", "-v", "SST", "-d", "TIME,0,8,3", "-d", "COADSX,20.0,60.0", "IN", "OUT"],
                        ["ncra", "-O", "-h", "IN", "OUT"]):
            outs = []
            for path, out in ((source, "plain.nc"), (archive, "archived.nc")):
                here = [{"IN": str(path), "OUT": str(self.dir / out)}.get(word, word) for word in command]
                done = self.run_preloaded(here) if path == archive else subprocess.run(here, capture_output=True, env=self.env)
                self.assertEqual(done.returncode, 0, done.stderr)
                outs.append((self.dir / out).read_bytes())
            self.assertEqual(outs[0], outs[1], command)

    def run_preloaded(self, command):
        return subprocess.run([NC3Z, "netcdf-plugin", "run", "--", *command], capture_output=True, env=self.env)

    def test_programs_that_load_the_library_later(self):
        """As R, Octave and Perl do: the program knows nothing of netCDF, and its module is linked with it."""
        self.programs("cc", "ncdump")
        linked = subprocess.run(["ldd", shutil.which("ncdump")], capture_output=True, text=True).stdout
        netcdf = next((line.split()[2] for line in linked.splitlines() if "libnetcdf.so" in line), None)
        if netcdf is None:
            missing(self, "ncdump is not linked with libnetcdf")
        source = ROOT / "testdata/classic/coads_climatology.cdf"
        archive = self.archive(source)
        (self.dir / "module.c").write_text("""
            int nc_open(const char *, int, int *); int nc_inq_varid(int, const char *, int *); int nc_get_var_double(int, int, double *);
            int first(const char *path, double *out) {
                int file, id, code = nc_open(path, 0, &file);
                if (!code) code = nc_inq_varid(file, "TIME", &id);
                return code ? code : nc_get_var_double(file, id, out);
            }""")
        (self.dir / "program.c").write_text("""
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <stdio.h>
            #include <stdlib.h>
            int main(int argc, char **argv) {
                double out[12];
                /* By its name alone: the linker looks into the RUNPATH of this program. */
                if (argc > 3 && !dlopen(argv[3], RTLD_NOW)) { fprintf(stderr, "%s\\n", dlerror()); return 7; }
                if (dlopen("/no/such/module.so", RTLD_NOW) || dlopen("no-such-module.so", RTLD_NOW)) return 8;
                if (!dlopen(NULL, RTLD_NOW)) return 9;
                void *module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
                int (*first)(const char *, double *) = module ? (int (*)(const char *, double *))dlsym(module, "first") : 0;
                if (!first) { fprintf(stderr, "%s\\n", dlerror()); return 6; }
                int code = first(argv[2], out);
                if (code) { fprintf(stderr, "code %d\\n", code); return 5; }
                printf("%.17g %.17g\\n", out[0], out[11]);
                return 0;
            }""")
        (self.dir / "empty.c").write_text("int nothing;")
        shared = ["cc", "-shared", "-fPIC"]
        subprocess.run([*shared, self.dir / "module.c", netcdf, "-o", self.dir / "module.so"], check=True)
        (self.dir / "beside").mkdir()
        subprocess.run([*shared, self.dir / "empty.c", "-o", self.dir / "beside/beside.so"], check=True)
        program = self.dir / "program"
        subprocess.run(["cc", self.dir / "program.c", "-Wl,--enable-new-dtags", f"-Wl,-rpath,{self.dir}/beside", "-ldl", "-o", program], check=True)
        plain = subprocess.run([program, self.dir / "module.so", source, "beside.so"], capture_output=True, text=True, env=self.env)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertNotEqual(subprocess.run([program, self.dir / "module.so", archive], capture_output=True, env=self.env).returncode, 0)
        done = self.run_preloaded([program, self.dir / "module.so", archive, "beside.so"])
        self.assertEqual((done.returncode, done.stdout.decode()), (0, plain.stdout), done.stderr)
        # A script that starts the program.
        done = self.run_preloaded(["sh", "-c", f"{program} {self.dir}/module.so {archive}"])
        self.assertEqual((done.returncode, done.stdout.decode()), (0, plain.stdout), done.stderr)

    def test_python_with_a_copy_of_its_own(self):
        self.need_wheel()
        archive = self.archive(ROOT / "testdata/classic/coads_climatology.cdf")
        code = "import sys, netCDF4; d = netCDF4.Dataset(sys.argv[1]); print(len(d.variables), float(d['TIME'][-1]))"
        plain = self.python(code, ROOT / "testdata/classic/coads_climatology.cdf")
        done = self.run_preloaded([sys.executable, "-c", code, str(archive)])
        self.assertEqual((done.returncode, done.stdout.decode()), (0, plain.stdout), done.stderr)
        # Packages with another copy of HDF5 work as before.
        if importlib.util.find_spec("h5py"):
            done = self.run_preloaded([sys.executable, "-c", "import h5py, netCDF4; print(h5py.version.hdf5_version)"])
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_exit_codes_are_the_programs(self):
        for code, command in ((0, ["true"]), (7, ["sh", "-c", "exit 7"]), (127, ["no-such-program-at-all"]), (126, ["/"])):
            self.assertEqual(self.run_preloaded(command).returncode, code, command)
        self.tool("netcdf-plugin", "run", code=2)
        # Other preloaded libraries stay.
        out = subprocess.run([NC3Z, "netcdf-plugin", "run", "sh", "-c", "echo $LD_PRELOAD"], capture_output=True, text=True,
                             env=dict(self.env, LD_PRELOAD="libm.so.6")).stdout
        self.assertEqual(out, f"{LIBRARY}:libm.so.6\n")

    def test_signals_and_closed_output_are_the_programs(self):
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            self.assertEqual(self.run_preloaded(["sh", "-c", f"kill -{int(name)} $$"]).returncode, -name)
        # The tool's own signal handling is not inherited: a program whose reader has gone ends as it does without the tool.
        with subprocess.Popen([NC3Z, "netcdf-plugin", "run", "--", "yes"], stdout=subprocess.PIPE, env=self.env) as yes:
            yes.stdout.readline()
            yes.stdout.close()
            self.assertEqual(yes.wait(60), -signal.SIGPIPE)
        for command in ("install", "status", "remove"):
            read, write = os.pipe()
            os.close(read)
            with os.fdopen(write, "wb") as closed:
                done = nc3z("netcdf-plugin", command, env=self.env, stdout=closed)
            self.assertIn(done.returncode, (0, -signal.SIGPIPE, 128 + signal.SIGPIPE), command)
            self.assertEqual(done.stderr, "", command)
        with open("/dev/full", "wb") as full:
            done = nc3z("netcdf-plugin", "status", env=self.env, stdout=full)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left", done.stderr)

    def test_nothing_of_libnetcdf_is_needed(self):
        self.programs("nm")
        undefined = subprocess.run(["nm", "-D", "--undefined-only", LIBRARY], capture_output=True, text=True).stdout
        self.assertNotIn(" nc_", undefined)
        self.assertNotIn(" NC", undefined)
        exported = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True).stdout.split()
        self.assertEqual(sorted(name for name in exported if name.startswith("nc3z")), [f"nc3z_udf{n}_init" for n in range(10)])


if __name__ == "__main__":
    unittest.main()
