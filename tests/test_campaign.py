"""Campaigns: a plan, runs of its units under kills, and a status that knows what is missing."""

import csv
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from common import CLASSIC, NIGHT, Case, Moments, finish, missing, nc3z, need_program, start, synthetic, wait_for
from test_trees import HDF5, classic

FILES = 400 if NIGHT else 24


class Campaign(Case):
    def setUp(self):
        super().setUp()
        for i in range(FILES):
            classic(self.dir / f"data/{i % 4}/m{i % 3}/{i}.nc", i)
        self.len = (self.dir / "data/0/m0/0.nc").stat().st_size

    def run_here(self, *args, code=0, **more):
        done = nc3z(*args, cwd=self.dir, **more)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout.decode())
        return done

    def plan(self, *args, code=0, unit=None):
        unit = unit or f"{(10 if NIGHT else 4) * self.len}"
        return json.loads(self.run_here("plan", "--json", *args, "data", "-o", "camp", "--unit", unit, code=code).stdout)

    def units(self):
        return sorted((self.dir / "camp/units").iterdir())

    def names(self, directory=None):
        return [name for unit in self.units() for name in unit.read_bytes().split(b"\0")[:-1]]

    def work(self, units=None, code=0):
        for unit in units or self.units():
            self.run_here("archive", "-q", "--unit", unit.relative_to(self.dir), "-o", "out", code=code)

    def status(self, code=0):
        return json.loads(self.run_here("status", "camp", "--json", code=code).stdout)

    def rows(self):
        with open(self.dir / "camp/total.csv", newline="", encoding="utf-8", errors="surrogateescape") as f:
            return list(csv.DictReader(f))

    def test_units_have_each_file_once(self):
        """Units of about equal bytes, with hard links together, and a row for everything in the tree."""
        data = self.dir / "data"
        os.link(data / "0/m0/0.nc", data / "3/m2/link.nc")
        os.link(data / "0/m0/0.nc", data / "zlink.nc")
        odd = classic(data / os.fsdecode(b'0/od\xff, "d"\n.nc'), 998)
        (data / "four.nc").write_bytes(HDF5)
        (data / "latest.nc").symlink_to("0/m0/0.nc")
        with open(data / "stub.nc", "wb") as f:
            f.truncate(1 << 20)
        planned = self.plan()
        self.assertEqual(planned["planned"]["files"], FILES + 4)
        self.assertEqual(planned["planned"]["bytes"], (FILES + 1) * self.len + (1 << 20), "hard links count once")
        self.assertEqual((planned["on_tape"], planned["hard_links"]), ({"files": 1, "bytes": 1 << 20}, 2))
        self.assertEqual(planned["passed_over"], {"netCDF-4 or HDF5": 1, "link inside the tree": 1})
        self.assertGreater(planned["estimate"]["core_hours"], 0)
        names = self.names()
        expected = {os.fsencode(p.relative_to(self.dir)) for p in data.rglob("*.nc")} - {b"data/four.nc", b"data/latest.nc"}
        self.assertEqual((len(names), set(names)), (len(expected), expected))
        units = {unit.stem: unit.read_bytes().split(b"\0")[:-1] for unit in self.units()}
        self.assertEqual(len(units), planned["units"])
        with_link = [name for name, files in units.items() if {b"data/0/m0/0.nc", b"data/3/m2/link.nc", b"data/zlink.nc"} & set(files)]
        self.assertEqual(len(with_link), 1, "all names of a file are in one unit")
        rows = self.rows()
        self.assertEqual(len(rows), len(names) + 2)
        for row in rows:
            if row["unit"]:
                self.assertIn(os.fsencode(row["path"]), units[f"{int(row['unit']):05}"])
        self.assertIn(str(odd.relative_to(self.dir)), {row["path"] for row in rows})
        self.assertRegex(rows[0]["mtime"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")

    def test_what_changed_is_named_and_added(self):
        self.plan()
        before, units = self.names(), len(self.units())
        self.assertEqual(self.plan()["changes"]["new"]["files"], 0)
        classic(self.dir / "data/new/1.nc", 1000)
        (self.dir / "data/0/m0/0.nc").unlink()
        os.utime(self.dir / "data/1/m1/1.nc", (1, 1))
        for code, args in ((1, ()), (0, ("--update",))):
            changes = self.plan(*args, code=code)["changes"]
            self.assertEqual([changes[k]["files"] for k in ("new", "changed", "gone")], [1, 1, 1])
            self.assertEqual({(f["what"], f["file"]) for f in changes["first"]},
                             {("new", "data/new/1.nc"), ("changed", "data/1/m1/1.nc"), ("gone", "data/0/m0/0.nc")})
        self.assertEqual(self.names()[:len(before)], before)
        self.assertEqual(set(self.names()[len(before):]), {b"data/new/1.nc", b"data/1/m1/1.nc"})
        self.assertEqual(len(self.units()), units + 1)
        self.assertEqual([row["path"] for row in self.rows() if row["kind"] == "gone"], ["data/0/m0/0.nc"])
        self.assertEqual(self.plan()["changes"]["gone"]["files"], 0)
        (self.dir / "other").mkdir()
        self.fails(nc3z("plan", "other", "-o", "camp", cwd=self.dir), 1, "other directories")

    def test_gone_files_stay_in_the_plan(self):
        """Through further updates, until they are there again as new files."""
        self.plan()
        gone = self.dir / "data/0/m0/0.nc"
        raw = gone.read_bytes()
        gone.unlink()
        self.assertEqual(self.plan("--update")["changes"]["gone"]["files"], 1)
        kinds = lambda: {row["path"]: row["kind"] for row in self.rows()}["data/0/m0/0.nc"]
        for n in range(2):
            classic(self.dir / f"data/new/{n}.nc", 1000 + n)
            changes = self.plan("--update")["changes"]
            self.assertEqual([changes[k]["files"] for k in ("new", "changed", "gone")], [1, 0, 0])
            self.assertEqual(kinds(), "gone")
        units = len(self.units())
        gone.write_bytes(raw)
        changes = self.plan("--update")["changes"]
        self.assertEqual([changes[k]["files"] for k in ("new", "changed", "gone")], [1, 0, 0])
        self.assertEqual(changes["first"], [{"what": "new", "file": "data/0/m0/0.nc"}])
        self.assertNotEqual(kinds(), "gone")
        self.assertEqual(len(self.rows()), FILES + 2)
        self.assertEqual(self.units()[units:][0].read_bytes(), b"data/0/m0/0.nc\0")
        self.assertEqual(self.plan()["changes"]["new"]["files"], 0)

    def test_status_names_what_is_missing(self):
        self.plan()
        classic(self.dir / "data/0/m0/0.nc", 0).write_bytes(b"CDF\x01" + b"\xff" * 60)
        (self.dir / "data/1/m1/1.nc").unlink()
        units = self.units()
        found = self.status(code=1)
        self.assertEqual((found["states"]["open"]["files"], found["finished_units"]), (FILES, 0))
        bad = next(unit for unit in units if b"data/0/m0/0.nc" in unit.read_bytes())
        gone = next(unit for unit in units if b"data/1/m1/1.nc" in unit.read_bytes())
        self.assertNotEqual(bad, gone)
        self.work([bad], code=4)
        self.work([gone], code=1)
        good = [unit for unit in units if unit not in (bad, gone)]
        self.work(good[1:])
        found = self.status(code=1)
        lost = len(good[0].read_bytes().split(b"\0")) - 1
        self.assertEqual({k: v["files"] for k, v in found["states"].items() if v["files"]},
                         {"done": FILES - 2 - lost, "open": lost, "failed": 1, "refused": 1})
        self.assertEqual([(f["code"], f["retry"], f["files"]) for f in found["failures"]],
                         [("input.damaged", False, 1), ("input.missing", True, 1)])
        self.assertEqual(found["failures"][0]["examples"][0]["file"], "data/0/m0/0.nc")
        # As rows, as numbers, as a page.
        rows = list(csv.DictReader(self.run_here("status", "camp", "--csv", code=1).stdout.decode().splitlines()))
        self.assertEqual({row["path"]: (row["state"], row["code"]) for row in rows}["data/0/m0/0.nc"], ("refused", "input.damaged"))
        self.assertEqual(sum(row["state"] == "open" for row in rows), lost)
        numbers = self.run_here("status", "camp", "--prometheus", code=1).stdout.decode()
        self.assertIn(f'nc3z_campaign_files{{state="open"}} {lost}\n', numbers)
        self.assertIn('nc3z_campaign_failures{code="input.damaged"} 1\n', numbers)
        text = self.run_here("status", "camp", "--html", "page.html", code=1).stdout.decode()
        self.assertIn(f"open: {lost} files", text)
        page = (self.dir / "page.html").read_text()
        self.assertTrue("<svg" in page and "input.damaged" in page and "<script" not in page)
        # A log that is lost, and a run that was killed.
        log = self.dir / f"camp/logs/{good[1].stem}.jsonl"
        lines = log.read_text().splitlines(keepends=True)
        log.write_text("".join(lines[:-1]))
        self.assertIn("no last line", self.status(code=1)["logs_with_gaps"][0]["why"])
        log.unlink()
        self.assertGreater(self.status(code=1)["states"]["open"]["files"], lost)
        # Repeated, and the missing file put back: only the damaged one remains.
        classic(self.dir / "data/1/m1/1.nc", 1)
        for unit in units:
            self.run_here("archive", "-q", "--unit", unit.relative_to(self.dir), "-o", "out", code=4 if unit == bad else 0)
        found = self.status(code=4)
        self.assertEqual((found["left"]["files"], found["states"]["refused"]["files"]), (1, 1))
        shutil.rmtree(self.dir / "data/0/m0")
        self.assertEqual(self.plan("--update")["changes"]["gone"]["files"], len([i for i in range(FILES) if i % 12 == 0]))
        self.assertTrue(self.status()["complete"])

    def test_no_time_is_told_for_files_that_are_refused(self):
        bad = self.dir / "data/0/m0/0.nc"
        bad.write_bytes(b"CDF\x01" + b"\xff" * 60)
        self.plan()
        units = self.units()
        with_bad = next(unit for unit in units if b"data/0/m0/0.nc" in unit.read_bytes())
        others = [unit for unit in units if unit != with_bad]
        self.work([with_bad], code=4)
        self.work(others[1:])
        self.assertRegex(self.run_here("status", "camp", code=1).stdout.decode(), "to the end at this rate")
        self.work(others[:1])
        text = self.run_here("status", "camp", code=4).stdout.decode()
        self.assertRegex(text, "refused: 1 file")
        self.assertNotRegex(text, "to the end")

    def test_a_run_that_fails_leaves_the_directories_to_others(self):
        """Another run may have found a directory, and be about to write to it."""
        for path in (self.dir / "data/0").rglob("*.nc"):
            path.write_bytes(b"CDF\x01" + b"\xff" * 60)
        self.plan("--no-samples", unit="1TB")
        self.work(code=4)
        self.assertEqual(list((self.dir / "out/data/0").rglob("*.nc3z")) + list((self.dir / "out/0").rglob("*.nc3z")), [])
        made = {p.name for p in self.dir.glob("out/**/0/*")}
        self.assertEqual(made, {"m0", "m1", "m2"})

    def test_names_are_those_of_a_tree(self):
        """A unit archives as `archive -r` does; its log gives the manifest."""
        self.plan()
        self.work()
        self.run_here("archive", "-q", "-r", "data", "-o", "once")
        once = sorted(p.relative_to(self.dir / "once") for p in (self.dir / "once").rglob("*"))
        self.assertEqual(sorted(p.relative_to(self.dir / "out") for p in (self.dir / "out").rglob("*")), once)
        logs = [word for unit in self.units() for word in ("--from-log", f"camp/logs/{unit.stem}.jsonl")]
        self.run_here("hash", "--manifest", "out", *logs)
        first = json.loads((self.dir / "camp/logs/00001.jsonl").read_text().splitlines()[0])
        plan = json.loads((self.dir / "camp/plan.json").read_text())
        self.assertEqual((first["plan"], first["unit"]), (plan["digest"], "00001"))
        self.fails(nc3z("archive", "--unit", "camp/plan.json", "-o", "out", cwd=self.dir), 1, "not a unit of a plan")

    def test_limits(self):
        """A run begins no file while camp/PAUSE exists, after --stop-after, or faster than --max-rate."""
        self.plan(unit="1TB")
        unit = "camp/units/00001.list"
        self.run_here("archive", "-q", "--unit", unit, "-o", "out", "--stop-after", "0s", code=130)
        found = self.status(code=1)
        self.assertEqual((found["states"]["stopped"]["files"], len(found["logs_with_gaps"])), (FILES, 1))
        # The first file begins at once, the second one days later.
        process = start("archive", "-q", "--unit", unit, "-o", "out", "--max-rate", "1", "--threads", 1, cwd=self.dir)
        archives = lambda: list((self.dir / "out").rglob("*.nc3z"))
        self.assertTrue(wait_for(lambda: len(archives()) == 1, 60), "an archive has its name while the run waits")
        process.terminate()
        self.assertEqual((finish(process)[0], len(archives())), (130, 1))
        (self.dir / "camp/PAUSE").touch()
        process = start("archive", "-q", "--unit", unit, "-o", "out", cwd=self.dir)
        log = self.dir / "camp/logs/00001.jsonl"
        self.assertTrue(wait_for(lambda: log.read_text().count('"begin"') == 3, 60))
        self.assertEqual(len(archives()), 1)
        (self.dir / "camp/PAUSE").unlink()
        self.assertEqual(finish(process)[0], 0)
        self.assertTrue(self.status()["complete"])

    def test_killed_and_run_again(self):
        """Runs of units are killed at random moments and started again: at the end all is done, or named."""
        self.plan()
        pick = random.Random(67)
        moments = Moments(67, 0.3)
        killed = 0
        for _ in range(10 if NIGHT else 2):
            for unit in self.units():
                process = start("archive", "-q", "--unit", unit, "-o", "out", "--threads", 1, cwd=self.dir)
                if pick.random() < 0.7:
                    killed += moments.kill(process) != 0
                else:
                    finish(process)
        self.assertGreater(killed, 0)
        found = self.status(code=0 if (done := self.run_here_status()) == 0 else 1)
        self.assertEqual(found["complete"], done == 0)
        for gap in found["logs_with_gaps"]:
            self.assertRegex(gap["why"], "no last line|lacks lines")
        self.work()
        found = self.status()
        self.assertEqual((found["complete"], found["logs_with_gaps"], found["finished_units"]), (True, [], len(self.units())))
        self.run_here("verify", "-q", "-r", "out", "--against", "data")

    def test_sources_are_removed_whatever_kills_the_run(self):
        """With --remove-source, a run that is repeated finishes what a killed one began."""
        before = {p.relative_to(self.dir / "data"): p.read_bytes() for p in (self.dir / "data").rglob("*.nc")}
        self.plan(unit="1TB")
        args = ("archive", "-q", "--unit", "camp/units/00001.list", "-o", "out", "--remove-source", "--threads", 1)
        moments = Moments(68, 0.3)
        killed = sum(moments.kill(start(*args, cwd=self.dir)) != 0 for _ in range(10 if NIGHT else 3))
        self.assertGreater(killed, 0)
        # As if the last of them had been killed between an archive and the removal of its source.
        path = next(iter(before))
        self.run_here(*args[:-3])
        (self.dir / "data" / path).write_bytes(before[path])
        os.utime(self.dir / "data" / path, (1, 1))
        self.run_here(*args)
        self.assertEqual(list((self.dir / "data").rglob("*.nc")), [])
        self.assertTrue(self.status()["complete"])
        self.run_here(*args)
        self.assertTrue(self.status()["complete"], "a source that was removed is done")
        self.run_here("restore", "-q", "-r", "out", "-o", "back")
        self.assertEqual({p.relative_to(self.dir / "back"): p.read_bytes() for p in (self.dir / "back").rglob("*.nc")}, before)

    def test_the_site_says_what_is_on_tape(self):
        """By a command, or by a list, whose order is that of the recalls."""
        tape = [f"data/{i % 4}/m{i % 3}/{i}.nc" for i in (5, 2, 9)]
        command = self.dir / "hsm"
        command.write_text("#!/bin/sh\ncase $1 in " + " | ".join(tape) + ") echo \"$1: (0x0000000d) released exists archived, archive_id:1\";; *)"
                           " echo \"$1: (0x00000009) exists archived, archive_id:1\";; esac\n")
        command.chmod(0o755)
        (self.dir / "tape").write_text("".join(f"{name}\n" for name in tape))
        for words in (("--tape-command", f"{command} {{}}"), ("--tape-list", "tape")):
            planned = self.plan("--no-samples", *words, unit="1TB")
            self.assertEqual(planned["on_tape"], {"files": 3, "bytes": 3 * self.len})
            args = ("archive", "--unit", "camp/units/00001.list", "-o", "out", *words)
            self.fails(nc3z(*args, cwd=self.dir), 1, "3 of the inputs have no data on disk")
            self.run_here(*args, "-q", "--on-tape", "skip", code=1)
            found = self.status(code=1)
            self.assertEqual((found["states"]["on tape"]["files"], found["left"]["files"]), (3, 3))
            self.assertEqual(len(list((self.dir / "out").rglob("*.nc3z"))), FILES - 3)
            self.run_here(*args, "-q", "--on-tape", "last", "--threads", 1)
            self.assertTrue(self.status()["complete"])
            lines = [json.loads(line) for line in (self.dir / "camp/logs/00001.jsonl").read_text().splitlines()]
            order = [line["file"] for line in lines if line.get("file") in tape and line["state"] == "archived"]
            self.assertEqual(order, sorted(tape, key=self.names_in_plan().index) if words[0] == "--tape-command" else tape)
            shutil.rmtree(self.dir / "camp")
            shutil.rmtree(self.dir / "out")
        # A command that fails: nothing is read.
        done = nc3z("archive", "-r", "data", "-o", "out", "--on-tape", "last", "--tape-command", "sh -c false", cwd=self.dir)
        self.fails(done, 1, r"`sh -c false data/0/m0/0.nc` failed \(exit status: 1\)")
        self.fails(nc3z("plan", "data", "-o", "camp", "--tape-command", "no-such-program", cwd=self.dir), 1, "run `no-such-program data/.*No such file")

    def names_in_plan(self):
        return [os.fsdecode(name) for name in self.names()]

    def run_here_status(self):
        return nc3z("status", "camp", cwd=self.dir).returncode


class Retire(Case):
    """Originals are moved after archive and original were compared, are deleted later, and can be put back."""

    def setUp(self):
        super().setUp()
        for i in range(6):
            classic(self.dir / f"data/{i % 2}/{i}.nc", i)
        os.chmod(self.dir / "data/1", 0o750)
        self.run_here("archive", "-q", "-r", "data", "-o", "out")
        self.before = self.files("data")

    def run_here(self, *args, code=0, **more):
        done = nc3z(*args, cwd=self.dir, **more)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout.decode())
        return done

    def files(self, directory):
        return {str(p.relative_to(self.dir / directory)): p.read_bytes() for p in (self.dir / directory).rglob("*.nc")}

    def test_there_and_back(self):
        done = self.run_here("retire", "data", "out", "--trash", "trash")
        self.assertIn("6 files moved into the trash", done.stderr)
        self.assertEqual((self.files("data"), self.files("trash/files")), ({}, self.before))
        self.assertEqual((self.dir / "trash/files/1").stat().st_mode & 0o777, 0o750)
        # Again: nothing to do. Then one is put back, then all.
        self.assertIn("0 files moved", self.run_here("retire", "data", "out", "--trash", "trash").stderr)
        self.run_here("retire", "--undo", "--trash", "trash", "1/3.nc")
        self.assertEqual(set(self.files("data")), {"1/3.nc"})
        self.run_here("retire", "--undo", "--trash", "trash")
        self.assertEqual((self.files("data"), self.files("trash/files")), (self.before, {}))

    def test_what_is_not_equal_stays(self):
        raw = bytearray((self.dir / "data/0/0.nc").read_bytes())
        raw[-1] ^= 1
        (self.dir / "data/0/0.nc").write_bytes(raw)
        damaged = bytearray((self.dir / "out/0/2.nc.nc3z").read_bytes())
        damaged[len(damaged) // 2] ^= 1
        (self.dir / "out/0/2.nc.nc3z").write_bytes(damaged)
        done = self.run_here("retire", "data", "out", "--trash", "trash", code=3)
        self.assertRegex(done.stderr, "0/0.nc.nc3z.* does not hold the bytes of")
        self.assertEqual(set(self.files("data")), {"0/0.nc", "0/2.nc"})
        # A trash inside of the tree, or on another file system.
        self.fails(nc3z("retire", "data", "out", "--trash", "data/trash", cwd=self.dir), 1, "inside the directory of the originals")
        if os.path.isdir("/dev/shm") and os.stat("/dev/shm").st_dev != os.stat(self.dir).st_dev:
            self.addCleanup(shutil.rmtree, "/dev/shm/nc3z-trash", ignore_errors=True)
            self.fails(nc3z("retire", "data", "out", "--trash", "/dev/shm/nc3z-trash", cwd=self.dir), 1, "another file system")

    def test_purge_reads_once_more(self):
        self.run_here("retire", "-q", "data", "out", "--trash", "trash")
        self.assertIn("0 files would be deleted", self.run_here("retire", "--purge", "--trash", "trash").stderr)
        (self.dir / "out/1/1.nc.nc3z").unlink()
        done = self.run_here("retire", "--purge", "--after", "0s", "--trash", "trash", code=1)
        self.assertIn("5 files would be deleted", done.stderr)
        self.assertEqual(self.files("trash/files"), self.before)
        done = self.run_here("retire", "--purge", "--after", "0s", "--yes", "--trash", "trash", code=1)
        self.assertRegex(done.stderr, "trash/files/1/1.nc.*No such file")
        self.assertEqual(set(self.files("trash/files")), {"1/1.nc"})
        self.run_here("retire", "--undo", "--trash", "trash")
        self.assertEqual(set(self.files("data")), {"1/1.nc"})
        states = [json.loads(line)["state"] for line in (self.dir / "trash/retired.jsonl").read_text().splitlines()]
        self.assertEqual(states, ["retired"] * 6 + ["purged"] * 5 + ["undone"])

    def test_what_was_purged_is_done(self):
        """Later runs have nothing to do, and a file that is there again is moved."""
        self.run_here("retire", "-q", "data", "out", "--trash", "trash")
        self.run_here("retire", "-q", "--purge", "--after", "0s", "--yes", "--trash", "trash")
        journal = (self.dir / "trash/retired.jsonl").read_bytes()
        for _ in range(2):
            done = self.run_here("retire", "data", "out", "--trash", "trash")
            self.assertIn("0 files moved", done.stderr)
            self.assertNotIn("error", done.stderr)
            self.assertEqual((self.dir / "trash/retired.jsonl").read_bytes(), journal)
        self.assertEqual((self.files("data"), self.files("trash/files")), ({}, {}))
        (self.dir / "data/1/3.nc").write_bytes(self.before["1/3.nc"])
        self.assertIn("1 file moved", self.run_here("retire", "data", "out", "--trash", "trash").stderr)
        self.assertEqual(self.files("trash/files"), {"1/3.nc": self.before["1/3.nc"]})
        self.run_here("retire", "-q", "--undo", "--trash", "trash")
        self.assertEqual(self.files("data"), {"1/3.nc": self.before["1/3.nc"]})
        # A file that was put back and is gone then is missing.
        (self.dir / "data/1/3.nc").unlink()
        self.fails(nc3z("retire", "data", "out", "--trash", "trash", cwd=self.dir), 1, "data/1/3.nc.*No such file")

    def test_a_line_that_a_full_disk_cut_hides_no_other(self):
        self.run_here("retire", "-q", "data", "out", "--trash", "trash")
        self.run_here("retire", "-q", "--undo", "--trash", "trash", "1/3.nc")
        with open(self.dir / "trash/retired.jsonl", "ab") as log:
            log.write(b'{"state": "ret')
        self.run_here("retire", "-q", "data", "out", "--trash", "trash")
        self.run_here("retire", "-q", "--undo", "--trash", "trash")
        self.assertEqual((self.files("data"), self.files("trash/files")), (self.before, {}))

    def test_what_has_a_damaged_archive_stays(self):
        """Also where the damage is in a second copy or in parity, which restoring does not read."""
        for name, options in (("head.nc", ()), ("parity.nc", ("--parity", "20%"))):
            synthetic(self.dir / "data" / name, mib=1)
            self.run_here("archive", "-q", f"data/{name}", "-o", f"out/{name}.nc3z", *options)
        self.before = self.files("data")
        self.run_here("retire", "-q", "data", "out", "--trash", "purged")
        for name, at in (("head.nc", 200), ("parity.nc", -5000)):
            raw = bytearray((self.dir / f"out/{name}.nc3z").read_bytes())
            raw[at:at + 8] = bytes(b ^ 0xFF for b in raw[at:at + 8])
            (self.dir / f"out/{name}.nc3z").write_bytes(raw)
            self.run_here("verify", f"out/{name}.nc3z", code=3)
        done = self.run_here("retire", "--purge", "--after", "0s", "--yes", "--trash", "purged", code=3)
        for name in ("head.nc", "parity.nc"):
            self.assertRegex(done.stderr, f"`.*out/{name}.nc3z` is damaged")
        self.assertEqual(set(self.files("purged/files")), {"head.nc", "parity.nc"})
        self.run_here("retire", "-q", "--undo", "--trash", "purged")
        self.run_here("retire", "-q", "data", "out", "--trash", "trash", code=3)
        self.assertEqual(set(self.files("data")), {"head.nc", "parity.nc"})
        done = self.run_here("archive", "-r", "data", "-o", "out", "--skip-existing", "--remove-source", code=1)
        self.assertNotIn("repair data/", done.stderr)
        self.assertEqual(self.files("data"), {name: self.before[name] for name in ("head.nc", "parity.nc")})

    def test_links_stay(self):
        (self.dir / "else.nc").write_bytes(self.before["0/0.nc"])
        (self.dir / "data/link.nc").symlink_to("../else.nc")
        self.run_here("archive", "-q", "data/link.nc", "-o", "out/link.nc.nc3z")
        done = self.run_here("retire", "data", "out", "--trash", "trash", code=1)
        self.assertRegex(done.stderr, "data/link.nc` is a link")
        self.assertIn("6 files moved", done.stderr)
        self.assertEqual(set(self.files("trash/files")), set(self.before) - {"link.nc"})
        self.assertEqual(os.readlink(self.dir / "data/link.nc"), "../else.nc")

    def test_killed_at_any_step(self):
        """Each file is in exactly one place, and the next run, or --undo, continues."""
        shim = self.dir / "faults.so"
        if not shutil.which("cc"):
            self.skipTest("no C compiler")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", shim, Path(__file__).with_name("faults.c")], check=True)
        for op in ("write", "sync"):
            for n in range(1, 30 if NIGHT else 5):
                env = dict(os.environ, LD_PRELOAD=str(shim), NC3Z_FAULT=f"{op} {n} kill", NC3Z_FAULT_DIR=str(self.dir))
                nc3z("retire", "-q", "data", "out", "--trash", "trash", cwd=self.dir, env=env)
                data, trash = self.files("data"), self.files("trash/files")
                with self.subTest(op=op, n=n):
                    self.assertEqual({**data, **trash}, self.before)
                    self.assertEqual(set(data) & set(trash), set())
                self.run_here("retire", "-q", "data", "out", "--trash", "trash")
                self.assertEqual(self.files("trash/files"), self.before)
                self.run_here("retire", "-q", "--undo", "--trash", "trash")
                self.assertEqual(self.files("data"), self.before)
                shutil.rmtree(self.dir / "trash")


class Belongings(Case):
    """Owners, modes, ACLs and user attributes, against getfacl, getfattr and setfacl."""

    def setUp(self):
        super().setUp()
        for name in ("getfacl", "setfacl", "getfattr", "setfattr"):
            need_program(self, name)
        data = self.dir / "data"
        odd = os.fsdecode(b'open/o\\d\xff, "d"\n=.nc')
        for n, name in enumerate(("open/a.nc", "open/b.nc", "closed/c.nc", "closed/deep/d.nc", odd)):
            classic(data / name, n)
        shell = f"""set -e; cd {data}
            setfacl -m u:1234:rwx,g:55:r,m::r open/a.nc; setfacl -d -m u:99:rx closed; setfacl -m u:98:rx closed/deep
            setfattr -n user.comment -v 'old "run" = 1' open/a.nc; setfattr -n user.bytes -v 0x00ff0a open/b.nc; setfattr -n user.empty closed/deep
            chmod 0400 open/b.nc; chmod 2750 closed; chmod 1777 open"""
        done = subprocess.run(["bash", "-c", shell], capture_output=True, check=False)
        if b"not supported" in done.stderr:
            missing(self, "the file system has no ACLs")
        self.assertEqual(done.returncode, 0, done.stderr)
        if os.geteuid() == 0:
            os.chown(data / "closed/c.nc", 77, 88)
            os.chown(data / "closed", 77, 0)
            # A change of the owner clears the bit.
            os.chmod(data / "closed", 0o2750)
        self.before = self.said("data")

    def said(self, tree):
        """Returns the output of getfacl and getfattr for a tree, with names below its root."""
        acl = subprocess.run(["getfacl", "-R", "-n", "."], cwd=self.dir / tree, capture_output=True, check=True).stdout
        own = subprocess.run(["getfattr", "-R", "-d", "-e", "hex", "."], cwd=self.dir / tree, capture_output=True, check=True).stdout
        parts = lambda text: sorted(re.sub(rb"\t#effective.*", b"", text).replace(b"\\\\", b"\\134").split(b"\n\n"))
        return parts(acl), parts(own)

    def run_here(self, *args):
        return self.ok(nc3z(*args, cwd=self.dir))

    def test_there_and_back(self):
        self.run_here("plan", "data", "-o", "camp", "--no-samples")
        self.run_here("archive", "-q", "-r", "data", "-o", "out", "--acl", "beside", "--parents")
        for directory in ("camp", "beside"):
            text = [(self.dir / directory / name).read_bytes() for name in ("acl.txt", "xattr.txt")]
            self.assertEqual(tuple(sorted(part.split(b"\n\n")) for part in text), tuple(self.escaped(parts) for parts in self.before))
            back = f"back-{directory}"
            self.run_here("restore", "-q", "-r", "out", "-o", back, "--acl", directory)
            self.assertEqual(self.said(back), self.before)
            # Again: they are the same, and the files are kept.
            self.run_here("restore", "-q", "-r", "out", "-o", back, "--acl", directory)
            self.assertEqual(self.said(back), self.before)
            # The tools themselves restore them, too.
            plain = f"plain-{directory}"
            self.run_here("restore", "-q", "-r", "out", "-o", plain)
            self.assertNotEqual(self.said(plain), self.before)
            for tool, name in (("setfacl", "acl.txt"), ("setfattr", "xattr.txt")):
                subprocess.run(["chmod", "u+w", "open/b.nc"], cwd=self.dir / plain, check=True)
                subprocess.run([tool, f"--restore={self.dir / directory / name}"], cwd=self.dir / plain, check=True)
            subprocess.run(["setfacl", f"--restore={self.dir / directory / 'acl.txt'}"], cwd=self.dir / plain, check=True)
            self.assertEqual(self.said(plain), self.before)

    def test_the_group_gets_only_what_the_list_grants_it(self):
        """The group's bits in the mode of a file with a list are those that the list grants to anybody. The list is not copied."""
        for name, entries in (("none.nc", "u:1234:rw,g::---"), ("read.nc", "u:1234:rw,g::r--"), ("notes.txt", "u:1234:rw,g::---"), ("mask.nc", "u:1234:rw,g::rw,m::r")):
            path = classic(self.dir / "listed" / name, 9)
            os.chmod(path, 0o640)
            subprocess.run(["setfacl", "-m", entries, path], check=True)
        self.assertEqual((self.dir / "listed/none.nc").stat().st_mode & 0o777, 0o660)
        (self.dir / "listed/notes.txt").write_text("x")
        self.run_here("archive", "-q", "-r", "--passed-over", "copy", "listed", "-o", "out")
        self.run_here("archive", "-q", "listed/none.nc", "-o", "one.nc3z")
        self.run_here("recompress", "-q", "-r", "--preset", "fast", "out", "-o", "new")
        self.run_here("restore", "-q", "-r", "out", "-o", "back")
        modes = {"none.nc": 0o600, "read.nc": 0o640, "mask.nc": 0o640}
        found = {f"{tree}/{name}{end}": mode for name, mode in modes.items() for tree, end in (("out", ".nc3z"), ("new", ".nc3z"), ("back", ""))}
        for name, mode in {**found, "one.nc3z": 0o600, "out/notes.txt": 0o600}.items():
            with self.subTest(name):
                self.assertEqual(oct((self.dir / name).stat().st_mode & 0o777), oct(mode))
        # An archive that was given a list itself.
        for name in ("one.nc3z", "short.nc3z"):
            if name == "short.nc3z":
                self.run_here("archive", "-q", CLASSIC / "all_types_cdf1.nc", "-o", name)
            subprocess.run(["setfacl", "-m", "u:1234:rw,g::---,o::---", self.dir / name], check=True)
        self.run_here("attr", "-q", "short.nc3z", ":title=longer")
        self.run_here("repair", "one.nc3z", "-o", "repaired.nc3z")
        self.run_here("recompress", "-q", "--preset", "fast", "one.nc3z")
        for name in ("short.nc3z", "repaired.nc3z", "one.nc3z"):
            with self.subTest(name):
                self.assertEqual(oct((self.dir / name).stat().st_mode & 0o077), "0o0")

    def test_entries_of_removed_files_stay(self):
        self.run_here("plan", "data", "-o", "camp", "--no-samples")
        for _ in range(2):
            self.run_here("archive", "-q", "-r", "data", "-o", "out", "--acl", "beside", "--parents", "--remove-source")
        self.assertEqual(list((self.dir / "data").rglob("*.nc")), [])
        self.run_here("plan", "data", "-o", "camp", "--no-samples", "--update")
        for directory in ("beside", "camp"):
            back = f"back-{directory}"
            self.run_here("restore", "-q", "-r", "out", "-o", back, "--acl", directory)
            self.assertEqual(self.said(back), self.before)

    def escaped(self, parts):
        """The name with `=` is escaped in both files."""
        return sorted(re.sub(rb"(# file: [^\n]*)=", rb"\1\\075", part) for part in parts)

    def test_names_that_lead_out_and_text_of_another_kind(self):
        self.run_here("archive", "-q", "-r", "data", "-o", "out", "--acl", "beside", "--parents")
        outside = self.dir / "outside"
        outside.write_text("x")
        mode = outside.stat().st_mode
        acl = self.dir / "beside/acl.txt"
        text = acl.read_bytes()
        acl.write_bytes(b"# file: ../outside\n# owner: 1\n# group: 1\nuser::---\ngroup::---\nother::---\n\n"
                        + b"# file: /etc/hostname\nuser::---\ngroup::---\nother::---\n\n" + text)
        self.run_here("restore", "-q", "-r", "out", "-o", "back", "--acl", "beside")
        self.assertEqual(outside.stat().st_mode, mode)
        acl.write_bytes(text + b"# file: open/a.nc\nuser:bob:r--\n")
        self.fails(nc3z("restore", "-q", "-r", "out", "-o", "back", "--acl", "beside", cwd=self.dir), 1, "not in the notation of `getfacl -n`")


class Reconcile(Case):
    """A catalogue against the digests that archives record."""

    def setUp(self):
        super().setUp()
        for i in range(40):
            classic(self.dir / f"data/{i % 3}/{i}.nc", i)
        self.ok(nc3z("archive", "-q", "-r", "--digest", "md5", "data", "-o", "out", cwd=self.dir))
        self.rows = []
        for path in sorted((self.dir / "data").rglob("*.nc")):
            raw = path.read_bytes()
            self.rows.append({"path": str(path.relative_to(self.dir / "data")), "size": len(raw),
                              "sha": hashlib.sha256(raw).hexdigest(), "md5": hashlib.md5(raw).hexdigest()})

    def compare(self, *args, code=0):
        done = nc3z("reconcile", "cat.csv", "out", "--json", *args, cwd=self.dir)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def test_equal(self):
        for columns, args in ((("path", "size", "checksum"), ()), (("url", "bytes", "md5"), ("--columns", "url,bytes,md5"))):
            for delimiter in ",;\t":
                with open(self.dir / "cat.csv", "w", newline="", encoding="utf-8") as f:
                    writer = csv.writer(f, delimiter=delimiter)
                    writer.writerow(columns)
                    for row in self.rows:
                        writer.writerow([f"/archive/data/{row['path']}", row["size"], row["md5" if "md5" in columns else "sha"]])
                found = self.compare("--root", "/archive/data", *args)
                self.assertEqual((found["matched"], found["missing"], found["extra"], found["different"]), (40, 0, 0, 0))
        self.fails(nc3z("reconcile", "cat.csv", "out", cwd=self.dir), 1, "no column `path`; its columns are url, bytes, md5")

    def test_planted_losses_are_found_and_no_others(self):
        pick = random.Random(5)
        lost, extra, wrong, short = (pick.sample(range(k * 10, k * 10 + 10), 3) for k in range(4))
        rows = [dict(row) for row in self.rows]
        for n in lost:
            (self.dir / f"out/{rows[n]['path']}.nc3z").unlink()
        for n in wrong:
            rows[n]["sha"] = hashlib.sha256(b"else").hexdigest()
        for n in short:
            rows[n]["size"] += 1
        with open(self.dir / "cat.csv", "w", newline="", encoding="utf-8") as f:
            writer = csv.writer(f)
            writer.writerow(("path", "size", "checksum"))
            writer.writerows([row["path"], row["size"], row["sha"]] for n, row in enumerate(rows) if n not in extra)
        found = self.compare("--write", "new.csv", code=1)
        first = found["first"]
        self.assertEqual(set(first["missing"]), {rows[n]["path"] for n in lost})
        self.assertEqual(set(first["extra"]), {f"out/{rows[n]['path']}.nc3z" for n in extra})
        self.assertEqual({f["file"] for f in first["different"]}, {f"out/{rows[n]['path']}.nc3z" for n in wrong + short})
        self.assertEqual(found["matched"], 40 - 12)
        with open(self.dir / "new.csv", newline="", encoding="utf-8") as f:
            written = list(csv.DictReader(f))
        self.assertEqual(len(written), 28)
        by_path = {row["path"]: row for row in self.rows}
        for row in written:
            self.assertEqual((row["original_sha256"], row["original_md5"]), (by_path[row["original_path"]]["sha"], by_path[row["original_path"]]["md5"]))
            self.assertEqual(int(row["size"]), (self.dir / row["path"]).stat().st_size)
        text = nc3z("reconcile", "cat.csv", "out", cwd=self.dir)
        self.assertIn(b"28 matched, 3 missing, 3 extra, 6 different\n", text.stdout)

    def test_by_name_a_second_archive_of_a_name_is_extra(self):
        with open(self.dir / "cat.csv", "w", newline="", encoding="utf-8") as f:
            writer = csv.writer(f)
            writer.writerow(("path", "size", "checksum"))
            writer.writerows([os.path.basename(row["path"]), row["size"], row["sha"]] for row in self.rows)
        self.compare("--by-name")
        self.ok(nc3z("archive", "-q", "--parents", synthetic(self.dir / "7.nc", mib=1), "-o", "out/else/7.nc.nc3z", cwd=self.dir))
        found = self.compare("--by-name", "--write", "new.csv", code=1)
        self.assertEqual((found["matched"], found["extra"], found["first"]["extra"]), (40, 1, ["out/else/7.nc.nc3z"]))
        self.assertNotIn("else", (self.dir / "new.csv").read_text())


if __name__ == "__main__":
    unittest.main()
