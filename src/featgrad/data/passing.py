"""What wants to see rows as they pass."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from featgrad.data.checkpoint import Sums


class Onlooker(Sums, Protocol):
    """Sees all rows, piece by piece, and can be stored in between."""

    def add(self, at: NDArray[np.intp], X: Any) -> None:
        """Positions of some rows and their raw columns."""
