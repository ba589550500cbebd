"""What the first pass over a source gathers: targets, weights, and a sample of random rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.data.checkpoint import Arrays, matrix_of, matrix_state
from featgrad.data.checks import check_missing
from featgrad.data.compression import SAMPLE_ROWS
from featgrad.data.present_means import PresentMeans
from featgrad.data.sources import Block

Floats = NDArray[np.float64]

# Most entries of a dense sample of rows, whatever their number of columns, but some rows always.
SAMPLE_ENTRIES = 1 << 25
FEWEST_SAMPLED = 64


class FirstReading:
    """Targets and weights of all rows, a random key for each, and the rows with the smallest keys.

    Parameters
    ----------
    n_features : int
        Columns of every block.
    missing : {"error", "mean"}
        Whether NaN is refused or counts as its column's mean.
    rng : RandomState
        Draws the keys.
    """

    def __init__(self, n_features: int, missing: str, rng: np.random.RandomState) -> None:
        self._missing, self._rng = missing, rng
        self._means, self._sample = PresentMeans(n_features), _Sample(n_features)
        self._keys: list[Floats] = []
        self._targets: list[NDArray[Any]] = []
        self._weights: list[Floats] = []

    def add(self, block: Block) -> None:
        check_missing(block.X, self._missing)
        weights = np.ones(len(block)) if block.weight is None else block.weight
        if self._missing == "mean":
            self._means.add(block.X, weights)
        self._keys.append(self._rng.random_sample(len(block)))
        self._targets.append(block.y)
        self._weights.append(weights)
        self._sample.add(block.X, self._keys[-1])

    @property
    def n_rows(self) -> int:
        return sum(len(part) for part in self._keys)

    @property
    def keys(self) -> Floats:
        return np.concatenate(self._keys)

    @property
    def y(self) -> NDArray[Any]:
        return np.concatenate(self._targets)

    @property
    def weights(self) -> Floats:
        return np.concatenate(self._weights)

    @property
    def sample(self) -> Any:
        return self._sample.rows

    @property
    def means(self) -> Floats | None:
        """What missing entries count as; None where nothing is missing."""
        return self._means.means()

    def state(self) -> Arrays:
        means = {f"means.{name}": array for name, array in self._means.state().items()}
        # The keys are drawn again.
        return {"y": self.y, "weights": self.weights, **self._sample.state(), **means}

    def restore(self, state: Arrays) -> None:
        self._targets, self._weights = [state["y"]], [state["weights"]]
        self._keys = [self._rng.random_sample(len(state["y"]))]
        self._sample.restore(state)
        prefix = "means."
        self._means.restore(
            {name.removeprefix(prefix): state[name] for name in state if name.startswith(prefix)}
        )


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
