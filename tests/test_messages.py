"""Messages of wrong uses: what happened, where, what to do, in the user's words. One table; each row is tried."""

import gzip
import os
import shutil
import subprocess
import sys
import unittest

from common import CLASSIC, NC3Z, Case, nc3z

# Texts for programmers, which messages to users must not contain.
NEVER = ("os error", "invalid argument:", "panicked", "unsupported header", "unsupported superblock", "Err(", "None)")

# Arguments, exit code, words that the message has, in this order (regular expressions are not needed).
USES = [
    # Files that are none, or are of another kind.
    ("archive empty.nc", 1, ["empty.nc", "the file is empty"]),
    ("archive elf", 1, ["elf", "program or library", "not a netCDF file"]),
    ("archive dir", 1, ["`dir` is a directory", "--recursive"]),
    ("archive h5.nc", 1, ["h5.nc", "HDF5 file (netCDF-4)", "nccopy -k cdf5"]),
    ("archive n.nc.gz", 1, ["n.nc.gz", "gzip file", "decompress it first"]),
    ("archive text.txt", 1, ["text.txt", "text", "not a netCDF file"]),
    ("archive random.bin", 1, ["random.bin", "not a netCDF file", "begins with the bytes"]),
    ("archive cut.nc", 1, ["cut.nc", "cut short", "inside its header"]),
    ("archive cdf7.nc", 1, ["cdf7.nc", "unknown version byte", "CDF-1, -2 or -5"]),
    ("archive pipe.nc", 1, ["pipe.nc", "named pipe", "regular files"]),
    ("archive nope.nc", 1, ["nope.nc", "No such file"]),
    ("archive no/such.nc", 1, ["no/such.nc", "No such file", "directory `no` does not exist"]),
    ("archive c.nc.nc3z", 1, ["c.nc.nc3z", "nc3z archive", "archived already"]),
    ("archive https://example.org/x.nc", 1, ["https://example.org/x.nc", "is a URL", "curl -s"]),
    ("archive c.nc", 1, ["c.nc.nc3z` exists", "--force", "-o"]),
    # The same where an archive is wanted.
    ("verify empty.nc", 1, ["empty.nc", "the file is empty", "not an nc3z archive"]),
    ("verify elf", 1, ["elf", "program or library", "not an nc3z archive"]),
    ("verify h5.nc", 1, ["HDF5 file (netCDF-4)", "not an nc3z archive"]),
    ("verify n.nc.gz", 1, ["gzip file", "not an nc3z archive"]),
    ("verify n.nc", 1, ["not an nc3z archive but a classic netCDF file"]),
    ("verify dir", 1, ["`dir` is a directory", "--recursive"]),
    ("info dir", 1, ["`dir`", "is a directory", "nc3z list"]),
    ("info n.nc.nc3", 1, ["n.nc.nc3", "No such file"]),
    ("info gone.nc", 1, ["gone.nc", "No such file", "`gone.nc.nc3z` is there"]),
    ("info elf", 1, ["elf", "program or library"]),
    ("restore text.txt -o x", 1, ["text.txt", "this is text", "not an nc3z archive"]),
    ("restore n.nc", 1, ["does not end in .nc3z", "-o"]),
    ("parity add n.nc", 1, ["n.nc", "not an nc3z archive but a classic netCDF file"]),
    ("repair empty.nc -o x", 1, ["empty.nc", "the file is empty"]),
    ("log n.nc", 1, ["n.nc", "classic netCDF file"]),
    ("read n.nc@2 tenths", 1, ["`n.nc@2` names a version", "only archives have versions"]),
    # Archives that are damaged.
    ("info cut.nc3z", 3, ["cut.nc3z", "bytes of version 1 are missing", "save the intact parts with", "nc3z repair cut.nc3z -o NEW"]),
    ("restore cut.nc3z -o x", 3, ["bytes of version 1 are missing", "nc3z repair cut.nc3z -o NEW"]),
    ("read stub.nc3z SST", 3, ["stub.nc3z", "the end of the archive is missing", "nc3z repair stub.nc3z -o NEW"]),
    ("read flip.nc3z SST", 3, ["flip.nc3z", "SST", "nc3z repair flip.nc3z -o NEW"]),
    # One thing in place of another.
    ("hash --check c.nc.nc3z", 1, ["c.nc.nc3z` is an nc3z archive", "not a list of digests", "nc3z hash c.nc.nc3z"]),
    ("hash --check n.nc", 1, ["n.nc` is a classic netCDF file", "not a list of digests"]),
    ("hash --check text.txt", 1, ["no digest was checked"]),
    ("verify --manifest c.nc.nc3z", 1, ["is an nc3z archive, not a manifest", "`nc3z verify` checks an archive"]),
    ("verify --manifest dir", 1, ["manifest `dir/SHA256SUMS` does not exist", "nc3z hash --manifest"]),
    ("archive -r dir -o y --resume text.txt", 1, ["`text.txt` is not the log of a run", "names a file"]),
    ("hash --manifest n.nc", 1, ["`n.nc` is not a directory"]),
    ("hash --manifest dir --from-log text.txt", 1, ["`text.txt` is not the log of a run"]),
    # Standard input where it cannot be.
    ("repair - -o x", 1, ["-", "standard input", "name of a file"]),
    ("parity add -", 1, ["-", "standard input", "name of a file"]),
    ("commit - n.nc", 1, ["standard input"]),
    ("estimate -", 1, ["-", "the file is empty"]),
    ("recompress -", 1, ["needs files on both sides"]),
    ("restore -", 1, ["output for standard input has no default name", "-o"]),
    ("info -", 1, ["the file is empty"]),
    ("archive - n.nc", 1, ["`-` must be the only input"]),
    # Where outputs go.
    ("archive n.nc s.nc -o two.nc3z", 1, ["need a directory", "`two.nc3z/`"]),
    ("restore c.nc.nc3z gone.nc.nc3z -o one.nc", 1, ["need a directory", "`one.nc/`"]),
    ("archive n.nc -o typo/x.nc3z", 1, ["directory `typo` does not exist", "--parents"]),
    ("restore c.nc.nc3z -o typo/x.nc", 1, ["directory `typo` does not exist", "--parents"]),
    ("plot c.nc SST -d TIME,0 -o map.gif", 1, ["`map.gif`", ".png", ".svg"]),
    # Shares, sizes, numbers.
    ("parity add --share 50% c.nc.nc3z", 2, ["50%", "0.1% to 30%"]),
    ("archive --parity x n.nc", 2, ["'x'", "0.1% to 30%"]),
    ("archive --tile-size 7MB n.nc", 2, ["7MB", "KiB"]),
    ("archive --shard 9/3 n.nc", 2, ["9/3", "2/5"]),
    ("archive --threads many n.nc", 2, ["many", "0 to 1024"]),
    ("archive --chain SST=[{\"id\":\"zst\"}] n.nc", 2, ["zst", "expected shuffle"]),
    ("archive --quantize SST=bitround:99 c.nc -o q", 1, ["SST", "bitround:99", "1 to 23 bits"]),
    ("archive --quantize SST=round c.nc", 2, ["round"]),
    # Names that nothing has.
    ("read c.nc sst", 1, ["`c.nc`", "no variable \"sst\"", "did you mean `SST`?", "there are COADSX"]),
    ("read c.nc.nc3z SSS", 1, ["no variable \"SSS\"", "did you mean `SST`?"]),
    ("read --explain c.nc.nc3z WSDP", 1, ["did you mean `WSPD`?"]),
    ("dump -v AIR c.nc", 1, ["no variable `AIR`", "did you mean `AIRT`?"]),
    ("subset c.nc -v UWIND -o q.nc", 1, ["no variable `UWIND`", "did you mean `UWND`?"]),
    ("diff -v SSS c.nc c.nc.nc3z", 2, ["neither has a variable \"SSS\"", "did you mean `SST`?"]),
    ("attr c.nc.nc3z sst:units=K", 1, ["sst", "did you mean `SST`?"]),
    ("archive --quantize sst=bitround:3 c.nc -o q", 1, ["no variable `sst`", "did you mean `SST`?"]),
    ("archive --tile tiem=3 c.nc -o q", 1, ["tiem", "there are COADSX"]),
    ("read c.nc.nc3z@2 SST", 1, ["no version 2", "1"]),
    ("read c.nc.nc3z@good SST", 1, ["no tag `good`"]),
    ("tag c.nc.nc3z 7", 1, ["invalid tag `7`", "letters"]),
    ("revert c.nc.nc3z 9", 1, ["no version 9"]),
    # Selections.
    ("read c.nc SST -d time,0", 1, ["no dimension `time`", "did you mean `TIME`?", "it has TIME, COADSY, COADSX"]),
    ("read c.nc SST -d TIME,99", 1, ["`TIME` has length 12", "99"]),
    ("read c.nc SST -d TIME", 2, ["TIME", "NAME,FIRST[,LAST[,STEP]]"]),
    ("read c.nc SST -d TIME,x", 2, ["`x` is neither an index such as 3 nor a coordinate value such as 3.0"]),
    ("read c.nc SST -d COADSY,100.0", 1, ["`COADSY` goes from -89.0 to 89.0", "100.0"]),
    ("read c.nc SST -d TIME,0 -d TIME,1", 1, ["`TIME` is given twice"]),
    ("read c.nc SST --start 0,0", 1, ["--start has 2 numbers", "3 dimensions"]),
    ("read c.nc SST --count 13,1,1", 1, ["`TIME`) has length 12", "count 13"]),
    ("plot c.nc SST -d TIME,0 -d COADSX,3 -d COADSY,3 -o p.png", 1, ["one value cannot be drawn", "nc3z read"]),
    # Unknown and incomplete commands.
    ("archve n.nc", 2, ["unrecognized subcommand 'archve'", "archive"]),
    ("read c.nc", 2, ["<VARIABLE>"]),
    ("archive", 2, ["<INPUTS>"]),
    ("find = n.nc", 1, []),
    ("find nothing_has_this n.nc", 1, []),
]


