"""Bundles that are damaged, cut, forged, killed while they grow, or made of files that change: no older state, no other bytes, and no
lost file with success. Every cut and every bit: `libs/nc3z-collections/src/pack/tests.rs`."""

import json
import os
import shutil
import subprocess
import sys
import threading
import unittest
import zipfile
from pathlib import Path

import numpy as np
from common import ROOT, Case, nc3z
from servers import serve
from test_inject import chosen

REFERENCE = ROOT / "spec/reference/nc3z_bundle.py"
STEP = 1 if os.environ.get("NC3Z_EXHAUSTIVE") else 61


def classic(n, values=40):
    """A classic file with a title and some floats."""
    title = f"file {n:04}".encode()
    head = b"CDF\1" + bytes(4) + b"\0\0\0\x0a\0\0\0\1\0\0\0\1x\0\0\0" + values.to_bytes(4, "big")
    head += b"\0\0\0\x0c\0\0\0\1\0\0\0\5title\0\0\0\0\0\0\2" + len(title).to_bytes(4, "big") + title + bytes(-len(title) % 4)
    head += b"\0\0\0\x0b\0\0\0\1\0\0\0\1v\0\0\0\0\0\0\1\0\0\0\0" + bytes(8) + b"\0\0\0\5" + (4 * values).to_bytes(4, "big")
    return head + (len(head) + 4).to_bytes(4, "big") + (np.arange(values) + 1000 * n).astype(">f4").tobytes()


