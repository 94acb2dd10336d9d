"""The frozen list of edition core-1 (spec/editions): the default writer emits nothing else, and other archives say so."""

import json
import struct
import sys
import unittest
from collections import defaultdict

from common import CLASSIC, ROOT, Case, good_files, nc3z, without_slots
from forge import record_file

sys.path.insert(0, str(ROOT / "spec/reference"))
import nc3z_bundle  # noqa: E402
import nc3z_ref  # noqa: E402

LIST = json.loads((ROOT / "spec/editions/core-1.json").read_text())
SMALL = 300_000


def packing_of(stored):
    """The codec of packed bytes, and the dictionary of a frame."""
    import zstandard

    if stored[:4] == b"\x28\xb5\x2f\xfd":
        return "zstd", zstandard.get_frame_parameters(stored).dict_id
    return "lzma2", 0


class Used:
    """Returns the features of an archive, by the keys of the list."""

    def __init__(self, data):
        self.found = defaultdict(set)
        self.found["short_forms"].add(data[9] if data[8] == nc3z_ref.MAJOR else None)
        if data[9]:
            length, = struct.unpack_from("<I", data, 12)
            self.packed(data[68:68 + length])
        archive = self.archive = nc3z_ref.Archive(data)
        data = archive.data
        if data[32:36] != data[36:40]:
            self.packed(data[160:])
        at = archive.trailer.offset
        # Bytes of an element, by the number of the array: of all generations.
        self.elements = {}
        while True:
            trailer = archive.trailer_at(at)
            older = nc3z_ref.Archive(without_slots(bytearray(data[:at + 128])))
            self.elements.update({id: tiles.array.element for id, tiles in older.tiles.items()})
            for name, bits in (("required_features", trailer.required), ("optional_features", trailer.optional)):
                self.found[name] |= {bit for bit in range(32) if bits >> bit & 1}
            for entry in range(trailer.table_length // 24):
                kind, encoding, _, offset, _ = struct.unpack_from("<HHIQQ", data, trailer.table_offset + 24 * entry)
                self.found["sections"].add((str(kind), encoding))
                if encoding == 1:
                    self.packed(data[offset:])
            at, = struct.unpack_from("<Q", data, at + 56)
            if not at:
                break
        self.found["dictionaries"].discard(0)
        for id, tiles in archive.tiles.items():
            self.found["tile_layouts"].add(tiles.layout.kind)
            for tile in range(tiles.count):
                self.found["index_entries"].add(archive.entry(id, tile).kind)
        for block in archive.probe():
            self.found["blocks"].add(block.kind)
            self.payload(block.chain, archive.payload(block), block.variable)
            if block.kind == 1:
                inside = archive.decode_block(block)
                for position, variable, _, chain, length in nc3z_ref.container_members(inside):
                    self.payload(chain, inside[position:position + length], variable)

    def packed(self, stored):
        codec, dictionary = packing_of(stored)
        self.found["packed"].add(codec)
        self.found["dictionaries"].add(dictionary)

    def payload(self, number, payload, variable):
        chain = self.archive.chains[number]
        self.found["chains"].add(tuple(step["id"] for step in chain))
        if not chain or chain[-1]["id"] != "nc3z.num":
            return
        self.found["num_keys"] |= set(chain[-1]) - {"id"}
        if chain[0]["id"] == "nc3z.base":
            payload = nc3z_ref.parse_older(payload, "base")[-1]
        version, flags, more = payload[:3]
        repeats = payload[3] if more & 128 else 0
        for name, value in (("version", version), ("mask", flags & 3), ("domain", flags >> 2 & 3), ("exceptions", flags >> 4 & 3), ("strides", more & 15),
                            ("coder", more >> 4 & 7), ("neighbours_again", repeats & 3), ("rows_again", repeats >> 2 & 3), ("by_value", repeats >> 4)):
            self.found["num", name].add(value)
        if flags & 3 == 1:
            # The mask is the first part: the masked pattern, then the stride. All parts but the last have a length in front.
            rest, parts = nc3z_ref.Bytes(payload[4 if repeats else 3:], "payload"), 2 + (more & 1) + (flags >> 2 & 3 in (1, 2)) + (flags >> 4 & 3 > 0)
            for _ in range(parts - 1):
                rest.varint()
            stride, = rest.take(self.elements[variable] + 1)[-1:]
            self.found["num", "mask_stride"].add(stride)

    def outside_of_the_list(self):
        """Returns the features that are used and not listed."""
        known = {name: set(values) for name, values in LIST.items() if isinstance(values, list) and name != "chains"}
        known["chains"] = {tuple(chain) for chain in LIST["chains"]}
        known["sections"] = {(kind, encoding) for kind, encodings in LIST["sections"].items() for encoding in encodings}
        known.update({("num", name): set(values) for name, values in LIST["num"].items()})
        return {name: sorted(values - known[name], key=str) for name, values in self.found.items() if values - known[name]}


def numbers_in_a_head(path):
    """A file whose header has 20,000 floats in attributes, as polygons."""
    import netCDF4
    import numpy as np

    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
        d.createDimension("x", 2)
        v = d.createVariable("v", "f4", ("x",))
        v[:] = [1, 2]
        rng = np.random.default_rng(3)
        for part in range(4):
            v.setncattr(f"outline_{part}", (np.cumsum(rng.integers(-50, 51, 5000)) * 0.01 + 40).astype("f4"))
    return path


class Core(Case):
    seen = defaultdict(set)

    def assertCore(self, path, what):
        used = Used(path.read_bytes())
        self.assertEqual(used.outside_of_the_list(), {}, what)
        self.assertNotIn("edition", used.archive.metadata, what)
        for name, values in used.found.items():
            Core.seen[name] |= values

    def test_the_default_writer_emits_nothing_else(self):
        ways = (("--preset", "fast"), (), ("--preset", "max"), ("--layout", "chunked"), ("--layout", "chunked", "--edge", "pad"),
                ("--tile-size", "1KiB", "--layout", "linear"), ("--parity", "5%"))
        archive = self.dir / "a.nc3z"
        for path in good_files():
            if path.stat().st_size > SMALL:
                continue
            for options in ways:
                with self.subTest(path.name, options=options):
                    if path.stat().st_size > 100_000 and options not in ways[:3]:
                        continue
                    self.ok(nc3z("archive", "--force", *options, path, "-o", archive))
                    self.assertCore(archive, (path.name, options))
        # All coders but words as they are, and all domains, occur in the test data, so that the test would see others.
        self.assertEqual(Core.seen["num", "coder"] | {0}, set(LIST["num"]["coder"]))
        self.assertEqual(Core.seen["num", "domain"], set(LIST["num"]["domain"]))
        self.assertEqual(Core.seen["num", "mask_stride"], set(LIST["num"]["mask_stride"]))
        self.assertEqual(Core.seen["short_forms"], set(LIST["short_forms"]))

    def test_a_head_of_numbers_is_listed(self):
        archive = self.dir / "a.nc3z"
        self.ok(nc3z("archive", numbers_in_a_head(self.dir / "n.nc"), "-o", archive))
        self.assertCore(archive, "numbers in a head")
        self.assertEqual(Core.seen["packed"], {"zstd", "lzma2"})

    def test_so_do_other_ways_to_write(self):
        """Standard input and output, edits of values and names, appended records, repair with and without losses, recompress, catalogues."""
        archive, out = self.dir / "w.nc3z", self.dir / "out.nc3z"
        source = CLASSIC / "record_padding.nc"
        done = nc3z("archive", "-", "-o", "-", input=source.read_bytes())
        self.ok(done)
        archive.write_bytes(done.stdout)
        self.assertCore(archive, "standard output")
        first, more = (record_file(self.dir / f"{n}.nc", n) for n in (0, 1))
        self.ok(nc3z("archive", "--force", first, "-o", archive))
        self.ok(nc3z("append", archive, more))
        self.ok(nc3z("set", archive, "v", "-d", "t,0", "=1.5"))
        self.ok(nc3z("rename", archive, "-v", "v,w"))
        self.assertCore(archive, "edits of values and names")
        self.assertIn("nc3z.base", {chain[0] for chain in Core.seen["chains"] if chain})
        for preset in ("fast", "default", "max"):
            self.ok(nc3z("recompress", "--force", "--drop-history", "--preset", preset, archive, "-o", out))
            self.assertCore(out, f"recompress {preset}")
        self.ok(nc3z("archive", "--force", "--parity", "5%", "--tile-size", "1KiB", CLASSIC / "numeric.nc", "-o", archive))
        data = bytearray(archive.read_bytes())
        for damage, code in ((range(0), 0), (range(len(data) // 3, len(data) // 3 + 2000), 0), (range(len(data) // 5, len(data) // 2), 3)):
            bad = bytearray(data)
            for at in damage:
                bad[at] ^= 0x55
            archive.write_bytes(bad)
            done = nc3z("repair", "--force", archive, "-o", out)
            self.assertIn(done.returncode, {code, 3}, done.stderr)
            self.assertCore(out, f"repair of {len(damage)} damaged bytes")
        self.assertIn(1, Core.seen["required_features"])
        self.ok(nc3z("catalog", CLASSIC / "numeric.nc", first, "-o", self.dir / "all.catalog.nc3z"))
        self.assertCore(self.dir / "all.catalog.nc3z", "catalogue")

    def test_bundles_and_their_groups(self):
        tree, bundle, group = self.dir / "tree", self.dir / "b.bundle.nc3z", self.dir / "group.nc3z"
        tree.mkdir()
        data = (CLASSIC / "template.nc").read_bytes()
        for n in range(8):
            (tree / f"{n}.nc").write_bytes(data[:-1] + bytes([n]))
        (tree / "winds.nc").write_bytes((CLASSIC / "winds.nc").read_bytes())
        groups = set()
        for options in ((), ("--statistics",), ("--pack",), ("--pack", "--preset", "max", "--parity", "5%")):
            self.ok(nc3z("bundle", "--force", *options, tree, "-o", bundle))
            self.assertCore(bundle, f"bundle {options}")
            read = nc3z_bundle.Bundle(bundle.read_bytes())
            found = {(offset, size) for kind, offset, size, *_ in read.places.values() if kind == nc3z_bundle.PACKED}
            for offset, size in found:
                group.write_bytes(read.content[offset:offset + size])
                self.assertCore(group, f"group of {options}")
            groups |= found
        self.ok(nc3z("bundle", "--append", CLASSIC / "no_records.nc", "-o", bundle))
        self.assertCore(bundle, "bundle, appended")
        self.assertTrue(groups)

    def test_so_do_edits(self):
        archive = self.dir / "e.nc3z"
        for source in ("numeric.nc", "smooth.nc", "record_padding.nc"):
            self.ok(nc3z("archive", "--force", CLASSIC / source, "-o", archive))
            self.ok(nc3z("attr", archive, ":title=another"))
            self.ok(nc3z("commit", "--allow-unrelated", archive, CLASSIC / "winds.nc"))
            self.ok(nc3z("revert", archive, "1"))
            self.ok(nc3z("tag", archive, "first"))
            self.ok(nc3z("parity", "add", archive))
            self.ok(nc3z("commit", "--allow-unrelated", archive, CLASSIC / source))
            self.assertCore(archive, source)
            out = self.dir / "gc.nc3z"
            self.ok(nc3z("prune", "--force", archive, "-o", out))
            self.assertCore(out, source)
        self.ok(nc3z("archive", "--force", "--quantize", "tenths=bitround:9", CLASSIC / "numeric.nc", "-o", archive))
        self.assertCore(archive, "rounded")


class OtherVersions(Case):
    def test_another_format_version_is_named_however_short_the_archive_is(self):
        """The archive is not damaged: another build may read it."""
        self.refused(("info",), ("dump", "-h"), ("restore", "-f", "-o", self.dir / "out"), ("hash",), ("log",))

    def test_so_do_verify_and_repair(self):
        self.refused(("verify",), ("repair", "-f", "-o", self.dir / "out"))

    def refused(self, *commands):
        archive, out = self.dir / "v.nc3z", self.dir / "out"
        for source, shorter in (("empty_cdf1.nc", True), ("lone_record_byte.nc", True), ("all_types_cdf2.nc", False)):
            self.ok(nc3z("archive", "--force", CLASSIC / source, "-o", archive))
            good = archive.read_bytes()
            self.assertEqual(len(good) < 288, shorter, source)
            for version in (0, 2, 255):
                other = bytearray(good)
                other[8] = version
                archive.write_bytes(other)
                for command in commands:
                    with self.subTest(source=source, version=version, command=command[0]):
                        done = self.fails(nc3z(command[0], archive, *command[1:]), 1, f"format version {version}\\b")
                        self.assertNotIn("missing", done.stderr)
                        self.assertNotIn("nc3z repair", done.stderr)
                        self.assertFalse(out.exists())

    def test_a_beginning_without_its_version_is_cut_short(self):
        archive = self.dir / "v.nc3z"
        self.ok(nc3z("archive", CLASSIC / "numeric.nc", "-o", archive))
        other = bytearray(archive.read_bytes())
        other[8] = 2
        for length, code, words in ((10, 1, "format version 2"), (9, 3, "the end of the archive is missing")):
            archive.write_bytes(other[:length])
            self.fails(nc3z("info", archive), code, words)


class Extended(Case):
    def edition(self, path):
        return json.loads(self.ok(nc3z("info", "--json", path)).stdout)["edition"]

    def test_other_chains_make_an_archive_extended(self):
        archive = self.dir / "a.nc3z"
        source = CLASSIC / "beside.nc"
        self.ok(nc3z("archive", source, "-o", archive))
        self.assertEqual(self.edition(archive), "core-1")
        self.assertIn("core-1", self.ok(nc3z("info", archive)).stdout.decode())
        self.ok(nc3z("archive", "--force", "--chain", '*=[{"id":"zlib","level":6}]', source, "-o", archive))
        self.assertEqual(self.edition(archive), "extended")
        used = Used(archive.read_bytes())
        self.assertEqual(used.archive.metadata["edition"], "extended")
        self.assertIn(("zlib",), used.outside_of_the_list()["chains"])
        # Made anew by the default writer it is of the core edition again.
        self.ok(nc3z("restore", "--force", archive, "-o", self.dir / "a.nc"))
        self.ok(nc3z("archive", "--force", self.dir / "a.nc", "-o", archive))
        self.assertEqual(self.edition(archive), "core-1")
        # A chain of the core edition does not make an archive extended, even if a user requested it.
        self.ok(nc3z("archive", "--force", "--chain", '*=[{"id":"zstd","level":3}]', source, "-o", archive))
        self.assertEqual(self.edition(archive), "core-1")


if __name__ == "__main__":
    unittest.main()
