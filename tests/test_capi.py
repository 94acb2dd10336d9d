"""The C library: its header, hostile input, threads, leaks, installed files, and the examples in other languages."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest
import zipfile

import kinds
from common import CLASSIC, NC3Z, ROOT, Case, missing, nc3z
from servers import serve

FOLDERS = [pathlib.Path(NC3Z).resolve().parent / folder for folder in (".", "deps")]
LIBRARY = max((f / "libnc3z.so" for f in FOLDERS if (f / "libnc3z.so").exists()), key=lambda p: p.stat().st_mtime, default=FOLDERS[0] / "libnc3z.so")
INCLUDE = ROOT / "faces/c/include"
HEADER = INCLUDE / "nc3z.h"
SAMPLE = ROOT / "testdata/classic/record_padding.nc"
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
BINDINGS = ROOT / "bindings"

#: Opens names by the C library, and reads variable `a`.
C_READS = r"""
import ctypes, json, sys
lib = ctypes.CDLL(sys.argv[1])
lib.nc3z_last_error.restype = ctypes.c_size_t
lib.nc3z_open.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
def said():
    text = ctypes.create_string_buffer(4000)
    lib.nc3z_last_error(text, ctypes.c_size_t(4000))
    return text.value.decode()
def read(name):
    file, id, rank, type = ctypes.c_void_p(), ctypes.c_uint32(), ctypes.c_uint32(), ctypes.c_int32()
    code = lib.nc3z_open(name.encode(), None, ctypes.byref(file))
    if code:
        return [code, said(), None]
    code = lib.nc3z_variable_id(file, b"a", ctypes.byref(id))
    if code:
        return [code, said(), None]
    assert not lib.nc3z_variable(file, id, None, ctypes.c_size_t(0), None, ctypes.byref(type), ctypes.byref(rank), None)
    count = (ctypes.c_uint64 * rank.value)(*[1] * (rank.value - 1), 3)
    out = (ctypes.c_int64 * 3)()
    code = lib.nc3z_read(file, id, rank, None, count, None, 10, out, ctypes.c_size_t(24))
    found = [code, said() if code else "", list(out)]
    assert not lib.nc3z_close(file)
    return found
def verify(name):
    report = (ctypes.c_int64 * 5)(40)
    code = lib.nc3z_verify(name.encode(), 1, report)
    return [code, said() if code else "", None]
print(json.dumps([read(sys.argv[2]), verify(sys.argv[2])]))
"""

#: Opens the first name, runs the command, and restores to the second, with `force`.
C_RESTORES = r"""
import ctypes, subprocess, sys
lib = ctypes.CDLL(sys.argv[1])
lib.nc3z_restore.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32]
lib.nc3z_open.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
file = ctypes.c_void_p()
assert not lib.nc3z_open(sys.argv[2].encode(), None, ctypes.byref(file))
if sys.argv[4:]:
    subprocess.run(sys.argv[4:], check=True)
