"""Rows shaped like webspam's trigrams: millions of columns, thousands of entries per row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit

from benchmarks.helpers.scale import draws
from featgrad.readers import Block
from featgrad.readers.block import csr

N_ROWS, N_FEATURES, PER_ROW = 280_000, 16_609_143, 3_730
# Share of the label's score that the planted columns explain.
_EXPLAINED = 0.5
# Lengths of rows as shares of their mean.
_LENGTHS = np.linspace(0.5, 1.5, 11)
# How many rows hold a planted column: neither nearly none nor nearly all.
_RAREST, _COMMONEST = 0.005, 0.3


@dataclass
class WebspamLike:
    """A source of rows drawn as they are read; the same ones every time.

    Columns have power-law popularity, columns of one topic come together, rows have unit length,
    and the label is the sign of a sum over the `planted` columns plus noise.
    """

    n_rows: int = N_ROWS
    n_features: int = N_FEATURES
    per_row: int = PER_ROW
    n_planted: int = 500
    seed: int = 0
    block_rows: int = 1000
    feature_names = None
    groups = None
    skipped = 0
    name = "rows like webspam"

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        self._n_draws = self._draws_for(self.per_row)
        ranks = np.arange(min(self.n_features, 2_000_000))
        held = draws.held(ranks, self.n_features, _LENGTHS * self._n_draws)
        able = np.flatnonzero((held > _RAREST) & (held < _COMMONEST))
        chosen = rng.choice(able, self.n_planted, replace=False)
        held = held[chosen]
        signs = rng.choice([-1.0, 1.0], self.n_planted)
        weights = signs * np.sqrt(_EXPLAINED / self.n_planted / (held * (1 - held)))
        # Ranks are spread over the columns by a step that shares no factor with their number.
        self._step = 7_368_787
        while np.gcd(self._step, self.n_features) != 1:
            self._step += 2
        self.planted = (chosen * self._step) % self.n_features
        self._weights = np.zeros(self.n_features, np.float32)
        self._weights[self.planted] = weights
        self._centre = float(weights @ held)

    def __iter__(self) -> Iterator[Block]:
        return map(self.block, range(0, self.n_rows, self.block_rows))

    def block(self, first: int) -> Block:
        """The block that begins with a row."""
        n_rows = min(self.block_rows, self.n_rows - first)
        y, indptr = np.empty(n_rows), np.empty(n_rows + 1, np.int32)
        size = 2 * n_rows * self._n_draws
        indices, values = np.empty(size, np.int32), np.empty(size, np.float32)
        used = _fill(
            self.seed, first, self._n_draws, self.n_features, self._step, self._weights,
            self._centre, y, indptr, indices, values,
        )  # fmt: skip
        return Block(csr(values[:used], indices[:used], indptr, self.n_features), y)

    def _draws_for(self, per_row: int) -> int:
        """Draws that give this many different columns on average."""
        edges = np.unique(np.geomspace(1, self.n_features, 4000).astype(int)) - 1
        middle, width = (edges[1:] + edges[:-1]) // 2, np.diff(edges)
        low, high = per_row, 100 * per_row
        while high - low > 1:
            half = (low + high) // 2
            if width @ draws.held(middle, self.n_features, _LENGTHS * half) < per_row:
                low = half
            else:
                high = half
        return high


@njit(cache=True, nogil=True)
def _fill(seed, first, n_draws, n_features, step, weights, centre, y, indptr, indices, values):
    """Draw rows; returns their number of entries."""
    drawn = np.empty(2 * n_draws, np.int32)
    low, high = draws.law(n_features)
    indptr[0] = used = 0
    for row in range(len(y)):
        state = draws.start(seed, first + row)
        u, state = draws.uniform(state)
        topic = int(u * draws.N_TOPICS)
        u, state = draws.uniform(state)
        length = max(1, int(n_draws * (0.5 + u)))
        for k in range(length):
            u, state = draws.uniform(state)
            item = draws.rank(u, low, high, n_features)
            u, state = draws.uniform(state)
            if u < draws.TOPICAL:
                item = draws.in_topic(item, topic, n_features)
            drawn[k] = item * step % n_features
        drawn[:length].sort()
        begin, score, square = used, -centre, 0.0
        for k in range(length):
            if k and drawn[k] == drawn[k - 1]:
                values[used - 1] += 1
                continue
            indices[used] = drawn[k]
            values[used] = 1
            score += weights[drawn[k]]
            used += 1
        for e in range(begin, used):
            values[e] = np.log1p(values[e])
            square += values[e] ** 2
        for e in range(begin, used):
            values[e] /= np.sqrt(square)
        noise, state = draws.normal(state)
        y[row] = 1.0 if score + np.sqrt(1 - _EXPLAINED) * noise > 0 else -1.0
        indptr[row + 1] = used
    return used
