"""nc3z.num as a filter of HDF5: h5py, nccopy and netCDF's tools write and read it, by HDF5_PLUGIN_PATH alone."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from common import NC3Z, Case, header, missing, nc3z

import numpy as np

# A build of the tests puts it into their directory, deps/.
LIBRARIES = [pathlib.Path(NC3Z).resolve().parent / folder / "libnc3z_hdf5_filter.so" for folder in (".", "deps")]
LIBRARY = max((path for path in LIBRARIES if path.exists()), key=lambda path: path.stat().st_mtime, default=LIBRARIES[0])
ID = 51303

WRITE = r"""
import sys, h5py, numpy as np
path, effort = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(1)
y, x = np.mgrid[:97, :130]
field = np.round(280 + 20 * np.sin(x / 30) * np.cos(y / 25), 1)
with h5py.File(path, "w") as f:
    for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"):
        for order in "<>":
            values = (field if kind[0] == "f" else field - 200).astype(order + kind)
            data = f.create_dataset(order + kind, data=values, chunks=(40, 50), compression=51303, compression_opts=(effort,))
            f[order + kind].attrs["raw"] = values.nbytes
    values = field.astype("<f4")
    f.create_dataset("checked", data=values, chunks=(40, 50), compression=51303, compression_opts=(effort,), fletcher32=True)
    try:
        f.create_dataset("text", data=np.array([b"abc", b"d"]), chunks=(2,), compression=51303)
        print("a string was taken")
    except (ValueError, RuntimeError, OSError):
        pass
    # NaNs with a payload, infinities and zeros of half precision keep their bits.
    f.create_dataset("half", data=np.arange(65536, dtype="<u2").view("<f2"), chunks=(9000,), compression=51303, compression_opts=(effort,))
    f.create_dataset("empty", shape=(0, 5), maxshape=(None, 5), chunks=(4, 5), dtype="<f4", compression=51303)
"""

READ = r"""
import sys, h5py, json, numpy as np
y, x = np.mgrid[:97, :130]
field = np.round(280 + 20 * np.sin(x / 30) * np.cos(y / 25), 1)
stored = {}
with h5py.File(sys.argv[1]) as f:
    for name, data in f.items():
        if name == "empty":
            continue
        if name == "half":
            assert (data[...].view("u2") == np.arange(65536)).all()
            continue
        kind = name[1:] if name[0] in "<>" else "f4"
        expected = (field if kind[0] == "f" else field - 200).astype(data.dtype)
        assert data[...].tobytes() == expected.tobytes(), name
        stored[name] = [data.id.get_storage_size(), expected.nbytes]
print(json.dumps(stored))
"""

# A variable in a new NCZarr store, with the filter, by netCDF-C's own calls.
NCZARR = r"""
import ctypes, sys, numpy as np
library, store, effort = sys.argv[1], sys.argv[2], int(sys.argv[3])
nc = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
nc.nc_strerror.restype = ctypes.c_char_p
def ok(status):
    if status:
        sys.exit(nc.nc_strerror(status).decode())
file, variable, dims = ctypes.c_int(), ctypes.c_int(), (ctypes.c_int * 2)()
ok(nc.nc_create(f"file://{store}#mode=nczarr,file".encode(), 0x1000, ctypes.byref(file)))
for i, name in enumerate((b"y", b"x")):
    dim = ctypes.c_int()
    ok(nc.nc_def_dim(file, name, ctypes.c_size_t(200), ctypes.byref(dim)))
    dims[i] = dim.value
