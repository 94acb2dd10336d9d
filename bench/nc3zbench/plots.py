"""Plots, as SVG: ratio against the speed of getting data back."""
import os


def begin(width, height):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "nc3z", "font.size": 9, "svg.fonttype": "none"})
    import matplotlib.pyplot as plt
    return plt.subplots(figsize=(width, height), layout="constrained")


def save(figure, path):
    import matplotlib.pyplot as plt
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def scatter(points, title, x, y, path):
    """Named points (x, y): nc3z joined by a line, peers by name."""
    figure, axes = begin(8, 5)
    ours = [(n, *p) for n, p in points.items() if n.startswith("nc3z")]
    for name, (a, b) in points.items():
        own = name.startswith("nc3z")
        axes.plot(a, b, "o" if own else "s", color="C3" if own else "C0", markersize=7 if own else 5)
        axes.annotate(name, (a, b), xytext=(5, 4), textcoords="offset points", fontsize=8, color="C3" if own else "black")
    axes.plot([o[1] for o in ours], [o[2] for o in ours], "-", color="C3", linewidth=1)
    axes.set(xscale="log", xlabel=x, ylabel=y, title=title)
    axes.grid(True, which="both", linewidth=0.3)
    axes.margins(x=0.15)
    save(figure, path)


def files(done, raw, methods, folder):
    """Overall: all files together; per file: the ratio of every method on the files of at least 1 MB."""
    points = {}
    for m in methods:
        have = [d for d in done if m in done[d]]
        total, cpu = sum(raw[d] for d in have), sum(done[d][m]["fetch"]["cpu"] for d in have)
        points[m] = (total / 1e6 / cpu, total / sum(done[d][m]["size"] for d in have))
    scatter(points, f"Whole files: {len(done)} files, {sum(raw.values()) / 1e6:.0f} MB", "fetch, MB/s of CPU, one thread",
            "ratio over all bytes", os.path.join(folder, "files.svg"))
    large = sorted((d for d in done if raw[d] >= 1e6), key=lambda d: raw[d])
    if not large:
        return
    figure, axes = begin(8, 1.5 + 0.22 * len(large))
    for i, d in enumerate(large):
        best = max(raw[d] / r["size"] for m, r in done[d].items() if m in methods and not m.startswith("nc3z"))
        for m in methods:
            if m in done[d] and not m.startswith("nc3z"):
                axes.plot(raw[d] / done[d][m]["size"] / best, i, "|", color="C0", markersize=8)
        for m, mark in (("nc3z fast", "<"), ("nc3z default", "o"), ("nc3z max", ">")):
            axes.plot(raw[d] / done[d][m]["size"] / best, i, mark, color="C3", markersize=4, label=m if i == 0 else None)
    axes.axvline(1, color="black", linewidth=0.5)
    axes.set(yticks=range(len(large)), xlabel="ratio / ratio of the best peer (blue: each peer)", xlim=(0, None),
             yticklabels=[os.path.basename(done[d]["nc3z default"]["path"])[:40] for d in large],
             title="Files of at least 1 MB")
    axes.legend(loc="lower right", fontsize=8)
    save(figure, os.path.join(folder, "per-file.svg"))


def variables(done, peers, folder, geo):
    """Overall: geometric means; per variable: nc3z against the best peer."""
    points = {}
    for m in peers:
        have = [k for k in done if m in done[k]]
        if len(have) == len(done):
            points[m] = (geo(done[k][m]["raw"] / 1e6 / max(done[k][m]["fetch"]["cpu"], 1e-6) for k in have),
                         geo(done[k][m]["raw"] / done[k][m]["size"] for k in have))
    for m in ("nc3z fast", "nc3z default", "nc3z max"):
        points[m] = (geo(v[m]["codec"]["raw"] / 1e6 / v[m]["codec"]["decode_s"] for v in done.values()),
                     geo(v[m]["raw"] / v[m]["size"] for v in done.values()))
    scatter(points, f"Variables of at least 1 MB: {len(done)}", "decode MB/s, one thread, geometric mean", "ratio, geometric mean",
            os.path.join(folder, "variables.svg"))
