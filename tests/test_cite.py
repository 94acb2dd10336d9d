"""Roots, slices with proofs, and reading against a root: by the tool, by the checker made from the specification, and forged."""

import base64
import json
import os
import random
import shutil
import sys
import unittest
from pathlib import Path

from common import CLASSIC, NIGHT, ROOT, Case, good_files, nc3z
from servers import serve

sys.path.insert(0, str(ROOT / "spec/reference"))
import check_proof  # noqa: E402
import nc3z_digest  # noqa: E402

#: Real files whose roots are compared in every form; NC3Z_DATA adds directories at night, separated as in PATH.
ROOTS = int(os.environ.get("NC3Z_ROOTS", 8))
COADS = CLASSIC / "coads_climatology.cdf"


def root(*args, **options):
    done = nc3z("hash", "--root", *args, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().strip()


def is_classic(path):
    with open(path, "rb") as file:
        return file.read(4) in (b"CDF\1", b"CDF\2", b"CDF\5")


def reference(path):
    with open(path, "rb") as file:
        return "nc3z1:" + nc3z_digest.Classic(file).digests()[0].hex()


class Roots(Case):
    """One line, the same in every form of a file, and another one after any change."""

    def forms(self, path):
        """Names of the file in other forms."""
        self.dir.joinpath("m").mkdir(exist_ok=True)
        for number, options in enumerate((["--preset", "fast"], [], ["--preset", "max"], ["--tile-size", "4KiB"], ["--layout", "chunked", "--tile-size", "8KiB"],
                                          ["--digest", "none"])):
            if not NIGHT and path.stat().st_size > 1 << 20 and number in (2, 3):
                continue
            archive = self.dir / "m" / f"{number}.nc3z"
            self.ok(nc3z("archive", "--force", *options, path, "-o", archive))
            yield archive
        self.ok(nc3z("recompress", "--force", "--preset", "fast", "--tile-size", "64KiB", self.dir / "m/1.nc3z", "-o", self.dir / "m/again.nc3z"))
        yield self.dir / "m/again.nc3z"
        edited = shutil.copy(self.dir / "m/0.nc3z", self.dir / "m/edited.nc3z")
        edited.chmod(0o644)
        # Files that are cut short, or have two record dimensions, are not edited.
        if nc3z("attr", edited, ":nc3z_cite_test=1").returncode == 0:
            self.assertNotEqual(root(edited), root(self.dir / "m/0.nc3z"))
            self.ok(nc3z("revert", edited, "1"))
            yield edited
        self.ok(nc3z("bundle", self.dir / "m/0.nc3z", "-o", self.dir / "m/b.bundle.nc3z"))
        yield f"{self.dir}/m/b.bundle.nc3z!/0.nc3z"
        with serve({"c.nc": path.read_bytes(), "c.nc3z": (self.dir / "m/0.nc3z").read_bytes()}) as server:
            yield server.url("c.nc")
            yield server.url("c.nc3z")

    def test_every_form_of_a_file_has_the_same_root(self):
        files = [p for p in good_files() if p.stat().st_size < 4 << 20]
        for directory in filter(None, os.environ.get("NC3Z_DATA", "").split(os.pathsep)):
            files += [p for p in sorted(Path(directory).rglob("*")) if p.is_file() and p.stat().st_size < 64 << 20 and is_classic(p)]
        for path in random.Random(49).sample(files, min(ROOTS, len(files))):
            with self.subTest(path.name):
                if nc3z("hash", "--root", path).returncode == 1 and nc3z("archive", path, "-o", self.dir / "refused.nc3z").returncode == 1:
                    continue
                expected = root(path)
                self.assertEqual(expected, reference(path))
                for form in self.forms(path):
                    self.assertEqual(root(form), expected, form)
                    self.assertEqual(root("--recompute", form), expected, form)
                shutil.rmtree(self.dir / "m")

    def test_members_urls_and_versions(self):
        expected = root(COADS)
        members = self.dir / "members"
        members.mkdir()
        shutil.copy(CLASSIC / "record_padding.nc", members / "r.nc")
        self.ok(nc3z("archive", COADS, "-o", members / "c.nc.nc3z"))
        self.ok(nc3z("bundle", members, "-o", self.dir / "b.bundle.nc3z"))
        self.assertEqual(root(f"{self.dir}/b.bundle.nc3z!/c.nc.nc3z"), expected)
        # The collection: by name of the original, whatever the form of the members.
        both = root(self.dir / "b.bundle.nc3z")
        own = nc3z_digest.collection_root([(b"c.nc", bytes.fromhex(expected[6:])), (b"r.nc", bytes.fromhex(root(members / "r.nc")[6:]))])
        self.assertEqual(both, f"nc3z1:{own.hex()}")
        (members / "c.nc.nc3z").unlink()
        shutil.copy(COADS, members / "c.nc")
        self.ok(nc3z("bundle", members, "-o", self.dir / "plain.bundle.nc3z"))
        self.assertEqual(root(self.dir / "plain.bundle.nc3z"), both)
        archive = self.dir / "v.nc3z"
        self.ok(nc3z("archive", COADS, "-o", archive))
        with serve({"v.nc3z": archive.read_bytes(), "v.nc": COADS.read_bytes()}) as server:
            self.assertEqual(root(f"{server.root}/v.nc3z"), expected)
            self.assertEqual(root(f"{server.root}/v.nc"), expected)
        # Edited: another root, which says that it was computed; reverted: the first again.
        self.ok(nc3z("attr", archive, "SST:units=K"))
        edited = nc3z("hash", "--root", archive)
        self.assertNotEqual(edited.stdout.decode().strip(), expected)
        self.assertIn("no root is stored", edited.stderr)
        self.assertEqual(root(f"{archive}@1"), expected)
        self.ok(nc3z("revert", archive, "1"))
        self.assertEqual(root(archive), expected)

    def test_an_aggregation_has_a_root_over_its_fragments(self):
        import netCDF4

        data = self.dir / "data"
        data.mkdir()
        for n in range(3):
            with netCDF4.Dataset(data / f"{n}.nc", "w", format="NETCDF3_CLASSIC") as file:
                file.createDimension("time", None)
                file.createDimension("x", 3)
                time, v = file.createVariable("time", "f8", ("time",)), file.createVariable("v", "f4", ("time", "x"))
                time.units, time.standard_name, v.standard_name, v.units = "days since 2000-01-01", "time", "air_temperature", "K"
                time[0], v[0] = n, [n, n + 1, n + 2]
        self.ok(nc3z("aggregate", *sorted(data.glob("*.nc")), "-o", data / "all.nc"))
        first = root(data / "all.nc")
        self.assertNotEqual(first, root("--as-stored", data / "all.nc"))
        listed = json.loads(self.ok(nc3z("hash", "--root", "--json", data / "all.nc")).stdout)[0]
        self.assertEqual(len(listed["members"]), 4)
        raw = bytearray((data / "1.nc").read_bytes())
        raw[-1] ^= 1
        (data / "1.nc").write_bytes(raw)
        self.assertNotEqual(root(data / "all.nc"), first)
        self.fails(nc3z("cite", data / "all.nc", "v", "-o", self.dir / "s.nc"), 1, "aggregation")

    def test_any_change_is_another_root(self):
        """Every byte of a small file: the root stays where the bytes say nothing."""
        plain = (CLASSIC / "record_padding.nc").read_bytes()
        expected, path, changed = root(CLASSIC / "record_padding.nc"), self.dir / "c.nc", 0
        with open(CLASSIC / "record_padding.nc", "rb") as file:
            entries = nc3z_digest.Classic(file).entries()[0]
        for at in range(0, len(plain), 1 if NIGHT else 23):
            path.write_bytes(plain[:at] + bytes([plain[at] ^ 1]) + plain[at + 1:])
            done = nc3z("hash", "--root", path)
            if done.returncode != 0:
                continue
            with open(path, "rb") as file:
                same = nc3z_digest.Classic(file).entries()[0] == entries
            self.assertEqual(done.stdout.decode().strip() == expected, same, at)
            changed += not same
        self.assertGreater(changed, 5)


class Slices(Case):
    """`cite` and `check`, and the checker of the specification: both prove, and both refuse."""

    def setUp(self):
        super().setUp()
        self.archive = self.dir / "c.nc3z"
        self.ok(nc3z("archive", "--preset", "fast", COADS, "-o", self.archive))
        self.root = root(self.archive)
        self.tree = self.dir / "c.tree"
        self.ok(nc3z("hash", "--tree", self.tree, self.archive))

    def cite(self, name, *args):
        path = self.dir / name
        done = self.ok(nc3z("cite", "--force", "--tree", self.tree, self.archive, *args, "-o", path))
        self.assertNotIn("no --tree", done.stderr)
        return path

    def both(self, path, proof=None, expected=None):
        """Returns True if the tool and the checker accept; they must agree."""
        proof = proof or f"{path}.proof"
        ours = nc3z("cite", "--check", path, proof, "--root", expected or self.root)
        self.assertIn(ours.returncode, (0, 1), ours.stderr)
        try:
            check_proof.check(Path(path).read_bytes(), Path(proof).read_bytes(), expected or self.root)
            theirs = True
        except (check_proof.Refused, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            theirs = False
        self.assertEqual(ours.returncode == 0, theirs, ours.stderr)
        return theirs

    def test_slices_in_every_format(self):
        for args in (["SST"], ["SST", "-d", "TIME,3"], ["AIRT,SST", "-d", "COADSX,5,60,5", "-d", "TIME,2,9,3"], ["SST", "-d", "COADSY,10,11", "-d", "COADSX,7"]):
            with self.subTest(args):
                path = self.cite("s.nc", *args)
                self.assertTrue(self.both(path))
                # The values are those of `subset`.
                name, *dims = args
                self.ok(nc3z("subset", "--force", "--no-history", self.archive, "-v", name, *dims, "-o", self.dir / "other.nc"))
                self.assertEqual(path.read_bytes(), (self.dir / "other.nc").read_bytes())
                if "," not in name and args != ["SST"]:
                    for ending in ("npy", "csv"):
                        self.assertTrue(self.both(self.cite(f"s.{ending}", *args)))
                    self.assertEqual((self.dir / "s.npy").read_bytes(), self.ok(nc3z("read", "--format", "npy", self.archive, *args)).stdout)

    def test_a_widened_slice_brings_no_values(self):
        path = self.cite("w.nc", "SST", "-d", "TIME,1", "-d", "COADSX,3", "--widen")
        self.assertTrue(self.both(path))
        proof = json.loads(Path(f"{path}.proof").read_text())
        self.assertEqual(proof["variables"][-1]["leaves"], "")

    def test_without_a_tree_file_and_from_classic_files_it_is_the_same(self):
        path = self.cite("s.nc", "SST", "-d", "TIME,3")
        for source in (self.archive, COADS):
            done = self.ok(nc3z("cite", source, "SST", "-d", "TIME,3", "-o", self.dir / "t.nc", "--force"))
            self.assertIn("all of it is read", done.stderr)
            self.assertEqual((self.dir / "t.nc").read_bytes(), path.read_bytes())
            first, second = (json.loads(Path(f"{p}.proof").read_text()) for p in (path, self.dir / "t.nc"))
            first.pop("about"), second.pop("about")
            self.assertEqual(first, second)

    def test_forged_ones_are_refused_by_both(self):
        path = self.cite("s.nc", "SST", "-d", "TIME,3", "-d", "COADSX,7,60")
        plain, text = path.read_bytes(), Path(f"{path}.proof").read_text()
        self.assertFalse(self.both(path, expected="nc3z1:" + "0" * 64))
        other = self.cite("o.nc", "SST", "-d", "TIME,4", "-d", "COADSX,7,60")
        self.assertFalse(self.both(path, proof=f"{other}.proof"))
        self.assertFalse(self.both(other, proof=f"{path}.proof"))
        forged, pick = self.dir / "forged", random.Random(49)
        (self.dir / "forged.proof").write_text(text)
        for _ in range(300 if NIGHT else 30):
            raw = bytearray(plain)
            # A value: `vsize` before them is covered by no root.
            at = pick.randrange(len(raw) - 54 * 90 * 4, len(raw))
            raw[at] ^= 1 << pick.randrange(8)
            forged.write_bytes(raw)
            self.assertFalse(self.both(forged))
        forged.write_bytes(plain)
        for _ in range(300 if NIGHT else 40):
            proof = json.loads(text)
            part = pick.choice(proof["variables"])
            key = pick.choice(["number", "entry", "start", "count", "stride", "nodes", "leaves", "path", "file", "entries", "name"])
            holder = proof if key in ("path", "file", "entries") else part
            if isinstance(holder[key], int):
                holder[key] += pick.choice([-1, 1, 2])
            elif isinstance(holder[key], list):
                holder[key][pick.randrange(len(holder[key]))] += pick.choice([-1, 1, 2])
            elif key == "name":
                holder[key] = "AIRT"
            else:
                raw = bytearray(base64.b64decode(holder[key]))
                if not raw:
                    raw = bytearray(32)
                elif pick.random() < 0.2:
                    del raw[:32]
                else:
                    raw[pick.randrange(len(raw))] ^= 1 << pick.randrange(8)
                holder[key] = base64.b64encode(raw).decode()
            (self.dir / "forged.proof").write_text(json.dumps(proof))
            self.assertFalse(self.both(forged), key)
        (self.dir / "forged.proof").write_text(text)
        self.assertTrue(self.both(forged))

    def test_mistakes_are_explained(self):
        self.fails(nc3z("cite", self.archive), 2, "name a variable")
        self.fails(nc3z("cite", "--check", self.archive, self.tree, "--root", self.root), 1, "proof")
        wrong = nc3z("cite", "--check", COADS, "--root", "nc3z1:00")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("invalid root `nc3z1:00`", wrong.stderr)
        self.assertNotIn("invalid argument", wrong.stderr)
        self.fails(nc3z("cite", self.archive, "SST", "--tree", COADS, "-o", self.dir / "s.nc"), 1, "tree file")
        self.fails(nc3z("cite", self.archive, "SST,AIRT", "-o", self.dir / "s.csv"), 1, "one variable")

    def test_records(self):
        self.ok(nc3z("attr", self.archive, "SST:units=K", "-m", "Units mended", "--author", "A. Author"))
        for form in ("bibtex", "datacite", "ro-crate", "prov"):
            with self.subTest(form):
                whole = self.ok(nc3z("cite", "--format", form, "--doi", "https://doi.org/10.5281/zenodo.1", "--year", "2026", "--title", "COADS", self.archive))
                now = root(self.archive)
                for part in (now, "10.5281/zenodo.1", "COADS"):
                    self.assertIn(part, whole.stdout.decode())
                self.assertIn("no root is stored", whole.stderr)
                text = self.ok(nc3z("cite", "--force", "--format", form, self.archive, "SST", "-d", "TIME,0", "-o", self.dir / "r.nc")).stdout.decode()
                self.assertIn("TIME=0 of 12", text)
                if form != "bibtex":
                    record = json.loads(text)
                    for part in (now, "nc3z cite", "Units mended", "A. Author"):
                        self.assertIn(part, json.dumps(record))


class Verified(Case):
    """Reading from a server that sends other values: an error that names the tile."""

    def test_a_server_that_lies(self):
        first, second = self.dir / "a.nc3z", self.dir / "b.nc3z"
        raw = bytearray(COADS.read_bytes())
        self.ok(nc3z("archive", "--preset", "fast", COADS, "-o", first))
        # One value of the last record of the last variable.
        raw[-3] ^= 1
        (self.dir / "b.nc").write_bytes(raw)
        self.ok(nc3z("archive", "--preset", "fast", self.dir / "b.nc", "-o", second))
        published = root(COADS)
        self.ok(nc3z("hash", "--tree", self.dir / "a.tree", COADS))
        names = [v["name"] for v in json.loads(self.ok(nc3z("info", "--json", first)).stdout)["variables"]]
        tree = (self.dir / "a.tree").read_bytes()
        files = {"a.nc3z": first.read_bytes(), "b.nc3z": second.read_bytes(), "b.nc": bytes(raw), "a.tree": tree, "a.nc": COADS.read_bytes()}
        with serve(files) as server:
            against = ["--root", published, "--tree", f"{server.root}/a.tree", "--format", "raw"]
            plain = self.ok(nc3z("read", "--format", "raw", COADS, names[-1])).stdout
            for name in ("a.nc3z", "a.nc"):
                self.assertEqual(self.ok(nc3z("read", f"{server.root}/{name}", names[-1], *against)).stdout, plain)
            for name in ("b.nc3z", "b.nc"):
                url = f"{server.root}/{name}"
                self.fails(nc3z("read", url, names[-1], *against), 3, rf"variable \"{names[-1]}\": elements \d+ to \d+ \(tiles? .*are not those of {published}")
                # Right bytes are read. With a root but without a tree file, opening reports that the content is another one.
                self.ok(nc3z("read", url, names[-1], "-d", "TIME,0", *against))
                self.ok(nc3z("read", url, names[3], *against))
                self.fails(nc3z("read", url, names[3], "--root", published), 1, "another file or version")
            out = self.dir / "s.nc"
            self.fails(nc3z("subset", f"{server.root}/b.nc3z", "-v", names[-1], "-o", out, *against[:4]), 3, "are not those of")
            self.assertFalse(out.exists())
            self.ok(nc3z("subset", f"{server.root}/b.nc3z", "-v", names[-1], "-d", "TIME,0", "-o", out, *against[:4]))


if __name__ == "__main__":
    unittest.main()