ok(nc.nc_def_var(file, b"v", 5, 2, dims, ctypes.byref(variable)))
ok(nc.nc_def_var_chunking(file, variable, 0, (ctypes.c_size_t * 2)(100, 200)))
ok(nc.nc_def_var_filter(file, variable, 51303, ctypes.c_size_t(1), (ctypes.c_uint * 1)(effort)))
ok(nc.nc_enddef(file))
values = np.round(280 + 20 * np.sin(np.arange(40000) / 60), 1).astype("f4")
ok(nc.nc_put_var_float(file, variable, values.ctypes.data_as(ctypes.c_void_p)))
ok(nc.nc_close(file))
"""


class Plugin(Case):
    def setUp(self):
        super().setUp()
        if not LIBRARY.exists():
            missing(self, f"{LIBRARY} is not built (cargo build -p nc3z-hdf5-filter)")
        self.plugins = self.dir / "plugins"
        self.plugins.mkdir()
        shutil.copy(LIBRARY, self.plugins / "libh5nc3z.so")
        self.env = dict(os.environ, HDF5_PLUGIN_PATH=str(self.plugins))

    def python(self, code, *args, env=None):
        return subprocess.run([sys.executable, "-c", code, *map(str, args)], env=env or self.env, capture_output=True, text=True)

    def test_h5py_writes_and_reads_every_type(self):
        if importlib.util.find_spec("h5py") is None:
            missing(self, "the Python package h5py is not installed")
        path = self.dir / "a.h5"
        done = self.python(WRITE, path, 1)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        done = self.python(READ, path)
        self.assertEqual(done.returncode, 0, done.stderr)
        stored = json.loads(done.stdout)
        self.assertEqual(len(stored), 23)
        for name, (size, raw) in stored.items():
            self.assertLess(size, raw / 2, name)
        # Without the plug-in it is an error, and no crash.
        done = self.python(READ, path, env={k: v for k, v in os.environ.items() if k != "HDF5_PLUGIN_PATH"})
        self.assertNotEqual(done.returncode, 0)

    def test_other_parameters_are_refused(self):
        if importlib.util.find_spec("h5py") is None:
            missing(self, "the Python package h5py is not installed")
        code = r"""
import h5py, sys, json, numpy as np
taken = []
with h5py.File(sys.argv[1], "w") as f:
    for n, words in enumerate(json.loads(sys.argv[2])):
        try:
            data = f.create_dataset(str(n), data=np.arange(1000, dtype="i4"), chunks=(100,), compression=51303, compression_opts=tuple(words))
            plist = data.id.get_create_plist()
            taken.append([words, plist.get_filter(0)[2]])
        except (ValueError, RuntimeError, OSError):
            pass
print(json.dumps(taken))
"""
        good = {(0,): (2, 0), (1,): (2, 1), (2,): (2, 2), (2, 0): (1, 2), (1, 1): (2, 1), (1, 0, 0x105, 1, 7): (1, 0)}
        bad = [(3,), (99,), (2**31,), (1, 2), (1, 0, 0), (0, 0, 4, 1), (3, 0, 4, 1, 100), (1, 3, 4, 1, 100), (1, 0, 4, 1, 100, 5), (1,) * 40]
        done = self.python(code, self.dir / "a.h5", json.dumps([*good, *bad]))
        self.assertEqual(done.returncode, 0, done.stderr)
        # Type, order and shape are the dataset's, whatever was given.
        self.assertEqual(json.loads(done.stdout), [[list(words), [version, effort, 4, 1, 100]] for words, (version, effort) in good.items()])

    def test_a_flipped_bit_is_an_error(self):
        """As far as chunks have a checksum: without it, nearly all flips give other values in silence, which the parameter is for."""
        if importlib.util.find_spec("h5py") is None:
            missing(self, "the Python package h5py is not installed")
        code = r"""
