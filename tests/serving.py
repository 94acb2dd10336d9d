"""Shared by the tests of `nc3z serve`: a server of a directory, and requests to it."""

import contextlib
import http.client
import json
import re
import signal
import socket
import threading
import urllib.parse

from common import Case, nc3z, start

SOON = 60


class Reply:
    """A reply that has been read to its end."""

    def __init__(self, response, body):
        self.status, self.body = response.status, body
        self.headers = {name.lower(): value for name, value in response.getheaders()}

    def __getitem__(self, name):
        return self.headers.get(name.lower())

    def json(self):
        return json.loads(self.body)


class Running:
    """A server: its address, and its standard error."""

    def __init__(self, process, url):
        self.process, self.url = process, url
        self.host, self.port = re.fullmatch(r"http://(.*):(\d+)/", url).groups()
        self.port = int(self.port)
        self.said = []
        self.reader = threading.Thread(target=lambda: self.said.extend(line.decode() for line in process.stderr))
        self.reader.start()

    def ask(self, path, method="GET", connection=None, **headers):
        """One request. Underscores in names of headers mean hyphens."""
        mine = connection or http.client.HTTPConnection(self.host, self.port, timeout=SOON)
        try:
            mine.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            response = mine.getresponse()
            return Reply(response, response.read())
        finally:
            if connection is None:
                mine.close()

    def raw(self, request, timeout=SOON, ends=True):
        """Sends bytes as they are, and gives all that comes back. `ends`: the client closes its side behind them."""
        with socket.create_connection((self.host, self.port), timeout=timeout) as s:
            parts = []
            # The server may have answered and ended before it was sent everything.
            with contextlib.suppress(OSError):
                s.sendall(request)
                if ends:
                    s.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                while part := s.recv(1 << 16):
                    parts.append(part)
        return b"".join(parts)

    def address(self, name):
        return self.url + urllib.parse.quote(name)

    def end(self, sig=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            code = self.process.wait(SOON)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            self.process.stderr.close()
            self.process.stdout.close()
        return code


class ServeCase(Case):
    """A test with a directory to serve."""

    def setUp(self):
        super().setUp()
        self.source = self.dir / "source"
        self.source.mkdir()

    def archive(self, original, name=None, *options):
        archive = self.source / f"{name or original.name}.nc3z"
        archive.parent.mkdir(parents=True, exist_ok=True)
        self.ok(nc3z("archive", "-q", "-f", *options, original, "-o", archive))
        return archive

    @contextlib.contextmanager
    def serving(self, *options, source=None, **more):
        process = start("serve", source or self.source, "--listen", "127.0.0.1:0", *options, stdout=-1, **more)
        line = process.stdout.readline().decode()
        if not line:
            self.fail(process.communicate()[1])
        running = Running(process, line.strip())
        try:
            yield running
        finally:
            code = running.end()
        self.assertEqual(code, 0, running.said)
        # No thread of it has panicked.
        self.assertFalse([line for line in running.said if "panicked" in line], running.said)
