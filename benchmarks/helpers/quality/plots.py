"""Plots of a run: score against the number of columns per set, and mean ranks."""

import numpy as np
from scipy import stats

from benchmarks.helpers.drawing import plt, save
from benchmarks.helpers.quality import tables


def write_plots(cells, out):
    """One figure of curves per set, one critical-difference figure per kind of sets."""
    folder = out / "plots"
    folder.mkdir(parents=True, exist_ok=True)
    curves = tables.scores_by_size(cells)
    kinds = {cell["set"]: cell["kind"] for cell in cells}
    for name, kind in kinds.items():
        plot_curves(curves, name, tables.METRICS[kind], folder / f"score_{name}.svg")
    for kind in tables.unique(kinds.values()):
        sets = [name for name in kinds if kinds[name] == kind]
        ranks = tables.mean_ranks(tables.means(curves), sets)
        if len(ranks) > 1 and len(sets) > 1:
            plot_ranks(ranks, len(sets), folder / f"critical_difference_{kind}.svg")


def plot_curves(curves, name, metric, path):
    """Score against k, one line per selector."""
    figure, axes = plt.subplots(figsize=(7, 4.5))
    colours = plt.get_cmap("tab20").colors
    for colour, (selector, sets) in zip(colours, curves.items(), strict=False):
        if name in sets:
            sizes = sorted(sets[name])
            heavy = selector == tables.REFERENCE
            axes.plot(
                sizes,
                [sets[name][k] for k in sizes],
                color="black" if heavy else colour,
                linewidth=2.5 if heavy else 1.2,
                marker=".",
                label=selector,
            )
    axes.set(xscale="log", xlabel="number of columns", ylabel=f"test {metric}", title=name)
    axes.legend(fontsize=7, ncols=2)
    save(figure, path)


def critical_difference(n_selectors, n_sets, level=0.05):
    """Nemenyi's smallest significant difference of two mean ranks (Demsar 2006)."""
    q = stats.studentized_range.ppf(1 - level, n_selectors, np.inf) / np.sqrt(2)
    return q * np.sqrt(n_selectors * (n_selectors + 1) / (6 * n_sets))


def undistinguished(ranks, difference):
    """Maximal runs (first, last) of sorted ranks that lie within the critical difference."""
    runs = []
    for first in range(len(ranks)):
        last = int(np.searchsorted(ranks, ranks[first] + difference, side="right")) - 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def plot_ranks(ranks, n_sets, path):
    """Mean ranks on a line; bars join selectors that the Nemenyi test does not tell apart."""
    names = sorted(ranks, key=ranks.get)
    values = np.array([ranks[name] for name in names])
    difference = critical_difference(len(names), n_sets)
    figure, axes = plt.subplots(figsize=(7, 0.35 * len(names) + 1.5))
    for height, (name, value) in enumerate(zip(names, values, strict=True)):
        axes.plot([value, value], [0, -height - 1], color="grey", linewidth=0.8)
        axes.text(value, -height - 1, f" {name} ({value:.2f})", va="center", fontsize=8)
    for level, (first, last) in enumerate(undistinguished(values, difference)):
        axes.plot(values[[first, last]], [0.4 + 0.3 * level] * 2, color="black", linewidth=3)
    axes.set_title(
        f"Mean rank over {n_sets} sets, critical difference {difference:.2f}", fontsize=9
    )
    axes.set_xlim(0.9, len(names) + 1.5)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_yticks([])
    axes.xaxis.tick_top()
    for side in ("left", "right", "bottom", "top"):
        axes.spines[side].set_visible(False)
    save(figure, path)