import h5py, sys, json, numpy as np
rng = np.random.default_rng(3)
values = np.round(280 + 20 * np.sin(np.arange(5000) / 60), 1).astype("f4")
told = {}
for words in ((1,), (1, 0)):
    with h5py.File(sys.argv[1], "w") as f:
        data = f.create_dataset("v", data=values, chunks=(5000,), compression=51303, compression_opts=words)
        payload = bytearray(data.id.read_direct_chunk((0,))[1])
    count = {"error": 0, "same": 0, "other": 0, "len": len(payload)}
    for bit in rng.integers(0, len(payload) * 8, 60):
        flipped = payload.copy()
        flipped[bit // 8] ^= 1 << bit % 8
        with h5py.File(sys.argv[1], "a") as f:
            f["v"].id.write_direct_chunk((0,), bytes(flipped))
        with h5py.File(sys.argv[1]) as f:
            try:
                count["same" if (f["v"][...] == values).all() else "other"] += 1
            except OSError:
                count["error"] += 1
    told[len(words)] = count
print(json.dumps(told))
"""
        done = self.python(code, self.dir / "a.h5")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(told["1"]["error"], 60, told)
        self.assertGreater(told["2"]["other"], 0, told)
        self.assertEqual(told["1"]["len"], told["2"]["len"] + 4)

    def test_chunks_take_what_an_archive_of_the_same_chunks_takes(self):
        """Either may plan better, by a tenth of the bytes at most, and an archive looks at all chunks of an array before it plans."""
        for name in ("h5py", "netCDF4"):
            if importlib.util.find_spec(name) is None:
                missing(self, f"the Python package {name} is not installed")
        import netCDF4

        y, x = np.mgrid[:97, :130]
        field = np.round(280 + 20 * np.sin(x / 30) * np.cos(y / 25), 1)
        archived = {}
        for kind in ("i1", "u2", "i4", "u8", "f4", "f8"):
            source = self.dir / f"{kind}.nc"
            with netCDF4.Dataset(source, "w", format="NETCDF3_64BIT_DATA") as file:
                file.createDimension("y", 97)
                file.createDimension("x", 130)
                file.createVariable("v", kind, ("y", "x"), fill_value=False)[:] = (field if kind[0] == "f" else field - 200).astype(kind)
            done = nc3z("archive", source, "--layout", "chunked", "--tile", "y=40,x=50", "--edge", "pad")
            self.assertEqual(done.returncode, 0, done.stderr)
            info = json.loads(nc3z("info", "--json", f"{source}.nc3z").stdout)
            archived[kind] = info["variables"][0]["stored_bytes"]
        path = self.dir / "r.h5"
        for step in ((WRITE, path, 1), (READ, path)):
            done = self.python(*step)
            self.assertEqual(done.returncode, 0, done.stderr)
        stored = json.loads(done.stdout)
        ratios = {kind: stored["<" + kind][0] / size for kind, size in archived.items()}
        for kind, ratio in ratios.items():
            self.assertTrue(0.9 < ratio < 1.1, f"{kind}: the filter's chunks take {ratio:.2f} of the archive's; {ratios}")

    def test_with_netcdf4_in_the_same_process(self):
        for name in ("h5py", "netCDF4"):
            if importlib.util.find_spec(name) is None:
                missing(self, f"the Python package {name} is not installed")
        path = self.dir / "b.h5"
        done = self.python("import netCDF4\n" + WRITE, path, 0)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        done = self.python("import netCDF4\n" + READ, path)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_nccopy_writes_and_ncdump_reads(self):
        if not shutil.which("nccopy"):
            missing(self, "nccopy is not installed")
        values = np.round(280 + 20 * np.sin(np.arange(40000) / 60), 1).astype(">f4")
        source = self.dir / "v.nc"
        source.write_bytes(header([("v", (0, 1), 5, values.nbytes)], [("y", 200), ("x", 200)]) + values.tobytes())
        target = self.dir / "v4.nc"
        done = subprocess.run(["nccopy", "-4", "-c", "y/100,x/200", "-F", f"v,{ID}", source, target], env=self.env, capture_output=True, text=True)
        if done.returncode:
            missing(self, f"this nccopy does not take filters of plug-ins: {done.stderr}")
        back = self.dir / "back.nc"
        done = subprocess.run(["nccopy", "-3", "-F", "none", target, back], env=self.env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(back.read_bytes()[-values.nbytes:], values.tobytes())
        self.assertLess(target.stat().st_size, values.nbytes // 3)

    def test_nczarr_writes_what_numcodecs_reads(self):
        """By the netCDF library of the Python package netCDF4: it describes the variable to the filter, and writes JSON for Zarr's own readers."""
        spec = importlib.util.find_spec("netCDF4")
        libraries = pathlib.Path(spec.origin).parent.parent.glob("netcdf4.libs/libnetcdf*") if spec else []
        library = next(iter(libraries), None)
        if library is None:
            missing(self, "the Python package netCDF4 is not installed, or brings no library")
        store = self.dir / "v.zarr"
        for effort, level in ((0, "fast"), (2, "max")):
            shutil.rmtree(store, ignore_errors=True)
            done = self.python(NCZARR, library, store, effort)
            self.assertEqual(done.returncode, 0, done.stderr)
            meta = json.loads((store / "v" / ".zarray").read_text())
            codecs = [*(meta["filters"] or []), *([meta["compressor"]] if meta["compressor"] else [])]
            self.assertEqual(codecs, [{"id": "nc3z.num", "dtype": meta["dtype"], "shape": [100, 200], "level": level, "checksum": True}])
            chunks = sorted(path for path in (store / "v").iterdir() if path.name[0].isdigit())
            self.assertEqual([path.name for path in chunks], ["0.0", "1.0"])
            self.assertLess(sum(path.stat().st_size for path in chunks), 40000 * 4 // 3)
            back = "import netCDF4, sys; sys.stdout.buffer.write(netCDF4.Dataset(sys.argv[1])['v'][:].data.astype('>f4').tobytes())"
            read = subprocess.run([sys.executable, "-c", back, f"file://{store}#mode=nczarr,file"], env=self.env, capture_output=True)
            self.assertEqual(read.returncode, 0, read.stderr)
            values = np.round(280 + 20 * np.sin(np.arange(40000) / 60), 1).astype(">f4")
            self.assertEqual(read.stdout, values.tobytes())

    def test_it_is_a_plug_in_of_the_third_type(self):
        report = json.loads(self.ok(nc3z("filters", "--json", "--plugin-path", self.plugins)).stdout)
        [row] = report["plugins"]
        self.assertEqual((row["hdf5_id"], row["name"], row["id"], row["usable"]), (ID, "nc3z.num", "nc3z.num", "number and json"))
        values = np.arange(9000).astype(">i4")
        path, archive, out = self.dir / "v.nc", self.dir / "a.nc3z", self.dir / "out.nc"
        path.write_bytes(header([("v", (0,), 4, values.nbytes)], [("x", values.size)]) + values.tobytes())
        # version 1 or 2 (with a checksum), default effort, big-endian int (0x104), one dimension of 9000.
        for version in (1, 2):
            rule = f"v={ID},{version},1,260,1,9000"
            self.ok(nc3z("archive", "--force", path, "-o", archive, "--chain", rule, "--plugin-path", self.plugins))
            self.ok(nc3z("restore", "--force", archive, "-o", out, "--plugin-path", self.plugins))
            self.assertEqual(out.read_bytes(), path.read_bytes())
            # And as NumCodecs' JSON, by the codec in the same library.
            said = json.loads(self.ok(nc3z("info", "--json", "--notation", "json", "--plugin-path", self.plugins, archive)).stdout)
            [codec] = said["variables"][0]["chains"][0]["numcodecs"]
            self.assertEqual(codec, {"id": "nc3z.num", "dtype": ">i4", "shape": [9000], "level": "default", **({"checksum": True} if version == 2 else {})})
            back = self.ok(nc3z("filters", "--plugin-path", self.plugins, "--translate", json.dumps([codec]))).stdout.decode()
            self.assertEqual(back.strip(), rule[2:])


if __name__ == "__main__":
    unittest.main()
