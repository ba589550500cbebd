"""Loops over the entries of CSR rows."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
import numpy as np

from featgrad.readers.kernels.scan import compiled


@compiled
def mark_invalid_rows(indices, indptr, n_features, invalid):
    """Mark rows whose indices do not increase within ``[0, n_features)``; returns whether any."""
    some = False
    for row in range(len(indptr) - 1):
        last = np.int64(-1)
        wrong = False
        for e in range(indptr[row], indptr[row + 1]):
            index = np.int64(indices[e])
            wrong |= index <= last
            last = index
        invalid[row] |= wrong or last >= n_features
        some |= invalid[row]
    return some


@compiled
def gather(features, values, indptr, indices, data):
    """Collect the entries of each row whose feature is not -1; returns their number."""
    used = indptr[0] = 0
    for row in range(features.shape[1]):
        for column in range(features.shape[0]):
            if features[column, row] >= 0:
                indices[used] = features[column, row]
                data[used] = values[column, row]
                used += 1
        indptr[row + 1] = used
    return used
