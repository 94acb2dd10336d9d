"""The same fragments plain, as archives, in a bundle, on disk, on an HTTP server and in an S3 store: equal values, and requests counted.

NC3Z_MOTO=1 asks for the S3 server of `moto` too, which checks signatures and which scripts/nightly.sh installs."""

import os
import unittest

import netCDF4
import numpy as np
from common import nc3z
from servers import serve
from test_aggregate import Aggregation, make, truth

FILES, DAYS = 6, 3
#: Enough to make the archives ones of the long form, whose heads and data lie apart.
LAT, LON = tuple(np.linspace(-89, 89, 90)), tuple(np.arange(0.0, 360.0, 4))
PAIRS = [(0.01, 270.0), (0.02, 280.0), (0.005, 275.0)]
STEPS = FILES * DAYS


class Places(Aggregation):
    def sets(self):
        """Directories with the fragments and `agg.nc`, and bundles of them, by name."""
        out = {}
        for kind in ("plain", "archives"):
            data = self.dir / kind
            data.mkdir()
            for n in range(FILES):
                self.fragment(data / f"m{n}.nc", n)
            if kind == "archives":
                self.ok(nc3z("archive", *sorted(data.glob("*.nc"))))
                for path in data.glob("*.nc"):
                    path.unlink()
            self.ok(nc3z("aggregate", data, "-o", data / "agg.nc", "--no-history"))
            self.ok(nc3z("bundle", data, "-o", self.dir / f"{kind}.bundle.nc3z"))
            out[kind] = data
        return out

    def stored(self, n):
        """The packed numbers of a file: with noise, so that archives are not small."""
        scale, offset = PAIRS[n % 3]
        numbers = np.round((truth(range(DAYS * n, DAYS * (n + 1)), LAT, LON) - offset) / scale)
        return (numbers + np.random.default_rng(n).integers(0, 4000, numbers.shape)).astype("i2")

    def fragment(self, path, n):
        make(path, DAYS * n, DAYS, lat=LAT, lon=LON, dtype="i2", packing=PAIRS[n % 3])
        with netCDF4.Dataset(path, "a") as d:
            d["tas"].set_auto_maskandscale(False)
            d["tas"][:] = self.stored(n)

    def expected(self):
        return np.concatenate([self.stored(n) * PAIRS[n % 3][0] + PAIRS[n % 3][1] for n in range(FILES)])

    def test_equal_values_and_few_requests(self):
        sets, expected = self.sets(), self.expected()
        selections = {
            (): expected,
            ("-d", "time,7"): expected[7:8],
            ("-d", "lat,40", "-d", "lon,20"): expected[:, 40:41, 20:21],
            ("-d", "time,,,-4", "-d", "lat,10,30,7"): expected[::4][::-1][:, 10:31:7],
        }
        served = {}
        for kind, data in sets.items():
            served |= {f"bucket/{kind}/{p.name}": p.read_bytes() for p in data.iterdir()}
            served[f"bucket/{kind}.bundle.nc3z"] = (self.dir / f"{kind}.bundle.nc3z").read_bytes()
        with serve(served) as server:
            s3 = ("--storage-option", f"endpoint={server.root}", "--storage-option", "region=us-east-1",
                  "--storage-option", "skip_signature=true", "--storage-option", "allow_http=true")
            places = {"disk": (lambda name: str(self.dir / name), ()), "http": (lambda name: server.url(f"bucket/{name}"), ()),
                      "s3": (lambda name: f"s3://bucket/{name}", s3)}
            for kind in sets:
                for name in (f"{kind}/agg.nc", f"{kind}.bundle.nc3z!/agg.nc"):
                    for where, (url, options) in places.items():
                        for selection, values in selections.items():
                            with self.subTest(f"{where}: {name} {selection}"):
                                server.asked.clear()
                                self.near(self.values(url(name), "tas", *selection, *options), values, 1e-4)
                                self.count(server, where, name, selection)

    def count(self, server, where, name, selection):
        asked, bundled = len(server.asked), ".bundle.nc3z" in name
        if where == "disk":
            self.assertEqual(asked, 0)
            return
        touched = 1 if selection == ("-d", "time,7") else len(range(0, STEPS, 4)) if "-4" in "".join(selection) else FILES
        touched = min(touched, FILES)
        paths = {path for path, _, _ in server.asked}
        if bundled:
            # Two for the bundle, with which small members come; then the fragments that are touched, opened and read together.
            self.assertEqual(paths, {f"/bucket/{name.split('!')[0]}"})
            self.assertEqual(asked, 3 if touched == 1 else 4, server.asked)
        else:
            # Of each file its beginning, with which small ones come whole.
            self.assertEqual(len(paths), 1 + touched)
            self.assertEqual(asked, 1 + touched, server.asked)

    def test_a_bundle_opens_in_few_requests(self):
        sets = self.sets()
        with serve({"set.bundle.nc3z": (self.dir / "archives.bundle.nc3z").read_bytes()}) as server:
            for command in (("info",), ("dump", "-h"), ("read", "--format", "csv")):
                server.asked.clear()
                more = ("lat",) if command[0] == "read" else ()
                self.ok(nc3z(*command, server.url("set.bundle.nc3z!/agg.nc"), *more))
                # Two for the bundle, one for the names; small members come with them.
                self.assertEqual(len(server.asked), 3, (command, server.asked))
                for show in (("dump", "-h"), ("info",), ("info", "--json")):
                    server.asked.clear()
                    self.ok(nc3z(*show, server.url("set.bundle.nc3z!/m3.nc.nc3z")))
                    # A small member has no digest on record: `info --json` computes it from the member's data.
                    self.assertEqual(len(server.asked), 3, (show, server.asked))
        self.assertTrue(sets)

    def test_info_asks_no_more_than_opening_and_what_it_shows(self):
        """Of a file with many small variables, which share containers; as a single file and in a bundle, of which no range is requested twice."""
        data = self.dir / "data"
        data.mkdir()
        rng = np.random.default_rng(5)
        with netCDF4.Dataset(data / "many.nc", "w", format="NETCDF3_64BIT_OFFSET") as d:
            d.createDimension("x", 2000)
            for n in range(200):
                d.createVariable(f"v{n}", "f8", ("x",))[:] = rng.random(2000)
        self.ok(nc3z("archive", data / "many.nc"))
        self.ok(nc3z("bundle", data / "many.nc.nc3z", "-o", self.dir / "set.bundle.nc3z"))
        packed = self.ok(nc3z("info", "--json", data / "many.nc.nc3z")).stdout
        self.assertIn(b'"packed"', packed)
        with serve({"set.bundle.nc3z": (self.dir / "set.bundle.nc3z").read_bytes(), "a.nc3z": (data / "many.nc.nc3z").read_bytes()}) as server:
            counts = {}
            for name in ("set.bundle.nc3z!/many.nc.nc3z", "a.nc3z"):
                for show in (("dump", "-h"), ("info",)):
                    server.asked.clear()
                    self.ok(nc3z(*show, server.url(name)))
                    counts[name, show[0]] = len(server.asked)
                    self.assertEqual(len(server.asked), len({asked for _, asked, _ in server.asked}), server.asked)
            # Two for the bundle, one for the names.
            for show in ("dump", "info"):
                self.assertLessEqual(counts["set.bundle.nc3z!/many.nc.nc3z", show], 3 + counts["a.nc3z", show], counts)

    def test_damage_in_a_fragment_is_repaired_there(self):
        """The advice of the message is not to repair the aggregation, which is sound and may be no archive."""
        self.advised(("read", "tas"), ("dump",), ("subset", "-v", "tas", "-o", "s.nc"))

    def test_so_is_damage_that_a_scan_meets(self):
        self.advised(("stats",), ("find", "--where", "tas > 400"))

    def advised(self, *commands):
        data = self.sets()["archives"]
        self.ok(nc3z("archive", data / "agg.nc"))
        whole = (data / "m2.nc.nc3z").read_bytes()
        bad = bytearray(whole)
        bad[len(bad) // 2] ^= 1
        (data / "m2.nc.nc3z").write_bytes(bad)
        for name in ("agg.nc", "agg.nc.nc3z"):
            for command in commands:
                with self.subTest(name=name, command=command):
                    done = self.fails(nc3z(command[0], name, *command[1:], cwd=data), 3, r"fragment `m2\.nc.*`nc3z repair` of that fragment")
                    self.assertNotIn("nc3z repair agg", done.stderr)
        (data / "m2.nc.nc3z").write_bytes(whole)
        # For damage in the aggregation itself, the advice names the aggregation.
        bad = bytearray((data / "agg.nc.nc3z").read_bytes())
        bad[len(bad) // 2] ^= 1
        (data / "agg.nc.nc3z").write_bytes(bad)
        self.fails(nc3z("read", "agg.nc.nc3z", "tas", cwd=data), 3, "nc3z repair agg.nc.nc3z -o NEW")

    def test_an_aggregation_in_a_bundle_names_nothing_outside_it(self):
        (self.dir / "data").mkdir()
        make(self.dir / "data/a.nc", 0, 3)
        outside = make(self.dir / "outside.nc", 3, 3)
        for n, uri in enumerate((str(outside.resolve()), f"file://{outside.resolve()}", "../outside.nc", "http://127.0.0.1:9/x.nc")):
            path = self.hand_made(["a.nc", uri], [3, 3], name=f"data/agg{n}.nc")
            bundle = self.dir / f"set{n}.bundle.nc3z"
            self.ok(nc3z("bundle", self.dir / "data", "-o", bundle))
            self.near(self.values(f"{bundle}!/{path.name}", "tas", "-d", "time,0,2"), truth(range(3)))
            self.fails(nc3z("read", f"{bundle}!/{path.name}", "tas"), words="outside|opens no")

    if os.environ.get("NC3Z_MOTO"):

        def test_an_s3_server_that_checks_signatures(self):
            import boto3
            from moto.server import ThreadedMotoServer

            sets, expected = self.sets(), self.expected()
            server = ThreadedMotoServer(port=0, verbose=False)
            server.start()
            try:
                host, port = server.get_host_and_port()
                endpoint = f"http://{host}:{port}"
                client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="me", aws_secret_access_key="hush")
                client.create_bucket(Bucket="bucket")
                for kind, data in sets.items():
                    for path in data.iterdir():
                        client.upload_file(str(path), "bucket", f"{kind}/{path.name}")
                    client.upload_file(str(self.dir / f"{kind}.bundle.nc3z"), "bucket", f"{kind}.bundle.nc3z")
                env = os.environ | {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_REGION": "us-east-1",
                                    "AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true"}
                out = self.dir / "values.npy"
                for kind in sets:
                    for name in (f"{kind}/agg.nc", f"{kind}.bundle.nc3z!/agg.nc"):
                        self.ok(nc3z("read", f"s3://bucket/{name}", "tas", "--format", "npy", "-f", "-o", out, env=env))
                        self.near(np.load(out), expected, 1e-4)
            finally:
                server.stop()


if __name__ == "__main__":
    unittest.main()
