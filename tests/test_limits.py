"""Small archives that ask for much: every command ends, within stated memory and work, and with an exit code that means something.

The archives are made by forge.py; their checksums are right. Bounds are for memory and for work that has no end; they say nothing of speed.
"""

import os
import resource
import subprocess
import unittest
from pathlib import Path

import forge
from common import NC3Z, NIGHT, Case, finish, start

MIB = 1 << 20
# The memory that a command may use for an archive of some KB, in addition to 512 bytes for each of its bytes: docs/security.md.
MEMORY = 1024 * MIB
# Of archives whose size is cut by day, that much less.
PARTS = {forge.lost_tiles_of_many_attributes, forge.attributes_within_limits}
# A command that computes longer is taken for one that has no end.
CPU_SECONDS = 300

COMMANDS = {
    "info": ["info", "ARCHIVE"],
    "layout": ["info", "--layout", "ARCHIVE"],
    "verify": ["verify", "ARCHIVE"],
    "verify --deep": ["verify", "--deep", "ARCHIVE"],
    "hash": ["hash", "ARCHIVE"],
    "restore": ["restore", "-f", "ARCHIVE", "-o", "OUT"],
    "restore --fill-lost": ["restore", "-f", "--fill-lost", "ARCHIVE", "-o", "OUT"],
    "dump -h": ["dump", "-h", "ARCHIVE"],
    "repair": ["repair", "-f", "ARCHIVE", "-o", "OUT"],
    "recompress": ["recompress", "-f", "ARCHIVE", "-o", "OUT"],
    "parity add": ["parity", "add", "COPY"],
}


def confined():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 * MIB, 256 * MIB))


def measured(args, errors):
    """Exit code (negative: the signal) and peak memory of a command."""
    with open(errors, "wb") as file:
        child = subprocess.Popen([NC3Z, *args], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file, preexec_fn=confined)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_maxrss << 10

class Forged(Case):
    def measure(self, make):
        data = make()
        archive, copy, out = (self.dir / name for name in ("a.nc3z", "copy.nc3z", "out"))
        archive.write_bytes(data)
        most = MEMORY // (forge.PART if make in PARTS else 1) + 512 * len(data)
        words = {"ARCHIVE": archive, "COPY": copy, "OUT": out}
        for name, args in COMMANDS.items():
            with self.subTest(make.__name__, command=name):
                copy.write_bytes(data)
                code, memory = measured([str(words.get(a, a)) for a in args], self.dir / "errors")
                errors = Path(self.dir / "errors").read_text(errors="replace")
                self.assertIn(code, (0, 1, 3), errors[-500:])
                self.assertLess(len(errors), 100_000, "messages quote the beginning of what is wrong")
                self.assertLess(memory, most, f"{memory / MIB:.0f} MiB for {len(data)} bytes; {errors[-300:]}")
                yield name, code, errors

    def test_what_is_decoded_does_not_hang_on_chance(self):
        """Twelve containers that the cache does not hold at a time, whatever the load, and in every run."""
        archive = self.dir / "a.nc3z"
        archive.write_bytes(forge.small_containers())
        runs = [start(command, "--threads", 4, archive, *(["-o", self.dir / f"{n}.nc"] if command == "restore" else []))
                for n in range(6 if NIGHT else 2) for command in ("restore", "hash")]
        for run in runs:
            code, err = finish(run, 120)
            self.assertEqual(code, 0, err)

    def test_containers_by_turns_cost_the_same_on_any_number_of_threads(self):
        """Twelve containers of 7 MiB, 2,400 members each, every tile in another one than the tile before: far within the budget, however many threads there are."""
        archive, out = self.dir / "a.nc3z", self.dir / "out"
        archive.write_bytes(forge.containers_by_turns())
        for threads in (1, 2, 7):
            for command in (["hash", archive], ["restore", "-f", archive, "-o", out], ["recompress", "-f", archive, "-o", out]):
                with self.subTest(command=command[0], threads=threads):
                    command = [str(word) for word in command]
                    code, _ = measured([command[0], "--threads", str(threads), *command[1:]], self.dir / "errors")
                    self.assertEqual(code, 0, (self.dir / "errors").read_text())

    def test_a_sound_one_passes(self):
        for name, code, errors in self.measure(forge.sound):
            self.assertEqual(code, 0, f"{name}: {errors}")


def refused(make):
    def test(self):
        for name, code, errors in self.measure(make):
            if name in ("info", "verify --deep", "restore", "hash"):
                self.assertNotEqual(code, 0, f"{name} takes {make.__name__} for a good archive")
    return test


def sound(make):
    def test(self):
        for name, code, errors in self.measure(make):
            self.assertEqual(code, 0, f"{name}: {errors[-300:]}")
    return test


def ends(make):
    def test(self):
        for _ in self.measure(make):
            pass
    return test


# The archives that a reader must refuse; it may accept the others.
REFUSED = {forge.metadata_of_values, forge.metadata_of_keys, forge.metadata_of_chains, forge.metadata_of_one_string,
           forge.metadata_that_is_wrong, forge.chain_table, forge.header_of_variables, forge.header_of_attributes,
           forge.variable_table, forge.padded_chunks, forge.lost_tiles_of_many_attributes}
# Unusual, but sound: no command may exceed its decode budget.
SOUND = {forge.small_containers}
for forged in forge.FORGED:
    setattr(Forged, f"test_{forged.__name__}", (refused if forged in REFUSED else sound if forged in SOUND else ends)(forged))


if __name__ == "__main__":
    unittest.main()
