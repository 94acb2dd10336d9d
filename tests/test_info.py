"""`nc3z info` and `info --layout`: facts, a row for each byte, escapes, stable keys."""

import json
import unittest

import samples
from common import CLASSIC, nc3z, start
from test_commands import SMALL, Directory, flipped


class Info(Directory):
    def test_a_classic_file_is_described_as_recorded(self):
        self.put("a.nc", SMALL)
        samples.check_snapshot(self, "info-classic.txt", self.text("info", "a.nc"))
        found = self.text("info", "--json", "a.nc")
        json.loads(found)
        samples.check_snapshot(self, "info-classic.json", found)
        self.assertEqual(found, self.text("info", "--json", "--mmap", "a.nc"))

    def test_an_archive_shows_what_its_original_is_and_what_it_costs(self):
        original = samples.noisy(100_000)
        self.put("a.nc", original)
        self.run_in("archive", "a.nc", "--tile-size", "32KiB")
        info, length = self.json("info", "--json", "a.nc.nc3z"), len(self.get("a.nc.nc3z"))
        facts = {"kind": "archive", "format": "CDF-1", "archive_bytes": length, "original_bytes": len(original), "commits": 1}
        self.assertEqual(facts, {key: info[key] for key in facts})
        self.assertEqual(len(info["sha256"]), 64)
        noise, zero = info["variables"]
        self.assertEqual((noise["shape"], noise["tiles"]["total"]), ([100_000], 4))
        self.assertGreater(noise["stored_bytes"], 90_000)
        self.assertEqual(sum(chain["tiles"] for chain in noise["chains"]), 4)
        self.assertEqual((zero["stored_bytes"], zero["tiles"]["constant"], zero["ratio"], zero["chains"]), (0, 4, None, []))
        self.assertEqual(info["payload_bytes"] + info["overhead_bytes"], length)
        parts = info["variables"] + [info["residue"]["gap"], info["residue"]["padding"]]
        self.assertEqual(sum(part["stored_bytes"] for part in parts), info["payload_bytes"])

    def test_packed_tiles_are_charged_their_share(self):
        self.put("a.nc", SMALL)
        self.run_in("archive", "a.nc")
        payload = self.json("info", "--json", "a.nc.nc3z")["payload_bytes"]
        regions = self.json("info", "--layout", "--json", "a.nc.nc3z")["regions"]
        containers = sum(region["stored_length"] for region in regions if region.get("block") == "container")
        self.assertTrue(0 < payload <= containers + 5, (payload, containers))
        self.assertIn("charged its share", self.text("info", "a.nc.nc3z"))

    def test_keys_of_the_json_are_stable(self):
        self.put("a.nc", samples.noisy(20_000))
        self.put("b.nc", SMALL)
        self.run_in("archive", "a.nc", "b.nc")
        both = [self.json("info", "--json", name) for name in ("a.nc.nc3z", "b.nc.nc3z")]
        # The chosen chains may change: keys of their stages are left out.
        found = [line for line in samples.keys(both).splitlines(True) if "stages[]" not in line]
        samples.check_snapshot(self, "info-archive-keys.txt", "".join(found))

    def test_the_text_of_an_archive_has_its_facts(self):
        self.put("a.nc", SMALL)
        self.run_in("archive", "a.nc")
        text = self.text("info", "a.nc.nc3z")
        for words in ("a.nc.nc3z: nc3z archive of CDF-1", "SHA-256", "preset=default", "commits", "record dimension", "3 dimensions",
                      "4 variables", "time=3 x=4", "form               short", "padding bytes"):
            self.assertIn(words, text)

    def test_names_cannot_steer_the_terminal(self):
        self.put("a.nc", samples.small(b"ta\x1b[31ms\n"))
        self.run_in("archive", "a.nc")
        for args in (("a.nc",), ("a.nc.nc3z",), ("--layout", "a.nc"), ("--layout", "a.nc.nc3z")):
            text = self.text("info", *args)
            self.assertTrue("\x1b" not in text and "ta\\u{1b}[31ms\\u{a}" in text, args)
        self.assertEqual(self.json("info", "--json", "a.nc")["variables"][3]["name"], "ta\\u{1b}[31ms\\u{a}")

    def test_oddities_of_the_classic_file_are_warnings(self):
        self.put("a.nc", SMALL[:-6])
        self.assertIn("variable `tas`: the file holds 10 of 12 elements", self.text("info", "a.nc"))
        warning = self.json("info", "--json", "a.nc")["warnings"][0]
        self.assertEqual((warning["variable"], warning["serious"]), (3, True))

    def test_a_torn_tail_is_reported(self):
        self.put("a.nc", SMALL)
        self.run_in("archive", "a.nc")
        self.put("torn.nc3z", self.get("a.nc.nc3z") + b"\1" * 40)
        self.assertEqual(self.json("info", "--json", "torn.nc3z")["torn_tail_bytes"], 40)
        self.assertIn("torn tail", self.text("info", "torn.nc3z"))

    def test_errors_name_the_file_once(self):
        self.put("greeting", b"hello, I am no netCDF file")
        self.put("a.nc", SMALL)
        self.run_in("archive", "a.nc")
        self.put("bad.nc3z", flipped(self.get("a.nc.nc3z"), 20))
        for args, code in (("greeting", 1), ("none", 1), ("bad.nc3z", 3), ("--layout bad.nc3z", 3)):
            done = self.run_in("info", *args.split(), code=code)
            # The text after the semicolon is the advice, which repeats the name.
            self.assertEqual(done.stderr.split("; `")[0].count(args.split()[-1]), 1, done.stderr)
            self.assertTrue(not done.stdout and done.stderr.count("\n") == 1, done.stderr)

    def test_damage_is_reported_or_harmless_but_never_a_panic(self):
        self.put("a.nc", SMALL)
        self.run_in("archive", "a.nc")
        for name in ("a.nc", "a.nc.nc3z"):
            whole = self.get(name)
            damaged = [flipped(whole, at, 0x55) for at in range(0, len(whole), 7)] + [whole[:n] for n in range(0, len(whole), 23)]
            for number, data in enumerate(damaged):
                self.put("bad", data)
                for options in ((), ("--layout",)):
                    done = nc3z("info", *options, "bad", cwd=self.dir)
                    self.assertIn(done.returncode, (0, 1, 3), (name, number, done.stderr))
                    self.assertEqual(done.returncode == 0, not done.stderr, (name, number, done.stderr))


