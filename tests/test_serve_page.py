"""The page of `nc3z serve`: it is small and uses no other host, and in a browser (at night) it shows the archive's values."""

import contextlib
import http.client
import http.server
import os
import re
import shutil
import sys
import threading
import unittest
import urllib.parse
import urllib.request

from common import CLASSIC, NIGHT, ROOT
from serving import SOON, ServeCase

COADS = CLASSIC / "coads_climatology.cdf"
PAGE = ROOT / "faces/serve/page"
PARTS = ("page.js", "data.js", "server.js", "view.js", "map.js", "treemap.js", "uplot.js", "uplot.css", "page.css", "coastline.bin")
# All of the page, as it is sent: uncompressed.
LIMIT = 150_000


@contextlib.contextmanager
def proxy(server, prefix):
    """A proxy that shows a server below a path."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if not self.path.startswith(prefix + "/"):
                self.send_error(404, "outside of the prefix")
                return
            connection = http.client.HTTPConnection(server.host, server.port, timeout=SOON)
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
            connection.request("GET", self.path.removeprefix(prefix), headers=headers)
            reply = connection.getresponse()
            body = reply.read()
            self.send_response(reply.status)
            for name, value in reply.getheaders():
                if name.lower() not in ("content-length", "connection", "transfer-encoding", "date", "server"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            connection.close()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_port}{prefix}/"
        finally:
            running.shutdown()
            thread.join()


class Parts(ServeCase):
    def test_all_addresses_are_relative_to_the_page(self):
        self.archive(COADS, "sub/x.nc")
        with self.serving("--quiet") as server, proxy(server, "/some/data") as url:
            def ask(address):
                with urllib.request.urlopen(address, timeout=SOON) as reply:
                    return reply.read().decode("utf-8", "replace")
            page = ask(url)
            addresses = [a for a in re.findall(r'(?:href|src)="([^"]*)"', page) if not a.startswith(("#", "data:"))]
            self.assertIn(".nc3z/page.js", addresses)
            self.assertIn("sub/", addresses)
            for address in addresses:
                self.assertTrue(ask(urllib.parse.urljoin(url, address)), address)
            for address in re.findall(r'href="([^"]*)"', ask(url + "sub/")):
                self.assertTrue(ask(urllib.parse.urljoin(url + "sub/", address)), address)
            # Without the slash, by the redirection.
            self.assertIn("x.nc", ask(url + "sub"))
            for part in PARTS:
                if part.endswith(".js"):
                    for address in re.findall(r'from "([^"]*)"', ask(f"{url}.nc3z/{part}")):
                        self.assertTrue(address.startswith("./"), (part, address))
            # The page asks for names in directories and for files by these two.
            script = ask(url + ".nc3z/page.js")
            self.assertIn('"." + directory() + encodeURIComponent(place.file)', script)
            self.assertIn('json("." + here + "?json")', script)

    def test_it_is_small_and_asks_no_other_host(self):
        self.archive(COADS)
        with self.serving("--quiet") as server:
            page = server.ask("/")
            policy = page["content-security-policy"]
            for words in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"):
                self.assertIn(words, policy)
            self.assertNotIn("unsafe", policy)
            self.assertEqual(page["x-content-type-options"], "nosniff")
            # The names of the root are links, for those without scripts.
            self.assertIn(b'href="coads_climatology.cdf"', page.body)
            total = len(page.body)
            for part in PARTS:
                reply = server.ask(f"/.nc3z/{part}")
                self.assertEqual(reply.status, 200, part)
                total += len(reply.body)
                addresses = set(re.findall(rb"(?:https?:)?//[a-z0-9.-]+\.[a-z]+", reply.body))
                # A remark in it says where uPlot is from.
                self.assertFalse(addresses - ({b"https://github.com"} if part == "uplot.js" else set()), part)
            self.assertLess(total, LIMIT)
            self.assertIn(b"MIT", server.ask("/.nc3z/uplot-LICENCE.txt").body)
            self.assertEqual(server.ask("/.nc3z/none").status, 404)

    def test_sizes_are_those_on_disk(self):
        archive = self.archive(COADS, "sub/x.nc")
        (self.source / "plain").write_bytes(bytes(1000))
        (self.source / "link").symlink_to("/etc")
        with self.serving("--quiet") as server:
            entries = {e["name"]: e for e in server.ask("/?sizes").json()["entries"]}
            self.assertEqual((entries["sub"]["bytes"], entries["sub"]["files"]), (archive.stat().st_size, 1))
            self.assertEqual(entries["plain"]["bytes"], 1000)
            self.assertEqual(entries["link"]["bytes"], 0)
            self.assertEqual(server.ask("/sub/?sizes").json()["entries"][0]["bytes"], archive.stat().st_size)
            self.assertIn(server.ask("/link/?sizes").status, (404,))


class Browser(ServeCase):
    def setUp(self):
        super().setUp()
        if not NIGHT:
            self.skipTest("browsers are tried at night")
        browser = shutil.which("chromium") or shutil.which("google-chrome")
        try:
            from playwright.sync_api import sync_playwright
        except ImportError:
            browser = None
        if browser is None:
            print(f"\n*** NOT TESTED: {self.id()}: no Chromium, or no playwright", file=sys.stderr, flush=True)
            self.skipTest("no browser")
        playwright = sync_playwright().start()
        self.addCleanup(playwright.stop)
        self.browser = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        self.addCleanup(self.browser.close)

    def test_below_a_path_of_a_proxy(self):
        self.archive(COADS, "sub/coads.cdf")
        with self.serving("--quiet") as server, proxy(server, "/some/data") as url:
            page = self.browser.new_page(viewport={"width": 1280, "height": 1000})
            page.set_default_timeout(SOON * 1000)
            troubles = []
            page.on("console", lambda m: troubles.append(m.text) if m.type in ("error", "warning") else None)
            page.on("pageerror", lambda e: troubles.append(str(e)))
            page.on("request", lambda r: troubles.append(r.url) if not r.url.startswith((url, "data:")) else None)
            page.goto(url)
            page.click("#treemap button:has-text('sub')")
            page.click("#tree a:has-text('coads.cdf')")
            page.click("button.name:has-text('SST')")
            page.locator("#status", has_text="mean 16.52").wait_for()
            self.assertIn(f"in netCDF programs: {url}sub/coads.cdf", page.inner_text("#links"))
            self.assertEqual(troubles, [])

    def test_browse_look_click_and_come_back(self):
        self.archive(COADS, "sub/coads.cdf")
        shots = os.environ.get("NC3Z_SCREENSHOTS")
        with self.serving("--quiet") as server:
            page = self.browser.new_page(viewport={"width": 1280, "height": 1000})
            page.set_default_timeout(SOON * 1000)
            troubles = []
            page.on("console", lambda m: troubles.append(m.text) if m.type in ("error", "warning") else None)
            page.on("pageerror", lambda e: troubles.append(str(e)))
            page.on("request", lambda r: troubles.append(r.url) if not r.url.startswith((server.url, "data:")) else None)
            page.goto(server.url)
            page.click("#treemap button:has-text('sub')")
            page.click("#tree a:has-text('coads.cdf')")
            page.click("button.name:has-text('SST')")
            page.locator("#status", has_text="mean 16.52").wait_for()
            self.assertIn("9506 of 16200 values, -1.8 to 31", page.inner_text("#status"))
            # By keyboard alone: the slider, the cross, the series.
            page.focus("#sliders input")
            page.keyboard.press("ArrowRight")
            page.locator("#status", has_text="9571").wait_for()
            page.focus("#map")
            page.keyboard.press("ArrowUp")
            page.keyboard.press("Enter")
            page.locator("#series-title", has_text="12 values").wait_for()
            self.assertTrue(page.evaluate("[...document.querySelector('#map').getContext('2d').getImageData(300, 200, 1, 1).data].some(x => x)"))
            read, address = page.inner_text("#read"), page.url
            self.assertIn("Deg C", read)
            # The address alone brings all of it back.
            other = self.browser.new_page()
            other.goto(address)
            other.locator("#series-title", has_text="12 values").wait_for()
            self.assertEqual(other.inner_text("#read"), read)
            with page.expect_download() as download:
                page.click("#downloads a:has-text('CSV')")
            with open(download.value.path(), encoding="utf-8") as f:
                self.assertEqual(f.readline(), "TIME,COADSY,COADSX,SST\n")
            # Each control has a name for screen readers.
            unnamed = page.evaluate("""[...document.querySelectorAll('button, input, select, a, canvas')].filter(e => e.checkVisibility() &&
                !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).map(e => e.outerHTML)""")
            self.assertEqual(unnamed, [])
            if shots:
                page.screenshot(path=os.path.join(shots, "serve.png"), full_page=True)
            self.assertEqual(troubles, [])


if __name__ == "__main__":
    unittest.main()
