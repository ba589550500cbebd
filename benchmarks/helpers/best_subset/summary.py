"""Means over the settings of each shape, ours beside those that the authors published."""

import csv

import numpy as np

from benchmarks.helpers.best_subset.protocol import FAMILIES, RATIOS, Setting
from benchmarks.helpers.provenance import in_words
from benchmarks.helpers.quality.summary import row
from benchmarks.helpers.sources import locate

PUBLISHED = "best_subset_hastie2020.csv"
OURS = "featgrad"
# The authors' columns, and what is said of them here.
MEASURES = {
    "err_test_over_sigma2": ("Error on new rows in units of the noise", min),
    "F1": ("F of the chosen columns", max),
}


def published():
    """{(method, setting): measures} of the authors' own results; empty where the file is absent."""
    path = locate(PUBLISHED)
    if path is None:
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (one["method"].replace("Forward stepwise", "Stepwise"), setting_of(one)): {
                name: float(one[name]) for name in (*MEASURES, "nonzeros")
            }
            for one in csv.DictReader(file)
        }


def setting_of(one):
    return Setting(one["setting"], int(one["beta_type"]), float(one["rho"]), float(one["snr"]))


def with_ours(results):
    """Published measures, and the means over our repetitions under the same names."""
    found = published()
    for entry in results:
        setting = Setting(*(entry[name] for name in Setting._fields))
        found[OURS, setting] = {
            "err_test_over_sigma2": float(np.mean(entry["errors"])),
            "F1": float(np.mean(entry["F"])),
            "nonzeros": float(np.mean(entry["sizes"])),
        }
    return found


def family_means(found, measure):
    """{method: {family: mean over its settings}}, of settings that every method has."""
    methods = list(dict.fromkeys(method for method, _ in found))
    settings = set.intersection(*({s for m, s in found if m == method} for method in methods))
    return {
        method: {
            family: float(np.mean([found[method, s][measure] for s in settings if s[0] == family]))
            for family in FAMILIES
            if any(s[0] == family for s in settings)
        }
        for method in methods
    }


def markdown(measured, results):
    """One table for each measure; the best of each column in bold."""
    found, repetitions = with_ours(results), sorted({len(entry["errors"]) for entry in results})
    lines = ["# Best subset, forward stepwise or lasso?", ""]
    lines += [
        f"The {len(results)} settings of Hastie, Tibshirani & Tibshirani (2020), means over "
        f"{' or '.join(map(str, repetitions))} repetitions. Methods other than {OURS}: the "
        "authors' own results, over ten. Candidates are chosen by as many validation rows as there "
        f"are training rows; those of {OURS} are its sets of 0 to 50 columns, each refitted by ten "
        "ridges.",
        "",
        f"Measured by {in_words(measured)}.",
    ]
    for measure, (title, best) in MEASURES.items():
        means = family_means(found, measure)
        families = list(means[OURS])
        heads = [f"n = {n}, p = {p}" for n, p in map(FAMILIES.get, families)]
        lines += ["", f"## {title}", "", row("method", *heads)]
        lines.append(row(*["---"] * (1 + len(heads))))
        leading = {family: best(one[family] for one in means.values()) for family in families}
        for method, one in means.items():
            shown = [bold(one[family], leading[family]) for family in families]
            lines.append(row(method, *shown))
    return "\n".join(lines + gap_lines(found)) + "\n"


def gap_lines(found):
    """By how much our error is above that of the best published method of each shape, by ratio."""
    error = next(iter(MEASURES))
    means = family_means(found, error)
    ours = means.pop(OURS)
    if not means:
        return []
    best = {family: min(means, key=lambda method, f=family: means[method][f]) for family in ours}
    heads = [f"n = {n}, p = {p}: {best[f]}" for f, (n, p) in FAMILIES.items() if f in best]
    lines = ["", f"## Error of {OURS} less that of the best other method", ""]
    lines += [row("signal-to-noise ratio", *heads), row(*["---"] * (1 + len(best)))]
    for ratio in RATIOS:
        shown = [f"{gap(found, error, peer, f, ratio):+.3f}" for f, peer in best.items()]
        lines.append(row(f"{ratio:.2f}", *shown))
    return lines


def gap(found, measure, peer, family, ratio):
    """Mean over settings of a shape and a ratio; not a number where there are none."""
    settings = [s for m, s in found if m == OURS and (s.family, s.snr) == (family, ratio)]
    gaps = [
        found[OURS, s][measure] - found[peer, s][measure] for s in settings if (peer, s) in found
    ]
    return float(np.mean(gaps)) if gaps else float("nan")


def bold(value, leading):
    return f"**{value:.3f}**" if value == leading else f"{value:.3f}"