print(lib.nc3z_restore(file, sys.argv[3].encode(), 1))
"""

NOT_ARCHIVE = "not an nc3z archive but a classic netCDF file; nc3z_archive makes one of it"
#: What a message says of each kind that is not read.
NAMED = dict.fromkeys(kinds.BUNDLES, r"bundle of \d files?; open one of its files as `.*!/") | {
    "directory": "a directory; open one of the files in it", "hdf5": "HDF5", "text": "this is text", "none": "No such file"}
READ = dict.fromkeys(kinds.ARCHIVES + kinds.CLASSICS + kinds.AGGREGATIONS) | dict.fromkeys(kinds.CATALOGUES, "no variable") | NAMED
VERIFIED = dict.fromkeys(kinds.ARCHIVES + kinds.CATALOGUES) | dict.fromkeys(kinds.CLASSICS + kinds.AGGREGATIONS, NOT_ARCHIVE) | NAMED
# A bundle of nc3z is an archive.
VERIFIED |= dict.fromkeys(kind for kind in kinds.BUNDLES if kind not in ("zip", "tar"))


class Capi(Case):
    def setUp(self):
        super().setUp()
        if not LIBRARY.exists():
            missing(self, f"{LIBRARY} is not built (cargo build -p nc3z-c)")
        # By its soname, as an installed one is found.
        self.lib = self.dir / "lib"
        self.lib.mkdir()
        (self.lib / "libnc3z.so.1").symlink_to(LIBRARY)
        (self.lib / "libnc3z.so").symlink_to(LIBRARY)
        self.env = dict(os.environ, LD_LIBRARY_PATH=str(self.lib))
        self.archive = self.dir / "sample.nc.nc3z"
        self.ok(nc3z("archive", "--quiet", SAMPLE, "-o", self.archive))

    def need(self, *programs):
        for program in programs:
            if shutil.which(program) is None:
                missing(self, f"{program} is not installed")

    def languages(self, *programs):
        """Compilers and interpreters that not every machine has: without them the example is not tested, and that is said."""
        for program in programs:
            if shutil.which(program) is None:
                print(f"\n*** NOT TESTED: {self.id()}: {program} is not installed", file=sys.stderr, flush=True)
                self.skipTest(f"{program} is not installed")

    def compile(self, source, *options, name="program"):
        out = self.dir / name
        command = ["cc", *WARNINGS, "-g", *options, f"-I{INCLUDE}", source, f"-L{self.lib}", "-lnc3z", "-lpthread", "-o", out]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def sanitizer(self):
        """Options of AddressSanitizer, where the compiler has it; it looks for leaks, too."""
        done = subprocess.run(["cc", "-fsanitize=address", "-xc", "-", "-o", self.dir / "probe"], input="int main(void){return 0;}", text=True, capture_output=True)
        if done.returncode:
            missing(self, "the C compiler has no AddressSanitizer")
        return ["-fsanitize=address"]

    def run_program(self, *command, **options):
        return subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=170, **options)

    def test_header_and_library_name_the_same_functions(self):
        self.need("nm")
        text = re.sub(r"/\*.*?\*/", "", HEADER.read_text("utf-8"), flags=re.S)
        declared = set(re.findall(r"\b(nc3z_\w+)\(", text))
        exported = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True).stdout
        exported = {line.split()[-1] for line in exported.splitlines() if " T " in line}
        self.assertEqual(declared, {name for name in exported if name.startswith("nc3z")})
        # And nothing of the C code in it. The crate crc-fast, which object_store uses, exports functions with this beginning.
        self.assertEqual({name for name in exported if not name.startswith(("nc3z", "crc_fast_"))}, set())
        codes = dict(re.findall(r"#define (NC3Z_E\w+) \((-\d+)\)", text))
        self.assertEqual(sorted(map(int, codes.values())), list(range(-len(codes), 0)))
        source = (ROOT / "faces/c/src/code.rs").read_text("utf-8")
        self.assertEqual(codes, {name: number for number, name in re.findall(r'(-\d+) c"(NC3Z_E\w+)"', source)})
        version = re.search(r"#define NC3Z_ABI_VERSION (\d+)", text).group(1)
        self.assertIn(f"const ABI_VERSION: u32 = {version};", source)
        dynamic = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True).stdout
        self.assertIn(f"[libnc3z.so.{version}]", dynamic)

    def test_header_is_c_and_cxx(self):
        self.need("cc")
        for language, standard in (("c", "c99"), ("c++", "c++11")):
            probe = self.dir / f"probe.{language}"
            probe.write_text('#include "nc3z.h"\n#include "nc3z.h"\nint main(void) { nc3z_info info; return info.size = sizeof info, 0; }\n')
            done = subprocess.run(["cc", "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "-fsyntax-only", probe],
                                  capture_output=True, text=True)
            if language == "c++" and done.returncode and "cc1plus" in done.stderr:
                continue
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_hostile_input_gets_codes_and_nothing_leaks(self):
        self.need("cc")
        program = self.compile(ROOT / "tests/capi/hostile.c", *self.sanitizer())
        done = self.run_program(program, self.archive, SAMPLE, self.dir)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.assertGreater(int(done.stdout.split()[0]), 10_000)
        self.assertEqual(done.stderr, "")

    def test_each_kind_of_input_is_read_or_named(self):
        files = kinds.write(self.dir)
        wrong = []
        with serve(files) as server:
            for kind, name in kinds.names(server).items():
                done = subprocess.run([sys.executable, "-c", C_READS, LIBRARY, name], cwd=self.dir, env=self.env, input=files["a.nc.nc3z"],
                                      capture_output=True)
                self.assertEqual(done.returncode, 0, (kind, done.stderr))
                for call, rows, found in zip(("open", "verify"), (READ, VERIFIED), json.loads(done.stdout), strict=True):
                    code, words, values = found
                    is_right = code == 0 and values in (None, kinds.FIRST) if rows[kind] is None else code < 0 and re.search(rows[kind], words)
                    wrong += [] if is_right else [f"{call} of {kind}: {found}; expected {rows[kind]!r}"]
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def calls(self, script, *args):
        """The output of a script above, which runs in the directory of the test."""
        done = subprocess.run([sys.executable, "-c", script, LIBRARY, *args], cwd=self.dir, env=self.env, capture_output=True, text=True, timeout=170)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_an_archive_is_never_restored_onto_itself(self):
        """By its own name and by others, of a member onto the bundle, and after another process put a longer form in its place."""
        self.ok(nc3z("bundle", self.archive, "-o", self.dir / "set.bundle.nc3z"))
        (self.dir / "link.nc3z").symlink_to("sample.nc.nc3z")
        os.link(self.archive, self.dir / "hard.nc3z")
        for name, output in (("sample.nc.nc3z", "sample.nc.nc3z"), ("sample.nc.nc3z", "link.nc3z"), ("sample.nc.nc3z@1", "hard.nc3z"),
                             ("set.bundle.nc3z!/sample.nc.nc3z", "set.bundle.nc3z")):
            with self.subTest(name=name, output=output):
                before = (self.dir / output).read_bytes()
                self.assertEqual(self.calls(C_RESTORES, name, output), -1)
                self.assertTrue((self.dir / output).read_bytes() == before, "it was replaced")
        self.ok(nc3z("archive", "--quiet", CLASSIC / "all_types_cdf2.nc", "-o", self.dir / "short.nc3z"))
        self.assertNotEqual((self.dir / "short.nc3z").read_bytes()[9], 0)
        self.assertEqual(self.calls(C_RESTORES, "short.nc3z", "short.nc3z", NC3Z, "attr", "-q", "short.nc3z", ":title=another"), -1)
        self.assertEqual(len(json.loads(self.ok(nc3z("log", "--json", self.dir / "short.nc3z")).stdout)["versions"]), 2)
        # A file that is not the archive is replaced.
        (self.dir / "other").write_text("other")
        self.assertEqual(self.calls(C_RESTORES, "sample.nc.nc3z", "other"), 0)
        self.assertEqual((self.dir / "other").read_bytes(), SAMPLE.read_bytes())

    def test_a_zip_of_long_archives_is_no_damaged_archive(self):
        """Blocks of an archive are in it, but it has neither superblock nor tail."""
        long = self.dir / "long.nc3z"
        self.ok(nc3z("archive", "--quiet", CLASSIC / "etopo120.cdf", "-o", long))
        self.assertEqual(long.read_bytes()[9], 0)
        with zipfile.ZipFile(self.dir / "set.zip", "w") as z:
            z.write(long, "long.nc3z")
        with tarfile.open(self.dir / "set.tar", "w") as t:
            t.add(long, "long.nc3z")
        for name in ("set.zip", "set.tar"):
            code, words, _ = self.calls(C_READS, name)[1]
            self.assertEqual(code, -13, (name, words))
            self.assertRegex(words, NAMED["zip"], name)

    def test_threads_share_a_handle(self):
        self.need("cc")
        program = self.compile(ROOT / "tests/capi/threads.c", *self.sanitizer())
        done = self.run_program(program, self.archive)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_versions_are_opened_by_number_and_tag(self):
        self.need("cc")
        self.ok(nc3z("attr", self.archive, ":title=second", "-m", "a title"))
        self.ok(nc3z("tag", self.archive, "good"))
        source = self.dir / "versions.c"
        source.write_text(r"""
