"""What the blocks of docs/implementer.md must have done."""

import json


def specification(test, out, _):
    test.assertIn("complete", out)
    test.assertIn("# ", out)


def reference(test, out, _):
    test.assertIn("restored without nc3z", out)


def bytes_(test, out, at):
    test.assertIn("superblock", out)
    test.assertEqual(json.loads((at / "layout.json").read_text())["kind"], "archive")


def proof(test, out, _):
    test.assertIn("proven, a part of nc3z1:", out)
    test.assertIn("proven: ROSE", out)


BLOCKS = {"specification": specification, "reference": reference, "bytes": bytes_, "proof": proof}
