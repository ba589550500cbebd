"""What a table holds, variable by variable, and what keeps it from being learned from."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import catch_warnings, simplefilter

import narwhals.stable.v2 as nw
import numpy as np

from featgrad._support import Floats, Indices
from featgrad._support.array_api import dense
from featgrad._support.wording import counted, listed, visible
from featgrad.columns.extremes import far_off
from featgrad.columns.sample import KeyedSample, n_bytes
from featgrad.math.targets import Encoding, centre
from featgrad.math.tasks import RowsOf, Task
from featgrad.plan import ID_LIKE_ROWS, ID_LIKE_SHARE, LOADED_SAMPLE_BYTES, MOST_TEXTS
from featgrad.readers.block import Block, InvalidRows
from featgrad.readers.columns import Chunk, Table, numbered
from featgrad.readers.formats import DIALECT, is_named
from featgrad.readers.opening import open_source, open_table
from featgrad.report.text import escape, number_text

if TYPE_CHECKING:
    from featgrad.readers.tokens import Tokens

_READING = ("format", "columns", "sheet", *DIALECT)
# Variables that are described, rows of the printed table, and values that are named.
_MOST, _PRINTED, _NAMED = 2000, 50, 3
# Bins of numbers for what they explain; skewness from which a logarithm helps, and share of the
# target that missing values have to explain to be named.
_BINS, _SKEWED, _TELLING = 20, 2.0, 0.05
# Share of the target from which a variable is suspected to hold it, and classes that are looked at.
_LEAKING, _CLASSES = 0.9, 50


class VariableSummary(NamedTuple):
    """A variable: a column of a table, or a feature of other rows."""

    name: str
    kind: str
    missing: int
    distinct: int  # in a sample of the rows, where they are many
    values: str  # range, or the most frequent ones
    explains: float | None  # of the target's variance, by itself
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Description:
    """What a table holds; made by `describe`.

    Attributes
    ----------
    n_rows : int
        Rows, without those that cannot be read.
    left_out : dict of str to int
        Why rows would be left out of a selection, and how many.
    variables : tuple of VariableSummary
        Each has `name`, `kind`, `missing`, `distinct`, `values`, `explains` and `remarks`.
    n_variables : int
        All variables, of which the first are described.
    target : str or None
        Name of the target.
    task : str or None
        Task of the target.
    task_reason : str
        Why it is taken for that.
    notes : tuple of str
        How the table was read.
    problems : tuple of str
        What would stop a selection, and what to do.
    """

    n_rows: int
    left_out: dict[str, int]
    variables: tuple[VariableSummary, ...]
    n_variables: int
    target: str | None
    task: str | None
    task_reason: str
    notes: tuple[str, ...]
    problems: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        variables = [variable._asdict() for variable in self.variables]
        return {**asdict(self), "variables": variables}

    @property
    def _lines(self) -> dict[str, str]:
        left_out = [f"{count:,} ({reason})" for reason, count in self.left_out.items()]
        missing = sum(variable.missing for variable in self.variables)
        share = missing / max(1, self.n_rows * len(self.variables))
        lines = {
            "Rows": f"{self.n_rows:,}",
            "Rows left out": listed(left_out, 5) or "none",
            "Variables": f"{self.n_variables:,}",
            "Missing values": f"{missing:,} ({share:.1%})" if missing else "none",
        }
        if self.task is not None:
            lines["Task"] = f"{self.task} ({self.task_reason})"
        lines |= {f"Note{' ' * i}": note for i, note in enumerate(self.notes)}
        return lines | {f"Problem{' ' * i}": text for i, text in enumerate(self.problems)}

    @property
    def _table(self) -> list[list[str]]:
        told = self.target is not None and self.task is not None
        head = [
            "variable",
            "kind",
            "missing",
            "distinct",
            "values",
            *["explains"] * told,
            "remarks",
        ]
        rows = [head]
        for each in self.variables[:_PRINTED]:
            missing = f"{each.missing / max(1, self.n_rows):.1%}" if each.missing else ""
            explains = "target" if each.name == self.target else f"{each.explains or 0:.2f}"
            row = [each.name, each.kind, missing, f"{each.distinct:,}", each.values]
            rows.append([*row, *[explains] * told, "; ".join(each.remarks)])
        return rows

    def __str__(self) -> str:
        lines, table = self._lines, [list(map(visible, row)) for row in self._table]
        width = max(map(len, lines))
        above = [f"{label:<{width}}  {visible(line)}" for label, line in lines.items()]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        rows = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)
        more = self.n_variables - len(table) + 1
        return "\n".join(
            [*above, "", *rows, *[f"and {counted(more, 'more variable')}"] * (more > 0)]
        )

    def _repr_html_(self) -> str:
        head, *rows = [[escape(field) for field in row] for row in self._table]
        above = "".join(f"<div>{escape(f'{a.strip()}: {b}')}</div>" for a, b in self._lines.items())
        body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
        return f"{above}<table><tr><th>{'</th><th>'.join(head)}</th></tr>{body}</table>"


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
    if y is None and isinstance(data, str | PathLike) and is_named(Path(data), "npy"):
        data = np.load(data, mmap_mode="r", allow_pickle=False)
    table = open_table(data, **{name: options[name] for name in _READING if name in options})
    found: Table = _RowsAsTable(data, y, options) if table is None else table
    target = y if isinstance(y, str) and y in found.columns else getattr(found, "target", None)
    rows = _Contents(found, target)
    problems = [problem] if (problem := getattr(found, "problem", "")) else _in_rows(rows)
    task_found, encoded, notes = None, None, found.notes
    bad_rows = options.pop("on_bad_rows", "error")
    if y is not None or target is not None:
        for on_bad_rows in (bad_rows, "skip"):
            try:
                options["on_bad_rows"] = on_bad_rows
                task_found, notes = _task_of(data, y, task, options)
                break
            except ValueError as error:
                problems = list(dict.fromkeys([*problems, str(error)]))
    elif rows.n_rows == 0:
        problems.append(f"{found.name} has no rows.")
    if task_found is not None and target is not None:
        encoded = rows.outputs(is_numbers=task_found == "regression")
    return Description(
        n_rows=rows.n_rows,
        left_out=dict(rows.left_out),
        variables=tuple(rows.summaries(encoded)),
        n_variables=len(found.columns),
        target=target,
        task=None if task_found is None else str(task_found),
        task_reason="" if task_found is None else task_found.reason,
        notes=tuple(notes),
        problems=tuple(problems),
    )


def _with_target(data: Any, y: Any) -> tuple[Any, Any]:
    """A frame has the target as a column of its own."""
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or y is None or isinstance(y, str):
        return data, y
    name = str(getattr(y, "name", None) or "y")
    while name in frame.columns:
        name += "_"
    column = nw.new_series(name, np.asarray(y).tolist(), backend=frame.implementation)
    return frame.with_columns(column).to_native(), name


def _task_of(data: Any, y: Any, task: str, options: dict[str, Any]) -> tuple[Task, Sequence[str]]:
    """The task that a selection would find, and notes; an error is what would stop it."""
    opened = {"missing": "nan", "dtype": "float64", **options}
    source, sample = (
        open_source(data, target=y, **opened),
        KeyedSample(LOADED_SAMPLE_BYTES, n_bytes),
    )
    for block in source:
        sample.add(block)
    if sample.n_rows == 0:
        raise ValueError(f"{source.name} has no valid rows: there is nothing to learn from.")
    rows = sample.rows()
    seen = RowsOf(rows.X.__getitem__, np.arange(len(rows)))
    with catch_warnings():  # the reason of the task says the same
        simplefilter("ignore")
        encoding = Encoding.of(rows.y, task, rows=seen)
    outputs = encoding.columns(rows.y)
    centre(
        outputs, encoding.task, np.full(len(outputs), 1 / len(outputs))
    )  # refuses a constant one
    return encoding.task, getattr(source, "notes", ())


def _in_rows(rows: "_Contents") -> list[str]:
    """Whether variables seem to be in rows: names, and columns of numbers that are numbered."""
    first, *others = rows.kinds
    patterns = {re.sub(r"\d+", "0", name) for name in others}
    labels = rows.texts.get(first, {})
    if len(patterns) > 1 or len(others) < 4 or rows.texts.keys() != {first}:
        return []
    if len(labels) < min(rows.n_rows, MOST_TEXTS):
        return []
    return [f"Variables seem to be in rows, named by {first!r}: pass transpose=True if so."]


class _RowsAsTable:
    """Rows of features that are no table, with their target."""

    def __init__(self, data: Any, y: Any, options: dict[str, Any]) -> None:
        self.target: str | None = "y"
        if y is None and hasattr(data, "shape"):
            self.target, y = None, np.zeros(data.shape[0])
        opened = {**options, "missing": "nan", "on_bad_rows": "skip", "dtype": "float64"}
        self._source: Any = open_source(data, target=y, **opened)
        self.name, self.n_rows = self._source.name, self._source.n_rows
        self.notes: Sequence[str] = ()
        names, count = self._source.feature_names, min(_MOST, self._source.n_features)
        features = [f"x{i}" if names is None else str(names[i]) for i in range(count)]
        self.columns: Sequence[str] = [*features, *["y"] * (self.target is not None)]
        self.kinds: Mapping[str, str] = dict.fromkeys(self.columns, "number")
        if any(block.y.dtype.kind == "U" for block in islice(self._source, 1)):
            self.kinds = {**self.kinds, "y": "text"}

    def chunks(self, numbers: Sequence[str], texts: Sequence[str], invalid: Any) -> Iterator[Chunk]:
        from featgrad.readers.tokens import Tokens

        n_features = len(self.columns) - (self.target is not None)
        for block in self._source:
            X = np.asarray(dense(block.X[:, :n_features])).T
            if texts:
                labels = Tokens.from_bytes([label.encode() for label in block.y])
                yield Chunk(X, {texts[0]: labels}, {})
            else:
                y = [np.reshape(block.y, (len(block), -1))[:, 0]] * (self.target is not None)
                yield Chunk(np.vstack([X, *y]), {}, {})
        invalid.skipped = self._source.skipped


class _Contents:
    """All rows of a table in one pass: what is counted in all, and a random sample of them.

    Texts are numbered in the order in which they first occur.
    """

    def __init__(self, table: Table, target: str | None) -> None:
        from featgrad.readers.tokens import KINDS

        self.kinds = {name: table.kinds[name] for name in table.columns[:_MOST]}
        if target is not None:
            self.kinds[target] = table.kinds[target]
        # Classes keep their names.
        is_text = {n for n, kind in self.kinds.items() if kind == "text"}
        is_text |= {target} if target is not None and self.kinds[target] == "boolean" else set()
        numbers = [n for n, kind in self.kinds.items() if kind in KINDS and n not in is_text]
        texts = [name for name in self.kinds if name in is_text]
        self.names, self._target = [*numbers, *texts], target
        self.texts: dict[str, dict[bytes, int]] = {name: {} for name in texts}
        self.n_rows, self.left_out = 0, Counter[str]()
        self.missing = np.zeros(len(self.names), int)
        self.low, self.high = np.full((2, len(self.names)), np.nan)
        sample, invalid = KeyedSample(LOADED_SAMPLE_BYTES, n_bytes), InvalidRows("", "skip", "nan")
        for chunk in table.chunks(numbers, texts, invalid):
            codes = [self._codes(name, tokens) for name, tokens in chunk.texts.items()]
            X = np.vstack([chunk.numbers, *codes]).T if codes else chunk.numbers.T
            self.n_rows += len(X)
            self.left_out.update(reason.split(" (")[0] for reason in chunk.reasons.values())
            self.missing += np.isnan(X).sum(axis=0)
            self.low = np.fmin(self.low, np.fmin.reduce(X, axis=0, initial=np.nan))
            self.high = np.fmax(self.high, np.fmax.reduce(X, axis=0, initial=np.nan))
            infinite = np.isinf(X).any(axis=1)
            self.left_out["a value is infinite"] += int(infinite.sum())
            sample.add(Block(np.ascontiguousarray(X[~infinite]), np.zeros(int((~infinite).sum()))))
        rows = sample.rows()
        self.X: Floats = np.empty((0, len(self.names))) if rows is None else rows.X
        self.left_out["they have another number of fields, or an open quote"] = invalid.skipped
        if target is not None:
            self.left_out["the target is missing"] = int(self.missing[self.names.index(target)])
        self.left_out = +self.left_out

    def _codes(self, name: str, tokens: "Tokens") -> Floats:
        """The number of each text; those beyond a limit share one, and NaN is missing."""
        known, rows = self.texts[name], np.flatnonzero(tokens.present)
        _, first, of_row = np.unique(
            tokens.fingerprints()[rows], return_index=True, return_inverse=True
        )
        codes, found = np.full(len(tokens), np.nan), []
        for row in rows[first].tolist():
            text = tokens.token(row)
            if len(known) <= MOST_TEXTS:
                known.setdefault(text, len(known))
            found.append(known.get(text, MOST_TEXTS))
        codes[rows] = np.array(found, float)[of_row]
        return codes

    def outputs(self, *, is_numbers: bool) -> Floats:
        """The target of the sample, a column for each of its most frequent classes."""
        y = self.X[:, self.names.index(self._target or "")]
        if is_numbers:
            return np.asarray(y[:, None])
        classes, counts = np.unique(y[~np.isnan(y)], return_counts=True)
        classes = classes[np.argsort(-counts, kind="stable")[:_CLASSES]]
        return np.where(np.isnan(y)[:, None], np.nan, y[:, None] == classes)

    def summaries(self, outputs: Floats | None) -> Iterator[VariableSummary]:
        """Of all variables, in the order of the table."""
        numbers = [name for name in self.names if name not in self.texts]
        columns = self.X[:, : len(numbers)]
        far = far_off(columns) if columns.size else {}
        id_like = numbered(numbers, [columns.T])
        for name, kind in self.kinds.items():
            if name not in self.names:
                yield VariableSummary(name, kind, 0, 0, "", None, ("convert or exclude it",))
                continue
            place = self.names.index(name)
            x, missing = self.X[:, place], int(self.missing[place])
            present = x[~np.isnan(x)]
            values, counts = np.unique(present, return_counts=True)
            remarks = [id_like[name]] if name in id_like else []
            if name in self.texts:
                remarks += self._of_texts(name, len(values), len(present))
            elif kind == "number":
                remarks += [f"{counted(far[place], 'value')} far off"] if place in far else []
                remarks += ["skewed: try its logarithm"] if _is_skewed(present, len(values)) else []
            if len(values) < 2:
                remarks = ["constant" if len(values) else "empty"]
            explains = None
            if outputs is not None and name != self._target:
                explains = _explained(x, outputs, is_text=name in self.texts)
                remarks += _of_target(x, outputs, explains)
            shown = self._shown(name, kind, place, values, counts)
            distinct = len(self.texts.get(name, values))
            yield VariableSummary(name, kind, missing, distinct, shown, explains, tuple(remarks))

    def _of_texts(self, name: str, n_values: int, n_rows: int) -> list[str]:
        if (n_rows >= ID_LIKE_ROWS and n_values >= ID_LIKE_SHARE * n_rows) or n_values > MOST_TEXTS:
            return ["like an identifier: left out"]
        alike = Counter(text.strip().lower() for text in self.texts[name])
        same = sum(times for times in alike.values() if times > 1)
        return [f"{same} values differ by case or blanks only"] if same else []

    def _shown(self, name: str, kind: str, place: int, values: Floats, counts: Indices) -> str:
        """The range of numbers, or the most frequent values."""
        if len(values) == 0:
            return ""
        low, high = self.low[place], self.high[place]
        if kind == "boolean" and name not in self.texts:
            return f"{counts[values == 1].sum() / counts.sum():.0%} true"
        if kind == "date":
            return " to ".join(str(np.datetime64(0, "D") + int(day)) for day in (low, high))
        if name not in self.texts:
            return f"{number_text(low)} to {number_text(high)}"
        texts = {code: text.decode("utf-8", "replace") for text, code in self.texts[name].items()}
        most = np.argsort(-counts, kind="stable")[:_NAMED]
        return ", ".join(f"{texts[values[i]]} {counts[i] / counts.sum():.0%}" for i in most)


def _is_skewed(x: Floats, n_values: int) -> bool:
    """Whether numbers from 0 up have a long tail."""
    if n_values < _BINS or x.min() < 0:
        return False
    centred = x / np.abs(x).max() - (x / np.abs(x).max()).mean()
    return bool((centred**3).mean() > _SKEWED * (centred**2).mean() ** 1.5)


def _of_target(x: Floats, outputs: Floats, explains: float) -> list[str]:
    """What a variable says of the target that should be looked at."""
    if explains >= _LEAKING:
        return ["explains the target by itself: a leak?"]
    told = _explained(np.isnan(x).astype(float), outputs) if np.isnan(x).any() else 0.0
    return [f"where it is missing explains {told:.0%} of the target"] if told >= _TELLING else []


def _explained(x: Floats, outputs: Floats, *, is_text: bool = False) -> float:
    """Share of the target's variance that lies between values of a variable, or on a line.

    Many numbers are binned, missing ones are a value, and it is adjusted for how many there are.
    """
    known = ~np.isnan(outputs).any(axis=1)
    x, y = x[known], outputs[known] - outputs[known].mean(axis=0)
    total, (values, of_row) = float((y**2).sum()), np.unique(x, return_inverse=True)
    linear, missing = 0.0, np.isnan(x)
    if not is_text and len(values) > _BINS:
        edges = np.quantile(x[~missing], np.arange(1, _BINS) / _BINS)
        of_row = np.where(missing, _BINS, np.searchsorted(edges, x, side="right"))
        scale = np.abs(values[~np.isnan(values)]).max()
        centred = np.where(missing, 0.0, x / scale - (x[~missing] / scale).mean())
        linear = float(((centred @ y) ** 2).sum() / (centred @ centred) / max(total, 1e-300))
    counts = np.bincount(of_row)
    sums = np.array([np.bincount(of_row, column) for column in y.T])
    n_values, n_rows = np.count_nonzero(counts), len(x)
    if total == 0 or n_rows < 2 * n_values:
        return 0.0
    between = float((sums**2 / np.maximum(counts, 1)).sum()) / total
    return float(max(0.0, linear, 1 - (1 - between) * (n_rows - 1) / (n_rows - n_values)))
