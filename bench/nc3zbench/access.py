"""Tables of what bench/access printed."""
import json
import os

SHOWN = {"open": "open µs", "whole": "whole MB/s", "map": "map ms", "series": "series ms", "box": "box ms", "overview": "overview ms",
         "1000 boxes": "1,000 boxes ms", "element": "element µs"}
CACHE = ["24 maps", "100 series", "1000 boxes", "1000 hot boxes", "element", "map", "box", "overview"]


def read(path):
    """{(contender, pattern, cache, threads): row}, the last of each; stored bytes by contender; errors."""
    rows, stored, errors = {}, {}, []
    with open(path) as f:
        for line in f:
            row = json.loads(line)
            if "error" in row:
                errors.append(row)
                continue
            rows[row["contender"], row["pattern"], row["cache"], row["threads"]] = row
            stored[row["contender"]] = row["stored"]
    return rows, stored, errors


def cell(row, pattern, key):
    if row is None:
        return "-"
    seconds = row[key]
    if pattern == "whole":
        return f"{row['bytes'] / 1e6 / seconds:.0f}"
    return f"{seconds * (1e6 if SHOWN[pattern].endswith('µs') else 1e3):.3g}"


def tables(results, table):
    path = results + "/access.jsonl"
    if not os.path.exists(path):
        return []
    rows, stored, errors = read(path)
    text = []
    for threads, cache, key in ((1, "cold", "cpu"), (1, "warm", "cpu"), (1, "cold", "wall"), (2, "cold", "wall")):
        body = []
        for name in stored:
            of = lambda p: rows.get((name, p, "warm" if p == "open" or name == "memcpy" else cache, threads))
            if any(of(p) for p in SHOWN):
                body.append([name, f"{stored[name] / 1e6:.1f}", *(cell(of(p), p, key) for p in SHOWN)])
        if body:
            text += [f"#### {threads} thread{'s' if threads > 1 else ''}, {cache}, {'CPU' if key == 'cpu' else 'wall'} time", ""]
            text += table(["", "MB stored", *SHOWN.values()], body)
    text += cache_table(rows, table)
    return text + [f"{e['contender']}, {e['threads']} threads: {e['error']}" for e in errors]


def cache_table(rows, table):
    body = []
    for pattern in CACHE:
        line = [pattern]
        for layout in ("maps", "boxes"):
            of = lambda suffix, cache: rows.get((f"nc3z default, {layout}{suffix}", pattern, cache, 1))
            got = [of(", no cache", "cold"), of("", "cold"), of("", "warm")]
            line += [f"{1e3 * g['cpu']:.3g}" if g else "-" for g in got]
            line.append(f"{got[0]['cpu'] / got[1]['cpu']:.2f}" if got[0] and got[1] else "-")
        body.append(line)
    head = [f"{layout}: {what}" for layout in ("maps", "boxes") for what in ("no cache", "cache, first time", "again", "gain at once")]
    return ["#### nc3z default with and without a cache of decoded tiles, CPU ms, one thread", ""] + table(["pattern", *head], body)
