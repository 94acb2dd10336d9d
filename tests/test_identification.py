"""Programs that identify files know archives by what packaging/identification and spec/magic say of them."""

import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from common import CLASSIC, ROOT, Case, nc3z

sys.path.insert(0, str(ROOT / "spec/reference"))
from nc3z_bytes import MAJOR, MINOR  # noqa: E402

HERE = ROOT / "packaging/identification"
MIME = "application/vnd.nc3z"
FIDO = shutil.which("fido", path=f"{ROOT / '.venv/bin'}:{os.environ['PATH']}")


def run(*args, **options):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=120, **options)


class Identification(Case):
    def setUp(self):
        super().setUp()
        # Without an extension: they are identified by their first bytes.
        self.long, self.short, self.whole, self.other = (self.dir / name for name in ("long", "short", "whole", "other"))
        self.ok(nc3z("archive", CLASSIC / "etopo120.cdf", "-o", self.long))
        self.ok(nc3z("archive", "--tile-size", "1MiB", CLASSIC / "template.nc", "-o", self.short))
        self.ok(nc3z("archive", CLASSIC / "all_types_cdf2.nc", "-o", self.whole))
        self.assertEqual([path.read_bytes()[9] for path in (self.long, self.short, self.whole)], [0, 1, 2])
        self.other.write_bytes((CLASSIC / "etopo120.cdf").read_bytes())

    def needs(self, program):
        if not shutil.which(program):
            self.skipTest(f"{program} is not installed")

    def test_file(self):
        self.needs("file")
        for path, words in ((self.long, "67548 bytes restored"), (self.short, "short form"),
                            (self.whole, "short form, stored as a whole")):
            done = run("file", "-b", "-m", ROOT / "spec/magic", path)
            self.assertEqual(done.stdout.strip(), f"nc3z archive of a classic netCDF file, version {MAJOR}.{MINOR}, {words}")
            self.assertEqual(run("file", "-b", "--mime-type", "-m", ROOT / "spec/magic", path).stdout.strip(), MIME)
        self.assertNotIn("nc3z", run("file", "-b", "-m", ROOT / "spec/magic", self.other).stdout)

    def shared_database(self):
        """An environment whose shared MIME database has the entry, and nothing else of its own."""
        self.needs("update-mime-database")
        share = self.dir / "share"
        (share / "mime/packages").mkdir(parents=True)
        shutil.copy(HERE / "nc3z.xml", share / "mime/packages")
        done = run("update-mime-database", share / "mime")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(MIME, (share / "mime/types").read_text())
        return {**os.environ, "HOME": str(self.dir), "XDG_DATA_HOME": str(share), "XDG_CURRENT_DESKTOP": "GNOME"}

    def test_mime_database_of_glib(self):
        environment = self.shared_database()
        self.needs("gio")
        for path in (self.long, self.short, self.whole):
            self.assertIn(f"content-type: {MIME}", run("gio", "info", "-a", "standard::content-type", path, env=environment).stdout)
        self.assertNotIn(MIME, run("gio", "info", "-a", "standard::content-type", self.other, env=environment).stdout)

    def test_mime_database_of_xdg_utils(self):
        self.needs("xdg-mime")
        self.needs("gio")
        environment = {**os.environ, "HOME": str(self.dir), "XDG_DATA_HOME": str(self.dir / "share"), "XDG_CURRENT_DESKTOP": "GNOME"}
        done = run("xdg-mime", "install", "--mode", "user", "--novendor", HERE / "nc3z.xml", env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        for path in (self.long, self.short, self.whole):
            self.assertEqual(run("xdg-mime", "query", "filetype", path, env=environment).stdout.strip(), MIME)

    def test_fido(self):
        if not FIDO:
            self.skipTest("fido is not installed")
        done = run(FIDO, "-q", "-loadformats", HERE / "nc3z-fido.xml", self.long, self.short, self.whole, self.other)
        found = [(row[0], row[2], row[-1]) for row in (line.split(",") for line in done.stdout.splitlines())]
        signature = '"signature"'
        self.assertEqual(found[:3], [("OK", "nc3z/1", signature), ("OK", "nc3z/2", signature), ("OK", "nc3z/2", signature)], done.stdout + done.stderr)
        self.assertNotIn("nc3z", found[3][1])

    def test_file_and_fido_know_the_corpus(self):
        """All archives that decoders must read, by the compiled entry of file(1) and by FIDO."""
        archives = sorted((ROOT / "testdata/conformance/must-read").glob("*.nc3z"))
        self.assertGreater(len(archives), 50)
        copies = [self.dir / path.stem for path in archives]
        for path, copy in zip(archives, copies, strict=True):
            copy.write_bytes(path.read_bytes())
        if shutil.which("file"):
            shutil.copy(ROOT / "spec/magic", self.dir / "nc3z")
            done = run("file", "-C", "-m", self.dir / "nc3z", cwd=self.dir)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for line in run("file", "-b", "-m", self.dir / "nc3z.mgc", *copies).stdout.splitlines():
                self.assertIn("nc3z archive of a classic netCDF file", line)
        if FIDO:
            done = run(FIDO, "-q", "-loadformats", HERE / "nc3z-fido.xml", *copies)
            found = [row.split(",")[2] for row in done.stdout.splitlines()]
            self.assertEqual(found, ["nc3z/2" if path.read_bytes()[9] else "nc3z/1" for path in archives])

    def test_file_by_the_entry_that_is_proposed_for_cdf_5(self):
        self.needs("file")
        (self.dir / "cdf5").write_text(re.search(r"```\n(.+?)```", (ROOT / "docs/registration/file.md").read_text(), re.S)[1])
        for name, found in (("all_types_cdf5.nc", "NetCDF Data Format data (64-bit data)"), ("all_types_cdf2.nc", "data")):
            self.assertEqual(run("file", "-b", "-m", self.dir / "cdf5", CLASSIC / name).stdout.strip(), found)

    def test_fido_by_the_signatures_that_are_proposed_to_pronom(self):
        """docs/registration/pronom.md: of version 1, and of CDF-5."""
        if not FIDO:
            self.skipTest("fido is not installed")
        text = (ROOT / "docs/registration/pronom.md").read_text()
        magic, *forms = re.search(r"offset 0: `(\w+)`, then the form: `(\w+)` .*?`(\w+)` and `(\w+)`", text).groups()
        cdf5 = re.search(r"offset 0: `(434446\w+)`", text)[1]
        signatures = {**{f"nc3z/{form}": magic + form for form in forms}, "cdf/5": cdf5}
        each = "<format><puid>{0}</puid><name>{0}</name><signature><name>{0}</name><pattern><position>BOF</position><pronom_pattern>{1}</pronom_pattern><regex>{2}</regex></pattern></signature></format>"
        pattern = lambda digits: "(?s)\\A" + "".join(f"\\x{digits[i:i + 2]}" for i in range(0, len(digits), 2))  # noqa: E731
        formats = self.dir / "formats.xml"
        formats.write_text("<formats>" + "".join(each.format(name, digits, pattern(digits)) for name, digits in signatures.items()) + "</formats>")
        for path in (self.long, self.short, self.whole):
            data = bytearray(path.read_bytes())
            data[8] = 1
            path.write_bytes(data)
        five = self.dir / "five"
        five.write_bytes((CLASSIC / "all_types_cdf5.nc").read_bytes())
        done = run(FIDO, "-q", "-loadformats", formats, self.long, self.short, self.whole, five, self.other)
        found = [row.split(",")[2] for row in done.stdout.splitlines()]
        self.assertEqual(found[:4], ["nc3z/0100", "nc3z/0101", "nc3z/0102", "cdf/5"], done.stdout + done.stderr)
        self.assertNotIn("cdf/5", found[4])

    def test_siegfried(self):
        self.needs("roy")
        self.needs("sf")
        done = run("roy", "build", "-noreports", "-extend", HERE / "nc3z-droid.xml", self.dir / "nc3z.sig")
        self.assertEqual(done.returncode, 0, done.stderr)
        for path, puid in ((self.long, "nc3z/1"), (self.short, "nc3z/2")):
            self.assertIn(puid, run("sf", "-sig", self.dir / "nc3z.sig", path).stdout)

    def test_signature_file_of_droid(self):
        """DROID and Siegfried are seldom at hand: the byte sequences, and the shifts by which DROID searches for them."""
        import xml.etree.ElementTree as Xml

        space = {"d": "http://www.nationalarchives.gov.uk/pronom/SignatureFile"}
        root = Xml.parse(HERE / "nc3z-droid.xml").getroot()
        sequences = {}
        for signature in root.iterfind(".//d:InternalSignature", space):
            self.assertEqual(signature.find("d:ByteSequence", space).get("Reference"), "BOFoffset")
            part = signature.find(".//d:SubSequence", space)
            self.assertEqual((part.get("SubSeqMinOffset"), part.get("SubSeqMaxOffset")), ("0", "0"))
            sequence = bytes.fromhex(part.find("d:Sequence", space).text)
            self.assertEqual(int(part.find("d:DefaultShift", space).text), len(sequence) + 1)
            shifts = {int(s.get("Byte"), 16): int(s.text) for s in part.iterfind("d:Shift", space)}
            self.assertEqual(shifts, {byte: len(sequence) - i for i, byte in enumerate(sequence)})
            sequences[signature.get("ID")] = sequence
        formats = {}
        for each in root.iterfind(".//d:FileFormat", space):
            self.assertEqual((each.get("MIMEType"), each.find("d:Extension", space).text), (MIME, "nc3z"))
            formats[each.get("PUID")] = [sequences[i.text] for i in each.iterfind("d:InternalSignatureID", space)]
        for path, puid in ((self.long, "nc3z/1"), (self.short, "nc3z/2"), (self.whole, "nc3z/2")):
            hits = [name for name, some in formats.items() if any(path.read_bytes().startswith(s) for s in some)]
            self.assertEqual(hits, [puid])
        # FIDO's file says the same.
        patterns = re.findall(r"<pronom_pattern>(\w+)<", Path(HERE / "nc3z-fido.xml").read_text())
        self.assertEqual(sorted(map(bytes.fromhex, patterns)), sorted(sequences.values()))


if __name__ == "__main__":
    unittest.main()
