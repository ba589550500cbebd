"""What the README shows: `python -m benchmarks.front_page` draws its pictures and fills its rows.

Rows and chart are read from `benchmarks/results`; a test fails where the README says anything else.
The documentation draws the pictures again when it is built. That of the report needs Chromium.
"""

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from benchmarks.helpers.drawing import plt, save
from benchmarks.helpers.quality import cells, ranks, tables
from featgrad import FeatureGradientSelector
from featgrad.report import gather_facts, summarise, write_report

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
IMAGES = ROOT / "docs" / "images"
README = ROOT / "README.md"
LABELS = {
    "l1": "L1 path",
    "l1_path": "L1 path",
    "lightgbm": "LightGBM gain",
    "anova": "ANOVA F (SelectKBest)",
    "forward": "forward (fastcan)",
    "mutual_information": "mutual information",
}
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
# Of the report, in pixels: down to some line of its table of features.
WINDOW = (960, 1540)


def quality():
    told, over_sets = [], ranked()
    for which, found in over_sets.items():
        (first, (best, _)), (second, (next_best, _)) = list(found["ranks"].items())[:2]
        order = f"{label(first)} {best:.2f}, {label(second)} {next_best:.2f}"
        told.append(f"{which} ({found['n_sets']}) {order}")
    against = over_sets["confirmation sets"]["against"].items()
    chances = [pair["p"] for peer, pair in against if not peer.startswith(tables.REFERENCE)]
    told[0] += f", Wilcoxon's p against each of {len(chances)} peers {max(chances):.2g} at most"
    return "the two best mean ranks: " + "; ".join(reversed(told))


def rare_class():
    scores = summary()["binary"]["mean_score"]
    shown = ("featgrad", "lightgbm", "l1_path", "anova")
    listed = ", ".join(f"{label(name)} {scores[name]['news_rare']:.3f}" for name in shown)
    return f"one newsgroup among twenty, mean test AUC: {listed}"


def speed():
    data = "dense, 5,000 columns, order 6, float32"
    time = figure("speed", data, "value and gradient")
    faster = figure("speed", data, "faster than the paper's Lemma in torch")
    return (
        f"exact value and gradient over 6,000 x 5,000: {time:.0f} ms on two cores, {faster:.0f} "
        "times faster than autograd of the published formula"
    )


def scale():
    bars = ("whole fit", "peak memory", "planted columns found in 1000")
    minutes, memory, found = (figure("scale", "webspam shape", bar) for bar in bars)
    return (
        "1,000 of 16.6 million sparse columns, simulated, from a file of 280,000 rows: "
        f"{minutes:.1f} minutes, {memory:.1f} GiB, {found:.0%} of the planted columns found"
    )


def weakest():
    """The two sets on which a peer is furthest ahead."""
    by_gap = sorted(
        ((gap, name, peer, kind))
        for kind, summed in summary().items()
        for name, (peer, gap) in summed["gaps"].items()
    )
    listed = []
    for gap, name, peer, kind in by_gap[:-3:-1]:
        ours = summary()[kind]["mean_score"][tables.REFERENCE][name]
        metric = tables.METRICS[kind].replace("^2", "²")
        listed.append(f"{name}, test {metric}: {ours:.3f}, {label(peer)} {ours + gap:.3f}")
    return "; ".join(listed)


# What is told, from which folder of results.
ROWS = {
    "Quality": (quality, "quality"),
    "Rare class": (rare_class, "quality"),
    "Speed": (speed, "speed"),
    "Scale": (scale, "scale"),
    "Weakest": (weakest, "quality"),
}


def label(selector):
    return LABELS.get(selector, selector)


def ranked():
    """Mean ranks over all sets, and over those that only confirm."""
    found = cells.read_cells(RESULTS / "quality" / "cells.jsonl")
    return ranks.ranked(list(found.values()))


def summary():
    return json.loads((RESULTS / "quality" / "summary.json").read_text())


def figure(name, data, bar):
    entries = json.loads((RESULTS / name / "results.json").read_text())
    (value,) = (e["measured"] for e in entries if (e["data"], e["bar"]) == (data, bar))
    return value


def fill_rows(text):
    """The README with the rows that results say now, each with the last commit of its results."""
    for title, (tell, name) in ROWS.items():
        command = ["git", "log", "-1", "--format=%h", "--abbrev=7", "--", str(RESULTS / name)]
        log = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        link = f"[{name}](benchmarks/results/{name}/summary.md)"
        row = f"| **{title}** | {tell()} | {link}, `{log.stdout.strip()}` |"
        text = re.sub(rf"^\| \*\*{title}\*\* .*$", lambda _, row=row: row, text, flags=re.MULTILINE)
    return text


def draw_ranks(path):
    """Mean rank of each selector with its standard error over sets."""
    found = ranked()["all sets"]
    figure, ax = plt.subplots(figsize=(7, 0.36 * len(found["ranks"]) + 0.9))
    for height, (name, (mean, error)) in enumerate(reversed(found["ranks"].items())):
        colour = "#0b5fc0" if name == tables.REFERENCE else "#7b858f"
        ax.errorbar(mean, height, xerr=error, color=colour, marker="o", elinewidth=3, markersize=8)
        ax.annotate(
            f"{mean:.2f} ± {error:.2f}",
            (mean + error, height),
            (6, 0),
            textcoords="offset points",
            va="center",
        )
    ax.set_yticks(range(len(found["ranks"])), [label(name) for name in reversed(found["ranks"])])
    ax.set_xlabel(f"mean rank over {found['n_sets']} data sets ± its standard error (1 is best)")
    ax.set_xlim(1, ax.get_xlim()[1] + 0.5)
    ax.margins(y=0.1)
    ax.spines[["top", "right"]].set_visible(False)
    save(figure, path)


def fit_example():
    """The fit of the README and of the first page of the documentation."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    selector = FeatureGradientSelector(3, path_sizes=[1, 2, 3, 5, 10, 30], random_state=0)
    return selector.fit(X, y), X, y


def draw_report(path):
    """The report of the example as a browser shows it; the figures in it are in the file, too."""
    from PIL import Image, ImageOps
    from PIL.PngImagePlugin import PngInfo

    fitted = fit_example()
    shown = PngInfo()
    shown.add_text("Description", summarise(*fitted))
    with tempfile.TemporaryDirectory() as folder:
        page, picture = Path(folder, "report.html"), Path(folder, "report.png")
        write_report(gather_facts(*fitted), page)
        command = [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
            "--window-size={},{}".format(*WINDOW),
            f"--screenshot={picture}",
            page.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        with Image.open(picture) as image:
            page = image.convert("RGB")
    framed = ImageOps.expand(page.crop((0, 0, WINDOW[0], last_gap(page))), 1, fill="#d0d7de")
    framed.quantize(200).save(path, optimize=True, pnginfo=shown)


def last_gap(page, least=5):
    """Above the lowest run of empty lines: nothing is cut in two there."""
    lines = np.asarray(page.convert("L"))
    is_empty = (lines == lines[0, 0]).all(axis=1)
    runs = np.convolve(is_empty, np.ones(least), "valid") == least
    return int(np.flatnonzero(runs).max(initial=0)) + least or len(lines)


if __name__ == "__main__":
    README.write_text(fill_rows(README.read_text()))
    draw_ranks(IMAGES / "ranks.svg")
    if BROWSER:
        draw_report(IMAGES / "report.png")
