"""Packed bundles: files come back, are read by slices, checked, added to and taken apart; and the plain decoder of the specification
reads them."""

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

import netCDF4
import numpy as np
from bundles import archives, names
from common import NC3Z, ROOT, CLASSIC, nc3z, sha256
from test_aggregate import Aggregation

REFERENCE = ROOT / "spec/reference/nc3z_bundle.py"


def profile(path, n, levels=40):
    """A file of the kind that archive centres have in millions: a header longer than its few values."""
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
        d.title = "Profile of a float"
        d.institution, d.references = "An institute " * 8, "https://example.org/manual " * 4
        d.id = f"{n:07}"
        d.createDimension("level", levels + n % 3)
        d.createDimension("time", None)
        depth = d.createVariable("pressure", "f4", ("level",))
        depth.units, depth.standard_name = "dbar", "sea_water_pressure"
        depth[:] = np.arange(levels + n % 3) * 5
        for name, base in (("temperature", 18.0), ("salinity", 35.0)):
            v = d.createVariable(name, "f4", ("level",), fill_value=99999.0)
            v.long_name, v.units, v.comment = f"measured {name}", "1", "as it was transmitted " * 6
            noise = np.random.default_rng(n).normal(0, 0.3, levels + n % 3)
            v[:] = np.round(base - 0.01 * n - 0.2 * np.arange(levels + n % 3) + noise, 3)
        q = d.createVariable("quality", "i2", ("time",))
        q[:] = np.arange(n % 5)


