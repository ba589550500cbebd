"""Ranks over sets of all kinds, and a test against every peer with one difference for each set."""

import numpy as np
from scipy import stats

from benchmarks.helpers.quality import tables
from benchmarks.helpers.roles import ROLES

# One rule under two names, one for classes and one for numbers.
MERGED = {"l1_path": "l1", "lasso": "l1"}
# A selector that lacks more of the sets is compared in pairs, and not ranked.
MOST_MISSING = 0.25


def ranked(cells):
    """{which sets: {"sets", "ranks", "against"}} for all sets and for the confirmation sets."""
    curves = merged(tables.scores_by_size([c for c in cells if c["kind"] in tables.METRICS]))
    table = tables.means(curves)
    everywhere = tables.unique(name for scores in table.values() for name in scores)
    confirmed = [name for name in everywhere if name in ROLES["confirmation"]]
    return {
        label: of_sets(table, sets)
        for label, sets in (("confirmation sets", confirmed), ("all sets", everywhere))
        if any(name in table.get(tables.REFERENCE, {}) for name in sets)
    }


def merged(curves):
    """Selectors with their common names."""
    together = {}
    for selector, sets in curves.items():
        together.setdefault(MERGED.get(selector, selector), {}).update(sets)
    return together


def of_sets(table, sets):
    """Mean ranks with their standard errors over the sets all of them have; pairs by themselves."""
    ours = table[tables.REFERENCE]
    found = {s: [n for n in sets if n in scores] for s, scores in table.items()}
    often = [s for s in table if len(found[s]) >= (1 - MOST_MISSING) * len(sets)]
    common = [name for name in sets if all(name in table[selector] for selector in often)]
    scores = np.array([[table[s][name] for s in often] for name in common])
    ranks = stats.rankdata(-scores, axis=1) if common else np.empty((0, len(often)))
    errors = ranks.std(axis=0, ddof=1) / np.sqrt(len(ranks)) if len(ranks) > 1 else 0 * ranks[0]
    order = np.argsort(ranks.mean(axis=0))
    return {
        "n_sets": len(common),
        "ranks": {often[i]: (float(ranks[:, i].mean()), float(errors[i])) for i in order},
        "against": {
            peer: against(np.array([ours[name] - table[peer][name] for name in both]))
            for peer in table
            if peer != tables.REFERENCE and (both := [name for name in found[peer] if name in ours])
        },
    }


def against(differences):
    """Wins and losses by set, the mean difference and Wilcoxon's signed-rank test."""
    return {
        "sets": int(differences.size),
        "wins": int((differences > 0).sum()),
        "losses": int((differences < 0).sum()),
        "mean": float(differences.mean()),
        "p": tables.p_value(stats.wilcoxon, differences),
    }
