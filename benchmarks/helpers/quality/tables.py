"""Numbers of the summary, computed from finished cells."""

from collections import Counter, defaultdict

import numpy as np
from scipy import stats

from benchmarks.helpers.peers import SELECTORS

REFERENCE = "featgrad"
METRICS = {"binary": "AUC", "multiclass": "AUC", "regression": "R^2"}


def scores_by_size(cells, judge="score"):
    """{selector: {set: {k: score, mean over splits}}} of sets that a selector has all splits of.

    Selectors come in the order of the registry, however the cells were run.
    """
    judged = [cell for cell in cells if cell.get(judge)]
    splits = Counter((cell["set"], cell["selector"]) for cell in judged)
    most = {name: max(splits[key] for key in splits if key[0] == name) for name, _ in splits}
    collected = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for cell in judged:
        name, selector = cell["set"], cell["selector"]
        if splits[name, selector] == most[name]:
            for k, score in cell[judge].items():
                collected[selector][name][int(k)].append(score)
    return {
        selector: {
            name: {k: float(np.mean(values)) for k, values in sizes.items()}
            for name, sizes in collected[selector].items()
        }
        for selector in SELECTORS
        if selector in collected
    }


def means(curves):
    """{selector: {set: mean score over sizes}}."""
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
    if not selectors:
        return {}
    scores = np.array([[table[selector][name] for selector in selectors] for name in sets])
    ranks = stats.rankdata(-scores, axis=1).mean(axis=0)
    return dict(zip(selectors, ranks.tolist(), strict=True))


def paired(curves, selector, peer):
    """Differences selector - peer over the (set, k) both have; None when there are none.

    Sizes of one set are not independent of each other, so the tests over (set, k) flatter the
    evidence; `sets_p` is the same signed-rank test on one mean difference per set.
    """
    ours, theirs = curves[selector], curves[peer]
    by_set = [
        [ours[name][k] - theirs[name][k] for k in ours[name] if k in theirs[name]]
        for name in ours
        if name in theirs
    ]
    differences = np.concatenate([np.empty(0), *by_set])
    if differences.size == 0:
        return None
    return {
        "pairs": differences.size,
        "mean": float(differences.mean()),
        "wins": int((differences > 0).sum()),
        "losses": int((differences < 0).sum()),
        "t_test_p": p_value(stats.ttest_1samp, differences, 0),
        "wilcoxon_p": p_value(stats.wilcoxon, differences),
        "sets_p": p_value(stats.wilcoxon, np.array([np.mean(d) for d in by_set if d])),
    }


def p_value(test, differences, *arguments):
    """p-value of a test, 1 where there is nothing to test."""
    if differences.size < 2 or not differences.any():
        return 1.0
    return float(test(differences, *arguments).pvalue)


def gaps(table, sets, selector):
    """{set: (best peer, its mean score minus the selector's)}; featgrad variants are no peers."""
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
    """{(selector, reason): sets}."""
    collected = defaultdict(list)
    for cell in cells:
        if "missing" in cell:
            collected[cell["selector"], cell["missing"]].append(cell["set"])
    return {key: unique(sets) for key, sets in collected.items()}


def unique(values):
    """Values in order of first appearance."""
    return list(dict.fromkeys(values))
