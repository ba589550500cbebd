"""The summary of a run as Markdown and JSON."""

import json
from collections import Counter

from benchmarks.helpers.datasets import REGISTRY
from benchmarks.helpers.quality import ranks, tables, times
from featgrad._support.wording import counted

# Near chance for a linear judge, whatever is chosen.
NOT_LINEAR = "madelon"


def write_summary(cells, out):
    """Write summary.md and summary.json; returns the Markdown."""
    of_kind = {kind: [cell for cell in cells if cell["kind"] == kind] for kind in tables.METRICS}
    parts = {kind: summarise(some) for kind, some in of_kind.items() if some}
    text = "\n".join(["# Quality of chosen features", "", INTRODUCTION, ""])
    over_sets = ranks.ranked(cells)
    text += "\n" + rank_markdown(over_sets)
    for kind, part in parts.items():
        text += "\n" + as_markdown(kind, part)
    text += "\n" + time_markdown(times.ratios(cells))
    text += "\n" + missing_markdown(cells) + splits_markdown(cells)
    out.mkdir(parents=True, exist_ok=True)
    (out / "summary.json").write_text(json.dumps(parts, indent=1) + "\n")
    (out / "ranks.json").write_text(json.dumps(over_sets, indent=1) + "\n")
    (out / "summary.md").write_text(text)
    return text


INTRODUCTION = """\
Test AUC (one-vs-rest macro for several classes) of a logistic regression on the chosen columns, or
test R^2 (at least -1) of a ridge regression, mean over the sizes k below the number of columns,
mean over splits; a set counts for a selector that has finished all of its splits. The forest judges
sizes 10, 50 and 200 where a set has them. Selectors see training rows only."""


def summarise(cells):
    """All tables of one kind of sets."""
    sets = tables.unique(cell["set"] for cell in cells)
    curves = tables.scores_by_size(cells)
    table = tables.means(curves)
    forest = tables.means(tables.scores_by_size(cells, "forest"))
    summary = {
        "sets": sets,
        "mean_score": table,
        "mean_forest": forest,
        "mean_rank": tables.mean_ranks(table, sets),
        "forest_rank": tables.mean_ranks(forest, sets),
        "costs": tables.costs(cells),
        "time_ratios": times.ratios(cells),
    }
    reference = tables.REFERENCE
    if reference in table:
        tests = {peer: tables.paired(curves, reference, peer) for peer in table}
        summary["paired"] = {peer: t for peer, t in tests.items() if t and peer != reference}
        summary["gaps"] = tables.gaps(table, sets, reference)
    return summary


def row(*values):
    return "| " + " | ".join(values) + " |"


def as_markdown(kind, summary):
    """Tables of one kind of sets."""
    sets = summary["sets"]
    linear = score_table(summary["mean_score"], summary["mean_rank"], sets)
    lines = [f"## {kind}", "", f"Linear judge, test {tables.METRICS[kind]}:", "", *linear, ""]
    if summary["mean_forest"]:
        forest = score_table(summary["mean_forest"], summary["forest_rank"], sets)
        lines += [f"Random forest, test {tables.METRICS[kind]}:", "", *forest, ""]
    lines += [*cost_table(summary), ""]
    if "paired" in summary:
        lines += [*paired_table(summary), "", *gap_table(summary), ""]
    return "\n".join(lines)


def score_table(table, ranks, sets):
    """Sets as rows, selectors as columns, the best of each set in bold; the reference first."""
    table = dict(sorted(table.items(), key=lambda item: item[0] != tables.REFERENCE))
    lines = [row("set", *table), row(*["---"] * (len(table) + 1))]
    for name in sets:
        best = max((scores[name] for scores in table.values() if name in scores), default=None)
        lines.append(row(name, *[score_text(scores.get(name), best) for scores in table.values()]))
    lines.append(average_row("**average**", table, sets))
    if NOT_LINEAR in sets:
        others = [name for name in sets if name != NOT_LINEAR]
        lines.append(average_row(f"average without {NOT_LINEAR}", table, others))
    shown = [f"{ranks[selector]:.2f}" if selector in ranks else "-" for selector in table]
    return [*lines, row("mean rank", *shown)]


def score_text(score, best):
    if score is None:
        return "-"
    return f"**{score:.4f}**" if score == best else f"{score:.4f}"


def average_row(label, table, sets):
    return row(label, *[average_text(scores, sets) for scores in table.values()])


