"""The summary of a run as Markdown and JSON."""

import json

from benchmarks.quality import tables


def write_summary(cells, out):
    """Write summary.md and summary.json; returns the Markdown."""
    kinds = tables.unique(cell["kind"] for cell in cells)
    parts = {kind: summarise([cell for cell in cells if cell["kind"] == kind]) for kind in kinds}
    text = "\n".join(["# Quality of chosen features", "", INTRODUCTION, ""])
    for kind, part in parts.items():
        text += "\n" + as_markdown(kind, part)
    text += "\n" + missing_markdown(cells)
    out.mkdir(parents=True, exist_ok=True)
    (out / "summary.json").write_text(json.dumps(parts, indent=1) + "\n")
    (out / "summary.md").write_text(text)
    return text


INTRODUCTION = """\
Test AUC (one-vs-rest macro for several classes) of a logistic regression on the chosen columns,
mean over the sizes k below the number of columns, mean over splits. Selectors see training rows
only."""


def summarise(cells):
    """All tables of one kind of sets."""
    sets = tables.unique(cell["set"] for cell in cells)
    curves = tables.auc_by_size(cells)
    table = tables.means(curves)
    summary = {
        "sets": sets,
        "mean_auc": table,
        "mean_rank": tables.mean_ranks(table, sets),
        "costs": tables.costs(cells),
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
    lines = [f"## {kind}", "", *auc_table(summary), "", *cost_table(summary), ""]
    if "paired" in summary:
        lines += [*paired_table(summary), "", *gap_table(summary), ""]
    return "\n".join(lines)


def auc_table(summary):
    """Sets as rows, selectors as columns, the best of each set in bold."""
    table, sets = summary["mean_auc"], summary["sets"]
    selectors = list(table)
    lines = [row("set", *selectors), row(*["---"] * (len(selectors) + 1))]
    for name in sets:
        best = max(table[selector].get(name, 0) for selector in selectors)
        lines.append(row(name, *[auc_text(table[s].get(name), best) for s in selectors]))
    averages = [average_text(table[selector], sets) for selector in selectors]
    ranks = [f"{summary['mean_rank'][s]:.2f}" if s in summary["mean_rank"] else "-" for s in table]
    return [*lines, row("**average**", *averages), row("mean rank", *ranks)]


def auc_text(auc, best):
    if auc is None:
        return "-"
    return f"**{auc:.4f}**" if auc == best else f"{auc:.4f}"


def average_text(scores, sets):
    """Average over sets; an average over fewer sets says so, it does not compare."""
    average = sum(scores.values()) / len(scores)
    return f"{average:.4f}" + ("" if len(scores) == len(sets) else f" ({len(scores)} sets)")


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


def missing_markdown(cells):
    """What did not run, and why."""
    reasons = tables.missing(cells)
    if not reasons:
        return ""
    lines = ["## Missing", "", row("selector", "set", "reason"), row(*["---"] * 3)]
    return "\n".join(lines + [row(*key, reason) for key, reason in reasons.items()]) + "\n"
