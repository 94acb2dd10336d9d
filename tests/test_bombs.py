"""Small files of every kind that ask for much: each command ends by itself within the memory and the work that docs/security.md states.

By day some of them, at night all: NC3Z_FORGED is how many chunk grids are tried."""

import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import time
import unittest
import zipfile

import forge_bombs
import test_limits
from common import CLASSIC, NC3Z, NIGHT, Case, nc3z, start, synthetic

MIB = 1 << 20
# Beside 512 bytes for each byte of the file: docs/security.md.
MEMORY = 1024 * MIB
# A file of some KB costs a second or two; the bound detects endless work.
CPU_SECONDS = 60
GRIDS = int(os.environ.get("NC3Z_FORGED", len(forge_bombs.GRIDS) if NIGHT else 3))

READERS = {
    "info": ["info", "FILE"],
    "list": ["list", "FILE"],
    "dump -h": ["dump", "-h", "FILE"],
    "hash": ["hash", "FILE"],
    "verify --deep": ["verify", "--deep", "FILE"],
}


def measured(args, errors):
    """Exit code, peak memory and processor seconds of a command."""
    with open(errors, "wb") as file:
        child = subprocess.Popen([NC3Z, *args], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file,
                                 preexec_fn=test_limits.confined)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_maxrss << 10, usage.ru_utime + usage.ru_stime


