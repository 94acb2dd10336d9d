"""Runs the recipes of docs/security.md. Nothing is installed: a missing program is reported, and in CI it is a failure."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from common import CLASSIC, NC3Z, ROOT, Case, missing, nc3z, need_program

TEXT = (ROOT / "docs/security.md").read_text()


def recipe(word):
    """The shell block that has this word."""
    (found,) = [block for block in re.findall(r"```sh\n(.*?)```", TEXT, re.S) if word in block]
    return found


class Recipes(Case):
    def shell(self, script):
        tools = self.dir / "tools"
        tools.mkdir(exist_ok=True)
        (tools / "nc3z").unlink(missing_ok=True)
        (tools / "nc3z").symlink_to(NC3Z)
        return subprocess.run(["bash", "-ec", f"PATH={tools}:$PATH\nNC3Z={NC3Z}\n{script}"], cwd=self.dir, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)

    def stranger(self):
        """An archive in `incoming`, a place for output in `checked`."""
        for name in ("incoming", "checked"):
            (self.dir / name).mkdir()
        original = CLASSIC / "etopo120.cdf"
        self.ok(nc3z("archive", original, "-o", self.dir / "incoming/stranger.nc3z"))
        return original.read_bytes()

    def test_confined_by_bubblewrap(self):
        need_program(self, "bwrap")
        if subprocess.run(["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"], capture_output=True).returncode:
            missing(self, "bubblewrap may make no namespaces")
        original = self.stranger()
        script = recipe("bwrap --unshare-all")
        done = self.shell(script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "checked/stranger.nc").read_bytes(), original)
        # Nothing else is there, and nothing can be written but to /out.
        look = script[:script.index("prlimit")]
        for command, code in (("ls /in", 0), ("ls /home /root /etc", 2), ("touch /in/x", 1), ("touch /usr/x", 1), ("touch /out/y", 0)):
            self.assertEqual(self.shell(f"{look} {command}").returncode, code, command)

    def test_confined_by_systemd(self):
        need_program(self, "systemd-run")
        if subprocess.run(["systemd-run", "--user", "--wait", "--pipe", "--collect", "true"], capture_output=True,
                          stdin=subprocess.DEVNULL).returncode:
            # Containers, the machines of CI among them, have no such manager.
            print(f"\n*** NOT TESTED: {self.id()}: no service manager of the user runs", file=sys.stderr, flush=True)
            self.skipTest("no service manager of the user runs")
        # The service has a /tmp of its own.
        work = tempfile.TemporaryDirectory(dir=ROOT / "target")
        self.addCleanup(work.cleanup)
        self.dir = pathlib.Path(work.name)
        original = self.stranger()
        done = self.shell(recipe("systemd-run"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "checked/stranger.nc").read_bytes(), original)
        # Nothing can be written elsewhere, and there is no network but the loopback.
        confined = recipe("systemd-run").rsplit("\n  nc3z", 1)[0]
        self.assertNotEqual(self.shell(f"{confined}\n  touch {self.dir}/incoming/x").returncode, 0)
        self.assertEqual(self.shell(f"{confined}\n  cat /proc/net/dev").stdout.count(":"), 1)

    def test_a_manifest_is_signed_by_minisign(self):
        need_program(self, "minisign")
        (self.dir / "data").mkdir()
        shutil.copy(CLASSIC / "record_padding.nc", self.dir / "data")
        self.ok(nc3z("archive", "-r", "data", "-o", "archive", "--manifest", "sha256", cwd=self.dir))
        generate, sign, check = recipe("minisign -G").strip().splitlines()
        # Without a password, because the test cannot type one.
        done = self.shell(f"{generate.split('#')[0].replace('-G', '-G -W')}\n{sign}")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertEqual(self.shell(check).returncode, 0)
        sums = self.dir / "archive/SHA256SUMS"
        good = sums.read_text()
        sums.write_text(good.replace("a", "b", 1))
        self.assertNotEqual(self.shell(check).returncode, 0, "a manifest that was changed after it was signed")
        sums.write_text(good)
        with open(next((self.dir / "archive").glob("*.nc3z")), "ab") as archive:
            archive.write(b"more")
        self.assertNotEqual(self.shell(check).returncode, 0, "an archive that was changed after the manifest was signed")

    def test_confined_by_namespaces_and_limits(self):
        if subprocess.run(["unshare", "--user", "--map-current-user", "--net", "true"], capture_output=True).returncode:
            missing(self, "there are no user namespaces")
        original = CLASSIC / "etopo120.cdf"
        self.assertEqual(nc3z("archive", original, "-o", self.dir / "stranger.nc3z").returncode, 0)
        done = self.shell(recipe("unshare --user"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "out.nc").read_bytes(), original.read_bytes())

    def test_a_manifest_is_signed_and_checked(self):
        need_program(self, "ssh-keygen")
        (self.dir / "data").mkdir()
        shutil.copy(CLASSIC / "record_padding.nc", self.dir / "data")
        sign = recipe("-Y sign").replace("ssh-keygen -t", "ssh-keygen -q -N '' -t")
        done = self.shell(sign)
        self.assertEqual(done.returncode, 0, done.stderr)
        check = recipe("-Y verify")
        done = self.shell(check)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        sums = self.dir / "archive/SHA256SUMS"
        sums.write_text(sums.read_text().replace("a", "b", 1))
        self.assertNotEqual(self.shell(check).returncode, 0, "a manifest that was changed after it was signed")


if __name__ == "__main__":
    unittest.main()
