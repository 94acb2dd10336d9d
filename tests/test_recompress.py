"""`nc3z recompress`: another archive of the same bytes, or the old one untouched."""

import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

from common import (CLASSIC, NIGHT, ROOT, Case, Moments, finish, good_files, interrupt, kills, nc3z, sha256, start, synthetic, tell_kills,
                    wait_for, without_slots)

sys.path.insert(0, str(ROOT / "spec/reference"))
import nc3z_ref  # noqa: E402

SEED = 20_261_121
SMALL = 2 << 20


def info(path):
    return json.loads(nc3z("info", "--json", path).stdout)


class Exact(Case):
    def test_every_file_through_every_preset_and_tile_length(self):
        """From one kind of archive to the next, and the original out of the last."""
        steps = (("--preset", "fast"), ("--preset", "max", "--tile-size", "64KiB"), ("--tile-size", "1000"), ())
        files = self.need([p for p in good_files() if p.stat().st_size <= SMALL], "classic files")
        # By day, every third.
        for path in files if NIGHT else files[::3]:
            with self.subTest(path.name):
                archive, back = self.dir / "a.nc3z", self.dir / "back"
                self.ok(nc3z("archive", "--force", path, "-o", archive))
                content = json.loads(nc3z("hash", "--json", archive).stdout)[0]["content"]
                for step in steps:
                    self.ok(nc3z("recompress", *step, archive))
                    self.assertEqual(json.loads(nc3z("hash", "--json", archive).stdout)[0]["content"], content)
                self.ok(nc3z("verify", archive, "--against", path))
                self.ok(nc3z("restore", "--force", archive, "-o", back))
                self.assertEqual(sha256(back), sha256(path))
                self.assertEqual(self.names(), ["a.nc3z", "back"])

    def test_same_blocks_as_from_the_original(self):
        """A recompressed archive differs from a new one only in the metadata: all bytes before the sections are equal."""
        for name in ("numeric.nc", "record_padding.nc", "etopo120.cdf", "streaming_partial.nc", "overlapping.nc"):
            with self.subTest(name):
                fresh, again = self.dir / "fresh.nc3z", self.dir / "again.nc3z"
                self.ok(nc3z("archive", "--force", "--preset", "max", CLASSIC / name, "-o", fresh))
                self.ok(nc3z("archive", "--force", "--preset", "fast", CLASSIC / name, "-o", again))
                self.ok(nc3z("recompress", "--preset", "max", again))
                if fresh.read_bytes()[9]:                                    # the short form: blocks of what it stands for
                    blocks = [[r for r in json.loads(self.ok(nc3z("info", "--layout", "--json", path)).stdout)["regions"] if r["kind"] == "block"]
                              for path in (fresh, again)]
                    self.assertEqual(*blocks)
                    continue
                fresh, again = without_slots(fresh.read_bytes()), without_slots(again.read_bytes())
                end = struct.unpack("<Q", fresh[-80:-72])[0]
                self.assertEqual(end, struct.unpack("<Q", again[-80:-72])[0])
                self.assertEqual(fresh[:end], again[:end])

    def test_edited_archives(self):
        """The newest version of an archive whose header or values were edited, or that holds several files, as an archive of one."""
        edits = {
            "attribute": [("attr", "A", ":edited=yes")],
            "values": [("set", "A", "hundredths", "=7")],
            "name": [("rename", "A", "--variable", "hundredths,other")],
            "all": [("attr", "A", ":edited=yes"), ("set", "A", "hundredths", "=7"), ("rename", "A", "--variable", "hundredths,other"), ("parity", "add", "A")],
            "file": [("commit", "--allow-unrelated", "A", CLASSIC / "smooth.nc", "-m", "another")],
        }
        for name, steps in edits.items():
            with self.subTest(name):
                archive, new = self.dir / "a.nc3z", self.dir / "new.nc3z"
                self.ok(nc3z("archive", "--force", CLASSIC / "numeric.nc", "-o", archive))
                self.ok(nc3z("tag", archive, "first"))
                for step in steps:
                    self.ok(nc3z(*(archive if word == "A" else word for word in step)))
                self.ok(nc3z("tag", archive, "good"))
                wanted = json.loads(self.ok(nc3z("hash", "--json", archive)).stdout)
                newest = json.loads(self.ok(nc3z("log", "--json", archive)).stdout)["versions"][0]["version"]
                self.fails(nc3z("recompress", archive), 1, "--drop-history")
                self.ok(nc3z("recompress", "--force", "--preset", "max", archive, "-o", new))
                self.ok(nc3z("recompress", "--drop-history", "--preset", "fast", archive))
                for path in (archive, new):
                    self.ok(nc3z("verify", "--deep", path))
                    found = json.loads(self.ok(nc3z("hash", "--json", path)).stdout)
                    self.assertEqual(found[0]["content"], wanted[0]["content"])
                    # Its number stays, and so do the tags that name it; no older version is there, nor looked for.
                    self.assertEqual([v["version"] for v in json.loads(self.ok(nc3z("log", "--json", path)).stdout)["versions"]], [newest])
                    self.ok(nc3z("info", f"{path}@good"))
                    self.fails(nc3z("info", f"{path}@first"), 1, "first")
                    self.fails(nc3z("info", f"{path}@1"), 1, "1")
                    # And it can be edited again.
                    self.ok(nc3z("attr", path, ":again=yes"))
                    self.ok(nc3z("verify", "--deep", path))

    def layouts(self, archive):
        return {v["name"]: v["layout"] for v in json.loads(self.ok(nc3z("info", "--json", archive)).stdout)["variables"]}

    def test_to_chunks_and_back(self):
        for name in ("coads_climatology.cdf", "record_padding.nc", "numeric.nc", "overlapping.nc", "truncated_fixed.nc"):
            with self.subTest(name):
                archive = self.dir / "a.nc3z"
                self.ok(nc3z("archive", "--force", CLASSIC / name, "-o", archive))
                content = json.loads(nc3z("hash", "--json", archive).stdout)[0]["content"]
                for step in (("--layout", "chunked"), ("--layout", "series", "--edge", "pad"), ("--layout", "map", "--preset", "max"), (), ("--layout", "linear")):
                    before = self.layouts(archive)
                    self.ok(nc3z("recompress", *step, archive))
                    self.assertEqual(json.loads(nc3z("hash", "--json", archive).stdout)[0]["content"], content)
                    self.ok(nc3z("verify", "--deep", archive, "--against", CLASSIC / name))
                    kinds = {layout["kind"] for layout in self.layouts(archive).values()}
                    if step == ():
                        # Chunks stay; how long linear tiles are is the preset's.
                        self.assertEqual({n: l for n, l in self.layouts(archive).items() if l["kind"] == "chunked"},
                                         {n: l for n, l in before.items() if l["kind"] == "chunked"})
                    elif step[1] == "linear":
                        self.assertEqual(kinds, {"linear"})
                    elif name == "coads_climatology.cdf":
                        self.assertIn("chunked", kinds)
        # Named alone: the others stay as they are.
        self.ok(nc3z("archive", "--force", "--layout", "map", "--edge", "pad", CLASSIC / "coads_climatology.cdf", "-o", archive))
        before = self.layouts(archive)
        self.assertEqual(before["SLP"], {"kind": "chunked", "edge": "pad", "shape": [1, 90, 180]})
        self.ok(nc3z("recompress", "--tile", "SST:TIME=3", archive))
        after = self.layouts(archive)
        self.assertEqual(after.pop("SST"), {"kind": "chunked", "edge": "clip", "shape": [3, 90, 180]})
        del before["SST"]
        self.assertEqual(after, before)
        self.fails(nc3z("recompress", "--tile", "nosuch=3", archive), 1, "nosuch")

    def test_lossy_archives_stay_lossy(self):
        """The rounded file must be restored; every step keeps the record of the rounding."""
        archive, back = self.dir / "a.nc3z", self.dir / "back"
        for name, rules in (("numeric.nc", ("tenths=bitround:9", "noise=granularbr:3")), ("coads_climatology.cdf", ("SST=bitgroom:4",))):
            with self.subTest(name):
                flags = [f for rule in rules for f in ("--quantize", rule)]
                self.ok(nc3z("archive", "--force", *flags, CLASSIC / name, "-o", archive))
                self.ok(nc3z("restore", "--force", archive, "-o", back))
                rounded, loss = sha256(back), info(archive)["quantization"]
                self.assertNotEqual(rounded, sha256(CLASSIC / name))
                self.assertEqual(loss["source_sha256"], sha256(CLASSIC / name))
                for step in (("--preset", "fast"), ("--layout", "chunked", "--parity", "1%"), ("--chain", '*=[{"id":"shuffle"},{"id":"zstd","level":3}]', "--parity", "0"), ()):
                    self.ok(nc3z("recompress", *step, archive))
                    row = info(archive)
                    self.assertEqual((row["lossy"], row["quantization"], row["sha256"]), (True, loss, rounded))
                    self.assertIn("LOSSY", self.ok(nc3z("verify", "--deep", archive)).stdout.decode())
                    done = self.ok(nc3z("restore", "--force", archive, "-o", back))
                    self.assertIn("LOSSY", done.stderr)
                    self.assertEqual(sha256(back), rounded)
                    # Each block says so too: without trailer and metadata, a repair still knows.
                    raw = archive.read_bytes()
                    (self.dir / "cut.nc3z").write_bytes(raw[:nc3z_ref.Archive(raw).trailer.blocks_end])
                    self.assertIn(nc3z("repair", "--force", self.dir / "cut.nc3z", "-o", self.dir / "mended.nc3z").returncode, (0, 3))
                    self.assertTrue(info(self.dir / "mended.nc3z")["lossy"])

    def test_chains(self):
        """The requested chain encodes every tile that is not constant; the original's bytes stay the same."""
        archive = self.dir / "a.nc3z"
        for name in ("numeric.nc", "record_padding.nc", "etopo120.cdf"):
            with self.subTest(name):
                self.ok(nc3z("archive", "--force", CLASSIC / name, "-o", archive))
                for filters, codec in ((["shuffle"], {"id": "zlib", "level": 6}), (["bitshuffle"], {"id": "lz4", "acceleration": 1}),
                                       ([], {"id": "zstd", "level": 19}), (["shuffle"], {"id": "gzip", "level": 9})):
                    chain = [*({"id": f} for f in filters), codec]
                    self.ok(nc3z("recompress", "--chain", f"*={json.dumps(chain)}", archive))
                    self.ok(nc3z("verify", "--deep", archive, "--against", CLASSIC / name))
                    row = info(archive)
                    self.assertEqual(json.loads(row["options"]["chain *"]), chain)
                    self.assertNotIn("chain *", row["lineage"][0]["options"])
                    # Small pieces may be stored as they are.
                    used = [[s["id"] for s in c["stages"]] for v in row["variables"] for c in v["chains"]]
                    self.assertTrue(all(u in ([], [*filters, codec["id"]]) for u in used), used)
                    reference = nc3z_ref.Archive(archive.read_bytes())
                    made = bytearray(reference.length)
                    reference.restore(made)
                    self.assertTrue(made == (CLASSIC / name).read_bytes())
                # And back to chosen ones.
                self.ok(nc3z("recompress", archive))
                self.assertNotIn("chain *", info(archive)["options"])
        before = archive.read_bytes()
        for bad in ('*=[{"id":"nosuch"}]', 'nosuch=[{"id":"zstd","level":3}]', '*=[{"id":"zstd","level":3},{"id":"packbits"}]'):
            self.assertIn(nc3z("recompress", "--chain", bad, archive).returncode, (1, 2))
            self.assertTrue(archive.read_bytes() == before)

    def test_parity_is_carried_over_and_said(self):
        source = synthetic(self.dir / "s.nc", 4)
        archive = self.dir / "a.nc3z"
        self.ok(nc3z("archive", "--parity", "2%", source, "-o", archive))
        steps = (((), "parity of 2% as before", True), (("--parity", "5%"), r"parity of 5% \(it had 2%\)", True),
                 (("--parity", "0"), "without the parity of 5%", False), ((), "SHA-256 as recorded$", False),
                 (("--parity", "1"), "parity of 1% added", True))
        for options, words, has in steps:
            with self.subTest(options):
                done = self.ok(nc3z("recompress", "--preset", "fast", *options, archive))
                self.assertRegex(done.stderr.strip(), words)
                self.assertEqual(json.loads(nc3z("parity", "info", "--json", archive).stdout)[0]["parity"], has)
                self.ok(nc3z("verify", archive, "--against", source))
        # A repair that loses tiles keeps it too, and so does a repair by parity.
        raw = bytearray(archive.read_bytes())
        raw[300_000:800_000] = bytes(500_000)
        (self.dir / "bad.nc3z").write_bytes(raw)
        for options, words, has in (((), "parity of 1% as before", True), (("--parity", "0"), "without the parity of 1%", False)):
            done = nc3z("repair", "--force", *options, self.dir / "bad.nc3z", "-o", self.dir / "good.nc3z")
            self.assertEqual(done.returncode, 3)
            self.assertRegex(done.stdout.decode(), words)
            self.assertEqual(json.loads(nc3z("parity", "info", "--json", self.dir / "good.nc3z").stdout)[0]["parity"], has)
            self.ok(nc3z("verify", self.dir / "good.nc3z"))
        raw = bytearray(archive.read_bytes())
        raw[5000] ^= 1
        (self.dir / "bad.nc3z").write_bytes(raw)
        for options, words, has in (((), "and its parity", True), (("--parity", "0"), "was removed", False), (("--parity", "3%"), "now of 3%", True)):
            done = self.ok(nc3z("repair", "--force", *options, self.dir / "bad.nc3z", "-o", self.dir / "good.nc3z"))
            self.assertIn(words, done.stdout.decode())
            self.assertEqual(json.loads(nc3z("parity", "info", "--json", self.dir / "good.nc3z").stdout)[0]["parity"], has)
            self.ok(nc3z("verify", self.dir / "good.nc3z", "--against", source))

    def test_threads_and_memory_do_not_matter(self):
        source = synthetic(self.dir / "s.nc", 8)
        self.ok(nc3z("archive", source))
        outputs = []
        for options in (("--threads", "1"), ("--threads", "4", "--memory", "40MiB")):
            self.ok(nc3z("recompress", "--preset", "fast", *options, "s.nc.nc3z", "-o", f"{len(outputs)}.nc3z", cwd=self.dir))
            outputs.append((self.dir / f"{len(outputs)}.nc3z").read_bytes())
        self.assertEqual(outputs[0], outputs[1])

    def test_archives_of_other_writers(self):
        """Raw heads, late chains, chunks and missing digests, as the reference producer makes them."""
        make = [sys.executable, ROOT / "spec/reference/make_test_archive.py"]
        kinds = ((["--chunk", "padded", "--tile", "400"], "verified, SHA-256 as recorded"),
                 (["--digest", "0"], "none was"), (["--digest", "2"], "it was stale"))
        for name in ("record_padding.nc", "all_types_cdf5.nc", "numeric.nc"):
            for options, words in kinds:
                with self.subTest(name, options=options):
                    archive = self.dir / "made.nc3z"
                    subprocess.run([*make, CLASSIC / name, "-o", archive, *options], check=True, capture_output=True)
                    self.assertIn(words, self.ok(nc3z("recompress", archive)).stderr)
                    self.ok(nc3z("verify", archive, "--against", CLASSIC / name))
                    row = info(archive)
                    self.assertEqual((row["digest_state"], row["sha256"]), ("valid", sha256(CLASSIC / name)))