class Bombs(Case):
    def measure(self, name, data, commands, suffix):
        file, copy, out = (self.dir / n for n in (f"a{suffix}", f"copy{suffix}", "out"))
        file.write_bytes(data)
        words = {"FILE": file, "ARCHIVE": file, "COPY": copy, "OUT": out}
        found = {}
        for command, args in commands.items():
            with self.subTest(name, command=command):
                copy.write_bytes(data)
                code, memory, seconds = measured([str(words.get(a, a)) for a in args], self.dir / "errors")
                errors = (self.dir / "errors").read_text(errors="replace")
                found[command] = code
                self.assertIn(code, (0, 1, 2, 3), errors[-500:])
                self.assertNotIn("panicked", errors)
                self.assertLess(len(errors), 100_000, "messages quote the beginning of what is wrong")
                self.assertLess(memory, MEMORY + 512 * len(data), f"{memory / MIB:.0f} MiB; {errors[-300:]}")
                self.assertLess(seconds, CPU_SECONDS, errors[-300:])
        return found

    def test_chunk_grids_without_an_index(self):
        """The index of 2^62 tiles has pages for them, or the archive is corrupt: no command looks for each."""
        grids = forge_bombs.GRIDS
        if GRIDS < len(grids):
            grids = random.Random(os.environ.get("NC3Z_SEED", "40")).sample(grids, GRIDS)
        for name, make in grids:
            found = self.measure(name, make(), test_limits.COMMANDS, ".nc3z")
            for command in ("info", "verify", "verify --deep", "parity add"):
                self.assertEqual(found[command], 3, f"{command} of {name}")

    def test_tars_of_long_names(self):
        commands = {"list": ["list", "FILE"], "info": ["info", "FILE!/a.txt"]}
        for make in forge_bombs.BUNDLES:
            self.measure(make.__name__, make(), commands, ".zip")

    def test_packed_members_of_much_header_and_many_arrays(self):
        commands = {"list": ["list", "FILE"], "restore": ["restore", "-r", "FILE", "-o", "OUT"], "unbundle": ["bundle", "--extract", "FILE", "-o", "OUT"],
                    "index": ["catalog", "FILE", "-o", "OUT"], "verify --deep": ["verify", "--deep", "FILE"]}
        for make, groups, members in forge_bombs.PACKED:
            (self.dir / "g.nc").write_bytes(make())
            self.ok(nc3z("archive", "-q", "-f", self.dir / "g.nc", "-o", self.dir / "g.nc3z"))
            names = [[b"%d/m%d.nc" % (n, m) if groups > 1 else b"m%d.nc" % m for m in range(members)] for n in range(groups)]
            header = forge_bombs.long_header() if members > 1 else bytes(32)
            (self.dir / "b.nc").write_bytes(forge_bombs.packed_bundle([(self.dir / "g.nc3z").read_bytes()] * groups, names, header))
            self.ok(nc3z("archive", "-q", "-f", self.dir / "b.nc", "-o", self.dir / "b.nc3z"))
            data = (self.dir / "b.nc3z").read_bytes()
            self.assertLess(len(data), 100_000)
            # A command for each member reads its header of 4 MiB.
            some = commands if NIGHT or members == 1 else {c: commands[c] for c in ("list", "verify --deep")}
            self.measure(make.__name__, data, some, ".bundle.nc3z")
            shutil.rmtree(self.dir / "out", ignore_errors=True)

    def test_catalogues_of_many_elements(self):
        commands = {"list": ["list", "FILE"], "stats": ["stats", "FILE"], "find": ["find", "--where", "v > 1", "FILE"],
                    "find --box": ["find", "--box", "0,0,9,9", "FILE"], "explain": ["read", "--explain", "FILE", "v"]}
        for make in forge_bombs.CATALOGUES:
            (self.dir / "g.nc").write_bytes(make())
            self.ok(nc3z("archive", "-q", "-f", "--preset", "fast", self.dir / "g.nc", "-o", self.dir / "g.nc3z"))
            self.measure(make.__name__, (self.dir / "g.nc3z").read_bytes(), commands, ".catalog.nc3z")

    def test_aggregations_of_much_text(self):
        """As classic files, and archived to a few KB."""
        for make in forge_bombs.AGGREGATIONS:
            data = make()
            self.measure(make.__name__, data, {"list": READERS["list"]}, ".nc")
            self.ok(nc3z("archive", "-q", "-f", "--preset", "fast", self.dir / "a.nc", "-o", self.dir / "b.nc3z"))
            archived = (self.dir / "b.nc3z").read_bytes()
            commands = READERS if NIGHT else {c: READERS[c] for c in ("info", "dump -h")}
            self.measure(f"{make.__name__}, archived", archived, commands, ".nc3z")

    def test_one_signal_ends_every_command(self):
        """130 at the first SIGTERM or SIGINT, and nothing is left behind."""
        big = synthetic(self.dir / "big.nc", 20)
        self.ok(nc3z("archive", "-q", "--preset", "fast", big, "-o", self.dir / "big.nc3z"))
        before = self.names()
        for args in (["archive", "--preset", "max", big, "-o", "out.nc3z"], ["verify", "--deep", "big.nc3z"], ["hash", "big.nc3z"],
                     ["recompress", "big.nc3z", "-o", "out.nc3z"]):
            for number in (signal.SIGTERM, signal.SIGINT):
                with self.subTest(args=args, signal=number):
                    run = start(*args, cwd=self.dir)
                    time.sleep(0.1)
                    run.send_signal(number)
                    begin = time.monotonic()
                    _, err = run.communicate(timeout=60)
                    # One that was done before the signal came has nothing to say.
                    self.assertIn(run.returncode, (0, 130, -number), err)
                    self.assertLess(time.monotonic() - begin, 30)
                    (self.dir / "out.nc3z").unlink(missing_ok=True)
                    self.assertEqual(self.names(), before)

    def test_an_aggregation_that_refers_to_itself_is_told(self):
        """At the first step, by its own path; and in a bundle, where members have names instead of paths, before the recursion becomes endless."""
        text = '{"Partitions": [{"data": {"file": "a.nc", "ncvar": "tas", "shape": []}}]}'
        (self.dir / "a.nc").write_bytes(forge_bombs.aggregation(text))
        for args in (["list", "a.nc"], ["read", "a.nc", "tas"]):
            self.assertIn("refers to itself", self.told(nc3z(*args, cwd=self.dir)))
        self.ok(nc3z("bundle", "a.nc", "-o", "b.bundle.nc3z", cwd=self.dir))
        self.assertIn("refers to itself", self.told(nc3z("read", "b.bundle.nc3z!/a.nc", "tas", cwd=self.dir)))
        # The message about wrong cuts has plain numbers.
        pair = '{"data": {"file": "f.nc", "ncvar": "v", "shape": [1]}, "index": [%d], "location": [[%d, %d]]}'
        text = '{"pdimensions": ["a"], "pshape": [2], "Partitions": [' + pair % (0, 0, 1) + "," + pair % (1, 1, 2) + "]}"
        (self.dir / "c.nc").write_bytes(forge_bombs.aggregation(text, (3,)))
        self.assertRegex(self.told(nc3z("list", "c.nc", cwd=self.dir)), "end at 2, its length is 3")
        # Two equal keys are ambiguous.
        (self.dir / "d.nc").write_bytes(forge_bombs.aggregation('{"Partitions": [], "Partitions": []}'))
        self.assertIn("twice", self.told(nc3z("list", "d.nc", cwd=self.dir)))

    def told(self, done):
        self.assertEqual(done.returncode, 1, done.stderr)
        return (done.stdout or b"").decode() + done.stderr

    def test_members_are_restored_into_the_working_directory(self):
        """Whatever their names are, as files of servers are."""
        self.ok(nc3z("archive", CLASSIC / "record_padding.nc", "-o", self.dir / "x.nc3z"))
        with zipfile.ZipFile(self.dir / "slip.zip", "w") as out:
            for name in ("../../evil.nc.nc3z", "sub/x.nc.nc3z"):
                out.write(self.dir / "x.nc3z", name)
        (self.dir / "a/b").mkdir(parents=True)
        for name, made in (("../../evil.nc.nc3z", "evil.nc"), ("sub/x.nc.nc3z", "x.nc")):
            self.ok(nc3z("restore", f"../../slip.zip!/{name}", cwd=self.dir / "a/b"))
            self.assertEqual((self.dir / "a/b" / made).read_bytes(), (CLASSIC / "record_padding.nc").read_bytes())
        self.assertEqual((self.names(), self.names(self.dir / "a")), (["a", "slip.zip", "x.nc3z"], ["b"]))

    def test_files_that_nobody_may_write_are_not_replaced(self):
        self.ok(nc3z("archive", CLASSIC / "record_padding.nc", "-o", self.dir / "x.nc3z"))
        self.ok(nc3z("attr", self.dir / "x.nc3z", ":title=mended"))
        (self.dir / "x.nc3z").chmod(0o444)
        before = (self.dir / "x.nc3z").read_bytes()
        for args in (["prune", "--in-place"], ["recompress", "--drop-history"], ["attr", ":title=again"], ["tag", "t"]):
            command, *more = args
            self.fails(nc3z(command, self.dir / "x.nc3z", *more), 1, "it is read-only|Permission denied")
            self.assertEqual((self.dir / "x.nc3z").read_bytes(), before)

    def test_corrupt_archives_exit_with_3_whoever_opens_them(self):
        self.ok(nc3z("archive", CLASSIC / "coads_climatology.cdf", "-o", self.dir / "x.nc3z"))
        data = bytearray((self.dir / "x.nc3z").read_bytes())
        data[60] ^= 1
        (self.dir / "x.nc3z").write_bytes(data)
        for args in (["attr", "x.nc3z", ":title=again"], ["commit", "x.nc3z", CLASSIC / "coads_climatology.cdf"], ["prune", "x.nc3z", "-o", "y.nc3z"],
                     ["tag", "x.nc3z", "t"], ["info", "x.nc3z"]):
            self.fails(nc3z(*args, cwd=self.dir), 3)
        # The source is not an archive.
        (self.dir / "bad.nc").write_bytes(b"CDF\1" + bytes(5))
        self.fails(nc3z("archive", "bad.nc", cwd=self.dir), 1)

    def test_a_source_that_others_can_write_to_is_not_removed(self):
        """Through a map, or by an open file; and one that was written to through a map meanwhile."""
        source = shutil.copy(CLASSIC / "coads_climatology.cdf", self.dir / "a.nc")
        with open(source, "r+b") as file:
            done = self.fails(nc3z("archive", "--remove-source", "-f", "a.nc", cwd=self.dir), 1)
            self.assertIn("open for writing", done.stderr)
            mapped = mmap.mmap(file.fileno(), 0)
        self.fails(nc3z("archive", "--remove-source", "-f", "a.nc", cwd=self.dir), 1, "open for writing")
        mapped[-1] ^= 1
        mapped.close()
        self.ok(nc3z("archive", "--remove-source", "-f", "a.nc", cwd=self.dir))
        self.assertEqual(self.names(), ["a.nc.nc3z"])

    def test_secrets_of_urls_are_not_told(self):
        """On no output of any command, also where it fails."""
        url = "http://user:sesame99@127.0.0.1:9/x.nc3z?X-Amz-Signature=f00dcafe"
        for args in (["log", "--json", url], ["log", url], ["hash", url], ["hash", "--json", url], ["diff", url, url], ["list", url],
                     ["list", "--json", url], ["refs", url], ["info", url], ["verify", url], ["dump", "-h", url]):
            done = nc3z(*args, cwd=self.dir)
            self.assertNotRegex(done.stdout.decode() + done.stderr, "sesame99|f00dcafe", args)


if __name__ == "__main__":
    unittest.main()
