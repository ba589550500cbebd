"""Construct features of FILE as they are needed, print what they are, and write them."""

from argparse import Namespace
from dataclasses import replace
from typing import Any

import numpy as np

from featgrad.cli import load, output
from featgrad.cli.arguments import UsageError
from featgrad.construct.constructor import FeatureGradientConstructor
from featgrad.construct.expressions import with_columns
from featgrad.construct.operations import OPERATIONS
from featgrad.readers.columns import EncodedColumn, Layout
from featgrad.readers.missing import EncodedRows
from featgrad.report import gather_facts, write_report
from featgrad.report.described import Described


def construct_file(arguments: Namespace) -> None:
    written = {"write": output.TABLE_FORMATS, "report": output.REPORT_FORMATS}
    output.check_outputs(arguments, written)
    names, target = arguments.operations.split(","), arguments.target or "y"
    if unknown := [name for name in names if name not in OPERATIONS]:
        every = ",".join(OPERATIONS)
        raise UsageError(f"--operations {unknown[0]!r} is unknown: use some of {every}.")
    arguments.ungrouped = True  # single texts of a column can be parts
    rows = load.load_rows(load.open_file(arguments), read_all=True)
    source, block = rows.source, rows.block
    constructor = FeatureGradientConstructor(
        arguments.k,
        operations=names,
        keep=arguments.keep and load.variables_named(source, "keep", arguments.keep),
        cv=load.splitter(arguments),
        task=arguments.task,
        random_state=arguments.seed,
    )
    layout = Layout([EncodedColumn(name) for name in load.all_names(source)])
    if rows.is_complete:
        constructor.fit(EncodedRows(block.X, layout), block.y, block.weight, block.groups)
    else:
        constructor.fit_source(source)
    features = constructor.get_feature_names_out().tolist()
    if arguments.write is not None:
        blocks = [block] if rows.is_complete else source
        built = (
            dict(zip(features, (each.build(one.X) for each in constructor.features_), strict=True))
            | {target: one.y}
            for one in blocks
        )
        output.write_table(built, arguments.write)
    # Described as a selection among all columns, given or constructed.
    block = replace(block, X=with_columns(block.X, constructor.entered_))
    rows = replace(rows, block=block).for_estimates()
    selector, X, y = constructor.selector_, rows.block.X, rows.block.y
    described = Described(selector, X, y, rows.block.weight, None)
    if arguments.report is not None:
        known = {"constructed": _drawn(constructor, block.X), **load.reported(rows, arguments)}
        n_built = len(constructor.entered_)
        candidates = f"{X.shape[1] - n_built:,} given and {n_built:,} constructed"
        known["about"] |= {"Candidate features": candidates}
        facts = gather_facts(selector, X, y, **known)
        facts.provenance["Seed"] = str(arguments.seed)  # of the construction, not of its selector
        write_report(facts, arguments.report)
    formula, result = f"{target} ~ {' + '.join(features) or '1'}", _result(constructor)
    of_rows = load.about_rows(rows, arguments)
    answer = {
        "features": features,
        "constructed": [one._asdict() for one in constructor.constructed_],
        "result": result,
        "formula": formula,
        **load.outcome(constructor, rows, arguments),
        "warnings": list(map(str, described.concerns)),
        "notes": arguments.notes,
    }
    lines = [str(described), *load.about_gains(len(features)), result]
    lines += [*load.about_task(constructor.task_, arguments), *of_rows]
    lines += output.warned(described.concerns)
    lines += [f"formula: {formula}"] if arguments.formula else []
    output.show(answer, "\n".join(lines), json_output=arguments.json)


def _drawn(constructor: Any, X: Any) -> dict[int, list[int]]:
    """Chosen columns that are functions of one or two given ones, but not of the rows before."""
    n_given, few = X.shape[1] - len(constructor.entered_), X[:50]
    return {
        n_given + i: sorted(one.given())
        for i, one in enumerate(constructor.entered_)
        if one in constructor.features_
        and len(one.given()) <= 2
        and np.array_equal(one.build(few)[::-1], one.build(few[::-1]), equal_nan=True)
    }


def _result(constructor: Any) -> str:
    """How many features are constructed or, where none is, why."""
    verdict, count = constructor.verdict_, len(constructor.constructed_)
    found = f"{count} of {constructor.n_features_} features are constructed"
    if not count:
        why = "no candidate is worth more than the best of as many columns of noise would be"
        if verdict is not None:
            why = "held-out rows are predicted as well without it"
        found = f"nothing is constructed: {why}"
    if verdict is None:
        return found
    is_class = constructor.task_ in ("binary", "multiclass")
    score = "log-likelihood of" if is_class else "correlation of predictions with"
    with_, without = f"{verdict.constructed:z.3f}", f"{verdict.without:z.3f}"
    return f"{found} ({score} held-out rows: {with_} with constructed features, {without} without)"