#include <nc3z.h>
#include <stdio.h>
#include <inttypes.h>
int main(int argc, char **argv) {
    nc3z_file *file;
    nc3z_version_info all[9] = {{.size = sizeof *all}};
    size_t n = 0, len;
    char text[100];
    if (argc != 2 || nc3z_open(argv[1], NULL, &file) || nc3z_versions(file, all, 9, &n)) return 1;
    for (size_t i = 0; i < n; i++) {
        if (nc3z_version_text(file, all[i].number, 0, text, sizeof text, &len)) return 2;
        printf("%" PRIu64 " '%s'\n", all[i].number, text);
    }
    nc3z_close(file);
    const char *tags[] = {NULL, NULL, "good", "bad"};
    for (uint64_t v = 1; v <= 4; v++) {
        nc3z_open_options o = {.size = sizeof o, .version = v < 3 ? v : 0, .tag = tags[v - 1]};
        uint32_t id;
        int32_t code = nc3z_open(argv[1], &o, &file);
        printf("%s %s\n", nc3z_code_name(code), code ? "" : nc3z_code_name(nc3z_attribute_id(file, NC3Z_GLOBAL, "title", &id)));
        nc3z_close(file);
    }
    return 0;
}
""")
        done = self.run_program(self.compile(source), self.archive)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), ["2 'a title'", "1 ''", "NC3Z_OK NC3Z_ENOTFOUND", "NC3Z_OK NC3Z_OK", "NC3Z_OK NC3Z_OK", "NC3Z_EINVALID "])

    def test_what_is_installed_compiles_and_runs(self):
        self.need("cc")
        prefix = self.dir / "prefix"
        script = [ROOT / "scripts/install-c-library.sh", prefix, LIBRARY.parent]
        done = self.run_program(*script)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("include/nc3z.h", "lib/libnc3z.so", "lib/libnc3z.so.1", "lib/pkgconfig/nc3z.pc"):
            self.assertTrue((prefix / name).exists(), name)
        flags = [f"-I{prefix}/include", f"-L{prefix}/lib", "-lnc3z"]
        if shutil.which("pkg-config"):
            out = subprocess.run(["pkg-config", "--cflags", "--libs", "nc3z"], env=dict(os.environ, PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig")),
                                 capture_output=True, text=True, check=True).stdout.split()
            self.assertEqual(sorted(out), sorted(flags))
        subprocess.run(["cc", *WARNINGS, BINDINGS / "c/read.c", *flags, f"-Wl,-rpath,{prefix}/lib", "-o", self.dir / "read"], check=True)
        done = subprocess.run([self.dir / "read", self.archive, "a"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, self.ncdump("a")), done.stderr)
        if (prefix / "lib/libnc3z.a").exists():
            static = ["-Wl,-Bstatic", "-lnc3z", "-Wl,-Bdynamic", "-lpthread", "-ldl", "-lm", "-lgcc_s"]
            subprocess.run(["cc", BINDINGS / "c/read.c", *flags[:2], *static, "-o", self.dir / "static"], check=True)
            done = subprocess.run([self.dir / "static", self.archive, "a"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, self.ncdump("a")), done.stderr)

    def ncdump(self, variable):
        """Returns the output of ncdump for a variable of the original."""
        self.need("ncdump")
        text = subprocess.run(["ncdump", "-v", variable, SAMPLE], capture_output=True, text=True, check=True).stdout
        return re.search(rf"\n {variable} =\n.*?;\n", text, re.S).group(0)

    def floats(self):
        """An archive with a variable of each float type, and their numbers as ncdump prints them."""
        self.need("ncgen", "ncdump")
        text = self.dir / "floats.cdl"
        text.write_text("netcdf floats {dimensions: y = 2; x = 3; variables: float f(y, x); double d(x);\n"
                        "data: f = 0.01172326, -1.5, 3, 1e20, 0.1, 250; d = 0.011723255049482, 1e-300, -7; }\n")
        file, archive = self.dir / "floats.nc", self.dir / "floats.nc.nc3z"
        subprocess.run(["ncgen", "-o", file, text], check=True)
        self.ok(nc3z("archive", "--quiet", file, "-o", archive))
        printed = subprocess.run(["ncdump", file], capture_output=True, text=True, check=True).stdout
        return archive, {name: re.search(rf"\n {name} =([^;]*);", printed).group(1).replace(",", " ").split() for name in "fd"}

    @staticmethod
    def words(printed):
        return printed.split("=", 1)[1].replace(",", " ").replace(";", " ").split()

    def same_numbers(self, *command):
        """A program that writes numbers in its own form."""
        archive, expected = self.floats()
        for name, words in expected.items():
            done = self.run_program(*command, archive, name)
            self.assertEqual(done.returncode, 0, done.stderr)
            for found, word in zip(self.words(done.stdout), words, strict=True):
                self.assertAlmostEqual(float(found) / float(word), 1, delta=1e-6, msg=name)

    def test_c_example(self):
        self.need("cc")
        program = self.compile(BINDINGS / "c/read.c", *self.sanitizer())
        done = self.run_program(program, self.archive, "a")
        self.assertEqual((done.returncode, done.stdout), (0, self.ncdump("a")), done.stderr)
        done = self.run_program(program, self.archive, "none")
        self.assertEqual((done.returncode, done.stderr), (1, 'NC3Z_ENOTFOUND: no variable "none"\n'))
        archive, expected = self.floats()
        for name, words in expected.items():
            done = self.run_program(program, archive, name)
            self.assertEqual((done.returncode, self.words(done.stdout)), (0, words), done.stderr)

    def test_fortran_example(self):
        self.languages("gfortran")
        options = ["-std=f2008", "-Wall", "-Wextra", "-Werror", f"-J{self.dir}"]
        sources = [BINDINGS / "fortran/nc3z.f90", BINDINGS / "fortran/read.f90"]
        subprocess.run(["gfortran", *options, *sources, f"-L{self.lib}", "-lnc3z", "-o", self.dir / "read"], check=True)
        done = self.run_program(self.dir / "read", self.archive, "a")
        self.assertEqual((done.returncode, done.stdout), (0, self.ncdump("a")), done.stderr)
        self.same_numbers(self.dir / "read")

    def test_r_example(self):
        self.languages("R")
        shutil.copy(BINDINGS / "r/nc3z.c", self.dir)
        env = dict(self.env, PKG_CPPFLAGS=f"-I{INCLUDE}", PKG_LIBS=f"-L{self.lib} -lnc3z")
        done = subprocess.run(["R", "CMD", "SHLIB", "nc3z.c"], cwd=self.dir, env=env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_program("Rscript", BINDINGS / "r/read.R", self.dir / "nc3z.so", self.archive, "a")
        self.assertEqual((done.returncode, done.stdout), (0, self.ncdump("a")), done.stderr)
        self.same_numbers("Rscript", BINDINGS / "r/read.R", self.dir / "nc3z.so")

    def test_octave_example(self):
        self.languages("mkoctfile", "octave-cli")
        done = subprocess.run(["mkoctfile", f"-I{INCLUDE}", f"-L{self.lib}", "-lnc3z", "-o", self.dir / "nc3z_read.oct", BINDINGS / "octave/nc3z_read.cc"],
                              env=self.env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_program("octave-cli", "--norc", "--path", self.dir, BINDINGS / "octave/read.m", self.archive, "a")
        self.assertEqual((done.returncode, done.stdout), (0, self.ncdump("a")), done.stderr)
        self.same_numbers("octave-cli", "--norc", "--path", self.dir, BINDINGS / "octave/read.m")


if __name__ == "__main__":
    sys.exit(unittest.main())
