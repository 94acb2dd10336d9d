"""A server of byte ranges on this machine that counts requests, and can show the faults of real servers."""

import hashlib
import mimetypes
import re
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

#: The faults of the server. Each affects every third request after the first, unless the server is set otherwise.
FAULTS = ("cut", "busy", "whole", "shifted", "short", "changed", "forbidden")


class Ranges(BaseHTTPRequestHandler):
    """GET with one bounded range; suffixes are refused, as some stores do."""

    protocol_version = "HTTP/1.1"
    # As web servers do: an answer's body does not wait until its header has been acknowledged.
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        with self.server.lock:
            self.server.connections += 1

    def do_HEAD(self):
        self.do_GET(with_body=False)

    def do_GET(self, with_body=True):
        server = self.server
        with server.lock:
            server.running += 1
            server.most_at_once = max(server.most_at_once, server.running)
        try:
            self.answer(with_body)
        finally:
            with server.lock:
                server.running -= 1

    def answer(self, with_body):
        server = self.server
        time.sleep(server.delay)
        path = self.path.split("?")[0]
        with server.lock:
            server.headers.append(self.headers)
            server.asked.append((path, self.headers.get("Range"), self.headers.get("If-Match")))
            server.targets.append(self.path)
            number = len(server.asked)
        if server.refusal:
            # Stores repeat the token of a request that they refuse.
            status, page = server.refusal
            return self.plain(status, body=page.replace("TOKEN", self.headers.get("x-amz-security-token", "")).encode())
        fault = server.fault if server.fault and number > server.after and number % server.every == 0 else None
        if "list-type=2" in self.path:
            server.queries.append(self.path)
            return self.plain(200, ("Content-Type", "application/xml"), body=self.listed(path))
        data = server.files.get(path)
        if data is None:
            return self.plain(404, body=b"<html><body>not here</body></html>")
        tag = server.tags[path]
        if fault == "busy":
            return self.plain(503, ("Retry-After", "0"))
        if fault == "forbidden":
            return self.plain(403)
        if fault == "changed" or (server.fault == "changed" and server.changed):
            server.changed = True
            data, tag = bytes(b ^ 0xFF for b in data), '"another"'
        if server.heeds and self.headers.get("If-Match") not in (None, tag):
            return self.plain(412)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        if not wanted or not server.ranges or fault == "whole":
            self.send_response(200)
            body = data
        else:
            first, last = int(wanted[1]), min(int(wanted[2]), len(data) - 1)
            if first >= len(data):
                return self.plain(416)
            if fault == "shifted" and first:
                first, last = first - 1, last - 1
            body = data[first : last + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        if fault == "short":
            body = body[:-1]
        if server.origins:
            self.send_header("Access-Control-Allow-Origin", server.origins)
        self.send_header("Content-Type", mimetypes.guess_type(path)[0] or "application/octet-stream")
        self.send_header("ETag", tag)
        self.send_header("Last-Modified", "Sun, 01 Nov 2026 00:00:00 GMT")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if not with_body:
            return None
        with server.lock:
            server.sent += len(body)
        if fault == "cut":
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return None
        self.wfile.write(body)
        return None

    def listed(self, path):
        """An answer of S3's ListObjectsV2 with at most `page` objects of the bucket."""
        bucket = path.strip("/")
        asked = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        prefix, after = asked.get("prefix", ""), asked.get("continuation-token", "")
        sizes = {unquote(name)[len(bucket) + 2:]: len(data) for name, data in self.server.files.items() if unquote(name).startswith(f"/{bucket}/{prefix}")}
        names = sorted(sizes)
        names = [name for name in names if name > after]
        page = names[:self.server.page]
        more = len(names) > len(page)
        rows = "".join(f"<Contents><Key>{escape(name)}</Key><LastModified>2026-11-01T00:00:00.000Z</LastModified><ETag>&quot;x&quot;</ETag>"
                       f"<Size>{sizes[name]}</Size></Contents>" for name in page)
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        return (f'<?xml version="1.0"?><ListBucketResult><Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount>'
                f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{rows}</ListBucketResult>").encode()

    def plain(self, status, *headers, body=b""):
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """``files`` by path; ``asked`` has path, Range and If-Match of every request."""

    daemon_threads = True

    def __init__(self, files, fault=None, *, every=3, after=1, ranges=True, heeds=True, delay=0, origins=None):
        super().__init__(("127.0.0.1", 0), Ranges)
        self.files = {f"/{name}": data for name, data in files.items()}
        self.tags = {path: f'"{hashlib.md5(data).hexdigest()}"' for path, data in self.files.items()}
        self.fault, self.every, self.after, self.ranges, self.heeds = fault, every, after, ranges, heeds
        # Seconds between a request and its answer; bytes of all answers.
        self.delay, self.sent = delay, 0
        # Whose pages may read the answers.
        self.origins = origins
        # The number of objects that an answer lists.
        self.page, self.queries = 1000, []
        self.headers = []
        self.connections = 0
        # Requests that are being answered, and the most at the same time.
        self.running = self.most_at_once = 0
        self.asked, self.changed, self.lock = [], False, threading.Lock()
        # Path and query of every request, as they were sent.
        self.targets = []
        # Status and page of every answer. TOKEN in it is the session token of the request.
        self.refusal = None
        self.root = f"http://127.0.0.1:{self.server_address[1]}"

    def url(self, name):
        return f"{self.root}/{name}"

    def put(self, name, data):
        """Serves a file, in the place of one of that name."""
        self.files[f"/{name}"], self.tags[f"/{name}"] = data, f'"{hashlib.md5(data).hexdigest()}"'

    def handle_error(self, request, client_address):
        pass  # a client that hangs up is not a failure of the server's


@contextmanager
def serve(files, fault=None, **settings):
    """A server for as long as the block takes."""
    server = Server(files, fault, **settings)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
