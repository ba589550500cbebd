"""The commands: each takes the parsed arguments and prints its result."""

import shlex
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

from featgrad._support.wording import counted
from featgrad.cli import as_options, load, output
from featgrad.cli.construct import construct_file
from featgrad.cli.load import (
    LoadedRows,
    about_rows,
    about_task,
    encoded_rows,
    fit,
    load_rows,
    open_file,
    variables_of,
)
from featgrad.cli.output import as_json, check_outputs, show
from featgrad.cli.watch import watch
from featgrad.estimates.estimate import SelectionPath
from featgrad.estimates.learnability import Learnability
from featgrad.readers import Source, convert, open_source
from featgrad.readers.block import InvalidRows
from featgrad.readers.formats import FORMATS
from featgrad.report import gather_facts, write_report
from featgrad.report.describe import describe
from featgrad.report.described import Described

# Columns up to which they are listed.
_SHOWN_COLUMNS = 20
# Options that `construct` does not have.
_OF_SELECT = (
    "ungrouped", "resamples", "checkpoint", "dask", "device", "robust", "fdr", "out", "explain",
)  # fmt: skip


def select(arguments: Namespace) -> None:
    written = {"out": output.SELECTION_FORMATS, "write": output.TABLE_FORMATS}
    check_outputs(arguments, {**written, "report": output.REPORT_FORMATS, "checkpoint": ()})
    rows = load_rows(open_file(arguments), read_all=False)
    selector, fitted = fit(rows, arguments)
    rows = fitted.for_estimates()
    X, y, weight = encoded_rows(rows.source, rows.block.X), rows.block.y, rows.block.weight
    features = selector.get_support(indices=True)
    described = Described(selector, X, y, weight, variables_of(rows.source))
    names = [described.names[i] for i in features]
    gains = {name: row for row in described.rows for name in row.features}
    answer = {
        "features": names,
        "columns": features.tolist(),
        "gains": [gains[name].gain for name in names],
        "gain_errors": [gains[name].standard_error for name in names],
        "table": [row._asdict() for row in described.rows],
        **load.outcome(selector, rows, arguments),
    }
    explained = []
    found = selector.discoveries_
    if found is not None:
        answer["fdr"], answer["frequencies"] = found.fdr, found.frequencies[features].tolist()
        answer["p_values"] = None if found.p_values is None else found.p_values[features].tolist()
        explained += [found.summary] if len(features) else []
    if arguments.explain:
        answer["plan"] = [decision._asdict() for decision in selector.plan_.decisions]
        answer["held_out"] = [point._asdict() for point in selector.plan_.held_out]
        certificate = selector.certificate_
        answer["certificate"] = None if certificate is None else certificate._asdict()
        explained += ["", str(selector.plan_)]
        explained += [] if certificate is None else [f"certificate: {certificate}"]
    elif selector.sizes_ is not None and len(features):
        explained.append(str(selector.sizes_))
    if arguments.report is not None:
        known = {"names": described.names, **load.reported(rows, arguments)}
        write_report(gather_facts(selector, X, y, **known), arguments.report)
    of_rows = about_rows(rows, arguments)
    answer |= {"warnings": list(map(str, described.concerns)), "notes": arguments.notes}
    if arguments.out is not None:
        output.write_selection(answer, arguments.out)
    if arguments.write is not None:
        _write(rows.source if not fitted.is_complete else [fitted.block], names, rows, arguments)
    lines = [str(described), *load.about_gains(len(features))]
    lines += [*about_task(selector.task_, arguments), *of_rows, *explained]
    suspects = [
        name for each in described.concerns if each.kind == "leak" for name in each.features
    ]
    answer["next"] = [
        *_without(suspects, rows.source, arguments),
        *_next_steps(arguments, len(features), load.columns_of(rows.source, names)),
    ]
    lines += output.warned(described.concerns)
    if answer["next"] and not arguments.quiet:
        lines += ["", *answer["next"]]
    show(answer, "\n".join(lines), json_output=arguments.json)


def _write(blocks: Any, names: Sequence[str], rows: LoadedRows, arguments: Namespace) -> None:
    """Write the selected columns of FILE as they are, or its features where it has no columns."""
    table, target = load.table_of(arguments), arguments.target or "y"
    if table is not None:
        invalid = InvalidRows(table.name, arguments.on_bad_rows, "nan")
        columns = [*load.columns_of(rows.source, names), target]
        written = output.columns_of_table(table, columns, invalid)
    else:
        every = load.all_names(rows.source)
        features = load.features_named(rows.source, "write", names)
        named = [*(every[i] for i in features), target]
        written = output.columns_of_blocks(blocks, features, named)
    output.write_table(written, arguments.write)


