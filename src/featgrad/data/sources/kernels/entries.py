"""Entries of CSR rows."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
from __future__ import annotations

import numpy as np

from featgrad.data.sources.kernels.scan import compiled


@compiled
def faulty_rows(indices, indptr, n_features, faulty):
    """Mark rows whose indices are not increasing within ``[0, n_features)``; whether any are."""
    some = False
    for row in range(len(indptr) - 1):
        last = np.int64(-1)
        wrong = False
        for e in range(indptr[row], indptr[row + 1]):
            index = np.int64(indices[e])
            wrong |= index <= last
            last = index
        faulty[row] |= wrong or last >= n_features
        some |= faulty[row]
    return some
