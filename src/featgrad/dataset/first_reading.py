"""What the first pass over a source gathers: sums of targets and weights, and random rows."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.dataset.checkpoint import Arrays, matrix_of, matrix_state
from featgrad.dataset.checks import check_missing, check_raw_weights
from featgrad.dataset.positions import Positions
from featgrad.math.target_sums import TargetSums
from featgrad.preprocess.compression import SAMPLE_ROWS
from featgrad.preprocess.present_means import PresentMeans
from featgrad.readers import Block

Floats = NDArray[np.float64]

# Most entries of a dense sample of rows, whatever their number of columns, but some rows always.
SAMPLE_ENTRIES = 1 << 25
FEWEST_SAMPLED = 64


class FirstReading:
    """What targets and weights add up to, positions of all rows, and some of the first rows.

    Parameters
    ----------
    n_features : int
        Columns of every block.
    task : str
        What the target is.
    missing : {"error", "mean"}
        Whether NaN is refused or counts as its column's mean.
    rng : RandomState
        Draws the positions.
    """

    def __init__(
        self, n_features: int, task: str, missing: str, rng: np.random.RandomState
    ) -> None:
        self._missing = missing
        self._means, self._sample = PresentMeans(n_features), _Sample(n_features)
        self.positions = Positions(rng)
        self.targets = TargetSums(task)
        self.weight = np.zeros(1)
        # Of the targets of each block.
        self.checksums: list[int] = []

    def add(self, block: Block) -> None:
        check_missing(block.X, self._missing)
        weights = check_raw_weights(block.weight, len(block))
        if self._missing == "mean":
            self._means.add(block.X, weights)
        self.targets.add(block.y, weights)
        self.weight += weights.sum()
        self.checksums.append(checksum(block.y))
        self._sample.add(block.X, self.positions.draw(len(block)))

    @property
    def sample(self) -> Any:
        return self._sample.rows

    @property
    def means(self) -> Floats | None:
        """What missing entries count as; None where nothing is missing."""
        return self._means.means()

    def state(self) -> Arrays:
        sums = {
            "weight": self.weight,
            "drawn": np.array([self.positions.n_rows]),
            "checksums": np.array(self.checksums, np.uint32),
        }
        parts = {"means": self._means.state(), "targets": self.targets.state()}
        # The positions are drawn again.
        return {
            **sums,
            **self._sample.state(),
            **{f"{part}.{name}": array for part in parts for name, array in parts[part].items()},
        }

    def restore(self, state: Arrays) -> None:
        self.weight, self.checksums = state["weight"], state["checksums"].tolist()
        self.positions.skip(int(state["drawn"][0]))
        self._sample.restore(state)
        self._means.restore(_part(state, "means."))
        self.targets.restore(_part(state, "targets."))


def checksum(y: NDArray[Any]) -> int:
    """Tells whether targets are the same when they are read again."""
    return zlib.crc32(repr(y.tolist()).encode() if y.dtype.kind == "O" else y.tobytes())


def _part(state: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): state[name] for name in state if name.startswith(prefix)}


class _Sample:
    """Rows with the smallest keys among those seen."""

    def __init__(self, n_features: int) -> None:
        self._dense_rows = max(FEWEST_SAMPLED, SAMPLE_ENTRIES // n_features)
        self._keys: Floats = np.zeros(0)
        self.rows: Any = None

    def add(self, X: Any, keys: Floats) -> None:
        most = SAMPLE_ROWS if sparse.issparse(X) else min(SAMPLE_ROWS, self._dense_rows)
        all_keys = np.append(self._keys, keys)
        best = np.sort(np.argsort(all_keys, kind="stable")[:most])
        old, new = best[best < len(self._keys)], best[best >= len(self._keys)] - len(self._keys)
        if len(new):
            added = X[new]
            self.rows = added if self.rows is None else stacked([self.rows[old], added])
            self._keys = all_keys[best]

    def state(self) -> Arrays:
        return {"sample.keys": self._keys, **matrix_state(self.rows)}

    def restore(self, state: Arrays) -> None:
        self._keys, self.rows = state["sample.keys"], matrix_of(state)


def stacked(parts: list[Any]) -> Any:
    """Dense or CSR matrices, one below the other."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
