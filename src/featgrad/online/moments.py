"""Sums over a stream that forgets: of all columns, and of the working set.

The weight of a row doubles with every half-life that it comes later. Sums of weighted rows then
need no decay: a new row is added, whatever their number of columns. Before weights become too
large, all sums are divided by the same number.

The price of a column is its covariance with the residuals of the model of the day, which was fitted
before the row came: what the column would have added to predictions of rows not yet seen.

Moments of the working set are exact. With ``z = (1, outputs, columns)`` of a row, about an origin,
``sum w z z^T`` holds all that ridge regression, elimination and swaps need. A column that enters
has these sums over recent rows; in older ones it counts as a column of noise about its mean, with
the variance it had there. All moments stay those of one set of rows, hence positive; what the
column is worth grows as older rows are forgotten.
"""

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from featgrad._support.types import Flags, Floats, Indices
from featgrad.columns.sums import ColumnSums
from featgrad.dataset.sums import Prices
from featgrad.moments.folds import Totals
from featgrad.plan import RECENT_ENTRIES, RECENT_HALF_LIVES

# Half-lives after which sums are divided: far below what double precision takes.
_LONGEST = 200


class Clock:
    """Counts rows and weighs them by the time at which they come: one unit for each row."""

    def __init__(self, half_life: float) -> None:
        self.half_life, self.n_rows, self.time = half_life, 0, 0.0
        self._origin = 0.0

    def weights(self, time: float, count: int) -> Floats:
        """Weights of rows that came from a time on."""
        later = np.arange(1, count + 1) + (time - self._origin)
        return np.asarray(np.exp2(later / self.half_life))

    def advance(self, count: int) -> float:
        """Let rows pass; what sums have to be multiplied by, mostly 1."""
        self.n_rows += count
        self.time += count
        passed = self.time - self._origin
        if passed <= _LONGEST * self.half_life:
            return 1.0
        self._origin = self.time
        return float(np.exp2(-passed / self.half_life))

    def skip(self, half_lives: float) -> None:
        """Let time pass without rows: all rows so far count less."""
        self.time += half_lives * self.half_life

    def relative_to(self, other: "Clock") -> float:
        """What sums of another clock have to be multiplied by: both stand at the same moment."""
        here, there = self.time - self._origin, other.time - other._origin
        return float(np.exp2((here - there) / self.half_life))


class PricedColumns(ColumnSums):
    """Weighted sums of each column, of its products with the residuals and of its squares.

    Dense columns are taken about an origin, their mean in the first rows, against cancellation.
    """

    def __init__(self, n_features: int, n_outputs: int, origin: Floats | None) -> None:
        # In double precision: streams may move far away from their origin.
        super().__init__(n_features, 1 + n_outputs, 1, missing=origin is not None)
        self.residual_squares = np.zeros((n_outputs, n_outputs))
        self.squared_weight, self.origin = np.zeros(1), origin

    def _parts(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name != "origin"}

    @property
    def weight(self) -> float:
        return float(self.of_linear[0])

    @property
    def n_rows(self) -> float:
        """Rows of the same weight that would be as informative."""
        return self.weight**2 / max(float(self.squared_weight[0]), 1e-300)

    def learn(self, X: Any, weights: Floats, residuals: Floats) -> None:
        """More rows."""
        weighted = weights[:, None] * np.insert(residuals, 0, 1.0, axis=1)
        self.add(X, self.origin, weighted, weights[:, None])
        self.residual_squares += weighted[:, 1:].T @ residuals
        self.squared_weight += weights @ weights

    def rescale(self, factor: float) -> None:
        for sums in self._parts().values():
            sums *= factor
        self.squared_weight *= factor

    def grow(self, n_features: int) -> None:
        """More columns, which were zero so far."""
        self.records = np.pad(self.records, ((0, n_features - len(self.records)), (0, 0)))

    def move(self, origin: Floats | None) -> None:
        """Take dense columns about another origin."""
        if self.origin is not None and origin is not None:
            shift = (self.origin - origin)[:, None]
            self.squared[:] += shift * (2 * self.linear[:, :1] + self.weight * shift)
            self.linear[:] += shift * self.of_linear
            self.origin = origin

    def centres(self) -> Floats:
        """Mean of each column."""
        means = self.linear[:, 0] / self.weight
        return np.asarray(means if self.origin is None else means + self.origin)

    def spread(self) -> Floats:
        """Weighted sum of squares of each column about its mean; exactly 0 if it is constant."""
        squares = self.squared[:, 0]
        spread = squares - self.linear[:, 0] ** 2 / self.weight
        return np.where(spread > 1e-12 * squares, spread, 0.0)

    def prices(self) -> Prices:
        """Of columns of variance 1, in units of the outputs' squares; 0 for constant columns."""
        mean, spread = self.of_linear[1:] / self.weight, self.spread()
        covariance = self.residual_squares / self.weight - np.multiply.outer(mean, mean)
        noise = np.asarray(np.linalg.eigvalsh(covariance) / self.n_rows, np.float64)
        along = self.linear[:, 1:] - self.linear[:, :1] * mean
        values, varies = np.zeros(len(spread)), spread > 0
        squared = np.einsum("dc,dc->d", along, along)[varies]
        found = squared / (spread[varies] * self.weight) - float(noise.sum())
        values[varies] = np.where(found == 0, 1e-300, found)
        return Prices(values, noise)