def average_text(scores, sets):
    """Average over sets; an average over fewer sets says so, it does not compare."""
    found = [scores[name] for name in sets if name in scores]
    if not found:
        return "-"
    average = sum(found) / len(found)
    return f"{average:.4f}" + (
        "" if len(found) == len(sets) else f" ({counted(len(found), 'set')})"
    )


def cost_table(summary):
    lines = [
        row("selector", "median processor seconds (all sizes)", "median peak MB"),
        row(*["---"] * 3),
    ]
    for selector, (seconds, peak) in summary["costs"].items():
        lines.append(row(selector, f"{seconds:.2f}", f"{peak:.0f}"))
    return lines


def paired_table(summary):
    """Paired tests over (set, size), and over sets alone."""
    head = f"{tables.REFERENCE} minus", "pairs", "mean", "wins", "losses"
    head += "t-test p", "Wilcoxon p", "Wilcoxon p over sets"
    lines = [row(*head), row(*["---"] * len(head))]
    for peer, t in summary["paired"].items():
        counts = str(t["wins"]), str(t["losses"])
        tests = [f"{t[name]:.2g}" for name in ("t_test_p", "wilcoxon_p", "sets_p")]
        lines.append(row(peer, str(t["pairs"]), f"{t['mean']:+.4f}", *counts, *tests))
    return lines


def gap_table(summary):
    lines = [row("set", "best peer", f"best peer minus {tables.REFERENCE}"), row(*["---"] * 3)]
    return lines + [row(n, best, f"{gap:+.4f}") for n, (best, gap) in summary["gaps"].items()]


def rank_markdown(over_sets):
    """Mean ranks and pairs over sets of all kinds, linear judge."""
    lines = ["## Ranks over sets", ""]
    lines.append("Linear judge; `l1` is the L1-logistic path for classes, the lasso for numbers.")
    for label, found in over_sets.items():
        head = f"{tables.REFERENCE} against", "mean rank", "sets", "better", "worse"
        lines += ["", f"### {label.capitalize()}", ""]
        rank, error = found["ranks"].get(tables.REFERENCE, (float("nan"),) * 2)
        lines += [
            f"Mean rank over the {found['n_sets']} sets that all ranked selectors have: "
            f"{tables.REFERENCE} {rank:.2f} (standard error {error:.2f}) of {len(found['ranks'])}.",
            "",
            row(*head, "mean difference", "Wilcoxon p"),
            row(*["---"] * (len(head) + 2)),
        ]
        for peer, t in sorted(found["against"].items(), key=lambda item: item[1]["p"]):
            shown = f"{found['ranks'][peer][0]:.2f}" if peer in found["ranks"] else "-"
            counts = [str(t[name]) for name in ("sets", "wins", "losses")]
            lines.append(row(peer, shown, *counts, f"{t['mean']:+.4f}", f"{t['p']:.2g}"))
    return "\n".join(lines) + "\n"


def time_markdown(ratios):
    """Seconds of the reference relative to peers, per set, with median and maximum."""
    if not ratios:
        return ""
    sentence = f"Processor seconds of {tables.REFERENCE}, all sizes, divided by those of each peer."
    lines = ["## Time", "", sentence, "", row("set", *times.PEERS)]
    lines.append(row(*["---"] * (len(times.PEERS) + 1)))
    extremes = {f"**{label}**": found for label, found in times.extremes(ratios).items()}
    for name, found in (ratios | extremes).items():
        texts = [f"{found[peer]:.2f}" if peer in found else "-" for peer in times.PEERS]
        lines.append(row(name, *texts))
    return "\n".join(lines) + "\n"


def missing_markdown(cells):
    """What did not run, and why."""
    reasons = tables.missing(cells)
    if not reasons:
        return ""
    lines = ["## Missing", "", row("selector", "reason", "sets"), row(*["---"] * 3)]
    return "\n".join(lines + [row(*key, ", ".join(sets)) for key, sets in reasons.items()]) + "\n"


def splits_markdown(cells):
    """Sets of which some splits have not run yet."""
    judged = Counter(cell["set"] for cell in cells if is_judged(cell))
    planned = {name: REGISTRY[name].n_splits for name in judged if name in REGISTRY}
    left = [f"{name} {judged[name]} of {n}" for name, n in planned.items() if judged[name] < n]
    return f"\nSplits that have run, where some are left: {', '.join(left)}.\n" if left else ""


def is_judged(cell):
    return cell["selector"] == tables.REFERENCE and "score" in cell
