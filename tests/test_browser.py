"""The page without a server of ours (docs/browser.md): in Chromium, at night, from a plain server of byte ranges that counts requests."""

import base64
import os
import random
import shutil
import subprocess
import sys
import unittest

from common import CLASSIC, NIGHT, ROOT, Case, nc3z
from servers import serve
from serving import SOON

COADS = CLASSIC / "coads_climatology.cdf"
ARCHIVES = ROOT / "testdata/archives/v1_0_0"
# All files of the page except the module, uncompressed: JavaScript, styles and coastlines.
LIMIT = 150_000
# Changed copies of an archive that are opened.
HOSTILE = 60
# Reads a part of each variable, as programs in pages do, and gives the bytes.
BYTES = """async (url) => {
    const { Archive } = await import("./archive.js");
    const archive = new Archive(() => {}), found = await archive.open({ url }), all = {};
    for (const [n, v] of found.variables.entries()) {
        let made;
        try { made = await archive.make("bytes", n, v.shape, null); } catch (e) { all[v.name] = null; continue; }
        const bytes = new Uint8Array(await made.arrayBuffer());
        let text = "";
        for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
        all[v.name] = btoa(text);
    }
    archive.stop();
    return all;
}"""

NODE = """import { readFileSync, writeSync } from "node:fs";
import { Reader, part_of } from "./wasm.js";
const file = readFileSync("x.nc3z");
let rounds = 0, requests = 0, fetched = 0;
const source = { len: file.length, async read(ranges) {
    rounds += 1;
    return ranges.map(([from, to]) => { requests += 1; fetched += to - from; return { offset: from, bytes: file.subarray(from, to) }; });
} };
const reader = await Reader.of(new WebAssembly.Module(readFileSync("nc3z_web.wasm")));
const { variables } = await reader.open(source), n = variables.findIndex((v) => v.name === "SST");
for await (const bytes of reader.make("bytes", [part_of(n, variables[n].shape)])) for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
console.error(rounds, requests, fetched);
"""


