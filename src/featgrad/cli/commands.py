"""The commands: each takes the parsed arguments and prints its result."""

import time
from argparse import Namespace

from featgrad.cli import outputs
from featgrad.cli.columns import all_names, describe_columns, features_named, name_of
from featgrad.cli.errors import UsageError, check_output
from featgrad.cli.fitting import Fitting
from featgrad.cli.loading import LoadedRows, load_rows, open_file
from featgrad.cli.outputs import as_json, show
from featgrad.cli.progress import Progress
from featgrad.learnability import Learnability
from featgrad.readers import convert as write_arrow
from featgrad.report import gather_facts, write_report
from featgrad.report.concerns import limits
from featgrad.report.summary import summarise_data
from featgrad.report.table import as_text, selection_rows
from featgrad.selector import FeatureGradientSelector


def select(arguments: Namespace) -> None:
    check_output("--out", arguments.out, outputs.SELECTION_FORMATS)
    check_output("--write", arguments.write, outputs.TABLE_FORMATS)
    check_output("--report", arguments.report, (".html",))
    check_output("--checkpoint", arguments.checkpoint)
    progress = Progress(arguments.quiet)
    rows = load_rows(open_file(arguments, progress), read_all=False)
    selector, rows = _selected(Fitting(rows, arguments, progress), arguments)
    data = _data(rows, arguments)
    features = selector.get_support(indices=True)
    names = [name_of(rows.source, i) for i in features]
    table = selection_rows(selector, data, all_names(rows.source))
    gains = {name: row for row in table for name in row.features}
    answer = {
        "features": names,
        "columns": features.tolist(),
        "gains": [gains[name].gain for name in names],
        "gain_errors": [gains[name].standard_error for name in names],
        "table": [row._asdict() for row in table],
        "learnability": as_json(selector.learnability_),
        "score": None if selector.score_ is None else selector.score_._asdict(),
        "task": selector.task_,
        "target": arguments.target,
        "rows": rows.n_rows,
        "skipped": rows.source.skipped,
        "candidates": rows.source.n_features,
        "seed": arguments.seed,
    }
    explained = []
    found = selector.discoveries_
    if found is not None:
        answer["fdr"], answer["e_values"] = found.fdr, found.e_values[features].tolist()
        explained.append(f"expected share of false features: at most {found.fdr:g}")
    if arguments.explain:
        answer["plan"] = [decision._asdict() for decision in selector.plan_.decisions]
        answer["held_out"] = [point._asdict() for point in selector.plan_.held_out]
        certificate = selector.certificate_
        answer["certificate"] = None if certificate is None else certificate._asdict()
        explained += ["", str(selector.plan_)]
        explained += [] if certificate is None else [f"certificate: {certificate}"]
    if arguments.out is not None:
        outputs.write_selection(answer, arguments.out)
    if arguments.write is not None:
        blocks = [rows.block] if rows.is_complete else rows.source
        outputs.write_table(blocks, features, names, arguments.target or "y", arguments.write)
    if arguments.report is not None:
        _report(selector, rows, arguments)
    text = as_text(table, selector.learnability_, selector.score_, data.estimate())
    cautions = [f"{c.title.lower()}: {c.text}" for c in limits(selector.learnability_)]
    lines = [text, *cautions, *_about_rows(rows), *explained]
    show(answer, "\n".join(lines), json_output=arguments.json)


def _selected(fitting: Fitting, arguments: Namespace) -> tuple[FeatureGradientSelector, LoadedRows]:
    """A selector of the requested size or rate; a report also shows other sizes."""
    wanted = arguments.k
    if arguments.fdr is not None:
        if wanted != "auto":
            raise UsageError("--fdr decides how many features are selected: leave -k out.")
        return fitting.fit_rate(arguments.fdr)
    sizes = [] if wanted == "auto" else [wanted]
    fitting.check_sizes("-k", sizes)
    if wanted == "auto" or arguments.report is not None:
        sizes += fitting.default_sizes()
    return fitting.fit(wanted, sizes)