class RecentBlock(NamedTuple):
    """Rows that came one after another from a time on, in single precision."""

    time: float
    X: Any
    outputs: Floats


class RecentRows:
    """Buffer of the last rows, so that columns which enter the working set have a past."""

    def __init__(self, half_life: float) -> None:
        self.blocks: deque[RecentBlock] = deque()
        self._most_rows = RECENT_HALF_LIVES * half_life
        self._n_rows = self._n_entries = 0

    def add(self, block: RecentBlock) -> None:
        self.blocks.append(block)
        self._n_rows += len(block.outputs)
        self._n_entries += block.X.size
        while len(self.blocks) > 1 and (
            self._n_rows > self._most_rows or self._n_entries > RECENT_ENTRIES
        ):
            oldest = self.blocks.popleft()
            self._n_rows -= len(oldest.outputs)
            self._n_entries -= oldest.X.size

    def merge(self, other: "RecentRows", later: float) -> None:
        """Rows of another stream, whose clock is behind by so much."""
        moved = [block._replace(time=block.time + later) for block in other.blocks]
        blocks = sorted([*self.blocks, *moved], key=lambda block: block.time)
        self.blocks, self._n_rows, self._n_entries = deque(), 0, 0
        for block in blocks:
            self.add(block)


class WorkingMoments:
    """Columns of the working set, in the order in which they entered, and their moments."""

    def __init__(self, n_features: int, output_origin: Floats) -> None:
        self.columns = np.zeros(0, np.intp)
        self._place = np.full(n_features, -1, np.intp)
        self._first = 1 + len(output_origin)
        self._output_origin = output_origin
        self._origin = np.zeros(0)
        self._sums = np.zeros((self._first, self._first))

    @property
    def inside(self) -> Flags:
        """Which of all columns are in the working set."""
        return self._place >= 0

    def places(self, columns: Indices) -> Indices:
        """Where columns stand in the working set."""
        return self._place[columns]

    def values(self, X: Any) -> Floats:
        """The columns of some rows, about their origin."""
        if sparse.issparse(X):
            places = self._place[X.indices]
            found = np.flatnonzero(places >= 0)
            values = np.zeros((X.shape[0], len(self.columns)))
            rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
            values[rows[found], places[found]] = X.data[found]
            return values - self._origin
        return np.asarray(X[:, self.columns] - self._origin, np.float64)

    def centred(self, values: Floats) -> Floats:
        """Columns less their means."""
        return np.asarray(values - self._sums[0, self._first :] / self._sums[0, 0])

    def add(self, values: Floats, outputs: Floats, weights: Floats) -> None:
        """More rows, with columns about their origin."""
        # Single precision will do for one block, relative to its last weight.
        root = np.sqrt(weights / weights[-1])[:, None]
        z = (self._joined(values, outputs) * root).astype(np.float32)
        self._sums += weights[-1] * (z.T @ z).astype(np.float64)

    def rescale(self, factor: float) -> None:
        self._sums *= factor

    def grow(self, n_features: int) -> None:
        """More columns outside."""
        more = n_features - len(self._place)
        self._place = np.pad(self._place, (0, more), constant_values=-1)

    def enter(
        self, columns: Indices, means: Floats, spread: Floats, recent: RecentRows, clock: Clock
    ) -> None:
        """Columns with their means and weighted sums of squares about these."""
        before, after = len(self._sums), len(self._sums) + len(columns)
        self._origin = np.append(self._origin, means)
        self._set_columns(np.append(self.columns, columns))
        sums = np.zeros((after, after))
        sums[:before, :before] = self._sums
        for block in recent.blocks:
            weights = clock.weights(block.time, len(block.outputs))
            z = self._joined(self.values(block.X), block.outputs)
            sums[before:] += (z[:, before:] * weights[:, None]).T @ z
        sums[:before, before:] = sums[before:, :before].T
        own = np.arange(before, after)
        sums[own, own] = np.maximum(sums[own, own], spread)
        self._sums = sums

    def keep(self, places: Indices) -> None:
        """Let all other columns go."""
        stay = np.concatenate([np.arange(self._first), self._first + places])
        self._sums = self._sums[np.ix_(stay, stay)]
        self._origin = self._origin[places]
        self._set_columns(self.columns[places])

    def merge(self, other: "WorkingMoments") -> None:
        """Moments of the same columns over other rows, weighed by the same clock."""
        order = other.places(self.columns)
        lift = np.eye(len(self._sums))
        origin = np.append(other._output_origin, other._origin[order])
        lift[1:, 0] = origin - np.append(self._output_origin, self._origin)
        used = np.concatenate([np.arange(self._first), self._first + order])
        self._sums += lift @ other._sums[np.ix_(used, used)] @ lift.T

    def output_means(self) -> Floats:
        return np.asarray(self._sums[0, 1 : self._first] / self._sums[0, 0] + self._output_origin)

    def totals(self, n_rows: float, places: Indices | None = None) -> tuple[Totals, Floats, Floats]:
        """Moments of columns of variance 1; their means about the origin, and deviations."""
        first, sums = self._first, self._sums
        if places is not None:
            used = np.concatenate([np.arange(first), first + places])
            sums = sums[np.ix_(used, used)]
        sums = sums / sums[0, 0]
        centred = sums - np.multiply.outer(sums[0], sums[0])
        squares = np.diagonal(centred)
        varies = squares > 1e-12 * np.diagonal(sums)
        scale = np.sqrt(np.where(varies, squares, 1.0))
        scale[:first] = 1.0
        centred *= np.where(varies, 1 / scale, 0.0)
        centred *= np.where(varies, 1 / scale, 0.0)[:, None]
        variance = float(np.trace(centred[1:first, 1:first]))
        covariance, cross = centred[first:, first:], centred[first:, 1:first]
        totals = Totals(covariance, cross, variance, n_rows)
        return totals, sums[0, first:], scale[first:]

    def _joined(self, values: Floats, outputs: Floats) -> Floats:
        ones = np.ones((len(outputs), 1))
        return np.concatenate([ones, outputs - self._output_origin, values], axis=1)

    def _set_columns(self, columns: Indices) -> None:
        self._place[self.columns] = -1
        self.columns = columns
        self._place[columns] = np.arange(len(columns))