class Layout(Directory):
    def archived(self):
        """Makes `a.nc3z` with tiles of 20000 bytes: enough for several index pages."""
        self.put("a.nc", samples.noisy(800_000))
        self.run_in("archive", "a.nc", "--tile-size", "20000", "-o", "a.nc3z")

    def layout(self, name):
        return self.json("info", "--layout", "--json", name)

    def regions(self, layout, kind=None):
        """Checks that the regions follow one another, and returns those of a kind."""
        at = 0
        for region in layout["regions"]:
            self.assertEqual(region["offset"], at, region)
            self.assertLess(region["align"], 8)
            at += region["length"] + region["align"]
        # For a short form, the layout is that of the corresponding long form.
        self.assertEqual(at, layout["long_bytes"])
        return [region for region in layout["regions"] if kind in (None, region["kind"])]

    def test_a_classic_file_is_laid_out_as_recorded(self):
        self.put("a.nc", SMALL)
        samples.check_snapshot(self, "layout-classic.txt", self.text("info", "--layout", "a.nc"))
        found = self.text("info", "--layout", "--json", "a.nc")
        samples.check_snapshot(self, "layout-classic.json", found)
        self.assertEqual(sum(segment["length"] for segment in json.loads(found)["original"]["segments"]), len(SMALL))

    def test_every_byte_of_an_archive_has_a_row(self):
        self.archived()
        layout = self.layout("a.nc3z")
        for kind, count in (("superblock", 1), ("head copy", 1), ("section table", 1), ("trailer", 1), ("unknown", 0), ("torn tail", 0)):
            self.assertEqual(len(self.regions(layout, kind)), count, kind)
        tiles = [block for block in self.regions(layout, "block") if block["block"] == "tile"]
        self.assertEqual(len(tiles), 40)
        for tile in tiles:
            self.assertEqual((tile["variable"], tile["length"]), ("noise", tile["stored_length"] + 44))
        # Two arrays of 40 tiles, each with one leaf.
        pages = [(page["variable"], page["level"], page["count"]) for page in self.regions(layout, "index page")]
        self.assertEqual(pages, [("noise", 0, 40), ("zero", 0, 40)])
        text = self.text("info", "--layout", "a.nc3z")
        for words in ("superblock", "tile 39 of noise", "index page of zero", "section: metadata", "in all", "original, "):
            self.assertIn(words, text)
        self.assertEqual(self.text("info", "--layout", "--mmap", "a.nc3z"), text)

    def test_members_of_a_container_are_listed(self):
        self.put("a.nc", SMALL)
        self.run_in("archive", "a.nc", "-o", "a.nc3z")
        members = [member for region in self.regions(self.layout("a.nc3z")) for member in region.get("members", [])]
        self.assertEqual([m["tile"] for m in members if (m.get("variable"), m["array"]) == ("tas", "variable")][:1], [0])
        self.assertTrue(all(member["start"] > 4 for member in members))
        self.assertIn("  tile 0 of tas, ", self.text("info", "--layout", "a.nc3z"))

    def test_keys_of_the_json_are_stable(self):
        self.archived()
        self.put("b.nc", SMALL)
        self.run_in("archive", "b.nc", "-o", "b.nc3z")
        layout, small = self.layout("a.nc3z"), self.layout("b.nc3z")
        layout["original"] = small["original"]
        layout["regions"] += small["regions"]
        found = [line for line in samples.keys(layout).splitlines(True) if not line.startswith(".chains[]")]
        samples.check_snapshot(self, "layout-archive-keys.txt", "".join(found))

    def test_a_damaged_block_is_unknown_and_the_walk_goes_on(self):
        self.archived()
        sound = self.layout("a.nc3z")
        third = self.regions(sound, "block")[2]
        self.put("bad.nc3z", flipped(self.get("a.nc3z"), third["offset"] + 9))
        found = self.layout("bad.nc3z")
        self.assertEqual([region["offset"] for region in self.regions(found, "unknown")], [third["offset"]])
        self.assertEqual(len(found["regions"]), len(sound["regions"]))

    def test_bytes_after_the_trailer_are_a_torn_tail(self):
        self.archived()
        data = self.get("a.nc3z")
        self.put("torn.nc3z", data + b"\xb1" * 100)
        [tail] = self.regions(self.layout("torn.nc3z"), "torn tail")
        self.assertEqual((tail["offset"], tail["length"]), (len(data), 100))

    def test_a_closed_pipe_is_not_an_error(self):
        self.put("many.nc", samples.many(20_000))
        for options in ((), ("--layout",), ("--json",), ("--layout", "--json")):
            process = start("info", *options, self.dir / "many.nc", stdout=-1)
            process.stdout.close()
            err = process.stderr.read()
            process.stderr.close()
            self.assertEqual((process.wait(60), err), (0, b""), options)

    def test_test_data_are_archived_described_and_laid_out(self):
        for path in sorted(CLASSIC.glob("*.nc")) + sorted(CLASSIC.glob("*.cdf")):
            name, data = path.name, path.read_bytes()
            self.put(name, data)
            if name.startswith("bad_"):
                self.run_in("archive", name, "-o", "a.nc3z", code=1, says=f"{name}: th")
                self.assertEqual(self.files(), [name])
                (self.dir / name).unlink()
                continue
            self.run_in("archive", name, "-o", "a.nc3z")
            layout = self.layout("a.nc3z")
            self.assertEqual(self.regions(layout, "unknown"), [], name)
            at = 0
            for segment in layout["original"]["segments"]:
                self.assertEqual(segment["offset"], at, name)
                at += segment["length"]
            self.assertEqual(at, len(data), name)
            self.assertEqual(self.layout(name)["original"], layout["original"], name)
            info, classic = self.json("info", "--json", "a.nc3z"), self.json("info", "--json", name)
            # A short form has no blocks: sizes are those of the corresponding long form.
            if info["form"] == "long":
                self.assertEqual(info["payload_bytes"] + info["overhead_bytes"], info["archive_bytes"], name)
            for key in ("dimensions", "warnings", "numrecs", "numrecs_field", "global_attributes", "format"):
                self.assertEqual(classic[key], info[key], (name, key))
            self.run_in("info", "a.nc3z")
            self.run_in("info", "--layout", "a.nc3z")
            self.assertEqual(self.run_in("restore", "a.nc3z", "-o", "-").stdout, data, name)
            for made in self.files():
                (self.dir / made).unlink()


if __name__ == "__main__":
    unittest.main()
