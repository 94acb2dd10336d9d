"""Filter plug-ins: found, paired by the rules of netCDF-C, called in a process of their own, whatever they do."""

import importlib
import importlib.util
import json
import os
import pathlib
import resource
import signal
import subprocess
import time
import unittest

from common import NC3Z, Case, header, missing, nc3z, start

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
#elif MODE == 12 /* forks: the other process answers as well, or hangs */
  unsigned char *twice = malloc(len);
  if (fork() == 0) { if (n && cd[0]) for (;;) sleep(1); }
  for (size_t i = 0; i < len; i++) twice[i] = bytes[i] ^ 0x55;
  free(*buf); *buf = twice; *size = len;
  return len;
#elif MODE == 13 /* keeps memory: cd[0] MiB of each call */
  size_t leak = ((size_t)cd[0] << 20) + 1;
  unsigned char *kept = malloc(leak);
  if (!kept) return 0;
  memset(kept, 1, leak);
  return len;
#elif MODE == 14 /* starts another program, and crashes */
  if (fork() == 0) { execlp("sleep", "sleep", "7777", (char *)0); _exit(1); }
  abort();
#endif
}
#ifdef FILTER
static const H5Z_class2_t class = {1, FILTER, 1, 1, "test filter", 0, 0, filter};
int H5PLget_plugin_type(void) { return 0; }
const void *H5PLget_plugin_info(void) { return &class; }
#endif
#if defined CODEC || defined DEFAULTS
#ifndef ID
#define ID "test"
#endif
static int to_hdf5(const char *json, size_t *n, unsigned **cd) {
  const char *at = strstr(json, "\"mask\":");
  if (!at) return -1;
  *n = 1; *cd = malloc(4); **cd = strtoul(at + 7, 0, 10);
#if SAYS == 1
  *n = 4000;
#elif SAYS == 2
  *n = (size_t)-1;
#elif SAYS == 3
  *cd = 0;
#elif SAYS == 4
  *n = 0; *cd = 0;
#elif SAYS == 5
  abort();
#endif
  return 0;
}
static int to_codec(size_t n, const unsigned *cd, char **json) {
  if (n != 1) return -1;
  *json = malloc(100);
  sprintf(*json, "{\"id\":\"" ID "\",\"mask\":%u}", cd[0]);
#if SAYS == 1
  strcpy(*json, "{\"id\":\"" ID "\",");
#elif SAYS == 2
  strcpy(*json, "[\"" ID "\"]");
#elif SAYS == 3
  *json = 0;
#elif SAYS == 4
  strcpy(*json, "{\"id\":\"another\"}");
#elif SAYS == 5
  *json = (char *)8;
  return -7;
#elif SAYS == 6
  strcpy(*json, "\xff\xfe");
#elif SAYS == 7
  **json = 0;
#endif
  return 0;
}
#endif
#ifdef CODEC
#ifndef ONEWAY
static const NCZ_codec_t codec = {1, 1, ID, CODEC, 0, 0, to_hdf5, to_codec, 0};
#elif ONEWAY == 0
static const NCZ_codec_t codec = {1, 1, ID, CODEC, 0, 0, 0, 0, 0};
#elif ONEWAY == 1
static const NCZ_codec_t codec = {1, 1, 0, CODEC, 0, 0, to_hdf5, to_codec, 0};
#endif
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
        # They are loaded only on request, and the environment alone is not a request.
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

    def translated(self, directory, chain, *more):
        return nc3z("filters", "--translate", chain, "--plugin-path", directory, *more)

    def test_parameters_become_json_by_the_codec(self):
        """The seed's writing direction: `NCZ_hdf5_to_codec` of the codec that is paired with the filter."""
        d = self.dir / "plugins"
        self.library(d, "liba.so", FILTER=40001)
        self.library(d, "libc.so", FILTER=40003, CODEC=40003)
        self.library(d, "libd.so", FILTER=40004)
        self.library(d, "libe.so", CODEC=40004, ID='"apart"')
        path, archive, again = self.file(), self.dir / "a.nc3z", self.dir / "b.nc3z"
        for rule, numcodecs, split in (
            ("v=40003,85", [{"id": "test", "mask": 85}], {"filters": None, "compressor": {"id": "test", "mask": 85}}),
            ("v=2|40003,4294967295|32015,3", [{"id": "shuffle", "elementsize": 4}, {"id": "test", "mask": 4294967295}, {"id": "zstd", "level": 3}],
             {"filters": [{"id": "shuffle", "elementsize": 4}, {"id": "test", "mask": 4294967295}], "compressor": {"id": "zstd", "level": 3}}),
            ("v=40004,7", [{"id": "apart", "mask": 7}], {"filters": None, "compressor": {"id": "apart", "mask": 7}}),
        ):
            with self.subTest(rule):
                self.ok(nc3z("archive", "--force", path, "-o", archive, "--chain", rule, "--plugin-path", d))
                said = json.loads(self.ok(nc3z("info", "--json", "--notation", "json", "--plugin-path", d, archive)).stdout)
                [chain] = said["variables"][0]["chains"]
                self.assertEqual((chain["numcodecs"], chain["zarr"], chain.get("why")), (numcodecs, split, None))
                text = self.ok(nc3z("info", "--notation", "json", "--plugin-path", d, archive)).stdout.decode()
                self.assertIn(json.dumps(split, separators=(",", ":"), sort_keys=True), text)
                # And back: the same chain, and the same bytes.
                self.ok(nc3z("archive", "--force", path, "-o", again, "--chain", "v=" + json.dumps(split), "--plugin-path", d))
                stored = [json.loads(self.ok(nc3z("info", "--json", a)).stdout)["variables"][0]["chains"][0]["stages"] for a in (archive, again)]
                self.assertEqual(stored[0], stored[1])
                self.ok(nc3z("restore", "--force", again, "-o", self.dir / "out.nc", "--plugin-path", d))
                self.assertEqual((self.dir / "out.nc").read_bytes(), path.read_bytes())
                # Without the plug-ins there is a reason.
                [chain] = json.loads(self.ok(nc3z("info", "--json", "--notation", "json", archive)).stdout)["variables"][0]["chains"]
                self.assertIsNone(chain["numcodecs"])
                self.assertIn("codec plug-in", chain["why"])
        # A filter without a codec.
        self.ok(nc3z("archive", "--force", path, "-o", archive, "--chain", "v=40001,85", "--plugin-path", d))
        [chain] = json.loads(self.ok(nc3z("info", "--json", "--notation", "json", "--plugin-path", d, archive)).stdout)["variables"][0]["chains"]
        self.assertIn("no codec plug-in translates HDF5 filter 40001", chain["why"])
        # Chains alone, in both directions.
        self.assertEqual(self.ok(self.translated(d, "1,5|40003,9")).stdout, b'[{"id":"zlib","level":5},{"id":"test","mask":9}]\n')
        self.assertEqual(self.ok(self.translated(d, '[{"id":"apart","mask":3}]')).stdout, b"40004,3\n")
        both = json.loads(self.ok(self.translated(d, "40004,3", "--json")).stdout)
        self.assertEqual(both, {"hdf5": "40004,3", "numcodecs": [{"id": "apart", "mask": 3}]})

    def test_codecs_that_misbehave_cost_an_error_each(self):
        for says, to_json, to_hdf5 in (
            (1, "is not JSON", "more than it returned"), (2, 'is not an object with the id "test"', "more than it returned"),
            (3, "returned no JSON", "returned no parameters"), (4, 'is not an object with the id "test"', None), (5, "error -7", "crashed (signal 6)"),
            (6, "is not JSON", None), (7, "is not JSON", None),
        ):
            with self.subTest(says=says):
                d = self.dir / f"says{says}"
                self.library(d, "libbad.so", FILTER=40003, CODEC=40003, SAYS=says)
                done = self.translated(d, "40003,9")
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(to_json, done.stderr)
                self.assertIn("libbad.so", done.stderr)
                if to_hdf5:
                    done = self.translated(d, '[{"id":"test","mask":1}]')
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn(to_hdf5, done.stderr)
        # No parameters at all are an empty list.
        self.assertEqual(self.ok(self.translated(self.dir / "says4", '[{"id":"test","mask":1}]')).stdout, b"40003\n")
        # JSON and counts of parameters that the codec does not take.
        d = self.dir / "good"
        self.library(d, "lib.so", FILTER=40003, CODEC=40003)
        for chain, words in (("40003", "error -1"), ("40003,1,2", "error -1"), ('[{"id":"test"}]', "error -1"), ('[{"id":"test",', "is not JSON"),
                             ('[{"mask":1}]', "id"), ('[{"id":"none"}]', "none")):
            done = self.translated(d, chain)
            self.assertEqual(done.returncode, 1, (chain, done.stderr))
            self.assertIn(words, done.stderr)
        # Nulls: a codec that does not translate, and one without a name.
        self.library(d, "lib.so", FILTER=40003, CODEC=40003, ONEWAY=0)
        self.assertIn("does not translate to JSON", self.translated(d, "40003,9").stderr)
        self.assertIn("does not translate from JSON", self.translated(d, '[{"id":"test","mask":1}]').stderr)
        self.library(d, "lib.so", FILTER=40003, CODEC=40003, ONEWAY=1)
        self.assertEqual(self.rows(d)[0][40003]["usable"], "number")

    def test_a_deep_check_without_the_plugin_is_no_check(self):
        d = self.dir / "plugins"
        self.library(d, "liba.so", FILTER=40001)
        path, archive = self.file(), self.dir / "a.nc3z"
        self.ok(nc3z("archive", path, "-o", archive, "--chain", "v=40001,85", "--plugin-path", d))
        self.assertEqual(nc3z("verify", archive).returncode, 0)
        done = self.ok(nc3z("verify", "--deep", archive, "--plugin-path", d))
        self.assertIn(b"sound", done.stdout)
        done = nc3z("verify", "--deep", archive)
        self.assertEqual(done.returncode, 1, done.stderr)
        said = done.stdout.decode()
        for words in ("NOT CHECKED", "of v", "40001", "not checked as requested", "--plugins"):
            self.assertIn(words, said)
        self.assertNotIn("sound,", said)
        [report] = json.loads(nc3z("verify", "--deep", "--json", archive).stdout)
        self.assertEqual((report["sound"], report["complete"], report["findings"], report["sha256"]), (False, False, [], None))
        [undecoded] = report["not_decoded"]
        self.assertEqual((undecoded["place"]["variable"], undecoded["tiles"]), ("v", report["undecoded_tiles"]))
        self.assertIn("40001", undecoded["why"] + report["not_rebuilt"])
        self.assertTrue(json.loads(nc3z("verify", "--json", archive).stdout)[0]["sound"])
        # Damage takes precedence over data that cannot be checked.
        data = bytearray(archive.read_bytes())
        data[len(data) // 2] ^= 1
        archive.write_bytes(data)
        self.assertEqual(nc3z("verify", "--deep", archive).returncode, 3)

    def test_processes_that_plugins_start_end_with_the_worker(self):
        path = self.file()
        d = self.dir / "fork"
        self.library(d, "libfork.so", FILTER=40009, MODE=12)
        for parameter in (0, 1):
            archive = self.dir / f"{parameter}.nc3z"
            done = nc3z("archive", path, "-o", archive, "--chain", f"*=40009,{parameter}", "--plugin-path", d)
            # No answer of the second process is taken for another request's.
            self.assertIn(done.returncode, (0, 1), done.stderr)
            if done.returncode == 0:
                self.ok(nc3z("restore", archive, "-o", self.dir / f"{parameter}.nc", "--plugin-path", d))
                self.assertEqual((self.dir / f"{parameter}.nc").read_bytes(), path.read_bytes())
        e = self.dir / "exec"
        self.library(e, "libexec.so", FILTER=40009, MODE=14)
        done = nc3z("archive", path, "-o", self.dir / "no.nc3z", "--chain", "v=40009", "--plugin-path", e, timeout=30)
        self.assertIn("crashed (signal 6)", done.stderr)
        self.assertEqual(self.left(), [])

    def left(self):
        """Processes that are left of ours: workers, and the program that a plug-in starts."""
        found = []
        for _ in range(20):
            every = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True).stdout.splitlines()
            found = [line for line in every if "sleep 7777" in line or ("filter-worker" in line and NC3Z in line and self.maps(line))]
            if not found:
                break
            time.sleep(0.1)
        return found

    def maps(self, line):
        """True for a process that has a library of this test open."""
        try:
            return str(self.dir) in pathlib.Path("/proc", line.split()[0], "maps").read_text()
        except OSError:
            return False

    def test_a_plugin_that_hangs_is_interrupted_with_the_tool(self):
        path, d = self.file(), self.dir / "hang"
        self.library(d, "libhang.so", FILTER=40009, MODE=2)
        for sent in (signal.SIGINT, signal.SIGKILL):
            running = start("archive", path, "-o", self.dir / "no.nc3z", "--chain", "v=40009", "--plugin-path", d)
            for _ in range(100):
                every = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True).stdout.splitlines()
                if any("filter-worker" in line and self.maps(line) for line in every):
                    break
                time.sleep(0.1)
            running.send_signal(sent)
            running.communicate(timeout=20)
            self.assertNotEqual(running.returncode, 0)
            self.assertEqual(self.left(), [])

    def test_memory_of_plugins_is_limited(self):
        """A leak within a call is an error; one over many calls costs new processes, and never more than a worker may keep."""
        values = (np.arange(400_000) % 77 + 1).astype(">i4")
        path = self.dir / "v.nc"
        path.write_bytes(header([("v", (0,), 4, values.nbytes)], [("x", values.size)]) + values.tobytes())
        d = self.dir / "leak"
        self.library(d, "libleak.so", FILTER=40009, MODE=13)
        done = nc3z("archive", path, "-o", self.dir / "no.nc3z", "--chain", "v=40009,900", "--plugin-path", d)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertTrue("it refused" in done.stderr or "of memory after a call" in done.stderr, done.stderr)
        done = nc3z("archive", path, "-o", self.dir / "no.nc3z", "--chain", "v=40009,300", "--plugin-path", d)
        self.assertRegex(done.stderr, "it keeps 3[0-9]{2} MiB of memory after a call")
        # 20 calls and more of 60 MiB each: several workers, one after another.
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.ok(nc3z("archive", path, "-o", self.dir / "a.nc3z", "--chain", "v=40009,60", "--layout", "chunked", "--tile", "x=40000", "--threads", "1",
                     "--plugin-path", d))
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        if most > before:
            self.assertLess(most, 450 << 10)

    def test_without_the_plugin_all_else_goes_on(self):
        d = self.dir / "plugins"
        self.library(d, "liba.so", FILTER=40001)
        path, archive = self.file(), self.dir / "a.nc3z"
        done = self.ok(nc3z("archive", path, "-o", archive, "--chain", "v=40001,85", "--plugin-path", d))
        self.assertIn("need", done.stderr)
        for command in (("info",), ("verify",), ("info", "--layout",), ("dump", "-h"), ("read", "w", "--count", "3")):
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

    def test_every_plugin_goes_through_json_and_back(self):
        """Those of hdf5plugin and of netCDF4 together: HDF5's parameters to JSON and back, and tiles by the plug-ins themselves."""
        theirs = package(self, "netCDF4") / "plugins"
        if not list(theirs.glob("*.so")):
            missing(self, "the netCDF4 package has no plug-ins")
        directories = f"{theirs}:{package(self, 'hdf5plugin') / 'plugins'}"
        rows, _ = self.rows(directories)
        paired = {number: row["id"] for number, row in rows.items() if row["usable"] == "number and json"}
        # As HDF5 has the parameters for a chunk of 3000 integers of four bytes; JSON as NumCodecs has it, keys of netCDF-C's own for szip.
        cases = {
            1: ((5,), {"id": "zlib", "level": 5}), 2: ((4,), {"id": "shuffle", "elementsize": 4}), 3: ((), {"id": "fletcher32"}),
            307: ((9,), {"id": "bz2", "level": 9}), 32015: ((3,), {"id": "zstd", "level": 3}),
            32001: ((0, 0, 4, 12000, 5, 1, 1), {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 12000}), 4: ((141, 32), None),
        }
        self.assertEqual(set(paired) - set(cases), set(), "a codec that no case is of")
        self.assertGreaterEqual(len(paired), 5, paired)
        path = self.file()
        for number in paired:
            parameters, expected = cases[number]
            with self.subTest(number=number, id=paired[number]):
                chain = ",".join(map(str, (number, *parameters)))
                said = json.loads(self.ok(self.translated(directories, chain)).stdout)
                if expected:
                    found = {**said[0], **({"level": int(said[0]["level"])} if "level" in said[0] else {})}
                    self.assertEqual({key: found.get(key) for key in expected}, expected)
                self.assertEqual(said[0]["id"], paired[number])
                back = self.ok(self.translated(directories, json.dumps(said))).stdout.decode().strip()
                if number == 32001:
                    # Sizes of elements and chunks are the dataset's: netCDF-C puts them in when it has one.
                    self.assertEqual(back.split(",")[5:], chain.split(",")[5:])
                else:
                    self.assertEqual(back, "2" if number == 2 else chain)
        # Tiles by the plug-ins, also where a filter is built in: the chain names the plug-in's number.
        for number, parameters in {1: [5], 2: [4], 3: [], 307: [9], 32001: [2, 2, 4, 12000, 5, 1, 1], 32004: [0], 32008: [0, 5, 4, 0, 2], 32015: [3],
                                   32026: [0, 0, 4, 0, 5, 1, 5]}.items():
            if number not in rows or not rows[number]["filter"]:
                continue
            with self.subTest(number=number, tiles=True):
                rule = "v=" + json.dumps([{"id": "hdf5", "filter": number, "cd_values": parameters}])
                archive = self.dir / "a.nc3z"
                self.ok(nc3z("archive", "--force", path, "-o", archive, "--chain", rule, "--plugin-path", directories))
                self.ok(nc3z("restore", "--force", archive, "-o", self.dir / "out.nc", "--plugin-path", directories))
                self.assertEqual((self.dir / "out.nc").read_bytes(), path.read_bytes())
                # A checksum alone makes no tile smaller, so that it is stored without.
                if number in paired and number != 3:
                    [chain] = json.loads(self.ok(nc3z("info", "--json", "--notation", "json", "--plugin-path", directories, archive)).stdout)["variables"][0]["chains"]
                    self.assertEqual(chain["numcodecs"][0]["id"], paired[number])

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
