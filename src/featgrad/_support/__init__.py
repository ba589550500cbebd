"""What every package builds on: types, words, array libraries, threads, compiled loops, files."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]
# Hashes of labels.
Keys = NDArray[np.uint64]
# Rows from one up to another.
Span = tuple[int, int]
