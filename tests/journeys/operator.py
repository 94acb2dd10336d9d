"""What the blocks of docs/operator.md must have done."""

import json
import os
import shutil

from common import nc3z


def campaign(test, out, at):
    test.assertIn("3 archives", out)
    test.assertGreater(len(list((at / "camp/logs").iterdir())), 1)


def serve(test, out, _):
    test.assertIn("the original's bytes", out)


def mount(test, out, _):
    test.assertIn("the same file", out)


def check(test, out, at):
    test.assertEqual([row["sound"] for row in json.loads((at / "verdicts.json").read_text())], [True] * 3)
    test.assertIn("would be kept", out)


def no_command(name):
    """Why the block of an optional command cannot run: the static binary has neither `serve` nor `mount`."""
    return None if nc3z(name, "--help").returncode == 0 else f"this nc3z has no `{name}`"


def no_mount():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("fusermount3"):
        return "no /dev/fuse, or no fusermount3"
    return no_command("mount")


def no_server():
    return no_command("serve") if shutil.which("curl") else "no curl"


BLOCKS = {"campaign": campaign, "serve": serve, "mount": mount, "check": check}
SKIP = {"mount": no_mount, "serve": no_server}
