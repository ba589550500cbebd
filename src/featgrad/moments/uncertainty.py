"""Estimate and standard error from the same sweeps.

The exact leave-one-row-out jackknife costs nothing beyond a pair of sweeps: the paths through a
row are the products of its two vectors. For a statistic of degree c the jackknife overstates the
variance c-fold, which matters if features outnumber rows. This bias is measured on targets with
random signs, whose true value is 0.

The same replicates determine the order: all orders follow from the same moments, and the highest
one with acceptable noise is used.
"""

import math
from typing import NamedTuple

import numpy as np

from featgrad._support.types import Floats
from featgrad.math.formulas import tuple_weights, tuple_weights_without_each
from featgrad.moments.sweeps import RowMoments

_REPLICATES = 32
# Fewer suffice if their variance is at most this share of that of the jackknife.
_MIN_REPLICATES = 8
_NEGLIGIBLE = 0.1
# Largest acceptable standard deviation of the noise, as a share of the target's variance.
_MAX_NOISE = 0.1
# Replicates are outputs of one pair of sweeps as long as these take no more floats.
_MAX_FLOATS = 1 << 21


class Measured(NamedTuple):
    value: float
    standard_error: float
    order: int


def measure(moments: RowMoments, mask: Floats) -> Measured:
    """Estimate with the filter of the highest order whose noise is acceptable."""
    value, jackknife = _replicates(moments, mask, moments.outputs)
    null_values, null_jackknife = _null(moments, mask, jackknife[0])
    null = np.mean(null_values**2, axis=0)
    chosen = int(np.max(np.flatnonzero(np.sqrt(null) <= _MAX_NOISE), initial=0))
    excess = np.mean(null_jackknife, axis=0) - null
    variance = max(float(jackknife[0, chosen] - excess[chosen]), float(null[chosen]))
    order = moments.order - len(null) + chosen + 1
    return Measured(float(value[0, chosen]), math.sqrt(variance), order)


def _null(moments: RowMoments, mask: Floats, jackknife: Floats) -> tuple[Floats, Floats]:
    """Estimates and their jackknife variances for targets with random signs.

    As many targets at once as fit into memory.
    """
    rng = np.random.default_rng(0)
    n_rows, n_outputs = moments.outputs.shape
    capacity = _MAX_FLOATS // (max(n_rows, moments.n_features) * moments.order * n_outputs)
    values = variances = np.zeros((0, len(jackknife)))
    while len(values) < _REPLICATES:
        wanted = _MIN_REPLICATES if len(values) < _MIN_REPLICATES else _REPLICATES
        count = int(np.clip(capacity, 1, wanted - len(values)))
        signs = rng.choice([-1.0, 1.0], size=(n_rows, count))
        outputs = (signs[:, :, None] * moments.outputs[:, None, :]).reshape(n_rows, -1)
        more_values, more_variances = _replicates(moments, mask, outputs)
        values = np.concatenate([values, more_values])
        variances = np.concatenate([variances, more_variances])
        if len(values) >= _MIN_REPLICATES and _is_negligible(values, variances, jackknife):
            break
    return values, variances


def _is_negligible(values: Floats, variances: Floats, jackknife: Floats) -> bool:
    """Whether the noise neither changes the standard error nor excludes an order."""
    null = np.mean(values**2, axis=0)
    larger = np.maximum(null, np.mean(variances, axis=0))
    acceptable = np.sqrt(null) <= _MAX_NOISE / 2
    return bool(np.all((larger <= _NEGLIGIBLE * jackknife) & acceptable))


def _replicates(moments: RowMoments, mask: Floats, outputs: Floats) -> tuple[Floats, Floats]:
    """Estimates and jackknife variances, both (replicates, filters).

    `outputs` holds the output columns of all replicates.
    """
    (n_rows, n_outputs), order, weights = moments.outputs.shape, moments.order, moments.weights
    filters = np.array([np.pad(row, (0, order - len(row))) for row in moments.filters])
    through = moments.paths_through_rows(mask, outputs)
    through = through.reshape(n_rows, order, -1, n_outputs).sum(axis=3)
    # A path of the moment i goes through i + 2 rows.
    raw = through.sum(axis=0) / np.arange(2, order + 2)[:, None]
    values = filters @ (raw / (tuple_weights(weights, order) * moments.variance)[:, None])
    # e_(i+2) of the other rows is 0 if they are too few for a tuple.
    left = tuple_weights_without_each(weights, order)[:, :, None]
    without = np.divide(raw - through, left, out=np.zeros_like(through), where=left > 0)
    # The target's variance is estimated from the same rows and shrinks with them.
    variance = moments.variance - weights * np.sum(moments.outputs**2, axis=1)
    share = np.divide(1 - weights, variance, out=np.zeros_like(variance), where=variance > 0)
    each = np.einsum("fo,nor,n->nrf", filters, without, share, optimize=True)
    influence = (np.tensordot(weights, each, axes=1) - each) * (1 - weights)[:, None, None]
    return values.T, np.sum(influence**2, axis=0) * n_rows / (n_rows - 1)
