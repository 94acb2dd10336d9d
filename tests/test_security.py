"""The recipes of docs/security.md that need nothing but a usual Linux."""

import re
import shutil
import subprocess
import unittest

from common import CLASSIC, NC3Z, ROOT, Case, nc3z

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
        return subprocess.run(["bash", "-ec", f"PATH={tools}:$PATH\n{script}"], cwd=self.dir, capture_output=True, text=True)

    def test_confined_by_namespaces_and_limits(self):
        if subprocess.run(["unshare", "--user", "--map-current-user", "--net", "true"], capture_output=True).returncode:
            self.skipTest("no user namespaces here")
        original = CLASSIC / "etopo120.cdf"
        self.assertEqual(nc3z("archive", original, "-o", self.dir / "stranger.nc3z").returncode, 0)
        done = self.shell(recipe("unshare --user"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "out.nc").read_bytes(), original.read_bytes())

    def test_a_manifest_is_signed_and_checked(self):
        if not shutil.which("ssh-keygen"):
            self.skipTest("no ssh-keygen here")
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
