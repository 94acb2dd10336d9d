"""Logs of runs over trees, as ``nc3z archive --log`` writes them: lines of JSON, which ``nc3z hash --manifest --from-log`` and ``nc3z status --log`` read."""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections import Counter
from datetime import datetime, timezone
from typing import Any

from nc3z._nc3z import __version__

#: Codes of failures that the same run will meet again, as in ``libs/nc3z-collections/src/tree/code.rs``.
PERMANENT = ("input.not-classic", "input.damaged", "input.limit", "input.unsupported", "input.name", "exists", "exists.other", "option")


class Journal:
    """Appends a run to a log. Without its last line, a log proves nothing about files that it does not name."""

    def __init__(self, path: str | os.PathLike[str], root: str, output: str, planned: int) -> None:
        self.planned = planned
        self.run = secrets.token_hex(6)
        self.counts: Counter[str] = Counter()
        self.file = open(path, "a+b")
        size = self.file.seek(0, os.SEEK_END)
        if size and (self.file.seek(size - 1), self.file.read(1))[1] != b"\n":
            # An incomplete line of a killed run stays a line of its own.
            self.file.write(b"\n")
        self.write(
            log="begin",
            tool=f"nc3z {__version__}",
            host=socket.gethostname(),
            process=os.getpid(),
            directory=os.getcwd(),
            inputs=[root],
            output=output,
            planned=planned,
        )

    def write(self, **line: Any) -> None:
        line |= {"run": self.run, "time": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
        self.file.write(json.dumps(line, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace") + b"\n")
        self.file.flush()

    def add(self, file: str, state: str, archive: str | None = None, **more: Any) -> None:
        """Appends the result for a file. A name that is not text is also there in hexadecimal digits."""
        for key, path in (("file", file), ("archive", archive)):
            if path is None:
                continue
            more[key] = path.encode("utf-8", "replace").decode()
            if not path.isprintable() or more[key] != path:
                more[f"{key}_hex"] = os.fsencode(path).hex()
        self.counts[state] += 1
        self.write(state=state, **more)

    def failed(self, file: str, archive: str | None, error: str, code: str | None) -> None:
        code = code or "other"
        code = {"argument": "input.not-classic", "input.incomplete": "input.damaged"}.get(code, code)
        self.add(file, "failed", archive, error=error, code=code, retry=code not in PERMANENT)

    def end(self) -> None:
        """Appends the numbers of files by their states, and syncs the log."""
        self.write(log="end", counts=dict(self.counts), complete=self.counts.total() == self.planned)
        os.fsync(self.file.fileno())
        self.file.close()
