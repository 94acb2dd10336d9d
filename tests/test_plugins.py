"""Filter plug-ins: found, paired by the rules of netCDF-C, called in a process of their own, whatever they do."""

import importlib
import importlib.util
import json
import os
import pathlib
import subprocess
import unittest

from common import Case, header, missing, nc3z

import numpy as np

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <stdio.h>
typedef struct { int version, id; unsigned enc, dec; const char *name; void *can, *local;
  size_t (*filter)(unsigned, size_t, const unsigned *, size_t, size_t *, void **); } H5Z_class2_t;
typedef struct { int version, sort; const char *codecid; unsigned hdf5id; void (*init)(void), (*fini)(void);
  int (*to_hdf5)(const char *, size_t *, unsigned **); int (*to_codec)(size_t, const unsigned *, char **); void *modify; } NCZ_codec_t;

static size_t filter(unsigned flags, size_t n, const unsigned *cd, size_t len, size_t *size, void **buf) {
  unsigned char *bytes = *buf;
  (void)flags; (void)n; (void)cd;
#if MODE == 0 /* complements each byte, in a buffer of its own, and says something */
  unsigned char *other = malloc(len + 100);
  printf("a plug-in prints\n"); fflush(stdout);
  for (size_t i = 0; i < len; i++) other[i] = bytes[i] ^ (n ? cd[0] : 0xff);
  free(*buf); *buf = other; *size = len + 100;
  return len;
#elif MODE == 1
  abort();
#elif MODE == 2
  for (;;) sleep(1);
#elif MODE == 3 /* more than the buffer has */
  return *size + 10;
#elif MODE == 4 /* 10 GB */
  size_t most = 10ull << 30;
  unsigned char *big = malloc(most);
  if (!big) return 0;
  memset(big, 1, most);
  free(*buf); *buf = big; *size = most;
  return most;
#elif MODE == 5
  free(*buf); free(*buf);
  return len;
#elif MODE == 6
  exit(0);
#elif MODE == 7 /* another length */
  return len / 2;
#elif MODE == 8
  *(volatile int *)8 = 1; return 1;
#elif MODE == 9 /* a loss */
  for (size_t i = 3; i < len; i += 4) bytes[i] = 0;
  return len;
#elif MODE == 10
  return (size_t)-1;
#elif MODE == 11
  *buf = 0; return len;
#endif
}
#ifdef FILTER
static const H5Z_class2_t class = {1, FILTER, 1, 1, "test filter", 0, 0, filter};
int H5PLget_plugin_type(void) { return 0; }
const void *H5PLget_plugin_info(void) { return &class; }
#endif
#if defined CODEC || defined DEFAULTS
static int to_hdf5(const char *json, size_t *n, unsigned **cd) {
  const char *at = strstr(json, "\"mask\":");
  if (!at) return -1;
  *n = 1; *cd = malloc(4); **cd = atoi(at + 7);
  return 0;
}
static int to_codec(size_t n, const unsigned *cd, char **json) {
  if (n != 1) return -1;
  *json = malloc(100);
  sprintf(*json, "{\"id\":\"test\",\"mask\":%u}", cd[0]);
  return 0;
}
#endif
#ifdef CODEC
static const NCZ_codec_t codec = {1, 1, "test" , CODEC, 0, 0, to_hdf5, to_codec, 0};
const void *NCZ_get_codec_info(void) { return &codec; }
#endif
#ifdef DEFAULTS
static const NCZ_codec_t fallback = {1, 1, "fallback", DEFAULTS, 0, 0, to_hdf5, to_codec, 0};
static const NCZ_codec_t *all[] = {&fallback, 0};
const void *NCZ_codec_info_defaults(void) { return all; }
#endif
#ifdef BROKEN
__attribute__((constructor)) static void begin(void) { abort(); }
#endif
"""


def package(test, name):
    found = importlib.util.find_spec(name)
    if found is None:
        missing(test, f"the Python package {name} is not installed")
    return pathlib.Path(found.origin).parent


class Plugins(Case):
    def library(self, directory, name, **defines):
        directory.mkdir(exist_ok=True)
        (self.dir / "plugin.c").write_text(SOURCE)
        defines = [f"-D{key}={value}" for key, value in defines.items()]
        subprocess.run(["cc", "-shared", "-fPIC", "-w", *(["-DMODE=0"] if not any("MODE" in d for d in defines) else []), *defines,
                        "-o", directory / name, self.dir / "plugin.c"], check=True)

    def file(self, name="v.nc"):
        values = (np.arange(9000) % 77 + 1).astype(">i4")
        path = self.dir / name
        path.write_bytes(header([("v", (0,), 4, values.nbytes), ("w", (0,), 4, values.nbytes)], [("x", values.size)])
                         + values.tobytes() + (values * 3).tobytes())
        return path

    def rows(self, directory):
        report = json.loads(self.ok(nc3z("filters", "--json", "--plugin-path", directory)).stdout)
        return {row["hdf5_id"]: row for row in report["plugins"]}, report["libraries"]

    def test_the_pairing_table(self):
        d = self.dir / "plugins"
        self.library(d, "liba.so", FILTER=40001)
        self.library(d, "libb.so", CODEC=40002)
        self.library(d, "libc.so", FILTER=40003, CODEC=40003)
        self.library(d, "libd.so", FILTER=40004)
        self.library(d, "libe.so", CODEC=40004)
        self.library(d, "libf.so", FILTER=40005)
        self.library(d, "libg.so", DEFAULTS=40005)
        self.library(d, "libh.so", DEFAULTS=40003)
        self.library(d, "libi.so", BROKEN=1)
        self.library(d, "libj.so")
        (d / "libk.so").write_text("no library")
        (d / "README").write_text("no library either")
        rows, libraries = self.rows(d)
        told = {number: (row["usable"], row["id"], row["default_codec"]) for number, row in rows.items()}
        self.assertEqual(told, {
            40001: ("number", None, False), 40002: ("nothing", "test", False), 40003: ("number and json", "test", False),
            40004: ("number and json", "test", False), 40005: ("number and json", "fallback", True)})
        exports = {pathlib.Path(entry["path"]).name: entry["exports"] for entry in libraries}
        self.assertEqual(exports, {
            "liba.so": "HDF5 filter", "libb.so": "codec", "libc.so": "HDF5 filter + codec", "libd.so": "HDF5 filter",
            "libe.so": "codec", "libf.so": "HDF5 filter", "libg.so": "default codecs", "libh.so": "default codecs",
            "libi.so": None, "libk.so": None})
        errors = {pathlib.Path(entry["path"]).name: entry["error"] for entry in libraries if entry["error"]}
        self.assertIn("crashed (signal 6)", errors["libi.so"])
        # Only who asks gets them, and the environment alone does not ask.
        env = dict(os.environ, HDF5_PLUGIN_PATH=str(d))
        self.assertEqual(json.loads(self.ok(nc3z("filters", "--json", env=env)).stdout)["plugins"], [])
        found = json.loads(self.ok(nc3z("filters", "--json", "--plugins", env=env)).stdout)["plugins"]
        self.assertEqual(len(found), 5)

    def test_a_filter_by_number_and_by_its_codec(self):
        d = self.dir / "plugins"
        self.library(d, "liba.so", FILTER=40001)
        self.library(d, "libc.so", FILTER=40003, CODEC=40003)
        path = self.file()
        for rule, stored in (
            ("v=40001,85", '{"cd_values":[85],"filter":40001,"id":"hdf5"}'),
            ('v=[{"id":"test","mask":9},{"id":"zlib","level":1}]', '{"cd_values":[9],"filter":40003,"id":"hdf5"}'),
            ("v=2|40001,1|40003,7|32015,3|3", '{"cd_values":[7],"filter":40003,"id":"hdf5"}'),
        ):
            with self.subTest(rule):
                archive, out = self.dir / "a.nc3z", self.dir / "out.nc"
                self.ok(nc3z("archive", "--force", path, "-o", archive, "--chain", rule, "--plugin-path", d))
                self.ok(nc3z("restore", "--force", archive, "-o", out, "--plugin-path", d))
                self.assertEqual(out.read_bytes(), path.read_bytes())
                report = json.loads(self.ok(nc3z("info", "--json", archive)).stdout)
                stages = [s for c in report["variables"][0]["chains"] for s in c["stages"]]
                self.assertIn(json.loads(stored), stages)

    def test_without_the_plugin_all_else_goes_on(self):
        d = self.dir / "plugins"
        self.library(d, "liba.so", FILTER=40001)
        path, archive = self.file(), self.dir / "a.nc3z"
        done = self.ok(nc3z("archive", path, "-o", archive, "--chain", "v=40001,85", "--plugin-path", d))
        self.assertIn("need", done.stderr)
        for command in (("info",), ("verify",), ("layout",), ("dump", "-h"), ("read", "w", "--count", "3")):
            name, *rest = command
            self.ok(nc3z(name, archive, *rest))
        for command in (("restore", archive, "-o", self.dir / "no.nc"), ("read", archive, "v"), ("dump", archive)):
            done = nc3z(*command)
            self.assertEqual(done.returncode, 1, done.stderr)
            for words in ("40001", "[85]", "plug-in"):
                self.assertIn(words, done.stderr)
        self.assertFalse((self.dir / "no.nc").exists())
        done = nc3z("read", archive, "v", "--plugin-path", self.dir)
        self.assertIn("40001", done.stderr)

    def test_plugins_that_misbehave_cost_an_error_each(self):
        path = self.file()
        env = dict(os.environ, NC3Z_PLUGIN_SECONDS="2")
        for mode, words in ((1, "crashed (signal 6)"), (2, "did not answer within 2 seconds"), (3, "in a buffer of"), (4, "plug-in"),
                            (5, "crashed (signal 6)"), (6, "ended the process"), (7, "does not give the values back"),
                            (8, "crashed (signal 11)"), (9, "does not give the values back"), (10, "in a buffer of"),
                            (11, "no buffer")):
            with self.subTest(mode=mode):
                d = self.dir / f"mode{mode}"
                self.library(d, "libbad.so", FILTER=40009, MODE=mode)
                target = self.dir / "no.nc3z"
                done = nc3z("archive", path, "-o", target, "--chain", "v=40009", "--plugin-path", d, env=env)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertIn("libbad.so", done.stderr)
                self.assertEqual([p.name for p in self.dir.iterdir() if "nc3z" in p.name], [])
        workers = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
        self.assertNotIn(f"{self.dir}", workers)

    def test_decoding_with_plugins_that_misbehave(self):
        good, path, archive = self.dir / "good", self.file(), self.dir / "a.nc3z"
        self.library(good, "lib.so", FILTER=40009)
        self.ok(nc3z("archive", path, "-o", archive, "--chain", "v=40009", "--plugin-path", good))
        for mode, words in ((1, "crashed"), (3, "in a buffer"), (7, "decoded length")):
            d = self.dir / f"mode{mode}"
            self.library(d, "libbad.so", FILTER=40009, MODE=mode)
            done = nc3z("restore", archive, "-o", self.dir / "no.nc", "--plugin-path", d)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)
            self.assertIn("libbad.so", done.stderr)
            self.assertFalse((self.dir / "no.nc").exists())

    def test_hdf5plugins_filters(self):
        d = package(self, "hdf5plugin") / "plugins"
        rows, _ = self.rows(d)
        self.assertGreaterEqual(set(rows), {307, 32001, 32004, 32008, 32013, 32015, 32017, 32018, 32024, 32026, 32028})
        self.assertEqual({row["usable"] for row in rows.values()}, {"number"})
        path, archive = self.file(), self.dir / "a.nc3z"
        # Blosc2 is not built in.
        self.ok(nc3z("archive", path, "-o", archive, "--chain", "*=32026,0,0,4,0,5,1,5", "--plugin-path", d))
        self.ok(nc3z("restore", archive, "-o", self.dir / "out.nc", "--plugin-path", d))
        self.assertEqual((self.dir / "out.nc").read_bytes(), path.read_bytes())
        done = nc3z("restore", archive, "-o", self.dir / "no.nc")
        self.assertIn("32026 (Blosc2)", done.stderr)
        self.assertIn("hdf5plugin", done.stderr)

    def test_netcdf4s_filters_and_codecs(self):
        d = package(self, "netCDF4") / "plugins"
        if not list(d.glob("*.so")):
            missing(self, "the netCDF4 package has no plug-ins")
        rows, libraries = self.rows(d)
        self.assertIn("default codecs", " ".join(entry["exports"] or "" for entry in libraries))
        for number, name in ((307, "bz2"), (32015, "zstd"), (1, "zlib"), (2, "shuffle")):
            if number in rows and rows[number]["filter"]:
                self.assertEqual((rows[number]["id"], rows[number]["usable"]), (name, "number and json"))


if __name__ == "__main__":
    unittest.main()