class Files(Case):
    def setUp(self):
        super().setUp()
        self.source = shutil.copy(CLASSIC / "numeric.nc", self.dir)
        self.archive = self.dir / "numeric.nc.nc3z"
        self.ok(nc3z("archive", "--preset", "fast", "--remove-source", self.source))

    def test_mode_and_time_are_kept(self):
        os.chmod(self.archive, 0o640)
        os.utime(self.archive, (1_000_000_000, 1_000_000_000))
        inode = self.archive.stat().st_ino
        self.ok(nc3z("recompress", self.archive))
        now = self.archive.stat()
        self.assertNotEqual(now.st_ino, inode)
        self.assertEqual((now.st_mode & 0o777, now.st_mtime), (0o640, 1_000_000_000))
        self.ok(nc3z("recompress", self.archive, "-o", self.dir / "other"))
        self.assertEqual((self.dir / "other").stat().st_mtime, 1_000_000_000)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_owner_is_kept(self):
        os.chown(self.archive, 1234, 2345)
        self.ok(nc3z("recompress", self.archive))
        self.assertEqual((self.archive.stat().st_uid, self.archive.stat().st_gid), (1234, 2345))

    def test_link_stays_a_link(self):
        (self.dir / "sub").mkdir()
        os.rename(self.archive, self.dir / "sub/real.nc3z")
        self.archive.symlink_to("sub/real.nc3z")
        before = sha256(self.archive)
        self.ok(nc3z("recompress", "--preset", "max", self.archive))
        self.assertTrue(self.archive.is_symlink())
        self.assertNotEqual(sha256(self.dir / "sub/real.nc3z"), before)
        self.assertEqual(self.names(self.dir / "sub"), ["real.nc3z"])

    def test_terms(self):
        before = self.archive.read_bytes()
        done = self.ok(nc3z("recompress", "--dry-run", "--preset", "max", self.archive))
        self.assertIn("nothing was written", done.stderr)
        done = self.ok(nc3z("recompress", "--dry-run", self.archive, "-o", self.dir / "no/such/x"))
        self.assertEqual((self.archive.read_bytes(), self.names()), (before, ["numeric.nc.nc3z"]))
        done = self.ok(nc3z("recompress", "--if-smaller", "--tile-size", "64", self.archive))
        self.assertIn("the old one is kept", done.stderr)
        self.assertEqual((self.archive.read_bytes(), self.names()), (before, ["numeric.nc.nc3z"]))
        self.ok(nc3z("recompress", "--if-smaller", "--preset", "max", self.archive))
        self.assertLess(self.archive.stat().st_size, len(before))

    def test_outputs(self):
        before = self.archive.read_bytes()
        (self.dir / "precious").write_bytes(b"precious")
        self.fails(nc3z("recompress", self.archive, "-o", self.dir / "precious"), 1, "exists")
        self.assertEqual((self.dir / "precious").read_bytes(), b"precious")
        self.ok(nc3z("recompress", "--force", self.archive, "-o", self.dir / "precious"))
        self.fails(nc3z("recompress", "--force", self.archive, "-o", self.archive), 1, "same file")
        self.fails(nc3z("recompress", "-", stdin=subprocess.DEVNULL), 1, "files on both sides")
        self.fails(nc3z("recompress", CLASSIC / "numeric.nc", "-o", self.dir / "x"))
        self.assertEqual(self.archive.read_bytes(), before)
        self.assertEqual(self.names(), ["numeric.nc.nc3z", "precious"])

    def test_tree(self):
        (self.dir / "tree/sub").mkdir(parents=True)
        for name in ("a.nc3z", "sub/b.nc3z", "sub/broken.nc3z"):
            shutil.copy(self.archive, self.dir / "tree" / name)
        os.truncate(self.dir / "tree/sub/broken.nc3z", 700)
        (self.dir / "tree/sub/notes.txt").write_text("left alone")
        done = self.fails(nc3z("recompress", "-r", "tree", cwd=self.dir), 3)
        self.assertEqual(done.stderr.splitlines()[-2:], ["nc3z: 1 of 3 archives failed:", "  tree/sub/broken.nc3z"])
        for name in ("a.nc3z", "sub/b.nc3z"):
            self.assertEqual(len(info(self.dir / "tree" / name)["lineage"]), 1)
        self.assertEqual((self.dir / "tree/sub/broken.nc3z").stat().st_size, 700)

    def test_lineage(self):
        digests = []
        for preset in ("default", "max"):
            digests.append((self.archive.stat().st_size, sha256(self.archive)))
            self.ok(nc3z("recompress", "--preset", preset, self.archive))
        row = info(self.archive)
        self.assertEqual([(e["archive_bytes"], e["archive_sha256"]) for e in row["lineage"]], digests)
        self.assertEqual([e["options"]["preset"] for e in row["lineage"]], ["fast", "default"])
        self.assertEqual(row["options"]["preset"], "max")
        words = self.ok(nc3z("info", self.archive)).stdout.decode()
        self.assertEqual(words.count("came from"), 2)
        self.assertNotIn("numeric", json.dumps(row["lineage"]))

    def test_what_else_the_metadata_say_is_kept(self):
        make = [sys.executable, ROOT / "spec/reference/make_test_archive.py", CLASSIC / "numeric.nc", "-o", self.archive]
        extra = {"note": {"a": [1, "x"]}, "writer": "another", "lineage": [{"writer": "the first"}]}
        subprocess.run([*make, "--metadata", json.dumps(extra)], check=True)
        self.ok(nc3z("recompress", self.archive))
        metadata = nc3z_ref.Archive(self.archive.read_bytes()).metadata
        self.assertEqual(metadata["note"], {"a": [1, "x"]})
        self.assertRegex(metadata["writer"], "^nc3z ")
        self.assertEqual([e["writer"] for e in metadata["lineage"]], ["the first", "another"])

    def test_torn_tail(self):
        whole = self.archive.read_bytes()
        self.archive.write_bytes(whole + bytes(8) + b"\xb1NCb a commit that did not finish")
        self.fails(nc3z("recompress", self.archive), 1, "behind its last trailer.*--drop-history")
        done = self.ok(nc3z("recompress", self.archive, "-o", self.dir / "clean.nc3z"))
        self.assertIn("not kept", done.stderr)
        self.ok(nc3z("verify", self.dir / "clean.nc3z", "--against", CLASSIC / "numeric.nc"))
        self.ok(nc3z("recompress", "--drop-history", self.archive))
        self.ok(nc3z("verify", self.archive, "--against", CLASSIC / "numeric.nc"))


