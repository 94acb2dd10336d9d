#!/usr/bin/env python3
"""A small reader of catalogues, written from the text of spec/catalogue.md alone.

    nc3z_catalog.py CATALOGUE     all of it, as JSON

Exit codes: 0 done, 2 usage, 3 the catalogue is corrupt.
"""

import json
import struct
import sys
from pathlib import Path

from nc3z_ref import TYPE_SIZES, Archive, Classic, Corrupt, Header, Refused, need

CHAR, DIGEST = 2, 32
FORMATS = {1: "b", 3: "h", 4: "i", 6: "d", 7: "B", 9: "I", 10: "q"}
KINDS = ["classic", "archive", "short", "packed", "other", "file"]
LAYOUTS = ["linear", "clipped", "padded"]
WRAP = 1 << 64


class Dataset:
    """The variables of the dataset as lists of numbers, or as bytes if their type is char."""

    def __init__(self, data):
        if data[:3] == b"CDF":
            self.file = data
        else:
            archive = Archive(data)
            self.file = bytearray(archive.length)
            archive.restore(self.file)
        header = Header(self.file)
        self.marks = {a.name: a.value for a in header.atts if a.name.startswith(b"nc3z_")}
        need(self.marks.get(b"nc3z_catalog") == b"1", "this is no catalogue")
        self.places = Classic(header, len(self.file)).arrays
        self.variables = {v.name.decode(): v for v in header.vars}
        self.lengths = {d.name.decode(): d.length for d in header.dims}

    def raw(self, name):
        """The bytes of a variable as they are stored; none if it is left out."""
        variable = self.variables.get(name)
        return bytes(self.file[variable.begin:variable.begin + self.places[variable.id].slot]) if variable else b""

    def __getitem__(self, name):
        variable, data = self.variables.get(name), self.raw(name)
        if variable is None:
            return b"" if name.endswith(("_name", "_bytes")) else []
        if variable.type == CHAR or name == "list_bytes":
            return data
        return list(struct.unpack(f">{len(data) // TYPE_SIZES[variable.type]}{FORMATS[variable.type]}", data))

    def runs(self, counts, length):
        """The runs of a ragged array (section 2)."""
        found, end = [], 0
        for count in self[counts]:
            need(count >= 0, f"{counts}: {count}")
            found.append(slice(end, end + count))
            end += count
        need(end == length, f"{counts}: they end at {end}, and there are {length}")
        return found

    def strings(self, counts, name):
        data = self[name]
        return [data[run] for run in self.runs(counts, len(data))]


def blocks(d, files):
    """Files of each block; the sums of section 2 are those of its elements."""
    runs = d.runs("block_files", len(files))
    need(all(run.stop - run.start <= 4096 for run in runs), "block_files: too many")
    of_files = [("block_name_bytes", "file_name_length"), ("block_coordinates", "file_coordinates")]
    for sums, name in of_files:
        values = d[name]
        need(d[sums] == [sum(values[run]) for run in runs], sums)
    for counts, lengths, sums in (("block_headers", "header_length", "block_header_bytes"), ("block_lists", "list_length", "block_list_bytes")):
        values = d[lengths]
        need(d[sums] == [sum(values[run]) for run in d.runs(counts, len(values))], sums)
    headers = d.runs("block_headers", d.lengths.get("header", 0))
    for run, own in zip(runs, headers):
        need(all(own.start <= number < own.stop for number in d["file_header"][run]), "file_header: another block")


def read_files(d):
    names, headers = d.strings("file_name_length", "file_name"), d.strings("header_length", "header_bytes")
    sums = bytes(d["file_sha256"])
    columns = [d[f"file_{name}"] for name in ("kind", "size", "offset", "stored_size", "header", "modified")]
    files = []
    for number, (name, kind, size, offset, stored, header, modified) in enumerate(zip(names, *columns)):
        sha256 = sums[DIGEST * number:DIGEST * (number + 1)]
        need(0 <= kind < len(KINDS) and min(size, offset, stored) >= 0 and 0 <= header < len(headers), "files")
        files.append({
            "name": name.decode(), "kind": KINDS[kind], "len": size, "offset": offset, "stored": stored, "modified": modified,
            "header": headers[header].hex(), "sha256": sha256.hex() if any(sha256) else None, "variables": [],
        })
    need(len(files) == d.lengths.get("file", 0), "files: number")
    lists = d.strings("list_length", "list_bytes")
    rows = list(zip(*(d[f"coordinate_{name}"] for name in ("variable", "extent", "width", "list"))))
    need(all(0 <= width <= 256 and 0 <= number < len(lists) for _, _, width, number in rows), "coordinates")
    for file, run in zip(files, d.runs("file_coordinates", len(rows))):
        file["coordinates"] = [{"variable": v, "whole": bool(e), "size": w, "bytes": lists[n].hex()} for v, e, w, n in rows[run]]
    return files


def ranges(gaps, lengths):
    found, end = [], 0
    for gap, length in zip(gaps, lengths):
        offset = (end + gap) % WRAP
        end = (offset + length) % WRAP
        found.append((offset, length))
    return found


def variables(d, files):
    """Adds the variables of each file. A tile has: valid values that are finite, infinite ones, the least, the largest, the sum and the
    sum of squares as two doubles each, and what the least and the largest are more than their doubles."""
    fields = ("count", "infinite", "least", "largest", "sum", "sum_rest", "squares", "squares_rest", "least_rest", "largest_rest")
    tiles = list(zip(*(d[f"tile_{name}"] for name in fields)))
    gaps, lengths = d["range_gap"], d["range_length"]
    runs = d.runs("tile_ranges", len(gaps))
    need(len(runs) == len(tiles), "tile_ranges: number")
    shapes = [d["tiling_length"][run] for run in d.runs("tiling_rank", d.lengths.get("tiling_axis", 0))]
    kinds = d["tiling_kind"]
    columns = list(zip(*(d[f"occurrence_{name}"] for name in ("file", "variable", "tiling", "statistics"))))
    occurrences = list(zip(columns, d.runs("occurrence_tiles", len(tiles))))
    sections = d.runs("section_occurrences", len(occurrences))
    names = [name.decode() for name in d.strings("variable_name_length", "variable_name")]
    need(len(set(zip(d["section_variable"], d["section_block"]))) == len(sections), "sections: two of one block and variable")
    for number, section in zip(d["section_variable"], sections):
        need(0 <= number < len(names), "section_variable")
        for (file, variable, tiling, statistics), run in occurrences[section]:
            need(0 <= file < len(files) and 0 <= tiling < len(kinds), "occurrences")
            all_ranges = runs[run]
            first = all_ranges[0].start if all_ranges else 0
            last = all_ranges[-1].stop if all_ranges else 0
            found = ranges(gaps[first:last], lengths[first:last])
            files[file]["variables"].append({
                "name": names[number], "variable": variable, "layout": LAYOUTS[kinds[tiling]], "shape": shapes[tiling],
                "tiles": tiles[run] if statistics else None,
                "places": [found[r.start - first:r.stop - first] for r in all_ranges] if found else [],
            })
    for file in files:
        file["variables"].sort(key=lambda v: v["variable"])


def read(data):
    """All files of a catalogue."""
    d = Dataset(data)
    files = read_files(d)
    blocks(d, files)
    variables(d, files)
    return files


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(2)
    try:
        print(json.dumps(read(Path(sys.argv[1]).read_bytes())))
    except (Corrupt, Refused, IndexError, ValueError, KeyError, struct.error) as e:
        print(f"nc3z_catalog.py: {sys.argv[1]}: {e}", file=sys.stderr)
        sys.exit(3)
