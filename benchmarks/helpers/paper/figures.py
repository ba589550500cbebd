"""Drawing of the paper's figures from finished cells."""

import numpy as np
from scipy import stats

from benchmarks.helpers.drawing import plt, save


def paired_auc(cells, name, first, second):
    """Sizes and the two AUCs over the (split, size) of a set that both selectors have."""
    curves = {
        (cell["selector"], cell["split"]): cell["score"]
        for cell in cells
        if cell["set"] == name and "score" in cell
    }
    rows = [
        (int(k), auc, curves[second, split][k])
        for (selector, split), sizes in curves.items()
        if selector == first and (second, split) in curves
        for k, auc in sizes.items()
    ]
    return np.array(rows).T if rows else None


def scatter(cells, name, ours, peers, path):
    """AUC of `ours` against each peer, coloured by size; returns the p-value per peer."""
    figure, panels = plt.subplots(
        1, len(peers), figsize=(5.5 * len(peers), 4.2), squeeze=False, layout="constrained"
    )
    p_values = {}
    for axes, peer in zip(panels[0], peers, strict=True):
        pairs = paired_auc(cells, name, ours, peer)
        if pairs is None:
            axes.set_title(f"{peer}: missing")
            continue
        sizes, mine, theirs = pairs
        p_values[peer] = float(stats.ttest_rel(mine, theirs).pvalue)
        points = axes.scatter(theirs, mine, c=np.log10(sizes), cmap="viridis", s=18)
        ends = [min(mine.min(), theirs.min()), 1]
        axes.plot(ends, ends, color="grey", linewidth=0.8)
        axes.set(xlabel=f"AUC, {peer}", ylabel=f"AUC, {ours}")
        mean = (mine - theirs).mean()
        axes.set_title(f"{name}: mean {mean:+.4f}, paired t-test p = {p_values[peer]:.2g}", size=9)
        figure.colorbar(points, ax=axes, label="log10 of the number of columns")
    save(figure, path)
    return p_values


def orders(cells, names, selectors, path):
    """Mean AUC per set by order, `selectors` from 1 on; the p-value of the last against the first.

    Over the row samples that all orders have.
    """
    figure, axes = plt.subplots(figsize=(6, 4))
    p_values = {}
    for name in names:
        pairs = paired_auc(cells, name, selectors[-1], selectors[0])
        if pairs is None:
            continue
        p_values[name] = float(stats.ttest_rel(pairs[1], pairs[2]).pvalue)
        label = f"{name} ({len(selectors)} against 1: p = {p_values[name]:.2g})"
        by_order = [paired_auc(cells, name, each, selectors[0]) for each in selectors]
        means = {
            n: found[1].mean() for n, found in enumerate(by_order, start=1) if found is not None
        }
        axes.plot(list(means), list(means.values()), marker="o", label=label)
    axes.set(xlabel="order", ylabel="mean AUC over sizes")
    if p_values:
        axes.legend(fontsize=8)
    save(figure, path)
    return p_values


def pixel_maps(chosen, path):
    """28 x 28 maps of chosen pixels: a row per selector, a column per size."""
    selectors = list(chosen)
    sizes = list(chosen[selectors[0]])
    figure, panels = plt.subplots(
        len(selectors), len(sizes), figsize=(1.8 * len(sizes), 2 * len(selectors)), squeeze=False
    )
    for row, selector in zip(panels, selectors, strict=True):
        for axes, k in zip(row, sizes, strict=True):
            image = np.zeros(784)
            image[chosen[selector][k]] = 1
            axes.imshow(image.reshape(28, 28), cmap="Greys", vmin=0, vmax=1)
            axes.set(xticks=[], yticks=[], title=f"{selector}, {k}")
            axes.title.set_size(7)
    save(figure, path)


def large(cells, names, path):
    """AUC against the number of columns on each large set, one line per selector."""
    figure, panels = plt.subplots(1, len(names), figsize=(4.5 * len(names), 3.8), squeeze=False)
    for axes, name in zip(panels[0], names, strict=True):
        for cell in cells:
            if cell["set"] == name and "score" in cell:
                label = f"{cell['selector']} ({cell['seconds']:.0f} s)"
                sizes = [int(k) for k in cell["score"]]
                axes.plot(sizes, list(cell["score"].values()), marker=".", label=label)
        axes.set(xscale="log", title=name, xlabel="number of columns", ylabel="test AUC")
        if axes.lines:
            axes.legend(fontsize=7)
    save(figure, path)