class Damage(Case):
    def tree(self, count, first=0, name="data"):
        tree = self.dir / name
        (tree / "sub").mkdir(parents=True)
        for n in range(first, first + count):
            (tree / ("sub" if n % 2 else ".") / f"m{n}.nc").write_bytes(classic(n))
        return tree

    def grown(self):
        """A packed bundle of ten files, and the same one after two were added."""
        bundle = self.dir / "set.bundle.nc3z"
        self.ok(nc3z("bundle", self.tree(10), "-o", bundle, "--pack"))
        before = bundle.read_bytes()
        self.ok(nc3z("bundle", self.tree(2, 10, "more"), "-o", bundle, "--append"))
        return before, bundle.read_bytes()

    def listed(self, bundle):
        done = nc3z("list", "--json", bundle)
        return done.returncode, len(json.loads(done.stdout or b"[]")) if done.returncode == 0 else None

    def restored(self, bundle):
        out = self.dir / "restored"
        shutil.rmtree(out, ignore_errors=True)
        self.ok(nc3z("restore", "-r", bundle, "-o", out))
        return len([path for path in out.rglob("*") if path.is_file()])

    def test_every_command_refuses_a_bundle_without_its_end(self):
        before, after = self.grown()
        cut = self.dir / "cut.bundle.nc3z"
        zeroed = after[:-512] + bytes(512)
        for what, data in (("cut", after[:-1]), ("the old end", after[:len(before)]), ("in the middle", after[:(len(before) + len(after)) // 2]),
                           ("the last sector", zeroed)):
            cut.write_bytes(data)
            out = self.dir / "out"
            for args in (["list", cut], ["restore", "-r", cut, "-o", out], ["bundle", "--extract", cut, "-o", out], ["verify", cut], ["verify", "--deep", cut],
                         ["repair", cut, "-f", "-o", self.dir / "r.bundle.nc3z"], ["catalog", cut, "-o", self.dir / "r.catalog.nc3z"], ["read", f"{cut}!/m0.nc", "v"],
                         ["restore", f"{cut}!/m0.nc", "-o", self.dir / "m0.nc"], ["bundle", self.dir / "more", "-o", cut, "--append"]):
                with self.subTest(what, args=args[0]):
                    done = nc3z(*args)
                    self.assertEqual(done.returncode, 3, (done.stdout, done.stderr))
            self.assertEqual(subprocess.run([sys.executable, REFERENCE, "list", cut], capture_output=True).returncode, 3)
            self.assertEqual(cut.read_bytes(), data)
            self.assertFalse(out.exists() or (self.dir / "m0.nc").exists())
            with serve({"set.bundle.nc3z": data}) as server:
                self.assertEqual(self.listed(server.url("set.bundle.nc3z"))[0], 3, what)

    def test_any_cut_of_the_added_part_is_refused(self):
        before, after = self.grown()
        cut = self.dir / "cut.bundle.nc3z"
        for length in [*range(len(before), len(after), STEP), len(after) - 1]:
            cut.write_bytes(after[:length])
            self.assertEqual(self.listed(cut), (3, None), length)

    def test_a_grown_bundle_is_repaired_without_its_superblock(self):
        _, after = self.grown()
        hurt, good = self.dir / "hurt.bundle.nc3z", self.dir / "good.bundle.nc3z"
        for data in (after[:20] + bytes([after[20] ^ 1]) + after[21:], bytes(112) + after[112:]):
            hurt.write_bytes(data)
            self.assertIn(b"2 versions saved, 0 lost", self.ok(nc3z("repair", hurt, "-f", "-o", good)).stdout)
            self.assertEqual(self.restored(good), 12)
            self.assertEqual({path.read_bytes() for path in (self.dir / "restored").rglob("*.nc")}, {classic(n) for n in range(12)})

    def test_members_are_compared_with_their_checksums_on_every_way_out(self):
        tree = self.tree(3)
        (tree / "notes.txt").write_text("Some notes of no consequence.")
        bundle, hurt = self.dir / "set.bundle.nc3z", self.dir / "hurt.bundle.nc3z"
        self.ok(nc3z("bundle", tree, tree / "notes.txt", "-o", bundle))
        data = bundle.read_bytes()
        for name, content in (("m0.nc", (tree / "m0.nc").read_bytes()), ("notes.txt", (tree / "notes.txt").read_bytes())):
            at = data.index(content) + len(content) - 5
            hurt.write_bytes(data[:at] + bytes([data[at] ^ 8]) + data[at + 1:])
            for command in (["restore", "-r"], ["bundle", "--extract"]):
                out = self.dir / f"out{command[0]}{name}"
                done = self.fails(nc3z(*command, hurt, "-o", out), 3, "CRC-32")
                self.assertIn(f"{name}", done.stderr)
                self.assertEqual(len([p for p in out.rglob("*") if p.is_file()]), 3)
                self.assertFalse((out / name).exists())
            self.fails(nc3z("restore", f"{hurt}!/{name}", "-o", self.dir / "one"), 3, "CRC-32")
            self.assertFalse((self.dir / "one").exists())
            self.fails(nc3z("restore", f"{hurt}!/{name}", "-o", "-"), 3, "CRC-32")
            self.assertEqual(self.ok(nc3z("restore", f"{bundle}!/{name}", "-o", "-")).stdout, content)
        # An archive whose first bytes are damaged is not a file of another kind.
        self.ok(nc3z("archive", tree / "m0.nc", "-o", self.dir / "z.nc.nc3z"))
        self.ok(nc3z("bundle", self.dir / "z.nc.nc3z", "-f", "-o", bundle))
        data = bytearray(bundle.read_bytes())
        data[data.index(b"\x89NC3Z", 1)] ^= 1
        hurt.write_bytes(data)
        self.fails(nc3z("restore", "-r", hurt, "-o", self.dir / "out"), 3)

    def test_packed_members_go_to_standard_output(self):
        tree, bundle = self.tree(4), self.dir / "set.bundle.nc3z"
        self.ok(nc3z("bundle", tree, "-o", bundle, "--pack"))
        done = self.ok(nc3z("restore", f"{bundle}!/m0.nc", f"{bundle}!/sub/m1.nc", "-o", "-"))
        self.assertEqual(done.stdout, (tree / "m0.nc").read_bytes() + (tree / "sub/m1.nc").read_bytes())

    def test_names_are_decided_before_anything_is_written(self):
        tree = self.tree(1)
        self.ok(nc3z("archive", tree / "m0.nc"))
        bundle = self.dir / "set.bundle.nc3z"
        for order in ([tree], [tree / "m0.nc", tree / "m0.nc.nc3z"], [tree / "m0.nc.nc3z", tree / "m0.nc"]):
            self.fails(nc3z("bundle", *order, "-o", bundle, "--pack"), 1, "two members would be called `m0.nc.nc3z`")
            self.assertFalse(bundle.exists())
        # Without --pack the bundle has both. `restore -r` would write both to one name, and refuses.
        self.ok(nc3z("bundle", tree, "-o", bundle))
        self.fails(nc3z("restore", "-r", bundle, "-f", "-o", self.dir / "out"), 1, "m0.nc.nc3z")
        self.assertFalse((self.dir / "out").exists())
        self.ok(nc3z("bundle", "--extract", bundle, "-o", self.dir / "out"))

    def test_a_file_that_changes_while_it_is_read_is_refused(self):
        """Or it comes out as one of its states, never as a mixture."""
        tree = self.dir / "data"
        tree.mkdir()
        states = [classic(n, 200_000) for n in (1, 2)]
        files = [tree / f"c{n}.nc" for n in range(3)]
        for file in files:
            file.write_bytes(states[0])
        stop = threading.Event()

        def rewrite():
            while not stop.is_set():
                for state in states:
                    for file in files:
                        with open(file, "r+b", buffering=0) as out:
                            out.write(state)

        writer = threading.Thread(target=rewrite)
        writer.start()
        try:
            for number in range(3):
                for how in ([], ["--pack"]):
                    bundle, out = self.dir / f"{number}{len(how)}.bundle.nc3z", self.dir / f"out{number}{len(how)}"
                    done = nc3z("bundle", tree, "-o", bundle, *how)
                    if done.returncode == 0:
                        self.ok(nc3z("restore", "-r", bundle, "-o", out))
                        for file in out.iterdir():
                            self.assertTrue(file.read_bytes() in states, f"{file.name} is a mixture")
                    else:
                        self.fails(done, 1, "changed while it was read")
                        self.assertFalse(bundle.exists())
        finally:
            stop.set()
            writer.join()

    def test_a_run_that_is_killed_at_any_call_leaves_the_bundle(self):
        """Also while a ZIP or another bundle is added."""
        if not shutil.which("cc"):
            self.skipTest("no C compiler")
        shim = self.dir / "faults.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", shim, Path(__file__).with_name("faults.c")], check=True)
        before, _ = self.grown()
        inner = self.dir / "more/inner.bundle.nc3z"
        self.ok(nc3z("bundle", self.dir / "data/m0.nc", "-o", inner))
        with zipfile.ZipFile(self.dir / "more/other.zip", "w") as other:
            other.writestr("x.txt", "text")
        place = self.dir / "place"
        place.mkdir()
        bundle = place / "set.bundle.nc3z"
        for files in ([self.dir / "more"], [inner], [self.dir / "more/other.zip"], [self.dir / "more", inner]):
            total = 10 + (2 if files[0].is_dir() else 0) + sum(not f.is_dir() for f in files)

            def run(fault, files=files):
                bundle.write_bytes(before)
                env = dict(os.environ, LD_PRELOAD=str(shim), NC3Z_FAULT=fault, NC3Z_FAULT_DIR=str(place), NC3Z_FAULT_LOG=str(self.dir / "log"))
                return nc3z("bundle", *files, "-o", bundle, "--append", "--threads", 1, env=env)

            self.ok(run("none 0 0"))
            counts = {name: int(n) for name, n in (line.split() for line in (self.dir / "log").read_text().splitlines())}
            for op in ("write", "sync", "cut"):
                for n in chosen(counts.get(op, 0)):
                    self.assertNotEqual(run(f"{op} {n} kill").returncode, 0)
                    count = self.restored(bundle)
                    self.assertIn(count, (10, total), (files, op, n))
                    verified = nc3z("verify", bundle)
                    # As of any archive: the rest of a commit that did not finish is a finding.
                    if verified.returncode:
                        self.fails(verified, 3)
                        self.assertIn(b"a commit that did not finish", verified.stdout)
                        self.assertIn(b"The archive is whole", verified.stdout)
                    self.assertEqual(subprocess.run([sys.executable, REFERENCE, "list", bundle], capture_output=True).stdout.count(b"\n"), count)
                    if count == 10:
                        self.ok(nc3z("bundle", *files, "-o", bundle, "--append"))
                        self.assertEqual(self.restored(bundle), total)

    def test_members_have_the_times_and_permissions_of_their_files(self):
        tree = self.tree(3)
        (tree / "notes.txt").write_text("no netCDF file")
        self.ok(nc3z("archive", tree / "m2.nc", "--remove-source"))
        times = {}
        for number, file in enumerate(sorted(path for path in tree.rglob("*") if path.is_file())):
            file.chmod((0o440, 0o600, 0o644, 0o664)[number])
            os.utime(file, ns=(1, 1_234_567_890_123_456_789 + number * 10**15 * (-1) ** number))
            times[file.name] = file.stat()
        more = self.tree(1, 7, "more") / "sub/m7.nc"
        more.chmod(0o400)
        os.utime(more, ns=(1, 987_654_321_000_000_001))
        times[more.name] = more.stat()
        facts = lambda stat: (stat.st_mtime_ns, stat.st_mode & 0o777)
        for options in ([], ["--pack"]):
            bundle = self.dir / "set.bundle.nc3z"
            self.ok(nc3z("bundle", tree, tree / "notes.txt", "-f", "-o", bundle, *options))
            if options:
                self.ok(nc3z("bundle", more, "-o", bundle, "--append"))
            for command in (["restore", "-r"], ["bundle", "--extract"]):
                out = self.dir / f"out{len(options)}{command[0]}"
                self.ok(nc3z(*command, bundle, "-o", out))
                found = [path for path in out.rglob("*") if path.is_file()]
                self.assertEqual(len(found), 5 if options else 4)
                for path in found:
                    known = times.get(path.name) or times.get(path.name.removesuffix(".nc3z")) or times[path.name + ".nc3z"]
                    self.assertEqual(facts(path.stat()), facts(known), (options, command, path))
            for member, like in (("sub/m1.nc", "m1.nc"), ("m2.nc.nc3z" if not options else "m2.nc", "m2.nc.nc3z"), ("notes.txt", "notes.txt")):
                self.ok(nc3z("restore", f"{bundle}!/{member}", "-f", "-o", self.dir / "one"))
                self.assertEqual(facts((self.dir / "one").stat()), facts(times[like]), (options, member))
        # A plain ZIP has them as far as the format can say them.
        bundle = self.dir / "set.zip"
        self.ok(nc3z("bundle", tree, tree / "notes.txt", "-o", bundle, "--zip"))
        with zipfile.ZipFile(bundle) as inside:
            self.assertIsNone(inside.testzip())
            self.assertEqual(inside.getinfo("notes.txt").external_attr >> 16 & 0o777, facts(times["notes.txt"])[1])
        if shutil.which("unzip"):
            subprocess.run(["unzip", "-tq", bundle], check=True, capture_output=True)
        out = self.dir / "outzip"
        self.ok(nc3z("restore", "-r", bundle, "-o", out))
        self.assertEqual((out / "notes.txt").read_bytes(), b"no netCDF file")

    def test_a_zip_that_another_program_changed_is_read_as_it_is(self):
        bundle = self.dir / "set.zip"
        tree = self.tree(3)
        self.ok(nc3z("bundle", tree, "-o", bundle, "--zip"))
        with zipfile.ZipFile(bundle, "a") as out:
            out.writestr("more.nc", classic(9))
        self.assertEqual(self.listed(bundle), (0, 4))
        if shutil.which("zip"):
            subprocess.run(["zip", "-q", "-d", bundle, "more.nc", "m2.nc"], check=True)
            self.assertEqual(self.listed(bundle), (0, 2))


if __name__ == "__main__":
    unittest.main()
