"""What a table holds, variable by variable, and what keeps it from being learned from."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import narwhals.stable.v2 as nw
import numpy as np

from featgrad._support.array_api import dense
from featgrad._support.results import Tabular
from featgrad._support.wording import counted, listed, percent, visible
from featgrad.columns.sample import KeyedSample, n_bytes
from featgrad.math.targets import Encoding, centre
from featgrad.math.tasks import RowsOf, Task
from featgrad.plan import LOADED_SAMPLE_BYTES
from featgrad.readers.columns import Chunk
from featgrad.readers.formats import DIALECT, is_named
from featgrad.readers.opening import open_source, open_table
from featgrad.report.contents import MOST_DESCRIBED, Contents, VariableSummary

_READING = ("format", "columns", "sheet", *DIALECT)
_PRINTED = 50  # rows of the table


@dataclass(frozen=True, repr=False)
class Description(Tabular):
    """What a table holds; made by `describe`.

    Attributes
    ----------
    n_rows, n_variables : int
        Rows that can be read, and variables, of which the first 2,000 are described.
    left_out : dict of str to int
        Why rows would be left out of a selection, and how many.
    variables : tuple
        Each has `name`, `kind`, `missing`, `distinct`, `values`, `explains` and `remarks`.
    target, task, task_reason : str or None
        Name of the target, its task, and why it is taken for that.
    notes : tuple of str
        How the table was read.
    problems : tuple of str
        What would stop a selection, and what to do.
    """

    n_rows: int
    n_variables: int
    left_out: dict[str, int]
    variables: tuple[VariableSummary, ...]
    target: str | None
    task: str | None
    task_reason: str | None
    notes: tuple[str, ...]
    problems: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        return {**asdict(self), "variables": [each._asdict() for each in self.variables]}

    def _caption(self) -> str:
        left_out = [f"{count:,} ({reason})" for reason, count in self.left_out.items()]
        missing = sum(each.missing for each in self.variables)
        share = missing / max(1, self.n_rows * len(self.variables))
        lines = [("Rows", f"{self.n_rows:,}"), ("Rows left out", listed(left_out, 5) or "none")]
        lines += [("Variables", f"{self.n_variables:,}")]
        lines += [("Missing values", f"{missing:,} ({percent(share)})" if missing else "none")]
        lines += [("Task", f"{self.task} ({self.task_reason})")] if self.task else []
        lines += [("Note", note) for note in self.notes]
        lines += [("Problem", problem) for problem in self.problems]
        return "\n".join(f"{label:<14}  {visible(line)}" for label, line in lines)

    def _rows(self) -> list[list[str]]:
        rows = [["variable", "kind", "missing", "distinct", "values", "explains", "remarks"]]
        for each in self.variables[:_PRINTED]:
            missing = percent(each.missing / max(1, self.n_rows)) if each.missing else ""
            explains = "" if each.explains is None else percent(each.explains)
            explains = "target" if each.name == self.target else explains
            row = [each.name, each.kind, missing, f"{each.distinct:,}", each.values, explains]
            rows.append([*row, "; ".join(each.remarks)])
        if (more := self.n_variables - len(self.variables[:_PRINTED])) > 0:
            rows.append([f"and {counted(more, 'more variable')}", *[""] * (len(rows[0]) - 1)])
        return rows if self.task else [[*row[:-2], row[-1]] for row in rows]


def describe(data: Any, y: Any = None, *, task: str = "auto", **options: Any) -> Description:
    """Describe a table: each variable, what would be left out, and what would go wrong.

    Parameters
    ----------
    data : array, CSR matrix, data frame or path of a file
        The rows, as for `open_source`. All are read; of many, a random sample is looked at.
    y : str or array-like, default=None
        The target: the name of its column, or its values.
    task : str, default="auto"
        Task of the target, as for `FeatureGradientSelector`.
    **options
        How to read a file, as for `open_source`.

    Returns
    -------
    Description
        It prints as a table, in notebooks too, and has `to_dict`.

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad import describe
    >>> x = np.arange(60.0)
    >>> print(describe(np.column_stack([x % 7, np.exp(x), np.ones(60)])))
    Rows            60
    Rows left out   none
    Variables       3
    Missing values  none
    <BLANKLINE>
    variable  kind    missing  distinct  values        remarks
    x0        number           7         0 to 6
    x1        number           60        1 to 4.2e+25  skewed: try its logarithm
    x2        number           1         1 to 1        constant
    """
    data, y = _with_target(data, y)
    opened = open_table(data, **{name: options[name] for name in _READING if name in options})
    found: Any = _RowsAsTable(data, y, options) if opened is None else opened
    target = y if isinstance(y, str) and y in found.columns else getattr(found, "target", None)
    contents = Contents(found, target)
    problems = dict.fromkeys([getattr(found, "problem", "") or contents.in_rows()])
    task_found, outputs, notes = None, None, found.notes
    for on_bad_rows in (options.pop("on_bad_rows", "error"), "skip"):
        if task_found is None and not (y is None and target is None):
            try:
                task_found, notes = _task_of(data, y, task, {**options, "on_bad_rows": on_bad_rows})
            except ValueError as error:
                problems[str(error)] = None
    if contents.n_rows == 0:
        problems[f"{found.name} has no rows."] = None
    if task_found is not None and target is not None:
        outputs = contents.outputs(is_numbers=task_found == "regression")
    return Description(
        contents.n_rows, len(found.columns), dict(contents.left_out),
        tuple(contents.summaries(outputs)), target, task_found and str(task_found),
        task_found and task_found.reason, tuple(notes), tuple(filter(None, problems)),
    )  # fmt: skip


def _with_target(data: Any, y: Any) -> tuple[Any, Any]:
    """A frame has the target as a column of its own; a file of an array is read."""
    if y is None and isinstance(data, str | PathLike) and is_named(Path(data), "npy"):
        return np.load(data, mmap_mode="r", allow_pickle=False), None
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or y is None or isinstance(y, str):
        return data, y
    name = str(getattr(y, "name", None) or "y")
    name += "_" * (name in frame.columns)
    column = nw.new_series(name, np.asarray(y).tolist(), backend=frame.implementation)
    return frame.with_columns(column).to_native(), name


def _task_of(data: Any, y: Any, task: str, options: Any) -> tuple[Task, Sequence[str]]:
    """The task that a selection would find, and notes; an error is what would stop it."""
    source = open_source(data, target=y, missing="nan", dtype="float64", **options)
    sample = KeyedSample(LOADED_SAMPLE_BYTES, n_bytes)
    for block in source:
        sample.add(block)
    if sample.n_rows == 0:
        raise ValueError(f"{source.name} has no valid rows: there is nothing to learn from.")
    rows = sample.rows()
    with catch_warnings():  # the reason of the task says the same
        simplefilter("ignore")
        seen = RowsOf(rows.X.__getitem__, np.arange(len(rows)))
        encoding = Encoding.of(rows.y, task, rows=seen)
    # Refuses a constant target.
    centre(encoding.columns(rows.y), encoding.task, np.full(len(rows), 1 / len(rows)))
    return encoding.task, getattr(source, "notes", ())


class _RowsAsTable:
    """Rows of features that are no table, with their target as the last column."""

    def __init__(self, data: Any, y: Any, options: Any) -> None:
        is_alone, self.notes = y is None and hasattr(data, "shape"), ()
        options = {**options, "missing": "nan", "on_bad_rows": "skip", "dtype": "float64"}
        y = np.zeros(data.shape[0]) if is_alone else y
        self._source: Any = open_source(data, target=y, **options)
        self.name, self.target = self._source.name, None if is_alone else "y"
        names, self._n = self._source.feature_names, min(MOST_DESCRIBED, self._source.n_features)
        self.columns = [f"x{i}" if names is None else str(names[i]) for i in range(self._n)]
        self.columns += [] if is_alone else ["y"]
        self.kinds = dict.fromkeys(self.columns, "number")
        if any(block.y.dtype.kind == "U" for block in islice(self._source, 1)):
            self.kinds["y"] = "text"

    def chunks(self, numbers: Sequence[str], texts: Sequence[str], invalid: Any) -> Iterator[Chunk]:
        from featgrad.readers.tokens import Tokens

        for block in self._source:
            columns = [*np.asarray(dense(block.X[:, : self._n])).T, block.y]
            labels = [str(label).encode() for label in block.y] if texts else []
            values = np.array(columns[: len(numbers)], float)
            yield Chunk(values, {name: Tokens.from_bytes(labels) for name in texts}, {})
        invalid.skipped = self._source.skipped
