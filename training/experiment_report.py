"""Tables and plot of experiment.py's results.json.

    python experiment_report.py results.json OUT   -> OUT.md, OUT.svg
"""
import json
import pathlib
import sys

import numpy as np

STUDENT = {5: 2.776, 10: 2.262, 20: 2.093}  # two-sided 95 %, of so many seeds
WAYS = {"random": "random choice", "uncertainty": "uncertainty alone", "refine": "`refine select`"}
COLOURS = {"random": "#777777", "uncertainty": "#c05000", "refine": "#0050a0"}
FIGURES = {"micro": "micro-F1", "macro": "macro-F1", "auc": "mean AUC of the labels"}


def interval(values):
    v = np.array(values)
    return v.mean(), STUDENT[len(v)] * v.std(ddof=1) / np.sqrt(len(v))


def table(results, figure, batch):
    rounds = len(results[0]["random"])
    lines = [f"| rows reviewed | {' | '.join(WAYS.values())} | `refine select` - random | uncertainty - random |", "|---|" + "---|" * 5]
    at = lambda r, way, k: r[way][k][figure]
    for k in range(rounds):
        means = [f"{interval([at(r, w, k) for r in results])[0]:.3f}" for w in WAYS]
        gaps = []
        for w in ("refine", "uncertainty"):
            m, h = interval([at(r, w, k) - at(r, "random", k) for r in results])
            gaps.append(f"{m:+.3f} ({m - h:+.3f} to {m + h:+.3f})" if k else "")
        lines.append(f"| {batch * (k + 1)} | {' | '.join(means + gaps)} |")
    for name, text in (("all", "all of the pool"), ("constant", "always No Error")):
        m = np.mean([r[name][0][figure] for r in results])
        lines.append(f"| {text} | {m:.3f} | | | | |")
    return "\n".join(lines)


def average(results):
    """Mean over the rounds after the start of the difference to random: the area between the curves."""
    lines = ["| mean over the four rounds, less random's | micro-F1 | macro-F1 | mean AUC | seeds in which it is better |", "|---|---|---|---|---|"]
    for w in ("refine", "uncertainty"):
        cells, wins = [], []
        for f in FIGURES:
            d = [np.mean([a[f] - b[f] for a, b in zip(r[w][1:], r["random"][1:])]) for r in results]
            m, h = interval(d)
            cells.append(f"{m:+.3f} ({m - h:+.3f} to {m + h:+.3f})")
            wins.append(f"{sum(x > 0 for x in d)} of {len(d)}")
        lines.append(f"| {WAYS[w]} | {' | '.join(cells)} | {', '.join(wins)} |")
    return "\n".join(lines)


def labels(results, names):
    """Rows with each error that each way ended with, on average."""
    lines = [f"| label | {' | '.join(WAYS.values())} |", "|---|---|---|---|"]
    for n in names:
        counts = [np.mean([r[w][-1]["labels"][n] for r in results]) for w in WAYS]
        if max(counts) >= 0.5:
            lines.append(f"| {n} | {' | '.join(f'{c:.1f}' for c in counts)} |")
    return "\n".join(lines)


def plot(results, batch):
    """Panels of means with 95 % intervals, as an SVG."""
    width, height, left, top = 360, 260, 50, 30
    rounds = len(results[0]["random"])
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {len(FIGURES) * (width + left) + 20} {height + top + 70}" font-family="sans-serif" font-size="12">',
           "<title>F1 on held-out passages by rows reviewed</title>", '<rect width="100%" height="100%" fill="white"/>']
    for panel, (figure, title) in enumerate(FIGURES.items()):
        curves = {w: [interval([r[w][k][figure] for r in results]) for k in range(rounds)] for w in WAYS}
        constant = np.mean([r["constant"][0][figure] for r in results])
        low = np.floor(min([m - h for c in curves.values() for m, h in c] + [constant]) * 20) / 20
        high = np.ceil(max([m + h for c in curves.values() for m, h in c] + [constant]) * 20) / 20
        x0 = left + panel * (width + left)
        px = lambda k, x0=x0: x0 + 20 + k * (width - 60) / (rounds - 1)
        py = lambda v, low=low, high=high: top + height * (high - v) / (high - low)
        out.append(f'<text x="{x0}" y="18" font-size="14">{title}</text>')
        for v in np.arange(low, high + 1e-9, 0.05):
            out.append(f'<line x1="{x0}" x2="{x0 + width - 20}" y1="{py(v):.1f}" y2="{py(v):.1f}" stroke="#dddddd"/><text x="{x0 - 6}" y="{py(v) + 4:.1f}" text-anchor="end">{v:.2f}</text>')
        out.append(f'<line x1="{x0}" x2="{x0 + width - 20}" y1="{py(constant):.1f}" y2="{py(constant):.1f}" stroke="black" stroke-dasharray="2 4"/>')
        for k in range(rounds):
            out.append(f'<text x="{px(k):.1f}" y="{top + height + 18}" text-anchor="middle">{batch * (k + 1)}</text>')
        for i, (w, c) in enumerate(curves.items()):
            shift = (i - 1) * 5
            out.append(f'<polyline fill="none" stroke="{COLOURS[w]}" stroke-width="2" points="{" ".join(f"{px(k) + shift:.1f},{py(m):.1f}" for k, (m, _) in enumerate(c))}"/>')
            out += [f'<line x1="{px(k) + shift:.1f}" x2="{px(k) + shift:.1f}" y1="{py(m - h):.1f}" y2="{py(m + h):.1f}" stroke="{COLOURS[w]}"/>' for k, (m, h) in enumerate(c)]
    y = top + height + 48
    for i, (w, name) in enumerate({**WAYS, "constant": "always No Error"}.items()):
        dash = ' stroke-dasharray="2 4"' if w == "constant" else ""
        out.append(f'<line x1="{left + i * 180}" x2="{left + i * 180 + 24}" y1="{y - 4}" y2="{y - 4}" stroke="{COLOURS.get(w, "black")}" stroke-width="2"{dash}/>'
                   f'<text x="{left + i * 180 + 30}" y="{y}">{name.replace("`", "")}</text>')
    return "\n".join([*out, "</svg>", ""])


def main(path, out):
    data = json.loads(pathlib.Path(path).read_text())
    results, batch, names = data["seeds"], data["batch"], data["labels"]
    parts = [average(results)] + [f"{title[0].upper()}{title[1:]}:\n\n{table(results, f, batch)}" for f, title in FIGURES.items()] + [labels(results, names)]
    pathlib.Path(f"{out}.md").write_text("\n\n".join(parts) + "\n")
    pathlib.Path(f"{out}.svg").write_text(plot(results, batch))


if __name__ == "__main__":
    main(*sys.argv[1:])
