#!/usr/bin/env python3
"""The mechanical part of the freeze of format 1.0 (docs/releasing.md, *Freezing the format*). The commit of the freeze removes this program.

    freeze.py TEXT       version numbers, texts and names; golden archives get the new version; no tool is needed
    freeze.py ARCHIVES   by the tool in NC3Z, built after TEXT: golden archives with parity, the corpus, its list of digests, counts
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLD, NEW = "v0_1_0", "v1_0_0"
ARCHIVES = ROOT / "testdata/archives"
MAGIC = b"\x89NC3Z\r\n\x1a"
#: Archives whose parity must be made anew, since it covers the superblock, and its share.
WITH_PARITY = {"etopo120.fast.parity": "2%", "record_padding.default.parity": "5%"}


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def change(path, *pairs):
    """Replaces texts that occur once in a file."""
    path = ROOT / path
    text = path.read_text()
    for old, new in pairs:
        if text.count(old) != 1:
            sys.exit(f"{path.relative_to(ROOT)}: {text.count(old)} times, and not once: {old!r}")
        text = text.replace(old, new)
    path.write_text(text)


def with_version_1(data):
    """The archive of version 0.1 that `data` begins with, as version 1.0 writes it: nothing but the version and its checksum changes."""
    out = bytearray(data)
    assert out[:8] == MAGIC and out[8] == 0 and out[10:12] == b"\1\0"
    out[8], out[10] = 1, 0
    if out[9]:
        length, = struct.unpack_from("<I", out, 12)
        checked, at = out[:16] + out[20:68 + length], 16
    else:
        checked, at = out[:44] + out[48:112], 44
    struct.pack_into("<I", out, at, zlib.crc32(checked))
    return bytes(out)


def numbers():
    last = git("rev-parse", "--short=12", "HEAD").strip()
    change("nc3z-format/src/archive/constants.rs", ("MAJOR_VERSION: u8 = 0;", "MAJOR_VERSION: u8 = 1;"), ("MINOR_VERSION: u16 = 1;", "MINOR_VERSION: u16 = 0;"),
           ("/// Bytes of the superblock.\n", f'''/// The last commit that reads and writes archives of major version 0, those of development builds.
pub const LAST_OF_VERSION_0: &str = "{last}";
/// Bytes of the superblock.
'''))
    change("nc3z-format/src/archive/superblock.rs", ("use super::constants::{MAGIC,", "use super::constants::{LAST_OF_VERSION_0, MAGIC,"), ('''    let what = format!(
        "format version {major}, form {form}; this build reads version {MAJOR_VERSION}, forms 0 to 2. A newer nc3z may read it"
    );
''', '''    let what = if major == 0 {
        format!(
            "format version 0, of a development build before 1.0. Restore it with the nc3z that wrote it, or with commit {LAST_OF_VERSION_0} of the source, the last one that reads it"
        )
    } else {
        format!(
            "format version {major}, form {form}; this build reads version {MAJOR_VERSION}, forms 0 to 2. A newer nc3z may read it"
        )
    };
'''))
    change("spec/reference/nc3z_bytes.py", ("MAJOR, MINOR = 0, 1\n", f'''MAJOR, MINOR = 1, 0
#: The last commit that reads archives of major version 0.
LAST_OF_VERSION_0 = "{last}"
'''))
    change("spec/reference/nc3z_ref.py", ("import MAGIC, MAJOR, package", "import LAST_OF_VERSION_0, MAGIC, MAJOR, package"), ('''            raise Refused("not an nc3z archive")
        raw = ''', '''            raise Refused("not an nc3z archive")
        if self.data[8:9] == b"\\0":
            raise Refused(f"archive of format version 0, of a development build; commit {LAST_OF_VERSION_0} of the source reads it")
        raw = '''))
    change("faces/java/src/main/java/org/nc3z/Archive.java", ("MAJOR = 0, MINOR = 1;", f'''MAJOR = 1, MINOR = 0;
    /** The last commit that reads archives of major version 0. */
    private static final String LAST_OF_VERSION_0 = "{last}";'''), ('''        if (start[8] != MAJOR || ''', '''        if (start[8] == 0) throw unsupported("archive of format version 0, of a development build; commit " + LAST_OF_VERSION_0 + " of the source reads it");
        if (start[8] != MAJOR || '''))
    return last


def texts(last):
    today = datetime.date.today().isoformat()
    change("spec/archive.md", ("# The nc3z archive format, version 0.1\n", "# The nc3z archive format, version 1.0\n"),
           ("| 8 | 2 | major version, u16 | 0; any other", "| 8 | 2 | major version, u16 | 1; any other"), ("| 10 | 2 | minor version, u16 | 1; a reader", "| 10 | 2 | minor version, u16 | 0; a reader"),
           ("| 8 | 1 | major version | 0 |", "| 8 | 1 | major version | 1 |"), ("any; the long form's is 1 |", "any; the long form's is 0 |"), ("superblock (minor version 1,", "superblock (minor version 0,"))
    readme = (ROOT / "spec/README.md").read_text()
    date, = re.findall(r"^\| Date \| .*$", readme, flags=re.M)
    status, = re.findall(r"^\| Status \| .*$", readme, flags=re.M)
    change("spec/README.md", ("| Format version | 0.1 (superblock: major 0, minor 1) |", "| Format version | 1.0 (superblock: major 1, minor 0) |"), (date, f"| Date | {today} |"),
           (status, "| Status | frozen: `compatibility.md` says what is promised |"), ("specification, version 0.1.", "specification, version 1.0."))
    change("spec/compatibility.md", ("## 1. Before 1.0\n", "## 1. Version 0\n"), (
        "Major version 0 is that of development builds. Archives of it are not read from 1.0 on: a reader names them, and the commit that reads them. Restore them with the tool that made them.",
        f"Major version 0 is that of development builds, which were never released. A reader refuses its archives and says so. Restore them with the tool that made them; commit `{last}` of the source is the last one that reads them."))
    change("README.md", ("Version 0.1: the format may still change until 1.0 ([what versions promise](spec/compatibility.md)).", "Format 1.0: every later version reads what this one writes ([what versions promise](spec/compatibility.md))."))
    change("docs/readers.md", ("| archives of development builds (format 0.1) | the commit that wrote them |", f"| archives of development builds (format 0.1) | the commit that wrote them; `{last}` is the last one |"))
    change("CHANGELOG.md", ("## 1.0.0 (Unreleased)\n\nThe first release. ", "## 1.0.0 (Unreleased)\n\nThe first release. Format 1.0: archives of it stay readable. "))


def identification():
    folder = ROOT / "packaging/identification"
    droid = (folder / "nc3z-droid.xml").read_text()

    def sequence(found):
        first = bytes.fromhex(found[2])
        assert first[:9] == MAGIC + b"\0"
        new = MAGIC + bytes([1, first[9]])
        shifts = {byte: len(new) - i for i, byte in enumerate(new)}
        lines = "".join(f'{found[1]}<Shift Byte="{byte:02X}">{shift}</Shift>\n' for byte, shift in sorted(shifts.items()))
        return f"{found[1]}<Sequence>{new.hex().upper()}</Sequence>\n{found[3]}{lines}"

    droid, count = re.subn(r"( +)<Sequence>(\w+)</Sequence>\n( +<DefaultShift>11</DefaultShift>\n)(?: +<Shift .*\n)+", sequence, droid)
    assert count == 3
    (folder / "nc3z-droid.xml").write_text(droid)
    change("packaging/identification/nc3z-fido.xml", ("<version>0, long form<", "<version>1, long form<"), ("<version>0, short form<", "<version>1, short form<"),
           *((f"1A000{n}<", f"1A010{n}<") for n in range(3)), *((f"x1A\\x00\\x0{n}<", f"x1A\\x01\\x0{n}<") for n in range(3)))
    change("packaging/identification/README.md", ("`89 4E 43 33 5A 0D 0A 1A 00 00`", "`89 4E 43 33 5A 0D 0A 1A 01 00`"), ("the same with `00 01`, `00 02` at the end", "the same with `01 01`, `01 02` at the end"))
    change("docs/registration/pronom.md", ("has the signatures of development builds (version 0) as DROID", "has these signatures as DROID"))


def refused():
    """Two files for the corpus: archives as version 0.1 wrote them."""
    change("scripts/corpus.py", ('''#: Rules that no file shows, and why.
''', '''def of_version_0(corpus, archive):
    """Archives of development builds, which are named and refused. They differ from those of version 1.0 in the version alone."""
    from nc3z_ref import crc32

    long, short = archive("etopo120.cdf").read_bytes(), bytearray(archive("all_types_cdf2.nc").read_bytes())
    corpus.add(MUST, "version-0", "an archive of a development build, in the long form", signed(long, 0, {8: b"\\0\\0\\1\\0"}, 44), "R2", verify=False)
    short[8], short[10] = 0, 1
    struct.pack_into("<I", short, 16, crc32(bytes(short[:16] + short[20:68 + struct.unpack_from("<I", short, 12)[0]])))
    corpus.add(MUST, "version-0-short", "the same in the short form", bytes(short), "R2", verify=False)


#: Rules that no file shows, and why.
'''), ("        bundles(corpus, tool, Path(folder))\n", '''        bundles(corpus, tool, Path(folder))
        of_version_0(corpus, archive)
'''))
    change("tests/test_conformance.py", ('''    def test_the_reference_in_python(self):
''', '''    def test_archives_of_development_builds_are_named_with_the_commit_that_reads_them(self):
        for row in DESCRIBED["files"]:
            if "version-0" in row["file"]:
                for command in ((NC3Z, "restore"), (NC3Z, "info"), (NC3Z, "verify"), (NC3Z, "repair"), (sys.executable, ROOT / "spec/reference/nc3z_ref.py", "restore")):
                    out = () if command[-1] in ("info", "verify") else ("-o", self.dir / "out")
                    done = subprocess.run([*command, CORPUS / row["file"], *out], capture_output=True, text=True, timeout=TIMEOUT, check=False)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn("development build", done.stderr)
                    self.assertIn(nc3z_ref.LAST_OF_VERSION_0, done.stderr)

    def test_the_reference_in_python(self):
'''))


def golden():
    git("mv", f"testdata/archives/{OLD}", f"testdata/archives/{NEW}")
    for path in sorted((ARCHIVES / NEW).glob("*.nc3z")):
        path.write_bytes(with_version_1(path.read_bytes()))
    for path in sorted((ROOT / "fuzz/artifacts").rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        at = data.find(MAGIC + b"\0\0\1\0")
        if 0 <= at <= len(data) - 160:
            path.write_bytes(data[:at] + with_version_1(data[at:]))
    # From now on no change of the format makes them anew.
    git("rm", "-q", "testdata/remake_archives.py")
    change("testdata/README.md", ("""It need not write the same archives. Until the format is 1.0, a change of the format makes them anew:
`remake_archives.py OLD NEW`.""", "It need not write the same archives. They never change."))
    for path in git("grep", "-lI", OLD).split():
        if path not in ("CHANGELOG.md", "scripts/freeze.py"):
            (ROOT / path).write_text((ROOT / path).read_text().replace(OLD, NEW))


def text():
    last = numbers()
    texts(last)
    identification()
    refused()
    golden()
    # The checklist has done its work, but for the counts.
    path = ROOT / "docs/releasing.md"
    path.write_text(re.sub(r"## Freezing the format.*?(?=^## )", "", path.read_text(), flags=re.S | re.M))
    print(subprocess.run([sys.executable, ROOT / "scripts/spec.py"], capture_output=True, text=True, check=True).stdout, end="")
    git("rm", "-q", "--cached", "scripts/freeze.py")


def archives():
    tool = Path(os.environ["NC3Z"]).resolve()
    for name, share in WITH_PARITY.items():
        archive = ARCHIVES / NEW / f"{name}.nc3z"
        data = archive.read_bytes()
        before = len(data)
        # Parity is the last generation, and has no blocks: the archive without it ends with the trailer before, and its slots are empty.
        end, = struct.unpack_from("<Q", data, before - 128 + 56)
        archive.write_bytes(data[:112] + bytes(48) + data[160:end + 128])
        subprocess.run([tool, "parity", "add", "--share", share, archive], check=True, capture_output=True)
        print(f"{name}: {before} -> {archive.stat().st_size} bytes")
    for step in ("MAKE", "FREEZE"):
        print(subprocess.run([sys.executable, ROOT / "scripts/corpus.py", step], check=True, capture_output=True, text=True).stdout, end="")
    frozen = hashlib.sha256((ROOT / "testdata/conformance/frozen.sha256").read_bytes()).hexdigest()
    change("tests/test_conformance.py", ("\nFROZEN = None\n", f'\nFROZEN = "{frozen}"\n'), ("prints; None before format 1.0.", "printed."))
    rows = json.loads((ROOT / "testdata/conformance/corpus.json").read_text())["files"]
    print({kind: sum(row["file"].startswith(kind) for row in rows) for kind in ("must-read", "may-refuse", "must-refuse")}, len(rows), "files: counts in docs/readers.md")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["TEXT", "ARCHIVES"])
    {"TEXT": text, "ARCHIVES": archives}[parser.parse_args().part]()


if __name__ == "__main__":
    main()
