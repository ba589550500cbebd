"""The figures in words: mean AUC per set and selector, and the paired tests."""

import numpy as np


def markdown(cells, image_sets, large_sets, selectors, orders, tests):
    """All of it as a page; sets and selectors without cells have a dash."""
    parts = [
        "# The paper's figures",
        "Mean test AUC over sizes and row samples. `featgrad_paper` is the published algorithm, "
        "`featgrad` this library's default; p-values are those of paired t-tests over row samples "
        "and sizes.",
        "## Images",
        table(cells, image_sets, selectors),
        p_values(tests),
        "## Order of the published algorithm",
        table(cells, image_sets, orders, [f"order {n}" for n in range(1, len(orders) + 1)]),
        "Row samples that all orders have.",
    ]
    if large_sets:
        parts += ["## Large sparse sets", table(cells, large_sets, ("mission", *selectors[-2:]))]
    return "\n\n".join(parts) + "\n"


def table(cells, sets, selectors, labels=None):
    """One row per selector, one column per set, over the samples that all of them have."""
    lines = [f"| | {' | '.join(sets)} |", "| --- |" + " --- |" * len(sets)]
    means = {name: mean_auc(cells, name, selectors) for name in sets}
    for selector, label in zip(selectors, labels or selectors, strict=True):
        shown = [f"{means[s][selector]:.4f}" if selector in means[s] else "-" for s in sets]
        lines.append(f"| {label} | {' | '.join(shown)} |")
    return "\n".join(lines)


def mean_auc(cells, name, selectors):
    """{selector: mean AUC} on one set, over the samples that all selectors with any have."""
    found = {selector: {} for selector in selectors}
    for cell in cells:
        if cell["set"] == name and cell["selector"] in found and "score" in cell:
            found[cell["selector"]][cell["split"]] = np.mean(list(cell["score"].values()))
    found = {selector: samples for selector, samples in found.items() if samples}
    if not found:
        return {}
    common = set.intersection(*(set(samples) for samples in found.values()))
    return {s: np.mean([samples[i] for i in common]) for s, samples in found.items() if common}


def p_values(tests):
    """{figure: {peer: p-value}} as a table."""
    lines = ["| figure | against | p |", "| --- | --- | --- |"]
    lines += [
        f"| {figure} | {peer} | {p:.2g} |"
        for figure, by_peer in tests.items()
        for peer, p in by_peer.items()
    ]
    return "\n".join(lines)
