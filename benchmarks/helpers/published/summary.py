"""The published tables with measured figures next to the papers', as Markdown."""

import numpy as np

from benchmarks.helpers.quality.summary import row


def markdown(tables, results, selectors):
    """All tables that have results."""
    parts = ["# Published tables", "Accuracy on test rows, mean over random splits."]
    for table in tables:
        entries = [entry for entry in results if entry["table"] == table.name]
        if entries:
            parts.append(as_markdown(table, entries, selectors))
    return "\n\n".join(parts) + "\n"


def as_markdown(table, entries, selectors):
    notes = "\n".join(f"- {note}" for note in table.notes)
    comparison = "\n".join(comparison_lines(table, entries, selectors))
    head = f"## {table.name}\n\n{table.source}.\n\nProtocol: {table.protocol}"
    return f"{head}\n\n{notes}\n\n{comparison}"


def comparison_lines(table, entries, selectors):
    """Sets as rows; the paper's methods, then ours."""
    methods = list(dict.fromkeys(method for row_ in table.figures.values() for method in row_))
    lines = [row("set", *[f"{method} (paper)" for method in methods], *selectors)]
    lines.append(row(*["---"] * (1 + len(methods) + len(selectors))))
    for case in table.cases:
        ours = {
            entry["selector"]: f"{np.mean(entry['accuracies']):.3f}"
            for entry in entries
            if entry["set"] == case.name
        }
        if ours:
            theirs = table.figures.get(case.published, {})
            cited = [f"{theirs[method]:.3f}" if method in theirs else "-" for method in methods]
            lines.append(row(case.name, *cited, *[ours.get(name, "-") for name in selectors]))
    return lines
