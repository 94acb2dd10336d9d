"""The main commands, each with small files: names, refusals, exit codes, and the files that remain."""

import json
import os
import re
import unittest
from pathlib import Path

import samples
from common import Case, nc3z

SMALL = samples.small()


class Directory(Case):
    """Runs commands in the test's directory."""

    def put(self, name, data):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def get(self, name):
        return (self.dir / name).read_bytes()

    def run_in(self, *args, code=0, says=None, **options):
        """Runs the tool, checks its exit code and a part of its messages. Returns what it did."""
        done = nc3z(*args, cwd=self.dir, **options)
        self.assertEqual(done.returncode, code, (args, done.stdout[-500:], done.stderr))
        if says is not None:
            self.assertIn(says, done.stderr)
        return done

    def text(self, *args, **options):
        return self.run_in(*args, **options).stdout.decode()

    def json(self, *args, **options):
        return json.loads(self.run_in(*args, **options).stdout)

    def files(self, under=""):
        """All files below the directory, sorted, including hidden and temporary ones."""
        found = [Path(folder, name).relative_to(self.dir) for folder, _, names in os.walk(self.dir) for name in names]
        return sorted(str(path) for path in found if str(path).startswith(under))


class Archive(Directory):
    def test_the_default_name_is_the_input_with_the_suffix(self):
        self.put("in/a.nc", SMALL)
        done = self.run_in("archive", "in/a.nc", says="in/a.nc -> in/a.nc.nc3z")
        self.assertIn("verified", done.stderr)
        self.assertEqual(self.files(), ["in/a.nc", "in/a.nc.nc3z"])
        self.assertEqual(self.get("in/a.nc"), SMALL)

    def test_the_output_is_a_file_or_a_directory(self):
        self.put("a.nc", SMALL)
        self.put("out/keep", b"")
        self.run_in("archive", "a.nc", "-o", "b")
        self.run_in("archive", "a.nc", "-o", "out")
        self.assertEqual(self.files(), ["a.nc", "b", "out/a.nc.nc3z", "out/keep"])
        self.assertEqual(self.get("b"), self.get("out/a.nc.nc3z"))

    def test_a_refused_input_exits_with_1_says_what_it_is_and_leaves_nothing(self):
        cases = {
            "empty": (b"", "the file is empty"),
            "text": (b"hello, I am no netCDF file", "this is text"),
            "hdf5": (b"\x89HDF\r\n\x1a\n________________", "HDF5"),
            "short": (SMALL[:50], "cut short"),
            "tag": (SMALL[:11] + b"\xee" + SMALL[12:], "byte 8"),
        }
        messages = ""
        for name, (data, words) in cases.items():
            self.put(name, data)
            done = self.run_in("archive", name, code=1, says=words)
            self.assertEqual(done.stdout, b"")
            messages += done.stderr
        self.assertEqual(self.files(), sorted(cases))
        samples.check_snapshot(self, "refused.txt", messages)

    def test_a_missing_input_is_one_failure_among_others(self):
        self.put("a.nc", SMALL)
        self.put("b.nc", samples.noisy(64))
        done = self.run_in("archive", "a.nc", "none.nc", "b.nc", code=1, says="1 of 3 files failed")
        self.assertTrue(done.stderr.endswith("  none.nc\n"), done.stderr)
        self.assertEqual(self.files(), ["a.nc", "a.nc.nc3z", "b.nc", "b.nc.nc3z"])

    def test_an_existing_target_is_kept_without_force(self):
        self.put("a.nc", SMALL)
        self.put("a.nc.nc3z", b"precious")
        done = self.run_in("archive", "a.nc", code=1, says="`a.nc.nc3z` exists")
        self.assertIn("--force", done.stderr)
        self.assertEqual(self.get("a.nc.nc3z"), b"precious")
        self.run_in("archive", "--force", "a.nc")
        self.assertTrue(self.get("a.nc.nc3z").startswith(b"\x89NC3Z"))
        self.assertEqual(self.files(), ["a.nc", "a.nc.nc3z"])

    def test_an_input_is_never_its_own_output(self):
        self.put("a.nc", SMALL)
        self.run_in("archive", "--force", "a.nc", "-o", "a.nc", code=1, says="same file")
        self.assertEqual(self.get("a.nc"), SMALL)

    def test_remove_source_deletes_what_was_verified_and_nothing_else(self):
        self.put("a.nc", SMALL)
        self.put("bad.nc", b"CDF\x01 but no more")
        self.run_in("archive", "--remove-source", "a.nc", "bad.nc", code=1)
        self.assertEqual(self.files(), ["a.nc.nc3z", "bad.nc"])
        self.run_in("restore", "a.nc.nc3z")
        self.assertEqual(self.get("a.nc"), SMALL)
        # The target exists: nothing was verified, so the source must not be removed.
        self.run_in("archive", "--remove-source", "a.nc", code=1)
        self.assertEqual(self.get("a.nc"), SMALL)

    def test_pipes_carry_files_both_ways(self):
        original = samples.noisy(5000)
        archived = self.run_in("archive", "-", "-o", "-", input=original).stdout
        self.assertTrue(archived.startswith(b"\x89NC3Z"))
        self.run_in("archive", "-", "-o", "a.nc3z", input=original)
        self.assertEqual(self.get("a.nc3z"), archived)
        self.assertEqual(self.run_in("restore", "a.nc3z", "-o", "-").stdout, original)
        self.run_in("archive", "-", "x.nc", input=original, code=1, says="`-` must be the only input")
        self.run_in("archive", "-", "-o", "b.nc3z", input=b"no netCDF", code=1, says="text")
        self.assertEqual(self.files(), ["a.nc3z"])

    def test_an_archive_does_not_depend_on_threads_or_memory(self):
        self.put("a.nc", samples.noisy(300_000))
        tiles = ("archive", "a.nc", "--tile-size", "16KiB")
        self.run_in(*tiles, "--threads", "1", "-o", "one")
        self.run_in(*tiles, "--threads", "4", "--memory", "32MiB", "-o", "four")
        self.assertEqual(self.get("one"), self.get("four"))


