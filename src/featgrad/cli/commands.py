"""The commands: each takes the parsed arguments and prints its answer."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from featgrad.cli.errors import UsageError, check_output, unknown_column
from featgrad.cli.fitting import default_sizes, fit_sizes
from featgrad.cli.outputs import SELECTION_FORMATS, as_json, show, write_selection
from featgrad.cli.tables import (
    FORMATS,
    Table,
    open_table,
    read_table,
    split_columns,
    write_columns,
)
from featgrad.learnability import Learnability
from featgrad.report import gather_facts, summarise, write_report
from featgrad.report.summary import summarise_data
from featgrad.selector import FeatureGradientSelector


def select(arguments: Namespace) -> None:
    check_output("--out", arguments.out, SELECTION_FORMATS)
    check_output("--write", arguments.write, FORMATS)
    check_output("--report", arguments.report, (".html",))
    table = read_table(arguments.file, arguments.target)
    selector = _selected(table, arguments)
    data = _data(table, arguments)
    features = selector.get_support(indices=True)
    names = [table.names[i] for i in features]
    answer = {
        "features": names,
        "columns": features.tolist(),
        "gains": data.gains(features).tolist(),
        "learnability": as_json(selector.learnability_),
        "task": selector.task_,
        "target": arguments.target,
        "rows": len(table.y),
        "candidates": len(table.names),
        "seed": arguments.seed,
    }
    if arguments.out is not None:
        write_selection(answer, arguments.out)
    if arguments.write is not None:
        write_columns(arguments.file, [*names, arguments.target], arguments.write)
    if arguments.report is not None:
        _report(selector, table, arguments)
    show(answer, summarise(data, features, names), json_wanted=arguments.json)


def _selected(table: Table, arguments: Namespace) -> FeatureGradientSelector:
    """A selector of the size asked for; a report shows other sizes beside it."""
    wanted = arguments.k
    sizes = [] if wanted == "auto" else [wanted]
    _check_sizes("-k", sizes, table)
    if wanted == "auto" or arguments.report is not None:
        sizes += default_sizes(table)
    return fit_sizes(table, wanted, sizes, _options(arguments), arguments.quiet)


def _report(selector: FeatureGradientSelector, table: Table, arguments: Namespace) -> None:
    facts = gather_facts(
        selector,
        table.X,
        table.y,
        names=table.names,
        about={"File": str(arguments.file), "Target column": arguments.target},
        command=arguments.command_line,
    )
    write_report(facts, arguments.report)


def score(arguments: Namespace) -> None:
    table = read_table(arguments.file, arguments.target)
    position = {name: i for i, name in enumerate(table.names)}
    for name in arguments.features or ():
        if name not in position:
            raise unknown_column("--features", name, table.names)
    features = None if arguments.features is None else [position[n] for n in arguments.features]
    data = _data(table, arguments)
    estimate = data.estimate(features)
    text = f"{estimate.n_features} features explain {estimate} of the variance"
    show({**as_json(estimate), "task": data.task_}, text, json_wanted=arguments.json)


def path(arguments: Namespace) -> None:
    table = read_table(arguments.file, arguments.target)
    sizes = arguments.sizes or default_sizes(table)
    _check_sizes("--sizes", sizes, table)
    selector = fit_sizes(table, max(sizes), sizes, _options(arguments), arguments.quiet)
    answer = [
        {**as_json(point.learnability), "features": [table.names[i] for i in point.features]}
        for point in selector.path_
    ]
    lines = [f"{point.size:>8,}  {point.learnability}" for point in selector.path_]
    text = "\n".join(["features  explained", *lines])
    show({"path": answer}, text, json_wanted=arguments.json)


def info(arguments: Namespace) -> None:
    dataset = open_table(arguments.file)
    numbers, others = split_columns(dataset.schema, arguments.target)
    lines = {
        "Rows": f"{dataset.count_rows():,}",
        "Columns of numbers": f"{len(numbers):,}",
        "Other columns": ", ".join(others) or "none",
    }
    if arguments.target is not None:
        table = read_table(arguments.file, arguments.target)
        task = _data(table, arguments).task_
        lines |= {**summarise_data(table.X, table.y, task), "Task": task}
    width = max(map(len, lines))
    text = "\n".join(f"{label:<{width}}  {value}" for label, value in lines.items())
    answer = {"columns": numbers, "other_columns": others, "summary": lines}
    show(answer, text, json_wanted=arguments.json)


def _check_sizes(option: str, sizes: list[int], table: Table) -> None:
    n_columns = len(table.names)
    if max(sizes, default=0) > n_columns:
        raise UsageError(
            f"{option} {max(sizes)} is more than there are columns of numbers: use {n_columns} or "
            "less."
        )


def _options(arguments: Namespace) -> dict[str, Any]:
    return {
        "task": arguments.task,
        "order": arguments.order,
        "missing": "mean",
        "random_state": arguments.seed,
    }


def _data(table: Table, arguments: Namespace) -> Learnability:
    return Learnability(table.X, table.y, task=arguments.task, missing="mean")
