"""Tables and plots of the results."""
import json
import math
import os

from nc3zbench import access, plots
from nc3zbench.store import Store

LIMITS = ("cp", "sha256sum")
# The goal of the numeric codec names these; the others are there to look at.
NAMED = ("xz -9e", "zstd -19 --long=27", "hdf5 shuffle+zstd 19", "blosc2 bitshuffle+zstd 9", "blosc2 bytedelta+zstd 9",
         "zarr3 shuffle+zstd 9", "pcodec 8", "pcodec 12", "openzl", "openzl searched")
OURS = ("nc3z fast", "nc3z default", "nc3z max")


def write(results, folder):
    os.makedirs(folder, exist_ok=True)
    text = []
    if os.path.exists(results + "/files.jsonl"):
        text += files(Store(results + "/files.jsonl"), folder)
    if os.path.exists(results + "/variables.jsonl"):
        text += variables(Store(results + "/variables.jsonl"), folder)
    text += access.tables(results, table)
    with open(results + "/report.md", "w") as f:
        f.write("\n".join(text) + "\n")
    print("\n".join(text))


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return out + ["| " + " | ".join(str(c) for c in row) + " |" for row in rows] + [""]


def geo(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def rate(raw, seconds):
    """MB/s, or nothing where the clock saw no time."""
    return f"{raw / 1e6 / seconds:.0f}" if seconds > 0 else "-"


def source(path):
    """Which collection a file belongs to."""
    for part, name in (("ferret", "ferret"), ("/open/", "open"), ("ncarg", "ncarg"), ("eraint", "xarray")):
        if part in path:
            return name
    return "other"


# Whole files ------------------------------------------------------------------------------------------------------------

def by_file(store):
    """{digest: {method: row}} of the rows without an error, for files that every preset and every named peer has done."""
    out = {}
    for (digest, method), row in store.rows.items():
        if "error" not in row:
            out.setdefault(digest, {})[method] = row
    out = {d: r for d, r in out.items() if all(m in r for m in OURS + NAMED)}
    charge(out, os.path.dirname(store.path))
    return out


def charge(done, folder):
    """Adds to array peers the bytes of a file that they leave out: see `corpus.left_out`."""
    from nc3zbench import corpus
    from nc3zbench.files import ARRAYS
    path = folder + "/left_out.json"
    known = json.load(open(path)) if os.path.exists(path) else {}
    for digest, rows in done.items():
        if digest not in known:
            known[digest] = corpus.left_out(rows["nc3z default"]["path"])
        for peer in ARRAYS:
            if peer in rows:
                rows[peer] = dict(rows[peer], size=rows[peer]["size"] + known[digest])
    with open(path, "w") as f:
        json.dump(known, f)


def against(results, peer):
    """Prints on which share of the files that have rows of a peer each preset is not larger, and where `max` is."""
    rows = {}
    for (digest, method), row in Store(results + "/files.jsonl").rows.items():
        if "error" not in row:
            rows.setdefault(digest, {})[method] = row
    done = [r for r in rows.values() if peer in r and "nc3z max" in r]
    text = [f"{len(done)} files, {sum(r[peer]['raw'] for r in done) / 1e6:.1f} MB", ""]
    means = []
    for method in (peer, *OURS):
        have = [r for r in done if method in r]
        if have:
            share = f"{100 * sum(r[method]['size'] <= r[peer]['size'] for r in have) / len(have):.1f} %"
            speed = [f"{sum(r[method]['raw'] for r in have) / 1e6 / sum(r[method][part]['cpu'] for r in have):.2f}" for part in ("store", "fetch")]
            means.append([method, len(have), f"{geo(r[method]['raw'] / r[method]['size'] for r in have):.3f}", share, *speed])
    text += table(["program", "files", "geometric mean of ratios", f"not larger than {peer}", "store MB/s", "fetch MB/s"], means)
    lost = [(r["nc3z max"]["size"] / r[peer]["size"], r) for r in done if r["nc3z max"]["size"] > r[peer]["size"]]
    text += table(["file", "bytes", peer, "`max`", "larger by"], [
        [os.path.basename(r[peer]["path"]), r[peer]["raw"], r[peer]["size"], r["nc3z max"]["size"], f"{100 * times - 100:.1f} %"]
        for times, r in sorted(lost, key=lambda pair: -pair[0])])
    print("\n".join(text))


def peers_of(done):
    seen = {m: None for rows in done.values() for m in rows}
    return [m for m in seen if m not in OURS and m not in LIMITS]


def files(store, folder):
    done = by_file(store)
    if not done:
        return []
    peers, raw = peers_of(done), {d: r["nc3z default"]["raw"] for d, r in done.items()}
    text = [f"{len(done)} files, {sum(raw.values()) / 1e6:.1f} MB", ""]
    rows = []
    for m in list(LIMITS) + peers + list(OURS):
        have = [d for d in done if m in done[d]]
        if not have:
            continue
        total = sum(raw[d] for d in have)
        of = lambda part, key: sum(done[d][m][part][key] for d in have)
        ratio = ["-", "-"] if m in LIMITS else [
            f"{total / sum(done[d][m]['size'] for d in have):.3f}", f"{geo(raw[d] / done[d][m]['size'] for d in have):.3f}"]
        share = lambda p: "-" if m in LIMITS or m in OURS else (
            f"{100 * sum(done[d][p]['size'] < done[d][m]['size'] for d in have) / len(have):.1f} %")
        rss = max(done[d][m]["store"]["rss"] for d in have), max(done[d][m]["fetch"]["rss"] for d in have)
        rows.append([m, len(have), *ratio, share("nc3z default"), share("nc3z max"), rate(total, of("store", "cpu")),
                     rate(total, of("store", "wall")), rate(total, of("fetch", "cpu")), rate(total, of("fetch", "wall")),
                     f"{rss[0] / 1e6:.0f} / {rss[1] / 1e6:.0f}"])
    text += table(["method", "files", "ratio of all bytes", "geometric mean", "default is smaller on", "max is smaller on",
                   "store MB/s (CPU)", "(wall)", "fetch MB/s (CPU)", "(wall)", "peak MB store / fetch"], rows)
    text += standing(done, raw)
    plots.files(done, raw, peers + list(OURS), folder)
    return text


def standing(done, raw):
    """Compares default and max with the best of the named peers of each file; lists every loss."""
    text = []
    for ours, margin in (("nc3z default", 1.15), ("nc3z max", 1.03)):
        worse = []
        for d, rows in done.items():
            named = [m for m in NAMED if m in rows]
            best = min(named, key=lambda m: rows[m]["size"])
            worse.append((rows[ours]["size"] / rows[best]["size"], best, d))
        lost = sorted((w for w in worse if w[0] >= 1), reverse=True)
        text += [f"{ours}: smaller than every named peer on {len(worse) - len(lost)} of {len(worse)} files "
                 f"({100 * (1 - len(lost) / len(worse)):.1f} %); more than {100 * (margin - 1):.0f} % larger than the best on "
                 f"{sum(w[0] > margin for w in worse)}; worst {max(worse)[0]:.3f}", ""]
        rows = [[os.path.basename(done[d][ours]["path"]), source(done[d][ours]["path"]), raw[d], done[d][ours]["size"],
                 best, done[d][best]["size"], f"{factor:.3f}"] for factor, best, d in lost]
        text += table(["file", "from", "bytes", ours, "best peer", "its bytes", "nc3z / best"], rows)
    return text


# Variables --------------------------------------------------------------------------------------------------------------

def by_variable(store):
    """{(digest, variable): {method: result}} of variables that every method has done, with the file's path beside."""
    out, paths = {}, {}
    for (digest, method), row in store.rows.items():
        for name, result in row.get("variables", {}).items():
            out.setdefault((digest, name), {})[method] = result
            paths[digest, name] = row["path"]
    # A method that has hardly begun is left out, not everything else.
    methods = {m for v in out.values() for m in v}
    counts = {m: sum(m in v for v in out.values()) for m in methods}
    needed = [m for m in methods if m in OURS or 4 * counts[m] >= 3 * max(counts.values())]
    return {k: {m: v[m] for m in needed} for k, v in out.items() if all(m in v for m in [*needed, *OURS])}, paths


def variables(store, folder):
    done, paths = by_variable(store)
    if not done:
        return []
    peers = [m for m in {m: None for v in done.values() for m in v} if m not in OURS]
    ratio = lambda k, m: done[k][m]["raw"] / done[k][m]["size"]
    text = []
    groups = {"all": list(done)}
    for k in done:
        groups.setdefault(source(paths[k]), []).append(k)
    groups["unseen (ncarg, xarray)"] = groups.get("ncarg", []) + groups.get("xarray", [])
    for name, keys in groups.items():
        if keys:
            text += summary(name, keys, done, peers, ratio)
    rows = []
    for k in sorted(done, key=lambda k: -done[k]["nc3z default"]["raw"]):
        best = max((m for m in peers if m in done[k]), key=lambda m: ratio(k, m))
        shown = [f"{ratio(k, m):.3f}" if m in done[k] else "-" for m in peers + list(OURS)]
        rows.append([f"{os.path.basename(paths[k])} {k[1]}", source(paths[k]), f"{done[k]['nc3z max']['raw'] / 1e6:.1f}", *shown,
                     best, *(f"{ratio(k, o) / ratio(k, best):.3f}" for o in OURS[1:])])
    text += table(["variable", "from", "MB", *peers, *OURS, "best peer", "default / best", "max / best"], rows)
    text += speeds(done, peers)
    plots.variables(done, peers, folder, geo)
    return text


def summary(name, keys, done, peers, ratio):
    whole = [m for m in peers if all(m in done[k] for k in keys)]
    means = {m: geo(ratio(k, m) for k in keys) for m in whole + list(OURS)}
    single = max(whole, key=means.get)
    hindsight = geo(max(ratio(k, m) for m in peers if m in done[k]) for k in keys)
    total = sum(done[k]["nc3z max"]["raw"] for k in keys)
    text = [f"#### {name}: {len(keys)} variables, {total / 1e6:.0f} MB", ""]
    text += table(["", "geometric mean", "default over it", "max over it"],
                  [[m, f"{means[m]:.3f}", f"{means['nc3z default'] / means[m]:.3f}", f"{means['nc3z max'] / means[m]:.3f}"]
                   for m in sorted(means, key=means.get)] +
                  [["best single peer: " + single, f"{means[single]:.3f}", f"**{means['nc3z default'] / means[single]:.3f}**",
                    f"{means['nc3z max'] / means[single]:.3f}"],
                   ["best peer of each variable", f"{hindsight:.3f}", f"**{means['nc3z default'] / hindsight:.3f}**",
                    f"**{means['nc3z max'] / hindsight:.3f}**"]])
    return text


def speeds(done, peers):
    rows = []
    for m in peers:
        have = [k for k in done if m in done[k]]
        raw = sum(done[k][m]["raw"] for k in have)
        each = [done[k][m]["raw"] / 1e6 / max(done[k][m]["fetch"]["cpu"], 1e-6) for k in have]
        rows.append([m, len(have), rate(raw, sum(done[k][m]["store"]["cpu"] for k in have)),
                     rate(raw, sum(done[k][m]["fetch"]["cpu"] for k in have)), f"{geo(each):.0f}", f"{min(each):.0f}"])
    for m in OURS:
        codec = [done[k][m]["codec"] for k in done]
        raw = sum(c["raw"] for c in codec)
        for label, enc, dec in [(m, "encode_s", "decode_s")]:
            each = [c["raw"] / 1e6 / c[dec] for c in codec]
            choosing = sum(c["encode_s"] + c["choose_s"] for c in codec)
            rows.append([label, len(codec), f"{rate(raw, sum(c[enc] for c in codec))} ({rate(raw, choosing)} with the choice)",
                         rate(raw, sum(c[dec] for c in codec)), f"{geo(each):.0f}", f"{min(each):.0f}"])
    codec = [done[k]["nc3z default"]["codec"] for k in done]
    raw = sum(c["raw"] for c in codec)
    each = [c["raw"] / 1e6 / c["zstd3"]["decode_s"] for c in codec]
    rows.append(["zstd 3's own decoder, same tiles", len(codec), "-", rate(raw, sum(c["zstd3"]["decode_s"] for c in codec)),
                 f"{geo(each):.0f}", f"{min(each):.0f}"])
    each = [c["raw"] / 1e6 / c["memcpy_s"] for c in codec]
    rows.append(["memcpy, same tiles", len(codec), "-", rate(raw, sum(c["memcpy_s"] for c in codec)), f"{geo(each):.0f}",
                 f"{min(each):.0f}"])
    return table(["codec, one thread", "variables", "encode MB/s", "decode MB/s, all bytes", "geometric mean", "slowest"], rows)
