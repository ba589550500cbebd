"""Print which features enter and leave, and alarms: of a file, or of a pipe while rows arrive."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from featgrad._support.wording import visible
from featgrad.cli.load import columns_read, load_rows, open_file
from featgrad.cli.output import REPORT_FORMATS, check_outputs
from featgrad.online.selector import OnlineFeatureSelector
from featgrad.plan import ONLINE_BLOCK
from featgrad.readers.lines import Pipe
from featgrad.readers.opening import format_of
from featgrad.report import write_stream_report

_ALARMS = {
    "alarm": "alarm: predictions have become worse",
    "shift": "alarm: the set has changed beyond chance",
}
# Formats of which pipes are followed line by line; others are read to their end first.
_FOLLOWED = ("csv", "tsv")
# Lines of a pipe that show its columns and the values of text: a header, and rows to choose from.
FIRST_LINES = 1 + ONLINE_BLOCK


def can_follow(pipe: Pipe, format: str | None) -> bool:
    """Whether lines of a pipe are taken up as they arrive; if not, a note is printed."""
    format = format or format_of(pipe)
    if format not in _FOLLOWED:
        note = f"Rows of {format} are read to their end first: CSV and TSV are followed."
        print(note, file=sys.stderr)
    return format in _FOLLOWED


def watch(arguments: Namespace) -> None:
    check_outputs(arguments, {"report": REPORT_FORMATS})
    arguments.block_rows = ONLINE_BLOCK
    source = open_file(arguments)
    if isinstance(arguments.file, Pipe):
        arguments.file.is_live = True
    task, classes = arguments.task, arguments.classes
    if task == "auto" and classes is None and not isinstance(arguments.file, Pipe):
        # The whole file decides, as for the other commands.
        encoding = load_rows(source, read_all=True).encoding(task)
        task, classes = encoding.task, encoding.classes
    options = {"half_life": arguments.half_life, "task": task, "missing": "mean"}
    selector = OnlineFeatureSelector(arguments.k, **options)
    names: Sequence[str] = ()
    printed = 0
    for block in source:
        # Texts that come later are further columns, which were 0 so far.
        selector.n_features_in_ = block.X.shape[1]
        names = names if len(names) == source.n_features else columns_read(source)
        if classes is not None:
            classes = np.array(classes, str if block.y.dtype.kind == "U" else block.y.dtype)
        selector.partial_fit(block.X, block.y, classes, block.weight)
        if not selector.__sklearn_is_fitted__():  # by rows of weight 0 only
            continue
        if not printed and arguments.task == "auto":
            arguments.progress.note(f"task: {selector.task_} ({selector.task_.reason})")
        classes = None
        for event in selector.history_:
            if event.row > printed:
                changed = {"entered": event.entered, "left": event.left}
                of_names = {key: _columns(names, own) for key, own in changed.items()}
                more = {} if event.kind == "alarm" else of_names
                _print({"row": event.row, "event": event.kind, **more}, arguments.json)
        printed = selector.n_rows_seen_
    if not printed:
        raise ValueError(f"{source.name} has no valid rows: there is nothing to learn from.")
    chosen = _columns(names, selector.features_)
    end = {"features": chosen, "learnability": str(selector.learnability_)}
    _print({"row": selector.n_rows_seen_, "event": "end", **end}, arguments.json)
    if arguments.report is not None:
        write_stream_report(selector, arguments.report, names=names, target=arguments.target)


def _columns(names: Sequence[str], features: Iterable[int]) -> list[str]:
    """Columns that features belong to, each of them once."""
    return list(dict.fromkeys(names[i] for i in features))


def _print(event: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(event), flush=True)
        return
    kind = event["event"]
    parts = [_ALARMS[kind]] if kind in _ALARMS else []
    if kind == "end":
        verb = "explains" if len(event["features"]) == 1 else "explain"
        parts.append(f"{', '.join(event['features'])} {verb} {event['learnability']}")
    signs = {"entered": "+", "left": "-"}
    parts += [f"{s} {', '.join(event[key])}" for key, s in signs.items() if event.get(key)]
    print(visible(f"row {event['row']}: {'; '.join(parts)}"), flush=True)
