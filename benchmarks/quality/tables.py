"""Numbers of the summary, computed from finished cells."""

from collections import defaultdict

import numpy as np
from scipy import stats

from benchmarks.peers import SELECTORS

REFERENCE = "featgrad"


def auc_by_size(cells):
    """{selector: {set: {k: AUC, mean over splits}}} of the cells that have a result.

    Selectors come in the order of the registry, however the cells were run.
    """
    collected = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for cell in cells:
        for k, auc in cell.get("auc", {}).items():
            collected[cell["selector"]][cell["set"]][int(k)].append(auc)
    return {
        selector: {
            name: {k: float(np.mean(values)) for k, values in sizes.items()}
            for name, sizes in collected[selector].items()
        }
        for selector in SELECTORS
        if selector in collected
    }


def means(curves):
    """{selector: {set: mean AUC over sizes}}."""
    return {
        selector: {name: float(np.mean(list(sizes.values()))) for name, sizes in sets.items()}
        for selector, sets in curves.items()
    }


def complete(table, sets):
    """Selectors with a result on every set."""
    return [selector for selector in table if all(name in table[selector] for name in sets)]


def mean_ranks(table, sets):
    """Mean rank over sets of the complete selectors; 1 is best, ties share."""
    selectors = complete(table, sets)
    scores = np.array([[table[selector][name] for selector in selectors] for name in sets])
    ranks = stats.rankdata(-scores, axis=1).mean(axis=0)
    return dict(zip(selectors, ranks.tolist(), strict=True))


def paired(curves, selector, peer):
    """Differences selector - peer over the (set, k) both have: mean, wins, and two tests."""
    ours, theirs = curves[selector], curves[peer]
    differences = np.array(
        [
            auc - theirs[name][k]
            for name, sizes in ours.items()
            for k, auc in sizes.items()
            if k in theirs.get(name, {})
        ]
    )
    return {
        "pairs": differences.size,
        "mean": float(differences.mean()),
        "wins": int((differences > 0).sum()),
        "losses": int((differences < 0).sum()),
        "t_test_p": float(stats.ttest_1samp(differences, 0).pvalue),
        "wilcoxon_p": float(stats.wilcoxon(differences).pvalue) if differences.any() else 1.0,
    }


def gaps(table, sets, selector):
    """{set: (best peer, its mean AUC minus the selector's)}; featgrad variants are no peers."""
    result = {}
    for name in sets:
        rivals = {
            peer: scores[name]
            for peer, scores in table.items()
            if name in scores and not peer.startswith(REFERENCE)
        }
        if rivals and name in table[selector]:
            best = max(rivals, key=rivals.get)
            result[name] = (best, rivals[best] - table[selector][name])
    return result


def costs(cells):
    """{selector: (median seconds, median peak in MB)} over cells."""
    collected = defaultdict(list)
    for cell in cells:
        if "seconds" in cell:
            collected[cell["selector"]].append((cell["seconds"], cell["peak_bytes"] / 2**20))
    return {selector: np.median(values, axis=0).tolist() for selector, values in collected.items()}


def missing(cells):
    """{(selector, set): reason}, the reason of the last split that has one."""
    return {(cell["selector"], cell["set"]): cell["missing"] for cell in cells if "missing" in cell}


def unique(values):
    """Values in order of first appearance."""
    return list(dict.fromkeys(values))
