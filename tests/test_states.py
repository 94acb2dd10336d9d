"""Archives of several states of a file: the last one counts, an older one is given on request, and damage never makes it the newest."""

import hashlib
import json
import unittest

from common import CLASSIC, ROOT, Case, nc3z

GOLDEN = ROOT / "testdata/archives/v1_0_0/states.later.nc3z"
DIGESTS = {1: "30e800f7b948bad40bf02212b8cc5993708009f2a13db450b413f9fd4312b7f0",
           2: "a8f4447bf9ca32e152d41c701400765e779cee8354a4d1a9c0dc9544edc0cf6c"}


class States(Case):
    def setUp(self):
        super().setUp()
        self.archive = self.dir / "a.nc3z"
        self.archive.write_bytes(GOLDEN.read_bytes())

    def damaged(self):
        raw = bytearray(GOLDEN.read_bytes())
        raw[-20] ^= 1
        self.archive.write_bytes(raw)

    def restored(self, name=None, *args):
        return hashlib.sha256(self.ok(nc3z("restore", *args, name or self.archive, "-o", "-")).stdout).hexdigest()

    def test_each_can_be_asked_for(self):
        self.assertEqual(self.restored(), DIGESTS[2])
        for number, digest in DIGESTS.items():
            at = f"{self.archive}@{number}"
            self.assertEqual(self.restored(at), digest)
            done = self.ok(nc3z("hash", "--only", "sha256", at))
            self.assertIn(digest.encode(), done.stdout)
            out = self.dir / f"{number}.nc"
            self.ok(nc3z("restore", at, "-o", out))
            self.assertEqual(hashlib.sha256(out.read_bytes()).hexdigest(), digest)
            of_archive = self.ok(nc3z("dump", "-n", "x", at)).stdout
            self.assertEqual(of_archive, self.ok(nc3z("dump", "-n", "x", out)).stdout)
            info = json.loads(self.ok(nc3z("info", "--json", at)).stdout)
            self.assertIn(digest, json.dumps(info))
            raw = [self.ok(nc3z("read", f, "levels", "--format", "raw")).stdout
                   for f in (at, out)]
            self.assertEqual(*raw)
            self.ok(nc3z("subset", "-v", "levels", at, "-o", self.dir / f"s{number}.nc"))
            self.ok(nc3z("read", "--explain", at, "levels"))
            self.ok(nc3z("info", "--layout", at))

    def test_what_there_is_not(self):
        self.fails(nc3z("restore", f"{self.archive}@3", "-o", "-"), 1, "no version 3")
        for args in (("info",), ("dump",), ("hash",), ("info", "--layout",)):
            self.fails(nc3z(*args, "--older", CLASSIC / "numeric.nc"), 1, "not an archive")

    def test_a_damaged_end_is_told_and_the_older_state_must_be_asked_for(self):
        self.damaged()
        for args in (("restore", "-o", "-"), ("hash",), ("info",), ("dump",), ("info", "--layout",)):
            self.fails(nc3z(args[0], self.archive, *args[1:]), 3, "the end of version 2 is damaged.*version 1 is whole")
        self.assertEqual(self.restored(None, "--older"), DIGESTS[1])
        self.assertEqual(self.restored(f"{self.archive}@1"), DIGESTS[1])
        self.assertEqual(nc3z("verify", self.archive).returncode, 3)
        # The commit block has the data of the trailer: the second version is rebuilt, and has the recorded SHA-256.
        out = self.dir / "r.nc3z"
        self.ok(nc3z("repair", self.archive, "-o", out))
        restored = self.ok(nc3z("restore", out, "-o", "-")).stdout
        self.assertEqual(hashlib.sha256(restored).hexdigest(), DIGESTS[2])
        # Without that block too, only the first version is whole, and `repair` says so.
        raw = bytearray(self.archive.read_bytes())
        raw[raw.rindex(b"\xb1NCb") + 20] ^= 1
        self.archive.write_bytes(raw)
        done = nc3z("repair", "-f", self.archive, "-o", out)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertNotIn(b"all is saved", done.stdout)

    def test_layout_names_arrays_by_the_header_that_counts(self):
        """The second state has another variable in the place of a name: numbers of arrays are not places in its header."""
        for number, absent, there in ((1, "new", "series"), (2, "", "new")):
            at = f"{self.archive}@{number}"
            text = self.ok(nc3z("info", "--layout", "--json", at)).stdout
            rows = json.loads(text)
            info = json.loads(self.ok(nc3z("info", "--json", at)).stdout)
            known = {v["name"] for v in info["variables"]}
            named = {r["variable"] for r in rows["regions"] if r.get("variable")}
            named |= {m["variable"] for r in rows["regions"] for m in r.get("members", ()) if m["variable"]}
            self.assertLessEqual(named, known)
            self.assertIn(there, named)
            self.assertNotIn(absent, named)
        # Bytes of a variable's tiles are those of its own array: the second state writes "new" and one tile of "many" anew.
        container = next(r for r in rows["regions"] if r.get("block") == "container" and r["generation"] == 2)
        self.assertEqual([(m["variable"], m["tile"]) for m in container["members"][:2]], [("new", 0), ("many", 100)])


class Recovery(Case):
    """Probing finds several states: the result is the complete last one, or a refusal with its reason; never a mixture."""

    def test_lost_structures_of_the_last_state(self):
        good = GOLDEN.read_bytes()
        rows = json.loads(self.ok(nc3z("info", "--layout", "--json", GOLDEN)).stdout)["regions"]
        first = min(r["offset"] for r in rows if r["kind"] == "trailer")
        later = [r for r in rows if r["offset"] > first and r["kind"] != "trailer"]
        self.assertGreater(len(later), 6)
        bad, out = self.dir / "bad.nc3z", self.dir / "out.nc3z"
        seen = set()
        for region in later:
            what = region.get("section") or region.get("block") or region["kind"]
            with self.subTest(what):
                raw = bytearray(good)
                raw[region["offset"]:region["offset"] + region["length"]] = bytes(region["length"])
                bad.write_bytes(raw)
                out.unlink(missing_ok=True)
                self.assertEqual(nc3z("verify", bad).returncode, 3)
                done = nc3z("repair", "-f", bad, "-o", out)
                if done.returncode == 0:
                    restored = self.ok(nc3z("restore", out, "-o", "-")).stdout
                    self.assertEqual(hashlib.sha256(restored).hexdigest(), DIGESTS[2], done.stdout)
                    seen.add("saved")
                elif out.exists():
                    self.assertEqual(done.returncode, 3)
                    self.assertEqual(nc3z("verify", out).returncode, 0)
                    self.assertNotIn(b"all is saved", done.stdout)
                    seen.add("partly")
                else:
                    self.fails(done, 3)
                    self.assertRegex(done.stderr, "later head|variable table")
                    seen.add("refused")
                out.unlink(missing_ok=True)
        self.assertIn("saved", seen)


if __name__ == "__main__":
    unittest.main()
