"""What wants to see rows as they pass."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from featgrad.dataset.checkpoint import Sums


class Onlooker(Sums, Protocol):
    """Sees all rows, piece by piece, and can be stored in between."""

    def add(self, outputs: NDArray[np.float64], weights: NDArray[np.float64], X: Any) -> None:
        """Outputs, weights and raw columns of some rows."""
