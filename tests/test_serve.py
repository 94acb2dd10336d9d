"""`nc3z serve`: bytes of originals and archives by HTTP, and bad clients."""

import email.parser
import email.policy
import hashlib
import html
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import threading
import time
import unittest
import urllib.parse
import urllib.request

import kinds
from common import CLASSIC, NIGHT, Case, good_files, nc3z, peak_memory, sha256, start, synthetic
from servers import serve
from serving import SOON, ServeCase

COADS = CLASSIC / "coads_climatology.cdf"
SMALL = CLASSIC / "record_padding.nc"


def flip(path, at, bits=0xFF):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ bits]))


class Bytes(ServeCase):
    def test_every_file_is_the_original(self):
        for file in good_files():
            self.archive(file)
        with self.serving("--quiet") as server:
            for file in good_files():
                reply = server.ask("/" + file.name)
                self.assertEqual((reply.status, reply.body), (200, file.read_bytes()), file.name)
                self.assertEqual(reply["etag"], f'"{sha256(file)}"')
                self.assertEqual(reply["accept-ranges"], "bytes")
                head = server.ask("/" + file.name, "HEAD")
                self.assertEqual((head.status, head.body, head["content-length"]), (200, b"", str(file.stat().st_size)))
                self.assertEqual(head["etag"], reply["etag"])
                archive = server.ask(f"/{file.name}.nc3z")
                self.assertEqual(archive.body, (self.source / f"{file.name}.nc3z").read_bytes())

    def test_each_kind_of_input_is_shown_or_named(self):
        files = kinds.write(self.dir)
        with serve(files) as server:
            for kind, name in kinds.names(server).items():
                with self.subTest(kind), open(self.dir / "a.nc.nc3z", "rb") as stdin:
                    shown = kinds.SHOWN[kind]
                    if isinstance(shown, str):
                        self.assertRegex(nc3z("serve", name, "--listen", "127.0.0.1:0", cwd=self.dir, timeout=SOON).stderr, shown)
                        continue
                    with self.serving(source=name, cwd=self.dir, stdin=stdin) as running:
                        self.assertEqual(running.ask("/?json").status, 200)
                        for file in shown or []:
                            self.assertEqual(running.ask(f"/{file}").body, kinds.SOURCE.read_bytes())

    def test_ranges(self):
        self.archive(COADS)
        data, size = COADS.read_bytes(), COADS.stat().st_size
        pick = random.Random(7)
        with self.serving("--quiet") as server:
            connection = http.client.HTTPConnection(server.host, server.port, timeout=SOON)
            for _ in range(3000 if NIGHT else 200):
                first = pick.randrange(size)
                last = min(size - 1, first + pick.choice((0, 3, 4095, 70_000, 2 << 20)))
                reply = server.ask("/" + COADS.name, connection=connection, Range=f"bytes={first}-{last}")
                self.assertEqual(reply.status, 206)
                self.assertEqual(reply["content-range"], f"bytes {first}-{last}/{size}")
                self.assertEqual(reply.body, data[first:last + 1])
            connection.close()
            for header, part in (("bytes=-8", data[-8:]), (f"bytes={size - 3}-", data[-3:]), ("bytes=0-", data),
                                 (f"bytes=-{size * 2}", data)):
                reply = server.ask("/" + COADS.name, Range=header)
                self.assertEqual((reply.status, reply.body), (206, part), header)
            head = server.ask("/" + COADS.name, "HEAD", Range="bytes=0-9")
            self.assertEqual((head.status, head["content-length"], head.body), (206, "10", b""))
            for header in (f"bytes={size}-", "bytes=5-2", "bytes=-0", "bytes=x", "bytes=0-1,a"):
                reply = server.ask("/" + COADS.name, Range=header)
                self.assertEqual((reply.status, reply["content-range"]), (416, f"bytes */{size}"), header)
            self.assertEqual(server.ask("/" + COADS.name, Range="lines=0-1").status, 200)

    def test_several_ranges_come_as_parts(self):
        self.archive(SMALL)
        data, size = SMALL.read_bytes(), SMALL.stat().st_size
        with self.serving("--quiet") as server:
            reply = server.ask("/" + SMALL.name, Range="bytes=0-3,10-19,-5")
            self.assertEqual(reply.status, 206)
            message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
                b"Content-Type: " + reply["content-type"].encode() + b"\r\n\r\n" + reply.body)
            parts = list(message.iter_parts())
            self.assertEqual([p["content-range"] for p in parts],
                             [f"bytes {r}/{size}" for r in ("0-3", "10-19", f"{size - 5}-{size - 1}")])
            self.assertEqual([p.get_payload(decode=True) for p in parts], [data[:4], data[10:20], data[-5:]])

    def test_conditions(self):
        archive = self.archive(SMALL)
        os.utime(archive, (1_000_000_000, 1_000_000_000))
        with self.serving("--quiet") as server:
            path = "/" + SMALL.name
            first = server.ask(path)
            tag, date = first["etag"], first["last-modified"]
            self.assertEqual(date, "Sun, 09 Sep 2001 01:46:40 GMT")
            for headers, status in (
                ({"If_None_Match": tag}, 304), ({"If_None_Match": f'"x", W/{tag}'}, 304), ({"If_None_Match": '"x"'}, 200),
                ({"If_Modified_Since": date}, 304), ({"If_Match": '"x"'}, 412), ({"If_Match": tag}, 200),
                ({"If_Range": tag, "Range": "bytes=0-3"}, 206), ({"If_Range": '"x"', "Range": "bytes=0-3"}, 200),
                ({"If_Range": date, "Range": "bytes=0-3"}, 206),
            ):
                reply = server.ask(path, **headers)
                self.assertEqual(reply.status, status, headers)
                self.assertEqual(reply["etag"], tag)
            self.assertEqual(server.ask(path, If_None_Match=tag).body, b"")

    def test_browsers_of_other_sites_may_read(self):
        self.archive(SMALL)
        with self.serving("--quiet") as server:
            reply = server.ask("/" + SMALL.name, Origin="http://example.org", Range="bytes=0-3")
            self.assertEqual(reply["access-control-allow-origin"], "*")
            for name in ("Content-Range", "Content-Length", "ETag", "Accept-Ranges"):
                self.assertIn(name, reply["access-control-expose-headers"])
            asked = server.ask("/" + SMALL.name, "OPTIONS", Origin="http://example.org", Access_Control_Request_Headers="range")
            self.assertEqual(asked.status, 204)
            self.assertIn("Range", asked["access-control-allow-headers"])

    def test_plain_files_and_what_wins(self):
        shutil.copy(SMALL, self.source / "x.nc")
        self.archive(COADS, "x.nc")
        (self.source / "note.html").write_text("<script>alert(1)</script>")
        with self.serving() as server:
            plain = server.ask("/x.nc")
            self.assertEqual(plain.body, SMALL.read_bytes())
            self.assertEqual(server.ask("/x.nc.nc3z").body, (self.source / "x.nc.nc3z").read_bytes())
            # By whomever it is, it runs no script.
            self.assertIn("sandbox", server.ask("/note.html")["content-security-policy"])
            self.assertIn("dods", server.ask("/x.nc.dds")["xdods-server"])
            server.ask("/?json")
        self.assertTrue(any("x.nc.nc3z` is not shown" in line for line in server.said), server.said)

    def test_versions(self):
        archive = self.archive(SMALL)
        first = SMALL.read_bytes()
        self.ok(nc3z("attr", archive, ":history=changed"))
        self.ok(nc3z("tag", archive, "good"))
        restored = self.dir / "second.nc"
        self.ok(nc3z("restore", archive, "-o", restored))
        with self.serving("--quiet") as server:
            self.assertEqual(server.ask("/" + SMALL.name).body, restored.read_bytes())
            self.assertEqual(server.ask("/" + SMALL.name)["etag"], f'"{sha256(restored)}"')
            old = server.ask(f"/.versions/{SMALL.name}/1")
            self.assertEqual((old.body, old["etag"]), (first, f'"{hashlib.sha256(first).hexdigest()}"'))
            self.assertEqual(server.ask(f"/.versions/{SMALL.name}/good").body, restored.read_bytes())
            self.assertEqual(server.ask(f"/.versions/{SMALL.name}/3").status, 404)
            self.assertIn(b"good", server.ask(f"/.versions/{SMALL.name}/").body)
            self.assertEqual(server.ask(f"/.versions/{SMALL.name}/1.dds").status, 200)