class Restore(Directory):
    def archived(self, original=SMALL):
        self.run_in("archive", "-", "-o", "a.nc3z", input=original)

    def test_the_default_name_is_without_the_suffix(self):
        self.archived()
        done = self.run_in("restore", "a.nc3z", says="a.nc3z -> a")
        self.assertIn("SHA-256 as recorded", done.stderr)
        self.run_in("restore", "--mmap", "a.nc3z", "-o", "b")
        self.assertEqual((self.get("a"), self.get("b")), (SMALL, SMALL))

    def test_an_archive_of_another_name_needs_an_output(self):
        self.archived()
        (self.dir / "a.nc3z").rename(self.dir / "odd")
        self.run_in("restore", "odd", code=1, says="-o")
        self.run_in("restore", "odd", "-o", "b.nc")
        self.assertEqual(self.get("b.nc"), SMALL)

    def test_an_existing_target_is_kept_without_force(self):
        self.archived()
        self.put("a", b"precious")
        self.run_in("restore", "a.nc3z", code=1, says="`a` exists")
        self.assertEqual(self.get("a"), b"precious")
        self.run_in("restore", "--force", "a.nc3z")
        self.assertEqual(self.get("a"), SMALL)

    def test_a_corrupt_archive_exits_with_3_and_leaves_nothing(self):
        self.archived(samples.noisy(100_000))
        whole = self.get("a.nc3z")
        for at, words in ((20, "corrupt "), (len(whole) // 2, "corrupt "), (len(whole) - 1, "is damaged")):
            self.put("bad.nc3z", flipped(whole, at))
            self.run_in("restore", "bad.nc3z", code=3, says=words)
        for length in (9, 200, len(whole) - 8):
            self.put("bad.nc3z", whole[:length])
            self.run_in("restore", "bad.nc3z", code=3)
        self.assertEqual(self.files(), ["a.nc3z", "bad.nc3z"])

    def test_a_classic_file_is_not_an_archive(self):
        self.put("a.nc3z", SMALL)
        self.run_in("restore", "a.nc3z", code=1, says="classic netCDF")
        self.assertEqual(self.files(), ["a.nc3z"])

    def test_the_worst_failure_gives_the_exit_code(self):
        self.archived()
        self.put("bad.nc3z", flipped(self.get("a.nc3z"), 20))
        done = self.run_in("restore", "none.nc3z", "bad.nc3z", "a.nc3z", code=3, says="2 of 3 archives failed")
        self.assertTrue(done.stderr.endswith("  none.nc3z\n  bad.nc3z\n"), done.stderr)
        self.assertEqual(self.files(), ["a", "a.nc3z", "bad.nc3z"])


class Trees(Directory):
    """`--recursive`: trees keep their structure, and failures are reported at the end."""

    ARCHIVES = ["out/a.nc.nc3z", "out/deep/er/b.nc.nc3z"]

    def setUp(self):
        super().setUp()
        for name, data in {"data/a.nc": SMALL, "data/deep/er/b.nc": samples.noisy(100), "data/deep/notes.txt": b"left alone", "data/deep/tiny": b"x"}.items():
            self.put(name, data)

    def test_a_tree_is_kept_there_and_back(self):
        self.run_in("archive", "--recursive", "data", "-o", "out")
        self.assertEqual(self.files("out/"), self.ARCHIVES)
        self.run_in("restore", "--recursive", "out", "-o", "back")
        self.assertEqual(self.get("back/a.nc"), SMALL)
        self.assertEqual(self.get("back/deep/er/b.nc"), samples.noisy(100))

    def test_archives_are_beside_their_files_without_an_output(self):
        self.run_in("archive", "-r", "data")
        self.assertIn("data/deep/er/b.nc.nc3z", self.files())
        # A second run finds the existing archives and changes nothing.
        done = self.run_in("archive", "-r", "data", says="0 archived, 2 already there")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_failures_are_listed_at_the_end_and_stop_nothing(self):
        self.put("data/deep/bad.nc", SMALL[:40])
        done = self.run_in("archive", "-r", "data", "-o", "out", code=1, says="1 of 3 files failed")
        self.assertTrue(done.stderr.endswith("  data/deep/bad.nc\n"), done.stderr)
        self.assertEqual(self.files("out/"), self.ARCHIVES)

    def test_a_slash_at_the_end_makes_a_directory(self):
        self.run_in("archive", "data/a.nc", "-o", "store/")
        self.run_in("restore", "store/a.nc.nc3z", "-o", "back/")
        self.assertEqual(self.get("back/a.nc"), SMALL)

    def test_several_inputs_do_not_go_into_the_name_of_an_archive(self):
        before = self.files()
        self.run_in("archive", "data/a.nc", "data/deep/er/b.nc", "-o", "two.nc3z", code=1, says="need a directory")
        self.run_in("archive", "-r", "data", "-o", "two.nc3z", code=1, says="need a directory")
        self.assertEqual(self.files(), before)
        self.run_in("archive", "data/a.nc", "data/deep/er/b.nc", "-o", "two.nc3z/")
        self.assertEqual(len(self.text("verify", "-r", "two.nc3z").splitlines()), 3)

    def test_a_directory_without_recursive_is_refused(self):
        before = self.files()
        self.run_in("archive", "data", code=1, says="--recursive")
        self.run_in("restore", "data", code=1, says="--recursive")
        self.assertEqual(self.files(), before)

    def test_links_out_of_the_tree_are_reported_and_left_alone(self):
        self.put("elsewhere/out.nc", SMALL)
        self.run_in("archive", "elsewhere/out.nc")
        for link, target in (("file.nc", "../elsewhere/out.nc"), ("directory", "../elsewhere"), ("file.nc3z", "../elsewhere/out.nc.nc3z"),
                             ("deep/loop", "../../data"), ("same.nc", "a.nc")):
            (self.dir / "data" / link).symlink_to(target)
        done = self.run_in("archive", "-r", "data", "-o", "out")
        self.assertEqual(self.files("out/"), self.ARCHIVES)
        self.assertEqual(done.stderr.count("leads out of the tree"), 2, done.stderr)
        # A link in the output would refer to a file outside the tree, which must not be replaced.
        before = self.get("elsewhere/out.nc.nc3z")
        self.run_in("recompress", "-r", "--preset", "max", "data", says="data/file.nc3z: a link that leads out")
        self.assertEqual(self.get("elsewhere/out.nc.nc3z"), before)
        self.run_in("restore", "-r", "data", "-o", "back")
        self.assertFalse((self.dir / "back").exists())
        self.assertEqual(len(self.text("hash", "-r", "data").splitlines()), 4)
        # A link that the user names is followed.
        (self.dir / "link").symlink_to("data")
        self.run_in("archive", "-r", "link", "-o", "too")
        self.assertEqual(self.get("too/a.nc.nc3z"), self.get("out/a.nc.nc3z"))

    def test_a_link_in_the_tree_to_a_file_without_the_ending_is_taken(self):
        self.run_in("archive", "data/a.nc", "-o", "store/blob", code=1, says="--parents")
        self.run_in("archive", "--parents", "data/a.nc", "-o", "store/blob")
        (self.dir / "store/a.nc.nc3z").symlink_to("blob")
        self.run_in("restore", "-r", "store", "-o", "back")
        self.assertEqual(self.get("back/a.nc"), SMALL)


class Verify(Directory):
    def test_a_sound_archive_is_said_to_be_so(self):
        self.put("a.nc", SMALL)
        self.run_in("archive", "a.nc")
        self.assertTrue(self.text("verify", "a.nc.nc3z", "--against", "a.nc").startswith("a.nc.nc3z: sound, "))
        [report] = self.json("verify", "--json", "a.nc.nc3z")
        self.assertEqual((report["sound"], report["findings"]), (True, []))

    def test_damage_exits_with_3_and_names_the_variable(self):
        self.put("a.nc", samples.noisy(100_000))
        self.run_in("archive", "a.nc")
        data = self.get("a.nc.nc3z")
        self.put("bad.nc3z", flipped(data, len(data) // 2, 0x10))
        bad, good = self.json("verify", "--json", "bad.nc3z", "a.nc.nc3z", code=3)
        self.assertEqual((bad["sound"], good["sound"], bad["findings"][0]["variable"]), (False, True, "noise"))

    def test_another_original_is_a_failure(self):
        self.put("a.nc", SMALL)
        self.run_in("archive", "a.nc")
        self.put("b.nc", flipped(SMALL, len(SMALL) - 1))
        self.run_in("verify", "a.nc.nc3z", "--against", "b.nc", code=1, says=f"differs at byte {len(SMALL) - 1}")


class Parity(Directory):
    """`parity`, and its use by `verify` and `repair`."""

    def setUp(self):
        super().setUp()
        self.put("a.nc", samples.noisy(100_000))
        self.run_in("archive", "--parity", "5%", "a.nc")
        self.good = self.get("a.nc.nc3z")

    def test_parity_is_added_described_and_removed(self):
        self.run_in("archive", "a.nc", "-o", "b.nc3z")
        without = self.get("b.nc3z")
        has, has_not = self.json("parity", "info", "--json", "a.nc.nc3z", "b.nc3z")
        self.assertEqual((has["parity"], has_not["parity"], has["covers"], has["stale_bytes"]), (True, False, len(self.good), 0))
        self.run_in("parity", "add", "--share", "5", "b.nc3z")
        self.assertEqual(self.get("b.nc3z"), self.good)
        self.run_in("parity", "add", "b.nc3z", code=1, says="already")
        self.assertIn("can lose", self.text("parity", "info", "b.nc3z"))
        self.run_in("parity", "remove", "b.nc3z")
        self.assertEqual(self.get("b.nc3z"), without)
        self.run_in("parity", "remove", "b.nc3z", code=1, says="no parity")
        self.run_in("parity", "info", "a.nc", code=1, says="not an nc3z archive")

    def test_damage_within_parity_is_reported_and_repaired(self):
        bad = flipped(bytes(5000) + self.good[5000:], 60_000, 4)
        self.put("bad.nc3z", bad)
        self.assertEqual(self.json("verify", "--json", "bad.nc3z", code=3)[0]["parity"]["state"], "repairable")
        self.assertIn("damaged, repairable by parity (3 of ", self.text("verify", "bad.nc3z", code=3))
        done = self.json("repair", "--json", "bad.nc3z", "-o", "good.nc3z")
        self.assertEqual((done["by"], done["repaired_shards"]), ("parity", 3))
        self.assertTrue(self.get("good.nc3z") == self.good and self.get("bad.nc3z") == bad)
        self.run_in("repair", "bad.nc3z", "-o", "good.nc3z", code=1, says="exists")
        self.run_in("repair", "--in-place", "bad.nc3z")
        self.assertTrue(self.get("bad.nc3z") == self.good)
        self.assertIn("parity intact", self.text("verify", "bad.nc3z"))

    def test_damaged_parity_is_damage(self):
        at = self.json("parity", "info", "--json", "a.nc.nc3z")[0]["region_offset"]
        self.put("bad.nc3z", flipped(self.good, at + 100))
        [report] = self.json("verify", "--json", "bad.nc3z", code=3)
        self.assertEqual((report["findings"][0]["structure"], report["parity"]["lost_packets"]), ("parity", 1))
        self.run_in("repair", "--in-place", "bad.nc3z")
        self.assertTrue(self.get("bad.nc3z") == self.good)

    def test_damage_beyond_parity_is_salvaged_or_left(self):
        half = len(self.good) // 2
        bad = self.good[:20_000] + b"\x09" * (half - 20_000) + self.good[half:]
        self.put("bad.nc3z", bad)
        self.assertEqual(self.json("verify", "--json", "bad.nc3z", code=3)[0]["parity"]["state"], "beyond repair")
        self.run_in("repair", "--in-place", "bad.nc3z", code=3, says="beyond its parity")
        self.assertTrue(self.get("bad.nc3z") == bad)
        self.run_in("repair", "bad.nc3z", "-o", "rest.nc3z", code=3, says="beyond its parity")
        self.run_in("verify", "rest.nc3z")
        self.run_in("repair", "--no-parity", "bad.nc3z", "-o", "rest2.nc3z", code=3)
        self.assertTrue(self.get("rest.nc3z") == self.get("rest2.nc3z"))

    def test_parity_is_not_added_to_damage(self):
        self.run_in("parity", "remove", "a.nc.nc3z")
        bad = flipped(self.get("a.nc.nc3z"), 50_000)
        self.put("bad.nc3z", bad)
        self.run_in("parity", "add", "bad.nc3z", code=3, says="sound, before parity is added")
        self.assertTrue(self.get("bad.nc3z") == bad)
        self.run_in("repair", "--in-place", "bad.nc3z", code=1, says="no parity")


class Read(Directory):
    """`read` and `read --explain`, of the small file and its archive."""

    FILES = ("a.nc", "a.nc.nc3z")

    def setUp(self):
        super().setUp()
        self.put("a.nc", SMALL)
        self.run_in("archive", "a.nc", "--tile-size", "16")

    def test_formats_of_archives_and_classic_files(self):
        rows = ["270.0 270.25 270.5 270.75", "271.0 271.25 271.5 271.75", "272.0 272.25 272.5 272.75"]
        for file in self.FILES:
            for args, expected in (
                ("tas", rows),
                ("tas -d time,-1 -d x,2.0,3.0", ["272.25 272.5"]),
                ("tas -d x,3,0 -d time,,,-2", ["272.75 272.0", "270.75 270.0"]),
                ("tas --start 2,3 --count 2,2 --stride -2,-1", ["272.75 272.5", "270.75 270.5"]),
                ("tas --stride 2,-3", ["270.75 270.0", "272.75 272.0"]),
                ("tas -d time,1 -d x,,1 --format csv", ["time,x,tas", "1,1,271.0", "1,2,271.25"]),
                ("tas --count 0,4", []),
            ):
                self.assertEqual(self.text("read", file, *args.split()).splitlines(), expected, args)
            found = self.json("read", file, *"tas -d time,0,1 -d x,0 --format json".split())
            self.assertEqual(found, {"variable": "tas", "type": "float", "dimensions": ["time", "x"], "shape": [2, 1], "data": [[270.0], [271.0]]})
            self.assertEqual(self.run_in("read", file, "flag", "--format", "raw").stdout, bytes([0, 0, 0, 1, 0, 2]))
            npy = self.run_in("read", file, "flag", "--format", "npy").stdout
            self.assertTrue(npy.startswith(b"\x93NUMPY\x01\0") and npy.endswith(b"\n\0\0\x01\0\x02\0"), npy)
            self.assertEqual(self.json("read", file, *"tas --count 2,0 --format json".split())["data"], [[], []])

    def test_output_files_appear_whole_and_are_not_overwritten(self):
        self.run_in(*"read a.nc.nc3z flag --format raw -o new/flag --parents".split())
        self.assertEqual(self.get("new/flag"), bytes([0, 0, 0, 1, 0, 2]))
        self.run_in("read", "a.nc", "tas", "-o", "new/flag", code=1, says="exists")
        self.run_in("read", "a.nc", "x", "-o", "new/flag", "--force")
        self.assertEqual(self.get("new/flag"), b"1 2 3 4\n")
        self.run_in("read", "a.nc", "x", "-o", "a.nc", "--force", code=1, says="same file")
        before = self.files()
        self.run_in("read", "a.nc", "x", "-d", "x,4", "-o", "none", code=1)
        self.assertEqual(self.files(), before)

    def test_requests_outside_are_refused_by_name(self):
        for args, code, words in (
            ("nope", 1, 'no variable "nope"; there are x, b, flag, tas'),
            ("tas -d time,3", 1, "dimension `time` has length 3, asked for index 3"),
            ("tas -d x,-5", 1, "dimension `x` has length 4, asked for index -5"),
            ("tas -d y,0", 1, "variable `tas` has no dimension `y`; it has time, x"),
            ("tas -d x,0 -d x,1", 1, "dimension `x` is given twice"),
            ("tas -d x,9.0", 1, "dimension `x` goes from 1.0 to 4.0, asked for 9.0"),
            ("tas -d x,2.1,2.9", 1, "no value is in 2.1 to 2.9; values go from 1.0 to 4.0"),
            ("tas -d time,0.0", 1, "dimension `time` has no coordinate variable"),
            ("tas --start 0", 1, "--start has 1 numbers, variable `tas` has 2 dimensions (time=3 x=4)"),
            ("tas --count 3,5", 1, "dimension 1 (`x`) has length 4, asked for start 0, count 5, stride 1"),
            ("tas --start 0,9", 1, "has length 4, asked for start 9"),
            ("tas -d x", 2, "no range is given"),
            ("tas -d x,1 --start 0,0", 2, "cannot be used with"),
        ):
            for file in self.FILES:
                for command in (("read",), ("read", "--explain")):
                    self.assertEqual(self.run_in(*command, file, *args.split(), code=code, says=words).stdout, b"")

    def test_a_plan_has_tiles_and_bytes(self):
        text = self.text("read", "--explain", *"a.nc.nc3z tas -d x,1,2 -d time,1,2".split())
        for words in ("variable   float tas(time=3, x=4)", "selection  [1 x2, 1 x2]", "wanted     4 elements, 16 B", "tiles      2 of 3 (linear 4), 0 whole",
                      "copies     2 runs", "cache      0 of 2 tiles there", "tile 1: 1 run", "  src 1.. -> dst 0.., 2 elements"):
            self.assertIn(words, text)
        found = self.json("read", "--explain", "--json", *"a.nc.nc3z tas -d x,3,0".split())
        self.assertEqual(found["tiles"], {"total": 3, "touched": 3, "whole": 0, "constant": 0, "references": 0})
        self.assertEqual((found["bytes_wanted"], found["runs"], len(found["hyperslabs"])), (24, 6, 2))
        classic = self.json("read", "--explain", "--json", *"a.nc tas -d time,0".split())
        self.assertEqual((classic["bytes_to_fetch"], classic["bytes_to_decode"], classic["archived"]), (16, 0, False))

    def test_damage_elsewhere_does_not_matter(self):
        self.put("n.nc", samples.noisy(40_000))
        self.run_in("archive", "n.nc", "--tile-size", "10000")
        data, noise = self.get("n.nc.nc3z"), samples.noise(40_000)
        self.put("bad.nc3z", flipped(data, data.index(noise[25_000:25_016])))
        whole = self.run_in(*"read bad.nc3z noise --start 0 --count 20000 --format raw".split())
        self.assertEqual(whole.stdout, noise[:20_000])
        self.run_in(*"read bad.nc3z noise --start 25000 --count 1".split(), code=3, says="noise")
        self.run_in("read", "--explain", "bad.nc3z", "noise")

    def test_names_cannot_steer_the_terminal(self):
        self.put("a.nc", samples.small(b"ta\x1b[31ms"))
        for command in (("read",), ("read", "--explain")):
            self.assertNotIn("\x1b", self.run_in(*command, "a.nc", "nope", code=1).stderr)
        self.assertNotIn("\x1b", self.text("read", "--explain", "a.nc", "ta\x1b[31ms"))


class Hash(Directory):
    def test_archives_have_the_digest_of_their_original(self):
        self.put("a.nc", SMALL)
        self.run_in("archive", "a.nc")
        self.run_in("archive", "a.nc", "--preset", "max", "--tile-size", "8", "-o", "b.nc3z")
        rows = self.json("hash", "--variables", "--json", "a.nc", "a.nc.nc3z", "b.nc3z")
        for archive in rows[1:]:
            for key in ("content", "sha256", "variables", "original_bytes"):
                self.assertEqual(archive[key], rows[0][key], key)
            self.assertEqual(archive["recorded_sha256"], rows[0]["sha256"])
        samples.check_snapshot(self, "hash-keys.txt", samples.keys(rows))

    def test_lists_are_taken_back(self):
        self.put("a.nc", SMALL)
        self.put("b.nc", samples.noisy(3_000_000))
        self.put("list", self.run_in("hash", "--variables", "a.nc", "b.nc").stdout)
        checked = self.text("hash", "--check", "list").splitlines()
        self.assertEqual((len(checked), [line for line in checked if not line.endswith(": OK")]), (2 + 4 + 2 + 2, []))
        self.put("b.nc", samples.noisy(3_000_004))
        self.run_in("hash", "--check", "--quiet", "list", code=1, says="did NOT match")
        self.run_in("hash", "--check", "a.nc", code=1, says="not a list of digests")
        self.put("notes", b"nothing to check\n")
        self.run_in("hash", "--check", "notes", code=1, says="no digest was checked")

    def test_names_are_escaped_and_found_again_and_twice_the_same_name_is_told_apart(self):
        for name, shown in ((b"x", "= "), (b"\x1b[2J\xff)\n", "\\x1b[2J\\xff\\x29\\n = ")):
            self.put("a.nc", samples.small(name))
            lines = self.run_in("hash", "--variables", "a.nc").stdout
            self.assertIn(shown.encode(), lines)
            self.put("list", lines)
            self.assertNotIn("\x1b", self.text("hash", "--check", "list"))


class Help(Directory):
    def test_help_is_as_recorded(self):
        main = self.text("--help")
        samples.check_snapshot(self, "help.txt", main)
        self.assertEqual(self.text("help"), main)
        everything = self.text("--help-all")
        listed = everything[everything.index("Archive and restore:") : everything.index("\nOptions:")]
        commands = [name for name in re.findall(r"^  (\w\S*)", listed, re.M) if name != "help"]
        self.assertGreater(len(commands), 30, commands)
        for command in commands:
            brief = self.run_in(command, "--help")
            self.assertEqual((brief.stderr, self.text("help", command)), ("", brief.stdout.decode()))
            self.assertIn(f"nc3z {command} --help-all", brief.stdout.decode())
            self.assertIn("--color", self.text(command, "--help-all"))

    def test_former_names_are_usage_errors_that_say_the_new_ones(self):
        for old, new in (
            ("layout a.nc", "nc3z info --layout"),
            ("gc a.nc3z --in-place", "nc3z prune"),
            ("help manifest", "nc3z hash --manifest"),
            ("archive --block-size 1MiB a.nc", "--tile-size"),
            ("restore --generation=1 a.nc3z", "NAME@VERSION"),
        ):
            self.run_in(*old.split(), code=2, says=f"is now `{new}`")

    def test_usage_errors_exit_with_2(self):
        self.put("a.nc", SMALL)
        for args in ("", "frobnicate", "archive", "archive --no-such-flag a.nc", "archive --tile-size 0 a.nc", "archive --tile-size 1MB a.nc",
                     "archive --no-verify --remove-source a.nc", "info", "info --layout --versions a.nc"):
            done = self.run_in(*args.split(), code=2)
            self.assertTrue(not done.stdout and done.stderr, args)
        self.assertEqual(self.files(), ["a.nc"])

    def test_colour_is_only_on_request(self):
        self.assertNotIn("\x1b", self.run_in("info", "none.nc", code=1).stderr)
        self.assertIn("\x1b", self.run_in("--color", "always", "info", "none.nc", code=1).stderr)


def flipped(data, at, bits=1):
    """The bytes with some bits of one of them flipped."""
    return data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]


if __name__ == "__main__":
    unittest.main()