class Site(Case):
    """The page's files, by name."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.files = None
        wasm = os.environ.get("NC3Z_WASM")
        if not NIGHT and not wasm:
            return
        folder = ROOT / "target/web-page"
        shutil.rmtree(folder, ignore_errors=True)
        command = [ROOT / "scripts/web.sh", "-o", folder, *(("--wasm", wasm) if wasm else ())]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode == 77:
            print(f"\n*** NOT TESTED: {done.stderr}", file=sys.stderr, flush=True)
            return
        if done.returncode:
            raise AssertionError(done.stderr)
        cls.files = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}

    def setUp(self):
        super().setUp()
        if self.files is None:
            self.skipTest("the page is made at night")

    def archive(self, source, *options):
        """The bytes of an archive of a file."""
        path = self.dir / f"{len(list(self.dir.iterdir()))}.nc3z"
        done = nc3z("archive", "-q", source, "-o", path, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path.read_bytes()


class Module(Site):
    def test_it_is_small_and_imports_nothing(self):
        self.assertLess(sum(len(data) for name, data in self.files.items() if not name.endswith(".wasm")), LIMIT)
        self.assertLess(len(self.files["nc3z_web.wasm"]), 2_500_000)
        self.assertNotIn(str(ROOT).encode(), self.files["nc3z_web.wasm"])
        if shutil.which("node") is None:
            self.skipTest("no node")
        (self.dir / "x.wasm").write_bytes(self.files["nc3z_web.wasm"])
        script = "const m = new WebAssembly.Module(require('fs').readFileSync('x.wasm')); console.log(WebAssembly.Module.imports(m).length)"
        self.assertEqual(subprocess.run(["node", "-e", script], cwd=self.dir, check=True, capture_output=True, text=True).stdout.strip(), "0")

    def test_node_reads_by_ranges(self):
        """The reader without a page, as docs/browser.md has it."""
        if shutil.which("node") is None:
            self.skipTest("no node")
        for name in ("wasm.js", "nc3z_web.wasm"):
            (self.dir / name).write_bytes(self.files[name])
        (self.dir / "package.json").write_text('{"type": "module"}')
        (self.dir / "x.nc3z").write_bytes(self.archive(COADS))
        (self.dir / "read.js").write_text(NODE)
        done = subprocess.run(["node", "read.js"], cwd=self.dir, check=False, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, nc3z("read", COADS, "SST", "--format", "raw").stdout)
        rounds, requests, fetched = map(int, done.stderr.split())
        self.assertLessEqual((rounds, requests), (3, 4))
        self.assertLess(fetched, 400_000)


class Browser(Site):
    def setUp(self):
        super().setUp()
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
        self.troubles = []

    def page(self, server, more="", expected=()):
        """A page of the server; unexpected messages of its console are failures."""
        page = self.browser.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(SOON * 1000)

        def said(message):
            if message.type in ("error", "warning") and not any(word in message.text for word in expected):
                self.troubles.append(message.text)

        page.on("console", said)
        page.on("pageerror", lambda e: self.troubles.append(str(e)))
        page.goto(server.url(f"index.html{more}"))
        return page

    def shot(self, page, name):
        if folder := os.environ.get("NC3Z_SCREENSHOTS"):
            page.screenshot(path=os.path.join(folder, name), full_page=True)

    def test_open_look_click_and_come_back(self):
        archive = self.archive(COADS)
        with serve({**self.files, "data/coads.cdf.nc3z": archive}) as server:
            page = self.page(server)
            page.fill("#address", "data/coads.cdf.nc3z")
            page.press("#address", "Enter")
            page.locator("button.name:has-text('SST')").wait_for()
            asked = [a for a in server.asked if a[0].startswith("/data/")]
            # The beginning, whose answer has the length, and the end.
            self.assertEqual([a[1] for a in asked], ["bytes=0-16383", f"bytes={len(archive) - (64 << 10)}-{len(archive) - 1}"])
            page.click("button.name:has-text('SST')")
            page.locator("#status", has_text="mean 16.52").wait_for()
            self.assertIn("9506 of 16200 values, -1.8 to 31", page.inner_text("#status"))
            asked = [a for a in server.asked if a[0].startswith("/data/")]
            fetched = sum(int(b) - int(a) + 1 for _, r, _ in asked for a, b in [r[6:].split("-")])
            self.assertLessEqual(len(asked), 6, asked)
            self.assertLess(fetched, len(archive) // 2)
            self.assertRegex(page.inner_text("#traffic"), rf"fetched in {len(asked)} requests")
            # By keyboard alone: the slider, the cross, the series. What was decoded is not fetched again.
            page.focus("#sliders input")
            page.keyboard.press("ArrowRight")
            page.locator("#status", has_text="9571").wait_for()
            page.focus("#map")
            page.keyboard.press("ArrowUp")
            page.keyboard.press("Enter")
            page.locator("#series-title", has_text="12 values").wait_for()
            self.assertEqual(len([a for a in server.asked if a[0].startswith("/data/")]), len(asked))
            self.assertTrue(page.evaluate("[...document.querySelector('#map').getContext('2d').getImageData(300, 200, 1, 1).data].some(x => x)"))
            read, address = page.inner_text("#read"), page.url
            self.assertIn("Deg C", read)
            self.shot(page, "browser.png")
            other = self.page(server, "#" + address.split("#")[1])
            other.locator("#series-title", has_text="12 values").wait_for()
            self.assertEqual(other.inner_text("#read"), read)
            with page.expect_download() as download:
                page.click("#downloads button:has-text('CSV') >> nth=0")
            with open(download.value.path(), encoding="utf-8") as f:
                self.assertEqual(f.readline(), "TIME,COADSY,COADSX,SST\n")
            with page.expect_download() as download:
                page.click("#downloads button:has-text('netCDF') >> nth=1")
            self.assertEqual(download.value.suggested_filename, "coads_SST.nc")
            for form in ("raw", "json"):
                ours, theirs = (nc3z("read", file, "SST", "--format", form) for file in (download.value.path(), COADS))
                self.assertEqual((ours.returncode, ours.stdout), (0, theirs.stdout))
            unnamed = page.evaluate("""[...document.querySelectorAll('button, input, select, a, canvas')].filter(e => e.checkVisibility() &&
                !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).map(e => e.outerHTML)""")
            self.assertEqual(unnamed, [])
            # As wide as a phone: the page is not wider than the window.
            for narrow in ("", "#" + address.split("#")[1]):
                phone = self.page(server, narrow or "#u=data/coads.cdf.nc3z")
                phone.set_viewport_size({"width": 390, "height": 844})
                phone.locator("button.name:has-text('SST')").wait_for()
                self.assertEqual(phone.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0, narrow)
        self.assertEqual(self.troubles, [])

    def test_every_byte_is_the_one_that_the_tool_reads(self):
        paths = [p for p in sorted(ARCHIVES.glob("*.nc3z"))] + [COADS, CLASSIC / "numeric.nc"]
        files = {p.name: p.read_bytes() for p in paths}
        files["small.nc3z"] = self.archive(COADS, "--preset", "max")
        (self.dir / "small.nc3z").write_bytes(files["small.nc3z"])
        seen = 0
        with serve({**self.files, **files}) as server:
            page = self.page(server)
            for path in [*paths, self.dir / "small.nc3z"]:
                for name, found in page.evaluate(BYTES, server.url(path.name)).items():
                    done = nc3z("read", path, name, "--format", "raw")
                    # Some archives are damaged on purpose.
                    self.assertEqual(done.returncode == 0, found is not None, (path, name, done.stderr))
                    if found is None:
                        continue
                    self.assertEqual(base64.b64decode(found), done.stdout, (path, name))
                    seen += 1
        self.assertGreater(seen, 200)
        self.assertEqual(self.troubles, [])

    def test_files_of_this_computer_stay_on_it(self):
        path = self.dir / "x.nc3z"
        path.write_bytes(self.archive(COADS))
        with serve(self.files) as server:
            page = self.page(server)
            before = len(server.asked)
            page.set_input_files("#local", path)
            page.click("button.name:has-text('SST')")
            page.locator("#status", has_text="mean 16.52").wait_for()
            names = {a[0] for a in server.asked[before:]} - {f"/{name}" for name in self.files}
            self.assertEqual(names, set())
        self.assertEqual(self.troubles, [])

    def test_servers_without_ranges_and_other_hosts_are_sentences(self):
        archive = self.archive(COADS)
        missing = ("404", "CORS", "Failed to load", "net::")
        with serve({**self.files, "x.nc3z": archive, "long.nc3z": archive + bytes(33 << 20)}, ranges=False) as server:
            page = self.page(server, "#u=x.nc3z", missing)
            page.locator("#status", has_text="no byte ranges of them: all 2.0 MiB of this one were fetched").wait_for()
            page.goto(server.url("index.html#u=long.nc3z"))
            page.locator("#status", has_text="this one has more than 32.0 MiB. Download it").wait_for()
            page.goto(server.url("index.html#u=none.nc3z"))
            page.locator("#status", has_text="no file at this address").wait_for()
            page.goto(server.url("index.html#u=javascript:alert(1)"))
            page.locator("#status", has_text="http: or https:").wait_for()
            for origins, words in ((None, "does not allow this page"), ("*", "10 variables")):
                with serve({"x.nc3z": archive}, origins=origins) as other:
                    page.goto(server.url(f"index.html#u={other.url('x.nc3z')}"))
                    page.locator("#status", has_text=words).wait_for()
        self.assertEqual(self.troubles, [])

    def test_another_file_in_its_place_is_not_mixed_with_it(self):
        archive = self.archive(COADS)
        with serve({**self.files, "x.nc3z": archive}) as server:
            page = self.page(server, "#u=x.nc3z")
            page.locator("#status", has_text="10 variables").wait_for()
            server.put("x.nc3z", archive[:-1] + b"?")
            page.click("button.name:has-text('SST')")
            page.locator("#status", has_text="has changed since it was opened").wait_for()
        self.assertEqual(self.troubles, [])

    def test_stop(self):
        with serve({**self.files, "x.nc3z": self.archive(COADS)}) as server:
            page = self.page(server, "#u=x.nc3z")
            page.locator("#status", has_text="10 variables").wait_for()
            server.delay = 5
            page.click("button.name:has-text('SST')")
            page.click("#stop")
            page.locator("#status", has_text="Stopped.").wait_for()
            server.delay = 0
            page.click("button.name:has-text('AIRT')")
            page.locator("#status", has_text="AIRT: ").wait_for()
        self.assertEqual(self.troubles, [])

    def test_hostile_files_are_errors_and_the_page_lives_on(self):
        archive, chance = self.archive(COADS), random.Random(47)
        files = {"good.nc3z": archive, "cut.nc3z": archive[:-100], "zeros.nc3z": bytes(5000), "empty.nc3z": b"", "text.nc3z": b"<html>" * 99}
        for n in range(HOSTILE):
            changed = bytearray(archive)
            # Half of the changes are in the first and the last bytes, which opening reads; the others are mostly in values.
            for _ in range(chance.randint(1, 4)):
                at = chance.choice((chance.randrange(len(archive)), chance.randrange(2000), len(archive) - 1 - chance.randrange(3000)))
                changed[at] = chance.randrange(256)
            files[f"{n}.nc3z"] = bytes(changed)
        # A classic file whose dimension claims two thousand million indices, and one whose name is HTML.
        big = bytearray(b"CDF\1\0\0\0\0\0\0\0\x0a\0\0\0\1\0\0\0\1x\0\0\0\x7f\xff\xff\xff" + bytes(8))
        big += b"\0\0\0\x0b\0\0\0\1\0\0\0\1v\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\xff\xff\xff\xff\0\0\0\x60" + bytes(64)
        files["big.nc"] = bytes(big)
        ends = 0
        with serve({**self.files, **files}) as server:
            page = self.page(server, expected=("404", "416"))
            for name in files:
                page.evaluate("(name) => { location.hash = `u=${name}&v=SST`; }", name)
                page.wait_for_function("(name) => !document.querySelector('#status').textContent.match(/^(Opening|Reading)/) && document.querySelector('#address').value === name", arg=name)
                ends += "This did not work" in page.inner_text("#status")
            page.evaluate("location.hash = 'u=big.nc&v=v'")
            page.locator("#status", has_text="This did not work").wait_for()
            # Nothing that was drawn of another file is shown.
            self.assertFalse(page.is_visible("#map") or page.is_visible("#histogram"))
            self.shot(page, "hostile.png")
            page.evaluate("location.hash = 'u=good.nc3z&v=SST'")
            page.locator("#status", has_text="mean 16.52").wait_for()
        self.assertGreater(ends, HOSTILE // 4)
        self.assertEqual(self.troubles, [])


if __name__ == "__main__":
    unittest.main()
