"""Other people's programs say the same of the restored file as of the original."""

import re
import subprocess
import unittest

from common import CLASSIC, Case, bad_files, good_files, header, need_program, nc3z, sha256


def say(directory, *command):
    """Exit code, standard output (bytes), standard error, with the directory taken out."""
    done = subprocess.run(command, cwd=directory, capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def dump(path):
    """Arguments for ncdump: it takes the streaming mark for four billion records, and would print them all."""
    return ("-h", path.name) if path.name.startswith("streaming") else (path.name,)


class Oracle(Case):
    def originals(self):
        return self.need(good_files(), "test files")

    def restored(self):
        """Each original with its restored twin, of the same name in another directory."""
        twins = self.dir / "back"
        twins.mkdir()
        for path in self.originals():
            twin, archive = twins / path.name, self.dir / "a.nc3z"
            self.ok(nc3z("archive", path, "-o", archive))
            self.ok(nc3z("restore", archive, "-o", twin))
            yield path, twin
            archive.unlink()
            twin.unlink()

    def test_ncdump(self):
        ncdump = need_program(self, "ncdump")
        accepted = 0
        for path, twin in self.restored():
            with self.subTest(path.name):
                before, after = say(path.parent, ncdump, *dump(path)), say(twin.parent, ncdump, *dump(twin))
                self.assertEqual(after[0], before[0], "exit code")
                self.assertEqual(after[2], before[2], "standard error")
                self.assertTrue(after[1] == before[1], "ncdump prints something else")
                accepted += before[0] == 0
        self.assertGreater(accepted, 10)

    def test_ncdump_by_another_name(self):
        ncdump = need_program(self, "ncdump")
        for path in [p for p in self.originals() if p.stat().st_size < 100_000 and dump(p)[0] != "-h"]:
            with self.subTest(path.name):
                archive, twin = self.dir / "a.nc3z", self.dir / "another name.nc"
                self.ok(nc3z("archive", "--preset", "max", path, "-o", archive))
                self.ok(nc3z("restore", archive, "-o", twin))
                outputs = [re.sub(rb"\Anetcdf .*? \{", b"netcdf NAME {", say(p.parent, ncdump, p.name)[1]) for p in (path, twin)]
                self.assertTrue(outputs[0] == outputs[1])
                archive.unlink()
                twin.unlink()

    def test_ncvalidator(self):
        ncvalidator = need_program(self, "ncvalidator")
        for path, twin in self.restored():
            with self.subTest(path.name):
                self.assertEqual(say(twin.parent, ncvalidator, twin.name), say(path.parent, ncvalidator, path.name))

    def test_every_file_that_ncdump_dumps_is_archived(self):
        ncdump = need_program(self, "ncdump")
        for path in self.need(bad_files(), "files of testdata/classic"):
            self.assertNotEqual(say(path.parent, ncdump, "-h", path.name)[0], 0, f"{path.name} is refused, but ncdump reads it")

    def test_stored_descriptions(self):
        """ncdump prints the recorded text of the originals (testdata/cdl) for the restored files, including numbers and names."""
        ncdump = need_program(self, "ncdump")
        checked = 0
        for path, twin in self.restored():
            stored = CLASSIC.parent / "cdl" / f"{path.stem}.cdl"
            if path.parent != CLASSIC or not stored.exists():
                continue
            with self.subTest(path.name):
                _, now, _ = say(twin.parent, ncdump, *(["-h"] if path.suffix == ".cdf" else []), twin.name)
                self.assertEqual(now.decode(), stored.read_text(encoding="utf-8"))
                checked += 1
        self.assertGreater(checked, 10)

    def test_made_by_the_reference_library(self):
        """Files that ncgen writes, in each of the three formats."""
        ncgen, ncdump, ncvalidator = (need_program(self, p) for p in ("ncgen", "ncdump", "ncvalidator"))
        text = """netcdf made {
dimensions: t = UNLIMITED ; x = 3 ;
variables: float v(t, x) ; v:_FillValue = -1.f ; byte odd(t) ; char name(x) ; double w(x) ;
data: v = 1, 2, 3, _, 5, 6, 7, 8, 9 ; odd = 1, 2, 3 ; name = "abc" ; w = 1e300, NaN, -0. ;
}
"""
        (self.dir / "made.cdl").write_text(text)
        (self.dir / "back").mkdir()
        for kind in ("classic", "64-bit-offset", "64-bit-data"):
            with self.subTest(kind):
                source, archive, twin = self.dir / "made.nc", self.dir / "made.nc3z", self.dir / "back/made.nc"
                subprocess.run([ncgen, "-k", kind, "-o", source, self.dir / "made.cdl"], check=True)
                self.ok(nc3z("archive", source, "-o", archive))
                self.ok(nc3z("restore", archive, "-o", twin))
                self.assertEqual(sha256(twin), sha256(source))
                for program in (ncdump, ncvalidator):
                    before, after = say(source.parent, program, source.name), say(twin.parent, program, twin.name)
                    self.assertEqual(before[0], 0, before[2])
                    self.assertEqual(after, before)
                for file in (source, archive, twin):
                    file.unlink()

    def test_own_header_maker(self):
        """The helper that makes the synthetic files of these tests makes what ncdump reads."""
        ncdump = need_program(self, "ncdump")
        (self.dir / "h.nc").write_bytes(header([("a", (0,), 4, 8), ("b", (0,), 1, 4)], [("n", 2)]) + bytes(range(12)))
        code, out, err = say(self.dir, ncdump, "h.nc")
        self.assertEqual((code, err), (0, ""))
        self.assertIn(b"a = 66051, 67438087", out)


if __name__ == "__main__":
    unittest.main()
