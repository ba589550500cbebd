"""The rows of a table in one pass: what is counted in all, and its variables in a sample."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from featgrad._support import Floats, Indices
from featgrad._support.wording import counted
from featgrad.columns.extremes import far_off
from featgrad.columns.sample import KeyedSample, n_bytes
from featgrad.estimates.concerns import LEAK
from featgrad.plan import ID_LIKE_ROWS, ID_LIKE_SHARE, LOADED_SAMPLE_BYTES, MOST_TEXTS
from featgrad.readers.block import Block, InvalidRows
from featgrad.readers.columns import numbered
from featgrad.report.text import number_text

if TYPE_CHECKING:
    from featgrad.readers.tokens import Tokens

# Variables that are described, values of each that are named, characters of one and of all of them.
MOST_DESCRIBED, _NAMED, _LONGEST, _WIDEST = 2000, 3, 24, 60
# Bins of numbers and classes of the target for what is explained; share of the target that missing
# values have to explain to be named; skewness from which a logarithm helps.
_BINS, _CLASSES, _TELLING, _SKEWED = 20, 50, 0.05, 2.0


class VariableSummary(NamedTuple):
    """A column of a table, or a feature of other rows."""

    name: str
    kind: str
    missing: int
    distinct: int  # in a sample, where there are many rows
    values: str  # range, or the most frequent ones
    explains: float | None  # of the target's variance, by itself
    remarks: tuple[str, ...]


class Contents:
    """Counts and a random sample of all rows.

    Texts are numbered in the order in which they first occur.
    """

    def __init__(self, table: Any, target: str | None) -> None:
        from featgrad.readers.tokens import KINDS

        self._target, self._remarks = target, getattr(table, "remarks", {})
        names = [*table.columns[:MOST_DESCRIBED], *[target] * (target is not None)]
        self.kinds = {name: str(table.kinds[name]) for name in names}
        # Classes keep their names.
        is_text = {n for n, kind in self.kinds.items() if kind == "text"}
        is_text |= {target} if self.kinds.get(target or "") == "boolean" else set()
        numbers = [n for n, kind in self.kinds.items() if kind in KINDS and n not in is_text]
        self.texts: dict[str, dict[bytes, int]] = {n: {} for n in self.kinds if n in is_text}
        self.names, self.n_rows = [*numbers, *self.texts], 0
        self.missing, self.left_out = np.zeros(len(self.names), int), Counter[str]()
        self.low, self.high = np.full((2, len(self.names)), np.nan)
        sample, invalid = KeyedSample(LOADED_SAMPLE_BYTES, n_bytes), InvalidRows("", "skip", "nan")
        for chunk in table.chunks(numbers, list(self.texts), invalid):
            X = np.vstack([chunk.numbers, *map(self._codes, self.texts, chunk.texts.values())]).T
            self.n_rows += len(X)
            self.missing += np.isnan(X).sum(axis=0)
            self.low = np.fmin(self.low, np.fmin.reduce(X, axis=0, initial=np.nan))
            self.high = np.fmax(self.high, np.fmax.reduce(X, axis=0, initial=np.nan))
            finite = ~np.isinf(X).any(axis=1)
            self.left_out.update(reason.split(" (")[0] for reason in chunk.reasons.values())
            self.left_out["a value is infinite"] += int(np.count_nonzero(~finite))
            sample.add(Block(np.ascontiguousarray(X[finite]), np.zeros(int(finite.sum()))))
        self._strays = {
            name: ", ".join(f"{word!r} ({times:,})" for word, times in words.most_common(_NAMED))
            for name, words in invalid.strays.items()
        }
        rows = sample.rows()
        self.X: Floats = np.empty((0, len(self.names))) if rows is None else rows.X
        self.left_out["they have another number of fields, or an open quote"] = invalid.skipped
        if target is not None:
            self.left_out["the target is missing"] = int(self.missing[self.names.index(target)])
        self.left_out = +self.left_out

    def _codes(self, name: str, tokens: "Tokens") -> Floats:
        """The number of each text; those beyond a limit share one, and NaN is missing."""
        known, rows = self.texts[name], np.flatnonzero(tokens.present)
        prints = tokens.fingerprints()[rows]
        _, first, of_row = np.unique(prints, return_index=True, return_inverse=True)
        codes, found = np.full(len(tokens), np.nan), []
        for row in rows[first].tolist():
            text = tokens.token(row)
            if len(known) <= MOST_TEXTS:
                known.setdefault(text, len(known))
            found.append(known.get(text, MOST_TEXTS))
        codes[rows] = np.array(found, float)[of_row]
        return codes

    def in_rows(self) -> str:
        """Whether variables seem to be in rows: names, and columns of numbers that are numbered."""
        first, *others = self.kinds
        is_alone = len(others) > 3 and self.texts.keys() == {first}
        if not is_alone or len({re.sub(r"\d+", "0", name) for name in others}) > 1:
            return ""
        are_names = len(self.texts[first]) >= min(self.n_rows, MOST_TEXTS)
        text = f"Variables seem to be in rows, named by {first!r}: pass transpose=True if so."
        return text if are_names else ""

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
        columns, places = self.X[:, : len(numbers)], {n: i for i, n in enumerate(self.names)}
        far = far_off(columns) if columns.size else {}
        id_like = numbered(numbers, [columns.T])
        for name, kind in self.kinds.items():
            if name not in places:
                yield VariableSummary(name, kind, 0, 0, "", None, ("convert or exclude it",))
                continue
            place, is_text = places[name], name in self.texts
            x = self.X[:, place]
            values, counts = np.unique(x[~np.isnan(x)], return_counts=True)
            found = [self._remarks.get(name), id_like.get(name)]
            found += [f"{self._strays[name]} count as missing"] if name in self._strays else []
            if is_text:
                found += [self._of_texts(name, len(values), int(counts.sum()))]
            elif kind == "number":
                found += [f"{counted(far[place], 'value')} far off"] if place in far else []
                found += ["skewed: try its logarithm"] if _is_skewed(values, counts) else []
            if len(values) < 2:
                found = ["constant" if len(values) else "empty"]
            explains = None
            if outputs is not None and name != self._target:
                explains = _explained(x, outputs, is_text=is_text)
                found += [_of_target(x, outputs, explains)]
            yield VariableSummary(
                name, kind, int(self.missing[place]), len(self.texts.get(name, values)),
                self._shown(name, kind, place, values, counts), explains,
                tuple(remark for remark in found if remark),
            )  # fmt: skip

    def _of_texts(self, name: str, n_values: int, n_rows: int) -> str:
        is_long = n_rows >= ID_LIKE_ROWS
        if n_values > MOST_TEXTS or (is_long and n_values >= ID_LIKE_SHARE * n_rows):
            return "like an identifier: left out"
        alike = Counter(text.strip().lower() for text in self.texts[name])
        same = sum(times for times in alike.values() if times > 1)
        return f"{same} values differ by case or blanks only" if same else ""

    def _shown(self, name: str, kind: str, place: int, values: Floats, counts: Indices) -> str:
        """The range of numbers, or the most frequent values."""
        if len(values) == 0:
            return ""
        if name in self.texts:
            texts = {code: _shortened(text) for text, code in self.texts[name].items()}
            if len(texts) > MOST_TEXTS or 100 * counts.max() < counts.sum():
                return ", ".join(list(texts.values())[:_NAMED]) + ", ..."
            most = np.argsort(-counts, kind="stable")[:_NAMED]
            shown = [f"{texts[values[i]]} {counts[i] / counts.sum():.0%}" for i in most]
            while len(shown) > 1 and len(", ".join(shown)) > _WIDEST:
                shown.pop()
            return ", ".join(shown)
        if kind == "boolean":
            return f"{counts[values == 1].sum() / counts.sum():.0%} true"
        ends = self.low[place], self.high[place]
        as_text = {"date": lambda day: str(np.datetime64(0, "D") + int(day))}
        return " to ".join(map(as_text.get(kind, number_text), ends))


def _shortened(text: bytes) -> str:
    shown = text.decode(errors="replace")
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."


def _is_skewed(values: Floats, counts: Indices) -> bool:
    """Whether numbers from 0 up have a long tail."""
    if len(values) < _BINS or values[0] < 0:
        return False
    x = values / values[-1]
    centred, weights = x - np.average(x, weights=counts), counts / counts.sum()
    return bool(weights @ centred**3 > _SKEWED * (weights @ centred**2) ** 1.5)


def _of_target(x: Floats, outputs: Floats, explains: float) -> str:
    """What a variable says of the target that should be looked at."""
    if explains >= LEAK:
        return "explains the target by itself: a leak?"
    told = _explained(np.isnan(x).astype(float), outputs) if np.isnan(x).any() else 0.0
    return f"where it is missing explains {told:.0%} of the target" if told >= _TELLING else ""


def _explained(x: Floats, outputs: Floats, *, is_text: bool = False) -> float:
    """Share of the target's variance that lies between values of a variable, or on a line.

    Many numbers are binned, missing ones are a value, and it is adjusted for how many there are.
    """
    known = ~np.isnan(outputs).any(axis=1)
    x, y = x[known], outputs[known] - outputs[known].mean(axis=0)
    missing, (values, of_row) = np.isnan(x), np.unique(x, return_inverse=True)
    total, linear = max(float((y**2).sum()), 1e-300), 0.0
    if not is_text and len(values) > _BINS:
        edges = np.quantile(x[~missing], np.arange(1, _BINS) / _BINS)
        of_row = np.where(missing, _BINS, np.searchsorted(edges, x, side="right"))
        centred = np.where(missing, 0.0, (x - x[~missing].mean()) / np.abs(x[~missing]).max())
        linear = float(((centred @ y) ** 2).sum() / (centred @ centred)) / total
    counts, n_rows = np.bincount(of_row), len(x)
    n_values = np.count_nonzero(counts)
    if n_rows < 2 * n_values:
        return 0.0
    sums = np.array([np.bincount(of_row, column) for column in y.T])
    between = float((sums**2 / np.maximum(counts, 1)).sum()) / total
    return float(max(0.0, linear, 1 - (1 - between) * (n_rows - 1) / (n_rows - n_values)))