class Messages(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import tempfile
        from pathlib import Path
        cls.files = Path(tempfile.mkdtemp(prefix="nc3z-messages-"))
        cls.addClassCleanup(shutil.rmtree, cls.files, ignore_errors=True)
        put = lambda name, data: (cls.files / name).write_bytes(data)
        shutil.copy(CLASSIC / "coads_climatology.cdf", cls.files / "c.nc")
        shutil.copy(CLASSIC / "numeric.nc", cls.files / "n.nc")
        shutil.copy(CLASSIC / "smooth.nc", cls.files / "s.nc")
        shutil.copy(CLASSIC / "smooth.nc", cls.files / "gone.nc")
        done = subprocess.run([NC3Z, "archive", "c.nc", "gone.nc"], cwd=cls.files, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        (cls.files / "gone.nc").unlink()
        archive = (cls.files / "c.nc.nc3z").read_bytes()
        put("cut.nc3z", archive[:100_000])
        put("stub.nc3z", archive[:100])
        flipped = bytearray(archive)
        for at in range(20_000, len(archive) - 20_000, 5000):
            flipped[at] ^= 0x55
        put("flip.nc3z", flipped)
        put("empty.nc", b"")
        put("elf", b"\x7fELF\x02\x01\x01" + bytes(200))
        put("h5.nc", b"\x89HDF\r\n\x1a\n" + bytes(200))
        put("n.nc.gz", gzip.compress((CLASSIC / "numeric.nc").read_bytes()))
        put("text.txt", b"hello there\n")
        put("random.bin", bytes(range(128, 256)))
        put("cut.nc", b"CDF\x02")
        put("cdf7.nc", b"CDF\x07" + bytes(100))
        os.mkfifo(cls.files / "pipe.nc")
        (cls.files / "dir").mkdir()

    def test_there_are_at_least_forty(self):
        self.assertGreaterEqual(len(USES), 40)
        self.assertEqual(len({use for use, _, _ in USES}), len(USES))

    def test_each_wrong_use_has_its_message(self):
        before = sorted(p.name for p in self.files.iterdir())
        for use, code, words in USES:
            with self.subTest(use):
                done = nc3z(*use.split(" "), cwd=self.files)
                self.assertEqual(done.returncode, code, done.stderr)
                at = 0
                for word in words:
                    found = done.stderr.find(word, at)
                    self.assertGreaterEqual(found, 0, f"no {word!r} behind byte {at} of: {done.stderr}")
                    at = found
                for word in NEVER:
                    self.assertNotIn(word, done.stderr)
                if code in (1, 3) and words:
                    # One line, that says whose it is.
                    self.assertRegex(done.stderr, r"^nc3z: (error|warning): ")
                self.assertLess(max(map(len, done.stderr.splitlines()), default=0), 420, done.stderr)
        self.assertEqual(sorted(p.name for p in self.files.iterdir()), before, "a wrong use left something behind")

    def test_no_file_is_named_twice_in_front(self):
        done = nc3z("archive", "nope.nc", cwd=self.files)
        self.assertEqual(done.stderr, "nc3z: error: nope.nc: No such file or directory\n")

    def test_all_of_these_are_done_when_rightly_asked_for(self):
        """The rows above fail for their reason and no other."""
        for use in ("read c.nc SST -d TIME,0 -d COADSY,0", "info c.nc.nc3z", "info --notation hdf5 c.nc.nc3z", "verify c.nc.nc3z", "test c.nc.nc3z",
                    "-t c.nc.nc3z", "-l c.nc.nc3z", "find SST c.nc", "diff -v SST c.nc c.nc.nc3z", "hash c.nc.nc3z"):
            self.ok(nc3z(*use.split(" "), cwd=self.files))

    def test_info_says_plainly_what_a_notation_lacks(self):
        for notation in ("hdf5", "json"):
            done = self.ok(nc3z("info", "--notation", notation, "c.nc.nc3z", cwd=self.files))
            self.assertNotIn(b"invalid argument", done.stdout)


class Manners(Case):
    """Options that users know from gzip, grep and others."""

    def setUp(self):
        super().setUp()
        for name in ("a.nc", "b.nc"):
            shutil.copy(CLASSIC / "numeric.nc", self.dir / name)

    def run_here(self, *args, **options):
        return nc3z(*args, cwd=self.dir, **options)

    def test_quiet_and_verbose(self):
        self.assertEqual(self.ok(self.run_here("archive", "-q", "-k", "a.nc")).stderr, "")
        self.assertEqual(self.ok(self.run_here("archive", "-q", "-r", ".", "--skip-existing")).stderr, "")
        done = self.ok(self.run_here("archive", "-v", "-r", ".", "--skip-existing"))
        self.assertIn("a.nc: its archive exists already", done.stderr)
        self.assertIn("passed over, nc3z archive", done.stderr)
        done = self.ok(self.run_here("verify", "-q", "-r", "."))
        self.assertEqual((done.stdout, done.stderr), (b"", ""))
        self.assertEqual(self.ok(self.run_here("restore", "-q", "-k", "a.nc.nc3z", "-o", "x.nc")).stderr, "")
        raw = bytearray((self.dir / "b.nc.nc3z").read_bytes())
        raw[len(raw) // 2] ^= 1
        (self.dir / "b.nc.nc3z").write_bytes(raw)
        done = self.run_here("verify", "-q", "-r", ".")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"b.nc.nc3z", done.stdout)
        self.assertNotIn(b"a.nc.nc3z", done.stdout)
        self.assertEqual(self.run_here("archive", "-q", "-v", "a.nc").returncode, 2)

    def test_standard_input_wherever_an_archive_is_read(self):
        self.ok(self.run_here("archive", "a.nc"))
        archive, original = (self.dir / "a.nc.nc3z").read_bytes(), (self.dir / "a.nc").read_bytes()
        self.assertEqual(self.ok(self.run_here("restore", "-", "-o", "-", input=archive)).stdout, original)
        self.ok(self.run_here("restore", "-", "-o", "back.nc", input=archive))
        self.assertEqual((self.dir / "back.nc").read_bytes(), original)
        for args in (("info", "-"), ("verify", "-"), ("verify", "--deep", "-"), ("test", "-"), ("info", "--layout", "-"), ("dump", "-"), ("hash", "-"),
                     ("read", "-", "tenths"), ("read", "--explain", "-", "tenths"), ("find", "tenths", "-"), ("diff", "-", "a.nc"), ("log", "-")):
            with self.subTest(args):
                done = self.ok(self.run_here(*args, input=archive))
                if args[0] in ("read", "dump", "diff") and "--explain" not in args:
                    other = [("a.nc" if a == "-" else a) for a in args]
                    expected = self.ok(self.run_here(*other)).stdout
                    self.assertEqual(done.stdout.replace(b"netcdf - {", b"netcdf a {"), expected)
        self.ok(self.run_here("read", "-", "tenths", input=original))
        self.assertEqual(self.run_here("verify", "-", input=archive[:-100]).returncode, 3)
        self.fails(self.run_here("verify", "-", input=b"what is this?\n"), 1, "text, not an nc3z archive")

    def test_nothing_binary_goes_to_a_terminal(self):
        import pty
        self.ok(self.run_here("archive", "a.nc"))
        for args in (("archive", "a.nc", "-o", "-"), ("restore", "a.nc.nc3z", "-o", "-"), ("read", "a.nc", "tenths", "--format", "npy")):
            with self.subTest(args):
                master, slave = pty.openpty()
                try:
                    done = nc3z(*args, cwd=self.dir, stdout=slave)
                finally:
                    os.close(slave)
                    os.close(master)
                self.fails(done, 1, "terminal")

    def test_a_list_fits_the_terminal(self):
        import pty
        self.ok(self.run_here("archive", "a.nc"))

        def listed(columns, *more):
            master, slave = pty.openpty()
            try:
                environment = dict(os.environ, COLUMNS=str(columns))
                self.ok(nc3z("list", *more, CLASSIC / "coads_climatology.cdf", ".", cwd=self.dir, stdout=slave, env=environment))
                os.set_blocking(master, False)
                out = b""
                while True:
                    try:
                        part = os.read(master, 1 << 16)
                    except OSError:
                        break
                    out += part
                return out.decode().replace("\r", "")
            finally:
                os.close(slave)
                os.close(master)

        whole = self.ok(self.run_here("list", "--wide", CLASSIC / "coads_climatology.cdf", ".")).stdout.decode()
        self.assertGreater(max(map(len, whole.splitlines())), 160)
        for columns in (160, 120, 100):
            lines = listed(columns).splitlines()
            self.assertEqual(len(lines), len(whole.splitlines()))
            self.assertLessEqual(max(map(len, lines)), columns)
            # Names are never cut, and the remaining words of a line keep their order.
            for line, full in zip(lines, whole.splitlines()):
                self.assertEqual(line.split()[0], full.split()[0])
        self.assertEqual(listed(80, "--wide"), whole)

    def test_one_long_line_of_a_list_does_not_widen_the_others(self):
        dims = " ".join(f"dimension{i} = 2 ;" for i in range(120))
        (self.dir / "many.cdl").write_text(f"netcdf many {{ dimensions: {dims} variables: int v(dimension0) ; }}")
        if shutil.which("ncgen") is None:
            self.skipTest("ncgen is not there")
        subprocess.run(["ncgen", "-o", self.dir / "many.nc", self.dir / "many.cdl"], check=True)
        (self.dir / "many.cdl").unlink()
        for command in (("list", "--wide", "."),):
            lines = self.ok(self.run_here(*command)).stdout.decode().splitlines()
            lengths = {line.split()[0]: len(line) for line in lines}
            self.assertGreater(lengths["./many.nc"], 1500)
            self.assertLess(max(n for name, n in lengths.items() if name != "./many.nc"), 250, lines)

    def test_directories_are_made_only_where_it_is_asked_for(self):
        self.fails(self.run_here("archive", "a.nc", "-o", "x/y/a.nc3z"), 1, "--parents")
        self.assertEqual(self.names(), ["a.nc", "b.nc"])
        self.ok(self.run_here("archive", "--parents", "a.nc", "-o", "x/y/a.nc3z"))
        self.fails(self.run_here("restore", "x/y/a.nc3z", "-o", "z/y/a.nc"), 1, "--parents")
        self.ok(self.run_here("restore", "--parents", "x/y/a.nc3z", "-o", "z/y/a.nc"))
        # The last name may be new.
        self.ok(self.run_here("archive", "-r", "x", "z", "-o", "new"))
        self.ok(self.run_here("archive", "a.nc", "b.nc", "-o", "new2/"))
        self.assertEqual((self.dir / "z/y/a.nc").read_bytes(), (self.dir / "a.nc").read_bytes())

    def test_parity_goes_into_trees(self):
        self.ok(self.run_here("archive", "-r", ".", "-o", "out"))
        (self.dir / "out/notes").write_text("x")
        done = self.ok(self.run_here("parity", "add", "-r", "out"))
        self.assertIn("2 archives, 0 failed, 1 passed over (1 other file)", done.stderr)
        for name in ("a", "b"):
            self.assertIn(b"can lose", self.ok(self.run_here("parity", "info", f"out/{name}.nc.nc3z")).stdout)
        self.fails(self.run_here("parity", "info", "out"), 1, "--recursive")
        self.ok(self.run_here("parity", "remove", "-r", "out"))
        self.assertIn(b"no parity", self.ok(self.run_here("parity", "info", "-r", "out")).stdout)

    def test_leftovers_are_removed_anywhere(self):
        self.ok(self.run_here("archive", "-r", ".", "-o", "out"))
        old = self.dir / "out/.old.nc.nc3z.Xyz123.nc3z-tmp"
        deep = self.dir / "out/no/input/here/.b.nc.nc3z.Xyz123.nc3z-tmp"
        deep.parent.mkdir(parents=True)
        for path in (old, deep):
            path.write_bytes(b"half")
        done = self.ok(self.run_here("archive", "-r", ".", "-o", "out", "--skip-existing", "--clean-temps"))
        self.assertFalse(deep.exists() or old.exists(), done.stderr)
        self.assertIn("left by a run that was killed", done.stderr)
        self.assertEqual(self.run_here("archive", "--clean-temps", "a.nc").returncode, 2)

    def test_manifests_come_from_trees_and_from_logs(self):
        for i in range(6):
            (self.dir / "in").mkdir(exist_ok=True)
            raw = bytearray((CLASSIC / "numeric.nc").read_bytes())
            raw[-1] = i
            (self.dir / f"in/{i}.nc").write_bytes(raw)
        odd = self.dir / "in" / os.fsdecode(b"od\xff\nd.nc")
        shutil.copy(self.dir / "in/0.nc", odd)
        for shard in ("1", "2"):
            self.ok(self.run_here("archive", "-r", "in", "-o", "out", "--shard", f"{shard}/2", "--log", f"log{shard}"))
        done = self.ok(self.run_here("hash", "--manifest", "out", "--from-log", "log1", "--from-log", "log2"))
        self.assertIn("out/SHA256SUMS: 7 archives", done.stderr)
        self.ok(self.run_here("verify", "--no-fixity-log", "--manifest", "out"))
        checked = subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=self.dir / "out", capture_output=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        by_log = (self.dir / "out/SHA256SUMS").read_bytes()
        self.ok(self.run_here("hash", "--manifest", "--force", "out"))
        self.assertEqual((self.dir / "out/SHA256SUMS").read_bytes(), by_log)
        self.assertEqual(self.ok(self.run_here("hash", "--manifest", "out", "-o", "-")).stdout, by_log)
        # One part alone is refused, and an archive that is gone is missed.
        self.fails(self.run_here("hash", "--manifest", "--force", "out", "--from-log", "log1"), 1, "the log of the part 2/2 is missing")
        (self.dir / "out/3.nc.nc3z").unlink()
        self.fails(self.run_here("hash", "--manifest", "--force", "out", "--from-log", "log1", "--from-log", "log2"), 1, "3.nc.nc3z.*gone")
        (self.dir / "in/bad.nc").write_bytes(b"CDF\x01" + b"\xff" * 60)
        self.fails(self.run_here("archive", "-r", "in", "-o", "out", "--skip-existing", "--log", "log3"), 4)
        self.fails(self.run_here("hash", "--manifest", "--force", "out", "--from-log", "log3"), 1, "bad.nc.*failed")
        self.ok(self.run_here("verify", "--no-fixity-log", "--manifest", "out"))


if __name__ == "__main__":
    sys.exit(unittest.main())