class Packed(Aggregation):
    def tree(self, count=60, first=0):
        data = self.dir / f"data{first}"
        (data / "sub").mkdir(parents=True)
        for n in range(first, first + count):
            profile(data / ("sub" if n % 2 else ".") / f"p{n:05}.nc", n)
        return data

    def same(self, tree, other):
        names = sorted(p.relative_to(tree) for p in tree.rglob("*") if p.is_file())
        self.assertEqual(names, sorted(p.relative_to(other) for p in other.rglob("*") if p.is_file()))
        for name in names:
            self.assertEqual((tree / name).read_bytes(), (other / name).read_bytes(), name)

    def packed(self, tree, *more, name="set.bundle.nc3z"):
        self.ok(nc3z("bundle", tree, "-o", self.dir / name, "--pack", *more))
        return self.dir / name

    def test_files_come_back_by_the_program_and_by_the_plain_decoder(self):
        tree = self.tree()
        shutil.copy(CLASSIC / "coads_climatology.cdf", tree / "large.nc")
        bundle = self.packed(tree)
        self.assertEqual(bundle.read_bytes(), self.packed(tree, "--threads", "1", name="again.bundle.nc3z").read_bytes())
        out = self.dir / "out"
        self.ok(nc3z("restore", "-r", bundle, "-o", out))
        self.same(tree, out)
        plain = self.dir / "plain"
        subprocess.run([sys.executable, REFERENCE, "restore", bundle, "-o", plain], check=True)
        self.same(tree, plain)

    def test_it_is_smaller_than_members_alone_and_streams(self):
        tree = self.tree(200)
        bundle = self.packed(tree)
        alone = self.dir / "alone"
        self.ok(nc3z("archive", "-r", tree, "-o", alone))
        stream = subprocess.run(f"tar c -C '{tree}' . | xz -9e | wc -c", shell=True, check=True, capture_output=True).stdout
        best = min(sum(p.stat().st_size for p in alone.rglob("*.nc3z")), int(stream))
        self.assertLess(bundle.stat().st_size, 0.75 * best)

    def test_a_grid_in_each_file_is_stored_once(self):
        # Steps of a model: each file has the same grid of 1.4 MB, which does not compress, and little of its own.
        tree = self.dir / "steps"
        tree.mkdir()
        grid = np.random.default_rng(3).normal(size=(2, 300, 300))
        for n in range(12):
            with netCDF4.Dataset(tree / f"step{n:03}.nc", "w", format="NETCDF3_64BIT_OFFSET") as d:
                for name, length in (("time", None), ("two", 2), ("y", 300), ("x", 300)):
                    d.createDimension(name, length)
                d.createVariable("grid", "f8", ("two", "y", "x"))[:] = grid
                d.createVariable("height", "f4", ("time", "x"))[:] = np.full((1, 300), n) + np.arange(300) / 8
        one = self.dir / "one.nc3z"
        self.ok(nc3z("archive", tree / "step000.nc", "-o", one))
        bundle = self.packed(tree)
        self.assertLess(bundle.stat().st_size, one.stat().st_size * 1.05)
        out = self.dir / "out"
        self.ok(nc3z("restore", "-r", bundle, "-o", out))
        self.same(tree, out)
        found = self.ok(nc3z("read", f"{bundle}!/step007.nc", "grid", "-d", "two,1", "-d", "y,5", "-d", "x,9"))
        self.assertEqual(float(found.stdout.split()[-1]), grid[1, 5, 9])

    def test_slices_are_those_of_the_files(self):
        tree = self.tree(30)
        bundle = self.packed(tree)
        files = sorted(tree.rglob("*.nc"))
        rng = random.Random(7)
        for _ in range(60):
            file = rng.choice(files)
            a, b = sorted(rng.sample(range(40), 2))
            slab = [rng.choice(["pressure", "temperature", "salinity"]), "-d", f"level,{a},{b},{rng.randint(1, 3)}"]
            found = self.ok(nc3z("read", f"{bundle}!/{file.relative_to(tree)}", *slab)).stdout
            self.assertEqual(found, self.ok(nc3z("read", file, *slab)).stdout)

    def test_members_are_listed_read_and_verified_by_name(self):
        tree = self.tree(12)
        bundle = self.packed(tree)
        found = json.loads(self.ok(nc3z("list", "--json", bundle)).stdout)
        self.assertEqual(len(found if isinstance(found, list) else found["files"]), 12)
        member = f"{bundle}!/sub/p00003.nc"
        read = self.ok(nc3z("read", member, "temperature", "-d", "level,2")).stdout
        self.assertEqual(read, self.ok(nc3z("read", tree / "sub/p00003.nc", "temperature", "-d", "level,2")).stdout)
        self.ok(nc3z("verify", member))
        self.ok(nc3z("verify", "--deep", bundle))
        self.ok(nc3z("restore", member, "-o", self.dir / "one.nc"))
        self.assertEqual(sha256(self.dir / "one.nc"), sha256(tree / "sub/p00003.nc"))
        refs = nc3z("refs", member, "-o", self.dir / "refs.json")
        self.assertNotEqual(refs.returncode, 0)

    def test_unbundle_writes_archives_and_packs_again(self):
        tree = self.tree(10)
        bundle = self.packed(tree)
        out = self.dir / "out"
        self.ok(nc3z("bundle", "--extract", bundle, "-o", out))
        self.assertEqual(len(list(out.rglob("*.nc.nc3z"))), 10)
        back = self.dir / "back"
        self.ok(nc3z("restore", "-r", out, "-o", back))
        self.same(tree, back)
        # Archives are packed as the files that they restore.
        again = self.packed(out, name="again.bundle.nc3z")
        last = self.dir / "last"
        self.ok(nc3z("restore", "-r", again, "-o", last))
        self.same(tree, last)

    def test_files_are_added_and_a_killed_run_loses_nothing(self):
        first, second = self.tree(20), self.tree(40, first=100)
        bundle = self.packed(first)
        before = bundle.read_bytes()
        both = self.dir / "both"
        shutil.copytree(first, both)
        shutil.copytree(second, both, dirs_exist_ok=True)
        for delay in (0.01, 0.03, 0.06, 0.1, 0.2):
            bundle.write_bytes(before)
            run = subprocess.Popen([NC3Z, "bundle", second, "-o", bundle, "--append"], stderr=subprocess.DEVNULL)
            time.sleep(delay)
            run.send_signal(signal.SIGKILL)
            run.wait()
            out = self.dir / f"killed{delay}"
            self.ok(nc3z("restore", "-r", bundle, "-o", out))
            whole = len(list(out.rglob("*.nc"))) == 60
            self.same(both if whole else first, out)
            if not whole:
                self.ok(nc3z("bundle", second, "-o", bundle, "--append"))
            self.ok(nc3z("verify", "--deep", bundle))
            out = self.dir / f"added{delay}"
            self.ok(nc3z("restore", "-r", bundle, "-o", out))
            self.same(both, out)
        again = nc3z("bundle", second, "-o", bundle, "--append")
        self.assertEqual(again.returncode, 1)
        self.assertIn("the bundle already has", again.stderr)

    def test_damage_names_each_file_that_it_hurts(self):
        tree = self.tree(15)
        bundle = self.packed(tree)
        data = bundle.read_bytes()
        begin, end = archives(bundle)[0]
        for at in range(begin + 200, end, (end - begin) // 7):
            hurt = bytearray(data)
            hurt[at] ^= 0xff
            (self.dir / "hurt.bundle.nc3z").write_bytes(hurt)
            verified = nc3z("verify", "--json", self.dir / "hurt.bundle.nc3z")
            self.assertEqual(verified.returncode, 3)
            report = json.loads(verified.stdout)
            named = {name for entry in report for name in entry.get("damaged_members", [])}
            out = self.dir / f"out{at}"
            done = nc3z("restore", "-r", self.dir / "hurt.bundle.nc3z", "-o", out)
            came = {str(p.relative_to(out)) for p in out.rglob("*.nc")}
            wanted = {str(p.relative_to(tree)) for p in tree.rglob("*.nc")}
            # A file comes back or is named. Damage of what is there twice, or is not data, affects none.
            self.assertEqual(wanted - came, named)
            self.assertEqual(done.returncode, 3 if named else 0)
            for name in came:
                self.assertEqual(sha256(out / name), sha256(tree / name))

    def hurt(self, bundle, part, at, name="hurt.bundle.nc3z"):
        """A copy of a bundle with a changed byte in a group or an archive, by its number; `at` counts from its first byte."""
        data = bytearray(bundle.read_bytes())
        begin, end = archives(bundle)[part]
        data[begin + at % (end - begin)] ^= 0xff
        (self.dir / name).write_bytes(data)
        return self.dir / name

    def shared(self, count=24):
        """Files with one long array each, beside what they share, so that groups have several blocks."""
        tree = self.dir / "shared"
        tree.mkdir()
        for n in range(count):
            profile(tree / f"p{n:02}.nc", n, levels=4000)
        return tree

    def test_lost_data_are_filled_and_named(self):
        tree = self.shared()
        bundle = self.packed(tree)
        begin, end = archives(bundle)[0]
        size = end - begin
        filled = 0
        for at in range(250, size, size // 8):
            hurt = self.hurt(bundle, 0, at)
            out = self.dir / f"out{at}"
            done = nc3z("restore", "-r", "--fill-lost", hurt, "-o", out)
            for file in tree.iterdir():
                back = out / file.name
                if not back.exists():
                    self.assertIn(f"lost: {file.name}", done.stderr)
                elif back.read_bytes() != file.read_bytes():
                    filled += 1
                    self.assertEqual(done.returncode, 3)
                    said = next(line for line in done.stderr.splitlines() if f"!/{file.name}: lost" in line)
                    with netCDF4.Dataset(back) as a, netCDF4.Dataset(file) as b:
                        for v in b.variables:
                            a[v].set_auto_mask(False), b[v].set_auto_mask(False)
                            if a[v][:].tobytes() != b[v][:].tobytes():
                                self.assertIn(f"{v} (", said)
                                other = a[v][:] != b[v][:]
                                fill = getattr(b[v], "_FillValue", netCDF4.default_fillvals[b[v].dtype.str[1:]])
                                self.assertTrue((a[v][:][other] == np.asarray(fill, b[v].dtype)).all())
                    one = nc3z("restore", "--fill-lost", f"{hurt}!/{file.name}", "-o", self.dir / "one.nc", "-f")
                    self.assertEqual(one.returncode, 3, one.stderr)
                    self.assertEqual((self.dir / "one.nc").read_bytes(), back.read_bytes())
        self.assertGreater(filled, 0)

    def test_a_group_without_its_list_names_its_members_once(self):
        tree = self.tree(12)
        bundle = self.packed(tree)
        hurt = bundle.with_name("cut.bundle.nc3z")
        data = bytearray(bundle.read_bytes())
        begin, end = archives(bundle)[0]
        for at in range(begin + 100, end, 16):
            data[at] ^= 0xff
        hurt.write_bytes(data)
        done = nc3z("restore", "-r", "--fill-lost", hurt, "-o", self.dir / "out")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr.count("error: "), 1, done.stderr)
        self.assertIn("12 members cannot be read, with the group", done.stderr)
        for file in tree.rglob("*.nc"):
            self.assertIn(f"lost: {file.relative_to(tree)}", done.stderr)

    def test_a_bundle_is_mended_by_its_parity(self):
        tree = self.tree(30)
        shutil.copy(CLASSIC / "coads_climatology.cdf", tree / "large.nc")
        bundle = self.packed(tree, "--parity", "20%")
        mended = self.dir / "mended.bundle.nc3z"
        for part in (0, 1):
            for at in (0, 20, 70, 90, 130, 1000, 5000, -30):
                hurt = self.hurt(bundle, part, at)
                said = nc3z("restore", "-r", hurt, "-o", self.dir / f"out{part}{at}")
                if "error" in said.stderr:
                    # The advice is a command that works.
                    self.assertIn(f"`nc3z repair {hurt} -o NEW`", said.stderr)
                done = nc3z("repair", hurt, "-o", mended, "-f")
                self.assertEqual(done.returncode, 0, (part, at, done.stdout, done.stderr))
                self.assertEqual(mended.read_bytes(), bundle.read_bytes(), (part, at))
        self.ok(nc3z("repair", "--in-place", hurt))
        self.assertEqual(hurt.read_bytes(), bundle.read_bytes())
        # Files that are added are covered, too.
        more = self.tree(3, first=500)
        self.ok(nc3z("bundle", more, "-o", bundle, "--append"))
        hurt = self.hurt(bundle, 2, 300)
        self.ok(nc3z("repair", hurt, "-o", mended, "-f"))
        self.assertEqual(mended.read_bytes(), bundle.read_bytes())

    def test_a_bundle_whose_form_byte_is_damaged_is_still_one(self):
        tree = self.tree(6)
        bundle, hurt = self.packed(tree, "--parity", "20%"), self.dir / "hurt.bundle.nc3z"
        data = bundle.read_bytes()
        # Those of the other forms.
        for form in (1, 2):
            hurt.write_bytes(data[:9] + bytes([form]) + data[10:])
            self.assertIn("computed from its parity", self.ok(nc3z("restore", "-r", hurt, "-o", self.dir / f"out{form}")).stderr)
            self.same(tree, self.dir / f"out{form}")
            self.assertEqual(names(hurt), names(bundle))

    def test_what_cannot_be_mended_is_said(self):
        tree = self.tree(12)
        hurt = self.hurt(self.packed(tree), 0, 400)
        done = nc3z("repair", hurt, "-o", self.dir / "new.bundle.nc3z")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"lost: content", done.stdout)
        self.fails(nc3z("repair", f"{hurt}!/p00000.nc", "-o", self.dir / "new.nc3z"), 1, f"nc3z repair {hurt} -o NEW")

    def test_a_tree_becomes_several_bundles(self):
        tree = self.dir / "tree"
        for d in "abc":
            (tree / d).mkdir(parents=True)
            for n in range(4):
                profile(tree / d / f"p{n}.nc", n)
        size = sum(p.stat().st_size for p in (tree / "a").iterdir())
        self.ok(nc3z("bundle", tree, "-o", self.dir / "set.bundle.nc3z", "--pack", "--target-size", f"{size + size // 2}B"))
        out = self.dir / "out"
        for n in range(3):
            bundle = self.dir / f"set-{n:03}.bundle.nc3z"
            listed = json.loads(self.ok(nc3z("list", "--json", bundle)).stdout)
            self.assertEqual(len(listed if isinstance(listed, list) else listed["files"]), 4)
            self.ok(nc3z("restore", "-r", bundle, "-o", out))
        self.assertFalse((self.dir / "set-003.bundle.nc3z").exists())
        self.same(tree, out)

    def test_an_interrupted_run_keeps_its_whole_bundles(self):
        tree = self.tree(40)
        size = sum(p.stat().st_size for p in tree.rglob("*") if p.is_file())
        shutil.copy(CLASSIC / "coads_climatology.cdf", tree / "large.nc")
        self.ok(nc3z("archive", tree / "p00000.nc", "-o", tree / "z.nc.nc3z"))
        for options in (["--pack"], [], ["--with-spec"]):
            out = self.dir / f"out{len(options)}{options[:1]}"
            out.mkdir()
            command = ["bundle", tree, "-o", out / "set.bundle.nc3z", "--target-size", f"{size // 6}B", *options]
            run = subprocess.Popen([NC3Z, *command], stderr=subprocess.DEVNULL)
            while run.poll() is None and not (out / "set-002.bundle.nc3z").exists():
                time.sleep(0.002)
            run.send_signal(signal.SIGKILL)
            run.wait()
            before = {p.name: (p.stat().st_ino, p.read_bytes()) for p in out.glob("set-*.bundle.nc3z")}
            self.assertGreaterEqual(len(before), 3)
            # No directory is left behind.
            self.assertEqual([p for p in out.iterdir() if p.is_dir()], [])
            self.fails(nc3z(*command), 1, "set-000.bundle.nc3z")
            done = self.ok(nc3z(*command, "--skip-existing"))
            self.assertIn("kept", done.stderr)
            for name, (inode, content) in before.items():
                self.assertEqual(((out / name).stat().st_ino, (out / name).read_bytes()), (inode, content))
            self.assertEqual({p.name for p in out.iterdir()}, {f"set-{n:03}.bundle.nc3z" for n in range(len(list(out.iterdir())))})
            fresh = self.dir / f"fresh{len(options)}{options[:1]}"
            fresh.mkdir()
            self.ok(nc3z("bundle", tree, "-o", fresh / "set.bundle.nc3z", "--target-size", f"{size // 6}B", *options))
            for p in fresh.iterdir():
                self.assertEqual(p.read_bytes(), (out / p.name).read_bytes())
            # A file that is newer, longer, or one more: not this bundle.
            victim = tree / "p00002.nc"
            os.utime(victim, (time.time() + 100,) * 2)
            self.fails(nc3z(*command, "--skip-existing"), 1, "p00002.nc.*newer.*--force")
            os.utime(victim, (1, 1))
            content = victim.read_bytes()
            victim.write_bytes(content + b"tail")
            os.utime(victim, (1, 1))
            self.fails(nc3z(*command, "--skip-existing"), 1, "p00002.nc")
            victim.write_bytes(content)
            os.utime(victim, (1, 1))
            self.ok(nc3z(*command, "--skip-existing"))

    def test_runs_share_a_tree_by_bytes(self):
        tree = self.dir / "tree"
        for d in "abcd":
            (tree / d).mkdir(parents=True)
            for n in range(4):
                profile(tree / d / f"p{n}.nc", n)
        size = sum(p.stat().st_size for p in (tree / "a").iterdir())
        out, found = self.dir / "out", []
        for part in ("1/3", "2/3", "3/3"):
            bundle = self.dir / f"part{part[0]}.bundle.nc3z"
            self.ok(nc3z("bundle", tree, "-o", bundle, "--shard", part))
            self.ok(nc3z("bundle", "--extract", bundle, "-o", out))
            found.append(names(bundle))
            self.ok(nc3z("bundle", tree, "-o", self.dir / "set.bundle.nc3z", "--shard", part, "--target-size", f"{size + size // 2}B"))
        self.same(tree, out)
        self.assertEqual([len(part) for part in found], [5, 6, 5])
        self.assertEqual(len(list(self.dir.glob("set-00?.bundle.nc3z"))), 4)
        self.assertEqual(nc3z("bundle", tree, "-o", self.dir / "x.bundle.nc3z", "--shard", "4/3").returncode, 2)

    def test_files_are_taken_in_the_order_of_a_list(self):
        tree = self.tree(6)
        wanted = [str(p.relative_to(self.dir)) for p in sorted(tree.rglob("*.nc"), reverse=True)]
        (self.dir / "list").write_text("\n".join(wanted) + "\n")
        self.ok(nc3z("bundle", "--files-from", "list", "-o", "set.bundle.nc3z", cwd=self.dir))
        self.assertEqual(names(self.dir / "set.bundle.nc3z"), wanted)

    def test_files_on_tape_are_recalled_only_if_that_is_asked_for(self):
        tree = self.tree(3)
        stub = tree / "a_stub.nc"
        with open(stub, "wb") as f:
            f.truncate(1 << 20)
        if stub.stat().st_blocks:
            self.skipTest("the file system has blocks for holes")
        refused = nc3z("bundle", tree, "-o", self.dir / "a.bundle.nc3z")
        self.fails(refused, 1, "a_stub.nc.*--on-tape skip")
        self.assertFalse((self.dir / "a.bundle.nc3z").exists())
        self.ok(nc3z("bundle", tree, "-o", self.dir / "b.bundle.nc3z", "--on-tape", "skip"))
        self.ok(nc3z("bundle", tree, "-o", self.dir / "c.bundle.nc3z", "--on-tape", "last"))
        for name, count in (("b.bundle.nc3z", 3), ("c.bundle.nc3z", 4)):
            self.assertEqual(len(names(self.dir / name)), count)
        self.assertEqual(names(self.dir / "c.bundle.nc3z")[-1], "a_stub.nc")
        # A catalogue reads all values: it would recall them, too.
        refused = nc3z("catalog", tree, "-o", self.dir / "a.catalog.nc3z")
        self.fails(refused, 1, "a_stub.nc.*--on-tape skip")
        self.ok(nc3z("catalog", tree, "-o", self.dir / "b.catalog.nc3z", "--on-tape", "skip"))
        listed = self.ok(nc3z("list", self.dir / "b.catalog.nc3z")).stdout
        self.assertNotIn(b"a_stub", listed)

    def test_no_command_recalls_a_tree_by_accident(self):
        tree = self.tree(3)
        stub = tree / "a_stub.nc"
        with open(stub, "wb") as f:
            f.truncate(1 << 20)
        with open(tree / "b_stub.nc.nc3z", "wb") as f:
            f.truncate(1 << 20)
        if stub.stat().st_blocks:
            self.skipTest("the file system has blocks for holes")
        self.ok(nc3z("archive", tree / "p00000.nc", "-o", tree / "x.nc.nc3z"))
        out = self.dir / "out"
        for command in (
            ["archive", "-r", tree, "-o", out], ["archive", "-r", "--dry-run", tree, "-o", out], ["list", tree], ["hash", "-r", tree],
            ["verify", "-r", tree], ["find", "title", tree], ["list", tree, "--html", self.dir / "r.html"], ["estimate", "-r", tree],
            ["restore", "-r", tree, "-o", out], ["hash", "--manifest", tree], ["parity", "info", "-r", tree],
            ["aggregate", tree, "-o", self.dir / "all.nc"], ["recompress", "-r", tree, "-o", out], ["bundle", tree, "-o", self.dir / "a.bundle.nc3z"],
        ):
            trace = self.dir / "trace"
            done = nc3z(*command)
            self.fails(done, 1, "stub.nc.*--on-tape skip")
            # Not even to look at their first bytes.
            if shutil.which("strace"):
                subprocess.run(["strace", "-f", "-e", "trace=open,openat", "-o", trace, NC3Z, *command], capture_output=True)
                self.assertNotIn("_stub.nc", trace.read_text(), command)
            self.assertFalse(out.exists(), command)
        self.ok(nc3z("archive", "-r", tree, "-o", out, "--on-tape", "skip"))
        self.assertEqual(len(list(out.rglob("*.nc.nc3z"))), 3)
        listed = self.ok(nc3z("list", "--json", "--on-tape", "skip", tree)).stdout
        self.assertEqual(len(json.loads(listed)), 4)
        lines = self.ok(nc3z("hash", "-r", "--on-tape", "skip", tree)).stdout
        self.assertNotIn(b"stub", lines)
        self.ok(nc3z("verify", "-r", "--on-tape", "skip", tree))
        last = nc3z("archive", "-r", tree, "-o", self.dir / "last", "--on-tape", "last")
        self.assertIn("1 file without data on disk is read last", last.stderr)

    def test_what_is_left_out_is_counted_and_named(self):
        tree = self.tree(3)
        (tree / "notes.txt").write_text("text")
        (tree / "empty.nc").touch()
        (tree / "four.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
        (tree / "b.nc.gz").write_bytes(b"\x1f\x8b" + bytes(50))
        (tree / "latest.nc").symlink_to("p00000.nc")
        left = "5 passed over (1 netCDF-4 or HDF5, 1 compressed file, 1 empty file, 1 link inside the tree, 1 other file)"
        kinds = {"netCDF-4 or HDF5": 1, "compressed file": 1, "empty file": 1, "link inside the tree": 1, "other file": 1}
        for number, command in enumerate((["bundle", "--pack"], ["bundle"], ["catalog"])):
            out = self.dir / ("a.catalog.nc3z" if command == ["catalog"] else "a.bundle.nc3z")
            done = self.ok(nc3z(*command, tree, "-f", "-o", out))
            self.assertIn(left, done.stderr)
            self.assertEqual("3 classic files are stored as they are, uncompressed" in done.stderr, command == ["bundle"])
            done = self.fails(nc3z(*command, tree, "-f", "-o", out, "--passed-over", "fail"), 1, "notes.txt: passed over")
            self.assertTrue(out.exists())
            report = json.loads(self.ok(nc3z(*command, tree, "-f", "-o", out, "--json")).stdout)
            self.assertEqual((report["passed_over"], report["failed"]), (kinds, 0))
            self.assertEqual(report["files"] if number == 2 else report["bundles"][0]["files"], 3)
        # A name that a bundle cannot have is a failure of its own.
        shutil.copy(tree / "p00000.nc", os.fsencode(tree) + b"/L\xfcneburg.nc")
        for options in ([], ["--pack"]):
            done = self.fails(nc3z("bundle", tree, "-f", "-o", self.dir / "a.bundle.nc3z", *options), 1, "not (valid )?UTF-8.*rename")
            self.assertIn("1 failed", done.stderr)
            self.assertEqual(len(json.loads(self.ok(nc3z("list", "--json", self.dir / "a.bundle.nc3z")).stdout)), 3)

    def test_what_makes_no_sense_is_refused(self):
        tree = self.tree(3)
        self.assertEqual(nc3z("bundle", tree, "-o", self.dir / "a.bundle.nc3z", "--preset", "max").returncode, 2)
        self.assertEqual(nc3z("bundle", tree, "-o", self.dir / "none.bundle.nc3z", "--append").returncode, 1)
        # A bundle is an nc3z archive: nothing is added to a ZIP.
        self.fails(nc3z("bundle", tree, "-o", self.dir / "a.zip"), 2, "--zip")
        self.ok(nc3z("bundle", tree, "-o", self.dir / "plain.zip", "--zip"))
        before = (self.dir / "plain.zip").read_bytes()
        self.fails(nc3z("bundle", tree, "-o", self.dir / "plain.zip", "--append"), 2, "--zip")
        (self.dir / "plain.bundle.nc3z").write_bytes(before)
        self.fails(nc3z("bundle", tree, "-o", self.dir / "plain.bundle.nc3z", "--append"), 1, "not a bundle of nc3z")
        self.assertEqual((self.dir / "plain.bundle.nc3z").read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