class Change(ServeCase):
    def test_an_archive_that_is_replaced_gets_another_tag_and_bytes_never_mix(self):
        archive = self.archive(SMALL, "x.nc")
        other = self.dir / "other.nc3z"
        self.ok(nc3z("archive", "-q", COADS, "-o", other))
        with self.serving("--quiet") as server:
            before = server.ask("/x.nc")
            os.replace(other, archive)
            after = server.ask("/x.nc")
            self.assertEqual((before.body, after.body), (SMALL.read_bytes(), COADS.read_bytes()))
            self.assertNotEqual(before["etag"], after["etag"])
            self.assertEqual(server.ask("/x.nc", If_Range=before["etag"], Range="bytes=0-3").status, 200)
            archive.unlink()
            self.assertEqual(server.ask("/x.nc").status, 404)

    def test_a_reply_on_its_way_ends_with_the_old_bytes(self):
        original = self.dir / "big.nc"
        synthetic(original, mib=24)
        archive = self.archive(original, "x.nc")
        data = original.read_bytes()
        other = self.dir / "other.nc3z"
        self.ok(nc3z("archive", "-q", COADS, "-o", other))
        with self.serving("--quiet") as server, socket.create_connection((server.host, server.port), timeout=SOON) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
            s.sendall(b"GET /x.nc HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            got = s.recv(1000)
            os.replace(other, archive)
            while part := s.recv(1 << 20):
                got += part
            self.assertEqual(got.split(b"\r\n\r\n", 1)[1], data)

    def test_a_plain_file_that_is_written_to_breaks_the_reply_off(self):
        path = self.source / "x.bin"
        path.write_bytes(bytes(40 << 20))
        with self.serving("--quiet") as server, socket.create_connection((server.host, server.port), timeout=SOON) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
            s.sendall(b"GET /x.bin HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            got = s.recv(1000)
            with open(path, "r+b") as f:
                f.write(b"\1" * (40 << 20))
            while part := s.recv(1 << 20):
                got += part
            body = got.split(b"\r\n\r\n", 1)[1]
            self.assertLess(len(body), 40 << 20)
            self.assertNotIn(b"\1", body)

    def test_a_damaged_tile_is_an_error_and_never_wrong_bytes(self):
        original = self.dir / "big.nc"
        synthetic(original, mib=8)
        archive = self.archive(original, "x.nc")
        data = original.read_bytes()
        size = archive.stat().st_size
        for at in range(size // 3, size // 3 + 64):
            flip(archive, at)
        with self.serving() as server:
            good = bad = 0
            for at in range(0, len(data), 64 << 10):
                part = data[at:at + (64 << 10)]
                reply = server.ask("/x.nc", Range=f"bytes={at}-{at + len(part) - 1}")
                if reply.status == 206:
                    self.assertEqual(reply.body, part)
                    good += 1
                else:
                    self.assertEqual(reply.status, 500)
                    self.assertTrue(reply.body)
                    bad += 1
            self.assertGreater(good, 0)
            self.assertGreater(bad, 0)
            with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
                server.ask("/x.nc")
        self.assertTrue(any("is an error" in line for line in server.said), server.said)


class Hostile(ServeCase):
    def test_nothing_outside_is_reached(self):
        (self.dir / "secret.nc").write_bytes(b"secret")
        (self.dir / "outside").mkdir()
        self.ok(nc3z("archive", "-q", SMALL, "-o", self.dir / "outside/y.nc.nc3z"))
        self.archive(SMALL, "in.nc")
        (self.source / "out").symlink_to(self.dir / "outside")
        (self.source / "file.nc").symlink_to(self.dir / "secret.nc")
        (self.source / "arch.nc.nc3z").symlink_to("../outside/y.nc.nc3z")
        (self.source / "good.nc.nc3z").symlink_to("in.nc.nc3z")
        (self.source / "sub").mkdir()
        (self.source / "sub/up.nc").symlink_to("../in.nc")
        (self.source / "loop").symlink_to("loop")
        (self.source / "plain").symlink_to("sub")
        with self.serving("--quiet") as server:
            for path in ("/../secret.nc", "/%2e%2e/secret.nc", "/..%2fsecret.nc", "/.%2e/secret.nc", "/sub/../../secret.nc",
                         "/..%5csecret.nc", "/in.nc%00", "/out/y.nc", "/out/", "/file.nc", "/arch.nc", "/arch.nc.nc3z", "/loop",
                         "//etc/passwd", "/%2fetc/passwd", "/out/y.nc.dds", "/arch.nc.dds", "/file.nc.dds", "/file.nc.json"):
                reply = server.ask(path)
                self.assertIn(reply.status, (400, 404), path)
                self.assertNotIn(b"secret\n", reply.body)
            for path in ("/good.nc", "/sub/up.nc", "/plain/up.nc", "/good.nc.dds"):
                self.assertEqual(server.ask(path).status, 200, path)
            self.assertEqual(server.ask("/good.nc.nc3z").body, (self.source / "in.nc.nc3z").read_bytes())

    def test_nothing_is_written_and_nothing_brought(self):
        self.archive(SMALL, "x.nc")
        with self.serving("--quiet") as server:
            for method in ("PUT", "POST", "DELETE", "PATCH", "PROPFIND", "TRACE"):
                reply = server.ask("/x.nc", method)
                self.assertEqual((reply.status, reply["allow"]), (405, "GET, HEAD, OPTIONS"), method)
            self.assertEqual(server.ask("/x.nc", Content_Length="5").status, 413)

    def test_bytes_that_are_no_request(self):
        self.archive(SMALL, "x.nc")
        pick = random.Random(3)
        whole = b"GET /x.nc?a[0] HTTP/1.1\r\nHost: x\r\nRange: bytes=0-3\r\nConnection: close\r\n\r\n"
        with self.serving("--quiet") as server:
            for _ in range(2000 if NIGHT else 200):
                request = bytearray(whole)
                for _ in range(pick.randrange(1, 6)):
                    request[pick.randrange(len(request))] = pick.randrange(256)
                answer = server.raw(bytes(request))
                if answer:
                    self.assertRegex(answer[:12], rb"HTTP/1\.[01] [234]")
            self.assertEqual(server.ask("/x.nc").status, 200)

    def test_the_limit_of_a_request_is_exact(self):
        self.archive(SMALL, "x.nc")

        def request(length, path=0):
            head = b"GET /x.nc?" + b"a" * path + b" HTTP/1.1\r\nHost: x\r\nRange: bytes=0-3\r\nConnection: close\r\n"
            # The library takes no single header of this length.
            while length - len(head) > 5000:
                head += b"X-Y: " + b"b" * 1993 + b"\r\n"
            return head + b"X-Z: " + b"c" * (length - len(head) - 9) + b"\r\n\r\n"

        for options, limit in ((), 64 << 10), (("--max-request", "10000"), 10_000), (("--max-request", "500"), 500):
            with self.serving("--quiet", *options) as server:
                for path in (0, 200):
                    self.assertEqual(len(request(limit, path)), limit)
                    self.assertEqual(server.raw(request(limit, path), ends=False)[9:12], b"206", limit)
                    self.assertEqual(server.raw(request(limit + 1, path), ends=False)[9:12], b"431", limit)
                self.assertEqual(server.raw(request(100_000), ends=False)[9:12], b"431")

    def test_hidden_and_temporary_files_are_not_served(self):
        archive = self.archive(SMALL, "x.nc")
        self.archive(SMALL, "sub/y.nc")
        hidden = [".hidden.nc", ".x.nc.nc3z-tmp", "sub/.deep.nc", ".git/config", ".versions/real"]
        for name in hidden:
            (self.source / name).parent.mkdir(exist_ok=True)
            (self.source / name).write_bytes(SMALL.read_bytes())
        shutil.copy(archive, self.source / ".z.nc.nc3z")
        (self.source / "link.nc").symlink_to(".hidden.nc")
        with self.serving("--quiet") as server:
            for path in [*hidden, ".z.nc", ".z.nc.nc3z", ".git/", "sub/.deep.nc.dds", ".hidden.nc.json", ".z.zarr/zarr.json", ".versions/.z.nc/1"]:
                self.assertEqual(server.ask(f"/{path}").status, 404, path)
            self.assertEqual([e["name"] for e in server.ask("/?json").json()["entries"]], ["link.nc", "sub", "x.nc", "x.nc.nc3z"])
            self.assertEqual([e["name"] for e in server.ask("/sub/?json").json()["entries"]], ["y.nc", "y.nc.nc3z"])
            self.assertEqual([(e["name"], e["files"]) for e in server.ask("/?sizes").json()["entries"]], [("link.nc", 0), ("sub", 1), ("x.nc.nc3z", 1)])
            self.assertNotIn(b".hidden", server.ask("/").body)
            self.assertEqual(server.ask("/.versions/x.nc/1").body, SMALL.read_bytes())
            # A link that is shown leads where its owner wants.
            self.assertEqual(server.ask("/link.nc").body, SMALL.read_bytes())
        # An archive that is named.
        with self.serving("--quiet", source=self.source / ".z.nc.nc3z") as server:
            self.assertEqual(server.ask("/.z.nc").body, SMALL.read_bytes())

    def test_requests_have_a_length_and_a_time(self):
        self.archive(SMALL, "x.nc")
        with self.serving("--quiet", "--timeout", "1", "--max-request", "8KiB") as server:
            self.assertIn(server.ask("/x.nc", X=f"{'a' * 20_000}").status, (431, 400))
            self.assertIn(server.raw(b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n")[9:12], (b"431", b"414", b"400"))
            # A client that sends its request byte by byte is not waited for.
            with socket.create_connection((server.host, server.port), timeout=SOON) as s:
                begin = time.monotonic()
                s.sendall(b"GET /x.nc HTTP/1.1\r\n")
                while s.recv(1000):
                    pass
                self.assertLess(time.monotonic() - begin, 10)
            # Nor a client that sends no request.
            with socket.create_connection((server.host, server.port), timeout=10) as s:
                self.assertEqual(s.recv(1000), b"")

    def test_a_client_that_does_not_read_is_left(self):
        (self.source / "big.bin").write_bytes(bytes(64 << 20))
        with self.serving("--timeout", "1") as server, socket.create_connection((server.host, server.port), timeout=SOON) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
            s.sendall(b"GET /big.bin HTTP/1.1\r\nHost: x\r\n\r\n")
            end = time.monotonic() + SOON
            while not any("the client left" in line for line in server.said):
                self.assertLess(time.monotonic(), end, server.said)
                time.sleep(0.1)

    def test_connections_beyond_the_limit_are_told(self):
        self.archive(SMALL, "x.nc")
        with self.serving("--quiet", "--connections", "2") as server:
            held = [http.client.HTTPConnection(server.host, server.port, timeout=SOON) for _ in range(2)]
            for connection in held:
                self.assertEqual(server.ask("/x.nc", connection=connection).status, 200)
            self.assertEqual(server.ask("/x.nc").status, 503)
            for connection in held:
                connection.close()
            end = time.monotonic() + SOON
            while server.ask("/x.nc").status == 503:
                self.assertLess(time.monotonic(), end)


class Running(ServeCase):
    def test_listing(self):
        self.archive(SMALL, "sub dir/ä<b>.nc")
        with self.serving("--quiet") as server:
            entries = server.ask("/sub%20dir/?json").json()["entries"]
            self.assertEqual([e["name"] for e in entries], ["ä<b>.nc", "ä<b>.nc.nc3z"])
            page = server.ask("/sub%20dir/").body.decode()
            self.assertIn('href="%C3%A4%3Cb%3E.nc"', page)
            self.assertNotIn("<b>", page)
            moved = server.ask("/sub%20dir")
            self.assertEqual((moved.status, moved["location"]), (301, "./sub%20dir/"))
            self.assertEqual(server.ask("/sub%20dir/" + entries[0]["href"]).body, SMALL.read_bytes())

    def test_names_with_a_colon_are_no_addresses_with_a_scheme(self):
        self.archive(SMALL, "run-a:b/x-1:y.nc")
        with self.serving("--quiet") as server:
            with urllib.request.urlopen(server.url + "run-a:b", timeout=SOON) as reply:
                self.assertEqual(reply.url, f"{server.url}run-a:b/")
            page = f"{server.url}run-a:b/x-1:y.nc.html"
            links = re.findall(r'href="([^"]*)"', server.ask("/run-a:b/x-1:y.nc.html").body.decode())
            self.assertTrue(links)
            for link in links:
                address = urllib.parse.urljoin(page, html.unescape(link))
                self.assertTrue(address.startswith(f"{server.url}run-a:b/x-1:y.nc"), address)

    def test_metrics_and_access_log(self):
        self.archive(SMALL, "x.nc")
        log = self.dir / "access"
        with self.serving("--access-log", log, "--json") as server:
            server.ask("/x.nc", Range="bytes=0-9", User_Agent="me")
            server.ask("/y.nc")
            text = server.ask("/metrics").body.decode()
            self.assertIn('nc3z_http_requests_total{face="original",status="206"} 1', text)
            self.assertIn('status="404"} 1', text)
            self.assertIn("nc3z_http_sent_bytes_total", text)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([(e["target"], e["status"], e["range"]) for e in lines],
                         [("/x.nc", 206, "bytes=0-9"), ("/y.nc", 404, None), ("/metrics", 200, None)])
        self.assertEqual((lines[0]["bytes"], lines[0]["agent"], lines[0]["error"]), (10, "me", None))
        self.assertTrue(lines[1]["error"])

    def test_signals_end_it_and_what_is_on_its_way_ends_first(self):
        (self.source / "big.bin").write_bytes(os.urandom(16 << 20))
        for sig in (signal.SIGTERM, signal.SIGINT):
            with self.serving("--quiet") as server:
                with socket.create_connection((server.host, server.port), timeout=SOON) as s:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
                    s.sendall(b"GET /big.bin HTTP/1.1\r\nHost: x\r\n\r\n")
                    got = s.recv(1000)
                    server.process.send_signal(sig)
                    time.sleep(0.3)
                    while part := s.recv(1 << 20):
                        got += part
                self.assertEqual(got.split(b"\r\n\r\n", 1)[1], (self.source / "big.bin").read_bytes())
                self.assertEqual(server.process.wait(SOON), 0)

    def test_nothing_is_left_behind_by_kill_9(self):
        archive = self.archive(SMALL, "x.nc")
        before = (archive.read_bytes(), sorted(self.source.iterdir()))
        process = start("serve", self.source, "--listen", "127.0.0.1:0", "--quiet", stdout=-1)
        url = process.stdout.readline().decode().strip()
        port = url.rstrip("/").rsplit(":", 1)[1]
        with socket.create_connection(("127.0.0.1", int(port)), timeout=SOON) as s:
            s.sendall(b"GET /x.nc HTTP/1.1\r\nHost: x\r\n\r\n")
            s.recv(10)
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()
        self.assertEqual((archive.read_bytes(), sorted(self.source.iterdir())), before)
        # The address is free again.
        again = start("serve", self.source, "--listen", f"127.0.0.1:{port}", "--quiet", stdout=-1)
        self.assertEqual(again.stdout.readline().decode().strip(), url)
        again.terminate()
        self.assertEqual(again.wait(SOON), 0)
        again.stdout.close()
        again.stderr.close()

    def test_nc3z_itself_reads_the_archive(self):
        archive = self.archive(COADS, "x.nc")
        with self.serving("--quiet") as server:
            far = json.loads(nc3z("info", "--json", server.url + "x.nc.nc3z").stdout)
            near = json.loads(nc3z("info", "--json", archive).stdout)
            self.assertEqual(far["variables"], near["variables"])

    def test_what_cannot_be_served(self):
        for arguments in (("serve", self.dir / "none"), ("serve", SMALL), ("serve", self.source, "--listen", "x")):
            done = nc3z(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertTrue(done.stderr)
        with self.serving("--quiet") as server:
            done = nc3z("serve", self.source, "--listen", f"127.0.0.1:{server.port}")
            self.assertEqual(done.returncode, 1)
            self.assertIn("listen at", done.stderr)

    def test_one_archive_and_a_bundle(self):
        archive = self.archive(SMALL, "x.nc")
        bundle = self.dir / "b.bundle.nc3z"
        self.ok(nc3z("bundle", archive, "-o", bundle))
        for source in (archive, bundle):
            with self.serving("--quiet", source=source) as server:
                names = [e["name"] for e in server.ask("/?json").json()["entries"]]
                self.assertIn("x.nc", names)
                self.assertEqual(server.ask("/x.nc").body, SMALL.read_bytes())
                self.assertEqual(server.ask("/x.nc.dds").status, 200)

    def test_many_requests_and_a_slow_client(self):
        original = self.dir / "big.nc"
        synthetic(original, mib=16)
        self.archive(original, "x.nc")
        data = original.read_bytes()
        requests, clients = (10_000, 64) if NIGHT else (1_000, 16)
        failures = []
        with self.serving("--quiet", "--cache", "16MiB") as server, \
                socket.create_connection((server.host, server.port), timeout=SOON) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
            slow.sendall(b"GET /x.nc HTTP/1.1\r\nHost: x\r\n\r\n")

            def client(seed):
                pick = random.Random(seed)
                connection = http.client.HTTPConnection(server.host, server.port, timeout=SOON)
                for _ in range(requests // clients):
                    first = pick.randrange(len(data) - 65536)
                    reply = server.ask("/x.nc", connection=connection, Range=f"bytes={first}-{first + 65535}")
                    if reply.status != 206 or reply.body != data[first:first + 65536]:
                        failures.append((first, reply.status))
                connection.close()
            threads = [threading.Thread(target=client, args=(seed,)) for seed in range(clients)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            peak = peak_memory(server.process.pid)
        self.assertFalse(failures)
        self.assertLess(peak, 300 << 20)


if __name__ == "__main__":
    unittest.main()
