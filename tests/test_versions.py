"""Versions: an edited file is committed, and every version comes back to the byte, whatever the edit was and wherever the process was killed.

NC3Z_CHAINS names a directory of folders with files v00.nc, v01.nc, ...: each folder is committed as a chain, and its size is told."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from common import CLASSIC, NC3Z, ROOT, Case, missing, nc3z, need_program, sha256, start, synthetic, wait_for, without_slots

CHAINS = os.environ.get("NC3Z_CHAINS")
KILLS = int(os.environ.get("NC3Z_KILLS", "12"))
# Edits of coads_climatology.cdf; {p} is the file before, {q} the one after, {o} the first, {t} a temporary one. -h: no clock in the files.
EDITS = [
    "ncatted -O -h -a units,AIRT,m,c,degC {p} {q}",
    "ncatted -O -h -a comment,global,c,c,'A comment that makes the header longer by more than a few bytes' {p} {q}",
    "ncap2 -O -h -s 'SST(2,:,:)=SST(2,:,:)+0.1f' {p} {q}",
    "ncrename -O -h -v AIRT,TAS {p} {q}",
    "ncks -O -h -v SST {o} {t} && ncrename -O -h -v SST,SST2 {t} && cp {p} {q} && ncks -A -h -v SST2 {t} {q}",
    "ncks -O -h -d TIME,0,0 {p} {t} && ncap2 -O -h -s 'TIME=TIME+8766.0;SST=SST+0.3f' {t} {t}2 && ncrcat -O -h {p} {t}2 {q}",
    "ncks -O -h -x -v SST2 {p} {q}",
    "ncap2 -O -h -s 'SST(5,45,30)=1013.25f' {p} {q}",
    "ncks -O -h -6 {p} {q}",
    "cp {o} {q}",
]


def chain(directory, source):
    """The versions that the edits make of a file, one after another."""
    first = directory / "v00.nc"
    subprocess.run(["ncks", "-O", "-h", "-v", "SST,AIRT", "-d", "COADSX,0,59", str(source), str(first)], check=True)
    files = [first]
    for n, edit in enumerate(EDITS, 1):
        after = directory / f"v{n:02}.nc"
        names = {"p": files[-1], "q": after, "o": first, "t": directory / "t.nc"}
        subprocess.run(edit.format(**names), shell=True, check=True, capture_output=True, cwd=directory)
        files.append(after)
    return files


def setUpModule():
    global SHARED, FILES, ARCHIVE
    SHARED = Path(tempfile.mkdtemp(prefix="nc3z-test-"))
    unittest.addModuleCleanup(shutil.rmtree, SHARED, ignore_errors=True)
    if not shutil.which("ncks") or not shutil.which("ncap2"):
        return
    FILES = chain(SHARED, CLASSIC / "coads_climatology.cdf")
    ARCHIVE = SHARED / "chain.nc3z"
    subprocess.run([NC3Z, "archive", FILES[0], "-o", ARCHIVE], check=True, capture_output=True)
    for n, file in enumerate(FILES[1:], 2):
        subprocess.run([NC3Z, "commit", ARCHIVE, file, "-m", f"edit {n}"], check=True, capture_output=True)


class Versions(Case):
    def setUp(self):
        super().setUp()
        need_program(self, "ncks")
        self.archive = Path(shutil.copy2(ARCHIVE, self.dir / "a.nc3z"))

    def holds(self, version, file, archive=None):
        out = self.dir / "restored.nc"
        self.ok(nc3z("restore", "--force", archive or self.archive, "--version", version, "-o", out))
        self.assertEqual(sha256(out), sha256(file), f"version {version}")

    def log(self, archive=None, *more):
        done = self.ok(nc3z("log", "--json", archive or self.archive, *more))
        return json.loads(done.stdout)["versions"]

    def test_a_header_with_room_costs_little(self):
        """The gap behind the header grows from some bytes to thousands, and so does the padding of records; tiles of a byte each would cost hundreds of kilobytes."""
        import netCDF4
        import numpy as np

        need_program(self, "ncks")
        source, roomy = self.dir / "small.nc", self.dir / "roomy.nc"
        with netCDF4.Dataset(source, "w", format="NETCDF3_CLASSIC") as d:
            d.createDimension("time", None)
            d.createDimension("n", 3)
            d.createVariable("flag", "i1", ("time", "n"))[:] = np.ones((2, 3))
            d.createVariable("x", "f4", ("time",))[:] = [1, 2]
        archive = self.dir / "small.nc3z"
        self.ok(nc3z("archive", source, "-o", archive))
        before = archive.stat().st_size
        subprocess.run(["ncks", "-h", "-O", "--hdr_pad=20000", source, roomy], check=True)
        with netCDF4.Dataset(roomy, "a") as d:
            d["x"][2:4000] = np.arange(2, 4000)
            d["flag"][2:4000] = np.ones((3998, 3))
        self.ok(nc3z("commit", archive, roomy))
        self.assertLess(archive.stat().st_size - before, 8000)
        self.ok(nc3z("restore", "-f", archive, "-o", self.dir / "back.nc"))
        self.assertEqual(sha256(self.dir / "back.nc"), sha256(roomy))
        self.ok(nc3z("verify", "--deep", archive))

    def test_every_version_comes_back(self):
        for number, file in enumerate(FILES, 1):
            self.holds(number, file)
        self.ok(nc3z("verify", "--deep", self.archive))
        listed = self.log()
        self.assertEqual([v["version"] for v in listed], list(range(len(FILES), 0, -1)))
        self.assertEqual([v["sha256"] for v in listed], [sha256(f) for f in reversed(FILES)])
        self.assertEqual([v["message"] for v in listed], [f"edit {n}" for n in range(len(FILES), 1, -1)] + [None])
        self.assertEqual([v["original_bytes"] for v in listed], [f.stat().st_size for f in reversed(FILES)])
        self.assertEqual(sum(v["added_bytes"] for v in listed), self.archive.stat().st_size)
        self.assertEqual([v["version"] for v in self.log(None, "-n", "3")], list(range(len(FILES), len(FILES) - 3, -1)))
        # Attributes, renames, dropped variables, and a return to the first file: nothing of the data is stored again.
        for version in (2, 3, 5, 8, 11):
            self.assertLess(listed[len(FILES) - version]["added_bytes"], 4000, f"version {version}")

    def test_a_dropped_variable_that_comes_back_is_not_stored_again(self):
        """With its values, and with one that differs; also after its versions were dropped, and after a repair."""
        ncks, ncap2 = ["ncks", "-O", "-h"], ["ncap2", "-O", "-h", "-s"]
        files = [self.dir / f"v{n}.nc" for n in range(6)]
        edits = [
            [*ncks, "-x", "-v", "AIRT", FILES[0], files[1]],
            ["ncatted", "-O", "-h", "-a", "comment,global,o,c,without", files[1], files[2]],
            ["ncks", "-A", "-h", "-v", "AIRT", FILES[0], files[3]],
            [*ncks, "-x", "-v", "AIRT", files[3], files[4]],
            [*ncap2, "AIRT(3,4,5)=17.25f", files[3], files[5]],
        ]
        archive = self.dir / "b.nc3z"
        shutil.copy2(FILES[0], files[0])
        self.ok(nc3z("archive", files[0], "-o", archive))
        whole, added = archive.stat().st_size, []
        for n, edit in enumerate(edits, 1):
            if n == 3:
                shutil.copy2(files[2], files[3])
            subprocess.run([str(x) for x in edit], check=True, capture_output=True)
            before = archive.stat().st_size
            self.ok(nc3z("commit", archive, files[n]))
            added.append(archive.stat().st_size - before)
        self.assertGreater(whole, 100_000)
        self.assertLess(max(added), 4000, added)
        for n, file in enumerate(files, 1):
            self.holds(n, file, archive)
        self.ok(nc3z("verify", "--deep", "--all-versions", archive))
        mended = self.dir / "mended.nc3z"
        self.ok(nc3z("prune", archive, "-o", mended, "--keep", "3,5"))
        for n in (3, 5, 6):
            self.holds(n, files[n - 1], mended)
        # The newest trailer is damaged: the newest version is rebuilt by its commit block.
        raw = bytearray(archive.read_bytes())
        raw[-1] ^= 1
        archive.write_bytes(raw)
        done = nc3z("repair", "-f", archive, "-o", mended)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"6 versions saved, 0 lost; the newest is whole", done.stdout)
        self.ok(nc3z("verify", "--deep", mended))
        out = self.dir / "newest.nc"
        self.ok(nc3z("restore", mended, "-o", out))
        self.assertEqual(sha256(out), sha256(files[5]))

    def test_the_reference_reader_reads_every_version(self):
        """It opens the last trailer: older versions are those of the archive as it was."""
        sys.path.insert(0, str(ROOT / "spec" / "reference"))
        try:
            import nc3z_ref
        except ImportError as e:
            missing(self, f"the reference reader needs {e.name}")
        raw = self.archive.read_bytes()
        ends = sorted({len(raw) - sum(v["added_bytes"] for v in self.log()[:n]) for n in range(len(FILES))})
        differences = 0
        for end, file in zip(ends, FILES):
            opened = nc3z_ref.Archive(without_slots(raw[:end]))
            out = bytearray(opened.trailer.original_length)
            opened.restore(out)
            self.assertTrue(bytes(out) == file.read_bytes(), file.name)
            differences = sum(chain[:1] == [{"id": "nc3z.base"}] for chain in opened.chains)
        self.assertGreaterEqual(differences, 1, "chains that code against an older tile")

    def test_all_commands_that_read_take_a_version(self):
        for number in (1, 3, 7):
            named, file = f"{self.archive}@{number}", FILES[number - 1]
            def same(*args, named=named, file=file):
                of_archive, of_file = (self.ok(nc3z(*(x if a is None else a for a in args))) for x in (named, file))
                self.assertEqual(of_archive.stdout, of_file.stdout, args)
            same("dump", "-n", "x", None)
            same("read", None, "SST", "-d", "TIME,2")
            self.assertEqual(json.loads(self.ok(nc3z("info", "--json", named)).stdout)["version"], number)
            self.assertEqual(json.loads(self.ok(nc3z("info", "--layout", "--json", named)).stdout)["kind"], "archive")
            self.ok(nc3z("read", "--explain", named, "SST"))
            digests = [self.ok(nc3z("hash", x)).stdout.split()[0] for x in (named, file)]
            self.assertEqual(*digests)
            outputs = []
            for x in (named, file):
                outputs.append(self.dir / f"{len(outputs)}.nc")
                self.ok(nc3z("subset", "--force", "--no-history", x, "-v", "SST", "-o", outputs[-1]))
            self.assertEqual(*map(sha256, outputs))
            self.ok(nc3z("restore", "--force", named, "-o", self.dir / "r.nc"))
            self.assertEqual(sha256(self.dir / "r.nc"), sha256(file))
            self.assertEqual(self.log(named)[0]["version"], number)

    def test_digests_of_every_version(self):
        lines = self.ok(nc3z("hash", "--all-versions", self.archive)).stdout.decode().splitlines()
        expected = []
        for number, file in enumerate(FILES, 1):
            for line in self.ok(nc3z("hash", file)).stdout.decode().splitlines():
                line = line.replace(str(file), f"{self.archive}@{number}")
                expected.append(line.replace("SHA256 (", "SHA256-ORIGINAL ("))
        self.assertEqual(lines, expected)
        contents = [line.split(" = ")[1] for line in lines if line.startswith("NC3Z1-CONTENT")]
        # The last one is the first again.
        self.assertEqual((len(contents), contents[-1], len(set(contents))), (len(FILES), contents[0], len(FILES) - 1))
        listed = self.dir / "digests"
        listed.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        self.ok(nc3z("hash", "--check", listed))
        recorded = self.ok(nc3z("hash", "--recorded", "--all-versions", self.archive)).stdout.decode()
        self.assertEqual(recorded.count("SHA256-ORIGINAL"), len(FILES))
        self.assertEqual(len(json.loads(self.ok(nc3z("hash", "--json", "--all-versions", self.archive)).stdout)), len(FILES))

    def test_names_of_versions(self):
        self.fails(nc3z("restore", self.archive, "--version", 99, "-o", self.dir / "r.nc"), 1, "no version 99; the archive has 1 to 11")
        self.fails(nc3z("restore", f"{self.archive}@none", "-o", self.dir / "r.nc"), 1, "no tag `none`")
        # Without a name for it, an older version is not written; a version is given once.
        for args in ((f"{self.archive}@3",), (self.archive, "--version", 3), (f"{self.archive}@3", "-o", f"{self.dir}/")):
            done = self.fails(nc3z("restore", *args), 1, "name the output file with -o")
            self.assertNotIn("does not end in .nc3z", done.stderr)
        for version in (2, 3, "good"):
            self.fails(nc3z("restore", f"{self.archive}@3", "--version", version, "-o", self.dir / "r.nc"), 2, "a.nc3z@3. names a version, and so does --version")
        self.fails(nc3z("info", f"{FILES[0]}@1"), 1, "only archives have versions")
        self.assertEqual(nc3z("restore", self.archive, "--version", "a b", "-o", self.dir / "r.nc").returncode, 2)
        # A file of the whole name is meant first.
        other = Path(shutil.copy2(self.archive, self.dir / "a.nc3z@1"))
        self.assertEqual(json.loads(self.ok(nc3z("info", "--json", other)).stdout)["version"], len(FILES))
        self.assertFalse((self.dir / "r.nc").exists())

    def test_an_archive_in_the_short_form_has_its_own_length_and_is_pruned_to_itself(self):
        small, archive = self.dir / "small.nc", self.dir / "small.nc3z"
        shutil.copy(CLASSIC / "all_types_cdf1.nc", small)
        self.ok(nc3z("archive", small, "-o", archive))
        whole = archive.read_bytes()
        listed = json.loads(self.ok(nc3z("log", "--json", archive)).stdout)
        self.assertEqual([version["added_bytes"] for version in listed["versions"]], [len(whole)])
        self.ok(nc3z("prune", "--in-place", archive))
        self.assertEqual(archive.read_bytes(), whole)

    def test_a_refused_tag_leaves_a_short_archive_as_it_is(self):
        archive = self.dir / "short.nc3z"
        self.ok(nc3z("archive", CLASSIC / "all_types_cdf1.nc", "-o", archive))
        before = archive.read_bytes()
        self.fails(nc3z("tag", "--delete", archive, "none"), 1, "no tag `none`")
        self.fails(nc3z("tag", archive, "far", "--version", 9), 1, "9")
        self.assertEqual(archive.read_bytes(), before)

    def test_tags(self):
        before = self.archive.read_bytes()
        self.ok(nc3z("tag", self.archive, "good", "--version", 3))
        self.ok(nc3z("tag", self.archive, "newest"))
        self.assertEqual(without_slots(self.archive.read_bytes())[:len(before)], without_slots(before))
        self.assertEqual(self.ok(nc3z("tag", self.archive)).stdout, b"good\t3\nnewest\t11\n")
        self.holds("good", FILES[2])
        self.holds("newest", FILES[-1])
        self.assertEqual([(v["version"], v["tags"]) for v in self.log() if v["tags"]], [(11, ["newest"]), (3, ["good"])])
        self.fails(nc3z("tag", self.archive, "good", "--version", 4), 1, "names version 3 already.*--move-tag")
        self.ok(nc3z("tag", self.archive, "good", "--version", 4, "--move-tag"))
        self.holds("good", FILES[3])
        self.ok(nc3z("tag", "--delete", self.archive, "good"))
        self.fails(nc3z("tag", "--delete", self.archive, "good"), 1, "no tag")
        for bad in ("1", "latest", "a..b", "a b"):
            self.fails(nc3z("tag", self.archive, bad), 1, "invalid tag")
        # Later commits keep the tags, and tags do not use up version numbers.
        self.ok(nc3z("commit", self.archive, FILES[1]))
        self.holds("newest", FILES[10])
        self.assertEqual(self.log()[0]["version"], 12)
        self.ok(nc3z("verify", "--deep", self.archive))

    def test_notes_are_kept_as_given_and_nothing_else(self):
        args = ("-m", "two\nlines é", "--author", "A. Nobody", "--date", "yesterday")
        twin = Path(shutil.copy2(self.archive, self.dir / "b.nc3z"))
        for archive in (self.archive, twin):
            self.ok(nc3z("commit", archive, FILES[4], *args))
        self.assertEqual(sha256(self.archive), sha256(twin))
        newest = self.log()[0]
        self.assertEqual([newest[k] for k in ("message", "author", "time")][1:], ["A. Nobody", "yesterday"])
        self.assertIn(b"two", self.ok(nc3z("log", "-n", 1, self.archive)).stdout)
        self.fails(nc3z("commit", self.archive, FILES[5], "--author", "x" * 70_000), 1, "author.*70000 bytes")

    def test_a_file_that_is_there_already_is_not_added(self):
        before = self.archive.read_bytes()
        done = self.ok(nc3z("commit", self.archive, FILES[-1]))
        self.assertIn("version 11 already", done.stderr)
        self.assertEqual(self.archive.read_bytes(), before)

    def test_a_file_is_there_already_only_if_its_version_is_whole(self):
        """The recorded digest does not say so, and the file may be the only copy."""
        for options in ((), ("--quick",)):
            archive, file = self.dir / f"b{len(options)}.nc3z", self.dir / "b.nc"
            self.ok(nc3z("archive", "-q", "--preset", "fast", CLASSIC / "coads_climatology.cdf", "-o", archive))
            self.ok(nc3z("set", "-q", *options, archive, "SST", "-d", "TIME,3", "=7"))
            self.ok(nc3z("restore", "-q", "--force", archive, "-o", file))
            self.assertIn("version 2 already", self.ok(nc3z("commit", archive, file)).stderr)
            raw = bytearray(archive.read_bytes())
            raw[len(raw) // 2] ^= 0xFF
            archive.write_bytes(raw)
            self.fails(nc3z("restore", archive, "-o", self.dir / "no.nc"), 3, "corrupt variable")
            with self.subTest(options=options):
                done = self.fails(nc3z("commit", archive, file), 3, f"{archive.name}.*corrupt variable.*nc3z repair")
                self.assertNotIn("already", done.stderr)
                self.assertEqual(archive.read_bytes(), raw)

    def test_a_cut_file_is_committed_with_a_warning(self):
        archive, cut = self.dir / "b.nc3z", self.dir / "cut.nc"
        self.ok(nc3z("archive", "-q", "--preset", "fast", CLASSIC / "coads_climatology.cdf", "-o", archive))
        cut.write_bytes((CLASSIC / "coads_climatology.cdf").read_bytes()[:-300_000])
        warnings = lambda done: [line for line in done.stderr.splitlines() if "warning" in line]
        expected = warnings(self.ok(nc3z("archive", cut, "-o", self.dir / "cut.nc3z")))
        self.assertRegex(expected[0], "cut.nc: variable `SPEH`: the file holds 184200 of 194400 elements")
        for words, args in (("version 2, ", ("--dry-run",)), ("version 2, ", ()), ("version 2 already", ())):
            done = self.ok(nc3z("commit", archive, cut, *args))
            self.assertIn(words, done.stderr)
            self.assertEqual(warnings(done), expected)
        self.holds(2, cut, archive)
        self.assertNotIn("warning", self.ok(nc3z("commit", archive, CLASSIC / "coads_climatology.cdf")).stderr)

    def test_revert(self):
        self.ok(nc3z("revert", self.archive, 4))
        self.holds(12, FILES[3])
        self.assertEqual(self.log()[0]["message"], "version 4 again")
        self.assertLess(self.log()[0]["added_bytes"], 4000)
        self.assertEqual(self.names(), ["a.nc3z", "restored.nc"])

    def test_what_is_no_classic_file_is_refused_and_the_archive_is_as_it_was(self):
        before = self.archive.read_bytes()
        bad = self.dir / "bad.nc"
        bad.write_bytes(b"no file")
        self.fails(nc3z("commit", self.archive, bad), 1, "bad.nc|not a classic")
        self.fails(nc3z("commit", self.archive, self.dir / "missing.nc"), 1, "missing.nc")
        self.fails(nc3z("commit", FILES[0], FILES[1]), 1)
        self.assertEqual(self.archive.read_bytes(), before)

    def test_a_damaged_end_is_no_older_version(self):
        raw = bytearray(self.archive.read_bytes())
        raw[-60] ^= 1
        self.archive.write_bytes(raw)
        self.fails(nc3z("restore", self.archive, "-o", self.dir / "r.nc"), 3, "the end of version 11 is damaged")
        self.fails(nc3z("log", self.archive), 3)
        self.fails(nc3z("restore", f"{self.archive}@good", "-o", self.dir / "r.nc"), 3)
        # By its number a version is what it is.
        self.holds(4, FILES[3])

    def test_the_version_before_a_damaged_header_is_read_if_older_ones_are_asked_for(self):
        source, archive, back = FILES[0], self.dir / "h.nc3z", self.dir / "r.nc"
        self.ok(nc3z("archive", "-q", source, "-o", archive))
        self.ok(nc3z("attr", "-q", archive, ":note=first"))
        self.ok(nc3z("restore", "-q", archive, "-o", self.dir / "second.nc"))
        before = archive.stat().st_size
        self.ok(nc3z("attr", "-q", archive, ":note=a longer second one"))
        raw = bytearray(archive.read_bytes())
        raw[before + 45] ^= 1
        archive.write_bytes(raw)
        self.fails(nc3z("restore", archive, "-o", back), 3)
        self.ok(nc3z("restore", "-q", "--older", archive, "-o", back))
        self.assertEqual(back.read_bytes(), (self.dir / "second.nc").read_bytes())
        # A version that is named is never replaced by another.
        self.fails(nc3z("restore", f"{archive}@3", "-o", back, "--force"), 3)

    def test_killed_at_any_call(self):
        """The old state or the new one, distinguished only by the newest version; and the next commit works."""
        need_program(self, "cc")
        shim = self.dir / "faults.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", shim, Path(__file__).with_name("faults.c")], check=True)
        work = self.dir / "work"
        work.mkdir()
        archive, edited = work / "a.nc3z", self.dir / "edited.nc"
        shutil.copy2(FILES[5], edited)
        args = ("commit", "--threads", "1", archive, edited)

        def run(fault):
            shutil.copy2(self.archive, archive)
            log = self.dir / "calls.log"
            env = dict(os.environ, LD_PRELOAD=str(shim), NC3Z_FAULT=fault, NC3Z_FAULT_DIR=str(work), NC3Z_FAULT_LOG=str(log))
            done = nc3z(*args, env=env)
            counts = dict(line.split() for line in log.read_text().splitlines()) if log.exists() else {}
            return done, {k: int(n) for k, n in counts.items()}

        done, counts = run("none 0 0")
        self.ok(done)
        goal = archive.read_bytes()
        self.assertTrue(counts["write"] > 2 and counts["sync"] >= 2, counts)
        seen, tried = set(), 0
        for op in ("write", "sync", "cut"):
            every = range(1, counts[op] + 1)
            picked = every if counts[op] <= KILLS else sorted({*every[:KILLS // 2], *every[-(KILLS - KILLS // 2):]})
            for n in picked:
                for what in ("kill", "28", "-28"):
                    done, _ = run(f"{op} {n} {what}")
                    self.assertIn(done.returncode, (-9,) if what == "kill" else (1, -9), f"{op} {n} {what}: {done.stderr}")
                    tried += 1
                    with self.subTest(op=op, n=n, what=what):
                        newest = json.loads(self.ok(nc3z("info", "--json", archive)).stdout)
                        self.assertIn(newest["version"], (11, 12))
                        seen.add(newest["version"])
                        file = FILES[10] if newest["version"] == 11 else edited
                        self.assertEqual(newest["sha256"], sha256(file))
                        self.ok(nc3z("restore", "--force", archive, "-o", self.dir / "r.nc"))
                        self.assertEqual(sha256(self.dir / "r.nc"), sha256(file))
                        if newest["version"] == 11:
                            self.ok(nc3z("commit", "--threads", "1", archive, edited))
                            self.assertTrue(archive.read_bytes() == goal)
        self.assertIn(11, seen)
        print(f"\ncommit: killed {tried} times at {counts}", flush=True)

    def test_two_writers(self):
        """One of two commits runs at a time; the other reports that, or runs after it."""
        first, second = (start("commit", self.archive, FILES[n]) for n in (2, 5))
        results = [(p.wait(60), p.stderr.read().decode()) for p in (first, second)]
        for process in (first, second):
            process.stderr.close()
        for code, words in results:
            self.assertTrue(code == 0 or (code == 1 and "being changed by another process" in words), (code, words))
        done = sum(code == 0 for code, _ in results)
        self.assertGreaterEqual(done, 1)
        self.assertEqual(self.log()[0]["version"], 11 + done)
        self.ok(nc3z("verify", "--deep", self.archive))

    def test_verify_beside_a_writer(self):
        """The bytes that another process is adding are not damage. Without that process they are an unfinished commit."""
        archive, first, second = self.dir / "big.nc3z", synthetic(self.dir / "1.nc", 8, 1), synthetic(self.dir / "2.nc", 8, 2)
        self.ok(nc3z("archive", "-q", "--preset", "fast", first, "-o", archive))
        before = archive.read_bytes()
        process = start("commit", "-q", archive, second)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertTrue(wait_for(lambda: archive.stat().st_size > len(before) or process.poll() is not None, 120))
        process.send_signal(signal.SIGSTOP)
        self.assertIsNone(process.poll(), "the commit ended before it was stopped")
        for options in ((), ("--deep",), ("--all-versions",)):
            with self.subTest(options=options):
                done = self.ok(nc3z("verify", *options, archive))
                self.assertIn(b"sound; another process is adding a version, which was not checked", done.stdout)
                self.assertNotRegex(done.stdout, b"damaged|did not finish|foreign")
        (report,) = json.loads(self.ok(nc3z("verify", "--json", archive)).stdout)
        self.assertEqual((report["sound"], report["being_changed"]), (True, True))
        self.ok(nc3z("verify", "-r", self.dir))
        # Damage of what was there is damage.
        held = archive.read_bytes()
        with open(archive, "r+b") as f:
            f.seek(len(before) // 2)
            f.write(bytes(b ^ 0xFF for b in before[len(before) // 2:][:8]))
        self.assertEqual(nc3z("verify", archive).returncode, 3)
        with open(archive, "r+b") as f:
            f.seek(len(before) // 2)
            f.write(before[len(before) // 2:][:8])
        self.assertEqual(archive.read_bytes(), held)
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(120), 0)
        (report,) = json.loads(self.ok(nc3z("verify", "--deep", "--json", archive)).stdout)
        self.assertTrue(report["sound"] and "being_changed" not in report)
        # The same bytes, and no process that adds them.
        archive.write_bytes(held)
        done = nc3z("verify", archive)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stdout, b"did not finish|foreign")

    def test_parity_and_repair_know_versions(self):
        self.ok(nc3z("parity", "add", self.archive))
        self.assertEqual(self.log()[0]["version"], 11)
        self.holds(3, FILES[2])
        self.ok(nc3z("commit", self.archive, FILES[2]))
        self.holds(12, FILES[2])
        self.holds(11, FILES[10])
        done = self.ok(nc3z("verify", self.archive))
        self.ok(nc3z("repair", self.archive, "-o", self.dir / "repaired.nc3z"))
        self.ok(nc3z("restore", self.dir / "repaired.nc3z", "-o", self.dir / "r.nc"))
        self.assertEqual(sha256(self.dir / "r.nc"), sha256(FILES[2]), done.stdout)
        self.fails(nc3z("recompress", self.archive), 1, "--drop-history")


class Chains(Case):
    """Chains of real edits, if they are available."""

    def test_chains(self):
        if not CHAINS:
            self.skipTest("NC3Z_CHAINS names no directory")
        total = 0
        for folder in sorted(Path(CHAINS).iterdir()):
            files = sorted(folder.glob("v*.nc"))
            if not files:
                continue
            archive = self.dir / f"{folder.name}.nc3z"
            self.ok(nc3z("archive", files[0], "-o", archive))
            added = [archive.stat().st_size]
            for file in files[1:]:
                self.ok(nc3z("commit", archive, file))
                added.append(archive.stat().st_size - sum(added))
            for number, file in enumerate(files, 1):
                self.ok(nc3z("restore", "--force", archive, "--version", number, "-o", self.dir / "r.nc"))
                self.assertEqual(sha256(self.dir / "r.nc"), sha256(file), (folder.name, number))
            self.ok(nc3z("verify", "--deep", archive))
            total += archive.stat().st_size
            print(f"\n{folder.name}: {archive.stat().st_size} bytes: {added}", flush=True)
        print(f"\nall chains: {total}", flush=True)


if __name__ == "__main__":
    unittest.main()
