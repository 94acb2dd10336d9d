"""What the blocks of docs/operator.md must have done."""

import json
import os
import shutil


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


def no_fuse():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("fusermount3"):
        return "no /dev/fuse, or no fusermount3"
    return None


def no_curl():
    return None if shutil.which("curl") else "no curl"


BLOCKS = {"campaign": campaign, "serve": serve, "mount": mount, "check": check}
SKIP = {"mount": no_fuse, "serve": no_curl}