def _report(selector: FeatureGradientSelector, rows: LoadedRows, arguments: Namespace) -> None:
    about = {"File": str(arguments.file), "Target column": arguments.target or "that of the file"}
    about |= {"Rows": f"{rows.n_rows:,}", "Rows left out": f"{rows.source.skipped:,}"}
    if not rows.is_complete:
        about["Estimated from"] = f"{len(rows.block):,} random rows; the selection itself from all"
    facts = gather_facts(
        selector,
        rows.block.X,
        rows.block.y,
        sample_weight=rows.block.weight,
        names=all_names(rows.source),
        about=about,
        command=arguments.command_line,
    )
    write_report(facts, arguments.report)


def score(arguments: Namespace) -> None:
    source = open_file(arguments, Progress(arguments.quiet))
    features = None
    if arguments.features is not None:
        features = features_named(source, "features", arguments.features)
    rows = load_rows(source, read_all=True)
    data = _data(rows, arguments)
    estimate = data.estimate(features)
    lines = [f"{estimate.n_features} features explain {estimate} of the variance"]
    answer = {**as_json(estimate), "task": data.task_, "skipped": source.skipped}
    show(answer, "\n".join([*lines, *_about_rows(rows)]), json_output=arguments.json)


def path(arguments: Namespace) -> None:
    check_output("--checkpoint", arguments.checkpoint)
    progress = Progress(arguments.quiet)
    rows = load_rows(open_file(arguments, progress), read_all=False)
    fitting = Fitting(rows, arguments, progress)
    sizes = arguments.sizes or fitting.default_sizes()
    fitting.check_sizes("--sizes", sizes)
    selector, rows = fitting.fit(max(sizes), sizes)
    answer = [
        as_json(point.learnability)
        | {"features": [name_of(rows.source, i) for i in point.features]}
        for point in selector.path_
    ]
    lines = [f"{point.size:>8,}  {point.learnability}" for point in selector.path_]
    text = "\n".join(["features  explained", *lines])
    show({"path": answer, "skipped": rows.source.skipped}, text, json_output=arguments.json)


def info(arguments: Namespace) -> None:
    columns, lines = describe_columns(arguments.file, arguments.format, arguments.target)
    if columns is None or arguments.target is not None:
        source = open_file(arguments, Progress(arguments.quiet))
        rows = load_rows(source, read_all=True)
        task = _data(rows, arguments).task_
        lines |= summarise_data(rows.block.X, rows.block.y, task)
        lines |= {"Rows": f"{rows.n_rows:,}", "Rows left out": f"{source.skipped:,}"}
        lines["Task"] = task
    show({**(columns or {}), "summary": lines}, outputs.aligned(lines), json_output=arguments.json)


def convert(arguments: Namespace) -> None:
    check_output("OUT", arguments.out, (".arrow", ".feather", ".ipc"))
    source = open_file(arguments, Progress(arguments.quiet))
    begun = time.monotonic()
    n_rows = write_arrow(source, arguments.out).n_rows or 0
    speed = n_rows / (time.monotonic() - begun)
    answer = {
        "rows": n_rows,
        "skipped": source.skipped,
        "features": source.n_features,
        "rows_per_second": round(speed),
    }
    text = (
        f"{n_rows:,} rows of {source.n_features:,} features written to {arguments.out}, "
        f"{speed:,.0f} rows/s; {source.skipped:,} rows left out"
    )
    show(answer, text, json_output=arguments.json)


def _about_rows(rows: LoadedRows) -> list[str]:
    """Notes on skipped rows and on random samples."""
    lines = []
    if rows.source.skipped:
        lines.append(f"left out: {rows.source.skipped:,} invalid rows")
    if not rows.is_complete:
        lines.append(f"estimated from {len(rows.block):,} random rows of {rows.n_rows:,}")
    return lines


def _data(rows: LoadedRows, arguments: Namespace) -> Learnability:
    options = {"task": arguments.task, "sample_weight": rows.block.weight, "missing": "mean"}
    return Learnability(rows.block.X, rows.block.y, **options)