class Faults(Case):
    """In every case the archive with this name is complete, and no other file is left."""

    def setUp(self):
        super().setUp()
        source = synthetic(self.dir / "s.nc", 12 if NIGHT else 6)
        self.digest = sha256(source)
        self.archive = self.dir / "s.nc.nc3z"
        self.ok(nc3z("archive", "--preset", "fast", "--remove-source", source))
        self.before = self.archive.read_bytes()

    def test_damaged_archives_stay_as_they_are(self):
        pick = random.Random(SEED)
        for _ in range(20):
            bad = bytearray(self.before)
            at = pick.randrange(160, len(bad) - 128)
            bad[at] ^= 1 << pick.randrange(8)
            self.archive.write_bytes(bad)
            with self.subTest(at=at):
                done = nc3z("recompress", self.archive)
                if done.returncode == 0:
                    # A spare copy or an unused byte was hit.
                    self.ok(nc3z("restore", self.archive, "-o", self.dir / "back"))
                    self.assertEqual(sha256(self.dir / "back"), self.digest)
                    (self.dir / "back").unlink()
                else:
                    self.fails(done, 3)
                    self.assertEqual(self.archive.read_bytes(), bytes(bad))
                self.assertEqual(self.names(), ["s.nc.nc3z"])

    def test_wrong_digest_on_record(self):
        """Sound tiles of another file: every checksum holds, but the record says that they are not the original."""
        import zlib

        raw = bytearray(without_slots(self.before))
        offset = len(raw) - 128
        raw[offset + 80] ^= 1
        raw[offset + 120:offset + 124] = struct.pack("<I", zlib.crc32(raw[16:24] + struct.pack("<Q", offset) + raw[offset:offset + 120]))
        self.archive.write_bytes(raw)
        self.fails(nc3z("recompress", self.archive), 3, "SHA-256|digest")
        self.assertEqual((self.archive.read_bytes(), self.names()), (bytes(raw), ["s.nc.nc3z"]))

    def test_interrupted(self):
        for trial in range(5 if NIGHT else 3):
            process = start("recompress", "--preset", "max", self.archive)
            self.assertTrue(wait_for(lambda: len(self.names()) > 1 or process.poll() is not None))
            time.sleep(0.02 * trial)
            interrupt(process)
            code, err = finish(process)
            self.assertEqual(code, 130, err)
            self.assertEqual((self.archive.read_bytes(), self.names()), (self.before, ["s.nc.nc3z"]))

    def test_killed(self):
        begin = time.monotonic()
        self.ok(nc3z("recompress", "--preset", "default", self.archive))
        moments = Moments(SEED + 1, time.monotonic() - begin)
        goal = self.archive.read_bytes()
        killed, runs = 0, kills(6)
        for trial in range(runs):
            self.archive.write_bytes(self.before)
            process = start("recompress", "--preset", "default", self.archive)
            code = moments.kill(process)
            killed += code == -signal.SIGKILL
            with self.subTest(trial=trial, code=code):
                now = self.archive.read_bytes()
                self.assertTrue(now in (self.before, goal), "neither the old archive nor the new one")
                if code == 0:
                    self.assertTrue(now == goal)
            for name in self.names():
                if name != "s.nc.nc3z":
                    self.assertTrue(name.startswith(".") and name.endswith(".nc3z-tmp"), name)
                    (self.dir / name).unlink()
        self.assertGreater(killed, runs // 4, "the test killed too late")
        tell_kills("recompress", killed, runs)
        self.ok(nc3z("restore", self.archive, "-o", self.dir / "back"))
        self.assertEqual(sha256(self.dir / "back"), self.digest)

    def test_changed_meanwhile(self):
        """Bytes are appended while it is read: the archive that grew is not replaced."""
        process = start("recompress", "--preset", "max", self.archive)
        self.assertTrue(wait_for(lambda: len(self.names()) > 1))
        with open(self.archive, "ab") as f:
            f.write(b"an appended generation")
        code, err = finish(process)
        self.assertEqual(code, 1, err)
        self.assertRegex(err, "changed")
        self.assertEqual((self.archive.read_bytes(), self.names()), (self.before + b"an appended generation", ["s.nc.nc3z"]))

    def test_replaced_meanwhile(self):
        other = self.dir / "other"
        other.write_bytes(b"something else")
        process = start("recompress", "--preset", "max", self.archive)
        self.assertTrue(wait_for(lambda: len(self.names()) > 2))
        os.replace(other, self.archive)
        code, err = finish(process)
        self.assertEqual(code, 1, err)
        self.assertEqual((self.archive.read_bytes(), self.names()), (b"something else", ["s.nc.nc3z"]))


if __name__ == "__main__":
    unittest.main()
