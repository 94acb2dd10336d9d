"""The specification as a set of documents: it is complete, nothing in it is stale, and the program holds the same files."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import unittest
import warnings
from types import SimpleNamespace

import numpy as np
from common import ROOT, Case, nc3z

SPEC = ROOT / "spec"
sys.path.insert(0, str(SPEC / "reference"))
import nc3z_quantize  # noqa: E402
import nc3z_ref  # noqa: E402

TYPES = {"byte": "|i1", "short": ">i2", "int": ">i4", "float": ">f4", "double": ">f8", "int64": ">i8", "ushort": ">u2"}


def vectors(name):
    return json.loads((SPEC / "vectors" / f"{name}.json").read_text())


def files_of_the_specification():
    found = {p.relative_to(SPEC).as_posix(): p.read_bytes() for p in SPEC.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    return {name: data for name, data in found.items() if not name.endswith(".pyc")}


def decode(chain, payload, length, older=None):
    """By the reference, as a tile of the gap. `older`: the bytes of the tile that it is coded against."""
    archive = nc3z_ref.Archive.__new__(nc3z_ref.Archive)
    archive.chains = [chain]
    if older is not None:
        archive.older, archive.variable = None, {}
        archive.tiles = {nc3z_ref.GAP: SimpleNamespace(layout=SimpleNamespace(kind=0), array=SimpleNamespace(shape=()))}
        archive.base = lambda payload, *_: (older, nc3z_ref.parse_older(payload, "the older tile")[-1])
    return archive.decode(payload, 0, length, nc3z_ref.GAP, 0)


def make_record_file(path, number):
    """One record of a coordinate `t` and of a variable."""
    import netCDF4

    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
        d.createDimension("t", None)
        d.createVariable("t", "f8", ("t",)).units = "days since 2000-01-01"
        d["t"][:] = [number]
        d.createVariable("v", "i4", ("t",))[:] = [number]


class Documents(unittest.TestCase):
    def test_what_follows_from_the_rest_is_not_stale(self):
        done = subprocess.run([sys.executable, ROOT / "scripts/spec.py", "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_text_is_a_chapter_and_every_link_leads_somewhere(self):
        index = (SPEC / "README.md").read_text()
        for path in SPEC.glob("*.md"):
            if path.name != "README.md":
                self.assertIn(f"]({path.name})", index)
            for link in re.findall(r"\]\(([^):#]+)(?:#[^)]*)?\)", path.read_text()):
                self.assertTrue((SPEC / link).exists(), f"{path.name}: {link}")

    def test_files_that_the_text_names_are_there(self):
        for path in SPEC.glob("*.md"):
            for name in re.findall(r"`((?:reference|vectors|dictionary)/[\w.]+)`", path.read_text()):
                self.assertTrue((SPEC / name).exists(), f"{path.name}: {name}")

    def test_one_word_for_one_thing(self):
        """`directory` had three meanings, and limits were in two texts with a rule of precedence."""
        for path in SPEC.glob("*.md"):
            if path.name != "README.md":
                self.assertNotRegex(path.read_text(), r"(?i)\bdirector(y|ies)\b", path.name)
        self.assertNotIn("this\ntext is right", (SPEC / "conformance.md").read_text())


class Vectors(unittest.TestCase):
    def test_they_are_what_their_programs_make(self):
        for name in ("chains", "num", "quantize", "digest", "proof"):
            done = subprocess.run([sys.executable, SPEC / "vectors" / f"make_{name}.py", "--check"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")

    def test_chains(self):
        for vector in vectors("chains"):
            with self.subTest(vector["what"]):
                payload, older = bytes.fromhex(vector["payload"]), vector.get("older")
                older = None if older is None else bytes.fromhex(older)
                if "refused" not in vector:
                    self.assertEqual(decode(vector["chain"], payload, vector["length"], older).hex(), vector["decoded"])
                    continue
                with self.assertRaises(nc3z_ref.Refused) as caught:
                    decode(vector["chain"], payload, vector["length"], older)
                self.assertEqual(isinstance(caught.exception, nc3z_ref.Corrupt), vector["refused"] == "corrupt", caught.exception)

    def test_a_plus_in_the_table_is_an_object_that_stands_behind_a_codec(self):
        text = (SPEC / "chains.md").read_text()
        rows = [line.split("|") for line in text.splitlines() if line.startswith("| `{")]
        marked = {re.search(r'"id":"([\w.]+)"', cells[1])[1]: "+" in cells[-2] for cells in rows}
        self.assertGreater(len(marked), 20)
        for vector in vectors("chains"):
            found = re.match(r"(\S+).* (behind|stand behind) a codec", vector["what"])
            if found:
                last = vector["chain"][-1]["id"]
                self.assertEqual(marked[last], "refused" not in vector, vector["what"])

    def test_filters(self):
        for vector in vectors("filters"):
            values = (5 + np.arange(vector["count"]) // 3 % 4).astype(TYPES[vector["type"]]).tobytes()
            found = decode(vector["objects"], bytes.fromhex(vector["bytes"]), len(values))
            self.assertEqual(found, values, (vector["chain"], vector["type"], vector["count"]))

    def test_archives(self):
        for vector in vectors("archives"):
            archive = nc3z_ref.Archive(bytes.fromhex(vector["archive"]))
            out = bytearray(archive.length)
            archive.restore(out)
            self.assertEqual((out.hex(), hashlib.sha256(out).hexdigest()), (vector["original"], vector["sha256"]), vector["what"])

    def test_rounding(self):
        for vector in vectors("quantize"):
            found = [nc3z_quantize.rounded(vector["mode"], vector["type"], i, int(bits, 16)) for i, bits in enumerate(vector["before"])]
            self.assertEqual(found, [int(bits, 16) for bits in vector["after"]], (vector["type"], vector["mode"]))


class Program(Case):
    def test_it_writes_the_same_files(self):
        out = self.dir / "new" / "spec"
        self.ok(nc3z("spec", "-o", out))
        expected = files_of_the_specification()
        found = {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()}
        sums = found.pop("SHA256SUMS").decode().splitlines()
        self.assertEqual(sorted(found), sorted(expected))
        for name, data in expected.items():
            self.assertTrue(found[name] == data, f"{name} in the program is not that of the tree: build it again")
        self.assertEqual(sorted(sums), sorted(f"{hashlib.sha256(data).hexdigest()}  {name}" for name, data in expected.items()))
        self.assertEqual(self.ok(nc3z("spec", "--list")).stdout.decode().splitlines(), sums)
        # Again is not an error; another file in its place is one, which names it.
        self.ok(nc3z("spec", "-o", out))
        (out / "num.md").write_text("mine")
        done = nc3z("spec", "-o", out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("num.md", done.stderr)
        self.assertEqual((out / "num.md").read_text(), "mine")
        self.ok(nc3z("spec", "-o", out, "--force"))
        self.assertEqual((out / "num.md").read_bytes(), expected["num.md"])

    def test_what_it_writes_decodes_an_archive_alone(self):
        out, archive, back = self.dir / "s", self.dir / "a.nc3z", self.dir / "back"
        self.ok(nc3z("spec", "-o", out))
        source = ROOT / "testdata/classic/beside.nc"
        self.ok(nc3z("archive", source, "-o", archive))
        done = subprocess.run([sys.executable, "-I", "-c", "import runpy, sys; sys.path.insert(0, sys.argv[1]); sys.argv = sys.argv[2:];"
                               "runpy.run_path(sys.argv[0], run_name='__main__')", out / "reference", out / "reference/nc3z_ref.py",
                               "restore", archive, "-o", back], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(back.read_bytes(), source.read_bytes())

    def test_chapters_are_printed(self):
        for name in ("README.md", "archive.md", "vectors/num.json"):
            self.assertTrue(self.ok(nc3z("spec", name)).stdout == (SPEC / name).read_bytes(), name)
        self.assertEqual(self.ok(nc3z("spec")).stdout, (SPEC / "README.md").read_bytes())
        done = nc3z("spec", "none.md")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--list", done.stderr)
        document = self.ok(nc3z("spec", "--document")).stdout.decode()
        places = [document.index((SPEC / name).read_text()) for name in ("README.md", "archive.md", "chains.md", "num.md", "errata.md")]
        self.assertEqual(places, sorted(places))

    def test_proofs(self):
        for vector in vectors("proof"):
            with self.subTest(vector["what"]):
                slice_, proof = self.dir / "slice", self.dir / "slice.proof"
                slice_.write_bytes(bytes.fromhex(vector["slice"]))
                proof.write_text(json.dumps(vector["proof"]))
                done = nc3z("cite", "--check", slice_, proof, "--root", vector["root"])
                self.assertEqual(done.returncode == 0, vector["proven"], done.stderr)

    def test_one_page_of_html(self):
        import xml.etree.ElementTree as ElementTree

        page = self.ok(nc3z("spec", "--html")).stdout.decode()
        self.assertEqual(self.ok(nc3z("spec", "--html")).stdout.decode(), page)
        for words in ("<title>The nc3z archive format: specification</title>", "<td>Format version</td>", "<td>Date</td>"):
            self.assertIn(words, page)
        tree = ElementTree.fromstring(re.sub(r"<meta[^>]*>|<!DOCTYPE html>", "", page))
        ids = [element.get("id") for element in tree.iter() if element.get("id")]
        self.assertEqual(len(ids), len(set(ids)))
        for link in tree.iter("a"):
            target = link.get("href")
            self.assertTrue(target.startswith(("#", "http")) or (SPEC / target).exists(), target)
            if target.startswith("#"):
                self.assertIn(target[1:], ids)
        self.assertGreater(len(list(tree.iter("table"))), 48)

    def test_collections_have_it_once(self):
        data = self.dir / "data"
        data.mkdir()
        for name in ("numeric", "smooth"):
            shutil.copy(ROOT / f"testdata/classic/{name}.nc", data)
        expected = files_of_the_specification()

        bundle = self.dir / "b.bundle.nc3z"
        self.ok(nc3z("bundle", data, "-o", bundle, "--with-spec"))
        self.ok(nc3z("bundle", "--extract", bundle, "-o", self.dir / "out"))
        out = self.dir / "out"
        found = {path.relative_to(out).as_posix(): path.read_bytes() for path in (out / "nc3z-specification").rglob("*") if path.is_file()}
        self.assertTrue({name: found.get(f"nc3z-specification/{name}") for name in expected} == expected)
        self.assertEqual(len(found), len(expected) + 1)
        # Readers of the bundle see the data alone.
        self.assertEqual(self.ok(nc3z("list", "--json", bundle)).stdout.count(b"nc3z-specification"), 0)
        self.assertIn(hashlib.sha256((data / "numeric.nc").read_bytes()).hexdigest(), self.ok(nc3z("hash", f"{bundle}!/numeric.nc")).stdout.decode())

        bag = self.dir / "bag"
        self.ok(nc3z("archive", "-r", data, "-o", bag, "--manifest", "bagit", "--with-spec"))
        self.assertEqual({p.relative_to(bag).as_posix() for p in (bag / "data").rglob("*.nc3z")}, {"data/numeric.nc.nc3z", "data/smooth.nc.nc3z"})
        for name, content in expected.items():
            self.assertEqual((bag / "nc3z-specification" / name).read_bytes(), content)
        self.ok(nc3z("verify", "--manifest", bag))
        subprocess.run([sys.executable, "-m", "bagit", "--validate", bag], check=True, capture_output=True)
        (bag / "nc3z-specification/num.md").write_text("changed")
        self.assertIn("num.md", nc3z("verify", "--manifest", bag).stderr + nc3z("verify", "--manifest", bag).stdout.decode())
        done = nc3z("archive", "-r", data, "-o", self.dir / "sums", "--manifest", "sha256", "--with-spec", "--parents")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("bagit", done.stderr)

    def test_an_aggregation_has_it_beside(self):
        for i in range(2):
            make_record_file(self.dir / f"{i}.nc", i)
        out = self.dir / "all.nca"
        self.ok(nc3z("aggregate", self.dir / "0.nc", self.dir / "1.nc", "-o", out, "--with-spec"))
        found = {p.relative_to(self.dir / "nc3z-specification").as_posix() for p in (self.dir / "nc3z-specification").rglob("*") if p.is_file()}
        self.assertEqual(found, {*files_of_the_specification(), "SHA256SUMS"})
        # None of its files is taken for data.
        self.ok(nc3z("aggregate", self.dir, "-o", out, "--force", "--no-history"))
        self.assertNotIn(b"nc3z-specification", out.read_bytes())

    def test_it_restores_the_archives_of_the_vectors(self):
        for vector in vectors("archives"):
            path = self.dir / "a.nc3z"
            path.write_bytes(bytes.fromhex(vector["archive"]))
            self.ok(nc3z("verify", "--deep", path))
            self.assertEqual(self.ok(nc3z("restore", path, "-o", "-")).stdout.hex(), vector["original"], vector["what"])

    def test_digests_are_those_of_the_vectors(self):
        for vector in vectors("digest"):
            if vector["file"] is None:
                continue
            path = self.dir / "d.nc"
            path.write_bytes(bytes.fromhex(vector["file"]))
            text = self.ok(nc3z("hash", path)).stdout.decode()
            self.assertIn(vector["content"], text, vector["what"])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    unittest.main()