def _without(suspects: Sequence[str], source: Source, arguments: Namespace) -> list[str]:
    """A command that leaves out the columns of these features, of a file that has columns."""
    columns = load.columns_of(source, suspects)[:_SHOWN_COLUMNS]
    if not columns:
        return []
    # The last --exclude counts.
    excluded = shlex.join(["--exclude", *(arguments.exclude or ()), *columns])
    return [f"next, if that is a leak: {arguments.command_line} {excluded}"]


def _next_steps(arguments: Namespace, size: int, columns: Sequence[str]) -> list[str]:
    """A command and a line of Python to go on with; columns are those of a table."""
    if size == 0 and any(getattr(arguments, name) for name in _OF_SELECT):
        return []
    if size == 0:
        command = arguments.command_line.replace("featgrad select", "featgrad construct", 1)
        return [f"next, for curves and products: {command}"]
    more = [f"-k {size}"] if arguments.k == "auto" and arguments.fdr is None else []
    files = {"report": "report.html", "write": "selected.csv"}
    more += [f"--{name} {file}" for name, file in files.items() if not getattr(arguments, name)]
    lines = [f"next: {' '.join([arguments.command_line, *more])}"] if more else []
    named = 0 < len(columns) <= _SHOWN_COLUMNS
    return [*lines, f"in Python: columns = {list(columns)!r}"] if named else lines


def score(arguments: Namespace) -> None:
    source = open_file(arguments)
    features, count = None, len(variables_of(source))
    if arguments.features is not None:
        features = load.features_named(source, "features", arguments.features)
        count = len(load.variables_named(source, "features", arguments.features))
    rows = load_rows(source, read_all=True).for_estimates()
    options: dict[str, Any] = {"task": arguments.task, "missing": "mean"}
    options |= {"sample_weight": rows.block.weight, "random_state": arguments.seed}
    options["preprocess"] = "robust" if arguments.robust else "zscore"
    data = Learnability(rows.block.X, rows.block.y, **options)
    estimate = replace(data.estimate(features), n_features=count)
    verb = "explains" if estimate.n_features == 1 else "explain"
    lines = [f"{counted(estimate.n_features, 'feature')} {verb} {estimate} of the variance"]
    lines += about_task(data.task_, arguments)
    found = {"task": data.task_, "task_reason": data.task_.reason, "skipped": source.skipped}
    answer = {**as_json(estimate), **found}
    show(answer, "\n".join([*lines, *about_rows(rows, arguments)]), json_output=arguments.json)


def path(arguments: Namespace) -> None:
    check_outputs(arguments, {"checkpoint": ()})
    rows = load_rows(open_file(arguments), read_all=False)
    selector, rows = fit(rows, arguments)
    names = variables_of(rows.source)
    sets = SelectionPath(selector.path_, names)
    answer = [
        as_json(point.learnability)
        | {"features": [names[i] for i in point.features], "enter": enter, "leave": leave}
        for point, (enter, leave) in zip(sets, sets.changes, strict=True)
    ]
    text = "\n".join([str(sets), *about_task(selector.task_, arguments)])
    show({"path": answer, "skipped": rows.source.skipped}, text, json_output=arguments.json)


def info(arguments: Namespace) -> None:
    """Also of a file that cannot be learned from: what stops that is among the lines."""
    taken = signature(open_source).parameters
    options = {name: value for name, value in vars(arguments).items() if name in taken}
    options = {name: value for name, value in options.items() if value is not None}
    target = options.pop("target", None)
    described = describe(arguments.file, target, task=arguments.task, **options)
    problems = tuple(as_options(arguments.named(problem)) for problem in described.problems)
    described = replace(described, problems=problems)
    lines = [str(described)]
    if not problems and not arguments.quiet:
        command = arguments.command_line.replace("featgrad info", "featgrad select", 1)
        lines += ["", f"next: {command}{'' if described.target else ' --target COL'}"]
    show(described.to_dict(), "\n".join(lines), json_output=arguments.json)


def convert_file(arguments: Namespace) -> None:
    check_outputs(arguments, {"out_file": FORMATS["arrow"].suffixes})
    source = open_file(arguments)
    begun = time.monotonic()
    n_rows = convert(source, arguments.out_file).n_rows or 0
    speed = n_rows / (time.monotonic() - begun)
    answer = {"rows": n_rows, "skipped": source.skipped, "features": source.n_features}
    answer["rows_per_second"] = round(speed)
    text = (
        f"{counted(n_rows, 'row')} of {counted(source.n_features, 'feature')} written to "
        f"{arguments.out_file}, {speed:,.0f} rows/s; {counted(source.skipped, 'row')} left out"
    )
    show(answer, text, json_output=arguments.json)


COMMANDS = {
    "select": select,
    "construct": construct_file,
    "score": score,
    "path": path,
    "watch": watch,
    "info": info,
    "convert": convert_file,
}
